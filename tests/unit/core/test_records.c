// SPDX-License-Identifier: BSD-2-Clause
/*
 * Section F: record layouts, sample ids, ITRACE_START, sideband; and the life of events around
 * them.
 */
#include "support_rig.h"

struct itrace {
	struct perf_event_header header;
	u32 pid, tid;
	u64 id[6];
};

/* F: the sample id's fields in their order, at the end of every record. */
static void f_sample_id(void)
{
	struct perf_event_attr attr;
	struct rig_aux rec;
	struct rig rig;

	rig_init(&rig, 0);
	attr = rig_attr();
	attr.sample_id_all = 1;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
			   PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER |
			   PERF_SAMPLE_PERIOD;
	rig_start(&rig, &attr, 1, 4, RW);
	core_task_sched_in(&rig.task);
	fake.pending = 24;
	fake.stop_flags = PERF_AUX_FLAG_PARTIAL;
	core_task_sched_out(&rig.task);
	assert_true(rig_next(&rig, &rec, sizeof(rec)));
	assert_int_equal(rec.header.type, 11);
	assert_int_equal(rec.header.misc, 0);
	assert_int_equal(rec.header.size, 32 + 48);
	assert_int_equal(rec.offset, 0);
	assert_int_equal(rec.size, 24);
	assert_int_equal(rec.flags, 4);
	assert_true(rec.id[0] == (101ull << 32 | 100));
	assert_true(rec.id[1] > 0 && rec.id[1] <= rig.time);
	assert_int_equal(rec.id[2], core_event_id(rig.event));
	assert_int_equal(rec.id[3], rig.event->id);
	assert_int_equal(rec.id[4], 3);
	assert_int_equal(rec.id[5], core_event_id(rig.event));
	rig_fini(&rig);
}

/* F: each sample_type bit alone, at the record's end. */
static void f_sample_id_single_bits(void)
{
	static const u64 bits[] = {PERF_SAMPLE_TID,	  PERF_SAMPLE_TIME, PERF_SAMPLE_ID,
				   PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,  PERF_SAMPLE_IDENTIFIER,
				   PERF_SAMPLE_ADDR};

	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		struct perf_event_attr attr;
		struct rig_aux rec;
		struct rig rig;
		u64 expected[7];

		rig_init(&rig, 0);
		attr = rig_attr();
		attr.sample_id_all = 1;
		attr.sample_type = bits[i];
		rig_start(&rig, &attr, 1, 4, RW);
		core_task_sched_in(&rig.task);
		fake.pending = 8;
		core_task_sched_out(&rig.task);
		assert_true(rig_next(&rig, &rec, sizeof(rec)));
		expected[0] = 101ull << 32 | 100;
		expected[1] = rec.id[0]; /* any time */
		expected[2] = expected[3] = expected[5] = core_event_id(rig.event);
		expected[4] = 3;
		assert_int_equal(rec.header.size, bits[i] == PERF_SAMPLE_ADDR ? 32 : 40);
		if (bits[i] != PERF_SAMPLE_ADDR)
			assert_true(rec.id[0] == expected[i]);
		if (bits[i] == PERF_SAMPLE_TIME)
			assert_true(rec.id[0] > 0 && rec.id[0] <= rig.time);
		rig_fini(&rig);
	}
}

/* F1: before add, at each sched-in until the driver reports its start; only with CAP_ITRACE. */
static void f1_itrace_start(void)
{
	struct perf_event_attr attr;
	struct itrace rec;
	struct rig rig;

	for (int caps = 0; caps <= PERF_PMU_CAP_ITRACE; caps += PERF_PMU_CAP_ITRACE) {
		rig_init(&rig, caps);
		attr = rig_attr();
		rig_start(&rig, &attr, 1, 4, RW);
		for (int i = 0; i < 4; i++) {
			bool expected = caps && i <= 2;

			fake.say_started = i == 2;
			core_task_sched_in(&rig.task);
			assert_int_equal(rig_next(&rig, &rec, sizeof(rec)), expected);
			if (expected) {
				assert_int_equal(rec.header.type, PERF_RECORD_ITRACE_START);
				assert_int_equal(rec.header.size, 16);
				assert_int_equal(rec.pid, 100);
				assert_int_equal(rec.tid, 101);
				assert_int_equal(fake.head_at_add, rig.page->data_head);
			}
			core_task_sched_out(&rig.task);
		}
		rig_fini(&rig);
	}
}

