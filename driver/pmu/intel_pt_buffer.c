// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * AUX pages as ToPA tables; the entries for interrupt threshold and stop position; the unit's
 * position in bytes. intel_pt.c handles the events. Rules H1 to H11: docs/kernel-rules.md.
 */
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "intel_pt_buffer.h"
#include "intel_pt_regs.h"

/* H1: data entries of a table; the link follows them. */
#define TABLE_ENTRIES 506
/* H9: a unit with one entry per table may interrupt up to this many bytes before the end. */
#define ONE_ENTRY_MARGIN 512

#define OUTPUT_LOW_BITS	   0x7full /* of MASK_PTRS, and of the smallest single range */
#define OUTPUT_INDEX_SHIFT 7
#define OUTPUT_OFF_SHIFT   32

/* One page: what the unit reads comes first, the driver's fields after it. */
struct pt_table {
	u64 entries[TABLE_ENTRIES + 1];
	u64 phys;
	unsigned long first_page; /* of the AUX area */
	unsigned int nr_entries;  /* without the link */
	struct pt_table *next;	  /* a ring */
};

struct pt_entry_ref {
	struct pt_table *table;
	unsigned int index;
};

static unsigned long entry_pages(const struct pt_table *table, unsigned int index)
{
	return 1ul << (table->entries[index] >> PT_ENTRY_ORDER_SHIFT & PT_ENTRY_ORDER_MAX);
}

static u64 buffer_bytes(const struct pt_buffer *buf)
{
	return (u64)buf->nr_pages << PAGE_SHIFT;
}

static u64 region_bytes(const struct pt_buffer *buf)
{
	return (u64)entry_pages(buf->cur, buf->cur_index) << PAGE_SHIFT;
}

/* First page of an entry. */
static unsigned long entry_page(const struct pt_table *table, unsigned int index)
{
	unsigned long page = table->first_page;
	unsigned int i;

	for (i = 0; i < index; i++)
		page += entry_pages(table, i);
	return page;
}

/* The entry that contains a page, page < nr_pages; *first_page is its first page. */
static struct pt_entry_ref entry_of_page(const struct pt_buffer *buf, unsigned long page,
					 unsigned long *first_page)
{
	struct pt_entry_ref ref = {.table = buf->first};
	unsigned long at;

	while (ref.table != buf->last && ref.table->next->first_page <= page)
		ref.table = ref.table->next;
	at = ref.table->first_page;
	while (at + entry_pages(ref.table, ref.index) <= page) {
		at += entry_pages(ref.table, ref.index);
		ref.index++;
	}
	*first_page = at;
	return ref;
}

/* The entry before the one that holds a page: INT and STOP act at the end of an entry (H4). */
static u64 *entry_before_page(const struct pt_buffer *buf, unsigned long page)
{
	unsigned long first_page;
	struct pt_entry_ref ref;

	entry_of_page(buf, page & (buf->nr_pages - 1), &first_page);
	ref = entry_of_page(buf, (first_page - 1) & (buf->nr_pages - 1), &first_page);
	return &ref.table->entries[ref.index];
}

/* ---- tables ---- */

static struct pt_table *table_new(struct pt_buffer *buf, int node, unsigned long first_page)
{
	struct page *page = alloc_pages_node(node, GFP_KERNEL | __GFP_ZERO, 0);
	struct pt_table *table;

	BUILD_BUG_ON(sizeof(*table) > PAGE_SIZE);
	if (!page)
		return NULL;
	table = page_address(page);
	table->phys = virt_to_phys(table);
	table->first_page = first_page;
	if (buf->last)
		buf->last->next = table;
	else
		buf->first = table;
	buf->last = table;
	table->next = buf->first;
	return table;
}

