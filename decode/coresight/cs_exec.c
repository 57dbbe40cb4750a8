// SPDX-License-Identifier: BSD-2-Clause
/* See cs_exec.h. */
#include "cs_exec.h"
#include "util/vector.h"

#include <errno.h>
#include <stdlib.h>

struct scan {
	struct cs_starts *starts;
	bool called, on; /* a system call was the last exception; tracing went on after it */
	uint64_t ret;	 /* its return address */
	uint64_t on_off;
	bool no_memory;
};

static void add_start(struct scan *scan, uint64_t addr)
{
	struct cs_starts *starts = scan->starts;

	if (addr == scan->ret)
		return;
	if (!starts->is_entry(starts->ctx, addr)) {
		starts->elsewhere = true;
		starts->elsewhere_off = scan->on_off;
		return;
	}
	if (vector_grow(starts->list, starts->nr, starts->max)) {
		scan->no_memory = true;
		return;
	}
	starts->list[starts->nr++] = (struct cs_start){scan->on_off, addr};
}

static void on_async(struct scan *scan, const struct flow_step *step)
{
	/* a page fault at the program's first instruction comes before any block */
	if (scan->called && scan->on && !step->calls && step->has_ip)
		add_start(scan, step->ip);
	scan->starts->lost |= step->calls && !step->has_ip;
	scan->called = step->calls;
	scan->ret = step->ip;
	scan->on = false;
}

static void on_lost(struct scan *scan, const struct flow_step *step)
{
	if (step->loss == FLOW_LOSS_NO_CODE) {
		if (scan->called && scan->on)
			add_start(scan, step->ip);
	} else if (step->loss == FLOW_LOSS_NO_ADDRESS) {
		scan->starts->lost |= scan->called;
	} else if (step->loss != FLOW_LOSS_NO_PATH) {
		scan->starts->lost = true;
		/* an error of the library is no part of the flow: the call may still be pending */
		if (step->loss == FLOW_LOSS_ERROR || step->loss == FLOW_LOSS_BROKEN)
			return;
	} else {
		return;
	}
	scan->called = false;
}

static void scan_step(struct scan *scan, const struct flow_step *step)
{
	switch ((enum flow_kind)step->kind) {
	case FLOW_ASYNC:
		on_async(scan, step);
		break;
	case FLOW_ON:
		scan->starts->lost |= step->loss == FLOW_LOSS_OVERFLOW;
		scan->on = true;
		scan->on_off = step->pos;
		break;
	case FLOW_LOST:
		on_lost(scan, step);
		break;
	case FLOW_BLOCK:
		scan->starts->lost |= scan->called;
		scan->called = false;
		break;
	case FLOW_SYNC:
		scan->called = false;
		break;
	default:
		break;
	}
}

static uint32_t no_code(void *ctx, uint64_t addr, uint32_t space, uint32_t size, void *buf)
{
	(void)ctx;
	(void)addr;
	(void)space;
	(void)size;
	(void)buf;
	return 0;
}

/* Passes the bytes to the flow decoder. False: the decoder is broken. */
static bool scan_steps(struct scan *scan, const struct flow_ops *ops, struct flow *flow,
		       const struct flow_bytes *given)
{
	const struct flow_step *steps;
	size_t nr;

	ops->start(flow, given);
	while ((nr = ops->next(flow, &steps))) {
		for (size_t i = 0; i < nr; i++) {
			scan_step(scan, &steps[i]);
			scan->no_memory |= steps[i].loss == FLOW_LOSS_NO_MEMORY;
			if (steps[i].loss == FLOW_LOSS_BROKEN)
				return false;
		}
	}
	return true;
}

/* Errors are not reported here: the decode of the same bytes reports them. */
static void scan_bytes(struct scan *scan, const struct flow_ops *ops, struct flow *flow,
		       struct cs_bytes *bytes, uint64_t off)
{
	struct flow_bytes given = {.joins = false};
	uint64_t at;
	ssize_t got;

	while ((got = cs_bytes_next(bytes, &at)) > 0) {
		for (size_t done = 0; done < (size_t)got;) {
			given.data = bytes->buf + done;
			given.size = given.total = (size_t)got - done;
			given.off = off + at + done;
			if (!scan_steps(scan, ops, flow, &given) ||
			    ops->position(flow) <= given.off)
				return;
			done = (size_t)(ops->position(flow) - off - at);
			given.joins = true;
		}
	}
	scan->starts->lost |= got < 0 || bytes->at < bytes->size;
	given.size = given.total = 0;
	given.last = true;
	scan_steps(scan, ops, flow, &given);
}

int cs_starts_find(struct cs_starts *starts, const struct flow_ops *ops, void *shared,
		   const struct cs_unit *unit, struct cs_bytes *bytes, uint64_t off)
{
	struct scan scan = {.starts = starts};
	const struct cs_flow_source source = {.unit = unit,
					      .format = CS_FORMAT_SOURCE,
					      .read = no_code};
	struct flow *flow = ops->create(shared, &source);

	if (!flow)
		return -ENOMEM;
	scan_bytes(&scan, ops, flow, bytes, off);
	starts->open = scan.called;
	ops->destroy(flow);
	return scan.no_memory ? -ENOMEM : 0;
}
