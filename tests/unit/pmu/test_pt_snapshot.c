// SPDX-License-Identifier: BSD-2-Clause
/*
 * Snapshots: rules H2, H3, H11, D13. A reader that copies the whole buffer from head on
 * and drops leading zeros has exactly the newest bytes, wherever the unit stopped.
 */
#include "support_machine.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define MAX_BUFFER (16 * P)

/* What a reader gets: number of bytes, the oldest first. */
static u64 read_snapshot(const struct session *s, u8 *bytes)
{
	u64 head = session_aux_head(s), skip = 0;

	assert_true(head <= s->aux_size); /* H11: an offset */
	memcpy(bytes, s->aux + head, s->aux_size - head);
	memcpy(bytes + s->aux_size - head, s->aux, head);
	while (skip < s->aux_size && !bytes[skip])
		skip++;
	memmove(bytes, bytes + skip, s->aux_size - skip);
	return s->aux_size - skip;
}

static void check_snapshot(struct session *s)
{
	static u8 bytes[MAX_BUFFER];
	u64 nr = read_snapshot(s, bytes), want = s->nr_stored;

	if (want > s->aux_size)
		want = s->aux_size;
	assert_int_equal(nr, want);
	assert_true(!memcmp(bytes, s->stored + s->nr_stored - want, want));
	/* and nothing was lost: the stored bytes are the newest produced */
	assert_int_equal(s->nr_stored, s->produced);
}

static void check_record(struct session *s)
{
	const struct aux_record *r = session_last(s);

	assert_int_equal(r->flags, PERF_AUX_FLAG_OVERWRITE);
	assert_int_equal(r->size, s->aux_size);		  /* H11: carries no information */
	assert_int_equal(r->offset, session_aux_head(s)); /* D13 */
	assert_int_equal(session_aux_head(s), s->nr_stored % s->aux_size);
	s->nr_records = 0;
	assert_true(!unit()->irq_line); /* H3 */
}

/* Every end offset of three wraps, one byte further after each snapshot. */
static void every_alignment(u64 pages, bool single_range, const int *orders, int nr_orders)
{
	struct session s;

	machine_start_with(NULL, single_range, true);
	machine.orders = orders;
	machine.nr_orders = nr_orders;
	session_init(&s);
	assert_int_equal(session_open(&s, 8, pages, false), 0);
	for (u64 n = 1; n <= 3 * pages * P + 1; n++) {
		session_in(&s);
		/* H2 */
		assert_int_equal(!(unit()->ctl & RTIT_CTL_TOPA), single_range && pages == 1);
		session_packet(&s, 1);
		session_out(&s);
		check_record(&s);
		check_snapshot(&s);
	}
	session_close(&s);
	machine_end();
}

static void one_page_single_range(void **state)
{
	(void)state;
	every_alignment(1, true, NULL, 0);
}

static void one_page_topa(void **state)
{
	(void)state;
	every_alignment(1, false, NULL, 0);
}

static void two_pages(void **state)
{
	static const int order_0[] = {0};

	(void)state;
	every_alignment(2, true, NULL, 0); /* H2: one chunk, but not of one page */
	every_alignment(2, true, order_0, 1);
}

/* H2: each condition alone is not enough. */
static void single_range_conditions(void **state)
{
	(void)state;
	for (int single = 0; single <= 1; single++) {
		for (int linear = 0; linear <= 1; linear++) {
			for (u64 pages = 1; pages <= 2; pages++) {
				bool topa = !single || linear || pages != 1;
				struct session s;

				machine_start_with(NULL, single, true);
				session_init(&s);
				assert_int_equal(session_open(&s, 8, pages, linear), 0);
				session_in(&s);
				assert_int_equal(!!(unit()->ctl & RTIT_CTL_TOPA), topa);
				session_run(&s, 1000);
				session_out(&s);
				assert_int_equal(session_aux_head(&s), 1000);
				session_close(&s);
				machine_end();
			}
		}
	}
}

/* Long runs between snapshots, many chunks of odd sizes, every kernel; no INT or STOP in any
 * table. */
static void random_lengths(void **state)
{
	static struct topa_entry entries[64];

	(void)state;
	srand(99);
	for (const struct core_kernel *const *k = core_kernels; *k; k++) {
		for (int round = 0; round < 30; round++) {
			u64 pages = 1ull << rand() % 5;
			struct session s;

			machine_start((*k)->name);
			machine.random_orders = true;
			session_init(&s);
			assert_int_equal(session_open(&s, 8, pages, false), 0);
			for (int step = 0; step < 30; step++) {
				session_in(&s);
				if (unit()->ctl & RTIT_CTL_TOPA) {
					size_t nr_tables;
					size_t nr = topa_list(&s, entries, 64, &nr_tables);

					for (size_t i = 0; i < nr; i++)
						assert_int_equal(entries[i].flags, 0);
				}
				session_run(&s, (u64)rand() % (3 * pages * P));
				session_out(&s);
				check_record(&s);
				check_snapshot(&s);
			}
			session_close(&s);
			machine_end();
		}
	}
}

/* K6: what a reader does; an interrupt of another device changes nothing (H3). */
static void disable_read_enable(void **state)
{
	struct session s;

	(void)state;
	machine_start(NULL);
	session_init(&s);
	assert_int_equal(session_open(&s, 8, 4, false), 0);
	session_in(&s);
	for (int i = 0; i < 50; i++) {
		session_run(&s, 777);
		unit()->irq_line = true;
		machine_take_irq();
		assert_true(unit_on());
		session_run(&s, 1000);
		core_event_ioctl(s.event, PERF_EVENT_IOC_DISABLE, 0, NULL);
		assert_true(!unit_on());
		session_records(&s);
		assert_int_equal(s.nr_records, 1);
		check_record(&s);
		check_snapshot(&s);
		core_event_ioctl(s.event, PERF_EVENT_IOC_ENABLE, 0, NULL);
		assert_true(unit_on());
	}
	assert_int_equal(machine.nr_wakeups, 0); /* D18; the data ring is far from half full */
	session_close(&s);
	machine_end();
}

/* C6, H9: a unit with one entry a table uses the whole buffer as one chunk, or refuses it. */
static void one_entry_tables(void **state)
{
	static const int split[] = {1, 1};
	struct session s;

	(void)state;
	machine_start_with(NULL, false, false);
	session_init(&s);
	assert_int_equal(session_open(&s, 8, 4, false), 0);
	for (int i = 0; i < 200; i++) {
		session_in(&s);
		session_run(&s, 400);
		session_out(&s);
		check_record(&s);
		check_snapshot(&s);
	}
	session_close(&s);
	machine.orders = split;
	machine.nr_orders = 2;
	session_init(&s);
	assert_int_equal(session_open(&s, 8, 4, false), -12 /* ENOMEM */);
	session_close(&s);
	machine_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_page_single_range),
		cmocka_unit_test(one_page_topa),
		cmocka_unit_test(two_pages),
		cmocka_unit_test(single_range_conditions),
		cmocka_unit_test(random_lengths),
		cmocka_unit_test(disable_read_enable),
		cmocka_unit_test(one_entry_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