/* F1: the flag is set on the child but read from the parent, whose id the record has. */
static void f1_itrace_start_of_children(void)
{
	struct core_task child_task = {.pid = 200, .tid = 201};
	struct perf_event_attr attr;
	struct perf_event *child;
	struct itrace rec;
	struct rig rig;

	rig_init(&rig, PERF_PMU_CAP_ITRACE);
	fake.say_started = true;
	attr = rig_attr();
	attr.inherit = 1;
	attr.sample_id_all = 1;
	attr.sample_type = PERF_SAMPLE_STREAM_ID;
	assert_int_equal(core_event_open(&rig.event, &attr, &rig.task, 3, NULL, NULL), 0);
	assert_int_equal(rig_map(rig.event, 2 * P, RW, 0, &rig.ring), 0);
	rig.page = rig.ring->addr;
	assert_int_equal(rig_map_aux(&rig, 4, RW), 0);
	assert_int_equal(core_event_open(&child, NULL, &child_task, -1, NULL, rig.event), 0);
	for (int i = 0; i < 2; i++) {
		core_task_sched_in(&child_task);
		core_task_sched_out(&child_task);
		assert_true(rig_next(&rig, &rec, sizeof(rec)));
		assert_int_equal(rec.tid, 201);
		assert_int_equal(rec.id[0], rig.event->id);
	}
	core_task_sched_in(&rig.task);
	core_task_sched_out(&rig.task);
	assert_true(rig_next(&rig, &rec, sizeof(rec)));
	core_task_sched_in(&child_task); /* now the parent has started */
	core_task_sched_out(&child_task);
	assert_false(rig_next(&rig, &rec, sizeof(rec)));
	core_task_exit(&child_task);
	rig_fini(&rig);
}

/*
 * F2: no driver of the model's kernels writes AUX_OUTPUT_HW_ID by itself; the core passes one on as
 * any record.
 */
static void f2_hw_id(void)
{
	struct perf_event_attr attr;
	struct rig_lost rec;
	u64 hw_id = 0x1234;
	struct rig rig;

	rig_init(&rig, 0);
	attr = rig_attr();
	rig_start(&rig, &attr, 1, 0, 0);
	assert_int_equal(core_event_record(rig.event, PERF_RECORD_AUX_OUTPUT_HW_ID, 0, &hw_id, 8),
			 0);
	assert_true(rig_next(&rig, &rec, sizeof(rec)));
	assert_int_equal(rec.header.type, 21);
	assert_int_equal(rec.header.size, 16);
	assert_int_equal(rec.id, 0x1234);
	rig_fini(&rig);
}

/* F3: AUX records go through E: with a full data ring the bytes exist and the record does not. */
static void f3_aux_record_lost(void)
{
	struct perf_event_attr attr;
	struct rig_lost lost;
	struct rig_aux rec;
	struct rig rig;

	rig_init(&rig, 0);
	attr = rig_attr();
	rig_start(&rig, &attr, 1, 4, RW);
	while (!rig_record(rig.event, 64))
		;
	assert_int_equal(rig_record(rig.event, 32), 0); /* 7 bytes are left */
	core_task_sched_in(&rig.task);
	fake.pending = 500;
	core_task_sched_out(&rig.task);
	assert_int_equal(rig.page->aux_head, 500);
	rig_read_all(&rig);
	core_task_sched_in(&rig.task);
	fake.pending = 100;
	core_task_sched_out(&rig.task);
	assert_true(rig_next(&rig, &lost, sizeof(lost)));
	assert_int_equal(lost.header.type, PERF_RECORD_LOST);
	assert_int_equal(lost.lost, 1);
	assert_true(rig_next(&rig, &rec, sizeof(rec)));
	assert_int_equal(rec.offset, 500);
	assert_int_equal(rec.size, 100);
	rig_fini(&rig);
}

/*
 * Sideband reaches the events that asked for it, and only them; an event without mmap2 gets the
 * old record.
 */
