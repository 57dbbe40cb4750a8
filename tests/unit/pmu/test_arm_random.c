// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program, an SPE unit or a trace unit with its TRBE, a driver, a core and a slow reader at
 * random, against invariants: each unread byte is one that the unit stored there and a record
 * covers, or padding that no record covers; sum of AUX sizes = stored; produced = stored + dropped
 * + not requested; a reader can learn of every event that is off.
 */
#include "support_arm.h"
#include <stdio.h>
#include <string.h>

static unsigned int nr_truncated, nr_wraps, nr_late, nr_collisions, nr_padded;

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
	struct arm_session s;
	bool is_spe, in;
	int irq_wait; /* steps until a raised line is served */
};

static void produce(struct random_run *w, u64 nr_bytes)
{
	while (nr_bytes) {
		u64 nr = 1 + random_below(w->is_spe ? arm_unit()->spe.max_record : 64);

		if (nr > nr_bytes)
			nr = nr_bytes;
		nr_bytes -= nr;
		if (w->is_spe)
			spe_record(&w->s, (u32)nr);
		else
			trbe_trace(&w->s, (u32)nr);
		if (w->is_spe ? !spe_output_irq(&arm_unit()->spe) :
				!trbe_output_irq(&arm_unit()->trbe))
			continue;
		if (w->irq_wait-- > 0)
			continue;
		if (w->is_spe)
			spe_take_irq();
		else
			trbe_take_irq();
		w->irq_wait = rand() % 3 ? 0 : rand() % 100;
		nr_late += w->irq_wait > 0;
	}
}

static void sched(struct random_run *w, bool in)
{
	if (w->in == in)
		return;
	w->in = in;
	if (in)
		arm_in(&w->s);
	else
		arm_out(&w->s);
}

static void reader(struct random_run *w)
{
	u64 tail = arm_aux_tail(&w->s), head, to;

	arm_records(&w->s);
	arm_check_unread(&w->s);
	head = to = arm_aux_head(&w->s);
	if (rand() % 3)
		to = tail + random_below(head - tail + 1);
	nr_wraps += to / w->s.aux_size != tail / w->s.aux_size;
	arm_set_tail(&w->s, to);
	/* D21: what a reader does after a truncation, or without progress */
	if (!w->in || !(w->is_spe ? spe_on() : trbe_on()) || !(rand() % 30))
		arm_reenable(&w->s);
}

static void one_run(const char *kernel, bool is_spe, unsigned int seed)
{
	struct random_run w = {.is_spe = is_spe};
	u64 aux_pages, sum = 0, stored, dropped;
	u32 align;

	srand(seed);
	align = 1u << rand() % 8;
	aux_pages = 4ull << rand() % 4;
	if (is_spe) {
		u32 max_record = 1u << (4 + rand() % 8);

		assert_int_equal(spe_start(kernel,
					   max_record < align ? align < 16 ? 16 : align :
								max_record,
					   align),
				 0);
		spe_session(&w.s);
	} else {
		assert_int_equal(trbe_start(kernel, align, rand() % 4), 0);
		trbe_session(&w.s);
		arm.fifo_size = rand() % 2 ? 0 : (u32)random_below(128);
	}
	arm.cpu = rand() % 2 ? 0 : 5;
	core_set_cpu(arm.cpu);
	arm_unit()->spe.irq_delay_bytes = arm_unit()->trbe.irq_delay_bytes =
		rand() % 2 ? 0 : (u32)random_below(2 * P);
	w.s.attr.aux_watermark = random_watermark(aux_pages * P);
	assert_int_equal(arm_open(&w.s, aux_pages, true), 0);
	for (int step = 0; step < 60; step++) {
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
				produce(&w, rand() % 4 ? random_below(2 * P) :
							 random_below(aux_pages * P));
		}
	}
	sched(&w, false);
	arm_records(&w.s);
	arm_check_unread(&w.s);
	assert_int_equal(w.s.nr_lost, 0);
	for (size_t i = 0; i < w.s.nr_records; i++) {
		sum += w.s.records[i].size;
		nr_truncated += !!(w.s.records[i].flags & TRUNCATED);
		nr_collisions += !!(w.s.records[i].flags & COLLISION);
	}
	nr_padded += sum != arm_aux_head(&w.s);
	stored = is_spe ? arm_unit()->spe.nr_written : arm_unit()->trbe.nr_written;
	dropped = is_spe ? arm_unit()->spe.nr_dropped : arm_unit()->trbe.nr_dropped;
	assert_int_equal(w.s.produced, stored + dropped + w.s.produced_off);
	assert_int_equal(w.s.nr_stored, stored);
	if (is_spe)
		stored += arm_unit()->spe.nr_padding;
	if (!w.s.skips_reported)
		assert_int_equal(sum, stored);
	else
		assert_true(sum >= stored && (sum - stored) % 256 == 0);
	arm_close(&w.s);
	if (is_spe)
		spe_end();
	else
		trbe_end();
}

static void random_configurations(bool is_spe)
{
	nr_truncated = nr_wraps = nr_late = nr_collisions = nr_padded = 0;
	for (const struct core_kernel *const *k = core_kernels; *k; k++)
		for (unsigned int seed = 1; seed <= 200; seed++)
			one_run((*k)->name, is_spe, seed);
	print_message("truncated %u, collisions %u, wraps %u, late interrupts %u, padded %u\n",
		      nr_truncated, nr_collisions, nr_wraps, nr_late, nr_padded);
	assert_true(nr_truncated > 100 && nr_wraps > 500 && nr_late > 100 && nr_padded > 100);
	assert_true(is_spe ? !nr_collisions : nr_collisions > 500);
}

static void spe(void **state)
{
	(void)state;
	random_configurations(true);
}

static void trbe(void **state)
{
	(void)state;
	random_configurations(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spe),
		cmocka_unit_test(trbe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
