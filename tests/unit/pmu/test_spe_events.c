// SPDX-License-Identifier: BSD-2-Clause
/* Events of arm_spe_0: accepted attributes, register values, how a transaction ends, the meaning
 * of each syndrome: rules I9 to I11, F1. */
#include "support_arm.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#define FULL (PMBSR_EC(PMBSR_EC_BUFFER) | PMBSR_BSC_FULL)

static u64 reg(u32 number)
{
	return arm_unit()->regs[number - 0xc4c8];
}

static void begin(struct arm_session *s, const char *kernel, bool linear)
{
	assert_int_equal(spe_start(kernel, 64, 64), 0);
	arm.cpu = 3; /* where D21 disables, on 6.1, too */
	spe_session(s);
	s->attr.aux_watermark = 8192;
	assert_int_equal(arm_open(s, 4, linear), 0);
	arm_in(s);
	assert_true(spe_on());
}

static void end(struct arm_session *s)
{
	arm_close(s);
	spe_end();
}

/* ---- sysfs attributes ---- */

static void expect_attr(const char *attr, const char *text)
{
	char value[4096];

	if (!text) {
		assert_int_equal(core_pmu_attr("arm_spe_0", attr, value, sizeof(value)), -ENOENT);
		return;
	}
	assert_true(core_pmu_attr("arm_spe_0", attr, value, sizeof(value)) > 0);
	assert_string_equal(value, text);
}

static void attributes(const char *kernel)
{
	arm.absent_cpu = 2;
	assert_int_equal(spe_start(kernel, 64, 64), 0);
	expect_attr("format/ts_enable", "config:0");
	expect_attr("format/pa_enable", "config:1");
	expect_attr("format/pct_enable", "config:2");
	expect_attr("format/jitter", "config:16");
	expect_attr("format/branch_filter", "config:32");
	expect_attr("format/load_filter", "config:33");
	expect_attr("format/store_filter", "config:34");
	expect_attr("format/event_filter", "config1:0-63");
	expect_attr("format/min_latency", "config2:0-11");
#ifdef PERF_ATTR_SIZE_VER8
	expect_attr("format/inv_event_filter", "config3:0-63");
#else
	expect_attr("format/inv_event_filter", NULL); /* no config3 */
#endif
	expect_attr("caps/arch_inst", "1");
	expect_attr("caps/ernd", "1");
	expect_attr("caps/count_size", "12");
	expect_attr("caps/min_interval", "256");
	expect_attr("cpumask", "0-1,3-1023");
	assert_int_equal(core_pmu_capabilities("arm_spe_0"),
			 PERF_PMU_CAP_ITRACE | PERF_PMU_CAP_EXCLUSIVE);
	spe_end();
}

/* PMSIDR.Interval */
static void intervals(const char *kernel)
{
	static const unsigned int least[16] = {256,  4096, 512,	 768,  1024, 1536, 2048, 3072,
					       4096, 4096, 4096, 4096, 4096, 4096, 4096, 4096};

	for (unsigned int i = 0; i < 16; i++) {
		struct arm_session s;
		char text[16];

		arm.pmsidr = i << 8 | 6 << 12 | 3 << 16;
		assert_int_equal(spe_restart(kernel), 0);
		snprintf(text, sizeof(text), "%u", least[i]);
		expect_attr("caps/min_interval", text);
		expect_attr("caps/count_size", "16");
		expect_attr("caps/arch_inst", "0");
		/* the event's interval: not below the minimum, not above 32 bits, multiples of 256
		 */
		for (int n = 0; n < 3; n++) {
			static const u64 asked[3] = {1, 0x123456789abull, 0x12345};
			const u64 got[3] = {least[i], 0xffffff00, 0x12300};

			spe_session(&s);
			s.attr.sample_period = asked[n];
			assert_int_equal(arm_open(&s, 2, true), 0);
			arm_in(&s);
			assert_int_equal(reg(SPE_PMSIRR), got[n]);
			arm_close(&s);
		}
		spe_end();
	}
}

static int opens(const struct arm_session *s, int cpu)
{
	struct perf_event *event;
	struct core_task task = {.pid = 5, .tid = 5};
	int ret = core_event_open(&event, &s->attr, cpu < 0 ? &task : NULL, cpu, NULL, NULL);

	if (!ret)
		core_event_close(event);
	return ret;
}

