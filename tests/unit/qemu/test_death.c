// SPDX-License-Identifier: BSD-2-Clause
/*
 * How programs end, and what is recorded of it: signal, siginfo, registers, memory, the last
 * instruction; exec, fork and threads before that; and auxtap's own end.
 */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "support_qemu_client.h"
#include "support_engine.h"
#include <auxtap/crash.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM(name) AUXTAP_BIN "/../tests/qemu_" name

static char truth_path[64];

struct seen { /* state at the death */
	struct auxtap_regs regs;
	siginfo_t info;
	uint8_t code[8];
	size_t nr_code;
	char maps[16384];
};

static void look(struct client_run *run, const struct auxtap_target_event *ev)
{
	struct seen *seen = run->ctx;
	uint64_t tid[5] = {(uint64_t)ev->tid}, mem[5] = {(uint64_t)ev->pid, ev->ip, 8};
	uint64_t maps[5] = {(uint64_t)ev->pid};
	size_t size = 0;

	assert_true(client_call(run, EMU_REGS, tid, NULL, 0, &seen->regs, sizeof(seen->regs),
				NULL) >= 0);
	assert_true(client_call(run, EMU_SIGINFO, tid, NULL, 0, &seen->info, sizeof(seen->info),
				NULL) >= 0);
	client_call(run, EMU_MEM, mem, NULL, 0, seen->code, sizeof(seen->code), &seen->nr_code);
	assert_true(client_call(run, EMU_MAPS, maps, NULL, 0, seen->maps, sizeof(seen->maps) - 1,
				&size) > 0);
	seen->maps[size] = 0;
}

static uint64_t label(const struct client_run *run, const char *name)
{
	const char *at = strstr(run->stdout_text, name);

	return at ? strtoull(at + strlen(name) + 1, NULL, 16) : 0;
}

static void die(struct client_run *run, struct seen *seen, char *how)
{
	char *argv[] = {PROGRAM("die"), how, NULL};

	run->truth = truth_path;
	run->on_dying = look;
	run->ctx = seen;
	memset(seen, 0, sizeof(*seen));
	assert_int_equal(client_run(run, argv), 0);
	/* the program's own output, nothing of qemu's */
	assert_string_equal(run->stderr_text, "");
}

static void forget_truth(const struct client_run *run)
{
	char name[128];

	for (int i = 0; i < run->nr_tids; i++) {
		snprintf(name, sizeof(name), "%s.%d", truth_path, (int)run->tids[i]);
		unlink(name);
	}
}

static uint64_t last_truth(pid_t tid)
{
	size_t nr;
	uint64_t *truth = client_truth(truth_path, tid, &nr);
	uint64_t last = truth && nr ? truth[nr - 1] : 0;

	free(truth);
	return last;
}

static void test_null(void **state)
{
	static struct client_run run;
	static struct seen seen;

	(void)state;
	die(&run, &seen, "null");
	assert_true(WIFSIGNALED(run.status));
	assert_int_equal(WTERMSIG(run.status), SIGSEGV);
	assert_int_equal(run.nr_dying, 1);
	assert_int_equal(run.dying.signo, SIGSEGV);
	assert_int_equal(run.dying.ip, label(&run, "null"));
	assert_int_equal(seen.regs.reg[AUXTAP_X86_IP], label(&run, "null"));
	assert_int_equal(seen.regs.reg[AUXTAP_X86_AX], 2);
	assert_true(seen.regs.reg[AUXTAP_X86_FS] != 0);
	assert_int_equal(seen.info.si_code, SEGV_MAPERR);
	assert_int_equal((uintptr_t)seen.info.si_addr, 24);
	/* movl %eax, 24(%reg) */
	assert_int_equal(seen.nr_code, 8);
	assert_int_equal(seen.code[0], 0x89);
	assert_int_equal(seen.code[2], 24);
	assert_non_null(strstr(seen.maps, "qemu_die"));
	assert_non_null(strstr(seen.maps, "[stack]"));
	assert_null(strstr(seen.maps, "qemu-x86_64"));
	/* the instruction before the fault is the last that ran: incl %eax, 2 bytes */
	assert_int_equal(last_truth(run.pid), label(&run, "null") - 2);
	forget_truth(&run);
}

