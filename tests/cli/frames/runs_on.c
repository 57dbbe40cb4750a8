// SPDX-License-Identifier: BSD-2-Clause
/*
 * first() ends where going on is undefined: clang gives it no return, and execution runs on into
 * the next function, whose return takes a local variable of first() for its address.
 */
#include <stdio.h>

__attribute__((noinline)) long first(volatile long *p)
{
	volatile long local[3] = {0x222200000000, 0x222200000000, 0x222200000000};

	*p = local[*p];
	__builtin_unreachable();
}

__attribute__((noinline, aligned(1))) long second(long x)
{
	return x + 1;
}

int main(int argc, char **argv)
{
	volatile long a = argc - 1;
	long got = second(2);

	printf("%ld\n", got);
	got = first(&a);
	return (int)(got + second(argc));
}
