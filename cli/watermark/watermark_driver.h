/* SPDX-License-Identifier: BSD-2-Clause */
/* What the commands of the simulator need to know of a driver: one table, by its name. */
#ifndef AUXTAP_CLI_WATERMARK_DRIVER_H
#define AUXTAP_CLI_WATERMARK_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

struct wm_driver {
	const char *name, *event; /* the event of the real PMU */
	bool stops;		  /* its unit stops at each threshold: an Arm unit */
	const char *stop;	  /* the name of the position where it stops */
	bool has_max_record, has_align;
	unsigned int perf_parts; /* stock perf 6.1 asks for the area divided by this (C2) */
	/* for 'explore --all' */
	bool contiguous; /* its unit depends on how the memory is fragmented (C5) */
	unsigned int searched_errata;
	/* status of a unit that has stopped: the bit, or NULL; the note on its absence */
	const char *stop_bit, *no_stop_bit;
	bool wraps; /* then its pointer is at its base */
};
/* For an unknown name, which the library refuses, the last driver. */
const struct wm_driver *wm_driver(const char *name);

#endif
