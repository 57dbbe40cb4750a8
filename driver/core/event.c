// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Events as a program sees them: open, close, ioctl, poll, read. mapping.c contains mmap; sched.c
 * decides when an event runs. Rule numbers (Q4) refer to docs/kernel-rules.md.
 */
#include "core/perf_buffer.h"
#include <linux/slab.h>
#include <poll.h>
#include <time.h>

/* L4: the attribute that later kernels call aux_action. */
#define AUX_START_PAUSED 0x1u
#define AUX_PAUSE	 0x2u
#define AUX_RESUME	 0x4u

static CORE_LOCAL u64 next_id = 1;

static int copy_attr(struct perf_event_attr *to, const struct perf_event_attr *from)
{
	u32 size = from->size ? from->size : PERF_ATTR_SIZE_VER0;
	const unsigned char *bytes = (const unsigned char *)from;

	if (size < PERF_ATTR_SIZE_VER0 || size > PAGE_SIZE)
		return -E2BIG;
	for (u32 i = sizeof(*to); i < size; i++)
		if (bytes[i])
			return -E2BIG;
	memset(to, 0, sizeof(*to));
	memcpy(to, from, min((size_t)size, sizeof(*to)));
	to->size = size;
	return 0;
}

static bool valid_clock(const struct perf_event_attr *attr)
{
	switch (attr->clockid) {
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_REALTIME:
	case CLOCK_BOOTTIME:
	case CLOCK_TAI:
		return true;
	default:
		return !attr->use_clockid;
	}
}

static int check_attr(const struct perf_event_attr *attr, const struct core_kernel *kernel)
{
	u32 aux_action = attr->__reserved_3;

	if (attr->__reserved_1 || attr->__reserved_2)
		return -EINVAL;
	if (aux_action) { /* L4 */
		if (!kernel->aux_pause_resume ||
		    aux_action & ~(AUX_START_PAUSED | AUX_PAUSE | AUX_RESUME))
			return -EINVAL;
	}
	if (attr->sample_type & ~((u64)PERF_SAMPLE_MAX - 1) ||
	    attr->read_format & ~((u64)PERF_FORMAT_MAX - 1))
		return -EINVAL;
	if (!attr->freq && attr->sample_period & 1ull << 63)
		return -EINVAL;
	if ((attr->inherit && attr->sample_type & PERF_SAMPLE_READ) ||
	    (attr->inherit_thread && !attr->inherit) ||
	    (attr->remove_on_exec && attr->enable_on_exec) ||
	    (attr->sigtrap && !attr->remove_on_exec))
		return -EINVAL;
	if (!valid_clock(attr))
		return -EINVAL;
	return 0;
}

static int check_pmu(const struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;
	u32 aux_action = attr->__reserved_3;
	int caps = event->pmu->capabilities;

	if (caps & PERF_PMU_CAP_NO_INTERRUPT && attr->sample_period)
		return -EOPNOTSUPP;
	if (caps & PERF_PMU_CAP_NO_EXCLUDE &&
	    (attr->exclude_user || attr->exclude_kernel || attr->exclude_hv || attr->exclude_idle ||
	     attr->exclude_host || attr->exclude_guest))
		return -EINVAL;
	if (attr->aux_output && !(caps & PERF_PMU_CAP_AUX_OUTPUT))
		return -EOPNOTSUPP;
	/*
	 * Section G applies to real kernels: no PMU here takes samples, so no group leader
	 * qualifies.
	 */
	if (attr->aux_sample_size || attr->aux_output)
		return -EINVAL;
	/* L4 */
	if ((aux_action & (AUX_PAUSE | AUX_RESUME)) == (AUX_PAUSE | AUX_RESUME))
		return -EINVAL;
	if (aux_action & AUX_START_PAUSED && !(caps & PERF_PMU_CAP_AUX_PAUSE))
		return -EOPNOTSUPP;
	return 0;
}

