// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Executes capture's perf system calls, which arrive as messages, in the perf core's model. A call
 * that accesses a task's events while the task runs is executed in an interrupt of its CPU.
 */
#include "emu_state.h"
#include "emu_unit.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

struct emu_map {
	struct core_mapping *mapping;
	struct emu_task *task;
};

static int copy_attr(struct perf_event_attr *attr, const u8 *data, size_t data_size)
{
	u32 size;

	memset(attr, 0, sizeof(*attr));
	if (data_size < PERF_ATTR_SIZE_VER0)
		return -E2BIG;
	memcpy(&size, data + offsetof(struct perf_event_attr, size), sizeof(size));
	if (!size)
		size = PERF_ATTR_SIZE_VER0;
	if (size < PERF_ATTR_SIZE_VER0 || size > data_size)
		return -E2BIG;
	for (size_t i = sizeof(*attr); i < size; i++)
		if (data[i])
			return -E2BIG;
	memcpy(attr, data, size < sizeof(*attr) ? size : sizeof(*attr));
	attr->size = size < sizeof(*attr) ? size : sizeof(*attr);
	return 0;
}

static int call_open(struct emu *emu, const struct emu_request *req, const u8 *data,
		     struct emu_answer *answer)
{
	struct emu_task *task = emu_task_find(emu, (pid_t)req->arg[0]);
	const struct emu_unit_family *family;
	struct emu_event *group = NULL, *ev;
	struct perf_event_attr attr;
	struct emu_unit *unit = NULL;
	int ret = copy_attr(&attr, data, req->data_size);

	if (ret)
		return ret;
	if (req->arg[3] & ~(u64)(PERF_FLAG_FD_CLOEXEC | PERF_FLAG_FD_NO_GROUP))
		return -EINVAL;
	if (!task)
		return -ESRCH;
	_Static_assert(EMU_NR_CPUS == CORE_NR_CPUS, "the client passes the number");
	if (task->cpu < 0)
		return -EUSERS;
	if ((int64_t)req->arg[2] != -1) {
		group = emu_slots_get(&emu->events, (int64_t)req->arg[2]);
		if (!group)
			return -EBADF;
	}
	family = emu_unit_family(attr.type);
	if (family) {
		unit = emu_unit_get(task, family, &ret);
		if (ret)
			return ret;
	}
	ev = calloc(1, sizeof(*ev));
	if (!ev)
		return -ENOMEM;
	ev->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ev->wake_fd < 0) {
		ret = -errno;
		goto free_event;
	}
	core_set_cpu(task->cpu);
	ret = core_event_open(&ev->event, &attr, &task->core, (int)req->arg[1],
			      group ? group->event : NULL, NULL);
	if (ret)
		goto close_wake;
	ev->task = task;
	ev->is_trace = family && !unit;
	ev->unit = unit;
	ev->family = family;
	ret = emu_slots_add(&emu->events, ev);
	if (ret < 0)
		goto close_event;
	task->nr_refs++;
	core_event_set_priv(ev->event, ev);
	emu_task_stats(task, unit, &ev->base);
	if (unit && family->opened)
		family->opened(unit, &attr);
	emu_unit_check(task);
	answer->result = ret;
	answer->fd = ev->wake_fd;
	if (ev->is_trace) {
		answer->value[0] = emu_task_bytes_counter(task);
		answer->value[1] = ev->base.nr_written;
	}
	return 0;

close_event:
	core_event_close(ev->event);
close_wake:
	close(ev->wake_fd);
free_event:
	free(ev);
	return ret;
}

