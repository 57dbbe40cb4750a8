// SPDX-License-Identifier: BSD-2-Clause
/*
 * Finds the variables of the program's innermost function, and of library functions that it called,
 * which point into a freed block: pointers that were in memory when the thread died, not in a
 * register. If none does, searches those of its caller, which may have passed on a value that it
 * read from such a block.
 */
#include "report_blocks.h"
#include "report_facts.h"
#include "report_frames.h"
#include "report_out.h"

#include <stdlib.h>
#include <string.h>

/* State of a search of the variables of one function. */
struct block_vars {
	struct report_block *blocks;
	size_t nr;
	const char *function;
	bool found;
};

static void copy_name(char *to, size_t size, const char *from)
{
	size_t len = strlen(from);

	if (len >= size)
		len = size - 1;
	memcpy(to, from, len);
	to[len] = 0;
}

static void set_variable(struct block_vars *vars, const char *name, bool is_whole, uint64_t value)
{
	for (size_t i = 0; i < vars->nr; i++) {
		struct report_block *block = &vars->blocks[i];
		const struct auxtap_crash_block *b = &block->record;

		if (block->variable[0] || !(b->flags & AUXTAP_BLOCK_FREED) ||
		    b->flags & AUXTAP_BLOCK_MAPPING || value < b->addr ||
		    value - b->addr >= (b->nr_bytes ? b->nr_bytes : 1))
			continue;
		copy_name(block->variable, sizeof(block->variable), name);
		copy_name(block->function, sizeof(block->function), vars->function);
		block->variable_is_whole = is_whole;
		block->variable_offset = value - b->addr;
		vars->found = true;
	}
}

/* Takes the hexadecimal numbers in the printed value for pointers, but not those in strings. */
static void on_variable(void *ctx, const struct image_variable *var)
{
	const char *at = var->value;
	bool in_text = false;

	for (; *at; at++) {
		if (in_text && *at == '\\' && at[1])
			at++;
		else if (*at == '"')
			in_text = !in_text;
		else if (!in_text && at[0] == '0' && at[1] == 'x')
			set_variable(ctx, var->name, at == var->value, strtoull(at, NULL, 16));
	}
}

/* Searches the functions at frame nr, outwards, until nr_own of them were the program's own. */
static void search_frame(const struct report_out *ro, const struct report_facts *facts,
			 const struct unwind_frames *frames, int nr, struct block_vars *vars,
			 int *nr_own)
{
	struct auxtap_location loc = {.size = sizeof(loc)};

	if (frames->signal_mask >> nr & 1 ||
	    auxtap_image_set_resolve(ro->images, ro->pid, ro->time, frames->pcs[nr], &loc) ||
	    !loc.image || report_is_runtime(loc.image))
		return;
	for (unsigned int i = 0; i < loc.nr_frames && *nr_own; i++) {
		vars->function = loc.frames[i].symbol ? loc.frames[i].symbol : "?";
		report_vars_each(ro, facts, frames, nr, i, true, on_variable, vars);
		if (!report_is_library_function(&loc, i))
			*nr_own = vars->found ? 0 : *nr_own - 1;
	}
}

void report_block_variables(const struct report_out *ro, struct report_facts *facts,
			    const struct unwind_frames *frames, bool is_null)
{
	struct block_vars vars = {.blocks = facts->blocks, .nr = facts->nr_blocks};
	int nr_own = is_null ? 1 : 2;

	for (int i = 0; i < frames->nr && nr_own; i++)
		search_frame(ro, facts, frames, i, &vars, &nr_own);
}
