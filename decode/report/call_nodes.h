/* SPDX-License-Identifier: BSD-2-Clause */
/* The nodes of a tree of calls: kept, forgotten, counted. */
#ifndef AUXTAP_CALL_NODES_H
#define AUXTAP_CALL_NODES_H

#include "report.h"

#define CALL_TREE_CACHE 4096 /* power of two */

/* An open call that is not a node at present; the fields are those of the node. */
struct call_spilled {
	uint64_t addr, site, last_ip, time, nr_insns, nr_dropped_insns, nr_dropped;
	uint32_t code_generation, counted_at;
	uint16_t chain;
	bool null : 1, known_caller : 1, async : 1, handled : 1, tail : 1;
	bool by_return : 1, by_jump : 1, by_fall : 1;
};

struct call_tree {
	struct call_node root;
	struct call_node *current;
	struct call_node *unused; /* to be allocated again, by next */
	size_t nr_nodes;
	uint32_t code_generation; /* counts changes of the code */
	bool by_function;	  /* calls are equal whatever they called */
	uint64_t budget; /* nodes that searches may still look at, beyond the first of each */
	/* open calls between the node 'spill_parent' and its youngest child; that is NULL without
	 * such */
	struct call_spilled *spilled;
	size_t nr_spilled, max_spilled;
	struct call_node *spill_parent;
	size_t nr_forgotten; /* callers of the outermost node, no longer kept */
	bool some_forgotten; /* nr_forgotten is a maximum: some of them may have returned */
	char gap[192];	     /* the newest after which no callers are known; "": none */
	uint64_t off_ip;     /* where tracing went off last */
	bool off_async;
	uint64_t run; /* where the code begins that has run since the last branch; 0: unknown */
	bool run_returned; /* a return led there, to its call: that is the instruction before */
	struct auxtap_event
		bad_return;	    /* a return to no function, after which nothing ran; type 0 */
	struct call_counts *counts; /* NULL: functions are not counted */
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

/* An empty node, not in the tree yet; NULL: no memory. */
struct call_node *call_node_alloc(struct call_tree *tree);
/* Frees it with all below it; it is not in the tree any more. */
void call_node_free(struct call_tree *tree, struct call_node *node);
void call_node_put_last(struct call_node *parent, struct call_node *node);
void call_node_insert_before(struct call_node *at, struct call_node *node);
void call_node_unlink(struct call_node *node);
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
/* Forgets the oldest call within node; what it executed still counts. */
void call_node_drop_oldest(struct call_tree *tree, struct call_node *node);

/* call_spill.c: of very many open calls those in the middle are nodes no longer. */
void call_nodes_spill(struct call_tree *tree);
/* The innermost of these are nodes again. The parent of inner, which is called by the last. */
struct call_node *call_spilled_back(struct call_tree *tree, const struct call_node *inner);
/* After a gap it is not known whether they returned: they are dropped, and their number is kept. */
void call_spilled_lost(struct call_tree *tree);

/*
 * call_counts.c: what is open now, which changed since the last time. 0 or -ENOMEM. tree->counts is
 * not NULL here, nor below.
 */
int call_counts_follow(struct call_tree *tree);
/* The function that runs has executed nr instructions. */
void call_counts_add(struct call_tree *tree, uint64_t nr);
/* outer is the caller that inner, so far the outermost node, has returned to. */
void call_counts_outer(struct call_tree *tree, const struct call_node *inner,
		       struct call_node *outer);
/* An open call is a node again. */
void call_counts_back(struct call_tree *tree, struct call_node *node);
/* In a chain of tail calls the nr before 'keep' are no nodes any more. */
void call_counts_chained(struct call_tree *tree, const struct call_node *keep, uint32_t nr);
void call_counts_free(struct call_tree *tree);
/* What function addr is in, as far as that is known: symbols come first. 0: not known. */
uint64_t call_tree_body(struct call_tree *tree, uint64_t addr);

/* When the last of the calls that the node stands for was made. */
static inline uint64_t call_node_newest(const struct call_node *node)
{
	return node->newest > node->time ? node->newest : node->time;
}

/* The caller of an open call. */
static inline struct call_node *call_node_caller(struct call_tree *tree,
						 const struct call_node *node)
{
	return tree->spill_parent && node->parent == tree->spill_parent ?
		       call_spilled_back(tree, node) :
		       node->parent;
}

/*
 * call_fold.c: the node, its parent's youngest, has returned: it is folded with the calls before
 * it, and may be freed.
 */
void call_node_close(struct call_tree *tree, struct call_node *node);
/* Folds the youngest call in parent with those before it. */
void call_fold_last(struct call_tree *tree, struct call_node *parent);
/* Folds all calls in parent anew. */
void call_fold_again(struct call_tree *tree, struct call_node *parent);
/* The same after what they called, but for the youngest few, is forgotten. */
void call_fold_insides(struct call_tree *tree, struct call_node *parent, unsigned int but);
/*
 * What parent calls often becomes groups, whatever the order. What it calls seldom stays: in all
 * at most max_rare nodes, but for calls that are made less than three times.
 */
void call_fold_mix(struct call_tree *tree, struct call_node *parent, size_t max_rare);

#endif
