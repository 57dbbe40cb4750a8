// SPDX-License-Identifier: BSD-2-Clause
/*
 * Compares the backtrace with the calls of the trace that have not returned. A wrong frame pointer
 * (a callee has overwritten the saved one) leads to frames that do not exist: where the trace shows
 * another call, and the return address that it pushed is elsewhere in the stack, the backtrace
 * ends.
 */
#include "decode/flow/branch_insn.h"
#include "decode/image/image_private.h"
#include "report_state.h"
#include "report_regs.h"

#include <stdlib.h>
#include <string.h>

#define MAX_INSN     15
#define MAX_OPEN     256	/* innermost open calls that are looked at */
#define STACK_BELOW  4096	/* bytes below a frame where a return address is looked for */
#define STACK_SEARCH (1u << 20) /* and above it */

/* How many words at [from, to) of the memory in the file are addr, except the one in slot. */
static size_t count_words(const struct report_facts *facts, uint64_t from, uint64_t to,
			  uint64_t slot, uint64_t addr)
{
	uint64_t word;
	size_t nr = 0;

	for (size_t i = 0; i < facts->nr_memory; i++) {
		const struct report_memory *m = &facts->memory[i];
		uint64_t at = from > m->addr ? from : (m->addr + 7) & ~7ull;

		for (; at < to && at - m->addr < m->nr_bytes &&
		       m->nr_bytes - (at - m->addr) >= sizeof(word);
		     at += sizeof(word)) {
			memcpy(&word, m->bytes + (at - m->addr), sizeof(word));
			nr += word == addr && at != slot;
		}
	}
	return nr;
}

/* Is all of [from, to) in the file? */
static bool is_saved(const struct report_facts *facts, uint64_t from, uint64_t to)
{
	bool more = true;

	while (from < to && more) {
		more = false;
		for (size_t i = 0; i < facts->nr_memory; i++)
			if (from - facts->memory[i].addr < facts->memory[i].nr_bytes) {
				from = facts->memory[i].addr + facts->memory[i].nr_bytes;
				more = true;
			}
	}
	return from >= to;
}

/* How many calls older than number 'back', counted from the newest, pushed its return address? */
static size_t count_equal(const struct report_return_addrs *r, size_t back)
{
	const uint64_t pushed = callstack_newest(&r->calls, back);
	size_t nr = 0;

	for (size_t i = back + 1; i < r->calls.nr; i++)
		nr += callstack_newest(&r->calls, i) == pushed;
	return nr;
}

bool report_return_addr_elsewhere(const struct report_facts *facts,
				  const struct report_return_addrs *r, size_t back, uint64_t sp,
				  uint64_t slot)
{
	const struct report_map *map = report_facts_map(facts, sp);
	uint64_t from = (sp & ~7ull) - STACK_BELOW, to = sp + STACK_SEARCH;

	if (map && from < map->start)
		from = map->start;
	if (map && to > map->end)
		to = map->end;
	return count_words(facts, from, to, slot, callstack_newest(&r->calls, back)) >
	       count_equal(r, back);
}

bool report_return_addr_below(const struct report_facts *facts, const struct report_return_addrs *r,
			      uint64_t slot)
{
	return count_words(facts, slot - STACK_BELOW, slot, slot, callstack_newest(&r->calls, 0));
}

/* How many calls are newer than this one, which is found by its site; -1: unknown. */
static ssize_t newer_calls(const struct report_return_addrs *r, const struct call_open *call,
			   size_t from)
{
	for (size_t back = from; back < r->calls.nr; back++) {
		uint64_t addr = callstack_newest(&r->calls, back);

		if (addr > call->site && addr - call->site <= MAX_INSN)
			return (ssize_t)back;
	}
	return -1;
}

/*
 * Was the call traced that entered the function, with no unknown call between it and its caller,
 * and no gap in which direct calls of a recursion were not counted?
 */
static bool is_certain(const struct call_open *call)
{
	const struct call_node *node = call->node;

	return call->known_caller && !call->async && !call->by_return && !call->by_jump &&
	       call->site && node && !node->lost && !node->nr_above &&
	       !call_node_is_uncounted(node);
}

/* Index of the call that made the frame of the function open[at], skipping tail calls; nr: none. */
static size_t call_of_frame(const struct call_open *open, size_t nr, size_t at)
{
	while (at < nr && open[at].by_tail_call && open[at].is_proven)
		at++;
	return at < nr && !open[at].by_tail_call && is_certain(&open[at]) ? at : nr;
}

