// SPDX-License-Identifier: BSD-2-Clause
/*
 * Finds where the bad pointer came from: among the instructions that were executed last, the one
 * that read the pointer from memory or set it to a constant, or the function that returned it.
 */
#include "decode/flow/branch_insn.h"
#include "decode/image/image_private.h"
#include "origin.h"
#include "report_json.h"
#include "util/json_out.h"
#include "report_blocks.h"

#include <inttypes.h>
#include <string.h>

/*
 * Collects the runs between the last branches, back to where the kernel, a gap or a loop without
 * packets may have changed registers.
 */
static void collect_runs(const struct report_branches *branches, uint64_t end,
			 struct origin_flow *flow)
{
	const struct report_branch *ended = NULL, *last;
	unsigned int kept = branches->nr < REPORT_BRANCHES ? branches->nr : REPORT_BRANCHES;
	unsigned int back = 1;

	if (branches->after_gap || !kept)
		return;
	last = &branches->at[(branches->nr - 1) % REPORT_BRANCHES];
	if (last->async)
		back = 2; /* skip the signal */
	else if (!flow->is_branch)
		return;
	if (last->async && !flow->is_branch && last->from != end)
		return; /* the trace ends elsewhere */
	if (flow->is_branch)
		back++;
	for (; back <= kept; back++) {
		const struct report_branch *b =
			&branches->at[(branches->nr - back) % REPORT_BRANCHES];

		if (b->async || b->uncounted || !b->has_to || !b->has_from ||
		    branch_enters_kernel(b->kind))
			return;
		for (unsigned int i = 0; i < b->repeat; i++) {
			if (flow->nr == ORIGIN_RUNS)
				return;
			flow->run[flow->nr++] =
				(struct origin_run){.first = b->to, .end = end, .branch = ended};
			end = b->from;
			ended = b;
		}
		if (b->gap >= 0)
			return;
	}
}

/*
 * The C and C++ libraries, and the dynamic linker, are the runtime (report_is_runtime()).
 * Elsewhere, what comes from a library's headers is not the program's own (report_own_level()).
 */
bool origin_is_helper(const struct report_out *ro, uint64_t addr)
{
	struct auxtap_location loc = {.size = sizeof(loc)};

	return !auxtap_image_set_resolve(ro->images, ro->pid, ro->time, addr, &loc) && loc.image &&
	       !report_is_runtime(loc.image) && report_own_level(&loc) < 0;
}

bool origin_is_library(const struct report_out *ro, uint64_t addr)
{
	struct auxtap_location loc = {.size = sizeof(loc)};

	return !auxtap_image_set_resolve(ro->images, ro->pid, ro->time, addr, &loc) && loc.image &&
	       (report_is_runtime(loc.image) ||
		report_is_library_function(&loc, loc.nr_frames - 1));
}

void report_origin_find(const struct report_out *ro, const struct report_facts *facts,
			struct report_headline *head)
{
	struct report_origin *origin = &head->origin;
	struct origin_flow flow = {.ro = ro, .facts = facts, .regs = head->regs};
	const struct fault *fault = head->fault;

	*origin = (struct report_origin){.kind = REPORT_ORIGIN_UNKNOWN};
	if (!head->regs || head->regs->arch != AUXTAP_ARCH_X86_64 || !head->branches ||
	    facts->crash.si_code <= 0)
		return;
	flow.is_branch = fault->bad_ip;
	if (flow.is_branch && (!head->last || head->last->to != head->ip ||
			       (head->last->kind != AUXTAP_BRANCH_CALL_INDIRECT &&
				head->last->kind != AUXTAP_BRANCH_JUMP_INDIRECT)))
		return;
	flow.target = head->ip;
	flow.insn_ip = flow.is_branch ? head->last->from : head->ip;
	collect_runs(head->branches, flow.insn_ip, &flow);
	if (!origin_x86_find(&flow, fault, origin))
		origin->kind = REPORT_ORIGIN_UNKNOWN;
	origin->is_code = flow.is_branch || !fault->access.known;
}

bool report_origin_is_in(const struct auxtap_crash_block *block, const struct report_origin *origin)
{
	return origin->kind == REPORT_ORIGIN_READ && origin->has_addr && !origin->library_ran &&
	       !(block->flags & AUXTAP_BLOCK_MAPPING) && origin->addr >= block->addr &&
	       origin->addr - block->addr < block->nr_bytes;
}

