// SPDX-License-Identifier: BSD-2-Clause
/* The last branches of a thread. */
#include "decode/flow/branch_insn.h"
#include "report_branches.h"
#include "report_out.h"

#include <string.h>

/* The same branch that is taken again at once, as in a loop, is counted in its entry. */
static void add(struct report_branches *branches, const struct report_branch *branch)
{
	struct report_branch *last;

	branches->after_gap = false;
	if (branches->nr && branch->gap < 0) {
		last = &branches->at[(branches->nr - 1) % REPORT_BRANCHES];
		if (last->from == branch->from && last->to == branch->to &&
		    last->async == branch->async && !last->uncounted) {
			last->repeat++;
			return;
		}
	}
	branches->at[branches->nr++ % REPORT_BRANCHES] = *branch;
}

void report_branches_end(struct report_branches *branches)
{
	if (branches->is_held)
		add(branches, &branches->held);
	branches->is_held = false;
}

void report_branches_add(struct report_branches *branches, const struct auxtap_event *ev)
{
	struct report_branch branch = {
		.from = ev->ip,
		.to = ev->addr,
		.kind = ev->kind,
		.async = ev->type == AUXTAP_EVENT_ASYNC,
		.has_from = ev->has_ip,
		.has_to = ev->has_addr,
		.repeat = 1,
		.time = ev->time,
	};

	if (ev->type == AUXTAP_EVENT_TRACE) {
		if (ev->trace_on && ev->has_addr && ev->addr == branches->held.from)
			branches->is_held = false;
		return;
	}
	report_branches_end(branches);
	if (ev->type == AUXTAP_EVENT_GAP && ev->gap->cause != AUXTAP_GAP_UNCOUNTED) {
		branches->after_gap = true;
		branches->gap = ev->gap->cause;
	} else if (ev->type == AUXTAP_EVENT_GAP && branches->nr) {
		branches->at[(branches->nr - 1) % REPORT_BRANCHES].uncounted = true;
	}
	branch.gap = branches->after_gap ? (int)branches->gap : -1;
	if (branch.async && branches->after_uncounted && branches->is_emulated) {
		branches->held = branch;
		branches->is_held = true;
	} else if (branch.async || ev->type == AUXTAP_EVENT_BRANCH) {
		add(branches, &branch);
	}
	branches->after_uncounted =
		ev->type == AUXTAP_EVENT_GAP && ev->gap->cause == AUXTAP_GAP_UNCOUNTED;
}

static void keep_branches(struct report_branches *kept, const struct report_branches *branches,
			  unsigned int nr)
{
	kept->nr = branches->nr;
	for (unsigned int i = branches->nr > nr ? branches->nr - nr : 0; i != branches->nr; i++)
		kept->at[i % REPORT_BRANCHES] = branches->at[i % REPORT_BRANCHES];
}

static void at_call_add(struct report_branches_at_call *at_call,
			const struct report_branches *branches, unsigned int nr,
			const struct auxtap_event *ev)
{
	bool call = ev->kind == AUXTAP_BRANCH_CALL || ev->kind == AUXTAP_BRANCH_CALL_INDIRECT;

	if (call && ev->has_ip && ev->ip + ev->insn_size == at_call->return_addr) {
		if (!at_call->nr_open)
			keep_branches(&at_call->branches, branches, nr);
		at_call->nr_open++;
	} else if (ev->kind == AUXTAP_BRANCH_RETURN && ev->addr == at_call->return_addr &&
		   at_call->nr_open) {
		at_call->nr_open--;
	}
}

void report_branches_at_calls_add(struct report_branches_at_calls *at_calls,
				  const struct report_branches *branches, unsigned int nr,
				  const struct auxtap_event *ev)
{
	for (int i = 0; i < at_calls->nr; i++) {
		if (ev->type == AUXTAP_EVENT_GAP && ev->gap->cause != AUXTAP_GAP_UNCOUNTED)
			at_calls->at[i].nr_open = 0;
		else if (ev->type == AUXTAP_EVENT_BRANCH)
			at_call_add(&at_calls->at[i], branches, nr, ev);
	}
}

const struct report_branches *
report_branches_at_calls_find(const struct report_branches_at_calls *at_calls, uint64_t return_addr)
{
	for (int i = 0; i < at_calls->nr; i++)
		if (at_calls->at[i].return_addr == return_addr && at_calls->at[i].nr_open)
			return &at_calls->at[i].branches;
	return NULL;
}

const struct report_branch *report_branches_last(const struct report_branches *branches)
{
	/* the newest may be the signal of the death */
	for (unsigned int back = 1; back <= 2 && back <= branches->nr; back++) {
		const struct report_branch *b =
			&branches->at[(branches->nr - back) % REPORT_BRANCHES];

		if (!b->async)
			return b;
	}
	return NULL;
}

uint64_t report_branches_jump_to(const struct report_branches *branches, uint64_t pc)
{
	const struct report_branch *b = report_branches_last(branches);

	return b && !branches->after_gap && b->kind == AUXTAP_BRANCH_JUMP_INDIRECT && b->has_from &&
			       (b->to == pc || b->to == (pc & ~3ull)) ?
		       b->from :
		       0;
}

