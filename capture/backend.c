// SPDX-License-Identifier: BSD-2-Clause
/*
 * Backends: each combines a perf interface and the control of the program. Also finds out which of
 * them work on this machine.
 */
#include "util/sized.h"
#include "emulated.h"
#include "native.h"
#include "pmu_family.h"
#include "refusal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define BACKEND_FIRST_SIZE SIZED_UP_TO(struct auxtap_backend, slowdown)

int backend_check(const struct auxtap_backend *be, struct auxtap_error *err)
{
	int ret = sized_check(be, sizeof(*be), BACKEND_FIRST_SIZE, "struct auxtap_backend", err);

	if (ret)
		return ret;
	if (!be->perf)
		return auxtap_error_set(err, -EINVAL, "struct auxtap_backend", "is not open");
	ret = sized_check(be->perf, sizeof(*be->perf),
			  SIZED_UP_TO(struct auxtap_perf_ops, emulated), "struct auxtap_perf_ops",
			  err);
	if (!ret && be->target)
		ret = sized_check(be->target, sizeof(*be->target),
				  SIZED_UP_TO(struct auxtap_target_ops, native),
				  "struct auxtap_target_ops", err);
	return ret;
}

int backend_copy_spawn(struct auxtap_spawn *copy, const struct auxtap_spawn *spawn,
		       struct auxtap_error *err)
{
	int ret = sized_copy_in(copy, sizeof(*copy), SIZED_UP_TO(struct auxtap_spawn, truth_path),
				spawn, "struct auxtap_spawn", err);

	if (!ret && (!copy->argv || !copy->argv[0]))
		ret = auxtap_error_set(err, -EINVAL, "struct auxtap_spawn", "names no program");
	return ret;
}

/* Clears all members but the size. */
static void clear_backend(struct auxtap_backend *be)
{
	const struct auxtap_backend none = {.size = sizeof(none)};

	sized_copy_out(be, &none, sizeof(none));
}

int auxtap_backend_open_kernel(struct auxtap_backend *be, struct auxtap_error *err)
{
	struct native_target *target;
	int ret = sized_check(be, sizeof(*be), BACKEND_FIRST_SIZE, "struct auxtap_backend", err);

	if (ret)
		return ret;
	clear_backend(be);
	target = malloc(sizeof(*target));
	if (!target)
		return auxtap_error_set(err, -ENOMEM, "kernel backend", "no memory");
	native_target_init(target);
	be->perf = &perf_kernel_ops;
	be->target = &target_native_ops;
	be->target_ctx = target;
	snprintf(be->description, sizeof(be->description), "kernel");
	return 0;
}

/* Can auxtap-emu run this qemu? It tried. where: "version (path)", perhaps with a remark. */
static bool qemu_usable(const char *target, char why[160], char *where, size_t size)
{
	struct emu_engine engine;

	why[0] = where[0] = '\0';
	if (emu_link_engine(target, &engine)) {
		snprintf(why, 160, "%.159s", engine.why);
		return false;
	}
	snprintf(where, size, "%.31s (%.200s)%s%.200s", engine.version, engine.path,
		 *engine.why ? "; " : "", engine.why);
	return true;
}

void backend_refresh(struct auxtap_backend *be)
{
	const struct emu_link *link = be->target_ctx;

	if (be->perf != &perf_emulated_ops)
		return;
	if (link->engine == AUXTAP_ENGINE_QEMU) {
		be->target = &target_qemu_ops;
		snprintf(be->slowdown, sizeof(be->slowdown), "20 to 100 times slower");
	} else {
		be->target = &target_ptrace_ops;
		snprintf(be->slowdown, sizeof(be->slowdown),
			 "about 50,000 times slower (45,000 instructions a second)");
	}
	snprintf(be->description, sizeof(be->description), "emulated, engine %s%s%s%s%s%s",
		 be->target->name, *link->engine_version ? " " : "", link->engine_version,
		 *link->engine_reason ? " (" : "", link->engine_reason,
		 *link->engine_reason ? ")" : "");
}

const char *backend_death(const struct auxtap_backend *be)
{
	const struct emu_link *link = be->target_ctx;

	return be->perf == &perf_emulated_ops && link->dead ? link->death : NULL;
}

static int open_emulation(struct auxtap_backend *be, const struct auxtap_emulation *opts,
			  struct auxtap_error *err)
{
	enum auxtap_engine engine = opts->engine, first = engine;
	const char *unit = opts->trace_unit;
	struct emu_link *link;
	int ret = sized_check(be, sizeof(*be), BACKEND_FIRST_SIZE, "struct auxtap_backend", err);

