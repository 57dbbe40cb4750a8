// SPDX-License-Identifier: BSD-2-Clause
/*
 * Instructions by function: own and inclusive, in recursions, tail calls, after gaps, and deeper
 * than the tree of calls remembers.
 */
#include "support_calls.h"

static struct call_tree *counted(const struct call_code_ops *code)
{
	struct call_tree *tree = call_tree_new(code, NULL);

	assert_non_null(tree);
	assert_int_equal(call_tree_count(tree), 0);
	return tree;
}

static void check(const struct call_tree *tree, uint64_t addr, uint64_t own, uint64_t insns,
		  uint64_t calls)
{
	struct call_function f;

	for (size_t i = 0; call_tree_function(tree, i, &f); i++) {
		if (f.addr != addr)
			continue;
		assert_int_equal(f.own, own);
		assert_int_equal(f.insns, insns);
		assert_int_equal(f.calls, calls);
		return;
	}
	fail_msg("nothing is known of 0x%lx", (unsigned long)addr);
}

static void a_recursion_counts_once(void **state)
{
	struct call_tree *tree = counted(&ops);

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x2000, 4);
	event(tree, AUXTAP_EVENT_CALL, 0x2010, 0x3000, 3);
	event(tree, AUXTAP_EVENT_CALL, 0x3010, 0x2000, 2); /* 0x2000 once more */
	event(tree, AUXTAP_EVENT_RETURN, 0x2020, 0x3015, 5);
	check(tree, 0x2000, 8, 10, 2); /* both are open */
	event(tree, AUXTAP_EVENT_RETURN, 0x3020, 0x2015, 6);
	event(tree, AUXTAP_EVENT_RETURN, 0x2020, 0x1015, 7);
	event(tree, AUXTAP_EVENT_ASYNC, 0x1020, 0, 8);
	check(tree, 0x1000, 12, 35, 0);
	check(tree, 0x2000, 15, 23, 2);
	check(tree, 0x3000, 8, 13, 1);
	call_tree_free(tree);
}

/* What was open when the trace began, or a gap ended, was open all the time since. */
static void callers_appear_and_gaps_end(void **state)
{
	const struct auxtap_gap gap = {.cause = AUXTAP_GAP_TRUNCATED};
	struct auxtap_event lost = {.type = AUXTAP_EVENT_GAP, .gap = &gap};
	struct call_tree *tree = counted(&ops);

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x2000, 0);
	event(tree, AUXTAP_EVENT_RETURN, 0x2020, 0x2015, 7); /* a recursion, from its middle on */
	event(tree, AUXTAP_EVENT_RETURN, 0x2020, 0x1015, 9);
	event(tree, AUXTAP_EVENT_CALL, 0x1020, 0x3000, 4);
	event(tree, AUXTAP_EVENT_ASYNC, 0x3008, 0, 3);
	check(tree, 0x2000, 16, 16, 0);
	check(tree, 0x1000, 4, 23, 0);
	check(tree, 0x3000, 3, 3, 1);
	assert_int_equal(call_tree_event(tree, &lost), 0);
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x3010, 0);
	event(tree, AUXTAP_EVENT_RETURN, 0x3020, 0x1025, 10);
	event(tree, AUXTAP_EVENT_ASYNC, 0x1030, 0, 1);
	check(tree, 0x3000, 13, 13, 1);
	check(tree, 0x1000, 5, 34, 0);
	check(tree, 0x2000, 16, 16, 0);
	/* what was called before the gap is no call of the function that was returned to */
	assert_int_equal(call_tree_current(tree)->last_ip, 0x1030);
	assert_int_equal(call_node_insns(call_tree_current(tree)), 11);
	call_tree_free(tree);
}

