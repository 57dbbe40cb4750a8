/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The AUX records of a recording, found by ring: whose record it is, the file does not always say.
 *
 *   add…  sort (where offsets matter)  index  then: trace_auxes_select(), _note(), _first() …
 */
#ifndef STREAM_TRACE_AUX_H
#define STREAM_TRACE_AUX_H

#include <auxtap/gap.h>
#include <auxtap/perfdata.h>

#define TRACE_AUX_LOSS (PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_COLLISION)

/* A PERF_RECORD_AUX. A CPU or thread that the record does not name is -1, its time 0. */
struct trace_aux {
	uint64_t off, size, flags, time; /* off + size does not overflow */
	int32_t pid, tid;
	int cpu;
	bool used; /* its bytes were found */
	/* of one with flags of loss: what the recorder noted, see trace_auxes_add_loss_size() */
	bool noted, exact;
	uint64_t nr_lost;
};

/* Records with the same CPU or thread, in the order of the list. */
struct trace_aux_group {
	int32_t key;
	size_t begin, nr; /* in the index */
	size_t next[3];	  /* for each flag of loss: those before were noted, or have it not */
};

struct trace_aux_index {
	size_t *at;   /* numbers in the list, by group */
	size_t *link; /* the next entry whose record may be unused: itself, or a later one */
	struct trace_aux_group *groups; /* by key */
	size_t nr_groups;
};

/* All zero: empty. */
struct trace_auxes {
	struct trace_aux *list;
	size_t nr, max;
	struct trace_aux_index by_cpu, by_tid, all;
};

/* False: the record is too short; what it lacks is 0. */
bool trace_aux_read(struct trace_aux *aux, const struct auxtap_record *rec);
/* Cause of the gap at an AUX record whose flags report a loss. */
enum auxtap_gap_cause trace_aux_cause(uint64_t flags);
static inline uint64_t trace_aux_end(const struct trace_aux *aux)
{
	return aux->off + aux->size;
}

/* 0 or -ENOMEM */
int trace_auxes_add(struct trace_auxes *auxes, const struct trace_aux *aux);
/*
 * By offset, time, CPU. Stock perf may save the newest records a second time (docs/audit.md): they
 * are dropped.
 */
void trace_auxes_sort(struct trace_auxes *auxes);
/* After the last one was added, before what is below. 0 or -ENOMEM. */
int trace_auxes_index(struct trace_auxes *auxes);
void trace_auxes_free(struct trace_auxes *auxes);

/*
 * What auxtap's recorder noted of a loss: it is the first record of that ring with the cause's flag
 * of which nothing was noted yet. tid -1: a CPU's ring; cpu -1, too: any. False: there is no such
 * record.
 */
bool trace_auxes_add_loss_size(struct trace_auxes *auxes, const struct auxtap_gap *gap);
/*
 * The records of a CPU's or thread's ring, by their ends: those that name it, and of threads also
 * those that name no thread. The caller frees *found. 0 or -ENOMEM.
 */
int trace_auxes_select(const struct trace_auxes *auxes, bool per_cpu, int32_t key,
		       const struct trace_aux ***found, size_t *nr);

/*
 * The records that may be of a ring, those that do not name its kind included, in the order of the
 * sorted list. cpu -1: a thread's ring; tid -1, too: of any.
 */
struct trace_aux_cursor {
	struct trace_auxes *auxes;
	struct {
		struct trace_aux_index *index;
		size_t begin, at, end; /* entries */
	} parts[2];
};
/* From the first one that begins at or after 'off' on. */
void trace_auxes_first(struct trace_aux_cursor *c, struct trace_auxes *auxes, int cpu, int32_t tid,
		       uint64_t off);
/* The next one; NULL: no more. unused: those that are used are passed over, each once in all. */
struct trace_aux *trace_auxes_next(struct trace_aux_cursor *c, bool unused);
/* The one before the next one, which becomes the next one; NULL: no earlier one. */
struct trace_aux *trace_auxes_back(struct trace_aux_cursor *c);

#endif
