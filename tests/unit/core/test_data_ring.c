// SPDX-License-Identifier: BSD-2-Clause
/* Section E, the data ring: space, losses, nesting, wakeups, pause; the vectors of section M. */
#include "support_rig.h"

static u64 lost_samples(struct perf_event *event)
{
	u64 words[3];

	assert_int_equal(core_event_read(event, words, sizeof(words)), 24);
	return words[2];
}

/* M, E4, E6: how many records of a size fit, and which one wakes the reader. */
static void one_vector(unsigned int size, int fit, int wake)
{
	struct perf_event_attr attr;
	int nr = 0, first_wake = -1;
	struct rig rig;

	rig_init(&rig, 0);
	attr = rig_dummy_attr();
	rig_start(&rig, &attr, 1, 0, 0);
	while (!rig_record(rig.event, size)) {
		core_irq_work_run();
		if (rig.nr_wakeups && first_wake < 0)
			first_wake = nr;
		nr++;
	}
	assert_int_equal(nr, fit);
	assert_int_equal(first_wake, wake);
	assert_int_equal(lost_samples(rig.event), 1);
	assert_int_equal(rig.page->data_head, (u64)fit * size);
	rig_fini(&rig);
}

static void m_vectors(void)
{
	one_vector(64, 63, 32);
	one_vector(40, 102, 51);
}

/* E2: without a ring records vanish; paused they are counted; E13 */
static void e2_e13_no_ring_and_pause(void)
{
	struct perf_event_attr attr;
	struct rig_lost lost;
	struct rig rig;

	rig_init(&rig, 0);
	attr = rig_dummy_attr();
	rig.event = rig_open(&rig, &attr);
	assert_int_equal(rig_record(rig.event, 24), -ENOSPC);
	assert_int_equal(lost_samples(rig.event), 0);
	assert_int_equal(core_event_ioctl(rig.event, PERF_EVENT_IOC_PAUSE_OUTPUT, 1, NULL),
			 -EINVAL);
	assert_int_equal(rig_map(rig.event, 2 * P, RW, 0, &rig.ring), 0);
	rig.page = rig.ring->addr;
	assert_int_equal(core_event_ioctl(rig.event, PERF_EVENT_IOC_PAUSE_OUTPUT, 1, NULL), 0);
	assert_int_equal(rig_record(rig.event, 24), -ENOSPC);
	assert_int_equal(rig_record(rig.event, 24), -ENOSPC);
	assert_int_equal(lost_samples(rig.event), 2);
	assert_false(rig_next(&rig, &lost, sizeof(lost)));
	assert_int_equal(core_event_ioctl(rig.event, PERF_EVENT_IOC_PAUSE_OUTPUT, 0, NULL), 0);
	assert_int_equal(rig_record(rig.event, 24), 0);
	assert_true(rig_next(&rig, &lost, sizeof(lost)));
	assert_int_equal(lost.header.type, PERF_RECORD_LOST);
	assert_int_equal(lost.lost, 2);
	rig_fini(&rig);
}

/*
 * E13, F3: pausing does not stop AUX hardware; the AUX record is lost and counted, its trace bytes
 * exist.
 */
static void e13_aux_record_lost_in_pause(void)
{
	struct perf_event_attr attr;
	struct rig_lost lost;
	struct rig rig;

	rig_init(&rig, 0);
	attr = rig_attr();
	rig_start(&rig, &attr, 1, 4, RW);
	core_task_sched_in(&rig.task);
	assert_int_equal(core_event_ioctl(rig.event, PERF_EVENT_IOC_PAUSE_OUTPUT, 1, NULL), 0);
	fake.pending = 100;
	core_task_sched_out(&rig.task);
	assert_int_equal(rig.page->aux_head, 100);
	assert_int_equal(lost_samples(rig.event), 1);
	assert_false(rig_next(&rig, &lost, sizeof(lost)));
	rig_fini(&rig);
}

