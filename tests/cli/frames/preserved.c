// SPDX-License-Identifier: BSD-2-Clause
/*
 * Variables in registers that calls preserve, all of them: the function that dies uses none, so its
 * unwind information has no rule for them.
 */
#include <stdlib.h>

__attribute__((noinline)) static long sum(const long *first, const long *second, const long *third,
					  const long *fourth)
{
	long total = *first + *second + *third + *fourth;

	__asm__ volatile(""
			 :
			 : "a"(total)
			 : "rdi", "rsi", "rdx", "rcx", "r8", "r9", "r10", "r11", "memory");
	return *(volatile long *)8;
}

__attribute__((noinline)) static void count(long *value)
{
	*(volatile long *)value += 1;
}

int main(void)
{
	long *first = malloc(8), *second = malloc(8), *third = malloc(8), *fourth = malloc(8);
	long total;

	count(first);
	count(second);
	count(third);
	count(fourth);
	total = sum(first, second, third, fourth);
	count(first);
	count(second);
	count(third);
	count(fourth);
	return (int)total;
}
