/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Arithmetic helpers that drivers take from the kernel's header of this name. */
#ifndef AUXTAP_SHIM_LINUX_KERNEL_H
#define AUXTAP_SHIM_LINUX_KERNEL_H

#include_next <linux/kernel.h>
#include <linux/bits.h>
#include <linux/bug.h>
#include <linux/compiler.h>
#include <linux/printk.h>
#include <linux/types.h>
#include <limits.h>

#ifndef U32_MAX
#define U16_MAX ((u16)~0u)
#define U32_MAX ((u32)~0u)
#define U64_MAX ((u64)~0ull)
#endif
#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#endif
#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#define min(a, b)                                  \
	({                                         \
		__typeof__(a) min_a_ = (a);        \
		__typeof__(b) min_b_ = (b);        \
		min_a_ < min_b_ ? min_a_ : min_b_; \
	})
#define max(a, b)                                  \
	({                                         \
		__typeof__(a) max_a_ = (a);        \
		__typeof__(b) max_b_ = (b);        \
		max_a_ > max_b_ ? max_a_ : max_b_; \
	})
#define min_t(type, a, b)	    min((type)(a), (type)(b))
#define max_t(type, a, b)	    max((type)(a), (type)(b))
#define clamp_t(type, x, low, high) min_t(type, max_t(type, x, low), high)

#define round_down(x, y) ((x) & ~((__typeof__(x))(y)-1)) /* y: a power of two */
#define round_up(x, y)	 ((((x)-1) | ((__typeof__(x))(y)-1)) + 1)
#define rounddown(x, y)	 ((x) - (x) % (y))
#define roundup(x, y)	 rounddown((x) + (y)-1, y)
#ifndef DIV_ROUND_UP
#define DIV_ROUND_UP(n, d) (((n) + (d)-1) / (d))
#endif
#define ALIGN(x, a)	 round_up(x, a)
#define IS_ALIGNED(x, a) (((x) & ((__typeof__(x))(a)-1)) == 0)

#endif
