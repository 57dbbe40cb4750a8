/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small machine for the core's tests: a task, a clock, counted wakeups, and a fake PMU with
 * an AUX area whose "hardware" writes when the test orders it. Every test runs under every
 * kernel's set of switches (RIG_TESTS).
 */
#ifndef TEST_CORE_RIG_H
#define TEST_CORE_RIG_H

#include <linux/perf_event.h>
#include "core/core.h"
#include "core/perf_buffer.h"
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define P  4096ul
#define RW (PROT_READ | PROT_WRITE)

/* The fake PMU. It opens a transaction at start and closes it at stop, as PT does. */
struct fake {
	struct pmu pmu;
	struct perf_output_handle handle; /* of the running CPU; one is enough */
	bool manual;			  /* add and del leave transactions to the test */
	bool fail_setup;		  /* C7 */
	bool fail_add;			  /* Q5 */
	bool say_started;		  /* F1 */
	unsigned long pending;		  /* bytes that the next stop reports */
	u64 stop_flags;			  /* flags that the next stop raises */
	/* what the driver saw */
	int nr_setups, nr_frees, nr_starts, nr_stops, nr_adds, nr_dels;
	int setup_pages;
	bool setup_overwrite;
	unsigned long orders[64]; /* of the chunks given */
	int nr_chunks;
	u64 head_at_add;       /* data_head when add was called */
	int aux_count_at_stop; /* aux_mmap_count when stop was called */
};
extern struct fake fake;

struct rig {
	struct core_task task;
	struct perf_event *event;
	struct core_mapping *ring, *aux;
	struct perf_event_mmap_page *page;
	struct perf_output_handle handle;
	u64 time;
	int nr_wakeups;
	struct perf_event *woken[64];
	int max_order;	       /* C5: the allocator's largest chunk; -1 none */
	int fail_after;	       /* allocations until memory is exhausted; -1: never */
	u64 aux_head_at_clock; /* aux_head when a record was last stamped */
	unsigned long expected_warnings;
	u64 read_abs; /* records up to here were read */
};

extern const struct core_kernel *rig_kernel;

/* D21: does an event with pending_disable of this CPU stay ACTIVE until it is disabled? */
static inline bool rig_disable_is_lost(int cpu)
{
	return rig_kernel->disable_by_cpu_number && (!cpu || rig_kernel->disable_at_sched_out);
}

struct perf_event_attr rig_attr(void); /* fake PMU, starts at open */
struct perf_event_attr rig_dummy_attr(void);
void rig_init(struct rig *rig, int caps);
void rig_fini(struct rig *rig); /* also checks that nothing warned */
struct perf_event *rig_open(struct rig *rig, const struct perf_event_attr *attr);
/* Opens the fake PMU's event, maps data_pages and aux_pages (0: none); aux_prot 0: read-only. */
void rig_start(struct rig *rig, const struct perf_event_attr *attr, unsigned long data_pages,
	       unsigned long aux_pages, int aux_prot);
int rig_map(struct perf_event *event, u64 length, int prot, u64 offset,
	    struct core_mapping **mapping);
int rig_map_aux(struct rig *rig, unsigned long pages, int prot);
/* Copies the next unread record and frees its space. false: no record. */
bool rig_next(struct rig *rig, void *record, size_t size);
void rig_read_all(struct rig *rig);

/* Bodies of records as the reader sees them. */
struct rig_aux {
	struct perf_event_header header;
	u64 offset, size, flags, id[6];
};
struct rig_lost {
	struct perf_event_header header;
	u64 id, lost, sample_id[6];
};

/* Writes a header and a body of size - 8 bytes: the record has exactly that size. */
int rig_record(struct perf_event *event, unsigned int size);

#define RIG_TEST(fn)    \
	{               \
#fn, fn \
	}
struct rig_test {
	const char *name;
	void (*fn)(void);
};
int rig_run(const struct rig_test *tests, size_t nr_tests);
#define RIG_RUN(tests) rig_run(tests, sizeof(tests) / sizeof((tests)[0]))

#endif
