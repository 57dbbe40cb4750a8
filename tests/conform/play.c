// SPDX-License-Identifier: BSD-2-Clause
/* See conform.h. Plays a script on both sides; compare.c compares them after each operation. */
#include "play.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOTHING (-12345) /* the operation found its slot empty: nothing done on either side */

/* a switch happened within a system call; the model switched before its own call */
static bool switched_early;
static uint64_t look_switches; /* of the running thread, as far as the model has followed them */

/* The script that is played; the current thread: 0 the first, 1 the other. */
static const struct script *playing;
static int next_op, actor;
static enum verdict verdict;
static uint64_t switches_at_pass;	 /* of our CPU */
static int last_pid, nr_tasks, nr_forks; /* at the start of the script; its own since */
static int pipes[2][2];			 /* the thread that reads from it may run */
static pthread_t thread;
static int thread_tid;
static bool thread_alive, thread_quits;
static void arrive(int me);
static void run(void);
static const struct side *const sides[2] = {&kernel_side, &model_side};

struct stats stats;
struct played now;

static void driver_call(enum conform_op op, int target, uint64_t argument)
{
	for (int side = 0; side < 2; side++) {
		struct conform_call *call = &now.calls[side];

		call->op = op;
		call->target = (uint32_t)target;
		call->arg = argument;
		for (int i = 0; i < CONFORM_NR_VIEWS; i++)
			call->views[i].id = now.slots[i].alive ? now.slots[i].id[side] : 0;
		sides[side]->call(call);
	}
}

static void release_event(int slot)
{
	if (!now.slots[slot].open && !now.slots[slot].nr_maps)
		now.slots[slot].alive = false;
}

static void op_open(const struct op *op, long ret[2])
{
	int slot = (int)op->arg[A_EVENT], group = (int)op->arg[A_GROUP] - 1;
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.config = (uint64_t)op->arg[A_CONFIG],
		.read_format = (uint64_t)op->arg[A_READ_FORMAT],
		.sample_type = (uint64_t)op->arg[A_SAMPLE_TYPE],
		.disabled = !!op->arg[A_DISABLED],
		.inherit = !!op->arg[A_INHERIT],
		.pinned = !!op->arg[A_PINNED],
		.comm = !!op->arg[A_COMM],
		.mmap = !!op->arg[A_MMAP],
		.mmap2 = !!op->arg[A_MMAP2],
		.write_backward = !!op->arg[A_BACKWARD],
		.sample_id_all = !!op->arg[A_ID_ALL],
		.watermark = !!op->arg[A_WATERMARK],
		.wakeup_events = (uint32_t)op->arg[A_WAKEUP],
		.aux_watermark = (uint32_t)op->arg[A_AUX_WATERMARK],
	};
	struct slot *s = &now.slots[slot];

	if (s->alive || actor || (group >= 0 && !now.slots[group].open))
		return;
	if (op->arg[A_PMU] == PMU_DUMMY)
		attr.config = PERF_COUNT_SW_DUMMY;
	if (op->arg[A_PMU] == PMU_FAULTS) { /* on only while it is sampled */
		attr.config = PERF_COUNT_SW_PAGE_FAULTS;
		attr.sample_period = attr.disabled = 1;
		attr.inherit = 0;
	}
	attr.__reserved_3 = (uint32_t)op->arg[A_AUX_ACTION]; /* L4 */
	if (op->arg[A_CLOCK]) {
		attr.use_clockid = 1;
		attr.clockid = 1; /* CLOCK_MONOTONIC */
	}
	for (int side = 0; side < 2; side++) {
		ret[side] = sides[side]->open(slot, &attr, (int)op->arg[A_PMU],
					      op->arg[A_TASK] != 0, (int)op->arg[A_CPU], group);
	}
	if (ret[0] || ret[1]) {
		/* only one failed: the script ends here with the difference */
		for (int side = 0; side < 2; side++)
			if (!ret[side])
				sides[side]->close(slot);
		return;
	}
	*s = (struct slot){.open = true,
			   .alive = true,
			   .task = op->arg[A_TASK] != 0,
			   .inherit = attr.inherit,
			   .attr = attr,
			   .pmu = (int)op->arg[A_PMU],
			   .cpu = (int)op->arg[A_CPU]};
	for (int side = 0; side < 2; side++)
		s->id[side] = now.ids[now.nr_ids % 256][side] = sides[side]->id(slot);
	if (now.nr_ids < 255)
		now.nr_ids++;
}

