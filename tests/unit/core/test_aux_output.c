// SPDX-License-Identifier: BSD-2-Clause
/* Section D: AUX transactions, watermark, truncation and its consequences. */
#include "support_rig.h"

#define B (16 * P)

/* An event whose transactions the test opens itself. W: 0 for the default. */
static void start(struct rig *rig, u32 watermark, int prot)
{
	struct perf_event_attr attr;

	rig_init(rig, 0);
	fake.manual = true;
	attr = rig_attr();
	attr.aux_watermark = watermark;
	rig_start(rig, &attr, 4, 16, prot);
	core_task_sched_in(&rig->task);
}

static void *begin(struct rig *rig)
{
	return perf_aux_output_begin(&rig->handle, rig->event);
}

static void set_tail(struct rig *rig, u64 tail_abs)
{
	__atomic_store_n(&rig->page->aux_tail, tail_abs, __ATOMIC_RELEASE);
}

static int wakeups(struct rig *rig)
{
	int before = rig->nr_wakeups;

	core_irq_work_run();
	return rig->nr_wakeups - before;
}

/* D2, D3, D4, D20 */
static void d2_d3_begin_fails(void)
{
	struct perf_event_attr attr;
	struct perf_event *event;
	struct rig rig;

	rig_init(&rig, 0);
	fake.manual = true;
	attr = rig_attr();
	event = rig.event = rig_open(&rig, &attr);
	/* D3: no ring, handle->event is not touched */
	rig.handle.event = (void *)&rig;
	assert_null(begin(&rig));
	assert_ptr_equal(rig.handle.event, &rig);
	/* a ring without AUX */
	assert_int_equal(rig_map(event, 2 * P, RW, 0, &rig.ring), 0);
	rig.page = rig.ring->addr;
	assert_null(begin(&rig));
	assert_null(rig.handle.event);
	assert_null(perf_get_aux(&rig.handle)); /* D20 */
	assert_int_equal(event->rb->refcount, 1);
	assert_int_equal(rig_map_aux(&rig, 16, RW), 0);
	/* D2: no mapping is left, though a reference is (B18 in progress) */
	event->rb->aux_mmap_count = 0;
	rig.handle.event = event;
	assert_null(begin(&rig));
	assert_null(rig.handle.event);
	assert_int_equal(event->rb->aux_refcount, 1);
	event->rb->aux_mmap_count = 1;
	/* D2: mapped, but the last reference is gone */
	event->rb->aux_refcount = 0;
	assert_null(begin(&rig));
	assert_int_equal(event->rb->aux_refcount, 0);
	event->rb->aux_refcount = 1;
	/* D4 */
	rig.handle.aux_flags = 0xff;
	rig.handle.size = 1;
	assert_ptr_equal(begin(&rig), &fake);
	assert_ptr_equal(rig.handle.event, event);
	assert_int_equal(rig.handle.aux_flags, 0);
	assert_int_equal(rig.handle.head, 0);
	assert_ptr_equal(perf_get_aux(&rig.handle), &fake); /* D20 */
	assert_int_equal(event->rb->refcount, 2);
	assert_int_equal(event->rb->aux_refcount, 2);
	perf_aux_output_end(&rig.handle, 0);
	/* D17 */
	assert_null(rig.handle.event);
	assert_int_equal(event->rb->refcount, 1);
	assert_int_equal(event->rb->aux_refcount, 1);
	assert_int_equal(event->rb->aux_nest, 0);
	rig_fini(&rig);
}

/* D2: nesting is refused with a warning and does not harm the open transaction. */
static void d2_nesting(void)
{
	struct perf_output_handle second = {0};
	struct rig rig;

	start(&rig, 0, RW);
	assert_non_null(begin(&rig));
	assert_null(perf_aux_output_begin(&second, rig.event));
	assert_null(second.event);
	assert_int_equal(rig.event->rb->aux_refcount, 2);
	perf_aux_output_end(&rig.handle, 10);
	assert_int_equal(rig.page->aux_head, 10);
	assert_non_null(begin(&rig));
	perf_aux_output_end(&rig.handle, 0);
	rig.expected_warnings = 1;
	rig_fini(&rig);
}

