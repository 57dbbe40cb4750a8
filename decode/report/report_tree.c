// SPDX-License-Identifier: BSD-2-Clause
/* Prints the tree of calls within a number of rows. */
#include "call_tree.h"
#include "report_calls.h"
#include "report_out.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_LINES 40

/* The nodes with 'shown' set: of open calls, then others by distance from them, newest first. */
struct shown_calls {
	struct call_node **nodes;
	unsigned int nr, max, size;
	struct call_node **open_rows; /* rows of the open calls, innermost first */
	size_t nr_open_rows;
	size_t nr_hidden_open;	    /* open calls whose rows are not shown */
	bool lines_given;	    /* --calls N was given: as many rows, even of the start-up */
	struct call_node **hottest; /* to be shown instead of the newest; NULL: none */
	size_t nr_hottest;
};

static bool show(struct shown_calls *shown, struct call_node *node)
{
	if (shown->nr == shown->max)
		return false;
	shown->nodes[shown->nr++] = node;
	node->shown = true;
	return true;
}

static void show_none(struct shown_calls *shown)
{
	while (shown->nr)
		shown->nodes[--shown->nr]->shown = false;
	shown->nr_hidden_open = 0;
}

/* The rows that node needs: its own, and for a group those of its calls. */
static unsigned int count_rows(const struct call_node *node)
{
	unsigned int nr = !node->is_open;

	if (node->group)
		for (const struct call_node *c = node->first; c; c = c->next)
			nr += count_rows(c);
	return nr;
}

static unsigned int count_child_rows(const struct call_node *node)
{
	unsigned int nr = 0;

	for (const struct call_node *c = node->first; c; c = c->next)
		nr += count_rows(c);
	return nr;
}

static bool show_rows(struct shown_calls *shown, struct call_node *node)
{
	if (!node->shown && !node->is_open && !show(shown, node))
		return false;
	if (node->group)
		for (struct call_node *c = node->first; c; c = c->next)
			if (!show_rows(shown, c))
				return false;
	return true;
}

/* Shows the newest children of node, as many as fit. */
static void show_children(struct shown_calls *shown, struct call_node *node, unsigned int most)
{
	struct call_node *from = node->last;
	unsigned int nr;

	if (!from)
		return;
	if (most > shown->max - shown->nr)
		most = shown->max - shown->nr;
	for (nr = count_rows(from); from->prev; from = from->prev) {
		nr += count_rows(from->prev);
		if (nr > most)
			break;
	}
	for (; from; from = from->next)
		if (!show_rows(shown, from))
			return;
}

/* Shows the newest of the children that are not shown yet, as many as fit, in order of time. */
static void show_rest(struct shown_calls *shown, struct call_node *node)
{
	unsigned int nr = 0, skip, at = 0;

	for (const struct call_node *c = node->first; c; c = c->next)
		nr += !c->shown && !c->is_open;
	skip = nr > shown->max - shown->nr ? nr - (shown->max - shown->nr) : 0;
	for (struct call_node *c = node->first; c; c = c->next)
		if (!c->shown && !c->is_open && at++ >= skip && !show(shown, c))
			return;
}

/* True for main() and start_thread(); their callers are the runtime's start-up. */
static bool is_main_entry(const struct report_out *ro, const struct call_node *node)
{
	char name[64];

	if (!node->addr && !node->last_ip)
		return false;
	report_function_name(ro, node->addr ? node->addr : node->last_ip, name, sizeof(name), NULL,
			     0);
	return !strcmp(name, "main") || !strcmp(name, "start_thread");
}

static bool in_dynamic_linker(const struct report_out *ro, const struct call_node *node)
{
	struct auxtap_location loc = {.size = sizeof(loc)};

	return node->addr &&
	       !auxtap_image_set_symbol(ro->images, ro->pid, ro->time, node->addr, &loc) &&
	       loc.image && report_is_linker(loc.image);
}

