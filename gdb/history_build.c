// SPDX-License-Identifier: BSD-2-Clause
/* Builds each thread's sequence of entries from the decoder's events; see history.h. */
#include "decode/flow/branch_insn.h"
#include "history_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/vector.h"

#define MAX_CALLS	  (1u << 20) /* open calls; of more the outermost are dropped */
#define MAX_SEARCH	  4096	     /* calls that one return may leave (longjmp, exceptions) */
#define DEPTHS_PER_SPAN	  (1ll << 32)
#define X86_SYSCALL_BYTES 2

static struct history_thread *thread_of(struct history *h, const struct auxtap_event *ev)
{
	struct history_thread *t;
	int found;

	/* usually it is the thread of the last event */
	if (h->nr_slices && h->threads[h->slices[h->nr_slices - 1].thread].tid == ev->tid)
		return &h->threads[h->slices[h->nr_slices - 1].thread];
	found = history_find(h, ev->tid);
	if (found >= 0)
		return &h->threads[found];
	if (vector_grow(h->threads, h->nr_threads, h->max_threads))
		return NULL;
	t = &h->threads[h->nr_threads];
	memset(t, 0, sizeof(*t));
	t->partial = calloc(HISTORY_CHUNK, sizeof(*t->partial));
	if (!t->partial)
		return NULL;
	t->pid = ev->pid;
	t->tid = ev->tid;
	h->nr_threads++;
	return t;
}

static bool has_chunk(const struct history_thread *t)
{
	return t->first_kept / HISTORY_CHUNK < t->nr_chunks;
}

/* Drops the oldest chunk of the thread with the most, until the rest fits. */
static void enforce_limit(struct history *h)
{
	while (h->nr_bytes > h->max_bytes) {
		struct history_thread *most = NULL;

		for (size_t i = 0; i < h->nr_threads; i++) {
			struct history_thread *t = &h->threads[i];

			if (has_chunk(t) &&
			    (!most || t->nr - t->first_kept > most->nr - most->first_kept))
				most = t;
		}
		if (!most)
			return;
		chunk_drop(h, most);
		if (most->first >= most->first_kept)
			continue;
		most->first = most->first_kept;
		most->begin_why = "the history before is longer than the bound; see --memory";
	}
}

static int close_chunk(struct history *h, struct history_thread *t)
{
	struct history_chunk *chunk;

	if (!t->nr_partial)
		return 0;
	chunk = &t->chunks[t->nr_chunks]; /* open_chunk() made space for it */
	if (chunk_pack(h, chunk, t->partial, t->nr_partial))
		return -ENOMEM;
	t->nr_chunks++;
	t->nr_partial = 0;
	enforce_limit(h);
	return 0;
}

static int open_chunk(struct history_thread *t)
{
	if (vector_grow(t->chunks, t->nr_chunks, t->max_chunks))
		return -ENOMEM;
	t->chunks[t->nr_chunks] = (struct history_chunk){.icount = t->nr_insns,
							 .time = t->time_last,
							 .depth = t->depth,
							 .min_depth = t->depth};
	return 0;
}

static int extend_slice(struct history *h, uint32_t thread)
{
	if (!h->nr_slices || h->slices[h->nr_slices - 1].thread != thread) {
		if (vector_grow(h->slices, h->nr_slices, h->max_slices))
			return -ENOMEM;
		h->slices[h->nr_slices++] = (struct history_slice){.thread = thread};
	}
	h->slices[h->nr_slices - 1].nr++;
	return 0;
}

int64_t history_depth(const struct history_entry *entry, int64_t depth)
{
	switch (entry->kind) {
	case ENTRY_CALL:
	case ENTRY_SIGNAL:
		return depth + 1;
	case ENTRY_RETURN:
		return depth - entry->nr;
	case ENTRY_RETURN_UNMATCHED:
		return depth - 1;
	case ENTRY_STACK_RESET:
	case ENTRY_GAP:
		return (depth / DEPTHS_PER_SPAN + 1) * DEPTHS_PER_SPAN + DEPTHS_PER_SPAN / 2;
	case ENTRY_BLOCK:
		break;
	}
	return depth;
}

