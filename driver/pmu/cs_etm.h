/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The PMU for CoreSight trace of CPUs whose trace unit (ETM, ETE) feeds a TRBE: registration and
 * interrupt. The driver accesses the trace unit through two calls, the buffer through registers.
 */
#ifndef AUXTAP_PMU_CS_ETM_H
#define AUXTAP_PMU_CS_ETM_H

#include <linux/perf_event.h>
#include "trbe.h"

struct cs_etm_hw {
	struct trbe_hw trbe;
	/*
	 * Switch on and off the trace unit of the calling CPU. trace_on returns 0 or a negative
	 * errno; trace_off flushes the unit.
	 */
	int (*trace_on)(int cpu, const struct perf_event_attr *attr);
	void (*trace_off)(int cpu);
	/* Whether the trace unit of this CPU reaches a TRBE. NULL: all do. */
	bool (*reaches_sink)(int cpu);
	u64 config; /* bits of attr.config that trace_on supports */
};

/* 0 or a negative errno; name: "cs_etm" for tools to find it. */
int cs_etm_register(const char *name, const struct cs_etm_hw *hw);
void cs_etm_unregister(void);
/* The PMU's device, while it is registered: for additional attributes. */
struct device *cs_etm_device(void);
/* The interrupt of the CPU's TRBE; false: not raised by this TRBE. */
static inline bool cs_etm_interrupt(void)
{
	return trbe_interrupt();
}

#endif
