// SPDX-License-Identifier: BSD-2-Clause
/* The TRBE driver and CoreSight events: rules J1 to J8 and the TRBE vectors of section M. */
#include "support_arm.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define RAW 0x100ull /* J3 */

static u64 limit(const struct arm_session *s)
{
	assert_true(trbe_on());
	return (arm_unit()->trbe.limitr & ~0xfffull) - (u64)(uintptr_t)s->aux;
}

static u64 pointer(const struct arm_session *s)
{
	return arm_unit()->trbe.ptr - (u64)(uintptr_t)s->aux;
}

static void begin(struct arm_session *s, const char *kernel, u32 align, int errata, u64 pages,
		  u32 watermark, bool linear)
{
	assert_int_equal(trbe_start(kernel, align, errata), 0);
	trbe_session(s);
	s->attr.aux_watermark = watermark;
	assert_int_equal(arm_open(s, pages, linear), 0);
	arm_in(s);
	assert_true(trbe_on());
}

static void end(struct arm_session *s)
{
	arm_close(s);
	trbe_end();
}

static bool gate_masks_format(const char *kernel) /* L2 */
{
	return !strcmp(kernel, "6.1.192");
}

/* Section M: B 16384, W 8192, without a reader. */
static void vector_idle_reader(const char *kernel)
{
	struct arm_session s;

	begin(&s, kernel, 64, 0, 4, 8192, true);
	assert_int_equal(limit(&s), 8192);
	trbe_run(&s, 8192);
	assert_int_equal(arm.nr_wakeups, 1);
	assert_int_equal(limit(&s), 12288);
	trbe_run(&s, 4096);
	assert_false(trbe_on());
	arm_expect(&s, 0, 0, 8192, COLLISION | RAW);
	arm_expect(&s, 1, 8192, 4096, COLLISION | RAW);
	arm_expect(&s, 2, 16383, 0, TRUNCATED | RAW);
	assert_int_equal(s.nr_records, 3);
	assert_int_equal(arm.nr_wakeups, 2);
	assert_int_equal(arm_aux_head(&s), 16383);
	arm_check_unread(&s); /* 4095 times 0x70 */
	trbe_run(&s, 1000);
	assert_int_equal(s.nr_stored, 12288);
	arm_set_tail(&s, 16383);
	arm_reenable(&s);
	assert_int_equal(pointer(&s), 0); /* I2: one byte more of padding */
	assert_int_equal(arm_aux_head(&s), 16384);
	end(&s);
}

/* Section M, with the erratum: J2's loop. */
static void vector_out_of_range(const char *kernel)
{
	struct arm_session s;

	begin(&s, kernel, 64, ERRATUM_BEYOND, 4, 8192, true);
	assert_int_equal(limit(&s), 4096); /* the next page is for stray writes */
	trbe_run(&s, 4096);
	assert_false(trbe_on());
	arm_expect(&s, 0, 0, 4096, COLLISION | RAW);
	arm_expect(&s, 1, 16383, 0, TRUNCATED | RAW);
	assert_int_equal(s.nr_records, 2);
	assert_int_equal(arm_aux_head(&s), 16383);
	/* for padding beyond W, and for the truncation; one irq_work may do both */
	assert_in_range(arm.nr_wakeups, 1, 2);
	arm_check_unread(&s);
	end(&s);
}

