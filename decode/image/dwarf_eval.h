/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Location expressions of debug information (dwarf_eval.c), evaluated with the registers of a
 * frame and what is known of memory; values by type (dwarf_value.c). Debug information, registers
 * and memory are untrusted: all work is bounded. Not public.
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
	DWARF_OPTIMIZED_OUT,   /* no location holds it there */
	DWARF_NOT_SAVED,       /* in a register that the called functions may have changed */
	DWARF_NOT_IN_SNAPSHOT, /* in memory, or a register, that the snapshot lacks */
	DWARF_NOT_STORED,      /* the function has not set its frame up yet */
	DWARF_SYNTHETIC,       /* a pointer to what is nowhere in memory */
	DWARF_UNKNOWN	       /* an expression that is not evaluated */
};

/* What expressions refer to. Addresses of the debug information are 'move' below those of run time.
 */
struct dwarf_context {
	const struct image_frame *frame; /* NULL: no registers are known */
	const struct image_memory *memory;
	uint64_t pc; /* in the debug information */
	uint64_t move;
	Dwarf_Die *function; /* it has the frame base; NULL */
	/* The value that a register had when the function was entered; NULL: not known */
	enum dwarf_status (*entry_value)(void *ctx, unsigned int reg, uint64_t *value);
	void *ctx;
	unsigned int depth; /* of frame bases within frame bases */
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
	uint64_t value;	      /* address, number of the register, or the value */
	const uint8_t *bytes; /* DWARF_IS_BYTES */
	uint64_t size;	      /* UINT64_MAX: all that is left */
};

/* Where an object is. */
struct dwarf_location {
	unsigned int nr;
	struct dwarf_piece pieces[DWARF_MAX_PIECES];
};

/* The location that a variable's DW_AT_location or DW_AT_const_value gives. */
void dwarf_location_of(const struct dwarf_context *c, Dwarf_Die *variable,
		       struct dwarf_location *location);
void dwarf_location_memory(struct dwarf_location *location, uint64_t addr);
/* Its address, if it is in memory as a whole. */
bool dwarf_location_address(const struct dwarf_location *location, uint64_t *addr);
/* Copies size bytes at off of the object. */
enum dwarf_status dwarf_location_read(const struct dwarf_context *c,
				      const struct dwarf_location *location, uint64_t off,
				      void *buf, size_t size);
/* The value of an expression that computes one (DW_AT_call_value, the frame's address). */
enum dwarf_status dwarf_compute(const struct dwarf_context *c, Dwarf_Attribute *attr,
				const Dwarf_Op *ops, size_t nr, uint64_t *value);

/* dwarf_value.c: the value as gdb prints it, cut where it is longer than size - 1 characters. */
enum dwarf_status dwarf_value_text(const struct dwarf_context *c, Dwarf_Die *variable,
				   const struct dwarf_location *location, char *text, size_t size);
/* The words for what is not known: "<optimized out>". */
const char *dwarf_status_text(enum dwarf_status status);

#endif
