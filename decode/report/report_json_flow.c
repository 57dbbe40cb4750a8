// SPDX-License-Identifier: BSD-2-Clause
/* The report as JSON: the tree of calls, the last branches. */
#include "decode/flow/branch_insn.h"
#include "call_nodes.h"
#include "decode/image/image_private.h"
#include "report_json.h"
#include "report_calls.h"

#include <stdlib.h>
#include <string.h>

static const char *call_kind(const struct call_node *node)
{
	return node->exec	    ? "exec" :
	       node->gap	    ? "gap" :
	       node->mixed	    ? "mixed" :
	       node->group	    ? "repeated" :
	       node->async	    ? "signal" :
	       node->by_return	    ? "by_return" :
	       node->by_jump	    ? "by_jump" :
	       node->by_fallthrough ? "fallthrough" :
	       node->by_tail_call   ? "tail_call" :
				      "call";
}

/* Writes the name of the function; for a call through a PLT stub that of the stub's target. */
static void put_name(struct report_json *json, const struct report_out *ro,
		     const struct call_node *node)
{
	struct auxtap_location loc = {.size = sizeof(loc)}, ran = {.size = sizeof(ran)};
	const uint64_t addr = node->addr ? node->addr : node->last_ip;
	const struct report_out at = report_at(ro, node->time, addr);
	struct auxtap_frame *outer;
	char *name;

	if (node->null_target || !addr ||
	    auxtap_image_set_resolve(at.images, at.pid, at.time, addr, &loc) || !loc.image) {
		json_out_null(&json->j, "function");
		return;
	}
	image_set_entry_line(at.images, at.pid, at.time, addr, &loc);
	outer = &loc.frames[loc.nr_frames - 1];
	if (!outer->symbol || !report_call_through_stub(&at, node, outer->symbol)) {
		report_json_function(json, NULL, &loc, loc.nr_frames - 1, false);
		return;
	}
	name = strdup(outer->symbol);
	if (!name) {
		json_out_null(&json->j, "function");
		return;
	}
	name[strlen(name) - 4] = '\0';
	json_out_text(&json->j, "function", name);
	if (!auxtap_image_set_symbol(at.images, at.pid, at.time, node->last_ip, &ran) &&
	    ran.image && !report_is_linker(ran.image))
		json_out_text(&json->j, "image", ran.image);
	free(name);
}

struct put_rows {
	struct report_json *json;
	const struct report_out *ro;
};

static void put_row(void *ctx, const struct report_call_row *row)
{
	const struct call_node *node = row->node;
	const struct put_rows *rows = ctx;
	struct report_json *json = rows->json;
	struct json_out *j = &json->j;

	json_out_open(j, NULL, '{');
	json_out_u64(j, "depth", row->depth);
	json_out_text(j, "kind", call_kind(node));
	if (node->nr_above)
		json_out_u64(j, "calls_between", node->nr_above);
	if (node->gap || node->exec) {
		json_out_text(j, "text", node->text ? node->text : "unknown");
		json_out_close(j, '}');
		return;
	}
	if (!node->group) {
		if (node->addr || node->null_target)
			json_out_hex(j, "entry", node->addr);
		put_name(json, rows->ro, node);
	}
	json_out_u64(j, "count", row->repeat);
	json_out_u64(j, "own_instructions", row->own_insns);
	if (node->returned)
		json_out_u64(j, "instructions", row->insns);
	else
		json_out_null(j, "instructions");
	json_out_u64(j, "hidden_calls", row->hidden);
	json_out_u64(j, "hidden_instructions", row->hidden_insns);
	json_out_bool(j, "returned", node->returned);
	if (node->lost && !node->returned)
		json_out_bool(j, "open_at_gap", true);
	if (row->current)
		json_out_bool(j, "current", true);
	if (node->depth > 1) {
		json_out_u64(j, "recursion_depth", node->depth);
		if (node->period)
			json_out_u64(j, "recursion_period", node->period);
	}
	if (node->time)
		json_out_u64(j, "time_ns", node->time);
	json_out_close(j, '}');
}

