// SPDX-License-Identifier: BSD-2-Clause
/* Open calls at every position of a history, compared with a stack that the test keeps. */
#include "gdb/gdb_replay.h"
#include "gdb/history_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_DEPTH 64
#define MAX_STEPS 14000

static struct history h;
static uint64_t now;
/* callers at the time of each block, the innermost first; those that the trace proves */
static struct step {
	uint64_t callers[MAX_DEPTH];
	size_t nr;
} steps[MAX_STEPS];
static size_t nr_steps;
static uint64_t stack[MAX_DEPTH];
static size_t depth;

static void add(uint32_t type, uint64_t ip, uint64_t addr, enum auxtap_branch_kind kind, bool on)
{
	struct auxtap_gap gap = {.cause = AUXTAP_GAP_TRUNCATED};
	struct auxtap_event ev = {.size = sizeof(ev),
				  .type = type,
				  .pid = 1,
				  .tid = 1,
				  .time = ++now,
				  .ip = ip,
				  .addr = addr,
				  .nr_insns = 1,
				  .has_ip = true,
				  .has_addr = true,
				  .insn_size = 5,
				  .kind = kind,
				  .trace_on = on};

	if (type == AUXTAP_EVENT_GAP)
		ev.gap = &gap;
	assert_int_equal(history_add(&h, &ev), 0);
}

static void begin(void)
{
	history_init(&h, 1 << 30, NULL);
	nr_steps = depth = 0;
	now = 0;
}

static void block(uint64_t ip)
{
	struct step *step = &steps[nr_steps++];

	add(AUXTAP_EVENT_BLOCK, ip, ip, AUXTAP_BRANCH_NONE, false);
	step->nr = depth;
	for (size_t i = 0; i < depth; i++)
		step->callers[i] = stack[depth - 1 - i];
}

static void call(uint64_t ip, uint64_t to)
{
	add(AUXTAP_EVENT_CALL, ip, to, AUXTAP_BRANCH_CALL, false);
	stack[depth++] = ip + 5;
}

static void back(void)
{
	add(AUXTAP_EVENT_RETURN, 0x77, stack[--depth], AUXTAP_BRANCH_RETURN, false);
}

/* At each block, what history_calls() says is what the stack was. */
static void check(void)
{
	size_t at_step = 0;

	assert_int_equal(history_finish(&h), 0);
	for (uint64_t at = 0; at < h.threads[0].nr; at++) {
		const struct step *step = &steps[at_step];
		struct history_frame frames[MAX_DEPTH + 1];
		size_t nr;

		if (history_entry_at(&h, 0, at)->kind != ENTRY_BLOCK)
			continue;
		nr = history_calls(&h, 0, at, 0x1234, frames, MAX_DEPTH + 1);
		assert_int_equal(nr, step->nr + 1);
		assert_true(frames[0].pc == 0x1234);
		for (size_t i = 0; i < step->nr; i++) {
			assert_true(frames[i + 1].pc == step->callers[i]);
			assert_true(frames[i + 1].depth == frames[i].depth - 1);
		}
		at_step++;
	}
	assert_int_equal(at_step, nr_steps);
}

static void test_random_calls(void **state)
{
	unsigned int seed = 3;

	(void)state;
	begin();
	while (nr_steps < MAX_STEPS - 1) {
		unsigned int what = (unsigned int)rand_r(&seed) % 100;

		/* deep for a while, so that callers are many chunks away */
		if (what < (nr_steps / 5000 % 2 ? 40u : 60u) && depth < 40)
			call(0x1000 + 16 * ((unsigned int)rand_r(&seed) % 400), 0x9000);
		else if (depth)
			back();
		block(0x5000);
		if (what == 99) { /* leaves several at once, as longjmp() and exceptions do */
			size_t nr = 1 + (unsigned int)rand_r(&seed) % 4;
			bool once = true;

			for (size_t i = 1; i <= nr && i <= depth; i++)
				for (size_t j = 1; j < i; j++)
					once = once && stack[depth - i] != stack[depth - j];
			if (nr > depth || !once)
				continue;
			depth -= nr - 1;
			back();
			block(0x5000);
		}
	}
	check();
	history_free(&h);
}

