// SPDX-License-Identifier: BSD-2-Clause
/*
 * The search: simulates areas from the smallest on, each with all candidate watermarks for some
 * wraps of the area, up to the first area in which one loses nothing, which long runs confirm.
 */
#include "watermark_advise.h"
#include "watermark_driver.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MIN_TRANSACTIONS 200 /* of a try */
#define WRAPS		 20
/* of the area: smaller watermarks would need too many transactions per wrap */
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

static void add(struct tries *t, uint64_t watermark)
{
	if (t->nr == ADVISE_TRIES || !watermark || watermark > UINT32_MAX)
		return;
	for (unsigned int i = 0; i < t->nr; i++)
		if (t->t[i].watermark == watermark)
			return;
	memset(&t->t[t->nr], 0, sizeof(t->t[0]));
	t->t[t->nr++].watermark = watermark;
}

/* Powers of two of pages, 64ths of the area, and a few at which no unit can interrupt.
 */
static void fill(struct tries *t, const struct advise_ask *ask, uint64_t area)
{
	uint64_t page = ask->c.page_size;

	t->nr = 0;
	if (ask->watermarks) {
		for (size_t i = 0; i < ask->nr_watermarks; i++)
			add(t, ask->watermarks[i] ? ask->watermarks[i] : area / 2);
		return;
	}
	for (uint64_t watermark = page; watermark <= area; watermark *= 2)
		if (watermark >= area / MIN_PART)
			add(t, watermark);
	for (uint64_t k = 1; k <= 64; k++)
		add(t, (area / 64 * k + page - 1) / page * page);
	if (page / 2 >= area / MIN_PART)
		add(t, page / 2);
	if (page + page / 2 >= area / MIN_PART)
		add(t, page + page / 2);
	add(t, area - 1);
}

static uint64_t all_lost(const struct auxtap_watermark_result *r)
{
	uint64_t lost = r->record_lost; /* stored in the area, but no record has its location */

	for (int i = 0; i < AUXTAP_NR_LOSSES; i++)
		lost += r->lost[i];
	return lost;
}

/* No loss, except what an Arm unit loses where it stops; PT stops only for lack of space. */
static bool is_good(const struct advise *a, const struct auxtap_watermark_result *r)
{
	return !r->refused && !r->nr_violations && !r->nr_truncated &&
	       all_lost(r) == (a->arm ? r->lost[AUXTAP_LOSS_STOPPED] : 0);
}

/*
 * Long enough for some wraps and many wakeups. Where the unit cannot interrupt at the watermark, a
 * transaction is a whole wrap, so bytes are limited, too, and simulated time for low rates.
 */
static void set_length(struct auxtap_watermark_config *c, uint64_t watermark)
{
	uint64_t area = c->nr_pages * c->page_size, nr = WRAPS * area / watermark;
	struct advise_sum sum;

	advise_sum(c, watermark, &sum);
	c->max_transactions = nr > MIN_TRANSACTIONS ? nr : MIN_TRANSACTIONS;
	c->max_bytes = 4 * WRAPS * area + MIN_TRANSACTIONS * (sum.asleep + sum.overshoot);
	c->max_ns = 1000000000000000000;
	c->contents = 0;
}

/* All times at their latest. */
static void at_latest(struct auxtap_watermark_config *c)
{
	c->irq_latency_ns += c->irq_jitter_ns;
	c->reader_latency_ns += c->reader_jitter_ns;
	c->irq_jitter_ns = c->reader_jitter_ns = 0;
}

