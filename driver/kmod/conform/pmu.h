/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The PMUs of the conformance test. Built for the kernel (with conform_main.c) and for the host
 * model (with tests/conform), so that the same code drives both cores.
 */
#ifndef AUXTAP_CONFORM_PMU_H
#define AUXTAP_CONFORM_PMU_H

#include <linux/perf_event.h>
#include "abi.h"

/* State of an event. Only the CPU that runs the event accesses the handle, with interrupts off. */
struct conform_event {
	struct perf_event *event;
	struct perf_output_handle handle;
	bool kept;
	unsigned long stop_size;
	u64 stop_flags;
	u32 adds, dels, starts, stops, setups;
	u32 nr_chunks;
	u64 chunk_hash;
	u8 orders[CONFORM_NR_ORDERS];
	struct conform_event *next; /* used by conform_main.c */
};

int conform_register(void);
/* The array of PMUs, in the order of their flavours. */
const void *conform_pmus(void);
void conform_unregister(void);

/* Runs an operation, on the CPU that runs the event with interrupts off; returns its result. */
s64 conform_run_op(struct conform_event *ce, u32 op, u64 arg);
void conform_get_view(const struct conform_event *ce, struct conform_view *view);

/*
 * Defined by conform_main.c or the host model: callbacks when an event is created and before it is
 * freed (in a context that may sleep), and the lock for the claims on rings.
 */
void conform_event_added(struct conform_event *ce);
void conform_event_removed(struct conform_event *ce);
unsigned long conform_lock(void);
void conform_unlock(unsigned long flags);

#endif