/* D5, D8: space by the reader's tail, whatever value the reader wrote. */
static void d5_space(void)
{
	/* clang-format off */
	static const struct {
		u64 head, tail;
		unsigned long size;
	} cases[] = {
		{ 0, 0, B - 1 },
		{ 16584, 16384, B - 1 - 200 }, /* section M: 65335 */
		{ 49162, 0, 16373 },	       /* section M */
		{ 100, 101, 0 },	       /* a tail ahead */
		{ B - 1, 0, 0 },
		{ B, 1, 0 },		       /* one byte short of a wrap: no byte is free */
		{ B, 0, 0 },		       /* a full wrap */
		{ 3 * B, B, 0 },
		{ 5, (u64)-1, B - 1 - 6 },     /* only the difference matters, modulo 2^64 */
		{ 5, 1ull << 63, 0 },
		{ 3 * B + 8, 3 * B, B - 1 - 8 },
	};
	/* clang-format on */
	struct rig rig;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		start(&rig, 16384, RW);
		rig.event->rb->aux_head = cases[i].head;
		set_tail(&rig, cases[i].tail);
		if (!begin(&rig)) {
			assert_int_equal(cases[i].size, 0);
		} else {
			assert_int_equal(rig.handle.size, cases[i].size);
			assert_int_equal(rig.handle.head, cases[i].head);
			assert_int_equal(rig.handle.wakeup, 16384);
			perf_aux_output_end(&rig.handle, 0);
		}
		rig_fini(&rig);
	}
}

/*
 * D6, D21: without space there is no record and no flag; the reader is woken and the event goes
 * OFF, but not on CPU 0 of an old kernel.
 */
static void d6_no_space(void)
{
	static const int cpus[] = {0, 3};

	for (int i = 0; i < 2; i++) {
		bool stays = rig_disable_is_lost(cpus[i]);
		struct rig_aux rec;
		struct rig rig;

		start(&rig, 0, RW);
		core_task_sched_out(&rig.task);
		core_set_cpu(cpus[i]);
		core_task_sched_in(&rig.task);
		rig.event->rb->aux_head = B - 1;
		assert_null(begin(&rig));
		assert_null(rig.handle.event);
		assert_int_equal(rig.event->rb->aux_nest, 0);
		assert_int_equal(rig.event->rb->aux_refcount, 1);
		assert_true(core_event_active(rig.event)); /* not yet: irq_work */
		assert_int_equal(wakeups(&rig), 1);
		assert_int_equal(core_event_poll(rig.event), POLLIN | POLLRDNORM);
		assert_false(rig_next(&rig, &rec, sizeof(rec)));
		assert_int_equal(rig.event->state,
				 stays ? PERF_EVENT_STATE_ACTIVE : PERF_EVENT_STATE_OFF);
		/* how the reader recovers: drain, DISABLE, ENABLE */
		set_tail(&rig, B - 1);
		assert_int_equal(core_event_ioctl(rig.event, PERF_EVENT_IOC_DISABLE, 0, NULL), 0);
		assert_int_equal(rig.event->state, PERF_EVENT_STATE_OFF);
		assert_int_equal(core_event_ioctl(rig.event, PERF_EVENT_IOC_ENABLE, 0, NULL), 0);
		assert_true(core_event_active(rig.event));
		assert_non_null(begin(&rig));
		perf_aux_output_end(&rig.handle, 0);
		rig_fini(&rig);
	}
}

/*
 * D7, D13, D14: overwrite: the tail is ignored, size is 0, the record contains the end, the
 * driver sets aux_head.
 */
static void d7_d13_overwrite(void)
{
	struct rig_aux rec;
	struct rig rig;

	start(&rig, 0, PROT_READ);
	assert_true(rig.event->rb->aux_overwrite);
	set_tail(&rig, 12345);
	rig.handle.wakeup = 777;
	assert_non_null(begin(&rig));
	assert_int_equal(rig.handle.size, 0);
	assert_int_equal(rig.handle.wakeup, 777);
	rig.handle.head = 5000;
	perf_aux_output_end(&rig.handle, B); /* as PT does: H11 */
	assert_true(rig_next(&rig, &rec, sizeof(rec)));
	assert_int_equal(rec.header.type, PERF_RECORD_AUX);
	assert_int_equal(rec.offset, 5000);
	assert_int_equal(rec.size, B);
	assert_int_equal(rec.flags, PERF_AUX_FLAG_OVERWRITE);
	assert_int_equal(rig.page->aux_head, 5000);
	assert_int_equal(wakeups(&rig), 0); /* D18: never */
	/* D13: not monotonic; D14: nothing to report, no record */
	assert_non_null(begin(&rig));
	assert_int_equal(rig.handle.head, 5000);
	rig.handle.head = 40;
	perf_aux_output_end(&rig.handle, 0);
	assert_int_equal(rig.page->aux_head, 40);
	assert_false(rig_next(&rig, &rec, sizeof(rec)));
	rig_fini(&rig);
}

