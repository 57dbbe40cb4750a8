// SPDX-License-Identifier: BSD-2-Clause
/* Events of the PT driver: config, control register, attributes, flags, interrupt: H7 to
 * H13, F1. */
#include "support_machine.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#define TRUNCATED PERF_AUX_FLAG_TRUNCATED
#define PARTIAL	  PERF_AUX_FLAG_PARTIAL

static int open_result(u64 config)
{
	struct session s;
	int ret;

	session_init(&s);
	s.attr.config = config;
	ret = core_event_open(&s.event, &s.attr, &s.task, -1, NULL, NULL);
	session_close(&s);
	return ret;
}

static void config_bits(void **state)
{
	static const u64 good[] = {
		0,	 1,	  1 | 1 << 13,	 1 << 1,    1 << 9,
		1 << 10, 1 << 11, 1 | 0xf << 14, 0xf << 19, 0xfull << 24,
	};
	static const u64 known = 1 | 1 << 1 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 13 | 0xf << 14 |
				 0xf << 19 | 0xfull << 24;

	(void)state;
	machine_start(NULL);
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_int_equal(open_result(good[i]), 0);
	for (int bit = 0; bit < 64; bit++)
		assert_int_equal(open_result(1 | 1ull << bit), known >> bit & 1 ? 0 : -EINVAL);
	/* branch without the pt bit */
	assert_int_equal(open_result(1 << 13), -EINVAL);
	machine_end();

	/* a CPU with fewer periods: 0 is always valid */
	machine_start(NULL);
	machine.hw.psb_periods = 1 << 0 | 1 << 3;
	machine.hw.mtc_periods = 1 << 3;
	machine.hw.cyc_thresholds = 1 << 1;
	assert_int_equal(open_result(0), 0);
	assert_int_equal(open_result(3ull << 24), 0);
	assert_int_equal(open_result(2ull << 24), -EINVAL);
	assert_int_equal(open_result(1 << 9 | 3 << 14), 0);
	assert_int_equal(open_result(1 << 9 | 4 << 14), -EINVAL);
	assert_int_equal(open_result(1 << 1 | 1 << 19), 0);
	assert_int_equal(open_result(1 << 1 | 2 << 19), -EINVAL);
	machine_end();
}

static void control_register(void **state)
{
	/* clang-format off */
	static const struct {
		u64 config;
		bool no_kernel, no_user;
		u64 ctl;
	} cases[] = {
		{0, true, false, RTIT_CTL_BRANCHEN | RTIT_CTL_USR},
		{0, false, false, RTIT_CTL_BRANCHEN | RTIT_CTL_USR | RTIT_CTL_OS},
		{1, false, true, RTIT_CTL_OS},
		{1 | 1 << 13 | 1 << 10 | 1 << 11, true, false,
		 RTIT_CTL_BRANCHEN | RTIT_CTL_USR | RTIT_CTL_TSCEN | RTIT_CTL_DISRETC},
		{1 << 1 | 5 << 19 | 1 << 9 | 3 << 14 | 2ull << 24, true, false,
		 RTIT_CTL_BRANCHEN | RTIT_CTL_USR | RTIT_CTL_CYCEN | 5 << 19 |
			 RTIT_CTL_MTCEN | 3 << 14 | 2ull << 24},
	};
	/* clang-format on */

	(void)state;
	machine_start(NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct session s;

		session_init(&s);
		s.attr.config = cases[i].config;
		s.attr.exclude_kernel = cases[i].no_kernel;
		s.attr.exclude_user = cases[i].no_user;
		assert_int_equal(session_open(&s, 8, 4, true), 0);
		session_in(&s);
		assert_true(unit()->ctl == (cases[i].ctl | RTIT_CTL_TRACEEN | RTIT_CTL_TOPA));
		session_out(&s);
		assert_true(!unit_on());
		session_close(&s);
	}
	machine_end();
}

