// SPDX-License-Identifier: BSD-2-Clause
/*
 * A random driver against a random reader, step by step, with invariants at every step:
 * bytes written = sum of AUX sizes + skipped = final head; unread bytes are never touched;
 * every LOST count exact; everything in the ring parses. SEED=n repeats a run.
 */
#include "support_rig.h"
#include <time.h>

static uint64_t rng;

static uint64_t dice(uint64_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng % n;
}

/* What the hardware puts at an absolute position. */
static unsigned char pattern(u64 at_abs)
{
	return (unsigned char)((at_abs * 0x9e3779b97f4a7c15ull) >> 56);
}

struct totals {
	u64 written, skipped;	    /* by the driver */
	u64 aux_sizes, aux_records; /* of records the reader got */
	u64 sizes_of_lost;	    /* of AUX records that found no space */
	u64 lost_reported, lost;    /* by LOST records; by the driver's own count */
	u64 truncations;
	u64 aux_tail_abs;
	u64 wakeup; /* D18: the next wakeup position, computed here */
};

static u64 lost_samples(struct rig *rig)
{
	u64 words[3];

	assert_int_equal(core_event_read(rig->event, words, sizeof(words)), 24);
	return words[2];
}

static void reader_step(struct rig *rig, struct totals *a)
{
	struct rig_aux rec;
	u64 head_abs, size = rig->page->aux_size;
	const unsigned char *aux = rig->aux->addr;
	u64 to;

	/* the second word of a LOST is its count */
	for (u64 n = dice(4); n && rig_next(rig, &rec, sizeof(rec)); n--) {
		if (rec.header.type == PERF_RECORD_LOST) {
			a->lost_reported += rec.size;
		} else if (rec.header.type == PERF_RECORD_AUX) {
			a->aux_sizes += rec.size;
			a->aux_records++;
			assert_true(rec.offset + rec.size <= a->written + a->skipped);
		} else {
			assert_int_equal(rec.header.type, 77);
		}
	}
	head_abs = __atomic_load_n(&rig->page->aux_head, __ATOMIC_ACQUIRE);
	assert_true(head_abs - a->aux_tail_abs < size);
	if (dice(3))
		return;
	to = dice(2) ? head_abs : a->aux_tail_abs + dice(head_abs - a->aux_tail_abs + 1);
	for (; a->aux_tail_abs < to; a->aux_tail_abs++)
		assert_int_equal(aux[a->aux_tail_abs & (size - 1)], pattern(a->aux_tail_abs));
	__atomic_store_n(&rig->page->aux_tail, a->aux_tail_abs, __ATOMIC_RELEASE);
}

static void hardware_writes(struct rig *rig, u64 at_abs, u64 n)
{
	u64 mask = rig->page->aux_size - 1;

	while (n--) { /* into the pages given to the driver, as a unit would */
		u64 off = at_abs & mask;

		((unsigned char *)rig->event->rb->aux_pages[off / P])[off % P] = pattern(at_abs);
		at_abs++;
	}
}

static void note_head(struct totals *a, u64 watermark)
{
	u64 head = a->written + a->skipped;

	if (head >= a->wakeup + watermark)
		a->wakeup = head / watermark * watermark;
}

