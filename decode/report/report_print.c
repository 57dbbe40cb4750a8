// SPDX-License-Identifier: BSD-2-Clause
/*
 * Printing parts of the report: names of addresses, source lines, the tree of calls.
 */
#include "report.h"

#include <auxtap/text.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct report_style report_plain = {"", "", "", "", ""};
const struct report_style report_coloured = {"\033[1m", "\033[1;31m", "\033[2m", "\033[36m",
					     "\033[0m"};

bool report_is_runtime(const char *image)
{
	static const char *const runtime[] = {"libc.so",  "libc-",	"libstdc++.", "libgcc_s.",
					      "ld-linux", "libpthread", "libm.so"};
	const char *slash;

	if (!image)
		return false;
	slash = strrchr(image, '/');
	image = slash ? slash + 1 : image;
	for (size_t i = 0; i < sizeof(runtime) / sizeof(runtime[0]); i++) {
		if (!strncmp(image, runtime[i], strlen(runtime[i])))
			return true;
	}
	return false;
}

const char *report_text(const struct report_out *ro, const char *text)
{
	char *out = ro->clean->text[ro->clean->next++ % REPORT_CLEAN];

	auxtap_text_escape(out, REPORT_CLEAN_SIZE, text, strlen(text));
	return out;
}

struct report_out report_at(const struct report_out *ro, uint64_t time, uint64_t addr)
{
	struct report_out at = *ro;
	struct auxtap_location loc = {.size = sizeof(loc)};

