// SPDX-License-Identifier: BSD-2-Clause
/* See cs_flow.h. */
#include "cs_flow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cs_flow_init(struct cs_flow *flow, const struct auxtap_decode_opts *opts,
		  const struct cs_unit *unit)
{
	memset(flow, 0, sizeof(*flow));
	flow->opts = opts;
	flow->unit = unit;
	flow->cpu = unit->cpu;
	flow->pid = flow->tid = -1;
}

void cs_flow_free(struct cs_flow *flow)
{
	cs_memory_count_flush(&flow->mem);
	for (unsigned int i = flow->at_out; i < flow->nr_out; i++)
		flow_gap_free(flow->out[i].gap);
	flow_gap_free(flow->gap);
	callstack_free(&flow->calls);
}

/* ---- events ---- */

static bool wanted(const struct cs_flow *flow, uint32_t type)
{
	return flow_wanted(flow->opts, type, flow->time, flow->tid, flow->cpu);
}

static void stamp(const struct cs_flow *flow, struct flow_event *ev, uint32_t type)
{
	memset(ev, 0, sizeof(*ev));
	ev->type = type;
	ev->time = flow->time;
	ev->pid = flow->pid;
	ev->tid = flow->tid;
}

static struct flow_event *put(struct cs_flow *flow, uint32_t type)
{
	struct flow_event *ev;

	if (flow->nr_out == CS_FLOW_OUT) {
		flow->error = -ENOBUFS; /* more than an element can mean: never silent */
		return NULL;
	}
	ev = &flow->out[flow->nr_out++];
	stamp(flow, ev, type);
	ev->nr_insns = flow->insns_since;
	flow->insns_since = 0;
	return ev;
}

static void put_branch(struct cs_flow *flow, uint32_t type, uint64_t target, bool has_target)
{
	const struct flow_event *from = &flow->branch;
	struct flow_event *ev = wanted(flow, type) ? put(flow, type) : NULL;
	uint32_t depth = 0;

	if (type == AUXTAP_EVENT_CALL)
		depth = callstack_call(&flow->calls, from->ip + from->insn_size);
	else if (type == AUXTAP_EVENT_RETURN)
		depth = callstack_return(&flow->calls, has_target ? target : 0);
	if (!ev)
		return;
	ev->kind = from->kind;
	ev->ip = from->ip;
	ev->has_ip = true;
	ev->addr = has_target ? target : 0;
	ev->has_addr = has_target;
	ev->insn_size = from->insn_size;
	ev->isa = from->isa;
	ev->depth = depth;
	memcpy(ev->insn, from->insn, sizeof(ev->insn));
}

/* The pending branch went to target. */
static void resolve(struct cs_flow *flow, uint64_t target, bool has_target)
{
	const struct flow_event *from = &flow->branch;

	if (!flow->pending)
		return;
	flow->pending = false;
	if (from->kind == AUXTAP_BRANCH_COND &&
	    (!has_target || target == from->ip + from->insn_size))
		return;
	flow->sum.branches++;
	put_branch(flow, AUXTAP_EVENT_BRANCH, target, has_target);
	switch (from->kind) {
	case AUXTAP_BRANCH_CALL:
		/* to the next instruction: that only fetches the address */
		if (has_target && target == from->ip + from->insn_size)
			break;
		/* fall through */
	case AUXTAP_BRANCH_CALL_INDIRECT:
		put_branch(flow, AUXTAP_EVENT_CALL, target, has_target);
		break;
	case AUXTAP_BRANCH_RETURN:
		put_branch(flow, AUXTAP_EVENT_RETURN, target, has_target);
		break;
	default:
		break;
	}
}

/* An exception was taken; its handler is at to, if that is traced. */
static void resolve_async(struct cs_flow *flow, uint64_t to, bool has_to)
{
	struct flow_event *ev;

	if (!flow->async)
		return;
	flow->async = false;
	ev = wanted(flow, AUXTAP_EVENT_ASYNC) ? put(flow, AUXTAP_EVENT_ASYNC) : NULL;
	if (!ev)
		return;
	ev->ip = flow->async_ip;
	ev->has_ip = true;
	ev->addr = has_to ? to : 0;
	ev->has_addr = has_to;
}

