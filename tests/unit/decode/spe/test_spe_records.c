// SPDX-License-Identifier: BSD-2-Clause
/*
 * SPE records: every field of a record written by hand; cut records; and the real ones, compared
 * with other decoders' results (the shared traces; skipped without).
 */
#include "decode/spe/spe_reader.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define LOAD                                                               \
	"\xb0\x00\xb6\xa9\xe4\xaa\xaa\x00\x80" /* pc, el0 */               \
	"\x65\x0e\x01\x00\x00\x49\x14\x52\x1e\x03\x99\x04\x00\x98\x08\x01" \
	"\xb2\x43\xda\x5d\xe6\xaa\xaa\x00\xf5" /* virt with a tag */       \
	"\x9a\x01\x00\xb3\x43\x5a\x95\x2c\x03\x08\x00\x80\x53\x0d\x01"
#define STAMP "\x71\xaf\xf9\x04\x81\x00\x0c\x00\x00"
#define BRANCH                                                                     \
	"\xb0\x00\x82\xf3\x29\xee\xb7\xff\xc0" /* pc, el2 */                       \
	"\xb1\x24\x82\xf3\x29\xee\xb7\xff\xa0\xb4\x10\x00\x40\x00\x00\x00\x00\x80" \
	"\x4a\x12\x42\x82"

static void init(struct auxtap_spe_reader *reader, const void *trace, size_t size)
{
	spe_reader_init(reader, trace, size, 0x1000);
}

static void test_facts(void **state)
{
	static const char trace[] = LOAD "\x00\x00" STAMP BRANCH "\x01";
	struct auxtap_spe_reader reader;
	struct auxtap_spe_record r = {.size = sizeof(r)};

	(void)state;
	init(&reader, trace, sizeof(trace) - 1);
	assert_int_equal(auxtap_spe_next(&reader, &r), 1);
	assert_int_equal(r.offset, 0x1000);
	assert_int_equal(r.nr_bytes, sizeof(LOAD STAMP) - 1 + 2);
	assert_int_equal(r.has, AUXTAP_SPE_HAS_PC | AUXTAP_SPE_HAS_VIRT | AUXTAP_SPE_HAS_PHYS |
					AUXTAP_SPE_HAS_LAT_TOTAL | AUXTAP_SPE_HAS_LAT_ISSUE |
					AUXTAP_SPE_HAS_LAT_XLAT | AUXTAP_SPE_HAS_CONTEXT |
					AUXTAP_SPE_HAS_OP | AUXTAP_SPE_HAS_EVENTS |
					AUXTAP_SPE_HAS_SOURCE | AUXTAP_SPE_HAS_TIMESTAMP);
	assert_int_equal(r.pc, 0xaaaae4a9b600);
	assert_int_equal(r.pc_el, 0);
	assert_true(r.pc_ns);
	assert_int_equal(r.context, 0x10e);
	assert_int_equal(r.context_el, 2);
	assert_int_equal(r.op_class, AUXTAP_SPE_LDST);
	assert_int_equal(r.op, 0x14);
	assert_int_equal(r.events, 0x31e);
	assert_int_equal(r.lat_issue, 4);
	assert_int_equal(r.lat_total, 0x108);
	assert_int_equal(r.lat_xlat, 1);
	assert_int_equal(r.virt, 0xaaaae65dda43);
	assert_int_equal(r.tag, 0xf5);
	assert_int_equal(r.phys, 0x8032c955a43);
	assert_int_equal(r.source, 0x10d);
	assert_int_equal(r.timestamp, 13196304120239);
	assert_int_equal(auxtap_spe_next(&reader, &r), 1);
	assert_int_equal(r.offset, 0x1000 + sizeof(LOAD STAMP) - 1 + 2);
	assert_int_equal(r.has, AUXTAP_SPE_HAS_PC | AUXTAP_SPE_HAS_TARGET |
					AUXTAP_SPE_HAS_PREV_TARGET | AUXTAP_SPE_HAS_OP |
					AUXTAP_SPE_HAS_EVENTS);
	assert_int_equal(r.pc, 0xffffb7ee29f38200);
	assert_int_equal(r.pc_el, 2);
	assert_int_equal(r.target, 0xffffb7ee29f38224);
	assert_int_equal(r.target_el, 1);
	assert_int_equal(r.prev_target, 0x400010);
	assert_int_equal(r.op_class, AUXTAP_SPE_BRANCH);
	assert_int_equal(r.op, 0x12);
	assert_int_equal(r.events, 0x82);
	assert_int_equal(r.timestamp, 0);
	assert_int_equal(auxtap_spe_next(&reader, &r), 0);
	assert_int_equal(auxtap_spe_next(&reader, &r), 0);
}

