/* SPDX-License-Identifier: BSD-2-Clause */
/* State of the script that is played; play.c advances it, compare.c compares both sides. */
#ifndef TEST_CONFORM_PLAY_H
#define TEST_CONFORM_PLAY_H

#include "conform.h"

struct slot {
	bool open;  /* has a descriptor */
	bool alive; /* open, or held by mappings */
	bool task, inherit;
	int pmu, cpu, nr_maps;
	struct perf_event_attr attr;
	uint64_t id[2];
};

struct map {
	bool used, aux, writable;
	int slot;
	uint64_t length, prev_head;
	void *addr[2];
};

struct played {
	struct slot slots[CONFORM_NR_VIEWS]; /* as the views: the script's own first */
	struct map maps[NR_MAPS];
	uint64_t ids[256][2]; /* of all events of the script: records outlive the events */
	int nr_ids;
	int cpu;
	bool budget;		      /* limits or users were set: the pinned pages are compared */
	bool was_remote;	      /* there were events of a CPU on which we did not run */
	struct conform_call calls[2]; /* the state of both sides */
	const char *differed_in;      /* as a format */
	enum cause cause;
	char *reported; /* description of the difference */
	size_t reported_size;
};
extern struct played now;

static inline struct perf_event_mmap_page *page_of(const struct map *m, int side)
{
	return m->addr[side];
}

/* Returns true, and describes the difference. */
bool differ(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool words_differ(uint64_t k, uint64_t m);
bool whole_ring_differs(int map);
bool all_differs(void);

#endif
