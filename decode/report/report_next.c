// SPDX-License-Identifier: BSD-2-Clause
/* Suggests commands at the end of a report. */
#include "perfdata/capture_lines.h"
#include "perfdata/layout.h"
#include "report_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The engine that records values, from that version on. */
#define VALUES_ENGINE  "engine qemu "
#define VALUES_VERSION 10

static struct report_command *add(struct report_command *commands, unsigned int *nr)
{
	struct report_command *c = &commands[(*nr)++];

	c->nr = 0;
	return c;
}

static void put(struct report_command *c, const char *word)
{
	c->words[c->nr++] = word;
}

static void put_all(struct report_command *c, const char *const *words)
{
	while (*words)
		put(c, *words++);
}

/* Would values say who wrote what the program died of, and does the recording have none? */
static bool wants_values(const struct report *r)
{
	const struct report_facts *facts = &r->facts;
	const struct auxtap_regs *regs = facts->have_crash ? report_dying_regs(r) : NULL;
	const char *engine;
	char text[384];

	return regs && regs->arch == AUXTAP_ARCH_X86_64 && !facts->nr_value_logs &&
	       facts->nr_threads == 1 && !facts->redacted && !report_is_user_snapshot(r) &&
	       r->is_wrong_value &&
	       report_facts_capture(facts, CAPTURE_LINE_DESCRIPTION, text, sizeof(text)) &&
	       (engine = strstr(text, VALUES_ENGINE)) &&
	       atoi(engine + strlen(VALUES_ENGINE)) >= VALUES_VERSION;
}

/* The next string of perf's list, in which each follows its size; NULL: there are no more. */
static const char *next_string(const char **at, const char *end)
{
	const char *word = *at + sizeof(uint32_t);
	uint32_t size;

	if (end - *at < (ptrdiff_t)sizeof(size))
		return NULL;
	memcpy(&size, *at, sizeof(size));
	if (!size || size > (size_t)(end - word) || !memchr(word, 0, size))
		return NULL;
	*at = word + size;
	return word;
}

/* The command that made the recording, with --values. False: it cannot be repeated. */
static bool put_again(struct report_command *c, const struct report *r)
{
	const void *data;
	const char *at, *end, *word;
	bool is_program = false;
	uint32_t nr;
	size_t size;

	if (auxtap_perfdata_feature(r->pd, PD_FEAT_CMDLINE, &data, &size) || size < sizeof(nr))
		return false;
	memcpy(&nr, data, sizeof(nr));
	at = (const char *)data + sizeof(nr);
	end = (const char *)data + size;
	if (nr < 3 || nr >= REPORT_COMMAND_WORDS || !next_string(&at, end))
		return false;
	word = next_string(&at, end);
	if (!word || strcmp(word, "crash"))
		return false;
	put(c, "auxtap");
	put(c, "crash");
	put(c, "--values");
	for (uint32_t i = 2; i < nr; i++) {
		word = next_string(&at, end);
		if (!word)
			return false;
		if (!is_program && (!strncmp(word, "-p", 2) || !strncmp(word, "-t", 2) ||
				    !strncmp(word, "--pid", 5) || !strncmp(word, "--tid", 5)))
			return false; /* a process that it attached to is gone */
		/* the recording is input: only words that can be repeated as they are printed */
		if (strcmp(report_text(&r->ro, word), word) != 0)
			return false;
		put(c, word);
		is_program = is_program || !strcmp(word, "--");
	}
	return true;
}

unsigned int report_next_commands(const struct report *r, struct report_command *commands)
{
	static const char *const gdb[] = {"auxtap", "gdb", NULL};
	static const char *const decode[] = {"auxtap", "decode", NULL};
	static const char *const insns[] = {"--events", "insn", "-F", "ip,sym,srcline,asm",
					    "--last",	"100",	NULL};
	static const char *const calls[] = {"--events", "call,return", "--last", "100", NULL};
	static const char *const perf[] = {"perf", "script", "-i", NULL};
	static const char *const branches[] = {"--itrace=b", "-F", NULL};
	const struct auxtap_regs *regs;
	struct report_command *c;
	unsigned int nr = 0;

	if (r->raw)
		return 0; /* the commands would need the options of the raw trace again */
	regs = r->facts.have_crash ? report_dying_regs(r) : NULL;
	if (r->facts.have_crash && r->pd && report_family(r)->flows && /* gdb needs a perf.data */
	    !(regs && auxtap_regs_32bit(regs))) {
		c = add(commands, &nr);
		put_all(c, gdb);
		put(c, r->path);
	}
	if (r->pd && wants_values(r)) {
		c = add(commands, &nr);
		if (!put_again(c, r))
			nr--;
	}
	c = add(commands, &nr);
	put_all(c, decode);
	if (r->facts.have_crash) {
		snprintf(c->tid, sizeof(c->tid), "%d", r->facts.crash.tid);
		put(c, "--tid");
		put(c, c->tid);
	}
	put_all(c, r->facts.have_crash ? insns : calls);
	put(c, r->path);
	if (!r->pd)
		return nr; /* perf cannot read a directory with a CoreSight snapshot */
	c = add(commands, &nr);
	put_all(c, perf);
	put(c, r->path);
	put_all(c, branches);
	put(c, report_family(r)->perf_prints_times ? "tid,time,ip,sym,addr" : "tid,ip,sym,addr");
	return nr;
}

/* Prints a word, quoted for the shell if necessary. */
static void print_word(const struct report *r, const char *before, const char *word)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "_@%+=:,./-";
	const char *text = report_text(&r->ro, word);

	fputs(before, r->ro.out);
	if (*word && !word[strspn(word, plain)]) {
		fputs(text, r->ro.out);
		return;
	}
	fputc('\'', r->ro.out);
	for (; *text; text++)
		fputs(*text == '\'' ? "'\\''" : (char[]){*text, 0}, r->ro.out);
	fputc('\'', r->ro.out);
}

void report_next_print(const struct report *r)
{
	struct report_command commands[REPORT_NEXT_MAX];
	const unsigned int nr = report_next_commands(r, commands);

	if (!nr)
		return;
	fprintf(r->ro.out, "\n%sNext%s\n", r->ro.style->title, r->ro.style->off);
	fprintf(r->ro.out, "  trace: %s\n", report_text(&r->ro, r->path));
	for (unsigned int i = 0; i < nr; i++) {
		for (unsigned int k = 0; k < commands[i].nr; k++)
			print_word(r, k ? " " : "  ", commands[i].words[k]);
		if (!strcmp(commands[i].words[1], "crash"))
			fputs("  # again: may show what wrote the wrong value", r->ro.out);
		fputc('\n', r->ro.out);
	}
}
