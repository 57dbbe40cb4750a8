// SPDX-License-Identifier: BSD-2-Clause
/*
 * Explains a fault whose handler was still running at the death: the kernel has written registers
 * and exception to the handler's stack, where the backtrace found them.
 *
 * x86-64:  return address | struct ucontext: 40 bytes, registers, ERR, TRAPNO, OLDMASK, CR2, ...
 * AArch64: siginfo, 128 bytes | struct ucontext: 176 bytes, address of the fault, registers, ...
 *
 * The stack pointer of the restorer points to the second part on x86-64, and to the first on
 * AArch64.
 */
#include "fault.h"
#include "report_frames.h"
#include "report_headline.h"
#include "report_out.h"
#include "report_regs.h"
#include "util/user_regs.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#define X86_DWARF_RSP	 7
#define X86_CONTEXT_ERR	 (40 + 19 * 8)
#define A64_CONTEXT_ADDR (128 + 176)

/* Exceptions (Intel SDM 3A, 6.3.1), and bits of a page fault's error code. */
#define X86_DIVIDE	   0
#define X86_BREAKPOINT	   3
#define X86_INVALID_OPCODE 6
#define X86_PROTECTION	   13
#define X86_PAGE_FAULT	   14
#define X86_PRESENT	   1
#define X86_USER	   4

/* The recorded faults since 'begin'; the number that there were, 0: unknown. */
static uint64_t faults_since(const struct auxtap_crash *c, uint64_t begin,
			     struct auxtap_crash_fault *faults, size_t *nr)
{
	const size_t max =
		c->nr_faults < AUXTAP_CRASH_NR_FAULTS ? c->nr_faults : AUXTAP_CRASH_NR_FAULTS;

	*nr = 0;
	if (!(c->flags & AUXTAP_CRASH_HANDLED_FAULT))
		return 0;
	if (!c->nr_faults) { /* an older file has the first one only */
		faults[0] = (struct auxtap_crash_fault){
			.ip = c->fault_ip,
			.time = c->fault_time,
			.signo = c->fault_signo,
			.tid = c->fault_tid,
		};
		*nr = faults[0].time >= begin;
		return 0;
	}
	for (size_t i = 0; i < max; i++)
		if (c->faults[i].time >= begin)
			faults[(*nr)++] = c->faults[i];
	if (*nr == max)
		return c->nr_faults;
	/* those that are not recorded were between the first one and the second */
	return c->nr_faults > max && *nr == max - 1 ? 0 : *nr;
}

/* Has the handler of a signal interrupted this frame? */
static bool is_interrupted(const struct unwind_frames *frames, int frame)
{
	return frames->signal_mask >> (frame - 1) & 1 && !(frames->call_mask >> frame & 1);
}

/* What of the backtrace belongs to recorded faults of the thread that died. */
struct matched_frames {
	int outermost; /* -1: none */
	int nr;
};

static struct matched_frames match_frames(const struct report_headline *head, int32_t tid,
					  const struct auxtap_crash_fault *faults, size_t nr)
{
	struct matched_frames matched = {.outermost = -1};

	if (!head->regs)
		return matched;
	for (int i = 1; i < head->frames->nr; i++) {
		if (!is_interrupted(head->frames, i))
			continue;
		for (size_t k = 0; k < nr; k++) {
			if (faults[k].tid != tid || faults[k].ip != head->frames->pcs[i])
				continue;
			matched.outermost = i;
			matched.nr++;
			break;
		}
	}
	return matched;
}

static enum report_handled_order order_of(const struct report_handled *handled, size_t at,
					  size_t nr)
{
	if (!handled->nr_faults)
		return REPORT_HANDLED_UNKNOWN;
	return !at	    ? REPORT_HANDLED_FIRST :
	       at == nr - 1 ? REPORT_HANDLED_NEWEST :
			      REPORT_HANDLED_OTHER;
}

/*
 * The fault that a frame of the backtrace belongs to: the oldest one at that address; which of
 * several it was, the frame does not say.
 */
