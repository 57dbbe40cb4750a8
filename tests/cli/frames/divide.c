// SPDX-License-Identifier: BSD-2-Clause
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct share { volatile int64_t total, parts; };

static inline int64_t each(const struct share *s) { return s->total / s->parts; }

/* Always called with the same count: gcc makes a clone, "split.constprop.0". */
static __attribute__((noinline)) int64_t split(struct share *s, int n)
{
	int64_t out = 0;

	for (int i = n; i >= 0; i--) {
		s->parts = i;
		out += each(s);
	}
	return out;
}

static void *thread(void *arg)
{
	printf("%ld\n", (long)split(arg, 3));
	return NULL;
}

int main(void)
{
	struct share s = {100, 1};
	pthread_t t;

	pthread_create(&t, NULL, thread, &s);
	pthread_join(t, NULL);
	return 0;
}
