// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program to be traced in parts: main, work, leaf and rare each fill a separate section, whose
 * addresses it prints first, lines 'NAME FIRST LAST'. With 'threads' three more threads work, and a
 * child process.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define IN(name) __attribute__((noinline, section("in_" #name)))
#define SHOW(name)                                                              \
	do {                                                                    \
		extern char __start_in_##name[], __stop_in_##name[];            \
		printf("%s %lx %lx\n", #name, (unsigned long)__start_in_##name, \
		       (unsigned long)__stop_in_##name - 1);                    \
	} while (0)

static volatile long sink;

IN(leaf) static long leaf(long n)
{
	return n & 1 ? n * 3 : n / 2;
}

static long (*volatile indirect)(long n) = leaf;

IN(rare) static long rare(long n)
{
	for (long i = 0; i < 10; i++)
		sink += i ^ n;
	return sink;
}

/* Calls into and out of the range, a recursion, a system call in it. */
IN(work) static long work(long n)
{
	long sum = 0;

	for (long i = 0; i < n; i++)
		sum += i % 3 ? leaf(i) : indirect(i);
	if (n > 2)
		sum += work(n / 2);
	if (n == 40)
		sum += syscall(SYS_getppid) > 0;
	return sum + (long)strlen("out of all ranges");
}

static void *thread(void *arg)
{
	for (long i = 0; i < 5; i++)
		sink += work((long)arg + i);
	return NULL;
}

IN(main) int main(int argc, char **argv)
{
	pthread_t threads[3];
	int status = 0;

	SHOW(main);
	SHOW(work);
	SHOW(leaf);
	SHOW(rare);
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "threads")) {
		for (long i = 0; i < 3; i++)
			if (pthread_create(&threads[i], NULL, thread, (void *)(20 + i)))
				return 1;
		if (!fork()) {
			thread((void *)40);
			_exit(0);
		}
		for (int i = 0; i < 3; i++)
			pthread_join(threads[i], NULL);
		wait(&status);
	}
	for (long i = 0; i < 10; i++)
		sink += work(36 + i);
	sink += rare(3);
	for (long i = 0; i < 10; i++)
		sink += work(10 + i);
	return status;
}