/* H1, C5: an entry for each chunk of contiguous pages, which the unit fills as one region. */
static int add_chunk(struct pt_buffer *buf, int node, unsigned long first_page, int *order)
{
	unsigned int limit = buf->one_entry ? 1 : TABLE_ENTRIES;
	struct page *page = virt_to_page(buf->pages[first_page]);
	struct pt_table *table = buf->last;
	u64 entry;

	*order = PagePrivate(page) ? (int)page_private(page) : 0;
	if (*order > PT_ENTRY_ORDER_MAX || first_page + (1ul << *order) > buf->nr_pages)
		return -EINVAL;
	if (!table || table->nr_entries == limit) {
		table = table_new(buf, node, first_page);
		if (!table)
			return -ENOMEM;
	}
	entry = virt_to_phys(buf->pages[first_page]) | (u64)*order << PT_ENTRY_ORDER_SHIFT;
	if (buf->one_entry && !buf->snapshot) /* H9: the unit stops at the end of every region */
		entry |= PT_ENTRY_INT | PT_ENTRY_STOP;
	table->entries[table->nr_entries++] = entry;
	return 0;
}

static int tables_new(struct pt_buffer *buf, int node)
{
	struct pt_table *table;
	unsigned long page;
	int order, err;

	for (page = 0; page < buf->nr_pages; page += 1ul << order) {
		err = add_chunk(buf, node, page, &order);
		if (err)
			return err;
	}
	/* H1: the last table links to the first. With one entry per table each links to itself. */
	table = buf->first;
	do {
		table->entries[table->nr_entries] =
			(buf->one_entry ? table : table->next)->phys | PT_ENTRY_END;
		table = table->next;
	} while (table != buf->first);
	return 0;
}

/* H2: larger single ranges malfunction on some CPUs (TGL052, ADL037, RPL017). */
static bool single_possible(const struct pt_buffer *buf)
{
	struct page *page = virt_to_page(buf->pages[0]);

	return buf->snapshot && buf->nr_pages == 1 && !(PagePrivate(page) && page_private(page));
}

struct pt_buffer *pt_buffer_new(void **pages, int nr_pages, bool snapshot, int node,
				bool single_range, bool one_entry)
{
	struct pt_buffer *buf;

	if (nr_pages <= 0 || !is_power_of_2(nr_pages))
		return NULL;
	buf = kzalloc_node(sizeof(*buf), GFP_KERNEL, node);
	if (!buf)
		return NULL;
	buf->pages = pages;
	buf->nr_pages = nr_pages;
	buf->snapshot = snapshot;
	buf->one_entry = one_entry;
	if (single_range && single_possible(buf)) {
		buf->single = true;
		return buf;
	}
	if (tables_new(buf, node)) {
		pt_buffer_free(buf);
		return NULL;
	}
	buf->cur = buf->first;
	return buf;
}

void pt_buffer_free(struct pt_buffer *buf)
{
	struct pt_table *table, *next;

	if (!buf)
		return;
	for (table = buf->first; table; table = next) {
		next = table == buf->last ? NULL : table->next;
		__free_pages(virt_to_page(table), 0);
	}
	kfree(buf);
}

/* ---- interrupt threshold and stop position ---- */

void pt_buffer_clear_thresholds(struct pt_buffer *buf)
{
	if (buf->stop_entry)
		*buf->stop_entry &= ~(PT_ENTRY_STOP | PT_ENTRY_INT);
	if (buf->int_entry)
		*buf->int_entry &= ~PT_ENTRY_INT;
	buf->stop_entry = buf->int_entry = NULL;
}

int pt_buffer_set_thresholds(struct pt_buffer *buf, unsigned long size, unsigned long wakeup)
{
	unsigned long head = buf->head, stop_page, int_page, region_end_page;

	if (buf->snapshot) /* H3 */
		return 0;
	/* H6: the unit stops at ends of regions only */
	if (buf->region_off + size + 1 < region_bytes(buf))
		return -EINVAL;
	if (buf->one_entry)
		return 0;
	pt_buffer_clear_thresholds(buf);

	/* H4. The unit may use the byte that D5 keeps free, if it completes a page. */
	stop_page = (head >> PAGE_SHIFT) + (size >> PAGE_SHIFT);
	if (!((head + size + 1) & (PAGE_SIZE - 1)))
		stop_page++;
	/*
	 * Two partial pages, at head and at the end of the space, may add up to the rest of the
	 * current region without H4's count including it. STOP would then be in the entry before
	 * the current one, which the unit reaches only after a wrap over unread bytes. The current
	 * region is free to its end (H6): stop there.
	 */
	region_end_page = (head - buf->region_off + region_bytes(buf)) >> PAGE_SHIFT;
	if (stop_page < region_end_page)
		stop_page = region_end_page;
	buf->stop_entry = entry_before_page(buf, stop_page);

	int_page = min(stop_page - 1, wakeup >> PAGE_SHIFT);
	buf->int_entry = entry_before_page(buf, int_page); /* H5: may be below head */

	*buf->stop_entry |= PT_ENTRY_STOP | PT_ENTRY_INT;
	*buf->int_entry |= PT_ENTRY_INT;
	return 0;
}

