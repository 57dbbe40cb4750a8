// SPDX-License-Identifier: BSD-2-Clause
/*
 * The blocks of the heap, and mappings, that the dying thread points into: which registers do, and
 * who allocated and freed them. A return address is in the caller, after the call. What registers
 * hold when the program ends itself says nothing: then only the block counts that is just being
 * freed.
 */
#include "report.h"
#include "report_json.h"
#include "util/json_out.h"

#include <inttypes.h>
#include <string.h>

#define MAX_POINTERS 34

struct pointers {
	struct block_pointer {
		const char *name; /* of the register; NULL: the address of the fault */
		uint64_t offset;  /* from the block's first byte */
	} at[MAX_POINTERS];
	int nr;
};

static void add_pointer(const struct auxtap_crash_block *block, struct pointers *p,
			const char *name, uint64_t value)
{
	if (p->nr < MAX_POINTERS && value >= block->addr && value - block->addr <= block->nr_bytes)
		p->at[p->nr++] =
			(struct block_pointer){.name = name, .offset = value - block->addr};
}

static void find_pointers(const struct report_facts *facts, const struct auxtap_regs *regs,
			  const struct auxtap_crash_block *block, struct pointers *p)
{
	const char *name;
	uint64_t value;

	p->nr = 0;
	for (int i = 0; regs && report_regs_pointer(regs, i, &name, &value); i++)
		if (name)
			add_pointer(block, p, name, value);
	if (facts->crash.flags & AUXTAP_CRASH_ADDR_VALID)
		add_pointer(block, p, NULL, facts->crash.fault_addr);
}

/* The call with this return address has not returned. */
static bool is_on_stack(const struct unwind_frames *frames, uint64_t return_addr)
{
	for (int i = 0; i < frames->nr; i++)
		if (frames->calls & 1ull << i && frames->pcs[i] + 1 == return_addr)
			return true;
	return false;
}

static bool is_being_freed(const struct auxtap_crash_block *b, const struct unwind_frames *frames)
{
	if (b->flags & AUXTAP_BLOCK_BAD_FREE)
		return is_on_stack(frames, b->bad_free_at);
	return b->flags & AUXTAP_BLOCK_FREED && is_on_stack(frames, b->freed_at);
}

/* The level of inlining that is the program's own at a call; -1: a library's code. */
static int own_level(const struct report_out *ro, uint64_t return_addr)
{
	struct auxtap_location loc = {.size = sizeof(loc)};

	if (auxtap_image_set_resolve(ro->images, ro->pid, ro->time, return_addr - 1, &loc))
		return -1;
	return report_own_level(&loc);
}

/* Any of it: threads may map and unmap in an order that is not that of the events. */
static bool is_mapped(const struct report_facts *facts, const struct auxtap_crash_block *b)
{
	for (size_t i = 0; i < facts->nr_maps; i++)
		if (facts->maps[i].start < b->addr + b->nr_bytes && facts->maps[i].end > b->addr)
			return true;
	return false;
}

/*
 * Worth a line: the fault was there, it is freed, or the program's own code allocated it. Registers
 * that earlier calls left over often point to what libraries allocate for themselves.
 */
static bool is_of_fault(const struct report_out *ro, const struct report_facts *facts,
			const struct auxtap_crash_block *b, const struct pointers *p)
{
	const bool is_freed = b->flags & AUXTAP_BLOCK_FREED,
		   at_fault = p->nr && !p->at[p->nr - 1].name;

	if (!p->nr || (b->flags & AUXTAP_BLOCK_MAPPING && is_mapped(facts, b) == is_freed))
		return false;
	if (b->flags & AUXTAP_BLOCK_MAPPING && is_freed)
		return at_fault || own_level(ro, b->freed_at) >= 0;
	return at_fault || is_freed || own_level(ro, b->allocated_at) >= 0;
}

void report_blocks_choose(const struct report_out *ro, struct report_facts *facts,
			  const struct auxtap_regs *regs, const struct unwind_frames *frames)
{
	const bool is_fault = facts->crash.si_code > 0 && !report_is_abort(&facts->crash);
	struct pointers pointers;
	size_t nr = 0;

	for (size_t i = 0; i < facts->nr_blocks; i++) {
		const struct auxtap_crash_block *b = &facts->blocks[i];

		find_pointers(facts, regs, b, &pointers);
		if ((is_fault && is_of_fault(ro, facts, b, &pointers)) || is_being_freed(b, frames))
			facts->blocks[nr++] = *b;
	}
	facts->nr_blocks = nr;
}

