/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A machine for driver tests: the perf core, the PT driver and the hardware's output
 * stage, joined by registers, memory and an interrupt line; and a reader of the rings.
 */
#ifndef AUXTAP_TEST_PMU_MACHINE_H
#define AUXTAP_TEST_PMU_MACHINE_H

#include "hw/pt_output.h"
#include "core/core.h"
#include "pmu/intel_pt.h"
#include <linux/perf_event.h>
#include <stdlib.h>

#define P 4096ull

/* ---- the machine ---- */

struct machine_cpu {
	struct pt_output out;
	u64 ctl;
	bool irq_line;
	unsigned int nr_ctl_writes;
};

struct machine {
	int cpu; /* the CPU that tests run on */
	struct machine_cpu cpus[8];
	struct intel_pt_hw hw;
	u64 tsc;
	int nr_wakeups;
	/* C5: orders for which page allocations succeed, in turn; then the last one for
	 * ever */
	const int *orders;
	int nr_orders, next_order;
	bool random_orders;
	int nr_errors_logged;
	bool irq_in_stop; /* an interrupt arrives in the write that clears TraceEn */
};
extern struct machine machine;

/* Fresh, with a unit with every capability, CPU 0, the given kernel (NULL: the default).
 */
void machine_start(const char *kernel);
/* As machine_start(), with the given capabilities of the unit. */
void machine_start_with(const char *kernel, bool single_range, bool multiple_entries);
void machine_end(void); /* asserts that nothing warned */

static inline struct machine_cpu *unit(void)
{
	return &machine.cpus[machine.cpu];
}

/* The unit's registers as software reads them. */
u64 unit_read(u32 msr);
static inline bool unit_on(void)
{
	return unit()->ctl & RTIT_CTL_TRACEEN;
}

/* ---- one traced task ---- */

struct aux_record {
	u64 offset, size, flags;
};

struct session {
	struct core_task task;
	struct perf_event_attr attr;
	struct perf_event *event;
	struct core_mapping *data_map, *aux_map;
	struct perf_event_mmap_page *page;
	u8 *aux;
	u64 aux_size;
	/* what the unit stored, in order: the ground truth */
	u8 *stored;
	size_t nr_stored, max_stored;
	u64 produced;	  /* bytes the program's execution generated; the next one is
			     produced_byte() */
	u64 produced_off; /* those while TraceEn was 0 */
	/* records, drained by session_records() */
	struct aux_record *records;
	size_t nr_records, max_records;
	unsigned int nr_itrace_start, nr_lost;
};

/* attr.type and a sensible config are set; change s->attr before session_open(). */
void session_init(struct session *s);
/* Event on the task, data ring, AUX area: writable = linear. -errno of the AUX mapping.
 */
int session_open(struct session *s, u64 data_pages, u64 aux_pages, bool writable);
void session_close(struct session *s);
void session_in(struct session *s);
void session_out(struct session *s);

/* Byte number n that the program generates; never 0, which would be PAD. */
u8 produced_byte(u64 n);
/* One packet. No interrupt is taken. Returns bytes stored. */
size_t session_packet(struct session *s, size_t nr_bytes);
/* Packets of 1 to 16 bytes; the interrupt is taken at the first packet boundary at which
 * its line is up. */
void session_run(struct session *s, u64 nr_bytes);
bool machine_take_irq(void); /* if the line is up */

/* Drains the data ring into s->records; checks that each starts where the last one ended
 * (linear). */
void session_records(struct session *s);
const struct aux_record *session_last(struct session *s); /* asserts that there is one */
u64 session_aux_head(const struct session *s);
u64 session_aux_tail(const struct session *s);
void session_set_tail(struct session *s, u64 tail);
/* The AUX bytes from tail to head are what the unit stored there (linear). */
void session_check_unread(const struct session *s);

/* ---- tables, as the unit reads them ---- */

struct topa_entry {
	u64 begin_off, end_off; /* in the AUX area */
	u64 flags;
	u64 table_phys;
	unsigned int index;
};
/* All entries in the order of the area. Number of them; *nr_tables. */
size_t topa_list(const struct session *s, struct topa_entry *entries, size_t max,
		 size_t *nr_tables);
/* Ends of the regions with STOP and INT: the only STOP; the only INT that is not the STOP, else the
 * STOP's. */
void topa_thresholds(const struct session *s, u64 *int_off, u64 *stop_off);

#endif
