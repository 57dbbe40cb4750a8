// SPDX-License-Identifier: BSD-2-Clause
/* See trace_aux.h. */
#include "trace_aux.h"
#include "util/vector.h"

#include <string.h>

static const struct {
	enum auxtap_gap_cause cause;
	uint64_t flag;
} losses[] = {
	{AUXTAP_GAP_TRUNCATED, PERF_AUX_FLAG_TRUNCATED},
	{AUXTAP_GAP_COLLISION, PERF_AUX_FLAG_COLLISION},
	{AUXTAP_GAP_PARTIAL, PERF_AUX_FLAG_PARTIAL},
};

#define NR_LOSSES (sizeof(losses) / sizeof(losses[0]))

bool trace_aux_read(struct trace_aux *aux, const struct auxtap_record *rec)
{
	uint64_t v[3] = {0};

	memcpy(v, rec->header + 1, rec->body_size < sizeof(v) ? rec->body_size : sizeof(v));
	*aux = (struct trace_aux){.off = v[0],
				  .size = v[1],
				  .flags = v[2],
				  .cpu = -1,
				  .pid = -1,
				  .tid = -1};
	if (aux->size > UINT64_MAX - aux->off)
		aux->size = UINT64_MAX - aux->off;
	if (rec->fields & AUXTAP_REC_CPU)
		aux->cpu = (int)rec->cpu;
	if (rec->fields & AUXTAP_REC_TIME)
		aux->time = rec->time;
	if (rec->fields & AUXTAP_REC_PID_TID) {
		aux->pid = (int32_t)rec->pid;
		aux->tid = (int32_t)rec->tid;
	}
	return rec->body_size >= sizeof(v);
}

enum auxtap_gap_cause trace_aux_cause(uint64_t flags)
{
	if (flags & PERF_AUX_FLAG_COLLISION)
		return AUXTAP_GAP_COLLISION;
	if (flags & PERF_AUX_FLAG_TRUNCATED)
		return AUXTAP_GAP_TRUNCATED;
	return AUXTAP_GAP_PARTIAL;
}

int trace_auxes_add(struct trace_auxes *auxes, const struct trace_aux *aux)
{
	if (vector_grow(auxes->list, auxes->nr, auxes->max))
		return -ENOMEM;
	auxes->list[auxes->nr++] = *aux;
	return 0;
}

/* ---- by offset ---- */

