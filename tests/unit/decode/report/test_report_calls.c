// SPDX-License-Identifier: BSD-2-Clause
/*
 * The report's tree of calls: built from events, marks what the trace does not show, bounded in
 * size.
 */
#include "support_calls.h"

static void nested_calls(void **state)
{
	struct call_tree *tree = call_tree_new(NULL, NULL);
	struct call_node *main_node, *child;

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x2000, 4);   /* main calls a */
	event(tree, AUXTAP_EVENT_CALL, 0x2010, 0x3000, 3);   /* a calls b */
	event(tree, AUXTAP_EVENT_RETURN, 0x3020, 0x2015, 7); /* b returns */
	event(tree, AUXTAP_EVENT_ASYNC, 0x2020, 0, 2);	     /* a dies */

	main_node = call_tree_root(tree)->first;
	assert_int_equal(main_node->nr_insns, 4);
	assert_int_equal(main_node->addr, 0); /* its call is not in the trace */
	assert_false(main_node->returned);
	child = main_node->first;
	assert_int_equal(child->addr, 0x2000);
	assert_int_equal(child->nr_insns, 5);
	assert_ptr_equal(call_tree_current(tree), child);
	assert_int_equal(child->last_ip, 0x2020);
	assert_int_equal(child->first->addr, 0x3000);
	assert_true(child->first->returned);
	assert_int_equal(child->first->nr_insns, 7);
	call_tree_free(tree);
}

/* The trace begins inside a function: returning from it reveals its caller. */
static void unknown_callers_appear(void **state)
{
	struct call_tree *tree = call_tree_new(NULL, NULL);
	struct call_node *outer;

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x3000, 0);
	event(tree, AUXTAP_EVENT_RETURN, 0x3020, 0x2015, 7);
	event(tree, AUXTAP_EVENT_RETURN, 0x2040, 0x1015, 9);
	outer = call_tree_root(tree)->first;
	assert_ptr_equal(call_tree_current(tree), outer);
	assert_int_equal(outer->addr, 0);
	assert_int_equal(outer->last_ip, 0x1015);
	assert_int_equal(outer->first->nr_insns, 9);
	assert_true(outer->first->returned);
	assert_int_equal(outer->first->first->nr_insns, 7);
	assert_null(outer->next);
	call_tree_free(tree);
}

/* A jump out of nested calls (longjmp, an exception): the next return finds its own call. */
static void jumps_out_of_calls(void **state)
{
	struct call_tree *tree = call_tree_new(NULL, NULL);

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x2000, 1);
	event(tree, AUXTAP_EVENT_CALL, 0x2010, 0x3000, 1);
	event(tree, AUXTAP_EVENT_CALL, 0x3010, 0x4000, 1);
	/* 0x4000 jumps into 0x2000's frame; that returns */
	event(tree, AUXTAP_EVENT_BRANCH, 0x4010, 0x2030, 3);
	event(tree, AUXTAP_EVENT_RETURN, 0x2040, 0x1015, 5);
	assert_ptr_equal(call_tree_current(tree), call_tree_root(tree)->first);
	assert_true(call_tree_current(tree)->first->returned);
	call_tree_free(tree);
}

static void signal_handlers(void **state)
{
	struct call_tree *tree = call_tree_new(NULL, NULL);
	struct call_node *base;

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	event(tree, AUXTAP_EVENT_ASYNC, 0x1020, 0, 5);
	event(tree, AUXTAP_EVENT_TRACE, 0x1020, 0, 0);
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x5000, 0); /* the handler */
	base = call_tree_root(tree)->first;
	assert_true(call_tree_current(tree)->async);
	assert_int_equal(call_tree_current(tree)->addr, 0x5000);
	event(tree, AUXTAP_EVENT_TRACE, 0x5010, 0, 3); /* sigreturn's system call */
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1020, 0); /* back */
	assert_ptr_equal(call_tree_current(tree), base);
	/* an interrupt is not a call */
	event(tree, AUXTAP_EVENT_ASYNC, 0x1030, 0, 2);
	event(tree, AUXTAP_EVENT_TRACE, 0x1030, 0, 0);
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1030, 0);
	assert_ptr_equal(call_tree_current(tree), base);
	assert_int_equal(base->nr_children, 1);
	call_tree_free(tree);
}

