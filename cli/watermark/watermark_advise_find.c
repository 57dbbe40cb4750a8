// SPDX-License-Identifier: BSD-2-Clause
/*
 * Searches by simulation: runs areas from the smallest on, each with all candidate watermarks for
 * some wraps, up to the first area in which a watermark loses nothing; long runs confirm it.
 */
#include "watermark_advise.h"
#include "watermark_driver.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MIN_TRANSACTIONS 200 /* of a short run */
#define WRAPS		 20
/* Watermarks below this part of the area would need too many transactions per wrap. */
#define MIN_PART      8192
#define CONTENT_BYTES (128ull << 20) /* length of the run that compares every byte */
#define CONTENT_AREA  (64ull << 20)  /* the simulator's limit for that */

struct tries {
	struct {
		uint64_t watermark, lost, produced, stopped;
		bool good;
	} t[ADVISE_TRIES];
	unsigned int nr;
};

static void add_watermark(struct tries *t, uint64_t watermark)
{
	if (t->nr == ADVISE_TRIES || !watermark || watermark > UINT32_MAX)
		return;
	for (unsigned int i = 0; i < t->nr; i++)
		if (t->t[i].watermark == watermark)
			return;
	memset(&t->t[t->nr], 0, sizeof(t->t[0]));
	t->t[t->nr++].watermark = watermark;
}

/* Candidates: powers of two of pages, 64ths of the area, and some that are not multiples of a page.
 */
static void add_candidates(struct tries *t, const struct advise_request *request, uint64_t area)
{
	uint64_t page = request->c.page_size;

	t->nr = 0;
	if (request->watermarks) {
		for (size_t i = 0; i < request->nr_watermarks; i++)
			add_watermark(t,
				      request->watermarks[i] ? request->watermarks[i] : area / 2);
		return;
	}
	for (uint64_t watermark = page; watermark <= area; watermark *= 2)
		if (watermark >= area / MIN_PART)
			add_watermark(t, watermark);
	for (uint64_t k = 1; k <= 64; k++)
		add_watermark(t, (area / 64 * k + page - 1) / page * page);
	if (page / 2 >= area / MIN_PART)
		add_watermark(t, page / 2);
	if (page + page / 2 >= area / MIN_PART)
		add_watermark(t, page + page / 2);
	add_watermark(t, area - 1);
}

static uint64_t all_lost(const struct auxtap_watermark_result *r)
{
	uint64_t lost = r->record_lost; /* stored in the area, but no record reports its offset */

	for (int i = 0; i < AUXTAP_NR_LOSSES; i++)
		lost += r->lost[i];
	return lost;
}

/* Is there no loss, except where an Arm unit stops? PT stops only for lack of space. */
static bool is_good(const struct advise *a, const struct auxtap_watermark_result *r)
{
	return !r->refused && !r->nr_violations && !r->nr_truncated &&
	       all_lost(r) == (a->arm ? r->lost[AUXTAP_LOSS_STOPPED] : 0);
}

/*
 * Makes a run long enough for some wraps and many wakeups. If the unit cannot interrupt at the
 * watermark, a transaction is a whole wrap, so bytes are limited, too, and so is simulated time.
 */
static void set_length(struct auxtap_watermark_config *c, uint64_t watermark)
{
	uint64_t area = c->nr_pages * c->page_size, nr = WRAPS * area / watermark;
	struct advise_need sum;

	advise_compute_need(c, watermark, &sum);
	c->max_transactions = nr > MIN_TRANSACTIONS ? nr : MIN_TRANSACTIONS;
	c->max_bytes = 4 * WRAPS * area + MIN_TRANSACTIONS * (sum.while_asleep + sum.overshoot);
	c->max_ns = 1000000000000000000;
	c->contents = 0;
}

/* Sets all latencies to their maximum. */
static void set_max_latencies(struct auxtap_watermark_config *c)
{
	c->irq_latency_ns += c->irq_jitter_ns;
	c->reader_latency_ns += c->reader_jitter_ns;
	c->irq_jitter_ns = c->reader_jitter_ns = 0;
}

