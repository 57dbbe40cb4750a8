/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The interface of the module auxtap_conform for tests/conform: one operation on an open event's
 * AUX transaction, run by the CPU of the caller with interrupts off, and the state of all events
 * after it. The host model uses the same structures (pmu.c is built for both).
 */
#ifndef AUXTAP_CONFORM_ABI_H
#define AUXTAP_CONFORM_ABI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define CONFORM_PATH "/sys/kernel/debug/auxtap_conform"

/* The PMUs: capabilities differ. Names as in sysfs. */
enum conform_flavour {
	CONFORM_PLAIN,	/* conform_plain: no capabilities */
	CONFORM_NO_SG,	/* conform_nosg: AUX_NO_SG (C6) */
	CONFORM_ITRACE, /* conform_itrace: ITRACE and EXCLUSIVE, as trace PMUs have (F1) */
	CONFORM_NO_AUX, /* conform_noaux: without setup_aux (C1) */
	CONFORM_NR_FLAVOURS,
};
#define CONFORM_NAMES                                                              \
	{                                                                          \
		"conform_plain", "conform_nosg", "conform_itrace", "conform_noaux" \
	}

/* attr.config */
/* pmu->start() opens a transaction, as drivers do; otherwise only CONFORM_BEGIN does */
#define CONFORM_AUTO	   0x1
#define CONFORM_FAIL_SETUP 0x2 /* setup_aux fails (C7) */
#define CONFORM_STARTED	   0x4 /* reports that tracing started (F1) */
#define CONFORM_ALL_BITS   0x7

/*
 * Operations. Those on a transaction require the event ACTIVE on the caller's CPU (else EAGAIN).
 * Calls that a driver must not make are refused: EBUSY another transaction of the ring is open,
 * ENOENT none is open, EOPNOTSUPP the PMU has no AUX, EINVAL a flag that the core warns about.
 */
enum conform_op {
	CONFORM_LOOK,  /* only returns the views */
	CONFORM_BEGIN, /* 1: returned the driver's area, 0: NULL */
	CONFORM_FLAG,  /* arg: flags */
	CONFORM_SKIP,  /* arg: bytes */
	CONFORM_END,   /* arg: bytes */
	CONFORM_HEAD,  /* arg: position, for overwrite mode (D13) */
	/* arg: bytes | flags << 32: arguments with which the next stop ends the transaction */
	CONFORM_AT_STOP,
	CONFORM_GET, /* 1: perf_get_aux() returned the driver's area, 0: NULL */
	/* arg: tid; returns the id of the event that this task inherited from the target */
	CONFORM_CHILD,
	CONFORM_NR_OPS,
};

struct conform_view {
	__u64 id; /* in: the event; 0: none */
	__s32 found;
	__s32 state, oncpu;
	__u32 open;   /* a transaction is open */
	__u32 kept;   /* the last begin failed without changing handle->event (D3) */
	__u32 itrace; /* PERF_ATTACH_ITRACE */
	__u64 head, size, wakeup, aux_flags;
	__u32 adds, dels, starts, stops, setups;
	__u32 nr_chunks; /* of the AUX area that was set up last */
	__u64 chunk_hash;
};

#define CONFORM_NR_VIEWS  24
#define CONFORM_NR_ORDERS 256

struct conform_call {
	__u32 op, target; /* index of a view */
	__u64 arg;
	__s64 ret;
	__u64 switches;	    /* of the calling task, so far */
	__u64 cpu_switches; /* of the CPU, of all tasks */
	__u64 pmus_after;   /* the module's PMUs have higher addresses than the kernel's (Q3) */
	struct conform_view views[CONFORM_NR_VIEWS];
};

struct conform_orders { /* page orders of the chunks of the area that an event set up last */
	__u64 id;
	__u32 nr; /* out: number of chunks; at most the first CONFORM_NR_ORDERS are stored */
	__u8 orders[CONFORM_NR_ORDERS];
};

#define CONFORM_IOC_CALL   _IOWR('x', 1, struct conform_call)
#define CONFORM_IOC_ORDERS _IOWR('x', 2, struct conform_orders)

#endif