static void choose_by_frame(const struct matched_frames *matched, int32_t tid, uint64_t ip,
			    const struct auxtap_crash_fault *faults, size_t nr,
			    struct report_handled *handled)
{
	size_t first = nr, nr_same = 0;

	for (size_t i = nr; i-- > 0;) {
		if (faults[i].tid != tid || faults[i].ip != ip)
			continue;
		first = i;
		nr_same++;
	}
	handled->fault = faults[first];
	handled->frame = matched->outermost;
	handled->order = order_of(handled, first, nr);
	if (handled->nr_faults && (nr_same > 1 || handled->nr_faults > nr))
		handled->order = REPORT_HANDLED_OTHER;
}

void report_handled_choose(const struct report_facts *facts, uint64_t exec_time,
			   struct report_headline *head)
{
	const struct auxtap_crash *c = &facts->crash;
	struct auxtap_crash_fault faults[AUXTAP_CRASH_NR_FAULTS];
	struct report_handled *handled = &head->handled;
	struct matched_frames matched;
	size_t nr, chosen;

	handled->nr_faults = faults_since(c, exec_time, faults, &nr);
	handled->frame = -1;
	if (!nr)
		return;
	matched = match_frames(head, c->tid, faults, nr);
	if (matched.nr == 1 || (matched.nr && head->frames->complete)) {
		choose_by_frame(&matched, c->tid, head->frames->pcs[matched.outermost], faults, nr,
				handled);
		return;
	}
	if (matched.nr) { /* handlers that fault again and again: the first fault is further out */
		chosen = 0;
	} else {
		for (chosen = nr - 1; chosen && faults[chosen].tid != c->tid; chosen--)
			;
		if (faults[chosen].tid != c->tid)
			chosen = nr - 1;
	}
	handled->fault = faults[chosen];
	handled->order = order_of(handled, chosen, nr);
}

/* The registers of a frame; those that the frame does not contain are the dead thread's. */
static void frame_regs(const struct image_frame *frame, uint64_t ip, struct auxtap_regs *regs)
{
	bool a64 = regs->arch == AUXTAP_ARCH_AARCH64;
	const uint64_t kept = a64 ? 0 : 1ull << AUXTAP_X86_FS | 1ull << AUXTAP_X86_GS;

	regs->valid &= kept;
	for (int i = 0; i < (a64 ? AUXTAP_A64_SP + 1 : 16); i++) {
		int index = a64 ? i : x86_dwarf_order[i];

		if (!(frame->known_mask >> i & 1))
			continue;
		regs->reg[index] = frame->reg[i];
		regs->valid |= 1ull << index;
	}
	report_regs_move(regs, ip);
	regs->valid |= 1ull << (a64 ? AUXTAP_A64_PC : AUXTAP_X86_IP);
}

/* qemu writes no exception number, only an error code and the address of a page fault. */
static uint64_t qemu_exception(int signo, uint64_t error)
{
	if (signo == SIGSEGV)
		return error & X86_USER ? X86_PAGE_FAULT : X86_PROTECTION;
	return signo == SIGFPE ? X86_DIVIDE : signo == SIGILL ? X86_INVALID_OPCODE : UINT64_MAX;
}

/* Reads the exception, and the address of a page fault, that the kernel wrote to the stack. */
static bool x86_signal(const struct report_facts *facts, uint64_t sp, struct auxtap_crash *c)
{
	enum { ERR, TRAPNO, OLDMASK, CR2, NR };
	uint64_t context[NR];

	if (!report_facts_memory(facts, sp + X86_CONTEXT_ERR, context, sizeof(context)))
		return false;
	c->si_code = SI_KERNEL;
	if (context[TRAPNO] == UINT64_MAX)
		context[TRAPNO] = qemu_exception(c->signo, context[ERR]);
	switch (context[TRAPNO]) {
	case X86_DIVIDE:
		c->si_code = FPE_INTDIV;
		return c->signo == SIGFPE;
	case X86_BREAKPOINT:
		return c->signo == SIGTRAP;
	case X86_INVALID_OPCODE:
		c->si_code = ILL_ILLOPN;
		return c->signo == SIGILL;
	case X86_PROTECTION:
		return c->signo == SIGSEGV;
	case X86_PAGE_FAULT:
		c->si_code = c->signo == SIGBUS		? BUS_ADRERR :
			     context[ERR] & X86_PRESENT ? SEGV_ACCERR :
							  SEGV_MAPERR;
		c->fault_addr = context[CR2];
		c->flags |= AUXTAP_CRASH_ADDR_VALID;
		return c->signo == SIGSEGV || c->signo == SIGBUS;
	default:
		return false;
	}
}

