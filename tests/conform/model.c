// SPDX-License-Identifier: BSD-2-Clause
/*
 * See conform.h. The model's side: driver/core, with the module's PMUs (driver/kmod/conform/pmu.c).
 */
#include "conform.h"
#include "kmod/conform/pmu.h"
#include <linux/slab.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static struct core_task tasks[2], *task = &tasks[0]; /* the one that runs */
static struct perf_event *events[NR_EVENTS];
static struct core_mapping *mappings[NR_MAPS];
static uint32_t types[NR_PMUS];
static uint64_t now = MODEL_TIME;
static struct conform_orders given;
static uint32_t nr_taken;
static struct conform_event *alive;
static struct perf_event *held;
static struct core_machine machine;
static struct core_budget budget;
static uint64_t charged[NR_USERS], pinned;
static long mlock_kb;
static int user, paranoid;
static bool ipc_lock;
static struct {
	long mlock_kb;
	uint64_t memlock;
	int paranoid;
} usual;

unsigned long conform_lock(void)
{
	return 0;
}

void conform_unlock(unsigned long flags)
{
	(void)flags;
}

void conform_event_added(struct conform_event *ce)
{
	ce->next = alive;
	alive = ce;
}

void conform_event_removed(struct conform_event *ce)
{
	struct conform_event **at = &alive;

	while (*at != ce)
		at = &(*at)->next;
	*at = ce->next;
}

static struct conform_event *find(uint64_t id)
{
	for (struct conform_event *ce = alive; ce; ce = ce->next)
		if (ce->event->id == id)
			return ce;
	return NULL;
}

static uint64_t model_clock(void *ctx)
{
	(void)ctx;
	return ++now;
}

/* C5: the allocator did not always find the largest order; the order it found is an input. */
static int model_order(void *ctx, int order)
{
	uint32_t at = nr_taken++;

	(void)ctx;
	if (at < given.nr && at < CONFORM_NR_ORDERS && given.orders[at] < order)
		return given.orders[at];
	return order < 10 ? order : 10;
}

void model_orders(const struct conform_orders *orders)
{
	given = *orders;
	nr_taken = 0;
}

/* As on the kernel's side. */
static void model_hold(bool on)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_DUMMY,
				       .disabled = 1};

	if (on == (held != NULL))
		return;
	if (!on) {
		core_event_close(held);
		held = NULL;
	} else if (core_event_open(&held, &attr, &tasks[0], -1, NULL, NULL)) {
		abort();
	}
}

static void set_budget(void)
{
	uint64_t cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);

	budget.user_pages = &charged[user];
	budget.pinned_pages = &pinned;
	budget.free_pages = (uint64_t)mlock_kb / 4 * cpus;
	budget.exempt = !user || ipc_lock || paranoid == -1;
}

static void model_limits(long kb, uint64_t memlock, int level)
{
	mlock_kb = kb;
	budget.limit_pages = memlock / PAGE;
	paranoid = level;
	set_budget();
}

static void model_user(int n, bool with_ipc_lock)
{
	user = n;
	ipc_lock = with_ipc_lock;
	set_budget();
}

static uint64_t model_pinned(void)
{
	return pinned;
}

void model_usual(long kb, uint64_t memlock, int level)
{
	usual.mlock_kb = kb;
	usual.memlock = memlock;
	usual.paranoid = level;
}

static char warning[128];

static void model_warn(void *ctx, const char *file, int line, const char *what)
{
	(void)ctx;
	snprintf(warning, sizeof(warning), "%s:%d: %s", file, line, what);
}

const char *model_warning(void)
{
	return warning;
}

int model_init(const struct core_kernel *kernel)
{
	static const char *const names[] = CONFORM_NAMES;

	machine = (struct core_machine){.clock = model_clock,
					.alloc_order = model_order,
					.budget = &budget,
					.warn = model_warn};
	core_machine_set(&machine);
	core_kernel_use(kernel);
	if (conform_register())
		return -1;
	for (int i = 0; i < CONFORM_NR_FLAVOURS; i++)
		types[i] = (uint32_t)core_pmu_type(names[i]);
	types[PMU_DUMMY] = types[PMU_FAULTS] = PERF_TYPE_SOFTWARE;
	tasks[0].pid = tasks[1].pid = getpid();
	tasks[0].tid = gettid();
	return 0;
}

static void model_begin(int cpu, bool with_budget)
{
	(void)with_budget; /* the model does not distinguish users */
	core_set_cpu(cpu);
	core_task_sched_in(task);
	model_hold(true);
	memset(charged, 0, sizeof(charged));
	user = 0;
	model_limits(usual.mlock_kb, usual.memlock, usual.paranoid);
}

