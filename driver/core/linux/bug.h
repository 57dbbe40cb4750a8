/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Warnings are counted and passed to the machine (core.h), never printed; a BUG does not end the
 * process.
 */
#ifndef AUXTAP_SHIM_LINUX_BUG_H
#define AUXTAP_SHIM_LINUX_BUG_H

#include <linux/compiler.h>
#include <linux/types.h>

void core_warn(const char *file, int line, const char *what);

#define WARN_ON(cond)                                         \
	({                                                    \
		bool warn_cond_ = (cond);                     \
		if (unlikely(warn_cond_))                     \
			core_warn(__FILE__, __LINE__, #cond); \
		unlikely(warn_cond_);                         \
	})
#define WARN_ON_ONCE(cond)   WARN_ON(cond)
#define WARN_ONCE(cond, ...) WARN_ON(cond)
#define BUG_ON(cond)	     ((void)WARN_ON(cond))
/* A compile-time check in the kernel build; here PAGE_SIZE is not a constant. */
#define BUILD_BUG_ON(cond) BUG_ON(cond)

#endif
