// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Scheduling of events: the scheduler's entry points, enabling and disabling, and the irq_work of
 * each emulated CPU. All of it runs on some CPU: work for an event that is active on another CPU is
 * done with that CPU as the current one, like an inter-processor call. Rule numbers (D21) refer to
 * docs/kernel-rules.md.
 */
#include "core/perf_buffer.h"

static struct core_task *current_task[CORE_NR_CPUS];
static struct core_task cpu_context[CORE_NR_CPUS]; /* for events without a task */
static struct perf_event *irq_queue[CORE_NR_CPUS]; /* in order of queueing */

/* the task whose sideband records are being written; NULL: the running task */
static CORE_LOCAL struct core_task *record_task;

struct core_task *core_record_task(void)
{
	return record_task ? record_task : current_task[core_first_cpu + core_cpu()];
}

void core_set_record_task(struct core_task *task)
{
	record_task = task;
}

/* A CPU's own context is always scheduled in. */
struct core_task *core_cpu_context(int cpu)
{
	cpu_context[core_first_cpu + cpu].cpu_plus1 = cpu + 1;
	return &cpu_context[core_first_cpu + cpu];
}

struct core_task *core_running_task(int cpu)
{
	return current_task[core_first_cpu + cpu];
}

void event_update_time(struct perf_event *event)
{
	u64 now = core_clock();

	if (event->ctx && event->ctx->cpu_plus1) {
		if (event->state >= PERF_EVENT_STATE_INACTIVE)
			event->time_enabled += now - event->time_stamp;
		if (event->state == PERF_EVENT_STATE_ACTIVE)
			event->time_running += now - event->time_stamp;
	}
	event->time_stamp = now;
}

static void set_state(struct perf_event *event, enum perf_event_state state)
{
	event_update_time(event);
	event->state = state;
}

/* ---- irq_work ---- */

void core_irq_work_queue(struct perf_event *event)
{
	struct perf_event **at;

	if (event->irq_cpu >= 0)
		return;
	event->irq_cpu = core_cpu();
	event->irq_next = NULL;
	for (at = &irq_queue[core_first_cpu + core_cpu()]; *at; at = &(*at)->irq_next)
		;
	*at = event;
}

void core_irq_work_cancel(struct perf_event *event)
{
	struct perf_event **at;

	if (event->irq_cpu < 0)
		return;
	for (at = &irq_queue[core_first_cpu + event->irq_cpu]; *at && *at != event;
	     at = &(*at)->irq_next)
		;
	if (*at)
		*at = event->irq_next;
	event->irq_cpu = -1;
}

/* E12: wakes the pollers of every event of the ring. */
void perf_event_wakeup(struct perf_event *event)
{
	struct perf_buffer *rb;

	if (event->parent)
		event = event->parent;
	rb = event->rb;
	if (!rb || !core_machine.wakeup)
		return;
	for (struct perf_event *e = rb->event_list; e; e = e->rb_next)
		core_machine.wakeup(core_machine.ctx, e);
}

/* D21: whether and how pending_disable takes effect depends on the modelled kernel version. */
void perf_event_disable_inatomic(struct perf_event *event)
{
	if (event->kernel->disable_by_cpu_number) {
		event->pending_disable = core_cpu();
		/* sched-out reads it, or the irq_work of the wakeup, which always follows */
		return;
	}
	event->pending_disable = 1;
	event->pending_disable_irq = true;
	core_irq_work_queue(event);
}

static void event_disable_local(struct perf_event *event);

static void event_irq_work(struct perf_event *event)
{
	/*
	 * D21: since 6.11 pending_disable has an irq_work of its own, which the AUX code queues
	 * only since 6.16 (L1).
	 */
	bool may_disable = event->pending_disable_irq || (event->kernel->disable_by_cpu_number &&
							  !event->kernel->disable_at_sched_out);

	if (event->pending_wakeup) {
		event->pending_wakeup = false;
		perf_event_wakeup(event);
	}
	if (!may_disable)
		return;
	if (event->oncpu < 0) { /* sched-out came first, or is still to come */
		event->pending_disable_irq = false;
		return;
	}
	if (event->oncpu != core_cpu()) { /* D21: disabled in the context of the event's own CPU */
		int here = core_cpu();

		core_set_cpu(event->oncpu);
		core_irq_work_queue(event);
		core_set_cpu(here);
		return;
	}
	event->pending_disable_irq = false;
	if (event->pending_disable) {
		event->pending_disable = 0;
		event_disable_local(event);
	}
}

