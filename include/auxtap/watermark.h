/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The watermark simulator: a trace unit, its driver and the kernel's AUX area in simulated time,
 * with an interrupt controller and a reader of configurable timing, and a monitor that checks every
 * step. docs/watermark.md explains its checks and verdicts.
 *
 * Drivers and kernel model are those of auxtap's emulation and of its kernel module. Trace units
 * are models that implement struct auxtap_trace_unit: three are built in, and you can add your own.
 * In libauxtap-watermark; examples/watermark_sim.c runs one machine.
 *
 * Times are nanoseconds of simulated time, sizes are bytes. A thread can run one simulation at a
 * time (-EBUSY), because drivers register globally, as in a kernel; up to 128 threads of a process
 * can run one each. Results do not depend on what other threads do.
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

/* The machine around a trace unit. Owned by the simulator, valid until destroy(). */
struct auxtap_unit_bus {
	size_t size; /* of the simulator's struct */
	void *ctx;   /* first argument of the functions */
	/*
	 * Reads memory: at a physical address for intel_pt (its tables), at a virtual one for the
	 * others. 0, or -EFAULT: no memory there.
	 */
	int (*load)(void *ctx, uint64_t addr, void *to, uint64_t nr_bytes);
	/*
	 * Writes trace to memory; addresses as for load(). bytes NULL: does not change memory, only
	 * reports to the monitor where the trace would be (a run without contents). nr_bytes 0:
	 * checks for memory. 0, or -EFAULT.
	 */
	int (*store)(void *ctx, uint64_t addr, const uint8_t *bytes, uint64_t nr_bytes);
	/* Raises the interrupt line. */
	void (*irq)(void *ctx);
};

/* Properties of the unit, from the configuration. */
struct auxtap_unit_setup {
	uint64_t irq_delay_bytes; /* trace from the interrupt threshold to the line's rise */
	uint32_t align;		  /* of the write pointer; Arm: as in its ID register */
	/* trace is generated in fragments of this size, many in one call; arm_spe: records */
	uint32_t record_bytes;
	uint32_t max_record; /* arm_spe: as in PMSIDR */
	uint32_t errata;     /* AUXTAP_ERRATUM_… */
};
#define AUXTAP_ERRATUM_OVERWRITE 0x1 /* trbe: overwrites the start of its buffer when full (J6) */
#define AUXTAP_ERRATUM_BEYOND	 0x2 /* trbe: writes up to a page beyond its limit (J2) */

/* The number of a system register, from its five fields in the Arm ARM (MRS, MSR). */
#define AUXTAP_SYSREG(op0, op1, crn, crm, op2) \
	((uint32_t)((op0) << 14 | (op1) << 11 | (crn) << 7 | (crm) << 3 | (op2)))

/*
 * A trace unit as its driver and the bus see it. All calls come from one thread; the unit keeps its
 * state in the object that create() returned. A unit calls no function of this header: it is a
 * shared object that defines
 *
 *	const struct auxtap_trace_unit auxtap_trace_unit = { .size = sizeof(auxtap_trace_unit), … };
 *
 * and 'auxtap watermark sim --unit ./FILE.so' runs it. examples/trace_unit.c is an example.
 */
