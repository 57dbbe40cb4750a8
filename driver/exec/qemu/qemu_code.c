// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Code that a program writes at run time: each block of it comes with its bytes (struct
 * qemu_block); exec/code_track.c keeps what was executed last.
 */
#include "emu/emu_abi.h"
#include "qemu.h"
#include <errno.h>

void qemu_code_executes(struct emu_task *task, const struct emu_block *b)
{
	const struct qemu_thread *t = emu_task_priv(task);

	code_store_executes(&t->process->code, &qemu_engine(emu_task_emu(task))->code_stamps, task,
			    b);
}

void qemu_code_copy(struct qemu_engine *q, struct qemu_process *to, const struct qemu_process *from)
{
	code_store_inherit(&to->code, &q->code_stamps, q->emu, &from->code);
}

ssize_t qemu_code_records(struct emu *emu, pid_t pid, char **notes)
{
	const struct qemu_process *p = qemu_process_find(qemu_engine(emu), pid);

	return p ? code_store_records(&p->code, pid, notes) : -ESRCH;
}
