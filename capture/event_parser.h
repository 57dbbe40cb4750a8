/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses perf's event syntax, "PMU/term,term=value/mods", to a perf_event_attr, and builds the
 * AUXTRACE_INFO of a PMU.
 */
#ifndef AUXTAP_CAPTURE_EVENT_PARSER_H
#define AUXTAP_CAPTURE_EVENT_PARSER_H

#include <auxtap/capture.h>
#include <auxtap/perfdata.h>

struct capture_event {
	struct perf_event_attr attr; /* type, config*, exclude_*; the session sets the rest */
	char pmu[64];
	char name[256];			 /* as perf shows it */
	bool aux;			 /* has an AUX area; false: the software event dummy */
	const struct pmu_family *family; /* NULL: without an AUX area */
};

/*
 * Parses an event in perf's syntax. Applies the family's defaults, then the terms from left to
 * right (config= replaces the word and its defaults), then the modifiers. Without modifiers nothing
 * is excluded; if emulated, kernel mode always is. On failure *ev is partly filled.
 */
int capture_event_parse(struct capture_event *ev, const char *spec,
			const struct auxtap_perf_ops *ops, void *ctx, bool emulated,
			struct auxtap_error *err);

/*
 * Lowers the PSB period, unless the user has set it, so that area_bytes contain several PSBs: a
 * snapshot can be decoded only from its first PSB on.
 */
void capture_event_fit(struct capture_event *ev, const struct auxtap_perf_ops *ops, void *ctx,
		       uint64_t area_bytes);

#define CAPTURE_ETM_INFO_MAX (3 + 12 * 512)
/* Fills CoreSight's AUXTRACE_INFO, version 1, for all CPUs with a trace unit; returns its words. */
size_t capture_etm_info(uint64_t *priv /* [CAPTURE_ETM_INFO_MAX] */, const struct capture_event *ev,
			const struct auxtap_perf_ops *ops, void *ctx, bool snapshot);

/* Fills Intel PT's AUXTRACE_INFO; page has the time conversion. */
void capture_pt_info(uint64_t *priv /* [AUXTAP_PT_INFO_NR] */, const struct capture_event *ev,
		     const struct auxtap_perf_ops *ops, void *ctx,
		     const struct perf_event_mmap_page *page, bool snapshot, bool per_cpu,
		     unsigned int have_sched_switch);

/* How a file's rings were recorded. */
struct capture_rings {
	const struct perf_event_mmap_page
		*page; /* control page of one of them, for the time conversion */
	bool snapshot, per_cpu;
	unsigned int sched_switch; /* have_sched_switch: 2: SWITCH, 3: SWITCH_CPU_WIDE, or 0 */
};
/* Writes the records that describe the trace unit; path is for error messages. */
int capture_write_auxtrace_info(struct auxtap_perfdata_writer *w, const char *path,
				const struct capture_event *ev, const struct auxtap_perf_ops *ops,
				void *ctx, const struct capture_rings *rings,
				struct auxtap_error *err);

#endif
