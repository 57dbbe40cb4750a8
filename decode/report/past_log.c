// SPDX-License-Identifier: BSD-2-Clause
/* Where the past begins: the logs of values of the process's threads. */
#include "report_past.h"

#include <string.h>

#define MAX_WORK    200000000 /* entries of the log that are read */
#define MAX_THREADS 4096      /* that a snapshot contains */

bool past_is_after(uint64_t time, uint64_t other)
{
	return time > other && time - other > PAST_UNORDERED;
}

bool past_has_work(const struct past *p, unsigned int nr)
{
	if (*p->work < nr)
		return false;
	*p->work -= nr;
	return true;
}

static const struct value_log *find_log(const struct report_facts *facts, int32_t tid)
{
	for (size_t i = 0; i < facts->nr_value_logs; i++) {
		const struct auxtap_values *head = &facts->value_logs[i].head;

		if (head->tid == tid && head->pid == facts->crash.pid)
			return &facts->value_logs[i];
	}
	return NULL;
}

bool past_has_threads(const struct report_facts *facts)
{
	const struct value_log *log = find_log(facts, facts->crash.tid);

	return log && (facts->nr_threads > 1 || log->head.flags & AUXTAP_VALUES_THREADS);
}

/* Is the log of each thread there that may have written since the process had several? */
static bool has_all_logs(const struct report_facts *facts)
{
	if (facts->nr_threads >= MAX_THREADS ||
	    find_log(facts, facts->crash.tid)->head.lost_until == UINT64_MAX)
		return false;
	for (size_t i = 0; i < facts->nr_threads; i++)
		if (!find_log(facts, facts->threads[i].record.tid))
			return false;
	return true;
}

bool past_has_all_since(const struct past *p)
{
	const uint64_t lost = p->log->head.lost_until;

	return !p->has_threads || !lost || past_is_after(p->time.begin, lost);
}

/* When the oldest block of the log began; 0, too, if reading it would take too long. */
static uint64_t find_begin(const struct past *p)
{
	size_t at = p->log->head.nr_words;
	struct value_log_entry entry;
	uint64_t begin = UINT64_MAX;
	bool is_block = false;

	while (value_log_back(p->log, &at, &entry) && entry.kind != AUXTAP_VALUES_LOST) {
		if (!past_has_work(p, 1))
			return 0;
		if (entry.kind == AUXTAP_VALUES_TIME && entry.nr_words)
			begin = entry.words[0];
		else if (is_block)
			begin = 0;
		is_block = entry.kind == AUXTAP_VALUES_BLOCK;
	}
	return is_block ? 0 : begin;
}

void past_begin_log(struct past *p, const struct value_log *log)
{
	p->log = log;
	p->at = p->end = log->head.nr_words;
	p->insn = p->nr_insns = p->nr_mapped = 0;
	p->time = (struct past_time){UINT64_MAX, UINT64_MAX};
	memcpy(p->older, log->head.regs, sizeof(p->older));
	p->log_begin = p->has_threads ? find_begin(p) : 0;
}

bool past_begin(struct past *p, const struct report_out *ro, const struct report_facts *facts,
		unsigned int *work)
{
	const struct value_log *log = find_log(facts, facts->crash.tid);

	*work = MAX_WORK;
	*p = (struct past){.ro = ro,
			   .facts = facts,
			   .work = work,
			   .has_threads = past_has_threads(facts)};
	if (!log || log->head.flags & AUXTAP_VALUES_BAD_REGS ||
	    (p->has_threads && !has_all_logs(facts)))
		return false;
	past_begin_log(p, log);
	return true;
}
