// SPDX-License-Identifier: BSD-2-Clause
/* The last line of a crash report: which memory of the program the file contains. */
#include "report.h"
#include "report_facts.h"
#include "report_out.h"
#include "perfdata/capture_lines.h"

#include <string.h>

void report_memory_text(const struct report_facts *facts, char *text, size_t size)
{
	char kind[32] = "", yes[8];
	const char *what = "stacks";

	report_facts_capture(facts, CAPTURE_LINE_MEMORY, kind, sizeof(kind));
	if (!facts->nr_threads || !facts->nr_memory) {
		snprintf(text, size, "none%s",
			 facts->nr_threads ? " but registers" : ", and no registers");
		return;
	}
	if (report_facts_capture(facts, CAPTURE_LINE_REDACTED, yes, sizeof(yes)))
		what = "redacted: no data, arguments or environment; registers";
	else if (!strcmp(kind, CAPTURE_LINE_MEMORY_NONE))
		what = "no data; registers";
	else if (!strcmp(kind, CAPTURE_LINE_MEMORY_REACH))
		what = report_facts_capture(facts, CAPTURE_LINE_MEMORY_CUT, yes, sizeof(yes)) ?
			       "stacks, the program's data, a part of what they point to" :
			       "stacks, the program's data, what they point to in two steps";
	snprintf(text, size, "%s, code around the instruction pointers%s%s", what,
		 facts->message ? ", the message of abort()" : "",
		 facts->exception ? ", the exception's type and text" : "");
}

void report_memory_print(const struct report_out *ro, const struct report_facts *facts)
{
	char text[200];

	report_memory_text(facts, text, sizeof(text));
	fprintf(ro->out, "\nMemory in this file: %s\n", text);
}
