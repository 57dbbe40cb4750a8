// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * mmap and munmap of an event's ring, and redirection of events into another's ring
 * (docs/kernel-rules.md, section B). A ring lives as long as it has references; new records reach
 * it as long as it is mapped.
 */
#include "core/perf_buffer.h"
#include <linux/slab.h>
#include <sys/mman.h>
#include <unistd.h>

struct perf_buffer *ring_buffer_get(struct perf_event *event)
{
	struct perf_buffer *rb;

	if (event->parent)
		event = event->parent;
	rb = event->rb;
	if (rb)
		rb->refcount++;
	return rb;
}

static void rb_destroy(struct perf_buffer *rb)
{
	WARN_ON_ONCE(rb->event_list || rb->aux_nr_pages);
	if (rb->user_page)
		munmap(rb->user_page, (rb->nr_pages + 1) << PAGE_SHIFT);
	if (rb->memfd >= 0)
		close(rb->memfd);
	kfree(rb);
}

void ring_buffer_put(struct perf_buffer *rb)
{
	if (!--rb->refcount)
		rb_destroy(rb);
}

/*
 * E6: the default watermark is half the ring, an explicit one is capped. A: overwrite mode is fixed
 * here.
 */
static struct perf_buffer *rb_alloc(struct perf_event *event, unsigned long nr_pages, bool writable,
				    int *err)
{
	struct perf_buffer *rb = kzalloc(sizeof(*rb), GFP_KERNEL);
	size_t size = (nr_pages + 1) << PAGE_SHIFT;

	*err = -ENOMEM;
	if (!rb)
		return NULL;
	rb->refcount = 1;
	rb->nr_pages = nr_pages;
	rb->aux_memfd = -1;
	rb->user_page = ring_memory("auxtap-ring", size, &rb->memfd, err);
	if (!rb->user_page)
		goto fail;
	rb->data = (unsigned char *)rb->user_page + PAGE_SIZE;
	if (event->attr.watermark)
		rb->watermark = min((u64)event->attr.wakeup_watermark, perf_data_size(rb));
	if (!rb->watermark)
		rb->watermark = perf_data_size(rb) / 2;
	rb->overwrite = !writable;
	rb_toggle_paused(rb, false);
	return rb;

fail:
	rb_destroy(rb);
	return NULL;
}

/* Set as by a kernel with a stable TSC; the emulated TSC is the clock of the records. */
static void init_userpage(struct perf_buffer *rb)
{
	struct perf_event_mmap_page *page = rb->user_page;

	page->cap_bit0_is_deprecated = 1;
	page->cap_user_time = 1;
	page->cap_user_time_zero = 1;
	page->time_shift = 0;
	page->time_mult = 1;
	page->time_zero = 0;
	page->size = offsetof(struct perf_event_mmap_page, __reserved);
	page->data_offset = PAGE_SIZE;
	page->data_size = perf_data_size(rb);
}

/* B19: stops the event first; an AUX event loses the data in flight. Takes over one reference. */
void ring_buffer_attach(struct perf_event *event, struct perf_buffer *rb)
{
	struct perf_buffer *old = event->rb;

	if (old) {
		struct perf_event **at = &old->event_list;

		while (*at && *at != event)
			at = &(*at)->rb_next;
		if (*at)
			*at = event->rb_next;
		event->rb_next = NULL;
	}
	if (rb) {
		event->rb_next = rb->event_list;
		rb->event_list = event;
	}
	if (has_aux(event))
		perf_event_stop_output(event);
	event->rb = rb;
	if (old) {
		ring_buffer_put(old);
		/* the event may have missed a wakeup while it was not attached */
		if (core_machine.wakeup)
			core_machine.wakeup(core_machine.ctx, event);
	}
}

/* B11. beyond: the number of pages that exceed the user's budget. */
static bool may_lock(u64 nr_pages, u64 *beyond)
{
	const struct core_budget *budget = core_machine.budget;
	u64 user;

	*beyond = 0;
	if (!budget)
		return true;
	/* the budget may have shrunk meanwhile */
	user = min(*budget->user_pages, budget->free_pages) + nr_pages;
	if (user > budget->free_pages)
		*beyond = user - budget->free_pages;
	return *budget->pinned_pages + *beyond <= budget->limit_pages || budget->exempt;
}

