// SPDX-License-Identifier: BSD-2-Clause
/*
 * Runs without a fault: what the result counts, recomputed from the events; every kernel; what
 * limits change; the standard sweep's configurations.
 */
#include "support_run.h"

#include <linux/perf_event.h>
#include <stdlib.h>

#define SUM(what, field) run_sum(&events, AUXTAP_WM_##what, field)
#define COUNT(what)	 run_count(&events, AUXTAP_WM_##what)

/* The order of events: transactions do not overlap, positions and time only grow. */
static void check_order(const struct run_events *events, const struct auxtap_watermark_result *r)
{
	uint64_t time = 0, head = 0, tail = 0, lag = 0;
	bool open = false;

	for (size_t i = 0; i < events->nr; i++) {
		const struct auxtap_watermark_event *e = &events->list[i];

		assert_true(e->time_ns >= time || e->what == AUXTAP_WM_THRESHOLD_HIT);
		time = e->time_ns;
		switch (e->what) {
		case AUXTAP_WM_BEGIN:
			assert_false(open);
			assert_int_equal(e->a, head);
			open = true;
			break;
		case AUXTAP_WM_SKIP:
			head += e->b;
			break;
		case AUXTAP_WM_END:
			assert_true(open);
			assert_int_equal(e->a, head);
			head += e->b;
			lag = head - tail > lag ? head - tail : lag;
			open = false;
			break;
		case AUXTAP_WM_READ:
			assert_true(e->a >= tail && e->a <= head);
			assert_int_equal(e->a - e->b, tail);
			tail = e->a;
			break;
		default:
			break;
		}
	}
	assert_false(open);
	assert_int_equal(r->max_lag, lag);
}

static void check_sums(const struct run_events *all, const struct auxtap_watermark_result *r)
{
	struct run_events events = *all;
	uint64_t lost = 0, flagged = 0;

	for (int i = 0; i < AUXTAP_NR_LOSSES; i++)
		lost += r->lost[i];
	assert_int_equal(r->produced, r->stored + lost);
	assert_int_equal(SUM(LOSS, 0), lost);
	assert_int_equal(SUM(RECORD, 1), r->recorded);
	assert_int_equal(SUM(SKIP, 1), r->skipped);
	assert_int_equal(SUM(RECORD_LOST, 1), r->record_lost);
	assert_int_equal(r->head, r->recorded + r->skipped + r->record_lost);
	assert_int_equal(COUNT(END), r->nr_transactions);
	assert_int_equal(COUNT(BEGIN), r->nr_transactions);
	assert_int_equal(COUNT(RECORD), r->nr_records);
	assert_int_equal(COUNT(IRQ), r->nr_interrupts);
	assert_int_equal(COUNT(WAKEUP), r->nr_wakeups);
	assert_int_equal(COUNT(REFUSED), r->nr_refused);
	assert_int_equal(COUNT(REENABLE), r->nr_reenabled);
	assert_int_equal(COUNT(READ), r->nr_reads);
	assert_int_equal(COUNT(VIOLATION), r->nr_violations);
	assert_int_equal(COUNT(FINDING), r->nr_findings);
	for (size_t i = 0; i < events.nr; i++)
		flagged += events.list[i].what == AUXTAP_WM_END &&
			   events.list[i].c & PERF_AUX_FLAG_TRUNCATED;
	assert_int_equal(flagged, r->nr_truncated);
}

/* The largest overshoot is in the last bucket that is not empty. */
static void check_overshoots(const struct auxtap_watermark_result *r)
{
	unsigned int last = 0;
	uint64_t nr = 0;

	for (unsigned int i = 0; i < AUXTAP_OVERSHOOT_BUCKETS; i++) {
		nr += r->overshoots[i];
		if (r->overshoots[i])
			last = i;
	}
	assert_true(nr <= r->nr_interrupts);
	if (nr)
		assert_in_range(r->overshoot_max, auxtap_overshoot_bucket_from(last),
				auxtap_overshoot_bucket_from(last + 1) - 1);
	else
		assert_int_equal(r->overshoot_max, 0);
}

