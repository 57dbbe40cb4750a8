// SPDX-License-Identifier: BSD-2-Clause
/* A computed goto into a part of the function that the compiler has split off, and back. */
#include <stdio.h>

static int *volatile nowhere;
static volatile int sum;

__attribute__((cold, noinline)) static void seldom(int value)
{
	fprintf(stderr, "%d\n", value);
}

__attribute__((noinline, noclone)) static int run(const unsigned char *op, int value)
{
	static void *const labels[] = {&&add, &&times, &&print, &&store, &&die};

	goto *labels[*op++];
add:
	value += 1;
	sum++;
	goto *labels[*op++];
times:
	value *= 3;
	sum--;
	goto *labels[*op++];
print:
	seldom(value);
	value ^= 5;
	goto *labels[*op++];
store:
	seldom(value + 1);
	value ^= 9;
	sum = value;
	goto *labels[*op++];
die:
	return *nowhere + value;
}

int main(int argc, char **argv)
{
	static const unsigned char program[] = {0, 1, 0, 2, 0, 1, 3, 1, 4};

	(void)argv;
	return run(program, argc) + 1;
}
