/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A machine for the tests of the Arm drivers: the perf core, a driver and its hardware's output
 * stage, joined by registers, memory and an interrupt line; and a reader of the rings, which
 * knows for each byte in the area whether the unit stored it.
 */
#ifndef AUXTAP_TEST_PMU_ARM_H
#define AUXTAP_TEST_PMU_ARM_H

#include "hw/spe_output.h"
#include "hw/trbe_output.h"
#include "core/core.h"
#include "pmu/arm_spe.h"
#include "pmu/arm_spe_regs.h"
#include "pmu/cs_etm.h"
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#define P 4096ull

#define TRUNCATED PERF_AUX_FLAG_TRUNCATED
#define PARTIAL	  PERF_AUX_FLAG_PARTIAL
#define COLLISION PERF_AUX_FLAG_COLLISION
#define OVERWRITE PERF_AUX_FLAG_OVERWRITE

/* ---- the machine ---- */

struct arm_cpu {
	struct spe_output spe;
	u64 regs[16];	      /* those from 0xc4c8 up that the stage does not implement */
	bool undrained;	      /* bytes may be on their way: registers are not valid */
	unsigned int nr_irqs; /* times that the line rose */
	struct trbe_output trbe;
	bool etm_on;
	u8 fifo[256]; /* of the trace unit: bytes that only a drain certainly writes to memory */
	u32 nr_fifo;
};

struct arm_machine {
	int cpu; /* the CPU that tests run on */
	struct arm_cpu cpus[8];
	u64 pmsidr; /* before machine start: the units' properties */
	u64 pmbidr_p;
	int absent_cpu; /* the CPU without a unit; -1: none */
	u64 time;
	int nr_wakeups;
	int nr_errors_logged;
	struct arm_session *prompt; /* its reader reads everything when woken; or NULL */
	struct core_machine core;
	struct arm_session *traced;
	u32 fifo_size;	  /* bytes that the trace units hold back */
	int etm_error;	  /* their result when they are switched on */
	bool irq_in_stop; /* an interrupt arrives in the call that switches one off */
};
extern struct arm_machine arm;

static inline struct arm_cpu *arm_unit(void)
{
	return &arm.cpus[arm.cpu];
}

/* Fresh; SPE units of these properties, registered as arm_spe_0. Returns the result of the
 * registration. */
int spe_start(const char *kernel, u32 max_record, u32 align);
int spe_restart(const char *kernel); /* units with the properties in arm.pmsidr */
extern struct arm_spe_hw spe_hw;
void spe_end(void);
bool spe_on(void); /* samples would be stored */

/* The same with trace units and TRBEs, registered as cs_etm. errata: of the TRBEs. */
#define ERRATUM_OVERWRITE 0x1
#define ERRATUM_BEYOND	  0x2
int trbe_start(const char *kernel, u32 align, int errata);
void trbe_end(void);
bool trbe_on(void); /* trace would be stored */
extern struct cs_etm_hw etm_hw;

/* ---- one profiled task ---- */

struct arm_record {
	u64 offset, size, flags;
};

struct arm_session {
	struct core_task task;
	struct perf_event_attr attr;
	struct perf_event *event;
	struct core_mapping *data_map, *aux_map;
	struct perf_event_mmap_page *page;
	u8 *aux;
	u64 aux_size;
	bool snapshot;
	bool skips_reported; /* J6: records cover padding, too */
	u8 pad;
	/* linear: what the unit stored at each position, by 1 + byte; 0: nothing */
	u16 *stored;
	u64 max_stored;
	u64 nr_stored;
	u64 produced, produced_off; /* bytes; those while nothing was to be sampled */
	struct arm_record *records;
	size_t nr_records, max_records;
	unsigned int nr_itrace_start, nr_lost;
};

/* attr of arm_spe_0; change s->attr before arm_open(). */
void spe_session(struct arm_session *s);
/* Event on the task, data ring, AUX area: writable = linear. Negative errno. */
int arm_open(struct arm_session *s, u64 aux_pages, bool writable);
void arm_close(struct arm_session *s);
void arm_in(struct arm_session *s);
void arm_out(struct arm_session *s);
/* Acts as a reader that saw a truncation (D21). */
void arm_reenable(struct arm_session *s);

/* Byte number n that the unit generates; never 0, nor 0x70. */
u8 arm_byte(u64 n);
/* One record; no interrupt is taken. True: it is in memory. */
bool spe_record(struct arm_session *s, u32 nr_bytes);
/* The driver takes its interrupt, if the line is up. */
bool spe_take_irq(void);
/* Makes records of nr_bytes until there are n; interrupts are taken at once. */
void spe_run(struct arm_session *s, unsigned int n, u32 nr_bytes);
/* attr of cs_etm; likewise. */
void trbe_session(struct arm_session *s);
/* Bytes of trace; no interrupt is taken. */
void trbe_trace(struct arm_session *s, u32 nr_bytes);
bool trbe_take_irq(void);
/* nr_bytes of trace; interrupts are taken within 16 bytes. */
void trbe_run(struct arm_session *s, u64 nr_bytes);
/* Marks in s->stored the bytes between two offsets of the area, in the open transaction. */
void arm_note(struct arm_session *s, u64 from_off, u64 to_off, const u8 *bytes, u32 nr_bytes);

void arm_records(struct arm_session *s);
const struct arm_record *arm_last(struct arm_session *s); /* asserts that there is one */
/* Asserts that the nth record is this. */
void arm_expect(struct arm_session *s, size_t n, u64 offset, u64 size, u64 flags);
u64 arm_aux_head(const struct arm_session *s);
void arm_set_tail(struct arm_session *s, u64 tail);
static inline u64 arm_aux_tail(const struct arm_session *s)
{
	return s->page->aux_tail;
}
/*
 * Linear: from tail to head, the area has the bytes that the unit stored there, padding elsewhere;
 * and a record covers every stored byte (call arm_records() before).
 */
void arm_check_unread(const struct arm_session *s);

/* A test that runs under every kernel's switches. */
typedef void arm_test(const char *kernel);
void arm_every_kernel(void **state);
#define ARM_TEST(fn)                                            \
	{                                                       \
#fn, arm_every_kernel, NULL, NULL, (void *)(fn) \
	}

#endif
