// SPDX-License-Identifier: BSD-2-Clause
/*
 * hostile WHAT TYPE ROUNDS: calls on the PMU of that type that must be refused to a user (refusals,
 * refusals-at-3), or that might harm the kernel (races, interrupts). Prints wrong results; exit 1
 * then. The kernel's reaction is in its log.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
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

#define PAGE	   4096ul
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

/* got: a negative errno, or the result of a call that was not refused */
static void refused(long got, int wanted, const char *what)
{
	check(got == -wanted, what, got);
	if (got != -wanted)
		printf("hostile: ... instead of %s\n", wanted ? strerror(wanted) : "done");
}

static struct perf_event_attr attr_of(uint64_t config)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = type;
	attr.config = config;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	attr.disabled = 1;
	return attr;
}

static int open_attr(struct perf_event_attr *attr, pid_t pid, int cpu, int group)
{
	long fd = syscall(SYS_perf_event_open, attr, pid, cpu, group, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static int open_event(pid_t pid, int cpu, uint64_t config)
{
	struct perf_event_attr attr = attr_of(config);

	return open_attr(&attr, pid, cpu, -1);
}

static void *map(int fd, size_t size, size_t offset, int prot)
{
	void *at = mmap(NULL, size, prot, MAP_SHARED, fd, (off_t)offset);

	return at == MAP_FAILED ? NULL : at;
}

static long map_errno(int fd, size_t size, size_t offset, int flags)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, (off_t)offset);

	if (at == MAP_FAILED)
		return -errno;
	munmap(at, size);
	return 0;
}

static volatile struct perf_event_mmap_page *map_data(int fd)
{
	volatile struct perf_event_mmap_page *page = map(fd, AUX_OFFSET, 0, PROT_READ | PROT_WRITE);

	if (page) {
		page->aux_offset = AUX_OFFSET;
		page->aux_size = AUX_BYTES;
	}
	return page;
}

/* ---- what must be refused ---- */

static int try_open(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	int fd = open_attr(attr, pid, cpu, -1);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

/* As a user whom perf_event_paranoid allows only the user's own user code. */
static void refusals(void)
{
	struct perf_event_attr attr = attr_of(0);
	int fd, other;

	refused(try_open(&attr, 0, -1), 0, "tracing itself");
	refused(try_open(&attr, 1, -1), EACCES, "tracing another user's task");
	refused(try_open(&attr, 2, -1), EACCES, "tracing a thread of the kernel");
	refused(try_open(&attr, 4000000, -1), ESRCH, "tracing a nonexistent task");
	refused(try_open(&attr, -1, 0), EACCES, "tracing a whole CPU");
	refused(try_open(&attr, -1, -1), EINVAL, "tracing no task on no CPU");
	refused(try_open(&attr, 0, 1 << 20), EINVAL, "on a nonexistent CPU");
	attr.exclude_kernel = 0;
	refused(try_open(&attr, 0, -1), EACCES, "tracing the kernel");
	attr = attr_of(0);
	attr.inherit = 1;
	attr.pinned = 1;
	attr.exclude_kernel = 0;
	refused(try_open(&attr, 0, 0), EACCES, "tracing the kernel, pinned, inherited");
	for (int bit = 0; bit < 64; bit++) { /* bits that no unit of this kind has */
		static const uint64_t known = 1 | 1 << 1 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 13 |
					      0xfull << 14 | 0xfull << 19 | 0xfull << 24;

		attr = attr_of(1 | 1ull << bit);
		if (!(known & 1ull << bit))
			refused(try_open(&attr, 0, -1), EINVAL, "a bit of config");
	}
	attr = attr_of(0);
	attr.size = 8;
	refused(try_open(&attr, 0, -1), E2BIG, "too small an attr");
	attr = attr_of(0);
	attr.aux_output = 1;
	refused(try_open(&attr, 0, -1), EOPNOTSUPP, "output to itself");
	attr = attr_of(0);
	attr.aux_sample_size = 4096;
	refused(try_open(&attr, 0, -1), EINVAL, "samples of itself");
	fd = open_event(0, -1, 0);
	attr = attr_of(0);
	refused(try_open(&attr, 0, -1), EBUSY, "a second event of an exclusive PMU");
	other = open_attr(&attr, 0, -1, fd);
	refused(other, EBUSY, "the same as a sibling");
	refused(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, fd) ? -errno : 0, EINVAL, "itself as output");
	refused(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, 0) ? -errno : 0, EBADF, "a file as output");
	refused(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1) ? -errno : 0, EINVAL, "pause of no ring");
	refused(ioctl(fd, 0x2470, 0) ? -errno : 0, ENOTTY, "an unknown ioctl");
	refused(read(fd, &attr, 4) < 0 ? -errno : 0, ENOSPC, "half a count");
	close(fd);
}

