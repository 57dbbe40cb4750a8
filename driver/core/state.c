// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The memory that holds the state of kernel and drivers. Only the simulator's exhaustive search
 * uses it.
 */
#include "core/perf_buffer.h"
#include <linux/percpu.h>

/*
 * Defined by the linker for DEFINE_PER_CPU's section; weak: a program without drivers has no such
 * section.
 */
extern const struct core_percpu __start_core_percpu[] __attribute__((weak));
extern const struct core_percpu __stop_core_percpu[] __attribute__((weak));

static size_t percpu_state(int cpu, struct core_range *ranges, size_t max)
{
	size_t n = 0;

	size_t nr = ((uintptr_t)__stop_core_percpu - (uintptr_t)__start_core_percpu) /
		    sizeof(struct core_percpu);

	for (const struct core_percpu *p = __start_core_percpu; n < nr; p++, n++)
		if (n < max)
			ranges[n] = (struct core_range){(char *)p->first +
								(size_t)(core_first_cpu + cpu) *
									p->size,
							p->size};
	return n;
}

/* The positions that writer and reader share are contiguous, from data_head on. */
static struct core_range shared_positions(struct perf_event *event)
{
	struct perf_event_mmap_page *page = event->rb->user_page;

	return (struct core_range){&page->data_head,
				   sizeof(*page) -
					   offsetof(struct perf_event_mmap_page, data_head)};
}

size_t core_state_ranges(int cpu, struct perf_event *event, struct core_range *ranges, size_t max)
{
	size_t n = 0;

#define LEFT (n < max ? max - n : 0)
	n += core_memory_ranges(ranges, LEFT);
	n += core_sched_ranges(cpu, ranges + min(n, max), LEFT);
	n += percpu_state(cpu, ranges + min(n, max), LEFT);
	if (event->rb) {
		if (n < max)
			ranges[n] = shared_positions(event);
		n++;
	}
#undef LEFT
	return n;
}

void core_event_rebase(struct perf_event *event, uint64_t nr_bytes)
{
	struct perf_buffer *rb = event->rb;
	struct perf_event_mmap_page *page;

	if (!rb)
		return;
	page = rb->user_page;
	rb->aux_head -= nr_bytes;
	page->aux_head -= nr_bytes;
	if (!rb->aux_overwrite) {
		rb->aux_wakeup -= nr_bytes;
		page->aux_tail -= nr_bytes;
	}
	rb->head = rb->wakeup = 0;
	page->data_head = page->data_tail = 0;
	rb->poll = 0;
}
