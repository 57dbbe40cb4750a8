/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Kernel types on the host. u64 is uint64_t, as in hw/hw_types.h, which may be included too. */
#ifndef AUXTAP_SHIM_LINUX_TYPES_H
#define AUXTAP_SHIM_LINUX_TYPES_H

#include_next <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef unsigned int gfp_t;
typedef u64 phys_addr_t;
typedef u64 dma_addr_t;
typedef unsigned short umode_t;

/* Kernel-private counters. All CPUs run in one thread, so plain integers suffice. */
typedef struct {
	long v;
} local_t;
typedef struct {
	s64 v;
} local64_t;

struct list_head {
	struct list_head *next, *prev;
};

#endif
