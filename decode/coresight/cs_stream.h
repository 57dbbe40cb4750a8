/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace of one buffer, in extents; and a stream: what one trace unit has in it, read and
 * decoded a little at a time. Each stream has a decoder of its own, so that what is read ahead of
 * the events is little, and what code one unit saw is not what another sees.
 */
#ifndef AUXTAP_CS_STREAM_H
#define AUXTAP_CS_STREAM_H

#include "cs_flow.h"
#include "cs_follow.h"
#include "cs_frames.h"

/* What an AUX record covers: trace of a CPU or thread without a break in it. */
struct cs_extent {
	uint64_t off, size; /* in the buffer's stream */
	uint64_t file_off;
	uint64_t time;	       /* of the AUX record: the end; 0: not known */
	uint64_t since, until; /* it was traced later than the one, not later than the other */
	uint64_t nr_lost;
	uint64_t nr_seen;  /* bytes before it that the snapshot before had: taken out */
	bool collided;	   /* something before it is lost, how much is unknown */
	bool overwritten;  /* what is lost, in a ring, between two snapshots of it */
	bool raw;	   /* not in frames */
	bool ends_at_time; /* not before */
	bool from_zero;	   /* it begins with the first byte that the unit wrote to the buffer */
	bool joins;	   /* the extent before continues here, in the file too */
	int cpu;
	int32_t pid, tid; /* whose record it is; -1 */
};

struct cs_buffer {
	struct cs_extent *extents;
	size_t nr, max;
	enum cs_format format; /* of what is not raw */
	/* a synchronisation point of the unit starts with speculated elements */
	bool speculated[CS_NR_IDS];
	struct cs_sync_scan raw_scan; /* of what is raw */
	int cpu;
	int32_t tid;
	bool of_one_thread;
	bool broken;	  /* while it is filled: what comes does not continue the last extent */
	bool cpu_unknown; /* of raw trace: units are taken to be alike, as perf does */
	int fd;		  /* a snapshot's; -1: the perf.data file */
	/* what the frames hold, by trace ID */
	uint64_t nr_bytes[CS_NR_IDS];
};

/* Another program begins in a run: its records have this time. */
struct cs_exec {
	size_t extent;
	uint64_t off, time;
};

#define CS_EXECS 16 /* of an extent; with more, none is looked for */

/* What the stream itself has to report, between the steps of its decoder. */
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
	size_t at;  /* first extent of the run being read */
	size_t run; /* extents of it */
	enum cs_format format;
	void *shared; /* what flow_ops.open gave */
	struct flow *decoder;
	bool joins;	/* what it is given next continues what it had */
	bool has_bytes; /* of which it may have more to say */
	struct cs_bytes bytes;
	uint8_t *buf;
	size_t have, done; /* of buf */
	uint64_t buf_off;
	size_t feeding; /* extent */
	bool reading, over;
	struct cs_exec *execs; /* of the run, by offset */
	size_t nr_execs, max_execs;
	/* who runs, by what was read last: for the code that the library asks for */
	struct cs_memory reads;
	int32_t read_tid;
	/* not yet followed: own ones first */
	struct cs_item own[CS_OWN_ITEMS];
	const struct flow_step *steps;
	size_t nr_own, nr_steps, at_item;
	int32_t tid; /* by the context that was followed last; -1 */
	/* what the last answer to 'who' was for */
	size_t who_extent;
	uint64_t who_time;
	int32_t who_tid;
	bool who_known;
	struct cs_flow flow;
	struct flow_event *ev; /* the next one; NULL: not looked for yet */
	bool finished;
	size_t number; /* ties of time go by it */
	int error;
};

int cs_stream_init(struct cs_stream *s, struct auxtap_decoder *dec, const struct cs_buffer *buffer,
		   const struct cs_unit *unit, const struct cs_dumps *dumps);
void cs_stream_free(struct cs_stream *s);
/* cs_who.c */
/* By the number that the CPU traced, if there is such a thread; else by the records. */
void cs_stream_whose(const struct cs_stream *s, int32_t context, size_t extent, uint64_t off,
		     uint64_t time, int32_t *pid, int32_t *tid);
/*
 * The trace at off was made later than since, not later than until: by records, and by execs in the
 * flow.
 */
void cs_stream_bounds(const struct cs_stream *s, size_t extent, uint64_t off, uint64_t *since,
		      uint64_t *until);
/* Whose code is read for the trace at off. False: nothing is different from what it was. */
bool cs_stream_memory(const struct cs_stream *s, struct cs_memory *mem, int32_t pid, int32_t tid,
		      size_t extent, uint64_t off);
/*
 * The times of an extent are coarse: where an exec lies between them, the trace itself shows which
 * part is of which program. Only of a thread's own trace, not in frames, where offsets are not
 * exact.
 */
void cs_stream_find_execs(struct cs_stream *s);
/* The next event, which lives until the one after it is asked for; NULL at the end. */
struct flow_event *cs_stream_next(struct cs_stream *s);

#endif
