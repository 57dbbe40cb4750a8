// SPDX-License-Identifier: BSD-2-Clause
/* See conform.h. The kernel's side: system calls, and the module's file for the driver's calls. */
#include "conform.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

void *const conform_file_addr = (void *)0x10000000000;

static int module_fd = -1;
static uint32_t types[NR_PMUS];
static char files[3][64];
static int fds[NR_EVENTS];
static uint64_t ids[NR_EVENTS];
static struct {
	void *addr;
	uint64_t length;
} maps[NR_MAPS];

static int hold_fd = -1;

/* B11: the users that map */
#define FIRST_UID 10000u
static long usual_mlock_kb, usual_paranoid;
static struct rlimit usual_memlock;
static bool limits_changed, own_users, ipc_lock;
static unsigned int nr_begun;
static int user;
static int user_fds[NR_USERS]; /* each keeps its user's charges alive */

static void kernel_call(struct conform_call *call);

static int read_types(void)
{
	static const char *const names[] = CONFORM_NAMES;

	types[PMU_DUMMY] = types[PMU_FAULTS] = PERF_TYPE_SOFTWARE;
	for (int i = 0; i < CONFORM_NR_FLAVOURS; i++) {
		char path[128];
		FILE *f;
		int ok;

		snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", names[i]);
		f = fopen(path, "r");
		if (!f)
			return -1;
		ok = fscanf(f, "%u", &types[i]);
		fclose(f);
		if (ok != 1)
			return -1;
	}
	return 0;
}

/*
 * A timer retries an event whose add failed (since 6.2 for every PMU, Q2). A script has no notion
 * of time: the timer is postponed.
 */
static void put_off_rotation(void)
{
	static const char *const names[] = CONFORM_NAMES;

	for (int i = 0; i < CONFORM_NR_FLAVOURS; i++) {
		char path[128];
		FILE *f;

		snprintf(path, sizeof(path),
			 "/sys/bus/event_source/devices/%s/perf_event_mux_interval_ms", names[i]);
		f = fopen(path, "w");
		if (!f)
			continue;
		fputs("100000000", f);
		fclose(f);
	}
}

static void write_setting(const char *name, long value)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	f = fopen(path, "w");
	if (!f || fprintf(f, "%ld", value) < 0 || fclose(f)) {
		perror(path);
		exit(3);
	}
}

static long read_setting(const char *name)
{
	char path[64];
	long value;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%ld", &value) != 1) {
		perror(path);
		exit(3);
	}
	fclose(f);
	return value;
}

static void kernel_cpu(int cpu);

/*
 * 6.12 reserves a part of each second for tasks without real-time priority. Change that on each CPU
 * from a task that it runs itself: 6.12.95 warns about its own accounting (deadline.c:292) if the
 * server is idle at that moment, and has not noticed yet.
 */
static void no_fair_server(void)
{
	char path[80];
	FILE *f;

	for (int cpu = 0; cpu < 2; cpu++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/sched/fair_server/cpu%d/runtime",
			 cpu);
		f = fopen(path, "w");
		if (!f)
			continue;
		kernel_cpu(cpu);
		fputs("0", f);
		if (fclose(f))
			perror(path);
	}
}

static int open_holder(pid_t tid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
		.comm = 1,
		.mmap = 1,
		.mmap2 = 1,
	};
	long fd = syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0) {
		perror("perf_event_open");
		exit(3);
	}
	return (int)fd;
}