/* A reader that is woken in time: nothing is truncated, for any stray writes. */
static void prompt_reader(const char *kernel)
{
	for (int errata = 0; errata < 4; errata++) {
		struct arm_session s;
		u64 sum = 0;

		begin(&s, kernel, 64, errata, 8, 8192, true);
		arm_unit()->trbe.irq_delay_bytes = 200;
		for (int i = 0; i < 40; i++) {
			trbe_run(&s, 1500);
			arm_records(&s);
			arm_check_unread(&s);
			arm_set_tail(&s, arm_aux_head(&s));
		}
		arm_out(&s);
		arm_records(&s);
		arm_check_unread(&s);
		for (size_t i = 0; i < s.nr_records; i++) {
			bool last = i == s.nr_records - 1;

			assert_int_equal(s.records[i].flags, last ? RAW : COLLISION | RAW);
			sum += s.records[i].size;
		}
		assert_true(s.nr_records > 7);
		/* J6: each starts with 256 bytes of padding inside the record */
		assert_int_equal(sum,
				 s.nr_stored +
					 (errata & ERRATUM_OVERWRITE ? 256 * s.nr_records : 0));
		assert_int_equal(!!arm_unit()->trbe.nr_errata_bytes, !!errata);
		assert_int_equal(s.produced, s.nr_stored + arm_unit()->trbe.nr_dropped);
		assert_true(arm_unit()->trbe.nr_dropped > 0);
		end(&s);
	}
}

/* J2: too little space for a run; and just enough. */
static void minimum_run(const char *kernel)
{
	for (u64 left = 0; left <= 128; left += 16) {
		struct arm_session s;

		begin(&s, kernel, 1, 0, 8, 8192, true);
		trbe_run(&s, 8192 - left);
		arm_out(&s);
		arm_in(&s);
		if (left >= 64 || !left) {
			assert_int_equal(pointer(&s), 8192 - left);
			assert_int_equal(limit(&s), left ? 8192 : 16384);
		} else {
			assert_int_equal(pointer(&s), 8192);
			assert_int_equal(limit(&s), 16384);
		}
		trbe_run(&s, 32);
		arm_out(&s);
		arm_records(&s);
		arm_check_unread(&s);
		end(&s);
	}
}

/* J2, I2: the pointer is set to multiples of align, and a page with the erratum of J6. */
static void alignment(const char *kernel)
{
	for (int errata = 0; errata <= ERRATUM_OVERWRITE; errata++) {
		u64 align = errata ? P : 64;
		struct arm_session s;

		begin(&s, kernel, 64, errata, 8, 1 << 30, true);
		for (u64 i = 0; i < 4; i++) {
			trbe_run(&s, 100);
			arm_out(&s);
			assert_int_equal(arm_last(&s)->offset, i * (errata ? P : 128));
			assert_int_equal(arm_last(&s)->size, errata ? 356 : 100);
			arm_in(&s);
			assert_int_equal((pointer(&s) - (errata ? 256 : 0)) % align, 0);
			/* J6: it may overwrite only skipped bytes */
			assert_int_equal(arm_unit()->trbe.base - (u64)(uintptr_t)s.aux,
					 errata ? (i + 1) * P : 0);
		}
		arm_records(&s);
		arm_check_unread(&s);
		end(&s);
	}
}

static void properties(const char *kernel)
{
	for (u32 align = 1; align <= 4096; align *= 2) {
		assert_int_equal(trbe_start(kernel, align, 0), align > 2048 ? -ENODEV : 0);
		trbe_end();
	}
	arm.pmbidr_p = 0x10; /* the buffer belongs to a higher exception level */
	assert_int_equal(trbe_start(kernel, 64, 0), -ENODEV);
	trbe_end();
	for (int errata = 0; errata < 4; errata++) {
		for (int linear = 0; linear <= 1; linear++) {
			for (u64 pages = 1; pages <= 4; pages *= 2) {
				bool fits = pages >= (errata & ERRATUM_BEYOND && linear ? 4 : 2);
				struct arm_session s;

				assert_int_equal(trbe_start(kernel, 64, errata), 0);
				trbe_session(&s);
				assert_int_equal(arm_open(&s, pages, linear),
						 fits ? 0 : -ENOMEM); /* C7 */
				if (fits) {			      /* and works */
					arm_in(&s);
					assert_true(trbe_on());
				}
				end(&s);
			}
		}
	}
}

