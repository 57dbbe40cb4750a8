/* SPDX-License-Identifier: BSD-2-Clause */
/* longjmp() to a function that has returned: others have used its frame since. */
#include <setjmp.h>
#include <stdio.h>

static jmp_buf env;
static volatile int sink;

__attribute__((noinline)) static int opens(volatile int *from)
{
	if (setjmp(env))
		printf("%d\n", *from);
	return *from;
}

__attribute__((noinline)) static void counts(void)
{
	volatile int nr;

	for (nr = 0; nr < 40; nr++)
		sink++;
}

__attribute__((noinline)) static void leaves(void)
{
	volatile long kept[16];

#ifdef FILL
	for (int i = 0; i < 16; i++)
		kept[i] = FILL;
#endif
	longjmp(env, 1);
}

int main(void)
{
	opens(&sink);
	counts();
	leaves();
	return 0;
}
