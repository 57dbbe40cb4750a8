// SPDX-License-Identifier: BSD-2-Clause
/* Part of emu_program.c: every kind of branch target. */
#include "emu_program.h"
#include <limits.h>
#include <stdint.h>
#include <sys/syscall.h>

static __thread void *in_fs;
static void *volatile slots[8] __attribute__((used));
static volatile unsigned long visits __attribute__((used));

__asm__(".text\nvisit:\n\tincq visits(%rip)\n\tret\n"
	"visit_pop:\n\tincq visits(%rip)\n\tret $16\n");
extern char visit[], visit_pop[];

/* Each statement keeps clear of the red zone. */
#define VISIT(insns, ...)                                                        \
	__asm__ volatile("lea -256(%%rsp), %%rsp;" insns "lea 256(%%rsp), %%rsp" \
			 :                                                       \
			 : __VA_ARGS__                                           \
			 : "rcx", "rdx", "r9", "cc", "memory")

static void indirect_calls(void)
{
	unsigned long fs, high = (unsigned long)slots | 1ul << 32;

	for (int i = 0; i < 8; i++)
		slots[i] = visit;
	in_fs = visit;
	__asm__("mov %%fs:0, %0" : "=r"(fs));
	CHECK(!syscall(SYS_arch_prctl, 0x1001 /* ARCH_SET_GS */, slots));
	VISIT("call *%%rax;", "a"(visit));
	VISIT("mov %%rax, %%r9; call *%%r9;", "a"(visit));
	VISIT("call *(%%rax);", "a"(slots));
	VISIT("mov %%rax, %%r9; call *8(%%r9);", "a"(slots));
	VISIT("call *-0x200(%%rax);", "a"((unsigned long)slots + 0x200));
	VISIT("call *-8(%%rax, %%rbx, 8);", "a"(slots), "b"(3l));
	VISIT("push %%r12; push %%r13; mov %%rax, %%r13; mov %%rbx, %%r12;"
	      "call *(%%r13, %%r12, 4); pop %%r13; pop %%r12;",
	      "a"(slots), "b"(2l));
	VISIT("push %%r12; mov %%rax, %%r12; call *16(%%r12); pop %%r12;", "a"(slots));
	VISIT("call *slots(, %%rbx, 8);", "b"(5l));
	VISIT("call *slots;", "b"(0l));
	VISIT("call *slots+8(%%rip);", "b"(0l));
	VISIT("addr32 call *slots+8(%%eip);", "b"(0l));
	VISIT("addr32 call *8(%%eax);", "a"(high));
	VISIT("call *%%fs:(%%rax);", "a"((unsigned long)&in_fs - fs));
	VISIT("call *%%gs:8;", "a"(0l));
	VISIT("notrack call *%%rax;", "a"(visit));
	VISIT("push %%rax; call *(%%rsp); pop %%rax;", "a"(visit));
	VISIT("sub $16, %%rsp; call visit_pop;", "a"(0l));
	CHECK(visits == 18);
}

static void indirect_jumps(void)
{
	VISIT("lea 1f(%%rip), %%rcx; mov %%rcx, 24(%%rax); jmp *24(%%rax); ud2; 1:", "a"(slots));
	VISIT("lea 1f(%%rip), %%rcx; notrack jmp *%%rcx; ud2; 1:", "a"(0l));
	VISIT("lea 1f(%%rip), %%rcx; mov %%cs, %%edx; push %%rdx; push %%rcx; lretq; ud2; 1:",
	      "a"(0l));
	VISIT("lea 1f(%%rip), %%rcx; mov %%cs, %%edx; push $0; push $0; push %%rdx; push %%rcx;"
	      "lretq $16; ud2; 1:",
	      "a"(0l));
	VISIT("lea 1f(%%rip), %%rcx; mov %%cs, %%edx; sub $8, %%rsp; mov %%edx, 4(%%rsp);"
	      "mov %%ecx, (%%rsp); lret; ud2; 1:",
	      "a"(0l));
	VISIT("mov %%rsp, %%rdx; mov %%ss, %%ecx; push %%rcx; push %%rdx; pushf; mov %%cs, %%ecx;"
	      "push %%rcx; lea 1f(%%rip), %%rcx; push %%rcx; iretq; ud2; 1:",
	      "a"(0l));
}

/* Branches over one instruction: the end does not show whether it ran. */
static void short_branches(void)
{
	static const long pairs[][2] = {{0, 0},	 {1, 2},	{2, 1},		{-1, 1},
					{1, -1}, {LONG_MIN, 1}, {LONG_MAX, -1}, {3, 0}};
	unsigned long x = 0;

#define OVER(cc) "cmp %1, %2; j" cc " 1f; inc %0; 1:"
	for (int i = 0; i < 8; i++) {
		__asm__ volatile(OVER("o") OVER("no") OVER("b") OVER("ae") OVER("e") OVER("ne")
					 OVER("be") OVER("a") OVER("s") OVER("ns") OVER("p")
						 OVER("np") OVER("l") OVER("ge") OVER("le")
							 OVER("g")
				 : "+r"(x)
				 : "r"(pairs[i][0]), "r"(pairs[i][1])
				 : "cc");
		__asm__ volatile("mov %1, %%rcx; jrcxz 1f; inc %0; 1: jecxz 1f; inc %0; 1:"
				 "mov $2, %%ecx; cmp %1, %2; loop 1f; inc %0; 1: cmp %1, %2;"
				 "loop 1f; inc %0; 1: mov $2, %%ecx; cmp %1, %2; loope 1f; inc %0;"
				 "1: mov $2, %%ecx; cmp %1, %2; loopne 1f; inc %0; 1:"
				 : "+r"(x)
				 : "r"(pairs[i][0]), "r"(pairs[i][1])
				 : "cc", "rcx");
	}
	/* one of each two conditions; what is not 0, in 64 bits and in 32; the second loop;
	 * loope or loopne */
	CHECK(x == 8 * 8 + 7 + 6 + 8 + 8);
}

int targets(void)
{
	indirect_calls();
	indirect_jumps();
	short_branches();
	return GOOD;
}
