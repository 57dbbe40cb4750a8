// SPDX-License-Identifier: BSD-2-Clause
/*
 * Exhaustive search: tries every possible action in every state, breadth first, so the path to a
 * violation is the shortest one. It runs the real driver, kernel model and unit: a state is all of
 * their memory, stored as the words that differ from the first state, the root. actions.c performs
 * one action.
 */
#include "explore.h"
#include "util/sized.h"
#include "util/vector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NO_PARENT   UINT32_MAX
#define MAX_RANGES  64
#define TABLE_ALIGN (2ul << 20)
#define BLOCK	    64
#define BLOCK_WORDS (BLOCK / 8)

/* A word that differs: its index in an image, its value. */
struct word {
	u32 at;
	u32 unused;
	u64 value;
};

/*
 * All memory that belongs to a state, in blocks. Most of it never changes: a block that has changed
 * once is hot from then on; the cold ones are compared in long runs, after each step.
 */
struct image {
	struct block {
		u8 *at;
		u32 size; /* the last one of a range may be shorter */
		bool hot;
	} * blocks;
	size_t nr_blocks;
	u32 *hot; /* indices of the hot blocks, ascending */
	size_t nr_hot;
	struct run {
		u32 first;
		size_t size;
	} * cold;
	size_t nr_cold;
	u64 *root, *now; /* BLOCK_WORDS per block; now: the state whose actions are tried */
	/* how the state after the last step differs from now */
	u32 *changed_blocks;
	size_t nr_changed_blocks;
	struct word *changed;
	size_t nr_changed;
};

/* How a state was reached. */
struct seen {
	u32 parent;
	u8 action;
};

/* Two states with the same 128 bits count as one; 0, 0: an empty slot. */
struct hash {
	u64 bits[2];
};

/* States to be searched: their differences from the root. */
struct queue {
	struct word *words;
	size_t nr_words, max_words;
	struct item {
		struct hash hash;
		u32 state;
		u32 nr;
	} * items;
	size_t nr_items, max_items;
};

struct search {
	struct sim *sim;
	struct image image;
	struct seen *seen;
	u64 nr_seen, max_seen;
	struct hash *table;
	u64 table_size;
	struct queue queues[2]; /* the states of this depth and of the next one */
	unsigned int current;	/* index of the queue of this depth */
	struct auxtap_explore_result *r;
	u64 max_states;
};

/* ---- images ---- */

static void image_free(struct image *im)
{
	free(im->blocks);
	free(im->hot);
	free(im->cold);
	free(im->root);
	free(im->now);
	free(im->changed_blocks);
	free(im->changed);
}

static int image_open(struct image *im, struct sim *sim)
{
	struct core_range ranges[MAX_RANGES];
	size_t n = explore_ranges(sim, ranges, MAX_RANGES), nr = 0;

	if (n > MAX_RANGES)
		return -E2BIG;
	for (size_t i = 0; i < n; i++)
		nr += (ranges[i].size + BLOCK - 1) / BLOCK;
	if (!nr)
		return -EINVAL;
	im->blocks = calloc(nr, sizeof(*im->blocks));
	im->hot = calloc(nr, sizeof(*im->hot));
	im->cold = calloc(nr, sizeof(*im->cold));
	im->root = calloc(nr, BLOCK);
	im->now = calloc(nr, BLOCK);
	im->changed_blocks = calloc(nr, sizeof(*im->changed_blocks));
	im->changed = calloc(nr * BLOCK_WORDS, sizeof(*im->changed));
	if (!im->blocks || !im->hot || !im->cold || !im->root || !im->now || !im->changed_blocks ||
	    !im->changed)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		for (size_t off = 0; off < ranges[i].size; off += BLOCK) {
			struct block *b = &im->blocks[im->nr_blocks++];

			b->at = (u8 *)ranges[i].at + off;
			b->size =
				ranges[i].size - off < BLOCK ? (u32)(ranges[i].size - off) : BLOCK;
		}
	return 0;
}

/* Rebuilds the lists of hot blocks and cold runs. A run is contiguous in memory and image. */
static void image_sort(struct image *im)
{
	bool in_run = false;

	im->nr_hot = im->nr_cold = 0;
	for (u32 i = 0; i < im->nr_blocks; i++) {
		const struct block *b = &im->blocks[i];

		if (b->hot) {
			im->hot[im->nr_hot++] = i;
			in_run = false;
			continue;
		}
		if (!in_run || im->blocks[i - 1].size != BLOCK || b->at != b[-1].at + BLOCK)
			im->cold[im->nr_cold++] = (struct run){i, 0};
		im->cold[im->nr_cold - 1].size += b->size;
		in_run = true;
	}
}