static void attributes(void **state)
{
	static const struct {
		const char *attr, *text;
	} want[] = {
		{"format/pt", "config:0"},
		{"format/cyc", "config:1"},
		{"format/mtc", "config:9"},
		{"format/tsc", "config:10"},
		{"format/noretcomp", "config:11"},
		{"format/branch", "config:13"},
		{"format/mtc_period", "config:14-17"},
		{"format/cyc_thresh", "config:19-22"},
		{"format/psb_period", "config:24-27"},
		{"caps/mtc", "1"},
		{"caps/psb_cyc", "1"},
		{"caps/psb_periods", "9"},
		{"caps/mtc_periods", "ffff"},
		{"caps/cycle_thresholds", "ffff"},
		{"caps/topa_output", "1"},
		{"caps/topa_multiple_entries", "1"},
		{"caps/single_range_output", "1"},
		{"caps/ip_filtering", "0"},
		{"caps/ptwrite", "0"},
		{"max_nonturbo_ratio", "36"},
		{"tsc_art_ratio", "300:2"},
	};
	char buf[4096];

	(void)state;
	machine_start(NULL);
	machine.hw.psb_periods = 9;
	machine.hw.max_nonturbo_ratio = 36;
	machine.hw.tsc_art_n = 300;
	machine.hw.tsc_art_d = 2;
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		ssize_t len = core_pmu_attr("intel_pt", want[i].attr, buf, sizeof(buf));

		if (len < 0)
			fail_msg("%s: %zd", want[i].attr, len);
		assert_int_equal(len, strlen(want[i].text));
		assert_memory_equal(buf, want[i].text, (size_t)len);
	}
	machine.hw.max_nonturbo_ratio = 0;
	assert_true(core_pmu_attr("intel_pt", "max_nonturbo_ratio", buf, sizeof(buf)) < 0);
	machine_end();
}

static void registration(void **state)
{
	int itrace_exclusive = 0x20 | 0x10;

	(void)state;
	machine_start(NULL);
	assert_int_equal(intel_pt_register("intel_pt", &machine.hw), -EBUSY);
	assert_int_equal(core_pmu_capabilities("intel_pt"), itrace_exclusive | 0x400);
	machine_end();
	assert_true(core_pmu_type("intel_pt") < 0);
	machine_start_with(NULL, true, false);
	assert_int_equal(core_pmu_capabilities("intel_pt"), itrace_exclusive | 0x4); /* NO_SG */
	machine_end();
}

/* F1: once, with the first start. Before there is an AUX area the event cannot start at
 * all. */
static void itrace_start_once(void **state)
{
	struct session s;

	(void)state;
	machine_start(NULL);
	session_init(&s);
	assert_int_equal(session_open(&s, 8, 4, true), 0);
	for (int i = 0; i < 3; i++) {
		session_in(&s);
		session_run(&s, 100);
		session_out(&s);
	}
	session_records(&s);
	assert_int_equal(s.nr_itrace_start, 1);
	assert_int_equal(s.nr_records, 3);
	session_close(&s);
	machine_end();
}

/* One CPU, one event: the driver refuses the second while the first runs. */
static void no_aux_area(void **state)
{
	struct session s;

	(void)state;
	machine_start(NULL);
	session_init(&s);
	assert_int_equal(core_event_open(&s.event, &s.attr, &s.task, -1, NULL, NULL), 0);
	session_in(&s);
	assert_true(!unit_on() && !core_event_active(s.event));
	session_close(&s);
	machine_end();
}

/* H7, H13: the unit continues after an INT; bytes that it writes until the interrupt are in the
 * record. */
static void interrupt_with_overshoot(void **state)
{
	(void)state;
	for (u32 overshoot = 0; overshoot <= 6000; overshoot += overshoot < 40 ? 1 : 997) {
		struct session s;
		u64 sum = 0;

		machine_start(NULL);
		session_init(&s);
		s.attr.aux_watermark = 16384;
		assert_int_equal(session_open(&s, 8, 16, true), 0);
		unit()->out.irq_delay_bytes = overshoot;
		session_in(&s);
		session_run(&s, 16384 + overshoot + 16);
		assert_true(unit_on());
		session_records(&s);
		assert_int_equal(s.nr_records, 1);
		assert_int_equal(s.records[0].offset, 0);
		assert_in_range(s.records[0].size, 16384 + overshoot, 16384 + overshoot + 15);
		assert_int_equal(s.records[0].flags, 0);
		assert_int_equal(machine.nr_wakeups, 1);
		session_run(&s, 1000);
		session_out(&s);
		session_records(&s);
		for (size_t i = 0; i < s.nr_records; i++)
			sum += s.records[i].size;
		assert_int_equal(sum, s.nr_stored);
		assert_int_equal(session_aux_head(&s), s.nr_stored);
		assert_int_equal(s.nr_stored, s.produced);
		session_check_unread(&s);
		session_close(&s);
		machine_end();
	}
}

