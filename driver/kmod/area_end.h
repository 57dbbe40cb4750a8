/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The end of AUX areas: when the kernel makes a driver free one, the units' logs record it (freed).
 * Also the fault refcount-first: begin takes a reference to an area that is being unmapped, and so
 * frees its pages.
 */
#ifndef AUXTAP_KMOD_AREA_END_H
#define AUXTAP_KMOD_AREA_END_H

#include <linux/types.h>

struct perf_event;
struct perf_output_handle;
struct pmu;

/* perf_pmu_register() that also makes the module observe the end of the PMU's areas. */
int area_end_register(struct pmu *pmu, const char *name, int type);

/*
 * For aux_calls.c, called on the CPU of the transaction with interrupts off. area_end_keeps() is
 * called before a transaction ends; true: its reference is kept, and the handle has no transaction
 * any more. area_end_refused() is called after a refused begin; it drops the kept reference.
 */
bool area_end_keeps(struct perf_output_handle *handle, unsigned long size);
void area_end_refused(const struct perf_event *event);

#endif
