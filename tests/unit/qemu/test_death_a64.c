// SPDX-License-Identifier: BSD-2-Clause
/* How AArch64 programs end, and what is recorded of it: signal, siginfo, registers, memory. */
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
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM AUXTAP_BIN "/../fixtures/a64/qemu_a64"

static char truth_path[64];

struct seen { /* state at the death */
	struct auxtap_regs regs;
	siginfo_t info;
	uint32_t code;
	char maps[16384];
};

static void look(struct client_run *run, const struct auxtap_target_event *ev)
{
	struct seen *seen = run->ctx;
	uint64_t tid[5] = {(uint64_t)ev->tid}, mem[5] = {(uint64_t)ev->pid, ev->ip, 4};
	uint64_t maps[5] = {(uint64_t)ev->pid};
	size_t size = 0;

	assert_true(client_call(run, EMU_REGS, tid, NULL, 0, &seen->regs, sizeof(seen->regs),
				NULL) >= 0);
	assert_true(client_call(run, EMU_SIGINFO, tid, NULL, 0, &seen->info, sizeof(seen->info),
				NULL) >= 0);
	client_call(run, EMU_MEM, mem, NULL, 0, &seen->code, sizeof(seen->code), NULL);
	assert_true(client_call(run, EMU_MAPS, maps, NULL, 0, seen->maps, sizeof(seen->maps) - 1,
				&size) > 0);
	seen->maps[size] = 0;
}

static uint64_t die(struct client_run *run, struct seen *seen, char *how, int signo)
{
	char *argv[] = {PROGRAM, how, NULL};
	const char *line;
	uint64_t at = 0, *truth, last;
	size_t nr;

	memset(run, 0, sizeof(*run));
	memset(seen, 0, sizeof(*seen));
	run->truth = truth_path;
	run->on_dying = look;
	run->ctx = seen;
	assert_int_equal(client_run(run, argv), 0);
	assert_string_equal(run->stderr_text, "");
	assert_true(WIFSIGNALED(run->status));
	assert_int_equal(WTERMSIG(run->status), signo);
	assert_int_equal(run->nr_dying, 1);
	assert_int_equal(run->dying.signo, signo);
	assert_int_equal(seen->info.si_signo, signo);
	assert_int_equal(seen->regs.arch, AUXTAP_ARCH_AARCH64);
	assert_true(seen->regs.valid == (1ull << AUXTAP_A64_NR_REGS) - 1);
	assert_non_null(strstr(seen->maps, "qemu_a64"));
	assert_non_null(strstr(seen->maps, "[stack]"));
	line = strstr(run->stdout_text, how);
	if (line) {
		char name[160];

		at = strtoull(line + strlen(how) + 1, NULL, 16);
		assert_int_equal(seen->regs.reg[AUXTAP_A64_X0 + 19], 0x1900);
		assert_int_equal(seen->regs.reg[AUXTAP_A64_X0 + 20], 0x2000);
		/* 0x1900 - 0x2000: negative, a borrow, no overflow */
		assert_int_equal(seen->regs.reg[AUXTAP_A64_PSTATE] & 0xf0000000, 0x80000000);
		/*
		 * the instruction before is the last that retired; a jump to an unmapped address
		 * does
		 */
		truth = client_truth(truth_path, run->pid, &nr);
		assert_non_null(truth);
		last = truth[nr - 1];
		free(truth);
		assert_int_equal(last, strcmp(how, "jump") ? at - 4 : at);
		snprintf(name, sizeof(name), "%s.%d", truth_path, (int)run->pid);
		unlink(name);
	}
	return at;
}

static void test_null(void **state)
{
	static struct client_run run;
	static struct seen seen;
	uint64_t at = die(&run, &seen, "null", SIGSEGV);

	(void)state;
	assert_int_equal(run.dying.ip, at);
	assert_int_equal(seen.regs.reg[AUXTAP_A64_PC], at);
	assert_int_equal(seen.regs.reg[AUXTAP_A64_X0], 2);
	assert_int_equal(seen.regs.reg[AUXTAP_A64_X0 + 1], 24);
	assert_int_equal(seen.regs.reg[AUXTAP_A64_SP] & 15, 0);
	assert_int_equal(seen.info.si_code, SEGV_MAPERR);
	assert_int_equal((uintptr_t)seen.info.si_addr, 32);
	assert_int_equal(seen.code, 0xb9000820); /* str w0, [x1, #8] */
}

static void test_codes(void **state)
{
	/* clang-format off */
	static const struct {
		char *how;
		int signo, si_code;
		uint64_t addr; /* 1: the instruction's own address */
	} deaths[] = {
		{ "read", SIGSEGV, SEGV_MAPERR, 0x1234560018 },
		/* bits in the top byte alone would be ignored */
		{ "noncanonical", SIGSEGV, SEGV_MAPERR, 0x42000000001000 },
		{ "text", SIGSEGV, SEGV_ACCERR, 1 },
		{ "frame", SIGSEGV, SEGV_MAPERR, 32 },
		/* for SIGILL, whose handler has no frame */
		{ "refused", SIGSEGV, SI_KERNEL, 0 },
		{ "brk", SIGTRAP, TRAP_BRKPT, 1 },
		{ "udf", SIGILL, ILL_ILLOPC, 1 },
		{ "jump", SIGSEGV, SEGV_MAPERR, 0x5550 },
	};
	/* clang-format on */
	static struct client_run run;
	static struct seen seen;

	(void)state;
	for (size_t i = 0; i < sizeof(deaths) / sizeof(deaths[0]); i++) {
		uint64_t at = die(&run, &seen, deaths[i].how, deaths[i].signo);
		uint64_t pc = strcmp(deaths[i].how, "jump") ? at : 0x5550;

		assert_int_not_equal(at, 0);
		assert_int_equal(seen.regs.reg[AUXTAP_A64_PC], pc);
		assert_int_equal(run.dying.ip, pc);
		assert_int_equal(seen.info.si_code, deaths[i].si_code);
		assert_int_equal((uintptr_t)seen.info.si_addr,
				 deaths[i].addr == 1 ? at : deaths[i].addr);
		assert_string_equal(run.dying.text, "");
	}
}

static void test_sent(void **state)
{
	static struct client_run run;
	static struct seen seen;

	(void)state;
	die(&run, &seen, "abort", SIGABRT);
	assert_true(seen.info.si_code <= 0);
	assert_int_equal(seen.info.si_pid, run.pid);
	die(&run, &seen, "kill", SIGSEGV);
	assert_true(seen.info.si_code <= 0);
	assert_int_equal(seen.info.si_pid, run.pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_null),
		cmocka_unit_test(test_codes),
		cmocka_unit_test(test_sent),
	};

	if (access(PROGRAM, X_OK)) {
		printf("skipped: no compiler for AArch64\n");
		return 77;
	}
	if (engine_skip("aarch64"))
		return 77;
	snprintf(truth_path, sizeof(truth_path), "/tmp/auxtap-death-a64-%d", (int)getpid());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
