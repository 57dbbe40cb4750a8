/* SPDX-License-Identifier: BSD-2-Clause */
/* The built-in trace units: one file each. What they are: include/auxtap/watermark.h. */
#ifndef AUXTAP_WATERMARK_UNITS_H
#define AUXTAP_WATERMARK_UNITS_H

#include <auxtap/watermark.h>

const struct auxtap_trace_unit *unit_pt(void);
const struct auxtap_trace_unit *unit_spe(void);
const struct auxtap_trace_unit *unit_trbe(void);

#endif
