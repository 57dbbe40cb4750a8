// SPDX-License-Identifier: BSD-2-Clause
/* ToPA tables and their INT and STOP bits: rules H1, H4, H5, H6, C5 and the PT vectors
 * of section M. */
#include "support_machine.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static void vectors_at_head_0(void **state)
{
	/* clang-format off */
	static const struct {
		u64 watermark, chunk_pages, int_off, stop_off;
	} vectors[] = {
		{32768, 8, 32768, 65536},
		{16384, 4, 16384, 65536},
		{4096, 1, 4096, 65536},
		{12288, 4, 65536, 65536}, /* H5: 3 pages, not a power of two */
		{6000, 2, 65536, 65536},
		{100, 1, 65536, 65536},
		{131072, 16, 65536, 65536},
	};
	/* clang-format on */

	(void)state;
	for (const struct core_kernel *const *k = core_kernels; *k; k++) {
		for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++) {
			static struct topa_entry entries[64];
			u64 int_off, stop_off;
			struct session s;
			size_t nr_tables;

			machine_start((*k)->name);
			session_init(&s);
			s.attr.aux_watermark = (u32)vectors[i].watermark;
			assert_int_equal(session_open(&s, 8, 16, true), 0);
			session_in(&s);
			topa_thresholds(&s, &int_off, &stop_off);
			assert_int_equal(int_off, vectors[i].int_off);
			assert_int_equal(stop_off, vectors[i].stop_off);
			/* C3, C5: W rounded up to a power of two of pages */
			topa_list(&s, entries, 64, &nr_tables);
			assert_int_equal(entries[0].end_off, vectors[i].chunk_pages * P);
			session_close(&s);
			machine_end();
		}
	}
}

/* H5: the effect of the vectors on a reader. */
static void wakeup_is_rounded_down(void **state)
{
	(void)state;
	for (int exact = 0; exact <= 1; exact++) {
		struct session s;

		machine_start(NULL);
		session_init(&s);
		s.attr.aux_watermark = exact ? 16384 : 12288;
		assert_int_equal(session_open(&s, 8, 16, true), 0);
		session_in(&s);
		session_run(&s, 16384);
		assert_int_equal(machine.nr_wakeups, exact);
		session_run(&s, 65535 - 16384);
		/* by D18 exactly each closed transaction that passes a wakeup position wakes */
		assert_int_equal(machine.nr_wakeups, exact ? 3 : 0);
		session_run(&s, 1);
		assert_int_equal(machine.nr_wakeups, exact ? 4 : 1);
		session_close(&s);
		machine_end();
	}
}

static void vector_head_16584(void **state)
{
	u64 int_off, stop_off;
	struct session s;

	(void)state;
	machine_start(NULL);
	session_init(&s);
	s.attr.aux_watermark = 16384;
	assert_int_equal(session_open(&s, 8, 16, true), 0);
	unit()->out.irq_delay_bytes = 190; /* plus the rest of a packet: H7 */
	session_in(&s);
	session_run(&s, 16584);
	session_out(&s);
	session_records(&s);
	assert_int_equal(session_aux_head(&s), 16584);
	session_set_tail(&s, 16384);
	session_in(&s);
	topa_thresholds(&s, &int_off, &stop_off);
	assert_int_equal(int_off, 32768);
	assert_int_equal(stop_off, 16384); /* of the next wrap */
	/* all remaining bytes are used, and not one more */
	while (session_packet(&s, 13) == 13)
		;
	assert_true(unit()->out.status & RTIT_STATUS_STOPPED);
	assert_int_equal(s.nr_stored, 16384 + 65536);
	session_out(&s);
	session_check_unread(&s);
	session_close(&s);
	machine_end();
}

