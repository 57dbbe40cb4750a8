/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ring buffer object and its shared page. data_ring.c and aux_output.c write it, mapping.c and
 * aux_area.c create it. All state that the rules (docs/kernel-rules.md) need is private; the shared
 * page contains published copies, and fields that the reader writes, which are untrusted
 * (data_tail, aux_tail, aux_offset, aux_size).
 */
#ifndef AUXTAP_CORE_PERF_BUFFER_H
#define AUXTAP_CORE_PERF_BUFFER_H

#include <linux/mm.h>
#include <linux/perf_event.h>
#include "core/core.h"

struct page_region;

/* State: docs/kernel-rules.md, section A. */
struct perf_buffer {
	/* events attached, open AUX transactions, calls in progress */
	int refcount;
	int mmap_count;		       /* mappings of either area */
	struct perf_event *event_list; /* through rb_next */

	struct perf_event_mmap_page *user_page;
	unsigned char *data;
	int memfd;
	unsigned long nr_pages; /* of data */
	bool overwrite;
	bool paused;
	u64 head; /* absolute; descends in a backward ring (E5) */
	u64 wakeup;
	u64 watermark;
	u64 lost;
	unsigned int events; /* samples since the last wakeup by count (E7) */
	unsigned int nest;
	unsigned int poll;
	/* B11: of the user who mapped the data area; NULL: not counted */
	u64 *user_pages, *pinned_pages;
	u64 pinned; /* pages of the data area charged beyond the user's budget */

	unsigned char *aux;
	int aux_memfd;
	int aux_nr_pages; /* 0: no AUX area */
	u64 aux_offset;	  /* the offset at which the area is mapped */
	void **aux_pages;
	struct page_region *aux_region;
	void *aux_priv;
	void (*free_aux)(void *aux);
	int aux_mmap_count;
	int aux_refcount;
	bool aux_overwrite;
	unsigned int aux_nest;
	u64 aux_head; /* absolute if linear; the driver's position if overwrite */
	u64 aux_wakeup;
	u64 aux_watermark;
	u64 aux_pinned;
};

static inline u64 perf_data_size(const struct perf_buffer *rb)
{
	return (u64)rb->nr_pages << PAGE_SHIFT;
}

static inline u64 perf_aux_size(const struct perf_buffer *rb)
{
	return (u64)rb->aux_nr_pages << PAGE_SHIFT;
}

static inline bool rb_has_aux(const struct perf_buffer *rb)
{
	return rb->aux_nr_pages != 0;
}

static inline bool has_aux(const struct perf_event *event)
{
	return event->pmu->setup_aux != NULL;
}

/*
 * The four shared positions. Barriers by the letters of section E: our loads of a tail are A, which
 * pairs with the reader's release store of the tail (D); our stores of a head are B, which pairs
 * with the reader's acquire load of the head (C).
 */
static inline u64 ring_load_data_tail(const struct perf_buffer *rb) /* A, pairs with D */
{
	return __atomic_load_n(&rb->user_page->data_tail, __ATOMIC_ACQUIRE);
}

static inline void ring_store_data_head(struct perf_buffer *rb, u64 head_abs) /* B, pairs with C */
{
	__atomic_store_n(&rb->user_page->data_head, head_abs, __ATOMIC_RELEASE);
}

static inline u64 ring_load_aux_tail(const struct perf_buffer *rb) /* D8: A, pairs with D */
{
	return __atomic_load_n(&rb->user_page->aux_tail, __ATOMIC_ACQUIRE);
}

static inline void ring_store_aux_head(struct perf_buffer *rb, u64 head_abs) /* B, pairs with C */
{
	__atomic_store_n(&rb->user_page->aux_head, head_abs, __ATOMIC_RELEASE);
}

/* mapping.c */
struct perf_buffer *ring_buffer_get(struct perf_event *event);
void ring_buffer_put(struct perf_buffer *rb);
void ring_buffer_attach(struct perf_event *event, struct perf_buffer *rb);
bool perf_clocks_differ(const struct perf_event_attr *a, const struct perf_event_attr *b);
int perf_event_set_output(struct perf_event *event, struct perf_event *output_event);

/* aux_area.c */
int rb_alloc_aux(struct perf_buffer *rb, struct perf_event *event, u64 offset,
		 unsigned long nr_pages, u32 watermark, bool writable);
