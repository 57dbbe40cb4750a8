// SPDX-License-Identifier: BSD-2-Clause
/* The whole output of the JSON writer: commas, lines and indentation at each depth; read back. */
#include "util/json_out.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

static char *written(unsigned int nr_lines)
{
	struct json_out j;
	size_t size;
	char *text;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	json_out_init(&j, out, nr_lines);
	json_out_open(&j, NULL, '{');
	json_out_u64(&j, "most", INT64_MAX);
	json_out_i64(&j, "least", -INT64_MAX);
	json_out_open(&j, "list", '[');
	json_out_bool(&j, NULL, true);
	json_out_bool(&j, NULL, false);
	json_out_open(&j, NULL, '[');
	json_out_close(&j, ']');
	json_out_close(&j, ']');
	json_out_open(&j, "empty", '{');
	json_out_close(&j, '}');
	json_out_null(&j, "none");
	json_out_hex(&j, "at", 0x7f00);
	json_out_text(&j, "quoted", "a\"b");
	json_out_text(&j, "no text", NULL);
	json_out_close(&j, '}');
	assert_int_equal(fclose(out), 0);
	return text;
}

static void check(unsigned int nr_lines, const char *wanted)
{
	char *text = written(nr_lines);
	json_t *read = json_loads(text, 0, NULL);

	assert_non_null(read);
	json_decref(read);
	assert_string_equal(text, wanted);
	free(text);
}

static void test_one_line(void **state)
{
	(void)state;
	check(0, "{\"most\":9223372036854775807,\"least\":-9223372036854775807,"
		 "\"list\":[true,false,[]],\"empty\":{},\"none\":null,\"at\":\"0x7f00\","
		 "\"quoted\":\"a\\\"b\",\"no text\":null}\n");
}

static void test_lines(void **state)
{
	(void)state;
	check(1, "{\n \"most\": 9223372036854775807,\n \"least\": -9223372036854775807,\n"
		 " \"list\": [true,false,[]],\n \"empty\": {},\n \"none\": null,\n"
		 " \"at\": \"0x7f00\",\n \"quoted\": \"a\\\"b\",\n \"no text\": null\n}\n");
	check(3, "{\n \"most\": 9223372036854775807,\n \"least\": -9223372036854775807,\n"
		 " \"list\": [\n  true,\n  false,\n  []\n ],\n \"empty\": {},\n"
		 " \"none\": null,\n \"at\": \"0x7f00\",\n \"quoted\": \"a\\\"b\",\n"
		 " \"no text\": null\n}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_line),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