void core_irq_work_run(void)
{
	struct perf_event **queue = &irq_queue[core_first_cpu + core_cpu()], *event;

	while ((event = *queue)) {
		*queue = event->irq_next;
		event->irq_cpu = -1;
		event_irq_work(event);
	}
}

bool core_irq_work_pending(void)
{
	return irq_queue[core_first_cpu + core_cpu()] != NULL;
}

/*
 * An inter-processor call; the irq_work that it raises runs as soon as that CPU enables interrupts.
 */
static void call_on_cpu(int cpu, void (*fn)(struct perf_event *event), struct perf_event *event)
{
	int here = core_cpu();

	core_set_cpu(cpu);
	fn(event);
	core_irq_work_run();
	core_set_cpu(here);
}

/* ---- sched-in, sched-out ---- */

/* F1: written before the driver starts, unless the driver has set PERF_ATTACH_ITRACE. */
static void log_itrace_start(struct perf_event *event)
{
	const struct core_task *task = core_record_task();
	struct {
		struct perf_event_header header;
		u32 pid, tid;
	} rec = {.header = {.type = PERF_RECORD_ITRACE_START, .size = sizeof(rec)}};
	struct perf_output_handle handle = {0};
	struct perf_sample_id id = {0};

	if (event->parent)
		event = event->parent;
	if (!(event->pmu->capabilities & PERF_PMU_CAP_ITRACE) ||
	    event->attach_state & PERF_ATTACH_ITRACE)
		return;
	rec.pid = task ? (u32)task->pid : 0;
	rec.tid = task ? (u32)task->tid : 0;
	perf_event_header__init_id(&rec.header, &id, event);
	if (perf_output_begin(&handle, &id, event, rec.header.size))
		return;
	perf_output_put(&handle, rec);
	perf_event__output_id_sample(event, &handle, &id);
	perf_output_end(&handle);
}

static int event_sched_in(struct perf_event *event)
{
	int ret = 0;

	if (event->state <= PERF_EVENT_STATE_OFF || event->state == PERF_EVENT_STATE_ACTIVE)
		return 0;
	event->oncpu = core_cpu();
	set_state(event, PERF_EVENT_STATE_ACTIVE);
	if (event->pmu->pmu_disable)
		event->pmu->pmu_disable(event->pmu);
	log_itrace_start(event);
	if (event->pmu->add(event, PERF_EF_START)) {
		set_state(event, PERF_EVENT_STATE_INACTIVE);
		event->oncpu = -1;
		ret = -EAGAIN;
	}
	if (event->pmu->pmu_enable)
		event->pmu->pmu_enable(event->pmu);
	return ret;
}

static void event_sched_out(struct perf_event *event)
{
	enum perf_event_state state = PERF_EVENT_STATE_INACTIVE;

	if (event->state != PERF_EVENT_STATE_ACTIVE)
		return;
	if (event->pmu->pmu_disable)
		event->pmu->pmu_disable(event->pmu);
	event->pmu->del(event, 0);
	event->oncpu = -1;
	if (event->pending_disable) { /* D21: a truncation that del causes counts too */
		event->pending_disable = 0;
		state = PERF_EVENT_STATE_OFF;
	}
	set_state(event, state);
	if (event->pmu->pmu_enable)
		event->pmu->pmu_enable(event->pmu);
}

#define for_each_sibling(sibling, leader)                                                      \
	for ((sibling) = (leader)->ctx->events; (sibling); (sibling) = (sibling)->next_in_ctx) \
		if ((sibling)->group_leader == (leader) && (sibling) != (leader))

static void group_sched_out(struct perf_event *leader)
{
	struct perf_event *sibling;

	if (leader->state != PERF_EVENT_STATE_ACTIVE)
		return;
	event_sched_out(leader);
	for_each_sibling (sibling, leader)
		event_sched_out(sibling);
}

/* Schedules in all events of a group, or none. */
static void group_sched_in(struct perf_event *leader)
{
	struct perf_event *sibling;

	if (event_sched_in(leader))
		return;
	for_each_sibling (sibling, leader) {
		if (!event_sched_in(sibling))
			continue;
		group_sched_out(leader);
		return;
	}
}

static bool cpu_matches(const struct perf_event *event)
{
	return event->cpu == -1 || event->cpu == core_cpu();
}

/*
 * Q5: groups with a pinned leader are scheduled in first, and stay in when flexible ones are added.
 */
#define EVENT_PINNED   0x1
#define EVENT_FLEXIBLE 0x2

static int event_type_of(const struct perf_event *leader)
{
	return leader->attr.pinned ? EVENT_PINNED : EVENT_FLEXIBLE;
}