void rb_free_aux(struct perf_buffer *rb); /* drops a reference */

/* core_sample_id.c: fields at the end of every record of an event with sample_id_all */
struct perf_sample_id {
	u32 pid, tid, cpu;
	u64 time, id, stream_id;
};
int perf_event_id_header_size(const struct perf_event_attr *attr);
void perf_event_header__init_id(struct perf_event_header *header, struct perf_sample_id *id,
				struct perf_event *event);
void perf_event__output_id_sample(struct perf_event *event, struct perf_output_handle *handle,
				  const struct perf_sample_id *id);

/* data_ring.c. perf_output_begin*() return -ENOSPC if the record is dropped (E2, E4). */
int perf_output_begin_forward(struct perf_output_handle *handle, struct perf_sample_id *id,
			      struct perf_event *event, unsigned int size);
int perf_output_begin_backward(struct perf_output_handle *handle, struct perf_sample_id *id,
			       struct perf_event *event, unsigned int size);
int perf_output_begin(struct perf_output_handle *handle, struct perf_sample_id *id,
		      struct perf_event *event, unsigned int size);
void perf_output_copy(struct perf_output_handle *handle, const void *buf, unsigned int len);
void perf_output_skip(struct perf_output_handle *handle, unsigned int len);
void perf_output_end(struct perf_output_handle *handle);
#define perf_output_put(handle, x) perf_output_copy(handle, &(x), sizeof(x))
void perf_output_count_sample(struct perf_event *event, struct perf_buffer *rb);
void perf_output_wakeup(struct perf_output_handle *handle);
void rb_toggle_paused(struct perf_buffer *rb, bool pause);

/* sched.c */
/* The task that records name: the one that runs on the current CPU (NULL: idle), unless set. */
struct core_task *core_record_task(void);
void core_set_record_task(struct core_task *task); /* NULL: the running task again */
struct core_task *core_cpu_context(int cpu);
struct core_task *core_running_task(int cpu); /* NULL: idle */
void core_irq_work_queue(struct perf_event *event);
void core_irq_work_cancel(struct perf_event *event);
void perf_event_disable_inatomic(struct perf_event *event);
void perf_event_stop_output(struct perf_event *event);
/*
 * B18: one interrupt stops all events of the ring that run on the CPU; the irq_work that this
 * raises, such as disabling a truncated event, runs after it.
 */
void perf_event_stop_ring(struct perf_event *event, int cpu);
void perf_event_restart(struct perf_event *event);
void event_update_time(struct perf_event *event);
void perf_event_enable(struct perf_event *event);
void perf_event_disable(struct perf_event *event);
void event_install(struct perf_event *event);
void context_unclone(struct core_task *task);
void event_sched_out_all(struct core_task *task);
void event_remove(struct perf_event *event, enum perf_event_state state);
void perf_event_wakeup(struct perf_event *event);
size_t core_sched_ranges(int cpu, struct core_range *ranges,
			 size_t max); /* as core_state_ranges() */

/* event.c */
void event_free(struct perf_event *event);

/* machine.c */
extern CORE_LOCAL struct core_machine core_machine;
extern CORE_LOCAL const struct core_kernel *core_kernel_now;
u64 core_clock(void);

/* memory.c */
/*
 * Allocates zeroed memory for a ring, and its memfd, which the caller closes (-1: private_rings).
 * Returns NULL with a negative errno in *err on failure.
 */
void *ring_memory(const char *name, size_t size, int *memfd, int *err);
struct page_region *page_region_new(void *virt, unsigned long nr_pages, unsigned int max_order,
				    int (*order_of)(void *ctx, int order), void *ctx);
void page_region_free(struct page_region *region);
size_t core_memory_ranges(struct core_range *ranges, size_t max); /* as core_state_ranges() */
struct page *page_region_page(struct page_region *region, unsigned long index);

/* addr_filter.c */
int event_addr_filters_init(struct perf_event *event);
void event_addr_filters_free(struct perf_event *event);

/* pmu_registry.c */
struct pmu *core_pmu_by_type(u32 type);

/*
 * The kernel only fails for lack of memory (ENOMEM); the host may also lack descriptors, or limit a
 * file's size.
 */
static inline int core_host_error(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -EFBIG ? err : -ENOMEM;
}

#endif
