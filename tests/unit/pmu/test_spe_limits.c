// SPDX-License-Identifier: BSD-2-Clause
/* Where the SPE unit must stop, and where padding is written: rules I1 to I8, I12 and the SPE
 * vectors of section M. */
#include "support_arm.h"
#include <errno.h>
#include <string.h>

/* As an offset; the buffer is on. */
static u64 limit(const struct arm_session *s)
{
	assert_true(spe_on());
	return (arm_unit()->spe.limitr & ~PMBLIMITR_E) - (u64)(uintptr_t)s->aux;
}

static u64 pointer(const struct arm_session *s)
{
	return arm_unit()->spe.ptr - (u64)(uintptr_t)s->aux;
}

static void begin(struct arm_session *s, const char *kernel, u32 max_record, u32 align, u64 pages,
		  u32 watermark, bool linear)
{
	assert_int_equal(spe_start(kernel, max_record, align), 0);
	spe_session(s);
	s->attr.aux_watermark = watermark;
	assert_int_equal(arm_open(s, pages, linear), 0);
	arm_in(s);
}

static void end(struct arm_session *s)
{
	arm_close(s);
	spe_end();
}

/* Section M: B 16384, W 8192, without a reader. I7: the last part of a page is never written. */
static void vector_idle_reader(const char *kernel)
{
	struct arm_session s;

	begin(&s, kernel, 64, 64, 4, 8192, true);
	assert_int_equal(limit(&s), 8192);
	spe_run(&s, 128, 64);
	assert_int_equal(arm.nr_wakeups, 1);
	assert_int_equal(limit(&s), 12288);
	spe_run(&s, 63, 64);
	assert_int_equal(arm.nr_wakeups, 1);
	spe_run(&s, 1, 64);
	assert_false(spe_on());
	assert_int_equal(arm.nr_wakeups, 2); /* the second is the truncation's */
	arm_expect(&s, 0, 0, 8192, 0);
	arm_expect(&s, 1, 8192, 4096, 0);
	arm_expect(&s, 2, 16383, 0, TRUNCATED);
	assert_int_equal(s.nr_records, 3);
	assert_int_equal(arm_aux_head(&s), 16383);
	arm_check_unread(&s); /* I12: 4095 zeros */
	/* D21: the event is off, except on CPU 0 before L1 */
	assert_int_equal(core_event_active(s.event), !!strcmp(kernel, "6.18.44"));
	/* nothing more is stored, whatever the unit produces */
	spe_run(&s, 100, 64);
	assert_int_equal(s.nr_stored, 12288);
	assert_int_equal(s.produced, s.nr_stored + arm_unit()->spe.nr_dropped + s.produced_off);
	/* after a read, it continues at the next multiple of align: I2 */
	arm_set_tail(&s, 16383);
	arm_reenable(&s);
	assert_int_equal(arm_aux_head(&s), 16384);
	assert_int_equal(pointer(&s), 0);
	spe_run(&s, 1, 64);
	arm_out(&s);
	arm_expect(&s, 3, 16384, 64, 0);
	arm_check_unread(&s);
	end(&s);
}

/* I4: rounded up, where PT rounds down. */
static void vector_odd_watermark(const char *kernel)
{
	struct arm_session s;

	begin(&s, kernel, 64, 64, 4, 6000, true);
	assert_int_equal(limit(&s), 8192);
	spe_run(&s, 128, 64);
	assert_int_equal(arm.nr_wakeups, 1);
	assert_int_equal(limit(&s), 12288); /* aux_wakeup is 6000: the next position is 12000 */
	spe_run(&s, 64, 64);
	arm_expect(&s, 0, 0, 8192, 0);
	arm_expect(&s, 1, 8192, 4096, 0);
	arm_expect(&s, 2, 16383, 0, TRUNCATED);
	assert_int_equal(arm.nr_wakeups, 3); /* with the truncation's */
	arm_check_unread(&s);
	end(&s);
}

