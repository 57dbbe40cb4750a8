// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * See pmu.h. A driver without hardware: it opens and closes transactions on request. Rule numbers
 * (B18) refer to docs/kernel-rules.md.
 */
#include "pmu.h"
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/smp.h>

#define NR_CLAIMS 64

/*
 * Rings with an open transaction: the core warns if a second one is begun (A: aux_nest), so that is
 * refused.
 */
static struct perf_buffer *claims[NR_CLAIMS];

/* The driver's area, as setup_aux returns it. */
struct conform_area {
	int nr_pages;
};

static struct conform_event *conform_event_of(const struct perf_event *event)
{
	return (struct conform_event *)event->hw.config_base;
}

static bool claim(struct perf_buffer *rb)
{
	unsigned long flags = conform_lock();
	int at = -1, i;

	for (i = 0; i < NR_CLAIMS; i++) {
		if (claims[i] == rb) {
			conform_unlock(flags);
			return false;
		}
		if (!claims[i])
			at = i;
	}
	if (at >= 0)
		claims[at] = rb;
	conform_unlock(flags);
	return at >= 0;
}

static void release(const struct perf_buffer *rb)
{
	unsigned long flags = conform_lock();
	int i;

	for (i = 0; i < NR_CLAIMS; i++)
		if (claims[i] == rb)
			claims[i] = NULL;
	conform_unlock(flags);
}

static s64 do_begin(struct conform_event *ce)
{
	struct perf_event *event = ce->event;
	struct perf_event *output = event->parent ? event->parent : event;
	struct perf_buffer *rb = READ_ONCE(output->rb);
	void *area;

	if (!event->pmu->setup_aux) /* B18 does not stop such an event */
		return -EOPNOTSUPP;
	if (ce->handle.event)
		return -EBUSY;
	if (rb && !claim(rb))
		return -EBUSY;
	/* D3: this value shows whether the core leaves it unchanged; it is never dereferenced */
	ce->handle.event = event;
	area = perf_aux_output_begin(&ce->handle, event);
	ce->kept = !area && ce->handle.event;
	if (area)
		return 1;
	ce->handle.event = NULL;
	if (rb)
		release(rb);
	return 0;
}

static s64 do_end(struct conform_event *ce, unsigned long size)
{
	struct perf_buffer *rb = ce->handle.rb;

	if (!ce->handle.event)
		return -ENOENT;
	perf_aux_output_end(&ce->handle, size);
	release(rb);
	return 0;
}

static s64 do_flag(struct conform_event *ce, u64 flags)
{
	if (!ce->handle.event)
		return -ENOENT;
	if (flags & PERF_AUX_FLAG_OVERWRITE) /* D9 */
		return -EINVAL;
	perf_aux_output_flag(&ce->handle, flags);
	return 0;
}

s64 conform_run_op(struct conform_event *ce, u32 op, u64 arg)
{
	if (op == CONFORM_LOOK)
		return 0;
	if (ce->event->state != PERF_EVENT_STATE_ACTIVE || ce->event->oncpu != smp_processor_id())
		return -EAGAIN;
	switch (op) {
	case CONFORM_BEGIN:
		return do_begin(ce);
	case CONFORM_FLAG:
		return do_flag(ce, arg);
	case CONFORM_SKIP:
		if (!ce->handle.event)
			return -ENOENT;
		return perf_aux_output_skip(&ce->handle, arg);
	case CONFORM_END:
		return do_end(ce, arg);
	case CONFORM_HEAD:
		if (!ce->handle.event)
			return -ENOENT;
		ce->handle.head = arg;
		return 0;
	case CONFORM_AT_STOP:
		ce->stop_size = (u32)arg;
		ce->stop_flags = arg >> 32 & ~(u64)PERF_AUX_FLAG_OVERWRITE;
		return 0;
	case CONFORM_GET:
		return !!perf_get_aux(&ce->handle);
	default:
		return -EINVAL;
	}
}

void conform_get_view(const struct conform_event *ce, struct conform_view *view)
{
	const struct perf_event *event = ce->event;

	view->found = 1;
	view->state = event->state;
	view->oncpu = event->oncpu;
	view->open = !!ce->handle.event;
	view->kept = ce->kept;
	view->itrace = !!(event->attach_state & PERF_ATTACH_ITRACE);
	view->head = ce->handle.head;
	view->size = ce->handle.size;
	view->wakeup = ce->handle.wakeup;
	view->aux_flags = ce->handle.aux_flags;
	view->adds = ce->adds;
	view->dels = ce->dels;
	view->starts = ce->starts;
	view->stops = ce->stops;
	view->setups = ce->setups;
	view->nr_chunks = ce->nr_chunks;
	view->chunk_hash = ce->chunk_hash;
}

/* ---- the PMU ---- */

