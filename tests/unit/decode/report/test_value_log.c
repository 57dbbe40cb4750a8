// SPDX-License-Identifier: BSD-2-Clause
/* The log of values of 'crash --values': entries from the newest to the oldest, and hostile logs.
 */
#include "decode/report/value_log.h"

#include <auxtap/crash.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define TAG(kind, nr, insn, own) \
	((uint64_t)(kind) | (uint64_t)(nr) << 8 | (uint64_t)(insn) << 16 | (uint64_t)(own) << 32)

/* Reads a record with these words, of which the last bytes are missing. */
static int read_log(struct value_log *log, const uint64_t *words, size_t nr, size_t missing)
{
	struct auxtap_values head = {.size = sizeof(head),
				     .arch = AUXTAP_ARCH_X86_64,
				     .tid = 7,
				     .nr_words = nr};
	uint8_t record[sizeof(head) + 64 * sizeof(uint64_t)];

	head.regs[0] = 10;
	memcpy(record, &head, sizeof(head));
	memcpy(record + sizeof(head), words, nr * sizeof(*words));
	return value_log_read(log, record, sizeof(head) + nr * sizeof(*words) - missing);
}

static void entries(void **state)
{
	/* a cut entry, a block, a write of 3 bytes, a range that is unknown, a block */
	const uint64_t words[] = {
		5,
		TAG(AUXTAP_VALUES_WRITE, 3, 0, 8),
		1,
		0x1000,
		TAG(AUXTAP_VALUES_BLOCK, 2, 4, 0x1),
		0x8000,
		0xccbbaa,
		TAG(AUXTAP_VALUES_WRITE, 2, 2, 3),
		0x9000,
		64,
		TAG(AUXTAP_VALUES_UNKNOWN, 2, AUXTAP_VALUES_AFTER, 0),
		2,
		3,
		0x2000,
		TAG(AUXTAP_VALUES_BLOCK, 3, 1, 0x20001),
	};
	const size_t nr = sizeof(words) / sizeof(words[0]);
	uint64_t regs[AUXTAP_VALUES_REGS] = {0}, ip;
	struct value_log_entry entry;
	struct value_log_write write;
	struct value_log log;
	size_t at = nr;

	(void)state;
	assert_int_equal(read_log(&log, words, nr, 0), 1);
	assert_int_equal(log.head.tid, 7);
	regs[0] = 10;
	assert_true(value_log_back(&log, &at, &entry));
	assert_false(value_log_write(&entry, &write));
	assert_true(value_log_block(&entry, regs, &ip));
	assert_int_equal(ip, 0x2000);
	assert_int_equal(regs[0], 2);
	assert_int_equal(regs[17], 3);
	assert_true(value_log_back(&log, &at, &entry));
	assert_true(value_log_write(&entry, &write));
	assert_int_equal(write.addr, 0x9000);
	assert_int_equal(write.nr_bytes, 64);
	assert_null(write.bytes);
	assert_true(value_log_back(&log, &at, &entry));
	assert_int_equal(entry.insn, 2);
	assert_true(value_log_write(&entry, &write));
	assert_int_equal(write.nr_bytes, 3);
	assert_memory_equal(write.bytes, "\xaa\xbb\xcc", 3);
	assert_true(value_log_back(&log, &at, &entry));
	assert_true(value_log_block(&entry, regs, &ip));
	assert_int_equal(ip, 0x1000);
	assert_int_equal(regs[0], 1);
	assert_int_equal(at, 2);
	assert_false(value_log_back(&log, &at, &entry)); /* its begin is overwritten */
	free(log.words);
}

static void senseless_entries(void **state)
{
	static const struct {
		uint64_t tag;
		bool is_write, is_block;
	} cases[] = {
		{TAG(AUXTAP_VALUES_WRITE, 2, 0, 8), true, false},
		{TAG(AUXTAP_VALUES_WRITE, 2, 0, 9), false, false}, /* more than it has */
		{TAG(AUXTAP_VALUES_WRITE, 2, 0, 0), false, false},
		{TAG(AUXTAP_VALUES_WRITE, 1, 0, 8), false, false},
		{TAG(AUXTAP_VALUES_WRITE, 0, 0, 8), false, false},
		{TAG(AUXTAP_VALUES_UNKNOWN, 2, 0, 0), true, false},
		{TAG(AUXTAP_VALUES_UNKNOWN, 0, 0, 0), false, false},
		{TAG(AUXTAP_VALUES_VOID, 2, 0, 0), false, false},
		{TAG(AUXTAP_VALUES_BLOCK, 2, 1, 0x2), false, true},
		{TAG(AUXTAP_VALUES_BLOCK, 2, 1, 0x3), false, false}, /* two registers, one value */
		{TAG(AUXTAP_VALUES_BLOCK, 2, 1, 0x40000), false, false}, /* there are 18 */
		{TAG(AUXTAP_VALUES_BLOCK, 0, 1, 0), false, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint64_t words[] = {1, 2, cases[i].tag};
		uint64_t regs[AUXTAP_VALUES_REGS] = {0}, ip;
		struct value_log_entry entry;
		struct value_log_write write;
		struct value_log log;
		size_t at = 3;

		assert_int_equal(read_log(&log, words, 3, 0), 1);
		assert_true(value_log_back(&log, &at, &entry));
		assert_int_equal(value_log_write(&entry, &write), cases[i].is_write);
		assert_int_equal(entry.kind == AUXTAP_VALUES_BLOCK &&
					 value_log_block(&entry, regs, &ip),
				 cases[i].is_block);
		free(log.words);
	}
}

static void void_entries(void **state)
{
	static const struct {
		uint64_t tag;
		bool is_void;
	} cases[] = {
		{TAG(AUXTAP_VALUES_VOID, 2, 0, 0), true},
		{TAG(AUXTAP_VALUES_VOID, 1, 0, 0), false},
		{TAG(AUXTAP_VALUES_UNKNOWN, 2, 0, 0), false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint64_t words[] = {0x1000, 16, cases[i].tag};
		struct value_log_entry entry;
		struct value_log_write write;
		struct value_log log;
		size_t at = 3;

		assert_int_equal(read_log(&log, words, 3, 0), 1);
		assert_true(value_log_back(&log, &at, &entry));
		assert_int_equal(value_log_void(&entry, &write), cases[i].is_void);
		if (cases[i].is_void) {
			assert_int_equal(write.addr, 0x1000);
			assert_int_equal(write.nr_bytes, 16);
			assert_null(write.bytes);
		}
		free(log.words);
	}
}

static void senseless_records(void **state)
{
	const uint64_t words[] = {1, TAG(AUXTAP_VALUES_LEFT, 1, 0, 0)};
	struct auxtap_values head = {.size = sizeof(head), .arch = AUXTAP_ARCH_AARCH64};
	struct value_log log;

	(void)state;
	assert_int_equal(read_log(&log, words, 2, 1), 0); /* truncated */
	assert_int_equal(read_log(&log, words, 0, 0), 0);
	assert_int_equal(value_log_read(&log, &head, sizeof(head) - 1), 0);
	head.nr_words = 1;
	assert_int_equal(value_log_read(&log, &head, sizeof(head)), 0);
	head.arch = AUXTAP_ARCH_X86_64;
	head.nr_words = UINT64_MAX;
	assert_int_equal(value_log_read(&log, &head, sizeof(head)), 0);
	head.size = sizeof(head) + 8;
	assert_int_equal(value_log_read(&log, &head, sizeof(head)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries),
		cmocka_unit_test(senseless_entries),
		cmocka_unit_test(void_entries),
		cmocka_unit_test(senseless_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
