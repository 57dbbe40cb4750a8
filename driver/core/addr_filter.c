// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Address filters of an event: passes them to the driver, and stops and restarts the event to apply
 * them. This file does not parse the text that PERF_EVENT_IOC_SET_FILTER takes and does not follow
 * mappings: the caller passes the resulting filters and address ranges.
 */
#include "core/perf_buffer.h"
#include <linux/list.h>
#include <linux/slab.h>

int event_addr_filters_init(struct perf_event *event)
{
	unsigned int nr = event->pmu->nr_addr_filters;

	INIT_LIST_HEAD(&event->addr_filters.list);
	if (!nr)
		return 0;
	event->addr_filter_ranges = kcalloc(nr, sizeof(*event->addr_filter_ranges), GFP_KERNEL);
	if (!event->addr_filter_ranges)
		return -ENOMEM;
	if (event->parent) /* the parent holds the filters */
		memcpy(event->addr_filter_ranges, event->parent->addr_filter_ranges,
		       nr * sizeof(*event->addr_filter_ranges));
	event->addr_filters_gen = 1; /* the driver has none yet */
	return 0;
}

static void free_filters(struct list_head *list)
{
	struct list_head *at = list->next, *next;

	for (; at != list; at = next) {
		next = at->next;
		kfree(list_entry(at, struct perf_addr_filter, entry));
	}
	INIT_LIST_HEAD(list);
}

void event_addr_filters_free(struct perf_event *event)
{
	if (event->addr_filters.list.next) /* not set if the event found no PMU */
		free_filters(&event->addr_filters.list);
	kfree(event->addr_filter_ranges);
	event->addr_filter_ranges = NULL;
}

void perf_event_addr_filters_sync(struct perf_event *event)
{
	if (!event->pmu->nr_addr_filters || event->addr_filters_gen == event->hw.addr_filters_gen)
		return;
	event->pmu->addr_filters_sync(event);
	event->hw.addr_filters_gen = event->addr_filters_gen;
}

static void set_range(struct perf_event *event, unsigned int n, u64 start, u64 size)
{
	event->addr_filter_ranges[n].start = start;
	event->addr_filter_ranges[n].size = size;
	event->addr_filters_gen++;
}

static void move_list(struct list_head *from, struct list_head *to)
{
	free_filters(to);
	if (from->next == from)
		return;
	*to = *from;
	to->next->prev = to;
	to->prev->next = to;
}

/* The range of a filter with a file stays 0 until the caller maps the file. */
static void apply_filters(struct perf_event *event, const struct core_addr_filter *filters,
			  unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		set_range(event, i, filters[i].file ? 0 : filters[i].offset,
			  filters[i].file ? 0 : filters[i].size);
	event->addr_filters_gen++;
	perf_event_restart(event);
	for (struct perf_event *e = event->child_list; e; e = e->child_next)
		apply_filters(e, filters, nr);
}

int core_event_set_addr_filters(struct perf_event *event, const struct core_addr_filter *filters,
				unsigned int nr)
{
	static char file; /* stands for any file: drivers only check for NULL */
	struct list_head list;
	int err = 0;

	if (!event->pmu->nr_addr_filters)
		return -EINVAL;
	INIT_LIST_HEAD(&list);
	for (unsigned int i = 0; i < nr && !err; i++) {
		struct perf_addr_filter *filter = kzalloc(sizeof(*filter), GFP_KERNEL);

		if (!filter) {
			err = -ENOMEM;
			break;
		}
		filter->offset = filters[i].offset;
		filter->size = filters[i].size;
		filter->action = filters[i].action;
		filter->path.dentry = filters[i].file ? (void *)&file : NULL;
		list_add_tail(&filter->entry, &list);
		if (filters[i].file && !event->target)
			err = -EOPNOTSUPP;
		else if (filter->action == PERF_ADDR_FILTER_ACTION_FILTER && !filter->size)
			err = -EINVAL;
	}
	if (!err)
		err = event->pmu->addr_filters_validate(&list);
	if (err) {
		free_filters(&list);
		return err;
	}
	move_list(&list, &event->addr_filters.list);
	apply_filters(event, filters, nr);
	return 0;
}

void core_event_map_addr_filter(struct perf_event *event, unsigned int n, uint64_t start,
				uint64_t size)
{
	if (WARN_ON(n >= event->pmu->nr_addr_filters))
		return;
	set_range(event, n, start, size);
	perf_event_restart(event);
}
