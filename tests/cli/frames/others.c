// SPDX-License-Identifier: BSD-2-Clause
/* One thread clears what another one uses; a third one waits. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static int value = 1;
static int *volatile shared = &value;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t ready;

static __attribute__((noinline)) void clear(void)
{
	shared = NULL;
}

static __attribute__((noinline)) int get(void)
{
	return *shared;
}

static void *clears(void *unused)
{
	(void)unused;
	clear();
	pthread_barrier_wait(&ready);
	pthread_mutex_lock(&lock); /* for ever */
	return NULL;
}

static void *reads(void *unused)
{
	(void)unused;
	pthread_barrier_wait(&ready);
	usleep(20000);
	return (void *)(long)get();
}

int main(void)
{
	pthread_t reader, clearer;

	pthread_mutex_lock(&lock);
	pthread_barrier_init(&ready, NULL, 2);
	pthread_create(&clearer, NULL, clears, NULL);
	pthread_setname_np(clearer, "clearer");
	pthread_create(&reader, NULL, reads, NULL);
	pthread_setname_np(reader, "reader");
	pthread_join(reader, NULL);
	return 0;
}
