// SPDX-License-Identifier: BSD-2-Clause
/* Threads of the sideband: many, each with its own process and names in order of time. */
#include "decode/flow/sideband.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define NR 3000

static void comm(struct sideband *sb, int32_t pid, int32_t tid, uint64_t time, const char *name)
{
	struct {
		struct perf_event_header header;
		int32_t pid, tid;
		char name[32];
	} bytes = {.header = {.type = PERF_RECORD_COMM, .size = sizeof(bytes)},
		   .pid = pid,
		   .tid = tid};
	const struct auxtap_record rec = {.size = sizeof(rec),
					  .header = &bytes.header,
					  .body_size = sizeof(bytes) - sizeof(bytes.header),
					  .time = time};

	snprintf(bytes.name, sizeof(bytes.name), "%s", name);
	assert_int_equal(sideband_record(sb, &rec), 0);
}

static void test_many_threads(void **state)
{
	struct sideband sb;
	char name[32];

	(void)state;
	sideband_init(&sb, NULL);
	for (int32_t i = 0; i < NR; i++) {
		snprintf(name, sizeof(name), "later%d", i);
		comm(&sb, 10 * i, 64 * i, 2000, name);
		assert_null(sideband_thread(&sb, 64 * i + 1, false));
	}
	/* a second file: the earlier names */
	for (int32_t i = 0; i < NR; i++) {
		snprintf(name, sizeof(name), "first%d", i);
		comm(&sb, 10 * i, 64 * i, 1000, name);
	}
	assert_int_equal(sb.nr_threads, NR);
	for (int32_t i = 0; i < NR; i++) {
		const struct sideband_thread *thread = sideband_thread(&sb, 64 * i, false);

		assert_non_null(thread);
		assert_int_equal(thread->tid, 64 * i);
		assert_int_equal(sideband_pid(&sb, 64 * i), 10 * i);
		snprintf(name, sizeof(name), "first%d", i);
		assert_string_equal(sideband_comm(&sb, 64 * i, 1500), name);
		snprintf(name, sizeof(name), "later%d", i);
		assert_string_equal(sideband_comm(&sb, 64 * i, 2500), name);
	}
	sideband_free(&sb);
	assert_null(sideband_thread(&sb, 64, false));
	assert_int_equal(sideband_pid(&sb, 64), -1);
}

/* One thread with many names: each from its time on. */
static void test_many_names(void **state)
{
	struct sideband sb;
	char name[32];

	(void)state;
	sideband_init(&sb, NULL);
	for (unsigned int i = 100; i-- > 0;) {
		snprintf(name, sizeof(name), "name%u", i);
		comm(&sb, 7, 7, 10 * i + 1, name);
	}
	for (unsigned int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "name%u", i);
		assert_string_equal(sideband_comm(&sb, 7, 10 * i + 5), name);
	}
	assert_string_equal(sideband_comm(&sb, 7, 0), "name99");
	sideband_free(&sb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_threads),
		cmocka_unit_test(test_many_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
