// SPDX-License-Identifier: BSD-2-Clause
/*
 * Exhaustive search: from the first state on, everything that can happen next, breadth first, so
 * that what leads to a violation is the shortest way. The real driver, kernel model and unit are
 * run: a state is all of their memory, kept as the words that differ from the first state's.
 * What one action does: actions.c.
 */
#include "explore.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_PARENT UINT32_MAX
#define MAX_RANGES 64

struct image {
	struct core_range ranges[MAX_RANGES];
	size_t nr_ranges, nr_words;
	u64 *root, *now; /* all ranges one behind the other, each padded to words */
};

/* A state that has been seen. Two that have the same 128 bits are taken for one. */
struct seen {
	u64 hash[2];
	u32 parent;
	u8 action;
};

struct word {
	u32 at;
	u32 unused;
	u64 value;
};

/* States that wait for their turn: their differences from the root. */
struct queue {
	struct word *words;
	size_t nr_words, max_words;
	struct {
		u32 state;
		u32 nr;
	} *items;
	size_t nr_items, max_items;
};

struct search {
	struct world *w;
	struct image image;
	struct seen *seen;
	u64 nr_seen, max_seen;
	u32 *table; /* by hash: 1 + index */
	u64 table_mask;
	struct queue queues[2]; /* of the states of one depth, and of the next one */
	unsigned int turn;	/* which of them is the first */
	struct auxtap_explore_result *r;
	u64 max_states;
};

/* ---- images ---- */

static int image_open(struct image *im, struct world *w)
{
	size_t n = explore_ranges(w, im->ranges, MAX_RANGES);

	if (n > MAX_RANGES)
		return -E2BIG;
	im->nr_ranges = n;
	for (size_t i = 0; i < n; i++)
		im->nr_words += (im->ranges[i].size + 7) / 8;
	im->root = calloc(im->nr_words, sizeof(u64));
	im->now = calloc(im->nr_words, sizeof(u64));
	return im->root && im->now ? 0 : -ENOMEM;
}

static void image_take(const struct image *im, u64 *words)
{
	for (size_t i = 0; i < im->nr_ranges; i++) {
		memcpy(words, im->ranges[i].at, im->ranges[i].size);
		words += (im->ranges[i].size + 7) / 8;
	}
}

static void image_put(const struct image *im, const u64 *words)
{
	for (size_t i = 0; i < im->nr_ranges; i++) {
		memcpy(im->ranges[i].at, words, im->ranges[i].size);
		words += (im->ranges[i].size + 7) / 8;
	}
}

/* ---- the queue ---- */

static int queue_room(struct queue *q, size_t nr_words)
{
	if (q->nr_words + nr_words > q->max_words) {
		size_t max = 2 * q->max_words + nr_words + 4096;
		struct word *more = realloc(q->words, max * sizeof(*more));

		if (!more)
			return -ENOMEM;
		q->words = more;
		q->max_words = max;
	}
	if (q->nr_items == q->max_items) {
		size_t max = 2 * q->max_items + 256;
		void *more = realloc(q->items, max * sizeof(*q->items));

		if (!more)
			return -ENOMEM;
		q->items = more;
		q->max_items = max;
	}
	return 0;
}

/* ---- states that were seen ---- */

static u64 mix(u64 hash, u64 value)
{
	hash ^= value;
	hash *= 0xff51afd7ed558ccdull;
	return hash ^ hash >> 32;
}

static int grow_table(struct search *s)
{
	u64 size = s->table_mask ? 2 * (s->table_mask + 1) : 1 << 16;
	u32 *table = calloc(size, sizeof(*table));

	if (!table)
		return -ENOMEM;
	free(s->table);
	s->table = table;
	s->table_mask = size - 1;
	for (u64 i = 0; i < s->nr_seen; i++) {
		u64 at = s->seen[i].hash[0];

		while (table[at & s->table_mask])
			at++;
		table[at & s->table_mask] = (u32)i + 1;
	}
	return 0;
}

