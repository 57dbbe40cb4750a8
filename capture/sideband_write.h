/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sideband records as bytes: made, read, changed, and (crash mode) kept per process in
 * bounded memory. Also /proc/PID/maps as a list, and a set of strings.
 */
#ifndef AUXTAP_CAPTURE_SIDEBAND_H
#define AUXTAP_CAPTURE_SIDEBAND_H

#include "util/hash_map.h"
#include <auxtap/perfdata.h>

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- record layouts (F) ---- */

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

/* The sample id trailer of every session: TID, TIME, CPU, IDENTIFIER. */
#define CAPTURE_SAMPLE_TYPE                                                      \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | \
	 PERF_SAMPLE_IDENTIFIER)
struct trailer {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
	uint64_t id;
};

/* Body bytes of a record without its trailer; *trailer points into the record. False: too short. */
bool record_parts(const void *record, size_t *body_size, const struct trailer **trailer);
/* The MMAP2 body if record is one with a terminated name, else NULL. */
const struct mmap2_body *record_mmap2(const void *record);
/* Header, body, name padded to 8, trailer. Bytes written to out; 0: does not fit. */
size_t record_make(void *out, size_t max, uint32_t type, uint16_t misc, const void *body,
		   size_t body_size, const char *name, const struct trailer *trailer);

/* ---- maps ---- */

struct map_entry {
	uint64_t start, end, pgoff, ino;
	uint32_t prot, maj, min;
	bool shared;
	const char *name; /* into the list's text; "" for none */
};

struct map_list {
	struct map_entry *entries;
	size_t nr;
	char *text; /* copy whose lines are cut up */
};

/* The MMAP2 record of a mapping that was there before the event; as record_make(). */
size_t record_make_map(void *out, size_t max, pid_t pid, const struct map_entry *e,
		       const struct trailer *trailer);
int map_list_parse(struct map_list *list, const char *text);
void map_list_free(struct map_list *list);
/* Executable, and not the vsyscall page, whose calls trap: no instruction of it ever runs. */
bool map_runs_code(const struct map_entry *e);
const struct map_entry *map_list_find(const struct map_list *list, uint64_t addr);

/* ---- strings ---- */

struct string_set {
	char **strings;
	size_t nr, max;
	struct hash_map numbers; /* by text */
};

/* True if s was not there and is now (or could not be remembered). */
bool string_set_add(struct string_set *set, const char *s);
void string_set_free(struct string_set *set);

/* ---- processes (crash mode) ---- */

struct kept_record {
	uint64_t time;
	unsigned char bytes[]; /* a whole record */
};

/*
 * Threads that ended before their process: their rings went with them. The newest trace of the last
 * ones is kept: that of a thread up to EXITED_TRACE_MAX bytes, of all up to EXITED_TRACES_MAX.
 */
#define EXITED_MAX	  64
#define EXITED_TRACE_MAX  (256u << 10)
#define EXITED_TRACES_MAX (16u << 20)

struct exited_trace {
	struct auxtap_auxtrace head;
	uint64_t number; /* ascending by age: the lowest is given up first */
	size_t size;
	unsigned char bytes[];
};

struct exited_thread {
	pid_t tid;
	uint64_t time_begin, time_end;
	uint64_t nr_bytes; /* of trace, all of it */
	bool exact;
	struct exited_trace *trace; /* NULL: none is kept; owned by the process */
	bool saved;		    /* it is in the file that is being written */
};

struct process {
	pid_t pid;
	struct kept_record **records;
	size_t nr, max, nr_mmaps;
	int fault_signo; /* first fault that went to a handler; 0: none */
	pid_t fault_tid;
	uint64_t fault_ip, fault_time;
	bool died;		      /* its snapshot is written */
	uint64_t nr_untraced;	      /* threads that could not be traced */
	struct exited_thread *exited; /* the newest, a ring of EXITED_MAX */
	uint64_t nr_exited;
	uint64_t older_exited_bytes; /* of those no longer in it */
};

#define MAX_SWITCHES 16384

struct process_table {
	struct process **items;
	size_t nr, max;
	/* The newest context switches: who ran on a CPU (kernel backend). */
	struct kept_record **switches;
	size_t nr_switches; /* so far */
	size_t bytes;	    /* of all kept records */
	uint64_t dropped;
	size_t exited_bytes; /* of all kept trace of ended threads */
	uint64_t nr_exited_traces;
};

struct process *process_find(struct process_table *table, pid_t pid);
struct process *process_get(struct process_table *table, pid_t pid); /* NULL: no memory */
/* A forked child starts with a copy of its parent's records, under its own number. */
int process_fork(struct process_table *table, pid_t parent, pid_t child);
/* Keeps what still matters of record; -ENOMEM. */
int process_keep_record(struct process_table *table, pid_t pid, const void *record);
/* Takes over gone->trace, and may free it. */
void process_thread_exit(struct process_table *table, pid_t pid, const struct exited_thread *gone);
void process_remove(struct process_table *table, pid_t pid);
void process_table_free(struct process_table *table);

#endif