/* Users are allowed nothing: Debian's level 3. */
static void refusals_at_3(void)
{
	struct perf_event_attr attr = attr_of(0);

	refused(try_open(&attr, 0, -1), EACCES, "tracing itself at level 3");
	attr.exclude_kernel = 0;
	refused(try_open(&attr, 0, -1), EACCES, "tracing the kernel at level 3");
	refused(try_open(&attr, -1, 0), EACCES, "tracing a whole CPU at level 3");
}

/* B1, B2, B4 to B6: the control page and the data. */
static void wrong_data_maps(void)
{
	struct perf_event_attr attr = attr_of(0);
	int fd, inherits;

	fd = open_event(0, -1, 0);
	refused(map_errno(fd, AUX_BYTES, AUX_OFFSET, MAP_SHARED), EINVAL, "B6: AUX before data");
	for (size_t pages = 2; pages < 40; pages++) /* without the control page */
		if (pages & (pages - 1))
			refused(map_errno(fd, (1 + pages) * PAGE, 0, MAP_SHARED), EINVAL,
				"B4: so many pages of data");
	refused(map_errno(fd, AUX_OFFSET, 0, MAP_PRIVATE), EINVAL, "B2: a private mapping");
	refused(map_errno(fd, 0, 0, MAP_SHARED), EINVAL, "nothing");
	refused(map_errno(fd, PAGE, 0, MAP_SHARED), 0, "B16: the control page alone");
	refused(map_errno(fd, (1ul << 40) + PAGE, 0, MAP_SHARED), EPERM, "B11: a TiB of data");
	close(fd);
	attr.inherit = 1;
	inherits = open_attr(&attr, 0, -1, -1);
	refused(map_errno(inherits, AUX_OFFSET, 0, MAP_SHARED), EINVAL, "B1: inherited, every CPU");
	close(inherits);
}