static void feed_orders(int slot)
{
	struct conform_orders orders = {0};
	struct conform_call look = {.op = CONFORM_LOOK};

	if (now.slots[slot].pmu < PMU_DUMMY) {
		look.views[0].id = now.slots[slot].id[0];
		kernel_side.call(&look);
		if (look.views[0].setups != now.calls[0].views[slot].setups) {
			kernel_orders(now.slots[slot].id[0], &orders);
			stats.chunks += orders.nr;
		}
	}
	model_orders(&orders);
}

static bool has_task_events(void)
{
	for (int i = 0; i < NR_EVENTS; i++)
		if (now.slots[i].alive && now.slots[i].task)
			return true;
	return false;
}

/*
 * The kernel waits for RCU between taking an event from one ring and giving it another, so our
 * events were scheduled out and in before the model executes its part.
 */
static void switch_before_model(void)
{
	struct conform_call look = {.op = CONFORM_LOOK};

	kernel_side.call(&look);
	switched_early |= look_switches < look.switches && has_task_events();
	for (; look_switches < look.switches; look_switches++) {
		stats.switches++;
		model_switch();
	}
}

static void op_map(const struct op *op, long ret[2])
{
	struct map *m = &now.maps[op->arg[0]];
	int slot = (int)op->arg[1];
	uint64_t length = (uint64_t)op->arg[2], off = (uint64_t)op->arg[3];
	int prot = PROT_READ | (op->arg[4] ? PROT_WRITE : 0);
	int flags = op->arg[5] ? MAP_PRIVATE : MAP_SHARED;
	void *addr[2];

	if (m->used || !now.slots[slot].open)
		return;
	for (int side = 0; side < 2; side++) {
		ret[side] = sides[side]->map((int)op->arg[0], slot, length, prot, flags, off,
					     &addr[side]);
		stats.refused += !side && ret[0] == -EPERM;
		if (!side)
			switch_before_model();
		if (!side && off)
			feed_orders(slot);
	}
	if (ret[0] || ret[1]) {
		for (int side = 0; side < 2; side++)
			if (!ret[side])
				sides[side]->unmap((int)op->arg[0]);
		return;
	}
	*m = (struct map){.used = true,
			  .aux = off != 0,
			  .writable = op->arg[4] != 0,
			  .slot = slot,
			  .length = length,
			  .addr = {addr[0], addr[1]}};
	now.slots[slot].nr_maps++;
	if (!m->aux)
		m->prev_head = page_of(m, 0)->data_head;
}

/*
 * B19: an event that loses its ring is stopped, its inherited ones are not; the kernel warns when
 * their area is freed.
 */
static void end_transaction_of_child(int slot)
{
	for (int bank = INHERITED; bank <= TAKEN_OVER; bank += NR_EVENTS)
		if (now.calls[0].views[slot + bank].open)
			driver_call(CONFORM_END, slot + bank, 0);
}

static bool op_unmap(const struct op *op, long ret[2])
{
	struct map *m = &now.maps[op->arg[0]];

	if (!m->used)
		return false;
	if (whole_ring_differs((int)op->arg[0]))
		return true;
	if (now.slots[m->slot].nr_maps == 1)
		end_transaction_of_child(m->slot);
	m->used = false;
	for (int side = 0; side < 2; side++) {
		sides[side]->unmap((int)op->arg[0]);
		ret[side] = 0;
	}
	now.slots[m->slot].nr_maps--;
	release_event(m->slot);
	return false;
}

