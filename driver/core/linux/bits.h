/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Bit masks, and the integer logarithms of <linux/log2.h>. */
#ifndef AUXTAP_SHIM_LINUX_BITS_H
#define AUXTAP_SHIM_LINUX_BITS_H

#include <linux/types.h>

#define BITS_PER_LONG	       64
#define BIT(nr)		       (1ul << (nr))
#define BIT_ULL(nr)	       (1ull << (nr))
#define GENMASK(high, low)     ((~0ul << (low)) & (~0ul >> (BITS_PER_LONG - 1 - (high))))
#define GENMASK_ULL(high, low) GENMASK(high, low)

static inline int ilog2(unsigned long x) /* x > 0, rounded down */
{
	return BITS_PER_LONG - 1 - __builtin_clzl(x);
}

static inline bool is_power_of_2(unsigned long x)
{
	return x && !(x & (x - 1));
}

#endif
