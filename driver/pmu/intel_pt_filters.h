/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Address filters of an event; intel_pt.c is their only user. */
#ifndef AUXTAP_PMU_INTEL_PT_FILTERS_H
#define AUXTAP_PMU_INTEL_PT_FILTERS_H

#include <linux/types.h>

#define PT_MAX_ADDR_RANGES 4

struct intel_pt_hw;
struct list_head;
struct perf_event;

void pt_filters_set_hw(const struct intel_pt_hw *hw);
/* 0 or -ENOMEM. event->destroy() frees the memory. */
int pt_filters_init(struct perf_event *event);
/* pmu->addr_filters_validate, pmu->addr_filters_sync */
int pt_filters_validate(struct list_head *filters);
void pt_filters_sync(struct perf_event *event);
/* Call while the unit is off. Sets its address registers; returns their ADDRn_CFG for RTIT_CTL. */
u64 pt_filters_load(struct perf_event *event, void (*write)(u32 msr, u64 value));

#endif