static void sideband(void)
{
	/* clang-format off */
	static const struct {
		u32 type;
		u16 misc;
		u64 bits; /* comm 1, mmap 2, mmap2 4, mmap_data 8, task 16, context_switch 32 */
	} kinds[] = {
		{ PERF_RECORD_COMM, 0, 1 },
		{ PERF_RECORD_MMAP2, 0, 2 | 4 },
		{ PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_DATA, 8 },
		{ PERF_RECORD_FORK, 0, 1 | 2 | 4 | 8 | 16 },
		{ PERF_RECORD_EXIT, 0, 1 | 2 | 4 | 8 | 16 },
		{ PERF_RECORD_SWITCH, 0, 32 },
	};
	/* clang-format on */
	struct perf_event_attr attr;
	unsigned char body[80], rec[128];
	struct rig rig;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		for (int bit = 0; bit < 6; bit++) {
			bool wanted = kinds[k].bits >> bit & 1;

			rig_init(&rig, 0);
			attr = rig_dummy_attr();
			attr.comm = bit == 0;
			attr.mmap = bit == 1;
			attr.mmap2 = bit == 2;
			attr.mmap_data = bit == 3;
			attr.task = bit == 4;
			attr.context_switch = bit == 5;
			rig_start(&rig, &attr, 1, 0, 0);
			for (size_t i = 0; i < sizeof(body); i++)
				body[i] = (unsigned char)i;
			core_task_record(&rig.task, kinds[k].type, kinds[k].misc, body,
					 sizeof(body));
			assert_int_equal(rig_next(&rig, rec, sizeof(rec)), wanted);
			if (wanted && kinds[k].type == PERF_RECORD_MMAP2 && bit != 2) {
				assert_int_equal(rec[0], PERF_RECORD_MMAP);
				assert_int_equal(rec[6], 8 + 48);
				assert_memory_equal(rec + 8, body, 32);
				assert_memory_equal(rec + 40, body + 64, 16);
			} else if (wanted) {
				assert_int_equal(rec[0], kinds[k].type);
				assert_int_equal(rec[6], 88);
				assert_memory_equal(rec + 8, body, 80);
			}
			/* a disabled event gets no record */
			core_event_ioctl(rig.event, PERF_EVENT_IOC_DISABLE, 0, NULL);
			core_task_record(&rig.task, kinds[k].type, kinds[k].misc, body,
					 sizeof(body));
			assert_false(rig_next(&rig, rec, sizeof(rec)));
			rig_fini(&rig);
		}
	}
}

/*
 * The life of an event: disabled at open, enable_on_exec, groups, exclusive PMUs, times,
 * attributes.
 */
static void life(void)
{
	struct perf_event_attr attr;
	struct perf_event *sibling, *second;
	char text[32];
	u64 words[8];
	struct rig rig;

	rig_init(&rig, PERF_PMU_CAP_EXCLUSIVE);
	fake.manual = true;
	attr = rig_attr();
	attr.disabled = 1;
	attr.enable_on_exec = 1;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
			   PERF_FORMAT_ID | PERF_FORMAT_GROUP;
	rig.event = rig_open(&rig, &attr);
	assert_int_equal(core_event_open(&second, &attr, &rig.task, -1, NULL, NULL), -EBUSY);
	assert_int_equal(core_event_open(&second, &attr, NULL, 1, NULL, NULL), -EBUSY);
	/* Q4: the other kind gets the record before the group, this one after it */
	assert_int_equal(core_event_open(&second, &attr, NULL, 1, rig.event, NULL), -EBUSY);
	attr.pinned = 1;
	assert_int_equal(core_event_open(&second, &attr, &rig.task, -1, rig.event, NULL), -EINVAL);
	attr = rig_dummy_attr();
	assert_int_equal(core_event_open(&sibling, &attr, &rig.task, -1, rig.event, NULL), 0);
	core_task_sched_in(&rig.task);
	assert_false(core_event_active(rig.event));
	assert_false(core_event_active(sibling));
	core_task_exec(&rig.task);
	assert_true(core_event_active(rig.event));
	assert_true(core_event_active(sibling));
	core_event_ioctl(rig.event, PERF_EVENT_IOC_DISABLE, 0, NULL);
	assert_false(core_event_active(sibling));
	assert_int_equal(core_event_ioctl(rig.event, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP,
					  NULL),
			 0);
	assert_true(core_event_active(sibling));
	assert_int_equal(core_event_read(rig.event, words, 16), -ENOSPC);
	assert_int_equal(core_event_read(rig.event, words, sizeof(words)), 24 + 16 * 2);
	assert_int_equal(words[0], 2);
	assert_true(words[1] > 0 && words[2] > 0 && words[2] <= words[1]);
	assert_int_equal(words[4], core_event_id(rig.event));
	assert_int_equal(words[6], core_event_id(sibling));
	core_event_close(sibling);
	core_task_sched_out(&rig.task);
	attr = rig_attr();
	attr.config = 99;
	assert_int_equal(core_event_open(&second, &attr, &rig.task, -1, NULL, NULL), -EINVAL);
	attr.type = 4711;
	assert_int_equal(core_event_open(&second, &attr, &rig.task, -1, NULL, NULL), -ENOENT);
	assert_int_equal(core_event_open(&second, &attr, NULL, -1, NULL, NULL), -EINVAL);
	/* L4 */
	attr = rig_attr();
	attr.__reserved_3 = 1;
	assert_int_equal(core_event_open(&second, &attr, &rig.task, -1, NULL, NULL),
			 rig_kernel->aux_pause_resume ? -EOPNOTSUPP : -EINVAL);
	assert_true(core_pmu_attr("fake_aux", "type", text, sizeof(text)) > 0);
	assert_int_equal(atoi(text), fake.pmu.type);
	assert_int_equal(core_pmu_type("fake_aux"), fake.pmu.type);
	assert_int_equal(core_pmu_type("none"), -ENOENT);
	assert_int_equal(core_pmu_capabilities("fake_aux"), PERF_PMU_CAP_EXCLUSIVE);
	assert_int_equal(core_pmu_attr("fake_aux", "format/none", text, sizeof(text)), -ENOENT);
	rig_fini(&rig);
}

