// SPDX-License-Identifier: BSD-2-Clause
/*
 * rewritten_threads N THREADS: each thread writes code that calls a function, and calls it, N
 * times: at addresses that all of them use, in turns; at some of its own; and where others change
 * it meanwhile, as compilers at run time do: one aligned store, or one byte. In the end the first
 * thread reads address 0 while the others go on.
 *
 * rewritten_threads spin: see spin().
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 16

static uint8_t *code;
static int returned;
static int nr_rounds = 1, nr_threads = 1;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

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

static void put(uint8_t *at, int round)
{
	long (*function)(long) = round & 2 ? two : one;
	/* push %rbx; mov $function, %rax; call *%rax; test %rax, %rax; jne 1f; nop; 1: pop; ret */
	uint8_t bytes[] = {0x53, 0x48, 0xb8, 0,    0,	 0,    0,    0,	   0,	 0,   0,
			   0xff, 0xd0, 0x48, 0x85, 0xc0, 0x75, 0x01, 0x90, 0x5b, 0xc3};

	if (round & 1) {
		at[16] ^= 1; /* jne and je */
		return;
	}
	memcpy(bytes + 3, &function, sizeof(function));
	memcpy(at, bytes, sizeof(bytes));
}

/* Its constant is aligned: another thread sees the old or the new one. */
static void patch(uint8_t *at, int round)
{
	long (*function)(long) = round & 2 ? two : one;

	if (round & 1)
		__atomic_fetch_xor(at + 16, 1, __ATOMIC_SEQ_CST);
	else
		__atomic_store_n((uint64_t *)(at + 3), (uint64_t)function, __ATOMIC_SEQ_CST);
}

static void *rounds(void *arg)
{
	int self = (int)(intptr_t)arg, rounds = self ? nr_rounds * 4 : nr_rounds;
	uint8_t *own = code + 4096 + 64 * self, *open = code + 2 * 4096 + 5;
	long sum = 0;

	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(&turn);
		put(code, 2 * self + i);
		for (int k = 0; k < 3; k++)
			sum += ((long (*)(long))code)(sum);
		pthread_mutex_unlock(&turn);
		put(own, i);
		for (int k = 0; k < 3; k++)
			sum += ((long (*)(long))own)(sum);
		/* what another thread has written */
		pthread_mutex_lock(&turn);
		sum += ((long (*)(long))code)(sum);
		pthread_mutex_unlock(&turn);
		if (i % 4 == self % 4)
			patch(open, i / 4);
		for (int k = 0; k < 20; k++)
			sum += ((long (*)(long))open)(sum);
	}
	return self ? NULL : (void *)(uintptr_t)*(volatile int *)(sum & 8);
}

static void *call(void *arg)
{
	((void (*)(void))arg)();
	__atomic_store_n(&returned, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
	return NULL;
}

/* A thread loops in two instructions until another one replaces it. */
static int spin(void)
{
	/* 1: jmp 2f; 2: jmp 1b; ret; and at 16: jmp 1b */
	static const uint8_t bytes[] = {0xeb, 0x00, 0xeb, 0xfc, 0xc3}, entry[] = {0xeb, 0xee};
	struct timespec wait = {.tv_nsec = 10000000};
	pthread_t thread;

	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (code == MAP_FAILED)
		return 2;
	memcpy(code, bytes, sizeof(bytes));
	memcpy(code + 16, entry, sizeof(entry));
	if (pthread_create(&thread, NULL, call, code + 16))
		return 2;
	nanosleep(&wait, NULL);
	__atomic_store_n((uint16_t *)code, 0x02eb, __ATOMIC_SEQ_CST); /* jmp to ret */
	while (!__atomic_load_n(&returned, __ATOMIC_SEQ_CST))
		nanosleep(&wait, NULL);
	return *(volatile int *)(uintptr_t)(code[2] & 8);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc > 1 && !strcmp(argv[1], "spin"))
		return spin();
	if (argc > 1)
		nr_rounds = atoi(argv[1]);
	if (argc > 2)
		nr_threads = atoi(argv[2]);
	code = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	if (code == MAP_FAILED || nr_threads > THREADS_MAX)
		return 2;
	put(code, 0);
	put(code + 2 * 4096 + 5, 0);
	for (int i = 1; i < nr_threads; i++)
		if (pthread_create(&thread, NULL, rounds, (void *)(intptr_t)i))
			return 2;
	rounds(NULL);
	return 0;
}
