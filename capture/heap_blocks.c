// SPDX-License-Identifier: BSD-2-Clause
/*
 * The blocks of the heap that a dying thread points into: who allocated and who freed them, from
 * what the engine saw of the calls. The newest allocation of an address decides which block it is
 * in; what the engine missed makes everything before it unknown.
 */
#include "heap_blocks.h"
#include "session.h"
#include "util/sized.h"

#include <stdlib.h>
#include <string.h>

#define MAX_HEADER 4096 /* bytes of an own allocator before the part that it gives away */

struct blocks {
	const struct auxtap_heap_event *event;
	size_t nr_events;
	size_t last;   /* the dying thread's newest, without mappings; nr_events: none */
	size_t oldest; /* events before it are of no use: something was missed there */
	struct auxtap_crash_block *found;
	int nr;
};

/* Not: MISSED, one that was being written, or whose memory the program overwrote. */
static bool is_valid(const struct auxtap_heap_event *e)
{
	return e->kind >= AUXTAP_HEAP_ALLOCATED && e->kind <= AUXTAP_HEAP_UNMAPPED && e->addr &&
	       e->addr + e->nr_bytes >= e->addr;
}

static bool is_mapping(const struct auxtap_heap_event *e)
{
	return e->kind == AUXTAP_HEAP_MAPPED || e->kind == AUXTAP_HEAP_UNMAPPED;
}

static void skip_missed(struct blocks *b)
{
	for (size_t i = b->nr_events; i-- > 0;) {
		if (!is_valid(&b->event[i])) {
			b->oldest = i + 1;
			return;
		}
	}
}

static void set_bad_free(struct auxtap_crash_block *block, const struct auxtap_heap_event *e)
{
	block->flags |= AUXTAP_BLOCK_BAD_FREE;
	block->bad_free_at = e->caller;
	block->bad_free_tid = e->tid;
	block->bad_free_offset = e->addr - block->addr;
}

static void set_freed(struct auxtap_crash_block *block, const struct auxtap_heap_event *e)
{
	block->flags |= AUXTAP_BLOCK_FREED;
	block->freed_at = e->caller;
	block->freed_tid = e->tid;
}

/*
 * The frees of the block since event number 'from'; there is no allocation between them. A second
 * one counts only if the dying thread did that, and was freeing the block last: the C library
 * itself frees blocks of its own cache once more as a thread ends.
 */
static void add_frees(const struct blocks *b, size_t from, struct auxtap_crash_block *block)
{
	const bool is_last = b->last < b->nr_events && b->event[b->last].addr == block->addr &&
			     b->event[b->last].kind == AUXTAP_HEAP_FREED;

	for (size_t i = from; i < b->nr_events; i++) {
		const struct auxtap_heap_event *e = &b->event[i];

		if (e->addr != block->addr)
			continue;
		if (e->kind == AUXTAP_HEAP_KEPT) {
			block->flags &= ~AUXTAP_BLOCK_FREED;
			block->freed_at = 0;
		} else if (e->kind == AUXTAP_HEAP_FREED && !(block->flags & AUXTAP_BLOCK_FREED)) {
			set_freed(block, e);
		} else if (e->kind == AUXTAP_HEAP_FREED && is_last && i <= b->last &&
			   e->tid == b->event[b->last].tid &&
			   !(block->flags & AUXTAP_BLOCK_BAD_FREE)) {
			set_bad_free(block, e);
		}
	}
}

/* A program's own allocator gives away a part of a block, which it then frees as a whole. */
static void add_free_around(const struct blocks *b, size_t from, struct auxtap_crash_block *block)
{
	for (size_t i = from; i < b->nr_events && !(block->flags & AUXTAP_BLOCK_FREED); i++) {
		const struct auxtap_heap_event *e = &b->event[i];

		if (e->kind != AUXTAP_HEAP_FREED || e->addr >= block->addr ||
		    block->addr - e->addr > MAX_HEADER)
			continue;
		for (size_t k = i; k-- > b->oldest;) {
			const struct auxtap_heap_event *whole = &b->event[k];

			if (whole->kind != AUXTAP_HEAP_ALLOCATED || whole->addr != e->addr)
				continue;
			if (block->addr - whole->addr < whole->nr_bytes)
				set_freed(block, e);
			break;
		}
	}
}

/* free() ends the program when it finds that no block begins there, so this is the last event. */
static void add_free_inside(const struct blocks *b, struct auxtap_crash_block *block)
{
	const struct auxtap_heap_event *last = b->last < b->nr_events ? &b->event[b->last] : NULL;

	if (last && last->kind == AUXTAP_HEAP_FREED && last->addr > block->addr &&
	    last->addr - block->addr < block->nr_bytes && !(block->flags & AUXTAP_BLOCK_FREED))
		set_bad_free(block, last);
}