static void model_unmap(int map)
{
	core_event_munmap(mappings[map]);
	mappings[map] = NULL;
}

static void model_close(int slot)
{
	core_event_close(events[slot]);
	events[slot] = NULL;
}

static void model_end(void)
{
	for (int i = 0; i < NR_MAPS; i++)
		if (mappings[i])
			model_unmap(i);
	for (int i = 0; i < NR_EVENTS; i++)
		if (events[i])
			model_close(i);
	core_task_sched_out(task);
}

static void model_cpu(int cpu)
{
	if (cpu == core_cpu())
		return;
	core_task_sched_out(task);
	core_irq_work_run();
	core_set_cpu(cpu);
	core_task_sched_in(task);
}

void model_turn(int who)
{
	struct core_task *from = task;

	task = &tasks[who];
	stats.swaps += core_task_switch(from, task); /* Q3 */
	core_irq_work_run();
}

/* Another task ran between. */
void model_switch(void)
{
	core_task_sched_out(task);
	core_irq_work_run();
	core_task_sched_in(task);
	core_irq_work_run();
}

static void task_record(uint32_t type, int parent)
{
	struct {
		uint32_t pid, ppid, tid, ptid;
		uint64_t time;
	} body = {(uint32_t)tasks[1].pid, (uint32_t)parent, (uint32_t)tasks[1].tid,
		  (uint32_t)parent, MODEL_ANY};

	core_task_record(task, type, 0, &body, sizeof(body));
}

static bool pmus_after;

void model_pmus_after(bool after)
{
	pmus_after = after;
}

/*
 * Since 6.2 a tree of events is ordered by CPU, then by the address of the PMU: the module's come
 * after the kernel's on x86-64, on arm64 they may come before.
 */
static int pmu_rank(const struct perf_event *event)
{
	if (!event->kernel->resched_one_pmu)
		return 0;
	for (int i = 0; i < CONFORM_NR_FLAVOURS; i++)
		if (types[i] == event->attr.type)
			return pmus_after + i;
	return pmus_after ? 0 : CONFORM_NR_FLAVOURS;
}

static struct perf_event *inherit(struct perf_event *parent, struct perf_event *group)
{
	struct perf_event *child;

	if (core_event_open(&child, NULL, &tasks[1], -1, group, parent))
		abort();
	return child;
}

/* A leader, then its siblings: all are inherited alike. */
static void inherit_group(struct perf_event *leader)
{
	struct perf_event *child = inherit(leader, NULL);

	for (struct perf_event *e = tasks[0].events; e; e = e->next_in_ctx)
		if (e->group_leader == leader && e != leader)
			inherit(e, child);
}

/*
 * As clone() does: events with the inherit flag are inherited, in the order of their tree (Q3);
 * then FORK is recorded.
 */
void model_fork(int tid)
{
	bool all = true;

	tasks[1].tid = tid;
	for (int rank = 0; rank < 6 * NR_PMUS; rank++) /* Q5: pinned ones first */
		for (struct perf_event *e = tasks[0].events; e; e = e->next_in_ctx)
			if (e->attr.inherit && e->group_leader == e &&
			    (e->cpu + 1 + 3 * !e->attr.pinned) * NR_PMUS + pmu_rank(e) == rank)
				inherit_group(e);
	for (struct perf_event *e = tasks[0].events; e; e = e->next_in_ctx)
		all &= e->attr.inherit;
	if (all) /* Q3 */
		core_task_cloned(&tasks[0], &tasks[1]);
	task_record(PERF_RECORD_FORK, getpid());
	model_turn(1); /* it starts, and waits */
	model_turn(0);
}

void model_exit(void)
{
	model_turn(1);
	task_record(PERF_RECORD_EXIT, getppid());
	core_task_exit(&tasks[1]);
	core_irq_work_run();
	task = &tasks[0];
	core_task_sched_in(task);
	core_irq_work_run();
}

uint64_t model_child_id(uint64_t parent)
{
	for (struct perf_event *e = tasks[1].events; e; e = e->next_in_ctx)
		if (e->parent && e->parent->id == parent)
			return e->id;
	return 0;
}

static int model_open(int slot, const struct perf_event_attr *attr, int pmu, bool on_task, int cpu,
		      int group)
{
	struct perf_event_attr a = *attr;

	a.type = types[pmu];
	if (pmu == PMU_FAULTS)
		a.config = PERF_COUNT_SW_DUMMY; /* whose samples are written explicitly */
	return core_event_open(&events[slot], &a, on_task ? task : NULL, cpu,
			       group >= 0 ? events[group] : NULL, NULL);
}