/* D9 */
static void d9_flags(void)
{
	struct rig_aux rec;
	struct rig rig;

	start(&rig, 0, RW);
	assert_non_null(begin(&rig));
	perf_aux_output_flag(&rig.handle, PERF_AUX_FLAG_PARTIAL);
	perf_aux_output_flag(&rig.handle, PERF_AUX_FLAG_COLLISION);
	assert_int_equal(rig.handle.aux_flags, PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_COLLISION);
	perf_aux_output_end(&rig.handle, 8);
	/* A: still readable */
	assert_int_equal(rig.handle.aux_flags, PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_COLLISION);
	assert_true(rig_next(&rig, &rec, sizeof(rec)));
	assert_int_equal(rec.flags, PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_COLLISION);
	rig_fini(&rig);
}

static void d9_overwrite_is_not_for_drivers(void)
{
	struct perf_output_handle handle = {0};
	unsigned long before = core_warnings();

	perf_aux_output_flag(&handle, PERF_AUX_FLAG_OVERWRITE | PERF_AUX_FLAG_TRUNCATED);
	assert_int_equal(handle.aux_flags, 0);
	assert_int_equal(core_warnings(), before + 1);
}

/* D10, D11 */
static void d10_d11_skip(void)
{
	struct rig_aux rec;
	struct rig rig;

	start(&rig, 8192, RW);
	assert_non_null(begin(&rig));
	assert_int_equal(perf_aux_output_skip(&rig.handle, B), -ENOSPC);
	assert_int_equal(rig.page->aux_head, 0);
	assert_int_equal(rig.handle.size, B - 1);
	assert_int_equal(perf_aux_output_skip(&rig.handle, 100), 0);
	assert_int_equal(rig.page->aux_head, 100); /* at once */
	assert_int_equal(rig.handle.head, 100);
	assert_int_equal(rig.handle.size, B - 101);
	assert_int_equal(rig.handle.wakeup, 8192);
	assert_int_equal(wakeups(&rig), 0);
	assert_int_equal(perf_aux_output_skip(&rig.handle, 20000), 0);
	assert_int_equal(rig.handle.wakeup, 16384 + 8192);
	assert_int_equal(wakeups(&rig), 1);
	perf_aux_output_end(&rig.handle, 50);
	assert_true(rig_next(&rig, &rec, sizeof(rec)));
	assert_int_equal(rec.offset, 20100); /* no record covers what was skipped */
	assert_int_equal(rec.size, 50);
	assert_int_equal(rig.page->aux_head, 20150);
	assert_false(rig_next(&rig, &rec, sizeof(rec)));
	rig_fini(&rig);
}

/* D12, D14 [V L2]: when there is a record. */
static void d14_record_or_not(void)
{
	/* clang-format off */
	static const struct {
		unsigned long size;
		u64 flags;
		bool record, record_if_masked; /* after, before L2 */
	} cases[] = {
		{ 0, 0, false, false },
		{ 64, 0, true, true },
		{ 0, PERF_AUX_FLAG_TRUNCATED, true, true },
		{ 0, PERF_AUX_FLAG_PARTIAL, true, true },
		{ 0, PERF_AUX_FLAG_COLLISION, true, true },
		{ 0, 0x0100, true, false },
		{ 0, 0x0100 | PERF_AUX_FLAG_COLLISION, true, true },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool expected = rig_kernel->aux_gate_masks_format ? cases[i].record_if_masked :
								    cases[i].record;
		struct rig_aux rec;
		struct rig rig;

		start(&rig, 0, RW);
		assert_non_null(begin(&rig));
		perf_aux_output_end(&rig.handle, 1000); /* D12: the next starts after this */
		rig_read_all(&rig);
		assert_non_null(begin(&rig));
		perf_aux_output_flag(&rig.handle, cases[i].flags);
		perf_aux_output_end(&rig.handle, cases[i].size);
		assert_int_equal(rig_next(&rig, &rec, sizeof(rec)), expected);
		if (expected) {
			assert_int_equal(rec.header.type, PERF_RECORD_AUX);
			assert_int_equal(rec.header.size, 32);
			assert_int_equal(rec.offset, 1000);
			assert_int_equal(rec.size, cases[i].size);
			assert_int_equal(rec.flags, cases[i].flags);
		}
		assert_int_equal(rig.page->aux_head, 1000 + cases[i].size);
		rig_fini(&rig);
	}
}

