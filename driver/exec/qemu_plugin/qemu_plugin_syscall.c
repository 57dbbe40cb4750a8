// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * System calls of the guest: each is a synchronisation point of threads; some change the mappings
 * of the process, its handlers or its name.
 */
#include "qemu_plugin.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEAVE_MS 1000 /* longest wait for a thread to exit */

static __thread u64 call_arg[6];

/*
 * qemu maps a page for each thread (the descriptor table of an x86 processor), which the program's
 * /proc/PID/maps lists, and removes it only after the joining thread was woken: a program that
 * joined its threads, read its maps and accessed all of its memory died of SIGSEGV (redis tests its
 * memory like that). A thread that opens the file waits until the exiting threads are gone.
 */
static u32 nr_leaving;
static __thread bool is_leaving;

void qp_thread_left(void)
{
	if (is_leaving)
		__atomic_fetch_sub(&nr_leaving, 1, __ATOMIC_ACQ_REL);
	is_leaving = false;
}

void qp_threads_forked(void)
{
	nr_leaving = 0;
	is_leaving = false;
	qp.threaded = false;
}

static void before_open(u64 path)
{
	char *name = qp_read_string(path, PATH_MAX);
	size_t len = name ? strlen(name) : 0;

	/* it ends with maps or smaps */
	if (len > 5 && !strncmp(name, "/proc/", 6) && !strcmp(name + len - 4, "maps"))
		for (int ms = 0; qemu_load(&nr_leaving) && ms < LEAVE_MS; ms++)
			usleep(1000);
	free(name);
}

static void track_leaving(enum qemu_call call, u64 a1, u64 a2)
{
	if (is_leaving && call != QEMU_CALL_EXIT) /* a signal came first */
		qp_thread_left();
	if (call == QEMU_CALL_EXIT && !is_leaving) {
		is_leaving = true;
		__atomic_fetch_add(&nr_leaving, 1, __ATOMIC_ACQ_REL);
	} else if (qemu_load(&nr_leaving) && call == QEMU_CALL_OPEN) {
		before_open(a1);
	} else if (qemu_load(&nr_leaving) && call == QEMU_CALL_OPENAT) {
		before_open(a2);
	}
}

static void before_sigaction(u64 signo, u64 action)
{
	u64 word[3]; /* handler, flags, restorer; the mask follows */

	if (signo < 1 || signo > 64 || !action || qp_read(action, word, sizeof(word)))
		return;
	/* 0 and 1 are SIG_DFL and SIG_IGN; a thread may still enter the previous handler */
	if (word[0] > 1)
		qp.handler[signo - 1] = word[0];
	qp.caught &= ~(1ull << (signo - 1));
	if (word[0] > 1)
		qp.caught |= 1ull << (signo - 1);
	qp.has_info &= ~(1ull << (signo - 1));
	if (word[1] & SA_SIGINFO)
		qp.has_info |= 1ull << (signo - 1);
}

void qp_syscall(qemu_plugin_id_t id, unsigned int cpu, int64_t nr, uint64_t a1, uint64_t a2,
		uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
	struct qemu_rec *rec = qp_rec;
	enum qemu_call call = qp.arch->call(nr);
	u32 number = (u32)nr;

	(void)id;
	(void)cpu;
	(void)a7;
	(void)a8;
	if (call == QEMU_CALL_SIGACTION)
		before_sigaction(a1, a2);
	track_leaving(call, a1, a2);
	/* before the new thread runs: it may take a lock that this one has released */
	if (call == QEMU_CALL_CLONE && a1 & CLONE_THREAD)
		qp.threaded = true;
	if (!qp_recording())
		return;
	if (qp.arch->enter_call && rec->regs_valid && qp_env)
		qp.arch->enter_call(qp_env);
	call_arg[0] = a1;
	call_arg[1] = a2;
	call_arg[2] = a3;
	call_arg[3] = a4;
	call_arg[4] = a5;
	call_arg[5] = a6;
	if (qp.shm->values)
		qp_values_syscall(nr, call_arg);
	if (call == QEMU_CALL_MMAP || call == QEMU_CALL_MUNMAP || call == QEMU_CALL_MREMAP ||
	    call == QEMU_CALL_MPROTECT)
		qp_heap_mappings_change();
	rec->syscall_nr = (s32)nr;
	qp_message(rec, QEMU_MSG_SYSCALL, &number, 1);
	rec = qp_rec;
	qemu_store(&rec->in_syscall, 1);
	if (call == QEMU_CALL_PRCTL && a1 == PR_SET_NAME) {
		char comm[16] = "";

		if (!qp_read(a2, comm, 16)) {
			comm[15] = 0;
			qp_message(rec, QEMU_MSG_COMM, comm, 4);
		}
	}
	qp_flush(qp_rec);
	if (call == QEMU_CALL_EXECVE || call == QEMU_CALL_EXECVEAT)
		qp_exec(qp_rec, call, call_arg);
}

