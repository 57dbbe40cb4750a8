// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which memory a system call of an x86-64 program may write, for 'crash --values'. A call that is
 * not listed may have written anything.
 */
#include "qemu_plugin.h"
#include <linux/sched.h>
#include <sys/mman.h>

#define MAX_IOVECS 64 /* of one call; with more, any memory may have been written */

/*
 * Call 'nr' writes at most to the ranges whose addresses are arguments (1 to 6): 'each' bytes times
 * the value of argument 'arg'; without one ('arg' is 0) 'each' bytes.
 */
struct call_writes {
	u16 nr;
	struct written {
		u8 at; /* 0: there are no more */
		u8 arg;
		bool by_result; /* the call returns how many bytes it wrote, of at most that many */
		bool pointed; /* the size is not the argument, but the 32 bits that it points to */
		u16 each;
	} range[4];
};

/*
 * RESULT() must be the last range of a call: qp_values_call_wrote() completes the newest entry of
 * the thread's ring of values, which must be the one of this range.
 */
/* clang-format off */
#define FIXED(at, size)      {at, 0, false, false, size}
#define SIZED(at, arg, each) {at, arg, false, false, each}
#define POINTED(at, arg)     {at, arg, false, true, 1}
#define RESULT(at, arg)      {at, arg, true, false, 1} /* the last one */
/* clang-format on */

