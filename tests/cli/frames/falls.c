// SPDX-License-Identifier: BSD-2-Clause
/* The compiler believes that a call does not return: the code after it is the next function's. */
#include <stdio.h>

static int total;

__attribute__((noinline)) void note(int n)
{
	total += n;
	if (total > 100)
		puts("many");
}

__attribute__((noinline)) int walk(int n)
{
	note(n);
	__builtin_unreachable();
}

__attribute__((noinline)) int next_one(int *p)
{
	note(3);
	return *p;
}

int main(int argc, char **argv)
{
	(void)argv;
	return walk(argc) + next_one(argc > 1 ? &argc : NULL);
}