/* Writes members of an open object. */
static void put_calls(struct report_json *json, const struct report_out *ro,
		      const struct report_calls *calls, bool out_of_memory)
{
	struct json_out *j = &json->j;

	json_out_u64(j, "outer_calls", calls->nr_outer);
	json_out_text(j, "outer_calls_are",
		      calls->gap	  ? "at_least" :
		      calls->outer_is_max ? "at_most" :
					    "exact");
	json_out_text(j, "gap_before", calls->gap && !calls->gap_shown ? calls->gap : NULL);
	json_out_bool(j, "out_of_memory", out_of_memory);
	json_out_open(j, "rows", '[');
	report_calls_each(calls, put_row, &(struct put_rows){json, ro});
	json_out_close(j, ']');
}

void report_json_calls(struct report_json *json, struct call_tree *tree, bool out_of_memory)
{
	const unsigned int nr = json->r->nr_calls ? json->r->nr_calls : REPORT_JSON_CALLS;
	struct report_calls calls;

	if (report_calls_choose(&json->r->ro, tree, nr, false, &calls)) {
		json_out_null(&json->j, "calls"); /* no memory */
		return;
	}
	json_out_open(&json->j, "calls", '{');
	put_calls(json, &json->r->ro, &calls, out_of_memory);
	json_out_close(&json->j, '}');
	report_calls_free(&calls);
}

void report_json_hot_calls(struct report_json *json, const struct report_out *ro,
			   struct call_tree *tree, unsigned int nr_rows)
{
	struct report_calls calls;

	if (report_calls_choose(ro, tree, nr_rows, true, &calls)) {
		put_calls(json, ro, &(struct report_calls){.tree = tree}, true);
		return;
	}
	put_calls(json, ro, &calls, false);
	report_calls_free(&calls);
}

static void put_last_call(void *ctx, const struct call_node *node)
{
	struct report_json *json = ctx;
	struct json_out *j = &json->j;

	json_out_open(j, NULL, '{');
	put_name(json, &json->r->ro, node);
	json_out_hex(j, "entry", node->addr);
	json_out_u64(j, "count", node->repeat);
	json_out_bool(j, "returned", node->returned);
	report_json_time(j, "time_ns", call_node_newest(node));
	json_out_close(j, '}');
}

void report_json_last_calls(struct report_json *json, struct call_tree *tree)
{
	json_out_open(&json->j, "last_calls", '[');
	report_last_calls_each(&json->r->ro, tree, REPORT_LAST_CALLS, put_last_call, json);
	json_out_close(&json->j, ']');
}

void report_json_branches(struct report_json *json, const struct report_branches *branches)
{
	struct json_out *j = &json->j;
	unsigned int nr = json->r->nr_branches;

	if (nr > REPORT_BRANCHES)
		nr = REPORT_BRANCHES;
	if (nr > branches->nr)
		nr = branches->nr;
	json_out_open(j, "branches", '[');
	for (unsigned int i = branches->nr - nr; i != branches->nr; i++) {
		const struct report_branch *b = &branches->at[i % REPORT_BRANCHES];
		const struct report_out from = report_at(&json->r->ro, b->time, b->from);
		const struct report_out to = report_at(&json->r->ro, b->time, b->to);

		json_out_open(j, NULL, '{');
		json_out_text(j, "kind", report_branch_kind(b));
		if (b->gap >= 0)
			json_out_text(j, "gap_before",
				      auxtap_gap_cause_name((enum auxtap_gap_cause)b->gap));
		if (b->has_from)
			report_json_location(json, &from, "from", b->from, false);
		else
			json_out_null(j, "from");
		if (b->async || branch_enters_kernel(b->kind) || !b->has_to)
			json_out_null(j, "to");
		else
			report_json_location(json, &to, "to", b->to,
					     report_branch_enters(&json->r->ro, b));
		json_out_u64(j, "count", b->repeat);
		if (b->uncounted)
			json_out_bool(j, "uncounted_after", true);
		report_json_time(j, "time_ns", b->time);
		json_out_close(j, '}');
	}
	json_out_close(j, ']');
	json_out_text(j, "gap_after_branches",
		      branches->after_gap ? auxtap_gap_cause_name(branches->gap) : NULL);
}
