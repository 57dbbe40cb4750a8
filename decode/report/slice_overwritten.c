// SPDX-License-Identifier: BSD-2-Clause
/* What overwrote a return address, or what malloc keeps after a block. See slice_follow.h. */
#include "origin.h"
#include "slice_follow.h"

#include <string.h>

#define MAX_WRITES 256 /* to one place that are looked at */
#define MIN_CHUNK  32  /* bytes; of glibc's malloc, with its own words */
#define MAX_CHUNK  0xffffffffull

static bool find_write(struct slice *s, uint64_t addr, uint64_t value,
		       struct value_log_write *write)
{
	const enum past_write result = past_find_write(&s->p, addr, sizeof(value), 0, value, write);

	s->lacks_order = result == PAST_WRITE_UNORDERED;
	return result == PAST_WRITE_FOUND;
}

/* Is it a write of malloc's own: the size of a block, with three flags in its lowest bits? */
static bool is_malloc_write(const struct slice *s, const struct value_log_write *write,
			    uint64_t addr, uint64_t ip)
{
	uint64_t word;

	if (write->addr != addr || write->nr_bytes != sizeof(word) || !write->bytes ||
	    !origin_is_library(s->p.ro, ip))
		return false;
	memcpy(&word, write->bytes, sizeof(word));
	return word >= MIN_CHUNK && word <= MAX_CHUNK && !(word & 8);
}

/* Moves to the first write of this thread that changed what malloc had put there. */
static bool find_first_overrun(struct slice *s, uint64_t addr, uint64_t value, uint64_t *ip)
{
	struct past p = s->p, first;
	struct value_log_write write;
	bool found = false;
	struct x86_insn x;
	uint64_t at;

	if (!past_is_own(&p, addr, sizeof(value)))
		return false;
	for (unsigned int nr = 0; nr < MAX_WRITES; nr++) {
		if (past_find_own_write(&p, addr, sizeof(value), 0, &write) != PAST_WRITE_FOUND ||
		    !past_insn(&p, p.insn, &x, &at) ||
		    (!found && !value_log_keeps(&write, addr, sizeof(value), value)))
			return false;
		if (is_malloc_write(s, &write, addr, at)) {
			if (!found || !past_has_all_since(&p))
				return false;
			s->p = first;
			return true;
		}
		first = p;
		*ip = at;
		found = true;
	}
	return false;
}

/* The first write, or the last. */
void slice_follow_overrun(struct slice *s, uint64_t addr, uint64_t value)
{
	struct value_log_write write;
	struct x86_insn x;
	uint64_t ip;

	if (find_first_overrun(s, addr, value, &ip)) {
		slice_add_step(s, REPORT_SLICE_WRITTEN, ip, addr);
		return;
	}
	if (find_write(s, addr, value, &write) &&
	    value_log_keeps(&write, addr, sizeof(value), value) &&
	    past_insn(&s->p, s->p.insn, &x, &ip) &&
	    slice_is_change(s, &x, addr, sizeof(value), value) &&
	    slice_add_step(s, REPORT_SLICE_WRITTEN, ip, addr))
		s->out->steps[0].is_part = !slice_wrote_all(s, addr, sizeof(value), value, &write);
}

void slice_follow_return(struct slice *s, uint64_t slot, uint64_t value)
{
	struct value_log_write write;
	struct past first;
	bool found = false;
	struct x86_insn x;
	uint64_t ip, first_ip = 0;

	s->lacks_order = !past_is_own(&s->p, slot, sizeof(value));
	if (s->lacks_order)
		return;
	while (past_find_own_write(&s->p, slot, sizeof(value), 0, &write) == PAST_WRITE_FOUND) {
		if ((!found && !value_log_keeps(&write, slot, sizeof(value), value)) ||
		    !past_insn(&s->p, s->p.insn, &x, &ip))
			return;
		if (x.info.mnemonic == ZYDIS_MNEMONIC_CALL) {
			if (!found)
				return; /* the call's own */
			s->lacks_order = !past_has_all_since(&s->p);
			if (s->lacks_order)
				return;
			s->p = first;
			slice_add_step(s, REPORT_SLICE_WRITTEN, first_ip, slot);
			return;
		}
		first = s->p;
		first_ip = ip;
		found = true;
	}
}
