/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code without packets that comes back to where it was: how often it ran before an event there is
 * not in the trace. The decode stops the first time that it comes to the event's address.
 */
#ifndef AUXTAP_PT_CIRCLE_H
#define AUXTAP_PT_CIRCLE_H

#include "pt_memory.h"

enum pt_circle {
	PT_CIRCLE_NO,
	PT_CIRCLE_YES,
	PT_CIRCLE_UNKNOWN, /* it leads to code of the program's own that is not known */
};

struct pt_config;
struct pt_image;
/* config: without begin and end; image may be NULL */
enum pt_circle pt_circle_find(const struct pt_config *config, struct pt_image *image,
			      struct pt_memory *mem, uint64_t ip, bool bits_32);

#endif
