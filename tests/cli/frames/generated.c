// SPDX-License-Identifier: BSD-2-Clause
/*
 * Code written at run time, which no unwind information describes. "leaf": it faults at its first
 * instruction, called by apply(). "deep": it calls faults(). "unmap": the fault is in a function
 * that a signal handler interrupted, and the beginning of libc is unmapped.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static volatile long sink;

typedef long generated(const long *at);

static __attribute__((noinline)) long faults(const long *at)
{
	return at[3];
}

static __attribute__((noinline)) long apply(generated *code, const long *at)
{
	long sum = code(at);

	__asm__ volatile("" : "+r"(sum));
	return sum + 1;
}

static void on_fault(int signo)
{
	signal(signo, SIG_DFL);
	sink = faults((const long *)16);
}

/* The mapping of libc that begins its file; NULL: not found. */
static void *libc_begin(void)
{
	unsigned long start, end, off;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "/libc.so") &&
		    sscanf(line, "%lx-%lx %*s %lx", &start, &end, &off) == 3 && !off)
			return (void *)start;
	return NULL;
}

static __attribute__((noinline)) long interrupted(volatile long *at)
{
	return *at;
}

int main(int argc, char **argv)
{
	/* mov 8(%rdi), %rax; ret */
	static const uint8_t leaf[] = {0x48, 0x8b, 0x47, 0x08, 0xc3};
	/* push %rbx; mov $faults, %rax; call *%rax; pop %rbx; ret */
	uint8_t deep[] = {0x53, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x5b, 0xc3};
	void *address = (void *)faults;
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (argc != 2 || code == MAP_FAILED)
		return 2;
	if (!strcmp(argv[1], "leaf")) {
		memcpy(code, leaf, sizeof(leaf));
		return (int)apply((generated *)code, NULL);
	}
	if (!strcmp(argv[1], "deep")) {
		memcpy(deep + 3, &address, sizeof(address));
		memcpy(code, deep, sizeof(deep));
		return (int)apply((generated *)code, (const long *)8);
	}
	signal(SIGSEGV, on_fault);
	signal(SIGSEGV, on_fault); /* bound: the handler calls it */
	address = libc_begin();
	if (!address || munmap(address, 4096))
		return 2;
	return (int)interrupted(NULL);
}
