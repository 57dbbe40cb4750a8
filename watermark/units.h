/* SPDX-License-Identifier: BSD-2-Clause */
/* The built-in trace units, one file each. Their interface: include/auxtap/watermark.h. */
#ifndef AUXTAP_WATERMARK_UNITS_H
#define AUXTAP_WATERMARK_UNITS_H

#include <auxtap/watermark.h>
#include <stdbool.h>

const struct auxtap_trace_unit *unit_pt(void);
const struct auxtap_trace_unit *unit_spe(void);
const struct auxtap_trace_unit *unit_trbe(void);

/*
 * For explore.c, which compares states: how many bytes of the object that create() returns are
 * compared, and a function that resets its counters, which only count up and do not affect
 * behaviour. closed: no transaction is open, so the driver will set the pointers of a unit that is
 * off before it enables it. NULL: not a built-in unit.
 */
struct unit_state {
	size_t size;
	void (*normalise)(void *unit, bool closed);
};
const struct unit_state *unit_state(const struct auxtap_trace_unit *unit); /* sim_drivers.c */
extern const struct unit_state unit_pt_state, unit_spe_state, unit_trbe_state;

#endif
