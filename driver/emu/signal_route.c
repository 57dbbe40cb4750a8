// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One signal to auxtap, to auxtap-emu, or to the process group they share with the program is one
 * signal to the program. A receipt is a signal that one of the three received; three lists of them
 * decide: auxtap's (EMU_FORWARD), auxtap-emu's own (signals.c), and the program's, which the tracer
 * sees at each signal-delivery-stop. Receipts of one signal are matched across the lists: SIGTERM
 * to the group is one in each, SIGTERM to auxtap alone is one in the first list, and only then the
 * program is sent one. A signal that the program received itself is not sent again. A service
 * manager signals process by process, so each receipt waits GRACE_NS for those that match; and
 * before a signal is sent, the program is checked twice, because a signal that it has just taken
 * may not have reached the tracer yet.
 */
#include "emu_state.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define GRACE_NS     50000000ull
#define OWN_GRACE_NS 150000000ull  /* capture's receipt comes as a message, and takes longer */
#define RECHECK_NS   20000000ull   /* between the two checks of the program */
#define MATCH_NS     1000000000ull /* receipts of one signal are at most this far apart */
#define PENDING_NS   5000000000ull /* how long a signal may take to reach the program, or capture */
#define MERGED_NS    100000000ull  /* two signals may reach one process merged, a little later */
#define SEPARATE_NS  250000000ull  /* a receipt later than this was not merged */

u64 emu_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000ull + (u64)ts.tv_nsec;
}

/* Also called from a signal handler, for the list of our own. */
struct emu_receipt *emu_receipt_add(struct emu_receipts *list, int signo, pid_t sender, uid_t uid)
{
	struct emu_receipt *r = &list->item[list->nr % EMU_NR_RECEIPTS];

	*r = (struct emu_receipt){
		.signo = signo,
		.sender = sender,
		.uid = uid,
		.time_ns = emu_now_ns(),
	};
	list->nr++;
	return r;
}

static u64 distance_ns(const struct emu_receipt *a, const struct emu_receipt *b)
{
	return a->time_ns > b->time_ns ? a->time_ns - b->time_ns : b->time_ns - a->time_ns;
}

/*
 * Whether the receipt is one of two signals that reached another process merged: then that
 * process's receipt matches it, too, and no later receipt does.
 */
static bool was_merged_elsewhere(const struct emu_receipts *list, const struct emu_receipt *one)
{
	u32 first = list->nr > EMU_NR_RECEIPTS ? list->nr - EMU_NR_RECEIPTS : 0;

	for (u32 i = first; i != list->nr; i++) {
		const struct emu_receipt *other = &list->item[i % EMU_NR_RECEIPTS];

		if (other != one && other->matched && other->signo == one->signo &&
		    other->sender == one->sender && distance_ns(other, one) <= MERGED_NS)
			return true;
	}
	return false;
}

/*
 * The receipt in the list that is of the same signal as r: one that matches no other yet, or the
 * one that several signals were merged into. NULL: none.
 */
static struct emu_receipt *matching(struct emu_receipts *list, const struct emu_receipt *r)
{
	u32 first = list->nr > EMU_NR_RECEIPTS ? list->nr - EMU_NR_RECEIPTS : 0;
	struct emu_receipt *merged = NULL;

	for (u32 i = first; i != list->nr; i++) {
		struct emu_receipt *other = &list->item[i % EMU_NR_RECEIPTS];
		u64 late = other->time_ns > r->time_ns ? other->time_ns - r->time_ns : 0;
		u64 early = other->time_ns < r->time_ns ? r->time_ns - other->time_ns : 0;

		if (other->signo != r->signo || other->sender != r->sender ||
		    late > (r->was_pending ? PENDING_NS : MATCH_NS) ||
		    early > (other->is_late ? PENDING_NS : MATCH_NS))
			continue;
		if (!other->matched && (early <= SEPARATE_NS || !was_merged_elsewhere(list, other)))
			return other;
		if (early <= MERGED_NS)
			merged = other;
	}
	return merged;
}

