// SPDX-License-Identifier: BSD-2-Clause
/*
 * The hottest functions of a recording without a crash: instructions of all threads by function.
 */
#include "report_json.h"
#include "util/hash_map.h"
#include "util/vector.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NR_LINES 20
#define NR_JSON	 1000

struct hot_function {
	struct call_function sum;
	int32_t pid;
	size_t image;  /* index of its image's name; HASH_MAP_NONE: unknown */
	uint64_t code; /* offset of the function in the image; the address, if that is unknown */
};

struct hot_functions {
	struct hot_function *at;
	size_t nr, max;
	struct hash_map by_code;
	const char **images; /* names, owned by the set of images */
	size_t nr_images, max_images;
	struct hash_map by_name;
	uint64_t total;
	bool cut;
};

static void hot_free(struct hot_functions *hot)
{
	hash_map_free(&hot->by_code);
	hash_map_free(&hot->by_name);
	free(hot->images);
	free(hot->at);
}

static int image_number(struct hot_functions *hot, const char *name, size_t *number)
{
	uint64_t hash = hash_text(name);
	size_t step = 0;

	while (hot->images &&
	       (*number = hash_map_next(&hot->by_name, hash, &step)) != HASH_MAP_NONE)
		if (!strcmp(hot->images[*number], name))
			return 0;
	if (vector_grow(hot->images, hot->nr_images, hot->max_images) ||
	    hash_map_add(&hot->by_name, hash, hot->nr_images))
		return -1;
	*number = hot->nr_images;
	hot->images[hot->nr_images++] = name;
	return 0;
}

/* Adds it to the same function of other threads, or of other processes with the same image. */
static int hot_add(struct hot_functions *hot, const struct report *r, int32_t pid,
		   const struct call_function *sum)
{
	struct auxtap_location loc = {.size = sizeof(loc)};
	struct hot_function f = {.sum = *sum, .pid = pid, .image = HASH_MAP_NONE};
	size_t step = 0, i;
	uint64_t hash;

	f.code = sum->addr;
	if (sum->addr && !auxtap_image_set_symbol(r->ro.images, pid, sum->time, sum->addr, &loc) &&
	    loc.image) {
		if (image_number(hot, loc.image, &f.image))
			return -1;
		f.code = loc.image_off;
		if (loc.nr_frames && loc.frames[0].symbol)
			f.code -= loc.frames[0].symbol_off;
	}
	hash = hash_number(f.code ^ hash_number(f.image));
	while (hot->at && (i = hash_map_next(&hot->by_code, hash, &step)) != HASH_MAP_NONE) {
		struct hot_function *known = &hot->at[i];

		if (known->code != f.code || known->image != f.image ||
		    (f.image == HASH_MAP_NONE && known->pid != pid))
			continue;
		known->sum.own += sum->own;
		known->sum.insns += sum->insns;
		known->sum.calls += sum->calls;
		return 0;
	}
	if (vector_grow(hot->at, hot->nr, hot->max) || hash_map_add(&hot->by_code, hash, hot->nr))
		return -1;
	hot->at[hot->nr++] = f;
	return 0;
}

/* Most own instructions first; the other keys only make the order unique. */
static int hottest_first(const void *a, const void *b)
{
	const struct hot_function *x = a, *y = b;

	if (x->sum.own != y->sum.own)
		return x->sum.own < y->sum.own ? 1 : -1;
	if (x->sum.insns != y->sum.insns)
		return x->sum.insns < y->sum.insns ? 1 : -1;
	if (x->image != y->image)
		return x->image > y->image ? 1 : -1;
	return (x->code > y->code) - (x->code < y->code);
}

static int hot_collect(struct hot_functions *hot, const struct report *r)
{
	struct call_function sum;

	*hot = (struct hot_functions){.nr = 0};
	for (const struct thread_view *v = r->threads; v; v = v->next) {
		for (size_t i = 0; call_tree_function(v->calls, i, &sum); i++) {
			if (sum.insns && hot_add(hot, r, v->pid, &sum)) {
				hot_free(hot);
				return -1;
			}
			hot->total += sum.own;
		}
		hot->cut = hot->cut || call_tree_count_cut(v->calls);
	}
	if (hot->nr)
		qsort(hot->at, hot->nr, sizeof(*hot->at), hottest_first);
	return 0;
}

/* A report_out that looks up names as of the function's process and time. */
static struct report_out of_function(const struct report *r, const struct hot_function *f)
{
	struct report_out ro = r->ro;