static void add(struct blocks *b, const struct auxtap_crash_block *block)
{
	for (int i = 0; i < b->nr; i++)
		if (b->found[i].addr == block->addr)
			return;
	if (b->nr < AUXTAP_MAX_BLOCKS)
		b->found[b->nr++] = *block;
}

static bool is_inside(uint64_t pointer, const struct auxtap_heap_event *e)
{
	return pointer == e->addr || (pointer > e->addr && pointer - e->addr < e->nr_bytes);
}

/* Where loops over a block end. */
static bool is_past(uint64_t pointer, const struct auxtap_heap_event *e)
{
	return pointer == e->addr + e->nr_bytes;
}

/* The first event of which what is at the pointer may be a result. */
static size_t first_for(const struct blocks *b, uint64_t pointer)
{
	for (size_t i = b->nr_events; i-- > b->oldest;)
		if (b->event[i].kind == AUXTAP_HEAP_MAPPED && is_inside(pointer, &b->event[i]))
			return i + 1;
	return b->oldest;
}

static bool was_unmapped(const struct blocks *b, size_t from, uint64_t pointer)
{
	for (size_t i = from; i < b->nr_events; i++)
		if (b->event[i].kind == AUXTAP_HEAP_UNMAPPED && is_inside(pointer, &b->event[i]))
			return true;
	return false;
}

/* Between two events: the block that the first allocated, or maybe one that it is a part of. */
static bool was_freed(const struct blocks *b, size_t nr, size_t end)
{
	for (size_t i = nr + 1; i < end; i++)
		if (b->event[i].kind == AUXTAP_HEAP_FREED &&
		    b->event[i].addr <= b->event[nr].addr &&
		    b->event[nr].addr - b->event[i].addr <= MAX_HEADER)
			return true;
	return false;
}

/* A part of it is, or was, another block since: which one a pointer means is not known. */
static bool is_reused(const struct blocks *b, size_t nr)
{
	const struct auxtap_heap_event *old = &b->event[nr];

	for (size_t i = nr + 1; i < b->nr_events; i++) {
		const struct auxtap_heap_event *e = &b->event[i];

		/* one within it is of its owner's own allocator, if it was not freed before */
		if (e->kind == AUXTAP_HEAP_ALLOCATED && e->addr < old->addr + old->nr_bytes &&
		    old->addr < e->addr + e->nr_bytes && was_freed(b, nr, i))
			return true;
	}
	return false;
}

static bool find_allocation(struct blocks *b, uint64_t pointer,
			    bool (*is_there)(uint64_t, const struct auxtap_heap_event *))
{
	const size_t first = first_for(b, pointer);

	for (size_t i = b->nr_events; i-- > first;) {
		const struct auxtap_heap_event *e = &b->event[i];
		struct auxtap_crash_block block = {.size = sizeof(block),
						   .addr = e->addr,
						   .nr_bytes = e->nr_bytes,
						   .allocated_at = e->caller,
						   .allocated_tid = e->tid};

		if (e->kind != AUXTAP_HEAP_ALLOCATED || !is_there(pointer, e))
			continue;
		if (is_reused(b, i))
			return false;
		add_frees(b, i + 1, &block);
		add_free_around(b, i + 1, &block);
		if (is_there == is_past && block.flags & AUXTAP_BLOCK_FREED)
			return false;
		if (!(block.flags & AUXTAP_BLOCK_FREED) && was_unmapped(b, i + 1, pointer))
			return false;
		add_free_inside(b, &block);
		add(b, &block);
		return true;
	}
	return false;
}

/* A block of which only the first byte's address is known, if it has been freed. */
static bool find_free(struct blocks *b, uint64_t pointer)
{
	struct auxtap_crash_block block = {.size = sizeof(block), .addr = pointer};
	size_t first = first_for(b, pointer);

	block.flags = AUXTAP_BLOCK_UNKNOWN;
	for (size_t i = first; i < b->nr_events; i++) {
		if (b->event[i].kind != AUXTAP_HEAP_ALLOCATED || !is_inside(pointer, &b->event[i]))
			continue;
		first = i + 1;
		block.flags = 0;
	}
	add_frees(b, first, &block);
	if (!(block.flags & AUXTAP_BLOCK_FREED))
		return false;
	add(b, &block);
	return true;
}

/*
 * Keeps of the mapping, or of what was unmapped, the part around the pointer that no later event
 * changed: munmap() and MAP_FIXED may be of a few pages within it.
 */