/* ---- position ---- */

void pt_buffer_seek(struct pt_buffer *buf, unsigned long head)
{
	unsigned long first_page;
	struct pt_entry_ref ref;
	u64 head_off = head & (buffer_bytes(buf) - 1);

	buf->head = buf->snapshot ? head_off : head;
	buf->nr_bytes = 0;
	buf->filled_to_stop = false;
	if (buf->single) {
		buf->region_off = head_off;
		return;
	}
	ref = entry_of_page(buf, head_off >> PAGE_SHIFT, &first_page);
	buf->cur = ref.table;
	buf->cur_index = ref.index;
	/* Chunks need not start at multiples of their size in the area (C5), so no masking. */
	buf->region_off = head_off - ((u64)first_page << PAGE_SHIFT);
}

u64 pt_buffer_output_base(const struct pt_buffer *buf)
{
	return buf->single ? virt_to_phys(buf->pages[0]) : buf->cur->phys;
}

u64 pt_buffer_output_mask_ptrs(const struct pt_buffer *buf)
{
	u64 low = buf->single ? buffer_bytes(buf) - 1 : (u64)buf->cur_index << OUTPUT_INDEX_SHIFT;

	return low | OUTPUT_LOW_BITS | buf->region_off << OUTPUT_OFF_SHIFT;
}

void pt_buffer_read_position(struct pt_buffer *buf, u64 output_base, u64 mask_ptrs)
{
	struct pt_table *table;

	buf->region_off = mask_ptrs >> OUTPUT_OFF_SHIFT;
	if (buf->single)
		return;
	/* The unit follows links: output_base is one of our tables. Search from its start on. */
	table = buf->cur;
	do {
		if (table->phys == output_base)
			break;
		table = table->next;
	} while (table != buf->cur);
	WARN_ON_ONCE(table->phys != output_base);
	buf->cur = table;
	buf->cur_index = (u32)mask_ptrs >> OUTPUT_INDEX_SHIFT;
	/* The unit may be at a link that it has not followed yet. */
	if (buf->cur_index >= table->nr_entries) {
		buf->cur = table->next;
		buf->cur_index = 0;
	}
}

bool pt_buffer_region_full(const struct pt_buffer *buf)
{
	return buf->region_off == region_bytes(buf);
}

void pt_buffer_finish_region(struct pt_buffer *buf, bool stopped)
{
	u64 left;
	bool leave;

	if (buf->single)
		return;
	left = region_bytes(buf) - buf->region_off;
	leave = stopped && !left;
	if (buf->one_entry && !buf->snapshot && left <= ONE_ENTRY_MARGIN) {
		/* H9. Zero is PAD; it is reported like packets. */
		char *page = buf->pages[entry_page(buf->cur, buf->cur_index) +
					entry_pages(buf->cur, buf->cur_index) - 1];

		memset(page + PAGE_SIZE - left, 0, left);
		leave = true;
	}
	if (!leave)
		return;
	buf->region_off = 0;
	buf->filled_to_stop = true;
	if (++buf->cur_index == buf->cur->nr_entries) {
		buf->cur = buf->cur->next;
		buf->cur_index = 0;
	}
}

void pt_buffer_update_head(struct pt_buffer *buf)
{
	u64 at, old = buf->head & (buffer_bytes(buf) - 1);

	at = buf->region_off;
	if (!buf->single)
		at += (u64)entry_page(buf->cur, buf->cur_index) << PAGE_SHIFT;
	/* H11: the position of the newest byte, not a number of bytes */
	if (buf->snapshot) {
		buf->nr_bytes = at;
		return;
	}
	/* H10 */
	if (at < old || (at == old && buf->filled_to_stop))
		at += buffer_bytes(buf);
	buf->nr_bytes += at - old;
	buf->head += at - old;
}