static void op_tail(const struct op *op, long ret[2])
{
	struct map *m = &now.maps[op->arg[0]];
	bool aux = op->code == OP_ATAIL;

	if (!m->used || m->aux || !m->writable)
		return;
	for (int side = 0; side < 2; side++) {
		struct perf_event_mmap_page *page = page_of(m, side);
		uint64_t head = aux ? page->aux_head : page->data_head;
		uint64_t tail = aux ? page->aux_tail : page->data_tail;
		uint64_t value = (uint64_t)op->arg[2];

		switch (op->arg[1]) {
		case TAIL_ALL:
			tail = head;
			break;
		case TAIL_PART:
			tail += head == tail ? 0 : value % (head - tail);
			break;
		case TAIL_VALUE:
			tail = value;
			break;
		default:
			tail = head + value;
		}
		__atomic_store_n(aux ? &page->aux_tail : &page->data_tail, tail, __ATOMIC_RELEASE);
		ret[side] = 0;
	}
}

static void op_announce(const struct op *op, long ret[2])
{
	struct map *m = &now.maps[op->arg[0]];

	if (!m->used || m->aux || !m->writable)
		return;
	for (int side = 0; side < 2; side++) {
		page_of(m, side)->aux_offset = (uint64_t)op->arg[1];
		page_of(m, side)->aux_size = (uint64_t)op->arg[2];
		ret[side] = 0;
	}
}

static void op_ioctl(int slot, unsigned long request, unsigned long argument, int target,
		     long ret[2])
{
	if (!now.slots[slot].open || (target >= 0 && !now.slots[target].open))
		return;
	for (int side = 0; side < 2; side++) {
		ret[side] = sides[side]->ioctl(slot, request, argument, target);
		if (!side && request == PERF_EVENT_IOC_SET_OUTPUT)
			switch_before_model();
	}
}

static bool op_read(int slot, long ret[2])
{
	uint64_t words[2][32] = {{0}};

	if (!now.slots[slot].open)
		return false;
	for (int side = 0; side < 2; side++) {
		ret[side] = sides[side]->read(slot, words[side], sizeof(words[side]));
		if (!side)
			switch_before_model();
	}
	stats.errors += ret[0] == 0; /* Q5 */
	/* no PMU of the model counts */
	for (int i = now.slots[slot].pmu == PMU_FAULTS; ret[0] == ret[1] && i < ret[0] / 8; i++)
		if (words_differ(words[0][i], words[1][i]))
			return differ("read of event %d, word %d: kernel %#llx, model %#llx", slot,
				      i, (unsigned long long)words[0][i],
				      (unsigned long long)words[1][i]);
	return false;
}

static bool runs_here(int slot)
{
	const struct conform_view *view = &now.calls[0].views[slot];

	return now.slots[slot].alive && view->found && view->state == PERF_EVENT_STATE_ACTIVE &&
	       view->oncpu == now.cpu;
}

/* The other thread has its own, unless contexts have been swapped (Q3). */
static int slot_of_actor(int slot)
{
	for (int bank = 0; bank < CONFORM_NR_VIEWS; bank += NR_EVENTS)
		if (runs_here(slot + bank))
			return slot + bank;
	return actor && now.slots[slot + INHERITED].alive ? slot + INHERITED : slot;
}

