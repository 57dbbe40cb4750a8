// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Detects where exceptions leave generated code. qemu ends a block in the middle by a jump to the
 * CPU's own jump buffer, with the program counter of the instruction in the registers; a block that
 * runs to its end returns. libc's jump is interposed to see the difference.
 */
#include "qemu_plugin.h"
#include <dlfcn.h>
#include <setjmp.h>

#define INTERPOSED __attribute__((visibility("default")))
#define CPU_SIZE   (64 * 1024) /* at least the size of qemu's CPU state before its registers */

typedef void jump_fn(struct __jmp_buf_tag *env, int value);

INTERPOSED _Noreturn void siglongjmp(sigjmp_buf env, int value);
INTERPOSED _Noreturn void __longjmp_chk(sigjmp_buf env, int value);

/* Resolved before anything jumps: a jump may come from a signal handler. */
static jump_fn *next_jump, *next_checked_jump;

/* How much the thread had sent at the last exception, and when a block last restarted. */
struct position {
	const struct qemu_rec *rec;
	u32 nr_flushes, nr;
};
static __thread struct position left, restart;
static __thread u64 restart_ip;
/* signals were delivered after the exception that ended the newest block */
static __thread bool delivered;

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

void qp_delivery(void)
{
	delivered = qp_left_by_exception();
}

static struct position position_of(const struct qemu_rec *rec)
{
	return (struct position){.rec = rec, .nr_flushes = rec->nr_flushes, .nr = rec->nr};
}

void qp_note_restart(u64 ip)
{
	restart = delivered ? position_of(qp_rec) : (struct position){.rec = NULL};
	restart_ip = ip;
}

bool qp_left_restarted(u64 ip)
{
	const struct qemu_rec *rec = qp_rec;
	u32 nr_blocks = 0, nr_words;

	if (!qp_left_by_exception() || restart.rec != rec ||
	    restart.nr_flushes != rec->nr_flushes || restart_ip != ip || rec->nr > QEMU_CHUNK_WORDS)
		return false;
	for (u32 i = restart.nr; i < rec->nr; i += nr_words) {
		u32 word = rec->word[i];
		bool is_message = word >= QEMU_MSG;

		nr_words = is_message ? 1 + QEMU_MSG_LEN(word) : 1;
		nr_blocks += !is_message || QEMU_MSG_TYPE(word) == QEMU_MSG_WIDE;
	}
	return nr_blocks == 1;
}

/* Ignores other buffers: they are the translator's, which jumps before a block has started. */
static void note_jump(const void *buffer)
{
	struct qemu_rec *rec = qp_rec;

	if (!qp_recording() || (uintptr_t)qp_env - (uintptr_t)buffer >= CPU_SIZE)
		return;
	left = position_of(rec);
	rec->left_flushes = rec->nr_flushes;
	rec->left_nr = rec->nr;
	qp_values_left(qp.arch->ip(qp_env));
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
