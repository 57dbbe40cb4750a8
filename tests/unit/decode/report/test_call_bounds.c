// SPDX-License-Identifier: BSD-2-Clause
/*
 * The report's tree of calls: functions entered without a call, and calls deeper, longer or more
 * than are kept.
 */
#include "decode/report/call_nodes.h"
#include "support_calls.h"

#include <stdlib.h>

static uint32_t four_bytes(void *ctx, enum auxtap_isa isa, uint64_t begin, uint64_t end)
{
	(void)ctx;
	return isa == AUXTAP_ISA_A64 ? (uint32_t)(end - begin) / 4 : 0;
}

/* Code that runs on into the next function, without a branch. */
static void falls_into_the_next(void **state)
{
	static const struct call_code_ops counts = {.look_up = look_up_parts,
						    .nr_insns = four_bytes};
	struct auxtap_event dies = {.type = AUXTAP_EVENT_ASYNC,
				    .has_ip = true,
				    .ip = 0x3004,
				    .isa = AUXTAP_ISA_A64,
				    .nr_insns = 6};

	(void)state;
	for (int returned = 0; returned <= 1; returned++) {
		struct call_tree *tree = call_tree_new(&counts, NULL);
		struct call_node *a, *b;

		event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
		event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x2000, 4);
		a = call_tree_current(tree);
		if (returned) { /* its last instruction is a call, which returns */
			event(tree, AUXTAP_EVENT_CALL, 0x2ffc, 0x5000, 3);
			event(tree, AUXTAP_EVENT_RETURN, 0x5010, 0x3000, 3);
		} else {
			jump(tree, AUXTAP_BRANCH_COND, 0x2010, 0x2ff0);
		}
		assert_ptr_equal(call_tree_current(tree), a);
		assert_int_equal(call_tree_event(tree, &dies), 0);
		b = call_tree_current(tree);
		assert_ptr_equal(b->parent, a);
		assert_int_equal(b->addr, 0x3000);
		assert_true(b->by_fallthrough && b->by_tail_call);
		assert_false(a->returned);
		assert_int_equal(b->nr_insns, returned ? 6 : 2);
		assert_int_equal(a->nr_insns, returned ? 3 : 6);
		/* it returns to where the function before it would have */
		event(tree, AUXTAP_EVENT_RETURN, 0x3010, 0x1015, 2);
		assert_int_equal(call_tree_current(tree)->addr, 0);
		assert_true(a->returned && b->returned);
		call_tree_free(tree);
	}
}

/* As look_up(); 0x2800 to 0x28ff is a function within that at 0x2000, 0x3000 a split part. */
static void look_up_nested(void *ctx, uint64_t addr, struct call_code *code)
{
	look_up(ctx, addr, code);
	if (addr >= 0x2800 && addr < 0x2900)
		code->start = 0x2800;
	code->cold_part = addr >= 0x3000 && addr < 0x4000;
}

/* Nor is the end of one function within another, nor what a function's symbol .cold names. */
static void no_fall_out_of_nested(void **state)
{
	static const struct call_code_ops nested = {.look_up = look_up_nested};
	struct call_tree *tree = call_tree_new(&nested, NULL);
	struct call_node *f;

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x2800, 4);
	f = call_tree_current(tree);
	jump(tree, AUXTAP_BRANCH_COND, 0x2950, 0x2ff0);
	jump(tree, AUXTAP_BRANCH_COND, 0x3010, 0x2ff0); /* runs on into a part, and back */
	jump(tree, AUXTAP_BRANCH_COND, 0x2ff8, 0x3000); /* jumps there */
	assert_ptr_equal(call_tree_current(tree), f);
	assert_null(f->first);
	call_tree_free(tree);
}