/* The signals in a thread's status file under one name or the other. */
static u64 status_signals(const char *path, const char *name, const char *other)
{
	u64 signals = 0;
	char line[128];
	FILE *f = fopen(path, "re");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, 7) || !strncmp(line, other, 7))
			signals |= strtoull(line + 7, NULL, 16);
	if (f)
		fclose(f);
	return signals;
}

/* Pending in the program: sending a standard signal again would have no effect. */
static bool pending_at(pid_t pid, int signo)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return status_signals(path, "SigPnd:", "ShdPnd:") >> (signo - 1) & 1;
}

/* In sigwait() the kernel does not report the awaited signals as blocked. */
static enum emu_blocked in_sigwait(pid_t pid, const char *tid)
{
	char path[64], text[24] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/syscall", pid, tid);
	f = fopen(path, "re");
	if (f && !fgets(text, sizeof(text), f))
		text[0] = 0;
	if (f)
		fclose(f);
	/* a thread that was woken, and waits for a processor, counts as running */
	if (!strncmp(text, "running", 7))
		return EMU_BLOCKED_UNKNOWN;
	return text[0] && strtol(text, NULL, 10) == SYS_rt_sigtimedwait ? EMU_BLOCKED_YES :
									  EMU_BLOCKED_NO;
}

static enum emu_blocked thread_blocks(pid_t pid, const char *tid, int signo)
{
	enum emu_blocked waits;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/status", pid, tid);
	if (status_signals(path, "SigBlk:", "SigBlk:") >> (signo - 1) & 1)
		return EMU_BLOCKED_YES;
	waits = in_sigwait(pid, tid);
	/* it may have left sigwait() between the checks */
	if (waits != EMU_BLOCKED_YES &&
	    status_signals(path, "SigBlk:", "SigBlk:") >> (signo - 1) & 1)
		return EMU_BLOCKED_YES;
	return waits;
}

/* All threads block it: sigwait() or a signalfd takes it, and no stop shows that. */
static enum emu_blocked blocked_at(pid_t pid, int signo)
{
	enum emu_blocked blocked = EMU_BLOCKED_YES;
	struct dirent *thread;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return EMU_BLOCKED_NO;
	while (blocked != EMU_BLOCKED_NO && (thread = readdir(dir))) {
		enum emu_blocked one;

		if (thread->d_name[0] == '.')
			continue;
		one = thread_blocks(pid, thread->d_name, signo);
		if (one != EMU_BLOCKED_YES)
			blocked = one;
	}
	closedir(dir);
	return blocked;
}

static void send(struct emu_route *route, struct emu_receipt *r)
{
	struct emu_receipt *sent = emu_receipt_add(&route->sent, r->signo, r->sender, r->uid);

	r->sent = true;
	if (kill(route->pid, r->signo))
		sent->matched = true; /* the program is gone: no stop will show this one */
}

/*
 * Capture and auxtap-emu have it, so the whole group does: if the program blocks it, it has taken
 * its own without a stop. Two checks must agree, because a running thread may be about to leave
 * sigwait(). True: decided, see *blocked.
 */
static bool check_twice(struct emu_route *route, struct emu_receipt *r, bool own, bool *blocked)
{
	u64 now = emu_now_ns();
	enum emu_blocked before = r->blocked;
	bool first = !r->checked_ns;

	if (!first && now - r->checked_ns < RECHECK_NS)
		return false;
	r->checked_ns = now;
	r->blocked = blocked_at(route->pid, r->signo);
	*blocked = r->blocked == EMU_BLOCKED_YES;
	if (first)
		return false;
	if (!own && !r->own) /* only capture has it, so the program gets it */
		return true;
	return (r->blocked == before && before != EMU_BLOCKED_UNKNOWN) ||
	       now - r->time_ns > MATCH_NS;
}

/*
 * Whether capture, our parent, has a pending one of these, as when it is stopped: then its receipt
 * comes later than any other.
 */
