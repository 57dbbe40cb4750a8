/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The positions of all threads of a history, which move by one instruction (by one block if its
 * code cannot be read), or to a breakpoint. A thread is before the instruction that it executes
 * next. If the threads are ordered by times, all of them move along one sequence (the history's
 * slices); else only the requested thread moves.
 */
#ifndef GDB_REPLAY_H
#define GDB_REPLAY_H

#include "history.h"

struct replay_thread {
	uint64_t pos;  /* index of an entry; history_thread.nr: the end */
	uint32_t insn; /* instructions of that entry that were executed */
	/* the gap at which the last request stopped, plus 1: the next request crosses it */
	uint64_t gap_reported;
};

struct replay {
	struct history *h;
	struct replay_thread *threads;
	/* the position in the sequence of slices: slice_pos entries of the slice were executed */
	size_t slice;
	uint64_t slice_pos;
	uint64_t *breakpoints; /* ascending */
	size_t nr_breakpoints, max_breakpoints;
	uint8_t *may_hit; /* whether each entry may contain a breakpoint; NULL: not computed */
};

enum replay_stop {
	REPLAY_STEPPED,
	REPLAY_BREAKPOINT,
	REPLAY_BEGIN, /* the start of the history */
	REPLAY_END,
	REPLAY_GAP,    /* replay_gap_text() says what is missing; the next request crosses it */
	REPLAY_FAILED, /* out of memory */
};

int replay_init(struct replay *r, struct history *h);
void replay_free(struct replay *r);

/* A request of gdb: 'cont' to the next breakpoint, else one instruction. */
struct replay_request {
	uint32_t thread;
	bool reverse, cont;
	bool all_threads; /* a breakpoint of any thread counts */
};
/*
 * Moves a thread by one instruction, or until it (or any thread) is before a breakpoint.
 * *stopped: the thread that stopped.
 */
enum replay_stop replay_resume(struct replay *r, const struct replay_request *req,
			       uint32_t *stopped);

/* The gaps at which a request stopped: the text of number 'nr' of them; NULL after the last. */
const char *replay_gap_text(struct replay *r, uint32_t thread, unsigned int nr);

/*
 * The program counter of a thread: the instruction that it executes next or, at an end after which
 * that is unknown, the one that it executed last. False: unknown.
 */
bool replay_pc(struct replay *r, uint32_t thread, uint64_t *pc);
bool replay_at_end(const struct replay *r, uint32_t thread);
/* All threads are at the end of the history. */
bool replay_all_at_end(const struct replay *r);
/* The number of instructions that the thread has executed up to its position. */
uint64_t replay_icount(struct replay *r, uint32_t thread);
/* The time at the start of the chunk that contains the position; 0: unknown. */
uint64_t replay_time(struct replay *r, uint32_t thread);
/* Moves all threads to the end. */
void replay_to_end(struct replay *r);
/*
 * Moves the thread to before its instruction number icount, or to its start or end if that is out
 * of range. If the threads are ordered by times, the others move along; else they move to the end.
 * False: the thread has no history, or out of memory.
 */
bool replay_goto(struct replay *r, uint32_t thread, uint64_t icount);

/* 0 or -ENOMEM. */
int replay_breakpoint_add(struct replay *r, uint64_t addr);
void replay_breakpoint_remove(struct replay *r, uint64_t addr);

#endif
