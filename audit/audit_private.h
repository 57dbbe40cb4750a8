/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside of the auditor: audit.c (what all share), families.c (what they differ in), records.c (a
 * recording's records by ring), stream.c (one ring's offsets and flags), watermarks.c (its
 * watermarks), cover.c (its bytes), wakeups.c (wakeups), flags.c (flags that must or must not be
 * there), log.c (event logs), compare_unit.c (a unit's log against the recording), print_*.c.
 */
#ifndef AUXTAP_AUDIT_PRIVATE_H
#define AUXTAP_AUDIT_PRIVATE_H

#include "decode/stream/trace_span.h"

#include <auxtap/audit.h>

/* In the order of auxtap_audit_get_invariant(). */
enum invariant {
	/* recordings */
	INV_FILE_DAMAGED,
	INV_FILE_UNFINISHED,
	INV_NO_AUX_RECORDS,
	INV_AUX_RANGE,
	INV_AUX_ORDER,
	INV_AUX_OVERLAP,
	INV_AUX_HOLE,
	INV_RECORD_LOST,
	INV_TIME_BACK,
	INV_REPEATED,
	INV_EMPTY_RECORD,
	INV_EMPTY_FORMAT,
	INV_FLAG_UNKNOWN,
	INV_FLAG_FORMAT,
	INV_FLAG_FOREIGN,
	INV_TRUNCATED_INSIDE,
	INV_TRUNCATION_UNFLAGGED,
	INV_COLLISION_UNFLAGGED,
	INV_MODE_MIXED,
	INV_LARGER_THAN_BUFFER,
	INV_TRUNCATED,
	INV_PARTIAL,
	INV_COLLISION,
	INV_NOT_RESUMED,
	INV_TRACE_OVERLAP,
	INV_TRACE_HOLE,
	INV_TRACE_CUT,
	INV_BYTES_MISSING,
	INV_BYTES_WITHOUT_RECORD,
	INV_PAST_LIMIT,
	INV_MISSED_INTERRUPT,
	INV_LATE_INTERRUPT,
	INV_NOTED_LOSS,
	INV_NOTED_MISSING,
	INV_ODD_WATERMARK,
	INV_SKIPPED,
	INV_PADDING_MISSING,
	INV_NO_PROGRESS,
	INV_WAKEUP_MISSING,
	INV_WAKEUP_CAUSE,
	INV_WAKEUPS_UNNOTED,
	INV_TRUNCATED_AGAIN,
	INV_NOT_DISABLED,
	/* logs */
	INV_LOG_DAMAGED,
	INV_LOG_TIME_BACK,
	INV_LOG_POINTER_BACK,
	INV_LOG_PAST_LIMIT,
	INV_LOG_OVERWRITTEN,
	INV_LOG_LIMIT_AHEAD,
	INV_LOG_TAIL_AHEAD,
	INV_LOG_EARLY,
	INV_LOG_LATE,
	INV_LOG_MISSING,
	INV_LOG_DOUBLED,
	INV_LOG_LOST,
	INV_LOG_STOPPED,
	INV_LOG_GAP,
	INV_LOG_LOST_WITH_SPACE,
	INV_LOG_THRESHOLD_LATE,
	INV_LOG_NO_WAKEUP,
	INV_LOG_WAKEUP,
	INV_LOG_GOES_ON,
	INV_LOG_FREED,
	/* both */
	INV_NOT_WRITTEN,
	INV_UNIT_BYTES_UNRECORDED,
	INV_LOSS_UNFLAGGED,
	INV_LOSS_SILENT,
	INV_FLAG_CAUSE,
	INV_RING_UNLOGGED,
	INV_NR
};

/* A record that matters, of a recording. */
enum entry_kind {
	ENTRY_AUX,
	ENTRY_TRACE,
	ENTRY_LOST,
	ENTRY_START,
};

struct entry {
	uint64_t key; /* of the ring */
	uint64_t seq; /* in the file */
	enum entry_kind kind;
	int32_t cpu, tid;
	uint64_t off, size; /* LOST: size is how many */
	uint64_t flags;
	uint64_t nr_stored; /* TRACE: how many of its bytes the file contains */
	uint64_t time, file_off;
	uint64_t watermark;
	bool inherited;	    /* AUX: tasks' children have the event, too */
	uint64_t trace_off; /* TRACE: where in the file its bytes are */
	const char *log;    /* finding of a log: which one */
};

#define KEY_CPU	   (1ull << 62)
#define KEY_THREAD (2ull << 62)

/* What a unit wrote in one go. */
struct unit_extent {
	uint64_t key; /* of the ring; 0: the log does not say */
	uint64_t off, end;
	uint64_t time, line;
	const char *log;
	bool unknown;  /* events are missing: it may have written this */
	bool compared; /* with a ring of the recording */
};

/* From the driver's switching it on to its switching it off. */
struct unit_transaction {
	uint64_t key, seq;
	uint64_t begin, end; /* positions */
	uint64_t time, line, end_line;
	const char *log;
	uint64_t nr_lost;
	bool hole, has_limit, at_limit;
	bool incomplete; /* events are missing */
};

struct unit_history {
	struct unit_extent *extents;
	size_t nr_extents, max_extents;
	struct unit_transaction *transactions;
	size_t nr_transactions, max_transactions;
	char **paths;
	size_t nr_paths, max_paths;
	bool threads_incomplete; /* events are missing, of threads' rings */
};

/* What the rules demand of a family of trace: families.c. */
struct audit_family {
	const char *name;   /* "intel_pt" */
	uint64_t page_size; /* unless it is known: the largest that its machines have */
	/* most pages, less a byte, that may lie between two records without being in any */
	unsigned int max_skip_pages;
	unsigned char pad;	  /* what the driver writes there */
	bool fills_ring;	  /* H4: STOP is at the end of a page, so no byte stays free */
	bool stops_at_page;	  /* H8, H12: it is truncated there, and never collides */
	bool interrupts_at_pages; /* H5: at each watermark that is a power of two of pages */
	bool limit;		  /* I4: it stops at the page of its watermark */
	/* J2, J3: so does a unit whose records have this format; 0: none */
	uint64_t limit_format;
	bool formats;		/* J3: records may have a format */
	bool collides_at_limit; /* J4: COLLISION is of a unit at its limit */
	bool silent_loss;	/* I10: what is lost at the limit has no flag */
};
/* By AUXTRACE_INFO's type (0: the file has no such record), or by name; never NULL. */
const struct audit_family *audit_family_of(uint64_t type);
const struct audit_family *audit_family_named(const char *name);

/* What auxtap's recorder noted of a thread's unit. */
struct unit_note {
	int32_t tid;
	uint64_t written; /* bytes */
};

struct auxtap_audit {
	struct auxtap_audit_opts opts;
	struct auxtap_audit_facts facts;
	const struct audit_family *family; /* never NULL */
	char unit[64];
	bool incomplete; /* the file ends early: what is missing at its end is expected */
	struct entry *entries;
	size_t nr_entries, max_entries;
	/* AUX and LOST records by ring and time, once a noted gap is compared with them */
	const struct entry **by_time;
	size_t nr_by_time;
	struct auxtap_finding *findings;
	size_t nr_findings, max_findings;
	struct auxtap_audit_ring *rings;
	size_t nr_rings, max_rings;
	uint64_t counts[INV_NR];
	struct unit_history units;
	struct auxtap_perfdata *pd; /* while it is audited */
	/* of the ring that is looked at: what no record covers, and may be so */
	struct trace_span *skips;
	size_t nr_skips, max_skips;
	bool late_disable; /* D21: this kernel disables a truncated event late, or never */
	bool cpu0_disable; /* the same of CPU 0 only */
	bool by_auxtap;	   /* it has recorded this */
	bool old_partial;  /* a kernel before 4.12, which has no PARTIAL */
	struct {
		uint64_t truncations, collisions, lost_records; /* that it has read */
		uint64_t aux_size;
		bool emulated;
		struct unit_note *units; /* by thread when all rings were audited */
		size_t nr_units, max_units;
	} noted;	      /* by auxtap's recorder, of a full trace */
	bool overwrite_noted; /* most AUX records are of snapshots */
	bool no_memory;	      /* a finding or ring was lost */
};

/* All entries of one ring. */
struct ring_view {
	struct auxtap_audit *audit;
	struct auxtap_audit_ring *sums;
	const struct entry *entries;
	size_t nr;
};

/* NULL: err says why */
struct auxtap_audit *audit_new(const struct auxtap_audit_opts *opts, struct auxtap_error *err);
/* NULL: no memory, noted in the audit. Valid until the next call. */
struct auxtap_audit_ring *audit_add_ring(struct auxtap_audit *audit, int32_t cpu, int32_t tid);
/* at: the record it is about, or NULL. */
void audit_add_finding(struct auxtap_audit *audit, enum invariant inv,
		       const struct auxtap_audit_ring *ring, const struct entry *at,
		       uint64_t nr_bytes, const char *fmt, ...) AUXTAP_PRINTF(6, 7);
void audit_count_overshoot(struct auxtap_audit_ring *ring, uint64_t nr_bytes);
/* off + size, at most UINT64_MAX */
static inline uint64_t audit_end(uint64_t off, uint64_t size)
{
	return off + size < off ? UINT64_MAX : off + size;
}

/* stream.c */
void audit_stream(const struct ring_view *ring);
/* Bytes that may lie between two records of this unit without a record. */
uint64_t audit_skip_max(const struct auxtap_audit *audit);
/* cover.c: bytes before e that were skipped. */
void audit_skipped(struct auxtap_audit *audit, const struct entry *e, uint64_t from, uint64_t to);
/* cover.c: records against what the file has of their bytes. */
void audit_cover(const struct ring_view *ring);
/* flags.c */
struct auxtap_gap;
void audit_flags_pt(const struct ring_view *ring, const struct entry *e);
void audit_flags_limit(const struct ring_view *ring, const struct entry *e, uint64_t limit);
void audit_flags_ends(const struct ring_view *ring);
/*
 * What the recorder noted: its text; a gap; after all rings, its text compared with the records.
 */
void audit_noted(struct auxtap_audit *audit, const void *text, size_t size);
void audit_flags_noted_gap(struct auxtap_audit *audit, const struct auxtap_gap *gap);
void audit_flags_noted(struct auxtap_audit *audit);
/* wakeups.c: a wakeup log of auxtap's recorder. */
void audit_reader(struct auxtap_audit *audit, const void *data, size_t size);
/* log.c: the log of a unit, into audit->units. */
int audit_unit_log(struct auxtap_audit *audit, const char *path, struct auxtap_error *err);
/* compare_unit.c */
void audit_unit_sort(struct auxtap_audit *audit);
void audit_unit(const struct ring_view *ring);
/* After all rings: what the logs contain of others. */
void audit_unit_rest(struct auxtap_audit *audit);
void audit_unit_free(struct unit_history *units);
/* watermarks.c */
void audit_watermark(const struct ring_view *ring, const struct entry *e);
void audit_watermark_skipped(const struct ring_view *ring, const struct entry *e, uint64_t from);

#endif