static void after_mmap(struct qemu_rec *rec, u64 addr)
{
	u64 len = (call_arg[1] + QEMU_PAGE - 1) & ~(QEMU_PAGE - 1);
	char path[64], name[PATH_MAX];
	struct stat st;
	ssize_t size = 0;
	bool is_file = !(call_arg[3] & MAP_ANONYMOUS);
	u64 type = call_arg[3] & MAP_TYPE;
	u32 shared = type == MAP_SHARED || type == MAP_SHARED_VALIDATE ? QEMU_MAP_SHARED : 0;

	if (is_file) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", (int)call_arg[4]);
		size = readlink(path, name, sizeof(name) - 1);
		is_file = size > 0 && !fstat((int)call_arg[4], &st);
	}
	name[is_file ? size : 0] = 0;
	qp_heap_log_mapping(0, 0, addr, len);
	if (is_file && call_arg[2] & PROT_EXEC)
		qp_heap_hook_mapped_file((int)call_arg[4], addr, call_arg[5]);
	if (call_arg[2] & PROT_EXEC && (!is_file || !strncmp(name, "/memfd:", 7)))
		qp_block_generates(addr, addr + len);
	qp_map_message(rec, addr, len, is_file ? call_arg[5] : 0, (u32)call_arg[2] | shared,
		       is_file ? &st : NULL, name);
}

/* Before version 10 qemu keeps memory that brk() releases: accesses to it do not fault. */
static void after_brk(struct qemu_rec *rec, u64 result)
{
	const u64 end = (result + QEMU_PAGE - 1) & ~(QEMU_PAGE - 1);
	u64 word[2];

	if (!qp.brk) {
		qp.brk = result & ~(QEMU_PAGE - 1);
		qp.brk_end = end;
		return;
	}
	if (end < qp.brk_end && !qp.is_old) {
		word[0] = end < qp.brk ? qp.brk : end;
		word[1] = qp.brk_end - word[0];
		qp_message(rec, QEMU_MSG_UNMAP, word, 4);
	}
	if (end > qp.brk_end)
		qp_map_message(rec, qp.brk, end - qp.brk, 0, 3, NULL, "[heap]");
	if (end > qp.brk_end || !qp.is_old)
		qp.brk_end = end;
}

/*
 * Reports a call that qemu refused: a program that ignores the failure runs differently here than
 * natively. A null filter is only a query.
 */
static void report_refused(struct qemu_rec *rec, enum qemu_call call, int64_t result)
{
	u32 what = QEMU_REFUSED_SECCOMP;

	if (call == QEMU_CALL_CLONE && result == -EINVAL)
		what = QEMU_REFUSED_CLONE_VM;
	else if (call == QEMU_CALL_PRCTL ?
			 call_arg[0] != PR_SET_SECCOMP ||
				 (call_arg[1] == SECCOMP_MODE_FILTER && !call_arg[2]) :
		 call == QEMU_CALL_SECCOMP ?
			 call_arg[0] > SECCOMP_SET_MODE_FILTER ||
				 (call_arg[0] == SECCOMP_SET_MODE_FILTER && !call_arg[2]) :
			 true)
		return;
	if (what == QEMU_REFUSED_CLONE_VM &&
	    (call_arg[0] & (CLONE_VM | CLONE_VFORK | CLONE_THREAD)) != CLONE_VM)
		return;
	qp_message(rec, QEMU_MSG_REFUSED, &what, 1);
}

/* mremap(): a mapping that stays where it is gets, or loses, only what is at its end. */
static void log_remapping(u64 old, u64 old_len, u64 addr, u64 len)
{
	if (addr != old)
		qp_heap_log_mapping(old, old_len, addr, len);
	else if (len < old_len)
		qp_heap_log_mapping(old + len, old_len - len, 0, 0);
	else if (len > old_len)
		qp_heap_log_mapping(0, 0, old + old_len, len - old_len);
}

void qp_syscall_ret(qemu_plugin_id_t id, unsigned int cpu, int64_t nr, int64_t result)
{
	struct qemu_rec *rec = qp_rec;
	bool failed = result < 0 && result >= -4095;
	u64 word[4];

	(void)id;
	(void)cpu;
	if (!qp_recording())
		return;
	qemu_store(&rec->in_syscall, 0);
	if (failed) {
		if (qp.shm->values && result != -EFAULT)
			qp_values_syscall_failed(nr, call_arg);
		report_refused(rec, qp.arch->call(nr), result);
		return;
	}
	if (qp.shm->values)
		qp_values_syscall_ret(nr, call_arg, result);
	word[0] = call_arg[0];
	word[1] = (call_arg[1] + QEMU_PAGE - 1) & ~(QEMU_PAGE - 1);
	switch (qp.arch->call(nr)) {
	case QEMU_CALL_MMAP:
		after_mmap(rec, (u64)result);
		break;
	case QEMU_CALL_MPROTECT:
		if (call_arg[2] & PROT_EXEC)
			qp_block_generates(word[0], word[0] + word[1]);
		word[2] = call_arg[2];
		qp_message(rec, QEMU_MSG_PROTECT, word, 5);
		break;
	case QEMU_CALL_MUNMAP:
		qp_heap_log_mapping(word[0], word[1], 0, 0);
		qp_message(rec, QEMU_MSG_UNMAP, word, 4);
		break;
	case QEMU_CALL_MREMAP:
		word[2] = (u64)result;
		word[3] = (call_arg[2] + QEMU_PAGE - 1) & ~(QEMU_PAGE - 1);
		log_remapping(word[0], word[1], word[2], word[3]);
		qp_block_moved(word[0], word[2], word[3]);
		qp_message(rec, QEMU_MSG_REMAP, word, 8);
		break;
	case QEMU_CALL_BRK:
		after_brk(rec, (u64)result);
		break;
	default:
		break;
	}
}
