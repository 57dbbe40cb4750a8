/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The trace buffer of a PE (TRBE): stores the bytes of a trace unit into memory between a base and
 * a limit, and stops at management events. Registers as in the Arm Architecture Reference Manual,
 * "The Trace Buffer Extension". It never calls the driver. Neighbour: driver/pmu/trbe.c, which
 * programs it.
 */
#ifndef AUXTAP_TRBE_OUTPUT_H
#define AUXTAP_TRBE_OUTPUT_H

#include "hw_types.h"

/* S3_0_C9_C11_n, as MRS and MSR encode them. */
#define SYS_TRBLIMITR 0xc4d8
#define SYS_TRBPTR    0xc4d9
#define SYS_TRBBASER  0xc4da
#define SYS_TRBSR     0xc4db
#define SYS_TRBIDR    0xc4df

#define TRBLIMITR_E	      (1ull << 0)
#define TRBLIMITR_FM_SHIFT    1 /* two bits */
#define TRBLIMITR_FM_FILL     0ull
#define TRBLIMITR_FM_WRAP     1ull
#define TRBLIMITR_FM_CIRC     3ull
#define TRBLIMITR_LOW	      0x3full	   /* E, FM, TM (triggers), nVM */
#define TRBSR_S		      (1ull << 17) /* collection has stopped */
#define TRBSR_EA	      (1ull << 18) /* external abort */
#define TRBSR_WRAP	      (1ull << 20) /* the pointer went from limit to base */
#define TRBSR_TRG	      (1ull << 21) /* a trigger was seen */
#define TRBSR_IRQ	      (1ull << 22) /* the interrupt line is raised */
#define TRBSR_EC(class)	      ((u64)(class) << 26)
#define TRBSR_EC_BUFFER	      0x00 /* management events; MSS is one of TRBSR_BSC_… */
#define TRBSR_EC_STAGE1	      0x24 /* faults of a write; MSS is a fault status code */
#define TRBSR_EC_STAGE2	      0x25
#define TRBSR_BSC_FILLED      1ull
#define TRBSR_BSC_TRIGGER     2ull
#define TRBSR_FSC_TRANSLATION 0x07ull /* level 3 */

/*
 * What the unit is connected to. ctx is passed to both functions. virt: host memory at a virtual
 * address, size bytes that are mapped, or NULL (a fault). irq: raises the interrupt line, which
 * stays high until IRQ is cleared: see trbe_output_irq().
 */
struct trbe_output_bus {
	void *ctx;
	void *(*virt)(void *ctx, u64 addr, u64 size);
	void (*irq)(void *ctx);
};

struct trbe_output {
	const struct trbe_output_bus *bus;
	u64 limitr, ptr, base, status; /* TRBLIMITR, TRBPTR, TRBBASER, TRBSR */
	u32 align;		       /* 1 << TRBIDR.Align: TRBPTR is rounded down to multiples */
	/* settable behaviour. Errata: bytes that are still written after the buffer is full, */
	u32 overwrite_bytes; /* from base on, overwriting trace; up to three cache lines */
	u32 beyond_bytes;    /* from the limit on; at most a page */
	/* and how many bytes the unit would have produced between an event and its interrupt */
	u32 irq_delay_bytes;
	bool irq_pending;		 /* IRQ is set, but the interrupt line is not raised yet */
	u64 irq_at;			 /* nr_written + nr_dropped at which it is raised */
	u32 beyond_left, overwrite_left; /* bytes that errata can still write */
	u64 beyond_at;
	/* to be injected into the next write; 0: nothing */
	u64 inject;
	/* counters. Bytes written by errata also count as dropped: no pointer covers them. */
	u64 nr_written, nr_dropped, nr_errata_bytes;
};

void trbe_output_init(struct trbe_output *out, const struct trbe_output_bus *bus, u32 align);
/* The registers above; false: unknown register, or not writable. */
bool trbe_output_read(const struct trbe_output *out, u32 reg, u64 *value);
bool trbe_output_write_reg(struct trbe_output *out, u32 reg, u64 value);
/*
 * Stores bytes of the trace unit. Returns how many were stored between base and limit; the others
 * are counted in nr_dropped: in fill mode a full buffer stops collection. irq is called last. bytes
 * NULL: does not store, but does everything else.
 */
size_t trbe_output_write(struct trbe_output *out, const u8 *bytes, size_t nr_bytes);
/* The level of the interrupt line. */
bool trbe_output_irq(const struct trbe_output *out);
/* The next write causes an event: these bits of TRBSR, besides S and IRQ; nothing is written. */
void trbe_output_fail(struct trbe_output *out, u64 status);
/* An interrupt without a cause: IRQ alone, collection continues. */
void trbe_output_spurious(struct trbe_output *out);

#endif