	if (ret)
		return ret;
	clear_backend(be);
	link = calloc(1, sizeof(*link));
	if (!link)
		return auxtap_error_set(err, -ENOMEM, "emulated backend", "no memory");
	if (unit && !auxtap_event_has_trace_unit(NULL, unit)) {
		ret = auxtap_error_set(err, -EINVAL, unit, "this trace unit is not emulated");
		auxtap_error_hint(err, "use ete or etmv4");
		goto free_link;
	}
	if (unit)
		snprintf(link->trace_unit, sizeof(link->trace_unit), "trace-unit=%s", unit);
	if (opts->max_memory)
		snprintf(link->max_memory, sizeof(link->max_memory), "max-memory=%llu",
			 (unsigned long long)opts->max_memory);
	if (opts->values > VALUE_LOG_MAX) {
		ret = auxtap_error_set(err, -EINVAL, "values", "a ring is 1 GiB at most");
		goto free_link;
	}
	if (opts->values)
		snprintf(link->value_log, sizeof(link->value_log), "values=%llu",
			 (unsigned long long)opts->values);
	if (opts->values && engine == AUXTAP_ENGINE_PTRACE) {
		ret = auxtap_error_set(err, -EOPNOTSUPP, "values",
				       "the ptrace engine records no values");
		auxtap_error_hint(err, "use --source qemu, or leave --values out");
		goto free_link;
	}
	/* auxtap-emu finds out whether there is a qemu for the program when it starts it */
	if (engine == AUXTAP_ENGINE_AUTO) {
		first = AUXTAP_ENGINE_QEMU;
		link->may_fall_back = !opts->values;
	}
	ret = emu_link_start(link, first, err);
	if (ret && link->may_fall_back)
		ret = emu_link_start(link, AUXTAP_ENGINE_PTRACE, err);
	if (ret)
		goto free_link;
	be->perf = &perf_emulated_ops;
	be->perf_ctx = link;
	be->target = &target_ptrace_ops;
	be->target_ctx = link;
	backend_refresh(be);
	return 0;
free_link:
	free(link);
	return ret;
}

int auxtap_backend_open_emulated(struct auxtap_backend *be, enum auxtap_engine engine,
				 struct auxtap_error *err)
{
	const struct auxtap_emulation emulation = {.size = sizeof(emulation), .engine = engine};

	return open_emulation(be, &emulation, err);
}

int auxtap_backend_open_emulation(struct auxtap_backend *be,
				  const struct auxtap_emulation *emulation,
				  struct auxtap_error *err)
{
	struct auxtap_emulation copy;
	int ret =
		sized_copy_in(&copy, sizeof(copy), SIZED_UP_TO(struct auxtap_emulation, trace_unit),
			      emulation, "struct auxtap_emulation", err);

	return ret ? ret : open_emulation(be, &copy, err);
}

void auxtap_backend_close(struct auxtap_backend *be)
{
	if (sized_check(be, sizeof(*be), BACKEND_FIRST_SIZE, "struct auxtap_backend", NULL))
		return; /* it was never opened */
	if (be->target == &target_native_ops) {
		native_target_free(be->target_ctx);
		free(be->target_ctx);
	} else if (be->target == &target_ptrace_ops || be->target == &target_qemu_ops) {
		emu_link_stop(be->target_ctx);
		free(be->target_ctx);
	}
	clear_backend(be);
}

/* The child that waits to be traced and whose memory is read. Never returns. */
static void wait_as_tracee(int ready, volatile const int *value)
{
	(void)value;
	if (write(ready, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static bool memory_readable(pid_t pid, const volatile int *value)
{
	struct iovec local = {0}, remote = {(void *)(uintptr_t)value, sizeof(*value)};
	char path[64];
	int copy = 0, fd;
	ssize_t n;

	local = (struct iovec){&copy, sizeof(copy)};
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : pread(fd, &copy, sizeof(copy), (off_t)(uintptr_t)value);
	if (fd >= 0)
		close(fd);
	if (n != sizeof(copy))
		n = process_vm_readv(pid, &local, 1, &remote, 1, 0);
	return n == sizeof(copy) && copy == *value;
}

/* Tries to trace a child as both engines do: seccomp or Yama may forbid it. */
static bool try_ptrace(char *why, size_t size)
{
	static volatile int value = 0x7ace;
	int status = 0, ready[2];
	bool ok = false;
	char c;
	pid_t pid;

	snprintf(why, size, "cannot create a child process for the test");
	if (pipe2(ready, O_CLOEXEC))
		return false;
	pid = fork();
	if (pid == 0)
		wait_as_tracee(ready[1], &value);
	close(ready[1]);
	if (pid < 0)
		goto out;
	while (read(ready[0], &c, 1) < 0 && errno == EINTR)
		;
	if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_EXITKILL))
		snprintf(why, size,
			 "ptrace is refused (%s); in a container allow SYS_PTRACE, else set "
			 "kernel.yama.ptrace_scope to 1",
			 strerror(errno));
	else if (!memory_readable(pid, &value))
		snprintf(
			why, size,
			"a program's memory may not be read: process_vm_readv and /proc/PID/mem are "
			"refused; in a container allow SYS_PTRACE");
	else
		ok = true;
	kill(pid, SIGKILL);
	while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR)
		;
	if (ok)
		*why = '\0';
out:
	close(ready[0]);
	return ok;
}

