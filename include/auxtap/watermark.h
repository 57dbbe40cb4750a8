/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The watermark laboratory: a trace unit, its driver and the kernel's AUX area in simulated
 * time, with an interrupt controller and a reader that behave as they are told, and a monitor
 * that looks on. docs/watermark.md explains what it asks and what its verdicts mean.
 *
 * The drivers and the kernel model are the ones of auxtap's emulation and of its kernel module.
 * Trace units are models behind struct auxtap_trace_unit: three are built in, one may be yours.
 * In libauxtap-watermark; examples/watermark_sim.c runs one machine.
 *
 * Times are nanoseconds of simulated time, sizes bytes. One simulation at a time in a process
 * (-EBUSY): the drivers' registrations are the process', as they are a kernel's.
 */
#ifndef AUXTAP_WATERMARK_H
#define AUXTAP_WATERMARK_H

#include <auxtap/error.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct auxtap_backend; /* auxtap/capture.h */

/* ---- trace units ---- */

/* The machine around a trace unit. Owned by the laboratory, valid until destroy(). */
struct auxtap_unit_bus {
	void *ctx; /* to be passed back */
	/*
	 * A read of memory: at a physical address for intel_pt (its tables), at a virtual one for
	 * the others. 0, or -EFAULT: no memory there.
	 */
	int (*load)(void *ctx, uint64_t addr, void *to, uint64_t nr_bytes);
	/*
	 * A write of trace to memory; addresses as for load(). bytes NULL: memory stays as it is,
	 * and the monitor is told where the trace would be (a run without contents). nr_bytes 0: is
	 * there memory? 0, or -EFAULT.
	 */
	int (*store)(void *ctx, uint64_t addr, const uint8_t *bytes, uint64_t nr_bytes);
	/* The interrupt line goes up. */
	void (*irq)(void *ctx);
};

/* What is asked of the unit: from the configuration. */
struct auxtap_unit_setup {
	uint64_t overshoot_bytes; /* trace that comes between the mark and its interrupt */
	uint32_t align;		  /* of the write pointer; Arm: as its ID register tells */
	/* trace is made of pieces of this size, many at a call; arm_spe: records */
	uint32_t record_bytes;
	uint32_t max_record; /* arm_spe: as PMSIDR tells */
	uint32_t errata;     /* AUXTAP_ERRATUM_… */
};
#define AUXTAP_ERRATUM_OVERWRITE 0x1 /* trbe: writes over its begin after a fill (J6) */
#define AUXTAP_ERRATUM_BEYOND	 0x2 /* trbe: writes up to a page behind its limit (J2) */

/* A system register's number, from its five fields as the Arm ARM has them (MRS, MSR). */
#define AUXTAP_SYSREG(op0, op1, crn, crm, op2) \
	((uint32_t)((op0) << 14 | (op1) << 11 | (crn) << 7 | (crm) << 3 | (op2)))

/*
 * A trace unit as its driver and the bus see it. All calls come from one thread; the unit
 * keeps its state in what create() returned. Of the functions of this header a unit needs none:
 * it is a shared object that defines
 *
 *	const struct auxtap_trace_unit auxtap_trace_unit = { .size = sizeof(auxtap_trace_unit), … };
 *
 * and 'auxtap watermark sim --unit ./FILE.so' runs it. examples/trace_unit.c is one.
 */
