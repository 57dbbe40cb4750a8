// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which of several threads wrote to memory last: by the times of the blocks in their logs. A write
 * took place between the begin of its block and that of the thread's next one.
 */
#include "report_past.h"

#include <stdlib.h>

#define MAX_CANDIDATES 32
#define PAGE	       4096

/* A write that may be the last one before the memory was read; or what hides older ones. */
struct candidate {
	struct past at;
	struct value_log_write write;
	enum past_write kind;
};

struct search {
	struct past from; /* where the memory was read */
	uint64_t addr, nr_bytes;
	uint64_t unknown_until; /* there may be older writes, which are in no log */
	unsigned int nr;
	struct candidate found[MAX_CANDIDATES];
};

static bool is_before(const struct past_time *a, const struct past_time *b)
{
	return past_is_after(b->begin, a->end);
}

static void unknown_until(struct search *s, uint64_t time)
{
	if (time > s->unknown_until)
		s->unknown_until = time;
}

/* Is there nothing older than the block, and was nothing lost? */
static bool is_begin(const struct past *p)
{
	struct value_log_entry entry;
	size_t at = p->at;

	while (value_log_back(p->log, &at, &entry))
		if (entry.kind == AUXTAP_VALUES_BLOCK || entry.kind == AUXTAP_VALUES_LOST)
			return false;
	return !at && p->log->head.flags & AUXTAP_VALUES_WHOLE;
}

/* Adds what another thread may have written last. False: too many. */
static bool add_foreign(struct search *s, const struct value_log *log)
{
	struct past p = s->from;
	struct value_log_write write;
	enum past_write kind;

	if (!value_log_touches(log, s->addr, s->nr_bytes) && log->head.flags & AUXTAP_VALUES_WHOLE)
		return true;
	past_begin_log(&p, log);
	while (past_back(&p)) {
		uint32_t limit = UINT32_MAX;

		if (is_before(&s->from.time, &p.time))
			continue;
		while (past_find_in_block(&p, s->addr, s->nr_bytes, 0, limit, &kind, &write)) {
			if (s->nr == MAX_CANDIDATES)
				return false;
			s->found[s->nr++] = (struct candidate){p, write, kind};
			if (is_before(&p.time, &s->from.time))
				return true;
			limit = p.insn;
		}
	}
	if (!is_begin(&p))
		unknown_until(s, p.time.end);
	return true;
}

/* The thread's own: it is before the read, whatever the times are. */
static void add_own(struct search *s, uint64_t frame_slot)
{
	struct candidate *c = &s->found[s->nr];

	c->at = s->from;
	c->kind = past_find_own_write(&c->at, s->addr, s->nr_bytes, frame_slot, &c->write);
	if (c->kind == PAST_WRITE_UNKNOWN)
		unknown_until(s, c->at.time.end);
	else
		s->nr++;
}

/* Was it overwritten by another candidate? */
static bool is_hidden(const struct search *s, const struct candidate *c)
{
	for (unsigned int i = 0; i < s->nr; i++) {
		const struct candidate *other = &s->found[i];

		if (is_before(&c->at.time, &other->at.time) &&
		    (other->at.log == s->from.log || is_before(&other->at.time, &s->from.time)))
			return true;
	}
	return false;
}

/* Is it another value, which therefore was not read? */
static bool is_other(const struct search *s, const struct candidate *c, uint64_t value)
{
	return c->kind == PAST_WRITE_FOUND &&
	       !value_log_keeps(&c->write, s->addr, (unsigned int)s->nr_bytes, value);
}

/* Did any thread perhaps map something where the code is, since then? */
static bool is_replaced(const struct past *p)
{
	const struct report_facts *facts = p->facts;

	for (size_t i = 0; i < facts->nr_value_logs; i++) {
		const struct value_log *log = &facts->value_logs[i];
		struct past q = *p;
		struct value_log_write write;
		enum past_write kind;

		if (log == p->log || !value_log_touches(log, p->ip, 1))
			continue;
		past_begin_log(&q, log);
		while (past_back(&q) && !is_before(&q.time, &p->time))
			if (past_find_in_block(&q, p->ip, 1, 0, UINT32_MAX, &kind, &write) &&
			    !write.bytes && write.nr_bytes >= PAGE)
				return true;
	}
	return false;
}

/* Chooses the only one that may be the last. */
static enum past_write choose(struct search *s, struct past *p, uint64_t value,
			      struct value_log_write *write)
{
	const struct candidate *last = NULL;

