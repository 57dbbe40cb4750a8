// SPDX-License-Identifier: BSD-2-Clause
/* Prints arguments and local variables below a function of the backtrace. */
#include "report_facts.h"
#include "report_frames.h"
#include "report_out.h"

#include <auxtap/text.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SHOWN 12 /* arguments, or local variables, of one function */
#define MAX_NAMES 8  /* names of variables without a value */
#define INDENT	  8
#define MAX_ITEM  1024

/* The variables of one function. */
struct vars_list {
	const struct report_out *ro;
	const char *label; /* of the current list; NULL: none */
	unsigned int column;
	unsigned int nr, nr_left_out;
	unsigned int nr_optimized, nr_names;
	char optimized[512]; /* names of local variables that were optimized out */
};

static bool snapshot_read(void *ctx, uint64_t addr, void *buf, size_t size)
{
	return report_facts_memory(ctx, addr, buf, size);
}

static bool is_writable(void *ctx, uint64_t addr)
{
	const struct report_map *map = report_facts_map(ctx, addr);

	return !map || map->perms[1] == 'w';
}

/* Prints the next item of a list; starts a new line if it does not fit. */
static void put_item(struct vars_list *list, const char *text)
{
	const struct report_out *ro = list->ro;
	unsigned int len = (unsigned int)strlen(text);

	if (list->column + len + 2 > ro->width && list->column > INDENT + 8) {
		fprintf(ro->out, ",\n%*s%s", INDENT + 2, "", text);
		list->column = INDENT + 2 + len;
		return;
	}
	fprintf(ro->out, "%s%s", list->nr ? ", " : "", text);
	list->column += len + (list->nr ? 2 : 0);
}

static void begin_list(struct vars_list *list, const char *label)
{
	const struct report_style *style = list->ro->style;

	fprintf(list->ro->out, "%*s%s%s:%s ", INDENT, "", style->dim, label, style->off);
	list->label = label;
	list->column = INDENT + (unsigned int)strlen(label) + 2;
	list->nr = list->nr_left_out = 0;
}

static void end_list(struct vars_list *list)
{
	char more[32];

	if (!list->label)
		return;
	if (list->nr_left_out) {
		snprintf(more, sizeof(more), "%u more", list->nr_left_out);
		put_item(list, more);
	}
	fputc('\n', list->ro->out);
	list->label = NULL;
}

static void note_optimized(struct vars_list *list, const char *name)
{
	size_t len = strlen(list->optimized);

	if (list->nr_optimized++ >= MAX_NAMES || len + strlen(name) + 3 > sizeof(list->optimized))
		return;
	list->nr_names++;
	snprintf(list->optimized + len, sizeof(list->optimized) - len, "%s%s", len ? ", " : "",
		 name);
}

static void on_variable(void *ctx, const struct image_variable *var)
{
	struct vars_list *list = ctx;
	const char *label = var->is_argument ? "args" : "locals";
	char item[MAX_ITEM], name[128];

	auxtap_text_escape(name, sizeof(name), var->name, strlen(var->name));
	if (!var->is_argument && var->optimized_out) {
		note_optimized(list, name);
		return;
	}
	if (!list->label || strcmp(list->label, label) != 0) {
		end_list(list);
		begin_list(list, label);
	}
	if (list->nr >= MAX_SHOWN) {
		list->nr_left_out++;
		return;
	}
	snprintf(item, sizeof(item), "%s=%s", name, report_text(list->ro, var->value));
	put_item(list, item);
	list->nr++;
}

static void print_optimized(struct vars_list *list)
{
	char more[32];

	if (!list->nr_optimized)
		return;
	begin_list(list, "locals optimized out");
	put_item(list, list->optimized);
	list->nr = 1;
	if (list->nr_optimized > list->nr_names) {
		snprintf(more, sizeof(more), "%u more", list->nr_optimized - list->nr_names);
		put_item(list, more);
	}
	end_list(list);
}

void report_vars_each(const struct report_out *ro, const struct report_facts *facts,
		      const struct unwind_frames *frames, int nr, unsigned int level, bool locals,
		      report_var_fn *fn, void *ctx)
{
	struct image_vars_query query = {
		.pid = ro->pid,
		.time = ro->time,
		.pc = frames->pcs[nr],
		.level = level,
		.locals = locals,
		.stopped = !(frames->call_mask >> nr & 1),
		.frame = &frames->frames[nr],
		.memory = {.read = snapshot_read, .may_differ = is_writable, .ctx = (void *)facts},
	};

	if (facts->redacted || !frames->frames[nr].valid)
		return;
	query.caller_missing = nr + 1 == frames->nr ||
			       (frames->call_mask >> (nr + 1) & 1 && !frames->frames[nr + 1].valid);
	if (nr + 1 < frames->nr && frames->call_mask >> (nr + 1) & 1 &&
	    frames->frames[nr + 1].valid) {
		query.caller = &frames->frames[nr + 1];
		query.caller_pc = frames->pcs[nr + 1];
	}
	image_set_each_variable(ro->images, &query, fn, ctx);
}

void report_vars_print(const struct report_out *ro, const struct report_facts *facts,
		       const struct unwind_frames *frames, int nr, unsigned int level, bool locals)
{
	struct vars_list list = {.ro = ro};

	report_vars_each(ro, facts, frames, nr, level, locals, on_variable, &list);
	end_list(&list);
	print_optimized(&list);
}
