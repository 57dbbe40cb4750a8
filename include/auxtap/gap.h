/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The gap model: one description of lost trace for every trace family and every cause.
 * A gap is an event in every output; nothing is dropped without one.
 */
#ifndef AUXTAP_GAP_H
#define AUXTAP_GAP_H

#include <auxtap/error.h>

#ifdef __cplusplus
extern "C" {
#endif

enum auxtap_gap_cause {
	AUXTAP_GAP_UNKNOWN,
	AUXTAP_GAP_TRUNCATED,	 /* PERF_AUX_FLAG_TRUNCATED, or no space on the disk */
	AUXTAP_GAP_COLLISION,	 /* PERF_AUX_FLAG_COLLISION */
	AUXTAP_GAP_PARTIAL,	 /* PERF_AUX_FLAG_PARTIAL */
	AUXTAP_GAP_HW_OVERFLOW,	 /* the unit's internal buffer overflowed (PT: OVF) */
	AUXTAP_GAP_RECORD_LOST,	 /* PERF_RECORD_LOST: sideband is missing */
	AUXTAP_GAP_OVERWRITTEN,	 /* snapshot: older bytes were overwritten */
	AUXTAP_GAP_PAUSED,	 /* the recorder had disabled the event */
	AUXTAP_GAP_TRACE_OFF,	 /* execution that was not traced (filters, untraced exec) */
	AUXTAP_GAP_NO_IMAGE,	 /* executed code whose bytes are not available */
	AUXTAP_GAP_DECODE_ERROR, /* the trace contradicts itself or its image */
	/* known code kept running, how often is not recorded; its callers are known */
	AUXTAP_GAP_UNCOUNTED,
	AUXTAP_GAP_DISCARDED, /* snapshot: of a thread that had ended, whose trace is not kept */
	/* code of one of two programs or libraries; the times are too coarse to decide */
	AUXTAP_GAP_MAPS_CHANGED,
	AUXTAP_GAP_NR_CAUSES
};

/* Times are perf time (ns); 0..0 where unknown. */
struct auxtap_gap {
	enum auxtap_gap_cause cause;
	int cpu;	  /* -1: not known or not bound to a CPU */
	int32_t pid, tid; /* -1: not known */
	uint64_t time_begin, time_end;
	uint64_t nr_bytes; /* trace bytes lost; meaningless unless exact or > 0 (then: at least) */
	int exact;	   /* nr_bytes is the true size */
};

/* The cause's name as printed: "truncated", "hw_overflow", …; never NULL. */
AUXTAP_API const char *auxtap_gap_cause_name(enum auxtap_gap_cause cause);

/* Whether the gap's bytes are in the file, but not decoded; otherwise they are lost. */
static inline int auxtap_gap_is_undecoded(const struct auxtap_gap *gap)
{
	return gap->cause == AUXTAP_GAP_NO_IMAGE || gap->cause == AUXTAP_GAP_DECODE_ERROR ||
	       gap->cause == AUXTAP_GAP_MAPS_CHANGED;
}

#ifdef __cplusplus
}
#endif
#endif