static void check_run(const struct auxtap_watermark_config *c, struct auxtap_watermark_result *r)
{
	struct run_events events = {0};

	run_sim(c, &events, r);
	run_assert_clean(c, r);
	if (!c->snapshot) {
		check_order(&events, r);
		check_sums(&events, r);
	}
	/* no byte is there before its time */
	if (!c->rates && !c->pause_ns)
		assert_true((unsigned __int128)r->time_ns * c->rate >=
			    (unsigned __int128)r->produced * 1000000000);
	check_overshoots(r);
	run_free(&events);
}

static void test_sums(void **state)
{
	(void)state;
	for (const char *const *driver = run_drivers; *driver; driver++) {
		struct auxtap_watermark_config c = run_config(*driver);
		struct auxtap_watermark_result r = {.size = sizeof(r)};

		c.contents = 1;
		check_run(&c, &r);
		assert_true(r.nr_interrupts > 5 && r.nr_wakeups > 5 && r.recorded > 500000);
		c.reader_latency_ns = 3000000; /* the area runs full */
		check_run(&c, &r);
		assert_true(r.nr_truncated && r.lost[AUXTAP_LOSS_NO_SPACE]);
		c.switch_ns = 70000;
		check_run(&c, &r);
		c.reader_rate = 50000000;
		c.read_bytes = 5000;
		check_run(&c, &r);
		c.burst_ns = 100000;
		c.pause_ns = 400000;
		check_run(&c, &r);
		c.setup.irq_delay_bytes = 3000;
		c.watermark = 3 * c.page_size;
		check_run(&c, &r);
	}
}

static void test_kernels(void **state)
{
	const char *kernel;

	(void)state;
	for (unsigned int i = 0; (kernel = auxtap_watermark_kernel(i)); i++)
		for (const char *const *driver = run_drivers; *driver; driver++)
			for (int cpu = 0; cpu < 2; cpu++) {
				struct auxtap_watermark_config c = run_config(*driver);
				struct auxtap_watermark_result r = {.size = sizeof(r)};

				c.kernel = kernel;
				c.cpu = cpu;
				c.reader_latency_ns = 3000000;
				check_run(&c, &r);
				/* D21: 6.1 never disables a truncated event on CPU 0 */
				if (!i)
					assert_int_equal(r.nr_findings > 0, !cpu);
			}
}

/*
 * The event goes on for a while after its reader has slept (D21), so that the first check finds
 * progress: only a second one enables it again.
 */
static void test_stall_checks(void **state)
{
	struct auxtap_watermark_config c = run_config("trbe");
	struct auxtap_watermark_result r = {.size = sizeof(r)};

	(void)state;
	c.kernel = "6.18.44";
	c.cpu = 1;
	c.data_pages = 1;
	c.reader_latency_ns = 900000;
	c.irq_latency_ns = 1500000;
	c.reader_rate = 0;
	c.read_bytes = 4096;
	c.switch_ns = 1300000;
	c.max_bytes = 0;
	c.max_ns = 40000000;
	check_run(&c, &r);
	assert_true(r.nr_reenabled > 2);
}

/* A small data ring loses records, and says how many bytes they covered. */
static void test_lost_records(void **state)
{
	struct auxtap_watermark_config c = run_config("intel_pt");
	struct auxtap_watermark_result r = {.size = sizeof(r)};

	(void)state;
	c.data_pages = 1;
	c.switch_ns = 2000;
	c.reader_latency_ns = 100000000;
	c.max_bytes = 60000;
	check_run(&c, &r);
	assert_true(r.record_lost > 0 && r.unreported == 0);
}

