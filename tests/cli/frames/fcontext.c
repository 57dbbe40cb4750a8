// SPDX-License-Identifier: BSD-2-Clause
/*
 * Coroutines that switch stacks by an indirect jump, as hand-written switches do: one is started,
 * pauses in a call, is resumed, and dies in another call.
 */
#include <stdlib.h>

/* pushes what a function must preserve, stores its stack pointer at *from and continues at 'to' */
void jump_stack(void **from, void *to);
__asm__(".text\n"
	".globl jump_stack\n"
	".type jump_stack, @function\n"
	"jump_stack:\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	pop %r8\n"
	"	jmp *%r8\n"
	".size jump_stack, . - jump_stack\n");

static void *main_stack, *own_stack;
static int *volatile wrong;

static __attribute__((noinline)) void pause_here(void)
{
	jump_stack(&own_stack, main_stack);
	__asm__ volatile("");
}

static __attribute__((noinline)) void die(void)
{
	*wrong = 1;
}

static __attribute__((noinline)) void produce(void)
{
	pause_here();
	die();
	pause_here();
}

static __attribute__((noinline)) void resume(void)
{
	jump_stack(&main_stack, own_stack);
	__asm__ volatile("");
}

static __attribute__((noinline)) int work(int n)
{
	__asm__ volatile("");
	return n + 1;
}

int main(void)
{
	void **top = (void **)((char *)malloc(64 << 10) + (64 << 10)) - 2;

	*--top = (void *)produce;
	own_stack = top - 6;
	resume();
	work(1);
	resume();
	return 0;
}