/* F4: events of the CPU first, then the task's; in each the youngest first. */
static void f4_order(void)
{
	struct {
		struct perf_event_header header;
		u32 pid, tid;
		char comm[8];
		u64 id;
	} rec;
	struct perf_event_attr attr;
	struct perf_event *events[4];
	struct rig rig;

	rig_init(&rig, 0);
	core_task_sched_in(&rig.task);
	attr = rig_dummy_attr();
	attr.comm = attr.sample_id_all = 1;
	attr.sample_type = PERF_SAMPLE_IDENTIFIER;
	for (int i = 0; i < 4; i++)
		assert_int_equal(core_event_open(&events[i], &attr, i & 1 ? NULL : &rig.task, 3,
						 NULL, NULL),
				 0);
	assert_int_equal(rig_map(events[0], 2 * P, RW, 0, &rig.ring), 0);
	rig.page = rig.ring->addr;
	for (int i = 1; i < 4; i++)
		assert_int_equal(core_event_ioctl(events[i], PERF_EVENT_IOC_SET_OUTPUT, 0,
						  events[0]),
				 0);
	core_task_record(&rig.task, PERF_RECORD_COMM, 0, "PID TID name\0\0\0", 16);
	for (int i = 0; i < 4; i++) {
		static const int order[] = {3, 1, 2, 0};

		assert_true(rig_next(&rig, &rec, sizeof(rec)));
		assert_int_equal(rec.id, core_event_id(events[order[i]]));
	}
	rig.event = events[0];
	for (int i = 1; i < 4; i++)
		core_event_close(events[i]);
	rig_fini(&rig);
}

/*
 * F4: at exit transactions end first, then the task's own events get the record, then the CPU's.
 */
static void f4_exit(void)
{
	struct perf_event_attr attr;
	struct perf_event *of_cpu;
	struct rig_aux rec;
	struct rig rig;

	rig_init(&rig, 0);
	attr = rig_attr();
	attr.comm = attr.sample_id_all = 1;
	attr.sample_type = PERF_SAMPLE_IDENTIFIER;
	assert_int_equal(core_event_open(&rig.event, &attr, &rig.task, 3, NULL, NULL), 0);
	assert_int_equal(rig_map(rig.event, 2 * P, RW, 0, &rig.ring), 0);
	rig.page = rig.ring->addr;
	assert_int_equal(rig_map_aux(&rig, 4, RW), 0);
	attr = rig_dummy_attr();
	attr.comm = attr.sample_id_all = 1;
	attr.sample_type = PERF_SAMPLE_IDENTIFIER;
	assert_int_equal(core_event_open(&of_cpu, &attr, NULL, 3, NULL, NULL), 0);
	assert_int_equal(core_event_ioctl(of_cpu, PERF_EVENT_IOC_SET_OUTPUT, 0, rig.event), 0);
	core_task_sched_in(&rig.task);
	fake.pending = 40;
	core_task_record(&rig.task, PERF_RECORD_EXIT, 0, (u64[3]){1, 2, 3}, 24);
	assert_true(rig_next(&rig, &rec, sizeof(rec)));
	assert_int_equal(rec.header.type, PERF_RECORD_AUX);
	assert_int_equal(rec.size, 40);
	for (int i = 0; i < 2; i++) {
		assert_true(rig_next(&rig, &rec, sizeof(rec)));
		assert_int_equal(rec.header.type, PERF_RECORD_EXIT);
		assert_int_equal(rec.id[0], core_event_id(i ? of_cpu : rig.event));
	}
	core_task_exit(&rig.task);
	core_event_close(of_cpu);
	rig_fini(&rig);
}

