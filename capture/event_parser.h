/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From perf's event syntax, "PMU/term,term=value/mods", to an attribute; from a PMU to its
 * AUXTRACE_INFO.
 */
#ifndef AUXTAP_CAPTURE_EVENT_PARSER_H
#define AUXTAP_CAPTURE_EVENT_PARSER_H

#include <auxtap/capture.h>
#include <auxtap/perfdata.h>

struct capture_event {
	struct perf_event_attr attr; /* type, config*, exclude_*; the rest is the session's */
	char pmu[64];
	char name[256];			 /* as perf shows it */
	bool aux;			 /* has an AUX area; false: software dummy */
	const struct pmu_family *family; /* NULL: without an AUX area */
};

/*
 * An event in perf's syntax: the family's defaults, then the terms from left to right (config=
 * replaces the word with the defaults in it), then modifiers. Without modifiers nothing is
 * excluded; emulated: the kernel always, because user mode is all there is. On failure *ev is
 * partly filled.
 */
int capture_event_parse(struct capture_event *ev, const char *spec,
			const struct auxtap_perf_ops *ops, void *ctx, bool emulated,
			struct auxtap_error *err);

/*
 * Lowers a PSB period that was not asked for, so that several PSBs lie in area_bytes: a
 * snapshot can be decoded from its first PSB on.
 */
void capture_event_fit(struct capture_event *ev, const struct auxtap_perf_ops *ops, void *ctx,
		       uint64_t area_bytes);

#define CAPTURE_ETM_INFO_MAX (3 + 12 * 512)
/* Fills a CoreSight AUXTRACE_INFO, version 1, of all CPUs with a trace unit; how many words. */
size_t capture_etm_info(uint64_t *priv /* [CAPTURE_ETM_INFO_MAX] */, const struct capture_event *ev,
			const struct auxtap_perf_ops *ops, void *ctx, bool snapshot);

/* Fills an Intel PT AUXTRACE_INFO; time fields from a mapped control page. */
void capture_pt_info(uint64_t *priv /* [AUXTAP_PT_INFO_NR] */, const struct capture_event *ev,
		     const struct auxtap_perf_ops *ops, void *ctx,
		     const struct perf_event_mmap_page *page, bool snapshot, bool per_cpu,
		     unsigned int have_sched_switch);

/* How a file's rings were recorded. */
struct capture_rings {
	const struct perf_event_mmap_page *page; /* of one of them: the clock */
	bool snapshot, per_cpu;
	unsigned int sched_switch; /* 0; 2: SWITCH of tasks, 3: of CPUs */
};
/* The records that describe the trace unit to a reader of the file; path is for messages. */
int capture_write_auxtrace_info(struct auxtap_perfdata_writer *w, const char *path,
				const struct capture_event *ev, const struct auxtap_perf_ops *ops,
				void *ctx, const struct capture_rings *rings,
				struct auxtap_error *err);

#endif