/* The current state, if it is new, goes into the next queue. Negative errno. */
static int visit(struct search *s, u32 parent, u8 action)
{
	struct image *im = &s->image;
	struct seen new = {{0x9e3779b97f4a7c15ull, 0xc2b2ae3d27d4eb4full}, parent, action};
	struct queue *q = &s->queues[!s->turn];
	size_t from = q->nr_words;
	u64 at = 0;
	int ret;

	image_take(im, im->now);
	ret = queue_room(q, im->nr_words);
	if (ret)
		return ret;
	for (u32 i = 0; i < im->nr_words; i++) {
		if (im->now[i] == im->root[i])
			continue;
		q->words[q->nr_words].at = i;
		q->words[q->nr_words++].value = im->now[i];
		new.hash[0] = mix(mix(new.hash[0], i), im->now[i]);
		new.hash[1] = mix(mix(new.hash[1], im->now[i]), i + 0x100000000ull);
	}
	for (at = new.hash[0]; s->table[at & s->table_mask]; at++) {
		const struct seen *old = &s->seen[s->table[at & s->table_mask] - 1];

		if (old->hash[0] == new.hash[0] && old->hash[1] == new.hash[1]) {
			q->nr_words = from;
			return 0;
		}
	}
	if (s->nr_seen == s->max_seen) {
		u64 max = 2 * s->max_seen + 4096;
		struct seen *more = realloc(s->seen, max * sizeof(*more));

		if (!more)
			return -ENOMEM;
		s->seen = more;
		s->max_seen = max;
	}
	s->table[at & s->table_mask] = (u32)s->nr_seen + 1;
	q->items[q->nr_items].state = (u32)s->nr_seen;
	q->items[q->nr_items++].nr = (u32)(q->nr_words - from);
	s->seen[s->nr_seen++] = new;
	return 2 * s->nr_seen > s->table_mask ? grow_table(s) : 0;
}

/* ---- the search ---- */

static void tell_path(struct search *s, u32 state, u8 last)
{
	char reversed[sizeof(s->r->path)];
	size_t n = 0;

	reversed[n++] = (char)last;
	while (n < sizeof(reversed) - 1 && s->seen[state].parent != NO_PARENT) {
		reversed[n++] = (char)s->seen[state].action;
		state = s->seen[state].parent;
	}
	for (size_t i = 0; i < n; i++)
		s->r->path[i] = reversed[n - 1 - i];
	s->r->path[n] = '\0';
}

/* One action in the current state. 1: it violates something. */
static int try_action(struct search *s, u32 state, u8 action)
{
	struct auxtap_watermark_result *wr = s->w->r;

	memset(wr, 0, sizeof(*wr));
	explore_act(s->w, action);
	s->r->nr_steps++;
	s->r->nr_watched += action == ACT_WATCH;
	if (wr->nr_findings && !s->r->nr_findings++)
		memcpy(s->r->finding, wr->finding, sizeof(s->r->finding));
	if (wr->nr_violations) {
		s->r->violated = 1;
		s->r->invariant = wr->violations[0].invariant;
		memcpy(s->r->text, wr->violations[0].text, sizeof(s->r->text));
		tell_path(s, state, action);
		return 1;
	}
	explore_normalise(s->w);
	if (explore_beyond(s->w)) {
		s->r->nr_cut++;
		return 0;
	}
	return visit(s, state, action);
}

static void restore(struct search *s, const struct word *words, u32 nr)
{
	struct image *im = &s->image;

	memcpy(im->now, im->root, im->nr_words * sizeof(u64));
	for (u32 i = 0; i < nr; i++)
		im->now[words[i].at] = words[i].value;
	image_put(im, im->now);
}

/* All that can happen in one state. 1: a violation. */
static int expand(struct search *s, u32 state, const struct word *words, u32 nr)
{
	u8 actions[MAX_ACTIONS];
	unsigned int n;
	int ret;

	restore(s, words, nr);
	n = explore_actions(s->w, actions);
	for (unsigned int i = 0; i < n; i++) {
		if (i)
			restore(s, words, nr);
		ret = try_action(s, state, actions[i]);
		if (ret)
			return ret;
	}
	return 0;
}

