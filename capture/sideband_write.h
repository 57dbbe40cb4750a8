/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Builds, reads and rewrites sideband records, and (crash mode) keeps them for each process in
 * limited memory. Also parses /proc/PID/maps, and contains a set of strings.
 */
#ifndef AUXTAP_CAPTURE_SIDEBAND_H
#define AUXTAP_CAPTURE_SIDEBAND_H

#include "util/hash_map.h"
#include <auxtap/crash.h>
#include <auxtap/perfdata.h>

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- record layouts: docs/kernel-rules.md, section F ---- */

struct comm_body {
	uint32_t pid, tid;
	char comm[];
};

struct task_body { /* FORK, EXIT */
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

struct mmap2_body {
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	uint32_t prot, flags;
	char filename[];
};

struct aux_body {
	uint64_t aux_offset, aux_size, flags;
};

struct lost_body {
	uint64_t id, lost;
};

/* Every session's records end with this sample_id: TID, TIME, CPU, IDENTIFIER. */
#define CAPTURE_SAMPLE_TYPE                                                      \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | \
	 PERF_SAMPLE_IDENTIFIER)
struct trailer {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
	uint64_t id;
};

/* The size of a record's body without trailer; *trailer points into it. False: too short. */
bool record_parts(const void *record, size_t *body_size, const struct trailer **trailer);
/* The body of an MMAP2 record whose name is terminated; NULL: another or a malformed record. */
const struct mmap2_body *record_mmap2(const void *record);
/* Builds header, body, name (padded to 8) and trailer in out. Returns the size; 0: too large. */
size_t record_make(void *out, size_t max, uint32_t type, uint16_t misc, const void *body,
		   size_t body_size, const char *name, const struct trailer *trailer);

/* ---- maps ---- */

struct map_entry {
	uint64_t start, end, pgoff, ino;
	uint32_t prot, maj, min;
	bool shared;
	const char *name; /* points into the list's text; "": no name */
};

struct map_list {
	struct map_entry *entries;
	size_t nr;
	char *text; /* a copy that is split into strings */
};

/* Builds the MMAP2 record of a mapping that is older than the event; returns as record_make(). */
size_t record_make_map(void *out, size_t max, pid_t pid, const struct map_entry *e,
		       const struct trailer *trailer);
int map_list_parse(struct map_list *list, const char *text);
void map_list_free(struct map_list *list);
/* Executable, and not the vsyscall page: calls of it trap, so none of its instructions runs. */
bool map_runs_code(const struct map_entry *e);
const struct map_entry *map_list_find(const struct map_list *list, uint64_t addr);

/* ---- strings ---- */

struct string_set {
	char **strings;
	size_t nr, max;
	struct hash_map indices; /* index in strings, by hash of the text */
};

/* Adds s. True: s was not in the set (the set may be full, or out of memory). */
bool string_set_add(struct string_set *set, const char *s);
void string_set_free(struct string_set *set);

/* ---- processes (crash mode) ---- */

struct kept_record {
	uint64_t time;
	unsigned char bytes[]; /* a whole record */
};

/*
 * Threads that exited before their process. Their rings are closed, but the newest trace of the
 * last ones is kept: up to EXITED_TRACE_MAX bytes for a thread, EXITED_TRACES_MAX for all.
 */
#define EXITED_MAX	  64
#define EXITED_TRACE_MAX  (256u << 10)
#define EXITED_TRACES_MAX (16u << 20)

struct exited_trace {
	struct auxtap_auxtrace head;
	uint64_t seq; /* grows with each trace; the one with the lowest is dropped first */
	size_t size;
	unsigned char bytes[];
};

struct exited_thread {
	pid_t tid;
	uint64_t time_begin, time_end;
	uint64_t nr_bytes; /* of trace that its unit wrote */
	bool exact;
	struct exited_trace *trace; /* owned by struct process; NULL: not kept */
	bool saved;		    /* the trace is in the file that is being written */
};

struct process {
	pid_t pid;
	struct kept_record **records;
	size_t nr, max, nr_mmaps;
	uint64_t nr_faults; /* that went to handlers; 'faults' as in struct auxtap_crash */
	struct auxtap_crash_fault faults[AUXTAP_CRASH_NR_FAULTS];
	bool crashed;		      /* its crash is counted, and its snapshot written */
	uint64_t nr_untraced;	      /* threads that could not be traced */
	struct exited_thread *exited; /* a ring of EXITED_MAX entries, the newest threads */
	uint64_t nr_exited;
	uint64_t older_exited_bytes; /* nr_bytes of the threads no longer in the ring */
};

#define MAX_SWITCHES 16384

struct process_table {
	struct process **items;
	size_t nr, max;
	/* A ring of the newest context switches (kernel backend). */
	struct kept_record **switches;
	size_t nr_switches; /* that were added so far */
	size_t bytes;	    /* size of all kept records */
	uint64_t dropped;
	size_t exited_bytes; /* size of all kept trace of exited threads */
	uint64_t nr_exited_traces;
};

struct process *process_find(struct process_table *table, pid_t pid);
struct process *process_get(struct process_table *table, pid_t pid); /* NULL: no memory */
/* A forked child starts with a copy of its parent's records, with its own PID. */
int process_fork(struct process_table *table, pid_t parent, pid_t child);
/* Keeps the record if a snapshot may need it, and drops those that it supersedes. -ENOMEM. */
int process_keep_record(struct process_table *table, pid_t pid, const void *record);
/* Takes ownership of t->trace, and may free it. */
void process_thread_exit(struct process_table *table, pid_t pid, const struct exited_thread *t);
void process_remove(struct process_table *table, pid_t pid);
void process_table_free(struct process_table *table);

#endif
