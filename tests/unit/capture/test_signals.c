// SPDX-License-Identifier: BSD-2-Clause
/* Signals that the session sends on: which, to whom, from whom; those that arrive meanwhile. */
#include "capture/session.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct auxtap_session *session;
static siginfo_t sent[80];
static pid_t sent_to[80];
static unsigned int nr_sent, nr_again;

static int forward(void *ctx, pid_t pid, const void *info)
{
	assert_ptr_equal(ctx, &nr_sent);
	assert_true(nr_sent < 80);
	sent_to[nr_sent] = pid;
	sent[nr_sent++] = *(const siginfo_t *)info;
	if (nr_again) { /* the same signal from another process, while it is being sent */
		siginfo_t again = *(const siginfo_t *)info;

		nr_again--;
		again.si_pid++;
		auxtap_session_forward_siginfo(session, &again);
	}
	return 0;
}

static int plain(void *ctx, pid_t pid, int signo)
{
	const siginfo_t info = {.si_signo = signo};

	return forward(ctx, pid, &info);
}

static void begin(struct auxtap_session *s, struct auxtap_backend *be)
{
	memset(s, 0, sizeof(*s));
	be->target_ctx = &nr_sent;
	s->be = be;
	s->control_fd = -1;
	s->main_pid = 4321;
	session = s;
	nr_sent = nr_again = 0;
}

static void arrive(int signo, pid_t pid, uid_t uid)
{
	siginfo_t info = {.si_signo = signo, .si_code = SI_QUEUE};

	info.si_pid = pid;
	info.si_uid = uid;
	auxtap_session_forward_siginfo(session, &info);
}

static struct auxtap_session s;

static void test_senders(void **state)
{
	const struct auxtap_target_ops ops = {.size = sizeof(ops), .forward = forward};
	struct auxtap_backend be = {.target = &ops};

	(void)state;
	begin(&s, &be);
	session_forward_signals(&s);
	assert_int_equal(nr_sent, 0);
	arrive(64, 7, 70);
	arrive(SIGTERM, 8, 80);
	arrive(SIGTERM, 9, 90); /* pending already: they merge, the newest is named */
	arrive(1, 10, 100);
	session_forward_signals(&s);
	assert_int_equal(nr_sent, 3);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(sent_to[i], 4321);
		assert_int_equal(sent[i].si_code, SI_USER);
	}
	assert_int_equal(sent[0].si_signo, 1);
	assert_int_equal(sent[0].si_pid, 10);
	assert_int_equal(sent[1].si_signo, SIGTERM);
	assert_int_equal(sent[1].si_pid, 9);
	assert_int_equal(sent[1].si_uid, 90);
	assert_int_equal(sent[2].si_signo, 64);
	assert_int_equal(sent[2].si_uid, 70);
	session_forward_signals(&s); /* each once */
	assert_int_equal(nr_sent, 3);
}

static void test_meanwhile(void **state)
{
	const struct auxtap_target_ops ops = {.size = sizeof(ops), .forward = forward};
	struct auxtap_backend be = {.target = &ops};

	(void)state;
	begin(&s, &be);
	nr_again = 1;
	arrive(SIGHUP, 20, 0);
	session_forward_signals(&s);
	session_forward_signals(&s);
	session_forward_signals(&s);
	assert_int_equal(nr_sent, 2);
	assert_int_equal(sent[1].si_pid, 21);
}

/* Numbers that are no signals, no program yet, and an engine that takes only numbers. */
static void test_limits(void **state)
{
	const struct auxtap_target_ops ops = {.size = sizeof(ops), .signal = plain};
	struct auxtap_backend be = {.target = &ops};

	(void)state;
	begin(&s, &be);
	arrive(0, 1, 1);
	arrive(-1, 1, 1);
	arrive(65, 1, 1);
	session_forward_signals(&s);
	assert_int_equal(nr_sent, 0);
	arrive(SIGINT, 1, 1);
	session_forward_signals(&s);
	assert_int_equal(nr_sent, 1);
	assert_int_equal(sent[0].si_signo, SIGINT);
	s.main_pid = 0;
	arrive(SIGINT, 1, 1);
	session_forward_signals(&s);
	s.main_pid = 4321; /* it came to no program: the next one must not receive it */
	session_forward_signals(&s);
	assert_int_equal(nr_sent, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_senders),
		cmocka_unit_test(test_meanwhile),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