/* 0x1000 calls 0x2000 in a recursion of 0x3000, which is deeper than frames are kept. */
static void deeper_than_is_kept(void **state)
{
	const unsigned int depth = 600000;
	struct call_tree *tree = counted(&ops);

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x2000, 1);
	event(tree, AUXTAP_EVENT_CALL, 0x2010, 0x3000, 1);
	for (unsigned int i = 0; i < depth; i++)
		event(tree, AUXTAP_EVENT_CALL, 0x3010, 0x3000, 1);
	assert_true(forgotten(tree) > 1000);
	for (unsigned int i = 0; i < depth; i++)
		event(tree, AUXTAP_EVENT_RETURN, 0x3020, 0x3015, 1);
	event(tree, AUXTAP_EVENT_RETURN, 0x3020, 0x2015, 1);
	event(tree, AUXTAP_EVENT_RETURN, 0x2020, 0x1015, 1);
	event(tree, AUXTAP_EVENT_ASYNC, 0x1020, 0, 1);
	check(tree, 0x3000, 2 * depth + 1, 2 * depth + 1, depth + 1);
	check(tree, 0x2000, 2, 2 * depth + 3, 1);
	check(tree, 0x1000, 2, 2 * depth + 5, 0);
	assert_false(call_tree_count_cut(tree));
	call_tree_free(tree);
}

/* The same, where each call of 0x2000 jumps to 0x3000, which calls it again. */
static void deeper_by_jumps(void **state)
{
	const unsigned int depth = 400000;
	struct call_tree *tree = counted(&ops);

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	for (unsigned int i = 0; i < depth; i++) {
		event(tree, AUXTAP_EVENT_CALL, i ? 0x3010 : 0x1010, 0x2000, 1);
		jump(tree, AUXTAP_BRANCH_JUMP, 0x2010, 0x3000);
	}
	assert_true(forgotten(tree) > 1000);
	for (unsigned int i = 0; i < depth; i++)
		event(tree, AUXTAP_EVENT_RETURN, 0x3020, i < depth - 1 ? 0x3015 : 0x1015, 1);
	event(tree, AUXTAP_EVENT_ASYNC, 0x1020, 0, 1);
	/* jump() has two instructions */
	check(tree, 0x3000, 2 * depth - 1, 4 * depth - 3, depth);
	check(tree, 0x2000, 2 * depth, 4 * depth - 1, depth);
	check(tree, 0x1000, 2, 4 * depth + 1, 0);
	call_tree_free(tree);
}

/* A state machine of tail calls goes on in one frame, and is counted to its end. */
static void chains_of_tail_calls(void **state)
{
	struct call_tree *tree = counted(&ops);

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x5000, 1);
	jump(tree, AUXTAP_BRANCH_JUMP, 0x5010, 0x2000);
	for (unsigned int i = 0; i < 1000; i++) {
		jump(tree, AUXTAP_BRANCH_JUMP, 0x2010, 0x3000);
		jump(tree, AUXTAP_BRANCH_JUMP, 0x3010, 0x2000);
	}
	event(tree, AUXTAP_EVENT_CALL, 0x2010, 0x4000, 1);
	event(tree, AUXTAP_EVENT_RETURN, 0x4010, 0x2015, 1);
	event(tree, AUXTAP_EVENT_RETURN, 0x2020, 0x1015, 1);
	event(tree, AUXTAP_EVENT_ASYNC, 0x1020, 0, 1);
	check(tree, 0x5000, 2, 4005, 1);
	check(tree, 0x2000, 2002, 4003, 1001);
	check(tree, 0x3000, 2000, 4001, 1000);
	check(tree, 0x4000, 1, 1, 1);
	check(tree, 0x1000, 2, 4007, 0);
	call_tree_free(tree);
}

/* Without end: of those beyond a limit only their own instructions are counted. */
static void calls_without_end(void **state)
{
	struct call_tree *tree = counted(&ops);
	struct call_function f;

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	for (unsigned int i = 0; i < 1200000; i++)
		event(tree, AUXTAP_EVENT_CALL, i ? 0x3010 : 0x1010, 0x3000, 1);
	assert_true(call_tree_count_cut(tree));
	check(tree, 0x3000, 1199999, 1199999, (1u << 20) - 1);
	assert_true(call_tree_function(tree, 0, &f));
	assert_int_equal(f.own, 0);
	call_tree_free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recursion_counts_once),
		cmocka_unit_test(callers_appear_and_gaps_end),
		cmocka_unit_test(deeper_than_is_kept),
		cmocka_unit_test(deeper_by_jumps),
		cmocka_unit_test(chains_of_tail_calls),
		cmocka_unit_test(calls_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
