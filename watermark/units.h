/* SPDX-License-Identifier: BSD-2-Clause */
/* The built-in trace units: one file each. What they are: include/auxtap/watermark.h. */
#ifndef AUXTAP_WATERMARK_UNITS_H
#define AUXTAP_WATERMARK_UNITS_H

#include <auxtap/watermark.h>
#include <stdbool.h>

const struct auxtap_trace_unit *unit_pt(void);
const struct auxtap_trace_unit *unit_spe(void);
const struct auxtap_trace_unit *unit_trbe(void);

/*
 * For who searches states: the size of what create() has made, and that its accounts, which count
 * up for ever and decide nothing, begin anew. closed: no transaction is open, so that a unit that
 * is off will have its pointers set anew. NULL: a unit that is not built in has none.
 */
struct unit_state {
	size_t size;
	void (*forget)(void *unit, bool closed);
};
const struct unit_state *unit_state(const struct auxtap_trace_unit *unit); /* sim_drivers.c */
extern const struct unit_state unit_pt_state, unit_spe_state, unit_trbe_state;

#endif