/* D15: the record is stamped, written and published before aux_head changes. */
static void d15_record_before_head(void)
{
	struct perf_event_attr attr;
	struct rig_aux rec;
	struct rig rig;

	rig_init(&rig, 0);
	fake.manual = true;
	attr = rig_attr();
	attr.sample_id_all = 1;
	attr.sample_type = PERF_SAMPLE_TIME;
	rig_start(&rig, &attr, 4, 16, RW);
	core_task_sched_in(&rig.task);
	assert_non_null(begin(&rig));
	perf_aux_output_end(&rig.handle, 64);
	assert_non_null(begin(&rig));
	perf_aux_output_end(&rig.handle, 100);
	assert_int_equal(rig.aux_head_at_clock, 64);
	assert_int_equal(rig.page->aux_head, 164);
	assert_true(rig_next(&rig, &rec, sizeof(rec)) && rig_next(&rig, &rec, sizeof(rec)));
	assert_int_equal(rec.offset, 64);
	rig_fini(&rig);
}

/* D16, D21: truncation wakes and disables; by irq_work, or by sched-out if that happens first. */
static void d16_d21_truncated(void)
{
	for (int by_sched_out = 0; by_sched_out < 2; by_sched_out++) {
		for (int cpu = 0; cpu < 2; cpu++) {
			/* sched-out reads pending_disable in every kernel, but the value of CPU 0
			 * means unset */
			bool stays = by_sched_out ? rig_kernel->disable_by_cpu_number && !cpu :
						    rig_disable_is_lost(cpu);
			struct rig_aux rec;
			struct rig rig;

			start(&rig, 0, RW);
			core_task_sched_out(&rig.task);
			core_set_cpu(cpu);
			core_task_sched_in(&rig.task);
			assert_non_null(begin(&rig));
			perf_aux_output_flag(&rig.handle, PERF_AUX_FLAG_TRUNCATED);
			perf_aux_output_end(&rig.handle, 0);
			assert_true(rig_next(&rig, &rec, sizeof(rec)));
			assert_int_equal(rec.size, 0);
			assert_int_equal(rec.flags, PERF_AUX_FLAG_TRUNCATED);
			if (by_sched_out) {
				core_task_sched_out(&rig.task);
				assert_int_equal(rig.event->state,
						 stays ? PERF_EVENT_STATE_INACTIVE :
							 PERF_EVENT_STATE_OFF);
			}
			assert_int_equal(wakeups(&rig), 1);
			if (!by_sched_out) {
				int stops = fake.nr_stops;

				assert_int_equal(rig.event->state, stays ? PERF_EVENT_STATE_ACTIVE :
									   PERF_EVENT_STATE_OFF);
				/* ENABLE alone: nothing happens to an ACTIVE event */
				core_event_ioctl(rig.event, PERF_EVENT_IOC_ENABLE, 0, NULL);
				assert_true(core_event_active(rig.event));
				assert_int_equal(fake.nr_stops, stops);
			}
			rig_fini(&rig);
		}
	}
}

/* A, D4: the flags of the last transaction can be read until a begin succeeds. */
static void d4_flags_stay(void)
{
	struct rig rig;

	start(&rig, 0, RW);
	assert_non_null(begin(&rig));
	perf_aux_output_flag(&rig.handle, PERF_AUX_FLAG_PARTIAL);
	perf_aux_output_end(&rig.handle, 10);
	assert_int_equal(rig.handle.aux_flags, PERF_AUX_FLAG_PARTIAL);
	rig.event->rb->aux_mmap_count = 0;
	assert_null(begin(&rig));
	assert_int_equal(rig.handle.aux_flags, PERF_AUX_FLAG_PARTIAL);
	rig.event->rb->aux_mmap_count = 1;
	assert_non_null(begin(&rig));
	assert_int_equal(rig.handle.aux_flags, 0);
	perf_aux_output_end(&rig.handle, 0);
	rig_fini(&rig);
}