/*
 * Is the return address of frame i the one after the instruction of that call, or does its place
 * in the stack (x86-64) have what the call pushed? In a recursion that is also true of the frames
 * of other calls.
 */
static bool agrees(const struct report_facts *facts, const struct unwind_frames *frames, int i,
		   const struct call_open *call, uint64_t pushed)
{
	uint64_t word;

	if (i + 1 < frames->nr && frames->call_mask >> (i + 1) & 1 &&
	    frames->pcs[i + 1] >= call->site && frames->pcs[i + 1] - call->site < MAX_INSN)
		return true;
	return report_facts_memory(facts, frames->frames[i].cfa - 8, &word, sizeof(word)) &&
	       word == pushed;
}

/*
 * In a recursion, is it the frame of a call farther out? Then another word before its return
 * address is the one that the call pushed, or one that an earlier call has left. In the former case
 * the rest of the stack has too few of them, if it is known as a whole.
 */
static bool is_farther_out(const struct report_facts *facts, const struct report_return_addrs *r,
			   size_t back, uint64_t sp, uint64_t slot)
{
	const uint64_t pushed = callstack_newest(&r->calls, back);
	const size_t older = count_equal(r, back);
	const struct report_map *map = report_facts_map(facts, slot);

	return older && map && count_words(facts, sp, slot, 0, pushed) &&
	       is_saved(facts, slot, map->end) &&
	       count_words(facts, slot, map->end, 0, pushed) <= older;
}

/* Ends the backtrace with frame i, whose variables are not known. */
static void end_at(struct unwind_frames *frames, int i)
{
	const uint64_t kept = (2ull << i) - 1;

	frames->nr = i + 1;
	frames->frames[i].valid = false;
	frames->call_mask &= kept;
	frames->signal_mask &= kept;
	while (frames->nr_tails && frames->tails[frames->nr_tails - 1].frame > i)
		frames->nr_tails--;
	frames->by_pointers = frames->by_pointers > i ? 0 : frames->by_pointers;
	frames->overwritten = frames->overwritten > i ? 0 : frames->overwritten;
	frames->bad_return_addr = frames->unread_addr = 0;
	frames->complete = frames->not_called = frames->no_info = frames->no_file = false;
}

/* Is the call instruction at addr one by a register or memory? */
static bool is_indirect_call(const struct report_out *ro, bool a64, uint64_t addr)
{
	struct branch_insn insn;
	uint8_t code[MAX_INSN];
	uint32_t word;
	ssize_t n = auxtap_image_set_read(ro->images, ro->pid, ro->time, addr, code, sizeof(code));

	if (n < (ssize_t)sizeof(word))
		return false;
	memcpy(&word, code, sizeof(word));
	if (a64)
		return (word & 0xfffffc1f) == 0xd63f0000; /* blr */
	return !branch_insn_decode(code, (size_t)n, false, &insn) &&
	       insn.kind == AUXTAP_BRANCH_CALL_INDIRECT;
}

/* Was the function entered in its middle, by a wrong pointer? */
static bool is_entered_within(const struct report_out *ro, const struct call_open *call, bool a64)
{
	const uint64_t start = report_function_start(ro, call->addr);

	return start && call->addr != start && call->known_caller && !call->async &&
	       !call->by_tail_call && !call->by_jump && call->site &&
	       is_indirect_call(ro, a64, call->site);
}

/*
 * The frame of the function open[at]: it is where the call inside it is. -1: the backtrace does not
 * have it.
 */
static int frame_of(const struct unwind_frames *frames, const struct call_open *open, size_t at)
{
	int last = 0; /* of those that were found */
	bool is_missing = false;

	for (size_t i = 0; i < at; i++) {
		int next = last + 1;

		if (open[i].by_tail_call) {
			/* the last frame jumped to where no code is: it has not left the stack */
			if (next < frames->nr && !(frames->call_mask >> next & 1) &&
			    frames->pcs[next] == open[i].site)
				last = next;
			continue;
		}
		while (next < frames->nr && (frames->pcs[next] < open[i].site ||
					     frames->pcs[next] - open[i].site >= MAX_INSN))
			next++;
		is_missing = next >= frames->nr;
		last = is_missing ? last : next;
	}
	return is_missing ? -1 : last;
}

/*
 * Does the code that runs in the place of the function open[at], which was entered in its middle,
 * expect a frame that was not set up? That function itself, or one that it went to by a jump into
 * its middle; but not a function that it has called, at the end, by a jump to its entry.
 */
