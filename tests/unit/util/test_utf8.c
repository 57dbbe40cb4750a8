// SPDX-License-Identifier: BSD-2-Clause
/* UTF-8 compared with its definition: the shortest encoding of a code point (RFC 3629). */
#include "util/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static unsigned int encode(uint32_t cp, uint8_t *out)
{
	if (cp < 0x80) {
		out[0] = (uint8_t)cp;
		return 1;
	}
	if (cp < 0x800) {
		out[0] = (uint8_t)(0xc0 | cp >> 6);
		out[1] = (uint8_t)(0x80 | (cp & 0x3f));
		return 2;
	}
	if (cp < 0x10000) {
		out[0] = (uint8_t)(0xe0 | cp >> 12);
		out[1] = (uint8_t)(0x80 | (cp >> 6 & 0x3f));
		out[2] = (uint8_t)(0x80 | (cp & 0x3f));
		return 3;
	}
	out[0] = (uint8_t)(0xf0 | cp >> 18);
	out[1] = (uint8_t)(0x80 | (cp >> 12 & 0x3f));
	out[2] = (uint8_t)(0x80 | (cp >> 6 & 0x3f));
	out[3] = (uint8_t)(0x80 | (cp & 0x3f));
	return 4;
}

static unsigned int printable(const uint8_t *text, size_t len)
{
	return utf8_printable((const char *)text, len);
}

static void test_code_points(void **state)
{
	(void)state;
	for (uint32_t cp = 0; cp < 0x200000; cp++) {
		bool control = cp < 0x20 || (cp >= 0x7f && cp < 0xa0);
		bool none = (cp >= 0xd800 && cp < 0xe000) || cp > 0x10ffff;
		uint8_t text[5] = "AAAA";
		unsigned int len = encode(cp, text);

		if (printable(text, sizeof(text)) != (control || none ? 0 : len))
			fail_msg("U+%04X", cp);
		if (!control && !none && (printable(text, len) != len || printable(text, len - 1)))
			fail_msg("U+%04X, its length", cp);
	}
}

/* Longer forms than needed, and bytes that continue nothing. */
static void test_other_bytes(void **state)
{
	(void)state;
	for (uint32_t cp = 0; cp < 0x10000; cp++) {
		const uint8_t text[] = {0xf0, (uint8_t)(0x80 | cp >> 12),
					(uint8_t)(0x80 | (cp >> 6 & 0x3f)),
					(uint8_t)(0x80 | (cp & 0x3f))};
		const uint8_t three[] = {0xe0, text[2], text[3]};
		const uint8_t two[] = {(uint8_t)(0xc0 | (cp >> 6 & 1)), text[3]};

		assert_int_equal(printable(text, 4), 0);
		if (cp < 0x800)
			assert_int_equal(printable(three, 3), 0);
		assert_int_equal(printable(two, 2), 0);
	}
	for (unsigned int first = 0x80; first < 0x100; first++)
		for (unsigned int at = 1; at < 4; at++)
			for (unsigned int other = 0; other < 0x100; other++) {
				uint8_t text[4] = {(uint8_t)first, 0xa0, 0xa0, 0xa0};
				unsigned int len;

				if ((other & 0xc0) == 0x80)
					continue;
				if (first == 0xf4)
					text[1] = 0x80;
				if (first == 0xed)
					text[1] = 0x90;
				len = printable(text, 4);
				text[at] = (uint8_t)other;
				assert_int_equal(printable(text, 4), at < len ? 0 : len);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_code_points),
		cmocka_unit_test(test_other_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
