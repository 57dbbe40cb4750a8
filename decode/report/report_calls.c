// SPDX-License-Identifier: BSD-2-Clause
/*
 * The calls of one thread as a tree, built from decode events in order, bounded in memory:
 * the oldest finished calls go first. What was entered before the trace began is found when
 * it is returned to, and has no known entry.
 */
#include "decode/flow/branch_insn.h"
#include "call_nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * How far up a return looks for its call: in all at most SEARCH_PER_EVENT nodes for each event.
 * Hostile traces must not make it quadratic: where that is used up, it looks at MAX_SEARCH nodes.
 */
#define MAX_SEARCH	 256
#define SEARCH_PER_EVENT 64
#define SEARCH_AT_FIRST	 1000000
/* Instructions of a PLT entry and of its common one, which jumps to the resolver. */
#define MAX_STUB 16

struct call_tree *call_tree_new(const struct call_code_ops *ops, void *ctx)
{
	struct call_tree *tree = calloc(1, sizeof(*tree));

	if (tree) {
		tree->budget = SEARCH_AT_FIRST;
		tree->current = &tree->root;
		tree->ops = ops;
		tree->ctx = ctx;
	}
	return tree;
}

static struct call_code code_at(struct call_tree *tree, uint64_t addr)
{
	struct code_cache *hit = &tree->cache[(addr ^ addr >> 12) & (CALL_TREE_CACHE - 1)];

	if (hit->addr != addr) {
		hit->addr = addr;
		memset(&hit->code, 0, sizeof(hit->code));
		if (tree->ops)
			tree->ops->look_up(tree->ctx, addr, &hit->code);
	}
	return hit->code;
}

uint64_t call_tree_body(struct call_tree *tree, uint64_t addr)
{
	struct call_code code = code_at(tree, addr);

	return code.start ? code.start : code.range;
}

/* May a search take one more step? */
static bool may_search(struct call_tree *tree, unsigned int *steps)
{
	if (++*steps <= MAX_SEARCH)
		return true;
	if (!tree->budget)
		return false;
	tree->budget--;
	return true;
}

/* Where an exception lands that leaves the call at that address; 0: nowhere, or not known. */
static uint64_t pad_of(struct call_tree *tree, uint64_t call)
{
	struct pad_cache *hit = &tree->pads[(call ^ call >> 12) & (CALL_TREE_CACHE - 1)];

	if (hit->call != call) {
		hit->call = call;
		hit->pad = tree->ops->landing_pad(tree->ctx, call);
	}
	return hit->pad;
}

/* The frame that addr lies in the function of: current or one of its callers; NULL. */
static struct call_node *frame_of(struct call_tree *tree, uint64_t addr)
{
	uint64_t start = call_tree_body(tree, addr);
	unsigned int steps = 0;

	for (struct call_node *n = tree->current;
	     start && n != &tree->root && may_search(tree, &steps); n = call_node_caller(tree, n)) {
		if (call_tree_body(tree, n->addr ? n->addr : n->last_ip) == start)
			return n;
	}
	return NULL;
}

/*
 * The caller that an exception lands in at addr, by what is known of its open call; NULL. Calls
 * without a landing pad have 0 for it, which a wild jump may go to.
 */
static struct call_node *catcher_of(struct call_tree *tree, uint64_t addr)
{
	unsigned int steps = 0;

	if (!addr || !tree->ops || !tree->ops->landing_pad)
		return NULL;
	if (tree->current == &tree->root)
		return NULL;
	for (struct call_node *n = call_node_caller(tree, tree->current);
	     n != &tree->root && may_search(tree, &steps); n = call_node_caller(tree, n)) {
		if (pad_of(tree, n->last_ip) == addr)
			return n;
	}
	return NULL;
}

/* Everything above frame is left. */
static void unwind_to(struct call_tree *tree, struct call_node *frame)
{
	while (tree->current != frame) {
		struct call_node *left = tree->current;

		tree->current = call_node_caller(tree, left);
		call_node_close(tree, left);
	}
}

void call_tree_free(struct call_tree *tree)
{
	if (!tree)
		return;
	while (tree->root.first) {
		struct call_node *node = tree->root.first;

		call_node_unlink(node);
		call_node_free(tree, node);
	}
	while (tree->unused) {
		struct call_node *node = tree->unused;

		tree->unused = node->next;
		free(node);
	}
	call_counts_free(tree);
	free(tree->spilled);
	free(tree);
}

