/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How AUX areas end: when the kernel has a driver free one, the units' logs are told (freed). Fault
 * refcount-first: begin takes a reference of an area that is being unmapped, and its pages go in
 * there.
 */
#ifndef AUXTAP_KMOD_AREA_END_H
#define AUXTAP_KMOD_AREA_END_H

#include <linux/types.h>

struct perf_event;
struct perf_output_handle;
struct pmu;

/* perf_pmu_register(), and from then on the end of the PMU's areas is seen. */
int area_end_register(struct pmu *pmu, const char *name, int type);

/*
 * For aux_calls.c, on their CPU with interrupts off. A transaction is about to end: does this one
 * keep its reference? Then the handle is of no transaction any more. A begin was refused: it drops
 * what is kept.
 */
bool area_end_keeps(struct perf_output_handle *handle, unsigned long size);
void area_end_refused(const struct perf_event *event);

#endif