/* Q1: a new event moves those beside it: their drivers see del and add. */
static void q1_resched(void)
{
	struct perf_event_attr attr;
	struct perf_event *events[5];
	int others;
	struct rig rig;

	rig_init(&rig, 0);
	others = rig_kernel->resched_one_pmu ? 0 : 1;
	fake.manual = true;
	core_task_sched_in(&rig.task);
	attr = rig_attr();
	events[0] = rig.event = rig_open(&rig, &attr);
	assert_int_equal(fake.nr_adds, 1);
	events[1] = rig_open(&rig, &attr); /* both */
	assert_int_equal(fake.nr_adds, 3);
	attr = rig_dummy_attr();
	events[2] = rig_open(&rig, &attr); /* of another PMU */
	assert_int_equal(fake.nr_adds, 3 + 2 * others);
	attr.disabled = 1;
	events[3] = rig_open(&rig, &attr); /* disabled: moves no event before it is enabled */
	assert_int_equal(fake.nr_adds, 3 + 2 * others);
	core_event_ioctl(events[3], PERF_EVENT_IOC_ENABLE, 0, NULL);
	assert_int_equal(fake.nr_adds, 3 + 4 * others);
	/* the first event of the CPU moves the running task's, the task's not the CPU's */
	attr = rig_attr();
	assert_int_equal(core_event_open(&events[4], &attr, NULL, 3, NULL, NULL), 0);
	assert_int_equal(fake.nr_adds, 3 + 4 * others + 3);
	core_event_ioctl(events[1], PERF_EVENT_IOC_DISABLE, 0, NULL);
	core_event_ioctl(events[1], PERF_EVENT_IOC_ENABLE, 0, NULL);
	assert_int_equal(fake.nr_adds, 3 + 4 * others + 3 + 2);
	for (int i = 1; i < 5; i++)
		core_event_close(events[i]);
	rig_fini(&rig);
}

/* Q5: a pinned event goes in first and stays when others come; if it cannot, its state is ERROR. */
static void q5_pinned(void)
{
	struct perf_event *events[4];
	struct perf_event_attr attr;
	struct rig rig;
	u64 words[8];

	rig_init(&rig, 0);
	fake.manual = true;
	core_task_sched_in(&rig.task);
	attr = rig_attr();
	attr.pinned = 1;
	events[0] = rig.event = rig_open(&rig, &attr);
	attr.pinned = 0;
	events[1] = rig_open(&rig, &attr);
	assert_int_equal(fake.nr_adds, 2); /* the pinned one was not moved */
	assert_int_equal(core_event_open(&events[2], &attr, NULL, 3, NULL, NULL), 0);
	assert_int_equal(fake.nr_adds, 4); /* itself and the task's second */
	attr.pinned = 1;
	events[3] = rig_open(&rig, &attr);
	assert_int_equal(fake.nr_adds, 8); /* all, the CPU's too */
	/* each time the task is switched in, the CPU's event makes way */
	core_task_sched_out(&rig.task);
	core_task_sched_in(&rig.task);
	assert_int_equal(fake.nr_adds, 12);
	core_event_close(events[3]);
	/* an add that fails */
	fake.fail_add = true;
	core_event_ioctl(events[0], PERF_EVENT_IOC_DISABLE, 0, NULL);
	core_event_ioctl(events[0], PERF_EVENT_IOC_ENABLE, 0, NULL);
	assert_int_equal(events[0]->state, PERF_EVENT_STATE_ERROR);
	assert_int_equal(events[1]->state, PERF_EVENT_STATE_INACTIVE);
	assert_int_equal(core_event_read(events[0], words, sizeof(words)), 0);
	core_event_ioctl(events[0], PERF_EVENT_IOC_DISABLE, 0, NULL);
	assert_int_equal(events[0]->state, PERF_EVENT_STATE_ERROR);
	fake.fail_add = false;
	core_task_sched_out(&rig.task);
	core_task_sched_in(&rig.task);
	assert_int_equal(events[0]->state,
			 PERF_EVENT_STATE_ERROR); /* the core does not try again */
	core_event_ioctl(events[0], PERF_EVENT_IOC_ENABLE, 0, NULL);
	assert_true(core_event_active(events[0]));
	assert_true(core_event_active(events[1]));
	core_event_close(events[1]);
	core_event_close(events[2]);
	rig_fini(&rig);
}