static void expect_bad(struct auxtap_spe_reader *reader, uint64_t offset, uint32_t size,
		       const char *why)
{
	struct auxtap_spe_record r = {.size = sizeof(r)};

	assert_int_equal(auxtap_spe_next(reader, &r), -EBADMSG);
	assert_int_equal(r.offset, 0x1000 + offset);
	assert_int_equal(r.nr_bytes, size);
	assert_int_equal(r.has, 0);
	assert_string_equal(r.error, why);
}

static void expect_pc(struct auxtap_spe_reader *reader, uint64_t pc)
{
	struct auxtap_spe_record r = {.size = sizeof(r)};

	assert_int_equal(auxtap_spe_next(reader, &r), 1);
	assert_int_equal(r.pc, pc);
	assert_null(r.error);
}

static void test_cut(void **state)
{
	static const char no_end[] = BRANCH BRANCH "\x01";
	static const char no_begin[] = "\0\0" STAMP BRANCH "\x01";
	static const char short_one[] = BRANCH "\x01" BRANCH;
	static const char bad[] = "\xb0\x00\xff\xff" BRANCH "\xff\xfe" BRANCH "\x01";
	static const char alignment[] =
		"\x24\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
		"\xff\xff" BRANCH "\x01";
	const uint64_t pc = 0xffffb7ee29f38200;
	struct auxtap_spe_reader reader;
	struct auxtap_spe_record r = {.size = sizeof(r)};

	(void)state;
	init(&reader, no_end, sizeof(no_end) - 1);
	expect_bad(&reader, 0, 31, "a record without an end");
	expect_pc(&reader, pc);
	assert_int_equal(auxtap_spe_next(&reader, &r), 0);
	init(&reader, no_begin, sizeof(no_begin) - 1);
	expect_bad(&reader, 2, 9, "the end of a record without its start");
	expect_pc(&reader, pc);
	init(&reader, short_one, sizeof(short_one) - 1);
	expect_pc(&reader, pc);
	expect_bad(&reader, 32, 31, "the trace ends inside a record");
	assert_int_equal(auxtap_spe_next(&reader, &r), 0);
	init(&reader, short_one, 33);
	expect_pc(&reader, pc);
	expect_bad(&reader, 32, 1, "the trace ends inside a packet");
	/* the address has consumed the start of the first branch: no record in it is valid */
	init(&reader, bad, sizeof(bad) - 1);
	expect_bad(&reader, 0, 4 + 31 + 2, "no packet");
	expect_pc(&reader, pc);
	assert_int_equal(auxtap_spe_next(&reader, &r), 0);
	init(&reader, alignment, sizeof(alignment) - 1);
	expect_pc(&reader, pc);
	assert_int_equal(auxtap_spe_next(&reader, &r), 0);
}

/* Whatever the bytes: decoding ends, and no byte outside is reported and none twice. */
static void test_noise(void **state)
{
	unsigned int seed = 7;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		unsigned char bytes[500];
		struct auxtap_spe_reader reader;
		struct auxtap_spe_record r = {.size = sizeof(r)};
		uint64_t end = 0x1000;
		int ret;

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (unsigned char)(rand_r(&seed) >> 7);
		for (size_t i = 0; i + 32 < sizeof(bytes); i += 32 + (size_t)rand_r(&seed) % 40)
			memcpy(bytes + i, BRANCH "\x01", 32);
		init(&reader, bytes, sizeof(bytes));
		while ((ret = auxtap_spe_next(&reader, &r))) {
			assert_true(r.offset >= end && r.nr_bytes > 0);
			assert_int_equal(ret < 0, r.error != NULL);
			end = r.offset + r.nr_bytes;
			assert_true(end <= 0x1000 + sizeof(bytes));
		}
		assert_int_equal(reader.at, sizeof(bytes));
	}
}