/* How a function was entered. */
enum entered {
	BY_CALL,
	BY_JUMP,
	BY_SIGNAL,
	BY_RETURN,
	BY_SWITCH, /* a jump to another stack */
	BY_FALL,   /* no branch: the function before it ran on into it */
};

static int enter(struct call_tree *tree, const struct auxtap_event *ev, enum entered how,
		 uint64_t site, uint64_t addr)
{
	struct call_node *caller = call_node_current(tree, site, ev->time);
	bool other_stack = how == BY_RETURN || how == BY_SWITCH;
	struct call_node *node;

	if (!caller)
		return -ENOMEM;
	if (site)
		caller->last_ip = site;
	node = call_node_add(tree, caller);
	if (!node)
		return -ENOMEM;
	/* a return may lead into the middle of a function */
	if (!other_stack || call_tree_body(tree, addr) == addr)
		node->addr = addr;
	caller->handled = false;
	node->site = site;
	node->last_ip = addr;
	node->null = ev->has_addr && !addr;
	node->time = ev->time;
	node->known_caller = !other_stack;
	node->async = how == BY_SIGNAL;
	node->tail = how == BY_JUMP || how == BY_FALL;
	node->by_return = how == BY_RETURN;
	node->by_jump = how == BY_SWITCH;
	node->by_fall = how == BY_FALL;
	tree->current = node;
	return 0;
}

/* Was node called by the instruction before 'to'? */
static bool called_before(const struct call_node *node, uint64_t to)
{
	return node->known_caller && !node->async && !node->tail && to > node->site &&
	       to - node->site <= 15;
}

/* Functions that were entered by a jump return to where the jumping one would. */
static struct call_node *frame_node(struct call_tree *tree)
{
	struct call_node *n = tree->current;

	while (n->tail && n->parent != &tree->root)
		n = call_node_caller(tree, n);
	return n;
}

/*
 * Out of nested calls into a function that is not among them: into one of the forgotten callers, by
 * longjmp() or an exception. How many of these are still open is not known.
 */
static int land_in_forgotten(struct call_tree *tree, const struct auxtap_event *ev)
{
	unwind_to(tree, &tree->root);
	tree->some_forgotten = true;
	return call_node_current(tree, ev->addr, ev->time) ? 0 : -ENOMEM;
}

/* May a branch to addr lead into one of the forgotten callers? */
static bool was_forgotten(struct call_tree *tree, uint64_t addr)
{
	uint64_t start = call_tree_body(tree, addr);

	return tree->nr_forgotten && start && start != addr;
}

/*
 * A return to where no call came from and whose function is not on the stack. Out of what was
 * running when the trace began: the caller. Else the stack is another one (swapcontext), or the
 * return address was overwritten: the function there was entered, not returned to.
 */
static int stray_return(struct call_tree *tree, const struct auxtap_event *ev)
{
	struct call_node *node = tree->current, *n = frame_node(tree);
	int ret;

	if (n->async) {
		/* to the code that ends the handler with a system call */
		unwind_to(tree, n);
		n->last_ip = ev->addr;
		n->handled = true;
		return 0;
	}
	/* to no function at all: the return address was overwritten */
	if (node->known_caller && tree->ops && !call_tree_body(tree, ev->addr)) {
		tree->bad_return = *ev;
		return 0;
	}
	if (n->known_caller && n->parent != &tree->root)
		return enter(tree, ev, BY_RETURN, ev->ip, ev->addr);
	unwind_to(tree, n);
	ret = n->parent == &tree->root ? call_node_grow_outwards(tree, ev->addr, ev->time) :
					 call_node_grow_inside(tree, n, ev->addr);
	if (!ret)
		call_node_close(tree, tree->current->last);
	return ret;
}