static void attributes(const char *kernel)
{
	char text[64];
	struct arm_session s;

	assert_int_equal(trbe_start(kernel, 64, 0), 0);
	assert_true(core_pmu_attr("cs_etm", "format/timestamp", text, sizeof(text)) > 0);
	assert_string_equal(text, "config:28");
	assert_true(core_pmu_attr("cs_etm", "format/cycacc", text, sizeof(text)) > 0);
	assert_string_equal(text, "config:12");
	assert_int_equal(core_pmu_attr("cs_etm", "format/retstack", text, sizeof(text)), -ENOENT);
	assert_int_equal(core_pmu_capabilities("cs_etm"),
			 PERF_PMU_CAP_ITRACE | PERF_PMU_CAP_EXCLUSIVE);
	trbe_session(&s);
	s.attr.config = 1u << 29;
	assert_int_equal(core_event_open(&s.event, &s.attr, &s.task, -1, NULL, NULL), -EINVAL);
	s.attr.config = 0;
	s.attr.config1 = 1; /* an unknown config1 is refused, not ignored */
	assert_int_equal(core_event_open(&s.event, &s.attr, &s.task, -1, NULL, NULL), -EINVAL);
	s.attr.config1 = 0;
	s.attr.config2 = 1;
	assert_int_equal(core_event_open(&s.event, &s.attr, &s.task, -1, NULL, NULL), -EINVAL);
	trbe_end();
}

/* J4: the event is not disturbed. */
static void wrap_is_no_truncation(const char *kernel)
{
	struct arm_session s;

	begin(&s, kernel, 64, 0, 8, 8192, true);
	arm.cpu = 0;
	arm_unit()->trbe.irq_delay_bytes = 1000;
	trbe_run(&s, 9000);
	assert_false(trbe_on()); /* filled, the interrupt is pending */
	trbe_run(&s, 1000);
	assert_true(trbe_on());
	assert_true(core_event_active(s.event));
	arm_expect(&s, 0, 0, 8192, COLLISION | RAW);
	assert_int_equal(s.nr_records, 1);
	assert_true(arm_unit()->trbe.nr_dropped >= 1000);
	end(&s);
}

/* J4: error statuses, in the interrupt and at a stop. */
static const struct {
	u64 status;
	bool fatal;
} faults[] = {
	{TRBSR_EC(TRBSR_EC_STAGE1) | TRBSR_FSC_TRANSLATION, true},
	{TRBSR_EC(TRBSR_EC_STAGE2) | 1, true},
	{TRBSR_EA | TRBSR_WRAP | TRBSR_BSC_FILLED, true},
	{TRBSR_TRG | TRBSR_BSC_TRIGGER, true},
	{TRBSR_EC(0x1e), false},
	{TRBSR_BSC_FILLED, false}, /* filled, and did not wrap */
	{TRBSR_WRAP | 0x3f, false},
	/* filled, but the pointer is elsewhere */
	{TRBSR_WRAP | TRBSR_BSC_FILLED, false},
};

static void faults_in_interrupts(const char *kernel)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		struct arm_session s;

		begin(&s, kernel, 64, 0, 8, 8192, true);
		trbe_run(&s, 640);
		trbe_output_fail(&arm_unit()->trbe, faults[i].status);
		trbe_trace(&s, 16);
		core_set_cpu(arm.cpu);
		assert_true(cs_etm_interrupt());
		assert_false(core_irq_work_pending()); /* its irq_work has run already */
		assert_false(trbe_output_irq(&arm_unit()->trbe));
		assert_int_equal(arm.nr_errors_logged, faults[i].fatal);
		if (faults[i].fatal) {
			arm_expect(&s, 0, 0, 0, TRUNCATED | RAW);
			assert_false(trbe_on());
			arm_out(&s);
			assert_int_equal(s.nr_records, 1);
		} else { /* it continues at the same position; the loss is recorded */
			assert_true(trbe_on());
			trbe_run(&s, 160);
			arm_out(&s);
			arm_expect(&s, 0, 0, 800, COLLISION | RAW);
			arm_check_unread(&s);
		}
		end(&s);
	}
}

