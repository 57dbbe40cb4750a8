// SPDX-License-Identifier: BSD-2-Clause
/* The report as JSON: the backtrace, with arguments, local variables and tail frames. */
#include "report_json.h"

#include <stdlib.h>
#include <string.h>

#define MAX_VARIABLES 100 /* arguments, or local variables, of one function */
#define MAX_OUTER     200 /* rows of frames that only the trace shows */

/* The lists of arguments and of local variables of a function; an empty one is not written. */
struct put_vars {
	struct json_out *j;
	const char *list; /* the current list; NULL: none */
	uint64_t nr;	  /* variables in it */
};

static void end_list(struct put_vars *vars)
{
	const bool args = vars->list && !strcmp(vars->list, "arguments");

	if (!vars->list)
		return;
	json_out_close(vars->j, ']');
	if (vars->nr > MAX_VARIABLES)
		json_out_u64(vars->j, args ? "arguments_left_out" : "locals_left_out",
			     vars->nr - MAX_VARIABLES);
	vars->list = NULL;
	vars->nr = 0;
}

static void put_variable(void *ctx, const struct image_variable *var)
{
	const char *list = var->is_argument ? "arguments" : "locals";
	struct put_vars *vars = ctx;

	if (!vars->list || strcmp(vars->list, list) != 0) {
		end_list(vars);
		json_out_open(vars->j, list, '[');
		vars->list = list;
	}
	if (++vars->nr > MAX_VARIABLES)
		return;
	json_out_open(vars->j, NULL, '{');
	json_out_text(vars->j, "name", var->name);
	json_out_text(vars->j, "value", var->value);
	if (var->optimized_out)
		json_out_bool(vars->j, "optimized_out", true);
	json_out_close(vars->j, '}');
}

/* Skips the C and C++ libraries, whose variables rarely show a bug. */
static void put_variables(struct report_json *json, const struct unwind_frames *frames, int nr,
			  const struct auxtap_location *loc, unsigned int level)
{
	struct put_vars vars = {.j = &json->j};

	if (frames->signal_mask >> nr & 1 || report_is_runtime(loc->image))
		return;
	report_vars_each(&json->r->ro, &json->r->facts, frames, nr, level,
			 !report_is_library_function(loc, level), put_variable, &vars);
	end_list(&vars);
}

/* Writes the functions that made a tail call to that of frame nr, or to one of these. */
static void put_tails(struct report_json *json, const struct unwind_frames *frames, int nr)
{
	const struct report_out *ro = &json->r->ro;
	struct json_out *j = &json->j;
	bool some = false;

	for (int t = 0; t < frames->nr_tails; t++) {
		struct auxtap_location loc = {.size = sizeof(loc)};

		if (frames->tails[t].frame != nr)
			continue;
		if (!some)
			json_out_open(j, "tail_frames", '[');
		some = true;
		json_out_open(j, NULL, '{');
		json_out_hex(j, "address", frames->tails[t].site);
		if (auxtap_image_set_resolve(ro->images, ro->pid, ro->time, frames->tails[t].site,
					     &loc) ||
		    !loc.image)
			loc.nr_frames = 0;
		json_out_text(j, "image", loc.image);
		json_out_open(j, "functions", '[');
		for (unsigned int i = 0; i < loc.nr_frames; i++) {
			json_out_open(j, NULL, '{');
			report_json_place(json, &loc, i, true);
			json_out_close(j, '}');
		}
		json_out_close(j, ']');
		json_out_close(j, '}');
	}
	if (some)
		json_out_close(j, ']');
}

static void put_frame(struct report_json *json, const struct unwind_frames *frames, int nr)
{
	struct auxtap_location loc = {.size = sizeof(loc)};
	const struct report_out *ro = &json->r->ro;
	const uint64_t pc = frames->pcs[nr], back = frames->call_mask >> nr & 1;
	struct json_out *j = &json->j;

	json_out_open(j, NULL, '{');
	json_out_i64(j, "level", nr);
	json_out_bool(j, "signal_handler", frames->signal_mask >> nr & 1);
	json_out_hex(j, "address", pc + back);
	if (auxtap_image_set_resolve(ro->images, ro->pid, ro->time, pc, &loc) || !loc.image)
		loc.nr_frames = 0;
	json_out_text(j, "image", loc.image);
	if (loc.image)
		json_out_hex(j, "image_offset", loc.image_off + back);
	json_out_bool(j, "unloaded", report_was_unloaded(ro, &json->r->facts, pc));
	if (frames->within_mask >> nr & 1)
		json_out_bool(j, "entered_within", true);
	json_out_open(j, "functions", '[');
	for (unsigned int i = 0; i < loc.nr_frames; i++) {
		json_out_open(j, NULL, '{');
		report_json_place(json, &loc, i, true);
		put_variables(json, frames, nr, &loc, i);
		json_out_close(j, '}');
	}
	json_out_close(j, ']');
	put_tails(json, frames, nr);
	json_out_close(j, '}');
}

