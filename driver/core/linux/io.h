/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Physical addresses. Valid for memory of gfp.h and AUX pages; 0 for anything else. */
#ifndef AUXTAP_SHIM_LINUX_IO_H
#define AUXTAP_SHIM_LINUX_IO_H

#include <linux/types.h>

phys_addr_t virt_to_phys(const volatile void *addr);
void *phys_to_virt(phys_addr_t phys); /* NULL: no such memory */

#endif