static void gaps_cut_the_tree(void **state)
{
	struct call_tree *tree = call_tree_new(NULL, NULL);
	const struct auxtap_gap cause = {.cause = AUXTAP_GAP_TRUNCATED};
	struct auxtap_event gap = {.type = AUXTAP_EVENT_GAP, .gap = &cause};

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x2000, 1);
	assert_int_equal(call_tree_event(tree, &gap), 0);
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x7000, 0);
	event(tree, AUXTAP_EVENT_BRANCH, 0x7010, 0x7000, 6);
	assert_true(call_tree_root(tree)->first->next->gap);
	assert_string_equal(call_tree_root(tree)->first->next->text, "truncated");
	/* nor whether they returned */
	assert_true(call_tree_root(tree)->first->lost);
	assert_true(call_tree_root(tree)->first->first->lost);
	assert_false(call_tree_current(tree)->lost);
	assert_int_equal(call_tree_current(tree)->addr, 0); /* the caller is unknown */
	assert_int_equal(call_tree_current(tree)->nr_insns, 6);
	call_tree_free(tree);
}

/* A gap that is forgotten is no call that was forgotten. */
static void forgotten_gaps(void **state)
{
	const struct auxtap_gap cause = {.cause = AUXTAP_GAP_UNCOUNTED};
	struct auxtap_event gap = {.type = AUXTAP_EVENT_GAP, .gap = &cause};
	struct call_tree *tree = call_tree_new(NULL, NULL);
	const struct call_node *base;
	unsigned int kept = 0;

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	for (unsigned int i = 0; i < 30000; i++) {
		event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x2000 + i, 1);
		event(tree, AUXTAP_EVENT_RETURN, 0x2010, 0x1015, 1);
		assert_int_equal(call_tree_event(tree, &gap), 0);
	}
	base = call_tree_root(tree)->first;
	for (const struct call_node *n = base->first; n; n = n->next)
		kept += !n->gap;
	assert_int_equal(kept + base->nr_dropped, 30000);
	call_tree_free(tree);
}

/* Millions of calls and a million deep recursion: bounded, and the newest are kept. */
static void bounded(void **state)
{
	struct call_tree *tree = call_tree_new(NULL, NULL);
	struct call_node *base;

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	for (unsigned int i = 0; i < 200000; i++) {
		event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x2000 + i, 1);
		event(tree, AUXTAP_EVENT_RETURN, 0x2010, 0x1015, 1);
	}
	base = call_tree_root(tree)->first;
	assert_int_equal(base->nr_children, 200000);
	assert_true(base->nr_dropped > 100000);
	assert_int_equal(base->last->addr, 0x2000 + 199999);
	for (unsigned int i = 0; i < 100000; i++)
		event(tree, AUXTAP_EVENT_CALL, 0x9010, 0x9000, 1);
	assert_int_equal(call_tree_current(tree)->addr, 0x9000);
	for (unsigned int i = 0; i < 100000; i++)
		event(tree, AUXTAP_EVENT_RETURN, 0x9020, 0x9015, 1);
	call_tree_free(tree);
}

/*
 * A function that calls and then ends with a jump, through a stub without a symbol, keeps its
 * callees.
 */
static void tail_calls_keep_the_frame(void **state)
{
	struct call_tree *tree = call_tree_new(&ops, NULL);
	struct auxtap_event jump = {.type = AUXTAP_EVENT_BRANCH,
				    .kind = AUXTAP_BRANCH_JUMP,
				    .has_ip = true,
				    .has_addr = true,
				    .nr_insns = 2};
	struct call_node *sort, *copy;

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x2000, 4);  /* main calls sort */
	event(tree, AUXTAP_EVENT_CALL, 0x2010, 0x3000, 30); /* sort calls compare */
	event(tree, AUXTAP_EVENT_RETURN, 0x3020, 0x2015, 7);
	jump.ip = 0x2040; /* sort jumps to the stub, the stub to copy */
	jump.addr = 0x8000;
	assert_int_equal(call_tree_event(tree, &jump), 0);
	jump.ip = 0x8004;
	jump.addr = 0x4000;
	assert_int_equal(call_tree_event(tree, &jump), 0);
	event(tree, AUXTAP_EVENT_RETURN, 0x4020, 0x1015, 9); /* to main */

	assert_ptr_equal(call_tree_current(tree), call_tree_root(tree)->first);
	sort = call_tree_current(tree)->first;
	assert_int_equal(sort->addr, 0x2000);
	assert_int_equal(sort->nr_insns, 32);
	assert_true(sort->returned);
	assert_int_equal(sort->first->addr, 0x3000);
	copy = sort->first->next;
	assert_int_equal(copy->addr, 0x4000);
	assert_int_equal(copy->nr_insns, 11);
	assert_null(copy->first);
	assert_true(copy->returned);

	/* main calls a function without a symbol, which jumps to copy */
	event(tree, AUXTAP_EVENT_CALL, 0x1030, 0x9000, 4);
	jump.ip = 0x9004;
	assert_int_equal(call_tree_event(tree, &jump), 0);
	assert_int_equal(call_tree_current(tree)->addr, 0x4000);
	assert_int_equal(call_tree_current(tree)->parent->addr, 0x9000);
	assert_true(call_tree_current(tree)->by_tail_call);
	call_tree_free(tree);
}