/* E3: a record that would fit alone is dropped if the LOST before it does not fit. */
static void e3_lost_needs_space_of_its_own(bool sample_id)
{
	unsigned int lost_size = 24 + (sample_id ? 16 : 0);
	struct perf_event_attr attr;
	struct perf_event_header h;
	struct rig_lost lost;
	struct rig rig;

	rig_init(&rig, 0);
	attr = rig_dummy_attr();
	attr.sample_id_all = sample_id;
	attr.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER;
	rig_start(&rig, &attr, 1, 0, 0);
	/* 64 bytes each with the sample id */
	while (!rig_record(rig.event, sample_id ? 48 : 64))
		;
	assert_true(rig_next(&rig, &h, sizeof(h)));
	/* free: 64 + 63 bytes; LOST and a record of 128 - lost_size do not fit, by one byte */
	assert_int_equal(rig_record(rig.event, 128 - lost_size - (sample_id ? 16 : 0)), -ENOSPC);
	assert_int_equal(lost_samples(rig.event), 2);
	assert_int_equal(rig_record(rig.event, 120 - lost_size - (sample_id ? 16 : 0)), 0);
	for (int i = 0; i < 62; i++)
		assert_true(rig_next(&rig, &h, sizeof(h)));
	assert_true(rig_next(&rig, &lost, sizeof(lost)));
	assert_int_equal(lost.header.type, PERF_RECORD_LOST);
	assert_int_equal(lost.header.size, lost_size);
	assert_int_equal(lost.lost, 2);
	assert_int_equal(lost.id, core_event_id(rig.event));
	if (sample_id) {
		assert_int_equal(lost.sample_id[1], core_event_id(rig.event));
		assert_true(lost.sample_id[0] != 0);
	}
	assert_true(rig_next(&rig, &h, sizeof(h)));
	assert_int_equal(h.type, 77);
	assert_int_equal(lost_samples(rig.event), 2); /* E9: not reset */
	rig_fini(&rig);
}

static void e3_lost_needs_space(void)
{
	e3_lost_needs_space_of_its_own(false);
	e3_lost_needs_space_of_its_own(true);
}

/* E8, E9: two events on one ring: lost counts all, the id is that of the event whose record fit. */
static void e8_e9_lost_of_a_shared_ring(void)
{
	struct perf_event_attr attr;
	struct perf_event *other;
	struct rig_lost lost;
	struct rig rig;

	rig_init(&rig, 0);
	attr = rig_dummy_attr();
	rig_start(&rig, &attr, 1, 0, 0);
	other = rig_open(&rig, &attr);
	assert_int_equal(core_event_ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, 0, rig.event), 0);
	while (!rig_record(rig.event, 64))
		;
	assert_int_equal(rig_record(other, 64), -ENOSPC);
	assert_int_equal(rig_record(other, 64), -ENOSPC);
	rig_read_all(&rig);
	assert_int_equal(rig_record(other, 64), 0);
	assert_true(rig_next(&rig, &lost, sizeof(lost)));
	assert_int_equal(lost.header.type, PERF_RECORD_LOST);
	assert_int_equal(lost.id, core_event_id(other));
	assert_int_equal(lost.lost, 3);
	assert_int_equal(lost_samples(rig.event), 1);
	assert_int_equal(lost_samples(other), 2);
	rig_read_all(&rig);
	assert_int_equal(rig_record(other, 64), 0);
	assert_true(rig_next(&rig, &lost, sizeof(lost)));
	assert_int_equal(lost.header.type, 77); /* counter was reset */
	core_event_close(other);
	rig_fini(&rig);
}

/*
 * E4: the reader writes the tail; no value makes the core write out of bounds or stop for ever.
 */
static void e4_foolish_tails(void)
{
	struct perf_event_attr attr;
	struct rig rig;

	rig_init(&rig, 0);
	attr = rig_dummy_attr();
	rig_start(&rig, &attr, 1, 0, 0);
	for (int i = 0; i < 1000; i++) {
		rig.page->data_tail = (u64)random() << 33 ^ (u64)random();
		rig_record(rig.event, (unsigned int)(8 + random() % 500 * 8));
	}
	rig_fini(&rig);

	rig_init(&rig, 0);
	rig_start(&rig, &attr, 1, 0, 0);
	rig.page->data_tail = 64; /* ahead of head: (64 - 0 - 1) bytes free */
	assert_int_equal(rig_record(rig.event, 64), -ENOSPC);
	rig.page->data_tail = 65 + 24; /* 24 bytes more for the LOST */
	assert_int_equal(rig_record(rig.event, 64), 0);
	rig_fini(&rig);
}