struct auxtap_trace_unit {
	size_t size;	    /* of this struct */
	const char *name;   /* for messages */
	const char *driver; /* the driver for its registers: "intel_pt", "arm_spe", "trbe" */
	/* NULL: out of memory. bus stays valid, setup does not. */
	void *(*create)(const struct auxtap_unit_bus *bus, const struct auxtap_unit_setup *setup);
	void (*destroy)(void *unit);
	/*
	 * Registers, as the driver reads and writes them; unknown ones keep their value or read as
	 * zero. intel_pt: MSR numbers: IA32_RTIT_OUTPUT_BASE 0x560, _OUTPUT_MASK_PTRS 0x561, _CTL
	 * 0x570, _STATUS 0x571. Arm: AUXTAP_SYSREG():
	 * arm_spe: PMSCR_EL1 0xc4c8 (its E0SPE, E1SPE enable sampling) to PMSIDR_EL1 0xc4cf;
	 *   PMBLIMITR_EL1 0xc4d0, PMBPTR_EL1 0xc4d1, PMBSR_EL1 0xc4d3, PMBIDR_EL1 0xc4d7;
	 * trbe: TRBLIMITR_EL1 0xc4d8, TRBPTR_EL1 0xc4d9, TRBBASER_EL1 0xc4da, TRBSR_EL1 0xc4db,
	 *   TRBIDR_EL1 0xc4df.
	 * Before the first transaction the driver reads the ID registers: PMSIDR must contain
	 * max_record of setup, PMBIDR and TRBIDR its align, each as a power of two.
	 */
	uint64_t (*reg_read)(void *unit, uint32_t reg);
	void (*reg_write)(void *unit, uint32_t reg, uint64_t value);
	/*
	 * Called while tracing and the buffer are enabled: the program generates nr_bytes of trace,
	 * more than 0 (arm_spe: whole records, but where 'live' ends a transaction). bytes may be
	 * NULL, see store(). *taken: how many of them the unit has consumed, 1 to nr_bytes,
	 * including bytes that a stopped unit loses. Returns how many of the consumed bytes were
	 * stored: the first ones, in order, without padding; the others are lost. A unit that loses
	 * bytes and then stores again must return in between; the simulator passes the rest in the
	 * next call. The simulator advances time after each call: a unit that raises its interrupt
	 * line calls irq() and returns at that byte, with *taken up to it.
	 */
	uint64_t (*produce)(void *unit, const uint8_t *bytes, uint64_t nr_bytes, uint64_t *taken);
	/*
	 * The level of the interrupt line, read after the driver has handled an interrupt: a line
	 * that is still high interrupts again. NULL: edge-triggered by irq() only (intel_pt).
	 */
	int (*irq_level)(void *unit);
};

/* The kernels whose rules are known, n from 0; NULL: end of the list. */
AUXTAP_API const char *auxtap_watermark_kernel(unsigned int n);

/* The built-in units; NULL: no such driver. */
AUXTAP_API const struct auxtap_trace_unit *auxtap_trace_unit_find(const char *driver);

/* ---- a configuration ---- */

/*
 * Zero and NULL are the defaults: a machine whose interrupt and reader take no time.
 * auxtap_watermark_typical() fills in one that takes some.
 */
struct auxtap_watermark_config {
	size_t size;
	const char *driver;		      /* "intel_pt" (NULL), "arm_spe", "trbe" */
	const struct auxtap_trace_unit *unit; /* NULL: the driver's own */
	const char *kernel;		      /* NULL: auxtap_watermark_kernel(0) */
	const char *fault;		      /* auxtap_watermark_get_fault(); NULL: none */
	uint64_t page_size;		      /* 4096 (0), 16384, 65536 */
	uint64_t nr_pages;		      /* of the AUX area: a power of two; 0: 16 */
	/* attr.aux_watermark, bytes; 0: the kernel's choice (C2) */
	uint64_t watermark;
	uint64_t data_pages; /* of the data ring: a power of two; 0: 16 */
	int no_data_ring;    /* a data ring without pages (B16); data_pages is ignored */
	int snapshot;	     /* overwrite mode */
	int cpu;	     /* 0 … 7: the CPU that the program runs on */
	/* largest contiguous allocation in pages (C5): a power of two; 0: any */
	uint64_t max_alloc_pages;
	/* align, record_bytes and max_record 0: those of the driver's own unit */
	struct auxtap_unit_setup setup;
	uint64_t rate;		     /* trace, bytes per second; 0: 100,000,000 */
	uint64_t burst_ns, pause_ns; /* rate for burst_ns, no trace for pause_ns; 0: always */
	/* or the rate over time: rate applies until time_ns; sorted; NULL: as above */
	const struct auxtap_watermark_rate {
		uint64_t time_ns, rate;
	} * rates;
	size_t nr_rates;
	uint64_t irq_latency_ns, irq_jitter_ns; /* from the line to the driver; jitter is added */
	/* from the wakeup to the first read */
	uint64_t reader_latency_ns, reader_jitter_ns;
	uint64_t read_bytes;  /* bytes that it reads at once; 0: all */
	uint64_t reader_rate; /* bytes per second; 0: copying takes no time */
	uint64_t switch_ns;   /* interval at which the program is switched out; 0: never */
	uint64_t seed;
	/* the end, whichever comes first: trace to generate, transactions, time; all 0: 16 MiB */
	uint64_t max_bytes, max_transactions, max_ns;
	int contents; /* store and compare bytes, not only positions */
};