struct auxtap_trace_unit {
	size_t size;	    /* of this struct */
	const char *name;   /* for messages */
	const char *driver; /* whose registers it has: "intel_pt", "arm_spe", "trbe" */
	/* NULL: no memory. bus stays valid, setup does not. */
	void *(*create)(const struct auxtap_unit_bus *bus, const struct auxtap_unit_setup *setup);
	void (*destroy)(void *unit);
	/*
	 * Registers, as the driver reads and writes them; a unit keeps what it does not know, or
	 * reads it as zero. intel_pt: MSR numbers: IA32_RTIT_OUTPUT_BASE 0x560, _OUTPUT_MASK_PTRS
	 * 0x561, _CTL 0x570, _STATUS 0x571. Arm: AUXTAP_SYSREG():
	 * arm_spe: PMSCR_EL1 0xc4c8 (its E0SPE, E1SPE switch sampling on) to PMSIDR_EL1 0xc4cf;
	 *   PMBLIMITR_EL1 0xc4d0, PMBPTR_EL1 0xc4d1, PMBSR_EL1 0xc4d3, PMBIDR_EL1 0xc4d7;
	 * trbe: TRBLIMITR_EL1 0xc4d8, TRBPTR_EL1 0xc4d9, TRBBASER_EL1 0xc4da, TRBSR_EL1 0xc4db,
	 *   TRBIDR_EL1 0xc4df.
	 * Before the first transaction the driver reads the ID registers: PMSIDR must tell
	 * setup's max_record, PMBIDR and TRBIDR its align, each as a power of two.
	 */
	uint64_t (*reg_read)(void *unit, uint32_t reg);
	void (*reg_write)(void *unit, uint32_t reg, uint64_t value);
	/*
	 * While tracing and the buffer are switched on: the program yields nr_bytes of trace, more
	 * than 0 (arm_spe: a whole number of records). bytes may be NULL, see store(). *taken: how
	 * many of them were dealt with, 1 to nr_bytes. Returns how many of those were stored: the
	 * first ones, in their order, padding not counted. The others are lost: a unit that loses
	 * some and then stores again returns in between. What is left is asked again. After each
	 * call the laboratory knows how late it is: so a unit whose interrupt line goes up calls
	 * irq() and returns at that byte, with *taken saying which it is. Bytes that a stopped unit
	 * loses count as well.
	 */
	uint64_t (*produce)(void *unit, const uint8_t *bytes, uint64_t nr_bytes, uint64_t *taken);
	/*
	 * The level of the interrupt line, looked at when the driver has been: one that is still up
	 * interrupts again. NULL: an edge, irq() is all there is (intel_pt).
	 */
	int (*irq_level)(void *unit);
};

/* The kernels whose rules are known, from 0; NULL: no more of them. */
AUXTAP_API const char *auxtap_watermark_kernel(unsigned int n);

/* The built-in units; NULL: no such driver. */
AUXTAP_API const struct auxtap_trace_unit *auxtap_trace_unit_find(const char *driver);

/* ---- a configuration ---- */

struct auxtap_watermark_config {
	size_t size;			      /* of this struct */
	const char *driver;		      /* "intel_pt", "arm_spe", "trbe" */
	const struct auxtap_trace_unit *unit; /* NULL: the driver's own */
	const char *kernel;		      /* auxtap_watermark_kernel() */
	const char *fault;		      /* of auxtap_watermark_faults; NULL: none */
	uint64_t page_size;		      /* 4096, 16384, 65536 */
	uint64_t nr_pages;		      /* of the AUX area: a power of two */
	/* attr.aux_watermark, bytes; 0: the kernel's choice (C2) */
	uint64_t watermark;
	uint64_t data_pages; /* of the data ring: a power of two, or 0 */
	int snapshot;	     /* the area is overwritten */
	int cpu;	     /* 0 … 7: where the program runs */
	/* log2 of the largest free run of pages (C5); -1: as large as wanted */
	int max_order;
	struct auxtap_unit_setup setup;
	uint64_t rate;		     /* trace, bytes a second */
	uint64_t burst_ns, pause_ns; /* rate for so long, nothing for so long; 0: always */
	/* or how much trace there is when: until time_ns comes rate; sorted; NULL: as above */
	const struct auxtap_watermark_rate {
		uint64_t time_ns, rate;
	} * rates;
	size_t nr_rates;
	uint64_t irq_latency_ns, irq_jitter_ns; /* from the line to the driver; jitter on top */
	/* from the wakeup to its first read */
	uint64_t reader_latency_ns, reader_jitter_ns;
	uint64_t read_bytes;  /* what it takes at a time; 0: all */
	uint64_t reader_rate; /* bytes a second; 0: at once */
	uint64_t switch_ns;   /* the program is switched out for a moment so often; 0: never */
	uint64_t seed;
	uint64_t max_bytes; /* trace to be made; 0: no limit, then one of the next two */
	uint64_t max_transactions, max_ns;
	int contents; /* bytes are stored and looked at, not only positions */
};

/* All fields as the demonstration has them, for a driver (its page size and records). */
AUXTAP_API void auxtap_watermark_defaults(struct auxtap_watermark_config *config,
					  const char *driver);

/* ---- what comes out ---- */

