// SPDX-License-Identifier: BSD-2-Clause
/*
 * The calls of one thread as a tree, built from decode events in order, bounded in memory: if
 * there are too many, the oldest returned calls are dropped first. Functions entered before the
 * trace began become known when a call returns to them; their entry is unknown. call_nodes.h says
 * what dropped, spilled and forgotten calls are.
 */
#include "decode/flow/branch_insn.h"
#include "call_nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Bounds searches through the callers, which hostile traces could make quadratic: each may look at
 * MAX_SEARCH nodes; more come from a budget that grows by SEARCH_PER_EVENT with each event.
 */
#define MAX_SEARCH	 256
#define SEARCH_PER_EVENT 64
/* Instructions of a PLT entry and of PLT0, which jumps to the resolver. */
#define MAX_PLT_INSNS 16
#define PLT_ENTRY     16   /* bytes */
#define MAX_INSN_SIZE 15   /* bytes; of x86, larger than AArch64's */
#define NULL_PAGE     4096 /* no code is below */

static struct call_code code_at(struct call_tree *tree, uint64_t addr)
{
	struct code_cache *slot = &tree->cache[(addr ^ addr >> 12) & (CALL_TREE_CACHE - 1)];

	if (slot->addr != addr) {
		slot->addr = addr;
		memset(&slot->code, 0, sizeof(slot->code));
		if (tree->ops)
			tree->ops->look_up(tree->ctx, addr, &slot->code);
	}
	return slot->code;
}

