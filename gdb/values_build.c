// SPDX-License-Identifier: BSD-2-Clause
/* Assigns the entries of a ring of values to instructions of the history; see gdb_values.h. */
#include "gdb_values.h"
#include "replay_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/vector.h"

#define ENTRIES_MAX 65536 /* stores of one block, which may have a REP instruction */
#define INSN_MAX    15

/* A position in the history, which moves backwards by instructions. */
struct cursor {
	struct replay *r;
	uint32_t thread;
	uint64_t at;   /* index of the entry */
	uint32_t insn; /* instructions of the entry before the cursor */
	uint64_t *pcs; /* addresses of the entry's instructions */
	size_t max_pcs;
};

/* Moves the cursor to the previous instruction. False: there is none, or a gap. */
static bool cursor_back(struct cursor *c, uint64_t *pc)
{
	const struct history_thread *t = &c->r->h->threads[c->thread];

	while (!c->insn) {
		uint32_t id;
		const struct history_entry *entry;

		if (c->at <= t->first)
			return false;
		id = history_entry_id(c->r->h, c->thread, c->at - 1);
		if (id == UINT32_MAX || c->r->h->entries[id].kind == ENTRY_GAP)
			return false;
		c->at--;
		entry = &c->r->h->entries[id];
		if (entry->kind != ENTRY_BLOCK)
			continue;
		if (entry->nr > c->max_pcs) {
			uint64_t *pcs = realloc(c->pcs, entry->nr * sizeof(*pcs));

			if (!pcs)
				return false;
			c->pcs = pcs;
			c->max_pcs = entry->nr;
		}
		for (uint32_t i = 0; i < entry->nr; i++)
			if (!replay_address(c->r, id, i, &c->pcs[i]))
				return false;
		c->insn = entry->nr;
	}
	*pc = c->pcs[--c->insn];
	return true;
}

/* The entries between the start of a block and that of the next one, newest first. */
struct pending {
	struct value_log_entry entries[ENTRIES_MAX];
	size_t nr;
	bool left, called;
	uint64_t left_ip;
};

struct build {
	struct values *v;
	const struct value_log *from;
	struct cursor cursor;
	struct pending pending;
	uint64_t at; /* number of the instruction after the block that is being matched */
	uint64_t end;
	struct value_regs regs;
};

/*
 * Matches a block with the instructions before the cursor. Returns how many instructions of the
 * block were executed; -1: they differ.
 */
static int match_block(struct build *b, uint64_t ip, uint32_t nr)
{
	const struct pending *p = &b->pending;
	bool left = p->left && !p->called && p->left_ip >= ip &&
		    p->left_ip - ip < (uint64_t)nr * INSN_MAX;
	uint64_t pc, above = 0;
	uint32_t done = 0;

	if (left && p->left_ip == ip)
		/* one round of a loop less would look the same: only at the end of the history */
		return b->at == b->end ? 0 : -1;
	do {
		if (done == nr || !cursor_back(&b->cursor, &pc))
			return -1;
		if (done && (pc >= above || above - pc > INSN_MAX))
			return -1;
		if (!done && left && pc >= p->left_ip)
			left = false; /* after its last instruction */
		above = pc;
		done++;
	} while (pc != ip);
	return left || done == nr ? (int)done : -1;
}

static int add_event(struct build *b, const struct value_log_entry *entry, uint64_t start,
		     uint32_t done)
{
	struct values *v = b->v;
	struct value_log_write write;
	struct value_event ev;

	if (!value_log_write(entry, &write))
		return 0;
	ev = (struct value_event){.addr = write.addr,
				  .nr_bytes = write.nr_bytes,
				  .bytes = write.bytes};
	/*
	 * writes after the block, or of an instruction that was not completed, are assigned to the
	 * last instruction that was executed
	 */
	ev.at = start + entry->insn;
	if (entry->insn >= done)
		ev.at = start + done ? start + done - 1 : 0;
	if (vector_grow(v->events, v->nr_events, v->max_events))
		return -ENOMEM;
	v->events[v->nr_events++] = ev;
	return 0;
}

/* Returns 1 to go on; 0 if the values start here; or -ENOMEM. */
static int take_block(struct build *b, const struct value_log_entry *entry)
{
	struct value_regs before = b->regs;
	uint64_t start, ip;
	int done, ret = 0;

	if (!value_log_block(entry, before.reg, &ip))
		return 0;
	done = match_block(b, ip, entry->insn);
	if (done < 0 || (uint64_t)done > b->at)
		return 0;
	start = b->at - (uint64_t)done;
	for (size_t i = 0; i < b->pending.nr && !ret; i++)
		ret = add_event(b, &b->pending.entries[i], start, (uint32_t)done);
	if (ret || vector_grow(b->v->regs, b->v->nr_regs, b->v->max_regs))
		return -ENOMEM;
	b->regs.at = start;
	b->v->regs[b->v->nr_regs++] = b->regs;
	b->regs = before;
	b->at = b->v->first = start;
	b->v->has_values = true;
	b->pending.nr = 0;
	b->pending.left = b->pending.called = false;
	return 1;
}

