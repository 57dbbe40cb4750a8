/* SPDX-License-Identifier: BSD-2-Clause */
/* What the trace covers, and what is missing (report_cover.c). */
#ifndef AUXTAP_REPORT_COVER_H
#define AUXTAP_REPORT_COVER_H

#include "report_facts.h"

#include <auxtap/decode.h>

struct report_out;

struct report_gap_count {
	uint64_t nr, nr_bytes;
	bool exact;
};

struct report_cover {
	struct auxtap_decode_summary sum;
	struct report_gap_count gaps[AUXTAP_GAP_NR_CAUSES];
	/* records of forks, execs, starts of tracing and exits, by time */
	struct life_event *life_events;
	size_t nr_life_events, max_life_events;
	uint64_t last_record;	 /* time of the newest record; 0: no record has a time */
	const char *library;	 /* the decoder library; NULL: none */
	bool branches_only;	 /* the trace has no instructions between branches */
	bool enable_on_exec;	 /* the recorder's events were enabled by exec, not before */
	bool of_threads;	 /* each buffer is of one thread, on whatever CPU */
	bool of_unknown_offsets; /* a snapshot whose first bytes may follow overwritten ones */
	bool from_start;	 /* report_cover_has_start() is true for each thread with trace */
	/* each thread with trace exits; of a crash: the end of the dead thread's flow is known */
	bool to_end;
	size_t nr_without; /* threads without trace */
	bool cut_short;	   /* the dead thread's flow does not end where it died */
	bool from_handler; /* the flow ends with rt_sigreturn() */
	uint64_t flow_end, death_ip;
};

/* Notes one record of the file, in order of time. 0, or -1 without memory. */
int report_cover_record(struct report_cover *cover, const struct auxtap_record *rec);
/*
 * Takes from the file (NULL: a raw trace) what report_cover_has_start() and _has_end() need. ours:
 * auxtap wrote the file.
 */
void report_cover_file(struct report_cover *cover, struct auxtap_perfdata *pd, bool ours);
/*
 * Does the file prove that the trace of tid, whose first event is of first_time (0: unknown),
 * starts where the thread starts?
 */
bool report_cover_has_start(const struct report_cover *cover, int32_t tid, uint64_t first_time);
/* Does the file prove that tid exits after its newest event, which is of last_time? */
bool report_cover_has_end(const struct report_cover *cover, int32_t tid, uint64_t last_time);
/* The number of threads (of pid; -1: of all) that records name and that have no trace. */
size_t report_cover_without_trace(const struct report_cover *cover, int32_t pid,
				  bool (*has_trace)(const void *ctx, int32_t tid), const void *ctx);
/* Counts a gap. */
void report_cover_event(struct report_cover *cover, const struct auxtap_event *ev);
/* Is the file's time emulated: one instruction is one ns? */
bool report_cover_emulated(const struct report_facts *facts);
/* The time that the trace spans, in ns; 0: unknown. */
uint64_t report_cover_duration(const struct report_facts *facts, const struct report_cover *cover);
/* Did code run between the end of the dead thread's flow and its death that is unknown? */
bool report_cover_end_lost(const struct report_cover *cover);
void report_cover_print(const struct report_out *ro, const struct report_facts *facts,
			const struct report_cover *cover);
void report_cover_free(struct report_cover *cover);

#endif
