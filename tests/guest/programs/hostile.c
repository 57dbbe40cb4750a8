// SPDX-License-Identifier: BSD-2-Clause
/*
 * hostile TYPE ROUNDS: does to the PMU of that type what a user must not get away with, or get
 * the kernel into trouble by. Prints what was answered wrongly; exit 1 then. What the kernel
 * says to all this is in its log.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096ul
#define DATA_PAGES 8
#define AUX_PAGES  16
#define AUX_BYTES  (AUX_PAGES * PAGE)
#define AUX_OFFSET ((1 + DATA_PAGES) * PAGE)

static unsigned int type;
static int nr_bad;

static void check(int ok, const char *what, long got)
{
	if (ok)
		return;
	printf("hostile: %s: %ld (%s)\n", what, got, strerror((int)(got < 0 ? -got : got)));
	nr_bad++;
}

static int open_event(pid_t pid, int cpu, int user_only, uint64_t config)
{
	struct perf_event_attr attr;
	long fd;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = type;
	attr.config = config;
	attr.exclude_kernel = (unsigned int)user_only & 1;
	attr.exclude_hv = 1;
	attr.disabled = 1;
	fd = syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

static void *map(int fd, size_t size, size_t offset, int prot)
{
	void *at = mmap(NULL, size, prot, MAP_SHARED, fd, (off_t)offset);

	return at == MAP_FAILED ? NULL : at;
}

static volatile struct perf_event_mmap_page *map_data(int fd)
{
	volatile struct perf_event_mmap_page *page =
		map(fd, AUX_OFFSET, 0, PROT_READ | PROT_WRITE);

	if (page) {
		page->aux_offset = AUX_OFFSET;
		page->aux_size = AUX_BYTES;
	}
	return page;
}

/* ---- what must be refused ---- */

static void refusals(pid_t other)
{
	int fd;

	fd = open_event(1, -1, 1, 0);
	check(fd == -EACCES || fd == -EPERM, "tracing another user's task", fd);
	fd = open_event(0, -1, 0, 0);
	check(fd == -EACCES || fd == -EPERM, "tracing the kernel", fd);
	fd = open_event(-1, 0, 1, 0);
	check(fd == -EACCES || fd == -EPERM, "tracing a whole CPU", fd);
	fd = open_event(other, -1, 1, ~0ull);
	check(fd == -EINVAL, "every bit of config", fd);
	fd = open_event(0, -1, 1, 0);
	check(fd >= 0, "tracing itself", fd);
	close(fd);
}

static void wrong_maps(void)
{
	static const struct {
		size_t offset, size;
		uint64_t said_offset, said_size;
	} wrong[] = {
		{ AUX_OFFSET, 3 * PAGE, AUX_OFFSET, 3 * PAGE }, /* B8: no power of two */
		{ AUX_OFFSET, AUX_BYTES, AUX_OFFSET, 2 * AUX_BYTES },
		{ AUX_OFFSET, AUX_BYTES, PAGE, AUX_BYTES }, /* B7: into the data */
		{ AUX_OFFSET, AUX_BYTES, AUX_OFFSET + PAGE, AUX_BYTES },
		{ AUX_OFFSET, AUX_BYTES, 0, 0 },
		{ AUX_OFFSET, AUX_BYTES, ~0ull << 12, ~0ull << 12 },
		{ PAGE, AUX_BYTES, PAGE, AUX_BYTES },
	};
	volatile struct perf_event_mmap_page *page;
	int fd = open_event(0, -1, 1, 0);

	check(!map(fd, AUX_BYTES, AUX_OFFSET, PROT_READ), "AUX before data", 0); /* B6 */
	check(!map(fd, 4 * PAGE, 0, PROT_READ), "3 pages of data", 0); /* B4 */
	page = map_data(fd);
	check(page != NULL, "mapping the data", errno);
	for (size_t i = 0; page && i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		page->aux_offset = wrong[i].said_offset;
		page->aux_size = wrong[i].said_size;
		check(!map(fd, wrong[i].size, wrong[i].offset, PROT_READ | PROT_WRITE),
		      "a wrong AUX mapping", (long)i);
	}
	if (page)
		munmap((void *)(uintptr_t)page, AUX_OFFSET);
	close(fd);
}