/* A driver's call. The kernel's handle->size equals the model's: it was compared. */
static void op_driver(const struct op *op, long ret[2])
{
	/* clang-format off */
	static const enum conform_op calls_of[NR_OPCODES] = {
		[OP_BEGIN] = CONFORM_BEGIN,   [OP_FLAG] = CONFORM_FLAG, [OP_SKIP] = CONFORM_SKIP,
		[OP_END] = CONFORM_END,	      [OP_HEAD] = CONFORM_HEAD,
		[OP_ATSTOP] = CONFORM_AT_STOP, [OP_GET] = CONFORM_GET,
	};
	/* clang-format on */
	int slot = (int)op->arg[0];
	uint64_t argument = (uint64_t)op->arg[1], full;

	slot = slot_of_actor(slot);
	full = now.calls[0].views[slot].size;
	if (!now.slots[slot].alive || now.slots[slot].pmu >= PMU_DUMMY)
		return;
	if (op->code == OP_SKIP || op->code == OP_END) {
		argument = (uint64_t)op->arg[2];
		if (op->arg[1] == SIZE_FROM_FULL)
			argument = full > argument ? full - argument : 0;
	} else if (op->code == OP_ATSTOP) {
		argument = ((uint64_t)op->arg[1] & 0xffffffff) | (uint64_t)op->arg[2] << 32;
	}
	driver_call(calls_of[op->code], slot, argument);
	ret[0] = now.calls[0].ret;
	ret[1] = now.calls[1].ret;
	stats.no_space += op->code == OP_BEGIN && ret[0] == 0;
}

/* ---- the other thread ---- */

/*
 * Switches between our threads, the given number, between two checks: whether any other task ran.
 */
static bool others_between(uint64_t before, unsigned int times)
{
	bool any = now.calls[0].cpu_switches != before + times;

	stats.between += any;
	return any;
}

static void pass(int to)
{
	switches_at_pass = now.calls[0].cpu_switches;
	if (write(pipes[to][1], "", 1) != 1)
		abort();
}

static void wait_for_turn(int me)
{
	char c;

	if (read(pipes[me][0], &c, 1) != 1)
		abort();
}

static void *other_thread(void *arg)
{
	(void)arg;
	thread_tid = gettid();
	pass(0);
	wait_for_turn(1);
	while (!thread_quits) {
		arrive(1);
		run();
		if (thread_quits)
			break;
		pass(0);
		wait_for_turn(1);
	}
	return NULL;
}

static void op_fork(long ret[2])
{
	if (thread_alive)
		return;
	thread_quits = false;
	nr_forks++;
	if (pthread_create(&thread, NULL, other_thread, NULL)) {
		fprintf(stderr, "conform: no thread\n");
		exit(3);
	}
	wait_for_turn(0);
	thread_alive = true;
	model_fork(thread_tid);
	for (int i = 0; i < NR_EVENTS; i++) {
		struct slot *child = &now.slots[i + INHERITED];

		if (!now.slots[i].alive || !now.slots[i].inherit || !now.slots[i].task)
			continue;
		*child = now.slots[i];
		child->open = false;
		child->id[1] = model_child_id(now.slots[i].id[1]);
		child->id[0] = 0;
		if (child->pmu != PMU_DUMMY) {
			now.calls[0].op = CONFORM_CHILD;
			now.calls[0].target = 0;
			now.calls[0].views[0].id = now.slots[i].id[0];
			now.calls[0].arg = (uint64_t)thread_tid;
			kernel_side.call(&now.calls[0]);
			child->id[0] = now.calls[0].ret > 0 ? (uint64_t)now.calls[0].ret : 0;
		}
		for (int side = 0; side < 2; side++)
			now.ids[now.nr_ids][side] = child->id[side];
		now.nr_ids += now.nr_ids < 255;
	}
	ret[0] = ret[1] = 0;
}

static void op_exit(long ret[2])
{
	if (!thread_alive || actor)
		return;
	thread_quits = true;
	pass(1);
	pthread_join(thread, NULL);
	thread_alive = false;
	model_exit();
	/* events that the first thread has taken over stay alive (Q3) */
	driver_call(CONFORM_LOOK, 0, 0);
	for (int i = INHERITED; i < CONFORM_NR_VIEWS; i++)
		now.slots[i].alive &= now.calls[0].views[i].found || now.calls[1].views[i].found;
	for (int i = 0; i < NR_EVENTS; i++) {
		struct slot *child = &now.slots[i + INHERITED];

		if (child->alive)
			now.slots[i + TAKEN_OVER] = *child;
		child->alive = false;
	}
	ret[0] = ret[1] = 0;
}