/* What is no fall: a function's other part, code without a symbol, a jump, a gap in between. */
static void no_fall(void **state)
{
	const struct auxtap_gap cause = {.cause = AUXTAP_GAP_TRUNCATED};
	struct auxtap_event gap = {.type = AUXTAP_EVENT_GAP, .gap = &cause};
	struct call_tree *tree = call_tree_new(&parts, NULL);

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x6000, 4);
	event(tree, AUXTAP_EVENT_ASYNC, 0x7010, 0, 5); /* runs on into a part */
	assert_int_equal(call_tree_current(tree)->addr, 0x6000);
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x7010, 0);
	event(tree, AUXTAP_EVENT_RETURN, 0x7020, 0x1015, 4);
	jump(tree, AUXTAP_BRANCH_JUMP, 0x1020, 0x1f00); /* runs backwards, then on in itself */
	jump(tree, AUXTAP_BRANCH_COND, 0x1f20, 0x1030);
	assert_null(call_tree_current(tree)->parent->parent);
	jump(tree, AUXTAP_BRANCH_COND, 0x1040, 0x2010); /* into the middle of another function */
	assert_null(call_tree_current(tree)->parent->parent);
	assert_int_equal(call_tree_event(tree, &gap), 0);
	event(tree, AUXTAP_EVENT_CALL, 0x3010, 0x4000, 5);
	assert_false(call_tree_current(tree)->by_fallthrough ||
		     call_tree_current(tree)->parent->by_fallthrough);
	call_tree_free(tree);
}

/* A conditional jump to another function's entry is a tail call. */
static void conditional_tail_call(void **state)
{
	struct call_tree *tree = call_tree_new(&parts, NULL);

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x2000, 4);
	jump(tree, AUXTAP_BRANCH_COND, 0x2010, 0x3000);
	assert_int_equal(call_tree_current(tree)->addr, 0x3000);
	assert_true(call_tree_current(tree)->by_tail_call);
	assert_false(call_tree_current(tree)->by_jump);
	event(tree, AUXTAP_EVENT_RETURN, 0x3010, 0x1015, 2);
	assert_int_equal(call_tree_current(tree)->addr, 0);
	call_tree_free(tree);
}

/* What is no longer kept still counts in the sum of the function that returned. */
static void sums_of_forgotten_calls(void **state)
{
	struct call_tree *tree = call_tree_new(NULL, NULL);
	struct call_node *f;

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x2000, 4);
	f = call_tree_current(tree);
	for (int i = 0; i < 50000; i++) {
		event(tree, AUXTAP_EVENT_CALL, 0x2010, 0x3000 + i, 3);
		event(tree, AUXTAP_EVENT_RETURN, 0x3010, 0x2015, 5);
	}
	event(tree, AUXTAP_EVENT_RETURN, 0x2020, 0x1015, 2);
	assert_true(f->returned && f->nr_dropped > 20000);
	assert_int_equal(call_node_insns(f), 50000 * 8 + 2);
	call_tree_free(tree);
}

/* A state machine of tail calls: one frame, however long it runs. */
static void long_chains_of_tail_calls(void **state)
{
	(void)state;
	for (int nr = 30; nr < 100000; nr = nr * 3 + 1) {
		struct call_tree *tree = call_tree_new(&parts, NULL);
		struct call_node *main_node, *run;
		unsigned int rows = 1;

		event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
		main_node = call_tree_root(tree)->first;
		for (int twice = 0; twice < 2; twice++) {
			event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x2000, 4);
			run = call_tree_current(tree);
			for (int i = 0; i < nr; i++)
				jump(tree, AUXTAP_BRANCH_JUMP, i % 2 ? 0x4010 : run->addr + 0x10,
				     i % 2 ? 0x2000 : 0x4000);
			event(tree, AUXTAP_EVENT_RETURN, nr % 2 ? 0x4020 : 0x2020, 0x1015, 3);
			assert_ptr_equal(call_tree_current(tree), main_node);
			run = main_node->first; /* both are one node */
			assert_true(run->returned);
			assert_int_equal(run->repeat, twice + 1);
			assert_int_equal(call_node_insns(run), (twice + 1) * (nr * 2 + 3));
		}
		for (struct call_node *n = run->first; n; n = n->first, rows++)
			assert_true(n->by_tail_call && n->returned);
		assert_in_range(rows, nr < 31 ? (unsigned int)nr + 1 : 16, 32);
		assert_int_equal(run->nr_dropped, 2 * ((unsigned int)nr + 1 - rows));
		assert_int_equal(main_node->nr_children, 2);
		call_tree_free(tree);
	}
}