static bool lacks_frame(const struct report_out *ro, const struct call_open *open, size_t at,
			uint64_t pc)
{
	const uint64_t start = report_function_start(ro, open[at].addr);
	const uint64_t runs = report_function_start(ro, pc);
	uint64_t depth, before;
	const enum image_stack stack =
		image_set_stack_at(ro->images, ro->pid, ro->time, open[at].addr, &depth);
	bool went_nowhere = false;

	for (size_t i = 0; i < at; i++) {
		if (open[i].by_tail_call && open[i].addr == runs)
			return false;
		went_nowhere = went_nowhere || (open[i].by_tail_call && !open[i].addr);
	}
	/* its own subroutines, which use its frame pointer, or count their return address */
	if (report_function_start(ro, open[at].site) == start) {
		image_set_stack_at(ro->images, ro->pid, ro->time, open[at].site, &before);
		return stack == IMAGE_STACK_HAS_FRAME && !went_nowhere && depth != before + 8;
	}
	if (stack == IMAGE_STACK_HAS_FRAME || stack == IMAGE_STACK_BY_POINTER)
		return true;
	return runs && runs != start && runs != pc &&
	       image_set_stack_at(ro->images, ro->pid, ro->time, pc, NULL) >= IMAGE_STACK_HAS_FRAME;
}

/* Ends the backtrace at code that expects a frame which it has not set up. */
static void end_within(const struct report_out *ro, const struct call_open *open, size_t nr,
		       bool a64, struct unwind_frames *frames)
{
	size_t at = 0;
	int frame;

	if (nr > MAX_OPEN)
		nr = MAX_OPEN;
	while (at < nr && !is_entered_within(ro, &open[at], a64))
		at++;
	if (at == nr)
		return;
	frame = frame_of(frames, open, at);
	if (frame < 0 && at == 1 && open[0].by_jump)
		frame = 0; /* it jumped to where no code is, and is not in the backtrace */
	if (frame < 0 || frame >= UNWIND_MAX_FRAMES)
		return;
	if (lacks_frame(ro, open, at, frames->pcs[frame])) {
		end_at(frames, frame);
		frames->entered_within = true;
	} else if (report_function_start(ro, frames->pcs[frame]) !=
			   report_function_start(ro, open[at].addr) ||
		   report_function_start(ro, open[at].site) ==
			   report_function_start(ro, open[at].addr)) {
		return; /* a table of jumps, a subroutine of assembly */
	}
	frames->frames[frame].valid = false;
	frames->within_mask |= 1ull << frame;
}

void report_frames_check(const struct report_out *ro, const struct report_facts *facts,
			 struct thread_view *view, const struct auxtap_regs *regs,
			 struct unwind_frames *frames)
{
	const struct report_return_addrs *r = &view->returns;
	struct call_node *current = call_tree_current(view->calls);
	struct call_open *open = NULL;
	size_t nr = current ? call_tree_open_calls(view->calls, current, &open) : 0, at = 0;
	const bool a64 = regs->arch == AUXTAP_ARCH_AARCH64;
	uint64_t sp = 0, pushed; /* where the frame begins; the return address of its call */
	ssize_t back = -1;

	report_regs_sp(regs, &sp);
	end_within(ro, open, nr, a64, frames);
	for (int i = 0; i < frames->nr && i < UNWIND_MAX_FRAMES - 1; i++, at++) {
		const struct image_frame *frame = &frames->frames[i];

		if (at >= nr || frames->signal_mask >> i & 1 || !frame->valid || !frame->has_cfa ||
		    !open[at].addr || report_function_start(ro, frames->pcs[i]) != open[at].addr)
			break;
		at = call_of_frame(open, nr, at);
		if (at == nr)
			break;
		back = newer_calls(r, &open[at], (size_t)(back + 1));
		if (back < 0)
			break;
		pushed = callstack_newest(&r->calls, (size_t)back);
		if (agrees(facts, frames, i, &open[at], pushed)) {
			if (regs->arch == AUXTAP_ARCH_X86_64 &&
			    is_farther_out(facts, r, (size_t)back, sp, frame->cfa - 8)) {
				end_at(frames, i);
				frames->contradicted = true;
				break;
			}
			sp = frame->cfa;
			continue;
		}
		if (report_return_addr_elsewhere(facts, r, (size_t)back, sp, frame->cfa - 8)) {
			end_at(frames, i);
			frames->contradicted = true;
		}
		break;
	}
	free(open);
}
