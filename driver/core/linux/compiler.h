/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Annotations, and single accesses that the compiler may not split or repeat. */
#ifndef AUXTAP_SHIM_LINUX_COMPILER_H
#define AUXTAP_SHIM_LINUX_COMPILER_H

#define READ_ONCE(x)	 (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))
#define likely(x)	 __builtin_expect(!!(x), 1)
#define unlikely(x)	 __builtin_expect(!!(x), 0)
#define barrier()	 __asm__ __volatile__("" ::: "memory")
#define __percpu
#define __user
#define __iomem
#define __init
#define __exit
#define __maybe_unused	__attribute__((unused))
#define __always_unused __attribute__((unused))
#define __packed	__attribute__((packed))

#endif
