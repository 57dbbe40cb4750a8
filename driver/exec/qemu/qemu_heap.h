/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The log of what a process allocated and freed last: a ring in qemu's memory, which auxtap-emu
 * copies when a thread of the process is stopped. The program may overwrite it: readers check it.
 */
#ifndef AUXTAP_QEMU_HEAP_H
#define AUXTAP_QEMU_HEAP_H

#include <auxtap/crash.h>

#define QEMU_HEAP_MAGIC	 0x7061656871617161ull
#define QEMU_HEAP_EVENTS (32 * 1024) /* power of two */

struct qemu_heap_ring {
	uint64_t magic;
	uint64_t head;	 /* events since the start */
	uint64_t forked; /* earlier events are of the process that this one was forked from */
};

struct qemu_heap_log {
	struct qemu_heap_ring ring;
	struct auxtap_heap_event event[QEMU_HEAP_EVENTS];
	struct auxtap_heap_call call[QEMU_HEAP_EVENTS]; /* of the same events */
};

#endif