static int append(struct history *h, struct history_thread *t, const struct history_entry *entry)
{
	uint32_t id = history_intern(h, entry);
	struct history_chunk *chunk;

	if (id == ENTRY_NONE || (!t->nr_partial && open_chunk(t)) ||
	    extend_slice(h, (uint32_t)(t - h->threads)))
		return -ENOMEM;
	chunk = &t->chunks[t->nr_chunks];
	t->partial[t->nr_partial++] = id;
	t->nr++;
	t->depth = history_depth(entry, t->depth);
	if (t->depth < chunk->min_depth)
		chunk->min_depth = t->depth;
	return t->nr_partial == HISTORY_CHUNK ? close_chunk(h, t) : 0;
}

/* ---- calls ---- */

static int push_call(struct history *h, struct history_thread *t, enum history_kind kind,
		     uint64_t return_addr, uint64_t entered)
{
	struct history_entry entry = {.kind = kind, .ip = return_addr, .last = entered};

	if (append(h, t, &entry))
		return -ENOMEM;
	if (t->nr_calls == MAX_CALLS) { /* drop the outermost quarter */
		t->nr_calls -= MAX_CALLS / 4;
		memmove(t->calls, t->calls + MAX_CALLS / 4, t->nr_calls * sizeof(*t->calls));
	}
	if (vector_grow(t->calls, t->nr_calls, t->max_calls))
		return -ENOMEM;
	t->calls[t->nr_calls++] = (struct history_open_call){return_addr, kind == ENTRY_SIGNAL};
	return 0;
}

static int pop_calls(struct history *h, struct history_thread *t, size_t nr, uint64_t to)
{
	struct history_entry entry = {.kind = ENTRY_RETURN, .nr = (uint32_t)nr, .ip = to};

	t->nr_calls -= nr;
	return append(h, t, &entry);
}

static int reset_stack(struct history *h, struct history_thread *t, uint64_t to)
{
	struct history_entry entry = {.kind = ENTRY_STACK_RESET, .ip = to};

	t->nr_calls = 0;
	return append(h, t, &entry);
}

/* The number of calls that a return, or the end of a handler, leaves; 0: it matches none. */
static size_t nr_returned_calls(const struct history_thread *t, uint64_t return_addr, bool signal)
{
	for (size_t nr = 1; nr <= t->nr_calls && nr <= MAX_SEARCH; nr++) {
		const struct history_open_call *call = &t->calls[t->nr_calls - nr];

		if (call->signal == signal && (signal || call->return_addr == return_addr))
			return nr;
		if (call->signal)
			return 0; /* a handler does not return into the interrupted function */
	}
	return 0;
}

static int add_call(struct history *h, struct history_thread *t, const struct auxtap_event *ev)
{
	uint64_t return_addr = ev->ip + (ev->insn_size ? ev->insn_size : 4);

	if (hash_map_find(&h->returns, hash_number(return_addr)) == HASH_MAP_NONE &&
	    hash_map_add(&h->returns, hash_number(return_addr), 0))
		return -ENOMEM;
	return push_call(h, t, ENTRY_CALL, return_addr, ev->has_addr ? ev->addr : 0);
}

static int add_return(struct history *h, struct history_thread *t, const struct auxtap_event *ev)
{
	struct history_entry out = {.kind = ENTRY_RETURN_UNMATCHED, .ip = ev->addr};
	size_t nr;

	if (!ev->has_addr)
		return reset_stack(h, t, 0);
	nr = nr_returned_calls(t, ev->addr, false);
	if (nr)
		return pop_calls(h, t, nr, ev->addr);
	nr = nr_returned_calls(t, 0, true);
	if (nr) { /* to the restorer */
		t->in_sigreturn = true;
		return nr > 1 ? pop_calls(h, t, nr - 1, ev->addr) : 0;
	}
	if (t->nr_calls)
		return reset_stack(h, t, ev->addr);
	return append(h, t, &out);
}