static int killed_by(void (*what)(void *), void *at)
{
	pid_t child = fork();
	int status = 0;

	if (!child) {
		what(at);
		_exit(0);
	}
	waitpid(child, &status, 0);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void load(void *at)
{
	(void)*(volatile char *)at;
}

static sigjmp_buf back;

static void on_bus(int sig)
{
	siglongjmp(back, sig);
}

static int store_signal(void *at)
{
	int sig = sigsetjmp(back, 1);

	if (!sig)
		*(volatile char *)at = 1;
	return sig;
}

/* B5, B7, B8, B9, B11, B14, B17: with data mapped. */
static void wrong_aux_maps(void)
{
	/* clang-format off */
	static const struct {
		const char *what;
		size_t offset, size;
		uint64_t said_offset, said_size;
		int wanted;
	} wrong[] = {
		{ "B8: 3 pages", AUX_OFFSET, 3 * PAGE, AUX_OFFSET, 3 * PAGE, EINVAL },
		{ "B8: half of what is announced",
		  AUX_OFFSET, AUX_BYTES, AUX_OFFSET, 2 * AUX_BYTES, EINVAL },
		{ "B8: twice what is announced",
		  AUX_OFFSET, AUX_BYTES, AUX_OFFSET, AUX_BYTES / 2, EINVAL },
		{ "B8: nothing announced", AUX_OFFSET, AUX_BYTES, AUX_OFFSET, 0, EINVAL },
		{ "B8: no whole pages announced",
		  AUX_OFFSET, AUX_BYTES, AUX_OFFSET, AUX_BYTES - 1, EINVAL },
		{ "B8: more than INT_MAX pages",
		  AUX_OFFSET, 1ul << 44, AUX_OFFSET, 1ul << 44, ENOMEM },
		{ "B11: 64 MiB", AUX_OFFSET, 64ul << 20, AUX_OFFSET, 64ul << 20, EPERM },
		{ "B7: into the data", PAGE, AUX_BYTES, PAGE, AUX_BYTES, EINVAL },
		{ "B7: on the last page of data",
		  AUX_OFFSET - PAGE, AUX_BYTES, AUX_OFFSET - PAGE, AUX_BYTES, EINVAL },
		{ "B7: data announced, AUX mapped",
		  AUX_OFFSET, AUX_BYTES, PAGE, AUX_BYTES, EINVAL },
		{ "B7: another offset announced",
		  AUX_OFFSET, AUX_BYTES, AUX_OFFSET + PAGE, AUX_BYTES, EINVAL },
		{ "B7: no whole page announced",
		  AUX_OFFSET, AUX_BYTES, AUX_OFFSET + 1, AUX_BYTES, EINVAL },
		{ "B7: zero announced", AUX_OFFSET, AUX_BYTES, 0, AUX_BYTES, EINVAL },
		{ "B7: all ones announced", AUX_OFFSET, AUX_BYTES, ~0ull, ~0ull, EINVAL },
		{ "B5: other data", 0, AUX_OFFSET - 4 * PAGE, AUX_OFFSET, AUX_BYTES, EINVAL },
		{ "B5: less data", 0, PAGE, AUX_OFFSET, AUX_BYTES, EINVAL },
	};
	/* clang-format on */
	volatile struct perf_event_mmap_page *page;
	int fd = open_event(0, -1, 0);
	char *aux, *data;

	page = map_data(fd);
	check(page != NULL, "mapping the data", errno);
	if (!page)
		return;
	data = (char *)(uintptr_t)page + PAGE;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		page->aux_offset = wrong[i].said_offset;
		page->aux_size = wrong[i].said_size;
		refused(map_errno(fd, wrong[i].size, wrong[i].offset, MAP_SHARED), wrong[i].wanted,
			wrong[i].what);
	}
	page->aux_offset = AUX_OFFSET;
	page->aux_size = AUX_BYTES;
	refused(map_errno(fd, AUX_OFFSET, 0, MAP_SHARED), 0, "B5: the same data again");
	aux = map(fd, AUX_BYTES, AUX_OFFSET, PROT_READ | PROT_WRITE);
	check(aux != NULL, "mapping AUX", errno);
	refused(map_errno(fd, AUX_BYTES, AUX_OFFSET, MAP_SHARED), 0, "B9: the same AUX again");
	page->aux_size = AUX_BYTES / 2;
	refused(map_errno(fd, AUX_BYTES / 2, AUX_OFFSET, MAP_SHARED), EINVAL, "B9: half of it");
	page->aux_offset = AUX_OFFSET + AUX_BYTES;
	page->aux_size = AUX_BYTES;
	refused(map_errno(fd, AUX_BYTES, AUX_OFFSET + AUX_BYTES, MAP_SHARED), EINVAL,
		"B9: a second one");
	signal(SIGBUS, on_bus);
	check(store_signal((void *)(uintptr_t)page) == 0, "B17: a store to the control page", 0);
	check(store_signal(data) == SIGBUS, "B17: a store to the data", 0);
	if (aux) {
		check(store_signal(aux) == SIGBUS, "B17: a store to AUX", 0);
		refused(munmap(aux, PAGE) ? -errno : 0, EINVAL, "B14: unmapping a part of AUX");
		refused(mprotect(aux + PAGE, PAGE, PROT_READ) ? -errno : 0, EINVAL,
			"B14: protecting a part of AUX");
		refused(mremap(aux, AUX_BYTES, 2 * AUX_BYTES, MREMAP_MAYMOVE) == MAP_FAILED ?
				-errno :
				0,
			EFAULT, "B14: more of AUX");
		check(killed_by(load, aux) == SIGSEGV, "B14: AUX in a child", 0);
		check(killed_by(load, data) == SIGSEGV, "B14: data in a child", 0);
		munmap(aux, AUX_BYTES);
	}
	munmap((void *)(uintptr_t)page, AUX_OFFSET);
	close(fd);
}

/* C1: a PMU without an AUX area. */
static void no_aux(void)
{
	volatile struct perf_event_mmap_page *page;
	struct perf_event_attr attr = attr_of(PERF_COUNT_SW_DUMMY);
	int fd;

	attr.type = PERF_TYPE_SOFTWARE;
	fd = open_attr(&attr, 0, -1, -1);
	page = map_data(fd);
	if (page) {
		refused(map_errno(fd, AUX_BYTES, AUX_OFFSET, MAP_SHARED), EOPNOTSUPP,
			"C1: no AUX area");
		munmap((void *)(uintptr_t)page, AUX_OFFSET);
	}
	check(page != NULL, "mapping the data of a software event", errno);
	close(fd);
}

/* ---- what must cause no damage ---- */

static volatile int stop;

