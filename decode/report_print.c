// SPDX-License-Identifier: BSD-2-Clause
/*
 * Printing parts of the report: names of addresses, source lines, the tree of calls.
 */
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct report_style report_plain = {"", "", "", "", ""};
const struct report_style report_coloured = {"\033[1m", "\033[1;31m", "\033[2m", "\033[36m",
					     "\033[0m"};

bool report_is_runtime(const char *image)
{
	static const char *const runtime[] = {"libc.so", "libc-",     "libstdc++.", "libgcc_s.",
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

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void report_name(const struct report_out *ro, uint64_t addr, char *name, size_t name_size,
		 char *place, size_t place_size)
{
	struct auxtap_location loc;

	if (place)
		place[0] = '\0';
	if (!addr) {
		snprintf(name, name_size, "(unknown)");
		return;
	}
	if (auxtap_image_set_resolve(ro->images, ro->pid, ro->time, addr, &loc) < 0 ||
	    !loc.image) {
		snprintf(name, name_size, "0x%" PRIx64, addr);
		return;
	}
	if (loc.nr_frames && loc.frames[0].symbol)
		snprintf(name, name_size, "%s%s", loc.frames[0].symbol,
			 loc.frames[0].inlined ? " (inlined)" : "");
	else
		snprintf(name, name_size, "%s+0x%" PRIx64, base_name(loc.image), loc.image_off);
	if (!place)
		return;
	if (loc.nr_frames && loc.frames[0].file)
		snprintf(place, place_size, "%s:%u", base_name(loc.frames[0].file),
			 loc.frames[0].line);
	else if (loc.nr_frames && loc.frames[0].symbol)
		snprintf(place, place_size, "%s", base_name(loc.image));
}

void report_source_line(const struct report_out *ro, const char *file, unsigned int line)
{
	FILE *source = fopen(file, "re");
	char *text = NULL;
	size_t size = 0;
	unsigned int at = 0;

	if (!source)
		return;
	while (at < line && getline(&text, &size, source) > 0) {
		const char *start = text;

		if (++at != line)
			continue;
		text[strcspn(text, "\r\n")] = '\0';
		start += strspn(start, " \t");
		fprintf(ro->out, "      %s%u%s | ", ro->style->dim, line, ro->style->off);
		for (const char *c = start; *c && c - start < 120; c++)
			fputc(*c == '\t' ? ' ' : (unsigned char)*c < 32 ? '?' : *c, ro->out);
		fputc('\n', ro->out);
	}
	free(text);
	fclose(source);
}

/* ---- the tree of calls ---- */

/* Which nodes are shown: those on the way to the end, then ever farther from it, newest first. */
struct shown {
	const struct call_node **nodes;
	unsigned int nr, max;
	unsigned int nr_outer; /* of the way to the end, that are not */
};

static bool is_shown(const struct shown *shown, const struct call_node *node)
{
	for (unsigned int i = 0; i < shown->nr; i++) {
		if (shown->nodes[i] == node)
			return true;
	}
	return false;
}

static bool show(struct shown *shown, const struct call_node *node)
{
	if (shown->nr == shown->max)
		return false;
	shown->nodes[shown->nr++] = node;
	return true;
}

/* Children of node, newest first, as far as there is room. */
static bool show_children(struct shown *shown, const struct call_node *node, unsigned int most)
{
	unsigned int nr = 0, skip, at = 0;

	for (const struct call_node *c = node->first; c; c = c->next)
		nr++;
	if (most > shown->max - shown->nr)
		most = shown->max - shown->nr;
	skip = nr > most ? nr - most : 0;
	for (const struct call_node *c = node->first; c; c = c->next) {
		if (at++ < skip || is_shown(shown, c))
			continue;
		if (!show(shown, c))
			return false;
	}
	return true;
}

/* Does the program proper begin here? What lies farther out is the runtime's start-up. */
static bool is_entry(const struct report_out *ro, const struct call_node *node)
{
	char name[64];

	if (!node->addr && !node->last_ip)
		return false;
	report_name(ro, node->addr ? node->addr : node->last_ip, name, sizeof(name), NULL, 0);
	return !strcmp(name, "main") || !strcmp(name, "start_thread");
}

static bool in_linker(const struct report_out *ro, const struct call_node *node)
{
	struct auxtap_location loc;

	return node->addr &&
	       !auxtap_image_set_resolve(ro->images, ro->pid, ro->time, node->addr, &loc) &&
	       loc.image && !strncmp(base_name(loc.image), "ld-linux", 8);
}

static void choose(const struct report_out *ro, struct shown *shown, struct call_tree *tree)
{
	const struct call_node *root = call_tree_root(tree);
	const struct call_node *current = call_tree_current(tree);
	unsigned int path_len = 0, begin, end, inner, room;

	if (!root)
		return;
	if (!current)
		current = root;
	/* the innermost of the path, at most half of the lines */
	for (const struct call_node *n = current; n && n != root; n = n->parent) {
		if (path_len++ < shown->max / 2)
			show(shown, n);
		else
			shown->nr_outer++;
	}
	/* their children, the innermost function's first and most */
	end = inner = shown->nr;
	for (unsigned int i = 0; i < end; i++) {
		if (is_entry(ro, shown->nodes[i])) {
			inner = i + 1;
			break;
		}
	}
	room = (shown->max - shown->nr) / 2 + 1;
	for (begin = 0; begin < inner && shown->nr < shown->max; begin++) {
		show_children(shown, shown->nodes[begin], room);
		room = room / 2 + 1;
	}
	if (inner == end && !shown->nr_outer)
		show_children(shown, root, room);
	/* and theirs; how the linker finds a function is nobody's concern */
	for (begin = end; begin < shown->nr && shown->nr < shown->max; begin++) {
		if (shown->nodes[begin]->first && !in_linker(ro, shown->nodes[begin]->first))
			show_children(shown, shown->nodes[begin], 4);
	}
}

static uint64_t total_insns(const struct call_node *node)
{
	/* iterative sum over the subtree */
	uint64_t sum = 0;
	const struct call_node *n = node;

	while (n) {
		sum += n->nr_insns;
		if (n->first) {
			n = n->first;
			continue;
		}
		while (n != node && !n->next)
			n = n->parent;
		n = n == node ? NULL : n->next;
	}
	return sum;
}

static void node_name(const struct report_out *ro, const struct call_node *node, char *name,
		      size_t size, char *place, size_t place_size)
{
	size_t len;

	report_name(ro, node->addr ? node->addr : node->last_ip, name, size, place, place_size);
	len = strlen(name);
	if (len > 4 && !strcmp(name + len - 4, "@plt"))
		name[len - 4] = '\0'; /* called through the stub: the function is meant */
}

/* Sibling calls that look alike are one line. */
static bool alike(const struct report_out *ro, const struct call_node *a, const struct call_node *b,
		  const struct shown *shown)
{
	(void)ro;
	if (!b || a->gap || b->gap || a->async || b->async || !a->returned || !b->returned ||
	    !a->addr || a->addr != b->addr)
		return false;
	for (const struct call_node *c = a->first; c; c = c->next) {
		if (is_shown(shown, c))
			return false;
	}
	for (const struct call_node *c = b->first; c; c = c->next) {
		if (is_shown(shown, c))
			return false;
	}
	return is_shown(shown, b);
}

static unsigned int hidden_calls(const struct call_node *node, const struct shown *shown)
{
	unsigned int nr = node->nr_dropped;

	for (const struct call_node *c = node->first; c; c = c->next)
		nr += !is_shown(shown, c) && !c->gap;
	return nr;
}

static void print_node(const struct report_out *ro, const struct call_node *node,
		       unsigned int depth, unsigned int repeat, uint64_t insns,
		       const struct shown *shown, const struct call_node *current, const char *end)
{
	const struct report_style *s = ro->style;
	char name[256], place[160], left[640];
	unsigned int hidden;
	int n;

	if (node->exec) {
		fprintf(ro->out, "  %12s  %*s%s== %s ==%s\n", "", (int)depth * 2, "", s->dim,
			node->text ? node->text : "exec", s->off);
		return;
	}
	if (node->gap) {
		fprintf(ro->out, "  %12s  %*s%s-- gap: %s --%s\n", "", (int)depth * 2, "", s->bad,
			node->text ? node->text : "unknown", s->off);
		return;
	}
	node_name(ro, node, name, sizeof(name), place, sizeof(place));
	hidden = hidden_calls(node, shown);
	n = snprintf(left, sizeof(left), "%*s%s%s", (int)(depth > 40 ? 40 : depth) * 2, "",
		     node->async ? "[signal] " : "", name);
	if (n > 0 && (size_t)n < sizeof(left) && repeat > 1)
		n += snprintf(left + n, sizeof(left) - (size_t)n, "  x %u", repeat);
	if (n > 0 && (size_t)n < sizeof(left) && hidden)
		snprintf(left + n, sizeof(left) - (size_t)n, "  (%u call%s inside)", hidden,
			 hidden == 1 ? "" : "s");
	fprintf(ro->out, "  %12" PRIu64 "  %s%-60s%s %s%s%s", insns,
		node == current ? s->bad : s->name, left, s->off, s->dim, place, s->off);
	if (node == current)
		fprintf(ro->out, "  %s<- %s%s", s->bad, end, s->off);
	else if (!node->returned)
		fprintf(ro->out, "  %s...%s", s->dim, s->off);
	fputc('\n', ro->out);
}

void report_calls_print(const struct report_out *ro, struct call_tree *tree,
			unsigned int nr_lines, const char *end)
{
	const struct call_node *root = call_tree_root(tree);
	const struct call_node *current = call_tree_current(tree);
	const struct call_node *n = root ? root->first : NULL;
	struct shown shown = {.max = nr_lines};
	unsigned int depth = 0;

	if (!root) {
		fprintf(ro->out, "  (no calls were traced)\n");
		return;
	}
	shown.nodes = calloc(nr_lines, sizeof(*shown.nodes));
	if (!shown.nodes)
		return;
	choose(ro, &shown, tree);
	fprintf(ro->out, "  %s%12s  %s%s\n", ro->style->dim, "instructions",
		"function (\"...\": not returned yet)", ro->style->off);
	if (shown.nr_outer)
		fprintf(ro->out, "  %12s  %s(%u calls farther out)%s\n", "...", ro->style->dim,
			shown.nr_outer, ro->style->off);
	while (n) {
		unsigned int repeat = 1;
		uint64_t insns = n->returned ? total_insns(n) : n->nr_insns;
		bool visible = is_shown(&shown, n);

		if (visible) {
			const struct call_node *first = n;

			while (alike(ro, n, n->next, &shown)) {
				n = n->next;
				insns += total_insns(n);
				repeat++;
			}
			print_node(ro, first, depth, repeat, insns, &shown, current, end);
		}
		if (n->first) {
			n = n->first;
			depth += visible;
			continue;
		}
		while (n && !n->next) {
			n = n->parent;
			if (!n || n == root)
				break;
			depth -= is_shown(&shown, n);
		}
		n = n && n != root ? n->next : NULL;
	}
	free(shown.nodes);
}