/*
 * An indirect jump out of a function to the return address of a call is longjmp() to the caller of
 * setjmp(), or a switch to another stack.
 */
static int add_jump(struct history *h, struct history_thread *t, const struct auxtap_event *ev)
{
	if (!ev->has_addr || hash_map_find(&h->returns, hash_number(ev->addr)) == HASH_MAP_NONE)
		return 0;
	if (h->code && h->code->same_function(h->code->ctx, ev->ip, ev->addr, ev->time))
		return 0;
	return reset_stack(h, t, ev->addr);
}

/*
 * ---- tracing off and on: system calls, signals ----
 *
 * While the kernel runs, tracing is off. If it resumes neither after the system call nor at the
 * interrupted instruction, a signal handler was entered: that is a call, and rt_sigreturn() at the
 * handler's end returns from it.
 */

static uint64_t after_stop(const struct history_thread *t, enum auxtap_isa isa)
{
	unsigned int size =
		isa == AUXTAP_ISA_X86 || isa == AUXTAP_ISA_X86_32 ? X86_SYSCALL_BYTES : 4;

	return t->in_syscall ? t->stop_ip + size : t->stop_ip;
}

static int trace_resumes(struct history *h, struct history_thread *t, const struct auxtap_event *ev,
			 uint64_t ip)
{
	uint64_t expected = after_stop(t, ev->isa);
	bool stopped = t->stopped, in_sigreturn = t->in_sigreturn;
	size_t nr = in_sigreturn ? nr_returned_calls(t, 0, true) : 0;

	t->stopped = t->in_sigreturn = false;
	if (nr)
		return pop_calls(h, t, nr, ip);
	if (!stopped || ip == expected || ip == t->stop_ip)
		return 0;
	return push_call(h, t, ENTRY_SIGNAL, expected, ip);
}

static void trace_stops(struct history_thread *t, uint64_t ip, bool in_syscall)
{
	t->stopped = true;
	t->stop_ip = ip;
	t->in_syscall = in_syscall;
}

static int add_trace(struct history *h, struct history_thread *t, const struct auxtap_event *ev)
{
	if (ev->trace_on)
		return ev->has_addr ? trace_resumes(h, t, ev, ev->addr) : 0;
	if (ev->has_ip && !t->stopped)
		trace_stops(t, ev->ip, false);
	return 0;
}

static int add_async(struct history *h, struct history_thread *t, const struct auxtap_event *ev)
{
	if (!ev->has_ip)
		return 0;
	trace_stops(t, ev->ip, false);
	return ev->has_addr ? trace_resumes(h, t, ev, ev->addr) : 0;
}

static int add_branch(struct history *h, struct history_thread *t, const struct auxtap_event *ev)
{
	if (branch_enters_kernel(ev->kind)) {
		trace_stops(t, ev->ip, true);
		/* an ETM traces the exception that enters the kernel, without a stop */
		return ev->has_addr ? trace_resumes(h, t, ev, ev->addr) : 0;
	}
	return ev->kind == AUXTAP_BRANCH_JUMP_INDIRECT ? add_jump(h, t, ev) : 0;
}

/* ---- blocks and gaps ---- */

static int add_block(struct history *h, struct history_thread *t, const struct auxtap_event *ev)
{
	struct history_entry entry = {.kind = ENTRY_BLOCK,
				      .nr = ev->nr_insns,
				      .ip = ev->ip,
				      .last = ev->addr,
				      .time = ev->time};

	if (!ev->nr_insns || ev->addr < ev->ip)
		return 0;
	if (append(h, t, &entry))
		return -ENOMEM;
	t->nr_insns += ev->nr_insns;
	return 0;
}