static void vector_head_49162(void **state)
{
	static struct topa_entry entries[64];
	u64 int_off, stop_off;
	struct session s;
	size_t nr_tables;

	(void)state;
	machine_start(NULL);
	session_init(&s);
	s.attr.aux_watermark = 16384;
	assert_int_equal(session_open(&s, 8, 16, true), 0);
	unit()->out.irq_delay_bytes = 10;
	session_in(&s);
	session_run(&s, 49162);
	session_out(&s);
	assert_int_equal(session_aux_head(&s), 49162);
	session_in(&s);
	/* wakeup 65536 */
	topa_thresholds(&s, &int_off, &stop_off);
	assert_int_equal(stop_off, 65536);
	assert_int_equal(int_off, 49152); /* before head: passed */
	/* so the reader is not woken before the STOP */
	machine.nr_wakeups = 0;
	unit()->out.irq_delay_bytes = 0;
	session_run(&s, 65536 - 49162 - 1);
	assert_int_equal(machine.nr_wakeups, 0);
	session_run(&s, 1);
	assert_int_equal(machine.nr_wakeups, 1);
	assert_int_equal(topa_list(&s, entries, 64, &nr_tables), 4);
	session_close(&s);
	machine_end();
}

/* H1: 506 entries and a link in each table, the last one's to the first. */
static void table_chain(void **state)
{
	static const int order_0[] = {0};
	static struct topa_entry entries[4096];
	struct session s;
	size_t nr_tables;

	(void)state;
	machine_start(NULL);
	machine.orders = order_0;
	machine.nr_orders = 1;
	session_init(&s);
	s.attr.aux_watermark = 4096;
	assert_int_equal(session_open(&s, 64, 1024, true), 0);
	session_in(&s);
	assert_int_equal(topa_list(&s, entries, 4096, &nr_tables), 1024);
	assert_int_equal(nr_tables, 3);
	assert_int_equal(entries[505].index, 505);
	assert_int_equal(entries[506].index, 0);
	assert_true(entries[506].table_phys != entries[505].table_phys);
	assert_int_equal(entries[1012].index, 0);
	assert_true(entries[1012].table_phys != entries[1011].table_phys);
	assert_true(entries[1012].table_phys != entries[0].table_phys);

	/* Across both links and around, followed by a reader: content, position, INT and STOP
	 * stay right. */
	for (int step = 0; step < 2400; step++) {
		u64 head, int_off, stop_off, page = 1 + (u64)step;

		session_run(&s, P - s.produced % P);
		head = session_aux_head(&s);
		assert_int_equal(head, page * P); /* the PMI of every page */
		session_check_unread(&s);
		session_set_tail(&s, head);
		session_records(&s);
		if (step % 100 == 5 || (page + 1) % 506 < 3) {
			session_out(&s);
			session_in(&s);
			topa_thresholds(&s, &int_off, &stop_off);
			assert_int_equal(int_off, (page + 1 - 1) % 1024 * P + P);
			assert_int_equal(stop_off, (page + 1023) % 1024 * P + P);
		}
	}
	assert_int_equal(s.nr_stored, 2400 * P);
	session_close(&s);
	machine_end();
}

/* C5: for any sizes of chunks, even if they are not at multiples of their
 * size. */
