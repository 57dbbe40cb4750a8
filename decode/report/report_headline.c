// SPDX-License-Identifier: BSD-2-Clause
/* The head of the report: what died, why, where, called from which function of the program. */
#include "fault.h"
#include "report_abort.h"
#include "report_blocks.h"
#include "report_branches.h"
#include "report_frames.h"
#include "report_headline.h"
#include "report_jump.h"
#include "report_origin.h"
#include "report_out.h"
#include "report_slice.h"

#include <inttypes.h>
#include <signal.h>

/* Is a function of the program's own at pc? If not, second is set to code of a library's header. */
static bool is_own_frame(const struct report_out *ro, uint64_t pc, struct report_own_frame *found,
			 struct report_own_frame *second)
{
	struct auxtap_location loc = {.size = sizeof(loc)};

	found->at.pc = pc;
	if (auxtap_image_set_resolve(ro->images, ro->pid, ro->time, pc, &loc) || !loc.image ||
	    report_is_runtime(loc.image) || report_is_helper(&loc))
		return false;
	found->at.level = report_own_level(&loc);
	if (found->at.level >= 0)
		return true;
	/* code of a library's header, in the program */
	if (second->frame < 0 && loc.nr_frames && loc.frames[0].file) {
		*second = *found;
		second->at.level = 0;
	}
	return false;
}

struct report_own_frame report_own_frame(const struct report_out *ro,
					 const struct unwind_frames *frames)
{
	struct report_own_frame second = {.frame = -1}, found;
	int tail = 0;

	for (int i = 0; i < frames->nr; i++) {
		found = (struct report_own_frame){.frame = i,
						  .at.returns = frames->call_mask >> i & 1};
		if (is_own_frame(ro, frames->pcs[i], &found, &second))
			return found;
		for (; tail < frames->nr_tails && frames->tails[tail].frame == i; tail++) {
			found.tail = true;
			found.at.returns = false;
			if (is_own_frame(ro, frames->tails[tail].site, &found, &second))
				return found;
		}
	}
	return second;
}

void report_headline_explain(const struct report_out *ro, const struct report_facts *facts,
			     struct report_headline *head)
{
	const struct auxtap_regs *regs = head->regs;
	/* an ETM leaves out the bits that are always 0 where A64 code is */
	uint64_t left_out = regs && regs->arch == AUXTAP_ARCH_AARCH64 ? 3 : 0;

	head->last = head->branches ? report_branches_last(head->branches) : NULL;
	if (head->last && head->last->to != (head->ip & ~left_out))
		head->last = NULL;
	if (regs)
		report_jump_explain(ro, facts, regs, head->returns, head->last, head->ip,
				    head->fault);
}

uint64_t report_last_traced(const struct report_headline *head)
{
	/* where the flow ran into, no instruction was executed */
	if (head->flow_end != head->ip)
		return head->flow_end;
	return head->ip - (head->regs->arch == AUXTAP_ARCH_AARCH64 ? 4 : 1);
}

/* Prints where the program was, and where it came from. */
static void print_where(const struct report_out *ro, const struct report_headline *head)
{
	const struct report_branch *b = head->last;
	struct report_own_frame own_frame = head->own_frame;
	FILE *out = ro->out;

	if (head->fault->bad_ip) {
		/* the trace shows where it came from, even if the stack is corrupted */
		if (b) {
			fputs(", from ", out);
			report_print_location(ro, b->from);
		} else if (head->flow_end_known) {
			fputs(", last traced in ", out);
			report_print_location(ro, report_last_traced(head));
		} else if (own_frame.frame > 0) {
			fputs(", from ", out);
			report_print_caller(ro, own_frame.at);
		}
	} else if (head->regs) {
		fputs(" in ", out);
		report_print_location(ro, head->ip);
		if (own_frame.frame > 0 || own_frame.at.level > 0 || own_frame.tail) {
			/* library code, or calls without a frame, are in between */
			fputs(own_frame.frame + own_frame.at.level > 1 ? ",\n  reached from " :
									 ",\n  called from ",
			      out);
			report_print_caller(ro, own_frame.at);
		}
	}
	fputc('\n', out);
}

