/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One simulated machine: program, trace unit, driver, kernel, interrupt controller, reader.
 * sim.c: time and the order of events; sim_machine.c: the kernel and the bus; sim_drivers.c: the
 * drivers; monitor.c, monitor_irq.c: checks of the invariants; ring_reader.c: the rings' reader.
 * Drivers have no context, so there is one machine in each thread (driver/core/core.h,
 * core_thread_begin()).
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
#define NO_OFFSET      UINT64_MAX /* instead of an offset or a position: unknown or none */
#define MAX_IRQS       4
#define STALL_CHECK_NS 1000000 /* interval at which the reader checks a stalled event */

/* How drivers and their units differ, apart from the members of struct sim_driver. */
#define DRIVER_PHYSICAL \
	0x01 /* the unit writes to physical addresses, from tables (H1); else to virtual ones */
#define DRIVER_TRACE_IS_RECORDS \
	0x02 /* trace is records that begin at multiples of the alignment (I9) */
#define DRIVER_IRQ_KEEPS_TRACING 0x04 /* an interrupt does not stop the unit; see H5, H7 */
#define DRIVER_SNAPSHOT_HEAD_COUNTS \
	0x08 /* in snapshot mode the handle's head keeps counting up; else it is an offset (J5) */
#define DRIVER_WRAPS 0x10 /* a full buffer sets WRAP, with the pointer at its base (J1) */

struct status_bit {
	u64 bit;
	const char *name;
};

/*
 * What the simulator needs to know of a driver and its trace unit. The table is in sim_drivers.c;
 * no other code depends on a driver's name.
 */
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
	u8 pad;			 /* the value that it fills skipped bytes with */
	u64 stop_flag;		 /* the AUX record's flag if the unit has stopped; 0: none (I10) */
	u64 min_pages, max_page; /* smallest area, largest page size */
	u32 errata;		 /* those that the unit can have: AUXTAP_ERRATUM_… */
	struct auxtap_unit_setup setup; /* defaults */
	u64 sweep_overshoot;		/* setup.irq_delay_bytes in the standard sweep */
	/* the unit's registers */
	const struct status_bit *status_bits; /* terminated by a NULL name */
	u32 status_reg, pointer_reg;
	/* The offset in the AUX area for a value of pointer_reg, or NO_OFFSET. */
	u64 (*pointer_off)(struct sim *sim, u64 pointer);
	/* thresholds.c */
	void (*read_thresholds)(struct sim *sim);
	/*
	 * explore.c: change the driver's description of the area; NULL: it does not depend on
	 * positions
	 */
	void (*normalise_area)(void *area); /* when no transaction is open */
	void (*rebase_area)(void *area, u64 by);
};

struct faults {
	struct core_kernel kernel;
	struct core_injected_bugs bugs;
	struct unit_faults unit;
	bool partial;	    /* user code runs untraced now and then: PARTIAL is expected */
	u64 at_transaction; /* nr_transactions when that happened last */
};

struct expected_aux_record {
	u64 offset, nr_bytes, flags;
};

struct monitor {
	/* the expected state of the kernel */
	u64 head, last_wakeup; /* last_wakeup: the kernel's rb->aux_wakeup */
	unsigned int wakeups_expected, wakeups_seen;
	bool reader_wake_due, reader_woken;
	bool disable_expected;
	/* records that the reader must find, in order; a ring */
	struct expected_aux_record *expected_records;
	u64 max_expected, records_read, records_written;
	unsigned int nr_freed;
	bool in_aux_call; /* the kernel is in a call that begins or ends a transaction */
	/* the open transaction */
	const struct perf_output_handle *handle;
	void *area;	   /* the driver's description of the AUX area */
	bool open, traced; /* traced: the unit was switched on in it */
	u64 pos; /* where the next byte must be stored: absolute; snapshot mode: an offset */
	u64 next_wakeup;
	u64 int_at, stop_at;   /* as pos; NO_OFFSET: none */
	u64 next_threshold_at; /* int_at if it is ahead, else stop_at */
	bool stopped;	       /* at stop_at */
	bool partial_expected; /* the AUX record must have PARTIAL */
	u64 stored;	       /* bytes that the unit has stored in it */
	/*
	 * the interrupt of a threshold that was reached. hit_in_produce: set by mon_store() inside
	 * produce(); mon_produced() then sets produced_at_threshold.
	 */
	bool threshold_hit, hit_in_produce, irq_raised, threshold_late_reported;
	unsigned int irqs_expected;
	u64 produced_at_threshold; /* r->produced when it was reached */
	bool irq_in_flight;
	u64 irq_raised_at;
	bool irq_late_reported;
	/* losses since trace was last stored */
	bool disable_late; /* the kernel disables the truncated event late (D21) */
	bool lossy, flagged;
	bool refused_full;   /* a begin failed for want of space (D6) */
	bool record_dropped; /* for want of space in the buffer of records (F3) */
	bool mute; /* the area is being unmapped or the machine freed: nothing is checked */
	bool fault_loss_reported;
	u64 lost, lost_to_fault, lost_since; /* to_fault: AUXTAP_LOSS_FAULT */
	enum auxtap_watermark_loss why;
	unsigned int nr_empty; /* transactions in a row that did not move the head */
	/* 1 + nr_transactions when the invariant's last violation was kept; 0: none */
	u64 kept_at[AUXTAP_NR_INVARIANTS];
	/* with c.contents, for each offset: 1 + the produced byte expected there; 0: padding */
	u16 *expected_contents;
};