static void vector_prompt_reader(const char *kernel)
{
	struct arm_session s;

	begin(&s, kernel, 64, 64, 4, 8192, true);
	/* woken within the interrupt, before the next transaction begins: I11 */
	arm.prompt = &s;
	for (int i = 1; i <= 20; i++) {
		assert_int_equal(limit(&s), i % 2 ? 8192 : 16384);
		spe_run(&s, 128, 64);
		arm_expect(&s, (size_t)i - 1, (u64)(i - 1) * 8192, 8192, 0);
		assert_int_equal(arm.nr_wakeups, i);
	}
	assert_int_equal(arm_unit()->spe.nr_dropped, 0);
	end(&s);
}

/* I1: allowed units, and the smallest area. */
static void properties(const char *kernel)
{
	for (u32 align = 1; align <= 4096; align *= 2) {
		assert_int_equal(spe_start(kernel, 2048, align), align > 2048 ? -ENODEV : 0);
		spe_end();
	}
	for (u32 max = 8; max <= 4096; max *= 2) {
		assert_int_equal(spe_start(kernel, max, 1), max < 16 || max > 2048 ? -ENODEV : 0);
		spe_end();
	}
	arm.pmbidr_p = SPE_PMBIDR_P; /* the buffer belongs to a higher exception level */
	assert_int_equal(spe_start(kernel, 64, 64), -ENODEV);
	spe_end();
	for (int linear = 0; linear <= 1; linear++) {
		for (u64 pages = 1; pages <= 4; pages *= 2) {
			struct arm_session s;

			assert_int_equal(spe_start(kernel, 64, 64), 0);
			spe_session(&s);
			assert_int_equal(arm_open(&s, pages, linear),
					 pages < 2 ? -ENOMEM : 0); /* C7 */
			end(&s);
		}
	}
}

/* I2: a buffer that ended after a record whose size is not a multiple of align. */
static void unaligned_head(const char *kernel)
{
	struct arm_session s;

	begin(&s, kernel, 256, 256, 4, 0, true);
	for (int i = 0; i < 8; i++) {
		u64 head = arm_aux_head(&s);

		spe_record(&s, 100);
		arm_out(&s);
		assert_int_equal(arm_aux_head(&s), head + 100);
		arm_in(&s);
		/* padded and published, with no record */
		assert_int_equal(arm_aux_head(&s), head + 256);
		assert_int_equal(pointer(&s), head + 256);
		arm_records(&s);
		assert_int_equal(s.nr_records, i + 1);
	}
	/* between two records of one transaction the unit pads, and the padding counts as trace */
	spe_record(&s, 100);
	spe_record(&s, 100);
	arm_out(&s);
	assert_int_equal(arm_last(&s)->size, 356);
	arm_check_unread(&s);
	end(&s);
}

/* I2: less space than up to the next multiple: all of it is skipped; no transaction. */
static void unaligned_and_full(const char *kernel)
{
	struct arm_session s;

	begin(&s, kernel, 64, 64, 2, 0, true);
	/* no wakeup position is inside: W 4096 is half, limit 4096; then no space is left for a
	 * reader that stays a full wrap back */
	spe_run(&s, 64, 64);
	assert_false(spe_on());
	arm_expect(&s, 0, 0, 4096, 0);
	arm_expect(&s, 1, 8191, 0, TRUNCATED);
	/* one byte is read: head 8191 (unaligned), space 1 */
	arm_set_tail(&s, 1);
	arm_reenable(&s);
	assert_false(spe_on());
	assert_int_equal(arm_aux_head(&s), 8192);
	arm_expect(&s, 2, 8192, 0, TRUNCATED);
	assert_int_equal(s.nr_records, 3);
	arm_check_unread(&s);
	end(&s);
}