void report_branches_complete(struct report_branches *branches, uint64_t pc)
{
	for (unsigned int back = 1; back <= 2 && back <= branches->nr; back++) {
		struct report_branch *b = &branches->at[(branches->nr - back) % REPORT_BRANCHES];

		if (b->async && b->from == (pc & ~3ull))
			b->from = pc;
		if (b->to == (pc & ~3ull))
			b->to = pc;
	}
}

const char *report_branch_kind(const struct report_branch *b)
{
	if (b->async)
		return "interrupt";
	switch (b->kind) {
	case AUXTAP_BRANCH_COND:
		return "cond";
	case AUXTAP_BRANCH_JUMP:
	case AUXTAP_BRANCH_JUMP_INDIRECT:
		return "jump";
	case AUXTAP_BRANCH_CALL:
	case AUXTAP_BRANCH_CALL_INDIRECT:
		return "call";
	case AUXTAP_BRANCH_RETURN:
		return "return";
	case AUXTAP_BRANCH_SYSCALL:
		return "syscall";
	case AUXTAP_BRANCH_INT:
		return "int";
	default:
		return "far";
	}
}

bool report_branch_enters(const struct report_out *ro, const struct report_branch *b)
{
	struct report_out at = report_at(ro, b->time, b->to);
	struct auxtap_location loc = {.size = sizeof(loc)};

	if (b->kind == AUXTAP_BRANCH_CALL || b->kind == AUXTAP_BRANCH_CALL_INDIRECT)
		return true;
	return (b->kind == AUXTAP_BRANCH_JUMP || b->kind == AUXTAP_BRANCH_JUMP_INDIRECT) &&
	       !auxtap_image_set_symbol(at.images, at.pid, at.time, b->to, &loc) && loc.image &&
	       loc.nr_frames && loc.frames[0].symbol && !loc.frames[0].symbol_off;
}

/* Is it the restorer, which has no symbol, that a signal handler returns to? */
static bool is_sigreturn(const struct report_out *ro, uint64_t addr)
{
	/* mov $15, %rax; syscall */
	static const uint8_t x86[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
	uint8_t code[sizeof(x86)];

	return auxtap_image_set_read(ro->images, ro->pid, ro->time, addr, code, sizeof(code)) ==
		       sizeof(code) &&
	       !memcmp(code, x86, sizeof(x86));
}

/* entered: name the function that begins at addr, not what is inlined there. */
static void location_text(const struct report_out *ro, const struct report_branch *b, uint64_t addr,
			  bool entered, char *text, size_t size)
{
	struct report_out at = report_at(ro, b->time, addr);
	char name[200] = "", location[120] = "";

	if (entered)
		report_function_name(&at, addr, name, sizeof(name), location, sizeof(location));
	else
		report_name(&at, addr, name, sizeof(name), location, sizeof(location));
	if (!location[0] && is_sigreturn(&at, addr))
		snprintf(location, sizeof(location), "return from a signal handler");
	snprintf(text, size, "%s%s%s%s", name, location[0] ? " (" : "", location,
		 location[0] ? ")" : "");
}

static void print_gap(const struct report_out *ro, int cause)
{
	fprintf(ro->out, "  %s-- gap: %s --%s\n", ro->style->bad,
		auxtap_gap_cause_name((enum auxtap_gap_cause)cause), ro->style->off);
}

void report_branches_print(const struct report_out *ro, const struct report_branches *branches,
			   unsigned int nr, const char *before, const char *signal, bool unloaded)
{
	char from[360], to[360];

	if (nr > REPORT_BRANCHES)
		nr = REPORT_BRANCHES;
	if (nr > branches->nr)
		nr = branches->nr;
	if (!nr)
		return;
	fprintf(ro->out, "\n%sLast branches%s%s (newest last)%s\n", ro->style->title,
		before ? " before " : "", before ? before : "", ro->style->off);
	for (unsigned int i = branches->nr - nr; i != branches->nr; i++) {
		const struct report_branch *b = &branches->at[i % REPORT_BRANCHES];

		if (b->gap >= 0)
			print_gap(ro, b->gap);
		location_text(ro, b, b->from, false, from, sizeof(from));
		if (b->has_from && !b->from)
			snprintf(from, sizeof(from), "0x0");
		if (b->async && i + 1 == branches->nr && signal) {
			fprintf(ro->out, "  %s%-9s%s  %s%s\n", ro->style->bad, signal,
				ro->style->off, from, unloaded ? " (unloaded)" : "");
			continue;
		}
		if (b->async || branch_enters_kernel(b->kind))
			snprintf(to, sizeof(to), "the kernel");
		else if (b->to)
			location_text(ro, b, b->to, report_branch_enters(ro, b), to, sizeof(to));
		else
			snprintf(to, sizeof(to), b->has_to ? "0x0" : "(unknown)");
		fprintf(ro->out, "  %-9s  %-44s -> %s", report_branch_kind(b), from, to);
		if (b->repeat > 1)
			fprintf(ro->out, "  x %u", b->repeat);
		fputc('\n', ro->out);
		if (b->uncounted)
			print_gap(ro, AUXTAP_GAP_UNCOUNTED);
	}
	if (branches->after_gap)
		print_gap(ro, (int)branches->gap);
}
