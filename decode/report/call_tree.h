/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of one thread as a tree (report_calls.c, call_fold.c, call_counts.c). */
#ifndef AUXTAP_CALL_TREE_H
#define AUXTAP_CALL_TREE_H

#include <auxtap/decode.h>
#include <stdbool.h>

/*
 * A call, or equal calls that returned (call_fold.c): it counts all of them, and the calls that
 * they made. Three calls of f, each of which called g twice, are f x 3 with g x 6 in it.
 */
struct call_node {
	uint64_t addr;		   /* entry of the called function; 0: unknown */
	uint64_t site;		   /* the calling instruction */
	uint64_t last_ip;	   /* the last instruction known to have run in it */
	uint64_t nr_insns;	   /* in the function itself */
	uint64_t nr_dropped_insns; /* in calls that were dropped, and lazy binding */
	uint64_t inclusive_insns;  /* report_hottest.c: in it and its children */
	uint64_t time;
	uint64_t newest; /* of several calls: the time of the last one; 0: it is one call */
	struct call_node *parent, *first, *last;
	struct call_node *prev, *next; /* older and newer sibling */
	uint64_t nr_children;	       /* calls that it made, including dropped ones */
	uint64_t nr_dropped;	       /* calls that it made and that were dropped */
	uint64_t repeat;	       /* number of calls; of a group: of rounds */
	uint64_t hash;		       /* the same for equal calls; 0: equal to no other */
	uint32_t nr_below;	       /* of a call that returned: nodes below it */
	uint32_t nr_items;	       /* of a group: nodes */
	uint32_t code_generation;      /* tree->code_generation when it was entered */
	uint64_t nr_above; /* open calls between its parent and it that are unknown or not shown */
	uint64_t depth;	   /* open calls that its row stands for; above 1: a recursion */
	uint64_t insns_in_recursion; /* in those of them that have no row of their own */
	uint64_t calls_in_recursion; /* calls that these made */
	uint64_t insns_in_those;     /* in these calls and their callees */
	unsigned int period; /* of the outermost row of a recursion: functions in its cycle */
	uint32_t chain;	     /* number of tail calls in a row that lead to it, in one frame */
	uint8_t site_size;   /* of the instruction at site, in bytes; 0: unknown */
	uint32_t counted_at; /* call_counts.c: its entry there, plus 1; 0: none */
	bool returned;
	bool lost;	    /* open when a gap began: whether it returned is unknown */
	bool null_target;   /* the function called is at address 0 */
	bool known_caller;  /* entered by a call that was traced */
	bool gap;	    /* not a call: a gap in the trace, described by text */
	bool exec;	    /* with gap: not a gap but an exec */
	bool loses_callers; /* with gap: which calls were open before it is unknown after it */
	bool in_recursion;  /* report_hottest.c: counted in the row of an outer call of the function
			     */
	bool group;	    /* not a call: the calls below it were made repeatedly, in this order */
	bool mixed;	    /* with group: their order is not kept */
	bool varies;	    /* in a group: not always one call per round */
	bool async;	    /* entered by a signal or interrupt */
	/* with async: the handler has returned to the restorer; only rt_sigreturn() is left */
	bool only_sigreturn_left;
	bool by_tail_call; /* entered by a tail call: it returns to where its parent would */
	bool by_return;	   /* entered by a return that matches no call: of another stack */
	/* entered by a jump that is not proven to be a tail call: it may have switched stacks */
	bool by_jump;
	bool by_fallthrough; /* with by_tail_call: no branch from the parent to it */
	bool is_open;	     /* an open call when the rows were chosen */
	bool in_library;     /* in a library, for the choice of the rows */
	bool shown;	     /* chosen to be printed */
	char *text;
};

struct call_tree; /* of one thread */

/* Properties of the code at an address. */
struct call_code {
	uint64_t start;	    /* entry of the function around it, by its symbol; 0: no symbol */
	bool plt_stub;	    /* a PLT entry, or the resolver: it only jumps to the called function */
	bool plt_jump;	    /* without a symbol: a jump instruction as in a PLT entry */
	bool plt_entry;	    /* without a symbol: all that is before such a jump in a PLT entry */
	bool in_linker;	    /* in the dynamic linker */
	uint64_t fde_start; /* start of the range of the FDE that describes it; 0: none */
	/* start or fde_start is that of a part split off a function (f.cold): no call enters it */
	bool cold_part;
};

struct call_code_ops {
	void (*look_up)(void *ctx, uint64_t addr, struct call_code *code); /* *code is zero */
	/* The landing pad of the call instruction at 'call'; 0: none, or unknown. */
	uint64_t (*landing_pad)(void *ctx, uint64_t call);
	/* Are both in one function by the names of its symbols, which is split ("f", "f.cold")? */
	bool (*is_same_function)(void *ctx, uint64_t from, uint64_t to);
	/* Is it proven that the code in [begin, end) does not switch to another stack? */
	bool (*keeps_stack)(void *ctx, uint64_t begin, uint64_t end);
	/* Is the code at addr the same as at that time? */
	bool (*same_code)(void *ctx, uint64_t addr, uint64_t time);
	/* Number of instructions in [begin, end); 0: unknown. */
	uint32_t (*nr_insns)(void *ctx, enum auxtap_isa isa, uint64_t begin, uint64_t end);
};

