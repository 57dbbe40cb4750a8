// SPDX-License-Identifier: BSD-2-Clause
/*
 * Several simulations at the same time, one in each thread: each has the result that it has alone.
 * Built with -fsanitize=thread this shows that they share nothing.
 */
#include "support_run.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#define NR_CONFIGS 24
#define NR_THREADS 4

struct shared {
	struct auxtap_watermark_config configs[NR_CONFIGS];
	struct auxtap_watermark_result alone[NR_CONFIGS];
};

struct worker {
	pthread_t thread;
	const struct shared *shared;
	unsigned int first;
	unsigned int nr_wrong; /* cmocka's assertions are for the main thread */
};

static void fill(struct shared *s)
{
	for (unsigned int i = 0; i < NR_CONFIGS; i++) {
		struct auxtap_watermark_config *c = &s->configs[i];

		*c = run_config(run_drivers[i % 3]);
		c->max_bytes = 200000;
		c->seed = i;
		c->cpu = (int)i % 8;
		c->kernel = auxtap_watermark_kernel(i / 3 % 3);
		if (i % 4 == 1) /* page size and kernel are the machine's, not the process's */
			c->page_size = i % 3 ? 65536 : 4096;
		if (i % 4 == 2)
			c->reader_latency_ns = 3000000;
		c->snapshot = i % 8 == 3;
		c->contents = i % 8 == 7;
		if (i % 6 == 2) /* a TRBE, beside others without it */
			c->setup.errata = AUXTAP_ERRATUM_OVERWRITE;
		if (i % 12 == 5)
			assert_int_equal(auxtap_watermark_fault_config(c, "interrupt-lost", NULL),
					 0);
		s->alone[i].size = sizeof(s->alone[i]);
		run_sim(c, NULL, &s->alone[i]);
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;

	for (unsigned int n = 0; n < 3 * NR_CONFIGS; n++) {
		unsigned int i = (w->first + n) % NR_CONFIGS;
		struct auxtap_watermark_result r = {.size = sizeof(r)};

		w->nr_wrong +=
			auxtap_watermark_run(&w->shared->configs[i], NULL, NULL, &r, NULL) != 0 ||
			memcmp(&r, &w->shared->alone[i], sizeof(r)) != 0;
	}
	return NULL;
}

static void test_same_results(void **state)
{
	static struct shared shared;
	struct worker workers[NR_THREADS];

	(void)state;
	fill(&shared);
	for (unsigned int i = 0; i < NR_THREADS; i++) {
		workers[i] = (struct worker){.shared = &shared, .first = 7 * i};
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (unsigned int i = 0; i < NR_THREADS; i++) {
		assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
		assert_int_equal(workers[i].nr_wrong, 0);
	}
}

/* Searches, too: a state is all memory of a machine. */
static void *search(void *arg)
{
	struct auxtap_explore_result *r = arg;
	struct auxtap_watermark_config c = run_config("intel_pt");

	r->size = sizeof(*r);
	c.nr_pages = 2;
	c.setup.record_bytes = 2048;
	if (auxtap_watermark_explore(&c, 100000, r, NULL))
		r->complete = 0;
	return NULL;
}

static void test_searches(void **state)
{
	static struct auxtap_explore_result alone, results[NR_THREADS];
	pthread_t threads[NR_THREADS];

	(void)state;
	search(&alone);
	assert_true(alone.complete && !alone.violated);
	for (unsigned int i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, search, &results[i]), 0);
	for (unsigned int i = 0; i < NR_THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_memory_equal(&results[i], &alone, sizeof(alone));
	}
}

/* ---- 128 threads, and one more ---- */

#define MAX_THREADS 128

struct limit {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int nr_running, nr_refused, nr_done;
};

/* Waits, once, in the middle of its run until all others have begun or were refused. */
static void meet(void *ctx, const struct auxtap_watermark_event *event)
{
	static _Thread_local bool met;
	struct limit *l = ctx;

	if (event->what != AUXTAP_WM_IRQ_LINE || met)
		return;
	met = true;
	pthread_mutex_lock(&l->lock);
	l->nr_running++;
	pthread_cond_broadcast(&l->changed);
	while (l->nr_running + l->nr_refused < MAX_THREADS + 1)
		pthread_cond_wait(&l->changed, &l->lock);
	pthread_mutex_unlock(&l->lock);
}

static void *run_to_the_limit(void *arg)
{
	struct auxtap_watermark_config c = run_config("intel_pt");
	struct auxtap_watermark_result r = {.size = sizeof(r)};
	struct limit *l = arg;
	int ret;

	c.max_bytes = 60000; /* an interrupt at 32768 */
	ret = auxtap_watermark_run(&c, meet, l, &r, NULL);
	pthread_mutex_lock(&l->lock);
	l->nr_refused += ret == -EBUSY;
	l->nr_done += !ret && !r.nr_violations && r.nr_interrupts;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

static void test_limit(void **state)
{
	static struct limit l = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0};
	pthread_t threads[MAX_THREADS + 1];

	(void)state;
	for (unsigned int i = 0; i < MAX_THREADS + 1; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_to_the_limit, &l), 0);
	for (unsigned int i = 0; i < MAX_THREADS + 1; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(l.nr_running, MAX_THREADS);
	assert_int_equal(l.nr_refused, 1);
	assert_int_equal(l.nr_done, MAX_THREADS);
	l.nr_running = 0;
	l.nr_refused = MAX_THREADS; /* no other thread to wait for */
	run_to_the_limit(&l);	    /* all have left */
	assert_int_equal(l.nr_done, MAX_THREADS + 1);
}

/* The shared library can be loaded later: its thread-local variables have space. */
static void test_load(void **state)
{
	const char *(*kernel)(unsigned int n);
	void *library = dlopen(AUXTAP_WATERMARK_LIBRARY, RTLD_NOW | RTLD_LOCAL);

	(void)state;
	if (!library)
		fail_msg("%s", dlerror());
	*(void **)&kernel = dlsym(library, "auxtap_watermark_kernel");
	assert_non_null(kernel);
	assert_string_equal(kernel(0), auxtap_watermark_kernel(0));
	dlclose(library);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_results),
		cmocka_unit_test(test_searches),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