static void conform_start(struct perf_event *event, int flags)
{
	struct conform_event *ce = conform_event_of(event);

	(void)flags;
	ce->starts++;
	event->hw.state = 0;
	if (event->attr.config & CONFORM_STARTED)
		event->attach_state |= PERF_ATTACH_ITRACE;
	if (event->attr.config & CONFORM_AUTO && do_begin(ce) <= 0)
		event->hw.state = PERF_HES_STOPPED;
}

static void close_transaction(struct conform_event *ce)
{
	unsigned long size = ce->stop_size;

	if (!ce->handle.event)
		return;
	if (ce->stop_flags)
		perf_aux_output_flag(&ce->handle, ce->stop_flags);
	ce->stop_size = 0;
	ce->stop_flags = 0;
	do_end(ce, size);
}

static void conform_stop(struct perf_event *event, int flags)
{
	struct conform_event *ce = conform_event_of(event);

	(void)flags;
	ce->stops++;
	event->hw.state = PERF_HES_STOPPED;
	close_transaction(ce);
}

static int conform_add(struct perf_event *event, int flags)
{
	conform_event_of(event)->adds++;
	event->hw.state = PERF_HES_STOPPED;
	if (!(flags & PERF_EF_START))
		return 0;
	conform_start(event, 0);
	return event->hw.state == PERF_HES_STOPPED ? -EINVAL : 0;
}

static void conform_del(struct perf_event *event, int flags)
{
	struct conform_event *ce = conform_event_of(event);

	(void)flags;
	ce->dels++;
	event->hw.state = PERF_HES_STOPPED;
	close_transaction(ce);
}

static void conform_read(struct perf_event *event)
{
	(void)event; /* counts nothing */
}

static void conform_destroy(struct perf_event *event)
{
	struct conform_event *ce = conform_event_of(event);

	conform_event_removed(ce);
	kfree(ce);
}

static int conform_event_init(struct perf_event *event)
{
	struct conform_event *ce;

	if (event->attr.type != (u32)event->pmu->type)
		return -ENOENT;
	if (event->attr.config & ~(u64)CONFORM_ALL_BITS)
		return -EINVAL;
	ce = kzalloc(sizeof(*ce), GFP_KERNEL);
	if (!ce)
		return -ENOMEM;
	ce->event = event;
	event->hw.config_base = (unsigned long)ce;
	event->destroy = conform_destroy;
	conform_event_added(ce);
	return 0;
}

/* C5: the orders of the chunks that the core allocated, as a driver reads them. */
static void *conform_setup_aux(struct perf_event *event, void **pages, int nr_pages, bool overwrite)
{
	struct conform_event *ce = conform_event_of(event);
	struct conform_area *area;
	int i;

	(void)overwrite;
	ce->setups++;
	ce->nr_chunks = 0;
	ce->chunk_hash = 0;
	for (i = 0; i < nr_pages; ce->nr_chunks++) {
		struct page *page = virt_to_page(pages[i]);
		unsigned long order = PagePrivate(page) ? page_private(page) : 0;

		if (ce->nr_chunks < CONFORM_NR_ORDERS)
			ce->orders[ce->nr_chunks] = (u8)order;
		ce->chunk_hash = ce->chunk_hash * 31 + order + 1;
		i += 1 << order;
	}
	if (event->attr.config & CONFORM_FAIL_SETUP)
		return NULL;
	area = kzalloc(sizeof(*area), GFP_KERNEL);
	if (area)
		area->nr_pages = nr_pages;
	return area;
}

static void conform_free_aux(void *area)
{
	kfree(area);
}

static const char *const names[CONFORM_NR_FLAVOURS] = CONFORM_NAMES;
static struct pmu pmus[CONFORM_NR_FLAVOURS];
static int nr_registered;

const void *conform_pmus(void)
{
	return pmus;
}

int conform_register(void)
{
	static const int capabilities[CONFORM_NR_FLAVOURS] = {
		[CONFORM_NO_SG] = PERF_PMU_CAP_AUX_NO_SG,
		[CONFORM_ITRACE] = PERF_PMU_CAP_ITRACE | PERF_PMU_CAP_EXCLUSIVE,
	};
	int i, ret;

	for (i = 0; i < CONFORM_NR_FLAVOURS; i++) {
		pmus[i] = (struct pmu){
			.module = THIS_MODULE,
			.capabilities = capabilities[i],
			.task_ctx_nr = perf_sw_context,
			.event_init = conform_event_init,
			.add = conform_add,
			.del = conform_del,
			.start = conform_start,
			.stop = conform_stop,
			.read = conform_read,
		};
		if (i != CONFORM_NO_AUX) {
			pmus[i].setup_aux = conform_setup_aux;
			pmus[i].free_aux = conform_free_aux;
		}
		ret = perf_pmu_register(&pmus[i], names[i], -1);
		if (ret) {
			conform_unregister();
			return ret;
		}
		nr_registered++;
	}
	return 0;
}

void conform_unregister(void)
{
	while (nr_registered)
		perf_pmu_unregister(&pmus[--nr_registered]);
}