static void call_of(struct call_tree *tree, uint64_t ip, uint8_t size, uint64_t addr)
{
	struct auxtap_event ev = {.type = AUXTAP_EVENT_CALL,
				  .has_ip = true,
				  .has_addr = true,
				  .ip = ip,
				  .addr = addr,
				  .insn_size = size,
				  .nr_insns = 1};

	assert_int_equal(call_tree_event(tree, &ev), 0);
}

/*
 * A switch of stacks returns to a function that begins close to the instruction that called the
 * switch, but not at the next one. Also where more calls are open than there are nodes.
 */
static void enters_function_close_to_call(void **state)
{
	(void)state;
	for (int nr_open = 1; nr_open <= 30001; nr_open += 30000) {
		struct call_tree *tree = call_tree_new(&ops, NULL);
		struct call_node *entered;

		event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
		for (int i = 0; i < nr_open; i++)
			call_of(tree, 0x1ff4, 5, 0x1000);
		call_of(tree, 0x1ff4, 5, 0x5000);
		event(tree, AUXTAP_EVENT_RETURN, 0x5040, 0x2000, 5);
		entered = call_tree_current(tree);
		assert_true(entered->by_return);
		assert_int_equal(entered->addr, 0x2000);
		event(tree, AUXTAP_EVENT_CALL, 0x2010, 0x3000, 7);
		assert_int_equal(entered->nr_insns, 7);
		assert_ptr_equal(call_tree_current(tree)->parent, entered);
		/* the calls return one after the other */
		event(tree, AUXTAP_EVENT_RETURN, 0x3010, 0x1ff9, 3);
		for (int i = 0; i < nr_open; i++)
			event(tree, AUXTAP_EVENT_RETURN, 0x1fff, 0x1ff9, 2);
		assert_ptr_equal(call_tree_current(tree), call_tree_root(tree)->first);
		assert_false(call_tree_current(tree)->known_caller);
		call_tree_free(tree);
	}
}

/* Where no code can be, there is no caller; other code is, even if it faults at once. */
static void returns_to_code_without_symbol(void **state)
{
	static const uint64_t to[] = {0x90000, 0xffffffff81000000, ~3ull, 0x4141414141414140, 8};

	(void)state;
	for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++) {
		struct call_tree *tree = call_tree_new(&ops, NULL);
		struct call_node *node;

		event(tree, AUXTAP_EVENT_TRACE, 0, 0x3000, 0);
		event(tree, AUXTAP_EVENT_RETURN, 0x3020, to[i], 7);
		event(tree, AUXTAP_EVENT_ASYNC, to[i], 0, 0);
		event(tree, AUXTAP_EVENT_TRACE, to[i], 0, 0);
		assert_int_equal(call_tree_died(tree, to[i]), 0);
		node = call_tree_root(tree)->first;
		assert_int_equal(node->first->nr_insns, i < 2 ? 7 : 0);
		assert_int_equal(node->first->returned, i < 2);
		assert_int_equal(node->first->by_return, i >= 2);
		assert_ptr_equal(call_tree_current(tree), i < 2 ? node : node->first);
		call_tree_free(tree);
	}
}

static void returns_past_data(void **state)
{
	struct call_tree *tree = call_tree_new(&ops, NULL);

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	call_of(tree, 0x1010, 5, 0x5000);
	event(tree, AUXTAP_EVENT_RETURN, 0x5040, 0x1019, 5);
	assert_ptr_equal(call_tree_current(tree), call_tree_root(tree)->first);
	assert_true(call_tree_current(tree)->first->returned);
	call_tree_free(tree);
}

