/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One script, two kernels: the running one and the model have the same few calls here, so that
 * test_reference_*.c can do the same thing to both and compare the results.
 */
#ifndef TEST_CORE_PERF_SIDE_H
#define TEST_CORE_PERF_SIDE_H

#include <linux/perf_event.h>
#include "core/core.h"
#include <pthread.h>

#define SIDE_MAX 16

struct perf_side {
	bool model;
	const char *name;
	/* file descriptors of the kernel, or indexes into these */
	struct perf_event *events[SIDE_MAX];
	int nr_events;
	struct {
		void *addr;
		size_t length;
		struct core_mapping *mapping;
	} maps[64];
	struct core_task task, other;
	int cpu;
	/* the other thread: 't' with a name in other_name, 'x' to exit; it answers with a byte */
	pthread_t thread;
	int to_thread[2], from_thread[2];
	char other_name[16];
};

/* Returns 0; or 77, with a line on stdout, if this machine refuses to open an event. */
int side_kernel_possible(void);
/* The same, for scripts with events of a whole CPU and mappings beyond a user's budget (B11). */
int side_kernel_privileged(void);
/* The set of switches of the running kernel, or the nearest one. */
const struct core_kernel *side_running_kernel(void);

/* The calling thread, pinned to one CPU; the model plays the same thread on the same CPU. */
void side_init(struct perf_side *side, bool model);
void side_fini(struct perf_side *side);
/* Results of system calls, errors negative. pid: 0 self, -1 none. */
int side_open(struct perf_side *side, const struct perf_event_attr *attr, int pid, int cpu);
void *side_mmap(struct perf_side *side, int fd, size_t length, int prot, int flags, uint64_t offset,
		int *error);
void side_munmap(struct perf_side *side, void *addr);
long side_ioctl(struct perf_side *side, int fd, unsigned long request, unsigned long arg);
int side_poll(struct perf_side *side, int fd); /* revents without waiting */
long side_read(struct perf_side *side, int fd, void *buf, size_t size);
void side_close(struct perf_side *side, int fd);
/* The thread changes its name, for a PERF_RECORD_COMM. */
void side_comm(struct perf_side *side, const char *name);
/* The thread maps the named file at addr, for a PERF_RECORD_MMAP2 (or MMAP). */
void side_map_file(struct perf_side *side, const char *path, void *addr, bool executable);
/* Another thread, which changes its name for each side_other_comm() and exits at the end. */
int side_other_start(struct perf_side *side); /* its tid */
void side_other_comm(struct perf_side *side, const char *name);
void side_other_exit(struct perf_side *side);
/* An event on that thread. */
int side_open_other(struct perf_side *side, const struct perf_event_attr *attr);
/* Model only: the kernel's part of clone() for an event with inherit. */
int side_open_child(struct perf_side *side, int parent);

/* A software dummy event without sample ids. */
struct perf_event_attr side_dummy_attr(void);

#endif
