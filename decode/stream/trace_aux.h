/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The AUX records of a recording, found by ring. A record does not always name its ring.
 *
 *   add, ..., sort (if offsets matter), index; then queries: trace_auxes_select(), _first(), ...
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
	bool used; /* the file contains its bytes */
	/* it has flags of loss, and these are from a gap of the recorder:
	 * trace_auxes_add_loss_size() */
	bool has_gap, exact;
	uint64_t nr_lost;
};

/* Records with the same CPU or thread, in the order of the list. */
struct trace_aux_group {
	int32_t key;
	size_t begin, nr; /* position in the index */
	size_t next[3];	  /* for each flag of loss: records before have has_gap, or not the flag */
};

struct trace_aux_index {
	size_t *order; /* indices in the list, sorted by group */
	size_t *link;  /* the next entry whose record may be unused: itself, or a later one */
	struct trace_aux_group *groups; /* sorted by key */
	size_t nr_groups;
};

/* All zero: empty. */
struct trace_auxes {
	struct trace_aux *list;
	size_t nr, max;
	struct trace_aux_index by_cpu, by_tid, all;
};

/* False: the record is too short; missing fields are 0. */
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
 * Sorts by offset, time, CPU. Stock perf may save the newest records twice (docs/audit.md): the
 * copies are dropped.
 */
void trace_auxes_sort(struct trace_auxes *auxes);
/* Call it after the last record was added and before the functions below. 0 or -ENOMEM. */
int trace_auxes_index(struct trace_auxes *auxes);
void trace_auxes_free(struct trace_auxes *auxes);

/*
 * Adds the size of a loss, from a gap of auxtap's recorder, to the ring's first record that has the
 * cause's flag and no size yet. tid -1: a CPU's ring; cpu -1, too: any ring. False: there is no
 * such record.
 */
bool trace_auxes_add_loss_size(struct trace_auxes *auxes, const struct auxtap_gap *gap);
/*
 * The records of a CPU's or thread's ring, sorted by their ends: those that name the CPU or thread;
 * for a thread also those that name none. The caller frees *found. 0 or -ENOMEM.
 */
int trace_auxes_select(const struct trace_auxes *auxes, bool per_cpu, int32_t key,
		       const struct trace_aux ***found, size_t *nr);

/*
 * Iterates over the records that may belong to a ring, also those that name no CPU or thread, in
 * the order of the sorted list. cpu -1: a thread's ring; tid -1, too: any ring.
 */
struct trace_aux_cursor {
	struct trace_auxes *auxes;
	struct {
		struct trace_aux_index *index;
		size_t begin, at, end; /* entries */
	} parts[2];
};
/* Starts at the first record that begins at or after 'off'. */
void trace_auxes_first(struct trace_aux_cursor *c, struct trace_auxes *auxes, int cpu, int32_t tid,
		       uint64_t off);
/*
 * The next record; NULL: no more. unused: skips used records; all such calls together are linear.
 */
struct trace_aux *trace_auxes_next(struct trace_aux_cursor *c, bool unused);
/* Goes back by one record and returns it; NULL: there is no earlier one. */
struct trace_aux *trace_auxes_back(struct trace_aux_cursor *c);

#endif