/* The same by indirect jumps, which may be switches to other stacks and are all kept. */
static void long_chains_of_jumps(void **state)
{
	struct call_tree *tree = call_tree_new(&parts, NULL);

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x2000, 4);
	for (int i = 0; i < 1000; i++)
		jump(tree, AUXTAP_BRANCH_JUMP_INDIRECT, i % 2 ? 0x4010 : 0x2010,
		     i % 2 ? 0x2000 : 0x4000);
	assert_true(call_tree_current(tree)->by_jump);
	event(tree, AUXTAP_EVENT_RETURN, 0x2020, 0x1015, 3);
	assert_ptr_equal(call_tree_current(tree), call_tree_root(tree)->first);
	call_tree_free(tree);
}

static void nest(struct call_tree *tree, int nr)
{
	for (int i = 0; i < nr; i++)
		event(tree, AUXTAP_EVENT_CALL, 0x2010, 0x2000, 4);
}

/* More open calls than are kept, in any form. */
#define TOO_MANY 700000

/* Open calls that have a frame. */
static size_t nr_frames(struct call_tree *tree)
{
	struct call_open *open;
	size_t nr = call_tree_open_calls(tree, call_tree_current(tree), &open), frames = 0;

	for (size_t i = 0; i < nr; i++)
		frames += !open[i].by_tail_call;
	free(open);
	return frames;
}

/* The oldest of a chain are forgotten with the callers before them; then it goes on. */
static void forgotten_within_a_chain(void **state)
{
	struct call_tree *tree = call_tree_new(&parts, NULL);
	const int before = 9990, after = TOO_MANY;
	bool at_most;
	size_t lost;

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x2000, 0);
	nest(tree, before);
	for (int i = 0; i < 20; i++)
		jump(tree, AUXTAP_BRANCH_JUMP, i % 2 ? 0x4010 : 0x2010, i % 2 ? 0x2000 : 0x4000);
	nest(tree, after);
	lost = forgotten(tree);
	assert_true(lost > (size_t)before);
	for (int i = 0; i < after; i++)
		event(tree, AUXTAP_EVENT_RETURN, 0x2020, 0x2015, 2);
	/* the callers that were forgotten have no names; nor has the chain, which may be left */
	assert_int_equal(forgotten(tree) + nr_frames(tree), before + 1 + 20);
	call_tree_forgotten(tree, &at_most);
	assert_true(at_most);
	assert_int_equal(call_tree_forgotten_min(tree) + nr_frames(tree), before + 1);
	for (int i = 0; i < 100; i++)
		jump(tree, AUXTAP_BRANCH_JUMP, i % 2 ? 0x4010 : 0x2010, i % 2 ? 0x2000 : 0x4000);
	event(tree, AUXTAP_EVENT_RETURN, 0x2020, 0x2015, 2);
	assert_int_equal(forgotten(tree) + nr_frames(tree), before + 20);
	call_tree_free(tree);
}

