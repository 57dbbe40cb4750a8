/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registers of a frame as the unwinder (unwind.c) restores them; arguments and local variables
 * are found by them (image_vars.c).
 */
#ifndef AUXTAP_IMAGE_FRAME_H
#define AUXTAP_IMAGE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define IMAGE_FRAME_REGS 33

struct image_frame {
	uint64_t reg[IMAGE_FRAME_REGS]; /* by DWARF register number */
	uint64_t known_mask;		/* bit n: reg[n] is known */
	uint64_t in_snapshot_mask; /* bit n: snapshots have that register, of the first frame */
	uint64_t cfa;		   /* the canonical frame address, if has_cfa */
	bool has_cfa;
	bool shrinks; /* the code before pc has given back a part of the function's stack */
	bool valid;   /* the registers are reliable: not found by frame pointers alone */
};

struct image_memory {
	/* Copies size bytes of the dead process's memory. False: unknown. */
	bool (*read)(void *ctx, uint64_t addr, void *buf, size_t size);
	/* Whether memory at addr may differ from the image file that is mapped there. */
	bool (*may_differ)(void *ctx, uint64_t addr);
	/* The name of the function that begins at addr; NULL: unknown. May be NULL itself. */
	const char *(*function)(void *ctx, uint64_t addr);
	void *ctx;
};

/* A variable to print. The strings come from debug information and are not escaped. */
struct image_variable {
	const char *name, *value;
	bool is_argument;
	bool optimized_out;
};

struct image_vars_query {
	pid_t pid;
	uint64_t time, pc;  /* pc: an address in the instruction, or in the call */
	unsigned int level; /* which of the functions inlined at pc; 0: the innermost */
	bool locals;	    /* local variables, too */
	bool stopped;	    /* at pc, not in a call there: the frame may not be set up yet */
	const struct image_frame *frame;
	const struct image_frame *caller; /* NULL: unknown, or the frame was not called */
	uint64_t caller_pc;		  /* an address in the call */
	bool caller_missing;		  /* it was called, but the caller's frame is unknown */
	struct image_memory memory;	  /* of the snapshot */
};

struct auxtap_image_set;
/*
 * May the function at pc return a value in a general register that is an address? Also true if the
 * debug information does not say what it returns.
 */
bool image_set_returns_address(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t pc);
/* Calls fn for each argument, in the order of declaration, then for each local variable. */
void image_set_each_variable(struct auxtap_image_set *set, const struct image_vars_query *query,
			     void (*fn)(void *ctx, const struct image_variable *var), void *ctx);

#endif