/* E5: backward, head descends from 0 as a u64; space and watermark are mirrored. */
static void e5_backward(void)
{
	struct perf_event_attr attr;
	struct perf_event_header h;
	int nr = 0, first_wake = -1;
	struct rig rig;

	rig_init(&rig, 0);
	attr = rig_dummy_attr();
	attr.write_backward = 1;
	rig_start(&rig, &attr, 1, 0, 0);
	assert_int_equal(rig_record(rig.event, 64), 0);
	assert_true(rig.page->data_head == (u64)-64);
	memcpy(&h, (char *)rig.page + P + (4096 - 64), sizeof(h));
	assert_int_equal(h.type, 77);
	assert_int_equal(h.size, 64);
	for (nr = 1; !rig_record(rig.event, 64); nr++) {
		core_irq_work_run();
		if (rig.nr_wakeups && first_wake < 0)
			first_wake = nr;
	}
	assert_int_equal(nr, 63);
	assert_int_equal(first_wake, 32);
	rig_fini(&rig);
}

/*
 * E6: strictly beyond; default half the ring; a given one is capped; once per record; also with
 * attr.watermark = 0
 */
static void e6_watermark(void)
{
	/* clang-format off */
	static const struct {
		bool given;
		u32 watermark;
		unsigned int size;
		int first_wake, second_wake;
	} cases[] = {
		{ false, 0, 1024, 2, -1 },  /* 2048 is not beyond 2048 */
		{ true, 1000, 1008, 0, 1 },
		{ true, 1008, 1008, 1, 2 },
		/* capped at D, never passed while one byte is free */
		{ true, 999999, 1024, -1, -1 },
		{ true, 0, 1024, 2, -1 },    /* 0: the default */
	};
	/* clang-format on */

	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		int wakes[2] = {-1, -1}, seen = 0;
		struct perf_event_attr attr;
		struct rig rig;

		rig_init(&rig, 0);
		attr = rig_dummy_attr();
		attr.watermark = cases[c].given;
		attr.wakeup_watermark = cases[c].watermark;
		rig_start(&rig, &attr, 1, 0, 0);
		for (int i = 0; !rig_record(rig.event, cases[c].size); i++) {
			core_irq_work_run();
			if (rig.nr_wakeups > seen && seen < 2)
				wakes[seen] = i;
			seen = rig.nr_wakeups;
		}
		assert_int_equal(wakes[0], cases[c].first_wake);
		assert_int_equal(wakes[1], cases[c].second_wake);
		rig_fini(&rig);
	}
}

/*
 * E6: a watermark beyond the ring is the ring's size; a reader who keeps up is woken at each wrap.
 */
static void e6_capped(void)
{
	struct perf_event_attr attr;
	struct rig rig;

	rig_init(&rig, 0);
	attr = rig_dummy_attr();
	attr.watermark = 1;
	attr.wakeup_watermark = 999999;
	rig_start(&rig, &attr, 1, 0, 0);
	for (int i = 1; i <= 200; i++) {
		assert_int_equal(rig_record(rig.event, 64), 0);
		rig_read_all(&rig);
		core_irq_work_run();
		assert_int_equal(rig.nr_wakeups, (i * 64 - 1) / 4096);
	}
	rig_fini(&rig);
}

/*
 * E6: one record over several watermarks advances the position by one; the next records wake, too.
 */
static void e6_once_per_record(void)
{
	struct perf_event_attr attr;
	struct rig rig;

	rig_init(&rig, 0);
	attr = rig_dummy_attr();
	attr.watermark = 1;
	attr.wakeup_watermark = 100;
	rig_start(&rig, &attr, 1, 0, 0);
	assert_int_equal(rig_record(rig.event, 1000), 0);
	assert_int_equal(rig.event->rb->wakeup, 100);
	core_irq_work_run();
	assert_int_equal(rig.nr_wakeups, 1);
	assert_int_equal(rig_record(rig.event, 8), 0);
	assert_int_equal(rig.event->rb->wakeup, 200);
	core_irq_work_run();
	assert_int_equal(rig.nr_wakeups, 2);
	rig_fini(&rig);
}