	if (time && !auxtap_image_set_symbol(ro->images, ro->pid, time, addr, &loc) && loc.image)
		at.time = time;
	return at;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The frame's function, and where in the source its instruction is. */
static void frame_name(const struct report_out *ro, const struct auxtap_location *loc,
		       const struct auxtap_frame *frame, char *name, size_t name_size,
		       char *location, size_t location_size)
{
	const char *inlined = frame && frame->inlined ? " (inlined)" : "";

	/* the end of a long name would be taken for the name's */
	if (frame && frame->symbol &&
	    strlen(report_text(ro, frame->symbol)) + strlen(inlined) >= name_size)
		snprintf(name, name_size, "%.*s...%s", (int)(name_size - strlen(inlined) - 4),
			 report_text(ro, frame->symbol), inlined);
	else if (frame && frame->symbol)
		snprintf(name, name_size, "%s%s", report_text(ro, frame->symbol), inlined);
	else
		snprintf(name, name_size, "%s+0x%" PRIx64, report_text(ro, base_name(loc->image)),
			 loc->image_off);
	if (!location)
		return;
	if (frame && frame->file)
		snprintf(location, location_size, "%s:%u", report_text(ro, base_name(frame->file)),
			 frame->line);
	else if (frame && frame->symbol)
		snprintf(location, location_size, "%s", report_text(ro, base_name(loc->image)));
}

/* False where no image is known at addr: 'name' is the address then. */
static bool find_location(const struct report_out *ro, uint64_t addr, struct auxtap_location *loc,
			  char *name, size_t name_size, char *location)
{
	if (location)
		location[0] = '\0';
	if (addr && auxtap_image_set_resolve(ro->images, ro->pid, ro->time, addr, loc) >= 0 &&
	    loc->image)
		return true;
	if (addr)
		snprintf(name, name_size, "0x%" PRIx64, addr);
	else
		snprintf(name, name_size, "(unknown)");
	return false;
}

void report_name(const struct report_out *ro, uint64_t addr, char *name, size_t name_size,
		 char *location, size_t location_size)
{
	struct auxtap_location loc = {.size = sizeof(loc)};

	if (find_location(ro, addr, &loc, name, name_size, location))
		frame_name(ro, &loc, loc.nr_frames ? &loc.frames[0] : NULL, name, name_size,
			   location, location_size);
}

void report_function_name(const struct report_out *ro, uint64_t addr, char *name, size_t name_size,
			  char *location, size_t location_size)
{
	struct auxtap_location loc = {.size = sizeof(loc)};

	if (find_location(ro, addr, &loc, name, name_size, location))
		frame_name(ro, &loc, loc.nr_frames ? &loc.frames[loc.nr_frames - 1] : NULL, name,
			   name_size, location, location_size);
}

void report_print_location(const struct report_out *ro, uint64_t addr)
{
	struct auxtap_location loc = {.size = sizeof(loc)};
	const struct auxtap_frame *frame;
	char name[256], location[160] = "";
	const char *word = "in";

	if (find_location(ro, addr, &loc, name, sizeof(name), location)) {
		frame = loc.nr_frames ? &loc.frames[0] : NULL;
		frame_name(ro, &loc, frame, name, sizeof(name), location, sizeof(location));
		if (frame && frame->file)
			word = "at";
	}
	fprintf(ro->out, "%s%s%s", ro->style->name, name, ro->style->off);
	if (location[0])
		fprintf(ro->out, " %s %s", word, location);
}

/* ---- the tree of calls ---- */

#define DEFAULT_LINES 40

/*
 * Which nodes are shown: those on the way to the end, then ever farther from it, newest first.
 * node->shown says the same.
 */
struct shown {
	struct call_node **nodes;
	unsigned int nr, max, size;
	unsigned int nr_outer; /* of the way to the end, that are not */
	bool all;	       /* as many as fit, also of the runtime's start-up */
};

static bool show(struct shown *shown, struct call_node *node)
{
	if (shown->nr == shown->max)
		return false;
	shown->nodes[shown->nr++] = node;
	node->shown = true;
	return true;
}

static void show_none(struct shown *shown)
{
	while (shown->nr)
		shown->nodes[--shown->nr]->shown = false;
	shown->nr_outer = 0;
}

/* The newest children of node, as many as fit. */
static void show_children(struct shown *shown, struct call_node *node, unsigned int most)
{
	unsigned int nr = 0, skip, at = 0;

	for (const struct call_node *c = node->first; c; c = c->next)
		nr++;
	if (most > shown->max - shown->nr)
		most = shown->max - shown->nr;
	skip = nr > most ? nr - most : 0;
	for (struct call_node *c = node->first; c; c = c->next)
		if (at++ >= skip && !c->shown && !show(shown, c))
			return;
}

/* All children not shown yet, the newest first, as many as fit. */
static void show_rest(struct shown *shown, struct call_node *node)
{
	unsigned int nr = 0, skip, at = 0;

	for (const struct call_node *c = node->first; c; c = c->next)
		nr += !c->shown;
	skip = nr > shown->max - shown->nr ? nr - (shown->max - shown->nr) : 0;
	for (struct call_node *c = node->first; c; c = c->next)
		if (!c->shown && at++ >= skip && !show(shown, c))
			return;
}

/* Does the program proper begin here? What lies farther out is the runtime's start-up. */
static bool is_entry(const struct report_out *ro, const struct call_node *node)
{
	char name[64];

	if (!node->addr && !node->last_ip)
		return false;
	report_function_name(ro, node->addr ? node->addr : node->last_ip, name, sizeof(name), NULL,
			     0);
	return !strcmp(name, "main") || !strcmp(name, "start_thread");
}

static bool in_linker(const struct report_out *ro, const struct call_node *node)
{
	struct auxtap_location loc = {.size = sizeof(loc)};

	return node->addr &&
	       !auxtap_image_set_symbol(ro->images, ro->pid, ro->time, node->addr, &loc) &&
	       loc.image && !strncmp(base_name(loc.image), "ld-linux", 8);
}

/* The space that is left: the rest of the way to the end, then whatever was called. */
static void fill(const struct report_out *ro, struct shown *shown, struct call_node *root,
		 struct call_node *outer)
{
	for (; outer && outer != root && show(shown, outer); outer = outer->parent)
		shown->nr_outer--;
	for (int linker = 0; linker <= 1; linker++) {
		for (unsigned int i = 0; i < shown->nr && shown->nr < shown->max; i++) {
			struct call_node *node = shown->nodes[i];

			if (node->first && (linker || !in_linker(ro, node->first)))
				show_rest(shown, node);
		}
		if (!shown->nr_outer)
			show_rest(shown, root);
	}
}

/* The innermost function before the gap that the trace ends with; root: no such gap. */
static struct call_node *before_gap(struct call_node *root)
{
	struct call_node *found = root;

