// SPDX-License-Identifier: BSD-2-Clause
/* See support_perf_side.h. */
#include "support_perf_side.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

struct perf_event_attr side_dummy_attr(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.comm = 1,
	};

	return attr;
}

static int kernel_open(const struct perf_event_attr *attr, int pid, int cpu)
{
	long fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

int side_kernel_possible(void)
{
	struct perf_event_attr attr = side_dummy_attr();
	int fd = kernel_open(&attr, 0, -1);

	if (fd < 0) {
		printf("skipped: perf_event_open: %s\n", strerror(-fd));
		return 77;
	}
	close(fd);
	return 0;
}

int side_kernel_privileged(void)
{
	struct perf_event_attr attr = side_dummy_attr();
	int skip = side_kernel_possible(), fd;
	void *addr;

	if (skip)
		return skip;
	fd = kernel_open(&attr, -1, sched_getcpu());
	if (fd < 0) {
		printf("skipped: an event of a whole CPU: %s (needs CAP_PERFMON)\n", strerror(-fd));
		return 77;
	}
	addr = mmap(NULL, (1ul << 31) + 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (addr == MAP_FAILED && errno == EPERM) {
		printf("skipped: a large ring: %s (needs CAP_IPC_LOCK)\n", strerror(errno));
		close(fd);
		return 77;
	}
	close(fd);
	return 0;
}

const struct core_kernel *side_running_kernel(void)
{
	struct utsname uts;
	int major = 0, minor = 0;

	uname(&uts);
	if (sscanf(uts.release, "%d.%d", &major, &minor) != 2)
		return core_kernels[0];
	if (major > 6 || (major == 6 && minor >= 15))
		return core_kernel_find("6.18.44");
	if (major == 6 && minor >= 7)
		return core_kernel_find("6.12.95");
	return core_kernel_find("6.1.192");
}

void side_init(struct perf_side *side, bool model)
{
	cpu_set_t set;

	memset(side, 0, sizeof(*side));
	side->model = model;
	side->name = model ? "model" : "kernel";
	side->cpu = sched_getcpu();
	CPU_ZERO(&set);
	CPU_SET(side->cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	if (!model)
		return;
	core_kernel_use(side_running_kernel());
	side->task.pid = getpid();
	side->task.tid = gettid();
	core_set_cpu(side->cpu);
	core_task_sched_in(&side->task);
}

void side_fini(struct perf_side *side)
{
	for (size_t i = 0; i < sizeof(side->maps) / sizeof(side->maps[0]); i++)
		if (side->maps[i].addr)
			side_munmap(side, side->maps[i].addr);
	for (int i = 0; i < side->nr_events; i++)
		if (side->events[i])
			side_close(side, i);
	if (side->model)
		core_task_sched_out(&side->task);
	core_kernel_use(NULL);
}

int side_open(struct perf_side *side, const struct perf_event_attr *attr, int pid, int cpu)
{
	int ret;

	if (!side->model)
		return kernel_open(attr, pid, cpu);
	ret = core_event_open(&side->events[side->nr_events], attr, pid == 0 ? &side->task : NULL,
			      cpu, NULL, NULL);
	return ret ? ret : side->nr_events++;
}

void *side_mmap(struct perf_side *side, int fd, size_t length, int prot, int flags, uint64_t offset,
		int *error)
{
	struct core_mapping *mapping = NULL;
	size_t i = 0;
	void *addr;

	while (side->maps[i].addr)
		i++;
	*error = 0;
	if (side->model) {
		*error = core_event_mmap(side->events[fd], length, prot, flags, offset, &mapping);
		if (*error)
			return NULL;
		/* the reader's own view, with its own protection */
		addr = mmap(NULL, mapping->length, PROT_READ | PROT_WRITE, MAP_SHARED,
			    mapping->memfd, (off_t)mapping->memfd_off);
	} else {
		addr = mmap(NULL, length, prot, flags, fd, (off_t)offset);
		if (addr == MAP_FAILED) {
			*error = -errno;
			return NULL;
		}
	}
	side->maps[i].addr = addr;
	side->maps[i].length = length;
	side->maps[i].mapping = mapping;
	return addr;
}

void side_munmap(struct perf_side *side, void *addr)
{
	size_t i = 0;

	while (side->maps[i].addr != addr)
		i++;
	munmap(addr, side->maps[i].length);
	if (side->model)
		core_event_munmap(side->maps[i].mapping);
	side->maps[i].addr = NULL;
}

long side_ioctl(struct perf_side *side, int fd, unsigned long request, unsigned long arg)
{
	struct perf_event *target = NULL;

	if (!side->model)
		return ioctl(fd, request, arg) ? -errno : 0;
	if (request == PERF_EVENT_IOC_SET_OUTPUT && (long)arg >= 0)
		target = side->events[arg];
	return core_event_ioctl(side->events[fd], request, arg, target);
}

int side_poll(struct perf_side *side, int fd)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN | POLLRDNORM};

	if (!side->model) {
		poll(&pfd, 1, 0);
		return pfd.revents;
	}
	core_irq_work_run();
	return (int)core_event_poll(side->events[fd]);
}

long side_read(struct perf_side *side, int fd, void *buf, size_t size)
{
	ssize_t ret;

	if (side->model)
		return core_event_read(side->events[fd], buf, size);
	ret = read(fd, buf, size);
	return ret < 0 ? -errno : ret;
}

void side_close(struct perf_side *side, int fd)
{
	if (!side->model) {
		close(fd);
		return;
	}
	core_event_close(side->events[fd]);
	side->events[fd] = NULL;
}

/* The record that the kernel writes for a task that changed its name. */
static void model_comm(struct core_task *task, const char *name)
{
	struct {
		uint32_t pid, tid;
		char comm[16];
	} body = {.pid = (uint32_t)task->pid, .tid = (uint32_t)task->tid};
	size_t len = (strlen(name) + 1 + 7) & ~7ul;

	strncpy(body.comm, name, sizeof(body.comm) - 1);
	core_task_record(task, PERF_RECORD_COMM, 0, &body, 8 + len);
}

void side_comm(struct perf_side *side, const char *name)
{
	prctl(PR_SET_NAME, name);
	if (side->model)
		model_comm(&side->task, name);
}

static void *other_thread(void *arg)
{
	struct perf_side *side = arg;
	int tid = gettid();
	char c;

	if (write(side->from_thread[1], &tid, sizeof(tid)) != sizeof(tid))
		return NULL;
	while (read(side->to_thread[0], &c, 1) == 1 && c != 'x') {
		prctl(PR_SET_NAME, side->other_name);
		if (write(side->from_thread[1], &c, 1) != 1)
			break;
	}
	return NULL;
}

int side_other_start(struct perf_side *side)
{
	int tid;

	if (pipe(side->to_thread) || pipe(side->from_thread) ||
	    pthread_create(&side->thread, NULL, other_thread, side) ||
	    read(side->from_thread[0], &tid, sizeof(tid)) != sizeof(tid))
		abort();
	side->other.pid = getpid();
	side->other.tid = tid;
	return tid;
}

/* The other thread runs on the same CPU, so ours is switched out meanwhile. */
void side_other_comm(struct perf_side *side, const char *name)
{
	char c = 't';

	strncpy(side->other_name, name, sizeof(side->other_name) - 1);
	if (write(side->to_thread[1], &c, 1) != 1 || read(side->from_thread[0], &c, 1) != 1)
		abort();
	if (!side->model)
		return;
	core_task_sched_out(&side->task);
	core_task_sched_in(&side->other);
	model_comm(&side->other, name);
	core_task_sched_out(&side->other);
	core_task_sched_in(&side->task);
}

void side_other_exit(struct perf_side *side)
{
	struct {
		uint32_t pid, ppid, tid, ptid;
		uint64_t time;
	} body = {(uint32_t)getpid(), (uint32_t)getpid(), (uint32_t)side->other.tid,
		  (uint32_t)getpid(), 0};
	char c = 'x';

	if (write(side->to_thread[1], &c, 1) != 1)
		abort();
	pthread_join(side->thread, NULL);
	close(side->to_thread[0]);
	close(side->to_thread[1]);
	close(side->from_thread[0]);
	close(side->from_thread[1]);
	if (!side->model) {
		/* joined, but the kernel may not have finished the task's exit */
		for (int i = 0; i < 1000 && !syscall(SYS_tgkill, getpid(), side->other.tid, 0); i++)
			usleep(1000);
		usleep(20000);
		return;
	}
	core_task_sched_out(&side->task);
	core_task_sched_in(&side->other);
	core_task_record(&side->other, PERF_RECORD_EXIT, 0, &body, sizeof(body));
	core_task_exit(&side->other);
	core_task_sched_in(&side->task);
}

int side_open_other(struct perf_side *side, const struct perf_event_attr *attr)
{
	int ret;

	if (!side->model)
		return kernel_open(attr, side->other.tid, -1);
	ret = core_event_open(&side->events[side->nr_events], attr, &side->other, -1, NULL, NULL);
	return ret ? ret : side->nr_events++;
}

void side_map_file(struct perf_side *side, const char *path, void *addr, bool executable)
{
	struct {
		uint32_t pid, tid;
		uint64_t addr, len, pgoff;
		uint32_t maj, min;
		uint64_t ino, ino_generation;
		uint32_t prot, flags;
		char name[512];
	} body = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int prot = PROT_READ | (executable ? PROT_EXEC : 0);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		abort();
	if (mmap(addr, 4096, prot, MAP_PRIVATE | MAP_FIXED, fd, 0) != addr)
		abort();
	close(fd);
	if (!side->model)
		return;
	body.pid = (uint32_t)getpid();
	body.tid = (uint32_t)gettid();
	body.addr = (uintptr_t)addr;
	body.len = 4096;
	body.maj = major(st.st_dev);
	body.min = minor(st.st_dev);
	body.ino = st.st_ino;
	body.prot = (uint32_t)prot;
	body.flags = MAP_PRIVATE;
	strncpy(body.name, path, sizeof(body.name) - 1);
	core_task_record(&side->task, PERF_RECORD_MMAP2,
			 (uint16_t)(PERF_RECORD_MISC_USER |
				    (executable ? 0 : PERF_RECORD_MISC_MMAP_DATA)),
			 &body, 64 + ((strlen(path) + 1 + 7) & ~7ul));
}

int side_open_child(struct perf_side *side, int parent)
{
	struct {
		uint32_t pid, ppid, tid, ptid;
		uint64_t time;
	} body = {(uint32_t)getpid(), (uint32_t)getpid(), (uint32_t)side->other.tid,
		  (uint32_t)getpid(), 0};
	struct perf_event *child; /* freed with its task */
	int ret = core_event_open(&child, NULL, &side->other, -1, NULL, side->events[parent]);

	core_task_record(&side->task, PERF_RECORD_FORK, 0, &body, sizeof(body));
	return ret;
}
