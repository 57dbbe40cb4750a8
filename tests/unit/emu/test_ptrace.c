// SPDX-License-Identifier: BSD-2-Clause
/* auxtap-emu with the ptrace source, over its sockets: real programs, traced whole, judged by libipt. */
#include "support_client.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <cmocka.h>

static void test_true(void **state)
{
	struct client c = { 0 };
	char *const argv[] = { (char *)"/bin/true", NULL };

	(void)state;
	assert_int_equal(client_trace_program(&c, argv), 0);
	assert_true(client_verify(&c) > 10000);
	assert_int_equal(c.traces[0].itrace_starts, 1);
	client_stop(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_true),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
