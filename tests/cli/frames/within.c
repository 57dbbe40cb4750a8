// SPDX-License-Identifier: BSD-2-Clause
/*
 * within call|recover BYTES: a pointer leads into the middle of a function, so many bytes after its
 * beginning. 'recover': of one that is being executed; a handler of the fault there goes back to
 * its first call, which dies later.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

typedef int handler(int a, int b);
static handler *volatile next;
static int *volatile nowhere;
static volatile int sink;
static sigjmp_buf again;

__attribute__((noinline, noipa)) static int last(int a, int b)
{
	volatile int here[4] = {a, b};

	sink = here[0];
	*nowhere = here[1];
	return here[0] + sink;
}

__attribute__((noinline, noipa)) static int call(int a, int b)
{
	nowhere = NULL;
	return next(a + 1, b) + 1;
}

__attribute__((noinline, noipa)) static int parse(int a, int b)
{
	volatile int here[8] = {a, b};

	*nowhere = 0;
	if (sigsetjmp(again, 1)) {
		signal(SIGSEGV, SIG_DFL);
		*(volatile int *)8 = here[1];
	}
	sink = call(here[0], here[1]) + here[1];
	return sink;
}

static void go_back(int sig)
{
	(void)sig;
	siglongjmp(again, 1);
}

int main(int argc, char **argv)
{
	static int word;
	size_t by = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;

	if (argc > 1 && !strcmp(argv[1], "recover")) {
		nowhere = &word;
		signal(SIGSEGV, go_back);
		next = (handler *)((char *)parse + by);
		return parse(1, 2);
	}
	next = (handler *)((char *)last + by);
	return call(3, 4);
}