/* Makes the machine's current memory the root. */
static void image_set_root(struct image *im)
{
	for (size_t i = 0; i < im->nr_blocks; i++) {
		memcpy(im->root + i * BLOCK_WORDS, im->blocks[i].at, im->blocks[i].size);
		memcpy(im->now + i * BLOCK_WORDS, im->blocks[i].at, im->blocks[i].size);
	}
	image_sort(im);
}

static void image_restore_root(const struct image *im)
{
	for (size_t i = 0; i < im->nr_blocks; i++)
		memcpy(im->blocks[i].at, im->root + i * BLOCK_WORDS, im->blocks[i].size);
}

static void find_hot(struct image *im)
{
	bool found = false;

	for (size_t r = 0; r < im->nr_cold; r++) {
		const struct run *run = &im->cold[r];
		u64 left = run->size;

		if (!memcmp(im->blocks[run->first].at, im->now + run->first * BLOCK_WORDS,
			    run->size))
			continue;
		for (u32 i = run->first; left; left -= im->blocks[i++].size)
			if (memcmp(im->blocks[i].at, im->now + i * BLOCK_WORDS,
				   im->blocks[i].size) != 0)
				im->blocks[i].hot = found = true;
	}
	if (found)
		image_sort(im);
}

/* Finds out how the machine's memory differs from now. */
static void image_compare(struct image *im)
{
	find_hot(im);
	im->nr_changed = im->nr_changed_blocks = 0;
	for (size_t h = 0; h < im->nr_hot; h++) {
		const struct block *b = &im->blocks[im->hot[h]];
		const u64 *now = im->now + im->hot[h] * BLOCK_WORDS;
		u64 actual[BLOCK_WORDS], differs = 0;

		if (b->size == BLOCK) {
			memcpy(actual, b->at, BLOCK);
		} else {
			memset(actual, 0, sizeof(actual));
			memcpy(actual, b->at, b->size);
		}
		for (unsigned int i = 0; i < BLOCK_WORDS; i++)
			differs |= actual[i] ^ now[i];
		if (!differs)
			continue;
		im->changed_blocks[im->nr_changed_blocks++] = im->hot[h];
		for (u32 i = 0; i < BLOCK_WORDS; i++)
			if (actual[i] != now[i])
				im->changed[im->nr_changed++] =
					(struct word){im->hot[h] * BLOCK_WORDS + i, 0, actual[i]};
	}
}

/* Undoes the step: sets the machine's memory to now. */
static void image_undo(const struct image *im)
{
	for (size_t i = 0; i < im->nr_changed_blocks; i++) {
		const struct block *b = &im->blocks[im->changed_blocks[i]];

		memcpy(b->at, im->now + im->changed_blocks[i] * BLOCK_WORDS, b->size);
	}
}

/* Loads another state, given by its differences from the root, into now and the machine. */
static void image_load(const struct image *im, const struct word *words, u32 nr)
{
	for (size_t h = 0; h < im->nr_hot; h++)
		memcpy(im->now + im->hot[h] * BLOCK_WORDS, im->root + im->hot[h] * BLOCK_WORDS,
		       BLOCK);
	for (u32 i = 0; words && i < nr; i++) /* NULL: no state so far differs from the root */
		im->now[words[i].at] = words[i].value;
	for (size_t h = 0; h < im->nr_hot; h++) {
		const struct block *b = &im->blocks[im->hot[h]];

		memcpy(b->at, im->now + im->hot[h] * BLOCK_WORDS, b->size);
	}
}

/* The state after the last step, as its differences from the root; returns their number. */
static size_t image_differences(const struct image *im, struct word *words)
{
	const struct word *changed = im->changed, *end = changed + im->nr_changed;
	size_t nr = 0;

	for (size_t h = 0; h < im->nr_hot; h++) {
		u32 at = im->hot[h] * BLOCK_WORDS;

		for (u32 last = at + BLOCK_WORDS; at < last; at++) {
			u64 value = im->now[at];

			if (changed < end && changed->at == at)
				value = changed++->value;
			if (value != im->root[at])
				words[nr++] = (struct word){at, 0, value};
		}
	}
	return nr;
}