/* The block of the heap that the pointer was read from; NULL: no known block. */
static const struct report_block *block_of(const struct report_facts *facts,
					   const struct report_origin *origin)
{
	for (size_t i = 0; i < facts->nr_blocks; i++)
		if (report_origin_is_in(&facts->blocks[i].record, origin))
			return &facts->blocks[i];
	return NULL;
}

/* The level of the function that the report names for an instruction at loc. */
static int named_level(const struct auxtap_location *loc)
{
	const int level = report_own_level(loc);

	if (level >= 0)
		return level;
	return report_is_runtime(loc->image) ? 0 : (int)loc->nr_frames - 1;
}

/*
 * Finds the function whose line is that of the instruction: the one that the report names, or, if
 * that has no line there, one that it is inlined into.
 */
static const struct auxtap_frame *function_with_line(const struct report_out *ro, uint64_t ip,
						     struct auxtap_location *loc)
{
	unsigned int level;

	*loc = (struct auxtap_location){.size = sizeof(*loc)};
	if (auxtap_image_set_resolve(ro->images, ro->pid, ro->time, ip, loc) || !loc->nr_frames)
		return NULL;
	level = (unsigned int)named_level(loc);
	/* the line before an instruction without one may be of another function */
	while (!loc->frames[level].file && level + 1 < loc->nr_frames)
		level++;
	return &loc->frames[level];
}

bool origin_begins_line(const struct report_out *ro, uint64_t addr)
{
	const uint64_t begin = image_set_line_begin(ro->images, ro->pid, ro->time, addr);
	struct auxtap_location loc = {.size = sizeof(loc)};

	if (!begin)
		return true;
	return begin == addr &&
	       !auxtap_image_set_resolve(ro->images, ro->pid, ro->time, addr, &loc) &&
	       loc.nr_frames && loc.frames[0].file;
}

bool origin_same_line(const struct report_out *ro, uint64_t ip, uint64_t other_ip)
{
	struct auxtap_location loc, other_loc;
	const struct auxtap_frame *frame, *other;

	if (ip == other_ip)
		return true;
	frame = function_with_line(ro, ip, &loc);
	other = function_with_line(ro, other_ip, &other_loc);
	return frame && other && frame->file && other->file && frame->line == other->line &&
	       !strcmp(frame->file, other->file);
}

/* Is ip in a function of a library's header that is inlined into one of the program's own? */
static bool is_in_inlined_helper(const struct report_out *ro, uint64_t ip)
{
	struct auxtap_location loc = {.size = sizeof(loc)};

	return !auxtap_image_set_resolve(ro->images, ro->pid, ro->time, ip, &loc) &&
	       loc.nr_frames && report_own_level(&loc) > 0;
}

void report_origin_check(const struct report_out *ro, const struct report_facts *facts,
			 struct report_headline *head)
{
	struct report_origin *origin = &head->origin;
	const uint64_t fault_ip = head->fault->bad_ip && head->last ? head->last->from : head->ip;

	/* a variable that was never set may be in a register that a function has left */
	if (origin->kind == REPORT_ORIGIN_RETURNED &&
	    !image_set_returns_address(ro->images, ro->pid, ro->time, origin->ip)) {
		origin->kind = REPORT_ORIGIN_UNKNOWN;
		return;
	}
	if (origin->kind != REPORT_ORIGIN_RETURNED && is_in_inlined_helper(ro, origin->ip))
		origin->in_call = true;
	if (origin->kind == REPORT_ORIGIN_READ && block_of(facts, origin))
		return;
	if (origin->kind == REPORT_ORIGIN_READ && origin->has_addr && !origin->is_local)
		origin->variable =
			image_set_variable(ro->images, ro->pid, ro->time, origin->ip, origin->addr,
					   &origin->variable_off, &origin->variable_size);
	if (origin->variable)
		return;
	if ((origin->kind == REPORT_ORIGIN_READ && origin->is_local) ||
	    (origin->kind != REPORT_ORIGIN_RETURNED && origin_same_line(ro, origin->ip, fault_ip)))
		origin->kind = REPORT_ORIGIN_UNKNOWN;
}