/* L4: an event may pause or resume only if its group leader can be paused. */
static bool lacks_aux_leader(const struct perf_event *event)
{
	const struct perf_event *leader = event->group_leader;

	if (!(event->attr.__reserved_3 & (AUX_PAUSE | AUX_RESUME)))
		return false;
	return leader == event || !(leader->pmu->capabilities & PERF_PMU_CAP_AUX_PAUSE);
}

/* Whether CPU events use the exclusive PMU of a task event, or the reverse. */
static bool exclusive_kind_taken(const struct perf_event *event)
{
	if (!(event->pmu->capabilities & PERF_PMU_CAP_EXCLUSIVE))
		return false;
	return event->target ? event->pmu->exclusive_cnt < 0 : event->pmu->exclusive_cnt > 0;
}

/* An exclusive PMU has at most one active event per task or CPU. */
static bool exclusive_taken(const struct perf_event *event)
{
	if (!(event->pmu->capabilities & PERF_PMU_CAP_EXCLUSIVE))
		return false;
	for (struct perf_event *e = event->ctx->events; e; e = e->next_in_ctx)
		if (e->pmu == event->pmu &&
		    (e->cpu == event->cpu || e->cpu == -1 || event->cpu == -1))
			return true;
	return false;
}

static void exclusive_count(struct perf_event *event, int by)
{
	if (event->pmu->capabilities & PERF_PMU_CAP_EXCLUSIVE)
		event->pmu->exclusive_cnt += event->target ? by : -by;
}

int core_event_open(struct perf_event **result, const struct perf_event_attr *attr,
		    struct core_task *task, int cpu, struct perf_event *group,
		    struct perf_event *parent)
{
	struct perf_event *event;
	bool parent_enabled = false;
	int ret;

	*result = NULL;
	if (cpu < -1 || cpu >= CORE_NR_CPUS || (!task && cpu < 0))
		return -EINVAL;
	event = kzalloc(sizeof(*event), GFP_KERNEL);
	if (!event)
		return -ENOMEM;
	if (parent)
		parent_enabled = parent->state >= PERF_EVENT_STATE_INACTIVE;
	if (parent && parent->parent)
		parent = parent->parent;
	event->kernel = parent ? parent->kernel : core_kernel_now;
	if (parent) {
		event->attr = parent->attr;
		cpu = parent->cpu;
	} else {
		ret = copy_attr(&event->attr, attr);
		if (!ret)
			ret = check_attr(&event->attr, event->kernel);
		/* Q4: before any check by the PMU */
		if (!ret && task && group && group->attr.inherit != event->attr.inherit)
			ret = -EINVAL;
		if (ret)
			goto free_event;
	}
	event->pmu = core_pmu_by_type(event->attr.type);
	if (!event->pmu) {
		ret = -ENOENT;
		goto free_event;
	}
	event->parent = parent;
	event->target = task;
	event->ctx = task ? task : core_cpu_context(cpu);
	event->group_leader = group ? group : event;
	event->cpu = cpu;
	event->oncpu = event->irq_cpu = -1;
	event->id = next_id++;
	event->id_header_size = perf_event_id_header_size(&event->attr);
	event->attach_state = PERF_ATTACH_CONTEXT | (task ? PERF_ATTACH_TASK : 0) |
			      (parent ? PERF_ATTACH_CHILD : 0) | (group ? PERF_ATTACH_GROUP : 0);
	event->state = event->attr.disabled ? PERF_EVENT_STATE_OFF : PERF_EVENT_STATE_INACTIVE;
	if (parent) /* like the forking task's event, which may itself be inherited */
		event->state = parent_enabled ? PERF_EVENT_STATE_INACTIVE : PERF_EVENT_STATE_OFF;
	event->hw.sample_period = event->attr.sample_period;
	event->hw.aux_paused = !!(event->attr.__reserved_3 & AUX_START_PAUSED);
	event->time_stamp = core_clock();
	ret = event_addr_filters_init(event);
	if (!ret)
		ret = check_pmu(event);
	if (!ret)
		ret = event->pmu->event_init(event);
	if (ret)
		goto free_event;
	/* Q4: the mix of task and CPU events is checked before the group, other events after it */
	if (exclusive_kind_taken(event)) {
		ret = -EBUSY;
		goto destroy_event;
	}
	if (task && !parent)
		context_unclone(task); /* Q3: even if opening fails */
	/* Q4: a group has one context and one clock, and its leader is not a sibling. */
	if (group && (group->group_leader != group || group->ctx != event->ctx ||
		      group->cpu != event->cpu || event->attr.pinned || event->attr.exclusive ||
		      perf_clocks_differ(&group->attr, &event->attr))) {
		ret = -EINVAL;
		goto destroy_event;
	}
	if (lacks_aux_leader(event)) {
		ret = -EINVAL;
		goto destroy_event;
	}
	if (exclusive_taken(event)) {
		ret = -EBUSY;
		goto destroy_event;
	}
	exclusive_count(event, 1);
	if (parent) {
		event->child_next = parent->child_list;
		parent->child_list = event;
	}
	event_install(event);
	*result = event;
	return 0;

destroy_event:
	if (event->destroy)
		event->destroy(event);
free_event:
	event_addr_filters_free(event);
	kfree(event);
	return ret;
}

