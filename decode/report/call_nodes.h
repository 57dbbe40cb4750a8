/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The nodes of a tree of calls, bounded in number. Calls that have no node are
 *   dropped    returned calls that were given up; they, and their instructions, are counted
 *   spilled    open calls stored compactly (call_spill.c); they become nodes again when needed
 *   forgotten  the outermost open calls, given up; only their number is kept
 *   lost       (nodes) open when a gap began: whether they returned is unknown
 */
#ifndef AUXTAP_CALL_NODES_H
#define AUXTAP_CALL_NODES_H

#include "call_tree.h"

#define MAX_CHAIN	32   /* nodes of a chain of tail calls in one frame */
#define CALL_TREE_CACHE 4096 /* power of two */

/* An open call without a node, stored compactly (call_spill.c); the fields are the node's. */
struct call_spilled {
	uint64_t addr, site, last_ip, time, nr_insns, nr_dropped_insns, nr_dropped;
	uint32_t code_generation, counted_at;
	uint16_t chain;
	uint8_t site_size;
	bool null_target : 1, known_caller : 1, async : 1, only_sigreturn_left : 1;
	bool by_tail_call : 1;
	bool by_return : 1, by_jump : 1, by_fallthrough : 1;
};

struct call_tree {
	struct call_node root;
	struct call_node *current;
	struct call_node *unused; /* freed nodes, linked by next */
	size_t nr_nodes;
	uint32_t code_generation; /* counts changes of the code */
	bool by_function;	  /* calls of one function are equal whatever they called */
	uint64_t budget; /* nodes that searches may still look at, beyond the first of each */
	/*
	 * open calls between the node spill_parent and its newest child, which are not nodes;
	 * spill_parent is NULL if none is spilled
	 */
	struct call_spilled *spilled;
	size_t nr_spilled, max_spilled;
	struct call_node *spill_parent;
	size_t nr_forgotten;	   /* frames of callers of the outermost node that were given up */
	bool forgotten_is_max;	   /* nr_forgotten is a maximum: some of them may have returned */
	size_t nr_forgotten_tails; /* tail calls in these frames */
	bool tails_is_max;	   /* nr_forgotten_tails is a maximum: some frames have returned */
	char gap[192];		   /* text of the newest gap that lost the callers; "": none */
	uint64_t trace_off_ip;	   /* where tracing last went off */
	bool trace_off_async;	   /* it went off by an interrupt or exception */
	bool trace_off_null;	   /* ... at address 0; else trace_off_ip of 0 is unknown */
	uint64_t block_start;	   /* where the code run since the last branch starts; 0: unknown */
	bool after_return; /* that is a return address, which a return to its call went to */
	/* a return to where no function is, if nothing ran after it; otherwise type is 0 */
	struct auxtap_event bad_return;
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

/* Allocates an empty node, which is not in the tree yet; NULL: no memory. */
struct call_node *call_node_alloc(struct call_tree *tree);
/* Frees a node that has been unlinked from the tree, and all nodes below it. */
void call_node_free(struct call_tree *tree, struct call_node *node);
void call_node_put_last(struct call_node *parent, struct call_node *node);
void call_node_insert_before(struct call_node *at, struct call_node *node);
void call_node_unlink(struct call_node *node);
/* Adds a new newest child; NULL: no memory. */
struct call_node *call_node_add(struct call_tree *tree, struct call_node *parent);
/*
 * The node of the running function. If none is open, adds one for it, as the trace has no call of
 * it. NULL: no memory.
 */
struct call_node *call_node_current(struct call_tree *tree, uint64_t ip, uint64_t time);
/* The outermost known function returned: adds its caller as the outermost node. 0 or -ENOMEM. */
int call_node_add_caller(struct call_tree *tree, uint64_t ip, uint64_t time);
/*
 * A function that was not entered by a call returned: its node becomes that of its caller, and a
 * new child takes its contents. 0 or -ENOMEM.
 */
int call_node_replace_with_caller(struct call_tree *tree, struct call_node *node, uint64_t ip);
/* Counts the tail call that entered the current function; drops the oldest of a long chain. */
void call_node_limit_tail_chain(struct call_tree *tree);
/*
 * The dynamic linker has found the current function at its first call through the PLT: what was
 * executed for that counts as executed in a call, but not as a call, that the caller made before;
 * except if a signal was handled meanwhile, which stays in the tree, or if there is a gap.
 */
bool call_node_drop_linker_search(struct call_tree *tree, uint64_t time);
/* Drops the oldest call in node; its calls and instructions still count. */
void call_node_drop_oldest(struct call_tree *tree, struct call_node *node);

/* call_spill.c: if very many calls are open, spills those in the middle. */
void call_nodes_spill(struct call_tree *tree);
/*
 * Makes nodes of the innermost spilled calls again. Returns the parent of inner, which is the node
 * that the innermost of them called.
 */
struct call_node *call_nodes_unspill(struct call_tree *tree, const struct call_node *inner);
/* Drops the spilled calls at a gap, after which it is unknown whether they returned. */
void call_nodes_drop_spilled(struct call_tree *tree);

/*
 * call_counts.c: brings the counts up to date with the calls that are open now. 0 or -ENOMEM. This
 * function and those below require tree->counts, except call_counts_free().
 */
int call_counts_update(struct call_tree *tree);
/* Counts nr instructions that the current function has executed. */
void call_counts_add(struct call_tree *tree, uint64_t nr);
/* inner, so far the outermost node, has returned to outer, its caller. */
void call_counts_add_caller(struct call_tree *tree, const struct call_node *inner,
			    struct call_node *outer);
/* A spilled call has become a node again. */
void call_counts_unspilled(struct call_tree *tree, struct call_node *node);
/* Drops the entries of the nr calls before 'keep' in a chain of tail calls. */
void call_counts_limit_tail_chain(struct call_tree *tree, const struct call_node *keep,
				  uint32_t nr);
void call_counts_free(struct call_tree *tree);

/*
 * report_calls.c: start of the function that contains addr, by symbol or else by unwind
 * information; 0: unknown.
 */
uint64_t call_tree_function_start(struct call_tree *tree, uint64_t addr);

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
		       call_nodes_unspill(tree, node) :
		       node->parent;
}

/*
 * call_fold.c: marks node, its parent's newest child, as returned, and folds it with the calls
 * before it; that may free it.
 */
void call_node_close(struct call_tree *tree, struct call_node *node);
/* Folds the newest call in parent with those before it. */
void call_fold_last(struct call_tree *tree, struct call_node *parent);
/* Folds all calls in parent once more. */
void call_fold_again(struct call_tree *tree, struct call_node *parent);
/* Drops what the calls in parent called, except in the newest keep of them, and folds them. */
void call_fold_drop_callees(struct call_tree *tree, struct call_node *parent, unsigned int keep);
/*
 * Makes groups of the frequent calls in parent, whatever their order. Rare calls stay: at most
 * max_rare nodes, or all nodes of calls that occur less than three times.
 */
void call_fold_mix(struct call_tree *tree, struct call_node *parent, size_t max_rare);

#endif