/* Q3: the contexts of clones are swapped, not scheduled out and in, until one of them changes. */
static void q3_swap(void)
{
	struct perf_event *child, *grandchild, *more;
	struct core_task other = {.pid = 1, .tid = 7};
	struct perf_event_attr attr;
	struct rig rig;

	rig_init(&rig, 0);
	fake.manual = true;
	core_task_sched_in(&rig.task);
	attr = rig_attr();
	attr.inherit = 1;
	assert_int_equal(core_event_open(&rig.event, &attr, &rig.task, 3, NULL, NULL), 0);
	assert_int_equal(core_event_open(&child, NULL, &other, -1, NULL, rig.event), 0);
	assert_false(core_task_switch(&rig.task, &other)); /* not marked as a clone */
	assert_false(core_task_switch(&other, &rig.task));
	core_task_cloned(&rig.task, &other);
	assert_int_equal(fake.nr_adds, 3);
	assert_true(core_task_switch(&rig.task, &other));
	assert_true(core_event_active(rig.event)); /* belongs to the other task now */
	assert_false(core_event_active(child));
	assert_ptr_equal(other.events, rig.event);
	assert_int_equal(other.cpu_plus1, 4);
	assert_true(core_task_switch(&other, &rig.task));
	assert_int_equal(fake.nr_adds, 3);
	assert_int_equal(fake.nr_dels, 2);
	/*
	 * the other one ends with the event that was opened; the first continues with the inherited
	 * one
	 */
	assert_true(core_task_switch(&rig.task, &other));
	core_task_exit(&other);
	core_task_sched_in(&rig.task);
	assert_int_equal(rig.event->state, PERF_EVENT_STATE_EXIT);
	assert_true(core_event_active(child));
	/*
	 * a clone of the clone: enabled as its parent is, not as the event that was opened
	 */
	assert_int_equal(core_event_open(&grandchild, NULL, &other, -1, NULL, child), 0);
	assert_ptr_equal(grandchild->parent, rig.event);
	assert_int_equal(grandchild->state, PERF_EVENT_STATE_INACTIVE);
	core_task_cloned(&rig.task, &other);
	assert_true(core_task_switch(&rig.task, &other));
	assert_true(core_task_switch(&other, &rig.task));
	/* an event is opened, or refused after the lookup of its task (Q4) */
	attr.pinned = 1;
	assert_int_equal(core_event_open(&more, &attr, &rig.task, 3, child, NULL), -EINVAL);
	assert_false(core_task_switch(&rig.task, &other));
	core_task_exit(&other);
	core_task_sched_in(&rig.task);
	rig_fini(&rig);
}

int main(void)
{
	/* clang-format off */
	static const struct rig_test tests[] = {
		RIG_TEST(f_sample_id), RIG_TEST(f_sample_id_single_bits),
		RIG_TEST(f1_itrace_start), RIG_TEST(f1_itrace_start_of_children),
		RIG_TEST(f2_hw_id),    RIG_TEST(f3_aux_record_lost),
		RIG_TEST(f4_order),    RIG_TEST(f4_exit),	RIG_TEST(q1_resched),
		RIG_TEST(q3_swap),     RIG_TEST(q5_pinned),
		RIG_TEST(sideband),    RIG_TEST(life),
	};
	/* clang-format on */

	return RIG_RUN(tests);
}
