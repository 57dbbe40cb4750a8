/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Small allocations: emulated kernel memory is private to the process. */
#ifndef AUXTAP_SHIM_LINUX_SLAB_H
#define AUXTAP_SHIM_LINUX_SLAB_H

#include <linux/gfp.h>
#include <stdlib.h>
#include <string.h>

/* memory.c keeps a list of the allocations for core_state_ranges(). */
void *core_kmalloc(size_t size, bool zero);
void core_kfree(const void *ptr);

static inline void *kmalloc(size_t size, gfp_t gfp)
{
	return core_kmalloc(size, gfp & __GFP_ZERO);
}

static inline void *kzalloc(size_t size, gfp_t gfp)
{
	(void)gfp;
	return core_kmalloc(size, true);
}

static inline void *kcalloc(size_t n, size_t size, gfp_t gfp)
{
	(void)gfp;
	return size && n > SIZE_MAX / size ? NULL : core_kmalloc(n * size, true);
}

static inline void kfree(const void *ptr)
{
	core_kfree(ptr);
}

#define kmalloc_node(size, gfp, node)	 ((void)(node), kmalloc(size, gfp))
#define kzalloc_node(size, gfp, node)	 ((void)(node), kzalloc(size, gfp))
#define kcalloc_node(n, size, gfp, node) ((void)(node), kcalloc(n, size, gfp))

#endif
