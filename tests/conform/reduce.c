// SPDX-License-Identifier: BSD-2-Clause
/* See conform.h. Removes parts of a script while a difference remains (delta debugging). */
#include "conform.h"
#include <string.h>
#include <time.h>

#define MAX_SECONDS 100
static time_t deadline;

static bool fails(const struct script *script)
{
	char text[512];
	int at;

	if (time(NULL) > deadline)
		return false;
	return play(script, text, sizeof(text), &at) == DIFFERENT;
}

/* Without [from, from + nr). */
static struct script without(const struct script *script, int from, int nr)
{
	struct script less = {0};

	memcpy(less.only, script->only, sizeof(less.only));
	for (int i = 0; i < script->nr; i++)
		if (i < from || i >= from + nr)
			script_add(&less, &script->ops[i]);
	return less;
}

static bool remove_parts(struct script *script, int part)
{
	bool any = false;

	/* from the end: later operations depend on earlier ones */
	for (int from = script->nr - part; from >= 0; from -= part) {
		struct script less = without(script, from, part);

		if (less.nr && fails(&less)) {
			script_free(script);
			*script = less;
			any = true;
		} else {
			script_free(&less);
		}
	}
	return any;
}

/* Sets irrelevant arguments to 0. */
static bool simplify(struct script *script)
{
	bool any = false;

	for (int i = 0; i < script->nr; i++)
		for (int a = 1; a < NR_ARGS; a++) {
			int64_t was = script->ops[i].arg[a];

			if (!was)
				continue;
			script->ops[i].arg[a] = 0;
			if (fails(script))
				any = true;
			else
				script->ops[i].arg[a] = was;
		}
	return any;
}

void script_reduce(struct script *script)
{
	struct stats before = stats;
	bool again = true;

	deadline = time(NULL) + MAX_SECONDS;
	for (int part = script->nr / 2; part > 1; part /= 2)
		remove_parts(script, part);
	while (again) {
		again = remove_parts(script, 1);
		again |= remove_parts(script, 2);
		again |= simplify(script);
	}
	stats = before;
}
