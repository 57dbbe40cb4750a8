// SPDX-License-Identifier: BSD-2-Clause
/*
 * SPE packets written by hand after the architecture's description: every type and form, invalid
 * bytes, where the listing continues after them, and the same list however the stream is cut.
 */
#include "decode/spe/spe_packets.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct list {
	char text[1 << 15];
	size_t used;
	unsigned int nr, stop_at;
};

static int put(void *ctx, const struct auxtap_packet *pkt)
{
	struct list *list = ctx;

	assert_int_equal(pkt->size, sizeof(*pkt));
	list->used +=
		(size_t)snprintf(list->text + list->used, sizeof(list->text) - list->used,
				 "%lx:%u %s", (unsigned long)pkt->offset, pkt->nr_bytes, pkt->text);
	assert_true(list->used < sizeof(list->text) - 512);
	if (pkt->has_ip)
		list->used +=
			(size_t)sprintf(list->text + list->used, " =%lx", (unsigned long)pkt->ip);
	list->text[list->used++] = '\n';
	list->text[list->used] = '\0';
	return ++list->nr == list->stop_at ? 42 : 0;
}

static void one(const char *bytes, size_t size, const char *expected)
{
	struct auxtap_spe_packet pkt = {.size = sizeof(pkt)};
	char text[384];

	assert_int_equal(auxtap_spe_get_packet(bytes, size, &pkt), (int)size);
	assert_int_equal(pkt.nr_bytes, size);
	assert_int_equal(auxtap_spe_packet_text(&pkt, text, sizeof(text)), strlen(expected));
	assert_string_equal(text, expected);
	for (size_t less = 1; less < size; less++)
		assert_int_equal(auxtap_spe_get_packet(bytes, less, &pkt), 0);
}

#define ONE(bytes, expected) one(bytes, sizeof(bytes) - 1, expected)

static void test_types(void **state)
{
	(void)state;
	ONE("\x00", "PAD");
	ONE("\x01", "END");
	ONE("\x20\x00", "ALIGNMENT 2");
	ONE("\x25\x00", "ALIGNMENT 64");
	ONE("\x71\x32\xa0\xd6\x78\x3f\x07\x00\x00", "TS 7969191665714");
	ONE("\xb0\x00\x82\xf3\x29\xee\xb7\xff\xc0", "PC 0xffb7ee29f38200 el2 ns=1");
	ONE("\xb1\x24\x82\xf3\x29\xee\xb7\xff\x20", "TGT 0xffb7ee29f38224 el1 ns=0");
	ONE("\xb4\x24\x82\xf3\x29\xee\xb7\x00\x80", "PBT 0xb7ee29f38224 el0 ns=1");
	ONE("\xb2\x43\xda\x5d\xe6\xaa\xaa\x00\xf5", "VA 0xf500aaaae65dda43");
	ONE("\xb3\x43\x5a\x95\x2c\x03\x08\x00\xc7", "PA 0x8032c955a43 ns=1 ch=1 pat=7");
	ONE("\x20\xb1\x24\x82\xf3\x29\xee\xb7\x00\x80", "TGT 0xb7ee29f38224 el0 ns=1");
	ONE("\x21\xb2\x01\x00\x00\x00\x00\x00\x00\x00", "ADDR 0x1 (10)");
	ONE("\x98\x08\x00", "LAT 8 TOT");
	ONE("\x99\x07\x10", "LAT 4103 ISSUE");
	ONE("\x9a\x01\x00", "LAT 1 XLAT");
	ONE("\x9b\x01\x00", "LAT 1 (3)");
	ONE("\x22\x98\x01\x00", "LAT 1 (16)");
	ONE("\x64\x80\x5f\x00\x00", "CONTEXT 0x5f80 el1");
	ONE("\x65\x0e\x00\x00\x00", "CONTEXT 0xe el2");
	ONE("\x43\x0d", "DATA-SOURCE 13");
	ONE("\x53\x0d\x01", "DATA-SOURCE 269");
}