/* The hardware's PMU, or a module with its name; else auxtap's kernel module with its own. */
static const struct {
	const char *pmu, *event;
} kernel_pmus[] = {{"intel_pt", "intel_pt//u"}, {"auxtap_pt", "auxtap_pt//u"}};
#define NR_KERNEL_PMUS (sizeof(kernel_pmus) / sizeof(kernel_pmus[0]))

/* Returns the index of the PMU that this machine has; if it has none, 0 with *found false. */
static size_t kernel_pmu(char *type, size_t size, bool *found)
{
	for (size_t i = 0; i < NR_KERNEL_PMUS; i++) {
		*found = perf_kernel_ops.pmu_attr(NULL, kernel_pmus[i].pmu, "type", type, size) > 0;
		if (*found)
			return i;
	}
	return 0;
}

const char *backend_default_event(const struct auxtap_backend *be, int machine)
{
	char type[64];
	bool found;

	if (be->perf == &perf_emulated_ops)
		return pmu_family_default_event(machine);
	return kernel_pmus[kernel_pmu(type, sizeof(type), &found)].event;
}

static bool try_kernel(struct auxtap_probe *probe, const struct limits *limits)
{
	struct perf_event_attr attr = {.size = sizeof(attr), .disabled = 1, .exclude_kernel = 1};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	char type[64];
	bool found;
	size_t i = kernel_pmu(type, sizeof(type), &found);
	const char *pmu = kernel_pmus[i].pmu;
	int fd;

	snprintf(probe->kernel_event, sizeof(probe->kernel_event), "%s", kernel_pmus[i].event);
	if (!found) {
		snprintf(probe->kernel_why, sizeof(probe->kernel_why),
			 "this machine has no intel_pt PMU");
		return false;
	}
	attr.type = (uint32_t)strtoul(type, NULL, 10);
	attr.config = 1u | 1u << 10 | 1u << 13; /* pt, tsc, branch: no branch without pt */
	fd = perf_kernel_ops.open(NULL, &attr, 0, -1, -1, 0);
	if (fd < 0) {
		refusal_open(pmu, &attr, 0, fd, limits, &err);
		snprintf(probe->kernel_why, sizeof(probe->kernel_why), "%s: %.130s", pmu, err.why);
		return false;
	}
	close(fd);
	probe->kernel_why[0] = '\0';
	return true;
}

static void probe_all(struct auxtap_probe *probe)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	char path[PATH_MAX];
	struct limits limits;
	long scope = 0;
	FILE *f;

	limits_read(&limits);
	probe->kernel = try_kernel(probe, &limits);
	probe->emulated = !emu_link_find(path, sizeof(path), &err);
	probe->emulated_why[0] = '\0';
	if (!probe->emulated && err.code == -EACCES)
		snprintf(probe->emulated_why, sizeof(probe->emulated_why), "%.120s: %.30s",
			 err.what, err.why);
	else if (!probe->emulated)
		snprintf(probe->emulated_why, sizeof(probe->emulated_why), "%.150s", err.why);
	probe->qemu = qemu_usable("x86_64", probe->qemu_why, probe->qemu_engine,
				  sizeof(probe->qemu_engine));
	probe->qemu_a64 = qemu_usable("aarch64", probe->qemu_a64_why, probe->qemu_a64_engine,
				      sizeof(probe->qemu_a64_engine));
	probe->ptrace = try_ptrace(probe->ptrace_why, sizeof(probe->ptrace_why));
	/* qemu needs ptrace, too */
	if (!probe->ptrace) {
		probe->qemu = probe->qemu_a64 = false;
		snprintf(probe->qemu_why, sizeof(probe->qemu_why), "%s", probe->ptrace_why);
		snprintf(probe->qemu_a64_why, sizeof(probe->qemu_a64_why), "%s", probe->ptrace_why);
	}
	f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	if (f && fscanf(f, "%ld", &scope) != 1)
		scope = 0;
	if (f)
		fclose(f);
	probe->ptrace_attach = probe->ptrace && (scope == 0 || (scope < 3 && geteuid() == 0));
	if (probe->ptrace && !probe->ptrace_attach)
		snprintf(probe->ptrace_why, sizeof(probe->ptrace_why),
			 "kernel.yama.ptrace_scope is %ld; 0 lets you attach to your processes",
			 scope);
	probe->paranoid = (int)limits.paranoid;
	probe->mlock_kb = limits.mlock_kb;
	probe->memlock_kb = limits.memlock_kb;
}

/* The caller's struct may be older, and then lacks the newest members, or newer. */
int auxtap_probe_machine(struct auxtap_probe *probe)
{
	struct auxtap_probe all = {.size = sizeof(all)};
	int ret = sized_check(probe, sizeof(all), SIZED_UP_TO(struct auxtap_probe, memlock_kb),
			      "struct auxtap_probe", NULL);

	if (ret)
		return ret;
	probe_all(&all);
	sized_copy_out(probe, &all, sizeof(all));
	return 0;
}
