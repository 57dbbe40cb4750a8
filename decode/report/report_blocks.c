// SPDX-License-Identifier: BSD-2-Clause
/*
 * The blocks of the heap, and mappings, that the dying thread points into: which registers point
 * there, and who allocated and freed them. A return address is in the caller, after the call. If
 * the program ends itself, the registers prove nothing: then only a block that is being freed is
 * shown.
 */
#include "report_blocks.h"
#include "report_regs.h"
#include "report_json.h"
#include "util/json_out.h"

#include <auxtap/text.h>
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#define MAX_POINTERS 34
#define MAX_PAST     (256 << 10) /* most bytes from the end of a block to a fault past it */
#define NULL_AREA    0x10000

struct pointers {
	struct block_pointer {
		const char *name; /* the register; NULL: it is the address of the fault */
		uint64_t offset;  /* from the block's first byte */
		bool is_variable; /* it is the block's variable, not a register */
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
			  const struct report_block *report_block, struct pointers *p)
{
	const struct auxtap_crash_block *block = &report_block->record;
	const int has_variable = report_block->variable[0] != 0;
	const char *name;
	uint64_t value;

	p->nr = 0;
	if (has_variable)
		p->at[p->nr++] = (struct block_pointer){.offset = report_block->variable_offset,
							.is_variable = true};
	for (int i = 0; regs && report_regs_pointer(regs, i, &name, &value); i++)
		if (name)
			add_pointer(block, p, name, value);
	if (!(facts->crash.flags & AUXTAP_CRASH_ADDR_VALID))
		return;
	/* a loop that ran past the end of the block has its pointer in a register */
	if (p->nr > has_variable && p->nr < MAX_POINTERS && block->nr_bytes &&
	    !(block->flags & AUXTAP_BLOCK_MAPPING) &&
	    facts->crash.fault_addr - block->addr > block->nr_bytes &&
	    facts->crash.fault_addr - block->addr < block->nr_bytes + MAX_PAST)
		p->at[p->nr++] =
			(struct block_pointer){.offset = facts->crash.fault_addr - block->addr};
	else
		add_pointer(block, p, NULL, facts->crash.fault_addr);
}

/* True if the call with this return address has not returned. */
static bool is_on_stack(const struct unwind_frames *frames, uint64_t return_addr)
{
	for (int i = 0; i < frames->nr; i++)
		if (frames->call_mask & 1ull << i && frames->pcs[i] + 1 == return_addr)
			return true;
	return false;
}

/*
 * Did malloc find the block which was to be freed in one of its lists of free blocks? Its other
 * messages that have "double free" mean that, or damage.
 */
static bool is_double_free(const struct report_facts *facts)
{
	return facts->message && (strstr(facts->message, "double free detected in tcache") ||
				  strstr(facts->message, "double free or corruption (fasttop)"));
}

/* True if free(), or another function that frees the block, is running. */
static bool is_being_freed(const struct auxtap_crash_block *b, const struct unwind_frames *frames)
{
	return b->flags & AUXTAP_BLOCK_FREED &&
	       !(b->flags & (AUXTAP_BLOCK_RETURNED | AUXTAP_BLOCK_MAPPING)) &&
	       is_on_stack(frames, b->freed_at);
}

/* The level of the innermost function at a call that is the program's own; -1: none. */
static int own_level(const struct report_out *ro, uint64_t return_addr)
{
	struct auxtap_location loc = {.size = sizeof(loc)};

	if (auxtap_image_set_resolve(ro->images, ro->pid, ro->time, return_addr - 1, &loc))
		return -1;
	return report_own_level(&loc);
}

/*
 * False if no function of the program is among the callers: the C library itself frees the blocks
 * in a thread's cache of free blocks when the thread ends.
 */
static bool is_own_free(const struct report_out *ro, const struct report_facts *facts,
			const struct auxtap_regs *regs, const struct auxtap_crash_block *b)
{
	struct report_callers callers;

	report_block_callers(ro, facts, regs ? regs->arch : 0, b, AUXTAP_BLOCK_BAD_FREES,
			     b->bad_free_at, &callers);
	return callers.at[0].level == REPORT_REPLACED || own_level(ro, callers.at[0].pc + 1) >= 0;
}

/*
 * True if any part of the block is mapped. The events alone do not say so: threads may map and
 * unmap in another order than they log it.
 */
static bool is_mapped(const struct report_facts *facts, const struct auxtap_crash_block *b)
{
	for (size_t i = 0; i < facts->nr_maps; i++)
		if (facts->maps[i].start < b->addr + b->nr_bytes && facts->maps[i].end > b->addr)
			return true;
	return false;
}

/* True if the text of the instruction names the register: rdi as rdi or edi, x6 as x6 or w6. */
static bool is_in_insn(const char *insn, const char *name)
{
	const bool is_number = isdigit((unsigned char)name[1]);
	const size_t len = strlen(name) - 1;

	for (const char *at = insn; (at = strstr(at, name + 1)); at++) {
		const char prefix = at > insn ? at[-1] : ' ', before = at > insn + 1 ? at[-2] : ' ';

		if (is_number ? (prefix == name[0] || (name[0] == 'x' && prefix == 'w')) &&
					!isalnum((unsigned char)before) &&
					!isdigit((unsigned char)at[len]) :
				prefix == '%' || (before == '%' && strchr("re", prefix)))
			return true;
	}
	return false;
}

/* True for registers whose value often is left from earlier calls, of malloc() and free() too. */
static bool is_scratch(const char *name)
{
	static const char *const scratch[] = {"r8",  "r9",  "r10", "r11", "x4",	 "x5",	"x6",
					      "x7",  "x8",  "x9",  "x10", "x11", "x12", "x13",
					      "x14", "x15", "x16", "x17", "x18"};

	for (size_t i = 0; i < sizeof(scratch) / sizeof(scratch[0]); i++)
		if (!strcmp(name, scratch[i]))
			return true;
	return false;
}

/* How closely a block is related to the fault; the lowest comes first. */
enum block_rank {
	RANK_FAULT,   /* the address of the fault is in it */
	RANK_FREEING, /* it is being freed */
	RANK_OPERAND, /* the faulting instruction uses a register that points to it */
	RANK_FREED,   /* it was freed */
	RANK_IN_USE,
	RANK_LEFT, /* freed; only registers with values from earlier calls point to it */
	RANK_NONE,
};

static enum block_rank rank_pointers(const struct auxtap_crash_block *b, const struct pointers *p,
				     const char *insn)
{
	enum block_rank rank = RANK_LEFT;

	for (int i = 0; i < p->nr; i++) {
		const char *name = p->at[i].name;

		if (p->at[i].is_variable) {
			if (rank == RANK_LEFT)
				rank = RANK_FREED;
			continue;
		}
		if (!name)
			return RANK_FAULT;
		if (is_in_insn(insn, name))
			rank = RANK_OPERAND;
		else if (!is_scratch(name) && rank == RANK_LEFT)
			rank = b->flags & AUXTAP_BLOCK_FREED ? RANK_FREED : RANK_IN_USE;
	}
	return p->nr ? rank : RANK_NONE;
}

/* True if a block of the heap is in the mapping. */
static bool has_block(const struct report_facts *facts, const struct auxtap_crash_block *mapping)
{
	for (size_t i = 0; i < facts->nr_blocks; i++) {
		const struct auxtap_crash_block *b = &facts->blocks[i].record;

		if (!(b->flags & AUXTAP_BLOCK_MAPPING) && facts->blocks[i].rank != RANK_NONE &&
		    b->addr - mapping->addr < mapping->nr_bytes)
			return true;
	}
	return false;
}

static enum block_rank rank_block(const struct report_out *ro, const struct report_facts *facts,
				  const struct auxtap_regs *regs, const char *insn,
				  const struct report_block *block)
{
	const struct auxtap_crash_block *b = &block->record;
	const bool is_freed = b->flags & AUXTAP_BLOCK_FREED,
		   is_map = b->flags & AUXTAP_BLOCK_MAPPING;
	struct pointers p;
	enum block_rank rank;
	bool is_own;

	if (is_map && is_mapped(facts, b) == is_freed)
		return RANK_NONE;
	find_pointers(facts, regs, block, &p);
	rank = rank_pointers(b, &p, insn);
	/* pointers to blocks and mappings of libraries are left in registers by their functions */
	is_own = own_level(ro, is_map && is_freed ? b->freed_at : b->allocated_at) >= 0;
	if (!is_own && ((is_map && rank > RANK_FAULT) || (!is_freed && rank > RANK_OPERAND)))
		return RANK_NONE;
	/* a null pointer is rarely read from such a block */
	if (rank == RANK_LEFT && (!is_freed || (facts->crash.flags & AUXTAP_CRASH_ADDR_VALID &&
						facts->crash.fault_addr < NULL_AREA)))
		return RANK_NONE;
	return rank;
}

static bool is_before_at(const struct report_block *block, uint64_t addr)
{
	return addr >= block->before.addr && addr - block->before.addr < block->before.nr_bytes;
}

/* Drops the earlier block unless the pointer that caused the fault would be in it. */
static void check_before(const struct report_facts *facts, const struct report_origin *origin,
			 struct report_block *block)
{
	const bool has_addr = facts->crash.flags & AUXTAP_CRASH_ADDR_VALID;

