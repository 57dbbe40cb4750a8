// SPDX-License-Identifier: BSD-2-Clause
/* Short names of functions: what is left out, that different functions stay so, hostile names. */
#include "decode/report/report_out.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define VECTOR "std::vector<int, std::allocator<int> >"
#define MAP    "std::map<std::string, " VECTOR ", std::less<std::string> >"

static const char *shortened(struct report_names *names, const char *full)
{
	static char out[REPORT_NAME_MAX + 8];

	if (!report_short_name(names, full, out, sizeof(out)))
		return full;
	assert_true(strlen(out) <= REPORT_NAME_MAX + 4);
	return out;
}

static void copy_short(struct report_names *names, const char *full, char *out, size_t size)
{
	const char *text = shortened(names, full);

	assert_true(strlen(text) < size);
	memcpy(out, text, strlen(text) + 1);
}

static void what_is_left_out(void **state)
{
	static const char *const cases[][2] = {
		{"short::name<int>(std::vector<int>)", "short::name<int>(std::vector<int>)"},
		{"bank::pay(std::vector<bank::account, std::allocator<bank::account> >&, int)",
		 "bank::pay(std::vector<...>&, int)"},
		{"std::vector<" MAP ", std::allocator<" MAP " > >::push_back(" MAP " const&)",
		 "std::vector<...>::push_back(std::map<...> const&)"},
		{"bool operator< <" MAP ">(" MAP " const&, " MAP " const&)",
		 "bool operator< <std::map<...>>(...)"},
		{"std::ostream& operator<< <" MAP ">(std::ostream&, " MAP " const&)",
		 "std::ostream& operator<< <std::map<...>>(...)"},
		{"(anonymous namespace)::visitor<" MAP ">::operator()(" MAP ", " MAP ") const",
		 "(anonymous namespace)::visitor<...>::operator()(...) const"},
		{"run(" MAP ", int)::{lambda(" MAP " const&)#1}::operator()(" MAP ") const",
		 "run(...)::{lambda(...)#1}::operator()(...) const"},
		{"shop::cat::weigh(int, int const&)::{lambda(long)#1}::operator()(long) const",
		 "shop::cat::weigh(...)::{lambda(...)#1}::operator()(...) const"},
		{"sum<" VECTOR ">(" VECTOR ", " VECTOR ", " VECTOR ")@plt",
		 "sum<std::vector<...>>(...)@plt"},
		{"sum<" VECTOR ">(" VECTOR ", " VECTOR ", " VECTOR ")",
		 "sum<std::vector<...>>(...)"},
	};
	struct report_names *names = report_names_new();

	(void)state;
	assert_non_null(names);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_string_equal(shortened(names, cases[i][0]), cases[i][1]);
		assert_string_equal(shortened(names, cases[i][0]), cases[i][1]); /* once more */
	}
	report_names_free(names);
}

/* The second of two functions is given in another form, or gets a number. */
static void different_ones_stay_so(void **state)
{
	static const char *const names_of[] = {
		"copy<" VECTOR ">(" VECTOR " const&, int)",
		"copy<" MAP ">(" VECTOR " const&, int)",
		"copy<" VECTOR ">(" MAP " const&, int)",
		"copy<" MAP ">(" MAP " const&, int)",
		"copy<" MAP ">(" MAP " const&, " MAP ", int)",
		"copy<" MAP ">(" MAP " const&, " MAP ", long)",
		"copy<" MAP ", int>(" MAP " const&, " MAP ", long)",
		"copy<" MAP ", 7>(" MAP " const&, " MAP ", long)",
		"copy<" MAP ", 8>(" MAP " const&, " MAP ", long)",
		"copy<...>(...)", /* a template of a variadic function may be called so */
		"copy<...>(...) [2]",
	};
	struct report_names *names = report_names_new();
	char seen[sizeof(names_of) / sizeof(names_of[0])][REPORT_NAME_MAX + 8];

	(void)state;
	assert_non_null(names);
	for (size_t i = 0; i < sizeof(names_of) / sizeof(names_of[0]); i++) {
		copy_short(names, names_of[i], seen[i], sizeof(seen[i]));
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(seen[i], seen[k]);
	}
	for (size_t i = 0; i < sizeof(names_of) / sizeof(names_of[0]); i++)
		assert_string_equal(seen[i], shortened(names, names_of[i]));
	report_names_free(names);
}

/* Any text may be a symbol: the result fits, and differs from all others. */
static void hostile_names(void **state)
{
	static const char *const parts[] = {"<",
					    ">",
					    "(",
					    ")",
					    "{",
					    "}",
					    "[",
					    "]",
					    "operator<",
					    "operator()",
					    "(anonymous namespace)",
					    "->",
					    "::",
					    "a",
					    "name",
					    ", ",
					    "...",
					    "\xc3\xa4",
					    "\x80",
					    "@plt"};
	struct report_names *names = report_names_new();
	static char full[300][400], seen[300][REPORT_NAME_MAX + 8];
	uint32_t seed = 1;

	(void)state;
	assert_non_null(names);
	for (size_t i = 0; i < 300; i++) {
		size_t len = 0;

		/* all are different by their number */
		len = (size_t)snprintf(full[i], sizeof(full[i]), i % 2 ? "f<%zu" : "f(%zu", i);
		while (len < 64 + i) {
			seed = seed * 1103515245 + 12345;
			len += (size_t)snprintf(full[i] + len, sizeof(full[i]) - len, "%s",
						parts[(seed >> 16) % 20]);
		}
		copy_short(names, full[i], seen[i], sizeof(seen[i]));
		assert_true(strlen(seen[i]) <= REPORT_NAME_MAX + 4);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(seen[i], seen[k]);
	}
	report_names_free(names);
}

/* Brackets without end take no more than a look at each. */
static void very_long_names(void **state)
{
	static const char brackets[] = "<(<{([";
	struct report_names *names = report_names_new();
	const size_t size = 256 << 10;
	char *full = malloc(size + 1);

	(void)state;
	assert_non_null(names);
	assert_non_null(full);
	for (size_t i = 0; i < sizeof(brackets) - 1; i++) {
		memset(full, brackets[i], size);
		full[size] = '\0';
		assert_true(strlen(shortened(names, full)) <= REPORT_NAME_WIDTH);
		memset(full + size / 2, ">)>}])"[i], size / 2);
		assert_true(strlen(shortened(names, full)) <= REPORT_NAME_WIDTH);
	}
	free(full);
	report_names_free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_left_out),
		cmocka_unit_test(different_ones_stay_so),
		cmocka_unit_test(hostile_names),
		cmocka_unit_test(very_long_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
