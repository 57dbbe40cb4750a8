// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Starts a program: finds the command in PATH, qemu and the plugin, holds the child until it is
 * traced, and runs it up to its first instruction.
 */
#include "qemu.h"
#include "qemu_exec.h"
#include "qemu_find.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define WHY_SIZE 384 /* as passed to emu_engine_ops.spawn() */

static const char *variable(char *const *envp, const char *name)
{
	size_t len = strlen(name);

	for (; envp && *envp; envp++)
		if (!strncmp(*envp, name, len) && (*envp)[len] == '=')
			return *envp + len + 1;
	return NULL;
}

/* In the child. Never returns. */
static void become_qemu(struct emu *emu, const char *qemu, char **argv, char **envp,
			const int stdio[3], int go, int failed)
{
	int copy[3], error;
	char c;

	while (read(go, &c, 1) < 0 && errno == EINTR)
		;
	/* first copy them to higher numbers, then into place: they may have any numbers */
	for (int i = 0; i < 3; i++)
		copy[i] = fcntl(stdio[i], F_DUPFD_CLOEXEC, 10);
	for (int i = 0; i < 3; i++)
		if (copy[i] >= 0)
			dup2(copy[i], i);
	emu_restore_signals(emu);
	/*
	 * qemu 7.2 places mappings itself, always at the same addresses; qemu 10 leaves that to the
	 * kernel. This makes two runs have the same addresses, as under gdb. If it is refused they
	 * differ.
	 */
	personality((unsigned long)personality(0xffffffff) | ADDR_NO_RANDOMIZE);
	execve(qemu, argv, envp);
	error = errno;
	if (write(failed, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

static int start_child(struct qemu_engine *q, const char *qemu, char **argv, char **envp,
		       const int stdio[3], pid_t *pid, char *why)
{
	struct qemu_process *p;
	struct rlimit limit;
	int go[2], failed[2], error = 0, status;
	pid_t child;

	if (pipe2(go, O_CLOEXEC))
		return -errno;
	if (pipe2(failed, O_CLOEXEC)) {
		error = -errno;
		goto out_go;
	}
	child = fork();
	if (child < 0) {
		error = -errno;
		goto out;
	}
	if (!child) {
		close(go[1]);
		become_qemu(q->emu, qemu, argv, envp, stdio, go[0], failed[1]);
	}
	close(failed[1]);
	failed[1] = -1;
	if (ptrace(PTRACE_SEIZE, child, 0, QEMU_PTRACE_OPTIONS)) {
		error = -errno;
		snprintf(why, WHY_SIZE, "ptrace: %s", strerror(errno));
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		goto out;
	}
	p = qemu_process_new(q, child);
	if (!p || !qemu_thread_new(q, p, child)) {
		error = -ENOMEM;
		kill(child, SIGKILL);
		waitpid(child, &status, __WALL);
		goto out;
	}
	close(go[1]);
	go[1] = -1;
	/* until the plugin reports that the program is about to start */
	while ((p = qemu_process_find(q, child)) && !p->announced)
		if (!qemu_pump(q))
			qemu_ring_sleep(q, 0);
	if (!p) {
		if (read(failed[0], &status, sizeof(status)) == sizeof(status))
			snprintf(why, WHY_SIZE, "%.80s: %s", qemu, strerror(status));
		else
			snprintf(why, WHY_SIZE, "%.60s ended before the program started", qemu);
		/* it is the program's fault only if qemu had loaded the plugin */
		error = qemu_load(&q->shm->plugged) ? -ENOEXEC : -ENOPKG;
		if (error == -ENOEXEC && !getrlimit(RLIMIT_AS, &limit) &&
		    limit.rlim_cur != RLIM_INFINITY) {
			snprintf(why, WHY_SIZE,
				 "%.60s ended before the program started, perhaps for lack of "
				 "address space (ulimit -v %llu)",
				 qemu, (unsigned long long)limit.rlim_cur >> 10);
			error = -ENOMEM;
		}
		goto out;
	}
	*pid = child;
out:
	close(failed[0]);
	if (failed[1] >= 0)
		close(failed[1]);
out_go:
	close(go[0]);
	if (go[1] >= 0)
		close(go[1]);
	return error;
}

/* The sysroot that the user specified; "": none. */
static const char *find_sysroot(char *const *envp)
{
	const char *set = getenv("AUXTAP_SYSROOT");

	if (!set || !*set)
		set = variable(envp, "QEMU_LD_PREFIX");
	return set ? set : "";
}

int qemu_start(struct emu *emu, char *const *argv, char *const *envp, const char *cwd,
	       const int stdio[3], pid_t *pid, struct emu_spawned *spawned, char *why)
{
	struct qemu_engine *q = qemu_engine(emu);
	char found[PATH_MAX], plugin[PATH_MAX], shm[64];
	struct qemu_binary engine;
	char **qemu_argv = NULL, **qemu_envp = NULL;
	struct qemu_exec exec = {.verdict = QEMU_EXEC_FAIL};
	const char *path = variable(envp, "PATH");
	bool asked;
	int err;

	/* relative names are relative to the caller's directory */
	if (chdir(cwd)) {
		snprintf(why, WHY_SIZE, "%.80s: %s", cwd, strerror(errno));
		return -errno;
	}
	err = qemu_find_in_path(argv[0], path ? path : "/bin:/usr/bin", found);
	if (err) {
		snprintf(why, WHY_SIZE, "%s", strerror(-err));
		return err;
	}
	err = qemu_exec_resolve(found, argv, &exec);
	if (!err)
		err = qemu_find(exec.arch ? exec.arch : &qemu_arch_x86, &engine, plugin, why,
				WHY_SIZE);
	if (!err && !q->shm)
		err = qemu_ring_open(q);
	if (err) {
		if (!*why)
			snprintf(why, WHY_SIZE, "%s", strerror(-err));
		goto out;
	}
	/* the interpreter of a script is named, which the user may not know */
	asked = exec.program && !strcmp(exec.program, found);
	if (exec.verdict == QEMU_EXEC_FAIL) {
		err = -exec.error;
		snprintf(why, WHY_SIZE, "%.50s%s%s%s", asked ? "" : exec.program, asked ? "" : ": ",
			 strerror(exec.error), exec.error == ENOEXEC ? EMU_NO_FORMAT : "");
		goto out;
	}
	if (exec.sanitizer && engine.api < QEMU_PLUGIN_API_4) {
		err = -EOPNOTSUPP;
		snprintf(why, WHY_SIZE,
			 "built with %s; use qemu 10 or newer (AUXTAP_QEMU), or "
			 "--source ptrace",
			 exec.sanitizer);
		goto out;
	}
	if (exec.verdict == QEMU_EXEC_NATIVE) {
		err = -EOPNOTSUPP;
		snprintf(why, WHY_SIZE, "%.50s%s%s; qemu cannot run it, use --source ptrace",
			 asked ? "" : exec.program, asked ? "" : ": ", exec.why);
		goto out;
	}
	if (emu_values(emu) && (engine.api < QEMU_PLUGIN_API_4 || exec.arch != &qemu_arch_x86)) {
		err = -EOPNOTSUPP;
		snprintf(why, WHY_SIZE, "%s",
			 exec.arch != &qemu_arch_x86 ?
				 "--values records x86-64 programs only; leave --values out" :
				 "--values requires qemu 10 or newer; build it "
				 "(scripts/build-qemu) or name it (AUXTAP_QEMU), or leave "
				 "--values out");
		goto out;
	}
	snprintf(shm, sizeof(shm), "/proc/%d/fd/%d", (int)getpid(), q->shm_fd);
	exec.api = engine.api;
	qemu_argv = qemu_exec_command(engine.path, plugin, shm, find_sysroot(envp), &exec);
	qemu_envp = qemu_exec_environ(envp, plugin);
	if (!qemu_argv || !qemu_envp) {
		err = -ENOMEM;
		snprintf(why, WHY_SIZE, "%s", strerror(ENOMEM));
		goto out;
	}
	err = start_child(q, engine.path, qemu_argv, qemu_envp, stdio, pid, why);
	if (!err) {
		snprintf(spawned->version, sizeof(spawned->version), "%s", engine.version);
		snprintf(spawned->why, sizeof(spawned->why), "%s", engine.why);
	}
out:
	qemu_exec_free_vector(qemu_argv);
	qemu_exec_free_vector(qemu_envp);
	qemu_exec_free(&exec);
	return err;
}
