// SPDX-License-Identifier: BSD-2-Clause
/* Writes how a file describes its trace unit: AUXTRACE_INFO, and for Arm the time conversion. */
#include "emulated.h"
#include "pmu_family.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Writes how the trace unit's clock is converted to perf's. perf copies it when it reads
 * AUXTRACE_INFO, so this record must come first.
 */
static int write_time_conv(struct auxtap_perfdata_writer *w,
			   const struct perf_event_mmap_page *page, struct auxtap_error *err)
{
	struct {
		struct perf_event_header header;
		uint64_t shift, mult, zero, cycles, mask;
		uint8_t cap_zero, cap_short, reserved[6];
	} conv = {
		.header = {.type = AUXTAP_RECORD_TIME_CONV, .size = sizeof(conv)},
		.shift = page->time_shift,
		.mult = page->time_mult,
		.zero = page->time_zero,
		.cycles = page->time_cycles,
		.mask = page->time_mask,
		.cap_zero = page->cap_user_time_zero,
		.cap_short = page->cap_user_time_short,
	};

	return auxtap_perfdata_writer_record(w, &conv, sizeof(conv), NULL, 0, err);
}

int capture_write_auxtrace_info(struct auxtap_perfdata_writer *w, const char *path,
				const struct capture_event *ev, const struct auxtap_perf_ops *ops,
				void *ctx, const struct capture_rings *rings,
				struct auxtap_error *err)
{
	const struct pmu_family *family = ev->family;
	const struct pmu pmu = {.name = ev->pmu, .ops = ops, .ctx = ctx};
	uint64_t *priv;
	int ret = family->time_conv ? write_time_conv(w, rings->page, err) : 0;

	if (ret)
		return ret;
	priv = malloc(family->max_info * sizeof(*priv));
	if (!priv)
		return auxtap_error_set(err, -ENOMEM, path, "no memory");
	ret = auxtap_perfdata_writer_auxtrace_info(w, family->auxtrace, priv,
						   family->info(priv, ev, &pmu, rings), err);
	free(priv);
	return ret;
}

/* ---- for callers that capture without a session ---- */

static int parse_event(struct capture_event *ev, const char *event, const struct auxtap_backend *be,
		       struct auxtap_error *err)
{
	int ret = backend_check(be, err);

	return ret ? ret :
		     capture_event_parse(ev, event, be->perf, be->perf_ctx, be->perf->emulated,
					 err);
}

int auxtap_event_attr(struct perf_event_attr *attr, const char *event,
		      const struct auxtap_backend *be, struct auxtap_error *err)
{
	struct capture_event ev;
	int ret = parse_event(&ev, event, be, err);

	if (ret)
		return ret;
	*attr = ev.attr;
	attr->disabled = 1;
	if (!attr->sample_period)
		attr->sample_period = 1;
	return ev.aux;
}

int auxtap_write_auxtrace_info(struct auxtap_perfdata_writer *w, const char *path,
			       const char *event, const struct auxtap_backend *be,
			       const struct perf_event_mmap_page *page, struct auxtap_error *err)
{
	const struct capture_rings rings = {.page = page, .per_cpu = true};
	struct capture_event ev;
	int ret = parse_event(&ev, event, be, err);

	return ret ? ret :
		     capture_write_auxtrace_info(w, path, &ev, be->perf, be->perf_ctx, &rings, err);
}