/* report_code.c: answers from images. */
struct report_code {
	struct auxtap_image_set *images;
	pid_t pid;
	uint64_t time;
};
extern const struct call_code_ops report_code_ops; /* ctx: a struct report_code */

/* ops: NULL if no images are known. */
struct call_tree *call_tree_new(const struct call_code_ops *ops, void *ctx);
/* The thread's process executed another program: all calls before are over. */
int call_tree_exec(struct call_tree *tree, const char *text);
void call_tree_free(struct call_tree *tree);
/* From here on other code may be at the same addresses. */
void call_tree_code_changed(struct call_tree *tree);
int call_tree_event(struct call_tree *tree, const struct auxtap_event *ev);
/* After the last event: the thread died at ip. 0 or -ENOMEM. */
int call_tree_died(struct call_tree *tree, uint64_t ip);
/* The root of the tree, which is not a call. NULL: the tree is empty. */
struct call_node *call_tree_root(struct call_tree *tree);
/* Instructions in node and in all that it called, including dropped calls. */
uint64_t call_node_insns(const struct call_node *node);
/*
 * When the rows have been chosen: how many calls made in it, and signal handlers, have no row, and
 * the instructions executed in these, and by the dynamic linker to find functions.
 */
uint64_t call_node_hidden_calls(const struct call_node *node);
uint64_t call_node_hidden_insns(const struct call_node *node);
/* How many calls the node stands for. */
uint64_t call_node_calls(const struct call_node *node);
/*
 * Folds the calls in node until they need about max rows. Calls of one function count as equal
 * whatever they called; frequent calls become one [mixed] group; rare ones stay. The result may
 * need more rows.
 */
void call_node_fit(struct call_tree *tree, struct call_node *node, unsigned int max);
/* Has the newest gap in the node left its callers known: were only calls in it not counted? */
static inline bool call_node_is_uncounted(const struct call_node *node)
{
	return node->last && node->last->gap && !node->last->loses_callers;
}

/* An open call, one that has not returned. There may be no node for it. */
struct call_open {
	struct call_node *node; /* NULL: it has none */
	uint64_t addr, site, last_ip, time, nr_insns;
	uint64_t nr_inside;    /* calls that it made and that returned */
	uint64_t insns_inside; /* in these, and in lazy binding by the dynamic linker */
	bool known_caller, async, by_tail_call;
	bool is_proven; /* with by_tail_call: the jump was its caller's last act */
	bool by_return, by_jump, by_fallthrough, null_target; /* as in the node */
};

/*
 * Lists the open calls, innermost first, starting with 'from'. The caller frees *open. Returns
 * their number; 0 without memory.
 */
size_t call_tree_open_calls(struct call_tree *tree, struct call_node *from,
			    struct call_open **open);
/*
 * Finds the rows of open calls, innermost first, and marks their nodes is_open. fold: a recursion
 * has one row for each of its functions, which stands for 'depth' calls. Returns the number of
 * rows.
 */
size_t call_open_fold(struct call_tree *tree, struct call_open *open, size_t nr, bool fold,
		      struct call_node **rows);
/*
 * Number of functions that call each other in a cycle from the call at 'at' outwards; *len is the
 * number of calls in whole cycles. 0: it is not a recursion.
 */
size_t call_open_period(const struct call_open *open, size_t nr, size_t at, size_t *len);
/* The number of its nodes at present. */
size_t call_tree_size(const struct call_tree *tree);
/*
 * Number of callers of the outermost node that were forgotten because there were too many; *is_max:
 * some of them may have returned.
 */
size_t call_tree_forgotten(const struct call_tree *tree, bool *is_max);
/* How many of them are certainly open. */
size_t call_tree_forgotten_min(const struct call_tree *tree);
/* The newest gap that lost the callers: unknown calls may be open there. NULL: no such gap. */
const char *call_tree_gap(const struct call_tree *tree);
/* The function that ran last; NULL: none is known to be open. */
struct call_node *call_tree_current(struct call_tree *tree);

/* The counts of one function, over all its calls (call_counts.c). */
struct call_function {
	uint64_t addr;	/* its start, or where it was entered; 0: functions beyond the limit */
	uint64_t time;	/* when it was first entered; selects the image that was mapped there */
	uint64_t own;	/* instructions of the function itself */
	uint64_t insns; /* including its callees; each counts once, however deep it recurses */
	uint64_t calls; /* traced ones, not what was running at the start or after a gap */
};
/* To be called before the first event: counts functions. 0 or -ENOMEM. */
int call_tree_count(struct call_tree *tree);
/* The current counts of function number i; false: i is out of range. */
bool call_tree_function(const struct call_tree *tree, size_t i, struct call_function *function);
/* Are the counts incomplete because there were too many open calls or functions? */
bool call_tree_count_cut(const struct call_tree *tree);

#endif