static void name_of_length(char *name, int length)
{
	for (int i = 0; i < length; i++)
		name[i] = (char)('a' + i);
	name[length] = '\0';
}

/* true: a difference has been described already. */
static bool run_op(const struct op *op, long ret[2])
{
	int slot = (int)op->arg[0];
	char name[16];

	ret[0] = ret[1] = NOTHING;
	switch (op->code) {
	case OP_CPU:
		if (thread_alive)
			break;
		now.cpu = (int)op->arg[0];
		for (int side = 0; side < 2; side++) {
			sides[side]->cpu((int)op->arg[0]);
			ret[side] = 0;
		}
		break;
	case OP_OPEN:
		op_open(op, ret);
		break;
	case OP_CLOSE:
		if (!now.slots[slot].open)
			break;
		for (int side = 0; side < 2; side++) {
			sides[side]->close(slot);
			ret[side] = 0;
		}
		now.slots[slot].open = false;
		release_event(slot);
		break;
	case OP_ENABLE:
		if (now.slots[slot].pmu == PMU_FAULTS)
			break;
		op_ioctl(slot, PERF_EVENT_IOC_ENABLE, 0, -1, ret);
		break;
	case OP_DISABLE:
		op_ioctl(slot, PERF_EVENT_IOC_DISABLE, 0, -1, ret);
		break;
	case OP_MAP:
		op_map(op, ret);
		break;
	case OP_ANNOUNCE:
		op_announce(op, ret);
		break;
	case OP_UNMAP:
		return op_unmap(op, ret);
	case OP_OUTPUT:
		/*
		 * B19: it does not stop inherited events; the kernel warns when their area is freed
		 */
		if (now.calls[0].views[slot + INHERITED].open ||
		    now.calls[0].views[slot + TAKEN_OVER].open)
			break;
		op_ioctl(slot, PERF_EVENT_IOC_SET_OUTPUT, 0, (int)op->arg[1], ret);
		break;
	case OP_PAUSE:
		op_ioctl(slot, PERF_EVENT_IOC_PAUSE_OUTPUT, (unsigned long)op->arg[1], -1, ret);
		break;
	case OP_POLL:
		if (!now.slots[slot].open)
			break;
		for (int side = 0; side < 2; side++)
			ret[side] = sides[side]->poll(slot);
		stats.wakeups += ret[0] > 0 && !(ret[0] & POLLHUP);
		break;
	case OP_READ:
		return op_read(slot, ret);
	case OP_SAMPLE:
		if (!now.slots[slot].open || now.slots[slot].pmu != PMU_FAULTS)
			break;
		for (int side = 0; side < 2; side++)
			ret[side] = sides[side]->sample(slot, (int)(op->arg[1] % (MAX_SAMPLES + 1)),
							&now.slots[slot].attr);
		break;
	case OP_FORK:
		op_fork(ret);
		break;
	case OP_EXIT:
		op_exit(ret);
		break;
	case OP_LIMITS:
		for (int side = 0; side < 2; side++) {
			sides[side]->limits((long)op->arg[0], (uint64_t)op->arg[1],
					    (int)op->arg[2]);
			ret[side] = 0;
		}
		break;
	case OP_USER:
		for (int side = 0; side < 2; side++) {
			sides[side]->user((int)op->arg[0], op->arg[1] != 0);
			ret[side] = 0;
		}
		break;
	case OP_HOLD:
		if (thread_alive)
			break;
		for (int side = 0; side < 2; side++) {
			sides[side]->hold(op->arg[0] != 0);
			ret[side] = 0;
		}
		break;
	case OP_COMM:
		name_of_length(name, (int)op->arg[0] & 15);
		for (int side = 0; side < 2; side++) {
			sides[side]->comm(name);
			ret[side] = 0;
		}
		break;
	case OP_FILE:
		for (int side = 0; side < 2; side++) {
			sides[side]->map_file((int)op->arg[0] % 3);
			ret[side] = 0;
		}
		break;
	case OP_DTAIL:
	case OP_ATAIL:
		op_tail(op, ret);
		break;
	default:
		op_driver(op, ret);
	}
	return false;
}