uint64_t call_tree_function_start(struct call_tree *tree, uint64_t addr)
{
	struct call_code code = code_at(tree, addr);

	return code.start ? code.start : code.fde_start;
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

/* The landing pad of the call instruction at 'call'; 0: none, or unknown. */
static uint64_t landing_pad_of(struct call_tree *tree, uint64_t call)
{
	struct pad_cache *slot = &tree->pads[(call ^ call >> 12) & (CALL_TREE_CACHE - 1)];

	if (slot->call != call) {
		slot->call = call;
		slot->pad = tree->ops->landing_pad(tree->ctx, call);
	}
	return slot->pad;
}

/*
 * The innermost open call of the function that contains addr, rather one that entered the function
 * at its start than one by a wrong pointer; NULL: none. in_frame: only of the current frame, which
 * tail calls share.
 */
static struct call_node *find_open_call(struct call_tree *tree, uint64_t addr, bool in_frame)
{
	uint64_t start = call_tree_function_start(tree, addr);
	struct call_node *within = NULL;
	unsigned int steps = 0;

	for (struct call_node *n = tree->current;
	     start && n != &tree->root && may_search(tree, &steps); n = call_node_caller(tree, n)) {
		if (call_tree_function_start(tree, n->addr ? n->addr : n->last_ip) == start) {
			if (!n->addr || n->addr == start)
				return n;
			within = within ? within : n;
		}
		if (in_frame && !n->by_tail_call)
			break;
	}
	return within;
}

/*
 * The innermost caller whose active call site has addr as its landing pad; NULL: none. An addr of 0
 * (a jump through a null pointer) must not match: landing_pad_of() returns 0 for "none".
 */
static struct call_node *find_catcher(struct call_tree *tree, uint64_t addr)
{
	unsigned int steps = 0;

	if (!addr || !tree->ops || !tree->ops->landing_pad)
		return NULL;
	if (tree->current == &tree->root)
		return NULL;
	for (struct call_node *n = call_node_caller(tree, tree->current);
	     n != &tree->root && may_search(tree, &steps); n = call_node_caller(tree, n)) {
		if (landing_pad_of(tree, n->last_ip) == addr)
			return n;
	}
	return NULL;
}

/* Closes all calls that frame, directly or not, has made. */
static void unwind_to(struct call_tree *tree, struct call_node *frame)
{
	while (tree->current != frame) {
		struct call_node *inner = tree->current;

		tree->current = call_node_caller(tree, inner);
		call_node_close(tree, inner);
	}
}

/* How a function was entered. */
enum entered {
	BY_CALL,
	BY_TAIL_CALL,
	BY_SIGNAL,
	BY_RETURN,
	BY_STACK_SWITCH, /* a jump to another stack */
	BY_FALLTHROUGH,	 /* no branch: execution fell through from the function before it */
};

static int enter(struct call_tree *tree, const struct auxtap_event *ev, enum entered how,
		 uint64_t site, uint64_t addr)
{
	struct call_node *caller = call_node_current(tree, site, ev->time);
	bool other_stack = how == BY_RETURN || how == BY_STACK_SWITCH;
	struct call_node *node;

	if (!caller)
		return -ENOMEM;
	if (site)
		caller->last_ip = site;
	node = call_node_add(tree, caller);
	if (!node)
		return -ENOMEM;
	/* a return may lead into the middle of a function */
	if (!other_stack || call_tree_function_start(tree, addr) == addr)
		node->addr = addr;
	caller->only_sigreturn_left = false;
	node->site = site;
	node->site_size = how == BY_CALL ? ev->insn_size : 0;
	node->last_ip = addr;
	node->null_target = ev->has_addr && !addr;
	node->time = ev->time;
	node->known_caller = !other_stack;
	node->async = how == BY_SIGNAL;
	node->by_tail_call = how == BY_TAIL_CALL || how == BY_FALLTHROUGH;
	node->by_return = how == BY_RETURN;
	node->by_jump = how == BY_STACK_SWITCH;
	node->by_fallthrough = how == BY_FALLTHROUGH;
	tree->current = node;
	return 0;
}

/* True if 'to' may be ip or the next instruction: it is at most one instruction's size from ip. */
static bool follows(uint64_t ip, uint64_t to)
{
	return to - ip <= MAX_INSN_SIZE;
}

/*
 * May a return from node lead to 'to'? It leads to the instruction after the call, or skips data
 * that follows the call, but then not to the start of a function.
 */
static bool called_before(struct call_tree *tree, const struct call_node *node, uint64_t to)
{
	if (!node->known_caller || node->async || node->by_tail_call)
		return false;
	if (node->site_size && to == node->site + node->site_size)
		return true;
	return to > node->site && follows(node->site, to) &&
	       (!node->site_size || call_tree_function_start(tree, to) != to);
}

/*
 * The call that owns the current frame, the first of a chain of tail calls: the others return to
 * where it would.
 */
static struct call_node *non_tail_caller(struct call_tree *tree)
{
	struct call_node *n = tree->current;

	while (n->by_tail_call && n->parent != &tree->root)
		n = call_node_caller(tree, n);
	return n;
}

/*
 * Control went from the known calls to a forgotten caller (longjmp(), an exception). All known
 * calls are closed; how many of the forgotten ones are still open is unknown.
 */
static int land_in_forgotten(struct call_tree *tree, const struct auxtap_event *ev)
{
	unwind_to(tree, &tree->root);
	tree->forgotten_is_max = true;
	return call_node_current(tree, ev->addr, ev->time) ? 0 : -ENOMEM;
}

/* May a branch to addr lead into one of the forgotten callers? */
static bool may_be_forgotten(struct call_tree *tree, uint64_t addr)
{
	uint64_t start = call_tree_function_start(tree, addr);

	return tree->nr_forgotten && start && start != addr;
}

/* Can there be no code at addr, in the first or last page, or in neither half of the addresses? */
static bool is_no_code(uint64_t addr)
{
	const uint64_t top = addr >> 56;

	return addr < NULL_PAGE || addr > UINT64_MAX - NULL_PAGE || (top && top != 0xff);
}

/* The call n, whose caller is unknown, has returned to that caller. */
static int to_unknown_caller(struct call_tree *tree, struct call_node *n,
			     const struct auxtap_event *ev)
{
	int ret;

	unwind_to(tree, n);
	ret = n->parent == &tree->root ? call_node_add_caller(tree, ev->addr, ev->time) :
					 call_node_replace_with_caller(tree, n, ev->addr);
	if (!ret)
		call_node_close(tree, tree->current->last);
	return ret;
}

/*
 * A return to where no call came from, into a function that is not on the call stack. If the
 * returning function was running when the trace began, the return goes to its caller. Otherwise the
 * stack was switched (swapcontext), or the return address was overwritten: then the return enters
 * the function there.
 */
static int stray_return(struct call_tree *tree, const struct auxtap_event *ev)
{
	struct call_node *node = tree->current, *n = non_tail_caller(tree);

	if (n->async) {
		/* to the restorer, which calls rt_sigreturn() */
		unwind_to(tree, n);
		n->last_ip = ev->addr;
		n->only_sigreturn_left = true;
		return 0;
	}
	/* there is no function: the return address was overwritten, or the stack has none */
	if ((node->known_caller || is_no_code(ev->addr)) && tree->ops &&
	    !call_tree_function_start(tree, ev->addr)) {
		tree->bad_return = *ev;
		return 0;
	}
	if (n->known_caller && n->parent != &tree->root)
		return enter(tree, ev, BY_RETURN, ev->ip, ev->addr);
	return to_unknown_caller(tree, n, ev);
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
	 * Finds the call that the return address follows. Calls inside it were abandoned (longjmp,
	 * a thrown exception).
	 */
	for (match = node; match != &tree->root; match = call_node_caller(tree, match)) {
		if (called_before(tree, match, ev->addr))
			break;
		if (!may_search(tree, &steps)) {
			match = &tree->root;
			break;
		}
	}
	if (match == &tree->root) {
		/* it matches no call: the unwinder may enter a landing pad with a return */
		match = find_catcher(tree, ev->addr);
		/* no call returns to a function's entry, where a context of makecontext() begins */
		if (!match && call_tree_function_start(tree, ev->addr) != ev->addr)
			match = find_open_call(tree, ev->addr, false);
		if (!match && non_tail_caller(tree)->parent != &tree->root &&
		    !non_tail_caller(tree)->async && may_be_forgotten(tree, ev->addr))
			return land_in_forgotten(tree, ev);
		if (!match || match == node)
			return stray_return(tree, ev);
		unwind_to(tree, match);
		match->last_ip = ev->addr;
		return 0;
	}
	unwind_to(tree, match);
	tree->after_return = true;
	if (match->parent == &tree->root) {
		ret = call_node_add_caller(tree, ev->addr, ev->time);
		if (ret)
			return ret;
		tree->current = match;
	}
	unwind_to(tree, call_node_caller(tree, match));
	tree->current->last_ip = ev->addr;
	return 0;
}

/*
 * The address at which the signal was taken whose handler runs now. rt_sigreturn() may deliver a
 * pending signal at once: that one interrupted the same instruction as the first.
 */
static uint64_t interrupted_ip(struct call_tree *tree)
{
	struct call_node *node = tree->current;
	uint64_t site;

	if (!node->only_sigreturn_left || tree->trace_off_async)
		return tree->trace_off_ip;
	site = node->site;
	unwind_to(tree, call_node_caller(tree, node));
	return site;
}

/*
 * Does the code that was left at ip, maybe by a system call, go on at the event's address? A
 * handler may begin a few bytes after it.
 */
static bool goes_on(struct call_tree *tree, uint64_t ip, const struct auxtap_event *ev)
{
	const bool is_x86 = ev->isa == AUXTAP_ISA_X86 || ev->isa == AUXTAP_ISA_X86_32;
	const uint64_t to = ev->addr;

	return to == ip || to == ip + (is_x86 ? 2 : 4) ||
	       (follows(ip, to) && call_tree_function_start(tree, to) != to);
}

static int trace_on(struct call_tree *tree, const struct auxtap_event *ev)
{
	uint64_t to = ev->addr;
	unsigned int steps = 0;

	if ((!tree->trace_off_ip && !tree->trace_off_null) || !ev->has_addr)
		return 0;
	/* first: a handler may execute the very instruction that it has interrupted */
	if (tree->trace_off_async ? to == tree->trace_off_ip :
				    goes_on(tree, tree->trace_off_ip, ev))
		return 0;
	/* back from a handler? */
	for (struct call_node *n = tree->current; n != &tree->root && may_search(tree, &steps);
	     n = call_node_caller(tree, n)) {
		if (!n->async || !goes_on(tree, n->site, ev))
			continue;
		unwind_to(tree, call_node_caller(tree, n));
		return 0;
	}
	return enter(tree, ev, BY_SIGNAL, interrupted_ip(tree), to);
}

static int add_gap(struct call_tree *tree, const struct auxtap_event *ev)
{
	/* in others known code kept running, so that the open calls stay */
	const bool loses_callers = ev->gap->cause != AUXTAP_GAP_UNCOUNTED;
	struct call_node *node;
	char text[192];

	/* after it the callers are unknown, but the gap is shown where it happened */
	if (loses_callers)
		call_nodes_drop_spilled(tree);
	while (tree->current->parent && loses_callers) {
		tree->current->lost = true;
		tree->current = tree->current->parent;
	}
	if (loses_callers) {
		tree->nr_forgotten = tree->nr_forgotten_tails = 0;
		tree->forgotten_is_max = tree->tails_is_max = false;
	}
	node = call_node_add(tree, tree->current);
	if (!node)
		return -ENOMEM;
	node->gap = true;
	node->loses_callers = loses_callers;
	node->time = ev->time;
	snprintf(text, sizeof(text), "%s%s%s", auxtap_gap_cause_name(ev->gap->cause),
		 ev->text && *ev->text ? ": " : "", ev->text ? ev->text : "");
	node->text = strdup(text);
	if (loses_callers) {
		tree->trace_off_ip = 0;
		tree->trace_off_null = false;
		memcpy(tree->gap, text, sizeof(tree->gap));
	}
	return node->text ? 0 : -ENOMEM;
}

/*
 * A PLT stub, or the resolver, jumps to the function that was called. Where a signal was handled
 * while the resolver searched, that was in the stub, and the function is its tail call.
 */
static int leave_plt(struct call_tree *tree, const struct auxtap_event *ev,
		     const struct call_code *from, const struct call_code *to)
{
	struct call_node *node = tree->current;
	const bool is_search = !node->async && from->in_linker && !to->in_linker,
		   is_kept = is_search && !call_node_drop_linker_search(tree, ev->time);

	node->last_ip = ev->addr;
	/* a name is better than an address: "strcmp@plt" stays if its target has no symbol */
	if (node->async || to->plt_stub || (tree->ops && to->start != ev->addr))
		return 0;
	if (is_kept)
		return enter(tree, ev, BY_TAIL_CALL, ev->ip, ev->addr);
	node->addr = ev->addr;
	return 0;
}

/*
 * True while node, which runs code without a symbol, may still be in a PLT or the resolver: it
 * began with a PLT entry, and has executed few instructions and no call if that has no symbol,
 * either. A function that ends with a jump to an imported one does not begin so.
 */
static bool is_plt_code(struct call_tree *tree, const struct call_node *node)
{
	const struct call_code code = code_at(tree, node->addr);

	return code.plt_stub ||
	       (code.plt_entry && node->nr_insns <= MAX_PLT_INSNS && !node->nr_children);
}

/*
 * Code without a symbol and without a known caller jumps to a function (ld.so's _start to the
 * program's; a resolver). It is replaced by that function.
 */
static int next_outermost(struct call_tree *tree, const struct auxtap_event *ev)
{
	struct call_node *node;

	unwind_to(tree, &tree->root);
	node = call_node_current(tree, ev->addr, ev->time);
	if (!node)
		return -ENOMEM;
	if (call_tree_function_start(tree, ev->addr) == ev->addr)
		node->addr = ev->addr;
	return 0;
}

/*
 * Code without a symbol may belong to the function that jumped to it: a jump to the entry of that
 * one returns to it.
 */
static bool jumped_back(struct call_tree *tree, uint64_t to)
{
	for (struct call_node *n = tree->current; n != &tree->root; n = call_node_caller(tree, n)) {
		if (n->addr == to) {
			unwind_to(tree, n);
			n->last_ip = to;
			return true;
		}
		if (!n->by_tail_call)
			break;
	}
	return false;
}

/* Are both in one function? Without symbols: in the range of one FDE, or both in none. */
static bool same_function(const struct call_code *from, const struct call_code *to)
{
	if (from->start || to->start)
		return from->start == to->start;
	return from->fde_start == to->fde_start;
}

/*
 * A jump into the middle of another function goes back into a caller (longjmp, a thrown exception)
 * or, if no call of that function is open, to another stack. If it is direct, it stays in its
 * frame: it is taken for one within its own function, unless that one has reached it by tail calls.
 */
static int jumped_within(struct call_tree *tree, const struct auxtap_event *ev, bool indirect)
{
	struct call_node *frame = find_open_call(tree, ev->addr, !indirect);

	if (!frame && indirect && may_be_forgotten(tree, ev->addr))
		return land_in_forgotten(tree, ev);
	if (!frame && indirect)
		return enter(tree, ev, BY_STACK_SWITCH, ev->ip, ev->addr);
	if (frame)
		unwind_to(tree, frame);
	tree->current->last_ip = ev->addr;
	return 0;
}

/*
 * A jump to the entry of another function, or to code that has no symbol, mostly is a tail call.
 * By the address alone it may also be a switch to another stack, or stay in the function (sure:
 * neither is possible).
 */
static int jumped_away(struct call_tree *tree, const struct auxtap_event *ev, bool sure)
{
	int ret = enter(tree, ev, BY_TAIL_CALL, ev->ip, ev->addr);

	if (ret)
		return ret;
	tree->current->by_jump = !sure;
	if (sure || ev->kind != AUXTAP_BRANCH_JUMP_INDIRECT)
		call_node_limit_tail_chain(tree);
	return 0;
}

/*
 * A jump stays in its function, or goes to the entry of another one (a tail call; from a PLT stub
 * or the resolver: to the function that was called), or back into a caller (longjmp, a thrown
 * exception). The function that jumped keeps its name, calls and instructions.
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
	if (from.plt_stub || !tree->ops ||
	    (!from.start && is_plt_code(tree, node) &&
	     (to.start == ev->addr || from.plt_jump || (from.in_linker && !to.in_linker)))) {
		return leave_plt(tree, ev, &from, &to);
	}
	if (same_function(&from, &to)) {
		node->last_ip = ev->addr;
		return 0;
	}
	if (indirect && !from.start && !node->known_caller && node->parent == &tree->root &&
	    (to.start ? to.start == ev->addr : !to.fde_start || to.fde_start == ev->addr))
		return next_outermost(tree, ev);
	frame = indirect ? find_catcher(tree, ev->addr) : NULL;
	if (frame) {
		unwind_to(tree, frame);
		frame->last_ip = ev->addr;
		return 0;
	}
	if (!from.start && jumped_back(tree, ev->addr))
		return 0;
	within = to.start ? to.start != ev->addr : to.fde_start && to.fde_start != ev->addr;
	/* a cold part of the same function */
	if (indirect ? to.cold_part && tree->ops->is_same_function &&
			       tree->ops->is_same_function(tree->ctx, ev->ip, ev->addr) :
		       to.cold_part || (!to.start && within)) {
		node->last_ip = ev->addr;
		return 0;
	}
	if (within)
		return jumped_within(tree, ev, indirect);
	/* neither symbols nor unwind information tell functions apart */
	if (!to.start && !from.start && !to.fde_start) {
		node->last_ip = ev->addr;
		return 0;
	}
	if (indirect && tree->ops->keeps_stack)
		sure = tree->ops->keeps_stack(tree->ctx,
					      from.plt_jump && !from.fde_start ?
						      ev->ip - PLT_ENTRY :
						      call_tree_function_start(tree, ev->ip),
					      ev->ip);
	else if (indirect)
		sure = false;
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
	tree->gap[0] = '\0'; /* all calls of the previous program are over */
	tree->root.last->exec = true;
	free(tree->root.last->text);
	tree->root.last->text = strdup(text);
	call_tree_code_changed(tree);
	return tree->root.last->text ? 0 : -ENOMEM;
}

