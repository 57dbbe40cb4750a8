// SPDX-License-Identifier: BSD-2-Clause
/* deep N: a null pointer N calls deep; with -DSYSTEM_CALL after a system call. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static long depth(long n, const long *p)
{
#ifdef SYSTEM_CALL
	if (!n)
		getppid();
#endif
	if (!n)
		return *p;
	return depth(n - 1, p) + n;
}

int main(int argc, char **argv)
{
	printf("%ld\n", depth(argc > 1 ? atol(argv[1]) : 10, NULL));
	return 0;
}
