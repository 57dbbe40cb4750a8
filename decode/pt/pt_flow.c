// SPDX-License-Identifier: BSD-2-Clause
/*
 * libipt over one segment: its instruction decoder where single instructions are asked
 * for, else its block decoder. The two differ in names only; here they become one.
 */
#include "pt_queue.h"
#include "pt_scan.h"

#include <string.h>

int pt_flow_start(struct pt_segment_decoder *w)
{
	struct pt_config config = w->shared->config;
	struct pt_scan_head head;
	int ret;

	pt_flow_stop(w);
	config.begin = w->base;
	config.end = w->base + w->total;
	pt_scan_head(w->base, w->total, &head);
	w->flow.nr_status_left = head.nr_status;
	w->enabled = head.has_fup;
	if (w->shared->opts.events & AUXTAP_EVENT_INSN) {
		w->flow.insn = pt_insn_alloc_decoder(&config);
		ret = w->flow.insn ? pt_insn_sync_set(w->flow.insn, 0) : -pte_nomem;
	} else {
		config.flags.variant.block.end_on_call = 1;
		config.flags.variant.block.end_on_jump = 1;
		w->flow.blk = pt_blk_alloc_decoder(&config);
		ret = w->flow.blk ? pt_blk_sync_set(w->flow.blk, 0) : -pte_nomem;
	}
	w->flow.status = ret;
	if (w->image)
		pt_flow_set_image(w, w->image);
	return ret < 0 ? ret : 0;
}

void pt_flow_stop(struct pt_segment_decoder *w)
{
	if (w->flow.insn)
		pt_insn_free_decoder(w->flow.insn);
	if (w->flow.blk)
		pt_blk_free_decoder(w->flow.blk);
	w->flow.insn = NULL;
	w->flow.blk = NULL;
}

static int next_insn(struct pt_segment_decoder *w, struct pt_step *step)
{
	struct pt_insn insn;
	int ret = pt_insn_next(w->flow.insn, &insn, sizeof(insn));

	step->ip = step->end_ip = insn.ip;
	step->iclass = insn.iclass;
	step->nr_insns = insn.iclass != ptic_error && insn.size;
	step->bits_32 = insn.mode == ptem_32bit;
	step->have_raw = true;
	step->size = insn.size <= 15 ? insn.size : 15;
	memcpy(step->raw, insn.raw, step->size);
	return ret;
}

static int next_block(struct pt_segment_decoder *w, struct pt_step *step)
{
	struct pt_block block;
	int ret = pt_blk_next(w->flow.blk, &block, sizeof(block));

	step->ip = block.ip;
	step->end_ip = block.end_ip;
	step->iclass = block.iclass;
	step->nr_insns = block.ninsn;
	step->bits_32 = block.mode == ptem_32bit;
	step->have_raw = block.truncated;
	step->size = 0;
	if (block.truncated) {
		step->size = block.size <= 15 ? block.size : 15;
		memcpy(step->raw, block.raw, step->size);
	}
	return ret;
}

int pt_flow_next(struct pt_segment_decoder *w, struct pt_step *step)
{
	memset(step, 0, sizeof(*step));
	w->flow.status = w->flow.insn ? next_insn(w, step) : next_block(w, step);
	return w->flow.status;
}

int pt_flow_event(struct pt_segment_decoder *w, struct pt_event *ev)
{
	w->flow.status = w->flow.insn ? pt_insn_event(w->flow.insn, ev, sizeof(*ev)) :
					pt_blk_event(w->flow.blk, ev, sizeof(*ev));
	return w->flow.status;
}

size_t pt_flow_offset(struct pt_segment_decoder *w)
{
	uint64_t off = 0;
	int ret = w->flow.insn ? pt_insn_get_offset(w->flow.insn, &off) :
				 pt_blk_get_offset(w->flow.blk, &off);

	/* out of sync: after the PSB */
	if (ret < 0)
		return w->total < 16 ? w->total : 16;
	return off < w->total ? (size_t)off : w->total;
}

uint64_t pt_flow_tsc(struct pt_segment_decoder *w)
{
	uint64_t tsc = 0;
	int ret = w->flow.insn ? pt_insn_time(w->flow.insn, &tsc, NULL, NULL) :
				 pt_blk_time(w->flow.blk, &tsc, NULL, NULL);

	return ret < 0 ? 0 : tsc;
}

void pt_flow_set_image(struct pt_segment_decoder *w, struct pt_image *image)
{
	if (w->flow.insn)
		pt_insn_set_image(w->flow.insn, image);
	else if (w->flow.blk)
		pt_blk_set_image(w->flow.blk, image);
}

/* Blocks of a circle without packets; a longer one counts as one. */
#define MAX_CIRCLE (1u << 16)

static bool is_circle(struct pt_block_decoder *blk, uint64_t ip)
{
	uint64_t saved = 0;
	unsigned int power = 1;

	for (unsigned int nr = 0; nr < MAX_CIRCLE; nr++) {
		struct pt_block block;
		int ret = pt_blk_next(blk, &block, sizeof(block));

		if (ret < 0 || !block.ninsn)
			return false;
		if (nr && ip >= block.ip && ip <= block.end_ip)
			return true;
		/* Brent: a circle that ip leads into, but is not part of */
		if (nr && block.ip == saved)
			return false;
		if (nr + 1 >= power) {
			saved = block.ip;
			power *= 2;
		}
		if (ret & pts_event_pending)
			return false;
	}
	return true;
}

bool pt_flow_comes_back(struct pt_segment_decoder *w, uint64_t ip)
{
	struct pt_restart r = {.ip = ip, .bits_32 = w->bits_32};
	struct pt_config config = w->shared->config;
	uint8_t header[PT_RESTART_HEADER_MAX];
	struct pt_block_decoder *blk;
	bool comes_back = false;

	config.begin = header;
	config.end = header + pt_restart_header(&r, header);
	config.flags.variant.block.end_on_call = 1;
	config.flags.variant.block.end_on_jump = 1;
	blk = pt_blk_alloc_decoder(&config);
	if (!blk)
		return true; /* not known */
	if (w->image)
		pt_blk_set_image(blk, w->image);
	if (pt_blk_sync_set(blk, 0) >= 0) {
		struct pt_event ev;
		int status = pts_event_pending;

		while (status >= 0 && status & pts_event_pending)
			status = pt_blk_event(blk, &ev, sizeof(ev));
		comes_back = status >= 0 && is_circle(blk, ip);
	}
	pt_blk_free_decoder(blk);
	return comes_back;
}