static void test_operations(void **state)
{
	(void)state;
	ONE("\x48\x00", "OTHER INSN-OTHER");
	ONE("\x48\x01", "OTHER COND-SELECT");
	ONE("\x48\x06", "OTHER ASE FP INSN-OTHER");
	ONE("\x48\x1e", "SVE-OTHER EVLEN 64 FP PRED");
	ONE("\x48\x9c", "SME-OTHER ETS 1024");
	ONE("\x49\x00", "LD GP-REG");
	ONE("\x49\x01", "ST GP-REG");
	ONE("\x49\x05", "ST SIMD-FP");
	ONE("\x49\x10", "LD UNSPEC-REG");
	ONE("\x49\x14", "LD MTE-TAG");
	ONE("\x49\x16", "LD AT AR");
	ONE("\x49\x1f", "ST AT EXCL AR");
	ONE("\x49\x20", "LD MEMCPY");
	ONE("\x49\x21", "ST MEMCPY");
	ONE("\x49\x25", "ST MEMSET");
	ONE("\x49\x31", "ST NV-SYSREG");
	ONE("\x49\x40", "LD GCS");
	ONE("\x49\x45", "ST GCS COMM");
	ONE("\x49\x8d", "ST EVLEN 32 PRED SG");
	ONE("\x4a\x00", "B");
	ONE("\x4a\x01", "B COND");
	ONE("\x4a\x02", "B IND");
	ONE("\x4a\x0c", "B GCS CR-BL");
	ONE("\x4a\x12", "B IND CR-RET");
	ONE("\x4a\x18", "B CR-NON-BL-RET");
	ONE("\x4b\x07", "OP-TYPE 0x7 (3)");
}

static void test_events(void **state)
{
	(void)state;
	ONE("\x42\x16", "EV RETIRED L1D-ACCESS TLB-ACCESS");
	ONE("\x52\xc2\x00", "EV RETIRED NOT-TAKEN MISPRED");
	ONE("\x52\x1e\x03", "EV RETIRED L1D-ACCESS L1D-REFILL TLB-ACCESS LLC-ACCESS LLC-REFILL");
	ONE("\x62\x00\x0c\x06\x00", "EV REMOTE-ACCESS ALIGNMENT SVE-PARTIAL-PRED SVE-EMPTY-PRED");
	ONE("\x72\x02\x00\xf9\x03\x00\x00\x00\x80",
	    "EV RETIRED TXN L2D-ACCESS L2D-MISS HITM LFB SNOOPED STREAMING-SVE SMCU "
	    "0x8000000000000000");
	ONE("\x52\x02\xf0", "EV RETIRED 0xf000");
	/* all at once still fit into a packet's text */
	{
		struct auxtap_spe_packet pkt = {.size = sizeof(pkt),
						.type = AUXTAP_SPE_EVENTS,
						.payload = UINT64_MAX};
		char all[384], cut[20];

		assert_true(auxtap_spe_packet_text(&pkt, all, sizeof(all)) < sizeof(all) - 1);
		assert_int_equal(auxtap_spe_packet_text(&pkt, cut, sizeof(cut)), sizeof(cut) - 1);
		assert_memory_equal(all, cut, sizeof(cut) - 1);
	}
}

static void test_no_packet(void **state)
{
	static const unsigned char headers[] = {0x02, 0x10, 0x41, 0x44, 0x60, 0x68,
						0x70, 0x80, 0x90, 0xa0, 0xc0, 0xff};
	struct auxtap_spe_packet pkt = {.size = sizeof(pkt)};
	unsigned char bytes[16] = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(headers); i++) {
		bytes[0] = headers[i];
		assert_int_equal(auxtap_spe_get_packet(bytes, sizeof(bytes), &pkt), -EBADMSG);
	}
	assert_int_equal(auxtap_spe_get_packet("\x20\x42\x16", 3, &pkt), -EBADMSG);
	assert_int_equal(auxtap_spe_get_packet("\x24\xb0\x16", 3, &pkt), -EBADMSG);
}

