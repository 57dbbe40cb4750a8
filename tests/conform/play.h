/* SPDX-License-Identifier: BSD-2-Clause */
/* How the script that is played stands: play.c moves it on, compare.c looks at both sides. */
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
	uint64_t ids[256][2]; /* of all events of the script: records outlive them */
	int nr_ids;
	int cpu;
	bool budget;		      /* limits or users were set: what is pinned is looked at */
	bool was_remote;	      /* there were events of a CPU that we were not on */
	struct conform_call calls[2]; /* how the sides stand */
	const char *differed_in;      /* as a format */
	enum cause cause;
	char *reported; /* what differs */
	size_t reported_size;
};
extern struct played now;

static inline struct perf_event_mmap_page *page_of(const struct map *m, int side)
{
	return m->addr[side];
}

/* true, and what differs is told. */
bool differ(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool words_differ(uint64_t k, uint64_t m);
bool whole_ring_differs(int map);
bool all_differs(void);

#endif
