/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the decoders know from sideband records: which process a thread belongs to and its
 * name, which thread ran on a CPU when, where the AUX stream broke, which records were
 * lost. Mappings go straight into the image set. Filled before decoding; read-only then.
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
	uint64_t started;	     /* its first ITRACE_START; 0: none */
	struct sideband_comm *comms; /* by time */
	size_t nr_comms, max_comms;
};

struct sideband_switch {
	uint64_t time;
	int32_t pid, tid; /* who runs from now on; tid -1: unknown */
};

struct sideband_cpu {
	int cpu;
	struct sideband_switch *switches; /* by time */
	size_t nr, max;
	struct sideband_switch first; /* who ran before the first switch */
	int32_t start_tid;	      /* of its ITRACE_START; -1: none yet */
};

/*
 * An AUX record of a CPU's buffer: where the tracing follows threads, its bytes are that thread's.
 */
struct sideband_slice {
	uint64_t off, end;
	int32_t pid, tid;
	int cpu;
};

/* What the AUX records of one ring cover: of a thread's, or with a CPU of all threads there. */
struct sideband_ring {
	int32_t tid; /* -1: the CPU's */
	int cpu;
	uint64_t begin, end; /* offsets */
	uint64_t time;	     /* of the newest record */
	uint64_t written;    /* by the unit, as auxtap's recorder noted; 0: not known */
};

struct sideband_lost {
	uint64_t time, nr;
	int32_t tid;
	int cpu;
};

struct time_conv {
	bool valid; /* the stream's time stamps and the sideband's can be compared */
	uint16_t shift;
	uint64_t mult, zero, offset; /* offset: added to a time stamp first */
	/* mask: the bits that the counter has, seen from cycles; 0: all */
	uint64_t mask, cycles;
};

struct sideband {
	struct auxtap_image_set *images;
	struct sideband_thread **threads;
	size_t nr_threads, max_threads;
	struct hash_map thread_numbers; /* by tid */
	struct sideband_cpu *cpus;
	size_t nr_cpus, max_cpus;
	struct trace_auxes lossy;    /* AUX records with flags of loss */
	struct sideband_ring *rings; /* not of snapshots; by the number of their key */
	struct trace_keys ring_keys;
	size_t max_rings;
	struct trace_ids ids; /* of events: the file's; per_thread by the threads' records, too */
	struct sideband_lost *lost;
	size_t nr_lost, max_lost;
	struct time_conv conv;
	int32_t first_pid, first_tid;  /* of ITRACE_START, else of an exec; -1 */
	struct sideband_slice *slices; /* by cpu and offset after sideband_done() */
	size_t nr_slices, max_slices;
	bool per_thread;      /* no PER_CPU_MMAPS: switches do not matter */
	bool has_switches;    /* more than starts of tracing tells who runs */
	bool overwritten;     /* AUX records are of snapshots */
	bool snapshot;	      /* offsets of AUX records are not those of the buffers */
	bool follows_threads; /* trace is on for certain threads only, not for a whole CPU */
};

void sideband_init(struct sideband *sb, struct auxtap_image_set *images);
void sideband_free(struct sideband *sb);
/* Takes one kernel record; others are ignored. 0 or -ENOMEM. */
int sideband_record(struct sideband *sb, const struct auxtap_record *rec);
/* After the last record, before the first question. 0 or -ENOMEM. */
int sideband_done(struct sideband *sb);
struct sideband_thread *sideband_thread(struct sideband *sb, int32_t tid, bool create);
/* The ring of a thread or, with tid -1, of a CPU; makes it. NULL: out of memory. */
struct sideband_ring *sideband_ring(struct sideband *sb, int32_t tid, int cpu);
/* When the trace of a thread began, by its ITRACE_START; 0: not known. */
uint64_t sideband_started(const struct sideband *sb, int32_t tid);
int32_t sideband_pid(const struct sideband *sb, int32_t tid);
/* NULL: not known. Owned by sb. */
const char *sideband_comm(const struct sideband *sb, int32_t tid, uint64_t time);
/* Who ran on cpu at time: false if not known. */
bool sideband_running(const struct sideband *sb, int cpu, uint64_t time, int32_t *pid,
		      int32_t *tid);
/* Whose trace lies at offset off of cpu's buffer: false if only the time can tell. */
bool sideband_owner(const struct sideband *sb, int cpu, uint64_t off, int32_t *pid, int32_t *tid);
/*
 * A file without a header, of raw records as copied out of a data ring (--sideband): calls fn for
 * each, which is valid during the call; sample_type says what the trailer of each contains. Stops
 * at the first non-zero result of fn and returns it (*err is set for -ENOMEM only); -EBADMSG: a
 * record is too small or cut off.
 */
int sideband_each_raw(const char *path, uint64_t sample_type,
		      int (*fn)(void *ctx, const struct auxtap_record *rec), void *ctx,
		      struct auxtap_error *err);
/* cpu: of the file's records that name none; -1: not known. */
int sideband_read_raw(struct sideband *sb, const char *path, uint64_t sample_type, int cpu,
		      struct auxtap_error *err);
/* The traced CPU of raw files, whose number no record has. */
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
