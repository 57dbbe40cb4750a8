/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Page allocation. struct page stands for one page of emulated physical memory (memory.c). */
#ifndef AUXTAP_SHIM_LINUX_GFP_H
#define AUXTAP_SHIM_LINUX_GFP_H

#include "core/core_local.h"
#include <linux/types.h>

/* Default 12; core_page_size_use() sets larger pages. */
extern CORE_LOCAL unsigned int core_page_shift;
#define PAGE_SHIFT core_page_shift
#define PAGE_SIZE  (1ul << PAGE_SHIFT)
#define PAGE_MASK  (~(PAGE_SIZE - 1))

#define GFP_ATOMIC    0x01u
#define GFP_KERNEL    0x02u
#define GFP_NOWAIT    0x04u
#define __GFP_ZERO    0x08u
#define __GFP_NOWARN  0x10u
#define __GFP_NORETRY 0x20u
#define __GFP_COMP    0x40u

#define NUMA_NO_NODE (-1)

struct page {
	void *virt;
	u64 phys;
	unsigned long private;
	bool has_private;
	int order; /* in the first page of an allocation: its order, for freeing */
};

/* 2^order pages that are physically contiguous and aligned to their size, or NULL. */
struct page *alloc_pages_node(int node, gfp_t gfp, unsigned int order);
void __free_pages(struct page *page, unsigned int order);
#define alloc_pages(gfp, order) alloc_pages_node(NUMA_NO_NODE, gfp, order)
#define alloc_page(gfp)		alloc_pages(gfp, 0)
#define __free_page(page)	__free_pages(page, 0)
unsigned long get_zeroed_page(gfp_t gfp);
void free_page(unsigned long addr);

#endif