static void driver_step(struct rig *rig, struct totals *a, u64 watermark)
{
	u64 head = a->written + a->skipped, size = rig->page->aux_size;
	u64 lost = lost_samples(rig), flags = 0, n;

	if (!perf_aux_output_begin(&rig->handle, rig->event)) {
		assert_int_equal(head - a->aux_tail_abs, size - 1); /* D5, D6: only when full */
		assert_int_equal(lost_samples(rig), lost);
		a->truncations++;
		return;
	}
	assert_int_equal(rig->handle.head, head);
	assert_int_equal(rig->handle.size, size - 1 - (head - a->aux_tail_abs));
	assert_int_equal(rig->handle.wakeup, a->wakeup + watermark);
	while (!dice(4)) {
		n = dice(dice(2) ? 64 : 9000);
		if (n > rig->handle.size) {
			assert_int_equal(perf_aux_output_skip(&rig->handle, n), -ENOSPC);
			continue;
		}
		hardware_writes(rig, rig->handle.head, n);
		assert_int_equal(perf_aux_output_skip(&rig->handle, n), 0);
		a->skipped += n;
		note_head(a, watermark);
		assert_int_equal(rig->page->aux_head, a->written + a->skipped);
	}
	n = dice(5) ? dice(rig->handle.size + 1) : rig->handle.size;
	if (dice(3))
		n = n < 500 ? n : n % 500;
	hardware_writes(rig, rig->handle.head, n);
	if (!dice(6))
		flags |= PERF_AUX_FLAG_PARTIAL;
	perf_aux_output_flag(&rig->handle, flags);
	perf_aux_output_end(&rig->handle, n);
	a->written += n;
	note_head(a, watermark);
	if (lost_samples(rig) != lost) {
		assert_int_equal(lost_samples(rig), lost + 1);
		a->sizes_of_lost += n;
		a->lost++;
	}
	assert_int_equal(rig->page->aux_head, a->written + a->skipped);
}

static void one_run(void)
{
	u64 watermark = dice(2) ? 1 + dice(40000) : 0;
	unsigned long aux_pages = 1ul << dice(5);
	struct perf_event_attr attr;
	struct totals a = {0};
	struct rig_aux rec;
	struct rig rig;

	rig_init(&rig, 0);
	fake.manual = true;
	attr = rig_attr();
	attr.aux_watermark = (u32)watermark;
	attr.sample_id_all = dice(2);
	attr.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_TID | PERF_SAMPLE_IDENTIFIER;
	rig_start(&rig, &attr, 1, aux_pages, RW);
	watermark = rig.event->rb->aux_watermark;
	for (int i = 0; i < 2000; i++) {
		if (core_event_active(rig.event) && rig.task.cpu_plus1) {
			driver_step(&rig, &a, watermark);
		} else if (!rig.task.cpu_plus1) {
			core_set_cpu(1 + (int)dice(5));
			core_task_sched_in(&rig.task);
		} else if (dice(2)) { /* D21: only the reader enables it again */
			assert_int_equal(rig.event->state, PERF_EVENT_STATE_OFF);
			core_event_ioctl(rig.event, PERF_EVENT_IOC_ENABLE, 0, NULL);
		}
		if (!dice(3) && rig_record(rig.event, (unsigned int)(8 + dice(60) * 8)))
			a.lost++;
		if (dice(2))
			core_irq_work_run();
		if (rig.task.cpu_plus1 && !dice(20))
			core_task_sched_out(&rig.task);
		if (dice(3))
			reader_step(&rig, &a);
	}
	core_irq_work_run();
	/* the last LOST is written with the next record that fits */
	while (rig_next(&rig, &rec, sizeof(rec))) {
		a.lost_reported += rec.header.type == PERF_RECORD_LOST ? rec.size : 0;
		a.aux_sizes += rec.header.type == PERF_RECORD_AUX ? rec.size : 0;
	}
	assert_int_equal(rig_record(rig.event, 64), 0);
	while (rig_next(&rig, &rec, sizeof(rec)))
		a.lost_reported += rec.header.type == PERF_RECORD_LOST ? rec.size : 0;
	assert_int_equal(a.lost_reported, a.lost);
	assert_int_equal(lost_samples(&rig), a.lost);
	assert_int_equal(rig.page->aux_head, a.written + a.skipped);
	assert_int_equal(a.aux_sizes + a.sizes_of_lost, a.written);
	assert_int_equal(rig.event->rb->aux_wakeup, a.wakeup);
	assert_int_equal(rig.event->rb->aux_refcount, 1);
	assert_int_equal(rig.event->rb->refcount, 1);
	rig_fini(&rig);
}

static void properties(void)
{
	for (int i = 0; i < 40; i++)
		one_run();
}

int main(void)
{
	static const struct rig_test tests[] = {RIG_TEST(properties)};

	rng = getenv("SEED") ? strtoull(getenv("SEED"), NULL, 0) : (uint64_t)time(NULL);
	printf("SEED=%llu\n", (unsigned long long)rng);
	rng = rng * 0x9e3779b97f4a7c15ull | 1;
	return RIG_RUN(tests);
}
