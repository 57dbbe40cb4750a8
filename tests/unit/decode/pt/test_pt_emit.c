// SPDX-License-Identifier: BSD-2-Clause
/* Events of a segment: which branches a summary leaves out, and what the others then say. */
#include "decode/pt/pt_queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static struct pt_shared shared;
static struct pt_queue queue;
static struct pt_job job;
static struct pt_batch out;
static struct pt_segment_decoder decoder;

static int start(void **state)
{
	(void)state;
	memset(&shared, 0, sizeof(shared));
	memset(&job, 0, sizeof(job));
	memset(&decoder, 0, sizeof(decoder));
	out.nr = 0;
	shared.opts.events = AUXTAP_EVENT_BRANCH;
	shared.opts.only_summary = true;
	queue.shared = &shared;
	decoder.shared = &shared;
	decoder.queue = &queue;
	decoder.job = &job;
	decoder.out = &out;
	return 0;
}

/* A jump of the thread, after so many instructions. */
static void jump(int32_t tid, uint64_t time, uint32_t nr_insns)
{
	decoder.tid = tid;
	decoder.time = time;
	decoder.insns_since = nr_insns;
	decoder.pending = (struct pt_pending){.valid = true,
					      .kind = AUXTAP_BRANCH_JUMP,
					      .ip = 0x1000,
					      .size = 2};
	pt_emit_branch(&decoder, 0x2000, true);
	assert_int_equal(job.error, 0);
	assert_int_equal(decoder.insns_since, 0);
}

static void is_event(unsigned int nr, int32_t tid, uint64_t time, uint32_t nr_insns)
{
	assert_int_equal(out.events[nr].type, AUXTAP_EVENT_BRANCH);
	assert_int_equal(out.events[nr].tid, tid);
	assert_int_equal(out.events[nr].time, time);
	assert_int_equal(out.events[nr].nr_insns, nr_insns);
}

static void first_and_last(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		jump(7, 100 + i, 10 + i);
	assert_int_equal(out.nr, 2);
	is_event(0, 7, 100, 10);
	is_event(1, 7, 104, 11 + 12 + 13 + 14);
	assert_int_equal(job.nr_branches, 5);
}

/* A branch of another thread is that thread's. */
static void of_each_thread(void **state)
{
	(void)state;
	jump(7, 100, 1);
	jump(7, 101, 2);
	jump(8, 102, 4);
	jump(8, 103, 8);
	jump(7, 104, 16);
	assert_int_equal(out.nr, 4);
	is_event(0, 7, 100, 1);
	is_event(1, 7, 101, 2);
	is_event(2, 8, 103, 4 + 8);
	is_event(3, 7, 104, 16);
}

static void all_are_events(void **state)
{
	(void)state;
	shared.opts.only_summary = false;
	for (uint32_t i = 0; i < 5; i++)
		jump(7, 100 + i, 10);
	assert_int_equal(out.nr, 5);
	is_event(4, 7, 104, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(first_and_last, start),
		cmocka_unit_test_setup(of_each_thread, start),
		cmocka_unit_test_setup(all_are_events, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