/* Callers from before the trace are known by their returns; a gap ends what is known. */
static void test_outer_callers(void **state)
{
	static const uint64_t outer[] = {0x333, 0x222};

	(void)state;
	begin();
	memcpy(stack, outer, sizeof(outer)); /* the calls are not in the trace */
	depth = 2;
	for (unsigned int i = 0; i < 5000; i++) {
		block(0x5000);
		call(0x1000, 0x9000);
		block(0x9000);
		back();
	}
	back();
	block(0x222);
	back();
	block(0x333);
	add(AUXTAP_EVENT_GAP, 0, 0, AUXTAP_BRANCH_NONE, false);
	block(0x6000); /* what returns to nowhere before the end is not known */
	call(0x7000, 0x9000);
	block(0x9000);
	add(AUXTAP_EVENT_GAP, 0, 0, AUXTAP_BRANCH_NONE, false);
	block(0x6000);
	steps[nr_steps - 1].nr = 0;
	check();
	history_free(&h);
}

/*
 * A chunk that starts below the depth at which the trace started, with a call: from chunks after
 * it, the search for the caller does not skip it.
 */
static void test_call_first_in_chunk(void **state)
{
	static const uint64_t outer[] = {0x333, 0x222};

	(void)state;
	begin();
	memcpy(stack, outer, sizeof(outer)); /* the calls are not in the trace */
	depth = 2;
	block(0x5000);
	back();
	block(0x222);
	back();
	while (h.threads[0].nr < HISTORY_CHUNK)
		block(0x333);
	call(0x1000, 0x9000);
	for (unsigned int i = 0; i < 2 * HISTORY_CHUNK; i++)
		block(0x9000);
	check();
	history_free(&h);
}

/* A handler interrupts a function at 0x5005, returns to the trampoline, and the function goes on.
 */
static void test_signal(void **state)
{
	(void)state;
	begin();
	block(0x1000);
	call(0x1000, 0x5000);
	block(0x5000);
	add(AUXTAP_EVENT_TRACE, 0x5005, 0, AUXTAP_BRANCH_NONE, false);
	add(AUXTAP_EVENT_TRACE, 0, 0x8000, AUXTAP_BRANCH_NONE, true);
	stack[depth++] = 0x5005;
	block(0x8000);
	call(0x8004, 0x9000);
	block(0x9000);
	back();
	block(0x8009);
	add(AUXTAP_EVENT_RETURN, 0x8010, 0x7000, AUXTAP_BRANCH_RETURN, false); /* trampoline */
	block(0x7000); /* its caller is what was interrupted */
	add(AUXTAP_EVENT_TRACE, 0x7000, 0, AUXTAP_BRANCH_NONE, false); /* sigreturn() */
	add(AUXTAP_EVENT_TRACE, 0, 0x5005, AUXTAP_BRANCH_NONE, true);
	depth--;
	block(0x5005);
	back();
	block(0x1005);
	check();
	history_free(&h);
}

/* longjmp() to where setjmp() returned: nothing that was open before is claimed to be. */
static void test_longjmp(void **state)
{
	struct history_frame frames[8];
	uint64_t last;

	(void)state;
	begin();
	call(0x1000, 0x2000); /* main calls setjmp */
	back();
	call(0x1100, 0x3000);
	call(0x3000, 0x4000); /* ... which calls longjmp */
	add(AUXTAP_EVENT_BRANCH, 0x4010, 0x1005, AUXTAP_BRANCH_JUMP_INDIRECT, false);
	block(0x1005);
	assert_int_equal(history_finish(&h), 0);
	last = h.threads[0].nr - 1;
	assert_int_equal(history_calls(&h, 0, last, 0x1005, frames, 8), 1);
	history_free(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_calls),
		cmocka_unit_test(test_outer_callers),
		cmocka_unit_test(test_call_first_in_chunk),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_longjmp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