/* H8, H13, D6, D21: the reader sleeps. */
static void full(void **state)
{
	(void)state;
	for (const struct core_kernel *const *k = core_kernels; *k; k++) {
		for (int cpu = 0; cpu <= 2; cpu += 2) {
			bool lost_disable =
				(*k)->disable_by_cpu_number && (!cpu || (*k)->disable_at_sched_out);
			struct session s;

			machine_start((*k)->name);
			machine.cpu = cpu;
			session_init(&s);
			assert_int_equal(session_open(&s, 8, 4, true), 0);
			session_in(&s);
			session_run(&s, 3 * 16384);
			assert_int_equal(s.nr_stored, 16384);
			assert_true(!unit_on());
			assert_int_equal(session_last(&s)->flags, TRUNCATED);
			assert_int_equal(s.nr_records, 2); /* one at W = 8192, one at the end */
			assert_int_equal(session_aux_head(&s), 16384);
			assert_int_equal(core_event_active(s.event), lost_disable);
			session_check_unread(&s);

			/* A pending interrupt has nothing to do. */
			unit()->irq_line = true;
			machine_take_irq();
			assert_true(!unit_on());

			/* The reader drains; by D21 ENABLE alone may do nothing. */
			session_set_tail(&s, 16384);
			core_event_ioctl(s.event, PERF_EVENT_IOC_ENABLE, 0, NULL);
			assert_int_equal(unit_on(), !lost_disable);
			core_event_ioctl(s.event, PERF_EVENT_IOC_DISABLE, 0, NULL);
			core_event_ioctl(s.event, PERF_EVENT_IOC_ENABLE, 0, NULL);
			assert_true(unit_on());
			session_run(&s, 100);
			session_out(&s);
			assert_int_equal(session_last(&s)->size, 100);
			assert_int_equal(session_last(&s)->flags, 0);
			assert_int_equal(session_aux_head(&s), 16484);
			session_check_unread(&s);
			session_close(&s);
			machine_end();
		}
	}
}

/* H13: stopped between the interrupt line and the handler; also after the other event's
 * transaction ended. */
static void late_interrupt(void **state)
{
	struct session s;
	u64 head;

	(void)state;
	machine_start(NULL);
	session_init(&s);
	s.attr.aux_watermark = 4096;
	assert_int_equal(session_open(&s, 8, 4, true), 0);
	session_in(&s);
	while (!unit()->irq_line)
		session_packet(&s, 16);
	session_out(&s);
	session_records(&s);
	head = session_aux_head(&s);
	assert_int_equal(head, 4096);
	machine_take_irq();
	assert_true(!unit_on());
	session_records(&s);
	assert_int_equal(s.nr_records, 1);

	/* and after it was switched in again: nothing lost, nothing twice */
	session_in(&s);
	session_packet(&s, 16);
	unit()->irq_line = true;
	machine_take_irq();
	assert_true(unit_on());
	session_out(&s);
	assert_int_equal(session_aux_head(&s), 4112);
	/* in the middle of the stop: the unit stays off; one record */
	session_in(&s);
	session_packet(&s, 16);
	machine.irq_in_stop = true;
	session_records(&s);
	s.nr_records = 0;
	session_out(&s);
	assert_true(!machine.irq_in_stop && !unit_on());
	session_records(&s);
	assert_int_equal(s.nr_records, 1);
	assert_int_equal(session_aux_head(&s), 4128);
	session_check_unread(&s);
	session_close(&s);
	machine_end();
}

/* STATUS also counts the bytes to the next PSB: only an event's first start clears
 * it. */
static void status_is_kept(void **state)
{
	const u64 count = 7ull << 32; /* PacketByteCnt */
	struct session s;

	(void)state;
	machine_start(NULL);
	session_init(&s);
	assert_int_equal(session_open(&s, 8, 4, true), 0);
	unit()->out.status = count;
	session_in(&s);
	assert_true(!unit_read(MSR_RTIT_STATUS));
	session_out(&s);
	unit()->out.status = count;
	session_in(&s);
	session_out(&s);
	assert_true(unit_read(MSR_RTIT_STATUS) == count);
	session_close(&s);
	machine_end();
}

/* H10: from any page around to itself is a wrap, not zero bytes; and zero bytes are not a wrap. */
static void whole_wrap(void **state)
{
	static const int order_0[] = {0};

	(void)state;
	for (u64 begin = 0; begin < 8; begin++) {
		struct session s;

		machine_start(NULL);
		machine.orders = order_0;
		machine.nr_orders = 1;
		session_init(&s);
		s.attr.aux_watermark = 4096;
		assert_int_equal(session_open(&s, 8, 4, true), 0);
		session_in(&s);
		for (u64 i = 0; i < begin; i++) {
			session_run(&s, P);
			session_set_tail(&s, (i + 1) * P);
		}
		session_out(&s);
		session_records(&s);
		session_in(&s); /* no bytes */
		session_out(&s);
		assert_int_equal(session_aux_head(&s), begin * P);
		session_in(&s);
		while (session_packet(&s, 16)) /* no interrupt is taken on the way */
			;
		session_out(&s);
		assert_int_equal(s.nr_stored, begin * P + 4 * P);
		assert_int_equal(session_last(&s)->size, 4 * P);
		assert_int_equal(session_last(&s)->flags, TRUNCATED);
		assert_int_equal(session_aux_head(&s), begin * P + 4 * P);
		session_check_unread(&s);
		session_close(&s);
		machine_end();
	}
}

