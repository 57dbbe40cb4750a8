/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A buffer is a list of extents of trace; a stream is one trace unit's trace in a buffer, which is
 * read and decoded a little at a time. Each stream has its own flow decoder, so that few bytes are
 * decoded ahead of the events, and code that is cached for one unit is not used for another.
 */
#ifndef AUXTAP_CS_STREAM_H
#define AUXTAP_CS_STREAM_H

#include "cs_emit.h"
#include "cs_opencsd.h"
#include "cs_frames.h"

/* Contiguous trace of a CPU or thread, for example the bytes that an AUX record covers. */
struct cs_extent {
	uint64_t off, size; /* position in the buffer's AUX stream */
	uint64_t file_off;
	uint64_t time;	       /* of the AUX record, written after the trace; 0: not known */
	uint64_t since, until; /* traced after since, at the latest at until */
	uint64_t nr_lost;      /* bytes lost before it */
	uint64_t nr_seen;      /* bytes removed before it: the previous snapshot has them, too */
	bool collided;	       /* trace before it is lost, the number of bytes is unknown */
	bool overwritten;      /* the nr_lost bytes were overwritten between two snapshots */
	bool raw;	       /* FORMAT_RAW: not in frames */
	bool ends_at_time;     /* its last bytes were written at 'time', not earlier */
	bool from_zero;	       /* it begins with the first byte that the unit wrote to the buffer */
	bool joins;	       /* it continues the previous extent without a loss */
	int cpu;
	int32_t pid, tid; /* as in the AUX record; -1: not known */
};

struct cs_buffer {
	struct cs_extent *extents;
	size_t nr, max;
	enum cs_format format; /* of the extents that are not raw */
	/* by trace ID: a Trace Info packet says that speculative elements are pending */
	bool speculated[CS_NR_IDS];
	struct cs_sync_scan raw_scan; /* the same for the raw extents */
	int cpu;
	int32_t tid;
	bool of_one_thread;
	bool discontinuous; /* while it is filled: the next bytes do not continue the last extent */
	bool cpu_unknown;   /* of raw trace: units are taken to be alike, as in perf */
	int fd;		    /* of a snapshot's file; -1: the perf.data file */
	/* trace bytes in the frames, by trace ID */
	uint64_t nr_bytes[CS_NR_IDS];
};

/* An exec in a run of extents: the new program starts at off; its records have this time. */
struct cs_exec {
	size_t extent;
	uint64_t off, time;
};

#define CS_EXECS 16 /* in an extent; an extent with more is not searched */

/* A report of the stream itself, to be emitted before the steps of its flow decoder. */
struct cs_item {
	bool is_break; /* a new run of extents begins; else an error */
	struct flow_step step;
	char why[96];
};

#define CS_OWN_ITEMS 2 /* at a time */

struct cs_stream {
	struct auxtap_decoder *dec;
	const struct cs_buffer *buffer;
	const struct cs_unit *unit;
	/* the run: extents that continue each other in the trace and in the file */
	size_t first_extent;
	size_t nr_extents;
	enum cs_format format;
	void *shared; /* returned by flow_ops.open */
	struct flow *flow;
	bool joins;	/* the next bytes continue those that the flow decoder had */
	bool has_bytes; /* the flow decoder may have more steps of the bytes it was given */
	struct cs_bytes bytes;
	uint8_t *buf;
	size_t have, done; /* bytes in buf; bytes of it that were decoded */
	uint64_t buf_off;
	size_t fed_extent; /* the extent whose bytes were decoded last */
	bool reading, over;
	struct cs_exec *execs; /* of the run, by offset */
	size_t nr_execs, max_execs;
	/*
	 * The thread of the newest trace that the flow decoder was given, which is ahead of the
	 * events: the flow decoder's code is read for this thread.
	 */
	struct cs_memory read_mem;
	int32_t read_tid;
	/* items that were not yet emitted: the stream's own ones, then the decoder's steps */
	struct cs_item own[CS_OWN_ITEMS];
	const struct flow_step *steps;
	size_t nr_own, nr_steps, at_item;
	int32_t tid; /* of the context that was emitted last; -1: none */
	/* the arguments with which cs_stream_owner() was called last for an event */
	size_t owner_extent;
	uint64_t owner_time;
	int32_t owner_tid;
	bool owner_known;
	struct cs_emit emit;
	struct flow_event *ev; /* the next event; NULL: none was read yet */
	bool finished;
	size_t number; /* order of events with the same time */
	int error;
};

int cs_stream_init(struct cs_stream *s, struct auxtap_decoder *dec, const struct cs_buffer *buffer,
		   const struct cs_unit *unit, const struct cs_memory_dumps *dumps);
void cs_stream_free(struct cs_stream *s);
/* cs_who.c */
/* The thread of trace at off: the PID that the trace contains, if it is known; else by sideband. */
void cs_stream_owner(const struct cs_stream *s, int32_t context, size_t extent, uint64_t off,
		     uint64_t time, int32_t *pid, int32_t *tid);
/* The trace at off was made after since and at the latest at until, by AUX records and execs. */
void cs_stream_time_bounds(const struct cs_stream *s, size_t extent, uint64_t off, uint64_t *since,
			   uint64_t *until);
/* Sets mem to the thread and times of the trace at off. False: they were set already. */
bool cs_stream_set_memory(const struct cs_stream *s, struct cs_memory *mem, int32_t pid,
			  int32_t tid, size_t extent, uint64_t off);
/*
 * The times of an extent are coarse: if a thread called execve() between them, only the trace
 * itself shows where the new program starts. This finds those places in the current run. It works
 * only for the trace of a single thread, and not in frames, where offsets are not exact.
 */
void cs_stream_find_execs(struct cs_stream *s);
/* The next event, valid until the next call; NULL at the end. */
struct flow_event *cs_stream_next(struct cs_stream *s);

#endif
