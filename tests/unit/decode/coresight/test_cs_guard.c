// SPDX-License-Identifier: BSD-2-Clause
/*
 * An exception of a C++ library becomes an error with its name; a crash in it is reported first.
 */
#include <cli/crash_guard.h>
#include <decode/coresight/cs_guard.h>

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/* libstdc++'s own, which throw std::bad_alloc and std::length_error */
void _ZSt17__throw_bad_allocv(void);
void _ZSt20__throw_length_errorPKc(const char *what);

static void out_of_memory(void *arg)
{
	(void)arg;
	_ZSt17__throw_bad_allocv();
}

static void too_long(void *arg)
{
	_ZSt20__throw_length_errorPKc(arg);
}

static void fine(void *arg)
{
	*(int *)arg = 7;
}

static void gives_up(void *arg)
{
	(void)arg;
	abort();
}

static void crashes(void *arg)
{
	raise(arg ? SIGSEGV : SIGBUS);
}

static void exceptions(void **state)
{
	char why[96] = "", name[] = "vector::reserve";
	int value = 0;

	(void)state;
	assert_int_equal(cs_guard(fine, &value, why, sizeof(why)), 0);
	assert_int_equal(value, 7);
	assert_int_equal(cs_guard(out_of_memory, NULL, why, sizeof(why)), -ENOMEM);
	assert_string_equal(why, "OpenCSD: out of memory");
	assert_int_equal(cs_guard(too_long, name, why, sizeof(why)), -EIO);
	assert_string_equal(why, "OpenCSD: vector::reserve");
}

/* Runs in a child; returns its signal and its output. */
static int dies(void (*fn)(void *arg), void *arg, bool guarded, char *said, size_t size)
{
	int fds[2], status;
	ssize_t got;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		char why[96];

		dup2(fds[1], STDERR_FILENO);
		/* the handlers of a test runner and of sanitizers are not tested */
		signal(SIGABRT, SIG_DFL);
		signal(SIGSEGV, SIG_DFL);
		crash_guard_install("trace.data");
		cs_guard_set_offset(4711);
		if (guarded && cs_guard(fn, arg, why, sizeof(why)) == -EFAULT)
			_exit(strcmp(why, "OpenCSD crashed") ? 1 : 42);
		if (!guarded)
			fn(arg);
		_exit(0);
	}
	close(fds[1]);
	memset(said, 0, size);
	while ((got = read(fds[0], said + strlen(said), size - 1 - strlen(said))) > 0)
		;
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static void deaths(void **state)
{
	char said[512], arg = 0;

	(void)state;
	assert_int_equal(dies(gives_up, NULL, true, said, sizeof(said)), SIGABRT);
	assert_string_equal(
		said, "auxtap: trace.data: the decoder library (OpenCSD) crashed near offset 4711 "
		      "of the trace; a newer libopencsd may read it\n");
	/* a crash ends only the stream */
	assert_int_equal(dies(crashes, &arg, true, said, sizeof(said)), -42);
	assert_string_equal(said, "");
	/* not a crash of the library */
	assert_int_equal(dies(gives_up, NULL, false, said, sizeof(said)), SIGABRT);
	assert_string_equal(said, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exceptions),
		cmocka_unit_test(deaths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
