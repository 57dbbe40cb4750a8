// SPDX-License-Identifier: BSD-2-Clause
/*
 * Signals at any moment, in one thread or several. The ground truth must contain what the program
 * counts itself: prints "NAME address count" lines.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static long nr_alarms; /* of all threads: two may be in the handler at once */

extern char counted[], handled[], repeated[], wide_cas[];

static __attribute__((noinline)) void handler_body(void)
{
	__asm__ volatile(".globl handled\nhandled: nop");
	__atomic_fetch_add(&nr_alarms, 1, __ATOMIC_SEQ_CST);
}

static void on_alarm(int signo)
{
	(void)signo;
	handler_body();
}

static __attribute__((noinline)) void count(long n)
{
	__asm__ volatile(".globl counted\ncounted: decq %0\n\tjnz counted" : "+r"(n));
}

static __attribute__((noinline)) void repeat(long n)
{
	static char buf[20000];

	while (n--) {
		char *to = buf;
		long size = sizeof(buf);

		__asm__ volatile(".globl repeated\nrepeated: rep stosb"
				 : "+D"(to), "+c"(size)
				 : "a"(0)
				 : "memory");
	}
}

static unsigned __int128 shared __attribute__((aligned(16)));

static __attribute__((noinline)) void swap(long n)
{
	while (n--) {
		uint64_t lo = 0, hi = 0;

		__asm__ volatile(
			"incl %%ecx\n.globl wide_cas\nwide_cas: lock cmpxchg16b %2\n\tincl %%ecx"
			: "+a"(lo), "+d"(hi), "+m"(shared)
			: "b"(1l), "c"(1l)
			: "cc");
	}
}

static void *thread(void *arg)
{
	count(300000);
	swap(500);
	return arg;
}

int main(int argc, char **argv)
{
	struct itimerval every = {{0, 2000}, {0, 2000}}, off = {{0, 0}, {0, 0}};
	struct sigaction act;
	pthread_t t[3];
	int nr = argc > 1 ? atoi(argv[1]) : 0;

	memset(&act, 0, sizeof(act));
	act.sa_handler = on_alarm;
	act.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; i < nr; i++)
		pthread_create(&t[i], NULL, thread, NULL);
	count(30000000);
	repeat(50);
	for (int i = 0; i < nr; i++)
		pthread_join(t[i], NULL);
	setitimer(ITIMER_REAL, &off, NULL);
	printf("counted %lx %ld\n", (long)counted, 30000000l + nr * 300000l);
	printf("repeated %lx %d\n", (long)repeated, 50);
	printf("wide_cas %lx %d\n", (long)wide_cas, nr * 500);
	printf("handled %lx %ld\n", (long)handled, nr_alarms);
	return 0;
}
