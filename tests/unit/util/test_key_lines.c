// SPDX-License-Identifier: BSD-2-Clause
/* "key: value" lines, and the recorder's note made of them, as damaged files may contain it, too.
 */
#include "perfdata/capture_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A copy without a NUL: the sanitizer and valgrind see a read beyond it. */
static char *exact(const char *text, size_t *size)
{
	char *copy;

	*size = strlen(text);
	copy = malloc(*size ? *size : 1);
	assert_non_null(copy);
	memcpy(copy, text, *size);
	return copy;
}

static void test_find(void **state)
{
	static const struct {
		const char *text, *key, *value; /* NULL: not found */
	} cases[] = {
		{"mode: full\n", "mode", "full"},
		{"a: 1\nmode:  full\nmode: other\n", "mode", "full"},
		{"mode: full", "mode", "full"},
		{"mode:\nx: y\n", "mode", ""},
		{"mode:", "mode", ""},
		{"mode", "mode", NULL},
		{"amode: full\n", "mode", NULL},
		{"modes: full\n", "mode", NULL},
		{"event: mode: full\n", "mode", NULL},
		{"", "mode", NULL},
		{"\n\n", "mode", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t size, len;
		char *text = exact(cases[i].text, &size);
		const char *found = key_lines_find(text, size, cases[i].key, &len);

		assert_int_equal(found != NULL, cases[i].value != NULL);
		if (found) {
			assert_int_equal(len, strlen(cases[i].value));
			assert_memory_equal(found, cases[i].value, len);
			assert_true(key_lines_equals(text, size, cases[i].key, cases[i].value));
			assert_false(key_lines_equals(text, size, cases[i].key, "fulle"));
			assert_false(key_lines_equals(text, size, cases[i].key, "ful"));
		}
		free(text);
	}
}

static void test_number(void **state)
{
	static const char note[] =
		"a: 18446744073709551615\nb: x\nlong: 00000000000000000000000000017";

	(void)state;
	assert_int_equal(key_lines_number(note, sizeof(note) - 1, "a"), UINT64_MAX);
	assert_int_equal(key_lines_number(note, sizeof(note) - 1, "b"), 0);
	assert_int_equal(key_lines_number(note, sizeof(note) - 1, "c"), 0);
	assert_int_equal(key_lines_number(note, sizeof(note) - 1, "long"),
			 0); /* cut at 23 digits */
}

/* Units of threads; a line that is too long or of another form is passed over. */
static void test_units(void **state)
{
	static const char note[] = "backend: emulated\nmode: full\n"
				   "unit 7: produced 10 written 9 dropped 1\n"
				   "unit -1: produced 10 written 9 dropped 1\n"
				   "unit 8: produced 10\n"
				   "3 more units: produced 1 written 1 dropped 0\n"
				   "\n"
				   "unit 9: produced 18446744073709551615 written "
				   "18446744073709551615 dropped 0";
	char longer[512];
	size_t size;
	char *text = exact(note, &size);
	const char *at = text;
	uint64_t written = 0;
	int tid = 0;

	(void)state;
	assert_true(capture_lines_is_emulated(text, size));
	assert_true(capture_lines_is_full(text, size));
	assert_true(capture_lines_next_unit(&at, text + size, &tid, &written));
	assert_int_equal(tid, 7);
	assert_int_equal(written, 9);
	assert_true(capture_lines_next_unit(&at, text + size, &tid, &written));
	assert_int_equal(tid, 9);
	assert_int_equal(written, UINT64_MAX);
	assert_false(capture_lines_next_unit(&at, text + size, &tid, &written));
	assert_false(capture_lines_next_unit(&at, text + size, &tid, &written));
	free(text);
	snprintf(longer, sizeof(longer),
		 "unit 1: produced 1 written 2 dropped 3%200s\nunit 2: "
		 "produced 3 written 4 dropped 5\n",
		 "");
	text = exact(longer, &size);
	at = text;
	assert_true(capture_lines_next_unit(&at, text + size, &tid, &written));
	assert_int_equal(tid, 2);
	assert_false(capture_lines_next_unit(&at, text + size, &tid, &written));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_number),
		cmocka_unit_test(test_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
