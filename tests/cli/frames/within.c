// SPDX-License-Identifier: BSD-2-Clause
/*
 * within call|jump BYTES: a pointer leads into the middle of a function, so many bytes after its
 * beginning. 'call': by a call. 'jump': by a tail call, of a function that is being executed.
 */
#include <stdlib.h>
#include <string.h>

typedef int handler(int a, int b);
static handler *volatile next;
static int *volatile nowhere;
static volatile int sink;

__attribute__((noinline, noipa)) static int last(int a, int b)
{
	volatile int here[4] = {a, b};

	sink = here[0];
	*nowhere = here[1];
	return here[0] + sink;
}

__attribute__((noinline, noipa)) static int go(int a, int b)
{
	nowhere = NULL;
	return next(a, b); /* optimised: a jump */
}

__attribute__((noinline, noipa)) static int call(int a, int b)
{
	return next(a + 1, b) + 1;
}

__attribute__((noinline, noipa)) static int parse(int a, int b)
{
	volatile int here[8] = {a, b};

	*nowhere = 0;
	sink = go(here[0], here[1]) + here[1];
	return sink;
}

int main(int argc, char **argv)
{
	static int word;
	size_t by = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;

	nowhere = &word;
	if (argc > 1 && !strcmp(argv[1], "jump")) {
		next = (handler *)((char *)parse + by);
		return parse(1, 2);
	}
	next = (handler *)((char *)last + by);
	nowhere = NULL;
	return call(3, 4);
}