/* Deeper than nodes are kept, and out again: nothing is forgotten. */
static void comes_back_from_the_deep(void **state)
{
	const unsigned int nr = 100000;
	struct call_tree *tree = call_tree_new(&parts, NULL);
	struct call_open *open;
	struct call_node *outer;

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	outer = call_tree_root(tree)->first;
	for (unsigned int i = 0; i < nr; i++) {
		event(tree, AUXTAP_EVENT_CALL, 0x1010 + 0x1000 * (i % 3), 0x2000 + 0x1000 * (i % 3),
		      4);
		event(tree, AUXTAP_EVENT_CALL, 0x2020 + 0x1000 * (i % 3), 0x6000, 2);
		event(tree, AUXTAP_EVENT_RETURN, 0x6010, 0x2025 + 0x1000 * (i % 3), 3);
	}
	assert_true(call_tree_size(tree) < 20001);
	assert_int_equal(call_tree_open_calls(tree, call_tree_current(tree), &open), nr + 1);
	for (unsigned int i = 0; i < nr; i++) {
		assert_int_equal(open[nr - 1 - i].addr, 0x2000 + 0x1000 * (i % 3));
		assert_int_equal(open[nr - 1 - i].site, 0x1010 + 0x1000 * (i % 3));
		assert_int_equal(open[nr - 1 - i].nr_inside, 1);
	}
	free(open);
	for (unsigned int i = nr; i--;) {
		assert_int_equal(call_tree_current(tree)->addr, 0x2000 + 0x1000 * (i % 3));
		event(tree, AUXTAP_EVENT_RETURN, 0x2030 + 0x1000 * (i % 3),
		      0x1015 + 0x1000 * (i % 3), 2);
	}
	assert_int_equal(forgotten(tree), 0);
	assert_ptr_equal(call_tree_current(tree), outer);
	assert_int_equal(call_node_insns(outer), nr * 11);
	call_tree_free(tree);
}

/* longjmp() to a call that is open, but no node at present: those farther in are left. */
static void leaves_for_the_deep(void **state)
{
	(void)state;
	for (int by_return = 0; by_return <= 1; by_return++) {
		struct call_tree *tree = call_tree_new(&parts, NULL);

		event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
		event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x2000, 4);
		nest(tree, 29999);
		event(tree, AUXTAP_EVENT_CALL, 0x2010, 0x3000, 4);
		event(tree, AUXTAP_EVENT_CALL, 0x3010, 0x2000, 4);
		nest(tree, 30000);
		if (by_return)
			event(tree, AUXTAP_EVENT_RETURN, 0x2020, 0x3015, 2);
		else
			jump(tree, AUXTAP_BRANCH_JUMP_INDIRECT, 0x2020, 0x3020);
		assert_int_equal(call_tree_current(tree)->addr, 0x3000);
		assert_int_equal(nr_frames(tree), 30002);
		assert_int_equal(forgotten(tree), 0);
		call_tree_free(tree);
	}
}

/* A gap: whether they returned is not known. How many they are is. */
static void gap_in_the_deep(void **state)
{
	const struct auxtap_gap cause = {.cause = AUXTAP_GAP_TRUNCATED};
	struct auxtap_event gap = {.type = AUXTAP_EVENT_GAP, .gap = &cause};
	struct call_tree *tree = call_tree_new(&parts, NULL);
	uint64_t nr = 0;

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x2000, 4);
	nest(tree, 99998);
	assert_int_equal(call_tree_event(tree, &gap), 0);
	for (const struct call_node *n = call_tree_root(tree)->first; n; n = n->last) {
		assert_true(n->lost);
		nr += 1 + n->nr_above;
	}
	assert_int_equal(nr, 100000);
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x3000, 0);
	event(tree, AUXTAP_EVENT_RETURN, 0x3020, 0x2015, 7);
	assert_int_equal(nr_frames(tree), 1);
	call_tree_free(tree);
}