static void put_trace(struct cs_flow *flow, bool on, uint64_t ip, bool has_ip)
{
	struct flow_event *ev =
		wanted(flow, AUXTAP_EVENT_TRACE) ? put(flow, AUXTAP_EVENT_TRACE) : NULL;

	if (!ev)
		return;
	ev->trace_on = on;
	if (on) {
		ev->addr = ip;
		ev->has_addr = has_ip;
	} else {
		ev->ip = ip;
		ev->has_ip = has_ip;
	}
}

/* ---- gaps ---- */

static struct flow_gap *open_gap(struct cs_flow *flow, enum auxtap_gap_cause cause,
				 const char *text)
{
	struct flow_gap *gap;

	flow->pending = flow->async = false;
	callstack_gap(&flow->calls);
	for (gap = flow->gap; gap; gap = gap->next)
		if (gap->gap.cause == cause)
			return gap;
	gap = calloc(1, sizeof(*gap));
	if (!gap) {
		flow->error = -ENOMEM; /* a gap must not be silent */
		return NULL;
	}
	gap->gap.cause = cause;
	gap->gap.cpu = flow->cpu;
	gap->gap.pid = flow->pid;
	gap->gap.tid = flow->tid;
	gap->gap.time_begin = flow->time;
	snprintf(gap->text, sizeof(gap->text), "%s", text);
	flow_gap_add(&flow->gap, gap);
	return gap;
}

static void close_gap(struct cs_flow *flow)
{
	struct flow_gap *gap = flow->gap;
	struct flow_event *ev;

	if (!gap)
		return;
	flow->gap = NULL;
	for (struct flow_gap *g = gap; g; g = g->next) {
		g->gap.time_end = flow->time;
		flow->sum.gaps++;
		if (g->gap.cause == AUXTAP_GAP_DECODE_ERROR)
			flow->sum.errors++;
	}
	ev = flow_wanted(flow->opts, AUXTAP_EVENT_GAP, gap->gap.time_begin, gap->gap.tid,
			 flow->cpu) ?
		     put(flow, AUXTAP_EVENT_GAP) :
		     NULL;
	if (!ev) {
		flow_gap_free(gap);
		return;
	}
	ev->time = gap->gap.time_begin;
	ev->pid = gap->gap.pid;
	ev->tid = gap->gap.tid;
	ev->gap = gap;
}

void cs_flow_lost(struct cs_flow *flow, enum auxtap_gap_cause cause, uint64_t nr_bytes, bool exact,
		  const char *why)
{
	struct flow_gap *gap;

	close_gap(flow);
	resolve(flow, 0, false);
	resolve_async(flow, 0, false);
	gap = open_gap(flow, cause, why);
	if (!gap)
		return;
	gap->gap.nr_bytes = nr_bytes;
	gap->gap.exact = exact;
}

/* ---- ranges ---- */

static void set_branch(struct cs_flow *flow, enum auxtap_branch_kind kind, uint64_t ip,
		       uint8_t size, enum auxtap_isa isa)
{
	struct flow_event *ev = &flow->branch;

	memset(ev, 0, sizeof(*ev));
	ev->kind = (uint8_t)kind;
	ev->ip = ip;
	ev->isa = (uint8_t)isa;
	ev->insn_size = size;
	cs_memory_read(&flow->mem, ip, size, ev->insn);
	flow->pending = true;
}

/* Flow goes on at addr. */
static void arrive(struct cs_flow *flow, uint64_t addr)
{
	if (flow->turns_on) {
		flow->turns_on = false;
		put_trace(flow, true, addr, true);
	}
	flow->enabled = true;
	resolve(flow, addr, true);
	resolve_async(flow, addr, true);
}

