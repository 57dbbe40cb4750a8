/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One simulated machine: program, trace unit, driver, kernel, interrupt controller, reader.
 * sim.c: time and what happens when; sim_machine.c: the kernel's side and the bus; sim_drivers.c:
 * the drivers; monitor.c: what must hold; ring_reader.c: the rings' reader. Drivers have no
 * context, so there is one machine in each thread (driver/core/core.h, core_thread_begin()).
 */
#ifndef AUXTAP_WATERMARK_SIM_H
#define AUXTAP_WATERMARK_SIM_H

#include <auxtap/watermark.h>
#include "core/core.h"
#include "hw/unit_faults.h"
#include <linux/perf_event.h>

struct sim;
struct unit_state; /* units.h */

#define NEVER	       UINT64_MAX
#define NO_OFFSET      UINT64_MAX /* instead of an offset or a position: not known */
#define MAX_IRQS       4
#define STALL_CHECK_NS 1000000 /* the reader looks at an event that makes no progress so often */

/* In what drivers and their units differ, beside the values of struct sim_driver. */
#define DRIVER_PHYSICAL \
	0x01		    /* its unit has physical addresses, in tables (H1); else virtual ones */
#define DRIVER_RECORDS 0x02 /* trace is records that begin at multiples of the alignment (I9) */
#define DRIVER_GOES_ON 0x04 /* an interrupt does not stop the unit; see H5, H7 */
#define DRIVER_HEAD_COUNTS \
	0x08		  /* the head of an overwritten area counts on; else: an offset (J5) */
#define DRIVER_WRAPS 0x10 /* a filled buffer sets WRAP, with the pointer at its base (J1) */

struct status_bit {
	u64 bit;
	const char *name;
};

/* A driver with its trace unit: what the simulator needs to know of them. Their table is in
 * sim_drivers.c; nothing else asks for a driver's name. */
struct sim_driver {
	const char *name;
	const char *pmu;
	int (*start)(void);
	void (*end)(void);
	bool (*interrupt)(void);
	const struct auxtap_trace_unit *(*unit)(void); /* the built-in one */
	const struct unit_state *unit_state;
	unsigned int flags; /* DRIVER_… */
	u64 attr_config;
	u8 pad;			 /* what it fills skipped bytes with */
	u64 stop_flag;		 /* in the record of a unit that has stopped; 0: none (I10) */
	u64 min_pages, max_page; /* smallest area, largest page size */
	u32 errata;		 /* that the unit can have: AUXTAP_ERRATUM_… */
	struct auxtap_unit_setup setup; /* defaults */
	u64 sweep_overshoot;		/* of the standard sweep */
	/* the unit's registers */
	const struct status_bit *status_bits; /* terminated by a NULL name */
	u32 status_reg, pointer_reg;
	/* The offset in the AUX area for a value of pointer_reg, or NO_OFFSET. */
	u64 (*pointer_off)(struct sim *sim, u64 pointer);
	/* thresholds.c */
	void (*read_thresholds)(struct sim *sim);
	/* explore.c: the driver's description of the area; NULL: none that depends on positions */
	void (*normalize_area)(void *area); /* no transaction is open */
	void (*rebase_area)(void *area, u64 by);
};

struct faults {
	struct core_kernel kernel;
	struct core_injected_bugs bugs;
	struct unit_faults unit;
	bool partial;	    /* holes are made */
	u64 at_transaction; /* of the last one */
};

struct aux_reported {
	u64 offset, nr_bytes, flags;
};

struct monitor {
	/* the kernel's accounts, as they must be */
	u64 head, wakeup; /* wakeup: last multiple of W that head has passed */
	unsigned int wakeups_due, wakeups_seen;
	bool delivery_due, delivered;
	bool disable_due;
	struct aux_reported *reported; /* records that the reader must find, in order; a ring */
	u64 max_reported, reported_from, reported_to;
	unsigned int nr_freed;
	bool in_call; /* a transaction is being begun or ended */
	/* the open transaction */
	const struct perf_output_handle *handle; /* the driver's, and what it keeps of the area */
	void *area;
	bool open, traced; /* traced: the unit was switched on in it */
	u64 pos;	   /* absolute: where the next byte must be */
	u64 handle_wakeup;
	u64 int_at, stop_at; /* absolute; NO_OFFSET: none */
	u64 due_at;	     /* the next of them */
	bool stopped;	     /* at stop_at */
	bool hole;	     /* there must be PARTIAL */
	u64 stored;	     /* bytes of it */
	/* the interrupt of a threshold that was reached */
	bool threshold_hit, threshold_in_call, line_seen, threshold_late_reported;
	unsigned int lines_due;
	u64 threshold_produced; /* produced, when it was */
	bool line_up;
	u64 line_time;
	bool irq_late_reported;
	/* losses since trace was last stored */
	bool disable_pending; /* the disable comes late (D21) */
	bool lossy, flagged, refused_full, record_lost;
	bool mute; /* the area is being unmapped: nothing is counted */
	bool idle_reported;
	u64 lost, idle, lost_since;
	enum auxtap_watermark_loss why;
	unsigned int nr_empty; /* transactions in a row that moved nothing */
	/* the last violation that was kept: 1 + transactions then */
	u64 kept_at[AUXTAP_NR_INVARIANTS];
	u16 *expected; /* contents: 1 + the produced byte that belongs at an offset; 0: padding */
};