static void ctx_groups_sched_out(struct core_task *ctx, const struct pmu *pmu, int event_type)
{
	for (struct perf_event *e = ctx->events; e; e = e->next_in_ctx)
		if (e->group_leader == e && event_type_of(e) == event_type &&
		    (!pmu || e->pmu == pmu))
			group_sched_out(e);
}

static void ctx_groups_sched_in(struct core_task *ctx, const struct pmu *pmu, int event_type)
{
	for (struct perf_event *e = ctx->events; e; e = e->next_in_ctx) {
		if (e->group_leader != e || event_type_of(e) != event_type ||
		    (pmu && e->pmu != pmu) || !cpu_matches(e) ||
		    e->state != PERF_EVENT_STATE_INACTIVE)
			continue;
		group_sched_in(e);
		if (e->state == PERF_EVENT_STATE_INACTIVE && event_type == EVENT_PINNED) /* Q5 */
			set_state(e, PERF_EVENT_STATE_ERROR);
	}
}

static void context_sched_out(struct core_task *ctx, const struct pmu *pmu, int event_types)
{
	if (event_types & EVENT_PINNED)
		ctx_groups_sched_out(ctx, pmu, EVENT_PINNED);
	if (event_types & EVENT_FLEXIBLE)
		ctx_groups_sched_out(ctx, pmu, EVENT_FLEXIBLE);
}

/* cpu and task may be NULL. */
static void contexts_sched_in(struct core_task *cpu, int cpu_types, struct core_task *task,
			      int task_types, const struct pmu *pmu)
{
	for (int event_type = EVENT_PINNED; event_type <= EVENT_FLEXIBLE; event_type <<= 1) {
		if (cpu && cpu_types & event_type)
			ctx_groups_sched_in(cpu, pmu, event_type);
		if (task && task_types & event_type)
			ctx_groups_sched_in(task, pmu, event_type);
	}
}

static bool has_pinned(const struct core_task *task)
{
	for (const struct perf_event *e = task->events; e; e = e->next_in_ctx)
		if (e->group_leader == e && e->attr.pinned)
			return true;
	return false;
}

void core_task_sched_in(struct core_task *task)
{
	struct core_task *cpu;
	int cpu_types = 0;

	if (WARN_ON(task->cpu_plus1 || current_task[core_first_cpu + core_cpu()]))
		return;
	for (struct perf_event *e = task->events; e; e = e->next_in_ctx)
		event_update_time(e);
	current_task[core_first_cpu + core_cpu()] = task;
	task->cpu_plus1 = core_cpu() + 1;
	cpu = core_cpu_context(core_cpu());
	/* Q5: a pinned group, in whatever state, is scheduled in before the CPU's flexible ones */
	if (has_pinned(task)) {
		cpu_types = EVENT_FLEXIBLE;
		context_sched_out(cpu, NULL, EVENT_FLEXIBLE);
	}
	contexts_sched_in(cpu, cpu_types, task, EVENT_PINNED | EVENT_FLEXIBLE, NULL);
}

void core_task_sched_out(struct core_task *task)
{
	if (WARN_ON(task->cpu_plus1 != core_cpu() + 1))
		return;
	context_sched_out(task, NULL, EVENT_PINNED | EVENT_FLEXIBLE);
	for (struct perf_event *e = task->events; e; e = e->next_in_ctx) {
		event_sched_out(e); /* siblings whose leader was scheduled out alone */
		event_update_time(e);
	}
	task->cpu_plus1 = 0;
	current_task[core_first_cpu + core_cpu()] = NULL;
}

/* ---- Q3: contexts that are swapped ---- */

static CORE_LOCAL u64 next_ctx_id = 1;

/* An event is opened on the task: its context is no longer a clone, nor others clones of it. */
void context_unclone(struct core_task *task)
{
	if (!task->ctx_id)
		return;
	task->clone_of = 0;
	task->generation++;
}

void core_task_cloned(const struct core_task *parent, struct core_task *child)
{
	if (!child->ctx_id)
		return;
	child->clone_of = parent->clone_of ? parent->clone_of : parent->ctx_id;
	child->clone_generation = parent->clone_of ? parent->clone_generation : parent->generation;
}

static bool context_equiv(const struct core_task *a, const struct core_task *b)
{
	if (!a->events || !a->ctx_id || !b->ctx_id)
		return false;
	if (a->clone_of == b->ctx_id)
		return a->clone_generation == b->generation;
	if (b->clone_of == a->ctx_id)
		return b->clone_generation == a->generation;
	return a->clone_of && a->clone_of == b->clone_of &&
	       a->clone_generation == b->clone_generation;
}