/* ---- what must do no harm ---- */

static volatile int stop;

/* The control page is the user's to write; the driver must believe nothing of it. */
static void *scribble(void *arg)
{
	volatile struct perf_event_mmap_page *page = arg;
	uint64_t x = 88172645463325252ull;

	while (!stop) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		page->aux_tail = x;
		page->aux_head = x >> 3;
		page->data_tail = x << 5;
		page->aux_offset = x >> 9;
		page->aux_size = x >> 11;
	}
	return NULL;
}

static unsigned long work(void)
{
	volatile unsigned long sum = 0;

	for (unsigned long i = 0; i < 3000; i++)
		if (i * 2654435761ul & 64)
			sum += i;
	return sum;
}

/* Garbage in the control page, unmapping and closing, while trace is written. */
static void storm(int round)
{
	int fd = open_event(0, -1, 1, 0x2001 | (uint64_t)(round & 1) << 10);
	volatile struct perf_event_mmap_page *page = fd >= 0 ? map_data(fd) : NULL;
	pthread_t thread;
	void *aux;

	if (!page) {
		check(0, "storm: open or map", fd < 0 ? fd : errno);
		return;
	}
	aux = map(fd, AUX_BYTES, AUX_OFFSET, round & 2 ? PROT_READ : PROT_READ | PROT_WRITE);
	check(aux != NULL, "storm: AUX", errno);
	stop = 0;
	pthread_create(&thread, NULL, scribble, (void *)(uintptr_t)page);
	for (int i = 0; i < 3; i++) {
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		work();
		if (i == 1 && round & 4 && aux) { /* under the running event */
			munmap(aux, AUX_BYTES);
			aux = NULL;
		}
	}
	stop = 1;
	pthread_join(thread, NULL);
	if (round & 8)
		close(fd); /* the mappings go last */
	if (aux)
		munmap(aux, AUX_BYTES);
	munmap((void *)(uintptr_t)page, AUX_OFFSET);
	if (!(round & 8))
		close(fd);
}

static void on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Opened, enabled and closed by one CPU, while the task runs, forks, execs on another. */
static void from_elsewhere(char *self, int round)
{
	pid_t child = fork();
	int fd, status;

	if (!child) {
		on_cpu(1);
		for (int i = 0; i < 3; i++) {
			pid_t more = fork();

			if (!more)
				_exit(0);
			waitpid(more, NULL, 0);
			work();
		}
		if (round & 1)
			execl(self, self, NULL);
		_exit(0);
	}
	on_cpu(0);
	fd = open_event(child, -1, 1, 0x2001);
	if (fd >= 0) {
		volatile struct perf_event_mmap_page *page = map_data(fd);
		void *aux = page ? map(fd, AUX_BYTES, AUX_OFFSET, PROT_READ | PROT_WRITE) : NULL;

		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		usleep((useconds_t)(round * 37 % 3000));
		if (aux && round & 2)
			munmap(aux, AUX_BYTES);
		close(fd);
		if (aux && !(round & 2))
			munmap(aux, AUX_BYTES);
		if (page)
			munmap((void *)(uintptr_t)page, AUX_OFFSET);
	} else {
		check(fd == -ESRCH, "opening a child", fd);
	}
	waitpid(child, &status, 0);
	check(WIFEXITED(status) && !WEXITSTATUS(status), "a traced child ended", status);
}

int main(int argc, char **argv)
{
	if (argc == 1) /* exec'd by from_elsewhere() */
		return work() == 0;
	if (argc != 3)
		return 2;
	type = (unsigned int)strtoul(argv[1], NULL, 10);
	if (!getuid()) {
		pid_t child = fork();
		int status = 1;

		if (!child) {
			if (setgid(65534) || setuid(65534))
				_exit(1);
			refusals(getpid());
			wrong_maps();
			fflush(stdout);
			_exit(nr_bad ? 1 : 0);
		}
		waitpid(child, &status, 0);
		check(!status, "as another user", status);
	}
	for (int i = 0; i < atoi(argv[2]); i++) {
		storm(i);
		from_elsewhere(argv[0], i);
	}
	return nr_bad ? 1 : 0;
}