/* Handlers that begin a few bytes after the instruction at which a signal came. */
static void handlers_close_to_what_they_interrupt(void **state)
{
	(void)state;
	for (int is_nested = 0; is_nested <= 1; is_nested++) {
		struct call_tree *tree = call_tree_new(&ops, NULL);
		struct call_node *handler;

		event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
		/* a system call, and back from it to its next instruction, which has a symbol */
		event(tree, AUXTAP_EVENT_TRACE, 0x1ffe, 0, 2);
		event(tree, AUXTAP_EVENT_TRACE, 0, 0x2000, 0);
		assert_false(call_tree_current(tree)->async);
		event(tree, AUXTAP_EVENT_TRACE, 0x1ffb, 0, 2);
		event(tree, AUXTAP_EVENT_TRACE, 0, is_nested ? 0x5000 : 0x2000, 0);
		handler = call_tree_current(tree);
		assert_true(handler->async);
		assert_int_equal(handler->addr, is_nested ? 0x5000 : 0x2000);
		if (is_nested) {
			event(tree, AUXTAP_EVENT_ASYNC, 0x5010, 0, 3);
			event(tree, AUXTAP_EVENT_TRACE, 0x5010, 0, 0);
			event(tree, AUXTAP_EVENT_TRACE, 0, 0x2000, 0);
			assert_true(call_tree_current(tree)->async);
			assert_int_equal(call_tree_current(tree)->addr, 0x2000);
			assert_ptr_equal(call_tree_current(tree)->parent, handler);
		}
		call_tree_free(tree);
	}
}

/*
 * main switches to the stack of another function and back; main is not the caller of code that
 * runs there.
 */
static void coroutines(void **state)
{
	struct call_tree *tree = call_tree_new(&ops, NULL);
	struct call_node *main_node, *gen, *cut;

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x2000, 4); /* main calls swapcontext */
	event(tree, AUXTAP_EVENT_RETURN, 0x2040, 0x3000,
	      5); /* swapcontext returns to the entry of gen */
	main_node = call_tree_root(tree)->first;
	gen = call_tree_current(tree);
	assert_int_equal(gen->addr, 0x3000);
	assert_true(gen->by_return);
	assert_int_equal(gen->parent->addr, 0x2000);
	event(tree, AUXTAP_EVENT_CALL, 0x3010, 0x4000, 3);   /* gen calls yield */
	event(tree, AUXTAP_EVENT_CALL, 0x4010, 0x2000, 3);   /* yield calls swapcontext */
	event(tree, AUXTAP_EVENT_RETURN, 0x2040, 0x1015, 5); /* back to main */
	assert_ptr_equal(call_tree_current(tree), main_node);
	event(tree, AUXTAP_EVENT_CALL, 0x1020, 0x2000, 4);   /* once more */
	event(tree, AUXTAP_EVENT_RETURN, 0x2040, 0x4015, 5); /* into yield */
	event(tree, AUXTAP_EVENT_RETURN, 0x4020, 0x3015, 6); /* yield returns to gen */
	event(tree, AUXTAP_EVENT_CALL, 0x3020, 0x5000, 8);   /* gen calls cut */
	cut = call_tree_current(tree);
	assert_int_equal(cut->addr, 0x5000);
	gen = cut->parent;
	assert_int_equal(gen->last_ip, 0x3020);
	assert_int_equal(gen->nr_insns, 8);
	assert_true(gen->by_return);
	assert_false(gen->returned);
	assert_int_equal(gen->first->last_ip, 0x4020);
	assert_int_equal(gen->first->nr_insns, 6);
	assert_true(gen->first->returned);
	assert_int_equal(gen->parent->addr, 0x2000);
	assert_int_equal(gen->parent->site, 0x1020);
	assert_ptr_equal(gen->parent->parent, main_node);
	assert_int_equal(main_node->last_ip, 0x1020);
	assert_int_equal(main_node->nr_insns, 8);
	call_tree_free(tree);
}

/* A handler returns to code that has a symbol and ends it with a system call. */
static void handler_returns(void **state)
{
	struct call_tree *tree = call_tree_new(&ops, NULL);
	struct call_node *base;

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	event(tree, AUXTAP_EVENT_ASYNC, 0x1020, 0, 5);
	event(tree, AUXTAP_EVENT_TRACE, 0x1020, 0, 0);
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x5000, 0); /* the handler */
	base = call_tree_root(tree)->first;
	event(tree, AUXTAP_EVENT_RETURN, 0x5010, 0x6000, 3);
	assert_true(call_tree_current(tree)->async);
	event(tree, AUXTAP_EVENT_TRACE, 0x6010, 0, 2); /* sigreturn's system call */
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1020, 0); /* back */
	assert_ptr_equal(call_tree_current(tree), base);
	assert_int_equal(base->nr_children, 1);
	assert_true(base->first->returned);
	call_tree_free(tree);
}

