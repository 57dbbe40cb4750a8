// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A signal that a user sends to auxtap, to auxtap-emu, or to the process group that they share with
 * the program must reach the program exactly once. Three lists contain the signals that were
 * received: by auxtap (EMU_FORWARD), by auxtap-emu itself (signals.c), and by the program, which
 * the tracer sees at each signal-delivery-stop. Entries for the same signal are matched across the
 * lists: SIGTERM to the group is an entry in each. SIGTERM to auxtap alone is an entry in the first
 * list only, so it is sent to the program. A service manager signals process by process, so each
 * entry waits GRACE_NS for those that match; and before a signal is sent, the program is checked
 * twice, because a signal that it has just received may not have reached the tracer yet.
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
#define OWN_GRACE_NS 150000000ull  /* capture reports its signals by messages, which take longer */
#define RECHECK_NS   20000000ull   /* between the two checks of the program */
#define MATCH_NS     1000000000ull /* entries for one signal are at most this far apart */
#define PENDING_NS   5000000000ull /* how long a signal may take to reach the program, or capture */
#define MERGED_NS    100000000ull  /* two signals may reach one process merged, a little later */
#define SEPARATE_NS  250000000ull  /* a signal received later than this was not merged */

u64 emu_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000ull + (u64)ts.tv_nsec;
}

/* Also called from a signal handler, for auxtap-emu's own list. */
struct emu_received_signal *emu_received_signal_add(struct emu_received_signals *list, int signo,
						    pid_t sender, uid_t uid)
{
	struct emu_received_signal *r = &list->item[list->nr % EMU_NR_RECEIVED];

	*r = (struct emu_received_signal){
		.signo = signo,
		.sender = sender,
		.uid = uid,
		.time_ns = emu_now_ns(),
	};
	list->nr++;
	return r;
}

static u64 distance_ns(const struct emu_received_signal *a, const struct emu_received_signal *b)
{
	return a->time_ns > b->time_ns ? a->time_ns - b->time_ns : b->time_ns - a->time_ns;
}

/*
 * Whether 'one' is one of two signals that another process received merged: then that process's
 * entry also matches 'one', and no later entry does.
 */
static bool was_merged_elsewhere(const struct emu_received_signals *list,
				 const struct emu_received_signal *one)
{
	u32 first = list->nr > EMU_NR_RECEIVED ? list->nr - EMU_NR_RECEIVED : 0;

	for (u32 i = first; i != list->nr; i++) {
		const struct emu_received_signal *other = &list->item[i % EMU_NR_RECEIVED];

		if (other != one && other->matched && other->signo == one->signo &&
		    other->sender == one->sender && distance_ns(other, one) <= MERGED_NS)
			return true;
	}
	return false;
}

/*
 * The entry of the list for the same signal as r: one that is not matched yet, or one into which
 * several signals were merged. NULL: none.
 */
static struct emu_received_signal *matching(struct emu_received_signals *list,
					    const struct emu_received_signal *r)
{
	u32 first = list->nr > EMU_NR_RECEIVED ? list->nr - EMU_NR_RECEIVED : 0;
	struct emu_received_signal *merged = NULL;

	for (u32 i = first; i != list->nr; i++) {
		struct emu_received_signal *other = &list->item[i % EMU_NR_RECEIVED];
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

/* The union of two signal sets in a thread's status file. */
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

/* Whether the signal is pending: sending a standard signal again would have no effect. */
static bool is_pending(pid_t pid, int signo)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return status_signals(path, "SigPnd:", "ShdPnd:") >> (signo - 1) & 1;
}

/* For a thread in sigwait() the kernel does not report the awaited signals as blocked. */
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
	/* "running" includes a thread that was woken and waits for a CPU */
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
	/* the thread may have left sigwait() between the checks */
	if (waits != EMU_BLOCKED_YES &&
	    status_signals(path, "SigBlk:", "SigBlk:") >> (signo - 1) & 1)
		return EMU_BLOCKED_YES;
	return waits;
}

/* Whether all threads block the signal: then sigwait() or a signalfd takes it without a stop. */
static enum emu_blocked is_blocked(pid_t pid, int signo)
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

static void send(struct emu_route *route, struct emu_received_signal *r)
{
	struct emu_received_signal *sent =
		emu_received_signal_add(&route->sent, r->signo, r->sender, r->uid);

	r->sent = true;
	if (kill(route->pid, r->signo))
		sent->matched = true; /* the program has exited: no stop follows */
}

/*
 * If both capture and auxtap-emu received the signal, the whole group did: a program that blocks it
 * has taken it without a stop. Two checks must agree, because a running thread may be about to
 * leave sigwait(). True: the checks are complete, see *blocked.
 */
