// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Code that a program writes at run time. Each block of it comes with its bytes (struct
 * qemu_block), and what was executed last at an address is kept. Threads may have run old and new
 * code at the same time; in the trace all blocks have one order, that in which they are encoded. So
 * that is where bytes are compared: if others were executed there before, the trace gets a newer
 * TSC, and the bytes have been there since that time.
 */
#include "emu/emu_abi.h"
#include "qemu.h"
#include <errno.h>
#include <string.h>

/* No space for more: what is known is forgotten. It must not be taken for older trace's. */
static void start_again(struct qemu_process *p, struct emu_task *task)
{
	code_store_clear(&p->code, emu_task_new_code(task));
}

static void unknown(struct qemu_engine *q, struct qemu_process *p, struct emu_task *task,
		    const struct emu_block *b)
{
	u32 size = (u32)(b->last_ip - b->ip) + b->last_len;

	if (code_store_forget(&p->code, b->ip, size)) {
		start_again(p, task);
		if (code_store_forget(&p->code, b->ip, size))
			code_store_clear(&p->code, CODE_STORE_UNKNOWN);
	}
	p->code.stamp = ++q->code_stamps;
}

void qemu_code_executes(struct emu_task *task, const struct emu_block *b)
{
	const struct qemu_thread *t = emu_task_priv(task);
	struct qemu_engine *q = qemu_engine(emu_task_emu(task));
	u32 size = (u32)(b->last_ip - b->ip) + b->last_len;
	struct qemu_process *p = t->process;
	struct emu_code *code = b->code;
	u64 now = 0;

	if (!p->code.stamp) { /* the first one of this program */
		emu_task_plain_returns(task);
		p->code.stamp = ++q->code_stamps;
	}
	if (code->size && code->stamp == p->code.stamp)
		return;
	/* of a block that was left in the middle this is the beginning */
	if (!code->size || size > code->size) {
		unknown(q, p, task, b);
		return;
	}
	if (code_store_differs(&p->code, b->ip, code->bytes, size)) {
		now = emu_task_new_code(task);
		p->code.stamp = ++q->code_stamps;
	}
	if (code_store_put(&p->code, b->ip, code->bytes, size, now)) {
		start_again(p, task);
		p->code.stamp = ++q->code_stamps;
		if (code_store_put(&p->code, b->ip, code->bytes, size, now))
			code_store_clear(&p->code, CODE_STORE_UNKNOWN);
	} else if (size == code->size) {
		code->stamp = p->code.stamp;
	}
}

void qemu_code_copy(struct qemu_engine *q, struct qemu_process *to, const struct qemu_process *from)
{
	if (code_store_copy(&to->code, &from->code))
		code_store_clear(&to->code, emu_now(q->emu) + 1);
	/* its first task inherits whether returns are compressed */
	to->code.stamp = from->code.stamp ? ++q->code_stamps : 0;
}

ssize_t qemu_code_notes(struct emu *emu, pid_t pid, char **notes)
{
	const struct qemu_process *p = qemu_process_find(qemu_engine(emu), pid);

	return p ? code_store_notes(&p->code, pid, notes) : -ESRCH;
}