void event_free(struct perf_event *event)
{
	struct perf_event *child;

	while ((child = event->child_list)) {
		event->child_list = child->child_next;
		event_free(child);
	}
	event_remove(event, PERF_EVENT_STATE_DEAD);
	if (event->parent) {
		struct perf_event **at = &event->parent->child_list;

		while (*at && *at != event)
			at = &(*at)->child_next;
		if (*at)
			*at = event->child_next;
	}
	core_irq_work_cancel(event);
	if (event->rb)
		ring_buffer_attach(event, NULL);
	exclusive_count(event, -1);
	if (event->destroy)
		event->destroy(event);
	event_addr_filters_free(event);
	kfree(event);
}

void core_event_close(struct perf_event *event)
{
	if (event->mmap_count) { /* a mapping keeps the file open */
		event->closed = true;
		return;
	}
	event_free(event);
}

static void perf_event_for_each_child(struct perf_event *event,
				      void (*fn)(struct perf_event *event))
{
	fn(event);
	for (struct perf_event *child = event->child_list; child; child = child->child_next)
		fn(child);
}

/* PERF_IOC_FLAG_GROUP: the whole group of the event. */
static void perf_event_for_each(struct perf_event *event, unsigned long flags,
				void (*fn)(struct perf_event *event))
{
	struct perf_event *leader = event->group_leader;

	if (!(flags & PERF_IOC_FLAG_GROUP) || !leader->ctx) {
		perf_event_for_each_child(event, fn);
		return;
	}
	perf_event_for_each_child(leader, fn);
	for (struct perf_event *e = leader->ctx->events; e; e = e->next_in_ctx)
		if (e->group_leader == leader && e != leader)
			perf_event_for_each_child(e, fn);
}

static void event_reset(struct perf_event *event)
{
	event->hw.prev_count.v = 0; /* no PMU here counts; the times continue */
}

