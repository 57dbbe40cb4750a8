// SPDX-License-Identifier: BSD-2-Clause
/* Parsing of numbers; text in JSON, with jansson as the reference. */
#include "util/json_text.h"
#include "util/number.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void test_numbers(void **state)
{
	static const struct {
		const char *text;
		uint64_t max;
		bool valid;
		uint64_t value;
	} cases[] = {
		{"0", 0, true, 0},
		{"0x1F", UINT64_MAX, true, 31},
		{"0X1f", 31, true, 31},
		{"0x1f", 30, false, 0},
		{"010", UINT64_MAX, true, 8},
		{"18446744073709551615", UINT64_MAX, true, UINT64_MAX},
		{"18446744073709551616", UINT64_MAX, false, 0},
		{"0xffffffffffffffff", UINT64_MAX, true, UINT64_MAX},
		{"", UINT64_MAX, false, 0},
		{"-1", UINT64_MAX, false, 0},
		{"+1", UINT64_MAX, false, 0},
		{" 1", UINT64_MAX, false, 0},
		{"1 ", UINT64_MAX, false, 0},
		{"0x", UINT64_MAX, false, 0},
		{"0xg", UINT64_MAX, false, 0},
		{"0x-1", UINT64_MAX, false, 0},
		{"1k", UINT64_MAX, false, 0},
		{"ff", UINT64_MAX, false, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t v = 12345;

		assert_int_equal(number_parse(cases[i].text, cases[i].max, &v), cases[i].valid);
		assert_int_equal(v, cases[i].valid ? cases[i].value : 12345);
	}
}

static void test_decimals(void **state)
{
	static const struct {
		const char *text;
		uint64_t max;
		bool valid;
		uint64_t value;
	} cases[] = {
		{"0", 0, true, 0},
		{"007", 7, true, 7},
		{"010", UINT64_MAX, true, 10},
		{"11", 10, false, 0},
		{"18446744073709551615", UINT64_MAX, true, UINT64_MAX},
		{"18446744073709551616", UINT64_MAX, false, 0},
		{"99999999999999999999", UINT64_MAX, false, 0},
		{"", UINT64_MAX, false, 0},
		{"0x1", UINT64_MAX, false, 0},
		{"-1", UINT64_MAX, false, 0},
		{"+1", UINT64_MAX, false, 0},
		{" 1", UINT64_MAX, false, 0},
		{"1 ", UINT64_MAX, false, 0},
		{"4x", UINT64_MAX, false, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t v = 12345;

		assert_int_equal(number_parse_decimal(cases[i].text, cases[i].max, &v),
				 cases[i].valid);
		assert_int_equal(v, cases[i].valid ? cases[i].value : 12345);
	}
}

static void test_sizes(void **state)
{
	/* clang-format off */
	static const struct {
		const char *text;
		bool valid;
		uint64_t value;
		bool unit;
	} cases[] = {
		{"4096", true, 4096, false},	   {"4K", true, 4096, true},
		{"4k", true, 4096, true},	   {"4KB", true, 4096, true},
		{"4B", true, 4, true},		   {"0x10M", true, 16 << 20, true},
		{"3G", true, 3ull << 30, true},	   {"17179869183G", true, ~0ull << 30, true},
		{"17179869184G", false, 0, false}, {"4T", false, 0, false},
		{"4KK", false, 0, false},	   {"4 K", false, 0, false},
		{"4 ", false, 0, false},	   {"K", false, 0, false},
		{"-4K", false, 0, false},	   {"4Kx", false, 0, false},
		{"4BK", false, 0, false},	   {"1.5K", false, 0, false},
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t v = 12345;
		bool unit = false;

		assert_int_equal(number_parse_size(cases[i].text, &v, &unit), cases[i].valid);
		assert_int_equal(v, cases[i].valid ? cases[i].value : 12345);
		assert_int_equal(unit, cases[i].unit);
	}
}

static void test_times(void **state)
{
	uint64_t v = 12345;

	(void)state;
	assert_true(number_parse_time("7", &v) && v == 7);
	assert_true(number_parse_time("7ns", &v) && v == 7);
	assert_true(number_parse_time("7us", &v) && v == 7000);
	assert_true(number_parse_time("7ms", &v) && v == 7000000);
	assert_true(number_parse_time("7s", &v) && v == 7000000000);
	assert_false(number_parse_time("7m", &v));
	assert_false(number_parse_time("7 s", &v));
	assert_false(number_parse_time("s", &v));
	assert_false(number_parse_time("18446744074s", &v));
	assert_int_equal(v, 7000000000);
}

/* jansson reads JSON text back as expected. */
static void json_is(const char *text, const char *expected)
{
	char *buf = NULL;
	size_t size;
	FILE *out = open_memstream(&buf, &size);
	json_t *value;

	json_text_print(text, out);
	fclose(out);
	value = json_loads(buf, JSON_DECODE_ANY, NULL);
	assert_non_null(value);
	assert_string_equal(json_string_value(value), expected);
	/* a terminal that prints the JSON itself gets no control character */
	for (const char *at = buf; *at; at++)
		assert_true((unsigned char)*at >= 0x20 && *at != 0x7f &&
			    !((unsigned char)at[0] == 0xc2 && (unsigned char)at[1] < 0xa0));
	json_decref(value);
	free(buf);
}

static void test_json(void **state)
{
	(void)state;
	json_is("", "");
	json_is("plain", "plain");
	json_is("a\"b\\c", "a\"b\\c");
	json_is("tab\tnl\n\x1b[31m\x7f", "tab\tnl\n\x1b[31m\x7f");
	json_is("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
	json_is("csi \xc2\x9b.", "csi \xc2\x9b.");
	/* not UTF-8: lone, cut off, overlong, surrogate, too large */
	json_is("\xff", "\\xff");
	json_is("\xe2\x82", "\\xe2\\x82");
	json_is("\xc2", "\\xc2");
	json_is("\xc0\xaf", "\\xc0\\xaf");
	json_is("\xed\xa0\x80", "\\xed\\xa0\\x80");
	json_is("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers), cmocka_unit_test(test_decimals),
		cmocka_unit_test(test_sizes),	cmocka_unit_test(test_times),
		cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