/* Fills the space that is left with the rest of the open calls, then with any other calls. */
static void fill_rest(const struct report_out *ro, struct shown_calls *shown,
		      struct call_node *root)
{
	for (size_t i = 0; i < shown->nr_open_rows && shown->nr_hidden_open; i++) {
		struct call_node *node = shown->open_rows[i];

		if (!node->shown && show(shown, node))
			shown->nr_hidden_open -= node->depth;
		if (shown->nr == shown->max)
			break;
	}
	for (int linker = 0; linker <= 1; linker++) {
		for (unsigned int i = 0; i < shown->nr && shown->nr < shown->max; i++) {
			struct call_node *node = shown->nodes[i];

			if (node->first && (linker || !in_dynamic_linker(ro, node->first)))
				show_rest(shown, node);
		}
		if (!shown->nr_hidden_open)
			show_rest(shown, root);
	}
}

/* The innermost function before the gap that the trace ends with; root: no such gap. */
static struct call_node *innermost_before_gap(struct call_node *root)
{
	struct call_node *found = root;

	for (struct call_node *n = root->first; n; n = n->next)
		if (!n->gap && n->lost)
			found = n;
	while (found->last && found->last->lost)
		found = found->last;
	return found;
}

/* How many rows each of the first nr functions may have if they share 'space' rows. */
static unsigned int fair_share(const struct shown_calls *shown, unsigned int nr, bool of_libraries,
			       unsigned int space)
{
	unsigned int share = 0, used = 0;

	while (used < space && share < space) {
		unsigned int more = 0;

		for (unsigned int i = 0; i < nr; i++)
			more += shown->nodes[i]->in_library == of_libraries &&
				count_child_rows(shown->nodes[i]) > share;
		if (!more || used + more > space)
			break;
		used += more;
		share++;
	}
	return share;
}

/*
 * Shows what the first nr functions, which are open, called: first the program's own functions,
 * then libraries'. If there is not a row for each, the innermost functions get them. fold_tree: not
 * NULL: folds these calls to the space that they will have, and shows nothing.
 */
static void show_callees(struct shown_calls *shown, unsigned int nr, struct call_tree *fold_tree)
{
	unsigned int space = shown->max - shown->nr;

	for (int of_libraries = 0; of_libraries <= 1; of_libraries++) {
		unsigned int share = fair_share(shown, nr, of_libraries, space), used = 0;

		if (!share)
			share = 1;
		for (unsigned int i = 0; i < nr && used < space; i++) {
			struct call_node *node = shown->nodes[i];

			if (node->in_library != of_libraries || !node->first)
				continue;
			if (fold_tree)
				call_node_fit(fold_tree, node, share + 1);
			else
				show_children(shown, node, share);
			used += count_child_rows(node) < share ? count_child_rows(node) : share;
		}
		space -= used < space ? used : space;
	}
}

/*
 * Shows open calls in at most half of the rows. If they do not all fit, a quarter of that half is
 * for the outermost ones, the rest for the innermost.
 */
static void show_open(struct shown_calls *shown)
{
	size_t most = (shown->max + 1) / 2, outer = most / 4, hidden = 0;

	if (shown->nr_open_rows <= most)
		outer = 0;
	for (size_t i = 0; i < shown->nr_open_rows; i++) {
		struct call_node *node = shown->open_rows[i];

		if (i < most - outer || i >= shown->nr_open_rows - outer)
			show(shown, node);
		else
			hidden += node->depth;
	}
	shown->nr_hidden_open = hidden;
}

/* Sets nr_above of each shown row of open calls; returns the number farther out than these. */
static size_t set_nr_above(const struct shown_calls *shown)
{
	size_t farther = 0, hidden = 0;
	bool any = false;

	for (size_t i = shown->nr_open_rows; i; i--) {
		struct call_node *node = shown->open_rows[i - 1];

		if (!node->shown) {
			hidden += node->depth;
			continue;
		}
		if (!any)
			farther = hidden;
		else
			node->nr_above += hidden;
		any = true;
		hidden = 0;
	}
	return farther;
}