static void refusals(const char *kernel)
{
	struct arm_session s;

	arm.absent_cpu = 2;
	assert_int_equal(spe_start(kernel, 64, 64), 0);
	spe_session(&s);
	assert_int_equal(opens(&s, -1), 0);
	assert_int_equal(opens(&s, 1), 0);
	assert_int_equal(opens(&s, 2), -ENOENT);
	for (int bit = 0; bit < 64; bit++) {
		bool known = bit <= 2 || bit == 16 || (bit >= 32 && bit <= 34);

		s.attr.config = 1ull << bit;
		assert_int_equal(opens(&s, -1), known ? 0 : -EINVAL);
		s.attr.config = 0;
		s.attr.config2 = 1ull << bit;
		assert_int_equal(opens(&s, -1), bit < 12 ? 0 : -EINVAL);
		s.attr.config2 = 0;
		/* version 1.2: the events of 1.0, alignment, two of vectors, branches not taken */
		known = bit == 1 || bit == 3 || bit == 5 || bit == 6 || bit == 7 || bit == 11 ||
			(bit >= 12 && bit <= 15) || bit == 17 || bit == 18 ||
			(bit >= 24 && bit <= 31) || bit >= 48;
		s.attr.config1 = 1ull << bit;
		assert_int_equal(opens(&s, -1), known ? 0 : -EOPNOTSUPP);
		s.attr.config1 = 0;
	}
	s.attr.exclude_idle = 1;
	assert_int_equal(opens(&s, -1), -EOPNOTSUPP);
	s.attr.exclude_idle = 0;
	s.attr.freq = 1;
	assert_int_equal(opens(&s, -1), -EINVAL);
	s.attr.freq = 0;
	/* without CAP_PERFMON: no physical addresses, no physical time */
	arm.core.unprivileged = true;
	core_machine_set(&arm.core);
	for (int bit = 0; bit <= 2; bit++) {
		s.attr.config = 1ull << bit;
		assert_int_equal(opens(&s, -1), bit ? -EACCES : 0);
	}
	arm.core.unprivileged = false;
	core_machine_set(&arm.core);
	spe_end();
	/* a unit without filters */
	arm.pmsidr &= ~(SPE_PMSIDR_FE | SPE_PMSIDR_FT | SPE_PMSIDR_FL);
	assert_int_equal(spe_restart(kernel), 0);
	spe_session(&s);
	assert_int_equal(opens(&s, -1), 0);
	s.attr.config1 = 2;
	assert_int_equal(opens(&s, -1), -EOPNOTSUPP);
	s.attr.config1 = 0;
	s.attr.config2 = 10;
	assert_int_equal(opens(&s, -1), -EOPNOTSUPP);
	s.attr.config2 = 0;
	s.attr.config = 1ull << 33;
	assert_int_equal(opens(&s, -1), -EOPNOTSUPP);
	spe_end();
}

static void registers(const char *kernel)
{
	for (int exclude = 0; exclude < 4; exclude++) {
		struct arm_session s;

		assert_int_equal(spe_start(kernel, 64, 64), 0);
		spe_session(&s);
		s.attr.exclude_kernel = exclude & 1;
		s.attr.exclude_user = exclude >> 1;
		s.attr.config = 0x7 | 1ull << 16 | 1ull << 33;
		s.attr.config1 = 0x82;
		s.attr.config2 = 0x123;
		assert_int_equal(arm_open(&s, 2, true), 0);
		arm_in(&s);
		assert_int_equal(reg(SPE_PMSCR), SPE_PMSCR_TS | SPE_PMSCR_PA | SPE_PMSCR_PCT |
							 (exclude & 1 ? 0 : SPE_PMSCR_E1SPE) |
							 (exclude & 2 ? 0 : SPE_PMSCR_E0SPE));
		assert_int_equal(reg(SPE_PMSFCR),
				 SPE_PMSFCR_LD | SPE_PMSFCR_FT | SPE_PMSFCR_FE | SPE_PMSFCR_FL);
		assert_int_equal(reg(SPE_PMSEVFR), 0x82);
		assert_int_equal(reg(SPE_PMSLATFR), 0x123);
		assert_int_equal(reg(SPE_PMSIRR), 1024 | SPE_PMSIRR_RND);
		assert_int_equal(reg(SPE_PMSICR), 0);
		/* the counter moves with the event */
		arm_unit()->regs[SPE_PMSICR - 0xc4c8] = 777;
		arm_out(&s);
		assert_int_equal(reg(SPE_PMSCR), 0);
		assert_int_equal(arm_unit()->spe.limitr & PMBLIMITR_E, 0);
		arm_unit()->regs[SPE_PMSICR - 0xc4c8] = 1;
		arm_in(&s);
		assert_int_equal(reg(SPE_PMSICR), 777);
		end(&s);
	}
}

