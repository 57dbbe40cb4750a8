// SPDX-License-Identifier: BSD-2-Clause
/*
 * struct auxtap_perf_ops for the emulated kernel: each call is a message to auxtap-emu, and each
 * mapping is of one of its memfds. An event's file descriptor is an eventfd, for its wakeups.
 */
#include "util/sized.h"
#include "emulated.h"
#include "util/vector.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

static int32_t event_of(const struct emu_link *link, int fd)
{
	return fd >= 0 && fd < link->nr_event_of_fd ? link->event_of_fd[fd] : 0;
}

static int emulated_open(void *ctx, const struct perf_event_attr *attr, pid_t pid, int cpu,
			 int group_fd, unsigned long flags)
{
	struct emu_link *link = ctx;
	struct emu_call_args args = {
		.call = EMU_OPEN,
		.arg = {(uint64_t)(int64_t)pid, (uint64_t)(int64_t)cpu,
			(uint64_t)(int64_t)(group_fd < 0 ? -1 : event_of(link, group_fd)), flags},
		.data = attr,
		.data_size = sizeof(*attr),
	};
	int64_t number = emu_link_call(link, &args);
	int fd = args.out_fd;

	if (number < 0)
		return (int)number;
	if (fd < 0) {
		struct emu_call_args undo = {.call = EMU_CLOSE, .event = (int32_t)number};

		if (!args.fd_cut)
			return -EPROTO;
		emu_link_call(link, &undo);
		return -EMFILE;
	}
	if (number == 0 || number > INT32_MAX) {
		close(fd);
		return -EPROTO;
	}
	if (fd >= link->nr_event_of_fd) {
		int nr = fd + 1;

		if (vector_reserve(link->event_of_fd, nr, link->max_event_of_fd) ||
		    vector_reserve(link->counter_of_fd, nr, link->max_counter_of_fd)) {
			struct emu_call_args undo = {.call = EMU_CLOSE, .event = (int32_t)number};

			emu_link_call(link, &undo);
			close(fd);
			return -ENOMEM;
		}
		memset(link->event_of_fd + link->nr_event_of_fd, 0,
		       (size_t)(nr - link->nr_event_of_fd) * sizeof(*link->event_of_fd));
		link->nr_event_of_fd = nr;
	}
	link->event_of_fd[fd] = (int32_t)number;
	link->counter_of_fd[fd] =
		(struct emu_counter){.offset = args.value[0], .begin = args.value[1]};
	return fd;
}

static int unmap_number(struct emu_link *link, uint64_t number)
{
	struct emu_call_args args = {.call = EMU_MUNMAP, .arg = {number}};

	return (int)emu_link_call(link, &args);
}

static void *emulated_mmap(void *ctx, size_t length, int prot, int flags, int fd, off_t offset,
			   int *error)
{
	struct emu_link *link = ctx;
	struct emu_call_args args = {
		.call = EMU_MMAP,
		.event = event_of(link, fd),
		.arg = {length, (uint64_t)prot, (uint64_t)flags, (uint64_t)offset},
	};
	int64_t number;
	void *addr;

	if (!args.event) {
		*error = -EBADF;
		return NULL;
	}
	if (vector_grow(link->mappings, link->nr_mappings, link->max_mappings)) {
		*error = -ENOMEM;
		return NULL;
	}
	number = emu_link_call(link, &args);
	if (number <= 0 || args.out_fd < 0) {
		*error = number < 0 ? (int)number : args.fd_cut ? -EMFILE : -EPROTO;
		if (number > 0)
			unmap_number(link, (uint64_t)number);
		return NULL;
	}
	addr = mmap(NULL, length, prot, flags, args.out_fd, (off_t)args.value[0]);
	if (addr == MAP_FAILED) {
		*error = -errno;
		close(args.out_fd);
		unmap_number(link, (uint64_t)number);
		return NULL;
	}
	close(args.out_fd);
	link->mappings[link->nr_mappings++] = (struct emu_link_mapping){.addr = addr,
									.length = length,
									.number = (uint64_t)number};
	*error = 0;
	return addr;
}

static int emulated_munmap(void *ctx, void *addr, size_t length)
{
	struct emu_link *link = ctx;

	for (size_t i = 0; i < link->nr_mappings; i++) {
		struct emu_link_mapping *m = &link->mappings[i];
		uint64_t number = m->number;

		if (m->addr != addr || m->length != length)
			continue;
		*m = link->mappings[--link->nr_mappings];
		munmap(addr, length);
		return unmap_number(link, number);
	}
	return -EINVAL;
}

static int emulated_ioctl(void *ctx, int fd, unsigned long request, unsigned long arg)
{
	struct emu_link *link = ctx;
	struct emu_call_args args = {
		.call = EMU_IOCTL,
		.event = event_of(link, fd),
		.arg = {request, arg},
	};

	if (!args.event)
		return -EBADF;
	switch (request) {
	case PERF_EVENT_IOC_SET_OUTPUT:
		args.arg[1] = (int)arg < 0 ? (uint64_t)-1 : (uint64_t)event_of(link, (int)arg);
		break;
	case PERF_EVENT_IOC_SET_FILTER:
		args.data = (const void *)arg;
		args.data_size = strlen((const char *)arg) + 1;
		break;
	case PERF_EVENT_IOC_PERIOD:
		args.data = (const void *)arg;
		args.data_size = sizeof(uint64_t);
		break;
	case PERF_EVENT_IOC_ID: {
		uint64_t id;
		int64_t ret;

		args.out = &id;
		args.out_max = sizeof(id);
		ret = emu_link_call(link, &args);
		if (ret < 0)
			return (int)ret;
		if (args.out_size != sizeof(id))
			return -EPROTO;
		*(uint64_t *)arg = id;
		return (int)ret;
	}
	default: /* the argument is a value, as for PAUSE_OUTPUT */
		break;
	}
	return (int)emu_link_call(link, &args);
}

