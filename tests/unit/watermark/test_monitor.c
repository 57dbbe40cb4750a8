// SPDX-License-Identifier: BSD-2-Clause
/*
 * What no fault of the catalogue and no trace unit can do: the kernel's side of the monitor and the
 * reader are called by hand, out of order.
 */
#include "support_run.h"

#include "watermark/sim.h"

static struct auxtap_watermark_result result;

static struct sim *begin(uint64_t read_bytes, int contents)
{
	struct auxtap_watermark_config given = run_config("trbe"), known;
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct sim *sim;

	given.read_bytes = read_bytes;
	given.contents = contents;
	assert_int_equal(config_copy_in_valid(&known, &given, &err), 0);
	sim = sim_new(&known, &result, &err);
	assert_non_null(sim);
	assert_false(result.refused);
	return sim;
}

static uint64_t violated(enum auxtap_watermark_invariant inv)
{
	assert_int_equal(result.nr_violations, result.by_invariant[inv]);
	return result.by_invariant[inv];
}

/* B18: the last munmap frees the pages, once. */
static void test_freed_once(void **state)
{
	struct sim *sim;

	(void)state;
	sim_free(begin(0, 0));
	assert_int_equal(result.nr_violations, 0);

	sim = begin(0, 0);
	monitor_observer.aux_free(sim); /* and sim_free() unmaps them */
	assert_int_equal(result.nr_violations, 0);
	sim_free(sim);
	assert_int_equal(violated(AUXTAP_INV_FREED_ONCE), 1);
	assert_non_null(strstr(result.violations[0].text, "twice"));
}

static void test_never_freed(void **state)
{
	struct sim *sim = begin(0, 0);

	(void)state;
	mon_close(sim);
	assert_int_equal(violated(AUXTAP_INV_FREED_ONCE), 1);
	assert_non_null(strstr(result.violations[0].text, "never"));
	assert_int_equal(mon_open(sim), 0);
	sim_free(sim);
	assert_int_equal(violated(AUXTAP_INV_FREED_ONCE), 1);

	/* a configuration that the kernel refused has none */
	sim = begin(0, 0);
	result.refused = 1;
	mon_close(sim);
	assert_int_equal(result.nr_violations, 0);
	assert_int_equal(mon_open(sim), 0);
	sim_free(sim);
}

/* D2: not in atomic context. */
static void test_freed_in_transaction(void **state)
{
	struct sim *sim = begin(0, 0);

	(void)state;
	sim->mon.in_aux_call = true;
	monitor_observer.aux_free(sim);
	assert_int_equal(violated(AUXTAP_INV_FREED_ONCE), 1);
	assert_non_null(strstr(result.violations[0].text, "atomic"));
	sim->mon.in_aux_call = false;
	sim_free(sim);
	assert_int_equal(violated(AUXTAP_INV_FREED_ONCE), 2);
}

/* The reader finds what the kernel wrote, in its order, and nothing else. */
static void test_records(void **state)
{
	static const struct expected_aux_record wrong[] = {
		{4097, 64, PERF_AUX_FLAG_PARTIAL},
		{4096, 63, PERF_AUX_FLAG_PARTIAL},
		{4096, 64, 0},
	};
	struct sim *sim = begin(0, 0);
	struct monitor *m = &sim->mon;

	(void)state;
	for (u64 i = 0; i < 2 * m->max_expected; i++) { /* the ring of expected records wraps */
		m->expected_records[m->records_written++ % m->max_expected] =
			(struct expected_aux_record){64 * i, 64, 0};
		mon_record(sim, 64 * i, 64, 0);
		assert_int_equal(result.nr_violations, 0);
	}
	/* the oldest one that the ring still holds was read before */
	mon_record(sim, 64 * m->max_expected, 64, 0);
	assert_int_equal(violated(AUXTAP_INV_RECORDS_TRUE), 1);
	for (unsigned int i = 0; i < 3; i++) {
		m->expected_records[m->records_written++ % m->max_expected] =
			(struct expected_aux_record){4096, 64, PERF_AUX_FLAG_PARTIAL};
		mon_record(sim, wrong[i].offset, wrong[i].nr_bytes, wrong[i].flags);
		assert_int_equal(violated(AUXTAP_INV_RECORDS_TRUE), 2 + i);
	}
	sim_free(sim);
}

/* Bytes: those produced, padding where none were; compared once, then free for the next wrap. */
static void test_contents(void **state)
{
	struct sim *sim = begin(0, 1);
	u64 last = sim->aux_size - 1;

	(void)state;
	memset(sim->aux, sim->driver->pad, sim->aux_size);
	sim->aux[last] = 7;
	sim->mon.expected_contents[last] = 1 + 7;
	mon_read(sim, last, last + 2);
	assert_int_equal(result.nr_violations, 0);
	mon_read(sim, last, last + 2); /* it was read: padding is due */
	assert_int_equal(violated(AUXTAP_INV_CONTENTS_TRUE), 1);
	sim->aux[last] = sim->driver->pad;
	sim->aux[0] = sim->driver->pad ^ 1; /* the first byte of the next wrap */
	mon_read(sim, last, last + 1);
	assert_int_equal(violated(AUXTAP_INV_CONTENTS_TRUE), 1);
	mon_read(sim, last, last + 2);
	assert_int_equal(violated(AUXTAP_INV_CONTENTS_TRUE), 2);
	sim_free(sim);
}

/* Reads until the reader sleeps; how often it then has enabled the event. */
static uint64_t read_all(struct sim *sim, u64 nr_bytes)
{
	sim->running = true;
	sim->mon.head += nr_bytes;
	sim->page->aux_head = sim->mon.head;
	sim->mon.mute = true; /* nothing traces here: no progress to be checked */
	reader_wake(sim);
	do {
		reader_step(sim);
	} while (sim->reader.at != NEVER);
	assert_true(sim->reader.tail == sim->page->aux_head);
	sim->running = false;
	return result.nr_reenabled;
}

/* The same with a reader that takes no time: it reads in the wakeup. */
static void test_full_area_prompt(void **state)
{
	struct sim *sim = begin(0, 0);

	(void)state;
	sim->c.reader_latency_ns = sim->c.reader_jitter_ns = sim->c.reader_rate = 0;
	assert_int_equal(read_all(sim, sim->aux_size - 2), 0);
	assert_int_equal(read_all(sim, sim->aux_size - 1), 1);
	assert_int_equal(read_all(sim, 1), 1);
	sim_free(sim);
}

/* D5, D6: full is one byte less than the area; a writer that finds no space leaves no record. */
static void test_full_area(void **state)
{
	static const uint64_t parts[] = {0, 4096, 1000};

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		struct sim *sim = begin(parts[i], 0);

		assert_int_equal(read_all(sim, sim->aux_size - 2), 0);
		assert_int_equal(read_all(sim, sim->aux_size - 1), 1);
		assert_int_equal(read_all(sim, 1), 1);
		assert_int_equal(read_all(sim, sim->aux_size), 2);
		sim_free(sim);
		assert_int_equal(violated(AUXTAP_INV_BYTES_ADD_UP),
				 1); /* no transaction wrote it */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_freed_once),
		cmocka_unit_test(test_never_freed),
		cmocka_unit_test(test_freed_in_transaction),
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_contents),
		cmocka_unit_test(test_full_area),
		cmocka_unit_test(test_full_area_prompt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