static void test_codes(void **state)
{
	static struct client_run fpe, ill, jump, abrt;
	static struct seen seen;

	(void)state;
	die(&fpe, &seen, "fpe");
	assert_int_equal(fpe.dying.signo, SIGFPE);
	assert_int_equal(seen.info.si_code, FPE_INTDIV);
	assert_int_equal((uintptr_t)seen.info.si_addr, label(&fpe, "fpe"));
	forget_truth(&fpe);
	die(&ill, &seen, "ill");
	assert_int_equal(ill.dying.signo, SIGILL);
	assert_int_equal(ill.dying.ip, label(&ill, "ill"));
	assert_int_equal(seen.info.si_code, ILL_ILLOPN);
	assert_string_equal(ill.dying.text, "");
	assert_int_equal(last_truth(ill.pid), label(&ill, "ill") - 2);
	forget_truth(&ill);
	die(&jump, &seen, "jump");
	assert_int_equal(jump.dying.signo, SIGSEGV);
	assert_int_equal(jump.dying.ip, 0x654321);
	assert_int_equal(seen.info.si_code, SEGV_MAPERR);
	assert_int_equal((uintptr_t)seen.info.si_addr, 0x654321);
	forget_truth(&jump);
	die(&abrt, &seen, "abort");
	assert_int_equal(abrt.dying.signo, SIGABRT);
	assert_int_equal(seen.info.si_code, SI_TKILL);
	assert_int_equal(WTERMSIG(abrt.status), SIGABRT);
	forget_truth(&abrt);
}

/*
 * qemu cannot write the frame of the handler. It executes the instruction again and dies of its
 * second fault: no instruction of the block after the first fault has run.
 */
static void test_no_frame(void **state)
{
	static struct client_run run;
	static struct seen seen;

	(void)state;
	die(&run, &seen, "frame");
	assert_true(WIFSIGNALED(run.status));
	assert_int_equal(WTERMSIG(run.status), SIGSEGV);
	assert_int_equal(run.dying.ip, label(&run, "frame"));
	assert_int_equal(seen.regs.reg[AUXTAP_X86_IP], label(&run, "frame"));
	assert_int_equal(last_truth(run.pid), label(&run, "frame") - 2);
	assert_int_equal(run.nr_faults, 0); /* none entered a handler */
	assert_int_equal(run.dying.frame_signo, SIGSEGV);
	forget_truth(&run);
}

/* The kernel sends SIGSEGV instead of starting the handler; qemu alone would die of SIGFPE. */
static void test_no_frame_for_division(void **state)
{
	static struct client_run run, both;
	static struct seen seen;

	(void)state;
	die(&run, &seen, "divide");
	assert_true(WIFSIGNALED(run.status));
	assert_int_equal(WTERMSIG(run.status), SIGSEGV);
	assert_int_equal(run.dying.signo, SIGSEGV);
	assert_int_equal(run.dying.frame_signo, SIGFPE);
	assert_int_equal(run.dying.ip, label(&run, "divide"));
	assert_int_equal(seen.info.si_signo, SIGSEGV);
	assert_int_equal(seen.info.si_code, SI_KERNEL);
	assert_string_equal(run.dying.text, "");
	assert_int_equal(last_truth(run.pid), label(&run, "divide") - 2);
	forget_truth(&run);
	/* a kernel would start the handler of SIGSEGV, if it can */
	die(&both, &seen, "divide-both");
	assert_int_equal(WTERMSIG(both.status), SIGFPE);
	assert_true(both.dying.emulator_limit);
	assert_int_equal(strncmp(both.dying.text, "emulator's limit", 16), 0);
	assert_int_equal(last_truth(both.pid), label(&both, "divide") - 2);
	forget_truth(&both);
}

static void test_emulators_limit(void **state)
{
	static struct client_run run;
	static struct seen seen;

	(void)state;
	die(&run, &seen, "avx512");
	assert_int_equal(run.dying.signo, SIGILL);
	assert_int_equal(run.dying.ip, label(&run, "avx512"));
	assert_true(run.dying.emulator_limit);
	assert_int_equal(strncmp(run.dying.text, "emulator's limit", 16), 0);
	forget_truth(&run);
}

static void test_thread_and_fork(void **state)
{
	static struct client_run thread, child;
	static struct seen seen;

	(void)state;
	die(&thread, &seen, "thread");
	assert_int_equal(thread.nr_threads, 2);
	assert_int_equal(thread.nr_dying, 1);
	assert_int_not_equal(thread.dying.tid, thread.pid);
	assert_int_equal(thread.dying.pid, thread.pid);
	assert_int_equal(thread.dying.ip, label(&thread, "null"));
	assert_int_equal(last_truth(thread.dying.tid), label(&thread, "null") - 2);
	forget_truth(&thread);
	die(&child, &seen, "fork");
	assert_int_equal(child.nr_forks, 1);
	assert_int_equal(child.nr_dying, 1);
	assert_int_not_equal(child.dying.pid, child.pid);
	assert_int_equal(last_truth(child.dying.tid), label(&child, "null") - 2);
	assert_int_equal(WEXITSTATUS(child.status), 3);
	forget_truth(&child);
}

