// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which memory a system call of an x86-64 program may write, for 'crash --values'. A call that is
 * not listed may have written anything.
 */
#include "qemu_plugin.h"
#include <linux/sched.h>
#include <sys/mman.h>

#define SIZE_OF(arg)   (-(arg))	   /* the size is the value of that argument */
#define BY_RESULT(arg) (-(arg)-16) /* ... at most: it is what the call returns */

/* Call 'nr' writes at most to the ranges whose addresses are arguments 'at' (1 to 6; 0: none). */
struct call_writes {
	u16 nr;
	struct {
		s8 at;
		s16 size; /* bytes, SIZE_OF() or BY_RESULT() */
	} range[2];
};

static const struct call_writes calls[] = {
	{0, {{2, BY_RESULT(3)}}},   /* read */
	{1, {{0}}},		    /* write */
	{2, {{0}}},		    /* open */
	{3, {{0}}},		    /* close */
	{4, {{2, 144}}},	    /* stat */
	{5, {{2, 144}}},	    /* fstat */
	{6, {{2, 144}}},	    /* lstat */
	{8, {{0}}},		    /* lseek */
	{10, {{0}}},		    /* mprotect */
	{13, {{3, 160}}},	    /* rt_sigaction */
	{14, {{3, SIZE_OF(4)}}},    /* rt_sigprocmask */
	{15, {{0}}},		    /* rt_sigreturn */
	{17, {{2, BY_RESULT(3)}}},  /* pread64 */
	{18, {{0}}},		    /* pwrite64 */
	{20, {{0}}},		    /* writev */
	{21, {{0}}},		    /* access */
	{22, {{1, 8}}},		    /* pipe */
	{24, {{0}}},		    /* sched_yield */
	{32, {{0}}},		    /* dup */
	{33, {{0}}},		    /* dup2 */
	{35, {{2, 16}}},	    /* nanosleep */
	{37, {{0}}},		    /* alarm */
	{38, {{3, 32}}},	    /* setitimer */
	{39, {{0}}},		    /* getpid */
	{41, {{0}}},		    /* socket */
	{42, {{0}}},		    /* connect */
	{44, {{0}}},		    /* sendto */
	{46, {{0}}},		    /* sendmsg */
	{48, {{0}}},		    /* shutdown */
	{49, {{0}}},		    /* bind */
	{50, {{0}}},		    /* listen */
	{53, {{4, 8}}},		    /* socketpair */
	{54, {{0}}},		    /* setsockopt */
	{60, {{0}}},		    /* exit */
	{62, {{0}}},		    /* kill */
	{63, {{1, 400}}},	    /* uname */
	{74, {{0}}},		    /* fsync */
	{76, {{0}}},		    /* truncate */
	{77, {{0}}},		    /* ftruncate */
	{79, {{1, BY_RESULT(2)}}},  /* getcwd */
	{80, {{0}}},		    /* chdir */
	{82, {{0}}},		    /* rename */
	{83, {{0}}},		    /* mkdir */
	{84, {{0}}},		    /* rmdir */
	{86, {{0}}},		    /* link */
	{87, {{0}}},		    /* unlink */
	{88, {{0}}},		    /* symlink */
	{89, {{2, BY_RESULT(3)}}},  /* readlink */
	{90, {{0}}},		    /* chmod */
	{91, {{0}}},		    /* fchmod */
	{95, {{0}}},		    /* umask */
	{96, {{1, 16}, {2, 8}}},    /* gettimeofday */
	{99, {{1, 112}}},	    /* sysinfo */
	{100, {{1, 32}}},	    /* times */
	{102, {{0}}},		    /* getuid */
	{104, {{0}}},		    /* getgid */
	{107, {{0}}},		    /* geteuid */
	{108, {{0}}},		    /* getegid */
	{110, {{0}}},		    /* getppid */
	{131, {{2, 24}}},	    /* sigaltstack */
	{186, {{0}}},		    /* gettid */
	{200, {{0}}},		    /* tkill */
	{201, {{1, 8}}},	    /* time */
	{213, {{0}}},		    /* epoll_create */
	{217, {{2, BY_RESULT(3)}}}, /* getdents64 */
	{218, {{0}}},		    /* set_tid_address */
	{228, {{2, 16}}},	    /* clock_gettime */
	{230, {{4, 16}}},	    /* clock_nanosleep */
	{231, {{0}}},		    /* exit_group */
	{233, {{0}}},		    /* epoll_ctl */
	{234, {{0}}},		    /* tgkill */
	{257, {{0}}},		    /* openat */
	{258, {{0}}},		    /* mkdirat */
	{262, {{3, 144}}},	    /* newfstatat */
	{263, {{0}}},		    /* unlinkat */
	{267, {{3, BY_RESULT(4)}}}, /* readlinkat */
	{269, {{0}}},		    /* faccessat */
	{273, {{0}}},		    /* set_robust_list */
	{280, {{0}}},		    /* utimensat */
	{284, {{0}}},		    /* eventfd */
	{290, {{0}}},		    /* eventfd2 */
	{291, {{0}}},		    /* epoll_create1 */
	{292, {{0}}},		    /* dup3 */
	{293, {{1, 8}}},	    /* pipe2 */
	{302, {{4, 16}}},	    /* prlimit64 */
	{318, {{1, BY_RESULT(2)}}}, /* getrandom */
	{324, {{0}}},		    /* membarrier */
	{332, {{5, 256}}},	    /* statx */
	{334, {{0}}},		    /* rseq: unsupported by qemu */
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

static const struct call_writes *find_call(s64 nr)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].nr == nr)
			return &calls[i];
	return NULL;
}

