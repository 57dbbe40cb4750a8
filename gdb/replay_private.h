/* SPDX-License-Identifier: BSD-2-Clause */
/* What gdb_replay.c (one instruction) and replay_go.c (to a breakpoint) share. */
#ifndef GDB_REPLAY_PRIVATE_H
#define GDB_REPLAY_PRIVATE_H

#include "gdb_replay.h"

enum replay_stop replay_step_back(struct replay *r, uint32_t thread);
enum replay_stop replay_step_forward(struct replay *r, uint32_t thread);

/*
 * Moves the point to just after (before) tokens of a thread; those of others between are put back
 * (taken). False: the thread has no more.
 */
bool replay_seek_back(struct replay *r, uint32_t thread);
bool replay_seek_forward(struct replay *r, uint32_t thread);
/* To the end of the run before. */
bool replay_run_before(struct replay *r);
/* Tokens of a thread, which are within the run at the point. */
void replay_take(struct replay *r, uint32_t thread, uint64_t nr);
void replay_put_back(struct replay *r, uint32_t thread, uint64_t nr);

/* Where instruction 'insn' of a block is. False: its code cannot be read. */
bool replay_address(struct replay *r, uint32_t number, uint32_t insn, uint64_t *pc);

#endif
