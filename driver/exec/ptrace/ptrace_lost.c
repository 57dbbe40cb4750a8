// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Handles steps of two instructions: 'mov ss' and 'pop ss' delay the trap of a step by one
 * instruction, and a virtual machine occasionally loses one. The end of the step shows it: the
 * instruction in between is the one that leads from the first one's target to there. To find it,
 * targets of indirect branches are computed before the step (ptrace_target.c).
 */
#include "ptrace.h"
#include <errno.h>
#include <sys/syscall.h>

bool ptrace_stack_top(struct ptrace_thread *t, unsigned long long *rsp)
{
	errno = 0;
	*rsp = (u64)ptrace(PTRACE_PEEKUSER, t->tid, offsetof(struct user, regs.rsp), 0);
	return !errno;
}

void ptrace_compute_target(struct ptrace_thread *t)
{
	struct user_regs_struct regs;

	if (t->insn.cls == X86_RET) {
		if (!ptrace_stack_top(t, &regs.rsp))
			return;
	} else if (ptrace(PTRACE_GETREGS, t->tid, 0, &regs)) {
		return;
	}
	t->target_known = ptrace_target(t, t->ip, &t->insn, &regs, &t->target);
}

/* Number of bytes that a return pops; 0: it also changes the stack pointer in another way. */
static u64 popped(struct ptrace_thread *t, u64 at, const struct x86_insn *insn)
{
	const u8 *end;
	u8 code[16];
	u64 word;

	if (!ptrace_code_bytes(t, at, code, insn->len))
		return 0;
	end = code + insn->len;
	if (insn->cls == X86_RET)
		return end[-1] == 0xc3 ? 8 :
					 8 + (end[-3] == 0xc2 ? end[-2] | (u64)end[-1] << 8 : 0);
	word = (code[0] & 0xf8) == 0x48 ? 8 : 4;
	if (end[-1] == 0xcb)
		return 2 * word;
	return insn->len > 2 && end[-3] == 0xca ? 2 * word + (end[-2] | (u64)end[-1] << 8) : 0;
}

/* Whether the instruction at 'at' was the last one that ran, given the current registers. */
static bool was_last(struct ptrace_thread *t, u64 at, const struct x86_insn *insn,
		     const struct user_regs_struct *regs)
{
	u64 fall_through = at + insn->len, target = fall_through + (u64)(s64)insn->disp;
	struct user_regs_struct before = *regs;

	switch (insn->cls) {
	case X86_PLAIN:
	case X86_SYSCALL:
		return regs->rip == fall_through ||
		       (regs->rip == at && (insn->flags & X86_INSN_REP));
	case X86_JCC:
		return regs->rip == fall_through || regs->rip == target;
	case X86_JMP:
	case X86_CALL:
		return regs->rip == target;
	case X86_RET:
	case X86_FAR:
		target = popped(t, at, insn);
		if (!target)
			return true; /* iret may have led anywhere */
		before.rsp -= target;
		break;
	case X86_CALL_INDIRECT:
		before.rsp += 8;
		break;
	case X86_JMP_INDIRECT:
		break;
	default:
		return false;
	}
	return ptrace_target(t, at, insn, &before, &target) && regs->rip == target;
}

static int possible_next(const struct ptrace_thread *t, u64 ways[2])
{
	u64 fall_through = t->ip + t->insn.len, target = fall_through + (u64)(s64)t->insn.disp;

	if (t->target_known) {
		ways[0] = t->target;
		return 1;
	}
	ways[0] = fall_through;
	switch (t->insn.cls) {
	case X86_PLAIN:
		return 1;
	case X86_JCC:
		ways[1] = target;
		return target == fall_through ? 1 : 2;
	case X86_JMP:
	case X86_CALL:
		ways[0] = target;
		return 1;
	default:
		return 0;
	}
}

/* Notes a system call that was not prepared for; its arguments are still in the registers. */
static void note_late_syscall(struct ptrace_thread *t, const struct user_regs_struct *regs)
{
	t->in_syscall = true;
	t->sys = *regs;
	t->sys.rax = regs->orig_rax;
	t->opcode = 0;
	if (ptrace_mem_read(t->tid, t->ip, &t->opcode, 1) != 1 || t->opcode != 0x0f)
		t->in_syscall = false;
	else if ((long)t->sys.rax == SYS_rt_sigprocmask)
		ptrace_save_mask(t);
}

/*
 * PUSHF wrote our TF into the program's memory, and the instruction after it may have read it:
 * harmless if popped back into the flags, but not in a register.
 */
static void hide_tf(struct ptrace_thread *t, u64 pushed, const struct user_regs_struct *regs)
{
	static const size_t offs[16] = {
#define OFF(name) offsetof(struct user, regs.name)
		OFF(rax), OFF(rcx), OFF(rdx), OFF(rbx), OFF(rsp), OFF(rbp), OFF(rsi), OFF(rdi),
		OFF(r8),  OFF(r9),  OFF(r10), OFF(r11), OFF(r12), OFF(r13), OFF(r14), OFF(r15),
#undef OFF
	};
	unsigned int nr;
	u8 code[16];
	u64 value;

	ptrace_clear_tf(t, pushed, regs);
	if ((regs->eflags & TF) || t->insn.len > 2 ||
	    !ptrace_code_bytes(t, t->ip, code, t->insn.len) ||
	    (code[t->insn.len - 1] & 0xf8) != 0x58 ||
	    (t->insn.len == 2 && (code[0] & 0xf0) != 0x40))
		return;
	nr = (code[t->insn.len - 1] & 7) | (t->insn.len == 2 && (code[0] & 1) ? 8 : 0);
	errno = 0;
	value = (u64)ptrace(PTRACE_PEEKUSER, t->tid, offs[nr], 0);
	if (!errno)
		ptrace(PTRACE_POKEUSER, t->tid, offs[nr], value & ~TF);
}

bool ptrace_find_lost(struct ptrace_thread *t, const struct user_regs_struct *regs)
{
	struct x86_insn next, between = {0};
	bool pushf = t->insn.flags & X86_INSN_PUSHF;
	u64 ways[2], at = 0;
	int nr = 0;

	for (int i = possible_next(t, ways) - 1; i >= 0; i--) {
		if (!ptrace_code_at(t, ways[i], &next) || !was_last(t, ways[i], &next, regs))
			continue;
		at = ways[i];
		between = next;
		nr++;
	}
	if (nr == 1) {
		t->late_ip = at;
		ptrace_report_late(t);
		if (pushf)
			hide_tf(t, t->pushed, regs);
		if (between.cls == X86_SYSCALL)
			note_late_syscall(t, regs);
		return true;
	}
	/* another thread may have changed the operand since it was read */
	if (t->target_known && was_last(t, t->ip, &t->insn, regs))
		return true;
	emu_report_problem(t->engine->emu, t->proc->pid,
			   "a single step went further than one instruction");
	t->reported = false;
	emu_task_leave_async(t->task, t->ip, true);
	return false;
}
