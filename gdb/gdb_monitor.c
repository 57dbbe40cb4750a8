// SPDX-License-Identifier: BSD-2-Clause
/* User commands: "monitor ..." in gdb. */
#include "gdb_private.h"

#include <auxtap/text.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void do_help(struct gdb_session *s, const char *args, FILE *out);

/* Prints the position of each thread in the history. */
static void do_position(struct gdb_session *s, const char *args, FILE *out)
{
	int32_t tid;

	(void)args;
	for (size_t i = 0; (tid = gdb_thread_listed(s, i)); i++) {
		int thread = gdb_thread_index(s, tid);

		if (thread < 0)
			fprintf(out, "thread %d: no trace\n", tid);
		else
			fprintf(out, "thread %d: instruction %" PRIu64 " of %" PRIu64 "%s\n", tid,
				replay_icount(&s->replay, (uint32_t)thread),
				s->history.threads[thread].nr_insns,
				gdb_thread_at_end(s, tid) ? ", its end" : "");
	}
}

static void do_gaps(struct gdb_session *s, const char *args, FILE *out)
{
	(void)args;
	if (!s->history.nr_gaps)
		fputs("The trace has no gaps.\n", out);
	for (size_t i = 0; i < s->history.nr_gaps; i++)
		fprintf(out, "gap: %s\n", s->history.gaps[i].text);
}

static void do_calls(struct gdb_session *s, const char *args, FILE *out)
{
	(void)args;
	gdb_print_calls(s, out);
}

/* Prints how far back the recorded values reach, and why not further. */
static void do_values(struct gdb_session *s, const char *args, FILE *out)
{
	(void)args;
	if (!s->nr_values)
		fputs("The recording has no values of the past: it was made without 'auxtap crash "
		      "--values', or they could not be read at the end.\n",
		      out);
	for (size_t i = 0; i < s->nr_values; i++) {
		const struct values *v = &s->values[i];
		const struct history_thread *t = &s->history.threads[v->thread];

		fprintf(out, "thread %d: ", t->tid);
		if (v->has_values)
			fprintf(out,
				"instructions %" PRIu64 " to %" PRIu64
				": registers at %zu of them%s",
				v->first, t->nr_insns, v->has_regs ? v->nr_regs : 0,
				v->memory ? ", memory" : "");
		fprintf(out, "%s%s\n", v->has_values && v->why_none ? "; " : "",
			v->why_none ? v->why_none : "");
	}
}

static const struct user_command {
	const char *name, *help;
	void (*run)(struct gdb_session *s, const char *args, FILE *out);
} user_commands[] = {
	{"calls", "the callers of the current thread, as the trace proves them", do_calls},
	{"position", "where each thread is in its history", do_position},
	{"gaps", "what the trace lacks", do_gaps},
	{"values", "how far registers and memory of the past are known", do_values},
	{"help", "these commands", do_help},
};

static void do_help(struct gdb_session *s, const char *args, FILE *out)
{
	(void)s;
	(void)args;
	for (size_t i = 0; i < sizeof(user_commands) / sizeof(user_commands[0]); i++)
		fprintf(out, "monitor %-9s %s\n", user_commands[i].name, user_commands[i].help);
}

static void run(struct gdb_session *s, const char *command, FILE *out)
{
	for (size_t i = 0; i < sizeof(user_commands) / sizeof(user_commands[0]); i++) {
		size_t len = strlen(user_commands[i].name);

		if (strncmp(command, user_commands[i].name, len) != 0 ||
		    (command[len] && command[len] != ' '))
			continue;
		if (gdb_decode(s))
			fprintf(out, "auxtap: %s: %s\n", s->err->what, s->err->why);
		else
			user_commands[i].run(s, command + len + strspn(command + len, " "), out);
		return;
	}
	fputs("No such command; 'monitor help' lists them.\n", out);
}

/* Sends the output line by line, with escapes: it contains names from the recording. */
static void put_output(struct gdb_session *s, const char *text, size_t size)
{
	const size_t most = GDB_PACKET_MAX / 2 - 16;
	char *safe = malloc(4 * size + 1);
	struct gdb_reply *reply = &s->reply;
	size_t nr = 0;

	for (size_t at = 0; safe && at < size; at++) {
		const char *end = memchr(text + at, '\n', size - at);
		size_t len = end ? (size_t)(end - text) - at : size - at;

		nr += auxtap_text_escape(safe + nr, 4 * size + 1 - nr, text + at, len);
		if (end)
			safe[nr++] = '\n';
		at += len;
	}
	/* all parts but the last are console output; the last is the reply */
	for (size_t at = 0; at < nr; at += most) {
		gdb_reply_reset(reply);
		gdb_reply_text(reply, "O");
		gdb_reply_hex(reply, safe + at, nr - at < most ? nr - at : most);
		gdb_send(s, reply);
	}
	free(safe);
	gdb_reply_reset(reply);
	gdb_reply_text(reply, "OK");
}

void gdb_monitor(struct gdb_session *s, const char *hex, size_t size)
{
	char command[256], *text = NULL;
	long len = gdb_unhex(hex, size, command, sizeof(command) - 1);
	size_t nr = 0;
	FILE *out = len < 0 ? NULL : open_memstream(&text, &nr);

	if (!out) {
		gdb_reply_text(&s->reply, "E01");
		return;
	}
	command[len] = '\0';
	run(s, command, out);
	if (!fclose(out) && text)
		put_output(s, text, nr);
	free(text);
}
