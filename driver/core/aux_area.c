// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The AUX area: pages in chunks, passed to the driver (docs/kernel-rules.md, section C). mapping.c
 * checks whether the mapping is allowed; aux_output.c fills the area.
 */
#include "core/perf_buffer.h"
#include <linux/slab.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_PAGE_ORDER 10

static void aux_destroy(struct perf_buffer *rb)
{
	if (rb->aux_priv)
		rb->free_aux(rb->aux_priv);
	rb->aux_priv = NULL;
	page_region_free(rb->aux_region);
	rb->aux_region = NULL;
	kfree(rb->aux_pages);
	rb->aux_pages = NULL;
	if (rb->aux)
		munmap(rb->aux, perf_aux_size(rb));
	rb->aux = NULL;
	if (rb->aux_memfd >= 0)
		close(rb->aux_memfd);
	rb->aux_memfd = -1;
	rb->aux_nr_pages = 0;
}

void rb_free_aux(struct perf_buffer *rb)
{
	if (WARN_ON_ONCE(!rb->aux_refcount))
		return;
	if (!--rb->aux_refcount) {
		if (core_machine.observer && core_machine.observer->aux_free)
			core_machine.observer->aux_free(core_machine.ctx);
		aux_destroy(rb);
	}
}

/* C2; D19: a watermark from the attributes is not capped. */
static u64 effective_watermark(const struct perf_event *event, unsigned long nr_pages,
			       bool overwrite, u64 asked)
{
	bool keep = event->kernel->bugs && event->kernel->bugs->overwrite_watermark;

	if (overwrite)
		return keep ? asked : 0;
	return asked ?: min((u64)U32_MAX, (u64)nr_pages << (PAGE_SHIFT - 1));
}

/* C3: the highest order of a chunk of pages. */
static int max_chunk_order(const struct perf_event *event, unsigned long nr_pages, bool overwrite,
			   u64 watermark)
{
	bool large =
		!event->kernel->aux_chunk_order_zero || /* L3 */
		event->pmu->capabilities & (PERF_PMU_CAP_AUX_NO_SG | PERF_PMU_CAP_AUX_PREFER_LARGE);

	if (!large)
		return 0;
	return overwrite ? ilog2(nr_pages) : get_order(watermark);
}

/* C8: the caller sets aux_mmap_count. */
int rb_alloc_aux(struct perf_buffer *rb, struct perf_event *event, u64 offset,
		 unsigned long nr_pages, u32 watermark, bool writable)
{
	size_t size = nr_pages << PAGE_SHIFT;
	u64 aux_watermark = effective_watermark(event, nr_pages, !writable, watermark);
	int max_order, ret = -ENOMEM;

	if (!has_aux(event)) /* C1 */
		return -EOPNOTSUPP;
	max_order = max_chunk_order(event, nr_pages, !writable, aux_watermark);
	if (get_order(nr_pages * sizeof(void *)) > MAX_PAGE_ORDER) /* C4 */
		return -ENOMEM;
	rb->aux_nr_pages = (int)nr_pages;
	rb->aux = ring_memory("auxtap-aux", size, &rb->aux_memfd, &ret);
	if (!rb->aux)
		goto fail;
	ret = -ENOMEM;
	rb->aux_pages = kcalloc(nr_pages, sizeof(*rb->aux_pages), GFP_KERNEL);
	if (!rb->aux_pages)
		goto fail;
	/* C5 */
	rb->aux_region = page_region_new(rb->aux, nr_pages, (unsigned int)max_order,
					 core_machine.alloc_order, core_machine.ctx);
	if (!rb->aux_region)
		goto fail;
	for (unsigned long i = 0; i < nr_pages; i++)
		rb->aux_pages[i] = page_address(page_region_page(rb->aux_region, i));
	/* C6: such a PMU double-buffers by its interrupt, which overwrite mode does not have */
	if (!writable && event->pmu->capabilities & PERF_PMU_CAP_AUX_NO_SG &&
	    page_private(page_region_page(rb->aux_region, 0)) != (unsigned long)max_order)
		goto fail;
	rb->aux_priv = event->pmu->setup_aux(event, rb->aux_pages, (int)nr_pages, !writable);
	if (!rb->aux_priv) /* C7 */
		goto fail;
	rb->free_aux = event->pmu->free_aux;
	rb->aux_refcount = 1;
	rb->aux_overwrite = !writable;
	rb->aux_watermark = aux_watermark;
	rb->aux_offset = offset;
	return 0;

fail:
	aux_destroy(rb);
	return ret;
}