/* Thread ids, if the unit supports them, for users that may see all threads. */
static void context_ids(const char *kernel)
{
	for (int n = 0; n < 4; n++) {
		struct arm_session s;

		assert_int_equal(spe_start(kernel, 64, 64), 0);
		spe_hw.context_ids = n & 1;
		arm.core.unprivileged = n >> 1;
		core_machine_set(&arm.core);
		spe_session(&s);
		assert_int_equal(arm_open(&s, 2, true), 0);
		arm_in(&s);
		assert_int_equal(!!(reg(SPE_PMSCR) & SPE_PMSCR_CX), n == 1);
		end(&s);
	}
}

/* ---- transactions ---- */

/* I9 */
static void ends(const char *kernel)
{
	struct arm_session s;
	u64 head = 0;

	begin(&s, kernel, true);
	for (size_t i = 0; i < 10; i++) {
		spe_run(&s, (unsigned int)(3 + i), 64);
		arm_out(&s);
		arm_expect(&s, i, head, (3 + i) * 64, 0);
		head += (3 + i) * 64;
		assert_int_equal(arm_aux_head(&s), head);
		arm_check_unread(&s);
		arm_set_tail(&s, head);
		arm_in(&s);
	}
	/* F1: never reported as started */
	assert_int_equal(s.nr_itrace_start, 10);
	end(&s);
}

/* I10: each status and cut record, and the result; at the interrupt and at a stop. */
static const struct {
	u64 status;
	u32 nr_bytes; /* of the cut record */
	bool collide;
	u64 flags;
	bool fatal, logged;
} syndromes[] = {
	{FULL, 64, false, 0, false, false},
	{FULL, 64, true, COLLISION, false, false},
	{FULL | PMBSR_DL, 40, false, TRUNCATED | PARTIAL, false, false},
	{FULL | PMBSR_DL, 40, true, TRUNCATED | PARTIAL | COLLISION, false, false},
	/* buffer management, another status */
	{PMBSR_EC(PMBSR_EC_BUFFER) | 2, 0, false, 0, true, true},
	{PMBSR_EC(PMBSR_EC_BUFFER), 0, false, 0, true, true},
	/* aborts; EA alone does not matter */
	{PMBSR_EC(PMBSR_EC_STAGE1) | PMBSR_FSC_TRANSLATION, 0, false, 0, true, true},
	{PMBSR_EC(PMBSR_EC_STAGE1) | 1, 0, true, COLLISION, true, true},
	{PMBSR_EC(PMBSR_EC_STAGE2) | PMBSR_EA | 0x10, 0, false, 0, true, true},
	{PMBSR_EC(PMBSR_EC_STAGE2) | PMBSR_DL | 1, 20, false, TRUNCATED | PARTIAL, true, true},
	/* an undefined class */
	{PMBSR_EC(0x3f) | PMBSR_BSC_FULL, 0, false, 0, true, true},
};

