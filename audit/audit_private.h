/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Internals of the auditor: audit.c (invariants, findings, rings), families.c (differences between
 * trace units), records.c (sorts a recording's records by ring), stream.c (one ring's offsets and
 * flags), watermarks.c (its watermarks), cover.c (its bytes), wakeups.c (wakeups), flags.c
 * (required and excluded flags), log.c (event logs), compare_unit.c (a unit's log against the
 * recording), print_*.c. Rule numbers (D21) refer to docs/kernel-rules.md.
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

/* The records of a recording that are checked. */
enum entry_kind {
	ENTRY_AUX,
	ENTRY_TRACE,
	ENTRY_LOST,
	ENTRY_START,
};

struct entry {
	uint64_t key; /* of the ring */
	uint64_t seq; /* position in the order of the file */
	enum entry_kind kind;
	int32_t cpu, tid;
	uint64_t off, size; /* LOST: size is the number of lost records */
	uint64_t flags;
	uint64_t nr_stored; /* TRACE: how many of its bytes the file contains */
	uint64_t time, file_off;
	uint64_t watermark;
	bool inherited;	      /* AUX: attr.inherit of the event, or the event is unknown */
	uint64_t trace_off;   /* TRACE: where in the file its bytes are */
	const char *log_path; /* the event log that file_off refers to; NULL: the recording */
};

/* Keys of rings: added to the CPU's number or to the tid. */
#define KEY_CPU	   (1ull << 62)
#define KEY_THREAD (2ull << 62)

/* Contiguous bytes that a unit wrote. */
struct unit_extent {
	uint64_t key; /* of the ring; 0: the log does not say */
	uint64_t off, end;
	uint64_t time, line_off; /* file offset of the log line */
	const char *log_path;
	bool unknown;  /* events are missing: the unit may have written these bytes */
	bool compared; /* with a ring of the recording */
};