static void test_overwrite(void **state)
{
	(void)state;
	for (const char *const *driver = run_drivers; *driver; driver++) {
		struct auxtap_watermark_config c = run_config(*driver);
		struct auxtap_watermark_result r = {.size = sizeof(r)};

		c.snapshot = 1;
		c.contents = 1;
		c.switch_ns = 300000;
		check_run(&c, &r);
		assert_int_equal(r.nr_wakeups, 0);
		assert_true(r.nr_transactions > 10);
	}
}

/* The registers, as the driver reads them at an interrupt: the pointer, and that it has stopped. */
struct status {
	uint64_t area;
	bool irq;
	const char *stopped;
	unsigned int nr, nr_stopped;
};

static void check_status(void *ctx, const struct auxtap_watermark_event *e)
{
	static uint64_t pos;
	struct status *s = ctx;

	if (s->irq && e->what == AUXTAP_WM_STATUS) {
		bool stopped = s->stopped && strstr(e->text, s->stopped);

		s->nr++;
		s->nr_stopped += stopped;
		/* J1: a TRBE that has wrapped is at its base again, which is the area's */
		if (!stopped || strcmp(s->stopped, "WRAP") != 0)
			assert_int_equal(e->b % s->area, pos % s->area);
		else
			assert_int_equal(e->b, 0);
	}
	s->irq = e->what == AUXTAP_WM_IRQ;
	pos = e->a;
}

static void test_status(void **state)
{
	static const char *const stopped[] = {"Stopped", "S", "WRAP"};

	(void)state;
	for (int i = 0; run_drivers[i]; i++) {
		struct auxtap_watermark_config c = run_config(run_drivers[i]);
		struct status s = {c.nr_pages * c.page_size, false, stopped[i], 0, 0};
		struct auxtap_watermark_result r = {.size = sizeof(r)};

		c.reader_latency_ns = 3000000;
		assert_int_equal(auxtap_watermark_run(&c, check_status, &s, &r, NULL), 0);
		assert_int_equal(s.nr, r.nr_interrupts);
		assert_true(s.nr_stopped > 0);
	}
}

/* From the last wakeup on the reader copies at its rate. */
static void test_reader_rate(void **state)
{
	struct auxtap_watermark_config c = run_config("intel_pt");
	struct run_events events = {0};
	struct auxtap_watermark_result r = {.size = sizeof(r)};
	uint64_t woken = 0, nr = 0;

	(void)state;
	c.rate = 10000000;
	c.reader_rate = 20000000;
	c.watermark = 4 * c.page_size;
	run_sim(&c, &events, &r);
	run_assert_clean(&c, &r);
	for (size_t i = 0; i < events.nr; i++) {
		const struct auxtap_watermark_event *e = &events.list[i];

		if (e->what == AUXTAP_WM_WAKEUP)
			woken = e->time_ns;
		if (e->what != AUXTAP_WM_READ || e->b < c.watermark)
			continue;
		assert_true(e->time_ns - woken >= 50 * e->b); /* ns a byte */
		nr++;
	}
	assert_true(nr > 50);
	run_free(&events);
}

/* The interval is kept, and so is the rate, to the nanosecond. */
static void test_times(void **state)
{
	struct auxtap_watermark_config c = run_config("intel_pt");
	struct run_events events = {0};
	struct auxtap_watermark_result r = {.size = sizeof(r)};

	(void)state;
	c.switch_ns = 70000;
	run_sim(&c, &events, &r);
	assert_in_range(COUNT(SWITCH), 2 * (r.time_ns / c.switch_ns),
			2 * (r.time_ns / c.switch_ns) + 4);
	run_free(&events);
	c = run_config("intel_pt");
	c.snapshot = 1;
	c.rate = 300000000;
	for (c.max_bytes = 100; c.max_bytes < 200; c.max_bytes += 16)
		check_run(&c, &r);
}

