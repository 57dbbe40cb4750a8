/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Code that a program wrote at run time, as it was executed last, and since when each part of it
 * has been that way: newer bytes than those that were executed would decode to a false flow.
 */
#ifndef AUXTAP_CODE_STORE_H
#define AUXTAP_CODE_STORE_H

#include "emu/emu.h"
#include "util/hash_map.h"

#define CODE_STORE_PAGE	   4096u
#define CODE_STORE_GRANULE 8u	      /* bytes with one time */
#define CODE_STORE_MAX	   16384u     /* pages of one process */
#define CODE_STORE_UNKNOWN UINT64_MAX /* what was executed there last is not known */

struct code_store_page {
	u64 addr;
	u64 since[CODE_STORE_PAGE / CODE_STORE_GRANULE];
	u8 valid[CODE_STORE_PAGE / 8]; /* a bit for each byte */
	u8 bytes[CODE_STORE_PAGE];
};

struct code_store {
	struct code_store_page **pages;
	size_t nr, max;
	struct hash_map known; /* their indices by address */
	u64 birth;	       /* what is seen for the first time has been there since then */
	u64 stamp;	       /* the owner's: changes whenever bytes that were known are others */
};

/* Were other bytes executed there, or unknown ones? */
bool code_store_differs(const struct code_store *s, u64 addr, const u8 *bytes, u32 size);
/*
 * The bytes are executed; what differs has been so since 'now'. After an error (-ENOMEM, which
 * includes too many pages) the store must be cleared.
 */
int code_store_put(struct code_store *s, u64 addr, const u8 *bytes, u32 size, u64 now);
/* Unknown bytes are executed. -ENOMEM: as above. */
int code_store_forget(struct code_store *s, u64 addr, u32 size);
/* Frees everything; what is seen from now on has been there since 'birth', not before. */
void code_store_clear(struct code_store *s, u64 birth);
/* 'to' is empty. -ENOMEM: as above. */
int code_store_copy(struct code_store *to, const struct code_store *from);
/*
 * Everything that is known as struct auxtap_crash_code, each followed by its bytes and
 * padded to 8 bytes. The size, or -ENOMEM; the caller frees *notes.
 */
ssize_t code_store_records(const struct code_store *s, pid_t pid, char **notes);

/* code_track.c */
/*
 * The task's pending block, which has code, is about to be encoded:
 * emu_engine_ops.before_encoding.
 * stamps: the engine's, of which each is given to one state of one store.
 */
void code_store_executes(struct code_store *s, u64 *stamps, struct emu_task *task,
			 const struct emu_block *block);
/* 'to', which is empty, is of a new process with a copy of the memory. */
void code_store_inherit(struct code_store *to, u64 *stamps, const struct emu *emu,
			const struct code_store *from);

#endif