/*
 * Sets all fields but the size: a driver's unit at 100 MB/s, an interrupt after 2 us and a reader
 * after 50 us that copies 2 GB/s, until 16 MiB of trace were generated. -EINVAL: the size is not
 * set.
 */
AUXTAP_API int auxtap_watermark_typical(struct auxtap_watermark_config *config, const char *driver);

/* ---- results ---- */

/* The invariants. docs/watermark.md has a paragraph for each, by its name. */
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
	size_t size;	   /* of this library's struct */
	const char *name;  /* "unread-kept" */
	const char *rules; /* of docs/kernel-rules.md */
	const char *text;  /* one sentence */
};
/* NULL: no such invariant. */
AUXTAP_API const struct auxtap_invariant_info *
auxtap_watermark_get_invariant(enum auxtap_watermark_invariant inv);

/* Why trace was lost. */
enum auxtap_watermark_loss {
	AUXTAP_LOSS_STOPPED,  /* the unit had stopped at its limit, the interrupt was pending */
	AUXTAP_LOSS_NO_SPACE, /* no transaction was open, because the reader had not read */
	AUXTAP_LOSS_FAULT,    /* the unit was on and had space, and did not store it */
	AUXTAP_NR_LOSSES
};
AUXTAP_API const char *auxtap_watermark_loss_name(enum auxtap_watermark_loss loss);

/* Events, in order of time; for time lines and pictures. */
enum auxtap_watermark_what {
	AUXTAP_WM_BEGIN,	 /* a transaction: a: head, b: space, c: wakeup (aux_wakeup + W) */
	AUXTAP_WM_REFUSED,	 /* no transaction: a: head */
	AUXTAP_WM_THRESHOLDS,	 /* a: interrupt threshold, b: stop position (both absolute;
			       UINT64_MAX: none) */
	AUXTAP_WM_SKIP,		 /* padding: a: from, b: bytes */
	AUXTAP_WM_THRESHOLD_HIT, /* the write pointer reaches the threshold: a: position */
	AUXTAP_WM_IRQ_LINE,	 /* a: write pointer */
	AUXTAP_WM_IRQ,		 /* the driver handles the interrupt: a: write pointer */
	AUXTAP_WM_END,		 /* a: offset, b: bytes, c: flags (PERF_AUX_FLAG_…) */
	AUXTAP_WM_RECORD,	 /* the AUX record: a: offset, b: bytes, c: flags */
	AUXTAP_WM_RECORD_LOST,	 /* the same, but the data ring had no space */
	AUXTAP_WM_WAKEUP,	 /* a: head */
	AUXTAP_WM_READ,		 /* a: new tail, b: bytes */
	AUXTAP_WM_REENABLE,	 /* by the reader */
	AUXTAP_WM_LOSS, /* end of a loss: a: bytes, b: enum auxtap_watermark_loss, c: duration in ns
			 */
	AUXTAP_WM_SWITCH,    /* a: 1: the program runs, 0: it does not */
	AUXTAP_WM_VIOLATION, /* a: enum auxtap_watermark_invariant, b: actual position, c: expected
				position (UINT64_MAX: only in the text); text */
	AUXTAP_WM_FINDING,   /* a known deviation that the rules of this kernel allow; text */
	AUXTAP_WM_STATUS,    /* the unit's registers, as a driver reads them: at an interrupt, when
				the unit is enabled, and when bits that the driver cleared are still
				set. a: status, b: write pointer as an offset in the area
				(UINT64_MAX: elsewhere), c: the value that the driver wrote
				(UINT64_MAX: none); text: the bits of a */
};
struct auxtap_watermark_event {
	size_t size; /* of this library's struct */
	uint64_t time_ns;
	enum auxtap_watermark_what what;
	uint64_t a, b, c;
	const char *text; /* or NULL; valid during the call */
};