/* longjmp() out of deep calls; an exception is caught that far out. */
static void leaves_deep_calls(void **state)
{
	(void)state;
	for (int depth = 10; depth <= 9000; depth += 899) {
		for (int how = 0; how < 3; how++) {
			struct call_tree *tree = call_tree_new(&parts, NULL);
			struct call_node *outer, *catcher;

			event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
			outer = call_tree_root(tree)->first;
			event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x3000, 4);
			catcher = call_tree_current(tree);
			event(tree, AUXTAP_EVENT_CALL, 0x3010, 0x2000, 4); /* a try block */
			for (int i = 0; i < depth; i++)
				event(tree, AUXTAP_EVENT_CALL, 0x2020, 0x2000, 4);
			if (how == 0) {
				jump(tree, AUXTAP_BRANCH_JUMP_INDIRECT, 0x2030, 0x1015);
				assert_ptr_equal(call_tree_current(tree), outer);
			} else if (how == 1) {
				jump(tree, AUXTAP_BRANCH_JUMP_INDIRECT, 0x2030, 0x3040);
				assert_ptr_equal(call_tree_current(tree), catcher);
			} else {
				event(tree, AUXTAP_EVENT_RETURN, 0x2030, 0x1015, 2);
				assert_ptr_equal(call_tree_current(tree), outer);
			}
			assert_true(catcher->first->returned);
			call_tree_free(tree);
		}
	}
}

/*
 * Returns to nowhere out of deep calls, each of which looks at all callers: the work of all of them
 * is bounded. When it is used up, what is far out is not found.
 */
static void searches_are_bounded(void **state)
{
	(void)state;
	for (int nr = 0; nr <= 200; nr += 200) {
		struct call_tree *tree = call_tree_new(&parts, NULL);

		event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
		event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x2000, 4);
		nest(tree, 9000);
		for (int i = 0; i < nr; i++)
			event(tree, AUXTAP_EVENT_RETURN, 0x2020, 0x7010, 1);
		jump(tree, AUXTAP_BRANCH_JUMP_INDIRECT, 0x2030, 0x1015);
		assert_int_equal(call_tree_current(tree)->by_jump, nr != 0);
		call_tree_free(tree);
	}
}

/* Into a caller that is no longer kept: how many of them are open is not known. */
static void leaves_for_a_forgotten_call(void **state)
{
	(void)state;
	for (int how = 0; how < 4; how++) {
		struct call_tree *tree = call_tree_new(&parts, NULL);
		bool at_most, by_return = how & 1, far = how & 2;

		event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
		event(tree, AUXTAP_EVENT_CALL, 0x1010, 0x2000, 4);
		nest(tree, far ? TOO_MANY : 30000);
		call_tree_forgotten(tree, &at_most);
		assert_false(at_most);
		if (by_return)
			event(tree, AUXTAP_EVENT_RETURN, 0x2020, 0x1015, 2);
		else
			jump(tree, AUXTAP_BRANCH_JUMP_INDIRECT, 0x2020, 0x1015);
		event(tree, AUXTAP_EVENT_CALL, 0x1020, 0x4000, 2);
		assert_int_equal(call_tree_current(tree)->addr, 0x4000);
		assert_false(call_tree_current(tree)->parent->by_jump ||
			     call_tree_current(tree)->parent->by_return);
		assert_ptr_equal(call_tree_current(tree)->parent->parent, call_tree_root(tree));
		assert_int_equal(call_tree_root(tree)->first->returned, far);
		assert_int_equal(call_tree_forgotten(tree, &at_most) > 0, far);
		assert_int_equal(at_most, far);
		call_tree_free(tree);
	}
}

