// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Deaths that the emulator caused: on a real processor, or under a newer qemu, the program would
 * continue.
 */
#include "qemu.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* bytes from the stack pointer on that are searched for a frame */
#define STACK_SEEN (256u << 10)
#define RED_ZONE   128

/* Is it an instruction that a real processor may support and qemu does not? */
static bool is_unknown_insn(struct qemu_engine *q, struct qemu_thread *t)
{
	const struct qemu_arch *arch = t->process->arch;
	union qemu_env env;
	u8 code[16];
	ssize_t got;

	if (t->dying.si_signo != SIGILL || t->dying.si_code <= 0 || qemu_state_env(q, t, &env))
		return false;
	got = qemu_state_mem(q->emu, t->process->pid, arch->ip(&env), code, arch->max_len);
	return got > 0 && arch->is_limit(code, (size_t)got);
}

/*
 * The address of an SSE instruction's operand in the stack: prefixes, 0f, opcode, and
 * [rsp + disp] or [rbp + disp]. False: another operand.
 */
static bool stack_operand(const union qemu_env *env, const u8 *code, size_t nr, u64 *addr)
{
	size_t at = 0;
	u8 modrm, rm, rex = 0;
	s32 wide;

	while (at < nr && (code[at] == 0x66 || code[at] == 0xf2 || code[at] == 0xf3))
		at++;
	if (at < nr && (code[at] & 0xf0) == 0x40)
		rex = code[at++];
	if (at + 3 > nr || code[at] != 0x0f || rex & 1)
		return false;
	at += code[at + 1] == 0x38 || code[at + 1] == 0x3a ? 3 : 2;
	if (at + 6 > nr)
		return false;
	modrm = code[at++];
	rm = modrm & 7;
	if (rm == 4 && code[at++] != 0x24) /* a SIB byte with rsp only */
		return false;
	if (rm != 4 && (rm != 5 || modrm >> 6 == 0)) /* rbp */
		return false;
	*addr = env->x86.regs[rm];
	switch (modrm >> 6) {
	case 0:
		return true;
	case 1:
		*addr += (u64)(s8)code[at];
		return true;
	case 2:
		memcpy(&wide, code + at, sizeof(wide));
		*addr += (u64)wide;
		return true;
	}
	return false;
}

/*
 * The handler's frame that contains the stack pointer: its first word points to the restorer
 * (mov $15, %rax; syscall). 0: none.
 */
static u64 handler_frame(struct qemu_engine *q, struct qemu_thread *t, u64 sp)
{
	static const u8 restorer[9] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	pid_t pid = t->process->pid;
	u64 *word = malloc(STACK_SEEN), found = 0, known = 0;
	ssize_t got = word ? qemu_state_mem(q->emu, pid, sp & ~7ull, word, STACK_SEEN) : -1;

	for (ssize_t i = 0; i < got / 8 && !found; i++) {
		const struct qemu_range *r =
			word[i] == known ? NULL : qemu_maps_find(t->process, word[i]);
		u8 code[sizeof(restorer)];

		if (known && word[i] == known) {
			found = (sp & ~7ull) + (u64)i * 8;
			continue;
		}
		if (!r || !(r->prot & 4) ||
		    qemu_state_mem(q->emu, pid, word[i], code, sizeof(code)) != sizeof(code) ||
		    memcmp(code, restorer, sizeof(code)) != 0)
			continue;
		known = word[i];
		found = (sp & ~7ull) + (u64)i * 8;
	}
	free(word);
	return found;
}

/*
 * The ABI requires rsp + 8 to be divisible by 16 at a function's entry, handlers included: objects
 * that it aligns in its frame are then aligned. qemu 7.2 enters handlers with rsp divisible by 16.
 */
static bool is_misaligned_handler(struct qemu_engine *q, struct qemu_thread *t)
{
	union qemu_env env;
	u64 addr, frame;
	u8 code[16];
	ssize_t got;

	if (t->process->arch != &qemu_arch_x86 || t->dying.si_signo != SIGSEGV ||
	    t->dying.si_code != SI_KERNEL || qemu_state_env(q, t, &env))
		return false;
	got = qemu_state_mem(q->emu, t->process->pid, env.x86.eip, code, sizeof(code));
	if (got <= 0 || !stack_operand(&env, code, (size_t)got, &addr) || addr % 16 != 8)
		return false;
	frame = handler_frame(q, t, env.x86.regs[4]);
	return frame && frame % 16 == 0 && addr >= env.x86.regs[4] - RED_ZONE && addr < frame;
}

const char *qemu_limit(struct qemu_engine *q, struct qemu_thread *t)
{
	const struct qemu_rec *rec = qemu_ring_rec(q, t);

	if (rec && rec->no_frame && t->dying.si_signo != SIGSEGV)
		return "emulator's limit: the frame of the handler does not fit; a kernel sends SIGSEGV";
	if (is_unknown_insn(q, t))
		return "emulator's limit: qemu does not support the instruction; a real CPU may";
	if (is_misaligned_handler(q, t))
		return "emulator's limit: this qemu enters signal handlers with a misaligned stack";
	return NULL;
}
