// SPDX-License-Identifier: BSD-2-Clause
/* Tables of options: what is read, in which order, and what is said of a wrong one. */
#include "util/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum {
	OPT_FORMAT = 256,
	OPT_FORCE,
	OPT_SIZE,
};

static const struct option_row own[] = {
	{'o', "output", "FILE"},    {OPT_FORMAT, "format", "text|json"},
	{OPT_FORCE, "force", NULL}, {'S', "snapshot", "[SIZE]"},
	{'v', NULL, NULL},	    {0},
};
static const struct option_row shared[] = {{OPT_SIZE, "size", "BYTES"}, {'h', "help", NULL}, {0}};
static const struct option_row *const tables[] = {own, shared, NULL};

struct expected {
	int id;
	const char *value, *what;
};

static int count(char **argv)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	return argc;
}

static void assert_options(char **argv, bool only_first, const struct expected *e, int end)
{
	struct options o;

	options_start(&o, count(argv), argv, tables, only_first);
	for (; e->id; e++) {
		assert_int_equal(options_next(&o), e->id);
		assert_string_equal(o.what, e->what);
		if (e->value)
			assert_string_equal(o.value, e->value);
		else
			assert_null(o.value);
	}
	assert_int_equal(options_next(&o), 0);
	assert_int_equal(options_end(&o), end);
}

static void test_reads_all_forms(void **state)
{
	char *argv[] = {"x",	    "-oa",    "file", "--format=json", "--size", "3", "-vS", "-S4K",
			"--snap=5", "--forc", "--",   "--size",	       NULL};
	static const struct expected e[] = {
		{'o', "a", "-o"},
		{OPT_FORMAT, "json", "--format"},
		{OPT_SIZE, "3", "--size"},
		{'v', NULL, "-v"},
		{'S', NULL, "-S"},
		{'S', "4K", "-S"},
		{'S', "5", "-S"},
		{OPT_FORCE, NULL, "--force"},
		{0},
	};

	(void)state;
	assert_options(argv, false, e, 10);
	assert_string_equal(argv[10], "file");
	assert_string_equal(argv[11], "--size");
}

/* Two scans of one command line find the same, also one that only looks for the first. */
static void test_scans_again(void **state)
{
	char *argv[] = {"x", "--force", "prog", "-o", "a", NULL};
	static const struct expected all[] = {{OPT_FORCE, NULL, "--force"}, {'o', "a", "-o"}, {0}};
	static const struct expected first[] = {{OPT_FORCE, NULL, "--force"}, {0}};

	(void)state;
	assert_options(argv, true, first, 2);
	assert_options(argv, true, first, 2);
	assert_options(argv, false, all, 4);
}

static void assert_refused(char *first, char *second, const char *what, const char *why)
{
	char *argv[] = {"x", "--force", first, second, NULL};
	struct options o;

	options_start(&o, count(argv), argv, tables, false);
	assert_int_equal(options_next(&o), OPT_FORCE);
	assert_int_equal(options_next(&o), OPTIONS_BAD);
	assert_string_equal(o.what, what);
	assert_string_equal(o.why, why);
}

static void test_says_what_is_wrong(void **state)
{
	(void)state;
	assert_refused("--nothing", "a", "--nothing", "no such option");
	assert_refused("--nothing=3", "a", "--nothing", "no such option");
	assert_refused("-z", "a", "-z", "no such option");
	assert_refused("-zv", "a", "-z", "no such option");
	assert_refused("-o", NULL, "-o", "option requires an argument");
	assert_refused("--size", NULL, "--size", "option requires an argument");
	assert_refused("--force=3", "a", "--force", "takes no value");
	assert_refused("--help=3", "a", "--help", "takes no value");
	assert_refused("--fo", "a", "--fo", "is ambiguous: --format, --force");
	assert_refused("--fo=a", NULL, "--fo", "is ambiguous: --format, --force");
}

/* A name that fills the message must not leave it. */
static void test_long_names(void **state)
{
	char name[600], *argv[] = {"x", name, NULL};
	struct options o;

	(void)state;
	memset(name, '-', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	options_start(&o, 2, argv, tables, false);
	assert_int_equal(options_next(&o), OPTIONS_BAD);
	assert_int_equal(strlen(o.what), sizeof(o.what) - 1);
	assert_string_equal(o.why, "no such option");
}

static void test_row(void **state)
{
	(void)state;
	assert_ptr_equal(options_row(tables, OPT_SIZE), &shared[0]);
	assert_null(options_row(tables, 7));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_all_forms),
		cmocka_unit_test(test_scans_again),
		cmocka_unit_test(test_says_what_is_wrong),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