/* Prints which fault went to the program's own handler before. */
static void print_handled(const struct report_out *ro, const struct report_facts *facts,
			  const struct report_headline *head)
{
	const struct report_handled *handled = &head->handled;
	const struct report_out then = report_at(ro, handled->fault.time, handled->fault.ip);
	const char *name = fault_signal_name(handled->fault.signo);
	static const char *const orders[] = {[REPORT_HANDLED_FIRST] = "the first of",
					     [REPORT_HANDLED_NEWEST] = "the newest of",
					     [REPORT_HANDLED_OTHER] = "one of"};
	struct fault fault;
	FILE *out = ro->out;

	fprintf(out, "  Before, a %s at ", name ? name : "fault");
	if (handled->fault.ip)
		report_print_location(&then, handled->fault.ip);
	else
		fputs("0x0", out);
	fputs(" went to the program's own handler", out);
	if (handled->nr_faults > 1)
		fprintf(out, " (%s %" PRIu64 " faults that did)", orders[handled->order],
			handled->nr_faults);
	fputs(".\n", out);
	if (head->regs && report_faults_again(ro, facts, head->regs, &handled->fault, &fault))
		fprintf(out, "  With the registers below that instruction faults again: %s\n",
			report_text(ro, fault.why));
	else if (report_handled_fault(ro, facts, head, &fault))
		fprintf(out, "  The frame of that handler says: %s\n", report_text(ro, fault.why));
}

/* Prints what else is known about the signal. */
static void print_facts(const struct report_out *ro, const struct report_facts *facts,
			const struct report_headline *head)
{
	const struct auxtap_crash *c = &facts->crash;
	FILE *out = ro->out;

	if (c->flags & AUXTAP_CRASH_EMULATOR_CRASHED)
		fprintf(out,
			"  Perhaps the program has overwritten the emulator's memory. Its registers, "
			"and what it executed last, are not known: run it with --source ptrace or "
			"on trace hardware.\n");
	if (c->flags & AUXTAP_CRASH_EMULATOR && head->unknown_insn)
		fprintf(out,
			"  The emulator does not know these bytes. A real processor may: run it with "
			"--source ptrace or on trace hardware.\n");
	else if (c->flags & AUXTAP_CRASH_EMULATOR)
		fprintf(out, "  This is a limit of the emulator, not the program's fault: run it "
			     "with --source ptrace or on trace hardware.\n");
	if (c->limit_bytes)
		fprintf(out,
			"  auxtap ended it: the processes of this session used more than %llu MiB, "
			"the limit that --max-memory sets.\n",
			(unsigned long long)c->limit_bytes >> 20);
	if (c->flags & AUXTAP_CRASH_MEMORY_UNREADABLE)
		fprintf(out,
			"  The program's memory could not be read: the kernel refused "
			"process_vm_readv and /proc/PID/mem. The snapshot has no code and no stack.\n");
	if (c->frame_signo && c->signo == SIGSEGV) {
		const char *refused = fault_signal_name(c->frame_signo);

		fputs("  The program's own handler for ", out);
		if (refused)
			fputs(refused, out);
		else
			fprintf(out, "signal %d", c->frame_signo);
		fputs(" could not be started: the kernel could not write its frame to the stack.\n",
		      out);
	}
	if (head->handled.fault.signo)
		print_handled(ro, facts, head);
}

void report_headline_print(const struct report_out *ro, const struct report_facts *facts,
			   const struct report_headline *head)
{
	const struct auxtap_crash *c = &facts->crash;
	const char *name = fault_signal_name(c->signo);
	char number[32];
	FILE *out = ro->out;

	snprintf(number, sizeof(number), "signal %d", c->signo);
	fprintf(out, "%s%s (pid %d", ro->style->bad, report_text(ro, c->comm), c->pid);
	if (c->tid != c->pid)
		fprintf(out, ", thread %d", c->tid);
	fprintf(out, ") died of %s: %s%s", name ? name : number, fault_death_text(c),
		ro->style->off);
	print_where(ro, head);
	if (head->fault->why[0])
		fprintf(out, "  %s\n", report_text(ro, head->fault->why));
	report_origin_print(ro, facts, &head->origin);
	if (head->slice.of != REPORT_SLICE_AFTER_BLOCK)
		report_slice_print(ro, head);
	if (facts->message)
		fprintf(out, "  Its message: %s\n", report_text(ro, facts->message));
	report_exception_print(ro, facts, head->regs, head->fault->uncaught);
	report_overrun_line(ro, facts, head->regs);
	if (head->slice.of == REPORT_SLICE_AFTER_BLOCK)
		report_slice_print(ro, head);
	print_facts(ro, facts, head);
}
