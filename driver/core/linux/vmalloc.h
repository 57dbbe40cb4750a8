/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Large allocations are ordinary ones here; AUX pages are already contiguous. */
#ifndef AUXTAP_SHIM_LINUX_VMALLOC_H
#define AUXTAP_SHIM_LINUX_VMALLOC_H

#include <linux/mm.h>
#include <linux/slab.h>

#define vzalloc(size) kzalloc(size, GFP_KERNEL)
#define vfree(ptr)    kfree(ptr)

#define VM_MAP	    0x4ul
#define PAGE_KERNEL 0ul

/* Pages as one range; NULL: they are not contiguous in this process. */
static inline void *vmap(struct page **pages, unsigned int count, unsigned long flags,
			 unsigned long prot)
{
	char *base = count && pages[0] ? page_address(pages[0]) : NULL;

	(void)flags;
	(void)prot;
	for (unsigned int i = 1; i < count; i++)
		if (!pages[i] || (char *)page_address(pages[i]) != base + i * PAGE_SIZE)
			return NULL;
	return base;
}

static inline void vunmap(const void *addr)
{
	(void)addr;
}

#endif