static void block(struct cs_flow *flow, const struct flow_step *step)
{
	uint32_t nr = step->nr_insns;
	uint64_t end = step->last_ip + step->size;

	close_gap(flow);
	arrive(flow, step->ip);
	if (!nr)
		return;
	flow->sum.instructions += nr;
	cs_memory_count(&flow->mem, step->ip, nr);
	stamp(flow, &flow->insn, AUXTAP_EVENT_INSN);
	flow->insn.ip = step->ip;
	flow->insn.has_ip = true;
	flow->insn.isa = step->isa;
	flow->insn.nr_insns = 1;
	if (wanted(flow, AUXTAP_EVENT_INSN)) {
		flow->range_left = nr;
		flow->range_end = end;
		flow->code_size = 0;
	}
	flow->insns_since += nr;
	if (wanted(flow, AUXTAP_EVENT_BLOCK)) {
		uint32_t since = flow->insns_since;
		struct flow_event *ev = put(flow, AUXTAP_EVENT_BLOCK);

		flow->insns_since = since;
		if (ev) {
			ev->ip = step->ip;
			ev->addr = step->last_ip;
			ev->has_ip = ev->has_addr = true;
			ev->isa = step->isa;
			ev->nr_insns = nr;
		}
	}
	flow->last_ip = step->last_ip;
	flow->last_end = end;
	if (step->branch != AUXTAP_BRANCH_NONE)
		set_branch(flow, (enum auxtap_branch_kind)step->branch, step->last_ip, step->size,
			   (enum auxtap_isa)step->isa);
}

/* T32: the first halfword shows whether there is a second. */
static uint8_t insn_size(enum auxtap_isa isa, const uint8_t *code)
{
	return isa == AUXTAP_ISA_T32 && code[1] >> 3 < 0x1d ? 2 : 4;
}

static bool next_insn(struct cs_flow *flow)
{
	struct flow_event *ev = &flow->insn;
	uint64_t at = flow->code_at;
	uint8_t size;

	ev->ip += ev->insn_size; /* of the one before; 0: no such instruction */
	if (!flow->range_left || ev->ip >= flow->range_end) {
		flow->range_left = 0;
		return false;
	}
	at = ev->ip - at;
	if (!flow->code_size || at + 4 > flow->code_size) {
		uint64_t rest = flow->range_end - ev->ip;

		flow->code_at = ev->ip;
		flow->code_size = cs_memory_read(&flow->mem, ev->ip,
						 rest < sizeof(flow->code) ? (uint32_t)rest :
									     sizeof(flow->code),
						 flow->code);
		at = 0;
	}
	memset(ev->insn, 0, sizeof(ev->insn));
	/* what the library has read can be read again; else only the size is a guess */
	size = flow->code_size >= 2 ? insn_size((enum auxtap_isa)ev->isa, flow->code + at) : 4;
	if (size > flow->range_end - ev->ip)
		size = (uint8_t)(flow->range_end - ev->ip);
	if (at + size <= flow->code_size)
		memcpy(ev->insn, flow->code + at, size);
	ev->insn_size = size;
	flow->range_left--;
	return true;
}

/* ---- steps ---- */

/* Whose code is at addr, is not known: nothing that would be looked up by the address is listed. */
static void in_doubt(struct cs_flow *flow, uint64_t addr)
{
	char text[96];

	if (flow->turns_on) {
		flow->turns_on = false;
		put_trace(flow, true, 0, false);
	}
	flow->enabled = true;
	resolve(flow, 0, false);
	resolve_async(flow, 0, false);
	flow->last_ip = flow->last_end = 0;
	for (const struct flow_gap *gap = flow->gap; gap; gap = gap->next)
		if (gap->gap.cause == AUXTAP_GAP_MAPS_CHANGED)
			return;
	snprintf(text, sizeof(text),
		 "what was mapped at %" PRIx64 " changed, and when it ran is not known exactly",
		 addr);
	open_gap(flow, AUXTAP_GAP_MAPS_CHANGED, text);
}

static void exception(struct cs_flow *flow, const struct flow_step *step)
{
	uint64_t ret = step->ip;
	/* of the kernel, the hypervisor, the firmware: by instructions, as other numbers are not */
	bool called = step->calls && flow->last_end;
	uint8_t size = (uint8_t)(flow->last_end - flow->last_ip);

	if (step->has_ip && cs_memory_in_doubt(&flow->mem, ret)) {
		resolve(flow, 0, false);
		in_doubt(flow, ret);
		return;
	}
	resolve_async(flow, 0, false); /* one after the other */
	if (!step->has_ip) {
		resolve(flow, 0, false);
		ret = flow->last_end;
	} else {
		resolve(flow, ret, true);
	}
	if (called && ret == flow->last_end) {
		set_branch(flow, AUXTAP_BRANCH_SYSCALL, flow->last_ip, size,
			   (enum auxtap_isa)flow->insn.isa);
		return;
	}
	flow->async = true;
	flow->async_ip = ret;
}

