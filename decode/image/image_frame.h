/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A frame's registers, by which arguments and local variables are found (image_vars.c), as the
 * unwinder (unwind.c) restores them. Not public.
 */
#ifndef AUXTAP_IMAGE_FRAME_H
#define AUXTAP_IMAGE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define IMAGE_FRAME_REGS 33

struct image_frame {
	uint64_t reg[IMAGE_FRAME_REGS]; /* by DWARF number */
	uint64_t known;			/* a bit each */
	uint64_t cfa;			/* the frame's address, if has_cfa */
	bool has_cfa;
	bool valid; /* these are the frame's registers, not found by frame pointers alone */
};

struct image_memory {
	/* Copies size bytes of the dead process' memory; false: it is not known. */
	bool (*read)(void *ctx, uint64_t addr, void *buf, size_t size);
	/* May the memory at addr be other than in the image's file, although that maps it? */
	bool (*may_differ)(void *ctx, uint64_t addr);
	/* The name of the function that begins at addr; NULL: not known, or not asked for. */
	const char *(*function)(void *ctx, uint64_t addr);
	void *ctx;
};

/* What is shown of a variable. Strings are of debug information and not escaped. */
struct image_variable {
	const char *name, *value;
	bool is_argument;
	bool optimized_out;
};

struct image_vars_query {
	pid_t pid;
	uint64_t time, pc;  /* pc: an address in the instruction, or in the call */
	unsigned int level; /* of the functions inlined there; 0 is the innermost */
	bool locals;
	bool stopped; /* at pc, not in a call there: the frame may not be set up yet */
	const struct image_frame *frame;
	const struct image_frame *caller; /* NULL: not known, or the frame was not called */
	uint64_t caller_pc;		  /* in the call */
	bool caller_missing;		  /* it was called, but by which frame is not known */
	struct image_memory memory;	  /* of the snapshot */
};

struct auxtap_image_set;
/* Calls fn for each argument, in the order of the declaration, then for local variables. */
void image_set_each_variable(struct auxtap_image_set *set, const struct image_vars_query *query,
			     void (*fn)(void *ctx, const struct image_variable *var), void *ctx);

#endif