static void exchange(u64 *a, u64 *b)
{
	u64 was = *a;

	*a = *b;
	*b = was;
}

bool core_task_switch(struct core_task *from, struct core_task *to)
{
	struct perf_event *events = from->events;

	if (!context_equiv(from, to)) {
		core_task_sched_out(from);
		core_task_sched_in(to);
		return false;
	}
	for (struct perf_event *e = from->events; e; e = e->next_in_ctx)
		event_update_time(e);
	for (struct perf_event *e = to->events; e; e = e->next_in_ctx)
		event_update_time(e);
	from->events = to->events;
	to->events = events;
	for (struct perf_event *e = from->events; e; e = e->next_in_ctx)
		e->ctx = from;
	for (struct perf_event *e = to->events; e; e = e->next_in_ctx)
		e->ctx = to;
	exchange(&from->ctx_id, &to->ctx_id);
	exchange(&from->generation, &to->generation);
	exchange(&from->clone_of, &to->clone_of);
	exchange(&from->clone_generation, &to->clone_generation);
	to->cpu_plus1 = from->cpu_plus1;
	from->cpu_plus1 = 0;
	current_task[core_first_cpu + core_cpu()] = to;
	return true;
}

/* ---- enable, disable ---- */

static void event_disable_local(struct perf_event *event)
{
	if (event->state < PERF_EVENT_STATE_INACTIVE)
		return;
	if (event->group_leader == event)
		group_sched_out(event);
	event_sched_out(event);
	set_state(event, PERF_EVENT_STATE_OFF);
}

/*
 * Q1: when an event is added, the kernel reschedules: the current task's events, and for a CPU
 * event that CPU's, too, are scheduled out and in again, which ends and begins transactions.
 */
static void context_resched(const struct perf_event *cause)
{
	const struct pmu *pmu = cause->kernel->resched_one_pmu ? cause->pmu : NULL;
	struct core_task *task = current_task[core_first_cpu + core_cpu()];
	struct core_task *cpu = core_cpu_context(core_cpu());
	/* Q5: a pinned event reschedules all, that of a task also the CPU's flexible events */
	int event_types = event_type_of(cause->group_leader) | EVENT_FLEXIBLE,
	    cpu_types = event_types;

	if (cause->target)
		cpu_types = event_types & EVENT_PINNED ? EVENT_FLEXIBLE : 0;
	if (task)
		context_sched_out(task, pmu, event_types);
	context_sched_out(cpu, pmu, cpu_types);
	contexts_sched_in(cpu, cpu_types, task, event_types, pmu);
}

static void event_enable_local(struct perf_event *event)
{
	const struct perf_event *leader = event->group_leader;

	set_state(event, PERF_EVENT_STATE_INACTIVE);
	if (!cpu_matches(event))
		return;
	if (leader != event && leader->state != PERF_EVENT_STATE_ACTIVE)
		return;
	context_resched(event);
}

static void event_stop_local(struct perf_event *event)
{
	event->pmu->stop(event, PERF_EF_UPDATE);
}

static int context_cpu(const struct perf_event *event)
{
	return event->ctx && event->ctx->cpu_plus1 ? event->ctx->cpu_plus1 - 1 : -1;
}

void perf_event_enable(struct perf_event *event)
{
	int cpu = context_cpu(event);

	/* D21: this has no effect on an event that is ACTIVE while its hardware is stopped */
	if (event->state >= PERF_EVENT_STATE_INACTIVE || event->state < PERF_EVENT_STATE_ERROR)
		return;
	if (cpu >= 0)
		call_on_cpu(cpu, event_enable_local, event);
	else
		set_state(event, PERF_EVENT_STATE_INACTIVE);
}

void perf_event_disable(struct perf_event *event)
{
	int cpu = context_cpu(event);

	if (event->state <= PERF_EVENT_STATE_OFF)
		return;
	if (cpu >= 0)
		call_on_cpu(cpu, event_disable_local, event);
	else
		set_state(event, PERF_EVENT_STATE_OFF);
}

/* Ends an open AUX transaction; the event stays ACTIVE. */
void perf_event_stop_output(struct perf_event *event)
{
	if (event->state == PERF_EVENT_STATE_ACTIVE)
		call_on_cpu(event->oncpu, event_stop_local, event);
}

static void stop_ring_of(const struct core_task *ctx, const struct perf_buffer *rb)
{
	for (struct perf_event *e = ctx->events; e; e = e->next_in_ctx) {
		const struct perf_event *owner = e->parent ? e->parent : e;

		if (owner->rb == rb && e->state == PERF_EVENT_STATE_ACTIVE &&
		    e->oncpu == core_cpu() && has_aux(e))
			event_stop_local(e);
	}
}