static void turn_off(struct cs_flow *flow)
{
	bool known = !flow->pending && flow->last_end;

	/* an overflow lasts until flow resumes, and is reported twice */
	if (flow->gap && flow->gap->gap.cause != AUXTAP_GAP_HW_OVERFLOW)
		close_gap(flow);
	resolve(flow, 0, false);
	resolve_async(flow, 0, false);
	if (flow->enabled)
		put_trace(flow, false, known ? flow->last_end : 0, known);
	flow->enabled = false;
	flow->last_ip = flow->last_end = 0;
}

static void no_code(struct cs_flow *flow, uint64_t ip)
{
	char text[96];

	if (cs_memory_in_doubt(&flow->mem, ip)) {
		in_doubt(flow, ip);
		return;
	}
	arrive(flow, ip);
	for (const struct flow_gap *gap = flow->gap; gap; gap = gap->next)
		if (gap->gap.cause == AUXTAP_GAP_NO_IMAGE)
			return;
	cs_memory_fault(&flow->mem, ip, text, sizeof(text));
	open_gap(flow, AUXTAP_GAP_NO_IMAGE, text);
	flow->last_ip = flow->last_end = 0;
}

static void no_path(struct cs_flow *flow, const struct flow_step *step)
{
	char text[96];

	close_gap(flow);
	arrive(flow, step->ip);
	snprintf(text, sizeof(text),
		 "%" PRIu32 " instructions whose path the trace does not contain", step->nr_insns);
	open_gap(flow, AUXTAP_GAP_UNKNOWN, text);
	flow->last_ip = flow->last_end = 0;
}

static void overflow(struct cs_flow *flow)
{
	open_gap(flow, AUXTAP_GAP_HW_OVERFLOW, "the trace unit's own buffer was full");
}

static void lost(struct cs_flow *flow, const struct flow_step *step)
{
	switch ((enum flow_loss)step->loss) {
	case FLOW_LOSS_NO_CODE:
		no_code(flow, step->ip);
		break;
	case FLOW_LOSS_NO_PATH:
		no_path(flow, step);
		break;
	case FLOW_LOSS_NO_ADDRESS:
		resolve(flow, 0, false);
		if (flow->enabled)
			open_gap(flow, AUXTAP_GAP_UNKNOWN,
				 "the trace does not contain the address");
		break;
	case FLOW_LOSS_OVERFLOW:
		turn_off(flow);
		overflow(flow);
		break;
	case FLOW_LOSS_PACKET:
		turn_off(flow);
		open_gap(flow, AUXTAP_GAP_DECODE_ERROR, step->why);
		break;
	case FLOW_LOSS_NO_MEMORY:
		flow->error = -ENOMEM;
		break;
	case FLOW_LOSS_NONE:
	case FLOW_LOSS_RESET:
		break;
	case FLOW_LOSS_ERROR:
	case FLOW_LOSS_CUT:
	case FLOW_LOSS_BROKEN:
		if (step->why)
			cs_flow_lost(flow, AUXTAP_GAP_DECODE_ERROR, 0, false, step->why);
		break;
	}
}

void cs_flow_step(struct cs_flow *flow, const struct flow_step *step)
{
	switch ((enum flow_kind)step->kind) {
	case FLOW_BLOCK:
		block(flow, step);
		break;
	case FLOW_ASYNC:
		exception(flow, step);
		break;
	case FLOW_ON:
		turn_off(flow);
		flow->turns_on = true;
		if (step->loss == FLOW_LOSS_OVERFLOW)
			overflow(flow);
		break;
	case FLOW_LOST:
		lost(flow, step);
		break;
	default:
		break;
	}
}

void cs_flow_break(struct cs_flow *flow)
{
	resolve(flow, 0, false);
	resolve_async(flow, 0, false);
	callstack_gap(&flow->calls);
	flow->last_ip = flow->last_end = 0;
}

void cs_flow_end(struct cs_flow *flow)
{
	flow->nr_out = flow->at_out = 0;
	flow->range_left = 0;
	resolve(flow, 0, false);
	resolve_async(flow, 0, false);
	close_gap(flow);
}

struct flow_event *cs_flow_event(struct cs_flow *flow)
{
	if (flow->at_out < flow->nr_out)
		return &flow->out[flow->at_out++];
	if (flow->range_left && next_insn(flow))
		return &flow->insn;
	return NULL;
}