struct reader {
	u64 at;	      /* when it acts next; NEVER: asleep */
	bool copying; /* at that time a copy ends */
	u64 to;	      /* end of the copy, absolute */
	bool woken;   /* it was woken again while awake */
	/*
	 * It enables the event again when all is read: a record had TRUNCATED; the area was full,
	 * so a begin may have failed, which leaves no record (D6).
	 */
	bool truncated, was_full;
	u64 tail; /* the aux_tail that it stored last */
	u64 stall_check_at, stall_check_head, enabled_at;
};

/* sim_progress.c */
struct progress {
	bool timed, keeps_up; /* keeps_up: the area is never full */
	bool read_all;	      /* since the last truncation the reader has read up to the head */
	bool off_reported, no_space_reported;
	unsigned int nr_starved;
	u64 stored;    /* r->stored at the last truncation */
	u64 off_since; /* since when the program runs untraced; NEVER: it does not */
	u64 off_max;   /* the longest time that is allowed */
};

struct sim {
	struct auxtap_watermark_config c;
	const struct auxtap_trace_unit *unit;
	void *u;
	const struct sim_driver *driver;
	const struct core_kernel *expected_kernel; /* faults.kernel without injected bugs */
	struct faults faults;
	struct auxtap_unit_bus bus;
	struct core_machine core;
	struct core_task task;
	struct perf_event *event;
	struct core_mapping *data_map, *aux_map;
	struct perf_event_mmap_page *page;
	u8 *aux;
	u64 aux_size, watermark; /* watermark: attr.aux_watermark, or the kernel's default (C2) */
	bool running;		 /* the program is scheduled in */
	/* the unit's state, from the driver's writes to registers */
	bool unit_on, buffer_on;
	u64 regs_ptr, regs_base, regs_limit;
	bool ptr_written; /* regs_ptr was written since the thresholds were read */
	u64 pt_base, pt_mask_ptrs;
	bool producing, line_raised, in_interrupt;
	bool exploring;	       /* explore.c: no time passes */
	u64 stored_in_produce; /* bytes stored in the current produce() call, with padding */
	/* the trace offered to the current produce() call, and how much of it is stored so far */
	const u8 *input;
	u64 input_size, input_stored;
	u64 store_bytes;		/* bytes passed to store() in that call */
	u64 offered, consumed, claimed; /* broken: its impossible counts */
	bool broken;
	/* time */
	u64 now;
	/* trace is produced at this rate from the anchor to phase_end */
	u64 anchor_time, anchor_bytes, rate, phase_end;
	size_t next_rate;
	u64 irqs[MAX_IRQS]; /* when each pending interrupt reaches the driver */
	unsigned int nr_irqs;
	u64 switch_at;
	u64 random;
	struct reader reader;
	struct monitor mon;
	struct progress progress;
	struct auxtap_watermark_result *r;
	void (*on_event)(void *ctx, const struct auxtap_watermark_event *event);
	void *ctx;
	u8 *bytes;    /* with c.contents: the next CHUNK bytes of the produced trace */
	u64 bytes_to; /* their end, counted in produced bytes; 0: none yet */
};
extern _Thread_local struct sim *current_sim; /* the machine of this thread */

void sim_event(struct sim *sim, enum auxtap_watermark_what what, u64 a, u64 b, u64 c);
void sim_event_at(struct sim *sim, u64 time, enum auxtap_watermark_what what, u64 a, u64 b, u64 c);
void sim_status(struct sim *sim, u64 status, u64 off, u64 written, const char *text);
void sim_violation(struct sim *sim, enum auxtap_watermark_invariant inv, u64 actual, u64 expected,
		   const char *text);
void sim_known_deviation(struct sim *sim, const char *text);
u64 sim_random(struct sim *sim, u64 below); /* 0 … below - 1; 0 for 0 */

/* sim_drivers.c */
const struct sim_driver *sim_driver_find(const char *name); /* NULL: no such driver */
bool driver_has(const struct sim *sim, unsigned int flag);
/*
 * Reports the status that the driver will read to on_event(). written: the driver has written this
 * value to the status register; reported if other bits are set.
 */
#define NOT_WRITTEN UINT64_MAX /* the unit changed its status */
void driver_show_status(struct sim *sim, u64 written);

