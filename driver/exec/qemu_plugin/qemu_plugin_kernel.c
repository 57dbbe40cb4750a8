// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which memory a system call of an x86-64 program may write, for 'crash --values'. A call that is
 * not listed may have written anything.
 */
#include "qemu_plugin.h"
#include <linux/sched.h>
#include <sys/mman.h>

#define SIZE_OF(arg) (-(arg)) /* the size is the value of that argument */

/* Call 'nr' writes at most to the ranges whose addresses are arguments 'at' (1 to 6; 0: none). */
struct call_writes {
	u16 nr;
	struct {
		s8 at;
		s16 size; /* bytes, or SIZE_OF() */
	} range[2];
};

static const struct call_writes calls[] = {
	{0, {{2, SIZE_OF(3)}}},	  /* read */
	{1, {{0}}},		  /* write */
	{2, {{0}}},		  /* open */
	{3, {{0}}},		  /* close */
	{4, {{2, 144}}},	  /* stat */
	{5, {{2, 144}}},	  /* fstat */
	{6, {{2, 144}}},	  /* lstat */
	{8, {{0}}},		  /* lseek */
	{10, {{0}}},		  /* mprotect */
	{11, {{1, SIZE_OF(2)}}},  /* munmap */
	{13, {{3, 160}}},	  /* rt_sigaction */
	{14, {{3, SIZE_OF(4)}}},  /* rt_sigprocmask */
	{15, {{0}}},		  /* rt_sigreturn */
	{17, {{2, SIZE_OF(3)}}},  /* pread64 */
	{18, {{0}}},		  /* pwrite64 */
	{20, {{0}}},		  /* writev */
	{21, {{0}}},		  /* access */
	{22, {{1, 8}}},		  /* pipe */
	{24, {{0}}},		  /* sched_yield */
	{28, {{1, SIZE_OF(2)}}},  /* madvise */
	{32, {{0}}},		  /* dup */
	{33, {{0}}},		  /* dup2 */
	{35, {{2, 16}}},	  /* nanosleep */
	{39, {{0}}},		  /* getpid */
	{44, {{0}}},		  /* sendto */
	{60, {{0}}},		  /* exit */
	{62, {{0}}},		  /* kill */
	{63, {{1, 400}}},	  /* uname */
	{74, {{0}}},		  /* fsync */
	{77, {{0}}},		  /* ftruncate */
	{79, {{1, SIZE_OF(2)}}},  /* getcwd */
	{80, {{0}}},		  /* chdir */
	{82, {{0}}},		  /* rename */
	{83, {{0}}},		  /* mkdir */
	{84, {{0}}},		  /* rmdir */
	{87, {{0}}},		  /* unlink */
	{89, {{2, SIZE_OF(3)}}},  /* readlink */
	{96, {{1, 16}, {2, 8}}},  /* gettimeofday */
	{102, {{0}}},		  /* getuid */
	{104, {{0}}},		  /* getgid */
	{107, {{0}}},		  /* geteuid */
	{108, {{0}}},		  /* getegid */
	{186, {{0}}},		  /* gettid */
	{200, {{0}}},		  /* tkill */
	{201, {{1, 8}}},	  /* time */
	{218, {{0}}},		  /* set_tid_address */
	{228, {{2, 16}}},	  /* clock_gettime */
	{230, {{4, 16}}},	  /* clock_nanosleep */
	{231, {{0}}},		  /* exit_group */
	{234, {{0}}},		  /* tgkill */
	{257, {{0}}},		  /* openat */
	{262, {{3, 144}}},	  /* newfstatat */
	{263, {{0}}},		  /* unlinkat */
	{267, {{3, SIZE_OF(4)}}}, /* readlinkat */
	{269, {{0}}},		  /* faccessat */
	{273, {{0}}},		  /* set_robust_list */
	{290, {{0}}},		  /* eventfd2 */
	{292, {{0}}},		  /* dup3 */
	{293, {{1, 8}}},	  /* pipe2 */
	{302, {{4, 16}}},	  /* prlimit64 */
	{318, {{1, SIZE_OF(2)}}}, /* getrandom */
	{332, {{5, 256}}},	  /* statx */
	{334, {{0}}},		  /* rseq: unsupported by qemu */
};

/* Does the call create another thread, which writes to the same memory? */
static bool makes_thread(s64 nr, const u64 arg[6])
{
	u64 flags = arg[0];

	if (nr != 56 && nr != 435)
		return false;
	if (nr == 435 && qp_read(arg[0], &flags, sizeof(flags)))
		return false;
	return flags & CLONE_VM && !(flags & CLONE_VFORK);
}

void qp_values_syscall(s64 nr, const u64 arg[6])
{
	qp_values_called();
	if (makes_thread(nr, arg))
		qp_values_threads();
	switch (qp.arch->call(nr)) {
	case QEMU_CALL_MMAP: /* see below */
	case QEMU_CALL_BRK:
		return;
	default:
		break;
	}
	if (nr == 158 && (arg[0] == 0x1001 || arg[0] == 0x1002)) /* arch_prctl: sets a base */
		return;
	if (nr == 202 && ((arg[1] & 127) <= 1 || (arg[1] & 127) == 9 || (arg[1] & 127) == 10))
		return;			    /* futex: wait and wake */
	if (nr == 16 && arg[1] == 0x5401) { /* ioctl: TCGETS */
		qp_values_unknown(arg[2], 64);
		return;
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		const struct call_writes *c = &calls[i];

		if (c->nr != nr)
			continue;
		for (u32 k = 0; k < 2 && c->range[k].at; k++) {
			s16 size = c->range[k].size;
			u64 at = arg[c->range[k].at - 1];

			if (at)
				qp_values_unknown(at, size < 0 ? arg[-size - 1] : (u64)size);
		}
		return;
	}
	qp_values_unknown(0, ~0ull);
}

void qp_values_syscall_ret(s64 nr, const u64 arg[6], s64 result)
{
	static __thread u64 last_break;
	u64 to = (u64)result;

	switch (qp.arch->call(nr)) {
	case QEMU_CALL_MMAP:
		qp_values_unknown(to, (arg[1] + QEMU_PAGE - 1) & ~(QEMU_PAGE - 1));
		break;
	case QEMU_CALL_BRK:
		if (last_break && to != last_break)
			qp_values_unknown(to < last_break ? to : last_break,
					  to < last_break ? last_break - to : to - last_break);
		else if (!last_break && arg[0])
			qp_values_unknown(0, ~0ull);
		last_break = to;
		break;
	default:
		break;
	}
}
