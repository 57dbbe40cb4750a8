// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The program calls execve: instead of running the new program natively and untraced, this process
 * becomes a new qemu with the plugin. qemu_exec.c builds its command line.
 */
#include "exec/qemu/qemu_exec.h"
#include "qemu_plugin.h"
#include "util/vector.h"
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_STRING  (128u * 1024) /* MAX_ARG_STRLEN of the kernel */
#define MAX_STRINGS 0x20000u

static char **read_vector(u64 addr)
{
	size_t nr = 0, capacity = 0;
	char **vector = NULL;
	u64 at;

	while (!vector_grow_by(vector, nr, 2, capacity)) {
		vector[nr] = NULL;
		if (!addr)
			return vector;
		if (nr == MAX_STRINGS || qp_read(addr + 8 * nr, &at, 8))
			break;
		if (!at)
			return vector;
		vector[nr] = qp_read_string(at, MAX_STRING);
		if (!vector[nr])
			break;
		vector[++nr] = NULL;
	}
	qemu_exec_free_vector(vector);
	return NULL;
}

/*
 * A file without a name, which only a descriptor refers to (memfd_create(), or deleted): the new
 * qemu could not open it. target: the target of the descriptor's link.
 */
static bool is_nameless(int fd, const char *target)
{
	struct stat of_fd, of_name;

	return !fstat(fd, &of_fd) && (stat(target, &of_name) || of_fd.st_dev != of_name.st_dev ||
				      of_fd.st_ino != of_name.st_ino);
}

/* A path of the program that is valid after exec has closed descriptors. *nameless: none exists. */
static char *program_path(enum qemu_call call, const u64 arg[6], bool *nameless)
{
	static const char fds[] = "/proc/self/fd/";
	char fd_path[PATH_MAX + 64], target[PATH_MAX], self[64];
	char *path = qp_read_string(arg[call == QEMU_CALL_EXECVEAT ? 1 : 0], PATH_MAX);
	int fd = call == QEMU_CALL_EXECVEAT ? (int)arg[0] : AT_FDCWD;
	ssize_t size;

	if (!path)
		return NULL;
	snprintf(self, sizeof(self), "/proc/%d/exe", (int)getpid());
	if (!strcmp(path, "/proc/self/exe") || !strcmp(path, self)) {
		/* qemu shows the program there */
		free(path);
		return strdup(qp.program);
	}
	/* C libraries without execveat() execute such a path */
	if (!strncmp(path, fds, sizeof(fds) - 1) && !strchr(path + sizeof(fds) - 1, '/')) {
		fd = atoi(path + sizeof(fds) - 1);
		path[0] = '\0';
	}
	if (path[0] == '/' || fd == AT_FDCWD)
		return path;
	snprintf(fd_path, sizeof(fd_path), "%s%d", fds, fd);
	size = readlink(fd_path, target, sizeof(target) - 1);
	if (size <= 0) {
		free(path);
		return NULL;
	}
	target[size] = 0;
	if (path[0]) {
		snprintf(fd_path, sizeof(fd_path), "%s/%s", target, path);
		free(path);
		return strdup(fd_path);
	}
	free(path);
	*nameless = is_nameless(fd, target);
	return strdup(target);
}

/* The running qemu, or the one for the other instruction set in its directory. */
static void find_qemu(const struct qemu_arch *arch, char *qemu)
{
	ssize_t size = readlink("/proc/self/exe", qemu, PATH_MAX - 1);
	char *slash;

	qemu[size > 0 ? size : 0] = 0;
	slash = strrchr(qemu, '/');
	if (arch != qp.arch && slash)
		strcpy(slash + 1, arch->binary);
}

void qp_exec(struct qemu_rec *rec, enum qemu_call call, const u64 arg[6])
{
	u64 first = call == QEMU_CALL_EXECVEAT ? 2 : 1;
	bool nameless = false;
	char *path = program_path(call, arg, &nameless);
	char **argv = read_vector(arg[first]), **envp = read_vector(arg[first + 1]);
	char **qemu_argv = NULL, **qemu_envp = NULL;
	struct qemu_exec exec = {.verdict = QEMU_EXEC_FAIL};
	char qemu[PATH_MAX + 32];

	qemu_store(&rec->native, 0);
	/* bad pointers: qemu's own execve returns the error */
	if (!path || !argv || !envp)
		goto out;
	if (nameless) {
		exec.verdict = QEMU_EXEC_NATIVE;
		snprintf(exec.why, sizeof(exec.why), "a program that only a descriptor names");
	} else if (qemu_exec_resolve(path, argv, &exec)) {
		goto out;
	}
	if (qp.is_old)
		qemu_exec_refuse_sanitizer(&exec);
	find_qemu(exec.verdict == QEMU_EXEC_RUN ? exec.arch : qp.arch, qemu);
	if (exec.verdict == QEMU_EXEC_RUN && access(qp.shm_path, R_OK | W_OK)) {
		exec.verdict = QEMU_EXEC_NATIVE;
		snprintf(exec.why, sizeof(exec.why), "the process may not reach auxtap's memory");
	}
	if (exec.verdict == QEMU_EXEC_RUN && (access(qemu, X_OK) || access(qp.plugin_path, R_OK))) {
		exec.verdict = QEMU_EXEC_NATIVE;
		snprintf(exec.why, sizeof(exec.why), "the process cannot reach qemu");
	}
	if (exec.verdict == QEMU_EXEC_NATIVE) {
		snprintf(rec->text, sizeof(rec->text), "%.60s: %.48s",
			 exec.program ? exec.program : path, exec.why);
		qemu_store(&rec->native, 1);
	}
	if (exec.verdict != QEMU_EXEC_RUN)
		goto out;
	exec.api = qp_api_version(); /* the other qemu has the same version */
	qemu_argv = qemu_exec_command(qemu, qp.plugin_path, qp.shm_path, qp.sysroot, &exec);
	qemu_envp = qemu_exec_environ(envp, qp.plugin_path);
	if (qemu_argv && qemu_envp)
		execve(qemu, qemu_argv, qemu_envp);
out:
	qemu_exec_free_vector(qemu_argv);
	qemu_exec_free_vector(qemu_envp);
	qemu_exec_free(&exec);
	qemu_exec_free_vector(argv);
	qemu_exec_free_vector(envp);
	free(path);
}
