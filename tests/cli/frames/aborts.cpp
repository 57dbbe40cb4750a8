// SPDX-License-Identifier: BSD-2-Clause
/* aborts WAY: deaths by abort(). "way:" is at the line of the program's own call. */
#include <cassert>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <vector>

static volatile int steps;

static __attribute__((noinline)) void step(int n)
{
	if (n & 1)
		steps = steps + n;
}

static __attribute__((noinline)) void give_up(int n)
{
	step(n);
	abort(); /* way: abort */
}

static __attribute__((noinline)) void check(int n)
{
	step(n);
	assert(n > 100 && "too small"); /* way: assert */
}

static __attribute__((noinline)) void refuse(int n)
{
	step(n);
	if (n < 100)
		throw std::runtime_error("too small"); /* way: throw */
}

/* The call of the library that throws is in a header. */
static __attribute__((noinline)) int element(const std::vector<int> &v, int n)
{
	step(n);
	return v.at(n); /* way: header */
}

/* The first of the two calls returns: it is not the one that led to abort(). */
static __attribute__((noinline)) void twice(void *p, int n)
{
	for (volatile int i = 0; i < 2; i = i + 1) { /* one instruction calls it */
		step(n);
		free(p); /* way: free */
	}
}

static int compare(const void *a, const void *b)
{
	if (*(const int *)a == 7)
		abort(); /* way: sort */
	return *(const int *)a - *(const int *)b;
}

static __attribute__((noinline)) void send(int n)
{
	step(n);
	raise(SIGABRT); /* way: raise */
}

static void restore(int)
{
	step(5);
	abort(); /* way: handler */
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	int numbers[] = {3, 1, 7, 2};
	std::vector<int> few(3);

	for (int i = 0; i < 9; i++)
		step(i);
	if (!strcmp(way, "abort"))
		give_up(7);
	else if (!strcmp(way, "assert"))
		check(7);
	else if (!strcmp(way, "throw"))
		refuse(7);
	else if (!strcmp(way, "header"))
		return element(few, 7);
	else if (!strcmp(way, "free"))
		twice(malloc(2000), 7);
	else if (!strcmp(way, "sort"))
		qsort(numbers, 4, sizeof(*numbers), compare);
	else if (!strcmp(way, "raise"))
		send(7);
	else if (!strcmp(way, "handler")) {
		signal(SIGUSR1, restore);
		raise(SIGUSR1);
	}
	return 0;
}