/* Callers of a deep recursion that were forgotten, with the functions that left by a jump. */
static void forgotten_frames(void **state)
{
	struct call_tree *tree = call_tree_new(&parts, NULL);
	const int nr = TOO_MANY;
	struct auxtap_gap gap = {.cause = AUXTAP_GAP_UNCOUNTED};
	const struct auxtap_event uncounted = {.size = sizeof(uncounted),
					       .type = AUXTAP_EVENT_GAP,
					       .gap = &gap};
	struct call_open *open;
	size_t nr_open;
	bool at_most;

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	for (int i = 0; i < nr; i++) {
		event(tree, AUXTAP_EVENT_CALL, i ? 0x3010 : 0x1010, 0x2000, 4);
		jump(tree, AUXTAP_BRANCH_JUMP, 0x2010, 0x3000);
	}
	nr_open = call_tree_open_calls(tree, call_tree_current(tree), &open);
	free(open);
	assert_true(call_tree_forgotten(tree, &at_most) > 0);
	assert_int_equal(nr_open + forgotten(tree), 2 * nr + 1);
	assert_false(at_most);
	assert_int_equal(call_tree_forgotten_min(tree), forgotten(tree));
	/* a loop without packets loses none */
	nr_open = forgotten(tree);
	assert_int_equal(call_tree_event(tree, &uncounted), 0);
	assert_int_equal(forgotten(tree), nr_open);
	for (int i = 0; i < nr; i++)
		event(tree, AUXTAP_EVENT_RETURN, 0x3020, i < nr - 1 ? 0x3015 : 0x1015, 2);
	assert_int_equal(call_tree_forgotten(tree, &at_most), 0);
	assert_false(at_most);
	assert_ptr_equal(call_tree_current(tree)->parent, call_tree_root(tree));
	call_tree_free(tree);
}

/* The row of an outer recursion says how its functions were entered, as that of an inner one does.
 */
static void rows_of_spilled_calls(void **state)
{
	struct call_tree *tree = call_tree_new(&parts, NULL);
	struct call_node **rows;
	struct call_open *open;
	size_t nr, nr_rows, found = 0;

	(void)state;
	event(tree, AUXTAP_EVENT_TRACE, 0, 0x1000, 0);
	for (int i = 0; i < 5000; i++) {
		event(tree, AUXTAP_EVENT_CALL, i ? 0x4010 : 0x1010, 0x2000, 4);
		jump(tree, AUXTAP_BRANCH_JUMP_INDIRECT, 0x2010,
		     0x4000); /* not proved to be a call */
	}
	for (int i = 0; i < 40000; i++)
		event(tree, AUXTAP_EVENT_CALL, i ? 0x3010 : 0x4010, 0x3000, 4);
	nr = call_tree_open_calls(tree, call_tree_current(tree), &open);
	rows = calloc(nr, sizeof(*rows));
	assert_non_null(rows);
	nr_rows = call_open_fold(tree, open, nr, true, rows);
	for (size_t i = 0; i < nr_rows; i++)
		if (rows[i]->addr == 0x4000 && rows[i]->depth > 1000) {
			assert_true(rows[i]->by_jump);
			found++;
		}
	assert_int_equal(found, 1);
	free(rows);
	free(open);
	call_tree_free(tree);
}

static void look_up_first(void *ctx, uint64_t addr, struct call_code *code)
{
	(void)ctx;
	if (addr == 0x401000)
		code->start = addr;
}

/* Two addresses share an entry of the cache: what is known of one is not said of the other. */
static void one_cache_entry(void **state)
{
	static const struct call_code_ops first = {.look_up = look_up_first};
	struct call_tree *tree = call_tree_new(&first, NULL);

	(void)state;
	assert_non_null(tree);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(call_tree_function_start(tree, 0x401000), 0x401000);
		assert_int_equal(call_tree_function_start(tree, 0x403002), 0);
	}
	call_tree_free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(falls_into_the_next),
		cmocka_unit_test(no_fall),
		cmocka_unit_test(conditional_tail_call),
		cmocka_unit_test(sums_of_forgotten_calls),
		cmocka_unit_test(one_cache_entry),
		cmocka_unit_test(long_chains_of_tail_calls),
		cmocka_unit_test(rows_of_spilled_calls),
		cmocka_unit_test(forgotten_frames),
		cmocka_unit_test(comes_back_from_the_deep),
		cmocka_unit_test(gap_in_the_deep),
		cmocka_unit_test(leaves_for_the_deep),
		cmocka_unit_test(no_fall_out_of_nested),
		cmocka_unit_test(long_chains_of_jumps),
		cmocka_unit_test(forgotten_within_a_chain),
		cmocka_unit_test(leaves_deep_calls),
		cmocka_unit_test(leaves_for_a_forgotten_call),
		cmocka_unit_test(searches_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
