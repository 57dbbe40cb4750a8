/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Code that a program wrote at run time, as it was last executed, and since when each part of it
 * has had these bytes: bytes newer than the executed ones would decode to a wrong flow.
 */
#ifndef AUXTAP_CODE_STORE_H
#define AUXTAP_CODE_STORE_H

#include "emu/emu.h"
#include "util/hash_map.h"

#define CODE_STORE_PAGE	   4096u
#define CODE_STORE_GRANULE 8u	      /* bytes that share a time */
#define CODE_STORE_MAX	   16384u     /* pages of one process */
#define CODE_STORE_UNKNOWN UINT64_MAX /* the bytes that were last executed there are unknown */

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
	u64 birth; /* bytes that are seen for the first time have been there since then */
	u64 stamp; /* set by the owner; changes whenever known bytes change */
};

/* Were different, or unknown, bytes executed there before? */
bool code_store_differs(const struct code_store *s, u64 addr, const u8 *bytes, u32 size);
/*
 * The bytes are executed; those that differ have been there since 'now'. After an error (-ENOMEM,
 * which includes too many pages) the store must be cleared.
 */
int code_store_put(struct code_store *s, u64 addr, const u8 *bytes, u32 size, u64 now);
/* Unknown bytes are executed. -ENOMEM: as above. */
int code_store_forget(struct code_store *s, u64 addr, u32 size);
/* Frees everything; bytes that are seen from now on have been there since 'birth'. */
void code_store_clear(struct code_store *s, u64 birth);
/* 'to' is empty. -ENOMEM: as above. */
int code_store_copy(struct code_store *to, const struct code_store *from);
/*
 * Writes the contents to *notes as struct auxtap_crash_code, each followed by its bytes and padded
 * to 8 bytes. Returns the size, or -ENOMEM; the caller frees *notes.
 */
ssize_t code_store_records(const struct code_store *s, pid_t pid, char **notes);

/* code_track.c */
/*
 * The task's unresolved block, which has code, is about to be encoded:
 * emu_engine_ops.before_encoding.
 * stamps: the engine's counter of stamps; each stamp is used for one state of one store.
 */
void code_store_executes(struct code_store *s, u64 *stamps, struct emu_task *task,
			 const struct emu_block *block);
/* 'to', which is empty, becomes the store of a forked process: a copy of its parent's. */
void code_store_inherit(struct code_store *to, u64 *stamps, const struct emu *emu,
			const struct code_store *from);

#endif