static bool a64_signal(const struct report_facts *facts, uint64_t sp, struct auxtap_crash *c)
{
	uint64_t addr;

	switch (c->signo) {
	case SIGSEGV:
		if (!report_facts_memory(facts, sp + A64_CONTEXT_ADDR, &addr, sizeof(addr)))
			return false;
		c->si_code = SEGV_MAPERR;
		c->fault_addr = addr;
		c->flags |= AUXTAP_CRASH_ADDR_VALID;
		return true;
	case SIGILL:
		c->si_code = ILL_ILLOPC;
		return true;
	case SIGTRAP:
		c->si_code = TRAP_BRKPT;
		return true;
	default: /* qemu writes no address for SIGBUS */
		return false;
	}
}

/* Finds the signal of the handler. (Its siginfo is there only if the handler asked for it.) */
static bool frame_signal(const struct report_facts *facts, const struct image_frame *handler,
			 bool a64, struct auxtap_crash *c)
{
	unsigned int sp = a64 ? AUXTAP_A64_SP : X86_DWARF_RSP;

	c->flags &= ~(uint32_t)AUXTAP_CRASH_ADDR_VALID;
	if (!(handler->known_mask >> sp & 1))
		return false;
	return a64 ? a64_signal(facts, handler->reg[sp], c) :
		     x86_signal(facts, handler->reg[sp], c);
}

/*
 * Does the instruction fault with these registers? If another signal came where a handler had
 * repaired the fault, the frame is that signal's.
 */
static bool faults_with(const struct report_facts *facts, const struct auxtap_regs *regs,
			struct fault *fault)
{
	struct report_facts no_addr = *facts;

	switch (facts->crash.signo) {
	case SIGFPE: /* a divisor that is not 0 now may have been 0 */
		return !fault->may_succeed;
	case SIGSEGV:
		if (fault->bad_ip)
			return true;
		if (!fault->access.known)
			return !(facts->crash.flags & AUXTAP_CRASH_ADDR_VALID);
		no_addr.crash.flags &= ~(uint32_t)AUXTAP_CRASH_ADDR_VALID;
		return fault_explains(&no_addr, regs, &fault->access);
	default:
		return true;
	}
}

bool report_handled_fault(const struct report_out *ro, const struct report_facts *facts,
			  const struct report_headline *head, struct fault *fault)
{
	const struct auxtap_crash_fault *handled = &head->handled.fault;
	const struct report_out then = report_at(ro, handled->time, handled->ip);
	const int frame = head->handled.frame;
	struct report_facts first = *facts;
	struct auxtap_regs regs;
	uint8_t insn[15];
	ssize_t n;

	if (frame < 0)
		return false;
	regs = *head->regs;
	frame_regs(&head->frames->frames[frame], handled->ip, &regs);
	first.crash.signo = handled->signo;
	if (!frame_signal(facts, &head->frames->frames[frame - 1], regs.arch == AUXTAP_ARCH_AARCH64,
			  &first.crash))
		return false;
	first.crash.frame_signo = 0;
	first.crash.limit_bytes = 0;
	n = auxtap_image_set_read(then.images, then.pid, then.time, handled->ip, insn,
				  sizeof(insn));
	fault_explain(&first, &regs, insn, n > 0 ? (size_t)n : 0, fault);
	if (!faults_with(&first, &regs, fault))
		return false;
	/* by a jump, a call or a return: the frame does not say that */
	if (fault->bad_ip)
		snprintf(fault->why, sizeof(fault->why), "it went to 0x%" PRIx64 ", %s",
			 handled->ip, fault->where);
	return fault->why[0];
}