static void charge(u64 nr_pages, u64 beyond)
{
	const struct core_budget *budget = core_machine.budget;

	if (!budget)
		return;
	*budget->user_pages += nr_pages - beyond;
	*budget->pinned_pages += beyond;
}

/* B11: credits the task that mapped the data area, whichever task was charged for the AUX area. */
static void uncharge(const struct perf_buffer *rb, u64 nr_pages, u64 beyond)
{
	if (!rb->user_pages)
		return;
	*rb->user_pages -= nr_pages - beyond;
	*rb->pinned_pages -= beyond;
}

static int mmap_data(struct perf_event *event, u64 nr_all, bool writable)
{
	const struct core_budget *budget = core_machine.budget;
	u64 nr_pages = nr_all - 1, beyond;
	struct perf_buffer *rb = event->rb;
	int ret;

	if (nr_pages && !is_power_of_2(nr_pages)) /* B4 */
		return -EINVAL;
	if (rb) { /* B5 */
		if (rb->nr_pages != nr_pages)
			return -EINVAL;
		if (event->kernel->mmap_other_ring_busy && !event->mmap_count) /* L6 */
			return -EBUSY;
		if (rb->mmap_count) {
			rb->mmap_count++;
			return 0;
		}
		ring_buffer_attach(event, NULL);
	}
	if (!may_lock(nr_all, &beyond))
		return -EPERM;
	/* B12: the kernel's array of page pointers would be too large */
	if (get_order(sizeof(*rb) + nr_pages * sizeof(void *)) > 10)
		return -ENOMEM;
	rb = rb_alloc(event, nr_pages, writable, &ret);
	if (!rb) /* B12 */
		return ret;
	charge(nr_all, beyond);
	rb->pinned = beyond;
	rb->user_pages = budget ? budget->user_pages : NULL;
	rb->pinned_pages = budget ? budget->pinned_pages : NULL;
	rb->mmap_count = 1;
	ring_buffer_attach(event, rb);
	init_userpage(rb);
	return 0;
}

static int mmap_aux(struct perf_event *event, u64 nr_pages, u64 offset, bool writable)
{
	struct perf_buffer *rb = event->rb;
	u64 aux_offset, aux_size, beyond = 0;
	int ret;

	if (!rb) /* B6 */
		return -EINVAL;
	if (nr_pages > INT_MAX) /* B8 */
		return -ENOMEM;
	/* the reader's fields, each read once (B15) */
	aux_offset = __atomic_load_n(&rb->user_page->aux_offset, __ATOMIC_RELAXED);
	aux_size = __atomic_load_n(&rb->user_page->aux_size, __ATOMIC_RELAXED);
	if (aux_offset < perf_data_size(rb) + PAGE_SIZE || aux_offset != offset) /* B7 */
		return -EINVAL;
	if (rb_has_aux(rb) && rb->aux_offset != offset) /* B9 */
		return -EINVAL;
	if (aux_size != nr_pages << PAGE_SHIFT) /* B8 */
		return -EINVAL;
	if (rb_has_aux(rb) && (u64)rb->aux_nr_pages != nr_pages) /* B9 */
		return -EINVAL;
	if (!is_power_of_2(nr_pages)) /* B8 */
		return -EINVAL;
	if (!rb->mmap_count) /* B10 */
		return -EINVAL;
	rb->mmap_count++;
	if (rb_has_aux(rb)) { /* B9 */
		if (rb->aux_mmap_count) {
			rb->aux_mmap_count++;
			return 0;
		}
		/* unmapped, but a transaction still holds a reference to the pages */
		ret = -EINVAL;
	} else if (!may_lock(nr_pages, &beyond)) {
		ret = -EPERM;
	} else {
		ret = rb_alloc_aux(rb, event, offset, nr_pages, event->attr.aux_watermark,
				   writable);
	}
	if (ret) { /* B13 */
		rb->mmap_count--;
		return ret;
	}
	charge(nr_pages, beyond);
	rb->aux_pinned = beyond;
	rb->aux_mmap_count = 1;
	return 0;
}

int core_event_mmap(struct perf_event *event, uint64_t length, int prot, int flags, uint64_t offset,
		    struct core_mapping **mapping)
{
	bool writable = prot & PROT_WRITE;
	struct core_mapping *map;
	u64 nr_pages;
	int ret;