/* Keeps perf's static keys on: switching them takes seconds. */
static void hold_keys(void)
{
	pid_t child = fork();

	if (!child) {
		close(module_fd); /* so that the module can be unloaded as soon as we exit */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	open_holder(child);
}

static void kernel_hold(bool on)
{
	if (on == (hold_fd >= 0))
		return;
	if (!on)
		close(hold_fd);
	hold_fd = on ? open_holder(0) : -1;
}

int kernel_possible(void)
{
	struct conform_call look = {.op = CONFORM_LOOK};
	static const char *const tails[] = {"a", "a_name_of_another_length",
					    "a_long_name_that_makes_a_long_record_of_it"};

	module_fd = open(CONFORM_PATH, O_RDWR | O_CLOEXEC);
	if (module_fd < 0 || read_types()) {
		printf("skipped: %s: %s (requires the module auxtap_conform, and root)\n",
		       CONFORM_PATH, strerror(errno));
		return 77;
	}
	for (int i = 0; i < 3; i++) {
		int fd;

		snprintf(files[i], sizeof(files[i]), "/tmp/%s", tails[i]);
		fd = open(files[i], O_RDWR | O_CREAT | O_CLOEXEC, 0700);
		if (fd < 0 || ftruncate(fd, PAGE)) {
			perror(files[i]);
			return 3;
		}
		close(fd);
	}
	for (int i = 0; i < NR_EVENTS; i++)
		fds[i] = -1;
	put_off_rotation();
	/* a thread with a real-time priority must not be throttled after 0.95 s */
	if (read_setting("sched_rt_runtime_us") != -1) /* 6.12 may return EBUSY the second time */
		write_setting("sched_rt_runtime_us", -1);
	no_fair_server();
	hold_keys();
	kernel_call(&look);
	model_pmus_after(look.pmus_after);
	usual_mlock_kb = read_setting("perf_event_mlock_kb");
	usual_paranoid = read_setting("perf_event_paranoid");
	getrlimit(RLIMIT_MEMLOCK, &usual_memlock);
	model_usual(usual_mlock_kb, usual_memlock.rlim_cur, (int)usual_paranoid);
	for (int i = 0; i < NR_USERS; i++)
		user_fds[i] = -1;
	return 0;
}

const struct core_kernel *kernel_set(void)
{
	static struct core_kernel early;
	struct utsname uts;
	int major = 0, minor = 0, point = 0;
	const char *debian;

	uname(&uts);
	sscanf(uts.release, "%d.%d", &major, &minor);
	/* D14, L2: the mask came to 6.1 with a point release; Debian's 6.1.176 lacks it */
	debian = strstr(uts.version, "Debian 6.1.");
	if (debian && sscanf(debian, "Debian 6.1.%d", &point) == 1 && point <= 176) {
		early = *core_kernel_find("6.1.192");
		early.aux_gate_masks_format = false;
		return &early;
	}
	if (major > 6 || (major == 6 && minor >= 15))
		return core_kernel_find("6.18.44");
	return core_kernel_find(major == 6 && minor >= 7 ? "6.12.95" : "6.1.192");
}

const char *conform_file(int which)
{
	return files[which];
}

static void kernel_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		perror("sched_setaffinity");
		exit(3);
	}
}

/*
 * Keeps other tasks from running in between; and scripts with a second thread know when which of
 * them runs: a woken one waits until the other one blocks.
 */
static void kernel_begin(int cpu, bool budget)
{
	struct sched_param usual = {0}, first = {.sched_priority = 1};

	/* tasks that wait for this CPU run between the scripts */
	if (sched_setscheduler(0, SCHED_OTHER, &usual) || usleep(2000) ||
	    sched_setscheduler(0, SCHED_FIFO, &first)) {
		perror("sched_setscheduler");
		exit(3);
	}
	kernel_cpu(cpu);
	kernel_hold(true);
	nr_begun++;
	own_users = budget;
	user = 0;
	ipc_lock = true;
	for (int i = 0; i < NR_USERS; i++)
		if (user_fds[i] >= 0) {
			close(user_fds[i]);
			user_fds[i] = -1;
		}
	if (!limits_changed)
		return;
	limits_changed = false;
	write_setting("perf_event_mlock_kb", usual_mlock_kb);
	write_setting("perf_event_paranoid", usual_paranoid);
	setrlimit(RLIMIT_MEMLOCK, &usual_memlock);
}

static void kernel_limits(long mlock_kb, uint64_t memlock, int paranoid)
{
	struct rlimit limit = {.rlim_cur = memlock, .rlim_max = usual_memlock.rlim_max};

	limits_changed = true;
	write_setting("perf_event_mlock_kb", mlock_kb);
	write_setting("perf_event_paranoid", paranoid);
	if (memlock > limit.rlim_max)
		limit.rlim_max = memlock;
	if (setrlimit(RLIMIT_MEMLOCK, &limit)) {
		perror("setrlimit");
		exit(3);
	}
}

static void kernel_user(int n, bool with_ipc_lock)
{
	user = n;
	ipc_lock = with_ipc_lock;
}

/*
 * Affects this thread only: the user is the real one, capabilities follow the effective one. Every
 * script that sets limits has its own users, also for root: a count may stay wrong (B11), and is
 * dropped with the last object of its user.
 */
static void become(uid_t uid, bool capable)
{
	if (syscall(SYS_setresuid, uid, capable ? 0 : uid, 0)) {
		perror("setresuid");
		exit(3);
	}
}