static bool in_runtime(const struct report_out *ro, const struct call_node *node)
{
	struct auxtap_location loc = {.size = sizeof(loc)};
	uint64_t addr = node->addr ? node->addr : node->last_ip;

	return addr && !auxtap_image_set_symbol(ro->images, ro->pid, ro->time, addr, &loc) &&
	       report_is_runtime(loc.image);
}

/* The number of open functions, from the innermost to main(). */
static unsigned int nr_inside_main(const struct report_out *ro, const struct shown_calls *shown)
{
	for (unsigned int i = 0; i < shown->nr; i++)
		if (is_main_entry(ro, shown->nodes[i]))
			return i + 1;
	return shown->nr;
}

/* Folds calls that the rows cannot show one by one. */
static void fold_open_calls(const struct report_out *ro, struct shown_calls *shown,
			    struct call_tree *tree, unsigned int nr_rows)
{
	unsigned int nr;

	shown->max = nr_rows;
	show_open(shown);
	for (unsigned int i = 0; i < shown->nr; i++)
		shown->nodes[i]->in_library = in_runtime(ro, shown->nodes[i]);
	nr = shown->lines_given ? shown->nr : nr_inside_main(ro, shown);
	show_callees(shown, nr, tree);
	show_none(shown);
}

/* Finds the rows of the open calls; a recursion has one row for each of its functions. */
static bool find_open_rows(struct shown_calls *shown, struct call_tree *tree, unsigned int nr_rows)
{
	struct call_node *current = call_tree_current(tree);
	struct call_open *open;
	size_t nr =
		call_tree_open_calls(tree,
				     current ? current : innermost_before_gap(call_tree_root(tree)),
				     &open);

	shown->open_rows = calloc(nr + 1, sizeof(*shown->open_rows));
	if (!shown->open_rows || !open) {
		free(open);
		free(shown->open_rows);
		return false;
	}
	shown->nr_open_rows =
		call_open_fold(tree, open, nr, nr > (nr_rows + 1) / 2, shown->open_rows);
	free(open);
	return true;
}

/* Shows the hottest calls. Those in the dynamic linker's start-up only if --calls N was given. */
static void show_hottest(const struct report_out *ro, struct shown_calls *shown)
{
	for (size_t i = 0; i < shown->nr_hottest; i++) {
		struct call_node *node = shown->hottest[i];
		const struct call_node *up = node->parent;

		/* it is counted in the row of the outer call of the same function */
		if (node->in_recursion && (up->shown || up->in_recursion))
			continue;
		if (up->parent && ((!up->shown && !up->is_open && !up->in_recursion) ||
				   (!shown->lines_given && in_dynamic_linker(ro, node))))
			continue;
		if (!show(shown, node))
			break;
	}
}

static void choose_nodes(const struct report_out *ro, struct shown_calls *shown,
			 struct call_tree *tree)
{
	struct call_node *root = call_tree_root(tree), *current = call_tree_current(tree);
	unsigned int nr_open, inner;

	if (!root)
		return;
	if (!current)
		current = innermost_before_gap(root);
	show_open(shown);
	if (shown->hottest) {
		show_hottest(ro, shown);
		return;
	}
	nr_open = shown->nr;
	inner = nr_inside_main(ro, shown);
	if (current != call_tree_current(tree) && root->last->gap)
		show(shown, root->last);
	show_callees(shown, inner, NULL);
	if (inner == nr_open && !shown->nr_hidden_open)
		show_children(shown, root, (shown->max - shown->nr) / 2 + 1);
	/* then what those called, but for calls in the dynamic linker: with --calls, at last */
	for (unsigned int i = nr_open; i < shown->nr && shown->nr < shown->max; i++) {
		if (shown->nodes[i]->first && !in_dynamic_linker(ro, shown->nodes[i]->first))
			show_children(shown, shown->nodes[i], 4);
	}
	if (shown->lines_given)
		fill_rest(ro, shown, root);
}

