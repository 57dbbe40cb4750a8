// SPDX-License-Identifier: BSD-2-Clause
/* Both tables of a backend without a kernel: see support_fake.h. */
#include "util/sized.h"
#include "support_fake.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* True if this call must fail. */
static bool fails(struct fake *f, enum fake_call call)
{
	return ++f->nr_calls[call] == f->fail_at && f->fail_call == call;
}

static int fake_open(void *ctx, const struct perf_event_attr *attr, pid_t pid, int cpu,
		     int group_fd, unsigned long flags)
{
	struct fake *f = ctx;
	int fd;

	(void)pid;
	(void)cpu;
	(void)group_fd;
	(void)flags;
	if (fails(f, FAKE_OPEN))
		return -f->fail_errno;
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	f->nr_open++;
	if (f->nr_calls[FAKE_OPEN] <= sizeof(f->attrs) / sizeof(f->attrs[0]))
		f->attrs[f->nr_calls[FAKE_OPEN] - 1] = *attr;
	return fd;
}

static void *fake_mmap(void *ctx, size_t length, int prot, int flags, int fd, off_t offset,
		       int *error)
{
	struct fake *f = ctx;
	struct perf_event_mmap_page *page;
	void *p;

	(void)flags;
	(void)fd;
	if (fails(f, FAKE_MMAP)) {
		*error = -f->fail_errno;
		return NULL;
	}
	p = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		*error = -errno;
		return NULL;
	}
	f->nr_mapped++;
	if (offset) {
		f->aux_prot = prot;
		if (f->nr_pages)
			f->aux[f->nr_pages - 1] = p;
		return p;
	}
	page = p;
	page->data_offset = 4096;
	page->data_size = f->bad_page ? length : length - 4096;
	f->last_page = page;
	if (f->nr_pages < sizeof(f->pages) / sizeof(f->pages[0]))
		f->pages[f->nr_pages++] = page;
	return p;
}

static int fake_munmap(void *ctx, void *addr, size_t length)
{
	struct fake *f = ctx;

	if (addr == f->last_page)
		f->last_page = NULL;
	f->nr_mapped--;
	return munmap(addr, length) ? -errno : 0;
}

static int fake_ioctl(void *ctx, int fd, unsigned long request, unsigned long arg)
{
	struct fake *f = ctx;
	uint64_t id = 1000 + (uint64_t)fd;
	enum fake_call call = request == PERF_EVENT_IOC_ID	   ? FAKE_ID :
			      request == PERF_EVENT_IOC_ENABLE	   ? FAKE_ENABLE :
			      request == PERF_EVENT_IOC_SET_OUTPUT ? FAKE_SET_OUTPUT :
								     FAKE_DISABLE;

	if (f->before)
		f->before(f, call);
	if (fails(f, call))
		return -f->fail_errno;
	if (call == FAKE_ID)
		memcpy((void *)(uintptr_t)arg, &id, sizeof(id));
	return 0;
}

static int fake_poll(void *ctx, struct pollfd *fds, nfds_t nr, int timeout_ms)
{
	struct fake *f = ctx;
	int ret;

	(void)timeout_ms;
	if (f->before)
		f->before(f, FAKE_POLL);
	if (fails(f, FAKE_POLL))
		return -f->fail_errno;
	ret = poll(fds, nr, 0);
	return ret < 0 ? -errno : ret;
}

static int fake_close(void *ctx, int fd)
{
	struct fake *f = ctx;

	f->nr_open--;
	return close(fd) ? -errno : 0;
}

static ssize_t fake_pmu_attr(void *ctx, const char *pmu, const char *attr, char *buf, size_t size)
{
	static const char *const entries[][2] = {
		{"type", "10"},
		{"format/pt", "config:0"},
		{"format/tsc", "config:10"},
		{"format/branch", "config:13"},
	};

	(void)ctx;
	/* of these the type alone */
	if (!strcmp(pmu, "cs_etm") || !strcmp(pmu, "arm_spe_0"))
		return strcmp(attr, "type") ? -ENOENT : snprintf(buf, size, "11");
	if (strcmp(pmu, "intel_pt"))
		return -ENOENT;
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		if (!strcmp(entries[i][0], attr))
			return snprintf(buf, size, "%s", entries[i][1]);
	}
	return -ENOENT;
}

static uint64_t fake_clock(void *ctx)
{
	return ++((struct fake *)ctx)->now;
}

static int fake_spawn(void *ctx, const struct auxtap_spawn *spawn, pid_t *pid,
		      struct auxtap_error *err)
{
	struct fake *f = ctx;

	if (fails(f, FAKE_SPAWN)) {
		auxtap_error_set(err, -f->fail_errno, spawn->argv[0], "%s",
				 strerror(f->fail_errno));
		auxtap_error_set_subject(err, AUXTAP_ERROR_PROGRAM);
		return -f->fail_errno;
	}
	*pid = FAKE_PID;
	return 0;
}

static int fake_attach(void *ctx, pid_t pid, bool one_thread, const char *truth_path,
		       struct auxtap_error *err)
{
	struct fake *f = ctx;