/* ---- the queue ---- */

static int reserve_queue(struct queue *q, size_t nr_words)
{
	if (vector_reserve(q->words, q->nr_words + nr_words, q->max_words))
		return -ENOMEM;
	return vector_grow(q->items, q->nr_items, q->max_items);
}

/* ---- the set of known states ---- */

static u64 mix(u64 value)
{
	value = (value ^ value >> 33) * 0xff51afd7ed558ccdull;
	value = (value ^ value >> 33) * 0xc4ceb9fe1a85ec53ull;
	return value ^ value >> 33;
}

/*
 * A state's hash is a sum with one term for each word that differs from the root: a step subtracts
 * and adds the terms of the words that it has changed.
 */
static void hash_word(struct hash *hash, const struct image *im, u32 at, u64 value, u64 sign)
{
	if (value == im->root[at])
		return;
	hash->bits[0] += sign * mix(value ^ mix(at + 0x9e3779b97f4a7c15ull));
	hash->bits[1] += sign * mix(value + mix(at + 0xc2b2ae3d27d4eb4full));
}

/* The hash's slot, or the empty slot for it. */
static struct hash *find(const struct search *s, const struct hash *hash)
{
	u64 mask = s->table_size - 1, at = hash->bits[0] & mask;

	while ((s->table[at].bits[0] | s->table[at].bits[1]) != 0 &&
	       memcmp(&s->table[at], hash, sizeof(*hash)) != 0)
		at = (at + 1) & mask;
	return &s->table[at];
}

/*
 * Lookups are random: uses huge pages if possible. Not a util/hash_map, because a slot is the 128
 * bits of a state's hash and has no value.
 */
static struct hash *new_table(u64 size)
{
	size_t nr_bytes = size * sizeof(struct hash);
	struct hash *table = aligned_alloc(TABLE_ALIGN, nr_bytes);

	if (!table)
		return NULL;
	madvise(table, nr_bytes, MADV_HUGEPAGE);
	memset(table, 0, nr_bytes);
	return table;
}

static int grow_table(struct search *s)
{
	struct hash *old = s->table;
	u64 old_size = s->table_size;
	struct hash *table = new_table(old_size ? 2 * old_size : TABLE_ALIGN / sizeof(*table));

	if (!table)
		return -ENOMEM;
	s->table = table;
	s->table_size = old_size ? 2 * old_size : TABLE_ALIGN / sizeof(*table);
	for (u64 i = 0; i < old_size; i++)
		if ((old[i].bits[0] | old[i].bits[1]) != 0)
			*find(s, &old[i]) = old[i];
	free(old);
	return 0;
}

/* Adds the state after the step to the next queue, if it is new. 0 or a negative errno. */
static int visit(struct search *s, const struct item *from, u8 action)
{
	struct image *im = &s->image;
	struct queue *q = &s->queues[!s->current];
	struct hash hash = from->hash, *slot;
	size_t nr;
	int ret;

	for (size_t i = 0; i < im->nr_changed; i++) {
		const struct word *word = &im->changed[i];

		hash_word(&hash, im, word->at, im->now[word->at], -1ull);
		hash_word(&hash, im, word->at, word->value, 1);
	}
	slot = find(s, &hash);
	if ((slot->bits[0] | slot->bits[1]) != 0)
		return 0;
	ret = reserve_queue(q, im->nr_hot * BLOCK_WORDS);
	if (ret)
		return ret;
	if (vector_grow(s->seen, s->nr_seen, s->max_seen))
		return -ENOMEM;
	*slot = hash;
	nr = image_differences(im, q->words + q->nr_words);
	q->nr_words += nr;
	q->items[q->nr_items++] = (struct item){hash, (u32)s->nr_seen, (u32)nr};
	s->seen[s->nr_seen++] = (struct seen){from->state, action};
	return 2 * s->nr_seen > s->table_size ? grow_table(s) : 0;
}

/* ---- the search ---- */

static void set_path(struct search *s, u32 state, u8 last)
{
	char reversed[sizeof(s->r->path)];
	size_t n = 0;

	reversed[n++] = (char)last;
	while (n < sizeof(reversed) - 1 && s->seen[state].parent != NO_PARENT) {
		reversed[n++] = (char)s->seen[state].action;
		state = s->seen[state].parent;
	}
	if (s->seen[state].parent != NO_PARENT) /* too long: no path rather than its end */
		n = 0;
	for (size_t i = 0; i < n; i++)
		s->r->path[i] = reversed[n - 1 - i];
	s->r->path[n] = '\0';
}

