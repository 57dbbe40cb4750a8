// SPDX-License-Identifier: BSD-2-Clause
/*
 * The structs that a program and a backend exchange begin with their size: one that is not set is
 * refused, and an implementation fills no byte beyond it.
 */
#include "capture/emulated.h"
#include "capture/native.h"
#include "support_fake.h"
#include "util/sized.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define NR(array) (sizeof(array) / sizeof((array)[0]))

static const size_t wrong[] = {0, 1, sizeof(size_t), SIZE_MAX};

static void test_open(void **state)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct {
		struct auxtap_backend be;
		uint64_t newer;
	} longer = {.be = {.size = sizeof(longer)}, .newer = 1};

	(void)state;
	for (size_t i = 0; i < NR(wrong); i++) {
		struct auxtap_backend be;

		memset(&be, 0xa5, sizeof(be));
		be.size = wrong[i];
		assert_int_equal(auxtap_backend_open_kernel(&be, &err), -EINVAL);
		assert_string_equal(err.what, "struct auxtap_backend");
		assert_int_equal(auxtap_backend_open_emulated(&be, AUXTAP_ENGINE_AUTO, &err),
				 -EINVAL);
		assert_string_equal(err.what, "struct auxtap_backend");
		auxtap_backend_close(&be); /* nothing was opened: it frees nothing */
		assert_int_equal(be.size, wrong[i]);
		assert_int_equal(be.description[0], (char)0xa5);
	}
	assert_int_equal(auxtap_backend_open_kernel(&longer.be, &err), 0);
	assert_string_equal(longer.be.description, "kernel");
	assert_int_equal(longer.newer, 0);
	longer.newer = 1;
	auxtap_backend_close(&longer.be);
	assert_int_equal(longer.be.size, sizeof(longer));
	assert_null(longer.be.perf);
	assert_int_equal(longer.newer, 0);
}

static void refused(const struct auxtap_backend *be, const char *what)
{
	const char *const argv[] = {"/bin/true", NULL};
	struct auxtap_session_opts opts = {.size = sizeof(opts), .argv = (char *const *)argv};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_backend copy = *be;
	struct perf_event_attr attr;
	struct auxtap_session *s;

	assert_int_equal(auxtap_session_open(&s, &copy, &opts, &err), -EINVAL);
	assert_string_equal(err.what, what);
	err.what[0] = '\0';
	assert_int_equal(auxtap_event_attr(&attr, "intel_pt//u", be, &err), -EINVAL);
	assert_string_equal(err.what, what);
}

/* A backend of the program's own, and its tables. */
static void test_own_backend(void **state)
{
	struct auxtap_target_ops target;
	struct auxtap_perf_ops perf;
	struct auxtap_backend be;
	struct fake f = {0};

	(void)state;
	for (size_t i = 0; i < NR(wrong); i++) {
		fake_backend(&f, &be, false);
		be.size = wrong[i];
		refused(&be, "struct auxtap_backend");
		fake_backend(&f, &be, false);
		perf = *be.perf;
		perf.size = wrong[i];
		be.perf = &perf;
		refused(&be, "struct auxtap_perf_ops");
		fake_backend(&f, &be, false);
		target = *be.target;
		target.size = wrong[i];
		be.target = &target;
		refused(&be, "struct auxtap_target_ops");
	}
	memset(&be, 0, sizeof(be));
	be.size = sizeof(be);
	refused(&be, "struct auxtap_backend"); /* not opened */
}

/* What implementations fill. */
static void test_results(void **state)
{
	static const struct auxtap_target_ops *const targets[] = {&target_native_ops,
								  &target_ptrace_ops,
								  &target_qemu_ops};
	char *argv[] = {"/bin/true", NULL};
	const struct auxtap_spawn spawn = {.size = sizeof(spawn), .argv = argv};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_backend be = {.size = sizeof(be)};
	struct {
		struct auxtap_target_event ev;
		uint64_t newer;
	} longer = {.ev = {.size = sizeof(longer)}, .newer = 1};
	pid_t pid;
	int ret;

	(void)state;
	for (size_t i = 0; i < NR(wrong); i++) {
		struct auxtap_target_event ev = {.size = wrong[i]};
		struct auxtap_unit_stats stats = {.size = wrong[i]};

		for (size_t k = 0; k < NR(targets); k++) {
			const struct auxtap_spawn program = {.size = wrong[i], .argv = argv};

			assert_int_equal(targets[k]->wait(NULL, &ev), -EINVAL);
			assert_int_equal(targets[k]->spawn(NULL, &program, &pid, &err), -EINVAL);
			assert_string_equal(err.what, "struct auxtap_spawn");
			assert_int_equal(targets[k]->spawn(NULL, NULL, &pid, &err), -EINVAL);
			assert_string_equal(err.why, "names no program");
		}
		assert_int_equal(perf_emulated_ops.unit_stats(NULL, -1, &stats), -EINVAL);
	}
	assert_int_equal(auxtap_backend_open_kernel(&be, NULL), 0);
	assert_int_equal(be.target->spawn(be.target_ctx, &spawn, &pid, NULL), 0);
	assert_int_equal(be.target->resume(be.target_ctx, pid), 0);
	while (!(ret = be.target->wait(be.target_ctx, &longer.ev)))
		usleep(1000);
	assert_int_equal(ret, 1);
	assert_int_equal(longer.ev.size, sizeof(longer));
	assert_int_equal(longer.ev.type, AUXTAP_TARGET_PROCESS_EXIT);
	assert_int_equal(longer.ev.pid, pid);
	assert_true(WIFEXITED(longer.ev.status));
	assert_int_equal(longer.newer, 0);
	auxtap_backend_close(&be);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_own_backend),
		cmocka_unit_test(test_results),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