/* What must hold. docs/watermark.md has a paragraph for each, by its name. */
enum auxtap_watermark_invariant {
	AUXTAP_INV_UNREAD_KEPT,
	AUXTAP_INV_LIMIT_KEPT,
	AUXTAP_INV_IRQ_AT_THRESHOLD,
	AUXTAP_INV_IRQ_IN_TIME,
	AUXTAP_INV_IRQ_HAS_CAUSE,
	AUXTAP_INV_WAKEUP_AT_WATERMARK,
	AUXTAP_INV_WAKEUP_AHEAD,
	AUXTAP_INV_OVERWRITE_SILENT,
	AUXTAP_INV_BYTES_ADD_UP,
	AUXTAP_INV_RECORDS_TRUE,
	AUXTAP_INV_CONTENTS_TRUE,
	AUXTAP_INV_LOSS_FLAGGED,
	AUXTAP_INV_FLAG_HAS_CAUSE,
	AUXTAP_INV_TRUNCATED_DISABLED,
	AUXTAP_INV_PROGRESS,
	AUXTAP_INV_FREED_ONCE,
	AUXTAP_INV_NO_WARNING,
	AUXTAP_NR_INVARIANTS
};
struct auxtap_invariant_info {
	const char *name;  /* "unread-kept" */
	const char *rules; /* of docs/kernel-rules.md */
	const char *text;  /* one sentence */
};
AUXTAP_API const struct auxtap_invariant_info *
auxtap_invariant_info(enum auxtap_watermark_invariant inv);

/* Why trace was lost. */
enum auxtap_watermark_loss {
	AUXTAP_LOSS_STOPPED,  /* the unit had stopped at its limit, the interrupt was on its way */
	AUXTAP_LOSS_NO_SPACE, /* no transaction was open: the reader had not read */
	AUXTAP_LOSS_FAULT,    /* the unit stopped by itself */
	AUXTAP_NR_LOSSES
};
AUXTAP_API const char *auxtap_watermark_loss_name(enum auxtap_watermark_loss loss);

/* What happens, in order of time; for time lines and pictures. */
enum auxtap_watermark_what {
	AUXTAP_WM_BEGIN,       /* a transaction: a: head, b: room, c: wakeup (aux_wakeup + W) */
	AUXTAP_WM_REFUSED,     /* no transaction: a: head */
	AUXTAP_WM_MARKS,       /* a: where the interrupt is due, b: where the unit must stop (both
				  absolute; UINT64_MAX: none) */
	AUXTAP_WM_SKIP,	       /* padding: a: from, b: bytes */
	AUXTAP_WM_MARK,	       /* the write pointer is at the mark: a: position */
	AUXTAP_WM_IRQ_LINE,    /* a: write pointer */
	AUXTAP_WM_IRQ,	       /* the driver's turn: a: write pointer */
	AUXTAP_WM_END,	       /* a: offset, b: bytes, c: flags (PERF_AUX_FLAG_…) */
	AUXTAP_WM_RECORD,      /* as the reader will see it: a: offset, b: bytes, c: flags */
	AUXTAP_WM_RECORD_LOST, /* the same, and the data ring had no room */
	AUXTAP_WM_WAKEUP,      /* a: head */
	AUXTAP_WM_READ,	       /* a: new tail, b: bytes */
	AUXTAP_WM_REENABLE,    /* by the reader */
	AUXTAP_WM_LOSS,	       /* over: a: bytes, b: enum auxtap_watermark_loss, c: ns it took */
	AUXTAP_WM_SWITCH,      /* a: 1: the program runs, 0: it does not */
	AUXTAP_WM_VIOLATION, /* a: enum auxtap_watermark_invariant, b: position where something is,
				c: where it should be (UINT64_MAX: the text has it); text */
	AUXTAP_WM_FINDING,   /* known, and not against the rules of this kernel; text */
	AUXTAP_WM_STATUS,    /* what is in the unit's registers, as a driver reads them, at an
				interrupt, where the unit is switched on, and where bits that the
				driver has cleared are not: a: status, b: write pointer, as an
				offset in the area (UINT64_MAX: elsewhere), c: what the driver has
				written (UINT64_MAX: nothing); text: a's bits */
};
struct auxtap_watermark_event {
	uint64_t time_ns;
	enum auxtap_watermark_what what;
	uint64_t a, b, c;
	const char *text; /* or NULL; valid during the call */
};

#define AUXTAP_OVERSHOOT_BUCKETS 304
/* The least skid that is counted in a bucket: 16 single bytes, then 8 buckets for each doubling. */
AUXTAP_API uint64_t auxtap_overshoot_bucket_from(unsigned int bucket);

