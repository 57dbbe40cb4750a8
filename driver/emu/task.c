// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Tasks: their virtual CPUs, their lifetimes, and the sideband records that the kernel writes about
 * them. execute.c handles the code that they execute; event_queue.c reports events to the capture
 * side.
 */
#include "emu_state.h"
#include "emu_unit.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

u64 emu_tick(struct emu *emu)
{
	return ++emu->tsc;
}

u64 emu_now(const struct emu *emu)
{
	return emu->tsc;
}

void *emu_engine_priv(const struct emu *emu)
{
	return emu->engine_priv;
}

void emu_set_engine_priv(struct emu *emu, void *priv)
{
	emu->engine_priv = priv;
}

struct emu *emu_task_emu(const struct emu_task *task)
{
	return task->emu;
}

void *emu_task_priv(struct emu_task *task)
{
	return task->priv;
}

void emu_task_set_priv(struct emu_task *task, void *priv)
{
	task->priv = priv;
}

pid_t emu_task_tid(const struct emu_task *task)
{
	return task->core.tid;
}

pid_t emu_task_pid(const struct emu_task *task)
{
	return task->core.pid;
}

static struct emu_task **bucket(struct emu *emu, pid_t tid)
{
	return &emu->hash[(unsigned int)tid % EMU_TASK_HASH];
}

struct emu_task *emu_task_find(struct emu *emu, pid_t tid)
{
	for (struct emu_task *t = *bucket(emu, tid); t; t = t->hash_next)
		if (t->core.tid == tid)
			return t;
	return NULL;
}

struct emu_task *emu_task_next(struct emu *emu, pid_t pid, const struct emu_task *after)
{
	struct emu_task *best = NULL;

	for (int i = 0; i < EMU_TASK_HASH; i++)
		for (struct emu_task *t = emu->hash[i]; t; t = t->hash_next)
			if (t->core.pid == pid && (!after || t->core.tid > after->core.tid) &&
			    (!best || t->core.tid < best->core.tid))
				best = t;
	return best;
}

/* ---- records ---- */

struct task_record { /* FORK and EXIT */
	u32 pid, ppid, tid, ptid;
	u64 time;
};

struct comm_record {
	u32 pid, tid;
	char comm[16];
};

struct mmap2_record {
	u32 pid, tid;
	u64 addr, len, pgoff;
	u32 maj, min;
	u64 ino, ino_generation;
	u32 prot, flags;
	char name[];
};

static void event_of(const struct emu_task *task, enum auxtap_target_event_type type,
		     struct auxtap_target_event *ev)
{
	memset(ev, 0, sizeof(*ev));
	ev->type = type;
	ev->pid = task->core.pid;
	ev->tid = task->core.tid;
	ev->time = task->emu->tsc;
	ev->ip = task->ip;
	memcpy(ev->comm, task->comm, sizeof(ev->comm));
}

static void set_comm(struct emu_task *task, const char *comm, u16 misc)
{
	struct comm_record rec = {.pid = (u32)task->core.pid, .tid = (u32)task->core.tid};
	size_t size;

	snprintf(task->comm, sizeof(task->comm), "%s", comm);
	memcpy(rec.comm, task->comm, sizeof(rec.comm));
	/* as the kernel does: the name and its terminator, in units of 8 bytes */
	size = offsetof(struct comm_record, comm) + ((strlen(task->comm) + 1 + 7) & ~7ul);
	core_task_record(&task->core, PERF_RECORD_COMM, misc, &rec, size);
}

void emu_task_comm(struct emu_task *task, const char *comm)
{
	set_comm(task, comm, 0);
}

void emu_read_comm(pid_t tid, char comm[16])
{
	char path[64];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, comm, 16);
	comm[got > 0 ? got - 1 : 0] = 0; /* ends with a newline */
	if (fd >= 0)
		close(fd);
}

void emu_task_learn_comm(struct emu_task *task)
{
	char comm[16];

	emu_read_comm(task->core.tid, comm);
	if (*comm && strcmp(comm, task->comm) != 0)
		emu_task_comm(task, comm);
}

