/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether processes under test make progress. A test must not fail because the machine is busy:
 * the measure is the CPU time that the processes and their descendants use, never how long they
 * take. A process that can run gets some of the CPU at any load; one that hangs gets none.
 */
#ifndef TESTS_SUPPORT_PROGRESS_H
#define TESTS_SUPPORT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PROGRESS_IDLE_S 60 /* for a caller that waits for an answer or an event */

struct progress {
	const pid_t *roots; /* the processes; their descendants are included */
	int nr_roots;
	int idle_s;   /* looks without progress, at least a second apart, until stalled */
	int nr_looks; /* since the last progress */
	bool begun;
	uint64_t last_look_ns;
	uint64_t cpu_ms_at_progress;
	uint64_t cpu_ms; /* of all processes when last looked at */
};

/* The processes that are alive and their descendants, at most max. Returns how many. */
int progress_list(const pid_t *roots, int nr_roots, pid_t *pids, int max);

/* The state that /proc has for a process ('R', 'S', 'T', ...); 0 if it has ended. */
char progress_state(pid_t pid);

/* CPU time that the processes and their descendants have used, in milliseconds. */
uint64_t progress_cpu_ms(const pid_t *roots, int nr_roots);

/*
 * Call this while waiting, as often as you like. True if the processes have stalled: idle_s
 * looks in a row found less CPU time than a two-hundredth of that span. (Not zero: a process
 * that polls in vain uses a little.) The first call starts the observation.
 */
bool progress_stalled(struct progress *p);

#endif