/*
 * Where the function of a row is that is still named after its PLT stub, because the stub's target
 * has no symbol: in the image that was executed last. Nothing, while that is ld.so, which is still
 * searching for the target.
 */
static void location_of_target(const struct report_out *ro, const struct call_node *node,
			       char *location, size_t location_size)
{
	struct auxtap_location loc = {.size = sizeof(loc)};

	if (auxtap_image_set_resolve(ro->images, ro->pid, ro->time, node->last_ip, &loc) >= 0 &&
	    loc.image)
		snprintf(location, location_size, "%s",
			 report_is_linker(loc.image) ?
				 "" :
				 report_text(ro, report_base_name(loc.image)));
}

/* An open call through a PLT stub, before its target: ld.so is resolving the symbol. */
static bool is_resolving(const struct report_out *ro, const struct call_node *node)
{
	struct auxtap_location loc = {.size = sizeof(loc)};

	return !node->returned &&
	       auxtap_image_set_resolve(ro->images, ro->pid, ro->time, node->last_ip, &loc) >= 0 &&
	       loc.image &&
	       (report_is_linker(loc.image) ||
		(loc.nr_frames && loc.frames[0].symbol && strstr(loc.frames[0].symbol, "@plt")));
}

bool report_call_through_stub(const struct report_out *ro, const struct call_node *node,
			      const char *name)
{
	const size_t len = strlen(name);

	return len > 4 && !strcmp(name + len - 4, "@plt") && !is_resolving(ro, node);
}

