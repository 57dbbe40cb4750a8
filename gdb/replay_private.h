/* SPDX-License-Identifier: BSD-2-Clause */
/* What gdb_replay.c (one instruction) and replay_go.c (to a breakpoint) share. */
#ifndef GDB_REPLAY_PRIVATE_H
#define GDB_REPLAY_PRIVATE_H

#include "gdb_replay.h"

enum replay_stop replay_step_back(struct replay *r, uint32_t thread);
enum replay_stop replay_step_forward(struct replay *r, uint32_t thread);

/*
 * Moves the point to just after (before) the next entries of a thread in that direction; the other
 * threads move past theirs. False: the thread has no more.
 */
bool replay_seek_back(struct replay *r, uint32_t thread);
bool replay_seek_forward(struct replay *r, uint32_t thread);
/* To the end of the slice before. */
bool replay_prev_slice(struct replay *r);
/* A thread moves past nr of its entries, which are within the slice at the point. */
void replay_advance(struct replay *r, uint32_t thread, uint64_t nr);
void replay_rewind(struct replay *r, uint32_t thread, uint64_t nr);

/* Where instruction 'insn' of a block is. False: its code cannot be read. */
bool replay_address(struct replay *r, uint32_t id, uint32_t insn, uint64_t *pc);

#endif
