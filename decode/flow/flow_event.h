/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of one stream, before streams are merged. Every family's decoder produces them. */
#ifndef AUXTAP_FLOW_EVENT_H
#define AUXTAP_FLOW_EVENT_H

#include <auxtap/decode.h>

#include <stdarg.h>

struct flow_gap {
	struct flow_gap *next; /* adjacent gap with another cause, delivered right after this */
	struct auxtap_gap gap;
	char text[96];
	bool cut_short; /* the bytes end within a packet or block: what follows may show why */
};

/* struct auxtap_event, compact. */
struct flow_event {
	uint64_t time, ip, addr;
	uint32_t type, nr_insns, depth;
	int32_t pid, tid;
	uint8_t kind, insn_size;
	bool has_ip, has_addr, trace_on;
	bool hidden; /* CALL, RETURN: changes the call depth, but the options exclude it */
	uint8_t isa; /* enum auxtap_isa */
	uint8_t insn[15];
	struct flow_gap *gap; /* owned */
};

bool flow_in_list(const int32_t *list, size_t nr, int32_t id);
/* Whether a filter of the options accepts this thread or CPU. list is sorted; empty: all. */
static inline bool flow_listed(const int32_t *list, size_t nr, int32_t id)
{
	return !nr || flow_in_list(list, nr, id);
}

/* Whether the options select such an event. An unknown time (0) is in every time window. */
bool flow_wanted(const struct auxtap_decode_opts *opts, uint32_t type, uint64_t time, int32_t tid,
		 int cpu);

/* NULL: out of memory. */
struct flow_gap *flow_gap_new(enum auxtap_gap_cause cause, const char *fmt, va_list args);
/*
 * Adds gap to a list of adjacent gaps, which has one gap per cause: if there is one with the same
 * cause, the bytes are added to that one.
 */
void flow_gap_add(struct flow_gap **list, struct flow_gap *gap);
void flow_gap_free(struct flow_gap *list);

#endif