/* Runs one watermark in one area: with maximum latencies, and once with jitter. */
static int try_one(const struct advise_request *request, struct advise *a, uint64_t area,
		   struct tries *t, unsigned int i, char *refusal, struct auxtap_error *err)
{
	struct auxtap_watermark_config c = request->c;
	struct auxtap_watermark_result r = {.size = sizeof(r)};
	int ret;

	c.nr_pages = area / c.page_size;
	c.watermark = t->t[i].watermark;
	set_length(&c, c.watermark);
	for (int jitter = 0; jitter < 2; jitter++) {
		struct auxtap_watermark_config run = c;

		if (!jitter)
			set_max_latencies(&run);
		ret = auxtap_watermark_run(&run, NULL, NULL, &r, err);
		if (ret)
			return ret;
		if (r.refused) {
			snprintf(refusal, sizeof(a->areas[0].refusal), "%s", r.refusal);
			return 0;
		}
		t->t[i].good = is_good(a, &r);
		if (!jitter || !t->t[i].good) {
			t->t[i].lost = all_lost(&r);
			t->t[i].stopped = r.lost[AUXTAP_LOSS_STOPPED];
			t->t[i].produced = r.produced;
		}
		if (!t->t[i].good)
			break;
	}
	return 0;
}

static bool loses_less(const struct tries *t, unsigned int i, unsigned int than)
{
	unsigned __int128 one = (unsigned __int128)t->t[i].lost * t->t[than].produced;
	unsigned __int128 other = (unsigned __int128)t->t[than].lost * t->t[i].produced;

	return one < other || (one == other && t->t[i].watermark > t->t[than].watermark);
}

static void count_good(const struct tries *t, struct advise_area *sum)
{
	sum->nr_good = 0;
	for (unsigned int i = 0; i < t->nr; i++) {
		uint64_t watermark = t->t[i].watermark;

		if (!t->t[i].good)
			continue;
		if (!sum->nr_good || watermark < sum->good_min)
			sum->good_min = watermark;
		if (!sum->nr_good || watermark > sum->good_max)
			sum->good_max = watermark;
		sum->nr_good++;
	}
}

static int try_area(const struct advise_request *request, struct advise *a, uint64_t area,
		    struct tries *t, struct advise_area *sum, struct auxtap_error *err)
{
	*sum = (struct advise_area){.nr_bytes = area, .nr_tried = 0};
	add_candidates(t, request, area);
	for (unsigned int i = 0; i < t->nr; i++) {
		int ret = try_one(request, a, area, t, i, sum->refusal, err);

		if (ret)
			return ret;
		if (sum->refusal[0])
			return 0;
		sum->nr_tried++;
		if (!i || loses_less(t, i, 0)) { /* keep the best one at index 0 */
			__typeof__(t->t[0]) best = t->t[i];

			t->t[i] = t->t[0];
			t->t[0] = best;
		}
	}
	if (!t->nr)
		return 0;
	count_good(t, sum);
	sum->best = t->t[0].watermark;
	sum->lost = t->t[0].lost;
	sum->produced = t->t[0].produced;
	sum->stopped = t->t[0].stopped;
	return 0;
}

/* PT: fewest interrupts; for powers of two the threshold is exactly at the watermark (H5). */
static bool is_better(const struct advise *a, const struct tries *t, unsigned int i,
		      unsigned int than)
{
	uint64_t w = t->t[i].watermark, v = t->t[than].watermark;
	bool w_exact = !(w & (w - 1)), v_exact = !(v & (v - 1));

	if (a->arm)
		return loses_less(t, i, than);
	return w_exact != v_exact ? w_exact : w > v;
}

/* Runs the confirming runs. Returns 1: no loss; 0: loss; or a negative errno. */
static int confirm(const struct advise_request *request, struct advise *a, uint64_t watermark,
		   struct auxtap_error *err)
{
	uint64_t area = a->c.nr_pages * a->c.page_size;
	int ret, good = 1;

