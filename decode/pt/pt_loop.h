/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks for loops that generate no packets, of direct jumps and calls only. If an interrupt hits
 * such a loop, the trace does not contain how often the loop ran before: the decode stops when it
 * comes to the interrupt's address for the first time.
 */
#ifndef AUXTAP_PT_LOOP_H
#define AUXTAP_PT_LOOP_H

#include "pt_memory.h"

enum pt_loop {
	PT_LOOP_NO,
	PT_LOOP_YES,
	PT_LOOP_UNKNOWN, /* it leads to unknown code that the program generated */
};

struct pt_config;
struct pt_image;
/* Whether code from ip comes back to ip. config: without begin and end; image may be NULL. */
enum pt_loop pt_loop_find(const struct pt_config *config, struct pt_image *image,
			  struct pt_memory *mem, uint64_t ip, bool bits_32);

#endif
