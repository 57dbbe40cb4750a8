// SPDX-License-Identifier: BSD-2-Clause
/*
 * The report's tree of calls, folded: runs, rounds of calls, calls in no order, and what is counted
 * of them.
 */
#include "decode/report/call_nodes.h"
#include "support_calls.h"

#include <stdio.h>
#include <stdlib.h>

static struct call_tree *begin(void)
{
	struct call_tree *tree = call_tree_new(NULL, NULL);

	event(tree, AUXTAP_EVENT_TRACE, 0, 0x100000, 0);
	return tree;
}

static struct call_node *main_of(struct call_tree *tree)
{
	return call_tree_root(tree)->first;
}

/* Calls by a program text: "a" calls a, "a(bc)" too, which calls b and c. All return. */
static const char *calls(struct call_tree *tree, const char *text, uint64_t site)
{
	while (*text && *text != ')') {
		uint64_t addr = 0x1000 * (uint64_t)(*text - 'a' + 1);

		event(tree, AUXTAP_EVENT_CALL, site, addr, 1);
		text++;
		if (*text == '(') {
			text = calls(tree, text + 1, addr + 0x20);
			assert_int_equal(*text++, ')');
		}
		event(tree, AUXTAP_EVENT_RETURN, addr + 0x30, site + 5, 2);
	}
	return text;
}

static void call(struct call_tree *tree, const char *text)
{
	calls(tree, text, 0x100010);
}

/* The same the other way round, with how often: "a5 [3 b3 c3]", "{b2 c9}": in no order. */
static void describe(const struct call_node *node, char **at)
{
	for (const struct call_node *c = node->first; c; c = c->next) {
		if (c != node->first)
			*(*at)++ = ' ';
		if (c->mixed)
			*(*at)++ = '{';
		else if (c->group)
			*at += sprintf(*at, "[%d ", (int)c->repeat);
		else
			*at += sprintf(*at, "%c", (int)(c->addr / 0x1000 - 1 + 'a'));
		if (!c->group && c->repeat != 1)
			*at += sprintf(*at, "%d", (int)c->repeat);
		if (!c->group && c->first)
			*(*at)++ = '(';
		describe(c, at);
		if (c->group || c->first)
			*(*at)++ = c->mixed ? '}' : c->group ? ']' : ')';
	}
	**at = '\0';
}

static void expect(struct call_tree *tree, const char *want)
{
	char text[4096] = "", *at = text;

	describe(main_of(tree), &at);
	assert_string_equal(text, want);
}

