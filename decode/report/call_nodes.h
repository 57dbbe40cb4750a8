/* SPDX-License-Identifier: BSD-2-Clause */
/* The nodes of a tree of calls: kept, forgotten, counted. */
#ifndef AUXTAP_CALL_NODES_H
#define AUXTAP_CALL_NODES_H

#include "report.h"

#define CALL_TREE_CACHE 4096 /* power of two */

struct call_tree {
	struct call_node root;
	struct call_node *current;
	size_t nr_nodes;
	uint64_t budget;     /* nodes that searches may still look at, beyond the first of each */
	size_t nr_forgotten; /* callers of the outermost node, no longer kept */
	bool some_forgotten; /* or only some of these are still open */
	char gap[192];	     /* the newest after which no callers are known; "": none */
	uint64_t off_ip;     /* where tracing went off last */
	bool off_async;
	uint64_t run; /* where the code begins that has run since the last branch; 0: unknown */
	bool run_returned; /* a return led there, to its call: that is the instruction before */
	struct auxtap_event nowhere; /* a return to no function, after which nothing ran; type 0 */
	const struct call_code_ops *ops;
	void *ctx;
	struct code_cache {
		uint64_t addr;
		struct call_code code;
	} cache[CALL_TREE_CACHE];
	struct pad_cache {
		uint64_t call, pad;
	} pads[CALL_TREE_CACHE];
};

void call_node_free(struct call_tree *tree, struct call_node *node);
/* A new youngest child; NULL: no memory. */
struct call_node *call_node_add(struct call_tree *tree, struct call_node *parent);
/* The function that is running although the trace has no call of it; NULL: no memory. */
struct call_node *call_node_current(struct call_tree *tree, uint64_t ip, uint64_t time);
/* Returning out of the outermost known function: it gets a parent. 0 or -ENOMEM. */
int call_node_grow_outwards(struct call_tree *tree, uint64_t ip, uint64_t time);
/* Returning out of a function that was entered by a return: its caller takes its place. */
int call_node_grow_inside(struct call_tree *tree, struct call_node *node, uint64_t ip);
/* The current function was entered by a tail call: of a long chain the oldest are forgotten. */
void call_node_chained(struct call_tree *tree);

#endif
