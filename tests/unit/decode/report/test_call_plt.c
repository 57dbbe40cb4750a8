// SPDX-License-Identifier: BSD-2-Clause
/* The report's tree of calls: through the PLT, and the dynamic linker's search for a function. */
#include "support_calls.h"

/* The function at 0x5000 is a PLT entry; from 0x6000 on, where the resolver is, is the linker. */
static void look_up_plt(void *ctx, uint64_t addr, struct call_code *code)
{
	look_up(ctx, addr, code);
	code->plt_stub = code->start == 0x5000 || code->start == 0x6000;
	code->in_linker = addr >= 0x6000;
}

static const struct call_code_ops plt = {.look_up = look_up_plt};

/* The first call of a function through the PLT, and the second. */
static void found_by_the_dynamic_linker(void **state)
{
	struct call_tree *tree = call_tree_new(&plt, NULL);
	struct call_node *main_node, *found;

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x5000, 4);
	main_node = call_tree_root(tree)->first;
	jump(tree, AUXTAP_BRANCH_JUMP_INDIRECT, 0x5010, 0x6000);
	event(tree, AUXTAP_EVENT_CALL, 0x6010, 0x7000, 3); /* the search */
	event(tree, AUXTAP_EVENT_CALL, 0x7010, 0x8000, 20);
	event(tree, AUXTAP_EVENT_RETURN, 0x8020, 0x7015, 30);
	event(tree, AUXTAP_EVENT_RETURN, 0x7020, 0x6015, 10);
	assert_int_equal(main_node->nr_dropped_insns, 0);
	event(tree, AUXTAP_EVENT_BRANCH, 0x6018, 0x6020, 2);
	jump(tree, AUXTAP_BRANCH_JUMP_INDIRECT, 0x6028, 0x2000);
	found = call_tree_current(tree);
	assert_int_equal(found->addr, 0x2000);
	assert_ptr_equal(found->parent, main_node);
	assert_null(found->first);
	assert_false(found->by_tail_call);
	assert_int_equal(found->nr_insns, 0);
	assert_int_equal(found->nr_children, 0);
	assert_int_equal(main_node->nr_dropped_insns, 2 + 3 + 20 + 30 + 10 + 2 + 2);
	assert_int_equal(main_node->nr_dropped, 0);
	assert_int_equal(main_node->nr_children, 1);
	event(tree, AUXTAP_EVENT_CALL, 0x2010, 0x3000, 5);
	event(tree, AUXTAP_EVENT_RETURN, 0x3010, 0x2015, 6);
	event(tree, AUXTAP_EVENT_RETURN, 0x2020, 0x1015, 7);
	assert_ptr_equal(call_tree_current(tree), main_node);
	/* its callees are not a search: they stay */
	event(tree, AUXTAP_EVENT_CALL, 0x1020, 0x5000, 4);
	jump(tree, AUXTAP_BRANCH_JUMP_INDIRECT, 0x5010, 0x2000);
	assert_int_equal(main_node->nr_dropped_insns, 69);
	event(tree, AUXTAP_EVENT_CALL, 0x2010, 0x3000, 5);
	event(tree, AUXTAP_EVENT_RETURN, 0x3010, 0x2015, 6);
	event(tree, AUXTAP_EVENT_RETURN, 0x2020, 0x1025, 7);
	assert_ptr_equal(main_node->first, main_node->last);
	assert_int_equal(main_node->first->repeat, 2);
	assert_int_equal(main_node->first->nr_insns, 26); /* with the PLT entry */
	assert_int_equal(main_node->first->first->repeat, 2);
	call_tree_free(tree);
}

/* Handles a signal that was taken at ip, in a handler that makes a call. */
static void handle_signal(struct call_tree *tree, uint64_t ip)
{
	event(tree, AUXTAP_EVENT_ASYNC, ip, 0, 1);
	event(tree, AUXTAP_EVENT_TRACE, ip, 0, 0);
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x3000, 0);
	event(tree, AUXTAP_EVENT_CALL, 0x3010, 0x4000, 5);
	event(tree, AUXTAP_EVENT_RETURN, 0x4010, 0x3015, 6);
	event(tree, AUXTAP_EVENT_TRACE, 0x3020, 0, 7); /* sigreturn's system call */
	event(tree, AUXTAP_EVENT_TRACE, 0, ip, 0);
}

/* A signal in the PLT entry, or in the dynamic linker, does not disappear. */
static void signals_on_the_way(void **state)
{
	struct call_tree *tree = call_tree_new(&plt, NULL);
	struct call_node *found;

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x5000, 4);
	handle_signal(tree, 0x5010);
	jump(tree, AUXTAP_BRANCH_JUMP_INDIRECT, 0x5010, 0x2000);
	found = call_tree_current(tree);
	assert_int_equal(found->addr, 0x2000);
	assert_true(found->first->async);
	assert_int_equal(found->first->first->addr, 0x4000);
	event(tree, AUXTAP_EVENT_RETURN, 0x2020, 0x1015, 7);
	event(tree, AUXTAP_EVENT_CALL, 0x1020, 0x5000, 4);
	jump(tree, AUXTAP_BRANCH_JUMP_INDIRECT, 0x5010, 0x6000);
	event(tree, AUXTAP_EVENT_CALL, 0x6010, 0x7000, 3);
	handle_signal(tree, 0x7010);
	event(tree, AUXTAP_EVENT_RETURN, 0x7020, 0x6015, 10);
	jump(tree, AUXTAP_BRANCH_JUMP_INDIRECT, 0x6028, 0x2000);
	found = call_tree_current(tree);
	assert_int_equal(found->addr, 0x2000);
	assert_true(found->by_tail_call);
	assert_false(found->by_jump);
	assert_int_equal(found->parent->addr, 0x5000);
	assert_true(found->parent->first->first->async);
	assert_ptr_equal(found->parent->first->next, found);
	assert_int_equal(call_tree_root(tree)->first->nr_dropped_insns, 0);
	call_tree_free(tree);
}

/* The trace begins in the search: its instructions go to the caller that becomes known later. */
static void begins_in_a_search(void **state)
{
	struct call_tree *tree = call_tree_new(&plt, NULL);

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x7010, 0);
	event(tree, AUXTAP_EVENT_RETURN, 0x7020, 0x6015, 10);
	jump(tree, AUXTAP_BRANCH_JUMP_INDIRECT, 0x6028, 0x2000);
	event(tree, AUXTAP_EVENT_CALL, 0x2010, 0x3000, 5);
	event(tree, AUXTAP_EVENT_RETURN, 0x3010, 0x2015, 6);
	event(tree, AUXTAP_EVENT_RETURN, 0x2020, 0x1015, 7);
	assert_int_equal(call_node_insns(call_tree_root(tree)->first), 10 + 2 + 5 + 6 + 7);
	assert_int_equal(call_tree_root(tree)->nr_dropped_insns, 0);
	call_tree_free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found_by_the_dynamic_linker),
		cmocka_unit_test(signals_on_the_way),
		cmocka_unit_test(begins_in_a_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
