// SPDX-License-Identifier: BSD-2-Clause
/* See pt_loop.h. */
#include "pt_loop.h"
#include "pt_scan.h"

#include <intel-pt.h>
#include <string.h>

/* Number of blocks followed; more without coming back are reported as a loop. */
#define MAX_LOOP (1u << 16)

/* Whether the block's code may be that of another time. */
static bool is_other_code(struct pt_memory *mem, const struct pt_block *block)
{
	return mem->code && block->end_ip >= block->ip &&
	       !pt_memory_is_valid_since(mem, pt_memory_code_since(mem, block->ip,
								   block->end_ip - block->ip + 1));
}

static enum pt_loop follow(struct pt_block_decoder *blk, struct pt_memory *mem, uint64_t ip)
{
	uint64_t saved = 0;
	unsigned int power = 1;

	for (unsigned int nr = 0; nr < MAX_LOOP; nr++) {
		struct pt_block block;
		int ret = pt_blk_next(blk, &block, sizeof(block));

		if (block.ninsn && is_other_code(mem, &block))
			return PT_LOOP_UNKNOWN;
		if (ret < 0)
			return ret == -pte_nomap && mem->code ? PT_LOOP_UNKNOWN : PT_LOOP_NO;
		if (!block.ninsn)
			return PT_LOOP_NO;
		if (nr && ip >= block.ip && ip <= block.end_ip)
			return PT_LOOP_YES;
		/* Brent's cycle detection: ip leads into a loop, but is not part of it */
		if (nr && block.ip == saved)
			return PT_LOOP_NO;
		if (nr + 1 >= power) {
			saved = block.ip;
			power *= 2;
		}
		if (ret & pts_event_pending)
			return PT_LOOP_NO;
	}
	return PT_LOOP_YES;
}

/* In user mode: hlt, and the undefined instructions ud2, ud1, ud0. */
static bool always_faults(const struct pt_insn *insn)
{
	if (insn->ip >> 63)
		return false;
	return insn->raw[0] == 0xf4 ||
	       (insn->size >= 2 && insn->raw[0] == 0x0f &&
		(insn->raw[1] == 0x0b || insn->raw[1] == 0xb9 || insn->raw[1] == 0xff));
}

/*
 * Of code that a program generated at run time, only what it executed is known. If that ends with
 * an instruction that always faults, the unknown code after it does not matter.
 */
static bool faults_in_known_code(const struct pt_config *config, struct pt_image *image,
				 struct pt_memory *mem)
{
	struct pt_insn_decoder *dec = pt_insn_alloc_decoder(config);
	struct pt_event ev;
	struct pt_insn insn;
	bool faults = false;
	int status = -1;

	if (!dec)
		return false;
	if (image)
		pt_insn_set_image(dec, image);
	if (pt_insn_sync_set(dec, 0) >= 0)
		status = pts_event_pending;
	for (unsigned int nr = 0; status >= 0 && !faults && nr < MAX_LOOP; nr++) {
		while (status >= 0 && status & pts_event_pending)
			status = pt_insn_event(dec, &ev, sizeof(ev));
		if (status < 0)
			break;
		memset(&insn, 0, sizeof(insn));
		status = pt_insn_next(dec, &insn, sizeof(insn));
		if (!insn.size ||
		    !pt_memory_is_valid_since(mem, pt_memory_code_since(mem, insn.ip, insn.size)))
			break;
		faults = always_faults(&insn);
	}
	pt_insn_free_decoder(dec);
	return faults;
}

enum pt_loop pt_loop_find(const struct pt_config *from, struct pt_image *image,
			  struct pt_memory *mem, uint64_t ip, bool bits_32)
{
	struct pt_restart r = {.ip = ip, .bits_32 = bits_32};
	struct pt_config config = *from;
	uint8_t header[PT_RESTART_HEADER_MAX];
	enum pt_loop loop = PT_LOOP_NO;
	struct pt_block_decoder *blk;

	config.begin = header;
	config.end = header + pt_restart_header(&r, header);
	config.flags.variant.block.end_on_call = 1;
	config.flags.variant.block.end_on_jump = 1;
	blk = pt_blk_alloc_decoder(&config);
	if (!blk)
		return PT_LOOP_YES; /* not known, so report the loop */
	if (image)
		pt_blk_set_image(blk, image);
	if (pt_blk_sync_set(blk, 0) >= 0) {
		struct pt_event ev;
		int status = pts_event_pending;

		while (status >= 0 && status & pts_event_pending)
			status = pt_blk_event(blk, &ev, sizeof(ev));
		if (status >= 0)
			loop = follow(blk, mem, ip);
		else if (status == -pte_nomap && mem->code)
			loop = PT_LOOP_UNKNOWN;
	}
	pt_blk_free_decoder(blk);
	if (loop == PT_LOOP_UNKNOWN && faults_in_known_code(&config, image, mem))
		loop = PT_LOOP_NO;
	return loop;
}
