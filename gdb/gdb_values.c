// SPDX-License-Identifier: BSD-2-Clause
/* See gdb_values.h. */
#include "gdb_values.h"

#include <string.h>

#define CHUNK 4096

/* The first event at or after an instruction. */
static size_t event_from(const struct values *v, uint64_t at)
{
	size_t lo = 0, hi = v->nr_events;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (v->events[mid].at < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool values_regs(const struct values *v, uint64_t at, struct auxtap_regs *regs)
{
	size_t lo = 0, hi = v->nr_regs;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (v->regs[mid].at < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!v->has_regs || lo == v->nr_regs || v->regs[lo].at != at)
		return false;
	memset(regs, 0, sizeof(*regs));
	regs->arch = AUXTAP_ARCH_X86_64;
	for (size_t i = 0; i < AUXTAP_VALUES_REGS; i++) {
		regs->reg[value_log_regs[i]] = v->regs[lo].reg[i];
		regs->valid |= 1ull << value_log_regs[i];
	}
	return true;
}

/* ---- memory ---- */

enum byte_state {
	BYTE_OPEN,
	BYTE_KNOWN,
	BYTE_UNKNOWN,
};

struct range {
	uint64_t addr;
	uint8_t *bytes;
	uint8_t state[CHUNK];
	size_t size, nr_open;
};

/* Sets bytes of the range that are still open from an event; with 'hide' they become unknown. */
static void apply_event(struct range *r, const struct value_event *ev, bool hide)
{
	uint64_t from = ev->addr > r->addr ? ev->addr - r->addr : 0;

	for (size_t i = from; i < r->size && r->addr + i - ev->addr < ev->nr_bytes; i++) {
		if (r->state[i] != BYTE_OPEN)
			continue;
		r->nr_open--;
		r->state[i] = ev->bytes && !hide ? BYTE_KNOWN : BYTE_UNKNOWN;
		if (r->state[i] == BYTE_KNOWN)
			r->bytes[i] = ev->bytes[r->addr + i - ev->addr];
	}
}

/* True if other processes may write there. */
static bool is_shared(const struct recording *rec, uint64_t addr)
{
	const struct report_map *map = report_facts_map(&rec->facts, addr);

	return map && map->perms[3] == 's';
}

/* Bytes that earlier events made unknown may be known from later ones. */
static void reopen_unknown(struct range *r)
{
	r->nr_open = 0;
	for (size_t i = 0; i < r->size; i++) {
		if (r->state[i] == BYTE_UNKNOWN)
			r->state[i] = BYTE_OPEN;
		r->nr_open += r->state[i] == BYTE_OPEN;
	}
}

/* Reads a range within a page. */
static size_t read_page(const struct values *v, const struct recording *rec, uint64_t at,
			struct range *r)
{
	size_t now = event_from(v, at), nr = 0;

	memset(r->state, BYTE_OPEN, sizeof(r->state));
	r->nr_open = r->size;
	if (is_shared(rec, r->addr))
		return 0;
	for (size_t i = now; i > 0 && r->nr_open; i--)
		apply_event(r, &v->events[i - 1], false);
	/* otherwise it is as it was at the end, if it was not written later */
	reopen_unknown(r);
	for (size_t i = now; i < v->nr_events && r->nr_open; i++)
		apply_event(r, &v->events[i], true);
	for (size_t i = 0; i < r->size; i++) {
		uint8_t byte;

		if (r->state[i] == BYTE_OPEN && recording_memory(rec, r->addr + i, &byte, 1)) {
			r->bytes[i] = byte;
			r->state[i] = BYTE_KNOWN;
		}
	}
	while (nr < r->size && r->state[nr] == BYTE_KNOWN)
		nr++;
	return nr;
}

size_t values_memory(const struct values *v, const struct recording *rec, uint64_t at,
		     uint64_t addr, void *buf, size_t size)
{
	size_t done = 0, nr;
	struct range r;

	if (!v->memory || at < v->first)
		return 0;
	do {
		r.addr = addr + done;
		r.bytes = (uint8_t *)buf + done;
		r.size = CHUNK - r.addr % CHUNK;
		if (r.size > size - done)
			r.size = size - done;
		nr = read_page(v, rec, at, &r);
		done += nr;
	} while (nr == r.size && done < size);
	return done;
}

/* ---- searching for writes ---- */

static bool touches(const struct value_event *ev, uint64_t addr, uint64_t nr_bytes, size_t *nr_all)
{
	if (ev->nr_bytes == UINT64_MAX) {
		(*nr_all)++;
		return false;
	}
	return addr - ev->addr < ev->nr_bytes || ev->addr - addr < nr_bytes;
}

const struct value_event *values_before(const struct values *v, uint64_t at, uint64_t addr,
					uint64_t nr_bytes, size_t *nr_all)
{
	for (size_t i = event_from(v, at); i > 0; i--)
		if (touches(&v->events[i - 1], addr, nr_bytes, nr_all))
			return &v->events[i - 1];
	return NULL;
}

const struct value_event *values_after(const struct values *v, uint64_t at, uint64_t addr,
				       uint64_t nr_bytes, size_t *nr_all)
{
	for (size_t i = event_from(v, at); i < v->nr_events; i++)
		if (touches(&v->events[i], addr, nr_bytes, nr_all))
			return &v->events[i];
	return NULL;
}