/* E7: wakeup_events counts samples alone, and costs a byte of skew. */
static void e7_wakeup_events(void)
{
	static const unsigned char body[24];
	struct perf_event_attr attr;
	struct rig rig;

	rig_init(&rig, 0);
	attr = rig_dummy_attr();
	attr.wakeup_events = 3;
	rig_start(&rig, &attr, 1, 0, 0);
	for (int i = 1; i <= 9; i++) {
		assert_int_equal(rig_record(rig.event, 32), 0);
		core_irq_work_run();
		assert_int_equal(rig.nr_wakeups, (i - 1) / 3);
		assert_int_equal(core_event_record(rig.event, PERF_RECORD_SAMPLE, 0, body, 24), 0);
		core_irq_work_run();
		assert_int_equal(rig.nr_wakeups, i / 3);
	}
	assert_int_equal(rig.event->rb->wakeup, 3);
	rig_fini(&rig);
}

/* E10, E11: the inner writer leaves publishing to the outermost, which also wakes the reader. */
static void e10_e11_nesting(void)
{
	struct perf_event_header h = {.type = 77, .size = 1024};
	struct perf_output_handle outer = {0}, inner = {0};
	struct perf_sample_id id = {0};
	struct perf_event_attr attr;
	struct rig rig;

	rig_init(&rig, 0);
	attr = rig_dummy_attr();
	rig_start(&rig, &attr, 1, 0, 0);
	assert_int_equal(perf_output_begin(&outer, &id, rig.event, 1024), 0);
	perf_output_put(&outer, h);
	assert_int_equal(perf_output_begin(&inner, &id, rig.event, 1032), 0);
	h.size = 1032;
	perf_output_put(&inner, h);
	perf_output_end(&inner);
	assert_int_equal(rig.page->data_head, 0);
	assert_int_equal(rig.event->rb->nest, 1);
	assert_false(core_irq_work_pending());
	perf_output_skip(&outer, 1024 - sizeof(h));
	perf_output_end(&outer);
	assert_int_equal(rig.page->data_head, 2056);
	assert_true(core_irq_work_pending());
	core_irq_work_run();
	assert_int_equal(rig.nr_wakeups, 1);
	/* nor does a failed inner one */
	assert_int_equal(perf_output_begin(&outer, &id, rig.event, 64), 0);
	assert_int_equal(perf_output_begin(&inner, &id, rig.event, 4000), -ENOSPC);
	assert_int_equal(rig.page->data_head, 2056);
	h.size = 64;
	perf_output_put(&outer, h);
	perf_output_end(&outer);
	assert_int_equal(rig.page->data_head, 2056 + 64);
	rig_read_all(&rig);
	rig_fini(&rig);
}

/* E11: a failed begin publishes, and may wake the reader. */
static void e11_failed_begin_publishes(void)
{
	struct perf_event_attr attr;
	struct rig rig;

	rig_init(&rig, 0);
	attr = rig_dummy_attr();
	rig_start(&rig, &attr, 1, 0, 0);
	assert_int_equal(rig_record(rig.event, 64), 0);
	rig.page->data_head = 12345; /* only the reader would write it; overwritten by a publish */
	assert_int_equal(rig_record(rig.event, 4096), -ENOSPC);
	assert_int_equal(rig.page->data_head, 64);
	rig_fini(&rig);
}

/* E12: poll() clears the poll bit, for all events of the ring; every one is woken. */
static void e12_poll(void)
{
	struct perf_event_attr attr;
	struct perf_event *other;
	struct rig rig;

	rig_init(&rig, 0);
	attr = rig_dummy_attr();
	rig_start(&rig, &attr, 1, 0, 0);
	other = rig_open(&rig, &attr);
	assert_int_equal(core_event_poll(other), POLLHUP);
	assert_int_equal(core_event_ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, 0, rig.event), 0);
	rig.nr_wakeups = 0;
	assert_int_equal(core_event_poll(rig.event), 0);
	assert_int_equal(rig_record(other, 2056), 0);
	core_irq_work_run();
	assert_int_equal(rig.nr_wakeups, 2);
	assert_true((rig.woken[0] == other && rig.woken[1] == rig.event) ||
		    (rig.woken[1] == other && rig.woken[0] == rig.event));
	assert_int_equal(core_event_poll(rig.event), POLLIN | POLLRDNORM);
	assert_int_equal(core_event_poll(other), 0);
	core_task_exit(&rig.task); /* dead events hang up */
	assert_int_equal(core_event_poll(rig.event), POLLHUP);
	core_event_close(other);
	rig_fini(&rig);
}