	for (struct call_node *n = root->first; n; n = n->next)
		if (!n->gap && n->lost)
			found = n;
	while (found->last && found->last->lost)
		found = found->last;
	return found;
}

static void choose(const struct report_out *ro, struct shown *shown, struct call_tree *tree)
{
	struct call_node *root = call_tree_root(tree), *current = call_tree_current(tree);
	struct call_node *outer = NULL;
	unsigned int path_len = 0, begin, end, inner, space;

	if (!root)
		return;
	if (!current)
		current = before_gap(root);
	if (current != call_tree_current(tree) && root->last->gap)
		show(shown, root->last);
	/* the innermost of the path, at most half of the lines */
	for (struct call_node *n = current; n && n != root; n = n->parent) {
		if (path_len++ < (shown->max + 1) / 2) {
			show(shown, n);
			continue;
		}
		if (!shown->nr_outer++)
			outer = n;
	}
	/* their children, the innermost function's first and most */
	end = inner = shown->nr;
	for (unsigned int i = 0; i < end; i++) {
		if (is_entry(ro, shown->nodes[i])) {
			inner = i + 1;
			break;
		}
	}
	space = (shown->max - shown->nr) / 2 + 1;
	for (begin = 0; begin < inner && shown->nr < shown->max; begin++) {
		/* where nothing ran, the function that led there counts as the innermost */
		if (!shown->nodes[begin]->first && !shown->nodes[begin]->nr_insns)
			continue;
		show_children(shown, shown->nodes[begin], space);
		space = space / 2 + 1;
	}
	if (inner == end && !shown->nr_outer)
		show_children(shown, root, space);
	/* and theirs; how the linker finds a function comes last */
	for (begin = end; begin < shown->nr && shown->nr < shown->max; begin++) {
		if (shown->nodes[begin]->first && !in_linker(ro, shown->nodes[begin]->first))
			show_children(shown, shown->nodes[begin], 4);
	}
	if (shown->all)
		fill(ro, shown, root, outer);
}

/*
 * A linkage table's entry stands for a function without a symbol: of the image that ran last. After
 * the dynamic linker has looked it up, the function is a row of its own.
 */
static void location_of_target(const struct report_out *ro, const struct call_node *node,
			       char *location, size_t location_size)
{
	struct auxtap_location loc = {.size = sizeof(loc)};

	if (auxtap_image_set_resolve(ro->images, ro->pid, ro->time, node->last_ip, &loc) >= 0 &&
	    loc.image)
		snprintf(location, location_size, "%s",
			 strncmp(base_name(loc.image), "ld-linux", 8) ?
				 report_text(ro, base_name(loc.image)) :
				 "");
}

/* A call through a stub that has not come to its function: the linker still searches for it. */
static bool is_on_the_way(const struct report_out *ro, const struct call_node *node)
{
	struct auxtap_location loc = {.size = sizeof(loc)};

	return !node->returned &&
	       auxtap_image_set_resolve(ro->images, ro->pid, ro->time, node->last_ip, &loc) >= 0 &&
	       loc.image &&
	       (!strncmp(base_name(loc.image), "ld-linux", 8) ||
		(loc.nr_frames && loc.frames[0].symbol && strstr(loc.frames[0].symbol, "@plt")));
}

static void node_name(const struct report_out *ro, const struct call_node *node, char *name,
		      size_t size, char *location, size_t location_size)
{
	uint64_t addr = node->addr ? node->addr : node->last_ip;
	struct report_out at = report_at(ro, node->time, addr);
	size_t len;

	report_function_name(&at, addr, name, size, location, location_size);
	if (node->null)
		snprintf(name, size, "0x0");
	len = strlen(name);
	if (len <= 4 || strcmp(name + len - 4, "@plt") || is_on_the_way(ro, node))
		return;
	name[len - 4] = '\0'; /* called through the stub: the function is meant */
	if (location && location[0])
		location_of_target(ro, node, location, location_size);
}

static bool any_shown(const struct call_node *first)
{
	for (const struct call_node *c = first; c; c = c->next)
		if (c->shown)
			return true;
	return false;
}

/* Sibling calls that look alike are one line. */
static bool alike(const struct call_node *a, const struct call_node *b)
{
	return b && b->shown && !a->gap && !b->gap && !a->async && !b->async && !a->by_return &&
	       !b->by_return && !a->by_jump == !b->by_jump && !a->by_fall == !b->by_fall &&
	       a->returned && b->returned && a->addr && a->addr == b->addr &&
	       !any_shown(a->first) && !any_shown(b->first);
}

static unsigned int hidden_calls(const struct call_node *node)
{
	unsigned int nr = node->nr_dropped;

	for (const struct call_node *c = node->first; c; c = c->next)
		nr += !c->shown && !c->gap && !c->async;
	return nr;
}

/* What one line is about: equal siblings, the eldest first. */
struct line {
	const struct call_node *node;
	unsigned int depth, repeat, hidden; /* hidden: calls in all of them that have no lines */
	uint64_t insns;
};

static void print_node(const struct report_out *ro, const struct line *line,
		       const struct call_node *current, const char *end)
{
	const struct report_style *s = ro->style;
	const struct call_node *node = line->node;
	unsigned int depth = line->depth, repeat = line->repeat, hidden = line->hidden;
	char name[256], location[160], left[640];
	int n;

	if (node->exec) {
		fprintf(ro->out, "  %12s  %*s%s== %s ==%s\n", "", (int)depth * 2, "", s->dim,
			node->text ? report_text(ro, node->text) : "exec", s->off);
		return;
	}
	if (node->gap) {
		fprintf(ro->out, "  %12s  %*s%s-- gap: %s --%s\n", "", (int)depth * 2, "", s->bad,
			node->text ? report_text(ro, node->text) : "unknown", s->off);
		return;
	}
	node_name(ro, node, name, sizeof(name), location, sizeof(location));
	n = snprintf(left, sizeof(left), "%*s%s%s", (int)(depth > 40 ? 40 : depth) * 2, "",
		     node->async     ? "[signal] " :
		     node->by_return ? "[by return] " :
		     node->by_jump   ? "[by jump] " :
		     node->by_fall   ? "[fell into] " :
				       "",
		     name);
	if (n > 0 && (size_t)n < sizeof(left) && repeat > 1)
		n += snprintf(left + n, sizeof(left) - (size_t)n, "  x %u", repeat);
	if (n > 0 && (size_t)n < sizeof(left) && hidden)
		snprintf(left + n, sizeof(left) - (size_t)n, "  (%u call%s inside)", hidden,
			 hidden == 1 ? "" : "s");
	fprintf(ro->out, "  %12" PRIu64 "  %s%-60s%s %s%s%s", line->insns,
		node == current ? s->bad : s->name, left, s->off, s->dim, location, s->off);
	if (node == current)
		fprintf(ro->out, "  %s<- %s%s", s->bad, end, s->off);
	else if (!node->returned)
		fprintf(ro->out, "  %s%s%s", s->dim, node->lost ? "?" : "...", s->off);
	fputc('\n', ro->out);
}

/* Prints the lines of the nodes that are shown, or only counts them. */
static unsigned int print_lines(const struct report_out *ro, struct call_tree *tree, bool print,
				const char *end)
{
	const struct call_node *root = call_tree_root(tree), *n = root->first;
	const struct call_node *current = call_tree_current(tree);
	unsigned int depth = 0, nr = 0;

	while (n) {
		struct line line = {.node = n, .depth = depth, .repeat = 1};

		if (n->shown) {
			line.insns = !print ? 0 : n->returned ? call_node_insns(n) : n->nr_insns;
			line.hidden = hidden_calls(n);
			while (alike(n, n->next)) {
				n = n->next;
				line.insns += print ? call_node_insns(n) : 0;
				line.hidden += hidden_calls(n);
				line.repeat++;
			}
			nr++;
			if (print)
				print_node(ro, &line, current, end);
		}
		if (n->first) {
			depth += n->shown;
			n = n->first;
			continue;
		}
		while (n && !n->next) {
			n = n->parent;
			if (!n || n == root)
				break;
			depth -= n->shown;
		}
		n = n && n != root ? n->next : NULL;
	}
	return nr;
}

/* Several nodes may be one line: as many nodes as 'nr_lines' lines show. */
static void choose_lines(const struct report_out *ro, struct shown *shown, struct call_tree *tree,
			 unsigned int nr_lines)
{
	unsigned int fits = 0, too_many = shown->size + 1;

	shown->max = nr_lines;
	if (!shown->all) {
		choose(ro, shown, tree);
		return;
	}
	while (too_many - fits > 1) {
		if (shown->max >= too_many || shown->max <= fits)
			shown->max = fits + (too_many - fits) / 2;
		show_none(shown);
		choose(ro, shown, tree);
		if (print_lines(ro, tree, false, NULL) <= nr_lines)
			fits = shown->max;
		else
			too_many = shown->max;
		shown->max = 2 * fits;
	}
	show_none(shown);
	shown->max = fits;
	choose(ro, shown, tree);
}

static void print_gap(const struct report_out *ro, unsigned int depth, const char *text)
{
	fprintf(ro->out, "  %12s  %*s%s-- gap: %s --%s\n", "", (int)depth * 2, "", ro->style->bad,
		text ? report_text(ro, text) : "unknown", ro->style->off);
}

/* What lies farther out than the lines; what was called before a gap and still runs is unknown. */
static void print_outer(const struct report_out *ro, struct call_tree *tree, size_t nr_outer,
			bool at_most)
{
	const char *gap = call_tree_gap(tree);
	bool gap_shown = false;

	for (const struct call_node *n = call_tree_root(tree)->first; n; n = n->next)
		if (n->gap && !n->exec)
			gap_shown = n->shown;
	if (gap && !gap_shown)
		print_gap(ro, 0, gap);
	if (nr_outer)
		fprintf(ro->out, "  %12s  %s(%s%zu call%s farther out%s)%s\n", "...",
			ro->style->dim,
			gap	? "at least " :
			at_most ? "at most " :
				  "",
			nr_outer, nr_outer == 1 ? "" : "s",
			gap && call_tree_current(tree) ? ", since the last gap" : "",
			ro->style->off);
}

/* Is a function shown of which the trace does not prove that those above it are its callers? */
static bool shows_switch(const struct shown *shown)
{
	for (unsigned int i = 0; i < shown->nr; i++)
		if (shown->nodes[i]->by_return || shown->nodes[i]->by_jump)
			return true;
	return false;
}

static bool shows_fall(const struct shown *shown)
{
	for (unsigned int i = 0; i < shown->nr; i++)
		if (shown->nodes[i]->by_fall)
			return true;
	return false;
}

static bool shows_lost(const struct shown *shown)
{
	for (unsigned int i = 0; i < shown->nr; i++)
		if (shown->nodes[i]->lost && !shown->nodes[i]->returned)
			return true;
	return false;
}

void report_calls_print(const struct report_out *ro, struct call_tree *tree, unsigned int nr_lines,
			const char *end)
{
	struct shown shown = {.size = (unsigned int)call_tree_size(tree), .all = nr_lines != 0};
	size_t nr_outer;
	bool at_most;

	if (!call_tree_root(tree)) {
		fprintf(ro->out, "  (no calls were traced)\n");
		return;
	}
	if (!nr_lines)
		nr_lines = DEFAULT_LINES;
	if (nr_lines > shown.size)
		nr_lines = shown.size;
	shown.nodes = calloc(shown.size, sizeof(struct call_node *));
	if (!shown.nodes)
		return;
	choose_lines(ro, &shown, tree, nr_lines);
	fprintf(ro->out, "  %s%12s  %s%s\n", ro->style->dim, "instructions",
		"function (\"...\": not returned yet, its callees not counted)", ro->style->off);
	nr_outer = shown.nr_outer + call_tree_forgotten(tree, &at_most);
	print_outer(ro, tree, nr_outer, at_most);
	print_lines(ro, tree, true, end);
	if (shows_lost(&shown))
		fputs("  ?: it was open when a gap began; whether it returned is not known\n",
		      ro->out);
	if (shows_switch(&shown))
		fputs("  [by jump], [by return]: entered so, not by a call; the functions above it may be on "
		      "another stack,\n  or no longer open\n",
		      ro->out);
	if (shows_fall(&shown))
		fputs("  [fell into]: the function above it ran on into it, without a call or a jump\n",
		      ro->out);
	show_none(&shown);
	free(shown.nodes);
}
