/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables made of the sideband records: the process and the name of each thread, which thread ran on
 * a CPU when, where the AUX stream has losses, which records were lost. Mappings go straight into
 * the image set. The tables are filled before decoding and then read-only.
 */
#ifndef AUXTAP_SIDEBAND_H
#define AUXTAP_SIDEBAND_H

#include "decode/stream/trace_aux.h"
#include "decode/stream/trace_ids.h"
#include "decode/stream/trace_keys.h"

#include <auxtap/decode.h>

struct sideband_comm {
	uint64_t time;
	char comm[16];
};

struct sideband_thread {
	int32_t tid, pid;
	uint64_t trace_start;	     /* its first ITRACE_START; 0: none */
	struct sideband_comm *comms; /* sorted by time */
	size_t nr_comms, max_comms;
};

struct sideband_switch {
	uint64_t time;
	int32_t pid, tid; /* the thread that runs from then on; tid -1: unknown */
};

struct sideband_cpu {
	int cpu;
	struct sideband_switch *switches; /* sorted by time after sideband_finish() */
	size_t nr, max;
	struct sideband_switch first; /* the thread that ran before the first switch */
	int32_t itrace_start_tid;     /* of the last ITRACE_START; -1: none yet */
};

/*
 * What an AUX record of a CPU's buffer covers. If only certain tasks are traced, all of it is trace
 * of the thread that the record names.
 */
struct sideband_aux_range {
	uint64_t off, end;
	int32_t pid, tid;
	int cpu;
};

/* What the AUX records of one ring cover. The ring is a thread's or a CPU's. */
struct sideband_ring {
	int32_t tid; /* -1: the CPU's */
	int cpu;
	uint64_t begin, end; /* offsets in the AUX stream */
	uint64_t time;	     /* of the newest record */
	uint64_t written;    /* bytes that the unit wrote, as auxtap recorded; 0: unknown */
};

/* A PERF_RECORD_LOST. */
struct sideband_lost {
	uint64_t time, nr;
	int32_t tid;
	int cpu;
};

struct time_conv {
	bool valid; /* timestamps of the trace can be converted to perf's time */
	uint16_t shift;
	uint64_t mult, zero, offset; /* offset: is added to a timestamp first */
	/* time_mask and time_cycles of perf_event_mmap_page; mask 0: the counter has 64 bits */
	uint64_t mask, cycles;
};

struct sideband {
	struct auxtap_image_set *images;
	struct sideband_thread **threads;
	size_t nr_threads, max_threads;
	struct hash_map thread_index; /* by tid */
	struct sideband_cpu *cpus;
	size_t nr_cpus, max_cpus;
	struct trace_auxes lossy;    /* AUX records whose flags report a loss */
	struct sideband_ring *rings; /* by the index of their key; empty in snapshot mode */
	struct trace_keys ring_keys;
	size_t max_rings;
	/* event ids from ID_INDEX; in per-thread mode also from records that name a thread */
	struct trace_ids ids;
	struct sideband_lost *lost;
	size_t nr_lost, max_lost;
	struct time_conv conv;
	int32_t first_pid, first_tid; /* of the first ITRACE_START or exec; -1: none */
	struct sideband_aux_range
		*aux_ranges; /* sorted by cpu and offset after sideband_finish() */
	size_t nr_aux_ranges, max_aux_ranges;
	bool per_thread;	/* no PER_CPU_MMAPS: context switches do not matter */
	bool has_switches;	/* there are context-switch records, not only ITRACE_START */
	bool has_overwrite_aux; /* there are AUX records with PERF_AUX_FLAG_OVERWRITE */
	/* AUX records and trace have unrelated offsets: perf's snapshots, AUX samples, raw files */
	bool aux_offsets_unusable;
	bool traces_some_tasks; /* only certain tasks are traced, not all tasks of a CPU */
};

void sideband_init(struct sideband *sb, struct auxtap_image_set *images);
void sideband_free(struct sideband *sb);
/* Adds what a kernel record says; records of other types are ignored. 0 or -ENOMEM. */
int sideband_record(struct sideband *sb, const struct auxtap_record *rec);
/* Call it after the last record, before the first query. 0 or -ENOMEM. */
int sideband_finish(struct sideband *sb);
struct sideband_thread *sideband_thread(struct sideband *sb, int32_t tid, bool create);
/* The ring of a thread or, with tid -1, of a CPU; it is added if it is new. NULL: out of memory. */
struct sideband_ring *sideband_ring(struct sideband *sb, int32_t tid, int cpu);
/* Time of a thread's first ITRACE_START; 0: unknown. */
uint64_t sideband_trace_start(const struct sideband *sb, int32_t tid);
int32_t sideband_pid(const struct sideband *sb, int32_t tid);
/* The thread's name at that time, owned by sb; NULL: unknown. */
const char *sideband_comm(const struct sideband *sb, int32_t tid, uint64_t time);
/* The thread that ran on cpu at that time. False: unknown. */
bool sideband_running(const struct sideband *sb, int cpu, uint64_t time, int32_t *pid,
		      int32_t *tid);
/* The thread whose trace is at offset off of cpu's buffer. False: AUX records do not say it. */
bool sideband_owner(const struct sideband *sb, int cpu, uint64_t off, int32_t *pid, int32_t *tid);
/*
 * Calls fn for each record of a file without a header that contains raw records as copied from a
 * data ring (--sideband). rec is valid during the call. sample_type describes the sample_id trailer
 * of each record. Stops at the first non-zero result of fn and returns it (*err is set for -ENOMEM
 * only); -EBADMSG: a record is too small or truncated.
 */
int sideband_each_raw(const char *path, uint64_t sample_type,
		      int (*fn)(void *ctx, const struct auxtap_record *rec), void *ctx,
		      struct auxtap_error *err);
/* cpu: the CPU of records that name none; -1: unknown. */
int sideband_read_raw(struct sideband *sb, const char *path, uint64_t sample_type, int cpu,
		      struct auxtap_error *err);
/* Stands for the traced CPU of raw files if no record names it. */
#define SIDEBAND_UNNUMBERED_CPU INT32_MAX

static inline uint64_t time_from_tsc(const struct time_conv *conv, uint64_t tsc)
{
	uint64_t quot, rem;

	if (!conv->valid || !tsc)
		return 0;
	if (conv->shift > 63)
		return 0;
	tsc += conv->offset;
	if (conv->mask)
		tsc = conv->cycles + ((tsc - conv->cycles) & conv->mask);
	quot = tsc >> conv->shift;
	rem = tsc & ((1ull << conv->shift) - 1);
	return conv->zero + quot * conv->mult + ((rem * conv->mult) >> conv->shift);
}

#endif