static int leave(struct call_tree *tree, const struct auxtap_event *ev)
{
	struct call_node *node = call_node_current(tree, ev->ip, ev->time);
	struct call_node *match;
	unsigned int steps = 0;
	int ret;

	if (!node)
		return -ENOMEM;
	node->last_ip = ev->ip;
	/*
	 * whose call lies just before? Others on the way were left by a jump (longjmp, a thrown
	 * exception)
	 */
	for (match = node; match != &tree->root; match = call_node_caller(tree, match)) {
		if (called_before(match, ev->addr))
			break;
		if (!may_search(tree, &steps)) {
			match = &tree->root;
			break;
		}
	}
	if (match == &tree->root) {
		/* no call to go back to: a thrown exception enters its handler by a return */
		match = catcher_of(tree, ev->addr);
		/* no call returns to a function's entry, where a context of makecontext() begins */
		if (!match && call_tree_body(tree, ev->addr) != ev->addr)
			match = frame_of(tree, ev->addr);
		if (!match && frame_node(tree)->parent != &tree->root && !frame_node(tree)->async &&
		    was_forgotten(tree, ev->addr))
			return land_in_forgotten(tree, ev);
		if (!match || match == node)
			return stray_return(tree, ev);
		unwind_to(tree, match);
		match->last_ip = ev->addr;
		return 0;
	}
	unwind_to(tree, match);
	tree->run_returned = true;
	if (match->parent == &tree->root) {
		ret = call_node_grow_outwards(tree, ev->addr, ev->time);
		if (ret)
			return ret;
		tree->current = match;
	}
	unwind_to(tree, call_node_caller(tree, match));
	tree->current->last_ip = ev->addr;
	return 0;
}

/*
 * Where the signal came whose handler runs now. The system call that ends a handler may deliver the
 * next signal at once: that came where the first one did.
 */
static uint64_t interrupted(struct call_tree *tree)
{
	struct call_node *node = tree->current;
	uint64_t site;

	if (!node->handled || tree->off_async)
		return tree->off_ip;
	site = node->site;
	unwind_to(tree, call_node_caller(tree, node));
	return site;
}

static int trace_on(struct call_tree *tree, const struct auxtap_event *ev)
{
	uint64_t to = ev->addr;
	unsigned int steps = 0;

	if (!tree->off_ip || !ev->has_addr)
		return 0;
	/*
	 * A system call returns after itself, an interrupt to where it was. Asked first: a handler
	 * may execute the very instruction that it has interrupted.
	 */
	if (tree->off_async ? to == tree->off_ip : to - tree->off_ip <= 15)
		return 0;
	/* back from a handler? */
	for (struct call_node *n = tree->current; n != &tree->root && may_search(tree, &steps);
	     n = call_node_caller(tree, n)) {
		if (!n->async || (to != n->site && to - n->site > 15))
			continue;
		unwind_to(tree, call_node_caller(tree, n));
		return 0;
	}
	return enter(tree, ev, BY_SIGNAL, interrupted(tree), to);
}

static int add_gap(struct call_tree *tree, const struct auxtap_event *ev)
{
	struct call_node *node;
	char text[192];

	/* who called whom is unknown after a gap, but where it happened is not */
	if (ev->gap->cause != AUXTAP_GAP_UNCOUNTED)
		call_spilled_lost(tree);
	while (tree->current->parent && ev->gap->cause != AUXTAP_GAP_UNCOUNTED) {
		tree->current->lost = true;
		tree->current = tree->current->parent;
	}
	tree->nr_forgotten = 0;
	tree->some_forgotten = false;
	node = call_node_add(tree, tree->current);
	if (!node)
		return -ENOMEM;
	node->gap = true;
	node->ends = ev->gap->cause != AUXTAP_GAP_UNCOUNTED;
	node->time = ev->time;
	snprintf(text, sizeof(text), "%s%s%s", auxtap_gap_cause_name(ev->gap->cause),
		 ev->text && *ev->text ? ": " : "", ev->text ? ev->text : "");
	node->text = strdup(text);
	if (ev->gap->cause != AUXTAP_GAP_UNCOUNTED) {
		tree->off_ip = 0;
		memcpy(tree->gap, text, sizeof(tree->gap));
	}
	return node->text ? 0 : -ENOMEM;
}

/* The stub of a PLT, or its resolver, goes on to the function that was called. */
static void resolved(struct call_tree *tree, uint64_t to, uint64_t start, bool to_stub)
{
	struct call_node *node = tree->current;

	/* a name beats an address: "strcmp@plt" stays if its target has none */
	if (!node->async && !to_stub && (start == to || !tree->ops))
		node->addr = to;
	node->last_ip = to;
}

/*
 * Has what runs in node, without a symbol, only jumped on so far: a PLT entry? Or was
 * such an entry called, and a resolver without a symbol runs?
 */
