// SPDX-License-Identifier: BSD-2-Clause
/* The audit as text, JSON (read by jansson) and JUnit XML: all that the API says, and no more. */
#include "support_recording.h"

#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef int print_fn(const struct auxtap_audit *audit, const char *path, FILE *out);

static char *printed(const struct auxtap_audit *audit, const char *path, print_fn *fn)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(fn(audit, path, out), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static struct auxtap_audit *two_rings(void)
{
	return audit_recording("watermark 4096\naux t4 100 0 4000 4\naux t4 1200 4200 3996 1\n"
			       "aux t5 300 0 64\naux t5 300 0 64\ntrace t4 0 8196\ntrace t5 0 64",
			       NULL);
}

static void check_finding(const json_t *json, const struct auxtap_finding *f)
{
	assert_string_equal(json_string_value(json_object_get(json, "name")), f->invariant->name);
	assert_string_equal(json_string_value(json_object_get(json, "rules")), f->invariant->rules);
	assert_string_equal(json_string_value(json_object_get(json, "text")), f->text);
	assert_int_equal(json_integer_value(json_object_get(json, "bytes")), f->nr_bytes);
	if (f->file_off != AUXTAP_OFFSET_NONE)
		assert_int_equal(json_integer_value(json_object_get(json, "offset")), f->file_off);
}

static void test_json(void **state)
{
	struct auxtap_audit *audit = two_rings();
	char *text = printed(audit, "odd \"name\"\n", auxtap_audit_print_json);
	json_t *root = json_loads(text, 0, NULL), *findings, *rings, *counts;
	const struct auxtap_finding *f;
	const struct auxtap_audit_ring *r;
	size_t i;

	(void)state;
	assert_non_null(root);
	findings = json_object_get(root, "findings");
	for (i = 0; (f = auxtap_audit_get_finding(audit, i)); i++) {
		assert_int_equal(f->size, sizeof(*f));
		check_finding(json_array_get(findings, i), f);
	}
	assert_true(i >= 4);
	assert_int_equal(json_array_size(findings), i);
	counts = json_object_get(root, "counts");
	assert_int_equal(json_integer_value(json_object_get(counts, "aux-hole")), 1);
	rings = json_object_get(root, "rings");
	for (i = 0; (r = auxtap_audit_get_ring(audit, i)); i++) {
		const json_t *ring = json_array_get(rings, i);

		assert_int_equal(json_integer_value(json_object_get(ring, "records")),
				 r->nr_records);
		assert_int_equal(json_integer_value(json_object_get(ring, "bytes")), r->nr_bytes);
		assert_int_equal(json_integer_value(json_object_get(ring, "truncated")),
				 r->nr_truncated);
	}
	assert_int_equal(json_array_size(rings), 2);
	assert_string_equal(json_string_value(json_object_get(root, "unit")), "intel_pt");
	json_decref(root);
	free(text);
	auxtap_audit_free(audit);
}

static void assert_has(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("no '%s' in:\n%s", what, text);
}

static void test_text(void **state)
{
	struct auxtap_audit *audit = two_rings();
	char *text = printed(audit, "FILE", auxtap_audit_print_text);

	(void)state;
	assert_has(text, "FILE");
	assert_has(text, "VIOLATION aux-hole");
	assert_has(text, "known loss truncated");
	assert_has(text, "known loss partial");
	assert_has(text, "thread 5");
	assert_has(text, "thread 4");
	assert_has(text, audit_first(audit, "aux-hole")->text);
	free(text);
	auxtap_audit_free(audit);
	audit = audit_recording("aux 0 100 0 64\ntrace 0 0 64", NULL);
	text = printed(audit, "FILE", auxtap_audit_print_text);
	assert_has(text, "FILE: clean");
	assert_null(strstr(text, "VIOLATION"));
	free(text);
	auxtap_audit_free(audit);
}

static unsigned int count(const char *text, const char *what)
{
	unsigned int nr = 0;

	for (; (text = strstr(text, what)); text++)
		nr++;
	return nr;
}

static void test_junit(void **state)
{
	struct auxtap_audit *audit = two_rings();
	char *text = printed(audit, "a<b>&\"c\"", auxtap_audit_print_junit);
	unsigned int nr_cases = 0, nr_failed = 0;
	char failures[32];
	const struct auxtap_invariant *inv;

	(void)state;
	for (size_t i = 0; (inv = auxtap_audit_get_invariant(i)); i++) {
		/* a recording without a log of its unit */
		nr_cases += !inv->of_log && !inv->of_both && inv->severity == AUXTAP_VIOLATION;
		nr_failed += inv->severity == AUXTAP_VIOLATION && auxtap_audit_count(audit, inv);
	}
	snprintf(failures, sizeof(failures), "failures=\"%u\"", nr_failed);
	assert_has(text, failures);
	assert_null(strstr(text, "a<b>"));
	assert_has(text, "a&#60;b&#62;&#38;");
	assert_int_equal(count(text, "<failure"), nr_failed);
	assert_true(count(text, "<testcase ") >= nr_cases);
	assert_has(text, "</testsuites>");
	free(text);
	auxtap_audit_free(audit);
}

static void test_full_disk(void **state)
{
	static print_fn *const fns[] = {auxtap_audit_print_text, auxtap_audit_print_json,
					auxtap_audit_print_junit};
	struct auxtap_audit *audit = two_rings();

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		FILE *out = fopen("/dev/full", "w");

		assert_non_null(out);
		assert_int_equal(setvbuf(out, NULL, _IONBF, 0), 0);
		assert_int_equal(fns[i](audit, "FILE", out), -EIO);
		fclose(out);
	}
	auxtap_audit_free(audit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_junit),
		cmocka_unit_test(test_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