/* Reads the entries from the newest on. */
static int take_entries(struct build *b)
{
	size_t at = b->from->head.nr_words;
	struct value_log_entry entry;
	int more = 1;

	while (more == 1 && value_log_back(b->from, &at, &entry)) {
		switch (entry.kind) {
		case AUXTAP_VALUES_BLOCK:
			more = take_block(b, &entry);
			break;
		case AUXTAP_VALUES_WRITE:
		case AUXTAP_VALUES_UNKNOWN:
			if (b->pending.nr == ENTRIES_MAX)
				return 0;
			b->pending.entries[b->pending.nr++] = entry;
			break;
		case AUXTAP_VALUES_LEFT:
			b->pending.left = entry.nr_words > 0;
			b->pending.left_ip = entry.nr_words ? entry.words[0] : 0;
			break;
		case AUXTAP_VALUES_SYSCALL:
			b->pending.called = true;
			break;
		case AUXTAP_VALUES_VOID:
		case AUXTAP_VALUES_TIME:
			break;
		default:
			return 0; /* LOST, or an unknown kind */
		}
	}
	return more < 0 ? more : 0;
}

/* ---- memory at the end ---- */

/*
 * The newest value of each byte must be the one in the recording's memory. Otherwise something
 * wrote there that is not in the ring, and its values cannot be trusted.
 */
static int check_memory(struct values *v, const struct recording *rec)
{
	for (size_t m = 0; m < rec->facts.nr_memory; m++) {
		const struct report_memory *memory = &rec->facts.memory[m];
		uint8_t *seen = calloc(memory->nr_bytes, 1);

		if (!seen)
			return -ENOMEM;
		for (size_t i = v->nr_events; i-- > 0 && v->memory;) {
			const struct value_event *ev = &v->events[i];
			uint64_t from = ev->addr > memory->addr ? ev->addr : memory->addr;

			if (ev->nr_bytes == UINT64_MAX)
				break;
			for (; from - ev->addr < ev->nr_bytes &&
			       from - memory->addr < memory->nr_bytes;
			     from++) {
				uint8_t *byte = &seen[from - memory->addr];

				if (!*byte && ev->bytes &&
				    ev->bytes[from - ev->addr] !=
					    memory->bytes[from - memory->addr])
					v->memory = false;
				*byte = 1;
			}
		}
		free(seen);
	}
	return 0;
}

/* ---- */

static void reverse(void *items, size_t nr, size_t size)
{
	uint8_t *from = items, *to = from + nr * size, swap[256];

	for (; nr > 1 && from + size <= (to -= size) && size <= sizeof(swap); from += size) {
		memcpy(swap, from, size);
		memcpy(from, to, size);
		memcpy(to, swap, size);
	}
}

/* Whether the history of the thread ends at its program counter in the recording. */
static bool ends_there(const struct recording *rec, const struct history_thread *t)
{
	uint64_t pc;

	return t->end_known && recording_pc(recording_regs(rec, t->tid), &pc) && pc == t->end_ip;
}

/* False: another thread may have written between any two instructions. */
static bool is_only_thread(const struct recording *rec, const struct history *h, uint32_t thread,
			   const struct value_log *from)
{
	for (uint32_t i = 0; i < h->nr_threads; i++)
		if (i != thread && h->threads[i].pid == h->threads[thread].pid)
			return false;
	return rec->facts.nr_threads == 1 && !(from->head.flags & AUXTAP_VALUES_THREADS);
}

int values_build(struct values *v, const struct recording *rec, struct replay *r, uint32_t thread,
		 const struct value_log *from)
{
	const struct history_thread *t = &r->h->threads[thread];
	struct build *b;
	int ret;

	memset(v, 0, sizeof(*v));
	v->thread = thread;
	if (!ends_there(rec, t)) {
		v->why_none = "the trace does not reach the end of the thread";
		return 0;
	}
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->v = v;
	b->from = from;
	b->cursor = (struct cursor){.r = r, .thread = thread, .at = t->nr};
	b->at = b->end = t->nr_insns;
	memcpy(b->regs.reg, from->head.regs, sizeof(b->regs.reg));
	v->has_regs = !(from->head.flags & AUXTAP_VALUES_BAD_REGS);
	ret = take_entries(b);
	reverse(v->events, v->nr_events, sizeof(*v->events));
	reverse(v->regs, v->nr_regs, sizeof(*v->regs));
	v->memory = v->has_values && is_only_thread(rec, r->h, thread, from);
	if (!ret && v->memory)
		ret = check_memory(v, rec);
	if (!v->has_values)
		v->why_none = "the recorded values do not fit the trace";
	else if (!is_only_thread(rec, r->h, thread, from))
		v->why_none = "the process had more than one thread: when each wrote is unknown";
	else if (!v->memory)
		v->why_none = "the recorded values differ from the memory in the snapshot";
	free(b->cursor.pcs);
	free(b);
	return ret;
}

void values_free(struct values *v)
{
	free(v->events);
	free(v->regs);
	memset(v, 0, sizeof(*v));
}