/* D18: signed: an aux_head below aux_wakeup is not 2^64 ahead of it. */
static void d18_signed(void)
{
	struct rig rig;

	start(&rig, 4096, RW);
	assert_non_null(begin(&rig));
	perf_aux_output_end(&rig.handle, 8192);
	assert_int_equal(wakeups(&rig), 1);
	rig.event->rb->aux_head = 0; /* as after an overwrite area was mapped in between */
	assert_non_null(begin(&rig));
	assert_int_equal(perf_aux_output_skip(&rig.handle, 100), 0);
	assert_int_equal(rig.handle.wakeup, 8192 + 4096);
	perf_aux_output_end(&rig.handle, 100);
	assert_int_equal(wakeups(&rig), 0);
	assert_int_equal(rig.event->rb->aux_wakeup, 8192);
	rig_fini(&rig);
}

/* D21: the irq_work finds the event on another CPU and runs there. */
static void d21_other_cpu(void)
{
	struct rig rig;

	start(&rig, 0, RW);
	assert_non_null(begin(&rig));
	perf_aux_output_flag(&rig.handle, PERF_AUX_FLAG_TRUNCATED);
	perf_aux_output_end(&rig.handle, 0);
	core_task_sched_out(&rig.task);
	assert_int_equal(rig.event->state, PERF_EVENT_STATE_OFF);
	rig.event->pending_disable = 1; /* a later pending_disable */
	rig.event->pending_disable_irq = true;
	core_set_cpu(5);
	core_event_ioctl(rig.event, PERF_EVENT_IOC_ENABLE, 0, NULL);
	core_task_sched_in(&rig.task);
	assert_true(core_event_active(rig.event));
	core_set_cpu(3);
	core_irq_work_run();
	assert_true(core_event_active(rig.event)); /* not disabled from this CPU */
	core_set_cpu(5);
	assert_true(core_irq_work_pending());
	core_irq_work_run();
	assert_int_equal(rig.event->state, PERF_EVENT_STATE_OFF);
	rig_fini(&rig);
}

/* D18, D19: >=, rounded down, one wakeup for any number of multiples; W > B is legal. */
static void d18_d19_watermark(void)
{
	/* clang-format off */
	static const struct {
		u32 watermark;
		unsigned long step[4];
		u64 aux_wakeup[4];
		int wakes[4];
	} cases[] = {
		{ 8192, { 8191, 1, 8192, 8192 }, { 0, 8192, 16384, 24576 }, { 0, 1, 1, 1 } },
		{ 1000, { 3500, 499, 1, 10000 }, { 3000, 3000, 4000, 14000 }, { 1, 0, 1, 1 } },
		{ 2 * B, { B - 1, 0, 0, 0 }, { 0, 0, 0, 0 }, { 0, 0, 0, 0 } },
		/* section M, SPE with W 6000 */
		{ 6000, { 8192, 4096, 0, 0 }, { 6000, 12000, 12000, 12000 }, { 1, 1, 0, 0 } },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig rig;

		start(&rig, cases[i].watermark, RW);
		for (int s = 0; s < 4; s++) {
			if (!cases[i].step[s])
				continue;
			assert_non_null(begin(&rig));
			assert_int_equal(rig.handle.wakeup,
					 (s ? cases[i].aux_wakeup[s - 1] : 0) + cases[i].watermark);
			perf_aux_output_end(&rig.handle, cases[i].step[s]);
			assert_int_equal(wakeups(&rig), cases[i].wakes[s]);
			assert_int_equal(rig.event->rb->aux_wakeup, cases[i].aux_wakeup[s]);
		}
		rig_fini(&rig);
	}
}