static bool is_entry_code(struct call_tree *tree, const struct call_node *node)
{
	return code_at(tree, node->addr).stub || (node->nr_insns <= MAX_STUB && !node->nr_children);
}

/*
 * The outermost code that is known, without a symbol, jumps to a function: the dynamic linker's
 * _start to the program's, or a resolver. It does not come back, and has no caller that is known.
 */
static int next_outermost(struct call_tree *tree, const struct auxtap_event *ev)
{
	struct call_node *node;

	unwind_to(tree, &tree->root);
	node = call_node_current(tree, ev->addr, ev->time);
	if (!node)
		return -ENOMEM;
	if (call_tree_body(tree, ev->addr) == ev->addr)
		node->addr = ev->addr;
	return 0;
}

/* Code without a symbol may belong to the function that jumped to it: back to the entry of that. */
static bool jumped_back(struct call_tree *tree, uint64_t to)
{
	for (struct call_node *n = tree->current; n != &tree->root; n = call_node_caller(tree, n)) {
		if (n->addr == to) {
			unwind_to(tree, n);
			n->last_ip = to;
			return true;
		}
		if (!n->tail)
			break;
	}
	return false;
}

/* Both in one function? Without symbols: in one range of unwind information, or in none. */
static bool same_function(const struct call_code *from, const struct call_code *to)
{
	if (from->start || to->start)
		return from->start == to->start;
	return from->range == to->range;
}

/*
 * A jump into the middle of another function: back into a caller (longjmp, a thrown exception), or,
 * where that function is not open, to another stack. A direct jump there stays in its function.
 */
static int jumped_within(struct call_tree *tree, const struct auxtap_event *ev, bool indirect)
{
	struct call_node *frame = frame_of(tree, ev->addr);

	if (!frame && indirect && was_forgotten(tree, ev->addr))
		return land_in_forgotten(tree, ev);
	if (!frame && indirect)
		return enter(tree, ev, BY_SWITCH, ev->ip, ev->addr);
	if (frame)
		unwind_to(tree, frame);
	tree->current->last_ip = ev->addr;
	return 0;
}

/*
 * To the entry of another function, or to code that has no symbol: mostly a call at the function's
 * end. By the address alone it may be a switch to another stack, or a part of the function itself.
 */
static int jumped_away(struct call_tree *tree, const struct auxtap_event *ev, bool sure)
{
	int ret = enter(tree, ev, BY_JUMP, ev->ip, ev->addr);

	if (ret)
		return ret;
	tree->current->by_jump = !sure;
	if (sure || ev->kind != AUXTAP_BRANCH_JUMP_INDIRECT)
		call_node_chained(tree);
	return 0;
}

/*
 * A jump stays in its function, or goes to the entry of another one (a tail call; from the
 * stub of a PLT or its resolver: the very function that was called), or back into
 * a caller (longjmp, a thrown exception). What jumped keeps its name, calls and instructions.
 */
static int jumped(struct call_tree *tree, const struct auxtap_event *ev)
{
	bool indirect = ev->kind == AUXTAP_BRANCH_JUMP_INDIRECT;
	struct call_node *node = tree->current, *frame;
	struct call_code to, from;
	bool within, sure = true;

	if (node == &tree->root || !ev->has_addr)
		return 0;
	to = code_at(tree, ev->addr);
	from = code_at(tree, ev->ip);
	if (from.stub || !tree->ops ||
	    (!from.start && (to.start == ev->addr || from.link) && is_entry_code(tree, node))) {
		resolved(tree, ev->addr, to.start, to.stub);
		return 0;
	}
	if (same_function(&from, &to)) {
		node->last_ip = ev->addr;
		return 0;
	}
	if (indirect && !from.start && !node->known_caller && node->parent == &tree->root &&
	    (to.start ? to.start == ev->addr : !to.range || to.range == ev->addr))
		return next_outermost(tree, ev);
	frame = indirect ? catcher_of(tree, ev->addr) : NULL;
	if (frame) {
		unwind_to(tree, frame);
		frame->last_ip = ev->addr;
		return 0;
	}
	if (!from.start && jumped_back(tree, ev->addr))
		return 0;
	within = to.start ? to.start != ev->addr : to.range && to.range != ev->addr;
	/* its own part that the compiler put elsewhere: no call enters it */
	if (!indirect && (to.part || (!to.start && within))) {
		node->last_ip = ev->addr;
		return 0;
	}
	if (within)
		return jumped_within(tree, ev, indirect);
	/* nothing says where functions begin */
	if (!to.start && !from.start && !to.range) {
		node->last_ip = ev->addr;
		return 0;
	}
	if (indirect)
		sure = tree->ops->keeps_stack && call_tree_body(tree, ev->ip) &&
		       tree->ops->keeps_stack(tree->ctx, call_tree_body(tree, ev->ip), ev->ip);
	return jumped_away(tree, ev, to.start && sure);
}