/* H8, H9: a unit with one entry a table. Its interrupt comes early; tests raise the line
 * by hand. */
static void one_entry_tables(void **state)
{
	(void)state;
	for (u64 left = 0; left <= 600; left += 40) {
		struct session s;
		const u64 *table;
		u64 base, size = 2 * P - left;

		machine_start_with(NULL, true, false);
		session_init(&s);
		s.attr.aux_watermark = 8192;
		assert_int_equal(session_open(&s, 8, 4, true), 0);
		session_in(&s);
		base = unit_read(MSR_RTIT_OUTPUT_BASE);
		table = core_phys_to_virt(base, P);
		assert_true((table[0] & (TOPA_INT | TOPA_STOP)) == (TOPA_INT | TOPA_STOP));
		assert_true(table[1] == (base | TOPA_END)); /* to itself */
		memset(s.aux, 0xee, s.aux_size);
		while (s.nr_stored < size)
			session_packet(&s, size - s.nr_stored < 16 ? size - s.nr_stored : 16);
		unit()->irq_line = true;
		machine_take_irq();
		session_records(&s);
		assert_int_equal(s.nr_records, 1);
		if (left <= 512) {
			/* padded with zeros inside the reported size; continues in the next
			 * region */
			assert_int_equal(s.records[0].size, 2 * P);
			for (u64 i = 0; i < left; i++)
				assert_int_equal(s.aux[size + i], 0);
			assert_true(unit_read(MSR_RTIT_OUTPUT_BASE) != base);
			assert_true(unit_read(MSR_RTIT_OUTPUT_MASK_PTRS) == 0x7f);
			assert_int_equal(s.aux[2 * P], 0xee);
		} else {
			assert_int_equal(s.records[0].size, size);
			assert_int_equal(s.aux[size], 0xee);
			assert_true(unit_read(MSR_RTIT_OUTPUT_BASE) == base);
		}
		/* STOPPED means loss here, wherever the offset is */
		assert_int_equal(s.records[0].flags, left ? 0 : TRUNCATED);
		assert_true(!memcmp(s.aux, s.stored, size));
		session_close(&s);
		machine_end();
	}
}

/* H8: an error is logged and cleared; the next transaction continues. */
static void output_error(void **state)
{
	struct session s;
	u64 *table, saved;

	(void)state;
	machine_start(NULL);
	session_init(&s);
	s.attr.aux_watermark = 4096;
	assert_int_equal(session_open(&s, 8, 4, true), 0);
	session_in(&s);
	table = core_phys_to_virt(unit_read(MSR_RTIT_OUTPUT_BASE), P);
	saved = table[1];
	table[1] |= 1ull << 11;
	while (session_packet(&s, 16))
		;
	assert_true(unit_read(MSR_RTIT_STATUS) == RTIT_STATUS_ERROR);
	table[1] = saved;
	session_out(&s);
	assert_int_equal(machine.nr_errors_logged, 1);
	assert_int_equal(session_last(&s)->size, P);
	assert_int_equal(session_last(&s)->flags, 0);
	session_in(&s);
	session_run(&s, 300);
	session_out(&s);
	assert_int_equal(session_aux_head(&s), P + 300);
	session_check_unread(&s);
	session_close(&s);
	machine_end();
}

/* H12: VMXON clears TraceEn; a write of RTIT_CTL until VMXOFF would fault. */
static void vmx(void **state)
{
	struct session s;
	unsigned int writes;

	(void)state;
	machine_start(NULL);
	session_init(&s);
	assert_int_equal(session_open(&s, 8, 4, true), 0);
	session_in(&s);
	session_run(&s, 100);
	intel_pt_vmx(true);
	pt_output_stop(&unit()->out);
	unit()->ctl &= ~RTIT_CTL_TRACEEN;
	session_run(&s, 50); /* not traced */
	intel_pt_vmx(false);
	assert_true(unit_on());
	session_run(&s, 10);
	session_out(&s);
	assert_int_equal(session_last(&s)->flags, PARTIAL);
	assert_int_equal(session_last(&s)->size, 110);

	/* whole transactions inside: RTIT_CTL is not written, and their records say so */
	intel_pt_vmx(true);
	writes = unit()->nr_ctl_writes;
	session_in(&s);
	session_out(&s);
	assert_int_equal(unit()->nr_ctl_writes, writes);
	assert_int_equal(session_last(&s)->flags, PARTIAL);
	assert_int_equal(session_last(&s)->size, 0);
	session_in(&s);
	assert_true(!unit_on());
	intel_pt_vmx(false);
	assert_true(unit_on());
	session_run(&s, 5);
	session_out(&s);
	assert_int_equal(session_last(&s)->flags, PARTIAL);
	session_in(&s);
	session_run(&s, 5);
	session_out(&s);
	assert_int_equal(session_last(&s)->flags, 0);
	session_check_unread(&s);
	session_close(&s);
	machine_end();
}

