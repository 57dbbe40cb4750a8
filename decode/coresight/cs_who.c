// SPDX-License-Identifier: BSD-2-Clause
/* Finds out which thread ran when a stream's trace was made, and between which times. */
#include "cs_exec.h"
#include "cs_stream.h"
#include "decode/flow/decoder_private.h"
#include "util/vector.h"

#include <errno.h>
#include <stdlib.h>

void cs_stream_owner(const struct cs_stream *s, int32_t context, size_t extent, uint64_t off,
		     uint64_t time, int32_t *pid, int32_t *tid)
{
	const struct sideband *sb = &s->dec->sideband;
	const struct cs_extent *p = &s->buffer->extents[extent];

	*pid = *tid = -1;
	if (!s->dec->pd) { /* a snapshot directory has no sideband: the trace alone names threads */
		*pid = *tid = context;
		return;
	}
	if (context >= 0 && sideband_pid(sb, context) != -1)
		*tid = context;
	else if (s->buffer->of_one_thread)
		*tid = s->buffer->tid;
	else if (sideband_owner(sb, s->unit->cpu, off, pid, tid))
		return;
	else if (time && sideband_running(sb, s->unit->cpu, time, pid, tid))
		return;
	else
		*tid = p->tid;
	if (*tid == -1)
		return;
	*pid = sideband_pid(sb, *tid);
	if (*pid == -1)
		*pid = *tid;
}

void cs_stream_time_bounds(const struct cs_stream *s, size_t extent, uint64_t off, uint64_t *since,
			   uint64_t *until)
{
	*since = s->buffer->extents[extent].since;
	*until = s->buffer->extents[extent].until;
	for (size_t i = 0; i < s->nr_execs; i++) {
		const struct cs_exec *exec = &s->execs[i];

		if (exec->extent != extent)
			continue;
		if (exec->off > off) {
			*until = exec->time - 1;
			return;
		}
		*since = exec->time;
	}
}

/*
 * Whether the records contain all mappings since the thread's first trace. A flight recorder keeps
 * only the newest records.
 */
static bool from_start(const struct cs_stream *s, int32_t tid)
{
	const struct sideband *sb = &s->dec->sideband;

	return !sb->per_thread || !sb->aux_offsets_unusable || sideband_trace_start(sb, tid);
}

bool cs_stream_set_memory(const struct cs_stream *s, struct cs_memory *mem, int32_t pid,
			  int32_t tid, size_t extent, uint64_t off)
{
	uint64_t since, until;

	cs_stream_time_bounds(s, extent, off, &since, &until);
	return cs_memory_set(mem, pid, since, until, from_start(s, tid));
}

/* ---- execs, found in the trace ---- */

struct entry_query {
	struct auxtap_image_set *images;
	struct image_between run; /* process and times of the run of extents */
};

static bool is_entry(void *ctx, uint64_t addr)
{
	const struct entry_query *w = ctx;

	return image_set_is_entry(w->images, &w->run, addr);
}

static bool add_exec(struct cs_stream *s, size_t extent, uint64_t off, uint64_t time)
{
	if (vector_grow(s->execs, s->nr_execs, s->max_execs)) {
		s->error = -ENOMEM;
		return false;
	}
	s->execs[s->nr_execs++] = (struct cs_exec){extent, off, time};
	return true;
}

/* Whether the last program of the records ran at the end of the extent, and no start is missing. */
static bool all_found(const struct cs_extent *p, bool last, const struct cs_starts *starts)
{
	return last && p->ends_at_time && !starts->lost && !starts->open &&
	       !(starts->elsewhere && starts->elsewhere_off >= p->off);
}

/* Returns how many starts are in the extent; found gets the last CS_EXECS of them. */
static size_t starts_in(const struct cs_extent *p, const struct cs_starts *starts,
			const struct cs_start *found[CS_EXECS])
{
	size_t nr = 0, begin = 0, kept;

	while (begin < starts->nr && starts->list[begin].off < p->off)
		begin++;
	while (begin + nr < starts->nr && starts->list[begin + nr].off - p->off < p->size)
		nr++;
	kept = nr < CS_EXECS ? nr : CS_EXECS;
	for (size_t i = 0; i < kept; i++)
		found[i] = &starts->list[begin + nr - kept + i];
	return nr;
}

/*
 * Matches the execs that the records have for an extent with the starts of programs in its trace,
 * from the last one backwards; each start must be an entry point of its exec's program. With fewer
 * starts than execs, the extent began after the first execs, as 'since' is only a lower bound. With
 * more starts, the recorder did not keep the first records. If the numbers differ, this holds only
 * if no start can be missing at the end.
 */
static void match_execs(struct cs_stream *s, size_t extent, const struct image_between *b,
			const struct cs_starts *starts)
{
	const struct cs_extent *p = &s->buffer->extents[extent];
	struct auxtap_image_set *images = s->dec->images;
	const struct cs_start *found[CS_EXECS];
	uint64_t times[CS_EXECS];
	size_t nr = image_set_exec_times(images, b, times, CS_EXECS), nr_found, both;

	if (!nr || nr > CS_EXECS)
		return;
	nr_found = starts_in(p, starts, found);
	if (nr_found != nr && !all_found(p, extent + 1 == s->first_extent + s->nr_extents, starts))
		return;
	nr_found = nr_found < CS_EXECS ? nr_found : CS_EXECS;
	both = nr < nr_found ? nr : nr_found;
	for (size_t i = 1; i <= both; i++) {
		struct image_between one = *b;

		one.since = times[nr - i] - 1;
		one.until = times[nr - i];
		if (!image_set_is_entry(images, &one, found[nr_found - i]->addr))
			return;
	}
	if (nr > both && !add_exec(s, extent, p->off, times[nr - both - 1]))
		return;
	for (size_t i = 0; i < both; i++)
		if (!add_exec(s, extent, found[nr_found - both + i]->off, times[nr - both + i]))
			return;
}

void cs_stream_find_execs(struct cs_stream *s)
{
	const struct cs_extent *first = &s->buffer->extents[s->first_extent];
	struct entry_query w = {.images = s->dec->images};
	struct cs_starts starts = {.is_entry = is_entry, .ctx = &w};
	struct cs_bytes bytes = s->bytes;
	int32_t tid;

	s->nr_execs = 0;
	if (!s->buffer->of_one_thread || s->format != CS_FORMAT_SOURCE)
		return;
	cs_stream_owner(s, -1, s->first_extent, first->off, first->time, &w.run.pid, &tid);
	w.run.since = first->since;
	w.run.until = first[s->nr_extents - 1].until;
	if (!image_set_exec_times(w.images, &w.run, NULL, 0))
		return;
	bytes.format = CS_FORMAT_SOURCE;
	if (cs_starts_find(&starts, s->dec->flow_ops, s->shared, s->unit, &bytes, first->off))
		s->error = -ENOMEM;
	for (size_t i = 0; !s->error && i < s->nr_extents; i++) {
		struct image_between b = w.run;

		b.since = first[i].since;
		b.until = first[i].until;
		match_execs(s, s->first_extent + i, &b, &starts);
	}
	free(starts.list);
}