	if (!(report_origin_is_in(&block->record, origin) && is_before_at(block, origin->addr)) &&
	    !(has_addr && is_before_at(block, facts->crash.fault_addr)))
		block->before.size = 0;
}

void report_blocks_choose(const struct report_out *ro, struct report_facts *facts,
			  const struct auxtap_regs *regs, const char *insn,
			  const struct unwind_frames *frames, const struct report_origin *origin)
{
	const bool is_abort = report_is_abort(&facts->crash);
	const bool is_fault = facts->crash.si_code > 0 && !is_abort;
	const bool is_null =
		facts->crash.flags & AUXTAP_CRASH_ADDR_VALID && facts->crash.fault_addr < NULL_AREA;
	struct report_block *blocks = facts->blocks;
	const size_t nr = facts->nr_blocks;
	size_t nr_chosen = 0;

	if (is_fault || is_abort)
		report_block_variables(ro, facts, frames, is_null);
	for (size_t i = 0; i < nr; i++) {
		struct auxtap_crash_block *b = &blocks[i].record;
		bool is_bad = b->flags & AUXTAP_BLOCK_BAD_FREE;
		enum block_rank rank = is_fault ? rank_block(ro, facts, regs, insn, &blocks[i]) :
				       is_abort && blocks[i].variable[0] ? RANK_FREED :
									   RANK_NONE;

		if (is_fault && rank > RANK_OPERAND && report_origin_is_in(b, origin))
			rank = RANK_OPERAND;
		check_before(facts, origin, &blocks[i]);
		if (is_bad && !b->bad_free_offset && !is_own_free(ro, facts, regs, b)) {
			b->flags &= ~(uint32_t)AUXTAP_BLOCK_BAD_FREE;
			is_bad = false;
		}
		blocks[i].being_freed = !is_bad && is_being_freed(b, frames);
		blocks[i].freed_again = blocks[i].being_freed && is_double_free(facts);
		/* freeing the block was the last action of the thread */
		if ((is_bad || blocks[i].being_freed) && rank > RANK_FREEING)
			rank = RANK_FREEING;
		blocks[i].rank = rank;
	}
	/* drop mappings that contain blocks: malloc() made them */
	for (size_t i = 0; i < nr; i++)
		if (blocks[i].record.flags & AUXTAP_BLOCK_MAPPING &&
		    has_block(facts, &blocks[i].record))
			blocks[i].rank = RANK_NONE;
	for (int rank = 0; rank < RANK_NONE; rank++)
		for (size_t i = nr_chosen; i < nr; i++)
			if (blocks[i].rank == rank) {
				struct report_block chosen = blocks[i];

				memmove(&blocks[nr_chosen + 1], &blocks[nr_chosen],
					(i - nr_chosen) * sizeof(chosen));
				blocks[nr_chosen++] = chosen;
			}
	facts->nr_blocks = nr_chosen;
}

static void print_variable(const struct report_out *ro, const struct report_block *block)
{
	char name[128];

	auxtap_text_escape(name, sizeof(name), block->variable, strlen(block->variable));
	fprintf(ro->out, "%s%s of %s", block->variable_is_whole ? "" : "in ", name,
		report_symbol(ro, block->function));
}

static void print_pointers(const struct report_out *ro, const struct report_block *block,
			   const struct pointers *p)
{
	const uint64_t nr_bytes = block->record.nr_bytes;
	FILE *out = ro->out;

	for (int i = 0; i < p->nr; i++) {
		const struct block_pointer *at = &p->at[i];

		fputs(i ? ", " : ": ", out);
		if (at->is_variable)
			print_variable(ro, block);
		else
			fputs(at->name ? at->name : "the fault's address", out);
		if (at->offset && at->offset == nr_bytes)
			fputs(" (at its end)", out);
		else if (at->offset > nr_bytes)
			fprintf(out, " (%" PRIu64 " bytes past its end)", at->offset - nr_bytes);
		else if (at->offset)
			fprintf(out, " (byte %" PRIu64 ")", at->offset);
	}
	fputc('\n', out);
}

/* One of the calls that allocated or freed a block, as it is printed. */
struct block_call {
	const struct auxtap_crash_block *block;
	enum auxtap_block_action action;
	uint64_t return_addr;
	int32_t tid;
};

static struct block_call call_of(const struct auxtap_crash_block *b,
				 enum auxtap_block_action action)
{
	struct block_call call = {.block = b, .action = action};