static void put_outer_row(void *ctx, const struct report_outer_row *row)
{
	struct report_json *json = ctx;
	const struct report_out *ro = &json->r->ro;
	struct auxtap_location loc = {.size = sizeof(loc)};
	struct json_out *j = &json->j;

	json_out_open(j, NULL, '{');
	json_out_hex(j, "address", row->call->last_ip);
	if (!auxtap_image_set_resolve(ro->images, ro->pid, ro->time, row->call->last_ip, &loc) &&
	    loc.image)
		report_json_function(json, NULL, &loc, loc.nr_frames - 1, false);
	if (row->depth > 1)
		json_out_u64(j, "recursion_depth", row->depth);
	if (row->other_places)
		json_out_bool(j, "other_places", true);
	if (row->is_tail)
		json_out_bool(j, "tail_call", true);
	if (row->nr_between)
		json_out_u64(j, "rows_left_out_before", row->nr_between);
	json_out_close(j, '}');
}

/* Writes frames that the trace shows, and the stack does not. */
static void put_outer(struct report_json *json, const struct report_death *death)
{
	const struct report *r = json->r;
	struct json_out *j = &json->j;
	struct report_outer outer;

	if (!death->view || r->cover.cut_short ||
	    !report_outer_find(&r->ro, &r->facts, death->view->calls, &death->frames, &outer))
		return;
	json_out_open(j, "from_trace", '{');
	json_out_bool(j, "perhaps_more", outer.perhaps_more);
	if (outer.nr_more) {
		json_out_u64(j, "calls_not_kept", outer.nr_more);
		json_out_text(j, "calls_not_kept_are", outer.more_is_max ? "at_most" : "exact");
	}
	json_out_open(j, "rows", '[');
	report_outer_each(&outer, MAX_OUTER, put_outer_row, json);
	json_out_close(j, ']');
	json_out_close(j, '}');
	free(outer.open);
}

void report_json_backtrace(struct report_json *json, const struct report_death *death)
{
	const struct unwind_frames *frames = &death->frames;

	static const char *const ends[] = {
		[REPORT_FRAMES_OUTERMOST] = "outermost",
		[REPORT_FRAMES_TOO_MANY] = "too_many",
		[REPORT_FRAMES_NOT_CALLED] = "not_called",
		[REPORT_FRAMES_NO_CODE] = "no_code",
		[REPORT_FRAMES_NOT_IN_SNAPSHOT] = "not_in_snapshot",
		[REPORT_FRAMES_NO_FILE] = "no_file",
		[REPORT_FRAMES_NO_INFO] = "no_unwind_information",
		[REPORT_FRAMES_OVERWRITTEN] = "overwritten",
		[REPORT_FRAMES_CONTRADICTED] = "contradicted",
		[REPORT_FRAMES_ENTERED_WITHIN] = "entered_within",
		[REPORT_FRAMES_32BIT] = "32_bit_code",
		[REPORT_FRAMES_SENSELESS] = "senseless",
	};
	enum report_frames_end end = report_frames_end(&json->r->ro, &json->r->facts, frames);
	struct json_out *j = &json->j;

	json_out_open(j, "backtrace", '{');
	json_out_text(j, "end", ends[end]);
	if (end == REPORT_FRAMES_NO_CODE || end == REPORT_FRAMES_NOT_IN_SNAPSHOT)
		json_out_hex(j, "end_address",
			     end == REPORT_FRAMES_NO_CODE ? frames->bad_return_addr :
							    frames->unread_addr);
	else
		json_out_null(j, "end_address");
	if (frames->by_pointers)
		json_out_i64(j, "by_frame_pointers_from", frames->by_pointers);
	else
		json_out_null(j, "by_frame_pointers_from");
	if (frames->overwritten)
		json_out_i64(j, "overwritten_from", frames->overwritten);
	else
		json_out_null(j, "overwritten_from");
	json_out_open(j, "frames", '[');
	for (int i = 0; i < frames->nr; i++)
		put_frame(json, frames, i);
	json_out_close(j, ']');
	put_outer(json, death);
	json_out_close(j, '}');
}