/* The user may write the control page; the driver must not trust any of it. */
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
	int fd = open_event(0, -1, 0x2001 | (uint64_t)(round & 1) << 10);
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
		if (i == 1 && round & 4 && aux) { /* while the event is running */
			munmap(aux, AUX_BYTES);
			aux = NULL;
		}
	}
	stop = 1;
	pthread_join(thread, NULL);
	if (round & 8)
		close(fd); /* the mappings are removed last */
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
	fd = open_event(child, -1, 0x2001);
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

static int nr_thread_rounds;
static volatile int thread_tid;

static void *traced_thread(void *arg)
{
	(void)arg;
	on_cpu(1);
	thread_tid = (int)syscall(SYS_gettid);
	while (!stop) { /* a system call generates many packets */
		syscall(SYS_getppid);
		nr_thread_rounds++;
	}
	return NULL;
}

/*
 * The interrupt comes milliseconds after its threshold (the module's irq_delay): another CPU
 * removes the area, or the event, in between. Then everything is created again, and trace is
 * written.
 */
static void under_interrupts(int rounds)
{
	struct perf_event_attr attr = attr_of(0x2401);
	int nr_thresholds = 0;
	pthread_t thread;

	stop = 0;
	thread_tid = 0;
	pthread_create(&thread, NULL, traced_thread, NULL);
	on_cpu(0);
	while (!thread_tid)
		sched_yield();
	attr.aux_watermark = PAGE;
	for (int i = 0; i < rounds; i++) {
		int fd = open_attr(&attr, thread_tid, -1, -1);
		volatile struct perf_event_mmap_page *page = fd >= 0 ? map_data(fd) : NULL;
		void *aux = page ? map(fd, AUX_BYTES, AUX_OFFSET, PROT_READ | PROT_WRITE) : NULL;

		if (!aux) {
			check(0, "under interrupts: open or map", fd < 0 ? fd : errno);
			break;
		}
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		/* until an interrupt has come, if the machine is not too busy */
		for (int spins = 0; spins < 300 && page->aux_head < PAGE; spins++)
			usleep(1000);
		nr_thresholds += page->aux_head >= PAGE;
		usleep((useconds_t)(i * 1300 % 9000));
		if (i & 1)
			close(fd);
		munmap(aux, AUX_BYTES);
		if (i & 2) {
			page->aux_offset = AUX_OFFSET;
			page->aux_size = AUX_BYTES;
			if (!(i & 1))
				aux = map(fd, AUX_BYTES, AUX_OFFSET, PROT_READ | PROT_WRITE);
			check(aux != NULL, "under interrupts: AUX again", errno);
			if (!(i & 1) && aux)
				munmap(aux, AUX_BYTES);
		}
		munmap((void *)(uintptr_t)page, AUX_OFFSET);
		if (!(i & 1))
			close(fd);
	}
	stop = 1;
	pthread_join(thread, NULL);
	printf("under interrupts: %d of %d saw one\n", nr_thresholds, rounds);
	check(nr_thresholds > 0, "under interrupts: none came", 0);
	check(nr_thread_rounds > 0, "under interrupts: the thread did nothing", 0);
}

static void as_user(void (*first)(void), void (*second)(void), void (*third)(void),
		    void (*fourth)(void))
{
	pid_t child = fork();
	int status = 1;

	if (!child) {
		if (setgid(65534) || setuid(65534))
			_exit(1);
		first();
		if (second)
			second();
		if (third)
			third();
		if (fourth)
			fourth();
		fflush(stdout);
		_exit(nr_bad ? 1 : 0);
	}
	waitpid(child, &status, 0);
	check(!status, "as another user", status);
}

int main(int argc, char **argv)
{
	int nr;

	if (argc == 1) /* exec'd by from_elsewhere() */
		return work() == 0;
	if (argc != 4)
		return 2;
	type = (unsigned int)strtoul(argv[2], NULL, 10);
	nr = atoi(argv[3]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(argv[1], "refusals"))
		as_user(refusals, wrong_data_maps, wrong_aux_maps, no_aux);
	else if (!strcmp(argv[1], "refusals-at-3"))
		as_user(refusals_at_3, NULL, NULL, NULL);
	else if (!strcmp(argv[1], "races"))
		for (int i = 0; i < nr; i++) {
			storm(i);
			from_elsewhere(argv[0], i);
		}
	else if (!strcmp(argv[1], "interrupts"))
		under_interrupts(nr);
	else
		return 2;
	return nr_bad ? 1 : 0;
}