static void node_name(const struct report_out *ro, const struct call_node *node, char *name,
		      size_t size, char *location, size_t location_size)
{
	uint64_t addr = node->addr ? node->addr : node->last_ip;
	struct report_out at = report_at(ro, node->time, addr);

	report_function_name(&at, addr, name, size, location, location_size);
	if (node->null_target)
		snprintf(name, size, "0x0");
	if (!report_call_through_stub(ro, node, name))
		return;
	name[strlen(name) - 4] = '\0'; /* drop "@plt": the stub calls that function */
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

/*
 * Adjacent returned siblings with the same target and nothing shown below them share one row.
 * Unlike folding, this ignores what they called.
 */
static bool share_row(const struct call_node *a, const struct call_node *b)
{
	return b && b->shown && !a->gap && !b->gap && !a->async && !b->async && !a->by_return &&
	       !b->by_return && !a->by_jump == !b->by_jump &&
	       !a->by_fallthrough == !b->by_fallthrough &&
	       a->code_generation == b->code_generation && a->returned && b->returned && a->addr &&
	       a->addr == b->addr && !any_shown(a->first) && !any_shown(b->first);
}

/* A recursion's name: "f, depth 1000 (recursive)". */
static void add_depth(const struct call_node *node, char *name, size_t size)
{
	size_t len = strlen(name);

	if (node->depth < 2)
		return;
	len += (size_t)snprintf(name + len, size - len, ", depth %" PRIu64, node->depth);
	if (len >= size)
		return;
	if (node->period == 1)
		snprintf(name + len, size - len, " (recursive)");
	else if (node->period == 2)
		snprintf(name + len, size - len, " (recursive, with the next function)");
	else if (node->period)
		snprintf(name + len, size - len, " (recursive, with the next %u functions)",
			 node->period - 1);
}

static void print_between(const struct report_out *ro, unsigned int depth, uint64_t nr)
{
	fprintf(ro->out, "  %12s  %*s%s(%" PRIu64 " call%s between)%s\n", "...", (int)depth * 2, "",
		ro->style->dim, nr, nr == 1 ? "" : "s", ro->style->off);
}

static void print_node(const struct report_out *ro, const struct report_call_row *row,
		       const char *end)
{
	const struct report_style *s = ro->style;
	const struct call_node *node = row->node;
	unsigned int depth = row->depth;
	uint64_t repeat = row->repeat, hidden = row->hidden;
	char name[320], location[160], left[640];
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
	if (node->group)
		location[0] = name[0] = '\0';
	else
		node_name(ro, node, name, sizeof(name) - 64, location, sizeof(location));
	add_depth(node, name, sizeof(name));
	n = snprintf(left, sizeof(left), "%*s%s%s", (int)(depth > 40 ? 40 : depth) * 2, "",
		     node->mixed	  ? "[mixed]" :
		     node->group	  ? "[repeated]" :
		     node->async	  ? "[signal] " :
		     node->by_return	  ? "[by return] " :
		     node->by_jump	  ? "[by jump] " :
		     node->by_fallthrough ? "[fall-through] " :
					    "",
		     name);
	if (n > 0 && (size_t)n < sizeof(left) && repeat > 1)
		n += snprintf(left + n, sizeof(left) - (size_t)n, "  x %" PRIu64, repeat);
	if (n > 0 && (size_t)n < sizeof(left) && hidden)
		snprintf(left + n, sizeof(left) - (size_t)n, "  (%" PRIu64 " call%s not shown)",
			 hidden, hidden == 1 ? "" : "s");
	fprintf(ro->out, "  %12" PRIu64 "  %s%-60s%s %s%s%s",
		node->returned ? row->insns : row->own_insns, row->current ? s->bad : s->name, left,
		s->off, s->dim, location, s->off);
	if (row->current)
		fprintf(ro->out, "  %s<- %s%s", s->bad, end, s->off);
	else if (!node->returned)
		fprintf(ro->out, "  %s%s%s", s->dim, node->lost ? "?" : "...", s->off);
	fputc('\n', ro->out);
}

/* with_insns: also sum the instructions. */
static void row_add(struct report_call_row *row, const struct call_node *node, bool with_insns)
{
	row->hidden += call_node_hidden_calls(node);
	if (!with_insns)
		return;
	row->own_insns += node->nr_insns + node->insns_in_recursion;
	row->hidden_insns += call_node_hidden_insns(node);
	if (node->returned)
		row->insns += call_node_insns(node);
}

/* Calls fn for each row of the nodes that are shown. Returns their number; fn may be NULL. */
static unsigned int each_call_row(struct call_tree *tree, report_call_fn *fn, void *ctx)
{
	const struct call_node *root = call_tree_root(tree), *n = root->first;
	const struct call_node *current = call_tree_current(tree);
	unsigned int depth = 0, nr = 0;

	while (n) {
		struct report_call_row row = {.node = n, .depth = depth, .repeat = n->repeat};

		if (n->shown) {
			row.current = n == current;
			row_add(&row, n, fn != NULL);
			while (share_row(n, n->next)) {
				n = n->next;
				row_add(&row, n, fn != NULL);
				row.repeat += n->repeat;
			}
			nr++;
			if (fn)
				fn(ctx, &row);
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

/* Several nodes may share a row, so the number of nodes that fills nr_rows is bisected. */
static void choose_call_rows(const struct report_out *ro, struct shown_calls *shown,
			     struct call_tree *tree, unsigned int nr_rows)
{
	unsigned int fits = 0, too_many = shown->size + 1;

	shown->max = nr_rows;
	if (!shown->lines_given && !shown->hottest) {
		choose_nodes(ro, shown, tree);
		return;
	}
	while (too_many - fits > 1) {
		if (shown->max >= too_many || shown->max <= fits)
			shown->max = fits + (too_many - fits) / 2;
		show_none(shown);
		choose_nodes(ro, shown, tree);
		if (each_call_row(tree, NULL, NULL) <= nr_rows)
			fits = shown->max;
		else
			too_many = shown->max;
		shown->max = 2 * fits;
	}
	show_none(shown);
	shown->max = fits;
	choose_nodes(ro, shown, tree);
}

static void print_gap(const struct report_out *ro, unsigned int depth, const char *text)
{
	fprintf(ro->out, "  %12s  %*s%s-- gap: %s --%s\n", "", (int)depth * 2, "", ro->style->bad,
		text ? report_text(ro, text) : "unknown", ro->style->off);
}

/* Prints the number of calls outside of the rows; calls from before a gap are unknown. */
static void print_outer(const struct report_out *ro, const struct report_calls *calls)
{
	const size_t nr = calls->nr_outer;

	if (calls->gap && !calls->gap_shown)
		print_gap(ro, 0, calls->gap);
	if (nr)
		fprintf(ro->out, "  %12s  %s(%s%zu call%s farther out%s)%s\n", "...",
			ro->style->dim,
			calls->gap	    ? "at least " :
			calls->outer_is_max ? "at most " :
					      "",
			nr, nr == 1 ? "" : "s",
			calls->gap && call_tree_current(calls->tree) ? ", since the last gap" : "",
			ro->style->off);
}

/* Is a function shown whose callers the trace does not prove to be those above it? */
static bool shows_by_jump(const struct shown_calls *shown)
{
	for (unsigned int i = 0; i < shown->nr; i++)
		if (shown->nodes[i]->by_return || shown->nodes[i]->by_jump)
			return true;
	return false;
}

static bool shows_fallthrough(const struct shown_calls *shown)
{
	for (unsigned int i = 0; i < shown->nr; i++)
		if (shown->nodes[i]->by_fallthrough)
			return true;
	return false;
}

static bool shows_lost(const struct shown_calls *shown)
{
	for (unsigned int i = 0; i < shown->nr; i++)
		if (shown->nodes[i]->lost && !shown->nodes[i]->returned)
			return true;
	return false;
}

static bool shows_group(const struct shown_calls *shown, bool mixed)
{
	for (unsigned int i = 0; i < shown->nr; i++)
		if (shown->nodes[i]->group && shown->nodes[i]->mixed == mixed)
			return true;
	return false;
}

static bool shows_inside(const struct shown_calls *shown)
{
	for (unsigned int i = 0; i < shown->nr; i++)
		if (call_node_hidden_calls(shown->nodes[i]))
			return true;
	return false;
}

/* Is a call shown within calls that share a row? */
static bool shows_sums(const struct shown_calls *shown)
{
	for (unsigned int i = 0; i < shown->nr; i++) {
		const struct call_node *up = shown->nodes[i]->parent;

		if (shown->nodes[i]->repeat > 1 && up && up->repeat > 1)
			return true;
	}
	return false;
}

int report_calls_choose(const struct report_out *ro, struct call_tree *tree, unsigned int nr_rows,
			bool hottest, struct report_calls *calls)
{
	struct shown_calls *shown;

	*calls = (struct report_calls){.tree = tree};
	if (!call_tree_root(tree))
		return 0;
	shown = calls->shown = calloc(1, sizeof(*shown));
	if (!shown)
		return -1;
	shown->lines_given = nr_rows != 0;
	if (!nr_rows)
		nr_rows = DEFAULT_LINES;
	if (!find_open_rows(shown, tree, nr_rows)) {
		shown->open_rows = NULL;
		report_calls_free(calls);
		return -1;
	}
	shown->size = (unsigned int)call_tree_size(tree);
	if (nr_rows > shown->size)
		nr_rows = shown->size;
	shown->nodes = calloc(shown->size, sizeof(struct call_node *));
	if (!shown->nodes) {
		report_calls_free(calls);
		return -1;
	}
	if (hottest)
		shown->hottest = report_hottest(tree, nr_rows, &shown->nr_hottest);
	else
		fold_open_calls(ro, shown, tree, nr_rows);
	if (hottest && !shown->hottest) {
		report_calls_free(calls);
		return -1;
	}
	choose_call_rows(ro, shown, tree, nr_rows);
	calls->nr_outer = call_tree_forgotten(tree, &calls->outer_is_max);
	calls->gap = call_tree_gap(tree);
	if (calls->gap) /* callers from before it are unknown: a minimum */
		calls->nr_outer = call_tree_forgotten_min(tree);
	calls->nr_outer += set_nr_above(shown);
	for (const struct call_node *n = call_tree_root(tree)->first; n; n = n->next)
		if (n->gap && !n->exec)
			calls->gap_shown = n->shown;
	return 0;
}

void report_calls_each(const struct report_calls *calls, report_call_fn *fn, void *ctx)
{
	if (calls->shown)
		each_call_row(calls->tree, fn, ctx);
}

void report_calls_free(struct report_calls *calls)
{
	if (!calls->shown)
		return;
	show_none(calls->shown);
	free(calls->shown->hottest);
	free(calls->shown->open_rows);
	free(calls->shown->nodes);
	free(calls->shown);
	calls->shown = NULL;
}

struct print_rows {
	const struct report_out *ro;
	const char *end;
};

static void print_row(void *ctx, const struct report_call_row *row)
{
	const struct print_rows *p = ctx;

	if (row->node->nr_above)
		print_between(p->ro, row->depth, row->node->nr_above);
	print_node(p->ro, row, p->end);
}

static void print_legend(const struct report_out *ro, const struct shown_calls *shown)
{
	if (shows_lost(shown))
		fputs("  ?: it was open when a gap began; whether it returned is not known\n",
		      ro->out);
	if (shows_by_jump(shown))
		fputs("  [by jump], [by return]: entered so, not by a call; the functions above it may be on "
		      "another stack,\n  or no longer open\n",
		      ro->out);
	if (shows_fallthrough(shown))
		fputs("  [fall-through]: the function above it ran on into it, or a return led to its start\n",
		      ro->out);
	if (shows_group(shown, false))
		fputs("  [repeated]: the calls below it were made again and again, in this order, each once or several "
		      "times in a row\n",
		      ro->out);
	if (shows_group(shown, true))
		fputs("  [mixed]: calls of the functions below it, in an order that is not shown\n",
		      ro->out);
	if (shows_inside(shown))
		fputs("  (calls not shown): calls that it made, and signal handlers, that have no lines\n",
		      ro->out);
	if (shows_sums(shown))
		fputs("  x N: N calls in all, in all calls of the function above\n", ro->out);
}

static void print_calls(const struct report_out *ro, struct call_tree *tree, unsigned int nr_rows,
			bool hottest, const char *end)
{
	struct report_calls calls;

	if (report_calls_choose(ro, tree, nr_rows, hottest, &calls)) {
		fputs("  (out of memory)\n", ro->out);
		return;
	}
	if (!calls.shown) {
		fprintf(ro->out, "  (no calls were traced)\n");
		return;
	}
	fprintf(ro->out, "  %s%12s  %s%s\n", ro->style->dim, "instructions",
		"of the call and its callees; its own only if it had not ended (\"...\" or \"<-\")",
		ro->style->off);
	print_outer(ro, &calls);
	report_calls_each(&calls, print_row, &(struct print_rows){ro, end});
	print_legend(ro, calls.shown);
	report_calls_free(&calls);
}

void report_tree_print(const struct report_out *ro, struct call_tree *tree, unsigned int nr_rows,
		       const char *end)
{
	print_calls(ro, tree, nr_rows, false, end);
}

void report_hot_calls_print(const struct report_out *ro, struct call_tree *tree,
			    unsigned int nr_rows, const char *end)
{
	print_calls(ro, tree, nr_rows, true, end);
}
