// SPDX-License-Identifier: BSD-2-Clause
/*
 * AUX samples, the driver's part (G2, G4): the newest bytes of the area go into another event's
 * record, and tracing continues unchanged.
 */
#include "support_machine.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static u8 sample[1 << 16];
static size_t nr_sample;
static unsigned int nr_on; /* copies made while the unit was on */

static unsigned int output_copy(struct perf_output_handle *handle, const void *buf,
				unsigned int len)
{
	(void)handle;
	assert_true(nr_sample + len <= sizeof(sample));
	memcpy(sample + nr_sample, buf, len);
	nr_sample += len;
	nr_on += unit_on();
	return 0;
}

static void start(intel_pt_output_copy *copy)
{
	intel_pt_use_output_copy(copy);
	machine_start(NULL);
}

static void end(void)
{
	machine_end();
	intel_pt_use_output_copy(NULL);
}

static long take(struct session *s, unsigned long size)
{
	struct perf_output_handle handle = {0};

	nr_sample = 0;
	return s->event->pmu->snapshot_aux(s->event, &handle, size);
}

static void check_newest(const struct session *s, size_t size)
{
	size_t blank = size > s->nr_stored ? size - s->nr_stored : 0;

	assert_int_equal(nr_sample, size);
	for (size_t i = 0; i < blank; i++)
		assert_int_equal(sample[i], 0);
	assert_memory_equal(sample + blank, s->stored + s->nr_stored - (size - blank),
			    size - blank);
}

/* G2: the core checks this. */
static void only_with_the_function(void **state)
{
	struct session s;

	(void)state;
	start(NULL);
	session_init(&s);
	assert_int_equal(session_open(&s, 8, 4, false), 0);
	assert_null(s.event->pmu->snapshot_aux);
	session_close(&s);
	end();
}

static void newest_bytes(void **state)
{
	(void)state;
	srand(9);
	for (u64 pages = 1; pages <= 8; pages *= 2) {
		struct session s;

		start(output_copy);
		session_init(&s);
		assert_int_equal(session_open(&s, 32, pages, false), 0);
		session_in(&s);
		for (int step = 0; step < 300; step++) {
			size_t size = 8 * (1 + (size_t)rand() % (pages * P / 8));

			session_run(&s, (u64)rand() % 3000);
			nr_on = 0;
			assert_int_equal(take(&s, size), size);
			check_newest(&s, size);
			assert_int_equal(nr_on, 0); /* G4: the unit is off meanwhile */
			assert_true(unit_on());
			if (rand() % 8 == 0) {
				session_out(&s);
				session_in(&s);
			}
		}
		assert_int_equal(take(&s, pages * P), pages * P); /* the whole area */
		check_newest(&s, pages * P);
		session_out(&s);
		assert_int_equal(session_aux_head(&s) % (pages * P), s.nr_stored % (pages * P));
		session_close(&s);
		end();
	}
}

static bool in_the_middle(void)
{
	return true;
}

/* In an NMI an emulated unit is read without a stop. */
static void read_only(void **state)
{
	struct session s;

	(void)state;
	start(output_copy);
	session_init(&s);
	assert_int_equal(session_open(&s, 8, 4, false), 0);
	session_in(&s);
	session_run(&s, 50000);
	machine.hw.read_only = in_the_middle;
	unit()->nr_ctl_writes = 0;
	assert_int_equal(take(&s, 4096), 4096);
	check_newest(&s, 4096);
	assert_int_equal(unit()->nr_ctl_writes, 0);
	machine.hw.read_only = NULL;
	session_out(&s);
	session_close(&s);
	end();
}

static void check_blank(size_t size)
{
	assert_int_equal(nr_sample, size);
	for (size_t i = 0; i < size; i++)
		assert_int_equal(sample[i], 0);
}

/* The rest of the record is filled with PAD. */
static void nothing_to_sample(void **state)
{
	struct session s;

	(void)state;
	start(output_copy);
	session_init(&s);
	assert_int_equal(session_open(&s, 8, 4, true), 0); /* linear */
	session_in(&s);
	session_run(&s, 5000);
	unit()->nr_ctl_writes = 0;
	assert_int_equal(take(&s, 4096), 4096);
	check_blank(4096);
	assert_int_equal(unit()->nr_ctl_writes, 0);
	session_out(&s);
	memset(sample, 1, sizeof(sample));
	assert_int_equal(take(&s, 1000), 1000); /* no transaction */
	check_blank(1000);
	session_close(&s);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_with_the_function),
		cmocka_unit_test(newest_bytes),
		cmocka_unit_test(read_only),
		cmocka_unit_test(nothing_to_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
