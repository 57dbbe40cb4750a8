// SPDX-License-Identifier: BSD-2-Clause
/* Packets of gdb's remote protocol: framing, escapes, checksums, numbers; and damaged input. */
#include "gdb/gdb_packet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct gdb_packet packet;
static struct gdb_reply reply;

static enum gdb_input take(const char *text, size_t *used)
{
	return gdb_packet_take((const uint8_t *)text, strlen(text), used, &packet);
}

static void expect(const char *text, enum gdb_input wanted, size_t wanted_used)
{
	size_t used = 99;

	assert_int_equal(take(text, &used), wanted);
	assert_int_equal(used, wanted_used);
}

/* The sums are those of gdb's manual and of packets that gdb sent. */
static void test_framing(void **state)
{
	(void)state;
	expect("$Hg0#df", GDB_INPUT_PACKET, 7);
	assert_string_equal(packet.data, "Hg0");
	expect("$m5600000011bc,1#7cmore", GDB_INPUT_PACKET, 19);
	assert_string_equal(packet.data, "m5600000011bc,1");
	expect("$#00", GDB_INPUT_PACKET, 4);
	assert_int_equal(packet.size, 0);
	expect("+$Hg0#df", GDB_INPUT_ACK, 1);
	expect("-", GDB_INPUT_NAK, 1);
	expect("\003$Hg0#df", GDB_INPUT_BREAK, 1);
	expect("", GDB_INPUT_MORE, 0);
	expect("$", GDB_INPUT_MORE, 0);
	expect("$Hg0", GDB_INPUT_MORE, 0);
	expect("$Hg0#", GDB_INPUT_MORE, 0);
	expect("$Hg0#d", GDB_INPUT_MORE, 0);
	expect("$Hg0#de", GDB_INPUT_DAMAGED, 7);
	expect("$Hg0#xx", GDB_INPUT_DAMAGED, 7);
	expect("junk$Hg0#df", GDB_INPUT_DAMAGED, 4);
}

static void test_escapes(void **state)
{
	uint8_t out[64];
	size_t size, used;

	(void)state;
	gdb_reply_reset(&reply);
	gdb_reply_binary(&reply, "a#$}*b", 6);
	assert_int_equal(reply.size, 10);
	size = gdb_reply_frame(&reply, out, sizeof(out));
	assert_int_equal(size, 14);
	assert_int_equal(gdb_packet_take(out, size, &used, &packet), GDB_INPUT_PACKET);
	assert_int_equal(used, size);
	assert_int_equal(packet.size, 6);
	assert_memory_equal(packet.data, "a#$}*b", 6);
	expect("$}#7d", GDB_INPUT_DAMAGED, 5); /* ends within an escape */
}

static void test_too_long(void **state)
{
	const size_t most = 2 * GDB_PACKET_MAX + 4;
	char *text = malloc(most + 64);
	struct gdb_packet *last = &packet;
	size_t used;

	(void)state;
	memset(text, 'a', most + 64);
	text[0] = '$';
	/* an answer is there before the buffer of the bound is full */
	assert_int_not_equal(gdb_packet_take((uint8_t *)text, most, &used, last), GDB_INPUT_MORE);
	assert_true(used > 0);
	assert_int_equal(gdb_packet_take((uint8_t *)text, 1000, &used, last), GDB_INPUT_MORE);
	/* the longest without escapes fits, one more does not */
	memcpy(text + 1 + GDB_PACKET_MAX, "#00", 3); /* 16384 times 'a' */
	assert_int_equal(gdb_packet_take((uint8_t *)text, GDB_PACKET_MAX + 4, &used, last),
			 GDB_INPUT_PACKET);
	assert_int_equal(packet.size, GDB_PACKET_MAX);
	text[1 + GDB_PACKET_MAX] = 'a';
	memcpy(text + 2 + GDB_PACKET_MAX, "#61", 3);
	assert_int_equal(gdb_packet_take((uint8_t *)text, GDB_PACKET_MAX + 5, &used, last),
			 GDB_INPUT_DAMAGED);
	free(text);
}

static void test_reply_bound(void **state)
{
	static uint8_t out[sizeof(reply.data) + 4];
	const char text[1000] = "";

	(void)state;
	gdb_reply_reset(&reply);
	for (unsigned int i = 0; i < sizeof(reply.data) / 2000; i++)
		gdb_reply_hex(&reply, text, sizeof(text));
	assert_false(reply.cut);
	gdb_reply_hex(&reply, text, sizeof(text));
	assert_true(reply.cut);
	gdb_reply_text(&reply, "a");
	assert_true(reply.cut);
	assert_int_equal(gdb_reply_frame(&reply, out, reply.size + 3), 0);
	assert_int_equal(gdb_reply_frame(&reply, out, sizeof(out)), reply.size + 4);
}

static void test_numbers(void **state)
{
	const char *text = "1fF,x";
	uint8_t bytes[2];
	uint64_t value;

	(void)state;
	assert_true(gdb_take_hex_until(&text, ',', &value));
	assert_int_equal(value, 0x1ff);
	assert_string_equal(text, "x");
	assert_false(gdb_take_hex(&text, &value));
	text = "ffffffffffffffff";
	assert_true(gdb_take_hex(&text, &value));
	assert_true(value == UINT64_MAX);
	text = "10000000000000000";
	assert_false(gdb_take_hex(&text, &value));
	assert_int_equal(gdb_unhex("0aFf", 4, bytes, 2), 2);
	assert_int_equal(bytes[0] << 8 | bytes[1], 0x0aff);
	assert_int_equal(gdb_unhex("0aFf00", 6, bytes, 2), -1);
	assert_int_equal(gdb_unhex("0aF", 3, bytes, 2), -1);
	assert_int_equal(gdb_unhex("0g", 2, bytes, 2), -1);
}

/* Any bytes: each call takes some, asks for more only within its bound, and stays in the buffer. */
static void test_random_input(void **state)
{
	static const char alphabet[] = "$#}+-\003abm0123,:\377";
	unsigned int seed = 1;

	(void)state;
	for (unsigned int run = 0; run < 20000; run++) {
		size_t size = (size_t)rand_r(&seed) % 40, at = 0, used;
		uint8_t *in = malloc(size ? size : 1);

		for (size_t i = 0; i < size; i++)
			in[i] = (uint8_t)alphabet[(size_t)rand_r(&seed) % sizeof(alphabet)];
		while (at < size) {
			enum gdb_input input = gdb_packet_take(in + at, size - at, &used, &packet);

			if (input == GDB_INPUT_MORE) {
				assert_int_equal(used, 0);
				assert_int_equal(in[at], '$');
				break;
			}
			assert_true(used > 0 && used <= size - at);
			at += used;
		}
		free(in);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_framing),	 cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_too_long), cmocka_unit_test(test_reply_bound),
		cmocka_unit_test(test_numbers),	 cmocka_unit_test(test_random_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
