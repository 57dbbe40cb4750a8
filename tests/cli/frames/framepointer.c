// SPDX-License-Identifier: BSD-2-Clause
/*
 * A function writes past the end of its array and changes the frame pointer that it had saved, by
 * the second argument. Its caller goes on with a wrong one: which of them does what, says the first
 * argument. Compile it without optimization and without the stack protector.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
	int id;
	struct item *next;
};

static struct item items[] = {{1, &items[1]}, {2, &items[2]}, {3, NULL}};
static volatile int *volatile nowhere;
static long change;
static const char *mode;
static int i;

__attribute__((noinline)) static void count_past_end(void)
{
	volatile long counts[4] = {0};

	for (i = 0; i < 5; i++)
		counts[i] += change;
}

__attribute__((noinline)) static void die(int in)
{
	int here = in + 1;

	*nowhere = here;
}

/* dies, calls a function that dies, or returns, with a wrong frame pointer */
__attribute__((noinline)) static int visit(struct item *item)
{
	int seen = 77;

	count_past_end();
	if (!strcmp(mode, "reads"))
		return *nowhere + seen + item->id;
	if (!strcmp(mode, "calls"))
		die(5);
	return 4;
}

__attribute__((noinline)) static int walk(struct item *first, int depth)
{
	int sum = depth;

	if (depth)
		return walk(first, depth - 1) + sum;
	for (struct item *item = first; item; item = item->next)
		sum += visit(item);
	return sum;
}

/* with the frame pointer of its caller, which is the same function */
__attribute__((noinline)) static int climb(int depth, char *callers)
{
	int sum = depth * 10;

	if (depth < 4)
		return climb(depth + 1, __builtin_frame_address(0)) + sum;
	change = callers - (char *)__builtin_frame_address(0);
	count_past_end();
	return *nowhere + sum;
}

int main(int argc, char **argv)
{
	mode = argc > 1 ? argv[1] : "";
	if (!strcmp(mode, "climbs"))
		return climb(0, NULL);
	change = argc > 2 ? strtol(argv[2], NULL, 0) : 0;
	printf("%d\n", walk(items, argc > 3 ? atoi(argv[3]) : 0));
	return 0;
}
