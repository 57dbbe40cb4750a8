// SPDX-License-Identifier: BSD-2-Clause
/* Suggests commands at the end of a report. */
#include "report_state.h"

#include <stdio.h>

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

unsigned int report_next_commands(const struct report *r, struct report_command *commands)
{
	static const char *const gdb[] = {"auxtap", "gdb", NULL};
	static const char *const decode[] = {"auxtap", "decode", NULL};
	static const char *const insns[] = {"--events", "insn", "-F", "ip,sym,srcline,asm",
					    "--last",	"100",	NULL};
	static const char *const calls[] = {"--events", "call,return", "--last", "100", NULL};
	static const char *const perf[] = {"perf", "script", "-i", NULL};
	static const char *const branches[] = {"--itrace=b", "-F", NULL};
	struct report_command *c;
	unsigned int nr = 0;

	if (r->raw)
		return 0; /* the commands would need the options of the raw trace again */
	if (r->facts.have_crash && r->pd && report_family(r)->flows) { /* gdb needs a perf.data */
		c = add(commands, &nr);
		put_all(c, gdb);
		put(c, r->path);
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
			fprintf(r->ro.out, "%s%s", k ? " " : "  ",
				report_text(&r->ro, commands[i].words[k]));
		fputc('\n', r->ro.out);
	}
}
