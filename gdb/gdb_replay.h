/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where all threads of a history are, and how they move: by one instruction (by one block where its
 * code cannot be read), or to a breakpoint.
 * A thread is before the instruction that it executes next. If times order the threads, all of them
 * move along one sequence (the history's runs); else only the thread that is asked for.
 */
#ifndef GDB_REPLAY_H
#define GDB_REPLAY_H

#include "history.h"

struct replay_thread {
	uint64_t at;	/* token; history_thread.nr: the end */
	uint32_t insn;	/* instructions of it that were executed */
	uint64_t shown; /* a gap that a motion has stopped at, plus 1: the next one crosses it */
};

struct replay {
	struct history *h;
	struct replay_thread *threads;
	/* The point in the sequence of runs: run_at tokens of run 'run' were executed. */
	size_t run;
	uint64_t run_at;
	uint64_t *breakpoints; /* ascending */
	size_t nr_breakpoints, max_breakpoints;
	uint8_t *hits; /* by token: whether it may contain a breakpoint; NULL: not computed */
};

enum replay_stop {
	REPLAY_STEPPED,
	REPLAY_BREAKPOINT,
	REPLAY_BEGIN, /* nothing is before */
	REPLAY_END,
	REPLAY_GAP,    /* replay_gap_text() says what is missing; the next motion crosses it */
	REPLAY_FAILED, /* out of memory */
};

int replay_init(struct replay *r, struct history *h);
void replay_free(struct replay *r);

/*
 * Moves thread 'thread' by one instruction, or ('go') until one is before a breakpoint: any thread
 * if 'all'. *stopped: which thread it was.
 */
struct replay_motion {
	uint32_t thread;
	bool back, go, all;
};
enum replay_stop replay_move(struct replay *r, const struct replay_motion *m, uint32_t *stopped);

/* The gaps that a motion has stopped at: the text of number 'nr' of them; NULL after the last. */
const char *replay_gap_text(struct replay *r, uint32_t thread, unsigned int nr);

/*
 * Where a thread is: the instruction that it executes next; at an end after which that is unknown,
 * the one that it executed last. False: unknown.
 */
bool replay_pc(struct replay *r, uint32_t thread, uint64_t *pc);
bool replay_at_end(const struct replay *r, uint32_t thread);
/* No thread has moved back. */
bool replay_all_at_end(const struct replay *r);
/* How many instructions the thread has executed there. */
uint64_t replay_number(struct replay *r, uint32_t thread);
/* About when that was, not after; 0: unknown. */
uint64_t replay_time(struct replay *r, uint32_t thread);
/* Moves all threads to the end, or the thread to its begin or to an instruction by number. */
void replay_to_end(struct replay *r);
bool replay_goto(struct replay *r, uint32_t thread, uint64_t number);

/* 0 or -ENOMEM. */
int replay_breakpoint_add(struct replay *r, uint64_t addr);
void replay_breakpoint_remove(struct replay *r, uint64_t addr);

#endif
