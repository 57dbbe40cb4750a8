// SPDX-License-Identifier: BSD-2-Clause
/* run() goes on in its cold part, to which the run() of same_name_b.c jumps. */
extern void *jump_buffer[5];
extern void enter(int value);
static int *volatile nowhere;
volatile int sum;

__attribute__((cold, noinline)) void seldom(int value)
{
	sum += value;
	if (value > 5)
		*nowhere = value;
	sum++;
}

__attribute__((noinline, noclone)) static int run(int value)
{
	volatile int kept = value;

	if (__builtin_expect(__builtin_setjmp(jump_buffer), 0)) {
		seldom(1);
		seldom(kept);
		return 1;
	}
	enter(kept);
	return kept;
}

int start(int value)
{
	return run(value) + 1;
}
