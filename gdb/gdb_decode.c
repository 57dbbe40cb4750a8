// SPDX-License-Identifier: BSD-2-Clause
/*
 * Decodes the recording into the history: for a crash when the client first resumes, otherwise at
 * the start.
 */
#include "gdb_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define INSN_MAX	15
#define EVENTS_PER_LOOK 4096
#define EXEC_WHY	"before, the process ran another program"

/* ---- questions of the history about code ---- */

static uint32_t x86_sizes(struct gdb_session *s, const struct history_entry *block,
			  const uint8_t *code, size_t size, uint8_t *sizes)
{
	size_t at = 0;
	uint32_t nr;

	for (nr = 0; nr < block->nr && at < size; nr++) {
		char text[128];
		int len = auxtap_disassemble(s->rec.images, block->ip + at, code + at, size - at,
					     text, sizeof(text));

		if (len <= 0)
			break;
		sizes[nr] = (uint8_t)len;
		at += (size_t)len;
	}
	return nr;
}

static uint32_t code_sizes(void *ctx, const struct history_entry *block, uint8_t *sizes)
{
	struct gdb_session *s = ctx;
	uint64_t size = block->last - block->ip + INSN_MAX;
	uint32_t nr = 0;
	uint8_t *code;
	ssize_t got;

	if (s->rec.arch == AUXTAP_ARCH_AARCH64) {
		memset(sizes, 4, block->nr);
		return block->nr;
	}
	if (size > (uint64_t)block->nr * INSN_MAX + INSN_MAX)
		return 0;
	code = malloc(size);
	if (!code)
		return 0;
	got = auxtap_image_set_read(s->rec.images, s->rec.pid, block->time, block->ip, code, size);
	if (got > 0)
		nr = x86_sizes(s, block, code, (size_t)got, sizes);
	free(code);
	return nr;
}

static bool code_same_function(void *ctx, uint64_t a, uint64_t b, uint64_t time)
{
	struct auxtap_range range = {.size = sizeof(range)};
	struct gdb_session *s = ctx;

	return !auxtap_image_set_range(s->rec.images, s->rec.pid, time, a, &range) &&
	       range.symbol && b >= range.start && b < range.end;
}

void gdb_code_init(struct gdb_session *s)
{
	s->code = (struct history_code){code_sizes, code_same_function, s};
}

/* ---- decoding ---- */

/* Notes if the process of the event has executed another program before it. */
static void note_exec(struct gdb_session *s, const struct auxtap_event *ev)
{
	for (size_t i = 0; i < s->rec.nr_execs; i++) {
		struct recording_exec *exec = &s->rec.execs[i];

		if (exec->done || exec->pid != ev->pid || exec->time > ev->time)
			continue;
		exec->done = true;
		history_exec(&s->history, ev->pid, EXEC_WHY);
	}
}

/* The process with the most instructions. */
static int32_t most_active(const struct history *h)
{
	uint64_t most = 0;
	int32_t pid = -1;

	for (size_t i = 0; i < h->nr_threads; i++) {
		uint64_t sum = 0;

		for (size_t j = 0; j < h->nr_threads; j++)
			if (h->threads[j].pid == h->threads[i].pid)
				sum += h->threads[j].nr_insns;
		if (pid >= 0 && sum <= most)
			continue;
		most = sum;
		pid = h->threads[i].pid;
	}
	return pid;
}

static int add_events(struct gdb_session *s)
{
	struct auxtap_event ev = {.size = sizeof(ev)};
	unsigned int nr = 0;
	int ret;

	while ((ret = auxtap_decoder_next(s->decoder, &ev, s->err)) == 1) {
		if (!(++nr % EVENTS_PER_LOOK))
			gdb_keep_alive(s);
		if (s->rec.pid >= 0 && ev.pid != s->rec.pid)
			continue;
		if (ev.type == AUXTAP_EVENT_TRACE && ev.trace_on)
			note_exec(s, &ev);
		if (history_add(&s->history, &ev))
			return auxtap_error_set(s->err, -ENOMEM, "history", "out of memory");
	}
	/* damage ends the trace, but events that were decoded before it are valid */
	return ret == -ENOMEM ? ret : 0;
}

static int add_values(struct gdb_session *s)
{
	const struct report_facts *facts = &s->rec.facts;
	int ret = 0;

	s->values = calloc(facts->nr_value_logs ? facts->nr_value_logs : 1, sizeof(*s->values));
	if (!s->values)
		return -ENOMEM;
	for (size_t i = 0; i < facts->nr_value_logs && !ret; i++) {
		const struct value_log *from = &facts->value_logs[i];
		int thread = history_find(&s->history, from->head.tid);

		if (thread < 0 || from->head.pid != s->rec.pid ||
		    from->head.flags & AUXTAP_VALUES_CUT_OFF)
			continue;
		ret = values_build(&s->values[s->nr_values++], &s->rec, &s->replay,
				   (uint32_t)thread, from);
	}
	return ret;
}

int gdb_decode(struct gdb_session *s)
{
	int ret;

	if (s->has_history)
		return s->error;
	ret = add_events(s);
	if (!ret && history_finish(&s->history))
		ret = auxtap_error_set(s->err, -ENOMEM, "history", "out of memory");
	if (!ret && s->rec.pid < 0)
		s->rec.pid = most_active(&s->history);
	if (!ret && replay_init(&s->replay, &s->history))
		ret = auxtap_error_set(s->err, -ENOMEM, "history", "out of memory");
	if (!ret && add_values(s))
		ret = auxtap_error_set(s->err, -ENOMEM, "values", "out of memory");
	s->has_history = !ret;
	s->error = ret;
	return ret;
}