static void faults_at_stop(const char *kernel)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		struct arm_session s;

		begin(&s, kernel, 64, 0, 8, 8192, true);
		trbe_run(&s, 640);
		trbe_output_fail(&arm_unit()->trbe, faults[i].status);
		trbe_trace(&s, 16);
		arm_out(&s);
		/* J4, D14: size 0; the format flag makes no record, or makes one (L2) */
		arm_records(&s);
		assert_int_equal(s.nr_records, !gate_masks_format(kernel));
		if (s.nr_records)
			arm_expect(&s, 0, 0, 0, RAW);
		/* J8: the pending interrupt has nothing to do */
		core_set_cpu(arm.cpu);
		assert_false(trbe_output_irq(&arm_unit()->trbe));
		assert_false(cs_etm_interrupt());
		end(&s);
	}
}

/* An interrupt without a status. */
static void spurious(const char *kernel)
{
	struct arm_session s;

	assert_int_equal(trbe_start(kernel, 64, 0), 0);
	assert_false(cs_etm_interrupt());
	trbe_output_spurious(&arm_unit()->trbe); /* and without an event */
	assert_false(cs_etm_interrupt());
	assert_false(trbe_output_irq(&arm_unit()->trbe));
	trbe_end();
	begin(&s, kernel, 64, 0, 8, 8192, true);
	trbe_run(&s, 640);
	assert_false(cs_etm_interrupt());
	trbe_output_spurious(&arm_unit()->trbe);
	assert_true(trbe_take_irq());
	assert_true(trbe_on());
	assert_int_equal(pointer(&s), 640);
	trbe_run(&s, 160);
	arm_out(&s);
	arm_expect(&s, 0, 0, 800, RAW); /* J3, nothing else */
	arm_check_unread(&s);
	end(&s);
}

/* J4: filled, and no transaction can begin: COLLISION, no TRUNCATED; D6 disables. */
static void begin_fails_in_interrupt(const char *kernel)
{
	struct arm_session s;

	begin(&s, kernel, 64, 0, 8, 8192, true);
	trbe_trace(&s, 8192);
	arm_set_tail(&s, 8193); /* ahead of head: no space (D5) */
	assert_true(trbe_take_irq());
	assert_false(trbe_on());
	arm_expect(&s, 0, 0, 8192, COLLISION | RAW);
	trbe_run(&s, 100);
	/* J8: the handle is closed */
	arm_out(&s);
	arm_records(&s);
	assert_int_equal(s.nr_records, 1);
	assert_int_equal(arm_aux_head(&s), 8192);
	end(&s);
}

/* J5 */
static void snapshot(const char *kernel)
{
	for (int errata = 0; errata < 4; errata++) {
		u64 head = 0, skip = errata & ERRATUM_OVERWRITE ? 256 : 0;
		struct arm_session s;

		begin(&s, kernel, 64, errata, 4, 0, false);
		for (size_t i = 0; i < 18;
		     i++) { /* not to the end, except where pages are skipped */
			u64 was = arm_aux_head(&s), begun = pointer(&s) - skip;

			/* the whole area up to its end, except the page for stray writes */
			assert_int_equal(limit(&s), 4 * P - (errata & ERRATUM_BEYOND ? P : 0));
			trbe_run(&s, 640);
			head = was + (begun - was) % (4 * P) + 640 + skip;
			arm_out(&s);
			assert_int_equal(arm_aux_head(&s), head); /* monotonic */
			arm_expect(&s, i, head, 640 + skip, OVERWRITE | RAW);
			for (u64 at = begun; at < begun + skip; at++)
				assert_int_equal(s.aux[at], 0x70);
			for (u64 at = 0; at < 640; at++)
				assert_int_equal(s.aux[begun + skip + at], arm_byte(640 * i + at));
			arm_in(&s);
		}
		assert_true(head >= 18 * 640);
		end(&s);
	}
	/* over the end: a fill, then from the start, within one run */
	for (int errata = 0; errata < 4; errata++) {
		struct arm_session s;
		u64 sum = 0;

		begin(&s, kernel, 64, errata, 4, 0, false);
		trbe_run(&s, 100000);
		arm_out(&s);
		arm_records(&s);
		for (size_t i = 0; i < s.nr_records; i++) {
			assert_int_equal(s.records[i].flags & ~COLLISION, OVERWRITE | RAW);
			assert_int_equal(!!(s.records[i].flags & COLLISION), i < s.nr_records - 1);
			sum += s.records[i].size;
		}
		if (!errata)
			assert_int_equal(arm_aux_head(&s), sum);
		assert_true(s.nr_records >= 7 && arm_aux_head(&s) >= sum);
		assert_int_equal(arm.nr_wakeups, 0);
		end(&s);
	}
}