static int search(struct search *s)
{
	int ret = grow_table(s);

	explore_normalise(s->w);
	image_take(&s->image, s->image.root);
	if (!ret)
		ret = visit(s, NO_PARENT, 0);
	while (!ret && s->queues[!s->turn].nr_items) {
		const struct queue *now = &s->queues[!s->turn];
		struct queue *next = &s->queues[s->turn];
		size_t at = 0;

		s->turn = !s->turn;
		/* what they hold stays the search's: search_free() */
		next->nr_items = next->nr_words = 0; /* NOLINT(clang-analyzer-unix.Malloc) */
		for (size_t i = 0; i < now->nr_items && !ret; i++) {
			ret = expand(s, now->items[i].state, now->words + at, now->items[i].nr);
			at += now->items[i].nr;
			if (!ret && s->nr_seen > s->max_states)
				return 0;
		}
		s->r->depth += next->nr_items != 0;
	}
	s->r->complete = !ret;
	return ret == 1 ? 0 : ret;
}

static void search_free(struct search *s)
{
	if (s->image.nr_words && s->w) { /* as it was at first: it can be taken down in order */
		image_put(&s->image, s->image.root);
		s->w->mon.mute = true;
	}
	free(s->image.root);
	free(s->image.now);
	free(s->seen);
	free(s->table);
	for (int i = 0; i < 2; i++) {
		free(s->queues[i].words);
		free(s->queues[i].items);
	}
}

static int explorable(const struct auxtap_watermark_config *c, struct auxtap_error *err)
{
	if (c->unit && !unit_state(c->unit)) {
		auxtap_error_set(err, -EINVAL, c->unit->name,
				 "states of a trace unit that is not built in cannot be kept");
		auxtap_error_todo(err, "'auxtap watermark sim' runs it");
		return -EINVAL;
	}
	if (c->contents || c->nr_pages > 64) {
		auxtap_error_set(err, -EINVAL, "exhaustive search",
				 "contents, and areas beyond 64 pages, have too many states");
		auxtap_error_todo(err, "'auxtap watermark sim' runs them");
		return -EINVAL;
	}
	return 0;
}

int auxtap_watermark_explore(const struct auxtap_watermark_config *config, uint64_t max_states,
			     struct auxtap_explore_result *result, struct auxtap_error *err)
{
	struct auxtap_error own = AUXTAP_ERROR_INIT;
	struct auxtap_watermark_result wr;
	struct search s = {.r = result, .max_states = max_states};
	int ret = explorable(config, err);

	memset(result, 0, sizeof(*result));
	if (ret)
		return ret;
	s.w = explore_world(config, &wr, err ? err : &own);
	if (!s.w)
		return err ? err->code : own.code;
	if (wr.refused) {
		result->refused = 1;
		memcpy(result->refusal, wr.refusal, sizeof(result->refusal));
		world_free(s.w);
		return 0;
	}
	ret = image_open(&s.image, s.w);
	if (!ret)
		ret = search(&s);
	result->nr_states = s.nr_seen;
	search_free(&s);
	world_free(s.w);
	if (ret)
		auxtap_error_set(err, ret, "exhaustive search", "%s", strerror(-ret));
	return ret;
}

int auxtap_watermark_play(const struct auxtap_watermark_config *config, const char *path,
			  void (*on_event)(void *ctx, const struct auxtap_watermark_event *event),
			  void *ctx, struct auxtap_watermark_result *result,
			  struct auxtap_error *err)
{
	struct auxtap_error own = AUXTAP_ERROR_INIT;
	struct world *w = explore_world(config, result, err ? err : &own);
	int ret = 0;

	if (!w)
		return err ? err->code : own.code;
	w->on_event = on_event;
	w->ctx = ctx;
	for (const char *at = path; *at && !result->refused && !ret; at++) {
		u8 actions[MAX_ACTIONS];
		unsigned int n = explore_actions(w, actions), i;

		for (i = 0; i < n && actions[i] != (u8)*at; i++)
			;
		if (i == n) {
			ret = auxtap_error_set(err, -EINVAL, path,
					       "action %td, '%c', cannot happen there", at - path + 1,
					       *at);
			auxtap_error_todo(err, "a path is what explore has printed, for the same world");
			break;
		}
		w->now++; /* so that events have an order */
		explore_act(w, (u8)*at);
	}
	w->on_event = NULL;
	w->mon.mute = true;
	world_free(w);
	return ret;
}
