/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A thread's ring of recorded values (auxtap/values.h), in qemu's memory; auxtap-emu copies it when
 * the thread is stopped. The program may overwrite it: readers check it.
 */
#ifndef AUXTAP_QEMU_VALUES_H
#define AUXTAP_QEMU_VALUES_H

#include <auxtap/values.h>

#define QEMU_VALUES_MAGIC 0x7365756c61767161ull

struct qemu_values {
	uint64_t magic;
	uint64_t capacity; /* words; a power of two */
	uint64_t head;	   /* words written since the start */
	uint32_t busy;	   /* an entry is being written */
	uint32_t threads;  /* the process had more than one */
	uint32_t unseen;   /* bytes that the running instruction may write without a callback */
	uint32_t reserved;
	uint64_t regs[AUXTAP_VALUES_REGS];
	/*
	 * Where, relative to this, the word is that has the time until which threads wrote that
	 * have no ring (AUXTAP_VALUES_TIME).
	 */
	uint64_t lost_until;
	uint64_t word[];
};

#endif
