// SPDX-License-Identifier: BSD-2-Clause
/* A function that starts with an inlined one; reached by a call, and by a tail call. */
#include <stdio.h>
#include <stdlib.h>

struct item {
	long value;
	struct item *next;
};

static inline __attribute__((always_inline)) long value_of(const struct item *item)
{
	return item->value;
}

__attribute__((noinline)) long doubled(const struct item *item)
{
	return value_of(item) * 2;
}

__attribute__((noinline)) long last(const struct item *item)
{
	while (item->next)
		item = item->next;
	return doubled(item->next);
}

int main(void)
{
	struct item a = {1, NULL}, b = {2, &a};

	if (doubled(&b) != 4)
		return 1;
	printf("%ld\n", last(&b) + 1);
	return 0;
}
