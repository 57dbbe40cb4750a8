/* SPDX-License-Identifier: BSD-2-Clause */
/* Properties of a driver that the simulator's commands need: one table, by name. */
#ifndef AUXTAP_CLI_WATERMARK_DRIVER_H
#define AUXTAP_CLI_WATERMARK_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

struct wm_driver {
	const char *name, *event; /* the event of the real PMU */
	bool stops;		  /* the unit stops at each threshold, as Arm's do */
	const char *stop;	  /* the name of the position where the unit stops */
	bool has_max_record, has_align;
	unsigned int perf_parts; /* perf 6.1 uses the area divided by this as watermark (C2) */
	/* for 'explore --all' */
	bool contiguous; /* the driver uses contiguous chunks of memory (C5) */
	unsigned int searched_errata;
	/* status bit of a stopped unit, or NULL; the text if it is not set */
	const char *stop_bit, *no_stop_bit;
	bool wraps; /* a unit that has stopped has its pointer at the base */
};
/* Returns the last driver for an unknown name, which the library rejects. */
const struct wm_driver *wm_driver(const char *name);

#endif