static void cut_mapping(const struct blocks *b, size_t nr, uint64_t pointer,
			struct auxtap_crash_block *block)
{
	for (size_t i = nr + 1; i < b->nr_events; i++) {
		const struct auxtap_heap_event *e = &b->event[i];
		const uint64_t end = block->addr + block->nr_bytes;

		if (!is_mapping(e) || e->addr >= end || e->addr + e->nr_bytes <= block->addr)
			continue;
		if (pointer < e->addr) {
			block->nr_bytes = e->addr - block->addr;
		} else {
			block->nr_bytes =
				e->addr + e->nr_bytes < end ? end - e->addr - e->nr_bytes : 0;
			block->addr = e->addr + e->nr_bytes;
		}
	}
}

/* What is mapped there, or was unmapped. */
static bool find_mapping(struct blocks *b, uint64_t pointer,
			 bool (*is_there)(uint64_t, const struct auxtap_heap_event *))
{
	struct auxtap_crash_block block = {.size = sizeof(block), .flags = AUXTAP_BLOCK_MAPPING};

	for (size_t i = b->nr_events; i-- > b->oldest;) {
		const struct auxtap_heap_event *e = &b->event[i];

		if (!is_mapping(e) || !is_there(pointer, e))
			continue;
		if (!block.addr) {
			block.addr = e->addr;
			block.nr_bytes = e->nr_bytes;
			cut_mapping(b, i, pointer, &block);
			if (!block.nr_bytes) /* its last bytes, before which the pointer's are */
				return false;
		}
		if (e->kind == AUXTAP_HEAP_MAPPED) {
			block.allocated_at = e->caller;
			block.allocated_tid = e->tid;
			break;
		}
		if (block.flags & AUXTAP_BLOCK_FREED)
			break; /* unmapped twice: what was mapped between is unknown */
		set_freed(&block, e);
	}
	if (!block.freed_at && !block.allocated_at)
		return false;
	add(b, &block);
	return true;
}

static void find_block(struct blocks *b, uint64_t pointer)
{
	/* if its allocation is older than the events, the block is known by its address only */
	if (!find_allocation(b, pointer, is_inside) && !find_allocation(b, pointer, is_past) &&
	    !find_free(b, pointer) && !find_mapping(b, pointer, is_inside))
		find_mapping(b, pointer, is_past);
}

static void find_last(struct blocks *b, pid_t tid)
{
	b->last = b->nr_events;
	for (size_t i = b->nr_events; i-- > b->oldest && b->last == b->nr_events;)
		if (b->event[i].tid == tid && !is_mapping(&b->event[i]))
			b->last = i;
}

static int general_regs(const struct auxtap_regs *regs, uint64_t *value)
{
	int nr = 0;

	for (int i = 0; i < AUXTAP_A64_LR; i++) {
		if (regs->arch == AUXTAP_ARCH_X86_64 &&
		    (i >= AUXTAP_X86_NR_REGS || (i >= AUXTAP_X86_SP && i <= AUXTAP_X86_GS)))
			continue;
		if (regs->valid & 1ull << i)
			value[nr++] = regs->reg[i];
	}
	return nr;
}

int heap_blocks_find(const struct auxtap_heap_event *event, size_t nr_events, pid_t tid,
		     const uint64_t *pointer, int nr_pointers, struct auxtap_crash_block *found)
{
	struct blocks b = {.event = event, .nr_events = nr_events, .found = found};

	skip_missed(&b);
	find_last(&b, tid);
	/* if free() found an error itself, no register points to the block any more */
	if (b.last < nr_events && event[b.last].kind == AUXTAP_HEAP_FREED &&
	    !find_allocation(&b, event[b.last].addr, is_inside))
		find_free(&b, event[b.last].addr);
	for (int i = 0; i < nr_pointers; i++)
		find_block(&b, pointer[i]);
	return b.nr;
}

void session_put_blocks(struct auxtap_session *s, struct trace_file *file, pid_t tid,
			const struct auxtap_crash *crash)
{
	struct auxtap_crash_block found[AUXTAP_MAX_BLOCKS];
	uint64_t pointer[1 + AUXTAP_A64_NR_REGS];
	struct auxtap_heap_event *events;
	struct auxtap_regs regs;
	size_t nr_events;
	int nr = 0;

	if (!TARGET_HAS(s->be->target, heap) ||
	    s->be->target->regs(s->be->target_ctx, tid, &regs) ||
	    s->be->target->heap(s->be->target_ctx, tid, &events, &nr_events))
		return;
	if (crash->flags & AUXTAP_CRASH_ADDR_VALID)
		pointer[nr++] = crash->fault_addr;
	nr += general_regs(&regs, pointer + nr);
	nr = heap_blocks_find(events, nr_events, tid, pointer, nr, found);
	for (int i = 0; i < nr; i++)
		auxtap_perfdata_writer_metadata(file->writer, AUXTAP_METADATA_BLOCK, &found[i],
						sizeof(found[i]));
	free(events);
}