/* Tries one action in the current state. 1: it violates an invariant. */
static int try_action(struct search *s, const struct item *from, u8 action)
{
	struct auxtap_watermark_result *wr = s->sim->r;

	memset(wr, 0, sizeof(*wr));
	explore_act(s->sim, action);
	s->r->nr_steps++;
	/* the reader's own timer wakes it: it enables the event again */
	s->r->nr_stall_checks += action == ACT_STALL_CHECK;
	/* a finding: a known deviation that this kernel's rules allow, so it violates nothing */
	if (wr->nr_findings && !s->r->nr_findings++)
		memcpy(s->r->finding, wr->finding, sizeof(s->r->finding));
	if (wr->nr_violations) {
		s->r->violated = 1;
		s->r->invariant = wr->violations[0].invariant;
		memcpy(s->r->text, wr->violations[0].text, sizeof(s->r->text));
		set_path(s, from->state, action);
		return 1;
	}
	explore_normalise(s->sim);
	image_compare(&s->image);
	if (explore_is_pruned(s->sim)) {
		s->r->nr_cut++;
		return 0;
	}
	return visit(s, from, action);
}

/* Tries all possible actions in one state. 1: a violation. */
static int expand(struct search *s, const struct item *item, const struct word *words)
{
	u8 actions[MAX_ACTIONS];
	unsigned int n;
	int ret;

	image_load(&s->image, words, item->nr);
	n = explore_actions(s->sim, actions);
	for (unsigned int i = 0; i < n; i++) {
		ret = try_action(s, item, actions[i]);
		if (ret)
			return ret;
		image_undo(&s->image);
	}
	return 0;
}

static int search(struct search *s)
{
	/* the root's own hash: any value but 0 */
	const struct item first = {{{1, 1}}, NO_PARENT, 0};
	int ret = grow_table(s);

	explore_normalise(s->sim);
	image_set_root(&s->image);
	if (!ret)
		ret = visit(s, &first, 0);
	while (!ret && s->queues[!s->current].nr_items) {
		const struct queue *now = &s->queues[!s->current];
		struct queue *next = &s->queues[s->current];
		size_t at = 0;

		s->current = !s->current;
		/* search_free() frees their memory */
		next->nr_items = next->nr_words = 0; /* NOLINT(clang-analyzer-unix.Malloc) */
		for (size_t i = 0; i < now->nr_items && !ret; i++) {
			/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
			ret = expand(s, &now->items[i], now->words + at);
			at += now->items[i].nr;
			if (!ret && s->nr_seen > s->max_states)
				return 0;
		}
		s->r->depth += next->nr_items != 0;
	}
	s->r->complete = !ret;
	return ret == 1 ? 0 : ret;
}

/* A machine in any state can be freed once its program is scheduled out. */
static void close_sim(struct sim *sim)
{
	sim->mon.mute = true;
	if (sim->running)
		machine_sched(sim, false);
	sim_free(sim);
}

static void search_close(struct search *s)
{
	if (s->image.nr_hot) /* free the machine in its first state */
		image_restore_root(&s->image);
	close_sim(s->sim);
	image_free(&s->image);
}

/*
 * Unmaps the area in each state. That frees its memory, so each state needs a machine of its
 * own, brought to that state by the shortest path. 1: a violation.
 */
static int unmap_all(struct search *s, const struct auxtap_watermark_config *config,
		     struct auxtap_error *err)
{
	u64 nr = s->nr_seen > AUXTAP_EXPLORE_UNMAP ? AUXTAP_EXPLORE_UNMAP_SOME : s->nr_seen;
	struct auxtap_watermark_result wr;

	for (u64 state = 0; state < nr; state++) {
		struct sim *sim = explore_sim(config, &wr, err);

		if (!sim)
			return err->code;
		set_path(s, (u32)state, ACT_UNMAP);
		for (const char *at = s->r->path; *at; at++)
			explore_act(sim, (u8)*at);
		sim_free(sim);
		s->r->nr_unmapped++;
		if (wr.nr_violations) {
			s->r->violated = 1;
			s->r->invariant = wr.violations[0].invariant;
			memcpy(s->r->text, wr.violations[0].text, sizeof(s->r->text));
			return 1;
		}
	}
	s->r->path[0] = '\0';
	return 0;
}

