// SPDX-License-Identifier: BSD-2-Clause
/* struct auxtap_perf_ops for the running kernel: system calls and sysfs. */
#include "native.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SYSFS_PMUS "/sys/bus/event_source/devices"

static int kernel_open(void *ctx, const struct perf_event_attr *attr, pid_t pid, int cpu,
		       int group_fd, unsigned long flags)
{
	long fd = syscall(SYS_perf_event_open, attr, pid, cpu, group_fd,
			  flags | PERF_FLAG_FD_CLOEXEC);

	(void)ctx;
	return fd < 0 ? -errno : (int)fd;
}

static void *kernel_mmap(void *ctx, size_t length, int prot, int flags, int fd, off_t offset,
			 int *error)
{
	void *addr = mmap(NULL, length, prot, flags, fd, offset);

	(void)ctx;
	*error = addr == MAP_FAILED ? -errno : 0;
	return addr == MAP_FAILED ? NULL : addr;
}

static int kernel_munmap(void *ctx, void *addr, size_t length)
{
	(void)ctx;
	return munmap(addr, length) ? -errno : 0;
}

static int kernel_ioctl(void *ctx, int fd, unsigned long request, unsigned long arg)
{
	int ret = ioctl(fd, request, arg);

	(void)ctx;
	return ret < 0 ? -errno : ret;
}

static int kernel_poll(void *ctx, struct pollfd *fds, nfds_t nr, int timeout_ms)
{
	int ret = poll(fds, nr, timeout_ms);

	(void)ctx;
	return ret < 0 ? -errno : ret;
}

static ssize_t kernel_read(void *ctx, int fd, void *buf, size_t size)
{
	ssize_t n = read(fd, buf, size);

	(void)ctx;
	return n < 0 ? -errno : n;
}

static int kernel_close(void *ctx, int fd)
{
	(void)ctx;
	return close(fd) ? -errno : 0;
}

/* For an attribute that ends in a slash: lists the names in that directory, one per line. */
static ssize_t list_dir(const char *path, char *buf, size_t size)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	size_t len = 0;

	if (!dir)
		return -errno;
	buf[0] = '\0';
	while ((entry = readdir(dir))) {
		size_t n = strlen(entry->d_name);

		if (entry->d_name[0] == '.' || size - len < n + 2)
			continue;
		memcpy(buf + len, entry->d_name, n);
		len += n;
		buf[len++] = '\n';
		buf[len] = '\0';
	}
	closedir(dir);
	return (ssize_t)len;
}

static ssize_t kernel_pmu_attr(void *ctx, const char *pmu, const char *attr, char *buf, size_t size)
{
	char path[512];
	ssize_t n;
	int fd;

	(void)ctx;
	if (strchr(pmu, '/') || strstr(attr, "..") || !size)
		return -EINVAL;
	if ((size_t)snprintf(path, sizeof(path), SYSFS_PMUS "/%s/%s", pmu, attr) >= sizeof(path))
		return -ENAMETOOLONG;
	if (*attr && attr[strlen(attr) - 1] == '/')
		return list_dir(path, buf, size);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, buf, size - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	if (n < 0)
		return n;
	while (n > 0 && buf[n - 1] == '\n')
		n--;
	buf[n] = '\0';
	return n;
}

/* User space cannot read local_clock(); CLOCK_MONOTONIC is within milliseconds of it. */
static uint64_t kernel_clock(void *ctx)
{
	struct timespec now;

	(void)ctx;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

const struct auxtap_perf_ops perf_kernel_ops = {
	.size = sizeof(struct auxtap_perf_ops),
	.name = "kernel",
	.open = kernel_open,
	.mmap = kernel_mmap,
	.munmap = kernel_munmap,
	.ioctl = kernel_ioctl,
	.poll = kernel_poll,
	.read = kernel_read,
	.close = kernel_close,
	.pmu_attr = kernel_pmu_attr,
	.clock = kernel_clock,
};