#define AUXTAP_WM_VIOLATIONS 8	  /* kept with their text; the others are counted */
#define AUXTAP_WM_ENOUGH     1000 /* violations that end a run */
struct auxtap_watermark_result {
	int refused; /* the kernel or the driver does not take this configuration */
	char refusal[160];
	uint64_t time_ns;
	uint64_t nr_transactions, nr_records, nr_interrupts, nr_wakeups, nr_reads, nr_refused;
	uint64_t nr_truncated, nr_reenabled;
	/* bytes. produced = stored + sum of lost; head = recorded + skipped + record_lost */
	uint64_t produced, stored, recorded, skipped, record_lost, head;
	uint64_t lost[AUXTAP_NR_LOSSES];
	uint64_t unreported; /* of lost: the kernel has no flag for it */
	uint64_t max_lag;    /* largest head - tail */
	/* marks, over all transactions: from the watermark (aux_wakeup + W) to the mark */
	int64_t mark_min, mark_max;
	/* behind head: the interrupt comes a lap later at best */
	uint64_t nr_marks, nr_marks_behind;
	uint64_t overshoot_max;			  /* bytes from the mark to the driver's turn */
	uint64_t skids[AUXTAP_OVERSHOOT_BUCKETS]; /* how often it was how much */
	uint64_t nr_violations, by_invariant[AUXTAP_NR_INVARIANTS];
	struct auxtap_watermark_violation {
		enum auxtap_watermark_invariant invariant;
		uint64_t time_ns;
		char text[200];
	} violations[AUXTAP_WM_VIOLATIONS]; /* the first ones, each kind once in a transaction */
	uint64_t nr_kept;
	uint64_t nr_findings;
	char finding[200]; /* the first one */
};

/* What a result comes to. */
enum auxtap_watermark_verdict {
	AUXTAP_WM_PASS,
	AUXTAP_WM_FAIL,	       /* an invariant does not hold */
	AUXTAP_WM_NO_PROGRESS, /* more is lost than the configuration explains: no other invariant
				  than AUXTAP_INV_PROGRESS is broken, or nothing is stored */
	AUXTAP_WM_NOT_RUN,     /* refused */
};
AUXTAP_API enum auxtap_watermark_verdict
auxtap_watermark_verdict(const struct auxtap_watermark_result *result);

/*
 * Runs one configuration to its end. on_event may be NULL. 0: done, see result; -EINVAL: a value
 * is impossible (err says which and what is allowed); -EBUSY; -ENOMEM.
 */
AUXTAP_API int
auxtap_watermark_run(const struct auxtap_watermark_config *config,
		     void (*on_event)(void *ctx, const struct auxtap_watermark_event *event),
		     void *ctx, struct auxtap_watermark_result *result, struct auxtap_error *err);

/* ---- the standard sweep ---- */

#define AUXTAP_SWEEP_AREAS	16 /* 2, 4, 8, … 65536 pages */
#define AUXTAP_SWEEP_WATERMARKS 64 /* fractions of the area; bytes, pages and what is neither */
/* latency: none, 1/8, 1/2, twice the time in which the area fills */
#define AUXTAP_SWEEP_READERS 4
/*
 * One configuration of it, each index from 0; the kernel is the defaults'. Drivers and page sizes
 * of the standard sweep: auxtap_sweep_machines.
 */
AUXTAP_API void auxtap_watermark_sweep_config(struct auxtap_watermark_config *config,
					      const char *driver, uint64_t page_size,
					      unsigned int area, unsigned int watermark,
					      unsigned int reader);
struct auxtap_sweep_machine {
	const char *driver;
	uint64_t page_size;
};
/* Ended by a NULL driver. */
AUXTAP_API extern const struct auxtap_sweep_machine auxtap_sweep_machines[];

/* ---- exhaustive search ---- */

/*
 * Every state that a small world can come into, whatever the order in which the program yields
 * trace (a piece of setup.record_bytes at a time), the interrupt comes to the driver, the
 * scheduler takes the program out and in, and the reader, once woken, reads (one piece, or all)
 * and enables the event again. Times, rates and latencies of the configuration do not matter.
 */
struct auxtap_explore_result {
	int refused;
	char refusal[160];
	uint64_t nr_states, nr_steps; /* steps: from each state, all that can happen */
	/* steps not followed: padding has moved the positions by more than two bytes */
	uint64_t nr_cut;
	unsigned int depth; /* longest of the shortest paths */
	int complete;	    /* 0: max_states was reached, the rest is not known */
	int violated;
	enum auxtap_watermark_invariant invariant;
	char text[200];
	/* the shortest way to it, an action a letter; see below. "": too long */
	char path[4096];
	uint64_t nr_findings; /* steps with what is known and not against this kernel's rules */
	char finding[200];
	uint64_t nr_unmapped; /* states of them in which the area was unmapped as well */
	uint64_t nr_watched; /* states in which the reader is asleep and trace is off (D6): only its
				own watch, a timer, brings it back */
};
/* p: a piece of trace; i: the interrupt reaches the driver; s: switched out, or in; r: the reader
 * reads a piece; a: all; e: it enables the event again, if that is needed, and sleeps; w: its
 * watch; u, the last: the area is unmapped, and the program scheduled in between its last two steps
 * (D2). In worlds of more than AUXTAP_EXPLORE_UNMAP states only in the first ones: it takes a world
 * of its own each. */
