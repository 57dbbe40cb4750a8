/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A family of traces: Intel PT, Intel BTS, Arm SPE, CoreSight. Each has one directory and one
 * object of this type, which is a line of the table in trace_family.c; no other file of decode/
 * tests which family a trace is of: they see 'info'. What dec->trace points to is known to the
 * family alone.
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
	 * AUXTRACE_INFO: which value is not 0 if offsets do not count from the first byte that the
	 * unit wrote, because stock perf recorded snapshots. 0: not known.
	 */
	unsigned int info_snapshot;
	/* perf script prints the times of its branches; else it refuses to where they have none. */
	bool perf_has_times;
	/* How its packets are listed; NULL: they are not. */
	const struct dump_family *dump;
	/* Raw streams say which CPU each part is of: the sideband files do not decide that. */
	bool raw_has_cpus;
	/* Decoders of the executed flow, up to NULL; the first is the default. NULL: it has none.
	 */
	const struct flow_ops *const *flows;

	/* Sets dec->trace. 0 or -ENOMEM. Before all others; dec->opts and dec->images are set. */
	int (*create)(struct auxtap_decoder *dec);
	/* Frees dec->trace, in any state. */
	void (*destroy)(struct auxtap_decoder *dec);

	/*
	 * Called for a perf.data file before its sideband is read: takes what the nr values of
	 * AUXTRACE_INFO say about the clock and about how to read the rings. Then open_file()
	 * opens all streams.
	 */
	void (*configure)(struct auxtap_decoder *dec, const uint64_t *info, size_t nr);
	int (*open_file)(struct auxtap_decoder *dec, struct auxtap_error *err);
	/* The same of a raw stream; configure_raw may be NULL. cpu: whose it is; -1: a thread's.
	 */
	void (*configure_raw)(struct auxtap_decoder *dec, const struct auxtap_raw_opts *raw);
	int (*open_raw)(struct auxtap_decoder *dec, const char *path,
			const struct auxtap_raw_opts *raw, int cpu, struct auxtap_error *err);
	/* The same of a directory; NULL where the family has no such form. */
	bool (*is_snapshot_directory)(const char *dir);
	int (*open_snapshot)(struct auxtap_decoder *dec, const char *dir, struct auxtap_error *err);

	/*
	 * After the last stream was added; at most nr_jobs threads decode, the caller's among them.
	 * 0 or negative errno.
	 */
	int (*start)(struct auxtap_decoder *dec, unsigned int nr_jobs);
	/*
	 * The next event of all streams by time, valid until the next call, and the CPU it is of
	 * (-1: unknown). NULL: it is later than 'until', or the trace is over.
	 */
	struct flow_event *(*next)(struct auxtap_decoder *dec, uint64_t until, int *cpu);
	/* What only this family knows of the event that next() returned last; may be NULL. */
	void (*facts)(const struct auxtap_decoder *dec, struct auxtap_event *ev);
	/* Why there are no more events: 0, or negative errno. */
	int (*error)(const struct auxtap_decoder *dec);
	/* Adds the family's counts to *sum; may be NULL. */
	void (*sums)(const struct auxtap_decoder *dec, struct auxtap_decode_summary *sum);
};

/* NULL: this version does not decode such traces. */
const struct trace_family *trace_family_of_type(uint32_t auxtrace_type);
/* name NULL: the default of --raw. */
const struct trace_family *trace_family_of_raw(const char *name);
/* The family that has the directory's form. */
const struct trace_family *trace_family_of_snapshot(const char *dir);
/* The decoder of flow number 'index' of all families; NULL: there are fewer. */
const struct flow_ops *trace_family_flow(unsigned int index);
/* The library of its default decoder, with its version; NULL: it has none. */
const char *trace_family_library(const struct trace_family *family);
/* The names of all, with commas between. */
void trace_family_names(char *text, size_t size);

#endif
