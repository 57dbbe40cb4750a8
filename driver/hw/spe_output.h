/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The output stage of an SPE unit: writes whole records into the profiling buffer, and stops at
 * buffer management events. Registers as in the Arm Architecture Reference Manual, "The Statistical
 * Profiling Extension", section on the profiling buffer. It never calls the driver. Neighbour:
 * driver/pmu/arm_spe.c, which programs it.
 */
#ifndef AUXTAP_SPE_OUTPUT_H
#define AUXTAP_SPE_OUTPUT_H

#include "hw_types.h"

/* S3_0_C9_C10_n, as MRS and MSR encode them. */
#define SYS_PMBLIMITR 0xc4d0
#define SYS_PMBPTR    0xc4d1
#define SYS_PMBSR     0xc4d3
#define SYS_PMBIDR    0xc4d7

#define PMBLIMITR_E (1ull << 0)
/* a management event: profiling has stopped, and the interrupt line is raised */
#define PMBSR_S		      (1ull << 17)
#define PMBSR_COLL	      (1ull << 16) /* a sample was due while one was being taken */
#define PMBSR_EA	      (1ull << 18) /* external abort */
#define PMBSR_DL	      (1ull << 19) /* data lost: a record is incomplete */
#define PMBSR_BSC_FULL	      1ull
#define PMBSR_EC(class)	      ((u64)(class) << 26)
#define PMBSR_EC_BUFFER	      0x00 /* buffer management events; MSS is one of PMBSR_BSC_… */
#define PMBSR_EC_STAGE1	      0x24 /* faults of a write; MSS is a fault status code */
#define PMBSR_EC_STAGE2	      0x25
#define PMBSR_FSC_TRANSLATION 0x07ull /* level 3 */

/*
 * The environment of the stage. ctx is passed to both functions. virt: host memory at a virtual
 * address, size bytes that are mapped, or NULL (a fault). irq: raises the interrupt line, which
 * stays high until S is cleared: see spe_output_irq().
 */
struct spe_output_bus {
	void *ctx;
	void *(*virt)(void *ctx, u64 addr, u64 size);
	void (*irq)(void *ctx);
};

struct spe_output {
	const struct spe_output_bus *bus;
	u64 limitr, ptr, status; /* PMBLIMITR, PMBPTR, PMBSR */
	u32 align;		 /* 1 << PMBIDR.Align: records start at multiples of it */
	u32 max_record;		 /* 1 << PMSIDR.MaxSize */
	/*
	 * settable behaviour: bytes that the unit would have produced between a management event
	 * and its interrupt
	 */
	u32 irq_delay_bytes;
	bool irq_pending; /* S is set, but the interrupt line is not raised yet */
	u64 irq_at;	  /* nr_written + nr_dropped at which it is raised */
	/* to be injected into the next record that can be written; 0: nothing */
	u64 inject;
	u32 inject_bytes; /* bytes of that record that reach memory */
	/*
	 * counters; a record that a fault truncates is in both byte counts, and in neither count of
	 * records
	 */
	u64 nr_written, nr_dropped; /* bytes of records */
	u64 nr_padding;		    /* bytes between records, for align */
	u64 nr_records, nr_records_dropped;
};

/* max_record, align: powers of two, as the ID registers of such a unit report them. */
void spe_output_init(struct spe_output *out, const struct spe_output_bus *bus, u32 max_record,
		     u32 align);
/* The four registers above; false: unknown register, or not writable. */
bool spe_output_read(const struct spe_output *out, u32 reg, u64 *value);
bool spe_output_write(struct spe_output *out, u32 reg, u64 value);
/*
 * Writes one record of at most max_record bytes. True: it is completely in memory. Otherwise it is
 * counted as dropped (the buffer is off, stopped, or stops within it). irq is called last. bytes
 * NULL: stores only padding, but does everything else.
 */
bool spe_output_record(struct spe_output *out, const u8 *bytes, u32 nr_bytes);
/*
 * For position-only runs: advances ptr over as many of nr_records records as fit without an event,
 * and counts them as written. Returns their number.
 */
u64 spe_output_advance(struct spe_output *out, u32 nr_bytes, u64 nr_records);
/* The level of the interrupt line. */
bool spe_output_irq(const struct spe_output *out);

/* ---- events to inject ---- */

/*
 * A sample was due while one was being taken. By itself it stops nothing and raises no interrupt.
 */
void spe_output_collide(struct spe_output *out);
/*
 * Only the first nr_bytes of the next record are stored, and then the buffer stops with S and these
 * bits of PMBSR: PMBSR_DL and so on. If nr_bytes is not 0 and the record is longer, the caller must
 * set DL.
 */
void spe_output_fail(struct spe_output *out, u64 status, u32 nr_bytes);

#endif
