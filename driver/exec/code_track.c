// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Tracks code that a program writes at run time, for all engines. Each block of it comes with its
 * bytes (struct emu_code), and the bytes that were last executed at an address are kept. Threads
 * may have run old and new code at the same time; in the trace all blocks have one order, that in
 * which they are encoded. So bytes are compared when a block is encoded: if different ones were
 * executed there before, the trace gets a newer TSC, and the bytes have been there since that time.
 */
#include "code_store.h"

/* There is no more space: clears the store. Code seen later must not be used for older trace. */
static void reset_store(struct code_store *s, struct emu_task *task)
{
	code_store_clear(s, emu_task_new_code(task));
}

static void note_unknown(struct code_store *s, u64 *stamps, struct emu_task *task,
			 const struct emu_block *b)
{
	u32 size = (u32)(b->last_ip - b->ip) + b->last_len;

	if (code_store_forget(s, b->ip, size)) {
		reset_store(s, task);
		if (code_store_forget(s, b->ip, size))
			code_store_clear(s, CODE_STORE_UNKNOWN);
	}
	s->stamp = ++*stamps;
}

void code_store_executes(struct code_store *s, u64 *stamps, struct emu_task *task,
			 const struct emu_block *b)
{
	u32 size = (u32)(b->last_ip - b->ip) + b->last_len;
	struct emu_code *code = b->code;
	u64 now = 0;

	if (!s->stamp) /* the first block of this program with code */
		s->stamp = ++*stamps;
	emu_task_disable_ret_compression(task);
	if (code->size && code->stamp == s->stamp)
		return;
	/* b may be the start of a block that was left in the middle */
	if (!code->size || size > code->size) {
		note_unknown(s, stamps, task, b);
		return;
	}
	if (code_store_differs(s, b->ip, code->bytes, size)) {
		now = emu_task_new_code(task);
		s->stamp = ++*stamps;
	}
	if (code_store_put(s, b->ip, code->bytes, size, now)) {
		reset_store(s, task);
		s->stamp = ++*stamps;
		if (code_store_put(s, b->ip, code->bytes, size, now))
			code_store_clear(s, CODE_STORE_UNKNOWN);
	} else if (size == code->size) {
		code->stamp = s->stamp;
	}
}

void code_store_inherit(struct code_store *to, u64 *stamps, const struct emu *emu,
			const struct code_store *from)
{
	if (code_store_copy(to, from))
		code_store_clear(to, emu_now(emu) + 1);
	/* its first task inherits whether returns are compressed */
	to->stamp = from->stamp ? ++*stamps : 0;
}
