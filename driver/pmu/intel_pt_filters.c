// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Address filters: checks whether the unit supports them, keeps their current addresses, and loads
 * the unit's registers. The core resolves addresses (files may be mapped anywhere) and restarts the
 * event when they change. Rule H14: docs/kernel-rules.md.
 */
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include "intel_pt.h"
#include "intel_pt_filters.h"
#include "intel_pt_regs.h"
#include "pmu_local.h"

#define VIRT_BITS 57 /* five-level paging; addresses that are canonical with four are here, too */

/* An event's ranges in the form of the registers: event->hw.addr_filters. */
struct pt_filters {
	unsigned int nr;
	struct {
		u64 first, last, cfg;
	} range[PT_MAX_ADDR_RANGES];
};

static PMU_LOCAL const struct intel_pt_hw *filter_hw;

void pt_filters_set_hw(const struct intel_pt_hw *hw)
{
	filter_hw = hw;
}

static void pt_filters_free(struct perf_event *event)
{
	kfree(event->hw.addr_filters);
	event->hw.addr_filters = NULL;
}

int pt_filters_init(struct perf_event *event)
{
	struct pt_filters *filters;

	if (!filter_hw->nr_addr_ranges)
		return 0;
	filters = kzalloc(sizeof(*filters), GFP_KERNEL);
	if (!filters)
		return -ENOMEM;
	event->hw.addr_filters = filters;
	event->destroy = pt_filters_free;
	return 0;
}

static bool kernel_address(u64 addr)
{
	return (s64)addr >> (VIRT_BITS - 1) == -1;
}

/* H14. Ranges only: the unit cannot start or stop at a single address. */
int pt_filters_validate(struct list_head *filters)
{
	struct perf_addr_filter *filter;
	unsigned int nr = 0;

	list_for_each_entry (filter, filters, entry) {
		if (!filter->size || filter->action == PERF_ADDR_FILTER_ACTION_START)
			return -EOPNOTSUPP;
		if (!filter->path.dentry && (!kernel_address(filter->offset) ||
					     !kernel_address(filter->offset + filter->size - 1)))
			return -EINVAL;
		if (++nr > filter_hw->nr_addr_ranges)
			return -EOPNOTSUPP;
	}
	return 0;
}

static u64 canonical(u64 addr, bool up)
{
	u64 sign = ~0ull << (VIRT_BITS - 1);

	if (addr < ~sign + 1 || addr >= sign)
		return addr;
	return up ? sign : ~sign;
}

/* Called with the list locked, and interrupts off. */
void pt_filters_sync(struct perf_event *event)
{
	struct perf_addr_filter_range *at = event->addr_filter_ranges;
	struct pt_filters *filters = event->hw.addr_filters;
	struct perf_addr_filter *filter;
	unsigned int n = 0;

	if (!filters)
		return;
	list_for_each_entry (filter, &perf_event_addr_filters(event)->list, entry) {
		u64 first = at[n].start, last = first + at[n].size - 1;

		if (last < first) /* wraps around the end of the address space */
			last = ~0ull;
		first = canonical(first, true);
		last = canonical(last, false);
		/* A file that is not mapped has no range, not one at address 0. */
		if ((filter->path.dentry && !at[n].start) || last < first) {
			first = ~0ull;
			last = 0;
		}
		filters->range[n].first = first;
		filters->range[n].last = last;
		filters->range[n].cfg = filter->action == PERF_ADDR_FILTER_ACTION_FILTER ?
						PT_ADDR_CFG_FILTER :
						PT_ADDR_CFG_STOP;
		n++;
	}
	filters->nr = n;
}

u64 pt_filters_load(struct perf_event *event, void (*write)(u32 msr, u64 value))
{
	const struct pt_filters *filters = event->hw.addr_filters;
	unsigned int n;
	u64 ctl = 0;

	if (!filters)
		return 0;
	perf_event_addr_filters_sync(event);
	for (n = 0; n < filters->nr; n++) {
		write(PT_MSR_ADDR0_A + 2 * n, filters->range[n].first);
		write(PT_MSR_ADDR0_A + 2 * n + 1, filters->range[n].last);
		ctl |= filters->range[n].cfg << (PT_CTL_ADDR_CFG_SHIFT + n * PT_ADDR_CFG_BITS);
	}
	return ctl;
}