/* A descriptor of the ring's memory with no more access than the mapping allows. */
static int memory_fd(int memfd, bool writable)
{
	char path[32];
	int fd;

	if (writable) {
		fd = fcntl(memfd, F_DUPFD_CLOEXEC, 0);
	} else {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", memfd);
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}

static int call_mmap(struct emu *emu, struct emu_event *ev, const struct emu_request *req,
		     struct emu_answer *answer)
{
	struct emu_map *map = calloc(1, sizeof(*map));
	int prot = (int)req->arg[1];
	int ret;

	if (!map)
		return -ENOMEM;
	ret = core_event_mmap(ev->event, req->arg[0], prot, (int)req->arg[2], req->arg[3],
			      &map->mapping);
	if (ret)
		goto free_map;
	ret = memory_fd(map->mapping->memfd, prot & PROT_WRITE);
	if (ret < 0)
		goto unmap;
	answer->fd = ret;
	ret = emu_slots_add(&emu->mappings, map);
	if (ret < 0)
		goto close_fd;
	answer->close_fd = true;
	answer->value[0] = map->mapping->memfd_off;
	answer->result = ret;
	map->task = ev->task;
	map->task->nr_refs++;
	return 0;

close_fd:
	close(answer->fd);
	answer->fd = -1;
unmap:
	core_event_munmap(map->mapping);
free_map:
	free(map);
	return ret;
}

static void do_munmap(void *arg)
{
	struct emu_map *map = arg;

	core_event_munmap(map->mapping);
}

/* Runs fn, which may run driver code: in an interrupt of the task's CPU if the task runs. */
static void on_cpu_of(struct emu_task *task, void (*fn)(void *arg), void *arg)
{
	if (task->scheduled) {
		emu_task_run_ipi(task, fn, arg);
		return;
	}
	if (task->cpu >= 0)
		core_set_cpu(task->cpu);
	fn(arg);
	core_irq_work_run();
}

static int call_munmap(struct emu *emu, int64_t number)
{
	struct emu_map *map = emu_slots_get(&emu->mappings, number);

	if (!map)
		return -EINVAL;
	emu->mappings.items[number - 1] = NULL;
	on_cpu_of(map->task, do_munmap, map);
	emu_task_put(map->task);
	free(map);
	return 0;
}

struct ioctl_call {
	struct emu_event *ev;
	struct perf_event *target;
	unsigned long request, argument;
	long result;
};

static void do_ioctl(void *arg)
{
	struct ioctl_call *c = arg;
	bool tracing = c->ev->is_trace && emu_task_tracing(c->ev->task);

	c->result = core_event_ioctl(c->ev->event, c->request, c->argument, c->target);
	if (c->result || !c->ev->is_trace)
		return;
	if (c->request == PERF_EVENT_IOC_ENABLE)
		emu_task_set_enabled(c->ev->task, true, tracing);
	else if (c->request == PERF_EVENT_IOC_DISABLE)
		emu_task_set_enabled(c->ev->task, false, tracing);
}

static int call_ioctl(struct emu *emu, struct emu_event *ev, const struct emu_request *req,
		      const u8 *data, struct emu_answer *answer)
{
	struct ioctl_call c = {
		.ev = ev,
		.request = req->arg[0],
		.argument = req->arg[1],
	};
	struct emu_event *target;

	if (c.request == PERF_EVENT_IOC_SET_OUTPUT) {
		if ((int64_t)(int32_t)req->arg[1] != -1) {
			target = emu_slots_get(&emu->events, (int32_t)req->arg[1]);
			if (!target)
				return -EBADF;
			c.target = target->event;
		}
	} else if (c.request == PERF_EVENT_IOC_ID) {
		memset(emu->answer, 0, sizeof(u64));
		c.argument = (unsigned long)emu->answer;
		answer->data_size = sizeof(u64);
	} else if (c.request == PERF_EVENT_IOC_SET_FILTER) {
		if (!req->data_size || data[req->data_size - 1])
			return -EINVAL;
		c.argument = (unsigned long)data;
	} else if (c.request == PERF_EVENT_IOC_PERIOD) {
		if (req->data_size != sizeof(u64))
			return -EINVAL;
		memcpy(emu->answer, data, sizeof(u64));
		c.argument = (unsigned long)emu->answer;
	}
	on_cpu_of(ev->task, do_ioctl, &c);
	if (c.result < 0)
		answer->data_size = 0;
	answer->result = c.result;
	return 0;
}

static void do_close(void *arg)
{
	struct emu_event *ev = arg;

	core_event_set_priv(ev->event, NULL);
	core_event_close(ev->event);
	if (ev->is_trace)
		emu_task_trace_closed(ev->task);
}

static int call_close(struct emu *emu, struct emu_event *ev, int64_t number)
{
	emu->events.items[number - 1] = NULL;
	on_cpu_of(ev->task, do_close, ev);
	emu_task_put(ev->task);
	close(ev->wake_fd);
	free(ev);
	return 0;
}

void emu_perf_release(struct emu *emu)
{
	for (int i = 0; i < emu->mappings.nr; i++)
		if (emu->mappings.items[i])
			call_munmap(emu, i + 1);
	for (int i = 0; i < emu->events.nr; i++)
		if (emu->events.items[i])
			call_close(emu, emu->events.items[i], i + 1);
}

static int call_attr(struct emu *emu, const struct emu_request *req, const u8 *data,
		     struct emu_answer *answer)
{
	const char *pmu = (const char *)data, *attr;
	size_t pmu_len = strnlen(pmu, req->data_size);
	ssize_t n;

	if (pmu_len + 1 >= req->data_size || data[req->data_size - 1])
		return -EINVAL;
	attr = pmu + pmu_len + 1;
	n = core_pmu_attr(pmu, attr, (char *)emu->answer, EMU_DATA_MAX);
	if (n == -ENOENT)
		n = emu_unit_attr(emu, pmu, attr, (char *)emu->answer, EMU_DATA_MAX);
	if (n < 0)
		return (int)n;
	answer->data_size = (u32)n;
	answer->result = n;
	return 0;
}

static void call_stats(struct emu *emu, const struct emu_event *ev, struct emu_answer *answer)
{
	struct emu_event_stats stats;

	emu_task_stats(ev->task, ev->unit, &stats);
	stats.nr_produced -= ev->base.nr_produced;
	stats.nr_written -= ev->base.nr_written;
	stats.nr_dropped -= ev->base.nr_dropped;
	stats.nr_insns -= ev->base.nr_insns;
	stats.nr_untraced -= ev->base.nr_untraced;
	memcpy(emu->answer, &stats, sizeof(stats));
	answer->data_size = sizeof(stats);
}

int emu_call_perf(struct emu *emu, const struct emu_request *req, const u8 *data,
		  struct emu_answer *answer)
{
	struct emu_event *ev;
	ssize_t n;

	switch (req->call) {
	case EMU_OPEN:
		return call_open(emu, req, data, answer);
	case EMU_MUNMAP:
		return call_munmap(emu, (int64_t)req->arg[0]);
	case EMU_PMU_ATTR:
		return call_attr(emu, req, data, answer);
	case EMU_CLOCK:
		answer->value[0] = emu_tick(emu);
		return 0;
	default:
		break;
	}
	ev = emu_slots_get(&emu->events, req->event);
	if (!ev)
		return -EBADF;
	switch (req->call) {
	case EMU_MMAP:
		return call_mmap(emu, ev, req, answer);
	case EMU_IOCTL:
		return call_ioctl(emu, ev, req, data, answer);
	case EMU_READ:
		n = core_event_read(ev->event, emu->answer,
				    req->arg[0] < EMU_DATA_MAX ? req->arg[0] : EMU_DATA_MAX);
		if (n < 0)
			return (int)n;
		answer->data_size = (u32)n;
		answer->result = n;
		return 0;
	case EMU_CLOSE:
		return call_close(emu, ev, req->event);
	case EMU_POLL:
		answer->result = core_event_poll(ev->event);
		return 0;
	case EMU_STATS:
		call_stats(emu, ev, answer);
		return 0;
	default:
		return -ENOSYS;
	}
}
