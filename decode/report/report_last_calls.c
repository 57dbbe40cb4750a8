// SPDX-License-Identifier: BSD-2-Clause
/* Prints a thread's last calls of the program's own functions, with their times. */
#include "call_nodes.h"
#include "report_calls.h"
#include "report_out.h"

#include <inttypes.h>
#include <string.h>

#define MOST_CALLS 8

static bool is_own(const struct report_out *ro, const struct call_node *node)
{
	struct auxtap_location loc = {.size = sizeof(loc)};
	struct report_out at = report_at(ro, node->time, node->addr);

	if (node->gap || node->exec || !node->addr ||
	    auxtap_image_set_symbol(at.images, at.pid, at.time, node->addr, &loc) || !loc.image ||
	    !loc.nr_frames || !loc.frames[0].symbol)
		return false;
	return report_own_level(&loc) == 0;
}

/* The next node in preorder; NULL: it was the last one. */
static const struct call_node *next_node(const struct call_node *node)
{
	if (node->first)
		return node->first;
	while (node && !node->next)
		node = node->parent;
	return node ? node->next : NULL;
}

/* Prints its time relative to the death. Times are those of the last timestamp: lower bounds. */
static void print_time(const struct report_out *ro, const struct call_node *node)
{
	uint64_t time = call_node_newest(node), death = ro->time;
	char text[32];

	if (!time || !death) {
		fputs("      ", ro->out);
		return;
	}
	snprintf(text, sizeof(text), "%c%" PRIu64, time <= death ? '-' : '+',
		 time <= death ? death - time : time - death);
	fprintf(ro->out, "    %12s  ", text);
}

static void print_call(void *ctx, const struct call_node *node)
{
	const struct report_out *ro = ctx;
	struct report_out at = report_at(ro, node->time, node->addr);
	char name[200], location[120], repeat[32] = "";

	report_function_name(&at, node->addr, name, sizeof(name), location, sizeof(location));
	if (node->repeat > 1)
		snprintf(repeat, sizeof(repeat), "  x %" PRIu64, node->repeat);
	print_time(ro, node);
	fprintf(ro->out, "%s%s%s%s%s%s%s%s\n", ro->style->name, name, ro->style->off,
		location[0] ? " (" : "", location, location[0] ? ")" : "", repeat,
		node->returned ? "" : "  ...");
}

/* Keeps last[] sorted by time; calls with equal times stay in the order of the tree. */
static unsigned int insert(const struct call_node **last, unsigned int found, unsigned int nr,
			   const struct call_node *node)
{
	unsigned int at = found;

	while (at && call_node_newest(last[at - 1]) > call_node_newest(node))
		at--;
	if (found < nr) {
		memmove(&last[at + 1], &last[at], (found - at) * sizeof(*last));
		last[at] = node;
		return found + 1;
	}
	if (!at)
		return found; /* older than all */
	memmove(&last[0], &last[1], (at - 1) * sizeof(*last));
	last[at - 1] = node;
	return found;
}

void report_last_calls_each(const struct report_out *ro, struct call_tree *tree, unsigned int nr,
			    report_last_call_fn *fn, void *ctx)
{
	const struct call_node *last[MOST_CALLS], *root = call_tree_root(tree);
	unsigned int found = 0;

	if (nr > MOST_CALLS)
		nr = MOST_CALLS;
	for (const struct call_node *n = root ? root->first : NULL; n; n = next_node(n))
		if (is_own(ro, n))
			found = insert(last, found, nr, n);
	for (unsigned int i = 0; i < found; i++)
		fn(ctx, last[i]);
}

void report_last_calls_print(const struct report_out *ro, struct call_tree *tree, unsigned int nr)
{
	report_last_calls_each(ro, tree, nr, print_call, (void *)ro);
}
