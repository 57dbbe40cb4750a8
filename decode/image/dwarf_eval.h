/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DWARF location expressions (dwarf_eval.c), evaluated with the registers of a frame and the memory
 * in the snapshot; text of values by type (dwarf_value.c). Debug information, registers and memory
 * are untrusted: all work is bounded.
 */
#ifndef AUXTAP_DWARF_EVAL_H
#define AUXTAP_DWARF_EVAL_H

#include "image_frame.h"

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dwarf_status {
	DWARF_KNOWN,
	DWARF_OPTIMIZED_OUT,   /* it has no location at this pc */
	DWARF_NOT_SAVED,       /* in a register that called functions may have changed */
	DWARF_NOT_IN_SNAPSHOT, /* in memory, or a register, that the snapshot lacks */
	DWARF_NOT_STORED,      /* the function has not set up its frame yet */
	DWARF_LEFT,	       /* the function has given up its frame, just before it returns */
	DWARF_SYNTHETIC,       /* a pointer to an object that is not in memory */
	DWARF_UNKNOWN	       /* the expression is not supported */
};

/* What expressions refer to. bias: run-time address minus address in the debug information. */
struct dwarf_context {
	const struct image_frame *frame; /* NULL: no registers are known */
	const struct image_memory *memory;
	uint64_t pc; /* in the debug information */
	uint64_t bias;
	Dwarf_Die *function; /* it has DW_AT_frame_base; may be NULL */
	/* the value that a register had at the function's entry; NULL: unknown */
	enum dwarf_status (*entry_value)(void *ctx, unsigned int reg, uint64_t *value);
	void *ctx;
	unsigned int depth; /* of nested frame bases */
};

enum dwarf_where {
	DWARF_IN_MEMORY,
	DWARF_IN_REGISTER,
	DWARF_IS_VALUE,
	DWARF_IS_BYTES,
	DWARF_NOWHERE
};

#define DWARF_MAX_PIECES 16

struct dwarf_piece {
	enum dwarf_where where;
	enum dwarf_status status;
	uint64_t value;	      /* address, register number, value, or number of bytes */
	const uint8_t *bytes; /* DWARF_IS_BYTES */
	uint64_t size;	      /* UINT64_MAX: the rest of the object */
};

/* The location of an object, in one or more pieces. */
struct dwarf_location {
	unsigned int nr;
	struct dwarf_piece pieces[DWARF_MAX_PIECES];
};

/* Sets *location from a variable's DW_AT_location or DW_AT_const_value. */
void dwarf_location_of(const struct dwarf_context *c, Dwarf_Die *variable,
		       struct dwarf_location *location);
/* Sets *location to memory at addr. */
void dwarf_location_memory(struct dwarf_location *location, uint64_t addr);
/* The object's address. False: it is not, or not as a whole, in memory. */
bool dwarf_location_address(const struct dwarf_location *location, uint64_t *addr);
/* Copies size bytes at off of the object. */
enum dwarf_status dwarf_location_read(const struct dwarf_context *c,
				      const struct dwarf_location *location, uint64_t off,
				      void *buf, size_t size);
/* Evaluates an expression for a value (DW_AT_call_value, the CFA). */
enum dwarf_status dwarf_compute(const struct dwarf_context *c, Dwarf_Attribute *attr,
				const Dwarf_Op *ops, size_t nr, uint64_t *value);

/* dwarf_value.c: the value as gdb prints it, truncated to size - 1 characters. */
enum dwarf_status dwarf_value_text(const struct dwarf_context *c, Dwarf_Die *variable,
				   const struct dwarf_location *location, char *text, size_t size);
/* Text for an unknown value: "<optimized out>". */
const char *dwarf_status_text(enum dwarf_status status);

#endif