/* The system call that ends a handler delivers the next signal: it came where the first one did. */
static void handlers_in_a_row(void **state)
{
	struct auxtap_event end = {.type = AUXTAP_EVENT_BRANCH,
				   .kind = AUXTAP_BRANCH_SYSCALL,
				   .has_ip = true,
				   .ip = 0x6010};
	struct call_tree *tree = call_tree_new(&ops, NULL);
	struct call_node *base;

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	event(tree, AUXTAP_EVENT_ASYNC, 0x1020, 0, 5);
	event(tree, AUXTAP_EVENT_TRACE, 0x1020, 0, 0);
	base = call_tree_current(tree);
	for (int i = 0; i < 3; i++) {
		event(tree, AUXTAP_EVENT_TRACE, 0, 0x5000, 0);
		assert_true(call_tree_current(tree)->async);
		assert_ptr_equal(call_tree_current(tree)->parent, base);
		assert_int_equal(call_tree_current(tree)->site, 0x1020);
		event(tree, AUXTAP_EVENT_RETURN, 0x5010, 0x6000, 3);
		assert_int_equal(call_tree_event(tree, &end), 0);
		event(tree, AUXTAP_EVENT_TRACE, 0x6010, 0, 0);
	}
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1020, 0); /* back */
	assert_ptr_equal(call_tree_current(tree), base);
	assert_int_equal(base->nr_children, 3);
	for (struct call_node *n = base->first; n; n = n->next)
		assert_true(n->returned);
	call_tree_free(tree);
}

/*
 * A signal comes in the system call at 0x1020, and the handler executes the very same one: that
 * returns to the handler, and not from it.
 */
static void same_call_in_handler(void **state)
{
	struct call_tree *tree = call_tree_new(&ops, NULL);
	struct call_node *handler;

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	event(tree, AUXTAP_EVENT_TRACE, 0x1020, 0, 5);
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x5000, 0); /* the handler */
	handler = call_tree_current(tree);
	assert_true(handler->async);
	event(tree, AUXTAP_EVENT_CALL, 0x5010, 0x1000, 2);
	event(tree, AUXTAP_EVENT_TRACE, 0x1020, 0, 5);
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1022, 0);
	assert_int_equal(call_tree_current(tree)->addr, 0x1000);
	assert_ptr_equal(call_tree_current(tree)->parent, handler);
	event(tree, AUXTAP_EVENT_RETURN, 0x1030, 0x5015, 2);
	assert_ptr_equal(call_tree_current(tree), handler);
	event(tree, AUXTAP_EVENT_RETURN, 0x5020, 0x6000, 3);
	event(tree, AUXTAP_EVENT_TRACE, 0x6010, 0, 2); /* sigreturn's system call */
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1022, 0); /* back */
	assert_true(handler->returned);
	call_tree_free(tree);
}

/* In CoreSight's trace the event "trace off" has no address; the system call's event has. */
static void handler_after_a_system_call(void **state)
{
	struct auxtap_event call = {.type = AUXTAP_EVENT_BRANCH,
				    .kind = AUXTAP_BRANCH_SYSCALL,
				    .ip = 0x1020,
				    .has_ip = true,
				    .nr_insns = 5};
	struct call_tree *tree = call_tree_new(&ops, NULL);

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	assert_int_equal(call_tree_event(tree, &call), 0);
	event(tree, AUXTAP_EVENT_TRACE, 0, 0, 0);
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1024, 0); /* an ordinary return */
	assert_false(call_tree_current(tree)->async);
	assert_int_equal(call_tree_event(tree, &call), 0);
	event(tree, AUXTAP_EVENT_TRACE, 0, 0, 0);
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x5000, 0); /* the handler */
	assert_true(call_tree_current(tree)->async);
	assert_int_equal(call_tree_current(tree)->addr, 0x5000);
	call_tree_free(tree);
}

/* A call of the next instruction enters the function that starts there, or no function. */
static void calls_of_what_follows(void **state)
{
	struct auxtap_event call = {.type = AUXTAP_EVENT_BRANCH,
				    .kind = AUXTAP_BRANCH_CALL,
				    .has_ip = true,
				    .has_addr = true,
				    .insn_size = 5};
	struct call_tree *tree = call_tree_new(&ops, NULL);
	struct call_node *caller;

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	caller = call_tree_current(tree);
	call.ip = 0x1010;
	call.addr = 0x1015;
	assert_int_equal(call_tree_event(tree, &call), 0);
	assert_ptr_equal(call_tree_current(tree), caller);
	call.ip = 0x1ffb;
	call.addr = 0x2000;
	assert_int_equal(call_tree_event(tree, &call), 0);
	assert_ptr_equal(call_tree_current(tree)->parent, caller);
	assert_int_equal(call_tree_current(tree)->addr, 0x2000);
	event(tree, AUXTAP_EVENT_RETURN, 0x2010, 0x2000, 3);
	assert_true(caller->first->returned);
	call_tree_free(tree);
}