#define AUXTAP_OVERSHOOT_BUCKETS 304
/* The smallest overshoot of a bucket: 16 single bytes, then 8 buckets for each doubling. */
AUXTAP_API uint64_t auxtap_overshoot_bucket_from(unsigned int bucket);

#define AUXTAP_WM_VIOLATIONS 8	  /* kept with their text; further ones are only counted */
#define AUXTAP_WM_ENOUGH     1000 /* violations that end a run */
/* Space for those of later versions: arrays in the middle of a struct cannot grow. */
#define AUXTAP_WM_MAX_INVARIANTS 32
#define AUXTAP_WM_MAX_LOSSES	 8
struct auxtap_watermark_result {
	size_t size;
	int refused; /* the kernel or the driver refuses this configuration */
	char refusal[160];
	uint64_t time_ns;
	uint64_t nr_transactions, nr_records, nr_interrupts, nr_wakeups, nr_reads, nr_refused;
	uint64_t nr_truncated, nr_reenabled;
	/* bytes. produced = stored + sum of lost; head = recorded + skipped + record_lost */
	uint64_t produced, stored, recorded, skipped, record_lost, head;
	uint64_t lost[AUXTAP_WM_MAX_LOSSES]; /* by enum auxtap_watermark_loss */
	uint64_t unreported;		     /* of lost: the kernel has no flag for it */
	uint64_t max_lag;		     /* largest head - tail */
	/* over all transactions: distance from the watermark (aux_wakeup + W) to the threshold */
	int64_t threshold_min, threshold_max;
	/* the head had already passed them: the interrupt comes a wrap later at the earliest */
	uint64_t nr_thresholds, nr_thresholds_passed;
	uint64_t overshoot_max; /* bytes from the threshold to the driver's handler */
	uint64_t overshoots[AUXTAP_OVERSHOOT_BUCKETS]; /* histogram of the overshoot */
	uint64_t nr_violations, by_invariant[AUXTAP_WM_MAX_INVARIANTS];
	struct auxtap_watermark_violation {
		enum auxtap_watermark_invariant invariant;
		uint64_t time_ns;
		char text[200];
	} violations[AUXTAP_WM_VIOLATIONS]; /* the first ones, each invariant once per transaction
					     */
	uint64_t nr_kept;
	uint64_t nr_findings; /* known deviations (AUXTAP_WM_FINDING), which are no violations */
	char finding[200];    /* the first one */
};

/* The verdict on a result. */
enum auxtap_watermark_verdict {
	AUXTAP_WM_PASS,
	AUXTAP_WM_FAIL,	       /* an invariant is violated */
	AUXTAP_WM_NO_PROGRESS, /* more is lost than the configuration explains: only
				  AUXTAP_INV_PROGRESS is violated, or nothing is stored */
	AUXTAP_WM_NOT_RUN,     /* refused */
};
AUXTAP_API enum auxtap_watermark_verdict
auxtap_watermark_get_verdict(const struct auxtap_watermark_result *result);