static void event_stop_ring_local(struct perf_event *event)
{
	stop_ring_of(core_cpu_context(core_cpu()), event->rb);
	if (core_running_task(core_cpu()))
		stop_ring_of(core_running_task(core_cpu()), event->rb);
}

void perf_event_stop_ring(struct perf_event *event, int cpu)
{
	call_on_cpu(cpu, event_stop_ring_local, event);
}

static void event_restart_local(struct perf_event *event)
{
	event->pmu->stop(event, PERF_EF_UPDATE);
	event->pmu->start(event, 0);
}

void perf_event_restart(struct perf_event *event)
{
	if (event->state == PERF_EVENT_STATE_ACTIVE)
		call_on_cpu(event->oncpu, event_restart_local, event);
}

static void event_install_local(struct perf_event *event)
{
	context_resched(event);
}

void event_install(struct perf_event *event)
{
	enum perf_event_state state = event->group_leader->state;
	struct perf_event **at = &event->ctx->events;

	while (*at)
		at = &(*at)->next_in_ctx;
	*at = event;
	if (!event->ctx->ctx_id)
		event->ctx->ctx_id = next_ctx_id++;
	event->ctx->generation++;
	/* Q5: if the leader is in ERROR, not OFF, the event is added as if it were enabled */
	if (state > PERF_EVENT_STATE_OFF)
		state = event->state;
	/*
	 * Q1: an event that is OFF causes no rescheduling until it is enabled, unless it is the
	 * context's first.
	 */
	if (state == PERF_EVENT_STATE_OFF && event->ctx->events != event)
		return;
	if (context_cpu(event) >= 0)
		call_on_cpu(context_cpu(event), event_install_local, event);
}

static void event_sched_out_local(struct perf_event *event)
{
	event_sched_out(event);
}

void event_remove(struct perf_event *event, enum perf_event_state state)
{
	struct core_task *task = event->ctx;
	struct perf_event **at;

	if (!task)
		return;
	if (event->state == PERF_EVENT_STATE_ACTIVE)
		call_on_cpu(event->oncpu, event_sched_out_local, event);
	set_state(event, state);
	task->generation++;
	for (at = &task->events; *at && *at != event; at = &(*at)->next_in_ctx)
		;
	if (*at)
		*at = event->next_in_ctx;
	for (struct perf_event *e = task->events; e; e = e->next_in_ctx)
		if (e->group_leader == event) /* each sibling becomes its own leader */
			e->group_leader = e;
	event->group_leader = event;
	event->next_in_ctx = NULL;
	event->ctx = NULL;
}

/* Schedules out all events of a task that still runs. */
void event_sched_out_all(struct core_task *task)
{
	for (struct perf_event *e = task->events; e; e = e->next_in_ctx)
		if (e->state == PERF_EVENT_STATE_ACTIVE)
			call_on_cpu(e->oncpu, event_sched_out_local, e);
}

void core_task_exec(struct core_task *task)
{
	for (struct perf_event *e = task->events; e; e = e->next_in_ctx) {
		if (!e->attr.enable_on_exec)
			continue;
		e->attr.enable_on_exec = 0; /* once */
		perf_event_enable(e);
	}
}

void core_task_exit(struct core_task *task)
{
	struct perf_event *event;

	while ((event = task->events)) {
		struct perf_event *parent = event->parent;

		event_remove(event, PERF_EVENT_STATE_EXIT);
		perf_event_wakeup(event); /* POLLHUP */
		if (parent)
			event_free(event);
	}
	task->ctx_id = task->generation = task->clone_of = 0;
	if (task->cpu_plus1) {
		current_task[core_first_cpu + task->cpu_plus1 - 1] = NULL;
		task->cpu_plus1 = 0;
	}
}

/* ---- memory ranges for the exhaustive search (state.c) ---- */

size_t core_sched_ranges(int cpu, struct core_range *ranges, size_t max)
{
	/* clang-format off */
	const struct core_range all[] = {
		{ &current_task[core_first_cpu + cpu], sizeof(current_task[core_first_cpu + cpu]) },
		{ &cpu_context[core_first_cpu + cpu], sizeof(cpu_context[core_first_cpu + cpu]) },
		{ &irq_queue[core_first_cpu + cpu], sizeof(irq_queue[core_first_cpu + cpu]) },
		{ &record_task, sizeof(record_task) },
	};
	/* clang-format on */
	size_t n = sizeof(all) / sizeof(all[0]);

	for (size_t i = 0; i < n && i < max; i++)
		ranges[i] = all[i];
	return n;
}