static void print_pointers(FILE *out, const struct auxtap_crash_block *block,
			   const struct pointers *p)
{
	for (int i = 0; i < p->nr; i++) {
		const struct block_pointer *at = &p->at[i];

		fprintf(out, "%s%s", i ? ", " : ": ", at->name ? at->name : "the fault's address");
		if (at->offset && at->offset == block->nr_bytes)
			fputs(" (at its end)", out);
		else if (at->offset)
			fprintf(out, " (byte %" PRIu64 ")", at->offset);
	}
	fputc('\n', out);
}

static void print_call(const struct report_out *ro, const char *what, uint64_t return_addr,
		       int32_t tid, int32_t dying)
{
	const int own = own_level(ro, return_addr);

	fprintf(ro->out, "    %-11s ", what);
	report_print_level(ro, return_addr - 1, own < 0 ? 0 : own);
	if (tid != dying)
		fprintf(ro->out, ", by thread %d", tid);
	fputc('\n', ro->out);
}

static const char *block_word(const struct auxtap_crash_block *b)
{
	if (b->flags & AUXTAP_BLOCK_MAPPING)
		return b->flags & AUXTAP_BLOCK_FREED ? "unmapped memory" : "mapped memory";
	return b->flags & AUXTAP_BLOCK_FREED ? "freed block" : "block";
}

void report_blocks_print(const struct report_out *ro, const struct report_facts *facts,
			 const struct auxtap_regs *regs)
{
	const int32_t dying = facts->crash.tid;
	struct pointers pointers;
	char what[40];

	for (size_t i = 0; i < facts->nr_blocks; i++) {
		const struct auxtap_crash_block *b = &facts->blocks[i];
		const bool is_map = b->flags & AUXTAP_BLOCK_MAPPING;

		find_pointers(facts, regs, b, &pointers);
		fprintf(ro->out, "  %s", block_word(b));
		if (b->allocated_at || b->nr_bytes)
			fprintf(ro->out, " of %" PRIu64 " bytes", b->nr_bytes);
		fprintf(ro->out, " at 0x%" PRIx64, b->addr);
		print_pointers(ro->out, b, &pointers);
		if (b->flags & AUXTAP_BLOCK_BAD_FREE) {
			if (b->bad_free_offset)
				snprintf(what, sizeof(what), "freed at byte %" PRIu64,
					 b->bad_free_offset);
			print_call(ro, b->bad_free_offset ? what : "freed again", b->bad_free_at,
				   b->bad_free_tid, dying);
		}
		if (b->freed_at)
			print_call(ro, is_map ? "unmapped" : "freed", b->freed_at, b->freed_tid,
				   dying);
		if (b->allocated_at)
			print_call(ro, is_map ? "mapped" : "allocated", b->allocated_at,
				   b->allocated_tid, dying);
	}
}

static void put_call(struct report_json *json, const char *key, bool known, uint64_t return_addr,
		     int32_t tid)
{
	struct json_out *j = &json->j;

	if (!known) {
		json_out_null(j, key);
		return;
	}
	json_out_open(j, key, '{');
	json_out_i64(j, "tid", tid);
	report_json_location(json, &json->r->ro, "location", return_addr - 1, false);
	json_out_close(j, '}');
}

void report_json_blocks(struct report_json *json, const struct auxtap_regs *regs)
{
	const struct report_facts *facts = &json->r->facts;
	struct json_out *j = &json->j;
	struct pointers pointers;

	json_out_open(j, "pointed_memory", '[');
	for (size_t i = 0; i < facts->nr_blocks; i++) {
		const struct auxtap_crash_block *b = &facts->blocks[i];

		find_pointers(facts, regs, b, &pointers);
		json_out_open(j, NULL, '{');
		json_out_hex(j, "address", b->addr);
		json_out_bool(j, "is_mapping", b->flags & AUXTAP_BLOCK_MAPPING);
		json_out_bool(j, "is_freed", b->flags & AUXTAP_BLOCK_FREED);
		if (b->allocated_at || b->nr_bytes)
			json_out_u64(j, "bytes", b->nr_bytes);
		else
			json_out_null(j, "bytes");
		json_out_open(j, "pointers", '[');
		for (int k = 0; k < pointers.nr; k++) {
			json_out_open(j, NULL, '{');
			json_out_text(j, "register", pointers.at[k].name);
			json_out_u64(j, "offset", pointers.at[k].offset);
			json_out_close(j, '}');
		}
		json_out_close(j, ']');
		put_call(json, "allocated", b->allocated_at, b->allocated_at, b->allocated_tid);
		put_call(json, "freed", b->freed_at, b->freed_at, b->freed_tid);
		put_call(json, "bad_free", b->flags & AUXTAP_BLOCK_BAD_FREE, b->bad_free_at,
			 b->bad_free_tid);
		if (b->flags & AUXTAP_BLOCK_BAD_FREE)
			json_out_u64(j, "bad_free_offset", b->bad_free_offset);
		json_out_close(j, '}');
	}
	json_out_close(j, ']');
}
