/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads that take turns: step0() to step2() run in that order, round after round, as the number
 * of turns says, which is the order that their trace must show. "mutex": by a mutex that is never
 * waited for; "cond": by a condition; "xchg": by an exchange alone.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define NR 3

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t ready, end;
static atomic_int busy;
static int turn, rounds = 30, sum;
static const char *how;

static __attribute__((noinline)) void step0(int n)
{
	for (int i = 0; i < 3; i++)
		sum += n;
}

static __attribute__((noinline)) void step1(int n)
{
	for (int i = 0; i < 3; i++)
		sum += 2 * n;
}

static __attribute__((noinline)) void step2(int n)
{
	for (int i = 0; i < 3; i++)
		sum += 3 * n;
}

static void take(int me)
{
	if (!strcmp(how, "xchg")) {
		while (atomic_exchange(&busy, 1))
			;
		return;
	}
	pthread_mutex_lock(&lock);
	while (!strcmp(how, "cond") && turn % NR != me)
		pthread_cond_wait(&changed, &lock);
}

static void give(void)
{
	if (!strcmp(how, "xchg")) {
		atomic_exchange(&busy, 0);
		return;
	}
	if (!strcmp(how, "cond"))
		pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* Work of its own: meanwhile the lock is free. */
static __attribute__((noinline)) void between(int me)
{
	volatile int x = me;

	for (int i = 0; i < 5; i++)
		x += i;
}

static void *run(void *arg)
{
	static void (*const step[NR])(int) = {step0, step1, step2};
	int me = (int)(long)arg, done = 0;

	pthread_barrier_wait(&ready);
	while (done < rounds) {
		take(me);
		if (turn % NR == me) {
			step[me](turn++);
			done++;
		}
		give();
		between(me);
	}
	if (me == NR - 1)
		*(volatile int *)0 = 0;
	pthread_barrier_wait(&end); /* for ever */
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[NR];

	how = argc > 1 ? argv[1] : "mutex";
	pthread_barrier_init(&ready, NULL, NR);
	pthread_barrier_init(&end, NULL, NR);
	for (long i = 0; i < NR; i++)
		pthread_create(&thread[i], NULL, run, (void *)i);
	for (int i = 0; i < NR; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
