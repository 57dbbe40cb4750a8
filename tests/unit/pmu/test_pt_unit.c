// SPDX-License-Identifier: BSD-2-Clause
/*
 * The driver on the whole unit (registers with their #GPs, encoder, output stage) instead
 * of bare registers: the unit refuses no write of the driver, and the counters agree over many
 * interrupts.
 */
#include "support_machine.h"
#include "hw/pt_unit.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static struct pt_unit pt;
static bool irq_line;
static u64 tsc;
static unsigned int nr_refused;

static void *phys(void *ctx, u64 addr, u64 size)
{
	(void)ctx;
	return core_phys_to_virt(addr, size);
}

static void irq(void *ctx)
{
	(void)ctx;
	irq_line = true;
}

static u64 read_msr(int cpu, u32 msr)
{
	assert_int_equal(cpu, 0);
	return pt_unit_rdmsr(&pt, msr);
}

static void write_msr(int cpu, u32 msr, u64 value)
{
	assert_int_equal(cpu, 0);
	if (pt_unit_wrmsr(&pt, msr, value))
		nr_refused++;
}

static u64 interrupt(u64 ip)
{
	pt_unit_leave_async(&pt, ip);
	irq_line = false;
	intel_pt_interrupt();
	core_irq_work_run();
	pt_unit_enter_user(&pt, ip);
	return ip;
}

/* A program of calls, returns and branches by an indirect table. */
static void execute(u64 *ip, unsigned int nr_branches)
{
	while (nr_branches--) {
		u64 target = 0x400000 + (u64)(rand() % 0x10000);
		enum x86_class cls = rand() % 2 ? X86_JCC : X86_JMP_INDIRECT;

		tsc += 5;
		if (cls == X86_JCC && rand() % 2)
			target = *ip + 2;
		pt_unit_retire(&pt, 3, *ip);
		pt_unit_branch(&pt, cls, *ip, 2, target);
		*ip = target;
		if (irq_line)
			*ip = interrupt(*ip);
	}
}

static const struct pt_unit_config config = {
	.tsc = &tsc,
	.tsc_ctc_n = 80,
	.tsc_ctc_d = 2,
	.mtc_freq = 3,
	.core_bus_ratio = 10,
	.max_nonturbo_ratio = 10,
};
static const struct pt_output_bus bus = {.phys = phys, .irq = irq};

static void machine_with_unit(const char *kernel)
{
	machine_start(kernel);
	machine.hw.read = read_msr;
	machine.hw.write = write_msr;
	nr_refused = 0;
	irq_line = false;
	pt_unit_init(&pt, &config, &bus);
}

static const u64 configs[] = {
	0,
	1 | RTIT_CTL_BRANCHEN | RTIT_CTL_TSCEN,
	RTIT_CTL_TSCEN | RTIT_CTL_DISRETC,
	RTIT_CTL_TSCEN | RTIT_CTL_MTCEN | 3 << RTIT_CTL_MTC_RANGE_SHIFT | RTIT_CTL_CYCEN,
	RTIT_CTL_TSCEN | 2ull << RTIT_CTL_PSB_FREQ_SHIFT,
};

static void linear(void **state)
{
	unsigned int nr_truncated = 0;

	(void)state;
	srand(5);
	for (const struct core_kernel *const *k = core_kernels; *k; k++) {
		for (size_t c = 0; c < sizeof(configs) / sizeof(*configs); c++) {
			u64 ip = 0x400000, sum = 0;
			struct session s;

			machine_with_unit((*k)->name);
			session_init(&s);
			s.attr.config = configs[c];
			assert_int_equal(session_open(&s, 32, 4, true), 0);
			pt.out.irq_delay_bytes = 100;
			for (int step = 0; step < 300; step++) {
				session_in(&s);
				pt_unit_enter_user(&pt, ip);
				execute(&ip, (unsigned int)rand() % 4000);
				pt_unit_leave_async(&pt, ip);
				session_out(&s);
				session_records(&s);
				if (rand() % 4)
					session_set_tail(&s, session_aux_head(&s));
				core_event_ioctl(s.event, PERF_EVENT_IOC_DISABLE, 0, NULL);
				core_event_ioctl(s.event, PERF_EVENT_IOC_ENABLE, 0, NULL);
			}
			for (size_t i = 0; i < s.nr_records; i++) {
				sum += s.records[i].size;
				nr_truncated += !!(s.records[i].flags & PERF_AUX_FLAG_TRUNCATED);
			}
			assert_int_equal(nr_refused, 0);
			assert_true(sum > 100000);
			assert_int_equal(sum, pt.out.nr_written);
			assert_int_equal(sum, session_aux_head(&s));
			session_close(&s);
			machine_end();
		}
	}
	assert_true(nr_truncated > 100);
}

static void snapshot(void **state)
{
	(void)state;
	srand(6);
	for (u64 pages = 1; pages <= 8; pages *= 2) {
		u64 ip = 0x400000;
		struct session s;

		machine_with_unit(NULL);
		session_init(&s);
		assert_int_equal(session_open(&s, 32, pages, false), 0);
		for (int step = 0; step < 100; step++) {
			session_in(&s);
			pt_unit_enter_user(&pt, ip);
			execute(&ip, (unsigned int)rand() % 4000);
			pt_unit_leave_async(&pt, ip);
			session_out(&s);
			assert_int_equal(session_aux_head(&s), pt.out.nr_written % (pages * P));
		}
		assert_int_equal(nr_refused, 0);
		assert_int_equal(pt.out.nr_dropped, 0);
		assert_true(pt.out.nr_written > 50000);
		session_close(&s);
		machine_end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(linear),
		cmocka_unit_test(snapshot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