/* One watermark in one area: with the latest times, and once with jitter. */
static int try_one(const struct advise_ask *ask, struct advise *a, uint64_t area, struct tries *t,
		   unsigned int i, char *refusal, struct auxtap_error *err)
{
	struct auxtap_watermark_config c = ask->c;
	struct auxtap_watermark_result r = {.size = sizeof(r)};
	int ret;

	c.nr_pages = area / c.page_size;
	c.watermark = t->t[i].watermark;
	set_length(&c, c.watermark);
	for (int jitters = 0; jitters < 2; jitters++) {
		struct auxtap_watermark_config run = c;

		if (!jitters)
			at_latest(&run);
		ret = auxtap_watermark_run(&run, NULL, NULL, &r, err);
		if (ret)
			return ret;
		if (r.refused) {
			snprintf(refusal, sizeof(a->areas[0].refusal), "%s", r.refusal);
			return 0;
		}
		t->t[i].good = is_good(a, &r);
		if (!jitters || !t->t[i].good) {
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

static int try_area(const struct advise_ask *ask, struct advise *a, uint64_t area, struct tries *t,
		    struct advise_area *sum, struct auxtap_error *err)
{
	*sum = (struct advise_area){.nr_bytes = area, .nr_tried = 0};
	fill(t, ask, area);
	for (unsigned int i = 0; i < t->nr; i++) {
		int ret = try_one(ask, a, area, t, i, sum->refusal, err);

		if (ret)
			return ret;
		if (sum->refusal[0])
			return 0;
		sum->nr_tried++;
		if (!i || loses_less(t, i, 0)) { /* keep the best so far at index 0 */
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

/* PT: the fewest interrupts; for a power of two the threshold is at the watermark (H5). */
static bool is_better(const struct advise *a, const struct tries *t, unsigned int i,
		      unsigned int than)
{
	uint64_t w = t->t[i].watermark, v = t->t[than].watermark;
	bool w_exact = !(w & (w - 1)), v_exact = !(v & (v - 1));

	if (a->arm)
		return loses_less(t, i, than);
	return w_exact != v_exact ? w_exact : w > v;
}

/* Runs the confirming runs. 1: no loss; 0: loss; or negative. */
static int confirm(const struct advise_ask *ask, struct advise *a, uint64_t watermark,
		   struct auxtap_error *err)
{
	uint64_t area = a->c.nr_pages * a->c.page_size;
	int ret, good = 1;

	a->c.watermark = watermark;
	for (unsigned int i = 0; i <= ADVISE_SEEDS && good; i++) {
		struct auxtap_watermark_config *c = &a->runs[i];

		*c = ask->c;
		c->nr_pages = a->c.nr_pages;
		c->watermark = watermark;
		c->max_transactions = ask->nr_transactions;
		c->seed = i;
		if (!i) {
			at_latest(c);
			c->seed = ask->c.seed;
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

/* The best watermark of an area that passes the long runs. 1; 0: none; or negative. */
static int choose(const struct advise_ask *ask, struct advise *a, uint64_t area, struct tries *t,
		  struct advise_area *sum, struct auxtap_error *err)
{
	a->c = ask->c;
	a->c.nr_pages = area / ask->c.page_size;
	for (;;) {
		unsigned int best = t->nr;
		int ret;

		for (unsigned int i = 0; i < t->nr; i++)
			if (t->t[i].good && (best == t->nr || is_better(a, t, i, best)))
				best = i;
		if (best == t->nr)
			return 0;
		ret = confirm(ask, a, t->t[best].watermark, err);
		if (ret)
			return ret;
		t->t[best].good = false; /* it passed only the short runs */
		count_good(t, sum);
	}
}

/* Stock perf has its own watermark: its loss in this area, and the area that it requires. */
static int look_at_perf(const struct advise_ask *ask, struct advise *a, struct auxtap_error *err)
{
	struct advise_ask perf = *ask;
	uint64_t watermark, answer = a->c.nr_pages * a->c.page_size;
	struct advise_area area;
	struct tries t;

	perf.watermarks = &watermark;
	perf.nr_watermarks = 1;
	for (uint64_t bytes = answer; bytes <= ask->max_bytes; bytes *= 2) {
		int ret;

		watermark = advise_perf_watermark(ask->c.driver, bytes);
		ret = try_area(&perf, a, bytes, &t, &area, err);
		if (ret)
			return ret;
		if (bytes == answer)
			a->perf = area;
		if (area.nr_good) {
			a->perf_area = bytes;
			return 0;
		}
	}
	return 0;
}

static int look_at_larger(const struct advise_ask *ask, struct advise *a, struct auxtap_error *err)
{
	uint64_t bytes = a->c.nr_pages * a->c.page_size * 2;
	struct tries t;

	for (; a->nr_larger < ADVISE_LARGER && bytes <= ask->max_bytes; bytes *= 2) {
		int ret = try_area(ask, a, bytes, &t, &a->larger[a->nr_larger++], err);

		if (ret)
			return ret;
	}
	return 0;
}

int advise_find(const struct advise_ask *ask, struct advise *a, struct auxtap_error *err)
{
	uint64_t bytes = ask->c.page_size;
	struct advise_ask one;
	struct tries t;
	uint64_t watermark;
	int ret = 0;

	memset(a, 0, sizeof(*a));
	a->arm = wm_driver(ask->c.driver)->stops;
	a->mean_rate = advise_mean_rate(&ask->c);
	a->hopeless = ask->c.reader_rate && a->mean_rate >= ask->c.reader_rate;
	if (a->hopeless) { /* the largest area with one watermark shows it */
		while (bytes * 2 <= ask->max_bytes)
			bytes *= 2;
		one = *ask;
		watermark = bytes / 4;
		one.watermarks = &watermark;
		one.nr_watermarks = 1;
		ask = &one;
	}
	for (; bytes <= ask->max_bytes && a->nr_areas < ADVISE_AREAS && !a->found; bytes *= 2) {
		struct advise_area *area = &a->areas[a->nr_areas++];

		ret = try_area(ask, a, bytes, &t, area, err);
		if (!ret && area->nr_good && !a->hopeless)
			ret = choose(ask, a, bytes, &t, area, err);
		if (ret < 0)
			return ret;
		a->found = ret;
	}
	if (!a->found)
		return 0;
	advise_sum(&ask->c, a->c.watermark, &a->sum);
	ret = look_at_perf(ask, a, err);
	if (!ret && a->arm && a->results[0].lost[AUXTAP_LOSS_STOPPED])
		ret = look_at_larger(ask, a, err);
	return ret;
}
