/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pages and addresses. AUX pages carry their chunk's order in page_private() of the first (C5). */
#ifndef AUXTAP_SHIM_LINUX_MM_H
#define AUXTAP_SHIM_LINUX_MM_H

#include <linux/bits.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/kernel.h>

struct page *virt_to_page(const void *addr); /* NULL: not one of our pages */

static inline void *page_address(const struct page *page)
{
	return page->virt;
}

static inline phys_addr_t page_to_phys(const struct page *page)
{
	return page->phys;
}

static inline bool PagePrivate(const struct page *page)
{
	return page->has_private;
}

static inline unsigned long page_private(const struct page *page)
{
	return page->private;
}

static inline int get_order(unsigned long size) /* rounded up to a power of two pages */
{
	return size <= PAGE_SIZE ? 0 : ilog2((size - 1) >> PAGE_SHIFT) + 1;
}

#endif