/* Prints the function of the instruction, with its line. */
static void print_function(const struct report_out *ro, uint64_t ip)
{
	struct auxtap_location loc = {.size = sizeof(loc)};
	const struct auxtap_frame *frame;
	unsigned int level = 0;

	if (!auxtap_image_set_resolve(ro->images, ro->pid, ro->time, ip, &loc) && loc.nr_frames) {
		level = (unsigned int)named_level(&loc);
		frame = &loc.frames[level];
		if (!frame->file && frame->symbol) { /* the line before it may be any other one */
			fprintf(ro->out, "%s%s", report_symbol(ro, frame->symbol),
				level + 1 < loc.nr_frames ? " (inlined)" : "");
			return;
		}
	}
	report_print_caller(ro, (struct report_caller){.pc = ip, .level = (int)level});
}

void report_origin_print(const struct report_out *ro, const struct report_facts *facts,
			 const struct report_origin *origin)
{
	const char *what = origin->is_code ? "address" : origin->value ? "pointer" : "null pointer";
	const struct report_block *block;

	if (origin->kind == REPORT_ORIGIN_UNKNOWN)
		return;
	fprintf(ro->out, "  The %s%s was ", what,
		origin->value && origin->value != origin->used ? ", before a constant was added," :
								 "");
	if (origin->kind == REPORT_ORIGIN_RETURNED) {
		fputs("returned by ", ro->out);
		report_print_outermost(ro, origin->ip);
		fputc('\n', ro->out);
		return;
	}
	fprintf(ro->out, "%s %s ", origin->kind == REPORT_ORIGIN_READ ? "read" : "set",
		origin->in_call ? "in a call from" : "by");
	print_function(ro, origin->ip);
	block = block_of(facts, origin);
	if (block)
		fprintf(ro->out,
			", from byte %" PRIu64 " of the %s of %" PRIu64 " bytes at 0x%" PRIx64,
			origin->addr - block->record.addr,
			report_block_was_freed(block) ? "freed block" : "block",
			block->record.nr_bytes, block->record.addr);
	else if (origin->variable && !origin->variable_off && origin->variable_size == 8)
		fprintf(ro->out, ", from the variable %s", report_symbol(ro, origin->variable));
	else if (origin->variable)
		fprintf(ro->out, ", from byte %" PRIu64 " of the variable %s", origin->variable_off,
			report_symbol(ro, origin->variable));
	fputc('\n', ro->out);
}

void report_json_origin(struct report_json *json, const struct report_origin *origin)
{
	static const char *const kinds[] = {[REPORT_ORIGIN_READ] = "read",
					    [REPORT_ORIGIN_RETURNED] = "returned",
					    [REPORT_ORIGIN_SET] = "set"};
	const struct report_block *block = block_of(&json->r->facts, origin);
	struct auxtap_location loc = {.size = sizeof(loc)};
	const struct report_out *ro = &json->r->ro;
	struct json_out *j = &json->j;
	int level = -1;

	if (origin->kind == REPORT_ORIGIN_UNKNOWN) {
		json_out_null(j, "pointer_origin");
		return;
	}
	json_out_open(j, "pointer_origin", '{');
	json_out_text(j, "kind", kinds[origin->kind]);
	json_out_bool(j, "is_code", origin->is_code);
	if (origin->has_value)
		json_out_hex(j, "value", origin->value);
	else
		json_out_null(j, "value");
	if (block) {
		json_out_hex(j, "block", block->record.addr);
		json_out_u64(j, "offset", origin->addr - block->record.addr);
	} else {
		json_out_null(j, "block");
		if (origin->variable)
			json_out_u64(j, "offset", origin->variable_off);
		else
			json_out_null(j, "offset");
	}
	json_out_bool(j, "in_call", origin->in_call);
	json_out_text(j, "variable", origin->variable);
	if (origin->variable)
		json_out_u64(j, "variable_bytes", origin->variable_size);
	else
		json_out_null(j, "variable_bytes");
	if (origin->kind != REPORT_ORIGIN_RETURNED &&
	    !auxtap_image_set_resolve(ro->images, ro->pid, ro->time, origin->ip, &loc))
		level = loc.nr_frames ? named_level(&loc) : 0;
	report_json_caller(json, "location",
			   (struct report_caller){.pc = origin->ip, .level = level});
	json_out_close(j, '}');
}
