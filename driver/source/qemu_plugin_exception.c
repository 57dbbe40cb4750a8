// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Where exceptions leave generated code. qemu ends a block in the middle by a jump to the CPU's
 * own jump buffer, with the program counter of the instruction in the registers; a block that
 * runs to its end returns. libc's jump is interposed to see the difference.
 */
#include "qemu_plugin.h"
#include <dlfcn.h>
#include <setjmp.h>

#define INTERPOSED __attribute__((visibility("default")))
#define CPU_SIZE   (64 * 1024) /* at least what qemu keeps of a CPU before its registers */

typedef void jump_fn(struct __jmp_buf_tag *env, int value);

INTERPOSED _Noreturn void siglongjmp(sigjmp_buf env, int value);
INTERPOSED _Noreturn void __longjmp_chk(sigjmp_buf env, int value);

/* Found before anything jumps: a jump may come from a signal handler. */
static jump_fn *next_jump, *next_checked_jump;

/* What the thread had shipped when an exception came last. */
static __thread struct {
	const struct qemu_rec *rec;
	u32 nr_flushes, nr;
} left;

__attribute__((constructor)) static void find_jumps(void)
{
	next_jump = (jump_fn *)dlsym(RTLD_NEXT, "siglongjmp");
	next_checked_jump = (jump_fn *)dlsym(RTLD_NEXT, "__longjmp_chk");
}

bool qp_left_by_exception(void)
{
	const struct qemu_rec *rec = qp_rec;

	return qp_recording() && left.rec == rec && left.nr_flushes == rec->nr_flushes &&
	       left.nr == rec->nr;
}

/* Other buffers are those of the translator, which jumps before a block has begun. */
static void note_jump(const void *buffer)
{
	const struct qemu_rec *rec = qp_rec;

	if (!qp_recording() || rec->env - (u64)(uintptr_t)buffer >= CPU_SIZE)
		return;
	left.rec = rec;
	left.nr_flushes = rec->nr_flushes;
	left.nr = rec->nr;
}

void siglongjmp(sigjmp_buf env, int value)
{
	note_jump(env);
	next_jump(env, value);
	__builtin_unreachable();
}

void __longjmp_chk(sigjmp_buf env, int value)
{
	note_jump(env);
	next_checked_jump(env, value);
	__builtin_unreachable();
}