/* I2: no byte beyond the free space is overwritten. */
static void unaligned_and_nearly_full(const char *kernel)
{
	struct arm_session s;

	begin(&s, kernel, 256, 256, 2, 0, true);
	spe_record(&s, 100);
	arm_out(&s);
	memset(s.aux + 100, 0xdd, 200);
	arm_set_tail(&s, 100 - (2 * P - 51)); /* 50 bytes are free, 156 to the next multiple */
	arm_in(&s);
	assert_false(spe_on());
	assert_int_equal(arm_aux_head(&s), 150);
	arm_expect(&s, 1, 150, 0, TRUNCATED);
	for (int i = 100; i < 300; i++)
		assert_int_equal(s.aux[i], i < 150 ? 0 : 0xdd);
	end(&s);
}

/* I3: the reader's page is the limit, rounded down; if the tail has wrapped, the end is. */
static void tail_limits(const char *kernel)
{
	struct arm_session s;

	begin(&s, kernel, 64, 64, 8, 1 << 30, true); /* D19: no wakeup inside */
	assert_int_equal(limit(&s), 7 * P);	     /* tail 0: a byte is free, rounded down */
	spe_run(&s, 5 * 64, 64);
	arm_out(&s);
	arm_set_tail(&s, 2 * P + 100);
	arm_in(&s);
	assert_int_equal(limit(&s), 8 * P); /* tail does not matter before the end */
	spe_run(&s, 3 * 64, 64);
	assert_int_equal(pointer(&s), 0);
	assert_int_equal(limit(&s), 2 * P); /* from tail + B - 1 */
	spe_run(&s, 2 * 64, 64);
	assert_false(spe_on());
	assert_int_equal(arm_aux_head(&s), 2 * P + 99 + 8 * P);
	arm_records(&s);
	arm_check_unread(&s);
	end(&s);
}

/* I4: only a wakeup position in the free space, and not before head in the area. */
static void wakeup_outside(const char *kernel)
{
	struct arm_session s;

	begin(&s, kernel, 64, 64, 8, 3 * P, true);
	assert_int_equal(limit(&s), 3 * P);
	spe_run(&s, 3 * 64, 64);
	assert_int_equal(limit(&s), 6 * P);
	spe_run(&s, 3 * 64, 64); /* wakeup 9 P is beyond the reader's 8 P - 1 */
	assert_int_equal(limit(&s), 7 * P);
	arm_out(&s);
	arm_set_tail(&s, 4 * P);
	arm_in(&s);
	/* wakeup 9 P is free now, but its offset P is before head's: the end comes first */
	assert_int_equal(limit(&s), 8 * P);
	spe_run(&s, 2 * 64, 64);
	assert_int_equal(limit(&s), P);
	arm_records(&s);
	arm_check_unread(&s);
	end(&s);
}

/* I6: a limit too near for the largest record is skipped, once. */
static void near_limit(const char *kernel)
{
	struct arm_session s;

	begin(&s, kernel, 2048, 64, 8, 2 * P, true);
	assert_int_equal(limit(&s), 2 * P);
	/* space for just the largest is enough */
	spe_run(&s, 96, 64);
	arm_out(&s);
	arm_in(&s);
	assert_int_equal(pointer(&s), 2 * P - 2048);
	assert_int_equal(limit(&s), 2 * P);
	/* full when the largest would not fit: within 2048 of the limit */
	spe_run(&s, 1, 64);
	arm_expect(&s, 0, 0, 96 * 64, 0);
	arm_expect(&s, 1, 96 * 64, 64, 0);
	assert_int_equal(arm_aux_head(&s), 2 * P); /* padded and skipped */
	assert_int_equal(pointer(&s), 2 * P);
	assert_int_equal(limit(&s), 4 * P);
	/* the same before the end of the area: continues at its start */
	arm_set_tail(&s, arm_aux_head(&s));
	spe_run(&s, 3 * 97, 64);
	assert_int_equal(arm_aux_head(&s), 8 * P);
	assert_int_equal(pointer(&s), 0);
	arm_records(&s);
	arm_check_unread(&s);
	end(&s);
}