/* A slot or mapping beyond the tables is an error in the script. */
static bool op_valid(const struct op *op)
{
	switch (op->code) {
	case OP_CPU:
		return op->arg[0] >= 0 && op->arg[0] < 2;
	case OP_MAP:
		return op->arg[0] >= 0 && op->arg[0] < NR_MAPS && op->arg[1] >= 0 &&
		       op->arg[1] < NR_EVENTS;
	case OP_ANNOUNCE:
	case OP_UNMAP:
	case OP_DTAIL:
	case OP_ATAIL:
		return op->arg[0] >= 0 && op->arg[0] < NR_MAPS;
	case OP_FORK:
	case OP_TURN:
	case OP_EXIT:
	case OP_HOLD:
		return true;
	case OP_LIMITS:
		return op->arg[0] >= 0 && op->arg[0] <= INT32_MAX && op->arg[2] >= -1 &&
		       op->arg[2] <= 3;
	case OP_USER:
		return op->arg[0] >= 0 && op->arg[0] < NR_USERS;
	case OP_COMM:
	case OP_FILE:
		return op->arg[0] >= 0;
	case OP_OPEN:
		return op->arg[0] >= 0 && op->arg[0] < NR_EVENTS && op->arg[A_PMU] >= 0 &&
		       op->arg[A_PMU] < NR_PMUS && op->arg[A_GROUP] >= 0 &&
		       op->arg[A_GROUP] <= NR_EVENTS;
	case OP_OUTPUT:
		return op->arg[0] >= 0 && op->arg[0] < NR_EVENTS && op->arg[1] >= -1 &&
		       op->arg[1] < NR_EVENTS;
	default:
		return op->arg[0] >= 0 && op->arg[0] < NR_EVENTS;
	}
}

static bool switched_since(void)
{
	struct conform_call look = {.op = CONFORM_LOOK};

	kernel_side.call(&look);
	return look.switches != look_switches;
}

static void look_at_tasks(int *pid, int *nr)
{
	FILE *f = fopen("/proc/loadavg", "r");

	if (!f || fscanf(f, "%*s %*s %*s %*d/%d %d", nr, pid) != 2)
		abort();
	fclose(f);
}

/* Finds the cause. Another task's name, start and end are recorded in the events of its CPU. */
static enum verdict reference_difference(bool switched)
{
	int pid, nr;

	if (switched)
		now.cause = BY_SWITCH;
	look_at_tasks(&pid, &nr);
	if (now.cause == BY_NONE && (pid != last_pid + nr_forks || nr != nr_tasks + thread_alive))
		now.cause = BY_TASK;
	return now.cause == BY_NONE ? DIFFERENT : DISTURBED;
}

static enum verdict step(const struct op *op)
{
	uint64_t warnings = core_warnings(), switches, cpu_switches = now.calls[0].cpu_switches;
	long ret[2];
	bool reported_already, switched, hands_over;