static void test_exec(void **state)
{
	static struct client_run plain, threads, second, fails, shell, native;
	static struct seen seen;
	char *argv_shell[] = {"sh", "-c", "exec " PROGRAM("die") " null", NULL};
	struct stat st;

	(void)state;
	die(&plain, &seen, "exec");
	assert_int_equal(plain.nr_execs, 1);
	assert_int_equal(plain.nr_dying, 1);
	assert_int_equal(plain.dying.ip, label(&plain, "null"));
	assert_int_equal(last_truth(plain.pid), label(&plain, "null") - 2);
	forget_truth(&plain);
	die(&threads, &seen, "exec-thread");
	assert_int_equal(threads.nr_execs, 1);
	assert_int_equal(threads.dying.pid, threads.pid);
	assert_int_equal(WTERMSIG(threads.status), SIGSEGV);
	forget_truth(&threads);
	die(&second, &seen, "exec-in-thread");
	assert_int_equal(second.nr_execs, 1);
	assert_int_equal(second.dying.pid, second.pid);
	assert_int_equal(second.dying.ip, label(&second, "null"));
	assert_int_equal(second.nr_notices, 0);
	assert_int_equal(last_truth(second.pid), label(&second, "null") - 2);
	forget_truth(&second);
	die(&fails, &seen, "noexec");
	assert_int_equal(WEXITSTATUS(fails.status), 7);
	assert_int_equal(fails.nr_notices, 0);
	forget_truth(&fails);
	assert_int_equal(client_run(&shell, argv_shell), 0);
	assert_int_equal(shell.nr_execs, 1);
	assert_int_equal(shell.nr_dying, 1);
	assert_int_equal(shell.dying.ip, label(&shell, "null"));
	/* a set-id program, for a user other than root: cannot be traced, and reported */
	if (geteuid() && !stat("/usr/bin/passwd", &st)) {
		char *argv_native[] = {"sh", "-c", "exec passwd --help", NULL};

		assert_int_equal(client_run(&native, argv_native), 0);
		assert_int_equal(native.nr_notices, 1);
	}
}

static void test_environment(void **state)
{
	static struct client_run run, name;
	char *envp[] = {"A=1,2",	 "LD_LIBRARY_PATH=/nowhere",
			"QEMU_STRACE=1", "LD_PRELOAD=",
			"PATH=/usr/bin", NULL};
	char *argv[] = {"env", NULL}, *argv_name[] = {PROGRAM("die"), "name", NULL};

	(void)state;
	run.envp = envp;
	assert_int_equal(client_run(&run, argv), 0);
	assert_string_equal(
		run.stdout_text,
		"A=1,2\nLD_LIBRARY_PATH=/nowhere\nQEMU_STRACE=1\nLD_PRELOAD=\nPATH=/usr/bin\n");
	assert_string_equal(run.stderr_text, "");
	assert_int_equal(client_run(&name, argv_name), 0);
	assert_non_null(strstr(name.stdout_text, "qemu_die "));
}

static void test_killed(void **state)
{
	static struct client_run nine, term, segv, gone;
	static struct seen seen;
	char *argv_async[] = {PROGRAM("die"), "loop", NULL};
	char *argv_after[] = {"sh", "-c", "sleep 0.4; echo went on", NULL};

	(void)state;
	nine.kill_after_ms = term.kill_after_ms = segv.kill_after_ms = gone.kill_after_ms = 150;
	nine.kill_signo = SIGKILL;
	assert_int_equal(client_run(&nine, argv_async), 0);
	assert_int_equal(WTERMSIG(nine.status), SIGKILL);
	assert_int_equal(nine.nr_dying, 0);
	term.kill_signo = SIGTERM;
	assert_int_equal(client_run(&term, argv_async), 0);
	assert_int_equal(WTERMSIG(term.status), SIGTERM);
	assert_int_equal(term.nr_dying, 0);
	segv.kill_signo = SIGSEGV;
	segv.on_dying = look;
	segv.ctx = &seen;
	assert_int_equal(client_run(&segv, argv_async), 0);
	assert_int_equal(segv.nr_dying, 1);
	assert_int_equal(seen.info.si_code, SI_USER);
	assert_int_equal(seen.info.si_pid, getpid());
	/* the client disconnects; the program does not notice */
	gone.hang_up = true;
	assert_int_equal(client_run(&gone, argv_after), 0);
	assert_int_equal(gone.status, -1);
}

