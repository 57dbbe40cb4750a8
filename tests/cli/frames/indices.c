/* SPDX-License-Identifier: BSD-2-Clause */
/* indices WHAT INDEX: an index that is outside of an array. */
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))

struct item {
	long key, *value;
};

static int one(int x)
{
	return x + 1;
}

static int two(int x)
{
	return x - 1;
}

/* What is near to them is no pointer. */
long before[512] = {0x1111111111111111};
int (*table[3])(int) = {one, two, one};
long between[512] = {0x1111111111111111};
long *pointers[5] = {before, between, before, between, (long *)0x1111};
int counts[16] = {1};
struct item items[4];
char letters[24] = "letters";
long earlier[64] = {1}, moved[8] = {1};
static volatile long last;

NOINLINE static int calls(long i)
{
	const int result = table[i](3);

	last = i; /* so that a register has it at the call */
	return result;
}

NOINLINE static long reads(long i)
{
	return *pointers[i];
}

NOINLINE static int bumps(long i)
{
	return counts[i]++;
}

NOINLINE static long keys(long i)
{
	return items[i].key;
}

NOINLINE static char letter(long i)
{
	return letters[i];
}

/* A compiler adds the -3 to the address of the array: that is in what is before it. */
NOINLINE static long shifted(long i)
{
	return moved[i - 3];
}

int main(int argc, char **argv)
{
	const long i = argc > 2 ? atol(argv[2]) : 0;

	for (int j = 0; j < 512; j++)
		before[j] = between[j] = 0x1111;
	switch (argc > 1 ? argv[1][0] : 0) {
	case 'c':
		return calls(i);
	case 'r':
		return (int)reads(i);
	case 'b':
		return bumps(i);
	case 'k':
		return (int)keys(i);
	case 's':
		return (int)shifted(i);
	case 'l':
		return letter(i);
	}
	return 0;
}
