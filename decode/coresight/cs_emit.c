// SPDX-License-Identifier: BSD-2-Clause
/* See cs_emit.h; flow_ops.h says what steps and their losses are. */
#include "cs_emit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cs_emit_init(struct cs_emit *emit, const struct auxtap_decode_opts *opts,
		  const struct cs_unit *unit)
{
	memset(emit, 0, sizeof(*emit));
	emit->opts = opts;
	emit->unit = unit;
	emit->cpu = unit->cpu;
	emit->pid = emit->tid = -1;
}

void cs_emit_free(struct cs_emit *emit)
{
	cs_memory_count_flush(&emit->mem);
	for (unsigned int i = emit->at_out; i < emit->nr_out; i++)
		flow_gap_free(emit->out[i].gap);
	flow_gap_free(emit->gap);
	callstack_free(&emit->calls);
}

/* ---- events ---- */

static bool wanted(const struct cs_emit *emit, uint32_t type)
{
	return flow_wanted(emit->opts, type, emit->time, emit->tid, emit->cpu);
}

static void init_event(const struct cs_emit *emit, struct flow_event *ev, uint32_t type)
{
	memset(ev, 0, sizeof(*ev));
	ev->type = type;
	ev->time = emit->time;
	ev->pid = emit->pid;
	ev->tid = emit->tid;
}

static struct flow_event *add_event(struct cs_emit *emit, uint32_t type)
{
	struct flow_event *ev;

	if (emit->nr_out == CS_EMIT_OUT) {
		emit->error =
			-ENOBUFS; /* no step has that many events; losing one must not be silent */
		return NULL;
	}
	ev = &emit->out[emit->nr_out++];
	init_event(emit, ev, type);
	ev->nr_insns = emit->insns_since;
	emit->insns_since = 0;
	return ev;
}