static void become_user(void)
{
	if (!own_users)
		return;
	become(FIRST_UID + nr_begun % 100000 * NR_USERS + (uid_t)user, !user || ipc_lock);
	if (user_fds[user] < 0)
		user_fds[user] = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static uint64_t kernel_pinned(void)
{
	unsigned long long kb = 0;
	char line[128];
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmPin: %llu", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb / 4;
}

static void kernel_unmap(int map)
{
	munmap(maps[map].addr, maps[map].length);
	maps[map].addr = NULL;
}

static void kernel_close(int slot)
{
	close(fds[slot]);
	fds[slot] = -1;
}

static void kernel_end(void)
{
	for (int i = 0; i < NR_MAPS; i++)
		if (maps[i].addr)
			kernel_unmap(i);
	for (int i = 0; i < NR_EVENTS; i++)
		if (fds[i] >= 0)
			kernel_close(i);
	munmap(conform_file_addr, PAGE);
}

static int kernel_open(int slot, const struct perf_event_attr *attr, int pmu, bool task, int cpu,
		       int group)
{
	struct perf_event_attr a = *attr;
	long fd;

	a.type = types[pmu];
	fd = syscall(SYS_perf_event_open, &a, task ? 0 : -1, cpu, group >= 0 ? fds[group] : -1,
		     PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	fds[slot] = (int)fd;
	if (ioctl(fds[slot], PERF_EVENT_IOC_ID, &ids[slot]))
		abort();
	return 0;
}

static uint64_t kernel_id(int slot)
{
	return ids[slot];
}

static int kernel_map(int map, int slot, uint64_t length, int prot, int flags, uint64_t off,
		      void **addr)
{
	int error;

	become_user();
	*addr = mmap(NULL, length, prot, flags, fds[slot], (off_t)off);
	error = errno;
	if (own_users)
		become(0, true);
	if (*addr == MAP_FAILED)
		return -error;
	maps[map].addr = *addr;
	maps[map].length = length;
	return 0;
}

static long kernel_ioctl(int slot, unsigned long request, unsigned long argument, int target)
{
	if (request == PERF_EVENT_IOC_SET_OUTPUT)
		argument = target >= 0 ? (unsigned long)fds[target] : ~0ul;
	return ioctl(fds[slot], request, argument) ? -errno : 0;
}

static int kernel_poll(int slot)
{
	struct pollfd pfd = {.fd = fds[slot], .events = POLLIN | POLLRDNORM};

	poll(&pfd, 1, 0);
	return pfd.revents;
}

static long kernel_read(int slot, void *buf, size_t size)
{
	ssize_t ret = read(fds[slot], buf, size);

	return ret < 0 ? -errno : ret;
}

static void kernel_comm(const char *name)
{
	prctl(PR_SET_NAME, name);
}

static void kernel_map_file(int which)
{
	int fd = open(files[which], O_RDONLY | O_CLOEXEC);

	if (fd < 0 || mmap(conform_file_addr, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
			   fd, 0) != conform_file_addr)
		abort();
	close(fd);
}

/* One page fault a sample; nothing else faults here while the event is on. */
static long kernel_sample(int slot, int nr, const struct perf_event_attr *attr)
{
	static volatile char *pages;

	(void)attr;
	if (!pages)
		pages = mmap(NULL, MAX_SAMPLES * PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* first without the event, so that code and stack are present */
	for (int on = 0; on < 2; on++) {
		madvise((void *)pages, MAX_SAMPLES * PAGE, MADV_DONTNEED);
		ioctl(fds[slot], on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_RESET, 0);
		for (int i = 0; i < nr; i++)
			pages[(uint64_t)i * PAGE] = 1;
	}
	return ioctl(fds[slot], PERF_EVENT_IOC_DISABLE, 0) ? -errno : nr;
}

static void kernel_call(struct conform_call *call)
{
	if (ioctl(module_fd, CONFORM_IOC_CALL, call)) {
		perror("conform: module");
		exit(3);
	}
}

void kernel_orders(uint64_t id, struct conform_orders *orders)
{
	memset(orders, 0, sizeof(*orders));
	orders->id = id;
	if (ioctl(module_fd, CONFORM_IOC_ORDERS, orders))
		orders->nr = 0;
}

const struct side kernel_side = {
	.name = "kernel",
	.begin = kernel_begin,
	.end = kernel_end,
	.cpu = kernel_cpu,
	.open = kernel_open,
	.id = kernel_id,
	.close = kernel_close,
	.map = kernel_map,
	.unmap = kernel_unmap,
	.ioctl = kernel_ioctl,
	.poll = kernel_poll,
	.read = kernel_read,
	.limits = kernel_limits,
	.user = kernel_user,
	.hold = kernel_hold,
	.pinned = kernel_pinned,
	.comm = kernel_comm,
	.map_file = kernel_map_file,
	.sample = kernel_sample,
	.call = kernel_call,
};