	switch (action) {
	case AUXTAP_BLOCK_IS_ALLOCATED:
		call.return_addr = b->allocated_at;
		call.tid = b->allocated_tid;
		break;
	case AUXTAP_BLOCK_IS_FREED:
		call.return_addr = b->freed_at;
		call.tid = b->freed_tid;
		break;
	case AUXTAP_BLOCK_BAD_FREES:
		call.return_addr = b->bad_free_at;
		call.tid = b->bad_free_tid;
		break;
	case AUXTAP_BLOCK_WAS_ALLOCATED:
	case AUXTAP_BLOCK_WAS_FREED:
	case AUXTAP_BLOCK_IS_THROWN:
		break;
	}
	return call;
}

/* A call of the earlier block in the same memory. */
static struct block_call call_before(const struct report_block *block,
				     enum auxtap_block_action action)
{
	const bool is_free = action == AUXTAP_BLOCK_WAS_FREED;

	return (struct block_call){
		.block = &block->record,
		.action = action,
		.return_addr = is_free ? block->before.freed_at : block->before.allocated_at,
		.tid = is_free ? block->before.freed_tid : block->before.allocated_tid,
	};
}

static void find_callers(const struct report_out *ro, const struct report_facts *facts,
			 const struct auxtap_regs *regs, const struct block_call *call,
			 struct report_callers *callers)
{
	report_block_callers(ro, facts, regs ? regs->arch : 0, call->block, call->action,
			     call->return_addr, callers);
}

static void print_call(const struct report_out *ro, const struct report_facts *facts,
		       const struct auxtap_regs *regs, int indent, const char *what,
		       struct block_call call)
{
	struct report_callers callers;