static void test_address(void **state)
{
	struct auxtap_spe_packet pkt = {.size = sizeof(pkt),
					.type = AUXTAP_SPE_ADDRESS,
					.payload = 0xc0ffb7ee29f38200};

	(void)state;
	assert_int_equal(auxtap_spe_get_address(&pkt), 0xffffb7ee29f38200);
	pkt.payload = 0x800000aaaae4a9b6;
	assert_int_equal(auxtap_spe_get_address(&pkt), 0x0000aaaae4a9b6);
	pkt.index = AUXTAP_SPE_ADDR_VIRT;
	pkt.payload = 0xf500aaaae65dda43;
	assert_int_equal(auxtap_spe_get_address(&pkt), 0x00aaaae65dda43);
	pkt.index = AUXTAP_SPE_ADDR_PHYS;
	pkt.payload = 0x80ff08032c955a43;
	assert_int_equal(auxtap_spe_get_address(&pkt), 0xff08032c955a43);
}

/* The size of a packet's struct: of an older caller, of a newer one, not set. */
static void test_sizes(void **state)
{
	struct {
		struct auxtap_spe_packet pkt;
		uint64_t newer;
	} longer = {.pkt = {.size = sizeof(longer)}, .newer = 1};
	const size_t wrong[] = {0, 1, sizeof(longer.pkt) - 1, SIZE_MAX};
	char text[32];

	(void)state;
	assert_int_equal(auxtap_spe_get_packet("\x71\x32\0\0\0\0\0\0\0", 9, &longer.pkt), 9);
	assert_int_equal(longer.pkt.size, sizeof(longer));
	assert_int_equal(longer.pkt.payload, 0x32);
	assert_int_equal(longer.newer, 0);
	assert_int_equal(auxtap_spe_packet_text(&longer.pkt, text, sizeof(text)), 5);
	assert_string_equal(text, "TS 50");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		longer.pkt.size = wrong[i];
		assert_int_equal(auxtap_spe_get_packet("\x01", 1, &longer.pkt), -EINVAL);
		assert_int_equal(longer.pkt.payload, 0x32); /* untouched */
		strcpy(text, "before");
		assert_int_equal(auxtap_spe_packet_text(&longer.pkt, text, sizeof(text)), 0);
		assert_string_equal(text, "");
		assert_int_equal(auxtap_spe_packet_text(&longer.pkt, text, 0), 0);
	}
}

/* ---- streams ---- */

#define BRANCH                                                     \
	"\xb0\x10\x00\x40\x00\x00\x00\x00\x80\x52\x02\x00\x4a\x01" \
	"\x71\x01\x02\x00\x00\x00\x00\x00\x00" /* 23 bytes */
#define BRANCH_AT(pc, ev, op, ts)                                                       \
	pc ":9 PC 0x400010 el0 ns=1 =400010\n" ev ":3 EV RETIRED\n" op ":2 B COND\n" ts \
	   ":9 TS 513\n"

static void check(const char *bytes, size_t size, uint64_t offset, const char *expected)
{
	struct list whole = {0};

	assert_int_equal(auxtap_spe_packets(bytes, size, offset, put, &whole), 0);
	assert_string_equal(whole.text, expected);
	for (size_t cut = 0; cut <= size; cut++) {
		struct spe_packet_stream stream = {0};
		struct list list = {0};
		size_t used;

		/* the rest of the first fragment is repeated before the second one */
		assert_int_equal(spe_packets_chunk(&stream, bytes, cut, offset, false, &used, put,
						   &list),
				 0);
		assert_true(cut - used < SPE_CARRY_MAX);
		assert_int_equal(spe_packets_chunk(&stream, bytes + used, size - used,
						   offset + used, true, &used, put, &list),
				 0);
		if (!strstr(expected, "error"))
			assert_string_equal(list.text, expected);
	}
}