int call_tree_exec(struct call_tree *tree, const char *text)
{
	const struct auxtap_gap gap = {.cause = AUXTAP_GAP_UNKNOWN};
	struct auxtap_event ev = {.type = AUXTAP_EVENT_GAP, .gap = &gap};
	int ret;

	unwind_to(tree, &tree->root);
	ret = add_gap(tree, &ev);

	if (ret)
		return ret;
	tree->gap[0] = '\0'; /* what was called before is over */
	tree->root.last->exec = true;
	free(tree->root.last->text);
	tree->root.last->text = strdup(text);
	call_tree_code_changed(tree);
	return tree->root.last->text ? 0 : -ENOMEM;
}

void call_tree_code_changed(struct call_tree *tree)
{
	memset(tree->cache, 0, sizeof(tree->cache));
	memset(tree->pads, 0, sizeof(tree->pads));
	tree->code_generation++;
}

/*
 * A call of the very next instruction is none where that is still in the function
 * (position-independent code asks so where it is); decoders report none. But another function may
 * begin there.
 */
static bool calls_next(struct call_tree *tree, const struct auxtap_event *ev)
{
	return ev->kind == AUXTAP_BRANCH_CALL && ev->has_addr && ev->insn_size &&
	       ev->addr == ev->ip + ev->insn_size && code_at(tree, ev->addr).start == ev->addr &&
	       call_tree_body(tree, ev->ip) != ev->addr;
}

/* Does a conditional jump go to the entry of another function: is it a tail call? */
static bool enters_function(struct call_tree *tree, const struct auxtap_event *ev)
{
	struct call_code to;

	if (!ev->has_addr)
		return false;
	to = code_at(tree, ev->addr);
	return to.start == ev->addr && code_at(tree, ev->ip).start &&
	       code_at(tree, ev->ip).start != to.start;
}

/*
 * Where the code that has run since the last branch left its function, without a branch; 0: it did
 * not. Compilers end a function in its middle where going on is undefined: after a call that must
 * not return, or an access that must not happen. Assembly code does so on purpose.
 */
static uint64_t fell_into(struct call_tree *tree, const struct auxtap_event *ev)
{
	uint64_t begin = tree->run - tree->run_returned;
	struct call_code from, to;

	if (!tree->run || !ev->has_ip || ev->ip <= begin)
		return 0;
	to = code_at(tree, ev->ip);
	if (!to.start || to.start <= begin || to.part || to.stub)
		return 0;
	from = code_at(tree, begin);
	return from.start && from.start != to.start && !from.stub ? to.start : 0;
}

/* Counts the instructions since the last event. */
static int count_insns(struct call_tree *tree, const struct auxtap_event *ev)
{
	struct call_node *node = call_node_current(tree, ev->ip, ev->time);
	uint64_t next = fell_into(tree, ev);
	uint32_t nr = ev->nr_insns, before;
	int ret;

	if (!node || (tree->counts && call_counts_follow(tree)))
		return -ENOMEM;
	if (next) {
		before = tree->ops->nr_insns ?
				 tree->ops->nr_insns(tree->ctx, ev->isa, tree->run, next) :
				 0;
		if (before > nr)
			before = nr;
		node->nr_insns += before;
		if (tree->counts)
			call_counts_add(tree, before);
		nr -= before;
		ret = enter(tree, ev, BY_FALL, tree->run, next);
		if (!ret && tree->counts)
			ret = call_counts_follow(tree);
		if (ret)
			return ret;
		call_node_chained(tree);
	}
	tree->current->nr_insns += nr;
	if (tree->counts)
		call_counts_add(tree, nr);
	return 0;
}