	if (!op_valid(op)) {
		differ("no such slot, mapping, PMU or CPU");
		return DIFFERENT;
	}
	switched_early = false;
	reported_already = run_op(op, ret);
	switches = look_switches;
	if (op->code < OP_BEGIN || ret[0] == NOTHING)
		driver_call(CONFORM_LOOK, 0, 0);
	look_switches = now.calls[0].switches;
	hands_over = (op->code == OP_FORK || op->code == OP_EXIT) && ret[0] != NOTHING;
	if (hands_over && others_between(cpu_switches, 2)) /* to the other thread, and back */
		now.cause = BY_SWITCH;
	if (op->code == OP_CPU && ret[0] != NOTHING && switches < look_switches)
		switches++; /* the migration's own */
	stats.ops++;
	stats.done[op->code] += ret[0] != NOTHING;
	stats.ok[op->code] += ret[0] >= 0;
	switched = now.calls[0].switches != switches && has_task_events();
	if (switched && !hands_over) {
		stats.switches++;
		for (; switches < now.calls[0].switches; switches++)
			model_switch();
		driver_call(CONFORM_LOOK, 0, 0);
	}
	switched |= switched_early;
	/* a switch between the kernel's operation and the check counts as before it */
	if (reported_already)
		return reference_difference(switched && !hands_over);
	if (ret[0] != ret[1])
		differ("result: kernel %ld (%s), model %ld (%s)", ret[0],
		       ret[0] < 0 ? strerror(-(int)ret[0]) : "", ret[1],
		       ret[1] < 0 ? strerror(-(int)ret[1]) : "");
	else if (core_warnings() != warnings)
		differ("the model warns: %s", model_warning());
	else if (!all_differs())
		return SAME;
	/* it may have come after the check, too */
	switched |= switched_since() && has_task_events();
	return reference_difference(switched && !hands_over);
}

/*
 * Called by the thread that runs again: the other one's events have been scheduled out, its own in.
 */
static void arrive(int me)
{
	bool switched;

	actor = me;
	model_turn(me);
	driver_call(CONFORM_LOOK, 0, 0);
	switched = others_between(switches_at_pass, 1);
	look_switches = now.calls[0].switches;
	if (verdict == SAME && all_differs())
		verdict = reference_difference(switched);
}

static void run(void)
{
	while (next_op < playing->nr && verdict == SAME) {
		const struct op *op = &playing->ops[next_op++];
		int me = actor, to = op->arg[0] != 0;

		if (op->code != OP_TURN) {
			verdict = step(op);
			continue;
		}
		stats.ops++;
		if (!thread_alive || to == me)
			continue;
		stats.done[OP_TURN]++;
		stats.ok[OP_TURN]++;
		pass(to);
		wait_for_turn(me);
		if (thread_quits)
			return;
		arrive(me);
	}
}

static bool has_budget(const struct script *script)
{
	for (int i = 0; i < script->nr; i++)
		if (script->ops[i].code == OP_LIMITS || script->ops[i].code == OP_USER)
			return true;
	return false;
}

enum verdict play(const struct script *script, char *text, size_t size, int *at_op)
{
	static const struct op unmap = {.code = OP_UNMAP}, leave = {.code = OP_EXIT};
	struct op op = unmap;

	memset(&now, 0, sizeof(now));
	now.reported = text;
	now.reported_size = size;
	next_op = actor = 0;
	verdict = SAME;
	playing = script;
	if (!pipes[0][0] && (pipe(pipes[0]) || pipe(pipes[1])))
		abort();
	now.budget = has_budget(script);
	kernel_side.begin(0, now.budget);
	model_side.begin(0, now.budget);
	driver_call(CONFORM_LOOK, 0, 0);
	look_switches = now.calls[0].switches;
	nr_forks = 0;
	look_at_tasks(&last_pid, &nr_tasks);
	run();
	*at_op = next_op - 1;
	/* the end is part of the script, too: everything mapped is unmapped, with all effects */
	if (verdict == SAME)
		*at_op = script->nr;
	if (thread_alive) {
		enum verdict at_exit = step(&leave);

		if (verdict == SAME)
			verdict = at_exit;
	}
	for (int m = 0; m < NR_MAPS && verdict == SAME; m++) {
		op.arg[0] = m;
		verdict = step(&op);
	}
	for (int i = 0; i < NR_EVENTS; i++)
		end_transaction_of_child(i);
	kernel_side.end();
	model_side.end();
	stats.scripts++;
	return verdict;
}

const char *play_differed_in(void)
{
	return now.differed_in;
}

enum cause play_cause(void)
{
	return now.cause;
}