void emu_task_mmap(struct emu_task *task, const struct emu_mapping *map)
{
	size_t name_size = (strlen(map->name) + 1 + 7) & ~7ul;
	size_t size = sizeof(struct mmap2_record) + name_size;
	struct mmap2_record *rec = calloc(1, size);
	struct emu *emu = task->emu;

	if (!rec) {
		emu_report_problem(emu, task->core.pid, "no memory for an MMAP2 record");
		return;
	}
	*rec = (struct mmap2_record){
		.pid = (u32)task->core.pid,
		.tid = (u32)task->core.tid,
		.addr = map->addr,
		.len = map->len,
		.pgoff = map->pgoff,
		.maj = map->maj,
		.min = map->min,
		.ino = map->ino,
		.prot = map->prot,
		.flags = 2, /* MAP_PRIVATE, as /proc/PID/maps' p. Decoders ignore it */
	};
	memcpy(rec->name, map->name, strlen(map->name));
	core_task_record(&task->core, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, rec, size);
	free(rec);
	/*
	 * Other threads may run the new code without a system call of their own: before that their
	 * traces need a TSC that is newer than the record.
	 */
	if (!(map->prot & 4)) /* PROT_EXEC */
		return;
	for (int cpu = 0; cpu < CORE_NR_CPUS; cpu++) {
		struct emu_task *other = emu->cpus[cpu];

		if (other && other != task && other->core.pid == task->core.pid)
			other->pending_work |= WORK_IPI;
	}
}

static void disable_ret_compression(struct emu_task *task)
{
	pt_unit_disable_ret_compression(&task->pt);
	pt_unit_disable_ret_compression(&task->pt_shadow);
}

void emu_task_disable_ret_compression(struct emu_task *task)
{
	if (task->pt.ret_compression_off)
		return;
	for (int cpu = 0; cpu < CORE_NR_CPUS; cpu++) {
		struct emu_task *other = task->emu->cpus[cpu];

		if (other && other->core.pid == task->core.pid)
			disable_ret_compression(other);
	}
}

static void take_new_code_time(void *arg)
{
	struct emu_task *task = arg;

	task->new_code_tsc = emu_tick(task->emu);
}

u64 emu_task_new_code(struct emu_task *task)
{
	for (int cpu = 0; cpu < CORE_NR_CPUS; cpu++) {
		struct emu_task *other = task->emu->cpus[cpu];

		if (other && other != task && other->core.pid == task->core.pid)
			other->pending_work |= WORK_IPI;
	}
	emu_task_run_ipi(task, take_new_code_time, task);
	return task->new_code_tsc;
}

/* ---- lifetime ---- */

static int take_cpu(struct emu *emu, struct emu_task *task)
{
	for (int cpu = 0; cpu < CORE_NR_CPUS; cpu++) {
		if (!emu->cpus[cpu]) {
			emu->cpus[cpu] = task;
			return cpu;
		}
	}
	return -1;
}

static void report_new(struct emu_task *task, const struct emu_task *parent)
{
	struct auxtap_target_event ev;
	bool process = parent && parent->core.pid != task->core.pid;

	event_of(task, process ? AUXTAP_TARGET_FORK : AUXTAP_TARGET_THREAD, &ev);
	if (parent) {
		ev.parent_pid = parent->core.pid;
		ev.parent_tid = parent->core.tid;
	}
	emu_send_event(task->emu, &ev);
}

struct emu_task *emu_task_new(struct emu *emu, struct emu_task *parent, pid_t pid, pid_t tid,
			      const char *comm)
{
	struct emu_task *task = emu_task_alloc(emu);

	if (!task) {
		emu_report_problem(emu, pid, "no memory for a task");
		return NULL;
	}
	task->nr_refs = 1;
	task->core.pid = pid;
	task->core.tid = tid;
	snprintf(task->comm, sizeof(task->comm), "%s", comm);
	task->arch = parent ? parent->arch : AUXTAP_ARCH_X86_64;
	task->cpu = take_cpu(emu, task);
	emu_task_start_unit(task);
	if (parent && parent->pt.ret_compression_off)
		disable_ret_compression(task);
	task->hash_next = *bucket(emu, tid);
	*bucket(emu, tid) = task;
	emu->nr_tasks++;
	emu_ground_truth_open(emu, task);
	if (parent) {
		/* clang-format off */
		struct task_record rec = {
			.pid = (u32)pid, .tid = (u32)tid,
			.ppid = (u32)parent->core.pid, .ptid = (u32)parent->core.tid,
			.time = emu_tick(emu),
		};
		/* clang-format on */

		core_task_record(&parent->core, PERF_RECORD_FORK, 0, &rec, sizeof(rec));
	}
	if (!emu->quiet_new)
		report_new(task, parent);
	return task;
}

void emu_task_set_arch(struct emu_task *task, enum auxtap_arch arch)
{
	if (task->arch == arch)
		return;
	emu_task_enter_kernel(task); /* the unresolved block is code of the old architecture */
	task->arch = arch;
	emu_unit_check(task);
}

