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

/* The frame that the handler of the fault has interrupted; -1: it is not in the backtrace. */
static int interrupted_frame(const struct auxtap_crash *c, const struct unwind_frames *frames)
{
	for (int i = 0; i + 1 < frames->nr; i++)
		if (frames->signal_mask >> i & 1 && frames->pcs[i + 1] == c->fault_ip &&
		    !(frames->call_mask >> (i + 1) & 1))
			return i + 1;
	return -1;
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

	c->signo = c->fault_signo;
	c->flags &= ~(uint32_t)AUXTAP_CRASH_ADDR_VALID;
	if (!(handler->known_mask >> sp & 1))
		return false;
	return a64 ? a64_signal(facts, handler->reg[sp], c) :
		     x86_signal(facts, handler->reg[sp], c);
}

bool report_handled_fault(const struct report_out *ro, const struct report_facts *facts,
			  const struct report_headline *head, struct fault *fault)
{
	const struct auxtap_crash *c = &facts->crash;
	struct report_facts first = *facts;
	struct auxtap_regs regs;
	uint8_t insn[15];
	ssize_t n;
	int frame;

	if (!head->regs || c->fault_tid != c->tid)
		return false;
	frame = interrupted_frame(c, head->frames);
	if (frame < 0)
		return false;
	regs = *head->regs;
	frame_regs(&head->frames->frames[frame], c->fault_ip, &regs);
	if (!frame_signal(facts, &head->frames->frames[frame - 1], regs.arch == AUXTAP_ARCH_AARCH64,
			  &first.crash))
		return false;
	first.crash.frame_signo = 0;
	first.crash.limit_bytes = 0;
	n = auxtap_image_set_read(ro->images, ro->pid, ro->time, c->fault_ip, insn, sizeof(insn));
	fault_explain(&first, &regs, insn, n > 0 ? (size_t)n : 0, fault);
	/* by a jump, a call or a return: the frame does not say that */
	if (fault->bad_ip)
		snprintf(fault->why, sizeof(fault->why), "it went to 0x%" PRIx64 ", %s",
			 c->fault_ip, fault->where);
	return fault->why[0];
}
