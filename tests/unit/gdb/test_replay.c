// SPDX-License-Identifier: BSD-2-Clause
/*
 * The history and motion through it, compared with a plain list of the instructions: steps,
 * breakpoints, gaps, several threads, chunks that are packed and dropped.
 */
#include "gdb/gdb_replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_LIST 200000

/* Each instruction has two bytes. */
static uint32_t two_bytes(void *ctx, const struct history_entry *block, uint8_t *sizes)
{
	(void)ctx;
	memset(sizes, 2, block->nr);
	return block->nr;
}

static bool same_kilobyte(void *ctx, uint64_t a, uint64_t b, uint64_t time)
{
	(void)ctx;
	(void)time;
	return a >> 10 == b >> 10;
}

static const struct history_code code = {two_bytes, same_kilobyte, NULL};

static struct history h;
static struct replay r;
/* What was executed, in order: of which thread, at which address; address 0: a gap */
static struct {
	int32_t tid;
	uint64_t ip;
} list[MAX_LIST];
static size_t nr_list;
static uint64_t now;

static void begin(size_t max_bytes)
{
	history_init(&h, max_bytes, &code);
	nr_list = 0;
	now = 1;
}

static void end(void)
{
	assert_int_equal(history_finish(&h), 0);
	assert_int_equal(replay_init(&r, &h), 0);
}

static void done(void)
{
	replay_free(&r);
	history_free(&h);
}

static void add(uint32_t type, int32_t tid, uint64_t ip, uint64_t addr, uint32_t nr)
{
	struct auxtap_gap gap = {.cause = AUXTAP_GAP_TRUNCATED, .nr_bytes = 7, .exact = 1};
	struct auxtap_event ev = {.size = sizeof(ev),
				  .type = type,
				  .pid = 1,
				  .tid = tid,
				  .time = now++,
				  .ip = ip,
				  .addr = addr,
				  .nr_insns = nr,
				  .has_ip = true,
				  .has_addr = true,
				  .insn_size = 2};

	if (type == AUXTAP_EVENT_GAP)
		ev.gap = &gap;
	assert_int_equal(history_add(&h, &ev), 0);
}

static void block(int32_t tid, uint64_t ip, uint32_t nr)
{
	add(AUXTAP_EVENT_BLOCK, tid, ip, ip + 2 * (nr - 1), nr);
	for (uint32_t i = 0; i < nr && nr_list < MAX_LIST; i++) {
		list[nr_list].tid = tid;
		list[nr_list++].ip = ip + 2 * i;
	}
}

static void gap(int32_t tid)
{
	add(AUXTAP_EVENT_GAP, tid, 0, 0, 0);
	list[nr_list].tid = tid;
	list[nr_list++].ip = 0;
}

static enum replay_stop move(int32_t tid, bool back, bool go, bool all, int32_t *stopped)
{
	struct replay_request m = {(uint32_t)history_find(&h, tid), back, go, all};
	uint32_t thread = 99;
	enum replay_stop stop = replay_resume(&r, &m, &thread);

	*stopped = h.threads[thread].tid;
	return stop;
}

static uint64_t pc(int32_t tid)
{
	uint64_t at = 0;

	assert_true(replay_pc(&r, (uint32_t)history_find(&h, tid), &at));
	return at;
}

/* Many different blocks, so that some entry has more successors than slots. */
static void fill(unsigned int nr, int32_t nr_threads, bool gaps)
{
	unsigned int seed = 7;

	for (unsigned int i = 0; i < nr; i++) {
		int32_t tid = 1 + rand_r(&seed) % nr_threads;
		uint64_t ip = 0x1000 + 64 * ((unsigned int)rand_r(&seed) % 600);

		if (i % 3 == 0)
			ip = 0x1000;
		block(tid, ip, 1 + (unsigned int)rand_r(&seed) % 5);
		if (gaps && i % 97 == 50)
			gap(tid);
	}
}

static void step_through(int32_t tid)
{
	int32_t stopped;

	for (size_t i = nr_list; i-- > 0;) {
		if (list[i].tid != tid)
			continue;
		if (!list[i].ip)
			assert_int_equal(move(tid, true, false, false, &stopped), REPLAY_GAP);
		else {
			assert_int_equal(move(tid, true, false, false, &stopped), REPLAY_STEPPED);
			assert_true(pc(tid) == list[i].ip);
		}
	}
	assert_int_equal(move(tid, true, false, false, &stopped), REPLAY_BEGIN);
	for (size_t i = 0, first = 1; i < nr_list; i++) {
		if (list[i].tid != tid)
			continue;
		if (!list[i].ip) {
			assert_int_equal(move(tid, false, false, false, &stopped), REPLAY_GAP);
			continue;
		}
		if (!first)
			assert_int_equal(move(tid, false, false, false, &stopped), REPLAY_STEPPED);
		first = 0;
		assert_true(pc(tid) == list[i].ip);
	}
}