	find_callers(ro, facts, regs, &call, &callers);
	for (int i = 0; i < callers.nr; i++) {
		fprintf(ro->out, "%*s%-11s %s", indent, "", i ? "  from" : what,
			!i && callers.in_call ? "in a call from " : "");
		report_print_caller(ro, callers.at[i]);
		if (!i && !call.tid)
			fputs(", before the process was forked", ro->out);
		else if (!i && call.tid != facts->crash.tid)
			fprintf(ro->out, ", by thread %d", call.tid);
		fputc('\n', ro->out);
	}
}

bool report_block_was_freed(const struct report_block *block)
{
	const uint32_t flags = block->record.flags;

	if (block->freed_again)
		return true;
	return flags & AUXTAP_BLOCK_FREED && !(flags & AUXTAP_BLOCK_UNRETURNED) &&
	       !block->being_freed;
}

/* What the call that freed the block did, in the text and in JSON. */
enum free_state { FREE_DONE, FREE_AGAIN, FREE_RUNNING, FREE_CALLED, FREE_UNMAPPED };
static const char *const free_words[] = {
	[FREE_DONE] = "freed",	       [FREE_AGAIN] = "freed again", [FREE_RUNNING] = "being freed",
	[FREE_CALLED] = "free called", [FREE_UNMAPPED] = "unmapped",
};
static const char *const free_states[] = {
	[FREE_DONE] = "freed",	       [FREE_AGAIN] = "freed_again", [FREE_RUNNING] = "being_freed",
	[FREE_CALLED] = "free_called", [FREE_UNMAPPED] = "unmapped",
};

static enum free_state free_state(const struct report_block *block)
{
	if (block->record.flags & AUXTAP_BLOCK_MAPPING)
		return FREE_UNMAPPED;
	if (block->freed_again)
		return FREE_AGAIN;
	if (block->being_freed)
		return FREE_RUNNING;
	return report_block_was_freed(block) ? FREE_DONE : FREE_CALLED;
}

static const char *block_word(const struct report_block *block)
{
	if (block->record.flags & AUXTAP_BLOCK_MAPPING)
		return report_block_was_freed(block) ? "unmapped memory" : "mapped memory";
	if (block->record.flags & AUXTAP_BLOCK_UNKNOWN)
		return "memory not known to be allocated,";
	return report_block_was_freed(block) ? "freed block" : "block";
}

/* True if the earlier block is shown: a pointer into a block in use may be older than the block. */
static bool shows_before(const struct report_block *block)
{
	return block->before.size && block->rank <= RANK_OPERAND && !report_block_was_freed(block);
}

static void print_before(const struct report_out *ro, const struct report_facts *facts,
			 const struct auxtap_regs *regs, const struct report_block *block)
{
	if (!shows_before(block))
		return;
	fprintf(ro->out, "    before it: a block of %" PRIu64 " bytes at 0x%" PRIx64 "\n",
		block->before.nr_bytes, block->before.addr);
	print_call(ro, facts, regs, 6, "freed", call_before(block, AUXTAP_BLOCK_WAS_FREED));
	print_call(ro, facts, regs, 6, "allocated", call_before(block, AUXTAP_BLOCK_WAS_ALLOCATED));
}

void report_blocks_print(const struct report_out *ro, const struct report_facts *facts,
			 const struct auxtap_regs *regs)
{
	struct pointers pointers;
	char what[48];

	for (size_t i = 0; i < facts->nr_blocks; i++) {
		const struct report_block *block = &facts->blocks[i];
		const struct auxtap_crash_block *b = &block->record;
		const bool is_map = b->flags & AUXTAP_BLOCK_MAPPING;

		find_pointers(facts, regs, block, &pointers);
		fprintf(ro->out, "  %s", block_word(block));
		if (b->allocated_at || b->nr_bytes)
			fprintf(ro->out, " of %" PRIu64 " bytes", b->nr_bytes);
		fprintf(ro->out, " at 0x%" PRIx64, b->addr);
		print_pointers(ro, block, &pointers);
		if (b->flags & AUXTAP_BLOCK_BAD_FREE) {
			if (b->bad_free_offset)
				snprintf(what, sizeof(what), "invalid free (byte %" PRIu64 ")",
					 b->bad_free_offset);
			print_call(ro, facts, regs, 4, b->bad_free_offset ? what : "freed again",
				   call_of(b, AUXTAP_BLOCK_BAD_FREES));
		}
		if (b->freed_at)
			print_call(ro, facts, regs, 4, free_words[free_state(block)],
				   call_of(b, AUXTAP_BLOCK_IS_FREED));
		if (b->allocated_at)
			print_call(ro, facts, regs, 4, is_map ? "mapped" : "allocated",
				   call_of(b, AUXTAP_BLOCK_IS_ALLOCATED));
		print_before(ro, facts, regs, block);
	}
}

/* ---- overruns ---- */

bool report_word_text(uint64_t word, char text[9])
{
	int len = 0;

	while (len < 8 && word >> 8 * len) {
		unsigned char byte = (unsigned char)(word >> 8 * len);

		if (byte < 0x20 || byte > 0x7e)
			return false;
		text[len++] = (char)byte;
	}
	text[len] = 0;
	return len >= 4;
}

void report_overrun_line(const struct report_out *ro, const struct report_facts *facts,
			 const struct auxtap_regs *regs)
{
	const struct auxtap_crash_block *b = &facts->overruns[0].record;
	const struct block_call call = call_of(b, AUXTAP_BLOCK_IS_ALLOCATED);
	struct report_callers callers;

	if (!facts->nr_overruns)
		return;
	find_callers(ro, facts, regs, &call, &callers);
	fprintf(ro->out,
		"  The heap is damaged right after a block of %" PRIu64 " bytes, allocated %s ",
		b->nr_bytes, callers.in_call ? "in a call from" : "by");
	report_print_caller(ro, callers.at[0]);
	fputc('\n', ro->out);
}

void report_overruns_print(const struct report_out *ro, const struct report_facts *facts,
			   const struct auxtap_regs *regs)
{
	for (size_t i = 0; i < facts->nr_overruns; i++) {
		const struct auxtap_crash_block *b = &facts->overruns[i].record;
		char text[9];

		fprintf(ro->out, "  block of %" PRIu64 " bytes at 0x%" PRIx64, b->nr_bytes,
			b->addr);
		if (b->flags & AUXTAP_BLOCK_AFTER_OVERRUN) {
			fputs(", the next in memory", ro->out);
		} else {
			fputs(": what malloc keeps right after it was overwritten", ro->out);
			if (b->flags & AUXTAP_BLOCK_HAS_AFTER_END)
				fprintf(ro->out, " with 0x%" PRIx64, b->after_end);
			if (report_word_text(b->after_end, text))
				fprintf(ro->out, ", as text \"%s\"", text);
		}
		fputc('\n', ro->out);
		print_call(ro, facts, regs, 4, "allocated", call_of(b, AUXTAP_BLOCK_IS_ALLOCATED));
	}
}

static void put_call(struct report_json *json, const struct auxtap_regs *regs, const char *key,
		     bool known, struct block_call call)
{
	struct report_caller at = {.pc = call.return_addr - 1, .returns = true};
	struct report_callers callers;
	struct json_out *j = &json->j;

	if (!known) {
		json_out_null(j, key);
		return;
	}
	json_out_open(j, key, '{');
	if (call.tid)
		json_out_i64(j, "tid", call.tid);
	else
		json_out_null(j, "tid");
	at.level = report_is_replaced(&json->r->ro, at.pc) ? REPORT_REPLACED : 0;
	report_json_caller(json, "location", at);
	find_callers(&json->r->ro, &json->r->facts, regs, &call, &callers);
	json_out_bool(j, "in_call", callers.in_call);
	json_out_open(j, "callers", '[');
	for (int i = 0; i < callers.nr; i++)
		report_json_caller(json, NULL, callers.at[i]);
	json_out_close(j, ']');
	json_out_close(j, '}');
}

static void put_variable(struct json_out *j, const struct report_block *block)
{
	json_out_text(j, "variable", block->variable);
	json_out_text(j, "function", block->function);
	json_out_bool(j, "is_part", !block->variable_is_whole);
}

static void put_before(struct report_json *json, const struct auxtap_regs *regs,
		       const struct report_block *block)
{
	struct json_out *j = &json->j;

	if (!shows_before(block)) {
		json_out_null(j, "before");
		return;
	}
	json_out_open(j, "before", '{');
	json_out_hex(j, "address", block->before.addr);
	json_out_u64(j, "bytes", block->before.nr_bytes);
	put_call(json, regs, "allocated", true, call_before(block, AUXTAP_BLOCK_WAS_ALLOCATED));
	put_call(json, regs, "freed", true, call_before(block, AUXTAP_BLOCK_WAS_FREED));
	json_out_close(j, '}');
}

void report_json_pointed_memory(struct report_json *json, const struct auxtap_regs *regs)
{
	const struct report_facts *facts = &json->r->facts;
	struct json_out *j = &json->j;
	struct pointers pointers;

	json_out_open(j, "pointed_memory", '[');
	for (size_t i = 0; i < facts->nr_blocks; i++) {
		const struct auxtap_crash_block *b = &facts->blocks[i].record;

		find_pointers(facts, regs, &facts->blocks[i], &pointers);
		json_out_open(j, NULL, '{');
		json_out_hex(j, "address", b->addr);
		json_out_bool(j, "is_mapping", b->flags & AUXTAP_BLOCK_MAPPING);
		json_out_bool(j, "is_freed", report_block_was_freed(&facts->blocks[i]));
		json_out_bool(j, "is_unknown", b->flags & AUXTAP_BLOCK_UNKNOWN);
		if (b->allocated_at || b->nr_bytes)
			json_out_u64(j, "bytes", b->nr_bytes);
		else
			json_out_null(j, "bytes");
		json_out_open(j, "pointers", '[');
		for (int k = 0; k < pointers.nr; k++) {
			json_out_open(j, NULL, '{');
			json_out_text(j, "register", pointers.at[k].name);
			if (pointers.at[k].is_variable)
				put_variable(j, &facts->blocks[i]);
			json_out_u64(j, "offset", pointers.at[k].offset);
			json_out_close(j, '}');
		}
		json_out_close(j, ']');
		put_call(json, regs, "allocated", b->allocated_at,
			 call_of(b, AUXTAP_BLOCK_IS_ALLOCATED));
		put_call(json, regs, "freed", b->freed_at, call_of(b, AUXTAP_BLOCK_IS_FREED));
		json_out_text(j, "free_state",
			      b->freed_at ? free_states[free_state(&facts->blocks[i])] : NULL);
		put_call(json, regs, "bad_free", b->flags & AUXTAP_BLOCK_BAD_FREE,
			 call_of(b, AUXTAP_BLOCK_BAD_FREES));
		if (b->flags & AUXTAP_BLOCK_BAD_FREE)
			json_out_u64(j, "bad_free_offset", b->bad_free_offset);
		put_before(json, regs, &facts->blocks[i]);
		json_out_close(j, '}');
	}
	json_out_close(j, ']');
}

static void put_overrun(struct report_json *json, const struct auxtap_regs *regs,
			const struct auxtap_crash_block *b)
{
	struct json_out *j = &json->j;

	json_out_hex(j, "address", b->addr);
	json_out_u64(j, "bytes", b->nr_bytes);
	put_call(json, regs, "allocated", true, call_of(b, AUXTAP_BLOCK_IS_ALLOCATED));
}

void report_json_overruns(struct report_json *json, const struct auxtap_regs *regs)
{
	const struct report_facts *facts = &json->r->facts;
	struct json_out *j = &json->j;

	json_out_open(j, "heap_overruns", '[');
	for (size_t i = 0; i < facts->nr_overruns; i++) {
		const struct auxtap_crash_block *b = &facts->overruns[i].record,
						*next = i + 1 < facts->nr_overruns ?
								&facts->overruns[i + 1].record :
								NULL;

		if (!(b->flags & AUXTAP_BLOCK_OVERRUN))
			continue;
		json_out_open(j, NULL, '{');
		put_overrun(json, regs, b);
		if (b->flags & AUXTAP_BLOCK_HAS_AFTER_END)
			json_out_hex(j, "after_end", b->after_end);
		else
			json_out_null(j, "after_end");
		if (next && next->flags & AUXTAP_BLOCK_AFTER_OVERRUN) {
			json_out_open(j, "next", '{');
			put_overrun(json, regs, next);
			json_out_close(j, '}');
		} else {
			json_out_null(j, "next");
		}
		json_out_close(j, '}');
	}
	json_out_close(j, ']');
}
