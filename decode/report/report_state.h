/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of a report after the trace is decoded, before anything is printed: report.c collects
 * it, report_death.c explains the death, report.c and report_json.c print it.
 */
#ifndef AUXTAP_REPORT_STATE_H
#define AUXTAP_REPORT_STATE_H

#include "decode/flow/trace_family.h"
#include "call_tree.h"
#include "report_branches.h"
#include "report_cover.h"
#include "report_facts.h"
#include "report_fault.h"
#include "report_frames.h"
#include "report_headline.h"
#include "report_jump.h"
#include "report_out.h"

#define REPORT_THREADS_WITH_CALLS 16 /* of the other threads, the newest */
#define REPORT_LAST_CALLS	  5

/* A process executed another program. */
struct exec_event {
	int32_t tid;
	bool done;
	uint64_t time;
	char comm[16];
};

/* A thread has a new name. */
struct name_event {
	int32_t tid;
	char comm[16];
};

/* The state of one thread in the trace. */
struct thread_view {
	struct thread_view *next;
	int32_t pid, tid;
	char comm[32];
	const char *comm_seen;
	struct call_tree *calls;
	struct report_code code; /* context of the lookups of 'calls' */
	struct report_branches branches;
	struct report_return_addrs returns;
	uint64_t nr_insns, first_time, last_time, last_ip;
	size_t next_map;   /* of report->map_times */
	size_t rank;	   /* by the time of the last event, 0 is the newest */
	uint64_t flow_end; /* the next address of the flow, if flow_end_known */
	bool has_flow;	   /* it has other events than gaps */
	bool ended_before; /* the thread exited before the snapshot */
	bool flow_end_known;
	bool in_syscall; /* the flow ends in a system call, like that of a thread that exits */
};

/*
 * Where the thread was at last: its last instruction, or by its registers, if known (else NULL),
 * the one that it was about to execute. False: unknown.
 */
bool report_thread_ip(const struct thread_view *v, const struct auxtap_regs *regs, uint64_t *ip);

struct report {
	struct report_facts facts;
	struct report_out ro;
	struct auxtap_perfdata *pd; /* NULL: a raw trace, or the directory of a snapshot */
	const char *path;
	const struct auxtap_raw_opts *raw;
	struct report_cover cover;
	struct thread_view *threads;
	unsigned int nr_branches, nr_calls;
	bool is_wrong_value; /* it died of a wrong pointer, index, address or stack protector */
	struct report_branches_at_calls at_abort; /* of the thread that died */
	struct exec_event *execs;
	size_t nr_execs, max_execs;
	struct name_event *names; /* by time */
	size_t nr_names, max_names;
	uint64_t *map_times; /* times of records of mappings, ascending */
	size_t nr_maps, max_maps;
};

/* ---- the backtrace against the trace (report_frame_check.c) ---- */

/* Ends the backtrace where the trace shows another call, and sets frames->contradicted then. */
void report_frames_check(const struct report_out *ro, const struct report_facts *facts,
			 struct thread_view *view, const struct auxtap_regs *regs,
			 struct unwind_frames *frames);

/* ---- the death (report_death.c) ---- */

struct report_death {
	struct report_headline head; /* points to fault and frames */
	struct fault fault;
	struct unwind_frames frames;
	struct thread_view *view; /* of the thread that died; NULL: it has no trace */
	bool unloaded;		  /* nothing is mapped any more where it died */
	bool out_of_memory;	  /* the end of the tree of calls is missing */
	/* of abort(): the branches up to the call 'what', to be shown instead of the last; NULL */
	const struct report_branches *before;
	const char *what;
};

/* To be called once, after the trace is decoded. */
void report_death_explain(struct report *r, struct report_death *death);
/* Did the instruction at death->fault.insn_ip cause the death? */
bool report_death_has_insn(const struct report_death *death);

/* ---- the hottest functions (report_functions.c) ---- */

/* Prints the functions of all threads, whose trees of calls have counted them. */
void report_functions_print(const struct report *r);

/* ---- the calls of threads of a file without a crash (report_overview.c) ---- */

/* Prints the calls of the busiest thread; with --calls those of up to 16 threads. */
void report_trees_print(const struct report *r);

/* ---- suggested commands (report_next.c) ---- */

#define REPORT_NEXT_MAX	     4
#define REPORT_COMMAND_WORDS 64

struct report_command {
	const char *words[REPORT_COMMAND_WORDS];
	unsigned int nr;
	char tid[16];
};

/*
 * Fills in at most REPORT_NEXT_MAX commands, which point into r and themselves. Returns their
 * number; 0 for a raw stream.
 */
unsigned int report_next_commands(const struct report *r, struct report_command *commands);
void report_next_print(const struct report *r);

/* ---- what is common to both kinds of report (report.c) ---- */

/* Completes r->cover. To be called once, after the trace is decoded. */
void report_coverage(struct report *r);
/* Sorts by thread id, and sets v->rank to the rank by time. Without memory the order stays. */
void report_sort_threads(struct report *r);
/* Is the thread in the process that died, if one did? */
bool report_has_thread(const struct report *r, const struct thread_view *v);
/* The snapshot's record of a thread; NULL: none. */
const struct report_thread *report_find_thread(const struct report *r, int32_t tid);
/* The trace's family; without a trace that can be decoded, the default for raw streams. */
const struct trace_family *report_family(const struct report *r);

/* Registers of the thread that died; NULL: unknown. */
const struct auxtap_regs *report_dying_regs(const struct report *r);
struct thread_view *report_dying_view(const struct report *r);
/* Was the signal sent by the process to itself? */
bool report_is_abort(const struct auxtap_crash *c);
/* Is it not a death, but a snapshot that the user asked for? */
bool report_is_user_snapshot(const struct report *r);
/* Reads code at ip from its image, else from the snapshot's memory. Returns the number of bytes. */
size_t report_read_code(const struct report *r, uint64_t ip, uint8_t *code, size_t size);
enum auxtap_isa report_isa(const struct auxtap_regs *regs);

#endif
