// SPDX-License-Identifier: BSD-2-Clause
/*
 * pair: two threads that run briefly every 20 ms until they are killed; the second one's name is
 * 'other'. Prints its tid.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void *work(void *unused)
{
	const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
	volatile unsigned long sum = 0;

	for (;;) {
		for (unsigned long i = 0; i < 50; i++)
			sum += i;
		nanosleep(&pause, NULL);
	}
	return unused;
}

static void *other(void *unused)
{
	pthread_setname_np(pthread_self(), "other");
	printf("%ld\n", syscall(SYS_gettid));
	fflush(stdout);
	return work(unused);
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, other, NULL))
		return 1;
	work(NULL);
	return 0;
}
