// SPDX-License-Identifier: BSD-2-Clause
/*
 * Demangled names: C++ and Rust; hostile ones terminate; and without memory the name stays
 * mangled. malloc() and realloc() are wrapped (tests/CMakeLists.txt), so that any of them can fail.
 */
#include "decode/image/image_private.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define LIMIT                                                                              \
	(16u << 20) /* more than any name takes; without it a hostile one takes all memory \
		     */

static long fail_at = -1, nr_calls;
static bool beyond_limit;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);
char *__real_strndup(const char *s, size_t n);
char *__wrap_strndup(const char *s, size_t n);

static bool fails(void)
{
	return fail_at >= 0 && nr_calls++ >= fail_at;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_realloc(void *p, size_t size)
{
	beyond_limit |= size > LIMIT;
	return fails() || size > LIMIT ? NULL : __real_realloc(p, size);
}

char *__wrap_strndup(const char *s, size_t n)
{
	return fails() ? NULL : __real_strndup(s, n);
}

/* clang-format off */
static const struct name {
	const char *mangled, *demangled;
} names[] = {
	{ "_Z3foov", "foo()" },
	{ "_ZN3foo3barEi", "foo::bar(int)" },
	{ "_ZNSt6vectorIiSaIiEE9push_backERKi",
	  "std::vector<int, std::allocator<int> >::push_back(int const&)" },
	{ "_Z3foov@plt", "foo()@plt" },
	{ "_ZZN4Bank6reportER9SchedulerENUlvE_D1Ev",
	  "Bank::report(Scheduler&)::{lambda()#1}::~{lambda()#1}()" },
	{ "_ZZN4Bank6reportER9SchedulerENUlvE0_C2EOS2_@plt",
	  "Bank::report(Scheduler&)::{lambda()#2}::{lambda()#2}({lambda()#2}&&)@plt" },
	{ "_ZZ4mainENUt_D2Ev", "main::{unnamed type#1}::~{unnamed type#1}()" },
	{ "_ZZ1fvENKUlvE_clEv", "f()::{lambda()#1}::operator()() const" },
	{ "_Z6PRE_D1v", "PRE_D1()" },
	{ "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt" },
	{ "_RNvC6_123foo3bar", "123foo::bar" },
	{ "_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
	  "utf8_idents::\u10e1\u10d0\u10ed\u10db\u10d4\u10da\u10d0\u10d3_"
	  "\u10d2\u10d4\u10db\u10e0\u10d8\u10d4\u10da\u10d8_"
	  "\u10e1\u10d0\u10d3\u10d8\u10da\u10d8" },
	{ "main", NULL },
	{ "_start", NULL },
	{ "_Z", NULL },
	{ "_ZN", NULL },
	{ "_RNvC", NULL },
};
/* clang-format on */
#define NR_NAMES (sizeof(names) / sizeof(names[0]))

static void test_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR_NAMES; i++) {
		char *got = image_demangle(names[i].mangled);

		if (!names[i].demangled)
			assert_null(got);
		else if (!got || strcmp(got, names[i].demangled))
			fail_msg("%s: '%s', not '%s'", names[i].mangled, got ? got : "(none)",
				 names[i].demangled);
		free(got);
	}
}

/* Runs in a child: the test is that the process does not end. */
static void test_no_memory(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	fflush(NULL);
	pid = fork();
	if (!pid) {
		for (size_t i = 0; i < NR_NAMES; i++) {
			for (long at = 0; at < 12; at++) {
				char *got;

				fail_at = at;
				nr_calls = 0;
				got = image_demangle(names[i].mangled);
				fail_at = -1;
				/* the complete name or nothing */
				if (got && (!names[i].demangled || strcmp(got, names[i].demangled)))
					_exit(2);
				if (at == 0 && got)
					_exit(3);
				free(got);
			}
		}
		_exit(42);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 42);
}

/* Functions of libiberty that end the process without memory: nothing may link them. */
extern void xmalloc_failed(size_t size) __attribute__((weak));
extern void xexit(int status) __attribute__((weak));

static void test_nothing_ends_the_process(void **state)
{
	(void)state;
	assert_null(xmalloc_failed);
	assert_null(xexit);
}

/* f(A<int, int>, A<that, that>, …): each doubles the output. */
static void test_doubling(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[1024] = "_Z1f1AIiiE", *got;

	(void)state;
	for (int nr = 0; nr < 30; nr++)
		sprintf(name + strlen(name), "S_IS%c_S%c_E", digits[nr], digits[nr]);
	got = image_demangle(name);
	assert_null(got); /* 2^30 times "int" */
	assert_false(beyond_limit);
	name[strlen("_Z1f1AIiiE") + 5 * strlen("S_IS0_S0_E")] = '\0';
	got = image_demangle(name);
	assert_non_null(got);
	assert_true(strlen(got) > 200);
	free(got);
}

static void test_deep(void **state)
{
	static char name[100000];
	char *got;

	(void)state;
	/* pointers to pointers, longer than any real name, and within the length limit */
	for (size_t len = 60000; len < sizeof(name); len += 39000) {
		memset(name, 'P', len);
		memcpy(name, "_Z1f", 4);
		strcpy(name + len, "i");
		got = image_demangle(name);
		assert_null(got);
	}
	/* Rust: references to references */
	memset(name, 'R', 60000);
	memcpy(name, "_RINvC1a1b", 10);
	strcpy(name + 60000, "aE");
	got = image_demangle(name);
	assert_true(!got || strlen(got) <= 256 << 10);
	free(got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_nothing_ends_the_process),
		cmocka_unit_test(test_doubling),
		cmocka_unit_test(test_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