struct reader {
	u64 at;	      /* when it acts next; NEVER: asleep */
	bool copying; /* then it ends a copy */
	u64 to;	      /* of the copy, absolute */
	bool woken;   /* again, meanwhile */
	bool truncated, was_full;
	u64 tail; /* as it stored it last */
	u64 stall_check_at, stall_check_head, enabled_at;
};

/* sim_progress.c */
struct progress {
	bool timed, keeps_up; /* keeps_up: the area is never full */
	bool read_all;	      /* since the last truncation, up to the head */
	bool off_reported, lack_reported;
	unsigned int nr_starved;
	u64 stored; /* of the result, at the last truncation */
	/* the program runs untraced since then (NEVER: it does not); at most so long */
	u64 off_since, off_max;
};

struct sim {
	struct auxtap_watermark_config c;
	const struct auxtap_trace_unit *unit;
	void *u;
	const struct sim_driver *driver;
	const struct core_kernel *nominal; /* what is expected of the kernel */
	struct faults faults;
	struct auxtap_unit_bus bus;
	struct core_machine core;
	struct core_task task;
	struct perf_event *event;
	struct core_mapping *data_map, *aux_map;
	struct perf_event_mmap_page *page;
	u8 *aux;
	u64 aux_size, watermark; /* W, as C2 has it */
	bool running;		 /* the program is */
	/* the unit, as its registers say */
	bool unit_on, buffer_on;
	u64 regs_ptr, regs_base, regs_limit;
	bool ptr_written; /* since the thresholds were read */
	u64 pt_base, pt_mask_ptrs;
	bool producing, line_raised, in_interrupt;
	bool exploring;	     /* explore.c: no time passes */
	u64 interval_stored; /* of the interval whose trace is being produced */
	/* of one call of produce(): what the unit is to consume, how much of that it has stored so
	 * far */
	const u8 *input;
	u64 input_size, input_stored;
	/* … what store() got; an impossible count */
	u64 store_bytes, offered, consumed, claimed;
	bool broken;
	/* time */
	u64 now;
	u64 anchor_time, anchor_bytes, rate, phase_end; /* production: from here on, so much */
	size_t next_rate;
	u64 irqs[MAX_IRQS]; /* on their way to the driver */
	unsigned int nr_irqs;
	u64 switch_at;
	u64 random;
	struct reader reader;
	struct monitor mon;
	struct progress progress;
	struct auxtap_watermark_result *r;
	void (*on_event)(void *ctx, const struct auxtap_watermark_event *event);
	void *ctx;
	u8 *bytes;    /* contents: what is produced, an interval at a time, … */
	u64 bytes_to; /* … up to this byte of all; 0: nothing yet */
};
extern _Thread_local struct sim *current_sim; /* the one that runs in this thread */

void sim_event(struct sim *sim, enum auxtap_watermark_what what, u64 a, u64 b, u64 c);
void sim_event_at(struct sim *sim, u64 time, enum auxtap_watermark_what what, u64 a, u64 b, u64 c);
void sim_status(struct sim *sim, u64 status, u64 off, u64 written, const char *text);
void sim_violation(struct sim *sim, enum auxtap_watermark_invariant inv, u64 is, u64 due,
		   const char *text);
void sim_finding(struct sim *sim, const char *text);
u64 sim_random(struct sim *sim, u64 below); /* 0 … below - 1; 0 for 0 */

/* sim_drivers.c */
const struct sim_driver *sim_driver_find(const char *name); /* NULL: no such driver */
bool driver_is(const struct sim *sim, unsigned int flag);
/* For observers: what the driver is going to find in the status register, after it has written. */
#define NOT_WRITTEN UINT64_MAX /* the unit changed its status */
void driver_show_status(struct sim *sim, u64 written);

/* sim_machine.c. open: negative errno, with r->refusal where it is the driver's or the kernel's. */
int machine_open(struct sim *sim, struct auxtap_error *err);
void machine_close(struct sim *sim);
bool machine_tracing(const struct sim *sim);
void machine_sched(struct sim *sim, bool in);
void machine_interrupt(struct sim *sim);
void machine_reenable(struct sim *sim);
void machine_inject_hole(struct sim *sim);
void machine_unmap(struct sim *sim); /* whatever goes on in it */
/* Offset in the AUX area of an address on the bus, or NO_OFFSET. */
u64 machine_offset(const struct sim *sim, u64 addr);