static void add_branch(struct cs_emit *emit, uint32_t type, uint64_t target, bool has_target)
{
	const struct flow_event *from = &emit->branch;
	struct flow_event *ev = wanted(emit, type) ? add_event(emit, type) : NULL;
	uint32_t depth = 0;

	if (type == AUXTAP_EVENT_CALL)
		depth = callstack_call(&emit->calls, from->ip + from->insn_size);
	else if (type == AUXTAP_EVENT_RETURN)
		depth = callstack_return(&emit->calls, has_target ? target : 0);
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

/* Emits the pending branch, which went to target. */
static void resolve_branch(struct cs_emit *emit, uint64_t target, bool has_target)
{
	const struct flow_event *from = &emit->branch;

	if (!emit->branch_pending)
		return;
	emit->branch_pending = false;
	if (from->kind == AUXTAP_BRANCH_COND &&
	    (!has_target || target == from->ip + from->insn_size))
		return;
	emit->sum.branches++;
	add_branch(emit, AUXTAP_EVENT_BRANCH, target, has_target);
	switch (from->kind) {
	case AUXTAP_BRANCH_CALL:
		/* a call of the next instruction only fetches its address */
		if (has_target && target == from->ip + from->insn_size)
			break;
		/* fall through */
	case AUXTAP_BRANCH_CALL_INDIRECT:
		add_branch(emit, AUXTAP_EVENT_CALL, target, has_target);
		break;
	case AUXTAP_BRANCH_RETURN:
		add_branch(emit, AUXTAP_EVENT_RETURN, target, has_target);
		break;
	default:
		break;
	}
}

/* Emits the pending exception; its handler is at 'to', if the handler is traced. */
static void resolve_exception(struct cs_emit *emit, uint64_t to, bool has_to)
{
	struct flow_event *ev;

	if (!emit->exception_pending)
		return;
	emit->exception_pending = false;
	ev = wanted(emit, AUXTAP_EVENT_ASYNC) ? add_event(emit, AUXTAP_EVENT_ASYNC) : NULL;
	if (!ev)
		return;
	ev->ip = emit->exception_ip;
	ev->has_ip = true;
	ev->addr = has_to ? to : 0;
	ev->has_addr = has_to;
}

static void add_trace_event(struct cs_emit *emit, bool on, uint64_t ip, bool has_ip)
{
	struct flow_event *ev =
		wanted(emit, AUXTAP_EVENT_TRACE) ? add_event(emit, AUXTAP_EVENT_TRACE) : NULL;

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

static struct flow_gap *open_gap(struct cs_emit *emit, enum auxtap_gap_cause cause,
				 const char *text)
{
	struct flow_gap *gap;

	emit->branch_pending = emit->exception_pending = false;
	callstack_gap(&emit->calls);
	for (gap = emit->gap; gap; gap = gap->next)
		if (gap->gap.cause == cause)
			return gap;
	gap = calloc(1, sizeof(*gap));
	if (!gap) {
		emit->error = -ENOMEM; /* a gap must not be silent */
		return NULL;
	}
	gap->gap.cause = cause;
	gap->gap.cpu = emit->cpu;
	gap->gap.pid = emit->pid;
	gap->gap.tid = emit->tid;
	gap->gap.time_begin = emit->time;
	snprintf(gap->text, sizeof(gap->text), "%s", text);
	flow_gap_add(&emit->gap, gap);
	return gap;
}

static void close_gap(struct cs_emit *emit)
{
	struct flow_gap *gap = emit->gap;
	struct flow_event *ev;

	if (!gap)
		return;
	emit->gap = NULL;
	for (struct flow_gap *g = gap; g; g = g->next) {
		g->gap.time_end = emit->time;
		emit->sum.gaps++;
		if (g->gap.cause == AUXTAP_GAP_DECODE_ERROR)
			emit->sum.errors++;
	}
	ev = flow_wanted(emit->opts, AUXTAP_EVENT_GAP, gap->gap.time_begin, gap->gap.tid,
			 emit->cpu) ?
		     add_event(emit, AUXTAP_EVENT_GAP) :
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

void cs_emit_lost(struct cs_emit *emit, enum auxtap_gap_cause cause, uint64_t nr_bytes, bool exact,
		  const char *why)
{
	struct flow_gap *gap;

	close_gap(emit);
	resolve_branch(emit, 0, false);
	resolve_exception(emit, 0, false);
	gap = open_gap(emit, cause, why);
	if (!gap)
		return;
	gap->gap.nr_bytes = nr_bytes;
	gap->gap.exact = exact;
}

/* ---- ranges ---- */

static void set_branch(struct cs_emit *emit, enum auxtap_branch_kind kind, uint64_t ip,
		       uint8_t size, enum auxtap_isa isa)
{
	struct flow_event *ev = &emit->branch;

	memset(ev, 0, sizeof(*ev));
	ev->kind = (uint8_t)kind;
	ev->ip = ip;
	ev->isa = (uint8_t)isa;
	ev->insn_size = size;
	cs_memory_read(&emit->mem, ip, size, ev->insn);
	emit->branch_pending = true;
}

/* The flow goes on at addr, which completes a pending branch or exception. */
static void flow_reached(struct cs_emit *emit, uint64_t addr)
{
	if (emit->trace_on_pending) {
		emit->trace_on_pending = false;
		add_trace_event(emit, true, addr, true);
	}
	emit->trace_enabled = true;
	resolve_branch(emit, addr, true);
	resolve_exception(emit, addr, true);
}

static void emit_block(struct cs_emit *emit, const struct flow_step *step)
{
	uint32_t nr = step->nr_insns;
	uint64_t end = step->last_ip + step->size;

	close_gap(emit);
	flow_reached(emit, step->ip);
	if (!nr)
		return;
	emit->sum.instructions += nr;
	cs_memory_count(&emit->mem, step->ip, nr);
	init_event(emit, &emit->insn, AUXTAP_EVENT_INSN);
	emit->insn.ip = step->ip;
	emit->insn.has_ip = true;
	emit->insn.isa = step->isa;
	emit->insn.nr_insns = 1;
	if (wanted(emit, AUXTAP_EVENT_INSN)) {
		emit->range_left = nr;
		emit->range_end = end;
		emit->code_size = 0;
	}
	emit->insns_since += nr;
	if (wanted(emit, AUXTAP_EVENT_BLOCK)) {
		uint32_t since = emit->insns_since;
		struct flow_event *ev = add_event(emit, AUXTAP_EVENT_BLOCK);

		emit->insns_since = since;
		if (ev) {
			ev->ip = step->ip;
			ev->addr = step->last_ip;
			ev->has_ip = ev->has_addr = true;
			ev->isa = step->isa;
			ev->nr_insns = nr;
		}
	}
	emit->last_ip = step->last_ip;
	emit->last_end = end;
	if (step->branch != AUXTAP_BRANCH_NONE)
		set_branch(emit, (enum auxtap_branch_kind)step->branch, step->last_ip, step->size,
			   (enum auxtap_isa)step->isa);
}

/* T32: the first halfword shows whether there is a second. */
static uint8_t insn_size(enum auxtap_isa isa, const uint8_t *code)
{
	return isa == AUXTAP_ISA_T32 && code[1] >> 3 < 0x1d ? 2 : 4;
}

static bool next_insn(struct cs_emit *emit)
{
	struct flow_event *ev = &emit->insn;
	uint64_t at = emit->code_at;
	uint8_t size;

	ev->ip += ev->insn_size; /* of the previous instruction; 0 before the first */
	if (!emit->range_left || ev->ip >= emit->range_end) {
		emit->range_left = 0;
		return false;
	}
	at = ev->ip - at;
	if (!emit->code_size || at + 4 > emit->code_size) {
		uint64_t rest = emit->range_end - ev->ip;

		emit->code_at = ev->ip;
		emit->code_size = cs_memory_read(&emit->mem, ev->ip,
						 rest < sizeof(emit->code) ? (uint32_t)rest :
									     sizeof(emit->code),
						 emit->code);
		at = 0;
	}
	memset(ev->insn, 0, sizeof(ev->insn));
	/* the decoder has read this code; should it not be readable again, the size is a guess */
	size = emit->code_size >= 2 ? insn_size((enum auxtap_isa)ev->isa, emit->code + at) : 4;
	if (size > emit->range_end - ev->ip)
		size = (uint8_t)(emit->range_end - ev->ip);
	if (at + size <= emit->code_size)
		memcpy(ev->insn, emit->code + at, size);
	ev->insn_size = size;
	emit->range_left--;
	return true;
}

/* ---- steps ---- */

/* It is not known which code was at addr: emits no event that would look anything up by addr. */
static void emit_code_uncertain(struct cs_emit *emit, uint64_t addr)
{
	char text[96];

	if (emit->trace_on_pending) {
		emit->trace_on_pending = false;
		add_trace_event(emit, true, 0, false);
	}
	emit->trace_enabled = true;
	resolve_branch(emit, 0, false);
	resolve_exception(emit, 0, false);
	emit->last_ip = emit->last_end = 0;
	for (const struct flow_gap *gap = emit->gap; gap; gap = gap->next)
		if (gap->gap.cause == AUXTAP_GAP_MAPS_CHANGED)
			return;
	snprintf(text, sizeof(text),
		 "what was mapped at %" PRIx64 " changed, and when it ran is not known exactly",
		 addr);
	open_gap(emit, AUXTAP_GAP_MAPS_CHANGED, text);
}

static void emit_exception(struct cs_emit *emit, const struct flow_step *step)
{
	uint64_t ret = step->ip;
	/* a call of the kernel, the hypervisor or the firmware (SVC, HVC, SMC), not an interrupt */
	bool called = step->calls && emit->last_end;
	uint8_t size = (uint8_t)(emit->last_end - emit->last_ip);

	if (step->has_ip && cs_memory_code_uncertain(&emit->mem, ret)) {
		resolve_branch(emit, 0, false);
		emit_code_uncertain(emit, ret);
		return;
	}
	resolve_exception(emit, 0, false); /* the previous exception led directly to this one */
	if (!step->has_ip) {
		resolve_branch(emit, 0, false);
		ret = emit->last_end;
	} else {
		resolve_branch(emit, ret, true);
	}
	if (called && ret == emit->last_end) {
		set_branch(emit, AUXTAP_BRANCH_SYSCALL, emit->last_ip, size,
			   (enum auxtap_isa)emit->insn.isa);
		return;
	}
	emit->exception_pending = true;
	emit->exception_ip = ret;
}

static void emit_trace_off(struct cs_emit *emit)
{
	bool known = !emit->branch_pending && emit->last_end;

	/* the gap of an overflow lasts until the flow resumes: OpenCSD reports it twice */
	if (emit->gap && emit->gap->gap.cause != AUXTAP_GAP_HW_OVERFLOW)
		close_gap(emit);
	resolve_branch(emit, 0, false);
	resolve_exception(emit, 0, false);
	if (emit->trace_enabled)
		add_trace_event(emit, false, known ? emit->last_end : 0, known);
	emit->trace_enabled = false;
	emit->last_ip = emit->last_end = 0;
}

static void emit_no_code(struct cs_emit *emit, uint64_t ip)
{
	char text[96];

	if (cs_memory_code_uncertain(&emit->mem, ip)) {
		emit_code_uncertain(emit, ip);
		return;
	}
	flow_reached(emit, ip);
	for (const struct flow_gap *gap = emit->gap; gap; gap = gap->next)
		if (gap->gap.cause == AUXTAP_GAP_NO_IMAGE)
			return;
	cs_memory_describe_fault(&emit->mem, ip, text, sizeof(text));
	open_gap(emit, AUXTAP_GAP_NO_IMAGE, text);
	emit->last_ip = emit->last_end = 0;
}

static void emit_no_path(struct cs_emit *emit, const struct flow_step *step)
{
	char text[96];

	close_gap(emit);
	flow_reached(emit, step->ip);
	snprintf(text, sizeof(text),
		 "%" PRIu32 " instructions whose path the trace does not contain", step->nr_insns);
	open_gap(emit, AUXTAP_GAP_UNKNOWN, text);
	emit->last_ip = emit->last_end = 0;
}

static void emit_overflow(struct cs_emit *emit)
{
	open_gap(emit, AUXTAP_GAP_HW_OVERFLOW, "the trace unit's own buffer was full");
}

static void emit_lost(struct cs_emit *emit, const struct flow_step *step)
{
	switch ((enum flow_loss)step->loss) {
	case FLOW_LOSS_NO_CODE:
		emit_no_code(emit, step->ip);
		break;
	case FLOW_LOSS_NO_PATH:
		emit_no_path(emit, step);
		break;
	case FLOW_LOSS_NO_ADDRESS:
		resolve_branch(emit, 0, false);
		if (emit->trace_enabled)
			open_gap(emit, AUXTAP_GAP_UNKNOWN,
				 "the trace does not contain the address");
		break;
	case FLOW_LOSS_OVERFLOW:
		emit_trace_off(emit);
		emit_overflow(emit);
		break;
	case FLOW_LOSS_PACKET:
		emit_trace_off(emit);
		open_gap(emit, AUXTAP_GAP_DECODE_ERROR, step->why);
		break;
	case FLOW_LOSS_NO_MEMORY:
		emit->error = -ENOMEM;
		break;
	case FLOW_LOSS_NONE:
	case FLOW_LOSS_RESET:
		break;
	case FLOW_LOSS_ERROR:
	case FLOW_LOSS_CUT:
	case FLOW_LOSS_BROKEN:
		if (step->why)
			cs_emit_lost(emit, AUXTAP_GAP_DECODE_ERROR, 0, false, step->why);
		break;
	}
}

void cs_emit_step(struct cs_emit *emit, const struct flow_step *step)
{
	switch ((enum flow_kind)step->kind) {
	case FLOW_BLOCK:
		emit_block(emit, step);
		break;
	case FLOW_ASYNC:
		emit_exception(emit, step);
		break;
	case FLOW_ON:
		emit_trace_off(emit);
		emit->trace_on_pending = true;
		if (step->loss == FLOW_LOSS_OVERFLOW)
			emit_overflow(emit);
		break;
	case FLOW_LOST:
		emit_lost(emit, step);
		break;
	default:
		break;
	}
}

void cs_emit_discontinuity(struct cs_emit *emit)
{
	resolve_branch(emit, 0, false);
	resolve_exception(emit, 0, false);
	callstack_gap(&emit->calls);
	emit->last_ip = emit->last_end = 0;
}

void cs_emit_end(struct cs_emit *emit)
{
	emit->nr_out = emit->at_out = 0;
	emit->range_left = 0;
	resolve_branch(emit, 0, false);
	resolve_exception(emit, 0, false);
	close_gap(emit);
}

struct flow_event *cs_emit_event(struct cs_emit *emit)
{
	if (emit->at_out < emit->nr_out)
		return &emit->out[emit->at_out++];
	if (emit->range_left && next_insn(emit))
		return &emit->insn;
	return NULL;
}
