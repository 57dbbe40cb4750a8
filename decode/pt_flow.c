// SPDX-License-Identifier: BSD-2-Clause
/*
 * libipt over one segment: its instruction decoder where single instructions are asked
 * for, else its block decoder. The two differ in names only; here they become one.
 */
#include "pt_queue.h"
#include "pt_scan.h"

#include <string.h>

int pt_flow_start(struct pt_queue *q)
{
	struct pt_config config = q->shared->config;
	struct pt_scan_head head;
	int ret;

	pt_flow_stop(q);
	config.begin = q->base;
	config.end = q->base + q->total;
	pt_scan_head(q->base, q->total, &head);
	q->flow.nr_status_left = head.nr_status;
	q->enabled = head.has_fup;
	if (q->shared->opts.events & AUXTAP_EVENT_INSN) {
		q->flow.insn = pt_insn_alloc_decoder(&config);
		ret = q->flow.insn ? pt_insn_sync_set(q->flow.insn, 0) : -pte_nomem;
	} else {
		config.flags.variant.block.end_on_call = 1;
		config.flags.variant.block.end_on_jump = 1;
		q->flow.blk = pt_blk_alloc_decoder(&config);
		ret = q->flow.blk ? pt_blk_sync_set(q->flow.blk, 0) : -pte_nomem;
	}
	q->flow.status = ret;
	if (q->image)
		pt_flow_set_image(q, q->image);
	return ret < 0 ? ret : 0;
}

void pt_flow_stop(struct pt_queue *q)
{
	if (q->flow.insn)
		pt_insn_free_decoder(q->flow.insn);
	if (q->flow.blk)
		pt_blk_free_decoder(q->flow.blk);
	q->flow.insn = NULL;
	q->flow.blk = NULL;
}

static int next_insn(struct pt_queue *q, struct pt_step *step)
{
	struct pt_insn insn;
	int ret = pt_insn_next(q->flow.insn, &insn, sizeof(insn));

	step->ip = step->end_ip = insn.ip;
	step->iclass = insn.iclass;
	step->nr_insns = insn.iclass != ptic_error && insn.size;
	step->bits_32 = insn.mode == ptem_32bit;
	step->have_raw = true;
	step->size = insn.size <= 15 ? insn.size : 15;
	memcpy(step->raw, insn.raw, step->size);
	return ret;
}

static int next_block(struct pt_queue *q, struct pt_step *step)
{
	struct pt_block block;
	int ret = pt_blk_next(q->flow.blk, &block, sizeof(block));

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

int pt_flow_next(struct pt_queue *q, struct pt_step *step)
{
	memset(step, 0, sizeof(*step));
	q->flow.status = q->flow.insn ? next_insn(q, step) : next_block(q, step);
	return q->flow.status;
}

int pt_flow_event(struct pt_queue *q, struct pt_event *ev)
{
	q->flow.status = q->flow.insn ? pt_insn_event(q->flow.insn, ev, sizeof(*ev))
				      : pt_blk_event(q->flow.blk, ev, sizeof(*ev));
	return q->flow.status;
}

size_t pt_flow_offset(struct pt_queue *q)
{
	uint64_t off = 0;
	int ret = q->flow.insn ? pt_insn_get_offset(q->flow.insn, &off)
			       : pt_blk_get_offset(q->flow.blk, &off);

	/* out of sync: behind the PSB */
	if (ret < 0)
		return q->total < 16 ? q->total : 16;
	return off < q->total ? (size_t)off : q->total;
}

uint64_t pt_flow_tsc(struct pt_queue *q)
{
	uint64_t tsc = 0;
	int ret = q->flow.insn ? pt_insn_time(q->flow.insn, &tsc, NULL, NULL)
			       : pt_blk_time(q->flow.blk, &tsc, NULL, NULL);

	return ret < 0 ? 0 : tsc;
}

void pt_flow_set_image(struct pt_queue *q, struct pt_image *image)
{
	if (q->flow.insn)
		pt_insn_set_image(q->flow.insn, image);
	else if (q->flow.blk)
		pt_blk_set_image(q->flow.blk, image);
}
