/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Large allocations are small ones here. */
#ifndef AUXTAP_SHIM_LINUX_VMALLOC_H
#define AUXTAP_SHIM_LINUX_VMALLOC_H

#include <linux/slab.h>

#define vzalloc(size) kzalloc(size, GFP_KERNEL)
#define vfree(ptr)    kfree(ptr)

#endif