/* The dynamic linker's _start, without a symbol, jumps to the program's: which has its own row. */
static void jumps_to_the_program(void **state)
{
	struct call_tree *tree = call_tree_new(&parts, NULL);
	struct call_node *linker, *program;

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x9000, 0);
	linker = call_tree_current(tree);
	event(tree, AUXTAP_EVENT_CALL, 0x9010, 0x4000, 4);
	event(tree, AUXTAP_EVENT_RETURN, 0x4010, 0x9015, 3);
	jump(tree, AUXTAP_BRANCH_JUMP_INDIRECT, 0x9020, 0x1000);
	program = call_tree_current(tree);
	assert_ptr_not_equal(program, linker);
	assert_ptr_equal(program->parent, linker->parent);
	assert_ptr_equal(linker->next, program);
	assert_true(linker->returned);
	assert_int_equal(program->addr, 0x1000);
	assert_int_equal(linker->nr_insns, 6);
	assert_null(program->first);
	event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x2000, 5);
	assert_int_equal(program->nr_insns, 5);
	call_tree_free(tree);
}

/*
 * An exception lands outside any symbol, by jump or return: in the innermost call that contains it.
 */
static void exceptions(void **state)
{
	struct call_node *a;

	(void)state;
	for (int by_return = 0; by_return <= 1; by_return++) {
		struct call_tree *tree = call_tree_new(&parts, NULL);

		event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
		event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x2000, 4); /* main calls a */
		a = call_tree_current(tree);
		event(tree, AUXTAP_EVENT_CALL, 0x2010, 0x3000, 3); /* a calls b */
		event(tree, AUXTAP_EVENT_CALL, 0x3020, 0x3000, 3); /* b calls b */
		event(tree, AUXTAP_EVENT_CALL, 0x3020, 0x4000, 3); /* b calls the unwinder */
		if (by_return)
			event(tree, AUXTAP_EVENT_RETURN, 0x4010, 0x7800, 5);
		else
			jump(tree, AUXTAP_BRANCH_JUMP_INDIRECT, 0x4010, 0x7800);
		assert_ptr_equal(call_tree_current(tree), a);
		assert_true(a->first->returned);
		assert_false(a->returned);
		assert_null(a->first->next);
		call_tree_free(tree);
	}
}

/* A jump or return to address 0 lands in no caller, though none of them has a landing pad. */
static void jumps_to_null(void **state)
{
	struct auxtap_event fault = {.type = AUXTAP_EVENT_ASYNC, .has_ip = true};
	struct auxtap_event off = {.type = AUXTAP_EVENT_TRACE};
	struct call_node *a;

	(void)state;
	for (int by_return = 0; by_return <= 1; by_return++) {
		struct call_tree *tree = call_tree_new(&parts, NULL);

		event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
		event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x2000, 4); /* main calls a */
		a = call_tree_current(tree);
		if (by_return)
			event(tree, AUXTAP_EVENT_RETURN, 0x2020, 0, 5);
		else
			jump(tree, AUXTAP_BRANCH_JUMP_INDIRECT, 0x2020, 0);
		assert_int_equal(call_tree_event(tree, &fault), 0);
		assert_int_equal(call_tree_event(tree, &off), 0);
		/* a processor may also die at the return, where the address cannot exist */
		if (by_return) {
			assert_int_equal(call_tree_died(tree, 0x2020), 0);
			assert_ptr_equal(call_tree_current(tree), a);
		}
		assert_int_equal(call_tree_died(tree, 0), 0);
		assert_false(a->returned);
		assert_ptr_equal(a->first, call_tree_current(tree));
		assert_true(by_return || a->first->null_target);
		assert_int_equal(a->first->by_return, by_return);
		call_tree_free(tree);
	}
}

/*
 * A handler returns to the code that ends it with a system call at 0x9020. A thread that dies
 * elsewhere then dies where the handler had interrupted it, one that dies there in the handler.
 */
