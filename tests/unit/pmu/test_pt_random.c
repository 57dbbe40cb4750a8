// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program, a unit, a driver, a core and a slow reader at random, against invariants:
 * stored = sum of AUX sizes = final head; what is read is what was stored, in order;
 * unread bytes are never overwritten; every loss is flagged, or shown by the event being
 * off.
 */
#include "support_machine.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define TRUNCATED PERF_AUX_FLAG_TRUNCATED

static unsigned int nr_truncated, nr_wraps, nr_late_irqs, nr_h6,
	nr_d6; /* proof that the run reached the tested cases */

static u64 random_below(u64 n)
{
	return n ? ((u64)rand() << 31 ^ (u64)rand()) % n : 0;
}

static u32 random_watermark(u64 aux_size)
{
	switch (rand() % 4) {
	case 0:
		return 0;
	case 1:
		return (u32)(P << rand() % 5);
	case 2:
		return (u32)(1 + random_below(3 * aux_size));
	default:
		return (u32)(P * (1 + random_below(aux_size / P)));
	}
}

struct random_run {
	struct session s;
	bool in;
	int irq_wait;	    /* packets until a raised line is served */
	u64 dropped_before; /* the unit's count when the open transaction began */
	size_t records_before;
	bool loss_owed; /* a transaction lost bytes and must be flagged */
};

/* The transaction that just ended: if the unit dropped bytes in it, its record says
 * TRUNCATED. */
static void after_transaction(struct random_run *w)
{
	u64 dropped = unit()->out.nr_dropped;

	session_records(&w->s);
	assert_int_equal(w->s.nr_lost, 0);
	if (dropped != w->dropped_before) {
		bool flagged = false;

		for (size_t i = w->records_before; i < w->s.nr_records; i++)
			flagged |= w->s.records[i].flags & TRUNCATED;
		assert_true(flagged);
	}
	for (size_t i = w->records_before; i < w->s.nr_records; i++) {
		nr_truncated += !!(w->s.records[i].flags & TRUNCATED);
		nr_h6 += !w->s.records[i].size;
		assert_true(!(w->s.records[i].flags & ~(u64)TRUNCATED));
	}
	w->dropped_before = dropped;
	w->records_before = w->s.nr_records;
}

/* The unit is off although the task runs: allowed only if a reader can see it. */
static void check_off(const struct random_run *w)
{
	const struct session *s = &w->s;
	u64 unread = session_aux_head(s) - session_aux_tail(s);

	if (!core_event_active(s->event))
		return;
	/* D21 on CPU 0: still active. D6: full, no record. */
	if (s->nr_records && s->records[s->nr_records - 1].flags & TRUNCATED)
		return;
	nr_d6++;
	assert_true(unread >= s->aux_size - 1);
}

static void check_memory(const struct random_run *w)
{
	/* Nothing unread is overwritten: all bytes stored since the tail are still
	 * there. */
	assert_true(w->s.nr_stored - session_aux_tail(&w->s) <= w->s.aux_size);
}

static void serve_irq(struct random_run *w)
{
	if (unit()->irq_line && w->irq_wait-- <= 0) {
		machine_take_irq();
		after_transaction(w);
		w->irq_wait = rand() % 3 ? 0 : rand() % 400;
		nr_late_irqs += w->irq_wait > 0;
	}
}

static void run(struct random_run *w, u64 nr_bytes)
{
	while (nr_bytes) {
		u64 size = 1 + random_below(16);

		if (size > nr_bytes)
			size = nr_bytes;
		if (w->in && !unit_on())
			check_off(w);
		session_packet(&w->s, size);
		check_memory(w);
		nr_bytes -= size;
		serve_irq(w);
	}
}

static void sched(struct random_run *w, bool in)
{
	if (w->in == in)
		return;
	w->in = in;
	if (in) {
		session_in(&w->s);
	} else {
		session_out(&w->s);
		assert_true(!unit_on());
	}
	after_transaction(w);
}

static void reader(struct random_run *w)
{
	u64 tail = session_aux_tail(&w->s), head = session_aux_head(&w->s), to = head;

	session_check_unread(&w->s);
	if (rand() % 3)
		to = tail + random_below(head - tail + 1);
	nr_wraps += to / w->s.aux_size != tail / w->s.aux_size;
	session_set_tail(&w->s, to);
	/* D21: what a reader does after a truncation */
	if (!w->in || !unit_on() || !(rand() % 30)) {
		core_event_ioctl(w->s.event, PERF_EVENT_IOC_DISABLE, 0, NULL);
		core_irq_work_run();
		after_transaction(w);
		core_event_ioctl(w->s.event, PERF_EVENT_IOC_ENABLE, 0, NULL);
		core_irq_work_run();
		after_transaction(w);
	}
}

static void one_run(const char *kernel, unsigned int seed)
{
	struct random_run w = {0};
	u64 aux_pages, sum = 0;

	srand(seed);
	machine_start(kernel);
	machine.cpu = rand() % 2 ? 0 : 5;
	core_set_cpu(machine.cpu);
	machine.random_orders = rand() % 2;
	aux_pages = 1ull << rand() % 6;
	session_init(&w.s);
	w.s.attr.aux_watermark = random_watermark(aux_pages * P);
	assert_int_equal(session_open(&w.s, 64, aux_pages, true), 0);
	unit()->out.irq_delay_bytes = rand() % 2 ? 0 : (u32)random_below(2 * P);
	for (int step = 0; step < 120; step++) {
		switch (rand() % 6) {
		case 0:
			sched(&w, !w.in);
			break;
		case 1:
		case 2:
			reader(&w);
			break;
		default:
			if (w.in)
				run(&w, rand() % 4 ? random_below(2 * P) :
						     random_below(2 * aux_pages * P));
		}
	}
	sched(&w, false);
	reader(&w);
	session_set_tail(&w.s, session_aux_head(&w.s));
	for (size_t i = 0; i < w.s.nr_records; i++)
		sum += w.s.records[i].size;
	assert_int_equal(sum, session_aux_head(&w.s));
	assert_int_equal(sum, unit()->out.nr_written);
	assert_int_equal(sum, w.s.nr_stored);
	assert_int_equal(w.s.produced, w.s.nr_stored + unit()->out.nr_dropped + w.s.produced_off);
	session_close(&w.s);
	machine_end();
}

static void random_configurations(void **state)
{
	(void)state;
	for (const struct core_kernel *const *k = core_kernels; *k; k++)
		for (unsigned int seed = 1; seed <= 400; seed++)
			one_run((*k)->name, seed);
	print_message("truncated %u, wraps %u, late interrupts %u, empty records %u, full "
		      "without a record %u\n",
		      nr_truncated, nr_wraps, nr_late_irqs, nr_h6, nr_d6);
	assert_true(nr_truncated > 1000 && nr_wraps > 1000 && nr_late_irqs > 100 && nr_h6 > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_configurations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