static void test_steps(void **state)
{
	int32_t stopped;

	(void)state;
	begin(1 << 30);
	fill(20000, 1, false);
	end();
	assert_true(h.threads[0].nr_chunks == 5);
	step_through(1);
	/* where the thread goes on is not known: the last instruction is the end */
	assert_int_equal(move(1, false, false, false, &stopped), REPLAY_END);
	done();
}

static void test_gaps(void **state)
{
	(void)state;
	begin(1 << 30);
	fill(3000, 1, true);
	end();
	step_through(1);
	done();
}

static void test_threads(void **state)
{
	(void)state;
	begin(1 << 30);
	fill(9000, 3, true);
	end();
	for (int32_t tid = 1; tid <= 3; tid++)
		step_through(tid);
	done();
}

/* Where the other threads are when one of them has moved. */
static void test_order(void **state)
{
	int32_t stopped;

	(void)state;
	begin(1 << 30);
	block(1, 0x1000, 2);
	block(2, 0x2000, 2);
	block(1, 0x3000, 2);
	block(2, 0x4000, 2);
	end();
	assert_true(replay_all_at_end(&r));
	move(1, true, false, false, &stopped); /* thread 2 is before its last block */
	assert_true(pc(1) == 0x3002 && pc(2) == 0x4000);
	move(1, true, false, false, &stopped);
	move(1, true, false, false, &stopped);
	assert_true(pc(1) == 0x1002 && pc(2) == 0x2000);
	move(2, false, false, false, &stopped);
	assert_true(pc(1) == 0x3000 && pc(2) == 0x2002);
	move(2, true, false, false, &stopped);
	assert_true(pc(1) == 0x3000 && pc(2) == 0x2000);
	move(2, false, false, false, &stopped);
	move(2, false, false, false, &stopped);
	assert_true(pc(1) == 0x3000 && pc(2) == 0x4000);
	move(2, false, false, false, &stopped);
	assert_true(replay_at_end(&r, 0) && pc(2) == 0x4002);
	done();
}

/* Without times no order is made up. */
static void test_no_times(void **state)
{
	int32_t stopped;

	(void)state;
	begin(1 << 30);
	block(1, 0x1000, 2);
	now = 0;
	block(2, 0x2000, 2);
	end();
	assert_int_equal(move(1, true, false, false, &stopped), REPLAY_STEPPED);
	assert_true(pc(1) == 0x1002);
	assert_true(replay_at_end(&r, (uint32_t)history_find(&h, 2)));
	assert_int_equal(move(2, true, true, true, &stopped), REPLAY_BEGIN);
	assert_true(pc(1) == 0x1002 && pc(2) == 0x2000);
	done();
}

static bool is_set(uint64_t ip)
{
	return ip == 0x1000 || ip == 0x1042 || ip == 0x2044 || ip == 0x1084;
}

/* Stops backwards and forwards at breakpoints: as the list says. tid 0: of any thread */
static void check_breakpoints(int32_t tid)
{
	int32_t stopped, of = tid ? tid : 1;
	unsigned int nr = 0;

	for (size_t i = nr_list; i-- > 0;) {
		if ((tid && list[i].tid != tid) || !is_set(list[i].ip))
			continue;
		assert_int_equal(move(of, true, true, !tid, &stopped), REPLAY_BREAKPOINT);
		assert_int_equal(stopped, list[i].tid);
		assert_true(pc(stopped) == list[i].ip);
		nr++;
		of = stopped;
	}
	assert_true(nr > 100);
	assert_int_equal(move(of, true, true, !tid, &stopped), REPLAY_BEGIN);
	for (size_t i = 0, first = 1; i < nr_list; i++) {
		if (tid && list[i].tid != tid)
			continue;
		if (is_set(list[i].ip) && !first) {
			assert_int_equal(move(of, false, true, !tid, &stopped), REPLAY_BREAKPOINT);
			assert_int_equal(stopped, list[i].tid);
			assert_true(pc(stopped) == list[i].ip);
			of = stopped;
		}
		first = 0;
	}
	assert_int_equal(move(of, false, true, !tid, &stopped), REPLAY_END);
}