static void syndromes_in_interrupts(const char *kernel)
{
	for (size_t i = 0; i < sizeof(syndromes) / sizeof(*syndromes); i++) {
		bool truncated = syndromes[i].flags & TRUNCATED;
		struct arm_session s;
		u64 size;

		begin(&s, kernel, true);
		spe_run(&s, 10, 64);
		if (syndromes[i].collide)
			spe_output_collide(&arm_unit()->spe);
		spe_output_fail(&arm_unit()->spe, syndromes[i].status, syndromes[i].nr_bytes);
		spe_record(&s, 64);
		assert_true(spe_take_irq());
		size = 640 + syndromes[i].nr_bytes;
		arm_expect(&s, 0, 0, size, syndromes[i].flags);
		assert_int_equal(s.nr_records, 1);
		assert_int_equal(arm.nr_errors_logged, syndromes[i].logged);
		/* I11: continues only after a good status, and not if TRUNCATED */
		assert_int_equal(spe_on(), !syndromes[i].fatal && !truncated);
		assert_int_equal(reg(SPE_PMSCR) != 0,
				 !syndromes[i].fatal && (!truncated || !strcmp(kernel, "6.12.95")));
		/* I11: the status is cleared, or the line would stay high */
		assert_int_equal(arm_unit()->spe.status, 0);
		assert_false(spe_output_irq(&arm_unit()->spe));
		/* fatal: the event keeps its state; D21 acts on a truncation, in 6.12 only at
		 * sched-out */
		assert_int_equal(core_event_active(s.event),
				 !truncated || !strcmp(kernel, "6.12.95"));
		arm_check_unread(&s);
		/* a reader that switches it on again */
		arm_set_tail(&s, arm_aux_head(&s));
		arm_reenable(&s);
		assert_true(spe_on());
		spe_run(&s, 1, 64);
		arm_out(&s);
		assert_int_equal(arm_last(&s)->size, 64);
		end(&s);
	}
}

/* The same at a stop, before the interrupt arrives: it must not affect the next event. */
static void syndromes_at_stop(const char *kernel)
{
	for (size_t i = 0; i < sizeof(syndromes) / sizeof(*syndromes); i++) {
		struct arm_session s;

		begin(&s, kernel, true);
		spe_run(&s, 10, 64);
		if (syndromes[i].collide)
			spe_output_collide(&arm_unit()->spe);
		spe_output_fail(&arm_unit()->spe, syndromes[i].status, syndromes[i].nr_bytes);
		spe_record(&s, 64);
		assert_true(spe_output_irq(&arm_unit()->spe));
		arm_out(&s);
		arm_expect(&s, 0, 0, 640 + syndromes[i].nr_bytes, syndromes[i].flags);
		assert_int_equal(arm_unit()->spe.status, 0);
		assert_false(spe_take_irq());
		/* the pending interrupt: no longer ours */
		core_set_cpu(arm.cpu);
		assert_false(arm_spe_interrupt());
		assert_int_equal(s.nr_records, 1);
		end(&s);
	}
}

/* I10: a line that is shared, or was high a moment ago. */
static void spurious(const char *kernel)
{
	struct arm_session s;

	assert_int_equal(spe_start(kernel, 64, 64), 0);
	assert_false(arm_spe_interrupt()); /* no event here */
	spe_end();
	begin(&s, kernel, true);
	spe_run(&s, 10, 64);
	spe_output_collide(&arm_unit()->spe);
	assert_false(arm_spe_interrupt());
	arm_records(&s);
	assert_int_equal(s.nr_records, 0);
	assert_true(spe_on());
	/* strictly, COLL without S means nothing at a stop, either */
	arm_out(&s);
	arm_expect(&s, 0, 0, 640, 0);
	end(&s);
}

/* A: the unit continues to produce until the interrupt is taken: those bytes are lost and counted.
 */
static void late_interrupt(const char *kernel)
{
	struct arm_session s;
	u64 sum = 0;

	begin(&s, kernel, true);
	arm.prompt = &s;
	arm_unit()->spe.irq_delay_bytes = 500;
	spe_run(&s, 1000, 64);
	arm_out(&s);
	arm_records(&s);
	for (size_t i = 0; i < s.nr_records; i++) {
		assert_int_equal(s.records[i].flags, 0);
		sum += s.records[i].size;
	}
	assert_int_equal(sum, arm_unit()->spe.nr_written);
	assert_int_equal(arm_unit()->spe.nr_dropped, 7 * 8 * 64); /* 8 records a stop */
	assert_int_equal(s.produced, sum + arm_unit()->spe.nr_dropped);
	end(&s);
}

