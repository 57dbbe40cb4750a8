/* SPDX-License-Identifier: BSD-2-Clause */
/* The last branches of a thread (report_branches.c). */
#ifndef AUXTAP_REPORT_BRANCHES_H
#define AUXTAP_REPORT_BRANCHES_H

#include <auxtap/decode.h>
#include <stdbool.h>

struct report_out;

#define REPORT_BRANCHES 64

struct report_branch {
	uint64_t from, to;
	enum auxtap_branch_kind kind;
	bool async, has_from, has_to;
	/* more like it followed; an endless loop of direct branches generates no packets */
	bool uncounted;
	unsigned int repeat;
	uint64_t time;
	int gap; /* cause of the gap before it (enum auxtap_gap_cause); -1: none */
};

/* The newest branches of a thread. */
struct report_branches {
	struct report_branch at[REPORT_BRANCHES];
	unsigned int nr; /* since the start; at[] contains the newest */
	bool after_gap;	 /* there was no branch since the newest gap */
	enum auxtap_gap_cause gap;
	bool is_emulated;
	bool after_uncounted; /* the newest event but those of the trace was such a gap */
	/*
	 * An interrupt after such a gap, not in at[] yet: the emulated unit stops where the program
	 * has changed its code, and goes on there at once. That is no interrupt.
	 */
	bool is_held;
	struct report_branch held;
};

/* The branches of a thread up to a call that has not returned. */
struct report_branches_at_call {
	uint64_t return_addr;
	unsigned int nr_open; /* calls with it that have not returned; 0: none is known */
	struct report_branches branches; /* up to the outermost of them */
};

#define REPORT_MAX_AT_CALLS 12

/* The same for several calls. */
struct report_branches_at_calls {
	struct report_branches_at_call at[REPORT_MAX_AT_CALLS];
	int nr;
};

/* Notes an event of the thread. */
void report_branches_add(struct report_branches *branches, const struct auxtap_event *ev);
/* To be called after the last event. */
void report_branches_end(struct report_branches *branches);
/* To be called after report_branches_add(). At most nr branches are kept for each call. */
void report_branches_at_calls_add(struct report_branches_at_calls *at_calls,
				  const struct report_branches *branches, unsigned int nr,
				  const struct auxtap_event *ev);
/* The branches up to the call that would return to return_addr; NULL: none is known to be open. */
const struct report_branches *
report_branches_at_calls_find(const struct report_branches_at_calls *at_calls,
			      uint64_t return_addr);
/*
 * An ETM leaves out the two lowest bits of an address: completes the addresses where the thread
 * died by pc, which is from the registers.
 */
void report_branches_complete(struct report_branches *branches, uint64_t pc);
/* The newest branch that the program itself took, if it is one of the last two; else NULL. */
const struct report_branch *report_branches_last(const struct report_branches *branches);
/* "call", "cond", ... */
const char *report_branch_kind(const struct report_branch *b);
/* Is it a call, or a jump to the beginning of a function? */
bool report_branch_enters(const struct report_out *ro, const struct report_branch *b);
/* The address of the newest branch, if it is an indirect jump that went to pc; else 0. */
uint64_t report_branches_jump_to(const struct report_branches *branches, uint64_t pc);
/*
 * Prints at most nr of them. before: the call that they lead to; NULL: the trace ends there.
 * signal: the name of the signal that followed them, or of another end; NULL: none. unloaded:
 * nothing is mapped any more where they end.
 */
void report_branches_print(const struct report_out *ro, const struct report_branches *branches,
			   unsigned int nr, const char *before, const char *signal, bool unloaded);

#endif