static char *gap_text(const struct auxtap_event *ev)
{
	const struct auxtap_gap *gap = ev->gap;
	char bytes[64] = "", *text;

	if (gap->exact || gap->nr_bytes)
		snprintf(bytes, sizeof(bytes), ", %s%" PRIu64 " bytes of trace",
			 gap->exact ? "" : "at least ", gap->nr_bytes);
	if (asprintf(&text, "%s%s%s%s", auxtap_gap_cause_name(gap->cause),
		     ev->text && *ev->text ? ": " : "", ev->text ? ev->text : "", bytes) < 0)
		return NULL;
	return text;
}

static int add_gap(struct history *h, struct history_thread *t, const struct auxtap_event *ev)
{
	struct history_entry entry = {.kind = ENTRY_GAP, .nr = (uint32_t)h->nr_gaps};

	if (vector_grow(h->gaps, h->nr_gaps, h->max_gaps))
		return -ENOMEM;
	h->gaps[h->nr_gaps].text = gap_text(ev);
	if (!h->gaps[h->nr_gaps].text)
		return -ENOMEM;
	h->nr_gaps++;
	t->stopped = t->in_sigreturn = false;
	t->nr_calls = 0;
	return append(h, t, &entry);
}

/* Notes where the thread is after the event. */
static void note_end(struct history_thread *t, const struct auxtap_event *ev)
{
	switch (ev->type) {
	case AUXTAP_EVENT_BLOCK:
	case AUXTAP_EVENT_GAP:
		t->end_known = false;
		break;
	case AUXTAP_EVENT_ASYNC:
		t->end_known = ev->has_ip;
		t->end_ip = ev->ip;
		break;
	case AUXTAP_EVENT_BRANCH:
		t->end_known = ev->has_addr;
		t->end_ip = ev->addr;
		break;
	case AUXTAP_EVENT_TRACE:
		if (ev->trace_on) {
			t->end_known = ev->has_addr;
			t->end_ip = ev->addr;
		}
		break;
	default:
		break;
	}
}

int history_add(struct history *h, const struct auxtap_event *ev)
{
	struct history_thread *t = ev->tid < 0 ? NULL : thread_of(h, ev);

	if (ev->tid < 0)
		return 0;
	if (!t)
		return -ENOMEM;
	if (ev->comm)
		t->comm = ev->comm;
	if (ev->time)
		t->time_last = ev->time;
	else if (ev->type == AUXTAP_EVENT_BLOCK)
		h->ordered = false;
	note_end(t, ev);
	switch (ev->type) {
	case AUXTAP_EVENT_BLOCK:
		return add_block(h, t, ev);
	case AUXTAP_EVENT_BRANCH:
		return add_branch(h, t, ev);
	case AUXTAP_EVENT_CALL:
		return add_call(h, t, ev);
	case AUXTAP_EVENT_RETURN:
		return add_return(h, t, ev);
	case AUXTAP_EVENT_ASYNC:
		return add_async(h, t, ev);
	case AUXTAP_EVENT_TRACE:
		return add_trace(h, t, ev);
	case AUXTAP_EVENT_GAP:
		return add_gap(h, t, ev);
	default:
		return 0;
	}
}

void history_exec(struct history *h, int32_t pid, const char *why)
{
	for (size_t i = 0; i < h->nr_threads; i++) {
		struct history_thread *t = &h->threads[i];

		if (t->pid != pid)
			continue;
		t->first = t->nr;
		t->begin_why = why;
		t->stopped = t->in_sigreturn = t->end_known = false;
		t->nr_calls = 0;
		while (has_chunk(t) && t->first_kept + HISTORY_CHUNK <= t->first)
			chunk_drop(h, t);
	}
}

int history_finish(struct history *h)
{
	for (size_t i = 0; i < h->nr_threads; i++) {
		struct history_thread *t = &h->threads[i];

		if (close_chunk(h, t))
			return -ENOMEM;
		free(t->partial);
		free(t->calls);
		t->partial = NULL;
		t->calls = NULL;
		t->nr_calls = t->max_calls = 0;
	}
	h->ordered = h->ordered || h->nr_threads == 1;
	return 0;
}