static void mixed_chunks(void **state)
{
	static const int orders[] = {2, 0, 1, 0, 3, 0};
	static const u64 begins[] = {0, 4, 5, 7, 8};
	static struct topa_entry entries[64];
	u64 int_off, stop_off;
	struct session s;
	size_t nr_tables;

	(void)state;
	machine_start(NULL);
	machine.orders = orders;
	machine.nr_orders = 6;
	session_init(&s);
	s.attr.aux_watermark = 32768;
	assert_int_equal(session_open(&s, 8, 16, true), 0);
	session_in(&s);
	assert_int_equal(topa_list(&s, entries, 64, &nr_tables), 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(entries[i].begin_off, begins[i] * P);
	topa_thresholds(&s, &int_off, &stop_off);
	assert_int_equal(int_off, 32768);
	assert_int_equal(stop_off, 65536);
	/* begin within the chunk of two pages at page 5 */
	session_run(&s, 6 * P + 100);
	session_out(&s);
	session_in(&s);
	session_run(&s, 50);
	session_out(&s);
	assert_int_equal(session_aux_head(&s), 6 * P + 150);
	session_check_unread(&s);
	session_close(&s);
	machine_end();
}

/* H6: the free space ends inside the region that contains head. */
static void space_within_region(void **state)
{
	(void)state;
	for (const struct core_kernel *const *k = core_kernels; *k; k++) {
		struct session s;
		size_t before;

		machine_start((*k)->name);
		machine.cpu = 3; /* D21: not CPU 0 */
		session_init(&s);
		s.attr.aux_watermark = 32768;
		assert_int_equal(session_open(&s, 8, 16, true), 0);
		session_in(&s);
		session_run(&s, 40000);
		session_out(&s);
		session_set_tail(&s, 20000);
		session_in(&s);
		session_records(&s);
		before = s.nr_records;
		/* to the STOP at the area's end; 20000 bytes are free there, in a region
		 * of 32768 */
		session_run(&s, 65536 - 40000 + 500);
		session_records(&s);
		assert_int_equal(s.nr_stored, 65536);
		assert_int_equal(s.nr_records, before + 2);
		assert_int_equal(s.records[before].flags, PERF_AUX_FLAG_TRUNCATED); /* H8 */
		assert_int_equal(s.records[before].size, 65536 - 40000);
		assert_int_equal(s.records[before + 1].flags, PERF_AUX_FLAG_TRUNCATED);
		assert_int_equal(s.records[before + 1].size, 0); /* H6, D14 */
		assert_true(!unit_on());
		assert_int_equal(core_event_active(s.event), (*k)->disable_at_sched_out);
		session_check_unread(&s);

		/* exactly enough, and one byte too few: tail at the region's end, and a byte
		 * before */
		for (u64 tail = 32767; tail <= 32768; tail++) {
			session_set_tail(&s, tail);
			core_event_ioctl(s.event, PERF_EVENT_IOC_DISABLE, 0, NULL);
			core_event_ioctl(s.event, PERF_EVENT_IOC_ENABLE, 0, NULL);
			core_irq_work_run();
			assert_int_equal(unit_on(), tail == 32768);
		}
		session_close(&s);
		machine_end();
	}
}

/*
 * H4 counts whole pages of the space and misses that its two ends, together, may complete
 * the region that contains head. The unit must stop there, not a wrap later.
 */
static void two_parts_of_a_page(void **state)
{
	u64 int_off, stop_off;
	struct session s;

	(void)state;
	machine_start(NULL);
	machine.cpu = 1;
	session_init(&s);
	s.attr.aux_watermark = 4096;
	assert_int_equal(session_open(&s, 8, 4, true), 0);
	session_in(&s);
	/* head 16384 + 4000, tail 4201: 200 bytes are free, 96 of them in head's page */
	session_run(&s, 2 * P);
	session_set_tail(&s, 2 * P);
	session_run(&s, 2 * P);
	session_out(&s);
	session_set_tail(&s, 4 * P);
	session_in(&s);
	session_run(&s, 4000);
	session_out(&s);
	assert_int_equal(session_aux_head(&s), 16384 + 4000);
	session_set_tail(&s, 4201);
	session_in(&s);
	assert_true(unit_on());
	topa_thresholds(&s, &int_off, &stop_off);
	assert_int_equal(stop_off, 4096);
	while (session_packet(&s, 16) == 16)
		;
	assert_int_equal(s.nr_stored, 16384 + 4096);
	session_out(&s);
	session_check_unread(&s);
	session_close(&s);
	machine_end();
}

int main(void)
{
	/* clang-format off */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_at_head_0),
		cmocka_unit_test(wakeup_is_rounded_down),
		cmocka_unit_test(vector_head_16584),
		cmocka_unit_test(vector_head_49162),
		cmocka_unit_test(table_chain),
		cmocka_unit_test(mixed_chunks),
		cmocka_unit_test(space_within_region),
		cmocka_unit_test(two_parts_of_a_page),
	};
	/* clang-format on */

	return cmocka_run_group_tests(tests, NULL, NULL);
}