/* A ring of two slots is nearly always full: most tasks are killed while they hold a ticket. */
static void test_killed_with_a_ticket(void **state)
{
	static struct client_run run = {.slots = "2"};
	char *argv[] = {PROGRAM("die"), "children", NULL};

	(void)state;
	assert_int_equal(client_run(&run, argv), 0);
	assert_int_equal(WEXITSTATUS(run.status), 10);
	assert_int_equal(run.nr_forks, 40);
}

/* Killed in fork: the children that were not yet reported continue. */
static void test_killed_makers(void **state)
{
	static struct client_run run;
	char *argv[] = {PROGRAM("die"), "forkers", NULL};

	(void)state;
	assert_int_equal(client_run(&run, argv), 0);
	assert_int_equal(WEXITSTATUS(run.status), 12);
}

/* A wild program overwrites the shared memory: a gap, and the program continues. */
static void test_scribble(void **state)
{
	static struct client_run run;
	char *argv[] = {PROGRAM("die"), "scribble", NULL};

	(void)state;
	assert_int_equal(client_run(&run, argv), 0);
	assert_non_null(strstr(run.stdout_text, "scribbled"));
	assert_int_equal(WEXITSTATUS(run.status), 11);
	assert_true(run.nr_notices > 0);
}

static void test_failures(void **state)
{
	static struct client_run none, no_plugin, no_qemu, broken;
	char cut[96], part[200], *argv_cut[] = {cut, NULL};
	FILE *from, *to;
	char *argv[] = {"/nonexistent/program", NULL}, *argv_true[] = {"true", NULL};

	(void)state;
	assert_int_equal(client_run(&none, argv), 0);
	assert_int_equal(none.result, -2);
	/* capture prints which one: the name that it asked for */
	assert_string_equal(none.why, "No such file or directory");
	setenv("AUXTAP_QEMU_PLUGIN", "/nonexistent.so", 1);
	assert_int_equal(client_run(&no_plugin, argv_true), 0);
	unsetenv("AUXTAP_QEMU_PLUGIN");
	assert_true(no_plugin.result < 0);
	assert_non_null(strstr(no_plugin.why, "plugin"));
	/* not a qemu, or one that does not start: not reported as the program's error */
	setenv("AUXTAP_QEMU", "/bin/false", 1);
	assert_int_equal(client_run(&no_qemu, argv_true), 0);
	unsetenv("AUXTAP_QEMU");
	/* another one is used instead, and the message says why */
	assert_true(no_qemu.result > 0);
	assert_int_equal(no_qemu.status, 0);
	assert_true(*no_qemu.engine.version >= '0' && *no_qemu.engine.version <= '9');
	assert_ptr_equal(strstr(no_qemu.engine.why,
				"AUXTAP_QEMU=/bin/false: it does not load plugins"),
			 no_qemu.engine.why);
	/* a truncated program: qemu refuses it, as the kernel would */
	snprintf(cut, sizeof(cut), "%s.cut", truth_path);
	from = fopen(PROGRAM("die"), "r");
	to = fopen(cut, "w");
	assert_int_equal(fread(part, 1, sizeof(part), from), sizeof(part));
	assert_int_equal(fwrite(part, 1, sizeof(part), to), sizeof(part));
	fclose(from);
	fclose(to);
	chmod(cut, 0755);
	assert_int_equal(client_run(&broken, argv_cut), 0);
	unlink(cut);
	assert_int_equal(broken.result, -ENOEXEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_null),
		cmocka_unit_test(test_codes),
		cmocka_unit_test(test_no_frame),
		cmocka_unit_test(test_no_frame_for_division),
		cmocka_unit_test(test_emulators_limit),
		cmocka_unit_test(test_thread_and_fork),
		cmocka_unit_test(test_exec),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_killed_with_a_ticket),
		cmocka_unit_test(test_killed_makers),
		cmocka_unit_test(test_scribble),
		cmocka_unit_test(test_failures),
	};

	if (engine_skip("x86_64"))
		return 77;
	snprintf(truth_path, sizeof(truth_path), "/tmp/auxtap-qemu-death-%d", (int)getpid());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
