// SPDX-License-Identifier: BSD-2-Clause
/* See pt_circle.h. */
#include "pt_circle.h"
#include "pt_scan.h"

#include <intel-pt.h>

/* Blocks of a circle without packets; a longer one counts as one. */
#define MAX_CIRCLE (1u << 16)

/* A part of the circle is read, the code of another time. */
static bool is_other_code(struct pt_memory *mem, const struct pt_block *block)
{
	return mem->code && block->end_ip >= block->ip &&
	       !pt_memory_holds(mem,
				pt_memory_since(mem, block->ip, block->end_ip - block->ip + 1));
}

static enum pt_circle follow(struct pt_block_decoder *blk, struct pt_memory *mem, uint64_t ip)
{
	uint64_t saved = 0;
	unsigned int power = 1;

	for (unsigned int nr = 0; nr < MAX_CIRCLE; nr++) {
		struct pt_block block;
		int ret = pt_blk_next(blk, &block, sizeof(block));

		if (block.ninsn && is_other_code(mem, &block))
			return PT_CIRCLE_UNKNOWN;
		if (ret < 0)
			return ret == -pte_nomap && mem->code ? PT_CIRCLE_UNKNOWN : PT_CIRCLE_NO;
		if (!block.ninsn)
			return PT_CIRCLE_NO;
		if (nr && ip >= block.ip && ip <= block.end_ip)
			return PT_CIRCLE_YES;
		/* Brent: a circle that ip leads into, but is not part of */
		if (nr && block.ip == saved)
			return PT_CIRCLE_NO;
		if (nr + 1 >= power) {
			saved = block.ip;
			power *= 2;
		}
		if (ret & pts_event_pending)
			return PT_CIRCLE_NO;
	}
	return PT_CIRCLE_YES;
}

enum pt_circle pt_circle_find(const struct pt_config *from, struct pt_image *image,
			      struct pt_memory *mem, uint64_t ip, bool bits_32)
{
	struct pt_restart r = {.ip = ip, .bits_32 = bits_32};
	struct pt_config config = *from;
	uint8_t header[PT_RESTART_HEADER_MAX];
	enum pt_circle circle = PT_CIRCLE_NO;
	struct pt_block_decoder *blk;

	config.begin = header;
	config.end = header + pt_restart_header(&r, header);
	config.flags.variant.block.end_on_call = 1;
	config.flags.variant.block.end_on_jump = 1;
	blk = pt_blk_alloc_decoder(&config);
	if (!blk)
		return PT_CIRCLE_YES; /* not known */
	if (image)
		pt_blk_set_image(blk, image);
	if (pt_blk_sync_set(blk, 0) >= 0) {
		struct pt_event ev;
		int status = pts_event_pending;

		while (status >= 0 && status & pts_event_pending)
			status = pt_blk_event(blk, &ev, sizeof(ev));
		if (status >= 0)
			circle = follow(blk, mem, ip);
		else if (status == -pte_nomap && mem->code)
			circle = PT_CIRCLE_UNKNOWN;
	}
	pt_blk_free_decoder(blk);
	return circle;
}