/* ---- real ones ---- */

static size_t load(const char *name, unsigned char *buf, size_t size)
{
	const char *traces = getenv("AUXTAP_TRACES");
	char path[4096];
	size_t got;
	FILE *f;

	snprintf(path, sizeof(path), "%s/arm-spe/%s", traces ? traces : AUXTAP_TRACES_DEFAULT,
		 name);
	f = fopen(path, "rb");
	if (!f)
		return 0;
	got = fread(buf, 1, size, f);
	fclose(f);
	assert_true(got > 0 && got < size);
	return got;
}

static void test_real(void **state)
{
	struct auxtap_spe_reader reader;
	struct auxtap_spe_record r = {.size = sizeof(r)};
	unsigned char trace[4096];
	static char script[8192];
	size_t size = load("kunpeng920-branch-16/spe.bin", trace, sizeof(trace));
	size_t nr = 0;
	char *line;

	(void)state;
	if (!size)
		skip();
	/* 'ls 107690 [005]  7969.191665: 1 branch-miss: ffffb7ee29f38200 do_mmap+...' */
	assert_true(load("kunpeng920-branch-16/expected/perf-script.txt", (unsigned char *)script,
			 sizeof(script) - 1) > 0);
	spe_reader_init(&reader, trace, size, 0);
	/* perf made samples of mispredicted branches; the trace lacks the records of two */
	for (line = strtok(script, "\n"); line; line = strtok(NULL, "\n")) {
		unsigned long long sec, usec;
		char text[64];

		if (strstr(line, "7969.191782:") || strstr(line, "7969.191791:"))
			continue;
		do {
			assert_int_equal(auxtap_spe_next(&reader, &r), 1);
		} while (!(r.events >> AUXTAP_SPE_EV_MISPREDICTED & 1));
		snprintf(text, sizeof(text), " branch-miss: %llx ", (unsigned long long)r.pc);
		assert_non_null(strstr(line, text));
		/* that machine's timer counts nanoseconds */
		assert_int_equal(sscanf(strchr(line, ']') + 1, "%llu.%llu", &sec, &usec), 2);
		assert_int_equal(r.timestamp / 1000, sec * 1000000 + usec);
		nr++;
	}
	assert_int_equal(nr, 14);
	assert_int_equal(auxtap_spe_next(&reader, &r), 0);

	/* record.csv beside it */
	size = load("windowsperf-branch-ts1/spe.bin", trace, sizeof(trace));
	spe_reader_init(&reader, trace, size, 0);
	assert_int_equal(auxtap_spe_next(&reader, &r), 1);
	assert_int_equal(r.pc, 0x7ffdbf2143e0);
	assert_int_equal(r.pc_el, 0);
	assert_int_equal(r.op_class, AUXTAP_SPE_BRANCH);
	assert_int_equal(r.op, 0x01);
	assert_int_equal(r.events, 1 << AUXTAP_SPE_EV_RETIRED);
	assert_int_equal(r.lat_issue, 41);
	assert_int_equal(r.lat_total, 42);
	assert_int_equal(r.target, 0x7ffdbf214408);
	assert_int_equal(r.target_el, 0);
	assert_int_equal(r.timestamp, 3913207673451);
	assert_int_equal(auxtap_spe_next(&reader, &r), 0);
}

/*
 * A record followed by more bytes is read in one go, one at the end of the trace packet by packet:
 * both must give the same result.
 */
