// SPDX-License-Identifier: BSD-2-Clause
/* causes WHICH: dies of what WHICH names. */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static volatile int sink;

static int descend(int depth)
{
	volatile char frame[2000];

	frame[0] = (char)depth;
	if (depth == sink - 1)
		return depth;
	return descend(depth + 1) + frame[0];
}

static void *run(void *arg)
{
	sink = -1;
	printf("%d\n", descend(0));
	return arg;
}

static void thread_stack(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	pthread_create(&thread, &attr, run, NULL);
	pthread_join(thread, NULL);
}

static void shared(void)
{
	char *at = mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	at[8] = 1;
}

/* The protection is changed afterwards: the mapping stays shared. */
static void shared_changed(void)
{
	char *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	at[8] = 1;
	mprotect(at, 4096, PROT_READ);
	at[8] = 1;
}

int main(int argc, char **argv)
{
	static char bytes[64] __attribute__((aligned(64)));
	const char *which = argc > 1 ? argv[1] : "";
	volatile int number = INT_MIN, by = -1;
	int *volatile small = (int *)0xbb8, *volatile null = NULL;

	if (!strcmp(which, "ud1"))
		__asm__ volatile(".byte 0x67, 0x0f, 0xb9, 0x40, 0x0a");
	if (!strcmp(which, "overflow"))
		return number / by;
	if (!strcmp(which, "movaps"))
		__asm__ volatile("movaps (%0), %%xmm0" : : "r"(bytes + 4) : "xmm0");
	if (!strcmp(which, "hlt"))
		__asm__ volatile("hlt");
	if (!strcmp(which, "int3"))
		__asm__ volatile("int3; nop");
	if (!strcmp(which, "int_3"))
		__asm__ volatile(".byte 0xcd, 3; nop");
	if (!strcmp(which, "lock"))
		__asm__ volatile(".byte 0xf0, 0x89, 0xc0");
	if (!strcmp(which, "selector"))
		__asm__ volatile("mov $0x77, %%eax; mov %%eax, %%ds" ::: "rax");
	if (!strcmp(which, "control"))
		__asm__ volatile("mov %%cr0, %%rax" ::: "rax");
	if (!strcmp(which, "kernel"))
		return *(volatile int *)0xffffffff81000000;
	if (!strcmp(which, "out"))
		__asm__ volatile("outb %al, $0x80");
	if (!strcmp(which, "thread_stack"))
		thread_stack();
	if (!strcmp(which, "shared"))
		shared();
	if (!strcmp(which, "shared_changed"))
		shared_changed();
	if (!strcmp(which, "small"))
		return *small;
	if (!strcmp(which, "null"))
		return null[3];
	return 0;
}
