// SPDX-License-Identifier: BSD-2-Clause
/* Collects what is known about the death: why, where, by which calls. Prints nothing. */
#include "report_state.h"
#include "fault.h"
#include "zydis_insn.h"
#include "report_abort.h"
#include "report_blocks.h"
#include "report_regs.h"

#include <signal.h>
#include <string.h>

const struct auxtap_regs *report_dying_regs(const struct report *r)
{
	for (size_t i = 0; i < r->facts.nr_threads; i++) {
		if (r->facts.threads[i].record.tid == r->facts.crash.tid)
			return &r->facts.threads[i].record.regs;
	}
	return NULL;
}

struct thread_view *report_dying_view(const struct report *r)
{
	for (struct thread_view *v = r->threads; v; v = v->next) {
		if (v->tid == r->facts.crash.tid)
			return v;
	}
	return NULL;
}

bool report_is_abort(const struct auxtap_crash *c)
{
	return c->signo == SIGABRT && (c->si_code == SI_TKILL || c->sender_pid == c->pid);
}

size_t report_read_code(const struct report *r, uint64_t ip, uint8_t *code, size_t size)
{
	ssize_t n = auxtap_image_set_read(r->ro.images, r->facts.crash.pid, r->facts.crash.time, ip,
					  code, size);

	if (n > 0)
		return (size_t)n;
	while (size && !report_facts_memory(&r->facts, ip, code, size))
		size--;
	return size;
}

/* The address of the instruction that caused the signal: an x86 trap is before ip. */
static uint64_t insn_of_signal(const struct report *r, const struct auxtap_regs *regs, uint64_t ip)
{
	const struct auxtap_crash *c = &r->facts.crash;
	uint8_t before[2];

	if (regs->arch != AUXTAP_ARCH_X86_64 || c->signo != SIGTRAP ||
	    (c->si_code != SI_KERNEL && c->si_code != TRAP_BRKPT) ||
	    auxtap_image_set_read(r->ro.images, c->pid, c->time, ip - sizeof(before), before,
				  sizeof(before)) != sizeof(before))
		return ip;
	return fault_x86_trap_ip(before, ip);
}

bool report_is_user_snapshot(const struct report *r)
{
	return r->facts.crash.flags & AUXTAP_CRASH_INTERRUPTED;
}

enum auxtap_isa report_isa(const struct auxtap_regs *regs)
{
	if (regs->arch == AUXTAP_ARCH_AARCH64)
		return AUXTAP_ISA_A64;
	return auxtap_regs_32bit(regs) ? AUXTAP_ISA_X86_32 : AUXTAP_ISA_X86;
}

bool report_death_has_insn(const struct report_death *death)
{
	return death->head.regs && death->fault.has_insn && !death->fault.bad_ip;
}

static struct unwind_trace end_of_trace(const struct thread_view *view, uint64_t ip)
{
	const struct report_branch *last = report_branches_last(&view->branches);

	return (struct unwind_trace){
		.last_call_returns_to = view->returns.last_call,
		.open_call_returns_to = callstack_newest(&view->returns.calls, 0),
		.bad_jump = report_branches_jump_to(&view->branches, ip),
		.bad_return = last && last->kind == AUXTAP_BRANCH_RETURN &&
			      (last->to == ip || last->to == (ip & ~3ull)),
	};
}

/* Finds the cause and the backtrace from the registers. */
static void explain_regs(struct report *r, struct report_death *death, uint64_t ip)
{
	const struct auxtap_crash *c = &r->facts.crash;
	const struct auxtap_regs *regs = death->head.regs;
	struct thread_view *view = death->view;
	struct fault *fault = &death->fault;
	struct auxtap_regs trapped = *regs;
	struct unwind_trace trace = {.bad_return = false};
	struct x86_insn decoded;
	uint8_t insn[15];
	size_t nr_bytes;

	nr_bytes = report_read_code(r, ip, insn, sizeof(insn));
	fault_explain(&r->facts, regs, insn, nr_bytes, fault);
	death->head.unknown_insn = c->signo == SIGILL && regs->arch == AUXTAP_ARCH_X86_64 &&
				   !x86_disassemble(insn, nr_bytes, &decoded);
	if (c->signo == SIGTRAP && fault->has_insn) {
		/* the trap may end its function: then ip is in another one */
		report_regs_move(&trapped, ip);
		fault->has_insn = regs->arch == AUXTAP_ARCH_AARCH64 || ip != fault->insn_ip;
		fault->insn_ip = ip;
	}
	if (view)
		trace = end_of_trace(view, ip);
	unwind_backtrace(&r->facts, r->ro.images, &trapped, &trace, &death->frames);
	if (view) {
		death->out_of_memory =
			call_tree_died(view->calls, fault->has_insn ? fault->insn_ip : ip);
		report_tails_find(&r->ro, view->calls, &death->frames);
		report_frames_check(&r->ro, &r->facts, view, regs, &death->frames);
	}
	death->head.is_wrong_value = death->frames.overwritten || r->facts.nr_overruns ||
				     (c->signo == SIGFPE && c->si_code == FPE_INTDIV) ||
				     (c->signo == SIGSEGV && c->si_code > 0 &&
				      (fault->bad_ip || fault->bad_return ||
				       (fault->access.known && !fault->access.stack_segment &&
					!fault->access.constant)));
	death->head.own_frame = report_own_frame(&r->ro, &death->frames);
	death->what = "the call that sent SIGABRT";
	if (report_is_abort(c) && report_abort(&r->ro, &r->facts, &death->frames, fault))
		death->what = "the call that led to abort()";
}

