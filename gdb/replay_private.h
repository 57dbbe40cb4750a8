/* SPDX-License-Identifier: BSD-2-Clause */
/* Interfaces between gdb_replay.c (one instruction) and replay_go.c (to a breakpoint). */
#ifndef GDB_REPLAY_PRIVATE_H
#define GDB_REPLAY_PRIVATE_H

#include "gdb_replay.h"

enum replay_stop replay_step_back(struct replay *r, uint32_t thread);
enum replay_stop replay_step_forward(struct replay *r, uint32_t thread);

/*
 * Moves the position in the sequence to just after (before) the next entries of a thread in that
 * direction; the other threads move past theirs. False: the thread has no more.
 */
bool replay_seek_back(struct replay *r, uint32_t thread);
bool replay_seek_forward(struct replay *r, uint32_t thread);
/* Moves to the end of the previous slice. */
bool replay_prev_slice(struct replay *r);
/* Moves a thread past nr of its entries, which are within the current slice. */
void replay_advance(struct replay *r, uint32_t thread, uint64_t nr);
void replay_rewind(struct replay *r, uint32_t thread, uint64_t nr);

/* The address of instruction 'insn' of a block. False: its code cannot be read. */
bool replay_address(struct replay *r, uint32_t id, uint32_t insn, uint64_t *pc);

#endif
