// SPDX-License-Identifier: BSD-2-Clause
/* Step and continue, and the stop replies. */
#include "gdb_private.h"

#include <inttypes.h>

/* gdb's signal numbers (gdb/signals.def), by Linux's of x86-64 and AArch64. */
static unsigned int gdb_signal(int signo)
{
	static const uint8_t numbers[] = {0,  1,  2,  3,  4,  5,  6,  10, 8,  9,  30,
					  11, 31, 13, 14, 15, 0,  20, 19, 17, 18, 21,
					  22, 16, 24, 25, 26, 27, 28, 23, 32, 12};
	const unsigned int unknown = 143;

	if (signo == 32)
		return 77;
	if (signo >= 33 && signo <= 63)
		return 45 + (unsigned int)signo - 33;
	if (signo == 64)
		return 78;
	if (signo < 0 || signo > 31 || (signo && !numbers[signo]))
		return unknown;
	return numbers[signo];
}

void gdb_put_stop(struct gdb_session *s)
{
	bool died = s->rec.has_crash && s->rec.facts.crash.signo &&
		    s->stopped_tid == s->rec.facts.crash.tid && gdb_at_end(s);

	gdb_reply_text(&s->reply, "T%02x", died ? gdb_signal(s->rec.facts.crash.signo) : 5);
	gdb_put_pc(s, s->stopped_tid);
	gdb_reply_text(&s->reply, "thread:%" PRIx32 ";", (uint32_t)s->stopped_tid);
}

static void put_replaylog_stop(struct gdb_session *s, const char *end)
{
	gdb_reply_text(&s->reply, "T05");
	gdb_put_pc(s, s->stopped_tid);
	gdb_reply_text(&s->reply, "replaylog:%s;thread:%" PRIx32 ";", end,
		       (uint32_t)s->stopped_tid);
}

static void put_gap(struct gdb_session *s, uint32_t thread, bool reverse)
{
	const char *text;

	for (unsigned int i = 0; (text = replay_gap_text(&s->replay, thread, i)); i++)
		gdb_console(s, "auxtap: gap in the trace: %s\n", text);
	gdb_console(s, "auxtap: repeat the command to continue %s the gap\n",
		    reverse ? "before" : "after");
	put_replaylog_stop(s, reverse ? "begin" : "end");
}

static void put_begin(struct gdb_session *s, uint32_t thread)
{
	const char *why = s->history.threads[thread].begin_why;

	if (why)
		gdb_console(s, "auxtap: start of the history: %s\n", why);
	put_replaylog_stop(s, "begin");
}

static void put_resume_stop(struct gdb_session *s, enum replay_stop stop, uint32_t thread,
			    bool reverse)
{
	switch (stop) {
	case REPLAY_STEPPED:
		gdb_put_stop(s);
		return;
	case REPLAY_BREAKPOINT:
		gdb_reply_text(&s->reply, "T05swbreak:;");
		gdb_put_pc(s, s->stopped_tid);
		gdb_reply_text(&s->reply, "thread:%" PRIx32 ";", (uint32_t)s->stopped_tid);
		return;
	case REPLAY_BEGIN:
		put_begin(s, thread);
		return;
	case REPLAY_END:
		put_replaylog_stop(s, "end");
		return;
	case REPLAY_GAP:
		put_gap(s, thread, reverse);
		return;
	case REPLAY_FAILED:
		break;
	}
	gdb_console(s, "auxtap: out of memory\n");
	put_replaylog_stop(s, reverse ? "begin" : "end");
}

void gdb_resume(struct gdb_session *s, bool reverse, bool cont)
{
	/* 0 and -1: gdb's current thread (any_tid) */
	int32_t tid = gdb_current(s, s->cont_tid > 0 ? s->cont_tid : 0);
	struct replay_request req = {.reverse = reverse,
				     .cont = cont,
				     .all_threads = s->cont_tid <= 0};
	enum replay_stop stop;
	struct gdb_hit hit;
	uint32_t stopped;
	int thread;

	if (gdb_decode(s)) {
		gdb_console(s, "auxtap: %s: %s\n", s->err->what, s->err->why);
		gdb_reply_text(&s->reply, "X09");
		s->done = true;
		return;
	}
	s->stopped_tid = tid;
	thread = gdb_thread_index(s, tid);
	if (thread < 0) {
		gdb_console(s, "auxtap: the recording has no trace of this thread\n");
		put_replaylog_stop(s, reverse ? "begin" : "end");
		return;
	}
	req.thread = (uint32_t)thread;
	s->nr_resumes++;
	gdb_watch_find(s, req.thread, reverse, &hit);
	stop = replay_resume(&s->replay, &req, &stopped);
	s->stopped_tid = s->history.threads[stopped].tid;
	s->any_tid = s->stopped_tid;
	if (stop == REPLAY_FAILED || !gdb_watch_stop(s, req.thread, reverse, &hit))
		put_resume_stop(s, stop, stopped, reverse);
}
