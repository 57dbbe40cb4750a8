// SPDX-License-Identifier: BSD-2-Clause
/* Prints the slice of what led to the death. */
#include "report_json.h"

static const char *const kinds[] = {
	[REPORT_SLICE_READ] = "read",
	[REPORT_SLICE_WRITTEN] = "written",
	[REPORT_SLICE_SET] = "set",
	[REPORT_SLICE_COMPUTED] = "computed",
	[REPORT_SLICE_NEVER_SET] = "never_set",
};

static void end_step(const struct report_out *ro, const struct report_slice_step *step)
{
	if (step->tid)
		fprintf(ro->out, ", in thread %d", step->tid);
	fputc('\n', ro->out);
}

static void print_callers(const struct report_out *ro, const struct report_slice_step *step)
{
	const struct report_callers *callers = &step->callers;

	for (int i = 0; i < callers->nr; i++) {
		fputs(i ? "\n    from " : "", ro->out);
		report_print_caller(ro, callers->at[i]);
	}
	end_step(ro, step);
}

static const char *subject_of(const struct report_slice_step *step, const char *what, char *text,
			      size_t size)
{
	const char *added;

	if (!step->is_shifted && !step->is_summed)
		return what ? what : "Before, it";
	added = step->is_summed ? "variable" : "constant";
	if (what)
		snprintf(text, size, "%s, before a %s was added,", what, added);
	else
		snprintf(text, size, "Before a %s was added, it", added);
	return text;
}

/* what: NULL if a line before is about the value; is_origin: that line is about this read. */
static void print_step(const struct report_out *ro, const struct report_slice_step *step,
		       const char *what, bool is_origin, const char *word)
{
	const bool in_call = step->callers.at[0].pc != step->ip;
	char text[100];

	if (step->kind == REPORT_SLICE_NEVER_SET) {
		if (is_origin)
			fputs("  That was a local variable that was never set, read by ", ro->out);
		else
			fprintf(ro->out,
				"  %s was read from a local variable that was never set, by ",
				subject_of(step, what, text, sizeof(text)));
		report_print_caller(ro, step->callers.at[0]);
		end_step(ro, step);
		return;
	}
	fprintf(ro->out, "  %s was %s%s %s ", subject_of(step, what, text, sizeof(text)),
		step->is_part ? "partly " : "", word, in_call ? "in a call from" : "by");
	print_callers(ro, step);
}

/* What the first sentence is about; NULL: what the line before is about. */
static const char *subject(const struct report_headline *head)
{
	switch (head->slice.of) {
	case REPORT_SLICE_NOTHING:
		break;
	case REPORT_SLICE_POINTER:
		if (head->origin.kind != REPORT_ORIGIN_UNKNOWN)
			return NULL;
		return head->slice.value ? "The pointer" : "The null pointer";
	case REPORT_SLICE_INDEX:
		return "The index";
	case REPORT_SLICE_RETURN_ADDRESS:
		return "The return address";
	case REPORT_SLICE_AFTER_BLOCK:
		return "That";
	case REPORT_SLICE_PROTECTOR:
		return "The stack protector's value";
	case REPORT_SLICE_DIVISOR:
		return "The divisor";
	}
	return "";
}

void report_slice_print(const struct report_out *ro, const struct report_headline *head)
{
	const bool is_overwritten = head->slice.of == REPORT_SLICE_RETURN_ADDRESS ||
				    head->slice.of == REPORT_SLICE_AFTER_BLOCK ||
				    head->slice.of == REPORT_SLICE_PROTECTOR;
	const char *what = subject(head);

	for (int i = 0; i < head->slice.nr; i++) {
		const struct report_slice_step *step = &head->slice.steps[i];

		print_step(ro, step, what, !what && !i && step->ip == head->origin.ip,
			   is_overwritten ? "overwritten" : kinds[step->kind]);
		what = NULL;
	}
	if (head->slice.lacks_order)
		fputs("  What wrote it is not known: the process had other threads, and the order of all their\n"
		      "  writes is not recorded.\n",
		      ro->out);
}

void report_json_slice(struct report_json *json, const struct report_slice *slice)
{
	static const char *const of[] = {
		[REPORT_SLICE_POINTER] = "pointer",
		[REPORT_SLICE_INDEX] = "index",
		[REPORT_SLICE_RETURN_ADDRESS] = "return_address",
		[REPORT_SLICE_AFTER_BLOCK] = "after_block",
		[REPORT_SLICE_PROTECTOR] = "stack_protector",
		[REPORT_SLICE_DIVISOR] = "divisor",
	};
	struct json_out *j = &json->j;

	json_out_bool(j, "slice_lacks_order", slice->lacks_order);
	if (slice->of == REPORT_SLICE_NOTHING) {
		json_out_null(j, "slice");
		return;
	}
	json_out_open(j, "slice", '{');
	json_out_text(j, "of", of[slice->of]);
	json_out_hex(j, "value", slice->value);
	json_out_open(j, "steps", '[');
	for (int i = 0; i < slice->nr; i++) {
		const struct report_slice_step *step = &slice->steps[i];

		json_out_open(j, NULL, '{');
		json_out_text(j, "kind", kinds[step->kind]);
		if (step->addr)
			json_out_hex(j, "address", step->addr);
		else
			json_out_null(j, "address");
		json_out_bool(j, "is_local", step->is_local);
		json_out_bool(j, "is_part", step->is_part);
		json_out_bool(j, "is_shifted", step->is_shifted);
		json_out_bool(j, "is_summed", step->is_summed);
		if (step->tid)
			json_out_i64(j, "tid", step->tid);
		else
			json_out_null(j, "tid");
		report_json_location(json, &json->r->ro, "location", step->ip, false);
		json_out_open(j, "callers", '[');
		for (int k = 0; k < step->callers.nr; k++)
			report_json_caller(json, NULL, step->callers.at[k]);
		json_out_close(j, ']');
		json_out_close(j, '}');
	}
	json_out_close(j, ']');
	json_out_close(j, '}');
}
