/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A backend whose every call can be made to fail: one call (the fail_at'th of its kind) with
 * one errno. It counts what is open, mapped and attached, so that a test detects leaks.
 */
#ifndef SUPPORT_FAKE_H
#define SUPPORT_FAKE_H

#include <auxtap/capture.h>

#define FAKE_PID 4000000 /* no process has this ID */

enum fake_call {
	FAKE_OPEN,
	FAKE_MMAP,
	FAKE_ID,
	FAKE_ENABLE,
	FAKE_DISABLE,
	FAKE_SET_OUTPUT,
	FAKE_POLL,
	FAKE_SPAWN,
	FAKE_ATTACH,
	FAKE_WAIT,
	FAKE_REGS,
	FAKE_SIGINFO,
	FAKE_MAPS,
	FAKE_MEM,
	FAKE_THREADS,
	FAKE_RESUME,
	FAKE_NR_CALLS
};

struct fake {
	enum fake_call fail_call;
	unsigned int fail_at; /* 1: the first; 0: never */
	int fail_errno;
	unsigned int nr_calls[FAKE_NR_CALLS];
	bool bad_page; /* the data ring claims to be larger than its mapping */
	int nr_open, nr_mapped, nr_attached;
	unsigned int nr_resumed;
	int last_signal;
	uint64_t now;
	struct perf_event_mmap_page *last_page;
	struct perf_event_mmap_page *pages[8]; /* of the rings, as they were mapped */
	void *aux[8];			       /* of the same rings; NULL: none */
	int aux_prot;			       /* of the newest AUX area */
	unsigned int nr_pages;
	struct perf_event_attr attrs[4]; /* of the first events */
	void (*before)(struct fake *f,
		       enum fake_call call); /* called before ioctl and poll; may be NULL */
	/* a signal reached the program; may be NULL */
	void (*forwarded)(struct fake *f, int signo);
	const struct auxtap_target_event *events;
	size_t nr_events, at;
	bool pause;
};

void fake_backend(struct fake *f, struct auxtap_backend *be, bool per_cpu);
/* The fake of this process, for before and after. */
int fake_open_descriptors(void);

#endif
