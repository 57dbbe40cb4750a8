/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Wrappers between the drivers (driver/pmu, unchanged) and the kernel's AUX API: Kbuild includes
 * this first in the files that call it. The wrappers record transactions in the units' logs and
 * inject faults of the kernel. For the end of areas see area_end.h.
 */
#ifndef AUXTAP_KMOD_AUX_CALLS_H
#define AUXTAP_KMOD_AUX_CALLS_H

#include <linux/perf_event.h>
#include "area_end.h"

struct unit_log;

/* The log of the unit on this CPU that the event uses: kmod_unit_pt.c, arm_main.c. */
struct unit_log *unit_log_of(const struct perf_event *event);

void *aux_calls_begin(struct perf_output_handle *handle, struct perf_event *event);
void aux_calls_end(struct perf_output_handle *handle, unsigned long size);
int aux_calls_skip(struct perf_output_handle *handle, unsigned long size);
void aux_calls_flag(struct perf_output_handle *handle, u64 flags);

#ifndef AUX_CALLS_UNWRAPPED
#define perf_aux_output_begin aux_calls_begin
#define perf_aux_output_end   aux_calls_end
#define perf_aux_output_skip  aux_calls_skip
#define perf_aux_output_flag  aux_calls_flag
#define perf_pmu_register     area_end_register
#endif

#endif