/* Where the code begins that runs after ev. */
static void note_run(struct call_tree *tree, const struct auxtap_event *ev)
{
	switch (ev->type) {
	case AUXTAP_EVENT_CALL:
	case AUXTAP_EVENT_RETURN:
	case AUXTAP_EVENT_BRANCH:
	case AUXTAP_EVENT_TRACE:
	case AUXTAP_EVENT_ASYNC:
		tree->run = ev->has_addr ? ev->addr : 0;
		break;
	case AUXTAP_EVENT_GAP:
		tree->run = 0;
		break;
	default:
		break;
	}
}

static int add_event(struct call_tree *tree, const struct auxtap_event *ev)
{
	if (ev->type != AUXTAP_EVENT_ASYNC && (ev->type != AUXTAP_EVENT_TRACE || ev->trace_on))
		tree->bad_return.type = 0;
	switch (ev->type) {
	case AUXTAP_EVENT_CALL:
		return enter(tree, ev, BY_CALL, ev->ip, ev->addr);
	case AUXTAP_EVENT_RETURN:
		return leave(tree, ev);
	case AUXTAP_EVENT_BRANCH:
		/* CoreSight's event of the trace going off has no address */
		tree->off_ip = branch_enters_kernel(ev->kind) ? ev->ip : 0;
		if (ev->kind == AUXTAP_BRANCH_JUMP || ev->kind == AUXTAP_BRANCH_JUMP_INDIRECT)
			return jumped(tree, ev);
		if (ev->kind == AUXTAP_BRANCH_COND && enters_function(tree, ev))
			return jumped(tree, ev);
		if (calls_next(tree, ev))
			return enter(tree, ev, BY_CALL, ev->ip, ev->addr);
		return 0;
	case AUXTAP_EVENT_ASYNC:
		tree->off_ip = ev->ip;
		tree->off_async = true;
		if (tree->current != &tree->root && ev->has_ip)
			tree->current->last_ip = ev->ip;
		return 0;
	case AUXTAP_EVENT_TRACE:
		if (ev->trace_on) {
			int ret = trace_on(tree, ev);

			tree->off_ip = 0;
			tree->off_async = false;
			if (!ret && !call_node_current(tree, ev->addr, ev->time))
				ret = -ENOMEM;
			if (!ret)
				tree->current->last_ip = ev->addr;
			return ret;
		}
		if (ev->has_ip) {
			if (!tree->off_async)
				tree->off_ip = ev->ip;
			if (tree->current != &tree->root)
				tree->current->last_ip = ev->ip;
		}
		return 0;
	case AUXTAP_EVENT_GAP:
		return add_gap(tree, ev);
	default:
		return 0;
	}
}

int call_tree_event(struct call_tree *tree, const struct auxtap_event *ev)
{
	int ret = ev->nr_insns ? count_insns(tree, ev) : 0;

	if (tree->budget < UINT64_MAX / 2)
		tree->budget += SEARCH_PER_EVENT;
	tree->run_returned = false;
	if (!ret)
		ret = add_event(tree, ev);
	if (!ret && tree->counts)
		ret = call_counts_follow(tree);
	note_run(tree, ev);
	return ret;
}

/*
 * A signal that was pending while a handler ran is delivered by the system call that ends it: no
 * instruction runs in between, so that the trace does not go on where the program died.
 */
static void handler_ended(struct call_tree *tree, uint64_t ip)
{
	struct call_node *node = tree->current;

	if (!node->handled || !tree->off_ip || tree->off_async || ip - tree->off_ip <= 15)
		return;
	unwind_to(tree, call_node_caller(tree, node));
	tree->current->last_ip = ip;
}

int call_tree_died(struct call_tree *tree, uint64_t ip)
{
	const struct auxtap_event *ev = &tree->bad_return;

	handler_ended(tree, ip);
	/* where no such address exists the return itself died */
	if (ev->type && ev->addr == ip)
		return enter(tree, ev, BY_RETURN, ev->ip, ev->addr);
	return 0;
}

struct call_node *call_tree_root(struct call_tree *tree)
{
	return tree->root.first ? &tree->root : NULL;
}

size_t call_tree_size(const struct call_tree *tree)
{
	return tree->nr_nodes;
}

size_t call_tree_forgotten(const struct call_tree *tree, bool *at_most)
{
	*at_most = tree->some_forgotten;
	return tree->nr_forgotten;
}

const char *call_tree_gap(const struct call_tree *tree)
{
	return tree->gap[0] ? tree->gap : NULL;
}

struct call_node *call_tree_current(struct call_tree *tree)
{
	return tree->current == &tree->root ? NULL : tree->current;
}