	ro.pid = f->pid;
	return report_at(&ro, f->sum.time, f->sum.addr);
}

static double share(const struct hot_functions *hot, uint64_t nr)
{
	return hot->total ? 100.0 * (double)nr / (double)hot->total : 0;
}

static void print_function(const struct report *r, const struct hot_functions *hot,
			   const struct hot_function *f)
{
	const struct report_style *s = r->ro.style;
	const struct report_out ro = of_function(r, f);
	char name[256] = "(others)", location[160] = "";

	if (f->sum.addr)
		report_function_name(&ro, f->sum.addr, name, sizeof(name), location,
				     sizeof(location));
	fprintf(ro.out, "  %12" PRIu64 " %5.1f%%  %12" PRIu64 " %5.1f%%  %10" PRIu64 "  %s%s%s",
		f->sum.own, share(hot, f->sum.own), f->sum.insns, share(hot, f->sum.insns),
		f->sum.calls, s->name, name, s->off);
	if (location[0])
		fprintf(ro.out, "  %s%s%s", s->dim, location, s->off);
	fputc('\n', ro.out);
}

static bool any_gap(const struct report_cover *cover)
{
	for (int i = 0; i < AUXTAP_GAP_NR_CAUSES; i++)
		if (cover->gaps[i].nr)
			return true;
	return false;
}

static void print_rest(const struct report *r, const struct hot_functions *hot)
{
	uint64_t rest = 0;

	for (size_t i = NR_LINES; i < hot->nr; i++)
		rest += hot->at[i].sum.own;
	if (hot->nr > NR_LINES)
		fprintf(r->ro.out, "  %12" PRIu64 " %5.1f%%  of %zu other function%s\n", rest,
			share(hot, rest), hot->nr - NR_LINES, hot->nr - NR_LINES == 1 ? "" : "s");
	fprintf(r->ro.out, "  %12" PRIu64 " instructions in all threads\n", hot->total);
	if (hot->cut)
		fputs("  More calls were open at once, or more functions called, than are followed: some "
		      "counts\n  with callees and of calls are too low.\n",
		      r->ro.out);
	if (any_gap(&r->cover))
		fputs("  What the gaps lost is not counted. A call that was open when a gap began counts "
		      "up to the gap,\n  and after it only if the trace shows the return to it.\n",
		      r->ro.out);
}

void report_functions_print(const struct report *r)
{
	const struct report_style *s = r->ro.style;
	struct hot_functions hot;

	if (hot_collect(&hot, r)) {
		fputs("  (out of memory)\n", r->ro.out);
		return;
	}
	if (!hot.nr) {
		fputs("  (no instructions were traced)\n", r->ro.out);
		return;
	}
	fprintf(r->ro.out, "  %s%19s  %20s  %10s  function%s\n", s->dim, "own instructions",
		"with callees", "calls", s->off);
	for (size_t i = 0; i < hot.nr && i < NR_LINES; i++)
		print_function(r, &hot, &hot.at[i]);
	print_rest(r, &hot);
	hot_free(&hot);
}

static void put_function(struct report_json *json, const struct hot_function *f)
{
	struct auxtap_location loc = {.size = sizeof(loc)};
	const struct report_out ro = of_function(json->r, f);
	struct json_out *j = &json->j;

	json_out_open(j, NULL, '{');
	if (f->sum.addr &&
	    !auxtap_image_set_resolve(ro.images, ro.pid, ro.time, f->sum.addr, &loc) && loc.image)
		report_json_function(json, NULL, &loc, loc.nr_frames - 1, false);
	else
		json_out_null(j, "function");
	if (f->sum.addr)
		json_out_hex(j, "entry", f->sum.addr);
	json_out_u64(j, "own_instructions", f->sum.own);
	json_out_u64(j, "instructions", f->sum.insns);
	json_out_u64(j, "calls", f->sum.calls);
	json_out_close(j, '}');
}

void report_json_functions(struct report_json *json)
{
	struct json_out *j = &json->j;
	struct hot_functions hot;

	if (hot_collect(&hot, json->r)) {
		json_out_null(j, "hot_functions");
		return;
	}
	json_out_open(j, "hot_functions", '{');
	json_out_u64(j, "total", hot.nr);
	json_out_bool(j, "cut", hot.cut);
	json_out_open(j, "rows", '[');
	for (size_t i = 0; i < hot.nr && i < NR_JSON; i++)
		put_function(json, &hot.at[i]);
	json_out_close(j, ']');
	json_out_close(j, '}');
	hot_free(&hot);
}
