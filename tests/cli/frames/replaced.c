// SPDX-License-Identifier: BSD-2-Clause
/*
 * test_replaced_files.sh: a library (-DFUNCTION=name, with other code for each PAD) that crashes
 * when called with NULL, and a program that loads it, runs a command, and calls it.
 */
#ifdef FUNCTION
int other_code(volatile int *p)
{
	for (int i = 0; i < PAD; i++)
		*p += i * PAD;
	return *p;
}

int FUNCTION(volatile int *p)
{
#if PAD > 8
	*p = other_code(p) * 5; /* longer */
#endif
	return *p;
}
#else
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	void *lib = dlopen(argv[1], RTLD_NOW);
	int (*call)(volatile int *) = lib ? dlsym(lib, argv[2]) : NULL;

	if (!call || argc < 4) {
		puts(dlerror());
		return 1;
	}
	if (system(argv[3]))
		return 2;
	return call(NULL);
}
#endif