long core_event_ioctl(struct perf_event *event, unsigned long request, unsigned long argument,
		      struct perf_event *target)
{
	switch (request) {
	case PERF_EVENT_IOC_ENABLE:
		perf_event_for_each(event, argument, perf_event_enable);
		return 0;
	case PERF_EVENT_IOC_DISABLE:
		perf_event_for_each(event, argument, perf_event_disable);
		return 0;
	case PERF_EVENT_IOC_RESET:
		perf_event_for_each(event, argument, event_reset);
		return 0;
	case PERF_EVENT_IOC_REFRESH:
		/* The limit counts overflows, and no event here overflows. */
		if (event->attr.inherit || !event->attr.sample_period)
			return -EINVAL;
		perf_event_enable(event);
		return 0;
	case PERF_EVENT_IOC_ID:
		if (!argument)
			return -EFAULT;
		*(u64 *)argument = core_event_id(event);
		return 0;
	case PERF_EVENT_IOC_SET_OUTPUT:
		return perf_event_set_output(event, target);
	case PERF_EVENT_IOC_PAUSE_OUTPUT:
		if (!event->rb || !event->rb->nr_pages) /* E13 */
			return -EINVAL;
		rb_toggle_paused(event->rb, argument);
		return 0;
	case PERF_EVENT_IOC_SET_FILTER: /* only core_event_set_addr_filters() sets filters */
		return -EINVAL;
	default:
		return -ENOTTY;
	}
}

unsigned int core_event_poll(struct perf_event *event)
{
	unsigned int events = POLLHUP;

	if (event->state <= PERF_EVENT_STATE_EXIT && !event->child_list)
		return events;
	if (event->rb) { /* E12: the first poller consumes the state for all events of the ring */
		events = event->rb->poll;
		event->rb->poll = 0;
	}
	return events;
}

static void fill_read_entry(u64 *at, struct perf_event *event, u64 format)
{
	*at++ = 0; /* the count: no PMU here counts */
	if (!(format & PERF_FORMAT_GROUP)) {
		if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
			*at++ = event->time_enabled;
		if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
			*at++ = event->time_running;
	}
	if (format & PERF_FORMAT_ID)
		*at++ = core_event_id(event);
	if (format & PERF_FORMAT_LOST) /* E9 */
		*at = event->lost_samples;
}

ssize_t core_event_read(struct perf_event *event, void *buf, size_t size)
{
	u64 format = event->attr.read_format, words[5], *at = words;
	size_t entry = 8, need;
	u64 nr = 1;

	if (event->state == PERF_EVENT_STATE_ERROR)
		return 0;
	entry += format & PERF_FORMAT_ID ? 8 : 0;
	entry += format & PERF_FORMAT_LOST ? 8 : 0;
	need = entry;
	need += format & PERF_FORMAT_TOTAL_TIME_ENABLED ? 8 : 0;
	need += format & PERF_FORMAT_TOTAL_TIME_RUNNING ? 8 : 0;
	event_update_time(event);
	if (!(format & PERF_FORMAT_GROUP)) {
		if (size < need)
			return -ENOSPC;
		fill_read_entry(at, event, format);
		memcpy(buf, words, need);
		return (ssize_t)need;
	}
	for (struct perf_event *e = event->ctx ? event->ctx->events : NULL; e; e = e->next_in_ctx)
		if (e->group_leader == event && e != event)
			nr++;
	need += 8 + (nr - 1) * entry;
	if (size < need)
		return -ENOSPC;
	*at++ = nr;
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		*at++ = event->time_enabled;
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		*at++ = event->time_running;
	memcpy(buf, words, (size_t)((char *)at - (char *)words));
	buf = (char *)buf + ((char *)at - (char *)words);
	fill_read_entry(words, event, format);
	memcpy(buf, words, entry);
	for (struct perf_event *e = event->ctx ? event->ctx->events : NULL; e; e = e->next_in_ctx) {
		if (e->group_leader != event || e == event)
			continue;
		buf = (char *)buf + entry;
		fill_read_entry(words, e, format);
		memcpy(buf, words, entry);
	}
	return (ssize_t)need;
}

uint64_t core_event_id(const struct perf_event *event)
{
	return event->parent ? event->parent->id : event->id;
}

bool core_event_active(const struct perf_event *event)
{
	return event->state == PERF_EVENT_STATE_ACTIVE;
}

void core_event_set_priv(struct perf_event *event, void *priv)
{
	event->priv = priv;
}

void *core_event_priv(const struct perf_event *event)
{
	return event->priv;
}