static int by_offset(const void *a, const void *b)
{
	const struct trace_aux *x = a, *y = b;

	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

static bool saved_twice(const struct trace_aux *old, const struct trace_aux *aux)
{
	return aux->time && old->time == aux->time && old->off == aux->off &&
	       old->size == aux->size && old->flags == aux->flags && old->cpu == aux->cpu &&
	       old->tid == aux->tid;
}

void trace_auxes_sort(struct trace_auxes *auxes)
{
	size_t kept = 0;

	if (auxes->nr)
		qsort(auxes->list, auxes->nr, sizeof(*auxes->list), by_offset);
	/* in sorted order a record and its copy are adjacent */
	for (size_t i = 0; i < auxes->nr; i++)
		if (!kept || !saved_twice(&auxes->list[kept - 1], &auxes->list[i]))
			auxes->list[kept++] = auxes->list[i];
	auxes->nr = kept;
}

/* ---- by ring ---- */

enum key_kind { KEY_CPU, KEY_TID, KEY_ALL };

struct key_order {
	const struct trace_aux *list;
	enum key_kind kind;
};

/* Records that name no thread have various negative tids. */
static int32_t tid_key(int32_t tid)
{
	return tid < 0 ? -1 : tid;
}

static int32_t key_of(const struct key_order *order, size_t index)
{
	const struct trace_aux *aux = &order->list[index];

	switch (order->kind) {
	case KEY_CPU:
		return aux->cpu;
	case KEY_TID:
		return tid_key(aux->tid);
	default:
		return 0;
	}
}

static int by_key(const void *a, const void *b, void *ctx)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	int32_t x_key = key_of(ctx, x), y_key = key_of(ctx, y);

	if (x_key != y_key)
		return x_key < y_key ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int make_index(struct trace_aux_index *index, const struct trace_auxes *auxes,
		      enum key_kind kind)
{
	struct key_order order = {auxes->list, kind};
	size_t max_groups = 0;

	index->order = calloc(auxes->nr, sizeof(*index->order));
	index->link = calloc(auxes->nr + 1, sizeof(*index->link));
	if (!index->order || !index->link)
		return -ENOMEM;
	for (size_t i = 0; i < auxes->nr; i++)
		index->order[i] = index->link[i] = i;
	index->link[auxes->nr] = auxes->nr;
	if (kind != KEY_ALL)
		qsort_r(index->order, auxes->nr, sizeof(*index->order), by_key, &order);
	for (size_t i = 0; i < auxes->nr; i++) {
		int32_t key = key_of(&order, index->order[i]);

		if (!index->nr_groups || index->groups[index->nr_groups - 1].key != key) {
			if (vector_grow(index->groups, index->nr_groups, max_groups))
				return -ENOMEM;
			index->groups[index->nr_groups++] =
				(struct trace_aux_group){.key = key, .begin = i};
		}
		index->groups[index->nr_groups - 1].nr++;
	}
	return 0;
}

static void free_index(struct trace_aux_index *index)
{
	free(index->order);
	free(index->link);
	free(index->groups);
}

int trace_auxes_index(struct trace_auxes *auxes)
{
	if (!auxes->nr)
		return 0;
	if (make_index(&auxes->by_cpu, auxes, KEY_CPU) ||
	    make_index(&auxes->by_tid, auxes, KEY_TID) || make_index(&auxes->all, auxes, KEY_ALL))
		return -ENOMEM;
	return 0;
}

void trace_auxes_free(struct trace_auxes *auxes)
{
	free_index(&auxes->by_cpu);
	free_index(&auxes->by_tid);
	free_index(&auxes->all);
	free(auxes->list);
	*auxes = (struct trace_auxes){0};
}

/* NULL: no record has this key. */
static struct trace_aux_group *find_group(const struct trace_aux_index *index, int32_t key)
{
	size_t lo = 0, hi = index->nr_groups;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (index->groups[mid].key < key)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < index->nr_groups && index->groups[lo].key == key ? &index->groups[lo] : NULL;
}

/* ---- gaps of the recorder ---- */

/* The group's first record with this flag and without has_gap; NULL: no more. */
static struct trace_aux *next_without_gap(struct trace_auxes *auxes,
					  const struct trace_aux_index *index,
					  struct trace_aux_group *group, size_t loss)
{
	if (!group)
		return NULL;
	/* has_gap is never reset: each record is skipped only once per flag */
	for (; group->next[loss] < group->nr; group->next[loss]++) {
		struct trace_aux *aux =
			&auxes->list[index->order[group->begin + group->next[loss]]];

		if (!aux->has_gap && aux->flags & losses[loss].flag)
			return aux;
	}
	return NULL;
}

bool trace_auxes_add_loss_size(struct trace_auxes *auxes, const struct auxtap_gap *gap)
{
	struct trace_aux *aux = NULL, *unnamed;
	size_t loss = 0;

	while (loss < NR_LOSSES && losses[loss].cause != gap->cause)
		loss++;
	if (loss == NR_LOSSES)
		return false;
	if (gap->tid >= 0) {
		aux = next_without_gap(auxes, &auxes->by_tid, find_group(&auxes->by_tid, gap->tid),
				       loss);
		unnamed = next_without_gap(auxes, &auxes->by_tid, find_group(&auxes->by_tid, -1),
					   loss);
		if (!aux || (unnamed && unnamed < aux))
			aux = unnamed;
	} else if (gap->cpu >= 0) {
		aux = next_without_gap(auxes, &auxes->by_cpu, find_group(&auxes->by_cpu, gap->cpu),
				       loss);
	} else {
		aux = next_without_gap(auxes, &auxes->all, find_group(&auxes->all, 0), loss);
	}
	if (!aux)
		return false;
	aux->has_gap = true;
	aux->nr_lost = gap->nr_bytes;
	aux->exact = gap->exact;
	return true;
}

/* ---- of one ring ---- */

static int by_end(const void *a, const void *b)
{
	const struct trace_aux *x = *(const struct trace_aux *const *)a;
	const struct trace_aux *y = *(const struct trace_aux *const *)b;

	if (trace_aux_end(x) != trace_aux_end(y))
		return trace_aux_end(x) < trace_aux_end(y) ? -1 : 1;
	return x < y ? -1 : x > y; /* in the order in which they were added */
}

int trace_auxes_select(const struct trace_auxes *auxes, bool per_cpu, int32_t key,
		       const struct trace_aux ***found, size_t *nr)
{
	const struct trace_aux_index *index = per_cpu ? &auxes->by_cpu : &auxes->by_tid;
	const struct trace_aux_group *groups[2] = {NULL, NULL};

	*found = NULL;
	*nr = 0;
	groups[0] = find_group(index, per_cpu ? key : tid_key(key));
	if (!per_cpu && key >= 0)
		groups[1] = find_group(index, -1);
	for (unsigned int i = 0; i < 2; i++)
		*nr += groups[i] ? groups[i]->nr : 0;
	if (!*nr)
		return 0;
	*found = calloc(*nr, sizeof(**found));
	if (!*found)
		return -ENOMEM;
	*nr = 0;
	for (unsigned int i = 0; i < 2; i++)
		for (size_t k = 0; groups[i] && k < groups[i]->nr; k++)
			(*found)[(*nr)++] = &auxes->list[index->order[groups[i]->begin + k]];
	qsort((void *)*found, *nr, sizeof(**found), by_end);
	return 0;
}

static void set_part(struct trace_aux_cursor *c, unsigned int part, struct trace_aux_index *index,
		     int32_t key, uint64_t off)
{
	const struct trace_aux_group *group = find_group(index, key);
	size_t lo = group ? group->begin : 0, hi = group ? lo + group->nr : 0;

	c->parts[part].index = index;
	c->parts[part].begin = lo;
	c->parts[part].end = hi;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->auxes->list[index->order[mid]].off < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	c->parts[part].at = lo;
}

void trace_auxes_first(struct trace_aux_cursor *c, struct trace_auxes *auxes, int cpu, int32_t tid,
		       uint64_t off)
{
	*c = (struct trace_aux_cursor){.auxes = auxes};
	if (cpu != -1) {
		set_part(c, 0, &auxes->by_cpu, cpu, off);
		set_part(c, 1, &auxes->by_cpu, -1, off);
	} else if (tid_key(tid) != -1) {
		set_part(c, 0, &auxes->by_tid, tid, off);
		set_part(c, 1, &auxes->by_tid, -1, off);
	} else {
		set_part(c, 0, &auxes->all, 0, off);
	}
}

/*
 * The first entry at or after 'at' whose record is unused. A used record stays used: the links of
 * such entries point to the next entry and are shortened (path halving), so that all calls together
 * are linear.
 */
static size_t skip_used(const struct trace_auxes *auxes, struct trace_aux_index *index, size_t at)
{
	for (;;) {
		while (index->link[at] != at) {
			index->link[at] = index->link[index->link[at]];
			at = index->link[at];
		}
		if (at == auxes->nr || !auxes->list[index->order[at]].used)
			return at;
		index->link[at] = at + 1;
	}
}

struct trace_aux *trace_auxes_next(struct trace_aux_cursor *c, bool unused)
{
	size_t best = SIZE_MAX;
	unsigned int of = 0;

	for (unsigned int i = 0; i < 2; i++) {
		struct trace_aux_index *index = c->parts[i].index;

		if (!index || c->parts[i].at >= c->parts[i].end)
			continue;
		if (unused)
			c->parts[i].at = skip_used(c->auxes, index, c->parts[i].at);
		/* the list is sorted: of two records the one with the lower index comes first */
		if (c->parts[i].at < c->parts[i].end && index->order[c->parts[i].at] < best) {
			best = index->order[c->parts[i].at];
			of = i;
		}
	}
	if (best == SIZE_MAX)
		return NULL;
	c->parts[of].at++;
	return &c->auxes->list[best];
}

struct trace_aux *trace_auxes_back(struct trace_aux_cursor *c)
{
	struct trace_aux *best = NULL;
	unsigned int of = 0;

	for (unsigned int i = 0; i < 2; i++) {
		const struct trace_aux_index *index = c->parts[i].index;
		struct trace_aux *aux;

		if (!index || c->parts[i].at == c->parts[i].begin)
			continue;
		aux = &c->auxes->list[index->order[c->parts[i].at - 1]];
		if (!best || aux > best) {
			best = aux;
			of = i;
		}
	}
	if (best)
		c->parts[of].at--;
	return best;
}