static void runs_and_rounds(void **state)
{
	static const struct {
		const char *calls, *tree;
	} cases[] = {
		{"aaaaab", "a5 b"},
		{"ababa", "a b a b a"}, /* two rounds may be chance */
		{"ababab", "[3 a3 b3]"},
		{"ababababca", "[4 a4 b4] c a"},
		/* twice unlocked is not a round */
		{"ababababb", "[4 a4 b4] b"},
		{"abababbababab", "[3 a3 b3] [3 b3 a3] b"},
		/* a loop within: how often it runs is no difference */
		{"abbabbbabab", "[4 a4 b7]"},
		{"abbabbbabbb", "[3 a3 b8]"},
		{"abbababb", "[3 a3 b5]"},
		{"abcabcabcabcd", "[4 a4 b4 c4] d"},
		{"abcdefghabcdefghabcdefgh", "[3 a3 b3 c3 d3 e3 f3 g3 h3]"},
		/* the same calls within */
		{"a(bc)a(bc)a(b)", "a2(b2 c2) a(b)"},
		{"a(bb)a(b)a(bbb)", "a3(b6)"},
		{"a(bcbcbc)a(bcbcbcbc)", "a2([7 b7 c7])"},
		/* rounds within rounds */
		{"abcbcbcabcbcbcabcbcbcd", "[3 a3 [9 b9 c9]] d"},
		{"abcbcbcabcbcbcabcbcbcabcbcbcbc", "[4 a4 [13 b13 c13]]"},
		{"x(ab(y)cabcabcabca(z)bc)", "x(a b(y) [3 c3 a3 b3] c a(z) b c)"},
		{"x(ab(c)abbabbabb(d))", "x(a b(c) [3 a3 b5] b(d))"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct call_tree *tree = begin();

		call(tree, cases[i].calls);
		expect(tree, cases[i].tree);
		call_tree_free(tree);
	}
}

/* Instructions and calls are those of all. */
static void sums(void **state)
{
	struct call_tree *tree = begin();
	struct call_node *group;

	(void)state;
	for (int i = 0; i < 1000; i++)
		call(tree, i % 3 ? "a(bb)" : "a(b)");
	group = main_of(tree)->first;
	assert_int_equal(group->repeat, 1000);
	assert_int_equal(group->first->repeat, 333 * 2 * 2 + 334);
	assert_int_equal(group->nr_children, 333 * 2 * 2 + 334);
	assert_int_equal(group->nr_insns, 1000 * 2 + 333 * 2 * 2 + 334);
	assert_int_equal(group->first->nr_insns, 2 * (333 * 2 * 2 + 334));
	assert_int_equal(call_node_calls(main_of(tree)->first), 1000);
	assert_int_equal(main_of(tree)->nr_children, 1000);
	call_tree_free(tree);
}

/* What differs in what it called stays apart, until there are too few lines. */
static void fits_lines(void **state)
{
	struct call_tree *tree = begin();

	(void)state;
	call(tree, "e");
	for (int i = 0; i < 9; i++)
		call(tree, i % 2 ? "la(b)u" : "la(c)u");
	expect(tree, "e [4 l4 a4(c4) u4 l4 a4(b4) u4] l a(c) u");
	call_node_fit(tree, main_of(tree), 100);
	expect(tree, "e [4 l4 a4(c4) u4 l4 a4(b4) u4] l a(c) u");
	/* those within a group are lines, too */
	call_node_fit(tree, main_of(tree), 11);
	expect(tree, "e [4 l4 a4(c4) u4 l4 a4(b4) u4] l a(c) u");
	call_node_fit(tree, main_of(tree), 10);
	expect(tree, "e {l9 a9 u9}");
	call_node_fit(tree, main_of(tree), 9);
	assert_int_equal(call_node_insns(main_of(tree)), 3 * (1 + 9 * 4) + 0);
	call_tree_free(tree);
}

/* Rounds begin where the first one does, once nothing else keeps them apart. */
static void first_rounds(void **state)
{
	struct call_tree *tree = begin();

	(void)state;
	call(tree, "ela(y)ula(b)ula(b)ula(b)ula(c)ula(d)uf");
	expect(tree, "e l a(y) [3 u3 l3 a3(b3)] u l a(c) u l a(d) u f");
	call_node_fit(tree, main_of(tree), 15);
	expect(tree, "e l a(y) [3 u3 l3 a3(b3)] u l a(c) u l a(d) u f");
	call_node_fit(tree, main_of(tree), 6);
	expect(tree, "e [6 l6 a6 u6] f");
	call_tree_free(tree);
	/* by one call */
	tree = begin();
	call(tree, "ea(y)ua(b)ua(b)ua(b)ua(c)uf");
	expect(tree, "e a(y) [3 u3 a3(b3)] u a(c) u f");
	call_node_fit(tree, main_of(tree), 5);
	expect(tree, "e [5 a5 u5] f");
	/* calls after that are compared with what they called again */
	call(tree, "g(h)g(i)");
	expect(tree, "e [5 a5 u5] f g(h) g(i)");
	call_tree_free(tree);
}

/* Rounds are counted as often as what is around them was done. */
static void rounds_of_rounds(void **state)
{
	struct call_tree *tree = begin();

	(void)state;
	for (int i = 0; i < 3; i++)
		call(tree, "abababab(x)");
	expect(tree, "[3 [9 a9 b9] a3 b3(x3)]");
	call_node_fit(tree, main_of(tree), 3);
	expect(tree, "[12 a12 b12]");
	call_tree_free(tree);
	/* in calls */
	tree = begin();
	for (int i = 0; i < 3; i++)
		call(tree, "c(abababab(x))");
	expect(tree, "c3([9 a9 b9] a3 b3(x3))");
	call_node_fit(tree, main_of(tree)->first, 3);
	expect(tree, "c3([12 a12 b12])");
	call_tree_free(tree);
	/* made of rounds that differed */
	tree = begin();
	for (int i = 0; i < 3; i++)
		call(tree, "ab(y)ab(x)ab(z)c");
	expect(tree, "[3 a3 b3(y3) a3 b3(x3) a3 b3(z3) c3]");
	call_node_fit(tree, main_of(tree), 4);
	expect(tree, "[3 [9 a9 b9] c3]");
	call_tree_free(tree);
	/* rounds that begin before the group */
	tree = begin();
	for (int i = 0; i < 3; i++)
		call(tree, "d(b(x)ababababac)");
	call_node_fit(tree, main_of(tree)->first, 4);
	expect(tree, "d3([15 b15 a15] c3)");
	call_tree_free(tree);
}

static void each_once_per_round(const struct call_node *node)
{
	for (const struct call_node *c = node->first; c; c = c->next) {
		if (node->group && !node->mixed && (c->addr == 0x1000 || c->addr == 0x2000))
			assert_int_equal(c->repeat, node->repeat);
		each_once_per_round(c);
	}
}

static void no_order_in_mixed(const struct call_node *node)
{
	for (const struct call_node *c = node->first; c; c = c->next) {
		assert_false(node->mixed && c->group);
		no_order_in_mixed(c);
	}
}

/* A loop calls a, then b, whatever they call: each round of a group has one of both. */
static void loops_of_two(void **state)
{
	static const char *const inside[] = {"", "(x)", "(y)", "(z(x))", "(xy)"};
	unsigned int x = 1;

	(void)state;
	for (unsigned int test = 0; test < 400; test++) {
		struct call_tree *tree = begin();
		const unsigned int nr = 3 + test % 150, kinds = 2 + test % 4;
		const bool in_calls = test % 3 == 0;
		char text[16 * 20] = "", whole[sizeof(text) + 8], *at = text;

		for (unsigned int i = 0; i < nr; i++) {
			const char *in_a = "";

			x = x * 1103515245 + 12345;
			if (test % 2)
				in_a = inside[(x >> 16) % 7 ? 0 : (x >> 20) % kinds];
			at += sprintf(at, "a%sb%s", in_a,
				      inside[(x >> 24) % 5 ? 0 : (x >> 28) % kinds]);
			if (!in_calls || i % 11 == 10 || i == nr - 1) {
				snprintf(whole, sizeof(whole), in_calls ? "d(%s)" : "%s", text);
				call(tree, whole);
				at = text;
			}
		}
		each_once_per_round(main_of(tree));
		for (unsigned int lines = 40; lines > 1; lines = lines * 2 / 3) {
			call_node_fit(tree, main_of(tree), lines);
			for (struct call_node *c = main_of(tree)->first; c; c = c->next)
				if (!c->group)
					call_node_fit(tree, c, lines);
			each_once_per_round(main_of(tree));
		}
		call_tree_free(tree);
	}
}

static void call_at(struct call_tree *tree, uint64_t addr, uint64_t time)
{
	struct auxtap_event ev = {.type = AUXTAP_EVENT_CALL,
				  .has_ip = true,
				  .has_addr = true,
				  .ip = 0x100010,
				  .addr = addr,
				  .time = time,
				  .nr_insns = 1};

	assert_int_equal(call_tree_event(tree, &ev), 0);
	ev.type = AUXTAP_EVENT_RETURN;
	ev.ip = addr + 0x30;
	ev.addr = 0x100015;
	ev.time++;
	assert_int_equal(call_tree_event(tree, &ev), 0);
}

/* A run has the times of its first and its last call, a group that of its first. */
static void times(void **state)
{
	struct call_tree *tree = begin();
	const struct call_node *node;

	(void)state;
	for (uint64_t i = 0; i < 3; i++)
		call_at(tree, 0x9000, 100 + 10 * i);
	for (uint64_t i = 0; i < 6; i++)
		call_at(tree, 0x1000 + 0x1000 * (i % 2), 200 + 10 * i);
	expect(tree, "i3 [3 a3 b3]");
	node = main_of(tree)->first;
	assert_int_equal(node->time, 100);
	assert_int_equal(call_node_newest(node), 120);
	node = node->next;
	assert_int_equal(node->time, 200);
	assert_int_equal(node->first->time, 200);
	assert_int_equal(call_node_newest(node->first), 240);
	assert_int_equal(call_node_newest(node->last), 250);
	call_tree_free(tree);
}

/* An interruption counts as a call; what a gap hides does not. */
static void what_is_a_call(void **state)
{
	struct call_node node = {.repeat = 3}, other = {.repeat = 4}, group = {.group = true};

	(void)state;
	assert_int_equal(call_node_calls(&node), 3);
	group.first = &node;
	node.next = &other;
	assert_int_equal(call_node_calls(&group), 7);
	node.async = true;
	assert_int_equal(call_node_calls(&group), 7);
	node.gap = true;
	assert_int_equal(call_node_calls(&node), 0);
	assert_int_equal(call_node_calls(&group), 4);
}

/* Three common calls side by side are a group in no order; those that are seldom may stay. */
static void mixed(void **state)
{
	struct call_tree *tree = begin();

	(void)state;
	call(tree, "abaxbaybab");
	call_fold_mix(tree, main_of(tree), 10);
	expect(tree, "a b a x b a y b a b");
	call_fold_mix(tree, main_of(tree), 6); /* x, y, and one of a and b */
	expect(tree, "a b a x b a y b a b");
	call_fold_mix(tree, main_of(tree), 0);
	expect(tree, "{a2 b} x b a y {b2 a}");
	call_tree_free(tree);
	/* no order is made of the order in which they are listed */
	tree = begin();
	call(tree,
	     "a(x)b(x)a(y)b(y)a(z)b(z)b(x)a(z)b(x)b(z)a(x)a(z)a(y)b(y)a(x)a(z)b(z)b(y)a(y)b(z)a(x)b(y)b(x)a(y)");
	call_fold_mix(tree, main_of(tree), 0);
	expect(tree, "{a4(x4) b4(x4) a4(y4) b4(y4) a4(z4) b4(z4)}");
	call_node_fit(tree, main_of(tree), 3);
	expect(tree, "{a12 b12}");
	call_tree_free(tree);
}

/* What calls have called is forgotten, but for the youngest. */
static void insides(void **state)
{
	struct call_tree *tree = begin();

	(void)state;
	call(tree, "a(b)a(c)xa(d)a(e)");
	call_fold_drop_callees(tree, main_of(tree), 5);
	expect(tree, "a(b) a(c) x a(d) a(e)");
	call_fold_drop_callees(tree, main_of(tree), 1);
	expect(tree, "a2 x a a(e)");
	assert_int_equal(main_of(tree)->first->nr_dropped, 2);
	call_fold_drop_callees(tree, main_of(tree), 0);
	expect(tree, "a2 x a2");
	call_tree_free(tree);
}

/* Of very many functions only the most frequent are a group in no order. */
static void many_kinds(void **state)
{
	struct call_tree *tree = begin();
	unsigned int seed = 1, most = 0;

	(void)state;
	for (int i = 0; i < 6000; i++) {
		seed = seed * 1103515245 + 12345;
		call_at(tree, 0x1000 + 0x100 * (seed / 65536 % 80), 0);
	}
	call_node_fit(tree, main_of(tree), 5);
	for (const struct call_node *c = main_of(tree)->first; c; c = c->next)
		most = c->mixed && c->nr_items > most ? c->nr_items : most;
	assert_in_range(most, 2, 64);
	call_tree_free(tree);
}

/* One call among very many in no order is kept, and the order of the rest is not. */
static void seldom_calls_are_kept(void **state)
{
	struct call_tree *tree = begin();
	unsigned int seed = 1;
	const struct call_node *seldom, *often;

	(void)state;
	call(tree, "z");
	for (int i = 0; i < 300000; i++) {
		static const char *const text[] = {"a(b)", "a(c)", "c", "d(ac)", "d(b(c)a)"};

		seed = seed * 1103515245 + 12345;
		call(tree, text[seed / 65536 % 5]);
	}
	call(tree, "y");
	assert_true(call_tree_size(tree) <= 20001);
	call_node_fit(tree, main_of(tree), 20);
	seldom = main_of(tree)->first;
	often = seldom->next;
	assert_int_equal(seldom->addr / 0x1000, 'z' - 'a' + 1);
	assert_true(often->mixed);
	assert_int_equal(call_node_calls(often), 300000);
	assert_int_equal(often->nr_items, 3);
	assert_int_equal(often->next->addr / 0x1000, 'y' - 'a' + 1);
	assert_null(often->next->next);
	assert_int_equal(main_of(tree)->nr_dropped, 0);
	call_tree_free(tree);
}

/* A call that called very much: what is alike stays, or the calls in no order. */
static void large_calls(void **state)
{
	struct call_tree *tree = begin();
	const struct call_node *large;
	uint64_t nr = 0;

	(void)state;
	event(tree, AUXTAP_EVENT_CALL, 0x100010, 0x50000, 1);
	for (int i = 0; i < 2000; i++) {
		calls(tree, i % 7 % 3 ? "a(bc)" : i % 11 ? "d(bbcd)" : "e(c)", 0x50010);
		nr++;
	}
	event(tree, AUXTAP_EVENT_RETURN, 0x50020, 0x100015, 1);
	large = main_of(tree)->first;
	assert_true(call_tree_size(tree) < 600);
	assert_non_null(large->first);
	for (const struct call_node *c = large->first; c; c = c->next)
		nr -= call_node_calls(c);
	assert_int_equal(nr, large->nr_dropped);
	call_tree_free(tree);
}

/* Random calls: whatever is folded, nothing is lost, and order within the tree is as it was. */
static void nothing_is_lost(void **state)
{
	(void)state;
	for (unsigned int seed = 1; seed <= 300; seed++) {
		struct call_tree *tree = begin();
		unsigned int x = seed, depth = 0, nr = 20 + seed * 7 % 400, nr_calls = 0;
		uint64_t at[8] = {0x100010};

		for (unsigned int i = 0; i < nr; i++) {
			x = x * 1103515245 + 12345;
			if (depth < 6 && x >> 16 & 1) {
				uint64_t addr = 0x1000 * (1 + (x >> 20) % (1 + seed % 4));

				event(tree, AUXTAP_EVENT_CALL, at[depth], addr, 1);
				at[++depth] = addr + 0x10;
				nr_calls++;
			} else if (depth) {
				event(tree, AUXTAP_EVENT_RETURN, at[depth] + 9, at[depth - 1] + 5,
				      1);
				depth--;
			}
			if (i % 97 == 96)
				call_node_fit(tree, main_of(tree), x >> 17 & 15);
			no_order_in_mixed(main_of(tree));
		}
		while (depth--)
			event(tree, AUXTAP_EVENT_RETURN, at[depth + 1] + 9, at[depth] + 5, 1);
		assert_int_equal(call_node_insns(main_of(tree)), 2 * nr_calls);
		call_node_fit(tree, main_of(tree), seed % 9);
		assert_int_equal(call_node_insns(main_of(tree)), 2 * nr_calls);
		call_tree_free(tree);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_and_rounds),
		cmocka_unit_test(sums),
		cmocka_unit_test(fits_lines),
		cmocka_unit_test(first_rounds),
		cmocka_unit_test(times),
		cmocka_unit_test(what_is_a_call),
		cmocka_unit_test(mixed),
		cmocka_unit_test(insides),
		cmocka_unit_test(many_kinds),
		cmocka_unit_test(seldom_calls_are_kept),
		cmocka_unit_test(rounds_of_rounds),
		cmocka_unit_test(loops_of_two),
		cmocka_unit_test(large_calls),
		cmocka_unit_test(nothing_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
