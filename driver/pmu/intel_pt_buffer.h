/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An AUX area as the PT unit sees it: ToPA tables over its pages, the INT and STOP entries, the
 * position. It does not deal with events and registers; intel_pt.c is its only user.
 */
#ifndef AUXTAP_PMU_INTEL_PT_BUFFER_H
#define AUXTAP_PMU_INTEL_PT_BUFFER_H

#include <linux/types.h>

struct intel_pt_hw;
struct pt_table;

struct pt_buffer {
	void **pages;
	unsigned long nr_pages; /* a power of two */
	bool snapshot;
	bool single;		       /* H2: one page, no table */
	bool one_entry;		       /* H9: the unit allows one entry per table */
	struct pt_table *first, *last; /* NULL if single */

	/* position of the unit while it is off */
	struct pt_table *cur;
	unsigned int cur_index;
	u64 region_off;
	bool filled_to_stop; /* a region was filled to its STOP: equal heads mean a full wrap (H10)
			      */

	u64 head;		/* handle->head: absolute if linear, else an offset */
	unsigned long nr_bytes; /* in the transaction; snapshot: offset of its end */

	u64 *stop_entry, *int_entry; /* entries with STOP and INT, or NULL */
};

/* NULL: no memory, or pages that the unit cannot use. */
struct pt_buffer *pt_buffer_new(void **pages, int nr_pages, bool snapshot, int node,
				bool single_range, bool one_entry);
void pt_buffer_free(struct pt_buffer *buf);

/* Sets the position to head, with nothing written yet. */
void pt_buffer_seek(struct pt_buffer *buf, unsigned long head);
/*
 * Sets STOP and INT for size free bytes from head, with a wakeup requested at the absolute wakeup.
 * -EINVAL: the space ends inside the current region (H6).
 */
int pt_buffer_set_thresholds(struct pt_buffer *buf, unsigned long size, unsigned long wakeup);

/*
 * Clears STOP and INT. Needs no memory barrier while the unit is off: pt_buffer_set_thresholds()
 * sets them again before it is on.
 */
void pt_buffer_clear_thresholds(struct pt_buffer *buf);

u64 pt_buffer_output_base(const struct pt_buffer *buf);
u64 pt_buffer_output_mask_ptrs(const struct pt_buffer *buf);
void pt_buffer_read_position(struct pt_buffer *buf, u64 output_base, u64 mask_ptrs);
bool pt_buffer_region_full(const struct pt_buffer *buf);
/* Moves on from a region that was filled to its STOP, or (H9) nearly. */
void pt_buffer_finish_region(struct pt_buffer *buf, bool stopped);
/* Advances head to the position, and nr_bytes by as much (H10); for snapshots see H11. */
void pt_buffer_update_head(struct pt_buffer *buf);

/* intel_pt_attrs.c */
struct attribute_group;
const struct attribute_group **intel_pt_attr_groups(const struct intel_pt_hw *hw);

#endif
