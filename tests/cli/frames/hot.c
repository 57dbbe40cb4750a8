// SPDX-License-Identifier: BSD-2-Clause
/*
 * Functions whose instructions are counted: recursion, also of two functions and deeper than the
 * tree of calls has nodes; callbacks of the C library; tail calls; more than one way in.
 */
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))

static volatile long sink;

NOINLINE long t_fib(int n) { return n < 2 ? n : t_fib(n - 1) + t_fib(n - 2); }
NOINLINE long t_odd(int n);
NOINLINE long t_even(int n) { return n ? t_odd(n - 1) + 1 : 0; }
NOINLINE long t_odd(int n) { return n ? t_even(n - 1) + 1 : 0; }

NOINLINE long t_leaf(long x)
{
	for (int i = 0; i < 50; i++)
		x = x * 31 + i;
	return x;
}

NOINLINE long t_middle(int n)
{
	long sum = 0;

	for (int i = 0; i < n; i++)
		sum += t_leaf(i);
	return sum;
}

NOINLINE int t_compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

NOINLINE long t_deep(int n)
{
	volatile char pad[16];

	pad[0] = (char)n;
	return n ? t_deep(n - 1) + pad[0] : t_leaf(3);
}

/* a state machine: each state is a tail call of the one before */
NOINLINE long t_state_b(long n);
NOINLINE long t_state_c(long n) { return sink += n, t_leaf(n); }
NOINLINE __attribute__((optimize("O2"))) long t_state_a(long n)
{
	sink += 1;
	return n ? t_state_b(n - 1) : t_state_c(n);
}
NOINLINE __attribute__((optimize("O2"))) long t_state_b(long n)
{
	sink += 2;
	return n ? t_state_a(n - 1) : t_state_c(n);
}

int main(int argc, char **argv)
{
	int numbers[200];

	sink += t_fib(15) + t_even(101) + t_middle(100);
	for (int i = 0; i < 200; i++)
		numbers[i] = i * 7919 % 200;
	qsort(numbers, 200, sizeof(int), t_compare);
	sink += t_deep(argc > 1 ? atoi(argv[1]) : 30000);
	sink += t_fib(5) + t_leaf(2) + t_state_a(1001);
	sink += t_deep(3);
	printf("%ld\n", (long)sink);
	return 0;
}
