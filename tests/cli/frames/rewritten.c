// SPDX-License-Identifier: BSD-2-Clause
/*
 * rewritten N [MEMORY]: writes code that calls a function, calls it five times, and does so N
 * times, with another function and another branch at the same addresses; then it reads address 0 or
 * 8. MEMORY is rwx, rx (writable or executable, never both) or memfd (written by its file).
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static uint8_t *code;
static int file = -1;
static int is_rx;

static __attribute__((noinline)) long one(long n)
{
	return n + 1;
}

static __attribute__((noinline)) long two(long n)
{
	long sum = 0;

	for (long i = 0; i < 3; i++)
		sum += n ^ i;
	return sum;
}

static void put(long (*function)(long))
{
	/* push %rbx; mov $function, %rax; call *%rax; test %rax, %rax; jne 1f; nop; 1: pop; ret */
	uint8_t bytes[] = {0x53, 0x48, 0xb8, 0,    0,	 0,    0,    0,	   0,	 0,   0,
			   0xff, 0xd0, 0x48, 0x85, 0xc0, 0x75, 0x01, 0x90, 0x5b, 0xc3};

	memcpy(bytes + 3, &function, sizeof(function));
	if (function == two)
		bytes[16] = 0x74; /* je */
	if (file >= 0) {
		if (pwrite(file, bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
			exit(2);
		return;
	}
	if (is_rx && mprotect(code, 4096, PROT_READ | PROT_WRITE))
		exit(2);
	memcpy(code, bytes, sizeof(bytes));
	if (is_rx && mprotect(code, 4096, PROT_READ | PROT_EXEC))
		exit(2);
}

int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 1;
	long sum = 0;

	is_rx = argc > 2 && !strcmp(argv[2], "rx");
	if (argc > 2 && !strcmp(argv[2], "memfd")) {
		file = memfd_create("code", 0);
		if (file < 0 || ftruncate(file, 4096))
			return 2;
		code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	} else {
		code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	if (code == MAP_FAILED)
		return 2;
	for (int i = 0; i < nr; i++) {
		put(i % 2 ? two : one);
		for (int k = 0; k < 5; k++)
			sum += ((long (*)(long))code)(sum);
	}
	return *(volatile int *)(sum & 8);
}