	for (unsigned int i = 0; i < s->nr; i++) {
		const struct candidate *c = &s->found[i];

		if (is_hidden(s, c) || is_other(s, c, value))
			continue;
		if (last)
			return PAST_WRITE_UNORDERED;
		last = c;
	}
	if (!last)
		return s->from.log->head.lost_until ? PAST_WRITE_UNORDERED : PAST_WRITE_UNKNOWN;
	if (s->unknown_until && !past_is_after(last->at.time.begin, s->unknown_until))
		return PAST_WRITE_UNKNOWN;
	if (last->kind != PAST_WRITE_FOUND && last->kind != PAST_WRITE_NOT_SINCE)
		return last->kind;
	if (!past_has_all_since(&last->at))
		return PAST_WRITE_UNORDERED;
	if (last->at.log != s->from.log && last->at.log->head.flags & AUXTAP_VALUES_BAD_REGS)
		return PAST_WRITE_UNKNOWN;
	if (is_replaced(&last->at))
		return PAST_WRITE_UNKNOWN;
	*p = last->at;
	*write = last->write;
	return last->kind;
}

enum past_write past_find_write(struct past *p, uint64_t addr, uint64_t nr_bytes,
				uint64_t frame_slot, uint64_t value, struct value_log_write *write)
{
	enum past_write result = PAST_WRITE_UNORDERED;
	bool is_complete = true;
	struct search *s;

	if (!p->has_threads)
		return past_find_own_write(p, addr, nr_bytes, frame_slot, write);
	if (past_is_shared(p, addr))
		return PAST_WRITE_UNKNOWN;
	s = calloc(1, sizeof(*s));
	if (!s)
		return PAST_WRITE_UNKNOWN;
	s->from = *p;
	s->addr = addr;
	s->nr_bytes = nr_bytes;
	add_own(s, frame_slot);
	for (size_t i = 0; i < p->facts->nr_value_logs && is_complete; i++)
		if (&p->facts->value_logs[i] != p->log)
			is_complete = add_foreign(s, &p->facts->value_logs[i]);
	if (is_complete)
		result = choose(s, p, value, write);
	free(s);
	return result;
}

/*
 * Calls fn for the log's writes there since 'begin'. False: it may lack some, because it does not
 * reach so far back.
 */
static bool each_write(const struct past *p, const struct value_log *log, uint64_t addr,
		       uint64_t nr_bytes, past_foreign_fn *fn, void *ctx)
{
	const struct past_time begin = {.begin = p->log_begin};
	struct past_time time = {.end = UINT64_MAX};
	struct value_log_entry entry;
	struct value_log_write write;
	size_t at = log->head.nr_words;
	bool is_block = false;

	while (value_log_back(log, &at, &entry)) {
		if (is_block)
			time.end = entry.kind == AUXTAP_VALUES_TIME && entry.nr_words ?
					   entry.words[0] :
					   0;
		is_block = entry.kind == AUXTAP_VALUES_BLOCK;
		if (is_before(&time, &begin))
			return true;
		if (entry.kind == AUXTAP_VALUES_LOST || !past_has_work(p, 1))
			return false;
		if (value_log_write(&entry, &write) && value_log_hits(&write, addr, nr_bytes))
			fn(ctx, &write);
	}
	return !at && log->head.flags & AUXTAP_VALUES_WHOLE;
}

void past_each_foreign(const struct past *p, uint64_t addr, uint64_t nr_bytes, bool is_strict,
		       past_foreign_fn *fn, void *ctx)
{
	static const struct value_log_write anywhere = {.nr_bytes = UINT64_MAX};

	for (size_t i = 0; i < p->facts->nr_value_logs; i++) {
		const struct value_log *log = &p->facts->value_logs[i];

		if (log == p->log || (log->head.flags & AUXTAP_VALUES_WHOLE &&
				      !value_log_touches(log, addr, nr_bytes)))
			continue;
		if (!each_write(p, log, addr, nr_bytes, fn, ctx) && is_strict)
			fn(ctx, &anywhere);
	}
}

static void note_write(void *ctx, const struct value_log_write *write)
{
	bool *is_own = ctx;

	(void)write;
	*is_own = false;
}

bool past_is_own(const struct past *p, uint64_t addr, uint64_t nr_bytes)
{
	bool is_own = true;

	if (p->has_threads)
		past_each_foreign(p, addr, nr_bytes, true, note_write, &is_own);
	return is_own;
}
