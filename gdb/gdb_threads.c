// SPDX-License-Identifier: BSD-2-Clause
/*
 * The threads that the client is shown: those that were alive at the end, which a crash recording
 * lists, and those of the history while they are not at their end.
 */
#include "gdb_private.h"
#include "gdb_regs.h"

int gdb_thread_index(const struct gdb_session *s, int32_t tid)
{
	int found = s->has_history ? history_find(&s->history, tid) : -1;

	if (found < 0 || s->history.threads[found].pid != s->rec.pid ||
	    s->history.threads[found].nr == s->history.threads[found].first)
		return -1;
	return found;
}

static bool alive_at_end(const struct gdb_session *s, int32_t tid)
{
	for (size_t i = 0; i < s->rec.facts.nr_threads; i++)
		if (s->rec.facts.threads[i].record.tid == tid)
			return true;
	return !s->rec.facts.nr_threads;
}

bool gdb_thread_at_end(const struct gdb_session *s, int32_t tid)
{
	int thread = gdb_thread_index(s, tid);

	return thread < 0 || replay_at_end(&s->replay, (uint32_t)thread);
}

bool gdb_at_end(const struct gdb_session *s)
{
	return !s->has_history || replay_all_at_end(&s->replay);
}

bool gdb_thread_exists(const struct gdb_session *s, int32_t tid)
{
	if (gdb_thread_index(s, tid) >= 0 && !gdb_thread_at_end(s, tid))
		return true;
	return alive_at_end(s, tid) && (s->rec.facts.nr_threads || gdb_thread_index(s, tid) >= 0);
}

int32_t gdb_thread_listed(const struct gdb_session *s, size_t nr)
{
	if (nr < s->rec.facts.nr_threads)
		return s->rec.facts.threads[nr].record.tid;
	nr -= s->rec.facts.nr_threads;
	for (size_t i = 0; s->has_history && i < s->history.nr_threads; i++) {
		int32_t tid = s->history.threads[i].tid;

		if (s->rec.facts.nr_threads && alive_at_end(s, tid))
			continue;
		if (gdb_thread_exists(s, tid) && !nr--)
			return tid;
	}
	return 0;
}

const char *gdb_thread_name(const struct gdb_session *s, int32_t tid)
{
	int thread = gdb_thread_index(s, tid);

	for (size_t i = 0; i < s->rec.facts.nr_threads; i++)
		if (s->rec.facts.threads[i].record.tid == tid &&
		    *s->rec.facts.threads[i].record.comm)
			return s->rec.facts.threads[i].record.comm;
	return thread >= 0 && s->history.threads[thread].comm ? s->history.threads[thread].comm :
								"";
}

int32_t gdb_current(const struct gdb_session *s, int32_t tid)
{
	if (tid > 0 && gdb_thread_exists(s, tid))
		return tid;
	return gdb_thread_exists(s, s->any_tid) ? s->any_tid : s->stopped_tid;
}

static struct gdb_reg_values values_of(struct gdb_session *s, int32_t tid)
{
	struct gdb_reg_values v = {.arch = s->rec.arch};
	int thread = gdb_thread_index(s, tid);

	if (gdb_thread_at_end(s, tid)) {
		v.regs = recording_regs(&s->rec, tid);
		v.has_pc = recording_pc(v.regs, &v.pc);
		if (s->has_core)
			v.core = core_dump_thread(&s->core, tid);
	} else {
		const struct values *past = gdb_values(s, (uint32_t)thread);

		if (past &&
		    values_regs(past, replay_icount(&s->replay, (uint32_t)thread), &s->past_regs))
			v.regs = &s->past_regs;
	}
	if (!v.has_pc && thread >= 0)
		v.has_pc = replay_pc(&s->replay, (uint32_t)thread, &v.pc);
	return v;
}

void gdb_put_regs(struct gdb_session *s, int32_t tid)
{
	struct gdb_reg_values v = values_of(s, tid);

	gdb_regs_put_all(&s->reply, &v);
}

bool gdb_put_reg(struct gdb_session *s, int32_t tid, uint64_t number)
{
	struct gdb_reg_values v = values_of(s, tid);

	return gdb_regs_put_one(&s->reply, &v, number);
}

void gdb_put_pc(struct gdb_session *s, int32_t tid)
{
	struct gdb_reg_values v = values_of(s, tid);

	gdb_regs_put_pc(&s->reply, &v);
}