/* D1, F3: a child writes to the parent's area and ring; the handle's event is the child. */
static void d1_inherited(void)
{
	struct core_task child_task = {.pid = 200, .tid = 201};
	struct perf_event_attr attr;
	struct perf_event *child;
	struct rig_aux rec;
	struct rig rig;

	rig_init(&rig, 0);
	fake.manual = true;
	attr = rig_attr();
	attr.inherit = 1;
	attr.sample_id_all = 1;
	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID;
	assert_int_equal(core_event_open(&rig.event, &attr, &rig.task, 3, NULL, NULL), 0);
	assert_int_equal(rig_map(rig.event, 5 * P, RW, 0, &rig.ring), 0);
	rig.page = rig.ring->addr;
	assert_int_equal(rig_map_aux(&rig, 16, RW), 0);
	assert_int_equal(core_event_open(&child, NULL, &child_task, -1, NULL, rig.event), 0);
	core_task_sched_in(&child_task);
	assert_true(core_event_active(child));
	assert_ptr_equal(perf_aux_output_begin(&rig.handle, child), &fake);
	assert_ptr_equal(rig.handle.event, child);
	perf_aux_output_flag(&rig.handle, PERF_AUX_FLAG_TRUNCATED);
	perf_aux_output_end(&rig.handle, 333);
	assert_int_equal(rig.page->aux_head, 333);
	assert_true(rig_next(&rig, &rec, sizeof(rec)));
	assert_int_equal(rec.size, 333);
	assert_true(rec.id[0] == (201ull << 32 | 200));
	assert_int_equal(rec.id[1], core_event_id(rig.event));
	assert_int_equal(rec.id[2], child->id);
	assert_true(child->id != rig.event->id);
	core_irq_work_run(); /* D21: the child goes OFF; DISABLE, ENABLE on the parent reach it */
	assert_int_equal(child->state, rig_disable_is_lost(core_cpu()) ? PERF_EVENT_STATE_ACTIVE :
									 PERF_EVENT_STATE_OFF);
	core_event_ioctl(rig.event, PERF_EVENT_IOC_DISABLE, 0, NULL);
	core_event_ioctl(rig.event, PERF_EVENT_IOC_ENABLE, 0, NULL);
	assert_true(core_event_active(child));
	core_task_sched_out(&child_task);
	core_task_exit(&child_task);
	rig_fini(&rig);
}

/* Section M, SPE with an idle reader: the core's part, called as a driver would. */
static void m_spe_vector(void)
{
	/* clang-format off */
	static const struct {
		unsigned long skip, size;
		u64 flags;
		bool wakes;
	} steps[] = {
		{ 0, 8192, 0, true },
		{ 0, 4096, 0, false },
		{ 4095, 0, PERF_AUX_FLAG_TRUNCATED, true },
	};
	/* clang-format on */
	u64 sizes = 0, offsets[3] = {0, 8192, 16383};
	struct perf_event_attr attr;
	struct rig_aux rec;
	struct rig rig;

	rig_init(&rig, 0);
	fake.manual = true;
	attr = rig_attr();
	attr.aux_watermark = 8192;
	rig_start(&rig, &attr, 4, 4, RW);
	core_task_sched_in(&rig.task);
	for (int i = 0; i < 3; i++) {
		assert_non_null(begin(&rig));
		if (steps[i].skip)
			assert_int_equal(perf_aux_output_skip(&rig.handle, steps[i].skip), 0);
		perf_aux_output_flag(&rig.handle, steps[i].flags);
		perf_aux_output_end(&rig.handle, steps[i].size);
		assert_int_equal(wakeups(&rig) > 0, steps[i].wakes);
		assert_true(rig_next(&rig, &rec, sizeof(rec)));
		assert_int_equal(rec.offset, offsets[i]);
		assert_int_equal(rec.size, steps[i].size);
		sizes += rec.size;
	}
	assert_int_equal(sizes, 12288);
	assert_int_equal(rig.page->aux_head, 16383);
	rig_fini(&rig);
}

int main(void)
{
	/* clang-format off */
	static const struct rig_test tests[] = {
		RIG_TEST(d1_inherited),	       RIG_TEST(d2_d3_begin_fails),
		RIG_TEST(d2_nesting),	       RIG_TEST(d5_space),
		RIG_TEST(d6_no_space),	       RIG_TEST(d7_d13_overwrite),
		RIG_TEST(d9_flags),	       RIG_TEST(d9_overwrite_is_not_for_drivers),
		RIG_TEST(d10_d11_skip),	       RIG_TEST(d14_record_or_not),
		RIG_TEST(d15_record_before_head), RIG_TEST(d16_d21_truncated),
		RIG_TEST(d21_other_cpu),       RIG_TEST(d18_d19_watermark),
		RIG_TEST(d4_flags_stay),       RIG_TEST(d18_signed),
		RIG_TEST(m_spe_vector),
	};
	/* clang-format on */

	return RIG_RUN(tests);
}