/* I6, I5: without space after it, it ends as full. */
static void near_limit_and_full(const char *kernel)
{
	struct arm_session s;

	begin(&s, kernel, 2048, 64, 4, 1 << 30, true);
	assert_int_equal(limit(&s), 3 * P);
	spe_run(&s, (3 * P - 2048) / 64 + 1, 64);
	assert_false(spe_on());
	arm_expect(&s, 0, 0, 3 * P - 2048 + 64, 0);
	arm_expect(&s, 1, 4 * P - 1, 0, TRUNCATED);
	arm_check_unread(&s);
	end(&s);
}

/* I8: half of the area is always left unchanged. */
static void snapshot_halves(const char *kernel)
{
	struct arm_session s;

	begin(&s, kernel, 256, 64, 4, 0, false);
	assert_int_equal(limit(&s), 2 * P);
	spe_run(&s, 10, 64);
	arm_out(&s);
	assert_int_equal(arm_aux_head(&s), 640); /* I9 */
	arm_expect(&s, 0, 640, 640, OVERWRITE);
	arm_in(&s);
	assert_int_equal(pointer(&s), 640);
	assert_int_equal(limit(&s), 2 * P);
	/* 256 before the limit it is full; the second half follows without a record */
	spe_run(&s, 128 - 3 - 10, 64);
	assert_int_equal(pointer(&s), 2 * P);
	assert_int_equal(limit(&s), 4 * P);
	for (u64 at = 2 * P - 192; at < 2 * P; at++)
		assert_int_equal(s.aux[at], 0); /* I12 */
	assert_int_equal(arm_aux_head(&s), 2 * P - 192);
	spe_run(&s, 128 - 3, 64);
	assert_int_equal(pointer(&s), 0);
	assert_int_equal(limit(&s), 2 * P);
	assert_int_equal(arm_aux_head(&s), 4 * P - 192); /* I9: not monotonic */
	spe_run(&s, 1, 64);
	arm_out(&s);
	assert_int_equal(arm_aux_head(&s), 64);
	assert_int_equal(arm.nr_wakeups, 0);
	end(&s);
}

/* I8, I9: head is B if the unit ends exactly there. */
static void snapshot_to_the_end(const char *kernel)
{
	struct arm_session s;

	begin(&s, kernel, 64, 64, 2, 0, false);
	spe_run(&s, 64, 64);
	assert_int_equal(arm_aux_head(&s), P);
	assert_int_equal(pointer(&s), P);
	for (int i = 0; i < 64; i++)
		spe_record(&s, 64);
	arm_out(&s);
	assert_int_equal(arm_aux_head(&s), 2 * P);
	arm_expect(&s, 1, 2 * P, P, OVERWRITE);
	arm_in(&s);
	assert_int_equal(pointer(&s), 0);
	end(&s);
}

/* Not in I8: a snapshot also starts at a multiple of align, or a record would be cut. */
static void snapshot_unaligned(const char *kernel)
{
	struct arm_session s;
	u8 first[100];

	begin(&s, kernel, 256, 256, 2, 0, false);
	spe_record(&s, 100);
	arm_out(&s);
	memcpy(first, s.aux, 100);
	arm_in(&s);
	assert_int_equal(pointer(&s), 256);
	spe_record(&s, 100);
	arm_out(&s);
	assert_memory_equal(s.aux, first, 100);
	for (int i = 100; i < 256; i++)
		assert_int_equal(s.aux[i], 0);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ARM_TEST(vector_idle_reader),
		ARM_TEST(vector_odd_watermark),
		ARM_TEST(vector_prompt_reader),
		ARM_TEST(properties),
		ARM_TEST(unaligned_head),
		ARM_TEST(unaligned_and_full),
		ARM_TEST(unaligned_and_nearly_full),
		ARM_TEST(tail_limits),
		ARM_TEST(wakeup_outside),
		ARM_TEST(near_limit),
		ARM_TEST(near_limit_and_full),
		ARM_TEST(snapshot_halves),
		ARM_TEST(snapshot_to_the_end),
		ARM_TEST(snapshot_unaligned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