/* J6: while the interrupt is pending, bytes are written from base on and beyond the limit. */
static void errata_in_memory(const char *kernel)
{
	for (int errata = 1; errata < 4; errata++) {
		struct arm_session s;
		u64 first;

		begin(&s, kernel, 64, errata, 16, 4 * P, true);
		arm_unit()->trbe.irq_delay_bytes = 6000;
		first = limit(&s) - pointer(&s);
		trbe_trace(&s, (u32)first + 6000);
		assert_int_equal(arm_unit()->trbe.nr_errata_bytes,
				 (errata & ERRATUM_BEYOND ? P : 0) +
					 (errata & ERRATUM_OVERWRITE ? 192 : 0));
		/* the model does overwrite: without the workaround the driver would report those
		 * bytes */
		if (errata & ERRATUM_OVERWRITE)
			assert_int_not_equal(s.aux[0], 0x70);
		assert_true(trbe_take_irq());
		arm_expect(&s, 0, 0, first + (errata & ERRATUM_OVERWRITE ? 256 : 0),
			   COLLISION | RAW);
		arm_check_unread(&s);
		end(&s);
	}
}

/* J7: no sink to trace into; the event stays open and writes no record. */
static void no_path(const char *kernel)
{
	struct arm_session s;

	arm.absent_cpu = 2;
	assert_int_equal(trbe_start(kernel, 64, 0), 0);
	trbe_session(&s);
	assert_int_equal(arm_open(&s, 4, true), 0);
	arm.cpu = 2;
	arm_in(&s);
	assert_true(core_event_active(s.event));
	assert_false(arm_unit()->etm_on);
	trbe_run(&s, 100);
	arm_out(&s);
	arm_records(&s);
	assert_int_equal(s.nr_records, 0);
	assert_int_equal(arm_aux_head(&s), 0);
	arm.cpu = 1;
	arm_in(&s);
	trbe_run(&s, 100);
	arm_out(&s);
	arm_expect(&s, 0, 0, 100, RAW);
	assert_int_equal(s.nr_itrace_start, 2); /* F1 */
	end(&s);
	/* the area of an event on that CPU alone is refused (C7) */
	arm.absent_cpu = 2;
	assert_int_equal(trbe_start(kernel, 64, 0), 0);
	trbe_session(&s);
	assert_int_equal(core_event_open(&s.event, &s.attr, NULL, 2, NULL, NULL), 0);
	assert_int_equal(core_event_mmap(s.event, 2 * P, PROT_READ | PROT_WRITE, MAP_SHARED, 0,
					 &s.data_map),
			 0);
	s.page = s.data_map->addr;
	s.page->aux_offset = 2 * P;
	s.page->aux_size = 4 * P;
	assert_int_equal(core_event_mmap(s.event, 4 * P, PROT_READ | PROT_WRITE, MAP_SHARED, 2 * P,
					 &s.aux_map),
			 -ENOMEM);
	end(&s);
}

