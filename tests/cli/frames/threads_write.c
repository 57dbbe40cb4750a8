// SPDX-License-Identifier: BSD-2-Clause
/*
 * threads_write ORDER: the threads write to one pointer in that order, a letter each, and the first
 * thread uses it. a, b: threads that stay; m: the first thread itself; e: one that ends; their
 * capitals write an address that is not mapped. r: the first thread reads the pointer that it uses,
 * before others write to it. s: a thread smashes its own stack instead;
 * t: that of another thread.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct node { long value; };
static struct node good = {1}, *shared = &good;
static struct node *early;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static char whose;
static volatile int spinning, sink, started;

#define NOINLINE __attribute__((noinline, noclone))
static NOINLINE void write_a(struct node *to) { shared = to, sink += 1; } /* a */
static NOINLINE void write_b(struct node *to) { shared = to, sink += 2; } /* b */
static NOINLINE void write_e(struct node *to) { shared = to, sink += 3; } /* e */
static NOINLINE void write_m(struct node *to) { shared = to, sink += 4; } /* m */

static struct node *value_of(char letter)
{
	return letter >= 'a' ? &good : (struct node *)0x414140;
}

static NOINLINE void overflow(char *to, size_t nr_bytes)
{
	memset(to, 0x41, nr_bytes); /* overflow */
}

static NOINLINE int smash(size_t nr_bytes)
{
	char here[16];

	overflow(here, nr_bytes);
	return here[0];
}

static void *stay(void *arg)
{
	const char name = *(const char *)arg;

	pthread_mutex_lock(&lock);
	started++;
	for (;;) {
		while ((whose | 0x20) != name)
			pthread_cond_wait(&changed, &lock);
		(name == 'a' ? write_a : write_b)(value_of(whose));
		whose = 0;
		pthread_cond_broadcast(&changed);
	}
	return NULL;
}

static void *end(void *arg)
{
	write_e(value_of(*(const char *)arg));
	return NULL;
}

static void *spin(void *arg)
{
	pthread_mutex_lock(&lock);
	started++;
	pthread_mutex_unlock(&lock);
	for (;;) {
		spinning++;
		usleep(100);
	}
	return arg;
}

static char *volatile exposed;

/* Waits while the first thread overwrites its return address. */
static NOINLINE int victim(void)
{
	char here[16] = {0};

	exposed = here;
	while (exposed)
		usleep(100);
	return here[0];
}

static void *smashed(void *arg)
{
	printf("%d\n", victim());
	return arg;
}

static void *smasher(void *arg)
{
	usleep(1000);
	printf("%d\n", smash(200));
	return arg;
}

static NOINLINE long use(void)
{
	return shared->value; /* use */
}

static NOINLINE void read_early(void)
{
	early = shared; /* read_early */
}

static NOINLINE long use_early(void)
{
	return early->value; /* use_early */
}

int main(int argc, char **argv)
{
	pthread_t thread;

	(void)argc;
	pthread_create(&thread, NULL, spin, NULL);
	pthread_create(&thread, NULL, stay, "a");
	pthread_create(&thread, NULL, stay, "b");
	while (started < 3)
		usleep(1000);
	for (const char *at = argv[1]; *at; at++) {
		const char name = (char)(*at | 0x20);

		usleep(1000);
		if (name == 'm') {
			write_m(value_of(*at));
		} else if (name == 'r') {
			read_early();
		} else if (name == 't') {
			pthread_create(&thread, NULL, smashed, NULL);
			while (!exposed)
				usleep(100);
			overflow(exposed, 100);
			exposed = NULL;
			pthread_join(thread, NULL);
		} else if (name == 'e' || name == 's') {
			pthread_create(&thread, NULL, name == 'e' ? end : smasher, (void *)at);
			pthread_join(thread, NULL);
		} else {
			pthread_mutex_lock(&lock);
			whose = *at;
			pthread_cond_broadcast(&changed);
			while (whose)
				pthread_cond_wait(&changed, &lock);
			pthread_mutex_unlock(&lock);
		}
	}
	return (int)(early ? use_early() : use());
}