/* The position is the buffer's, not a CPU's: one task moves around all CPUs, next to
 * another one that stays. */
static void many_cpus(void **state)
{
	struct session moving, staying;

	(void)state;
	machine_start(NULL);
	session_init(&moving);
	session_init(&staying);
	moving.attr.aux_watermark = staying.attr.aux_watermark = 4096;
	staying.task.pid = staying.task.tid = 200;
	assert_int_equal(session_open(&moving, 64, 4, true), 0);
	assert_int_equal(session_open(&staying, 64, 4, true), 0);
	machine.cpu = 0;
	session_in(&staying);
	for (int i = 0; i < 100; i++) {
		machine.cpu = 1 + i % 7;
		session_in(&moving);
		session_run(&moving, 333);
		machine.cpu = 0;
		session_run(&staying, 500);
		machine.cpu = 1 + i % 7;
		session_run(&moving, 333);
		session_out(&moving);
		session_check_unread(&moving);
		session_check_unread(&staying);
		session_set_tail(&moving, session_aux_head(&moving));
		session_set_tail(&staying, session_aux_head(&staying));
		session_records(&moving);
		session_records(&staying);
	}
	machine.cpu = 0;
	session_out(&staying);
	assert_int_equal(session_aux_head(&moving), 66600);
	assert_int_equal(session_aux_head(&staying), 50000);
	session_close(&moving);
	session_close(&staying);
	machine_end();
}

/* D1, F3: an inherited child's trace and records go to its parent's ring, one transaction
 * at a time. */
static void inherited_child(void **state)
{
	struct core_task child_task = {.pid = 100, .tid = 101};
	struct perf_event *child;
	struct session s;

	(void)state;
	machine_start(NULL);
	session_init(&s);
	assert_int_equal(session_open(&s, 8, 4, true), 0);
	assert_int_equal(core_event_open(&child, &s.attr, &child_task, -1, NULL, s.event), 0);
	session_in(&s);
	session_run(&s, 100);
	session_out(&s);
	for (int i = 0; i < 2; i++) {
		core_task_sched_in(&child_task);
		assert_true(unit_on());
		session_run(&s, 50);
		core_task_sched_out(&child_task);
	}
	session_records(&s);
	assert_int_equal(s.nr_records, 3);
	assert_int_equal(s.records[2].offset, 150);
	assert_int_equal(s.records[2].size, 50);
	session_check_unread(&s);
	session_close(&s);
	machine_end();
}

/* B18: the area is unmapped under a running event. */
static void unmap_while_running(void **state)
{
	struct session s;

	(void)state;
	machine_start(NULL);
	session_init(&s);
	assert_int_equal(session_open(&s, 8, 4, true), 0);
	session_in(&s);
	session_run(&s, 77);
	core_event_munmap(s.aux_map);
	s.aux_map = NULL;
	assert_true(!unit_on());
	assert_int_equal(session_last(&s)->size, 77);
	session_out(&s);
	session_in(&s);
	assert_true(!unit_on());
	session_close(&s);
	machine_end();
}

int main(void)
{
	/* clang-format off */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(config_bits),         cmocka_unit_test(control_register),
		cmocka_unit_test(attributes),          cmocka_unit_test(registration),
		cmocka_unit_test(itrace_start_once),   cmocka_unit_test(no_aux_area),
		cmocka_unit_test(interrupt_with_overshoot), cmocka_unit_test(full),
		cmocka_unit_test(late_interrupt),      cmocka_unit_test(status_is_kept),
		cmocka_unit_test(whole_wrap),           cmocka_unit_test(one_entry_tables),
		cmocka_unit_test(output_error),        cmocka_unit_test(vmx),
		cmocka_unit_test(many_cpus),           cmocka_unit_test(inherited_child),
		cmocka_unit_test(unmap_while_running),
	};
	/* clang-format on */

	return cmocka_run_group_tests(tests, NULL, NULL);
}