/* thresholds.c: where the driver has put them, in tables or in registers */
void thresholds_read_tables(struct sim *sim);
void thresholds_read_registers(struct sim *sim);

/* monitor.c */
extern const struct core_observer monitor_observer;
AUXTAP_PRINTF(3, 4)
void mon_violation(struct sim *sim, enum auxtap_watermark_invariant inv, const char *fmt, ...);
/* The same, and where: the position where something is, and the one where it should be. */
AUXTAP_PRINTF(5, 6)
void mon_violation_at(struct sim *sim, enum auxtap_watermark_invariant inv, u64 is, u64 due,
		      const char *fmt, ...);
int mon_open(struct sim *sim);
void mon_finish(struct sim *sim); /* program and reader are done */
void mon_close(struct sim *sim);
void mon_thresholds(struct sim *sim, u64 int_at, u64 stop_at, u64 start);
void mon_store(struct sim *sim, u64 off, u64 nr_bytes);
/* since: when the first of the lost bytes was due. */
void mon_produced(struct sim *sim, u64 stored, u64 lost, u64 since, enum auxtap_watermark_loss why);
void mon_line(struct sim *sim);
void mon_irq(struct sim *sim);			  /* the interrupt reaches the driver */
unsigned int mon_overshoot_bucket(u64 overshoot); /* of overshoots[]; overshoot.c */
void mon_settle(struct sim *sim); /* after anything that the kernel or the driver has done */
void mon_record(struct sim *sim, u64 offset, u64 nr_bytes, u64 flags); /* the reader has found it */
void mon_read(struct sim *sim, u64 from, u64 to);
void mon_time(struct sim *sim);
/*
 * The reader has read all, and enabled the event again. disable_pending: it was to be disabled
 * before; more: it was still tracing, so that there is something to be read again.
 */
void mon_drained(struct sim *sim, bool disable_pending, bool more);

/* sim_progress.c */
void progress_begin(struct sim *sim);
void progress_lost(struct sim *sim, u64 lost, enum auxtap_watermark_loss why);
void progress_truncated(struct sim *sim);
void progress_read(struct sim *sim);
void progress_time(struct sim *sim);
void progress_end(struct sim *sim);

/* ring_reader.c */
void reader_wake(struct sim *sim);
void reader_step(struct sim *sim);
void reader_finish(struct sim *sim);
u64 reader_head(const struct sim *sim);
void reader_records(struct sim *sim);
void reader_take(struct sim *sim, u64 to);

/* fault_catalogue.c */
int faults_set(struct sim *sim, struct auxtap_error *err);
void faults_step(struct sim *sim);
void sim_raise_line(struct sim *sim); /* the line is up: the controller sends it on */
void faults_table_entry(struct sim *sim, u64 addr, u64 *entry);
u64 faults_reg_read(struct sim *sim, u32 reg, u64 value);
u64 faults_reg_write(struct sim *sim, u32 reg, u64 value);
void faults_at_unit_off(struct sim *sim);

/* config.c: a caller's configuration with the defaults that it leaves out; whether it can run */
int config_take(struct auxtap_watermark_config *known, const struct auxtap_watermark_config *given,
		struct auxtap_error *err);
int config_take_valid(struct auxtap_watermark_config *known,
		      const struct auxtap_watermark_config *given, struct auxtap_error *err);
/* Into a caller's struct. -EINVAL: its size is not set. */
int config_give(struct auxtap_watermark_config *given, const struct auxtap_watermark_config *known);
void config_typical(struct auxtap_watermark_config *c, const char *driver);

/* sim.c */
/* Whether the caller has set the size of its result. */
int result_check(const struct auxtap_watermark_result *result, struct auxtap_error *err);
/* Hands the unit the trace of an interval; bytes may be NULL. Returns and *consumed: as its
 * produce(). */
u64 sim_feed_unit(struct sim *sim, const u8 *bytes, u64 nr_bytes, u64 *consumed);
void sim_line(struct sim *sim); /* the unit's interrupt line has gone up */
void sim_send_irq(struct sim *sim, u64 delay);
/* Now; inside an interval: when its last byte so far was produced, less some of them. */
u64 sim_time(const struct sim *sim, u64 less);
/*
 * A machine as the configuration says, not yet running. config: from config_take_valid(). NULL: see
 * err, or r->refused.
 */
struct sim *sim_new(const struct auxtap_watermark_config *config, struct auxtap_watermark_result *r,
		    struct auxtap_error *err);
void sim_free(struct sim *sim);

#endif