	a->c.watermark = watermark;
	for (unsigned int i = 0; i <= ADVISE_SEEDS && good; i++) {
		struct auxtap_watermark_config *c = &a->runs[i];

		*c = request->c;
		c->nr_pages = a->c.nr_pages;
		c->watermark = watermark;
		c->max_transactions = request->nr_transactions;
		c->seed = i;
		if (!i) {
			set_max_latencies(c);
			c->seed = request->c.seed;
			a->c = *c;
			c->contents = area <= CONTENT_AREA;
			if (c->contents && c->max_transactions > CONTENT_BYTES / watermark)
				c->max_transactions = CONTENT_BYTES / watermark + 1;
		}
		a->results[i].size = sizeof(a->results[i]);
		ret = auxtap_watermark_run(c, NULL, NULL, &a->results[i], err);
		if (ret)
			return ret;
		good = is_good(a, &a->results[i]);
	}
	return good;
}

/* Finds the best watermark that passes the long runs: 1; 0: none passes; or negative. */
static int choose_watermark(const struct advise_request *request, struct advise *a, uint64_t area,
			    struct tries *t, struct advise_area *sum, struct auxtap_error *err)
{
	a->c = request->c;
	a->c.nr_pages = area / request->c.page_size;
	for (;;) {
		unsigned int best = t->nr;
		int ret;

		for (unsigned int i = 0; i < t->nr; i++)
			if (t->t[i].good && (best == t->nr || is_better(a, t, i, best)))
				best = i;
		if (best == t->nr)
			return 0;
		ret = confirm(request, a, t->t[best].watermark, err);
		if (ret)
			return ret;
		t->t[best].good = false; /* it passed the short runs only */
		count_good(t, sum);
	}
}

/* Computes stock perf's loss in this area, with its watermark, and the area that it requires. */
static int try_perf(const struct advise_request *request, struct advise *a,
		    struct auxtap_error *err)
{
	struct advise_request perf = *request;
	uint64_t watermark, result = a->c.nr_pages * a->c.page_size;
	struct advise_area area;
	struct tries t;

	perf.watermarks = &watermark;
	perf.nr_watermarks = 1;
	for (uint64_t bytes = result; bytes <= request->max_bytes; bytes *= 2) {
		int ret;

		watermark = advise_perf_watermark(request->c.driver, bytes);
		ret = try_area(&perf, a, bytes, &t, &area, err);
		if (ret)
			return ret;
		if (bytes == result)
			a->perf = area;
		if (area.nr_good) {
			a->perf_area = bytes;
			return 0;
		}
	}
	return 0;
}

static int try_larger(const struct advise_request *request, struct advise *a,
		      struct auxtap_error *err)
{
	uint64_t bytes = a->c.nr_pages * a->c.page_size * 2;
	struct tries t;

	for (; a->nr_larger < ADVISE_LARGER && bytes <= request->max_bytes; bytes *= 2) {
		int ret = try_area(request, a, bytes, &t, &a->larger[a->nr_larger++], err);

		if (ret)
			return ret;
	}
	return 0;
}

int advise_find(const struct advise_request *request, struct advise *a, struct auxtap_error *err)
{
	uint64_t bytes = request->c.page_size;
	struct advise_request one;
	struct tries t;
	uint64_t watermark;
	int ret = 0;

	memset(a, 0, sizeof(*a));
	a->arm = wm_driver(request->c.driver)->stops;
	a->mean_rate = advise_mean_rate(&request->c);
	a->reader_too_slow = request->c.reader_rate && a->mean_rate >= request->c.reader_rate;
	if (a->reader_too_slow) { /* simulate only the largest area with one watermark */
		while (bytes * 2 <= request->max_bytes)
			bytes *= 2;
		one = *request;
		watermark = bytes / 4;
		one.watermarks = &watermark;
		one.nr_watermarks = 1;
		request = &one;
	}
	for (; bytes <= request->max_bytes && a->nr_areas < ADVISE_AREAS && !a->found; bytes *= 2) {
		struct advise_area *area = &a->areas[a->nr_areas++];

		ret = try_area(request, a, bytes, &t, area, err);
		if (!ret && area->nr_good && !a->reader_too_slow)
			ret = choose_watermark(request, a, bytes, &t, area, err);
		if (ret < 0)
			return ret;
		a->found = ret;
	}
	if (!a->found)
		return 0;
	advise_compute_need(&request->c, a->c.watermark, &a->sum);
	ret = try_perf(request, a, err);
	if (!ret && a->arm && a->results[0].lost[AUXTAP_LOSS_STOPPED])
		ret = try_larger(request, a, err);
	return ret;
}
