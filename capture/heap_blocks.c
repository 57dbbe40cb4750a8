// SPDX-License-Identifier: BSD-2-Clause
/*
 * Finds the heap blocks and mappings that a crashing thread's pointers point into, and the calls
 * that allocated and freed them, from the events that the engine recorded; writes them, overrun
 * blocks (heap_overruns.c) and throws to the snapshot. The newest allocation that contains an
 * address decides. Events before one that the engine missed are not used.
 */
#include "heap_overruns.h"
#include "session.h"
#include "util/sized.h"

#include <stdlib.h>
#include <string.h>

#define STACK_WORDS 1024
#define RED_ZONE    128
#define MAX_HEADER  4096 /* bytes that a program's own allocator may have before its blocks */

struct blocks {
	const struct auxtap_heap_event *event;
	size_t nr_events;
	size_t last;   /* index of the crashing thread's newest call; nr_events: none */
	size_t oldest; /* first event after the newest one that was missed */
	/* of each event: is it the free of a realloc() that failed (KEPT)? NULL: none is */
	bool *undone;
	bool only_freed;
	struct heap_block *found;
	int nr;
};

/* False: MISSED, incomplete, or overwritten by the program. */
static bool is_valid(const struct auxtap_heap_event *e)
{
	if (e->kind == AUXTAP_HEAP_THROWN)
		return true;
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

static bool is_call_for(const struct auxtap_heap_event *e, uint64_t addr)
{
	return e->addr == addr && !is_mapping(e) && e->kind != AUXTAP_HEAP_THROWN;
}

/* Marks frees that a KEPT event revokes. Without memory for that, ignores all events. */
static void find_undone(struct blocks *b)
{
	for (size_t i = b->oldest; i < b->nr_events; i++) {
		size_t last = i;

		if (b->event[i].kind != AUXTAP_HEAP_KEPT)
			continue;
		if (!b->undone)
			b->undone = calloc(b->nr_events, sizeof(*b->undone));
		if (!b->undone) {
			b->oldest = b->nr_events;
			return;
		}
		while (last > b->oldest && !is_call_for(&b->event[last - 1], b->event[i].addr))
			last--;
		if (last > b->oldest && b->event[last - 1].kind == AUXTAP_HEAP_FREED)
			b->undone[last - 1] = true;
	}
}

static void set_bad_free(const struct blocks *b, struct heap_block *block, size_t nr)
{
	const struct auxtap_heap_event *e = &b->event[nr];

	block->record.flags |= AUXTAP_BLOCK_BAD_FREE;
	block->record.bad_free_at = e->caller;
	block->record.bad_free_tid = e->tid;
	block->record.bad_free_offset = e->addr - block->record.addr;
	block->bad_free = (ssize_t)nr;
}

static void set_freed(const struct blocks *b, struct heap_block *block, size_t nr)
{
	block->record.flags |= AUXTAP_BLOCK_FREED;
	block->record.freed_at = b->event[nr].caller;
	block->record.freed_tid = b->event[nr].tid;
	block->freed = (ssize_t)nr;
}

static void set_allocated(const struct blocks *b, struct heap_block *block, size_t nr)
{
	block->record.allocated_at = b->event[nr].caller;
	block->record.allocated_tid = b->event[nr].tid;
	block->allocated = (ssize_t)nr;
}

/* A block with the event's address and size. */
static struct heap_block make_block(const struct auxtap_heap_event *e, uint32_t flags)
{
	return (struct heap_block){.record = {.size = sizeof(struct auxtap_crash_block),
					      .flags = flags,
					      .addr = e->addr,
					      .nr_bytes = e->nr_bytes},
				   .allocated = -1,
				   .freed = -1,
				   .bad_free = -1,
				   .before_allocated = -1,
				   .before_freed = -1};
}

/*
 * Adds the frees of the block from event 'from' on; there is no allocation between them. A second
 * free counts only if the crashing thread called it, and its last call frees this block: when a
 * thread exits, the C library frees the blocks of its own cache a second time.
 */
static void add_frees(const struct blocks *b, size_t from, struct heap_block *block)
{
	const bool is_last = b->last < b->nr_events &&
			     b->event[b->last].addr == block->record.addr &&
			     b->event[b->last].kind == AUXTAP_HEAP_FREED;

	for (size_t i = from; i < b->nr_events; i++) {
		const struct auxtap_heap_event *e = &b->event[i];

		if (e->addr != block->record.addr)
			continue;
		if (e->kind == AUXTAP_HEAP_KEPT) {
			block->record.flags &= ~AUXTAP_BLOCK_FREED;
			block->record.freed_at = 0;
			block->freed = -1;
		} else if (e->kind == AUXTAP_HEAP_FREED &&
			   !(block->record.flags & AUXTAP_BLOCK_FREED)) {
			set_freed(b, block, i);
		} else if (e->kind == AUXTAP_HEAP_FREED && is_last && i <= b->last &&
			   e->tid == b->event[b->last].tid &&
			   !(block->record.flags & AUXTAP_BLOCK_BAD_FREE)) {
			set_bad_free(b, block, i);
		}
	}
}

/* Was event nr a realloc() that failed, and that therefore did not free the block? */
static bool is_undone(const struct blocks *b, size_t nr)
{
	return b->undone && b->undone[nr];
}

/* Adds the free of an enclosing block, of which the program's own allocator returned a part. */
static void add_free_around(const struct blocks *b, size_t from, struct heap_block *block)
{
	for (size_t i = from; i < b->nr_events && !(block->record.flags & AUXTAP_BLOCK_FREED);
	     i++) {
		const struct auxtap_heap_event *e = &b->event[i];

		if (e->kind != AUXTAP_HEAP_FREED || e->addr >= block->record.addr ||
		    block->record.addr - e->addr > MAX_HEADER || is_undone(b, i))
			continue;
		for (size_t k = i; k-- > b->oldest;) {
			const struct auxtap_heap_event *whole = &b->event[k];

			if (whole->kind != AUXTAP_HEAP_ALLOCATED || whole->addr != e->addr)
				continue;
			if (block->record.addr - whole->addr < whole->nr_bytes)
				set_freed(b, block, i);
			break;
		}
	}
}

/* free() of a pointer into a block aborts the program, so it is the thread's last call. */
static void add_free_inside(const struct blocks *b, struct heap_block *block)
{
	const struct auxtap_heap_event *last = b->last < b->nr_events ? &b->event[b->last] : NULL;

	if (last && last->kind == AUXTAP_HEAP_FREED && last->addr > block->record.addr &&
	    last->addr - block->record.addr < block->record.nr_bytes &&
	    !(block->record.flags & AUXTAP_BLOCK_FREED))
		set_bad_free(b, block, b->last);
}

static void add_found(struct blocks *b, const struct heap_block *block)
{
	for (int i = 0; i < b->nr; i++)
		if (b->found[i].record.addr == block->record.addr)
			return;
	if (b->nr < AUXTAP_MAX_BLOCKS)
		b->found[b->nr++] = *block;
}

static bool is_inside(uint64_t pointer, const struct auxtap_heap_event *e)
{
	return pointer == e->addr || (pointer > e->addr && pointer - e->addr < e->nr_bytes);
}

/* The address after the block's last byte, where a loop over it ends. */
static bool is_past(uint64_t pointer, const struct auxtap_heap_event *e)
{
	return pointer == e->addr + e->nr_bytes;
}

/* The oldest event that may be about what is at the pointer now. */
static size_t first_relevant_event(const struct blocks *b, uint64_t pointer)
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

/* Was the block of event nr, or one that it may be a part of, freed before event 'end'? */
static bool was_freed(const struct blocks *b, size_t nr, size_t end)
{
	for (size_t i = nr + 1; i < end; i++)
		if (b->event[i].kind == AUXTAP_HEAP_FREED &&
		    b->event[i].addr <= b->event[nr].addr &&
		    b->event[nr].addr - b->event[i].addr <= MAX_HEADER && !is_undone(b, i))
			return true;
	return false;
}

/* Was a part of its memory another block since? Then the pointer may belong to either. */
static bool is_reused(const struct blocks *b, size_t nr)
{
	const struct auxtap_heap_event *old = &b->event[nr];

	for (size_t i = nr + 1; i < b->nr_events; i++) {
		const struct auxtap_heap_event *e = &b->event[i];

		/* a block inside one that was not freed comes from the program's own allocator */
		if (e->kind == AUXTAP_HEAP_ALLOCATED && e->addr < old->addr + old->nr_bytes &&
		    old->addr < e->addr + e->nr_bytes && was_freed(b, nr, i))
			return true;
	}
	return false;
}

/* The newest allocation of the address before event 'end'; 'end': none is known. */
static size_t newest_allocation(const struct blocks *b, uint64_t addr, size_t end)
{
	for (size_t i = end; i-- > b->oldest;)
		if (b->event[i].kind == AUXTAP_HEAP_ALLOCATED && b->event[i].addr == addr)
			return i;
	return end;
}

/* Are they one call of realloc() that kept the address? */
static bool is_resized(const struct auxtap_heap_event *freed,
		       const struct auxtap_heap_event *allocated)
{
	return freed->addr == allocated->addr && freed->caller == allocated->caller &&
	       freed->tid == allocated->tid;
}

/*
 * The first of the frees until event 'last' of the block that was allocated by event nr: when a
 * thread exits, the C library frees the blocks of its own cache a second time.
 */
static size_t first_free(const struct blocks *b, size_t nr, size_t last)
{
	for (size_t i = nr + 1; i < last; i++)
		if (b->event[i].kind == AUXTAP_HEAP_FREED &&
		    b->event[i].addr == b->event[nr].addr && !is_undone(b, i))
			return i;
	return last;
}

/* Adds the freed block that contained the pointer before event nr allocated this one. */
static void add_before(const struct blocks *b, size_t nr, uint64_t pointer,
		       struct heap_block *block)
{
	for (size_t i = nr; i-- > b->oldest;) {
		const struct auxtap_heap_event *e = &b->event[i];
		size_t allocated;

		if (e->kind == AUXTAP_HEAP_KEPT || is_mapping(e))
			continue;
		if (e->kind == AUXTAP_HEAP_ALLOCATED && is_inside(pointer, e)) {
			if (e->addr == b->event[nr].addr)
				continue; /* operator new, which calls malloc() */
			return;		  /* this block is a part of that one */
		}
		if (e->kind != AUXTAP_HEAP_FREED || e->addr > pointer ||
		    is_resized(e, &b->event[nr]) || is_undone(b, i))
			continue;
		allocated = newest_allocation(b, e->addr, i);
		if (allocated == i || !is_inside(pointer, &b->event[allocated]))
			continue;
		i = first_free(b, allocated, i);
		e = &b->event[i];
		block->before = make_block(&b->event[allocated], AUXTAP_BLOCK_BEFORE).record;
		block->before.allocated_at = b->event[allocated].caller;
		block->before.allocated_tid = b->event[allocated].tid;
		block->before.freed_at = e->caller;
		block->before.freed_tid = e->tid;
		block->before_allocated = (ssize_t)allocated;
		block->before_freed = (ssize_t)i;
		return;
	}
}

static bool find_allocation(struct blocks *b, uint64_t pointer,
			    bool (*is_there)(uint64_t, const struct auxtap_heap_event *))
{
	const size_t first = first_relevant_event(b, pointer);

	for (size_t i = b->nr_events; i-- > first;) {
		const struct auxtap_heap_event *e = &b->event[i];
		struct heap_block block = make_block(e, 0);

		if (e->kind != AUXTAP_HEAP_ALLOCATED || !is_there(pointer, e))
			continue;
		if (is_reused(b, i))
			return false;
		set_allocated(b, &block, i);
		add_frees(b, i + 1, &block);
		add_free_around(b, i + 1, &block);
		if (is_there == is_past && block.record.flags & AUXTAP_BLOCK_FREED)
			return false;
		if (!(block.record.flags & AUXTAP_BLOCK_FREED) && was_unmapped(b, i + 1, pointer))
			return false;
		if (b->only_freed && !(block.record.flags & AUXTAP_BLOCK_FREED))
			return false;
		add_free_inside(b, &block);
		if (!(block.record.flags & AUXTAP_BLOCK_FREED) && is_there == is_inside)
			add_before(b, i, pointer, &block);
		add_found(b, &block);
		return true;
	}
	return false;
}

/* Finds a freed block at the pointer whose allocation is unknown, or whose memory was used again.
 */
static bool find_free(struct blocks *b, uint64_t pointer)
{
	const struct auxtap_heap_event at = {.addr = pointer};
	struct heap_block block = make_block(&at, AUXTAP_BLOCK_UNKNOWN);
	size_t first = first_relevant_event(b, pointer);

	for (size_t i = first; i < b->nr_events; i++) {
		if (b->event[i].kind != AUXTAP_HEAP_ALLOCATED || !is_inside(pointer, &b->event[i]))
			continue;
		first = i + 1;
		block.record.flags = 0;
	}
	add_frees(b, first, &block);
	if (!(block.record.flags & AUXTAP_BLOCK_FREED))
		return false;
	add_found(b, &block);
	return true;
}

/*
 * Reduces the mapping, or the unmapped range, to the part around the pointer that no later event
 * changed: munmap() and MAP_FIXED may change a few pages inside it.
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

/* Finds the mapping, or the unmapped range, that contains the pointer. */
static bool find_mapping(struct blocks *b, uint64_t pointer,
			 bool (*is_there)(uint64_t, const struct auxtap_heap_event *))
{
	const struct auxtap_heap_event none = {0};
	struct heap_block block = make_block(&none, AUXTAP_BLOCK_MAPPING);

	for (size_t i = b->nr_events; i-- > b->oldest;) {
		const struct auxtap_heap_event *e = &b->event[i];

		if (!is_mapping(e) || !is_there(pointer, e))
			continue;
		if (!block.record.addr) {
			block.record.addr = e->addr;
			block.record.nr_bytes = e->nr_bytes;
			cut_mapping(b, i, pointer, &block.record);
			/* its end was changed, and the pointer is the address after it */
			if (!block.record.nr_bytes)
				return false;
		}
		if (e->kind == AUXTAP_HEAP_MAPPED) {
			set_allocated(b, &block, i);
			break;
		}
		if (block.record.flags & AUXTAP_BLOCK_FREED)
			break; /* unmapped twice: the mapping in between was not seen */
		set_freed(b, &block, i);
	}
	if (!block.record.freed_at && !block.record.allocated_at)
		return false;
	add_found(b, &block);
	return true;
}

static void find_block(struct blocks *b, uint64_t pointer)
{
	/* find_free(): the block's allocation may be older than the events */
	if (!find_allocation(b, pointer, is_inside) && !find_allocation(b, pointer, is_past) &&
	    !find_free(b, pointer) && !find_mapping(b, pointer, is_inside))
		find_mapping(b, pointer, is_past);
}

static void find_last_call(struct blocks *b, pid_t tid)
{
	b->last = b->nr_events;
	for (size_t i = b->nr_events; i-- > b->oldest && b->last == b->nr_events;)
		if (b->event[i].tid == tid && !is_mapping(&b->event[i]) &&
		    b->event[i].kind != AUXTAP_HEAP_THROWN)
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
		     const uint64_t *pointer, int nr_pointers, struct heap_block *found)
{
	struct blocks b = {.event = event, .nr_events = nr_events, .found = found};

	skip_missed(&b);
	find_undone(&b);
	find_last_call(&b, tid);
	/* if free() aborted the program, no register points to the block any more */
	if (b.last < nr_events && event[b.last].kind == AUXTAP_HEAP_FREED &&
	    !find_allocation(&b, event[b.last].addr, is_inside))
		find_free(&b, event[b.last].addr);
	for (int i = 0; i < nr_pointers; i++)
		find_block(&b, pointer[i]);
	free(b.undone);
	return b.nr;
}

#define NEAR_WORDS 128 /* words of the innermost functions */

int heap_blocks_find_words(const struct auxtap_heap_event *event, size_t nr_events,
			   const uint64_t *word, size_t nr_words, struct heap_block *found, int nr)
{
	struct blocks b = {.event = event,
			   .nr_events = nr_events,
			   .last = nr_events,
			   .found = found,
			   .nr = nr,
			   .only_freed = true};
	uint64_t low = UINT64_MAX, high = 0;

	skip_missed(&b);
	find_undone(&b);
	for (size_t i = b.oldest; i < nr_events; i++)
		if (event[i].kind == AUXTAP_HEAP_ALLOCATED) {
			low = event[i].addr < low ? event[i].addr : low;
			high = event[i].addr + event[i].nr_bytes > high ?
				       event[i].addr + event[i].nr_bytes :
				       high;
		}
	for (size_t i = 0; i < nr_words && b.nr < AUXTAP_MAX_BLOCKS; i++)
		if (word[i] >= low && word[i] < high)
			find_allocation(&b, word[i], is_inside);
	b.only_freed = false;
	for (size_t i = 0; i < nr_words && i < NEAR_WORDS && b.nr < AUXTAP_MAX_BLOCKS; i++)
		if (word[i] >= low && word[i] < high)
			find_allocation(&b, word[i], is_inside);
	free(b.undone);
	return b.nr;
}

/* Reads the call that event nr is about. False: it is not known. */
static bool read_call(struct auxtap_session *s, pid_t tid, const struct auxtap_heap_event *events,
		      size_t nr_events, ssize_t nr, struct auxtap_heap_call *call)
{
	return nr >= 0 && TARGET_HAS(s->be->target, heap_call) &&
	       !s->be->target->heap_call(s->be->target_ctx, tid, nr_events - 1 - (size_t)nr,
					 &events[nr], call);
}

/* Writes the record of a call, unless memory of the program must not be saved. */
static void write_call(struct auxtap_session *s, struct trace_file *file, uint64_t addr,
		       enum auxtap_block_action action, uint64_t return_addr,
		       const struct auxtap_heap_call *call)
{
	const struct auxtap_block_call record = {.size = sizeof(record),
						 .action = action,
						 .addr = addr,
						 .return_addr = return_addr,
						 .call = *call};

	if (session_memory(s) != AUXTAP_MEMORY_NONE)
		auxtap_perfdata_writer_metadata(file->writer, AUXTAP_METADATA_HEAP_BLOCK_CALL,
						&record, sizeof(record));
}

/* The first call of free() freed nothing: the one recorded as bad_free is the block's only free. */
static void set_freed_by_second(struct heap_block *block)
{
	struct auxtap_crash_block *b = &block->record;

	b->flags &= ~(uint32_t)AUXTAP_BLOCK_BAD_FREE;
	b->freed_at = b->bad_free_at;
	b->freed_tid = b->bad_free_tid;
	block->freed = block->bad_free;
	b->bad_free_at = 0;
	b->bad_free_tid = 0;
	block->bad_free = -1;
}

static void write_block(struct auxtap_session *s, struct trace_file *file, pid_t tid,
			const struct auxtap_heap_event *events, size_t nr_events,
			struct heap_block *block)
{
	struct auxtap_crash_block *b = &block->record;
	struct auxtap_heap_call allocated, freed, bad_free, before_allocated, before_freed;
	bool has_freed = read_call(s, tid, events, nr_events, block->freed, &freed);

	if (has_freed && !freed.returned && block->bad_free >= 0 && !b->bad_free_offset) {
		/* another thread is in it, or it was abandoned: the second one is no double free */
		set_freed_by_second(block);
		has_freed = read_call(s, tid, events, nr_events, block->freed, &freed);
	}
	if (has_freed && !(b->flags & AUXTAP_BLOCK_MAPPING))
		b->flags |= freed.returned ? AUXTAP_BLOCK_RETURNED : AUXTAP_BLOCK_UNRETURNED;
	auxtap_perfdata_writer_metadata(file->writer, AUXTAP_METADATA_HEAP_BLOCK, b, sizeof(*b));
	if (read_call(s, tid, events, nr_events, block->allocated, &allocated))
		write_call(s, file, b->addr, AUXTAP_BLOCK_IS_ALLOCATED, b->allocated_at,
			   &allocated);
	if (has_freed)
		write_call(s, file, b->addr, AUXTAP_BLOCK_IS_FREED, b->freed_at, &freed);
	if (read_call(s, tid, events, nr_events, block->bad_free, &bad_free))
		write_call(s, file, b->addr, AUXTAP_BLOCK_BAD_FREES, b->bad_free_at, &bad_free);
	if (block->before_freed < 0)
		return;
	auxtap_perfdata_writer_metadata(file->writer, AUXTAP_METADATA_HEAP_BLOCK, &block->before,
					sizeof(block->before));
	if (read_call(s, tid, events, nr_events, block->before_allocated, &before_allocated))
		write_call(s, file, b->addr, AUXTAP_BLOCK_WAS_ALLOCATED, block->before.allocated_at,
			   &before_allocated);
	if (read_call(s, tid, events, nr_events, block->before_freed, &before_freed))
		write_call(s, file, b->addr, AUXTAP_BLOCK_WAS_FREED, block->before.freed_at,
			   &before_freed);
}

void session_write_throw_call(struct auxtap_session *s, struct trace_file *file, pid_t tid,
			      uint64_t object)
{
	struct auxtap_heap_event *events;
	struct auxtap_heap_call call;
	size_t nr;

	if (!TARGET_HAS(s->be->target, heap) ||
	    s->be->target->heap(s->be->target_ctx, tid, &events, &nr))
		return;
	/* search from the newest: freed objects may have had the same address */
	for (size_t i = nr; i-- > 0;) {
		if (events[i].kind != AUXTAP_HEAP_THROWN || events[i].addr != object)
			continue;
		if (events[i].tid == tid && read_call(s, tid, events, nr, (ssize_t)i, &call))
			write_call(s, file, object, AUXTAP_BLOCK_IS_THROWN, events[i].caller,
				   &call);
		break;
	}
	free(events);
}

/* The process whose heap is checked for overruns. */
struct heap_process {
	struct auxtap_session *s;
	const struct map_list *maps;
	pid_t pid;
};

static ssize_t heap_process_read(void *ctx, uint64_t addr, void *buf, size_t size)
{
	const struct heap_process *p = ctx;

	return p->s->be->target->mem(p->s->be->target_ctx, p->pid, addr, buf, size);
}

static bool heap_process_is_mapped(void *ctx, uint64_t addr)
{
	const struct heap_process *p = ctx;

	return map_list_find(p->maps, addr) != NULL;
}

/* A library that replaces malloc has "malloc" in its name. */
static bool has_glibc(const struct map_list *maps)
{
	bool has = false;

	for (size_t i = 0; i < maps->nr; i++) {
		const char *file = strrchr(maps->entries[i].name, '/');

		if (file && strstr(file, "malloc"))
			return false;
		has |= file && !strcmp(file, "/libc.so.6");
	}
	return has;
}

static void write_overruns(struct auxtap_session *s, struct trace_file *file,
			   const struct auxtap_crash *crash, const struct map_list *maps,
			   const struct auxtap_heap_event *events, size_t nr_events)
{
	struct heap_process process = {.s = s, .maps = maps, .pid = crash->pid};
	const struct heap_reader reader = {heap_process_read, heap_process_is_mapped, &process,
					   has_glibc(maps)};
	struct heap_block found[AUXTAP_MAX_OVERRUNS];
	int nr = heap_overruns_find(events, nr_events, &reader, found);

	for (int i = 0; i < nr; i++) {
		if (session_memory(s) == AUXTAP_MEMORY_NONE) {
			found[i].record.flags &= ~(uint32_t)AUXTAP_BLOCK_HAS_AFTER_END;
			found[i].record.after_end = 0;
		}
		write_block(s, file, crash->tid, events, nr_events, &found[i]);
	}
}

/* Reads the stack of the innermost functions. Returns the number of words. */
static size_t read_stack(struct auxtap_session *s, pid_t pid, const struct auxtap_regs *regs,
			 uint64_t stack[STACK_WORDS])
{
	const bool is_x86 = regs->arch == AUXTAP_ARCH_X86_64;
	const int reg = is_x86 ? (int)AUXTAP_X86_SP : (int)AUXTAP_A64_SP;
	/* a leaf function of x86-64 has variables below the stack pointer */
	const uint64_t from = (regs->reg[reg] & ~7ull) - (is_x86 ? RED_ZONE : 0);
	ssize_t n = -1;

	if (regs->valid & 1ull << reg)
		n = s->be->target->mem(s->be->target_ctx, pid, from, stack,
				       STACK_WORDS * sizeof(*stack));
	return n > 0 ? (size_t)n / sizeof(*stack) : 0;
}

void session_write_heap_blocks(struct auxtap_session *s, struct trace_file *file,
			       const struct auxtap_crash *crash, const struct map_list *maps)
{
	struct heap_block found[AUXTAP_MAX_BLOCKS];
	uint64_t pointer[1 + AUXTAP_A64_NR_REGS];
	uint64_t stack[STACK_WORDS];
	struct auxtap_heap_event *events;
	const pid_t tid = crash->tid;
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
	if (session_memory(s) != AUXTAP_MEMORY_NONE)
		nr = heap_blocks_find_words(events, nr_events, stack,
					    read_stack(s, crash->pid, &regs, stack), found, nr);
	for (int i = 0; i < nr; i++)
		write_block(s, file, tid, events, nr_events, &found[i]);
	write_overruns(s, file, crash, maps, events, nr_events);
	free(events);
}