/* A transaction of a unit, from when the driver enables the unit to when it disables it. */
struct unit_transaction {
	uint64_t key, seq;
	uint64_t begin, end;		       /* positions */
	uint64_t time, line_off, end_line_off; /* file offsets of the log lines */
	const char *log_path;
	uint64_t nr_lost;
	bool partial;		  /* trace is missing, so PARTIAL is expected */
	bool has_limit, at_limit; /* the log says where the unit must stop; it got there */
	bool incomplete;	  /* events are missing */
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

/* What the kernel rules say about a family of trace units: families.c. */
struct audit_family {
	const char *name;   /* "intel_pt" */
	uint64_t page_size; /* assumed if unknown: the largest of the machines with this unit */
	/* between two records, fewer bytes than this many pages may be without a record */
	unsigned int max_skip_pages;
	unsigned char pad;  /* the byte that the driver writes into such a skip */
	bool fills_ring;    /* H4: STOP is at the end of a page, so no byte stays free */
	bool stops_at_page; /* H8, H12: it is truncated at the end of a page, no COLLISION */
	bool interrupts_at_topa_entries; /* H5: at each watermark that is a power of two of pages */
	bool stops_at_limit;		 /* I4: it stops at the page boundary of its watermark */
	/* J2, J3: a unit whose records have this format stops there, too; 0: none */
	uint64_t limit_format;
	bool has_formats;	/* J3: records may have a format */
	bool collides_at_limit; /* J4: the record of a unit at its limit has COLLISION */
	bool silent_loss;	/* I10: a loss at the limit has no flag */
};
/* By AUXTRACE_INFO's type (0: the file has no such record), or by name; never NULL. */
const struct audit_family *audit_family_of(uint64_t type);
const struct audit_family *audit_family_named(const char *name);

/* Bytes that a thread's unit wrote, as noted by auxtap's recorder. */
struct unit_note {
	int32_t tid;
	uint64_t written; /* bytes */
};

struct auxtap_audit {
	struct auxtap_audit_opts opts;
	struct auxtap_audit_facts facts;
	const struct audit_family *family; /* never NULL */
	char unit[64];
	bool incomplete; /* the file ends early, so missing bytes at its end are expected */
	struct entry *entries;
	size_t nr_entries, max_entries;
	/* AUX and LOST records by ring and time; NULL until a noted gap is compared with them */
	const struct entry **by_time;
	size_t nr_by_time;
	struct auxtap_finding *findings;
	size_t nr_findings, max_findings;
	struct auxtap_audit_ring *rings;
	size_t nr_rings, max_rings;
	uint64_t counts[INV_NR];
	struct unit_history units;
	struct auxtap_perfdata *pd; /* NULL except while the recording is audited */
	/* of the current ring: bytes without a record where that is allowed */
	struct trace_span *skips;
	size_t nr_skips, max_skips;
	bool late_disable; /* D21: this kernel disables a truncated event late, or never */
	bool cpu0_disable; /* likewise, but only for events on CPU 0 */
	bool by_auxtap;	   /* auxtap's recorder wrote the file */
	bool old_partial;  /* the kernel is older than 4.12 and has no PARTIAL */
	struct {
		uint64_t truncations, collisions, lost_records; /* that it counted */
		uint64_t aux_size;
		bool emulated;
		struct unit_note *units; /* sorted by thread after all rings were audited */
		size_t nr_units, max_units;
	} noted;	       /* by auxtap's recorder; all but emulated only for a full trace */
	bool mostly_overwrite; /* most AUX records have OVERWRITE */
	bool no_memory;	       /* an allocation failed, so the audit is incomplete */
};

/* All entries of one ring. */
struct ring_view {
	struct auxtap_audit *audit;
	struct auxtap_audit_ring *sums;
	const struct entry *entries;
	size_t nr;
};

/* Returns NULL with err set on failure. */
struct auxtap_audit *audit_new(const struct auxtap_audit_opts *opts, struct auxtap_error *err);
/* Returns NULL and sets no_memory on failure. The pointer is valid until the next call. */
struct auxtap_audit_ring *audit_add_ring(struct auxtap_audit *audit, int32_t cpu, int32_t tid);
/* at: the record or log line that the finding is about, or NULL. */
void audit_add_finding(struct auxtap_audit *audit, enum invariant inv,
		       const struct auxtap_audit_ring *ring, const struct entry *at,
		       uint64_t nr_bytes, const char *fmt, ...) AUXTAP_PRINTF(6, 7);
void audit_count_overshoot(struct auxtap_audit_ring *ring, uint64_t nr_bytes);
/* off + size, saturated at UINT64_MAX */
static inline uint64_t audit_end(uint64_t off, uint64_t size)
{
	return off + size < off ? UINT64_MAX : off + size;
}

/* stream.c */
void audit_stream(const struct ring_view *ring);
/* Fewer bytes than this may lie between two records without being covered by one. */
uint64_t audit_skip_max(const struct auxtap_audit *audit);
/* cover.c: notes that the driver skipped these bytes before e. */
void audit_add_skip(struct auxtap_audit *audit, const struct entry *e, uint64_t from, uint64_t to);
/* cover.c: compares the records with the trace bytes in the file. */
void audit_cover(const struct ring_view *ring);
/* flags.c */
struct auxtap_gap;
void audit_flags_pt(const struct ring_view *ring, const struct entry *e);
void audit_flags_limit(const struct ring_view *ring, const struct entry *e, uint64_t limit);
void audit_flags_ends(const struct ring_view *ring);
/*
 * What the recorder noted: audit_parse_noted() reads its text, audit_flags_noted_gap() compares a
 * gap with the records, and audit_flags_noted() compares the text's counts after all rings.
 */
void audit_parse_noted(struct auxtap_audit *audit, const void *text, size_t size);
void audit_flags_noted_gap(struct auxtap_audit *audit, const struct auxtap_gap *gap);
void audit_flags_noted(struct auxtap_audit *audit);
/* wakeups.c: checks a wakeup log of auxtap's recorder. */
void audit_wakeup_log(struct auxtap_audit *audit, const void *data, size_t size);
/* log.c: reads the log of a unit into audit->units. */
int audit_unit_log(struct auxtap_audit *audit, const char *path, struct auxtap_error *err);
/* compare_unit.c */
void audit_unit_sort(struct auxtap_audit *audit);
void audit_compare_unit(const struct ring_view *ring);
/* After all rings: reports bytes in the logs of rings that are not in the recording. */
void audit_compare_unit_rest(struct auxtap_audit *audit);
void audit_unit_free(struct unit_history *units);
/* watermarks.c */
void audit_watermark(const struct ring_view *ring, const struct entry *e);
void audit_watermark_skipped(const struct ring_view *ring, const struct entry *e, uint64_t from);

#endif
