// SPDX-License-Identifier: BSD-2-Clause
/*
 * Loads the libraries one after another, each after the one before was unloaded. The first one
 * allocates a block and frees it; the last one is loaded as the program uses the block.
 */
#include <dlfcn.h>
#include <stdio.h>

/* dies with a pointer to the block */
__attribute__((noinline)) static void store(volatile long *block)
{
	block[1 << 27] = 10;
}

int main(int argc, char **argv)
{
	void *(*get)(long), *first = NULL;
	void (*put)(void *);
	int same = 1;
	long *block = NULL;

	for (int i = 1; i < argc; i++) {
		void *so = dlopen(argv[i], RTLD_NOW);

		get = (void *(*)(long))dlsym(so, "get");
		put = (void (*)(void *))dlsym(so, "put");
		if (i == 1) {
			block = get(900);
			put(block);
			first = (void *)get;
		}
		same = same && first == (void *)get;
		if (i + 1 < argc)
			dlclose(so);
	}
	printf("same address: %s\n", same ? "yes" : "no");
	fflush(stdout);
	store(block);
	return 0;
}