static uint64_t model_id(int slot)
{
	return core_event_id(events[slot]);
}

static int model_map(int map, int slot, uint64_t length, int prot, int flags, uint64_t off,
		     void **addr)
{
	int ret = core_event_mmap(events[slot], length, prot, flags, off, &mappings[map]);

	if (!ret)
		*addr = mappings[map]->addr;
	return ret;
}

static long model_ioctl(int slot, unsigned long request, unsigned long argument, int target)
{
	return core_event_ioctl(events[slot], request, argument,
				target >= 0 ? events[target] : NULL);
}

static int model_poll(int slot)
{
	return (int)core_event_poll(events[slot]);
}

static long model_read(int slot, void *buf, size_t size)
{
	return core_event_read(events[slot], buf, size);
}

/* The kernel's record for a task that changed its name. */
static void model_comm(const char *name)
{
	struct {
		uint32_t pid, tid;
		char comm[16];
	} body = {.pid = (uint32_t)task->pid, .tid = (uint32_t)task->tid};

	strncpy(body.comm, name, sizeof(body.comm) - 1);
	core_task_record(task, PERF_RECORD_COMM, 0, &body, 8 + ((strlen(name) + 8) & ~7ul));
}

static void model_map_file(int which)
{
	struct {
		uint32_t pid, tid;
		uint64_t addr, len, pgoff;
		uint32_t maj, min;
		uint64_t ino, ino_generation;
		uint32_t prot, flags;
		char name[64];
	} body = {
		.pid = (uint32_t)task->pid,
		.tid = (uint32_t)task->tid,
		.addr = (uintptr_t)conform_file_addr,
		.len = PAGE,
		.ino_generation = MODEL_ANY,
		.prot = PROT_READ | PROT_EXEC,
		.flags = MAP_PRIVATE,
	};
	const char *path = conform_file(which);
	struct stat st;

	if (stat(path, &st))
		return;
	body.maj = major(st.st_dev);
	body.min = minor(st.st_dev);
	body.ino = st.st_ino;
	strncpy(body.name, path, sizeof(body.name) - 1);
	core_task_record(task, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, &body,
			 64 + ((strlen(path) + 8) & ~7ul));
}

static long model_sample(int slot, int nr, const struct perf_event_attr *attr)
{
	struct perf_event *event = events[slot];
	uint64_t type = attr->sample_type, body[6];
	bool runs;

	core_event_ioctl(event, PERF_EVENT_IOC_ENABLE, 0, NULL);
	runs = core_event_active(event) && event->oncpu == core_cpu();
	for (int i = 0; runs && i < nr; i++) {
		size_t n = 0;

		if (type & PERF_SAMPLE_IDENTIFIER)
			body[n++] = core_event_id(event);
		if (type & PERF_SAMPLE_TID)
			body[n++] = (uint64_t)task->tid << 32 | (uint64_t)task->pid;
		if (type & PERF_SAMPLE_TIME)
			body[n++] = ++now;
		if (type & PERF_SAMPLE_ID)
			body[n++] = core_event_id(event);
		if (type & PERF_SAMPLE_STREAM_ID)
			body[n++] = event->id;
		if (type & PERF_SAMPLE_CPU)
			body[n++] = (uint64_t)core_cpu();
		core_event_record(event, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, body, n * 8);
	}
	core_event_ioctl(event, PERF_EVENT_IOC_DISABLE, 0, NULL);
	return nr;
}

static void model_call(struct conform_call *call)
{
	struct conform_event *ce = find(call->views[call->target].id);

	call->ret = ce ? conform_run_op(ce, call->op, call->arg) : -19 /* ENODEV */;
	core_irq_work_run();
	for (int i = 0; i < CONFORM_NR_VIEWS; i++) {
		struct conform_view *view = &call->views[i];

		ce = view->id ? find(view->id) : NULL;
		*view = (struct conform_view){.id = view->id};
		if (ce)
			conform_get_view(ce, view);
	}
}

const struct side model_side = {
	.name = "model",
	.begin = model_begin,
	.end = model_end,
	.cpu = model_cpu,
	.open = model_open,
	.id = model_id,
	.close = model_close,
	.map = model_map,
	.unmap = model_unmap,
	.ioctl = model_ioctl,
	.poll = model_poll,
	.read = model_read,
	.limits = model_limits,
	.user = model_user,
	.hold = model_hold,
	.pinned = model_pinned,
	.comm = model_comm,
	.map_file = model_map_file,
	.sample = model_sample,
	.call = model_call,
};