static void search_free(struct search *s)
{
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
				 "only built-in trace units can be searched");
		auxtap_error_hint(err, "use 'auxtap watermark sim'");
		return -EINVAL;
	}
	if (c->contents || c->nr_pages > 64) {
		auxtap_error_set(err, -EINVAL, "exhaustive search",
				 "--contents, and areas beyond 64 pages, have too many states");
		auxtap_error_hint(err, "use 'auxtap watermark sim'");
		return -EINVAL;
	}
	return 0;
}

static int explore(const struct auxtap_watermark_config *config, uint64_t max_states,
		   struct auxtap_explore_result *result, struct auxtap_error *err)
{
	struct auxtap_watermark_result wr;
	struct search s = {.r = result, .max_states = max_states};
	int ret;

	s.sim = explore_sim(config, &wr, err);
	if (!s.sim)
		return err->code;
	if (wr.refused) {
		result->refused = 1;
		memcpy(result->refusal, wr.refusal, sizeof(result->refusal));
		sim_free(s.sim);
		return 0;
	}
	ret = image_open(&s.image, s.sim);
	if (!ret)
		ret = search(&s);
	result->nr_states = s.nr_seen;
	search_close(&s);
	if (!ret && result->complete && !result->violated)
		ret = unmap_all(&s, config, err);
	if (ret == 1)
		ret = result->complete = 0;
	search_free(&s);
	if (ret)
		auxtap_error_set(err, ret, "exhaustive search", "%s", strerror(-ret));
	return ret;
}

int auxtap_watermark_explore(const struct auxtap_watermark_config *config, uint64_t max_states,
			     struct auxtap_explore_result *result, struct auxtap_error *err)
{
	struct auxtap_watermark_config copy;
	struct auxtap_explore_result r = {.size = sizeof(r)};
	struct auxtap_error fallback_err = AUXTAP_ERROR_INIT;
	int ret;

	if (!err)
		err = &fallback_err;
	ret = sized_check(result, sizeof(r),
			  SIZED_UP_TO(struct auxtap_explore_result, nr_stall_checks),
			  "struct auxtap_explore_result", err);
	if (ret)
		return ret;
	ret = config_copy_in_valid(&copy, config, err);
	if (!ret)
		ret = explorable(&copy, err);
	if (!ret)
		ret = explore(&copy, max_states, &r, err);
	sized_copy_out(result, &r, sizeof(r));
	return ret;
}

/* Performs the actions of the path; -EINVAL if one is impossible. */
static int play(struct sim *sim, const char *path, struct auxtap_error *err)
{
	int ret = 0;

	for (const char *at = path; *at && !sim->r->refused && !ret; at++) {
		u8 actions[MAX_ACTIONS];
		unsigned int n = explore_actions(sim, actions), i;

		if (*at == ACT_UNMAP && !at[1])
			actions[n++] = ACT_UNMAP;
		for (i = 0; i < n && actions[i] != (u8)*at; i++)
			;
		if (i == n) {
			ret = auxtap_error_set(err, -EINVAL, path,
					       "action %td, '%c', cannot happen there",
					       at - path + 1, *at);
			auxtap_error_hint(
				err,
				"give a path that explore has printed for the same configuration");
			break;
		}
		sim->now++; /* so that events have an order */
		explore_act(sim, (u8)*at);
	}
	return ret;
}

int auxtap_watermark_play(const struct auxtap_watermark_config *config, const char *path,
			  void (*on_event)(void *ctx, const struct auxtap_watermark_event *event),
			  void *ctx, struct auxtap_watermark_result *result,
			  struct auxtap_error *err)
{
	struct auxtap_watermark_config copy;
	struct auxtap_watermark_result r = {.size = sizeof(r)};
	struct auxtap_error fallback_err = AUXTAP_ERROR_INIT;
	struct sim *sim = NULL;
	int ret;

	if (!err)
		err = &fallback_err;
	ret = result_check(result, err);
	if (ret)
		return ret;
	ret = config_copy_in_valid(&copy, config, err);
	if (!ret && !(sim = explore_sim(&copy, &r, err)))
		ret = err->code;
	if (sim) {
		sim->on_event = on_event;
		sim->ctx = ctx;
		ret = play(sim, path, err);
		sim->on_event = NULL;
		close_sim(sim);
	}
	sized_copy_out(result, &r, sizeof(r));
	return ret;
}