#define AUXTAP_EXPLORE_UNMAP	  10000
#define AUXTAP_EXPLORE_UNMAP_SOME 1000
AUXTAP_API int auxtap_watermark_explore(const struct auxtap_watermark_config *config,
					uint64_t max_states, struct auxtap_explore_result *result,
					struct auxtap_error *err);
/* Plays a path, with its events. Violations are in result. */
AUXTAP_API int
auxtap_watermark_play(const struct auxtap_watermark_config *config, const char *path,
		      void (*on_event)(void *ctx, const struct auxtap_watermark_event *event),
		      void *ctx, struct auxtap_watermark_result *result, struct auxtap_error *err);

/* ---- the zoo ---- */

struct auxtap_watermark_fault {
	const char *name;
	const char *text;			/* what is wrong, one sentence */
	enum auxtap_watermark_invariant caught; /* by this one */
	const char *drivers;			/* it applies to: names, separated by blanks */
	int silicon;				/* of the unit or the interrupt; 0: of the kernel */
};
/* Ended by a NULL name. */
AUXTAP_API extern const struct auxtap_watermark_fault auxtap_watermark_faults[];
/* Sets what the fault needs to show itself (sizes, rates); to be called after the defaults. */
AUXTAP_API int auxtap_watermark_fault_config(struct auxtap_watermark_config *config,
					     const char *fault, struct auxtap_error *err);

/* ---- this machine ---- */

enum auxtap_live_reader {
	AUXTAP_LIVE_PROMPT, /* reads all whenever it is woken */
	AUXTAP_LIVE_FULL,   /* reads nothing until trace has stopped for want of room */
};

/* An AUX record of the real kernel's. Positions count bytes since the begin. */
struct auxtap_live_record {
	uint64_t offset, nr_bytes, flags;
	uint64_t mark, limit; /* as the driver should have set them for it; UINT64_MAX: none,
				 or behind its begin (H4) */
	bool marked;	      /* an interrupt ended it */
};

struct auxtap_live_opts {
	size_t size;
	/* as perf spells it: "intel_pt//u"; what the PMU takes, whatever it is called */
	const char *event;
	int cpu; /* whose trace unit: the event is of the CPU, not of a program */
	enum auxtap_live_reader reader;
	uint64_t max_bytes;	/* of trace; then the event is switched off */
	uint64_t max_ns;	/* whatever was traced by then */
	uint64_t max_overshoot; /* bytes that an interrupt may come behind its mark */
	const char *path;	/* the capture, perf.data */
	/* Each AUX record and what was expected of it. May be NULL. */
	void (*on_record)(void *ctx, const struct auxtap_live_record *record);
	void *ctx;
};

struct auxtap_live_result {
	int refused, refusal;	    /* by the kernel, with this errno */
	char expected_refusal[160]; /* by the model; empty: none */
	uint64_t nr_records, nr_bytes, nr_truncated, nr_reads, nr_enabled;
	uint64_t nr_wakeups, nr_expected_wakeups; /* a reader that is busy sees several as one */
	uint64_t overshoot_max;			  /* bytes from a mark to the end of its record */
	int agrees;
	char text[256]; /* the first thing that the kernel did otherwise than expected */
};

/*
 * Runs one configuration on this machine's PMU, through the real kernel, and holds what comes back
 * against the model: driver, kernel, page_size, nr_pages, watermark, data_pages and setup.align of
 * config say what is expected; its times do not matter, for the model ends each transaction where
 * the kernel has ended it. Nothing else is known of the trace unit than where it was interrupted.
 * Returns 0 also where they differ; an error: it could not be done (-EIO: the capture cannot be
 * written, -ENODATA: nothing was traced in max_ns).
 */
AUXTAP_API int auxtap_watermark_live(const struct auxtap_watermark_config *config,
				     struct auxtap_backend *backend,
				     const struct auxtap_live_opts *opts,
				     struct auxtap_live_result *result, struct auxtap_error *err);
/* The rules of a kernel by its release ("6.1.0-49-amd64"): a configuration's kernel; NULL: none. */
AUXTAP_API const char *auxtap_watermark_kernel_for(const char *release);

#ifdef __cplusplus
}
#endif
#endif
