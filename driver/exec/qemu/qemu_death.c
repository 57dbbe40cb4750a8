// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Deaths. When qemu kills itself with the guest's signal all its threads are parked between blocks
 * and all registers are in memory: nothing is lost, and the report is exact. Killed from outside,
 * only the end of the last block is unknown.
 */
#include "qemu.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool is_sync_signal(int signo)
{
	return signo == SIGSEGV || signo == SIGBUS || signo == SIGFPE || signo == SIGILL ||
	       signo == SIGTRAP;
}

static u64 data_addr(struct qemu_engine *q, struct qemu_thread *t)
{
	const struct qemu_arch *arch = t->process->arch;
	union qemu_env env;
	u8 code[16];
	ssize_t got;
	u64 addr;

	if (qemu_state_env(q, t, &env))
		return 0;
	got = qemu_state_mem(q->emu, t->process->pid, arch->ip(&env), code, arch->max_len);
	return got > 0 && arch->data_addr(&env, code, (size_t)got, &addr) ? addr : 0;
}

/*
 * The processor refuses a selector with a general protection fault; in qemu the look-up of the
 * descriptor faults instead.
 */
static bool is_refused_selector(struct qemu_engine *q, struct qemu_thread *t)
{
	const struct qemu_arch *arch = t->process->arch;
	union qemu_env env;
	u8 code[16];
	ssize_t got;

	if (!arch->loads_segment || qemu_state_env(q, t, &env))
		return false;
	got = qemu_state_mem(q->emu, t->process->pid, arch->ip(&env), code, arch->max_len);
	return got > 0 && arch->loads_segment(code, (size_t)got);
}

/* Determines the siginfo of the program's death. */
void qemu_death_info(struct qemu_engine *q, struct qemu_thread *t, int signo)
{
	struct qemu_rec *rec = qemu_ring_rec(q, t);
	const struct qemu_arch *arch = t->process->arch;
	union qemu_env env;
	bool fresh, sent;
	u64 ip;

	/* whether the thread has executed nothing since the host's signal */
	fresh = rec && t->host_info.si_signo == signo && t->host_flushes == rec->nr_flushes &&
		t->host_nr == rec->nr;
	sent = !is_sync_signal(signo) || (rec && rec->sent & 1ull << (signo - 1));
	memset(&t->dying, 0, sizeof(t->dying));
	t->raised_segv = false;
	t->dying.si_signo = signo;
	if (signo == SIGSEGV && rec && rec->no_frame && rec->no_frame != SIGSEGV) {
		t->dying.si_code = SI_KERNEL;
		return;
	}
	if (fresh || (t->host_info.si_signo == signo && sent)) {
		t->dying = t->host_info;
		if (signo == SIGSEGV &&
		    (t->dying.si_code == SEGV_MAPERR || t->dying.si_code == SEGV_ACCERR)) {
			u64 addr = (u64)(uintptr_t)t->dying.si_addr - t->process->guest_base;

			t->dying.si_addr = (void *)(uintptr_t)addr;
			if (is_refused_selector(q, t)) {
				t->dying.si_addr = NULL;
				t->dying.si_code = SI_KERNEL;
			}
		} else if (signo == SIGBUS && t->dying.si_code > 0) {
			t->dying.si_addr = (char *)t->dying.si_addr - t->process->guest_base;
		} else if (signo == SIGSEGV && t->dying.si_code == SI_KERNEL && arch->data_addr) {
			/*
			 * not canonical for the host's processor: an ordinary address for the
			 * program's
			 */
			t->dying.si_code = SEGV_MAPERR;
			t->dying.si_addr = (void *)(uintptr_t)data_addr(q, t);
		}
		return;
	}
	if (sent) {
		t->dying.si_code = SI_USER;
		return;
	}
	/* it was not a signal of the host: qemu itself raised it for the instruction at ip */
	if (qemu_state_env(q, t, &env))
		memset(&env, 0, sizeof(env));
	ip = arch->ip(&env);
	switch (signo) {
	case SIGFPE:
		t->dying.si_code = FPE_INTDIV;
		t->dying.si_addr = (void *)(uintptr_t)ip;
		break;
	case SIGILL:
		t->dying.si_code = arch->ill_code;
		t->dying.si_addr = (void *)(uintptr_t)ip;
		break;
	case SIGBUS:
		t->dying.si_code = BUS_ADRALN;
		if (ip & 3 && arch->max_len == 4)
			t->dying.si_addr = (void *)(uintptr_t)ip;
		else if (arch->data_addr)
			t->dying.si_addr = (void *)(uintptr_t)data_addr(q, t);
		break;
	case SIGTRAP:
		t->dying.si_code = arch->trap_code;
		if (arch->trap_code != SI_KERNEL)
			t->dying.si_addr = (void *)(uintptr_t)ip;
		break;
	case SIGSEGV:
		t->raised_segv = true;
		t->raised_ip = ip;
		t->dying.si_code = SI_KERNEL; /* general protection: no address */
		break;
	default:
		t->dying.si_code = SI_KERNEL;
		break;
	}
}