static int emulated_poll(void *ctx, struct pollfd *fds, nfds_t nr, int timeout_ms)
{
	struct emu_link *link = ctx;
	int ready = poll(fds, nr, timeout_ms);

	if (ready < 0)
		return -errno;
	for (nfds_t i = 0; i < nr && ready > 0; i++) {
		struct emu_call_args args = {.call = EMU_POLL};
		eventfd_t count;
		int64_t revents;

		args.event = event_of(link, fds[i].fd);
		if (!args.event || !(fds[i].revents & POLLIN))
			continue;
		/* E12: the poll() that reports a wakeup consumes it. */
		eventfd_read(fds[i].fd, &count);
		revents = emu_link_call(link, &args);
		if (revents < 0)
			return (int)revents;
		fds[i].revents |= (short)(revents & (POLLIN | POLLHUP | POLLERR));
	}
	return ready;
}

static ssize_t emulated_read(void *ctx, int fd, void *buf, size_t size)
{
	struct emu_link *link = ctx;
	struct emu_call_args args = {
		.call = EMU_READ,
		.event = event_of(link, fd),
		.arg = {size},
		.out = buf,
		.out_max = size,
	};
	int64_t ret;

	if (!args.event)
		return -EBADF;
	ret = emu_link_call(link, &args);
	return ret < 0 ? (ssize_t)ret : (ssize_t)args.out_size;
}

static int emulated_close(void *ctx, int fd)
{
	struct emu_link *link = ctx;
	struct emu_call_args args = {.call = EMU_CLOSE, .event = event_of(link, fd)};
	int ret;

	if (!args.event)
		return -EBADF;
	link->event_of_fd[fd] = 0;
	ret = (int)emu_link_call(link, &args);
	close(fd);
	return ret < 0 ? ret : 0;
}

static ssize_t emulated_pmu_attr(void *ctx, const char *pmu, const char *attr, char *buf,
				 size_t size)
{
	struct emu_link *link = ctx;
	char names[256];
	int n = snprintf(names, sizeof(names), "%s%c%s", pmu, 0, attr);
	struct emu_call_args args = {
		.call = EMU_PMU_ATTR,
		.data = names,
		.data_size = (size_t)n + 1,
		.out = buf,
		.out_max = size ? size - 1 : 0,
	};
	int64_t ret;

	if (n < 0 || (size_t)n >= sizeof(names) || !size)
		return -ENAMETOOLONG;
	ret = emu_link_call(link, &args);
	if (ret < 0)
		return (ssize_t)ret;
	buf[args.out_size] = '\0';
	return (ssize_t)args.out_size;
}

static uint64_t emulated_clock(void *ctx)
{
	struct emu_call_args args = {.call = EMU_CLOCK};

	return emu_link_call(ctx, &args) < 0 ? 0 : args.value[0];
}

static int emulated_unit_stats(void *ctx, int fd, struct auxtap_unit_stats *stats)
{
	struct emu_link *link = ctx;
	struct auxtap_unit_stats copy = {.size = sizeof(copy)};
	struct emu_event_stats raw = {0};
	struct emu_call_args args = {
		.call = EMU_STATS,
		.event = event_of(link, fd),
		.out = &raw,
		.out_max = sizeof(raw),
	};
	int64_t ret;

	if (sized_check(stats, sizeof(copy), SIZED_UP_TO(struct auxtap_unit_stats, nr_untraced),
			"struct auxtap_unit_stats", NULL))
		return -EINVAL;
	if (!args.event)
		return -EBADF;
	ret = emu_link_call(link, &args);
	if (ret < 0)
		return (int)ret;
	if (args.out_size != sizeof(raw))
		return -EPROTO;
	copy.nr_produced = raw.nr_produced;
	copy.nr_written = raw.nr_written;
	copy.nr_dropped = raw.nr_dropped;
	copy.nr_insns = raw.nr_insns;
	copy.nr_untraced = raw.nr_untraced;
	sized_copy_out(stats, &copy, sizeof(copy));
	return 0;
}

static int emulated_unit_written(void *ctx, int fd, uint64_t *nr_bytes)
{
	const struct emu_link *link = ctx;
	const struct emu_counter *counter;
	const uint64_t *count;

	if (!event_of(link, fd))
		return -EBADF;
	counter = &link->counter_of_fd[fd];
	if (!link->counters || !counter->offset || counter->offset % sizeof(*count) ||
	    counter->offset > link->counters_size - sizeof(*count))
		return -ENODATA;
	count = (const void *)((const char *)link->counters + counter->offset);
	*nr_bytes = __atomic_load_n(count, __ATOMIC_ACQUIRE) - counter->begin;
	return 0;
}

const struct auxtap_perf_ops perf_emulated_ops = {
	.size = sizeof(struct auxtap_perf_ops),
	.name = "emulated",
	.emulated = true,
	.open = emulated_open,
	.mmap = emulated_mmap,
	.munmap = emulated_munmap,
	.ioctl = emulated_ioctl,
	.poll = emulated_poll,
	.read = emulated_read,
	.close = emulated_close,
	.pmu_attr = emulated_pmu_attr,
	.clock = emulated_clock,
	.unit_stats = emulated_unit_stats,
	.unit_written = emulated_unit_written,
};