/* I11: TRUNCATED disables from within; the interrupt must not begin another transaction. */
static void disabled_in_interrupt(const char *kernel)
{
	struct arm_session s;

	begin(&s, kernel, true);
	spe_output_fail(&arm_unit()->spe, FULL | PMBSR_DL, 0);
	spe_record(&s, 64);
	assert_true(spe_take_irq());
	arm_expect(&s, 0, 0, 0, TRUNCATED | PARTIAL); /* D14 */
	assert_false(spe_on());
	assert_int_equal(s.nr_records, 1);
	end(&s);
}

/* I11, D21: an older pending_disable disables it from within; a transaction would stay open. */
static void disabled_by_an_old_pending_disable(const char *kernel)
{
	struct arm_session s;

	if (strcmp(kernel, "6.1.192") != 0) /* later kernels check pending_disable elsewhere */
		return;
	begin(&s, kernel, true);
	s.event->pending_disable = arm.cpu;
	for (int i = 0; i < 128; i++)
		spe_record(&s, 64);
	assert_true(spe_take_irq());
	arm_expect(&s, 0, 0, 8192, 0);
	assert_false(core_event_active(s.event));
	assert_false(spe_on());
	arm_set_tail(&s, 8192);
	arm_reenable(&s);
	assert_true(spe_on());
	spe_run(&s, 1, 64);
	arm_out(&s);
	arm_expect(&s, 1, 8192, 64, 0);
	end(&s);
}

/* D6: full without a record; the unit must not keep an old limit. */
static void begin_fails(const char *kernel)
{
	struct arm_session s;

	begin(&s, kernel, true);
	arm_out(&s);
	/* a tail ahead of head leaves no space (D5) */
	arm_set_tail(&s, 1);
	arm_in(&s);
	assert_false(spe_on());
	arm_records(&s);
	assert_int_equal(s.nr_records, 0);
	arm_set_tail(&s, 0);
	arm_reenable(&s);
	assert_true(spe_on());
	/* and in the interrupt */
	arm_set_tail(&s, 0);
	for (int i = 0; i < 128; i++)
		spe_record(&s, 64);
	arm_set_tail(&s, 8193);
	assert_true(spe_take_irq());
	arm_expect(&s, 0, 0, 8192, 0);
	assert_int_equal(s.nr_records, 1);
	assert_int_equal(arm_unit()->spe.limitr, 0);
	spe_run(&s, 10, 64);
	assert_int_equal(s.nr_stored, 8192);
	end(&s);
}

/* The area is unmapped while the unit fills it (B18). */
static void unmapped_while_running(const char *kernel)
{
	struct arm_session s;

	begin(&s, kernel, true);
	spe_run(&s, 10, 64);
	core_event_munmap(s.aux_map);
	s.aux_map = NULL;
	s.snapshot = true; /* nothing to compare */
	assert_false(spe_on());
	spe_run(&s, 10, 64);
	assert_int_equal(arm_unit()->spe.nr_written, 640);
	end(&s);
}

/* On a CPU without the unit. */
static void elsewhere(const char *kernel)
{
	struct arm_session s;

	arm.absent_cpu = 2;
	assert_int_equal(spe_start(kernel, 64, 64), 0);
	spe_session(&s);
	assert_int_equal(arm_open(&s, 4, true), 0);
	arm.cpu = 2;
	arm_in(&s);
	assert_false(core_event_active(s.event));
	arm_out(&s);
	arm.cpu = 1;
	arm_in(&s);
	assert_true(core_event_active(s.event));
	assert_true(spe_on());
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ARM_TEST(attributes),
		ARM_TEST(intervals),
		ARM_TEST(refusals),
		ARM_TEST(registers),
		ARM_TEST(context_ids),
		ARM_TEST(ends),
		ARM_TEST(syndromes_in_interrupts),
		ARM_TEST(syndromes_at_stop),
		ARM_TEST(spurious),
		ARM_TEST(late_interrupt),
		ARM_TEST(disabled_in_interrupt),
		ARM_TEST(disabled_by_an_old_pending_disable),
		ARM_TEST(begin_fails),
		ARM_TEST(unmapped_while_running),
		ARM_TEST(elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
