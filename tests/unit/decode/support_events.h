/* SPDX-License-Identifier: BSD-2-Clause */
/* What an event is, in a word, for tests that compare events as lines of text. */
#ifndef AUXTAP_SUPPORT_EVENTS_H
#define AUXTAP_SUPPORT_EVENTS_H

#include <auxtap/decode.h>

static inline const char *event_word(const struct auxtap_event *ev)
{
	static const char *const kinds[] = {"?",     "cond", "jump",	"ijump", "call",
					    "icall", "ret",  "syscall", "far"};

	return ev->type == AUXTAP_EVENT_BRANCH ? kinds[ev->kind] :
	       ev->type == AUXTAP_EVENT_CALL   ? "depth+" :
	       ev->type == AUXTAP_EVENT_RETURN ? "depth-" :
	       ev->type == AUXTAP_EVENT_ASYNC  ? "async" :
	       ev->type == AUXTAP_EVENT_INSN   ? "insn" :
	       ev->type == AUXTAP_EVENT_BLOCK  ? "block" :
	       ev->type == AUXTAP_EVENT_TRACE  ? (ev->trace_on ? "on" : "off") :
						 "gap";
}

#endif
