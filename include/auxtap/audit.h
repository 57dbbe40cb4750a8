/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The auditor checks the AUX transactions in a recording (perf.data, any AUX PMU) or in the event
 * log of a simulator against the kernel's rules (docs/kernel-rules.md). Of the trace itself it
 * reads only padding.
 *
 * Thread safety: an audit belongs to one thread. Input is untrusted: memory is bounded by the
 * number of records, findings of one name by AUXTAP_AUDIT_KEPT.
 */
#ifndef AUXTAP_AUDIT_H
#define AUXTAP_AUDIT_H

#include <auxtap/perfdata.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AUXTAP_AUDIT_KEPT 1000 /* findings kept for one name; further ones are only counted */
#define AUXTAP_AUDIT_OVERSHOOTS                                          \
	33 /* [0]: none; [n]: 2^(n-1) bytes to below 2^n; the last: more \
	    */

enum auxtap_severity {
	AUXTAP_NOTE,	   /* information, not a fault */
	AUXTAP_KNOWN_LOSS, /* loss that the kernel reports, or is known not to report */
	AUXTAP_VIOLATION,  /* breaks a rule */
};

/* A check; docs/audit.md has a table with one line for each. */
struct auxtap_invariant {
	size_t size;	  /* of this library's struct */
	const char *name; /* "aux-overlap" */
	enum auxtap_severity severity;
	const char *rules; /* "D12" */
	const char *what;  /* in a line */
	bool of_log;	   /* of event logs; else of recordings */
	bool of_both;	   /* of a recording and the log of its unit */
};

struct auxtap_finding {
	size_t size; /* of this library's struct */
	const struct auxtap_invariant *invariant;
	uint64_t file_off; /* of the record or line; AUXTAP_OFFSET_NONE */
	int32_t cpu, tid;  /* of the ring; -1: none */
	uint64_t time_ns;  /* 0: not known */
	uint64_t nr_bytes; /* affected; 0: none, or unknown */
	/* path of the event log that file_off refers to; NULL: the recording */
	const char *log;
	char text[200];
};

/* Statistics of one ring (or a log). */
struct auxtap_audit_ring {
	size_t size;	  /* of this library's struct */
	int32_t cpu, tid; /* -1: none; a ring is of a CPU or of a thread */
	/* path of the event log; NULL: a ring of the recording */
	const char *log;
	bool overwrite;			  /* snapshots */
	uint64_t nr_records, nr_bytes;	  /* AUX records (log: writes), and the bytes they cover */
	uint64_t nr_reads, nr_read_bytes; /* AUXTRACE records; log: moves of the tail */
	uint64_t first_off, last_end;	  /* in the AUX stream, both of AUX records */
	uint64_t nr_truncated, nr_partial, nr_collision;
	uint64_t nr_skipped_bytes; /* published without a record (D11) */
	uint64_t nr_lost_records;  /* by LOST: records of any kind */
	uint64_t nr_lost_bytes;	   /* log: lost, as reported by the unit */
	uint64_t nr_starts;	   /* ITRACE_START */
	/* records (log: thresholds) that passed one or more watermarks */
	uint64_t nr_passed;
	uint64_t largest_unread; /* bytes: largest single read; log: largest lag */
	uint64_t off_ns;	 /* from each truncation to the next record */
	/* bytes from the watermark to the end of the record; log: to the interrupt */
	uint64_t overshoots[AUXTAP_AUDIT_OVERSHOOTS];
	uint64_t nr_interrupts; /* log: of the trace unit */
};

struct auxtap_audit_opts {
	size_t size;
	uint64_t aux_size;	/* of a ring; 0: unknown (perf.data does not contain it) */
	uint64_t page_size;	/* 0: 4 KiB, and 64 KiB for the recording of an Arm unit */
	uint64_t max_overshoot; /* of an interrupt, in bytes; 0: not checked (log: as its header
				   says) */
	uint64_t max_delay;	/* logs: of an interrupt, in ns; 0: as the header says */
	/* perfdata: event logs of the recorded units, which are compared with the recording */
	const char *const *unit_logs;
	size_t nr_unit_logs;
};

struct auxtap_audit; /* opaque */

/*
 * Audits a perf.data file that the caller has opened. Damage of the file is a finding, not an
 * error. Errors: -ENOMEM; -ENODATA: no AUX event and no trace, nothing to audit; those of
 * auxtap_audit_log() for a unit's log.
 */
AUXTAP_API int auxtap_audit_perfdata(struct auxtap_audit **audit, struct auxtap_perfdata *pd,
				     const struct auxtap_audit_opts *opts,
				     struct auxtap_error *err);
/* An event log: docs/audit.md. -EINVAL: not an event log; -errno of reading. */
AUXTAP_API int auxtap_audit_log(struct auxtap_audit **audit, const char *path,
				const struct auxtap_audit_opts *opts, struct auxtap_error *err);
AUXTAP_API void auxtap_audit_free(struct auxtap_audit *audit);

/* Whether there are violations. */
AUXTAP_API bool auxtap_audit_at_fault(const struct auxtap_audit *audit);
/* In the order of the file within a ring, rings one after the other. NULL past the end. */
AUXTAP_API const struct auxtap_finding *auxtap_audit_get_finding(const struct auxtap_audit *audit,
								 size_t index);
AUXTAP_API const struct auxtap_audit_ring *auxtap_audit_get_ring(const struct auxtap_audit *audit,
								 size_t index);
/* All invariants, of logs and of recordings; NULL past the end. */
AUXTAP_API const struct auxtap_invariant *auxtap_audit_get_invariant(size_t index);
/* The number of findings of a check, including those that were not kept. */
AUXTAP_API uint64_t auxtap_audit_count(const struct auxtap_audit *audit,
				       const struct auxtap_invariant *inv);

/* Facts about the whole recording: the trace unit, and how the rings were set up. */
struct auxtap_audit_facts {
	size_t size; /* of this library's struct */
	/* "intel_pt", "arm_spe", "cs_etm", "intel_bts", "unknown"; a log's name */
	const char *unit;
	bool of_log;
	size_t nr_unit_logs;
	uint64_t aux_size, page_size; /* as used by the checks; 0: unknown */
	uint64_t watermark;	      /* 0: not known */
	bool watermark_default;	      /* half of the buffer */
	uint64_t nr_hw_ids, nr_lost_samples;
	uint64_t nr_wakeups_noted;     /* returns of poll(), by auxtap's recorder */
	uint64_t time_begin, time_end; /* ns */
};
AUXTAP_API const struct auxtap_audit_facts *
auxtap_audit_get_facts(const struct auxtap_audit *audit);

/* Prints the whole audit as text, JSON or JUnit XML; path: the name printed in it. -EIO. */
AUXTAP_API int auxtap_audit_print_text(const struct auxtap_audit *audit, const char *path,
				       FILE *out);
AUXTAP_API int auxtap_audit_print_json(const struct auxtap_audit *audit, const char *path,
				       FILE *out);
AUXTAP_API int auxtap_audit_print_junit(const struct auxtap_audit *audit, const char *path,
					FILE *out);

#ifdef __cplusplus
}
#endif
#endif