void emu_task_exec(struct emu_task *task, const char *comm)
{
	struct auxtap_target_event ev;

	emu_task_enter_kernel(task);
	if (task->cpu >= 0)
		core_set_cpu(task->cpu);
	emu_tick(task->emu);
	core_task_exec(&task->core);
	core_irq_work_run();
	set_comm(task, comm, PERF_RECORD_MISC_COMM_EXEC);
	event_of(task, AUXTAP_TARGET_EXEC, &ev);
	emu_send_event(task->emu, &ev);
}

void emu_task_put(struct emu_task *task)
{
	if (--task->nr_refs)
		return;
	emu_unit_free_all(task);
	emu_task_free(task);
}

void emu_task_exit(struct emu_task *task)
{
	struct emu *emu = task->emu;
	struct emu_task **link;
	struct auxtap_target_event ev;
	struct task_record rec = {
		.pid = (u32)task->core.pid,
		.tid = (u32)task->core.tid,
		.ppid = (u32)task->core.pid,
		.ptid = (u32)task->core.pid,
	};

	if (task->unresolved.nr_insns || task->in_user)
		emu_task_leave_async(task,
				     task->unresolved.nr_insns ? task->unresolved.ip : task->ip,
				     true);
	emu_task_learn_comm(task);
	emu_task_schedule(task, false);
	rec.time = emu_tick(emu);
	core_task_record(&task->core, PERF_RECORD_EXIT, 0, &rec, sizeof(rec));
	core_task_exit(&task->core);
	core_irq_work_run();
	emu_ground_truth_close(task);
	event_of(task, AUXTAP_TARGET_THREAD_EXIT, &ev);

	for (link = bucket(emu, task->core.tid); *link != task; link = &(*link)->hash_next)
		;
	*link = task->hash_next;
	if (task->cpu >= 0)
		emu->cpus[task->cpu] = NULL;
	emu->nr_tasks--;
	task->gone = true;
	/*
	 * poll() on the events of an exited task reports POLLHUP (E12 in docs/kernel-rules.md):
	 * wake sleeping pollers
	 */
	for (int i = 0; i < emu->events.nr; i++) {
		const struct emu_event *e = emu->events.items[i];
		uint64_t one = 1;

		if (e && e->task == task && write(e->wake_fd, &one, sizeof(one)) < 0 &&
		    errno != EAGAIN)
			emu_report_problem(emu, task->core.pid, "wakeup failed");
	}
	emu_send_event(emu, &ev);
	emu_task_put(task);
}

void emu_process_exit(struct emu *emu, pid_t pid, int wait_status)
{
	struct auxtap_target_event ev = {
		.type = AUXTAP_TARGET_PROCESS_EXIT,
		.pid = pid,
		.tid = pid,
		.status = wait_status,
		.time = emu_tick(emu),
	};

	emu_send_event(emu, &ev);
}

void emu_task_fault(struct emu_task *task, u64 ip, int signo)
{
	struct auxtap_target_event ev;

	event_of(task, AUXTAP_TARGET_FAULT, &ev);
	ev.ip = ip;
	ev.signo = signo;
	emu_send_event(task->emu, &ev);
}

void emu_task_dying(struct emu_task *task, const siginfo_t *info)
{
	struct emu *emu = task->emu;
	struct auxtap_target_event ev;
	struct emu_task *t = NULL;

	while ((t = emu_task_next(emu, task->core.pid, t))) {
		emu_task_learn_comm(t);
		emu_task_offline(t);
	}
	event_of(task, AUXTAP_TARGET_DYING, &ev);
	ev.signo = info->si_signo;
	if (task->over_memory)
		ev.limit_bytes = emu->memory.bytes;
	ev.frame_signo = task->frame_signo;
	ev.emulator_crashed = task->emulator_crashed;
	ev.emulator_limit = task->unsupported != NULL;
	if (task->unsupported)
		snprintf(ev.text, sizeof(ev.text), "%s", task->unsupported);
	emu_send_event(emu, &ev);
}

void emu_task_unsupported(struct emu_task *task, const char *what)
{
	task->unsupported = what;
}

void emu_task_emulator_crashed(struct emu_task *task)
{
	task->emulator_crashed = true;
}

void emu_task_no_frame(struct emu_task *task, int signo)
{
	task->frame_signo = signo;
}

void emu_report_notice(struct emu *emu, pid_t pid, enum auxtap_target_notice what, const char *why)
{
	struct auxtap_target_event ev = {
		.type = AUXTAP_TARGET_NOTICE,
		.pid = pid,
		.tid = pid,
		.time = emu->tsc,
		.notice = what,
	};

	snprintf(ev.text, sizeof(ev.text), "%s", why);
	emu_send_event(emu, &ev);
}

void emu_report_problem(struct emu *emu, pid_t pid, const char *why)
{
	emu_report_notice(emu, pid, AUXTAP_NOTICE_UNTRACED, why);
}