/*
 * Runs one configuration; NULL: all defaults. on_event may be NULL. 0: done, see result; -EINVAL: a
 * value is invalid (err says which and what is allowed); -EBUSY; -ENOMEM.
 */
AUXTAP_API int
auxtap_watermark_run(const struct auxtap_watermark_config *config,
		     void (*on_event)(void *ctx, const struct auxtap_watermark_event *event),
		     void *ctx, struct auxtap_watermark_result *result, struct auxtap_error *err);

/* ---- the standard sweep ---- */

#define AUXTAP_SWEEP_AREAS	16 /* 2, 4, 8, … 65536 pages */
#define AUXTAP_SWEEP_WATERMARKS 64 /* fractions of the area; whole pages and others */
/* latency: none, 1/8, 1/2, twice the time in which the area fills */
#define AUXTAP_SWEEP_READERS 4
/*
 * One configuration of the sweep, with the default kernel; each index starts at 0. Drivers and page
 * sizes of the standard sweep: auxtap_watermark_get_machine(). -EINVAL: the size is not set.
 */
AUXTAP_API int auxtap_watermark_sweep_config(struct auxtap_watermark_config *config,
					     const char *driver, uint64_t page_size,
					     unsigned int area, unsigned int watermark,
					     unsigned int reader);
struct auxtap_sweep_machine {
	size_t size; /* of this library's struct */
	const char *driver;
	uint64_t page_size;
};
/* NULL past the end. */
AUXTAP_API const struct auxtap_sweep_machine *auxtap_watermark_get_machine(size_t index);

/* ---- exhaustive search ---- */

/*
 * Every state that a small configuration can reach, for every order in which the program generates
 * trace (a fragment of setup.record_bytes at a time), the driver handles the interrupt, the
 * scheduler switches the program out and in, and the reader, once woken, reads (one fragment, or
 * all) and reenables the event. Times, rates and latencies of the configuration are ignored.
 */
struct auxtap_explore_result {
	size_t size;
	int refused;
	char refusal[160];
	uint64_t nr_states, nr_steps; /* steps: the transitions from all states */
	/* pruned transitions: padding shifted the positions by more than two bytes */
	uint64_t nr_cut;
	unsigned int depth; /* longest of the shortest paths */
	int complete;	    /* 0: max_states was reached, the remaining states were not checked */
	int violated;
	enum auxtap_watermark_invariant invariant;
	char text[200];
	/* the shortest path to it, one letter per action, see below. "": too long */
	char path[4096];
	uint64_t nr_findings; /* transitions with known behaviour that this kernel's rules allow */
	char finding[200];
	uint64_t nr_unmapped;	  /* states in which unmapping the area was checked, too */
	uint64_t nr_stall_checks; /* states in which the reader sleeps and trace is off (D6): only
				the reader's own timer wakes it */
};
/* p: a fragment of trace; i: the driver handles the interrupt; s: switched out, or in; r: the
 * reader reads a fragment; a: it reads all; e: it reenables the event if needed, and sleeps; w: its
 * timer; u, always the last: the area is unmapped, and the program is scheduled in between the last
 * two steps of the unmapping (D2). With more than AUXTAP_EXPLORE_UNMAP states only in the first
 * AUXTAP_EXPLORE_UNMAP_SOME, because each needs a simulation of its own. */
#define AUXTAP_EXPLORE_UNMAP	  10000
#define AUXTAP_EXPLORE_UNMAP_SOME 1000
AUXTAP_API int auxtap_watermark_explore(const struct auxtap_watermark_config *config,
					uint64_t max_states, struct auxtap_explore_result *result,
					struct auxtap_error *err);
/* Replays a path with its events. Violations are in result. */
AUXTAP_API int
auxtap_watermark_play(const struct auxtap_watermark_config *config, const char *path,
		      void (*on_event)(void *ctx, const struct auxtap_watermark_event *event),
		      void *ctx, struct auxtap_watermark_result *result, struct auxtap_error *err);