static u64 whole_pages(u64 size)
{
	return (size + QEMU_PAGE - 1) & ~(QEMU_PAGE - 1);
}

void qp_values_syscall(s64 nr, const u64 arg[6])
{
	const struct call_writes *c;

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
		qp_values_by_call(arg[2], 64);
		return;
	}
	if (nr == 72 && arg[1] <= 4) /* fcntl: F_DUPFD to F_SETFL */
		return;
	if (nr == 11 || nr == 28) { /* munmap, madvise: whole pages */
		qp_values_unknown(arg[0] & ~(QEMU_PAGE - 1), whole_pages(arg[1]));
		return;
	}
	c = find_call(nr);
	for (u32 k = 0; c && k < 2 && c->range[k].at; k++) {
		s16 size = c->range[k].size;
		u64 at = arg[c->range[k].at - 1];

		if (!at)
			continue;
		if (size < BY_RESULT(0))
			qp_values_unknown(at, arg[-size - 17]);
		else if (!c->range[1].at) /* only one is compared */
			qp_values_by_call(at, size < 0 ? arg[-size - 1] : (u64)size);
		else
			qp_values_unknown(at, size < 0 ? arg[-size - 1] : (u64)size);
	}
	if (!c)
		qp_values_unknown(0, ~0ull);
}

/* How many bytes a call wrote whose result says that. */
static void note_result(s64 nr, const u64 arg[6], u64 nr_bytes)
{
	const struct call_writes *c = find_call(nr);

	if (c && c->range[0].at && c->range[0].size < BY_RESULT(0) && arg[c->range[0].at - 1])
		qp_values_call_wrote(arg[c->range[0].at - 1], nr_bytes);
}

void qp_values_syscall_failed(s64 nr, const u64 arg[6])
{
	note_result(nr, arg, 0);
}

void qp_values_syscall_ret(s64 nr, const u64 arg[6], s64 result)
{
	static __thread u64 last_break;
	u64 to = (u64)result;

	note_result(nr, arg, (u64)result);

	switch (qp.arch->call(nr)) {
	case QEMU_CALL_MMAP:
		qp_values_unknown(to, whole_pages(arg[1]));
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