/* E14: an overwrite ring is never full and never loses; backward it is parseable from its head. */
static void e14_overwrite(void)
{
	struct perf_event_attr attr;
	struct perf_event_header *h;
	struct rig rig;
	u64 at, seen = 0;
	unsigned int nr = 0, size;

	rig_init(&rig, 0);
	attr = rig_dummy_attr();
	attr.write_backward = 1;
	rig.event = rig_open(&rig, &attr);
	assert_int_equal(rig_map(rig.event, 2 * P, PROT_READ, 0, &rig.ring), 0);
	rig.page = rig.ring->addr;
	for (unsigned int i = 0; i < 1000; i++)
		assert_int_equal(rig_record(rig.event, 24 + i % 7 * 8), 0);
	assert_int_equal(lost_samples(rig.event), 0);
	/* newest first */
	for (at = rig.page->data_head; seen + 72 <= P; at += size, seen += size) {
		size = 24 + (999 - nr++) % 7 * 8;
		h = (void *)((char *)rig.page + P + (at & (P - 1)));
		assert_int_equal(h->type, 77);
		assert_int_equal(h->size, size);
	}
	assert_true(nr > 80);
	rig_fini(&rig);
}

/* E15: sizes are multiples of 8 whatever the body, and the rest is zero. */
static void e15_aligned(void)
{
	struct {
		struct perf_event_header header;
		unsigned char body[16];
	} rec;
	struct perf_event_attr attr;
	struct rig rig;

	rig_init(&rig, 0);
	attr = rig_dummy_attr();
	rig_start(&rig, &attr, 1, 0, 0);
	assert_int_equal(core_event_record(rig.event, 77, 5, "abcdefghi", 9), 0);
	assert_true(rig_next(&rig, &rec, sizeof(rec)));
	assert_int_equal(rec.header.size, 24);
	assert_int_equal(rec.header.misc, 5);
	assert_memory_equal(rec.body, "abcdefghi\0\0\0\0\0\0\0", 16);
	assert_int_equal(core_event_record(rig.event, 77, 0, "", 65536), -E2BIG);
	rig_fini(&rig);
}

/* E1: a child's records go to the parent's ring; F3. */
static void e1_inherited(void)
{
	struct core_task child_task = {.pid = 200, .tid = 201};
	struct perf_event_attr attr;
	struct perf_event *child;
	struct perf_event_header h;
	struct rig rig;

	rig_init(&rig, 0);
	attr = rig_dummy_attr();
	rig_start(&rig, &attr, 1, 0, 0);
	assert_int_equal(core_event_open(&child, NULL, &child_task, -1, NULL, rig.event), 0);
	assert_int_equal(rig_record(child, 64), 0);
	assert_true(rig_next(&rig, &h, sizeof(h)));
	while (!rig_record(child, 64))
		;
	assert_int_equal(lost_samples(rig.event), 1); /* E9: the parent's */
	core_task_exit(&child_task);
	rig_fini(&rig);
}

int main(void)
{
	/* clang-format off */
	static const struct rig_test tests[] = {
		RIG_TEST(m_vectors),		 RIG_TEST(e1_inherited),
		RIG_TEST(e2_e13_no_ring_and_pause), RIG_TEST(e13_aux_record_lost_in_pause),
		RIG_TEST(e3_lost_needs_space),	 RIG_TEST(e4_foolish_tails),
		RIG_TEST(e5_backward),		 RIG_TEST(e6_watermark),
		RIG_TEST(e6_once_per_record), RIG_TEST(e6_capped),	 RIG_TEST(e7_wakeup_events),
		RIG_TEST(e8_e9_lost_of_a_shared_ring), RIG_TEST(e10_e11_nesting),
		RIG_TEST(e11_failed_begin_publishes), RIG_TEST(e12_poll),
		RIG_TEST(e14_overwrite),	 RIG_TEST(e15_aligned),
	};
	/* clang-format on */

	return RIG_RUN(tests);
}