/* ---- the fault catalogue ---- */

struct auxtap_watermark_fault {
	size_t size; /* of this library's struct */
	const char *name;
	const char *text;			/* the fault in one sentence */
	enum auxtap_watermark_invariant caught; /* the invariant that catches it */
	const char *drivers;			/* drivers that can have it, separated by blanks */
	int hardware; /* 1: of the unit or the interrupt; 0: of the kernel */
};
/* NULL past the end. A name may come twice, for different drivers. */
AUXTAP_API const struct auxtap_watermark_fault *auxtap_watermark_get_fault(size_t index);
/*
 * Injects a fault: sets the sizes and rates at which it shows; to be called after
 * auxtap_watermark_typical().
 */
AUXTAP_API int auxtap_watermark_fault_config(struct auxtap_watermark_config *config,
					     const char *fault, struct auxtap_error *err);

/* ---- this machine ---- */

enum auxtap_live_reader {
	AUXTAP_LIVE_PROMPT, /* reads all when woken */
	AUXTAP_LIVE_FULL,   /* reads only after trace has stopped for lack of space */
};

/* An AUX record of the real kernel. Positions count bytes from the start. */
struct auxtap_live_record {
	size_t size; /* of this library's struct */
	uint64_t offset, nr_bytes, flags;
	uint64_t threshold, limit; /* threshold and limit that the driver should have set for it;
				 UINT64_MAX: none, or passed before the record starts (H4) */
	bool by_interrupt;	   /* an interrupt ended it */
};

struct auxtap_live_opts {
	size_t size;
	/* in perf's syntax: "intel_pt//u"; any PMU name. NULL: the driver's PMU */
	const char *event;
	int cpu; /* the CPU of the trace unit; the event is per CPU */
	enum auxtap_live_reader reader;
	/* of trace; then the event is disabled. 0: no limit */
	uint64_t max_bytes;
	/* the event is disabled at the latest after this time; 0: one second */
	uint64_t max_ns;
	uint64_t max_overshoot; /* allowed overshoot of an interrupt, in bytes; 0: none */
	const char *path;	/* the capture, perf.data; NULL: none is written */
	/* Called for each AUX record with the expected values. May be NULL. */
	void (*on_record)(void *ctx, const struct auxtap_live_record *record);
	void *ctx;
};

struct auxtap_live_result {
	size_t size;
	int refused, refusal;	    /* by the kernel, with this errno */
	char expected_refusal[160]; /* by the model; empty: none */
	uint64_t nr_records, nr_bytes, nr_truncated, nr_reads, nr_enabled;
	uint64_t nr_wakeups, nr_expected_wakeups; /* a busy reader sees several as one */
	uint64_t overshoot_max; /* bytes from a threshold to the end of its AUX record */
	int agrees;
	char text[256]; /* the first difference from the model */
};

/*
 * Runs one configuration on this machine's PMU, through the real kernel, and compares the result
 * with the model. driver, kernel, page_size, nr_pages, watermark, data_pages and setup.align of
 * config describe what is expected; times are ignored, because the model ends each transaction
 * where the kernel has ended it. The only known fact about the trace unit is where it interrupted.
 * Returns 0 even if they differ; an error if the run failed (-EIO: the capture cannot be written,
 * -ENODATA: nothing was traced in max_ns).
 */
AUXTAP_API int auxtap_watermark_live(const struct auxtap_watermark_config *config,
				     struct auxtap_backend *backend,
				     const struct auxtap_live_opts *opts,
				     struct auxtap_live_result *result, struct auxtap_error *err);
/* The kernel of a configuration for a release ("6.1.0-49-amd64"); NULL: no rules for it. */
AUXTAP_API const char *auxtap_watermark_kernel_for(const char *release);

#ifdef __cplusplus
}
#endif
#endif