/* An area that is padded out each time: nothing goes on, and that is said in each way (J2). */
static void test_no_progress(void **state)
{
	static const char *const texts[] = {"want of space", "8 times in a row", "not traced for",
					    "none of"};
	struct auxtap_watermark_config c = run_config("trbe");
	struct auxtap_watermark_result r = {.size = sizeof(r)};

	(void)state;
	c.setup.errata = AUXTAP_ERRATUM_BEYOND;
	c.watermark = 64;
	run_sim(&c, NULL, &r);
	assert_int_equal(r.nr_violations, 4);
	assert_int_equal(r.by_invariant[AUXTAP_INV_PROGRESS], 4);
	for (int i = 0; i < 4; i++)
		assert_non_null(strstr(r.violations[i].text, texts[i]));
	/* a reader that is too slow for the area explains the first */
	c.reader_latency_ns = 10000000;
	run_sim(&c, NULL, &r);
	assert_null(strstr(r.violations[0].text, texts[0]));
}

/* PT interrupts at the page before the watermark, the others stop at the page after it. */
static void test_thresholds(void **state)
{
	(void)state;
	for (const char *const *driver = run_drivers; *driver; driver++) {
		bool pt = !strcmp(*driver, "intel_pt");
		struct auxtap_watermark_config c = run_config(*driver);
		struct auxtap_watermark_result r = {.size = sizeof(r)};

		c.reader_latency_ns = c.reader_jitter_ns = 0;
		c.watermark = 2 * c.page_size;
		check_run(&c, &r);
		assert_int_equal(r.threshold_min, 0);
		assert_int_equal(r.threshold_max, 0);
		c.watermark = 6000;
		check_run(&c, &r);
		/* H5: PT has only the end of the ring; the others round up to a page, or stop there
		 */
		if (pt)
			assert_true(r.threshold_min >= (int64_t)c.page_size);
		else
			assert_true(r.threshold_max > 0 && r.threshold_max < (int64_t)c.page_size);
		assert_true(r.threshold_min > -(int64_t)c.page_size);
		assert_true(r.nr_thresholds > 10);
	}
}

static void assert_same(const struct auxtap_watermark_config *c, const struct run_events *events,
			bool same)
{
	struct run_events again = {0};
	struct auxtap_watermark_result r = {.size = sizeof(r)};

	run_sim(c, &again, &r);
	assert_int_equal(again.nr == events->nr &&
				 !memcmp(again.list, events->list, again.nr * sizeof(*again.list)),
			 same);
	run_free(&again);
}

/* The same seed gives the same events, another one others. */
static void test_seeds(void **state)
{
	(void)state;
	for (const char *const *driver = run_drivers; *driver; driver++) {
		struct auxtap_watermark_config c = run_config(*driver);
		struct run_events events = {0};
		struct auxtap_watermark_result r = {.size = sizeof(r)};

		run_sim(&c, &events, &r);
		assert_same(&c, &events, true);
		c.seed++;
		assert_same(&c, &events, false);
		run_free(&events);
	}
}

/* H5, C5: PT interrupts where a region of its tables ends, and a region is one allocation. */
static void test_allocations(void **state)
{
	static const uint64_t sizes[] = {1, 2, 4, 0};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct auxtap_watermark_config c = run_config("intel_pt");
		struct auxtap_watermark_result r = {.size = sizeof(r)};
		uint64_t region = (sizes[i] ? sizes[i] : 8) * 4096; /* any: half of the area */
		unsigned int nr = 0, nr_odd = 0;
		struct run_events events = {0};

		c.max_alloc_pages = sizes[i];
		run_sim(&c, &events, &r);
		for (size_t n = 0; n < events.nr; n++) {
			const struct auxtap_watermark_event *e = &events.list[n];

			if (e->what != AUXTAP_WM_THRESHOLDS || e->a == UINT64_MAX)
				continue;
			assert_int_equal(e->a % region, 0);
			nr_odd += e->a % (2 * region) != 0;
			nr++;
		}
		assert_true(nr > 10 && nr_odd > 0);
		run_free(&events);
	}
}

/* ---- the standard sweep ---- */

