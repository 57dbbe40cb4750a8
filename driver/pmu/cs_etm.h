/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CoreSight trace of a CPU, whose trace unit (ETM, ETE) feeds a TRBE, as a PMU: registration
 * and interrupt. The trace unit is behind two calls, the buffer behind registers.
 */
#ifndef AUXTAP_PMU_CS_ETM_H
#define AUXTAP_PMU_CS_ETM_H

#include <linux/perf_event.h>
#include "trbe.h"

struct cs_etm_hw {
	struct trbe_hw trbe;
	/* The trace unit of the CPU that runs the call: 0 or a negative errno. Off: flushed. */
	int (*trace_on)(int cpu, const struct perf_event_attr *attr);
	void (*trace_off)(int cpu);
	/* Does the trace unit of this CPU reach a TRBE? NULL: every one does. */
	bool (*reaches_sink)(int cpu);
	u64 config; /* bits of attr.config that trace_on understands */
};

/* 0 or a negative errno; name: "cs_etm" for tools to find it. */
int cs_etm_register(const char *name, const struct cs_etm_hw *hw);
void cs_etm_unregister(void);
/* The PMU's, while it is registered: for what else is to be shown there. */
struct device *cs_etm_device(void);
/* The interrupt of the CPU's TRBE; false: it was not for us. */
static inline bool cs_etm_interrupt(void)
{
	return trbe_interrupt();
}

#endif