static const struct call_writes calls[] = {
	{0, {RESULT(2, 3)}},						    /* read */
	{1, {{0}}},							    /* write */
	{2, {{0}}},							    /* open */
	{3, {{0}}},							    /* close */
	{4, {FIXED(2, 144)}},						    /* stat */
	{5, {FIXED(2, 144)}},						    /* fstat */
	{6, {FIXED(2, 144)}},						    /* lstat */
	{7, {SIZED(1, 2, 8)}},						    /* poll */
	{8, {{0}}},							    /* lseek */
	{10, {{0}}},							    /* mprotect */
	{13, {FIXED(3, 160)}},						    /* rt_sigaction */
	{14, {SIZED(3, 4, 1)}},						    /* rt_sigprocmask */
	{15, {{0}}},							    /* rt_sigreturn */
	{17, {RESULT(2, 3)}},						    /* pread64 */
	{18, {{0}}},							    /* pwrite64 */
	{20, {{0}}},							    /* writev */
	{21, {{0}}},							    /* access */
	{22, {FIXED(1, 8)}},						    /* pipe */
	{23, {FIXED(2, 128), FIXED(3, 128), FIXED(4, 128), FIXED(5, 16)}},  /* select */
	{24, {{0}}},							    /* sched_yield */
	{26, {{0}}},							    /* msync */
	{32, {{0}}},							    /* dup */
	{33, {{0}}},							    /* dup2 */
	{34, {{0}}},							    /* pause */
	{35, {FIXED(2, 16)}},						    /* nanosleep */
	{36, {FIXED(2, 32)}},						    /* getitimer */
	{37, {{0}}},							    /* alarm */
	{38, {FIXED(3, 32)}},						    /* setitimer */
	{39, {{0}}},							    /* getpid */
	{40, {FIXED(3, 8)}},						    /* sendfile */
	{41, {{0}}},							    /* socket */
	{42, {{0}}},							    /* connect */
	{43, {POINTED(2, 3), FIXED(3, 4)}},				    /* accept */
	{44, {{0}}},							    /* sendto */
	{45, {POINTED(5, 6), FIXED(6, 4), RESULT(2, 3)}},		    /* recvfrom */
	{46, {{0}}},							    /* sendmsg */
	{48, {{0}}},							    /* shutdown */
	{49, {{0}}},							    /* bind */
	{50, {{0}}},							    /* listen */
	{51, {POINTED(2, 3), FIXED(3, 4)}},				    /* getsockname */
	{52, {POINTED(2, 3), FIXED(3, 4)}},				    /* getpeername */
	{53, {FIXED(4, 8)}},						    /* socketpair */
	{54, {{0}}},							    /* setsockopt */
	{55, {POINTED(4, 5), FIXED(5, 4)}},				    /* getsockopt */
	{56, {FIXED(3, 4), FIXED(4, 4)}},				    /* clone */
	{57, {{0}}},							    /* fork */
	{60, {{0}}},							    /* exit */
	{61, {FIXED(2, 4), FIXED(4, 144)}},				    /* wait4 */
	{62, {{0}}},							    /* kill */
	{63, {FIXED(1, 400)}},						    /* uname */
	{64, {{0}}},							    /* semget */
	{65, {{0}}},							    /* semop */
	{73, {{0}}},							    /* flock */
	{74, {{0}}},							    /* fsync */
	{75, {{0}}},							    /* fdatasync */
	{76, {{0}}},							    /* truncate */
	{77, {{0}}},							    /* ftruncate */
	{79, {RESULT(1, 2)}},						    /* getcwd */
	{80, {{0}}},							    /* chdir */
	{81, {{0}}},							    /* fchdir */
	{82, {{0}}},							    /* rename */
	{83, {{0}}},							    /* mkdir */
	{84, {{0}}},							    /* rmdir */
	{85, {{0}}},							    /* creat */
	{86, {{0}}},							    /* link */
	{87, {{0}}},							    /* unlink */
	{88, {{0}}},							    /* symlink */
	{89, {RESULT(2, 3)}},						    /* readlink */
	{90, {{0}}},							    /* chmod */
	{91, {{0}}},							    /* fchmod */
	{92, {{0}}},							    /* chown */
	{93, {{0}}},							    /* fchown */
	{94, {{0}}},							    /* lchown */
	{95, {{0}}},							    /* umask */
	{96, {FIXED(1, 16), FIXED(2, 8)}},				    /* gettimeofday */
	{97, {FIXED(2, 16)}},						    /* getrlimit */
	{98, {FIXED(2, 144)}},						    /* getrusage */
	{99, {FIXED(1, 112)}},						    /* sysinfo */
	{100, {FIXED(1, 32)}},						    /* times */
	{102, {{0}}},							    /* getuid */
	{104, {{0}}},							    /* getgid */
	{105, {{0}}},							    /* setuid */
	{106, {{0}}},							    /* setgid */
	{107, {{0}}},							    /* geteuid */
	{108, {{0}}},							    /* getegid */
	{109, {{0}}},							    /* setpgid */
	{110, {{0}}},							    /* getppid */
	{111, {{0}}},							    /* getpgrp */
	{112, {{0}}},							    /* setsid */
	{121, {{0}}},							    /* getpgid */
	{124, {{0}}},							    /* getsid */
	{127, {SIZED(1, 2, 1)}},					    /* rt_sigpending */
	{128, {FIXED(2, 128)}},						    /* rt_sigtimedwait */
	{130, {{0}}},							    /* rt_sigsuspend */
	{131, {FIXED(2, 24)}},						    /* sigaltstack */
	{132, {{0}}},							    /* utime */
	{133, {{0}}},							    /* mknod */
	{137, {FIXED(2, 120)}},						    /* statfs */
	{138, {FIXED(2, 120)}},						    /* fstatfs */
	{140, {{0}}},							    /* getpriority */
	{141, {{0}}},							    /* setpriority */
	{149, {{0}}},							    /* mlock */
	{150, {{0}}},							    /* munlock */
	{160, {{0}}},							    /* setrlimit */
	{161, {{0}}},							    /* chroot */
	{162, {{0}}},							    /* sync */
	{186, {{0}}},							    /* gettid */
	{187, {{0}}},							    /* readahead */
	{188, {{0}}},							    /* setxattr */
	{189, {{0}}},							    /* lsetxattr */
	{190, {{0}}},							    /* fsetxattr */
	{200, {{0}}},							    /* tkill */
	{201, {FIXED(1, 8)}},						    /* time */
	{203, {{0}}},							    /* sched_setaffinity */
	{204, {SIZED(3, 2, 1)}},					    /* sched_getaffinity */
	{213, {{0}}},							    /* epoll_create */
	{217, {RESULT(2, 3)}},						    /* getdents64 */
	{218, {{0}}},							    /* set_tid_address */
	{221, {{0}}},							    /* fadvise64 */
	{222, {FIXED(3, 8)}},						    /* timer_create */
	{223, {FIXED(4, 32)}},						    /* timer_settime */
	{224, {FIXED(2, 32)}},						    /* timer_gettime */
	{225, {{0}}},							    /* timer_getoverrun */
	{226, {{0}}},							    /* timer_delete */
	{227, {{0}}},							    /* clock_settime */
	{228, {FIXED(2, 16)}},						    /* clock_gettime */
	{229, {FIXED(2, 16)}},						    /* clock_getres */
	{230, {FIXED(4, 16)}},						    /* clock_nanosleep */
	{231, {{0}}},							    /* exit_group */
	{232, {SIZED(2, 3, 12)}},					    /* epoll_wait */
	{233, {{0}}},							    /* epoll_ctl */
	{234, {{0}}},							    /* tgkill */
	{235, {{0}}},							    /* utimes */
	{247, {FIXED(3, 128), FIXED(5, 144)}},				    /* waitid */
	{253, {{0}}},							    /* inotify_init */
	{254, {{0}}},							    /* inotify_add_watch */
	{255, {{0}}},							    /* inotify_rm_watch */
	{257, {{0}}},							    /* openat */
	{258, {{0}}},							    /* mkdirat */
	{259, {{0}}},							    /* mknodat */
	{260, {{0}}},							    /* fchownat */
	{262, {FIXED(3, 144)}},						    /* newfstatat */
	{263, {{0}}},							    /* unlinkat */
	{264, {{0}}},							    /* renameat */
	{265, {{0}}},							    /* linkat */
	{266, {{0}}},							    /* symlinkat */
	{267, {RESULT(3, 4)}},						    /* readlinkat */
	{268, {{0}}},							    /* fchmodat */
	{269, {{0}}},							    /* faccessat */
	{270, {FIXED(2, 128), FIXED(3, 128), FIXED(4, 128), FIXED(5, 16)}}, /* pselect6 */
	{271, {SIZED(1, 2, 8), FIXED(3, 16)}},				    /* ppoll */
	{273, {{0}}},							    /* set_robust_list */
	{275, {FIXED(2, 8), FIXED(4, 8)}},				    /* splice */
	{277, {{0}}},							    /* sync_file_range */
	{280, {{0}}},							    /* utimensat */
	{281, {SIZED(2, 3, 12)}},					    /* epoll_pwait */
	{282, {{0}}},							    /* signalfd */
	{283, {{0}}},							    /* timerfd_create */
	{284, {{0}}},							    /* eventfd */
	{285, {{0}}},							    /* fallocate */
	{286, {FIXED(4, 32)}},						    /* timerfd_settime */
	{287, {FIXED(2, 32)}},						    /* timerfd_gettime */
	{288, {POINTED(2, 3), FIXED(3, 4)}},				    /* accept4 */
	{289, {{0}}},							    /* signalfd4 */
	{290, {{0}}},							    /* eventfd2 */
	{291, {{0}}},							    /* epoll_create1 */
	{292, {{0}}},							    /* dup3 */
	{293, {FIXED(1, 8)}},						    /* pipe2 */
	{294, {{0}}},							    /* inotify_init1 */
	{302, {FIXED(4, 16)}},						    /* prlimit64 */
	{306, {{0}}},							    /* syncfs */
	{309, {FIXED(1, 4), FIXED(2, 4)}},				    /* getcpu */
	{316, {{0}}},							    /* renameat2 */
	{318, {RESULT(1, 2)}},						    /* getrandom */
	{319, {{0}}},							    /* memfd_create */
	{324, {{0}}},							    /* membarrier */
	{326, {FIXED(2, 8), FIXED(4, 8)}},				    /* copy_file_range */
	{332, {FIXED(5, 256)}},						    /* statx */
	{334, {{0}}},		  /* rseq: unsupported by qemu */
	{436, {{0}}},		  /* close_range */
	{439, {{0}}},		  /* faccessat2 */
	{441, {SIZED(2, 3, 12)}}, /* epoll_pwait2 */
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

/* The size of a range, at most. */
static u64 size_of(const struct written *range, const u64 arg[6])
{
	u64 value = range->arg ? arg[range->arg - 1] : 1;
	u32 pointed;

	if (range->pointed && qp_read(value, &pointed, sizeof(pointed)) < 0)
		return 0; /* the call fails */
	if (range->pointed)
		value = pointed;
	return value > UINT32_MAX ? value : value * range->each; /* too many: the call fails */
}

static void write_ranges(const struct call_writes *c, const u64 arg[6])
{
	u32 nr = 0;

	for (u32 k = 0; k < 4 && c->range[k].at; k++)
		nr += !!arg[c->range[k].at - 1];
	for (u32 k = 0; k < 4 && c->range[k].at; k++) {
		u64 at = arg[c->range[k].at - 1];

		if (!at)
			continue;
		if (nr == 1 &&
		    !c->range[k].by_result) /* its bytes before and after the call are compared */
			qp_values_by_call(at, size_of(&c->range[k], arg));
		else
			qp_values_unknown(at, size_of(&c->range[k], arg));
	}
}

/* The memory that an array of struct iovec describes. */
static void write_iovecs(u64 at, u64 nr)
{
	u64 iov[2];

	for (u64 i = 0; i < nr; i++) {
		if (i == MAX_IOVECS || qp_read(at + i * sizeof(iov), iov, sizeof(iov)) < 0) {
			qp_values_unknown(0, ~0ull);
			return;
		}
		qp_values_unknown(iov[0], iov[1]);
	}
}

/* struct msghdr: msg_name, _namelen, _iov, _iovlen, _control, _controllen, _flags. */
static void write_message(u64 at)
{
	u64 msg[7];

	if (qp_read(at, msg, sizeof(msg)) < 0)
		return; /* the call fails */
	if (msg[0])
		qp_values_unknown(msg[0], (u32)msg[1]);
	write_iovecs(msg[2], msg[3]);
	if (msg[4])
		qp_values_unknown(msg[4], msg[5]);
	qp_values_unknown(at, sizeof(msg));
}

/* ioctl: those of terminals, and how much can be read. False: not listed. */
static bool write_ioctl(u64 request, u64 at)
{
	switch (request) {
	case 0x5401: /* TCGETS */
		qp_values_by_call(at, 64);
		return true;
	case 0x5413: /* TIOCGWINSZ */
		qp_values_by_call(at, 8);
		return true;
	case 0x540f: /* TIOCGPGRP */
	case 0x541b: /* FIONREAD */
		qp_values_by_call(at, 4);
		return true;
	case 0x5402: /* TCSETS, TCSETSW, TCSETSF */
	case 0x5403:
	case 0x5404:
	case 0x5421: /* FIONBIO */
	case 0x5450: /* FIONCLEX, FIOCLEX */
	case 0x5451:
		return true;
	default:
		return false;
	}
}

/* False: the operation is not known. */
static bool write_futex(const u64 arg[6])
{
	switch (arg[1] & 127) {
	case 0: /* wait, wake, requeue; with a mask of bits */
	case 1:
	case 3:
	case 4:
	case 9:
	case 10:
		return true;
	case 5: /* wake, and change the other word */
		qp_values_unknown(arg[4], 4);
		return true;
	case 6: /* lock, unlock, try to lock: with priority inheritance */
	case 7:
	case 8:
	case 13:
		qp_values_unknown(arg[0], 4);
		return true;
	default:
		return false;
	}
}

/* Its arguments are in memory: among them where to write two ids and a descriptor. */
static void write_clone3(u64 args)
{
	u64 to[3];

	if (qp_read(args + 8, to, sizeof(to))) {
		qp_values_unknown(0, ~0ull);
		return;
	}
	for (u32 i = 0; i < 3; i++)
		if (to[i])
			qp_values_unknown(to[i], 4);
}

void qp_values_syscall(s64 nr, const u64 arg[6])
{
	const struct call_writes *c;

	qp_values_add_syscall();
	if (makes_thread(nr, arg))
		qp_values_set_threaded();
	switch (qp.arch->call(nr)) {
	case QEMU_CALL_MMAP: /* see qp_values_syscall_ret() */
	case QEMU_CALL_BRK:
		return;
	default:
		break;
	}
	if (nr == 158 &&
	    (arg[0] == 0x1001 || arg[0] == 0x1002)) /* arch_prctl: sets the base of FS or GS */
		return;
	if (nr == 202 && write_futex(arg))
		return;
	if (nr == 435) {
		write_clone3(arg[0]);
		return;
	}
	if (nr == 16 && write_ioctl(arg[1], arg[2]))
		return;
	/* fcntl: F_DUPFD to F_SETFL, F_SETLK, F_SETLKW, F_DUPFD_CLOEXEC */
	if (nr == 72 && (arg[1] <= 4 || arg[1] == 6 || arg[1] == 7 || arg[1] == 1030))
		return;
	/* prctl: PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NAME */
	if (nr == 157 && (arg[0] == 1 || arg[0] == 4 || arg[0] == 15))
		return;
	if (nr == 11 || nr == 28) { /* munmap, madvise: whole pages */
		qp_values_unknown(arg[0] & ~(QEMU_PAGE - 1), whole_pages(arg[1]));
		return;
	}
	if (nr == 19 || nr == 295 || nr == 327) { /* readv, preadv, preadv2 */
		write_iovecs(arg[1], arg[2]);
		return;
	}
	if (nr == 47) { /* recvmsg */
		write_message(arg[1]);
		return;
	}
	c = find_call(nr);
	/* sets of more descriptors than fd_set has; bytes that are counted but not written */
	if (((nr == 23 || nr == 270) && arg[0] > 1024) ||
	    (nr == 45 && arg[3] & 0x20 /* MSG_TRUNC */))
		c = NULL;
	if (c)
		write_ranges(c, arg);
	else
		qp_values_unknown(0, ~0ull);
}

/* Records how many bytes the call wrote, if its result says so. */
static void note_result(s64 nr, const u64 arg[6], u64 nr_bytes)
{
	const struct call_writes *c = find_call(nr);

	if (nr == 45 && arg[3] & 0x20)
		return;
	for (u32 k = 0; c && k < 4 && c->range[k].at; k++)
		if (c->range[k].by_result && arg[c->range[k].at - 1])
			qp_values_call_wrote(arg[c->range[k].at - 1], nr_bytes);
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