static bool check_twice(struct emu_route *route, struct emu_received_signal *r, bool own,
			bool *blocked)
{
	u64 now = emu_now_ns();
	enum emu_blocked before = r->blocked;
	bool first = !r->checked_ns;

	if (!first && now - r->checked_ns < RECHECK_NS)
		return false;
	r->checked_ns = now;
	r->blocked = is_blocked(route->pid, r->signo);
	*blocked = r->blocked == EMU_BLOCKED_YES;
	if (first)
		return false;
	if (!own && !r->own_match) /* only capture received it, so it will be sent anyway */
		return true;
	return (r->blocked == before && before != EMU_BLOCKED_UNKNOWN) ||
	       now - r->time_ns > MATCH_NS;
}

/*
 * Whether the signal is still pending in capture, our parent, which may be stopped: then capture's
 * entry comes later than all others.
 */
static bool is_late(struct emu_received_signal *r)
{
	if (emu_now_ns() - r->time_ns > PENDING_NS || !is_pending(getppid(), r->signo))
		return false;
	r->is_late = true;
	return true;
}

/* Decides whether to send the signal, and sends it. False: not decided yet. */
static bool decide(struct emu_route *route, struct emu_received_signal *r, bool own)
{
	struct emu_received_signal *delivered = matching(&route->program, r);
	bool blocked = false, late = own && is_late(r);

	if (delivered) {
		delivered->matched = r->delivered = true;
		return true;
	}
	if (late)
		return false;
	if (r->own_match) {
		r->own_match->matched = true;
		if (r->own_match->sent || r->own_match->delivered)
			return true;
		/* the signal was sent to the group, which the program has left */
		if (getpgid(route->pid) != getpgrp())
			return true;
	}
	/*
	 * The program's stop is still to come and belongs to this entry: if this entry were decided
	 * now, the stop would match the next one. A signal that stays blocked is decided after
	 * PENDING_NS.
	 */
	if (is_pending(route->pid, r->signo)) {
		r->was_pending = true;
		r->checked_ns = 0;
		return emu_now_ns() - r->time_ns > PENDING_NS;
	}
	if (!check_twice(route, r, own, &blocked))
		return false;
	if (blocked && r->own_match)
		return true;
	/* no stop would show that the program has received it: wait for capture's entry */
	if (blocked && own && emu_now_ns() - r->time_ns < MATCH_NS)
		return false;
	if (!r->was_pending)
		send(route, r);
	return true;
}

/* Decides the entries of a list. True: some are not decided yet. */
static bool run_list(struct emu_route *route, struct emu_received_signals *list, bool own)
{
	u64 now = emu_now_ns(), grace = own ? OWN_GRACE_NS : GRACE_NS;
	bool waiting = false;

	if (list->nr - list->nr_done > EMU_NR_RECEIVED)
		list->nr_done = list->nr - EMU_NR_RECEIVED;
	for (u32 i = list->nr_done; i != list->nr; i++) {
		struct emu_received_signal *r = &list->item[i % EMU_NR_RECEIVED];

		/* if capture received the same signal, its entry decides */
		if (!r->decided && own && r->matched)
			r->decided = true;
		if (!r->decided && !own && !r->own_match) {
			r->own_match = matching(&route->own, r);
			if (r->own_match)
				r->own_match->matched = true;
		}
		if (!r->decided && now - r->time_ns >= grace)
			r->decided = decide(route, r, own);
		waiting |= !r->decided;
		if (r->decided && i == list->nr_done)
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
	sigprocmask(SIG_BLOCK, &all, &old); /* the signal handler adds entries */
	if (!route->pid) {		    /* no program was started: nothing is forwarded */
		route->capture.nr_done = route->capture.nr;
		route->own.nr_done = route->own.nr;
	}
	route->waiting = run_list(route, &route->capture, false);
	route->waiting |= run_list(route, &route->own, true);
	if (route->waiting)
		emu_ring_doorbell_after(RECHECK_NS / 2);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

bool emu_signal_seen(struct emu *emu, pid_t pid, siginfo_t *info)
{
	struct emu_route *route = &emu->route;
	struct emu_received_signals *sent = &route->sent;
	u32 first = sent->nr > EMU_NR_RECEIVED ? sent->nr - EMU_NR_RECEIVED : 0;

	if (pid != route->pid || info->si_code > 0)
		return false;
	if (info->si_pid != getpid()) {
		emu_received_signal_add(&route->program, info->si_signo, info->si_pid,
					info->si_uid);
		return false;
	}
	for (u32 i = first; i != sent->nr; i++) {
		struct emu_received_signal *r = &sent->item[i % EMU_NR_RECEIVED];

		if (r->matched || r->signo != info->si_signo)
			continue;
		r->matched = true;
		info->si_pid = r->sender;
		info->si_uid = r->uid;
		return true;
	}
	return false;
}