static void test_breakpoints(void **state)
{
	static const uint64_t at[] = {0x2044, 0x1000, 0x1084, 0x1042, 0x1001, 0x50000};

	(void)state;
	begin(1 << 30);
	fill(9000, 3, false);
	end();
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		assert_int_equal(replay_breakpoint_add(&r, at[i]), 0);
	check_breakpoints(0);
	replay_to_end(&r);
	check_breakpoints(2);
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		replay_breakpoint_remove(&r, at[i]);
	assert_int_equal(r.nr_breakpoints, 0);
	done();
}

/* A gap stops a motion to a breakpoint once, and says what is missing. */
static void test_gap_wall(void **state)
{
	int32_t stopped;

	(void)state;
	begin(1 << 30);
	block(1, 0x1000, 3);
	gap(1);
	gap(1);
	block(1, 0x2000, 3);
	end();
	replay_breakpoint_add(&r, 0x1002);
	assert_int_equal(move(1, true, true, true, &stopped), REPLAY_GAP);
	assert_true(pc(1) == 0x2000);
	assert_string_equal(replay_gap_text(&r, 0, 0), "truncated, 7 bytes of trace");
	assert_non_null(replay_gap_text(&r, 0, 1));
	assert_null(replay_gap_text(&r, 0, 2));
	assert_int_equal(move(1, true, true, true, &stopped), REPLAY_BREAKPOINT);
	assert_true(pc(1) == 0x1002);
	assert_int_equal(move(1, false, true, true, &stopped), REPLAY_GAP);
	assert_true(pc(1) == 0x1004); /* executed; what came after it is unknown */
	assert_non_null(replay_gap_text(&r, 0, 1));
	assert_int_equal(move(1, false, false, false, &stopped), REPLAY_STEPPED);
	assert_true(pc(1) == 0x2000);
	done();
}

/* Within the bound the newest part is kept; before it is a wall with a reason. */
static void test_bound(void **state)
{
	size_t kept = 0;
	int32_t stopped;

	(void)state;
	begin(40000);
	fill(60000, 2, false);
	end();
	assert_true(h.nr_bytes <= 40000);
	while (move(1, true, false, false, &stopped) == REPLAY_STEPPED)
		kept++;
	assert_true(kept > 4096 && kept < 60000);
	assert_non_null(h.threads[0].begin_why);
	for (size_t i = nr_list, left = kept; i-- > 0;) /* it is the list's newest part */
		if (list[i].tid == 1 && !--left)
			assert_true(pc(1) == list[i].ip);
	assert_int_equal(move(1, true, true, true, &stopped), REPLAY_BEGIN);
	done();
}

/* The bound is kept at the cost of the thread that has most: the others keep all. */
static void test_bound_of_busiest(void **state)
{
	int32_t stopped;
	size_t nr = 0;

	(void)state;
	begin(60000);
	block(1, 0x1000, 1); /* the busy one comes first in the list of threads */
	for (unsigned int i = 0; i < HISTORY_CHUNK + HISTORY_CHUNK / 2; i++)
		block(2, 0x1000 + 64 * (i % 5), 1); /* one full chunk */
	fill(60000, 1, false);
	end();
	assert_int_equal(h.threads[1].tid, 2);
	assert_true(h.nr_bytes <= 60000);
	assert_non_null(h.threads[0].begin_why);
	assert_true(h.threads[0].first_kept > 0);
	assert_null(h.threads[1].begin_why);
	assert_int_equal(h.threads[1].first_kept, 0);
	while (move(2, true, false, false, &stopped) == REPLAY_STEPPED)
		nr++;
	assert_int_equal(nr, HISTORY_CHUNK + HISTORY_CHUNK / 2);
	done();
}

static void test_goto(void **state)
{
	(void)state;
	begin(1 << 30);
	fill(9000, 1, false);
	end();
	for (uint64_t number = 0; number < nr_list; number += 501) {
		assert_true(replay_goto(&r, 0, number));
		assert_true(pc(1) == list[number].ip);
		assert_int_equal(replay_icount(&r, 0), number);
	}
	assert_true(replay_goto(&r, 0, nr_list));
	assert_true(replay_at_end(&r, 0));
	done();
}

static void test_exec(void **state)
{
	int32_t stopped;

	(void)state;
	begin(1 << 30);
	fill(9000, 1, false);
	history_exec(&h, 1, "why");
	block(1, 0x9000, 3);
	end();
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(move(1, true, false, false, &stopped), REPLAY_STEPPED);
	assert_true(pc(1) == 0x9000);
	assert_int_equal(move(1, true, false, false, &stopped), REPLAY_BEGIN);
	assert_string_equal(h.threads[0].begin_why, "why");
	done();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_no_times),
		cmocka_unit_test(test_breakpoints),
		cmocka_unit_test(test_gap_wall),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_bound_of_busiest),
		cmocka_unit_test(test_goto),
		cmocka_unit_test(test_exec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