/* sim_machine.c. open: negative errno; r->refusal is set if the driver or the kernel refused. */
int machine_open(struct sim *sim, struct auxtap_error *err);
void machine_close(struct sim *sim);
bool machine_tracing(const struct sim *sim);
void machine_sched(struct sim *sim, bool in);
void machine_interrupt(struct sim *sim);
void machine_reenable(struct sim *sim);
void machine_inject_partial(struct sim *sim);
void machine_unmap(struct sim *sim); /* in any state of the machine */
/* Offset in the AUX area of an address on the bus, or NO_OFFSET. */
u64 machine_offset(const struct sim *sim, u64 addr);

/* thresholds.c: thresholds that the driver has programmed into tables or registers */
void thresholds_read_tables(struct sim *sim);
void thresholds_read_registers(struct sim *sim);

/* monitor.c; monitor_irq.c: mon_irq_raised(), mon_irq(), mon_time() */
extern const struct core_observer monitor_observer;
AUXTAP_PRINTF(3, 4)
void mon_violation(struct sim *sim, enum auxtap_watermark_invariant inv, const char *fmt, ...);
/* The same with the actual and the expected position. */
AUXTAP_PRINTF(5, 6)
void mon_violation_at(struct sim *sim, enum auxtap_watermark_invariant inv, u64 actual,
		      u64 expected, const char *fmt, ...);
int mon_open(struct sim *sim);
void mon_finish(struct sim *sim); /* program and reader are done */
void mon_close(struct sim *sim);
void mon_thresholds(struct sim *sim, u64 int_at, u64 stop_at, u64 start_off);
void mon_store(struct sim *sim, u64 off, u64 nr_bytes);
/* since: when the first of the lost bytes was produced. */
void mon_produced(struct sim *sim, u64 stored, u64 lost, u64 since, enum auxtap_watermark_loss why);
void mon_irq_raised(struct sim *sim);
void mon_irq(struct sim *sim);			  /* the interrupt reaches the driver */
unsigned int mon_overshoot_bucket(u64 overshoot); /* of overshoots[]; overshoot.c */
void mon_check_step(struct sim *sim);		  /* after each call of the kernel or the driver */
/* The reader has found an AUX record. */
void mon_record(struct sim *sim, u64 offset, u64 nr_bytes, u64 flags);
void mon_read(struct sim *sim, u64 from, u64 to);
void mon_time(struct sim *sim);
/*
 * The reader has read everything and enabled the event again. disable_late: the event had been
 * truncated and was not disabled yet. still_tracing: the event was still on, so there is more to
 * read.
 */
void mon_drained(struct sim *sim, bool disable_late, bool still_tracing);

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
/* reads all records of the data ring */
void reader_take_records(struct sim *sim);
/* moves aux_tail to to, as if the trace up to there was read */
void reader_take(struct sim *sim, u64 to);

/* fault_catalogue.c */
int faults_set(struct sim *sim, struct auxtap_error *err);
void faults_step(struct sim *sim);
void sim_forward_irq(struct sim *sim); /* the controller sends a raised interrupt to the CPU */
void faults_table_entry(struct sim *sim, u64 addr, u64 *entry);
u64 faults_reg_read(struct sim *sim, u32 reg, u64 value);
u64 faults_reg_write(struct sim *sim, u32 reg, u64 value);
void faults_at_unit_off(struct sim *sim);

/* config.c: copies a caller's configuration and fills in defaults; _valid: also checks it */
int config_copy_in(struct auxtap_watermark_config *copy,
		   const struct auxtap_watermark_config *given, struct auxtap_error *err);
int config_copy_in_valid(struct auxtap_watermark_config *copy,
			 const struct auxtap_watermark_config *given, struct auxtap_error *err);
/* Copies into a caller's struct. -EINVAL: its size is not set. */
int config_copy_out(struct auxtap_watermark_config *given,
		    const struct auxtap_watermark_config *copy);
void config_typical(struct auxtap_watermark_config *c, const char *driver);

/* sim.c */
/* Checks that the caller has set the size of its result. */
int result_check(const struct auxtap_watermark_result *result, struct auxtap_error *err);
/* Calls the unit's produce(); bytes may be NULL. Result and *consumed are those of produce(). */
u64 sim_feed_unit(struct sim *sim, const u8 *bytes, u64 nr_bytes, u64 *consumed);
void sim_irq_raised(struct sim *sim); /* the unit has raised its interrupt line */
void sim_send_irq(struct sim *sim, u64 delay);
/* Now; inside produce(): when the byte was produced that is 'less' bytes before the last stored. */
u64 sim_time(const struct sim *sim, u64 less);
/*
 * Creates the machine of a configuration, not running yet. config: from config_copy_in_valid().
 * NULL: see err. The kernel or the driver may have refused it: r->refused.
 */
struct sim *sim_new(const struct auxtap_watermark_config *config, struct auxtap_watermark_result *r,
		    struct auxtap_error *err);
void sim_free(struct sim *sim);

#endif
