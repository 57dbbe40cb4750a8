// SPDX-License-Identifier: BSD-2-Clause
/*
 * storm open|exec|hold TYPE ROUNDS [PROGRAM]: as fast as it goes,
 *   open   an event of that type is opened on this task, mapped, enabled, and closed and unmapped
 *          in every order
 *   exec   PROGRAM is started, with events of its own that exec enables, on rings of ours
 *   hold   an event on task PROGRAM, that writes to a pipe which is descriptor 3 here: it is woken
 *          by reading, and sleeps on in the same call; the event goes while it does
 * Prints how long a round took; exit 1 if one went wrong or nothing was traced.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE	   4096ul
#define DATA_BYTES (2 * PAGE) /* with the control page */
#define AUX_BYTES  (4 * PAGE)
#define NR_CPUS	   2

struct ring {
	int fd;
	volatile struct perf_event_mmap_page *page;
	void *aux;
};

static uint64_t nr_bytes;

static int map_ring(struct ring *ring)
{
	void *at = mmap(NULL, DATA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);

	if (at == MAP_FAILED) {
		perror("storm: data");
		return 1;
	}
	ring->page = at;
	ring->page->aux_offset = DATA_BYTES;
	ring->page->aux_size = AUX_BYTES;
	ring->aux = mmap(NULL, AUX_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd,
			 (off_t)DATA_BYTES);
	if (ring->aux == MAP_FAILED) {
		perror("storm: AUX");
		return 1;
	}
	return 0;
}

static int open_ring(struct ring *ring, struct perf_event_attr *attr, int cpu)
{
	ring->fd = (int)syscall(SYS_perf_event_open, attr, 0, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (ring->fd < 0) {
		perror("storm: open");
		return 1;
	}
	return map_ring(ring);
}

/* what: fd, AUX, data; one order of the six */
static void close_ring(struct ring *ring, int order)
{
	static const char orders[6][4] = {"fad", "fda", "afd", "adf", "dfa", "daf"};

	for (const char *what = orders[order % 6]; *what; what++) {
		if (*what == 'f')
			close(ring->fd);
		else if (*what == 'a')
			munmap(ring->aux, AUX_BYTES);
		else
			munmap((void *)(uintptr_t)ring->page, DATA_BYTES);
	}
}

static int open_storm(struct perf_event_attr *attr, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		struct ring ring;

		if (open_ring(&ring, attr, -1))
			return 1;
		ioctl(ring.fd, PERF_EVENT_IOC_ENABLE, 0);
		ioctl(ring.fd, i & 1 ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_REFRESH, 0);
		nr_bytes += ring.page->aux_head;
		close_ring(&ring, i);
	}
	return 0;
}

/*
 * In a child that shares our memory. Its events stay open across exec, and are closed when it
 * exits.
 */
static void start(struct perf_event_attr *attr, const struct ring *rings, char *program)
{
	char *argv[] = {program, NULL}, *env[] = {NULL};

	attr->enable_on_exec = 1;
	for (int cpu = 0; cpu < NR_CPUS; cpu++) {
		int fd = (int)syscall(SYS_perf_event_open, attr, 0, cpu, -1, 0);

		if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, rings[cpu].fd))
			_exit(126);
	}
	execve(program, argv, env);
	_exit(127);
}

static int run_one(struct perf_event_attr *attr, const struct ring *rings, char *program)
{
	int status = -1;
	pid_t pid = vfork();

	if (!pid)
		start(attr, rings, program);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		perror("storm: a child");
	return status;
}

static int exec_storm(struct perf_event_attr *attr, int rounds, char *program)
{
	struct ring rings[NR_CPUS];
	int bad = 0;

	for (int cpu = 0; cpu < NR_CPUS; cpu++)
		if (open_ring(&rings[cpu], attr, cpu))
			return 1;
	for (int i = 0; i < rounds && !bad; i++) {
		int status = run_one(attr, rings, program);

		if (status) {
			printf("storm: round %d: status %x\n", i, status);
			bad = 1;
		}
		for (int cpu = 0; cpu < NR_CPUS; cpu++) /* read, and discarded */
			rings[cpu].page->aux_tail = rings[cpu].page->aux_head;
	}
	for (int cpu = 0; cpu < NR_CPUS; cpu++) {
		nr_bytes += rings[cpu].page->aux_head;
		close_ring(&rings[cpu], cpu);
	}
	return bad;
}

static int hold(struct perf_event_attr *attr, int rounds, pid_t pid)
{
	const struct timespec moment = {.tv_nsec = 200000000};
	char bytes[8192];
	int fd = (int)syscall(SYS_perf_event_open, attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	struct ring ring = {.fd = fd};

	if (fd < 0 || map_ring(&ring))
		return 1;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < rounds; i++) {
		if (read(3, bytes, sizeof(bytes)) <= 0)
			perror("storm: read");
		nanosleep(&moment, NULL);
	}
	nr_bytes = 1; /* it never returns to user mode */
	close_ring(&ring, 0);
	return 0;
}

int main(int argc, char **argv)
{
	struct timespec begin, end;
	struct perf_event_attr attr;
	int rounds, bad;

	if (argc < 4)
		return 2;
	rounds = atoi(argv[3]);
	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = (unsigned int)strtoul(argv[2], NULL, 10);
	attr.config = 0x2001;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	attr.disabled = 1;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	if (!strcmp(argv[1], "open"))
		bad = open_storm(&attr, rounds);
	else if (argc < 5)
		bad = 1;
	else if (!strcmp(argv[1], "exec"))
		bad = exec_storm(&attr, rounds, argv[4]);
	else
		bad = hold(&attr, rounds, atoi(argv[4]));
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%s: %d rounds, %ld us each, %lu bytes of trace\n", argv[1], rounds,
	       ((end.tv_sec - begin.tv_sec) * 1000000 + (end.tv_nsec - begin.tv_nsec) / 1000) /
		       rounds,
	       nr_bytes);
	return bad || !nr_bytes;
}