static void test_sweep_configs(void **state)
{
	const struct auxtap_sweep_machine *machine;
	unsigned int nr = 0;

	(void)state;
	for (; (machine = auxtap_watermark_get_machine(nr)); nr++)
		for (unsigned int area = 0; area < AUXTAP_SWEEP_AREAS; area++) {
			uint64_t page = machine->page_size;
			uint64_t seen[AUXTAP_SWEEP_WATERMARKS];

			for (unsigned int w = 0; w < AUXTAP_SWEEP_WATERMARKS; w++) {
				struct auxtap_watermark_config c = {.size = sizeof(c)};

				auxtap_watermark_sweep_config(&c, machine->driver, page, area, w,
							      0);
				assert_int_equal(c.nr_pages, 2ull << area);
				assert_int_equal(c.seed, 1 + 64 * area + w); /* each its own */
				assert_int_equal(c.page_size, page);
				assert_true(c.watermark <= UINT32_MAX);
				for (unsigned int k = 0; k < w; k++)
					assert_int_not_equal(seen[k], c.watermark);
				seen[w] = c.watermark;
			}
			assert_int_equal(machine->size, sizeof(*machine));
		}
	assert_int_equal(nr, 7);
}

static void test_sweep_readers(void **state)
{
	struct auxtap_watermark_config c = {.size = sizeof(c)};
	uint64_t fill_ns;

	(void)state;
	auxtap_watermark_sweep_config(&c, "arm_spe", 4096, 3, 5, 0);
	assert_int_equal(c.reader_latency_ns, 0);
	fill_ns = c.nr_pages * c.page_size; /* at a byte a nanosecond */
	auxtap_watermark_sweep_config(&c, "arm_spe", 4096, 3, 5, 1);
	assert_int_equal(c.reader_latency_ns, fill_ns / 8);
	auxtap_watermark_sweep_config(&c, "arm_spe", 4096, 3, 5, 2);
	assert_int_equal(c.reader_latency_ns, fill_ns / 2);
	auxtap_watermark_sweep_config(&c, "arm_spe", 4096, 3, 5, 3);
	assert_int_equal(c.reader_latency_ns, 2 * fill_ns);
	assert_int_equal(c.setup.irq_delay_bytes, 0);
	/* indices past the end start again */
	auxtap_watermark_sweep_config(&c, "intel_pt", 4096, AUXTAP_SWEEP_AREAS,
				      AUXTAP_SWEEP_WATERMARKS, AUXTAP_SWEEP_READERS);
	assert_int_equal(c.nr_pages, 2);
	assert_int_equal(c.watermark, 0);
	assert_int_equal(c.reader_latency_ns, 0);
	assert_int_equal(c.setup.irq_delay_bytes, 64); /* an interrupt of PT does not stop it */
}

/* A part of it: the small areas, each seventh watermark. */
static void test_sweep_runs(void **state)
{
	const struct auxtap_sweep_machine *machine;

	(void)state;
	for (size_t m = 0; (machine = auxtap_watermark_get_machine(m)); m++)
		for (unsigned int area = 0; area < 4; area++)
			for (unsigned int w = area; w < AUXTAP_SWEEP_WATERMARKS; w += 7) {
				struct auxtap_watermark_config c = {.size = sizeof(c)};
				struct auxtap_watermark_result r = {.size = sizeof(r)};

				auxtap_watermark_sweep_config(&c, machine->driver,
							      machine->page_size, area, w, w);
				check_run(&c, &r);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),	      cmocka_unit_test(test_kernels),
		cmocka_unit_test(test_stall_checks),  cmocka_unit_test(test_lost_records),
		cmocka_unit_test(test_overwrite),     cmocka_unit_test(test_status),
		cmocka_unit_test(test_reader_rate),   cmocka_unit_test(test_times),
		cmocka_unit_test(test_no_progress),   cmocka_unit_test(test_thresholds),
		cmocka_unit_test(test_seeds),	      cmocka_unit_test(test_allocations),
		cmocka_unit_test(test_sweep_configs), cmocka_unit_test(test_sweep_readers),
		cmocka_unit_test(test_sweep_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
