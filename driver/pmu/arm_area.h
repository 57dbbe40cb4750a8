/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An AUX area as the Arm trace units see it: one range of virtual addresses, with a limit at a page
 * boundary. It does not deal with events and registers; its users are arm_spe.c and trbe.c.
 */
#ifndef AUXTAP_PMU_ARM_AREA_H
#define AUXTAP_PMU_ARM_AREA_H

#include <linux/types.h>

struct perf_output_handle;

struct arm_area {
	u8 *base;
	unsigned long nr_pages; /* a power of two */
	bool snapshot;
	u8 pad; /* padding byte, which decoders skip */
};

/* NULL: fewer than two pages, or no memory. pages: as setup_aux() gets them. */
struct arm_area *arm_area_new(void **pages, int nr_pages, bool snapshot, u8 pad, int node);
void arm_area_free(struct arm_area *area);

u64 arm_area_bytes(const struct arm_area *area);
/* Offset in the area of an absolute position. */
u64 arm_area_off(const struct arm_area *area, u64 pos_abs);
/* Writes nr_bytes of padding from head on; moves the head past them, unless it is a snapshot's. */
void arm_area_pad(const struct arm_area *area, struct perf_output_handle *handle,
		  unsigned long nr_bytes);
/*
 * Returns the unit's stop position in this transaction (not of a snapshot), as an offset; may move
 * head to a multiple of align. 0: no space; the rest was filled with padding.
 */
u64 arm_area_limit(const struct arm_area *area, struct perf_output_handle *handle,
		   unsigned long align);

#endif
