// SPDX-License-Identifier: BSD-2-Clause
/*
 * Branch trace for gdb's 'record' commands (qXfer:btrace, Qbtrace) with --btrace: the blocks before
 * the position of the current thread, in the form of Intel BTS, from which gdb derives functions.
 */
#include "gdb_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BTS_RECORD 24 /* bytes; gdb gives sizes in bytes of a BTS buffer */

bool gdb_write_btrace_conf(struct gdb_session *s, FILE *out)
{
	fputs("<btrace-conf version=\"1.0\">", out);
	/* without a format gdb does not record */
	if (s->btrace)
		fprintf(out, "<bts size=\"0x%" PRIx64 "\"/>", s->opts.btrace * BTS_RECORD);
	fputs("</btrace-conf>\n", out);
	return true;
}

static void put_block(FILE *out, uint64_t begin, uint64_t end)
{
	fprintf(out, "<block begin=\"0x%" PRIx64 "\" end=\"0x%" PRIx64 "\"/>\n", begin, end);
}

/* gdb shows a block that ends before its start as a gap. */
static void put_gap(FILE *out)
{
	put_block(out, 1, 0);
}

/*
 * Writes the block with the next instruction, which gdb expects to be the last one. False: its
 * address is unknown.
 */
static bool put_current(struct gdb_session *s, int32_t tid, uint32_t thread, FILE *out)
{
	const struct history_thread *t = &s->history.threads[thread];
	const struct replay_thread *where = &s->replay.threads[thread];
	const struct history_entry *entry;
	uint64_t pc;

	if (replay_at_end(&s->replay, thread)) {
		bool known = recording_pc(recording_regs(&s->rec, tid), &pc) ||
			     (t->end_known && replay_pc(&s->replay, thread, &pc));

		if (!known)
			return false;
		put_block(out, pc, pc);
		if (!t->end_known || t->end_ip != pc)
			put_gap(out);
		return true;
	}
	entry = history_entry_at(&s->history, thread, where->pos);
	if (!entry || !replay_pc(&s->replay, thread, &pc))
		return false;
	put_block(out, where->insn ? entry->ip : pc, pc);
	return true;
}

static void put_blocks(struct gdb_session *s, int32_t tid, uint32_t thread, FILE *out)
{
	const struct history_thread *t = &s->history.threads[thread];
	uint64_t at = s->replay.threads[thread].pos;
	uint64_t nr = put_current(s, tid, thread, out);

	while (at > t->first && nr < s->opts.btrace) {
		const struct history_entry *entry = history_entry_at(&s->history, thread, --at);

		if (entry && entry->kind != ENTRY_BLOCK && entry->kind != ENTRY_GAP)
			continue;
		if (!entry || entry->kind == ENTRY_GAP) /* no memory to read it again */
			put_gap(out);
		else
			put_block(out, entry->ip, entry->last);
		nr++;
	}
}

bool gdb_write_btrace(struct gdb_session *s, FILE *out)
{
	int32_t tid = gdb_current(s, s->general_tid);
	int thread;

	if (!s->btrace || gdb_decode(s))
		return false;
	thread = gdb_thread_index(s, tid);
	fputs("<!DOCTYPE btrace SYSTEM \"btrace.dtd\">\n<btrace version=\"1.0\">\n", out);
	if (thread >= 0)
		put_blocks(s, tid, (uint32_t)thread, out);
	fputs("</btrace>\n", out);
	return true;
}

/* Writes the blocks since the last read: none, because nothing is executed. */
bool gdb_write_no_btrace(struct gdb_session *s, FILE *out)
{
	fputs("<!DOCTYPE btrace SYSTEM \"btrace.dtd\">\n<btrace version=\"1.0\"></btrace>\n", out);
	return s->btrace;
}

void gdb_btrace(struct gdb_session *s, const char *args)
{
	if (!s->opts.btrace)
		return;
	/* a trace that gdb enables starts at the current position: it would be empty */
	if (strcmp(args, "off") != 0) {
		gdb_reply_text(&s->reply, "E.connect again to record the branch trace");
		return;
	}
	s->btrace = false;
	gdb_reply_text(&s->reply, "OK");
}