/*
 * Completes what depends on the mappings, which are up to date when all rings are drained. The host
 * may report faults that are qemu's own, such as guard pages.
 */
static void decide_by_mappings(struct qemu_thread *t)
{
	siginfo_t *info = &t->dying;
	const struct qemu_range *range;

	if (t->raised_segv) {
		range = qemu_maps_find(t->process, t->raised_ip);
		if ((range && range->prot & 4) || !t->process->arch->is_canonical(t->raised_ip))
			return;
		/* nothing can be executed there */
		info->si_addr = (void *)(uintptr_t)t->raised_ip;
	} else if (info->si_signo == SIGSEGV &&
		   (info->si_code == SEGV_MAPERR || info->si_code == SEGV_ACCERR)) {
		range = qemu_maps_find(t->process, (u64)(uintptr_t)info->si_addr);
	} else {
		return;
	}
	info->si_code = range ? SEGV_ACCERR : SEGV_MAPERR;
}

/* Whether qemu parks its other threads between blocks before it dies of the signal. */
static bool parks_threads(int signo)
{
	return is_sync_signal(signo) || signo == SIGABRT || signo == SIGQUIT;
}

/*
 * Several threads may fault at the same time: one kills the process, the others are parked before
 * their signal is delivered. Their newest block ended in the middle, too.
 */
static bool is_left(const struct qemu_rec *rec)
{
	return rec && rec->left_nr == rec->nr && rec->left_flushes == rec->nr_flushes;
}

/*
 * A processor faults at a branch to a non-canonical address; qemu after it. If the branch can be
 * undone, the thread dies before the instruction, as on a processor.
 */
static void undo_refused(struct qemu_engine *q, struct qemu_thread *t, const union qemu_env *env)
{
	const struct qemu_arch *arch = t->process->arch;
	u8 code[16];
	ssize_t got;

	if (!arch->refused || !t->newest || t->dying.si_signo != SIGSEGV)
		return;
	got = qemu_state_mem(q->emu, t->process->pid, t->newest->last_ip, code, arch->max_len);
	t->refused_ip = t->newest->last_ip;
	t->is_refused = got > 0 &&
			arch->refused(env, t->newest->last_cls, code, (size_t)got, &t->refused_sp);
}

void qemu_death_flush(struct qemu_engine *q, struct qemu_thread *t, bool exact, bool sync)
{
	struct qemu_rec *rec = qemu_ring_rec(q, t);
	bool left = is_left(rec); /* draining empties the record */
	union qemu_env env;
	u64 ip;

	qemu_ring_drain(q, t);
	if (!t->task || t->in_kernel || (rec && rec->in_syscall))
		return;
	if (exact && !qemu_state_env(q, t, &env)) {
		if (sync)
			undo_refused(q, t, &env);
		ip = t->is_refused ? t->refused_ip : t->process->arch->ip(&env);
		qemu_stream_async(t, ip, sync || left);
		t->in_kernel = true;
		return;
	}
	/* how much of the last block ran is unknown: it is not reported */
	if (t->newest) {
		ip = t->newest->ip;
		t->newest = NULL;
		emu_task_leave_async(t->task, ip, false);
	}
	t->in_kernel = true;
}

void qemu_death_report(struct qemu_engine *q, struct qemu_thread *t)
{
	const struct qemu_rec *rec = qemu_ring_rec(q, t);
	bool sync =
		is_sync_signal(t->dying.si_signo) && t->dying.si_code > 0 && rec && rec->exception;
	const bool own_crash = rec && rec->is_own_crash;
	const char *limit;

	for (struct qemu_thread *other = q->threads; other; other = other->next)
		other->cut_off |= other->process == t->process &&
				  (own_crash || (other != t && !parks_threads(t->dying.si_signo)));
	for (struct qemu_thread *other = q->threads; other; other = other->next)
		if (other->process == t->process && other->task)
			qemu_death_flush(q, other, !other->cut_off, other == t && sync);
	if (own_crash)
		emu_task_emulator_crashed(t->task);
	else
		decide_by_mappings(t);
	limit = qemu_limit(q, t);
	if (rec && rec->no_frame && t->dying.si_signo == SIGSEGV)
		emu_task_no_frame(t->task, (int)rec->no_frame);
	if (limit)
		emu_task_unsupported(t->task, limit);
	t->nr_resumes++;
	emu_task_dying(t->task, &t->dying);
}
