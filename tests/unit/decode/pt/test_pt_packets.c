// SPDX-License-Identifier: BSD-2-Clause
/*
 * Packets of a hand-made stream: names, operands, the last IP; errors and the bytes before the
 * first PSB; and the same list however the stream is cut into fragments.
 */
#include "decode/pt/pt_packets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define PSB "\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82"

struct list {
	char text[1 << 14];
	size_t used;
	unsigned int nr, stop_at;
};

static int put(void *ctx, const struct auxtap_packet *pkt)
{
	struct list *list = ctx;
	int n = snprintf(list->text + list->used, sizeof(list->text) - list->used, "%lx:%u %s",
			 (unsigned long)pkt->offset, pkt->nr_bytes, pkt->text);

	list->used += (size_t)n;
	assert_true(list->used < sizeof(list->text) - 64);
	assert_int_equal(pkt->size, sizeof(*pkt));
	assert_memory_equal(pkt->text, pkt->name, strlen(pkt->name));
	if (pkt->has_ip)
		list->used +=
			(size_t)sprintf(list->text + list->used, " =%lx", (unsigned long)pkt->ip);
	list->text[list->used++] = '\n';
	list->text[list->used] = '\0';
	return ++list->nr == list->stop_at ? 42 : 0;
}

static void check(const char *bytes, size_t size, const char *expected)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct list whole = {0};

	assert_int_equal(auxtap_pt_packets(bytes, size, 0x100, put, &whole, &err), 0);
	assert_string_equal(whole.text, expected);
}

static const char stream[] =
	PSB "\x19\x01\x02\x03\x04\x05\x06\x07"	   /* tsc */
	    "\x02\x03\x20\x00"			   /* cbr */
	    "\x99\x01\x02\x23"			   /* mode.exec, psbend */
	    "\x71\x00\x10\x40\x00\x00\x00"	   /* tip.pge, 48 bits sign-extended */
	    "\x06\x2d\x34\x12"			   /* tnt, tip 16 bits */
	    "\x4d\x78\x56\x34\x12"		   /* tip 32 bits */
	    "\x8d\x00\x00\xb6\xb9\xff\xff"	   /* tip 48 bits */
	    "\x7d\x00\x00\xb6\xb9\xff\xff"	   /* fup, sign-extended */
	    "\xcd\x08\x07\x06\x05\x04\x03\x02\x01" /* tip, 64 bits */
	    "\x02\xf3"				   /* ovf */
	    "\x00\x59\x2a\x07\x02"		   /* pad, mtc, cyc */
	    "\x02\x73\x34\x12\x00\x56\x00"	   /* tma */
	    "\x99\x21"				   /* mode.tsx */
	    "\x02\x43\x00\x34\xd4\x3f\x00\x00"	   /* pip */
	    "\x02\xa3\x83\xc0\xb9\x52\x03\x00"	   /* long tnt */
	    "\x01" PSB "\x02\x23\x2d\x34\x12"	   /* after a PSB the last IP is 0 */
	    "\x02\x83";				   /* stop */

static const char listed[] = "100:16 psb\n"
			     "110:8 tsc 7060504030201\n"
			     "118:4 cbr 20\n"
			     "11c:2 mode.exec cs.l\n"
			     "11e:2 psbend\n"
			     "120:7 tip.pge 3: 0000000000401000 =401000\n"
			     "127:1 tnt.8 !\n"
			     "128:3 tip 1: ????????????1234 =401234\n"
			     "12b:5 tip 2: ????????12345678 =12345678\n"
			     "130:7 tip 4: ????ffffb9b60000 =ffffb9b60000\n"
			     "137:7 fup 3: ffffffffb9b60000 =ffffffffb9b60000\n"
			     "13e:9 tip 6: 0102030405060708 =102030405060708\n"
			     "147:2 ovf\n"
			     "149:1 pad\n"
			     "14a:2 mtc 2a\n"
			     "14c:2 cyc 20\n"
			     "14e:7 tma 1234, 56\n"
			     "155:2 mode.tsx intx\n"
			     "157:8 pip 3fd434000                  cr3  00000003fd434000\n"
			     "15f:8 tnt.64 !.!.!..!.!.!!!..!!!......!.....!!\n"
			     "167:1 tip.pgd 0: ????????????????\n"
			     "168:16 psb\n"
			     "178:2 psbend\n"
			     "17a:3 tip 1: ????????????1234 =1234\n"
			     "17d:2 stop\n";

static void test_list(void **state)
{
	(void)state;
	check(stream, sizeof(stream) - 1, listed);
}

static void test_errors(void **state)
{
	(void)state;
	check("", 0, "");
	check("\0\0\0\0", 4, "");
	check("\x01\x02", 2, "100:2 skipped 2 bytes before a PSB\n");
	check("\0\0\x59" PSB, 19, "100:3 skipped 3 bytes before a PSB\n103:16 psb\n");
	check("\0\0\0" PSB, 19, "103:16 psb\n");
	/* An invalid opcode: up to the next PSB the decoder lists no packet. */
	check(PSB "\x02\xff\x00\x59\x01" PSB "\x59\x01", 16 + 5 + 16 + 2,
	      "100:16 psb\n110:5 error unknown opcode, 5 bytes skipped\n115:16 psb\n"
	      "125:2 mtc 1\n");
	check(PSB "\x7d\x01\x02", 19,
	      "100:16 psb\n110:3 error the trace ends inside a packet, "
	      "3 bytes skipped\n");
}

static void test_stop(void **state)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct list list = {.stop_at = 3};

	(void)state;
	assert_int_equal(auxtap_pt_packets(stream, sizeof(stream) - 1, 0, put, &list, &err), 42);
	assert_int_equal(list.nr, 3);
}

/* In fragments of every size, each rest put in front of the next, as readers do it.
 */
static void test_fragments(void **state)
{
	const size_t size = sizeof(stream) - 1;

	(void)state;
	for (size_t step = 1; step <= size; step++) {
		struct auxtap_error err = AUXTAP_ERROR_INIT;
		struct pt_packet_stream chunks = {0};
		struct list list = {0};
		char buf[512];
		size_t have = 0, at = 0, used;

		while (at < size) {
			size_t want = step < size - at ? step : size - at;

			memcpy(buf + have, stream + at, want);
			have += want;
			at += want;
			assert_int_equal(pt_packets_chunk(&chunks, buf, have, 0x100 + at - have,
							  at == size, &used, put, &list, &err),
					 0);
			assert_true(used <= have && have - used <= PT_PACKET_MAX);
			have -= used;
			memmove(buf, buf + used, have);
		}
		assert_int_equal(have, 0);
		assert_string_equal(list.text, listed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_fragments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