/* Is one of the frames before 'end' of a function of the C library that sends a signal? */
static bool sent_signal(const struct report_out *ro, const struct unwind_frames *frames, int end)
{
	static const char *const names[] = {
		"raise",	"gsignal",	  "abort",
		"pthread_kill", "__pthread_kill", "__pthread_kill_implementation",
		"kill",		"__kill",	  "__pthread_kill_internal",
		"tgkill",	"__tgkill",	  "pthread_sigqueue",
		"sigqueue",	"__sigqueue",	  "__raise",
	};

	for (int i = 0; i < end && i < frames->nr; i++) {
		struct auxtap_location loc = {.size = sizeof(loc)};

		if (auxtap_image_set_symbol(ro->images, ro->pid, ro->time, frames->pcs[i], &loc) ||
		    !loc.nr_frames || !loc.frames[0].symbol)
			continue;
		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
			if (!strcmp(loc.frames[0].symbol, names[k]))
				return true;
	}
	return false;
}

/* Finds how the flow of the thread ends. */
static void explain_flow(struct report *r, struct report_death *death, uint64_t ip)
{
	const struct auxtap_regs *regs = death->head.regs;
	/* a tail frame's call has the return address of the frame that it belongs to */
	const int frame = death->head.own_frame.frame + death->head.own_frame.tail;

	/* an ETM leaves out bits of addresses */
	if (regs && regs->arch == AUXTAP_ARCH_AARCH64)
		report_branches_complete(&death->view->branches, ip);
	/* skip what the C library did from there on; another thread may have sent the signal */
	if (frame > 0 && frame < death->frames.nr && sent_signal(&r->ro, &death->frames, frame))
		death->before =
			report_branches_at_calls_find(&r->at_abort, death->frames.pcs[frame] + 1);
}

static void choose_blocks(struct report *r, const struct report_death *death)
{
	const uint64_t ip = death->fault.insn_ip;
	uint8_t code[16];
	char text[160];
	size_t nr;

	if (!r->facts.nr_blocks)
		return;
	nr = report_death_has_insn(death) ? report_read_code(r, ip, code, sizeof(code)) : 0;
	if (!nr || auxtap_disassemble_as(r->ro.images, report_isa(death->head.regs), ip, code, nr,
					 text, sizeof(text)) <= 0)
		text[0] = 0;
	report_blocks_choose(&r->ro, &r->facts, death->head.regs, text, &death->frames,
			     &death->head.origin);
}

/* When the process last executed another program; 0: never, as far as is known. */
static uint64_t exec_time(const struct report *r)
{
	uint64_t time = 0;

	for (size_t i = 0; i < r->nr_execs; i++)
		if (r->execs[i].tid == r->facts.crash.pid && r->execs[i].time > time)
			time = r->execs[i].time;
	return time;
}

void report_death_explain(struct report *r, struct report_death *death)
{
	const struct auxtap_regs *regs = report_dying_regs(r);
	struct report_headline *head = &death->head;
	uint64_t ip = 0;

	memset(death, 0, sizeof(*death));
	head->fault = &death->fault;
	head->frames = &death->frames;
	head->own_frame.frame = -1;
	death->view = report_dying_view(r);
	if (death->view) {
		head->branches = &death->view->branches;
		head->returns = &death->view->returns;
		head->flow_end_known = death->view->flow_end_known;
		head->flow_end = death->view->flow_end;
	}
	if (regs && report_regs_ip(regs, &ip)) {
		head->regs = regs;
		ip = insn_of_signal(r, regs, ip);
		explain_regs(r, death, ip);
	}
	head->ip = death->fault.has_insn ? death->fault.insn_ip : ip;
	report_handled_choose(&r->facts, exec_time(r), head);
	if (!report_is_user_snapshot(r))
		report_headline_explain(&r->ro, &r->facts, head);
	report_origin_find(&r->ro, &r->facts, head);
	report_slice_find(&r->ro, &r->facts, head);
	choose_blocks(r, death);
	report_origin_check(&r->ro, &r->facts, head);
	report_slice_check(&r->ro, head);
	r->is_wrong_value = head->is_wrong_value;
	death->unloaded = head->regs && report_was_unloaded(&r->ro, &r->facts, ip);
	if (death->view)
		explain_flow(r, death, ip);
}