/* J7: the trace unit does not start. */
static void trace_unit_fails(const char *kernel)
{
	struct arm_session s;

	assert_int_equal(trbe_start(kernel, 64, 0), 0);
	trbe_session(&s);
	assert_int_equal(arm_open(&s, 4, true), 0);
	arm.etm_error = -EBUSY;
	arm_in(&s);
	assert_false(core_event_active(s.event));
	assert_int_equal(arm_unit()->trbe.limitr & TRBLIMITR_E, 0);
	arm_expect(&s, 0, 0, 0, TRUNCATED | RAW);
	arm_out(&s);
	arm.etm_error = 0;
	arm_reenable(&s);
	arm_in(&s);
	assert_true(trbe_on());
	end(&s);
	/* the sink has no space: it has recorded that, and only once */
	begin(&s, kernel, 64, 0, 4, 0, true);
	trbe_run(&s, 12288);
	arm_records(&s);
	assert_int_equal(s.nr_records, 3);
	arm_out(&s);
	arm_set_tail(&s, 1); /* a byte */
	arm_reenable(&s);
	arm_in(&s);
	arm_expect(&s, 3, 16384, 0, TRUNCATED | RAW);
	assert_int_equal(s.nr_records, 4);
	assert_false(core_event_active(s.event));
	end(&s);
}

/* J8: it fills while it is drained; the later interrupt has nothing to do. */
static void fills_at_stop(const char *kernel)
{
	struct arm_session s;

	begin(&s, kernel, 64, 0, 8, 8192, true);
	arm.fifo_size = 100;
	trbe_trace(&s, 8200);
	assert_true(trbe_on());
	arm_out(&s);
	arm_expect(&s, 0, 0, 8192, COLLISION | RAW);
	assert_int_equal(arm_unit()->nr_irqs, 1);
	core_set_cpu(arm.cpu);
	assert_false(cs_etm_interrupt());
	assert_int_equal(s.nr_records, 1);
	arm_check_unread(&s);
	end(&s);
}

/* J8: the interrupt arrives in the middle of the stop and closes the handle. */
static void interrupt_in_stop(const char *kernel)
{
	for (int space = 0; space <= 1; space++) {
		struct arm_session s;

		begin(&s, kernel, 64, 0, 8, 8192, true);
		trbe_trace(&s, 8192);
		if (!space)
			arm_set_tail(&s, 8193);
		arm.irq_in_stop = true;
		arm_out(&s);
		arm_expect(&s, 0, 0, 8192, COLLISION | RAW);
		/* with space it began another one, which ended empty (L2) */
		assert_int_equal(s.nr_records, 1 + (space && !gate_masks_format(kernel)));
		assert_int_equal(arm_aux_head(&s), 8192);
		assert_int_equal(arm_unit()->trbe.limitr & TRBLIMITR_E, 0);
		end(&s);
	}
}

/* J8: off although the handle is open: the content of the buffer is unknown. */
static void switched_off(const char *kernel)
{
	struct arm_session s;

	begin(&s, kernel, 64, 0, 8, 8192, true);
	trbe_run(&s, 640);
	arm_unit()->trbe.limitr &= ~TRBLIMITR_E;
	arm_out(&s);
	arm_records(&s);
	assert_int_equal(s.nr_records, !gate_masks_format(kernel));
	assert_int_equal(arm_aux_head(&s), 0);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ARM_TEST(vector_idle_reader),
		ARM_TEST(vector_out_of_range),
		ARM_TEST(prompt_reader),
		ARM_TEST(minimum_run),
		ARM_TEST(alignment),
		ARM_TEST(properties),
		ARM_TEST(attributes),
		ARM_TEST(wrap_is_no_truncation),
		ARM_TEST(faults_in_interrupts),
		ARM_TEST(faults_at_stop),
		ARM_TEST(spurious),
		ARM_TEST(begin_fails_in_interrupt),
		ARM_TEST(snapshot),
		ARM_TEST(errata_in_memory),
		ARM_TEST(no_path),
		ARM_TEST(trace_unit_fails),
		ARM_TEST(fills_at_stop),
		ARM_TEST(interrupt_in_stop),
		ARM_TEST(switched_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