static void dies_after_a_handler(void **state)
{
	struct auxtap_event end = {.type = AUXTAP_EVENT_BRANCH,
				   .kind = AUXTAP_BRANCH_SYSCALL,
				   .has_ip = true,
				   .ip = 0x9020};
	struct auxtap_event fault = {.type = AUXTAP_EVENT_ASYNC,
				     .has_ip = true,
				     .ip = 0x1010,
				     .nr_insns = 4};
	struct auxtap_event off = {.type = AUXTAP_EVENT_TRACE};

	(void)state;
	for (int there = 0; there <= 1; there++) {
		struct call_tree *tree = call_tree_new(&parts, NULL);
		struct call_node *main_node, *handler;

		event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
		main_node = call_tree_current(tree);
		assert_int_equal(call_tree_event(tree, &fault), 0);
		assert_int_equal(call_tree_event(tree, &off), 0);
		event(tree, AUXTAP_EVENT_TRACE, 0, 0x2000, 0);
		handler = call_tree_current(tree);
		assert_true(handler->async);
		event(tree, AUXTAP_EVENT_RETURN, 0x2020, 0x9019, 7);
		assert_ptr_equal(call_tree_current(tree), handler);
		assert_int_equal(call_tree_event(tree, &end), 0);
		assert_int_equal(call_tree_event(tree, &off), 0);
		assert_int_equal(call_tree_died(tree, there ? 0x9022 : 0x1010), 0);
		assert_ptr_equal(call_tree_current(tree), there ? handler : main_node);
		assert_int_equal(handler->returned, !there);
		/* no handler: whatever the address, the function is the one that ran last */
		end.ip = 0x1015;
		assert_int_equal(call_tree_event(tree, &end), 0);
		handler = call_tree_current(tree);
		handler->only_sigreturn_left = false;
		assert_int_equal(call_tree_died(tree, 0x5000), 0);
		assert_ptr_equal(call_tree_current(tree), handler);
		end.ip = 0x9020;
		call_tree_free(tree);
	}
}

/* The landing pad says which call of a recursion catches: not the innermost. */
static void exceptions_in_recursion(void **state)
{
	struct call_tree *tree = call_tree_new(&parts, NULL);
	struct call_node *outer;

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x3000, 4);
	outer = call_tree_current(tree);
	event(tree, AUXTAP_EVENT_CALL, 0x3010, 0x3000, 3); /* within its try block */
	event(tree, AUXTAP_EVENT_CALL, 0x3020, 0x4000, 3); /* outside the try block */
	jump(tree, AUXTAP_BRANCH_JUMP_INDIRECT, 0x4010, 0x3040);
	assert_ptr_equal(call_tree_current(tree), outer);
	assert_true(outer->first->returned);
	call_tree_free(tree);
}

/* Split parts are not calls; possible calls are marked. */
static void parts_of_functions(void **state)
{
	struct call_tree *tree = call_tree_new(&parts, NULL);
	struct call_node *a;

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x2000, 4);
	a = call_tree_current(tree);
	jump(tree, AUXTAP_BRANCH_JUMP, 0x2010, 0x7000);
	assert_ptr_equal(call_tree_current(tree), a);
	jump(tree, AUXTAP_BRANCH_JUMP, 0x7010, 0x2020);
	jump(tree, AUXTAP_BRANCH_JUMP, 0x2020, 0x7110); /* into the middle of a part */
	assert_ptr_equal(call_tree_current(tree), a);
	assert_null(a->first);
	jump(tree, AUXTAP_BRANCH_JUMP, 0x7120, 0x2030);
	jump(tree, AUXTAP_BRANCH_JUMP, 0x2030, 0x7100); /* a part, or a function */
	assert_ptr_equal(call_tree_current(tree)->parent, a);
	assert_true(call_tree_current(tree)->by_jump);
	call_tree_free(tree);
}

static void look_up_reloaded(void *ctx, uint64_t addr, struct call_code *code)
{
	look_up(ctx, addr, code);
	if (*(bool *)ctx && addr >= 0x2800 && addr < 0x3000)
		code->start = 0x2800;
}

/* Another library replaces one: its functions start at other addresses. */
static void reloaded_code(void **state)
{
	static const struct call_code_ops reloaded = {.look_up = look_up_reloaded};
	bool now = false;
	struct call_tree *tree = call_tree_new(&reloaded, &now);
	struct call_node *first;

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x2000, 4);
	first = call_tree_current(tree);
	jump(tree, AUXTAP_BRANCH_JUMP, 0x2010, 0x2800);
	assert_ptr_equal(call_tree_current(tree), first);
	event(tree, AUXTAP_EVENT_RETURN, 0x2810, 0x1015, 2);
	now = true;
	call_tree_code_changed(tree);
	event(tree, AUXTAP_EVENT_CALL, 0x1020, 0x2000, 4);
	jump(tree, AUXTAP_BRANCH_JUMP, 0x2010, 0x2800);
	assert_int_equal(call_tree_current(tree)->addr, 0x2800);
	assert_true(call_tree_current(tree)->by_tail_call);
	call_tree_free(tree);
}

