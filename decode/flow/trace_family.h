/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A family of traces: Intel PT, Intel BTS, Arm SPE, CoreSight. Each has one directory and one
 * object of this type, which is listed in trace_family.c. No other file of decode/ tests for a
 * certain family; they use 'info'. Only the family knows the type of dec->trace.
 */
#ifndef AUXTAP_TRACE_FAMILY_H
#define AUXTAP_TRACE_FAMILY_H

#include "flow_event.h"
#include "flow_ops.h"
#include "decode/dump/dump_family.h"

struct trace_family {
	struct auxtap_trace_family info;
	const char *pmu; /* "intel_pt" */
	/*
	 * Index of the value in AUXTRACE_INFO that is not 0 in perf's snapshot mode: then offsets
	 * do not count from the first byte that the unit wrote. 0: the family has no such value.
	 */
	unsigned int info_snapshot;
	/* perf script prints branches with their times; else it rejects the field if there are
	 * none. */
	bool perf_prints_times;
	/* for 'auxtap dump'; NULL: its packets cannot be listed */
	const struct dump_family *dump;
	/* the CPU of each part of a raw stream is known without sideband files */
	bool raw_has_cpus;
	/* flow decoders, ending with NULL; the first is the default. NULL: it has none */
	const struct flow_ops *const *flows;

	/* Sets dec->trace. Called first; dec->opts and dec->images are set. 0 or -ENOMEM. */
	int (*create)(struct auxtap_decoder *dec);
	/* Frees dec->trace, in any state. */
	void (*destroy)(struct auxtap_decoder *dec);

	/*
	 * Called for a perf.data file before its sideband is read: uses the nr values of
	 * AUXTRACE_INFO, which describe the clock and how to read the rings. Then open_file() opens
	 * all streams.
	 */
	void (*configure)(struct auxtap_decoder *dec, const uint64_t *info, size_t nr);
	int (*open_file)(struct auxtap_decoder *dec, struct auxtap_error *err);
	/* The same for a raw stream; configure_raw may be NULL. cpu -1: it is a thread's. */
	void (*configure_raw)(struct auxtap_decoder *dec, const struct auxtap_raw_opts *raw);
	int (*open_raw)(struct auxtap_decoder *dec, const char *path,
			const struct auxtap_raw_opts *raw, int cpu, struct auxtap_error *err);
	/* The same for a snapshot directory; NULL: the family has none. */
	bool (*is_snapshot_directory)(const char *dir);
	int (*open_snapshot)(struct auxtap_decoder *dec, const char *dir, struct auxtap_error *err);

	/*
	 * Called after the last stream was added; at most nr_jobs threads decode, including the
	 * caller's. 0 or negative errno.
	 */
	int (*start)(struct auxtap_decoder *dec, unsigned int nr_jobs);
	/*
	 * The next event of all streams by time, valid until the next call, and its CPU (-1:
	 * unknown). NULL: it is later than 'until', or there are no more events.
	 */
	struct flow_event *(*next)(struct auxtap_decoder *dec, uint64_t until, int *cpu);
	/* Sets the fields of *ev that only this family has, for the last event of next(). May be
	 * NULL. */
	void (*fill_event)(const struct auxtap_decoder *dec, struct auxtap_event *ev);
	/* After next() returned NULL: 0, or the negative errno that ended decoding. */
	int (*error)(const struct auxtap_decoder *dec);
	/* Adds the family's counts to *sum; may be NULL. */
	void (*add_sums)(const struct auxtap_decoder *dec, struct auxtap_decode_summary *sum);
};

/* NULL: this version does not decode such traces. */
const struct trace_family *trace_family_of_type(uint32_t auxtrace_type);
/* By info.raw_name; NULL: the default of --raw. */
const struct trace_family *trace_family_of_raw(const char *name);
/* The family whose is_snapshot_directory() accepts the directory; NULL: none. */
const struct trace_family *trace_family_of_snapshot(const char *dir);
/* The flow decoders of all families by index; NULL: there are fewer. */
const struct flow_ops *trace_family_flow(unsigned int index);
/* Name and version of the library of its default flow decoder; NULL: it has none. */
const char *trace_family_library(const struct trace_family *family);
/* The names of all families, separated by commas. */
void trace_family_names(char *text, size_t size);

#endif