	*mapping = NULL;
	/* what mmap() itself refuses */
	if (!length || offset & ~PAGE_MASK || length > (u64)1 << 47)
		return -EINVAL;
	nr_pages = DIV_ROUND_UP(length, PAGE_SIZE);
	if (event->cpu == -1 && event->attr.inherit) /* B1 */
		return -EINVAL;
	if ((flags & MAP_TYPE) != MAP_SHARED && (flags & MAP_TYPE) != MAP_SHARED_VALIDATE)
		return -EINVAL; /* B2 */
	map = kzalloc(sizeof(*map), GFP_KERNEL);
	if (!map)
		return -ENOMEM;
	ret = offset ? mmap_aux(event, nr_pages, offset, writable) :
		       mmap_data(event, nr_pages, writable);
	if (ret) {
		kfree(map);
		return ret;
	}
	event->mmap_count++;
	map->event = event;
	map->aux = offset != 0;
	map->length = nr_pages << PAGE_SHIFT;
	map->memfd = map->aux ? event->rb->aux_memfd : event->rb->memfd;
	map->addr = map->aux ? (void *)event->rb->aux : (void *)event->rb->user_page;
	*mapping = map;
	return 0;
}

/*
 * B18: every event of the ring, inherited ones too, ends its transaction on its CPU. For each event
 * the kernel makes that event's CPU stop all events of the ring it runs, so that n events on one
 * CPU are each stopped n times.
 */
static void perf_pmu_output_stop(struct perf_buffer *rb)
{
	for (struct perf_event *event = rb->event_list; event; event = event->rb_next) {
		int cpu = event->cpu == -1 ? event->oncpu : event->cpu;

		if (cpu >= 0)
			perf_event_stop_ring(event, cpu);
	}
}

/* B18, D2: drop the count first */
void core_event_munmap_stop(struct core_mapping *mapping)
{
	struct perf_buffer *rb = ring_buffer_get(mapping->event);

	if (WARN_ON(!rb))
		return;
	if (mapping->aux && !--rb->aux_mmap_count) {
		perf_pmu_output_stop(rb);
		mapping->last = true;
	}
	ring_buffer_put(rb);
}

void core_event_munmap_free(struct core_mapping *mapping)
{
	struct perf_event *event = mapping->event;
	struct perf_buffer *rb = ring_buffer_get(event);
	bool last_of_ring = false;

	if (WARN_ON(!rb))
		goto out;
	if (mapping->last) {
		uncharge(rb, (u64)rb->aux_nr_pages, rb->aux_pinned);
		rb_free_aux(rb);
		WARN_ON_ONCE(rb->aux_refcount);
	}
	if (!--rb->mmap_count) {
		last_of_ring = true;
		uncharge(rb, rb->nr_pages + 1, rb->pinned);
	}
	if (!--event->mmap_count) {
		ring_buffer_attach(event, NULL);
		while (last_of_ring && rb->event_list)
			ring_buffer_attach(rb->event_list, NULL);
	}
	ring_buffer_put(rb);
out:
	kfree(mapping);
	if (event->closed && !event->mmap_count)
		event_free(event);
}

void core_event_munmap(struct core_mapping *mapping)
{
	core_event_munmap_stop(mapping);
	core_event_munmap_free(mapping);
}

bool perf_clocks_differ(const struct perf_event_attr *a, const struct perf_event_attr *b)
{
	return a->use_clockid != b->use_clockid || (a->use_clockid && a->clockid != b->clockid);
}

/* B19 */
int perf_event_set_output(struct perf_event *event, struct perf_event *output_event)
{
	struct perf_buffer *rb = NULL;

	if (output_event) {
		if (event == output_event || output_event->cpu != event->cpu)
			return -EINVAL;
		if (output_event->cpu == -1 && output_event->target != event->target)
			return -EINVAL;
		if (perf_clocks_differ(&event->attr, &output_event->attr))
			return -EINVAL;
		if (event->attr.write_backward != output_event->attr.write_backward)
			return -EINVAL;
		if (has_aux(event) && has_aux(output_event) && event->pmu != output_event->pmu)
			return -EINVAL;
	}
	if (event->mmap_count)
		return -EINVAL;
	if (output_event) {
		rb = ring_buffer_get(output_event);
		if (!rb)
			return -EINVAL;
		if (!rb->mmap_count) {
			ring_buffer_put(rb);
			return -EINVAL;
		}
	}
	ring_buffer_attach(event, rb);
	return 0;
}