/* Two contexts run the same function: the second begins while the first is open. */
static void coroutines_of_one_function(void **state)
{
	struct call_tree *tree = call_tree_new(&ops, NULL);
	struct call_node *first, *second;

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x2000, 4);   /* main calls swapcontext */
	event(tree, AUXTAP_EVENT_RETURN, 0x2040, 0x3000, 5); /* to the entry of gen */
	first = call_tree_current(tree);
	event(tree, AUXTAP_EVENT_CALL, 0x3010, 0x2000, 3);   /* gen calls swapcontext */
	event(tree, AUXTAP_EVENT_RETURN, 0x2040, 0x3000, 5); /* to the entry of the other gen */
	second = call_tree_current(tree);
	assert_ptr_not_equal(second, first);
	assert_true(second->by_return);
	assert_false(first->returned);
	event(tree, AUXTAP_EVENT_CALL, 0x3020, 0x4000, 7);
	assert_int_equal(second->nr_insns, 7);
	assert_int_equal(first->nr_insns, 3);
	call_tree_free(tree);
}

/* Switches of stacks by an indirect jump: to a function's entry first, then back into it. */
static void coroutines_by_jumps(void **state)
{
	struct call_tree *tree = call_tree_new(&parts, NULL);
	struct call_node *main_node, *gen;

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x2000, 4); /* main calls jump_stack */
	jump(tree, AUXTAP_BRANCH_JUMP_INDIRECT, 0x2010, 0x3000);
	main_node = call_tree_root(tree)->first;
	assert_int_equal(call_tree_current(tree)->addr, 0x3000);
	assert_true(call_tree_current(tree)->by_jump);
	event(tree, AUXTAP_EVENT_CALL, 0x3010, 0x4000, 3);
	event(tree, AUXTAP_EVENT_CALL, 0x4010, 0x2000, 3);
	jump(tree, AUXTAP_BRANCH_JUMP_INDIRECT, 0x2010, 0x1015); /* back to main */
	assert_ptr_equal(call_tree_current(tree), main_node);
	event(tree, AUXTAP_EVENT_CALL, 0x1020, 0x2000, 4);
	jump(tree, AUXTAP_BRANCH_JUMP_INDIRECT, 0x2010, 0x4015); /* into what gen called */
	gen = call_tree_current(tree);
	assert_int_equal(gen->last_ip, 0x4015);
	assert_int_equal(gen->addr, 0);
	assert_true(gen->by_jump);
	event(tree, AUXTAP_EVENT_RETURN, 0x4020, 0x3015, 6); /* returns to gen */
	gen = call_tree_current(tree);
	assert_int_equal(gen->last_ip, 0x3015);
	assert_true(gen->by_jump);
	assert_true(gen->first->returned);
	assert_false(gen->first->by_jump);
	assert_int_equal(gen->parent->addr, 0x2000);
	call_tree_free(tree);
}

int main(void)
{
	/* clang-format off */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nested_calls),	     cmocka_unit_test(unknown_callers_appear),
		cmocka_unit_test(jumps_out_of_calls), cmocka_unit_test(signal_handlers),
		cmocka_unit_test(gaps_cut_the_tree), cmocka_unit_test(forgotten_gaps),
		cmocka_unit_test(bounded),
		cmocka_unit_test(tail_calls_keep_the_frame), cmocka_unit_test(coroutines),
		cmocka_unit_test(coroutines_of_one_function),
		cmocka_unit_test(enters_function_close_to_call),
		cmocka_unit_test(returns_past_data),
		cmocka_unit_test(returns_to_code_without_symbol),
		cmocka_unit_test(handlers_close_to_what_they_interrupt),
		cmocka_unit_test(handler_returns), cmocka_unit_test(handler_after_a_system_call),
		cmocka_unit_test(calls_of_what_follows), cmocka_unit_test(handlers_in_a_row),
		cmocka_unit_test(same_call_in_handler),
		cmocka_unit_test(jumps_to_the_program),
		cmocka_unit_test(exceptions), cmocka_unit_test(jumps_to_null),
		cmocka_unit_test(dies_after_a_handler), cmocka_unit_test(exceptions_in_recursion),
		cmocka_unit_test(parts_of_functions), cmocka_unit_test(coroutines_by_jumps),
		cmocka_unit_test(reloaded_code),
	};
	/* clang-format on */

	return cmocka_run_group_tests(tests, NULL, NULL);
}