static bool is_late(struct emu_receipt *r)
{
	if (emu_now_ns() - r->time_ns > PENDING_NS || !pending_at(getppid(), r->signo))
		return false;
	r->is_late = true;
	return true;
}

/* True: decided. */
static bool decide(struct emu_route *route, struct emu_receipt *r, bool own)
{
	struct emu_receipt *delivered = matching(&route->program, r);
	bool blocked = false, late = own && is_late(r);

	if (delivered) {
		delivered->matched = r->delivered = true;
		return true;
	}
	if (late)
		return false;
	if (r->own) {
		r->own->matched = true;
		if (r->own->sent || r->own->delivered)
			return true;
		/* to the group that the program has left */
		if (getpgid(route->pid) != getpgrp())
			return true;
	}
	/*
	 * Its stop is still to come, and belongs to this receipt: if this one were decided now, the
	 * stop would count for the next one. A blocked signal is not waited for.
	 */
	if (pending_at(route->pid, r->signo)) {
		r->was_pending = true;
		r->checked_ns = 0;
		return emu_now_ns() - r->time_ns > PENDING_NS;
	}
	if (!check_twice(route, r, own, &blocked))
		return false;
	if (blocked && r->own)
		return true;
	/* no stop would show that the program has it: capture's receipt may still be on its way */
	if (blocked && own && emu_now_ns() - r->time_ns < MATCH_NS)
		return false;
	if (!r->was_pending)
		send(route, r);
	return true;
}

/* True: some are still to be decided. */
static bool run_list(struct emu_route *route, struct emu_receipts *list, bool own)
{
	u64 now = emu_now_ns(), grace = own ? OWN_GRACE_NS : GRACE_NS;
	bool waiting = false;

	if (list->nr - list->nr_done > EMU_NR_RECEIPTS)
		list->nr_done = list->nr - EMU_NR_RECEIPTS;
	for (u32 i = list->nr_done; i != list->nr; i++) {
		struct emu_receipt *r = &list->item[i % EMU_NR_RECEIPTS];

		/* if two are one signal, capture's decides */
		if (!r->done && own && r->matched)
			r->done = true;
		if (!r->done && !own && !r->own) {
			r->own = matching(&route->own, r);
			if (r->own)
				r->own->matched = true;
		}
		if (!r->done && now - r->time_ns >= grace)
			r->done = decide(route, r, own);
		waiting |= !r->done;
		if (r->done && i == list->nr_done)
			list->nr_done++;
	}
	return waiting;
}

void emu_route_run(struct emu *emu)
{
	struct emu_route *route = &emu->route;
	sigset_t all, old;

	if (route->capture.nr == route->capture.nr_done && route->own.nr == route->own.nr_done)
		return;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old); /* the handler adds to the list of our own */
	if (!route->pid) {		    /* attached: capture's stop decides */
		route->capture.nr_done = route->capture.nr;
		route->own.nr_done = route->own.nr;
	}
	route->waiting = run_list(route, &route->capture, false);
	route->waiting |= run_list(route, &route->own, true);
	if (route->waiting)
		emu_bell_in(RECHECK_NS / 2);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

bool emu_signal_seen(struct emu *emu, pid_t pid, siginfo_t *info)
{
	struct emu_route *route = &emu->route;
	struct emu_receipts *sent = &route->sent;
	u32 first = sent->nr > EMU_NR_RECEIPTS ? sent->nr - EMU_NR_RECEIPTS : 0;

	if (pid != route->pid || info->si_code > 0)
		return false;
	if (info->si_pid != getpid()) {
		emu_receipt_add(&route->program, info->si_signo, info->si_pid, info->si_uid);
		return false;
	}
	for (u32 i = first; i != sent->nr; i++) {
		struct emu_receipt *r = &sent->item[i % EMU_NR_RECEIPTS];

		if (r->matched || r->signo != info->si_signo)
			continue;
		r->matched = true;
		info->si_pid = r->sender;
		info->si_uid = r->uid;
		return true;
	}
	return false;
}