#define CHECK(bytes, offset, expected) check(bytes, sizeof(bytes) - 1, offset, expected)

static void test_streams(void **state)
{
	(void)state;
	CHECK("", 0, "");
	CHECK(BRANCH BRANCH, 0x100,
	      BRANCH_AT("100", "109", "10c", "10e") BRANCH_AT("117", "120", "123", "125"));
	/* runs of pads are listed in lines of 16 */
	CHECK("\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01", 0,
	      "0:1 END\n1:16 PAD\n11:2 PAD\n13:1 END\n");
	/* padding up to a multiple of 8 is not a packet, whatever its bytes */
	CHECK("\x22\x00\xff\xff\xff\xff\xff\xff" BRANCH, 8,
	      "8:2 ALIGNMENT 8\na:6 PAD\n" BRANCH_AT("10", "19", "1c", "1e"));
	CHECK("\x22\x00" BRANCH, 6, "6:2 ALIGNMENT 8\n" BRANCH_AT("8", "11", "14", "16"));
}

static void test_errors(void **state)
{
	struct list list = {.stop_at = 2};

	(void)state;
	/* continues at the next record, not at the next byte that could be a packet */
	CHECK("\xff\x49\x00\x01" BRANCH, 0,
	      "0:4 error     no packet: 4 bytes\n" BRANCH_AT("4", "d", "10", "12"));
	CHECK(BRANCH "\xff\xff\xff" BRANCH "\xff", 0,
	      BRANCH_AT("0", "9", "c", "e") "17:3 error     no packet: 3 bytes\n" BRANCH_AT(
		      "1a", "23", "26", "28") "31:1 error     no packet: 1 bytes\n");
	CHECK(BRANCH "\x71\x00\x00", 0,
	      BRANCH_AT("0", "9", "c",
			"e") "17:3 error     the trace ends inside a packet: 3 bytes\n");
	assert_int_equal(auxtap_spe_packets(BRANCH, 23, 0, put, &list), 42);
	assert_int_equal(list.nr, 2);
}

/* Whatever the bytes and the cuts: each byte is reported once. */
struct sum {
	uint64_t next;
};

static int follow(void *ctx, const struct auxtap_packet *pkt)
{
	struct sum *sum = ctx;
	unsigned int nr_bytes = pkt->nr_bytes;
	const char *count = strrchr(pkt->text, ':');

	assert_int_equal(pkt->offset, sum->next);
	if (!strcmp(pkt->name, "error"))
		nr_bytes = (unsigned int)strtoul(count + 1, NULL, 10);
	assert_true(nr_bytes > 0);
	sum->next += nr_bytes;
	return 0;
}

static void test_noise(void **state)
{
	unsigned int seed = 1;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		unsigned char bytes[600];
		struct spe_packet_stream stream = {0};
		struct sum sum = {0};
		size_t at = 0, used, cut;

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (unsigned char)(rand_r(&seed) >> 7);
		for (size_t i = 0; i + 23 < sizeof(bytes); i += 23 + (size_t)rand_r(&seed) % 40)
			memcpy(bytes + i, BRANCH, 23);
		cut = (size_t)rand_r(&seed) % sizeof(bytes);
		spe_packets_chunk(&stream, bytes, cut, 0, false, &used, follow, &sum);
		at = used;
		spe_packets_chunk(&stream, bytes + at, sizeof(bytes) - at, at, true, &used, follow,
				  &sum);
		assert_int_equal(sum.next, sizeof(bytes));
	}
}

int main(void)
{
	/* clang-format off */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),	   cmocka_unit_test(test_operations),
		cmocka_unit_test(test_events),	   cmocka_unit_test(test_no_packet),
		cmocka_unit_test(test_address),	   cmocka_unit_test(test_streams),
		cmocka_unit_test(test_errors),	   cmocka_unit_test(test_noise),
		cmocka_unit_test(test_sizes),
	};
	/* clang-format on */

	return cmocka_run_group_tests(tests, NULL, NULL);
}