/*
 * A call to the next instruction within the function only reads the PC (32-bit PIC); decoders
 * report no CALL event. But if another function begins there, it is called.
 */
static bool calls_next(struct call_tree *tree, const struct auxtap_event *ev)
{
	return ev->kind == AUXTAP_BRANCH_CALL && ev->has_addr && ev->insn_size &&
	       ev->addr == ev->ip + ev->insn_size && code_at(tree, ev->addr).start == ev->addr &&
	       call_tree_function_start(tree, ev->ip) != ev->addr;
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
 * The start of the function that execution fell through into since the last branch; 0: none.
 * Compilers end a function without a branch where going on would be undefined: after a call that
 * must not return, or an access that must not happen. Assembly code falls through on purpose.
 */
static uint64_t fallthrough(struct call_tree *tree, const struct auxtap_event *ev)
{
	/* after a return look up the call: the return address may be in the next function */
	uint64_t begin = tree->block_start - tree->after_return;
	struct call_code from, to;

	if (!tree->block_start || !ev->has_ip || ev->ip <= begin)
		return 0;
	to = code_at(tree, ev->ip);
	if (!to.start || to.start <= begin || to.cold_part || to.plt_stub)
		return 0;
	from = code_at(tree, begin);
	return from.start && from.start != to.start && !from.plt_stub ? to.start : 0;
}

/* Counts the instructions since the last event. */
static int count_insns(struct call_tree *tree, const struct auxtap_event *ev)
{
	struct call_node *node = call_node_current(tree, ev->ip, ev->time);
	uint64_t next = fallthrough(tree, ev);
	uint32_t nr = ev->nr_insns, before;
	int ret;

	if (!node || (tree->counts && call_counts_update(tree)))
		return -ENOMEM;
	if (next) {
		before = tree->ops->nr_insns ?
				 tree->ops->nr_insns(tree->ctx, ev->isa, tree->block_start, next) :
				 0;
		if (before > nr)
			before = nr;
		node->nr_insns += before;
		if (tree->counts)
			call_counts_add(tree, before);
		nr -= before;
		ret = enter(tree, ev, BY_FALLTHROUGH, tree->block_start, next);
		if (!ret && tree->counts)
			ret = call_counts_update(tree);
		if (ret)
			return ret;
		call_node_limit_tail_chain(tree);
	}
	tree->current->nr_insns += nr;
	if (tree->counts)
		call_counts_add(tree, nr);
	return 0;
}

/* Notes where the code that runs after ev starts. */
static void note_block_start(struct call_tree *tree, const struct auxtap_event *ev)
{
	switch (ev->type) {
	case AUXTAP_EVENT_CALL:
	case AUXTAP_EVENT_RETURN:
	case AUXTAP_EVENT_BRANCH:
	case AUXTAP_EVENT_TRACE:
	case AUXTAP_EVENT_ASYNC:
		tree->block_start = ev->has_addr ? ev->addr : 0;
		break;
	case AUXTAP_EVENT_GAP:
		tree->block_start = 0;
		break;
	default:
		break;
	}
}

/*
 * rt_sigreturn() delivers a signal that was pending while the handler ran before any instruction
 * of the interrupted code: the trace does not reach the address where the thread died.
 */
static void handler_ended(struct call_tree *tree, uint64_t ip)
{
	struct call_node *node = tree->current;

	if (!node->only_sigreturn_left || !tree->trace_off_ip || tree->trace_off_async ||
	    follows(tree->trace_off_ip, ip))
		return;
	unwind_to(tree, call_node_caller(tree, node));
	tree->current->last_ip = ip;
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
		/* CoreSight's trace-off event has no address */
		tree->trace_off_ip = branch_enters_kernel(ev->kind) ? ev->ip : 0;
		if (ev->kind == AUXTAP_BRANCH_JUMP || ev->kind == AUXTAP_BRANCH_JUMP_INDIRECT)
			return jumped(tree, ev);
		if (ev->kind == AUXTAP_BRANCH_COND && enters_function(tree, ev))
			return jumped(tree, ev);
		if (calls_next(tree, ev))
			return enter(tree, ev, BY_CALL, ev->ip, ev->addr);
		return 0;
	case AUXTAP_EVENT_ASYNC:
		/* an ETM does not trace the return to an instruction that faults again at once */
		if (ev->has_ip)
			handler_ended(tree, ev->ip);
		tree->trace_off_ip = ev->ip;
		tree->trace_off_async = true;
		tree->trace_off_null = ev->has_ip && !ev->ip;
		if (tree->current != &tree->root && ev->has_ip)
			tree->current->last_ip = ev->ip;
		return 0;
	case AUXTAP_EVENT_TRACE:
		if (ev->trace_on) {
			int ret = trace_on(tree, ev);

			tree->trace_off_ip = 0;
			tree->trace_off_async = tree->trace_off_null = false;
			if (!ret && !call_node_current(tree, ev->addr, ev->time))
				ret = -ENOMEM;
			if (!ret)
				tree->current->last_ip = ev->addr;
			return ret;
		}
		if (ev->has_ip) {
			if (!tree->trace_off_async)
				tree->trace_off_ip = ev->ip;
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
	tree->after_return = false;
	if (!ret)
		ret = add_event(tree, ev);
	if (!ret && tree->counts)
		ret = call_counts_update(tree);
	note_block_start(tree, ev);
	return ret;
}

/* Does the event lead to ip? Traces of AArch64 lack the lowest two bits of addresses. */
static bool same_address(const struct auxtap_event *ev, uint64_t ip)
{
	return ev->addr == (ev->isa == AUXTAP_ISA_A64 ? ip & ~3ull : ip);
}

int call_tree_died(struct call_tree *tree, uint64_t ip)
{
	const struct auxtap_event *ev = &tree->bad_return;

	handler_ended(tree, ip);
	/* a return to a non-canonical address faults at the return itself */
	if (ev->type && same_address(ev, ip))
		return enter(tree, ev, BY_RETURN, ev->ip, ip);
	return 0;
}
