// SPDX-License-Identifier: BSD-2-Clause
/* An AArch64 program for test_etm_programs; argv[1] selects what it does. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile unsigned long sum;

/* ---- recursion, deeper than any return stack ---- */

static __attribute__((noinline)) unsigned int ackermann(unsigned int m, unsigned int n)
{
	if (!m)
		return n + 1;
	if (!n)
		return ackermann(m - 1, 1);
	return ackermann(m - 1, ackermann(m, n - 1)) + 0 * sum;
}

static __attribute__((noinline)) unsigned long depth(unsigned int n)
{
	return n ? 1 + depth(n - 1) + sum * 0 : 0;
}

static void recursion(void)
{
	sum += ackermann(2, 9);
	sum += depth(100);
}

/* ---- calls through the PLT, pointers, tables ---- */

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static __attribute__((noinline)) unsigned long choose(unsigned int what)
{
	switch (what % 8) {
	case 0:
		return strlen("abc") + sum;
	case 1:
		return sum * 3;
	case 2:
		return sum ^ 0x55;
	case 3:
		return (unsigned long)labs(-(long)sum);
	case 4:
		return sum / 7;
	case 5:
		return sum << 3;
	case 6:
		return sum - 12345;
	default:
		return ~sum;
	}
}

static void calls(void)
{
	int numbers[200];
	char text[64];

	for (int i = 0; i < 200; i++)
		numbers[i] = (i * 7919) % 1009;
	qsort(numbers, 200, sizeof(numbers[0]), compare);
	for (int i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "%d %s %lx", numbers[i], "x", sum);
		sum += strlen(text) + choose(numbers[i]);
	}
	printf("%lu\n", sum);
}

/* ---- signals: faults, traps, kill(), a timer ---- */

static sigjmp_buf back;

static void on_fault(int sig)
{
	siglongjmp(back, sig);
}

static void on_skip(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)info;
	sum += sig;
	uc->uc_mcontext.pc += 4;
}

static void on_signal(int sig)
{
	sum += sig;
}

static void handle(int sig, void (*handler)(int), void (*action)(int, siginfo_t *, void *))
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	if (action) {
		sa.sa_sigaction = action;
		sa.sa_flags = SA_SIGINFO;
	} else {
		sa.sa_handler = handler;
	}
	sigaction(sig, &sa, NULL);
}

static void signals(void)
{
	struct itimerval timer = {{0, 10000}, {0, 10000}}, none = {{0, 0}, {0, 0}};

	for (volatile int i = 0; i < 5; i++) {
		handle(SIGSEGV, on_fault, NULL);
		if (!sigsetjmp(back, 1))
			*(volatile int *)8 = i;
		handle(SIGSEGV, NULL, on_skip);
		sum += *(volatile int *)16;
		handle(SIGTRAP, NULL, on_skip);
		__asm__ volatile("brk #7");
		handle(SIGILL, NULL, on_skip);
		__asm__ volatile(".word 0");
		handle(SIGUSR1, on_signal, NULL);
		raise(SIGUSR1);
		kill(getpid(), SIGUSR1);
	}
	handle(SIGALRM, on_signal, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (int i = 0; i < 20000; i++)
		sum += choose(i);
	setitimer(ITIMER_REAL, &none, NULL);
}

/* ---- threads ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *thread(void *arg)
{
	for (int i = 0; i < 300; i++) {
		unsigned long more = depth(i % 20) + choose(i);

		pthread_mutex_lock(&mutex);
		sum += more;
		pthread_mutex_unlock(&mutex);
	}
	return arg;
}

static void threads(void)
{
	pthread_t ids[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&ids[i], NULL, thread, NULL);
	thread(NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(ids[i], NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "recursion"))
		recursion();
	else if (!strcmp(what, "calls"))
		calls();
	else if (!strcmp(what, "signals"))
		signals();
	else if (!strcmp(what, "threads"))
		threads();
	else if (!strcmp(what, "crash"))
		*(volatile int *)24 = 1;
	return 0;
}