static void test_plain(void **state)
{
	static const uint8_t kinds[] = {0xb0, 0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0x98, 0x99,
					0x9a, 0x9b, 0x64, 0x65, 0x66, 0x48, 0x49, 0x4a,
					0x4b, 0x42, 0x52, 0x62, 0x72, 0x43, 0x53, 0x63,
					0x73, 0x20, 0x00, 0xb0, 0x98, 0x52, 0x49};
	static const uint8_t ends[] = {0x01, 0x71, 0x71, 0x71, 0xff};
	unsigned int seed = 3, nr_good = 0, nr_bad = 0;

	(void)state;
	for (unsigned int turn = 0; turn < 50000; turn++) {
		uint8_t alone[80], followed[200] = {0};
		struct auxtap_spe_reader a, b;
		struct auxtap_spe_record r = {.size = sizeof(r)}, s = r;
		size_t size = 0;
		int ret;

		for (unsigned int nr = (unsigned int)rand_r(&seed) % 8; nr-- && size < 50;) {
			uint8_t kind = kinds[(unsigned int)rand_r(&seed) % sizeof(kinds)];

			alone[size++] = kind;
			for (unsigned int i = kind ? 1u << (kind >> 4 & 3) : 0; i; i--)
				alone[size++] = (uint8_t)rand_r(&seed);
		}
		alone[size++] = ends[(unsigned int)rand_r(&seed) % sizeof(ends)];
		for (unsigned int i = alone[size - 1] == 0x71 ? 8 : 0; i; i--)
			alone[size++] = (uint8_t)rand_r(&seed);
		assert_true(size < 72); /* so few bytes are read packet by packet */
		memcpy(followed, alone, size);
		spe_reader_init(&a, alone, size, 64);
		spe_reader_init(&b, followed, sizeof(followed), 64);
		ret = auxtap_spe_next(&a, &r);
		assert_int_equal(auxtap_spe_next(&b, &s) > 0, ret > 0);
		nr_bad += ret < 0;
		if (ret <= 0)
			continue; /* with more bytes, the fast path reads more */
		nr_good++;
		assert_int_equal(a.at, b.at);
		assert_int_equal(r.offset, s.offset);
		assert_int_equal(r.nr_bytes, s.nr_bytes);
		assert_int_equal(r.has, s.has);
		assert_true(r.pc == s.pc && r.target == s.target && r.virt == s.virt &&
			    r.phys == s.phys);
		assert_true(r.prev_target == s.prev_target && r.tag == s.tag && r.pc_ns == s.pc_ns);
		assert_true(r.pc_el == s.pc_el && r.target_el == s.target_el &&
			    r.context == s.context);
		assert_true(r.context_el == s.context_el && r.op_class == s.op_class &&
			    r.op == s.op);
		assert_true(r.lat_total == s.lat_total && r.lat_issue == s.lat_issue);
		assert_true(r.lat_xlat == s.lat_xlat && r.events == s.events &&
			    r.source == s.source);
		assert_true(r.timestamp == s.timestamp && r.error == s.error);
	}
	assert_true(nr_good > 10000 && nr_bad > 1000);
}

/* The reader as a program has it, with records of every size. */
static void test_sizes(void **state)
{
	static const char trace[] = BRANCH "\x01" BRANCH BRANCH "\x01";
	const size_t wrong[] = {0, 1, sizeof(struct auxtap_spe_record) - 1, SIZE_MAX};
	struct {
		struct auxtap_spe_record r;
		uint64_t newer;
	} longer = {.r = {.size = sizeof(longer)}, .newer = 1};
	struct auxtap_spe_reader *reader;

	(void)state;
	assert_int_equal(auxtap_spe_reader_open(&reader, trace, sizeof(trace) - 1, 0x1000), 0);
	assert_int_equal(auxtap_spe_next(reader, &longer.r), 1);
	assert_int_equal(longer.r.size, sizeof(longer));
	assert_int_equal(longer.r.nr_bytes, 32);
	assert_int_equal(longer.newer, 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		longer.r.size = wrong[i];
		assert_int_equal(auxtap_spe_next(reader, &longer.r), -EINVAL);
		assert_int_equal(longer.r.offset, 0x1000); /* untouched */
	}
	longer.r.size = sizeof(longer.r);
	/* the refused calls have read nothing */
	assert_int_equal(auxtap_spe_next(reader, &longer.r), -EBADMSG);
	assert_int_equal(longer.r.offset, 0x1020);
	assert_string_equal(longer.r.error, "a record without an end");
	assert_int_equal(auxtap_spe_next(reader, &longer.r), 1);
	assert_int_equal(longer.r.offset, 0x103f);
	assert_int_equal(auxtap_spe_next(reader, &longer.r), 0);
	auxtap_spe_reader_close(reader);
	auxtap_spe_reader_close(NULL);
}

int main(void)
{
	/* clang-format off */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_real),
		cmocka_unit_test(test_sizes),
	};
	/* clang-format on */

	return cmocka_run_group_tests(tests, NULL, NULL);
}