	(void)pid;
	(void)one_thread;
	(void)truth_path;
	if (fails(f, FAKE_ATTACH))
		return auxtap_error_set(err, -f->fail_errno, "process", "%s",
					strerror(f->fail_errno));
	f->nr_attached++;
	return 0;
}

static int fake_fd(void *ctx)
{
	(void)ctx;
	return -1;
}

static int fake_wait(void *ctx, struct auxtap_target_event *ev)
{
	struct fake *f = ctx;

	if (fails(f, FAKE_WAIT))
		return -f->fail_errno;
	/* Reports one event, then lets the session poll once, as real events arrive. */
	f->pause = !f->pause;
	if (!f->pause)
		return 0;
	if (f->at == f->nr_events)
		return -ECHILD;
	assert_int_equal(ev->size, sizeof(*ev));
	sized_copy_out(ev, &f->events[f->at++], sizeof(*ev));
	return 1;
}

static int fake_regs(void *ctx, pid_t tid, struct auxtap_regs *regs)
{
	struct fake *f = ctx;

	(void)tid;
	if (fails(f, FAKE_REGS))
		return -f->fail_errno;
	*regs = (struct auxtap_regs){.arch = AUXTAP_ARCH_X86_64,
				     .valid = 1ull << AUXTAP_X86_IP | 1ull << AUXTAP_X86_SP};
	regs->reg[AUXTAP_X86_IP] = 0x401010;
	regs->reg[AUXTAP_X86_SP] = 0x7ffe0100;
	return 0;
}

static int fake_siginfo(void *ctx, pid_t tid, void *siginfo)
{
	siginfo_t *info = siginfo;
	struct fake *f = ctx;

	(void)tid;
	if (fails(f, FAKE_SIGINFO))
		return -f->fail_errno;
	memset(info, 0, sizeof(*info));
	info->si_signo = SIGSEGV;
	info->si_code = SEGV_MAPERR;
	return 0;
}

static int fake_maps(void *ctx, pid_t pid, char **text)
{
	struct fake *f = ctx;

	(void)pid;
	if (fails(f, FAKE_MAPS))
		return -f->fail_errno;
	*text = strdup("00401000-00402000 r-xp 00001000 08:01 77 /bin/fake\n"
		       "7ffe0000-7ffe1000 rw-p 00000000 00:00 0 [stack]\n"
		       "7fff0000-7fff1000 r-xp 00000000 00:00 0 [vdso]\n");
	return *text ? 0 : -ENOMEM;
}

static ssize_t fake_mem(void *ctx, pid_t pid, uint64_t addr, void *buf, size_t size)
{
	struct fake *f = ctx;

	(void)pid;
	(void)addr;
	if (fails(f, FAKE_MEM))
		return -f->fail_errno;
	memset(buf, 0x90, size);
	return (ssize_t)size;
}

static int fake_threads(void *ctx, pid_t pid, pid_t *tids, int max)
{
	struct fake *f = ctx;

	(void)max;
	if (fails(f, FAKE_THREADS))
		return -f->fail_errno;
	tids[0] = pid;
	return 1;
}

static int fake_resume(void *ctx, pid_t tid)
{
	struct fake *f = ctx;

	(void)tid;
	if (fails(f, FAKE_RESUME))
		return -f->fail_errno;
	f->nr_resumed++;
	return 0;
}

static int fake_signal(void *ctx, pid_t pid, int signo)
{
	struct fake *f = ctx;

	(void)pid;
	f->last_signal = signo;
	if (f->forwarded)
		f->forwarded(f, signo);
	return 0;
}

static int fake_detach(void *ctx, pid_t pid)
{
	struct fake *f = ctx;

	(void)pid;
	f->nr_attached--;
	return 0;
}

#define PERF_OPS                                                                            \
	.size = sizeof(struct auxtap_perf_ops), .open = fake_open, .mmap = fake_mmap,       \
	.munmap = fake_munmap, .ioctl = fake_ioctl, .poll = fake_poll, .close = fake_close, \
	.pmu_attr = fake_pmu_attr, .clock = fake_clock

static const struct auxtap_perf_ops per_thread_ops = {.name = "emulated",
						      .emulated = true,
						      PERF_OPS};
static const struct auxtap_perf_ops per_cpu_ops = {.name = "kernel", PERF_OPS};

static const struct auxtap_target_ops target_ops = {
	.size = sizeof(target_ops),
	.name = "fake",
	.spawn = fake_spawn,
	.attach = fake_attach,
	.fd = fake_fd,
	.wait = fake_wait,
	.regs = fake_regs,
	.siginfo = fake_siginfo,
	.maps = fake_maps,
	.mem = fake_mem,
	.threads = fake_threads,
	.resume = fake_resume,
	.signal = fake_signal,
	.detach = fake_detach,
};

void fake_backend(struct fake *f, struct auxtap_backend *be, bool per_cpu)
{
	memset(be, 0, sizeof(*be));
	be->size = sizeof(*be);
	be->perf = per_cpu ? &per_cpu_ops : &per_thread_ops;
	be->perf_ctx = f;
	be->target = &target_ops;
	be->target_ctx = f;
}

int fake_open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int nr = 0;

	while (dir && readdir(dir))
		nr++;
	if (dir)
		closedir(dir);
	return nr;
}
