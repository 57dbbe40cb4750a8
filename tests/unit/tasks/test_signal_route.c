// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which receipts of auxtap, auxtap-emu and the program are one signal. The program is a child that
 * counts what it is sent. The times of the receipts are those that each test says, counted from its
 * start: how long the test itself takes does not move them apart.
 */
#include "driver/emu/emu_state.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define MS 1000000ull

static struct emu emu;
static int sent_fd;
static u64 start_ns;

static void on_term(int signo)
{
	char byte = (char)signo;
	ssize_t n = write(sent_fd, &byte, 1);

	(void)n;
}

static void on_end(int signo)
{
	(void)signo;
	_exit(0);
}

static int start(void **state)
{
	struct sigaction act = {.sa_handler = on_term}, end = {.sa_handler = on_end};
	int fd[2], ready[2];
	char byte;

	(void)state;
	memset(&emu, 0, sizeof(emu));
	signal(SIGALRM, SIG_IGN); /* the bell */
	if (pipe(fd) || pipe(ready))
		return -1;
	emu.route.pid = fork();
	if (!emu.route.pid) {
		sent_fd = fd[1];
		sigfillset(&act.sa_mask); /* SIGRTMIN waits for its end */
		sigaction(SIGTERM, &act, NULL);
		/* by default it would end the process at once, before a pending SIGTERM */
		sigaction(SIGRTMIN, &end, NULL);
		if (write(ready[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(fd[1]);
	sent_fd = fd[0];
	if (read(ready[0], &byte, 1) != 1)
		return -1;
	close(ready[0]);
	close(ready[1]);
	start_ns = emu_now_ns();
	return 0;
}

/* How many signals the program was sent; it ends. */
static int nr_sent(void)
{
	char byte;
	int nr = 0;

	/* those sent before have been counted when this one is delivered: lower numbers come first
	 */
	kill(emu.route.pid, SIGRTMIN);
	waitpid(emu.route.pid, NULL, 0);
	while (read(sent_fd, &byte, 1) == 1)
		nr++;
	close(sent_fd);
	return nr;
}

static void receive(struct emu_received_signals *list, u64 ms_ago)
{
	emu_received_signal_add(list, SIGTERM, 4711, 0)->time_ns = start_ns - ms_ago * MS;
}

static void decide_all(void)
{
	do {
		usleep(1000);
		emu_route_run(&emu);
	} while (emu.route.waiting);
}

static void one_to_auxtap(void **state)
{
	(void)state;
	receive(&emu.route.capture, 200);
	decide_all();
	assert_int_equal(nr_sent(), 1);
}

static void one_to_the_group(void **state)
{
	(void)state;
	receive(&emu.route.program, 205);
	receive(&emu.route.own, 203);
	receive(&emu.route.capture, 200);
	decide_all();
	assert_int_equal(nr_sent(), 0);
}

/* The program got two; auxtap-emu's two, and auxtap's, were merged. Then one to auxtap-emu alone.
 */
static void one_after_a_merged_pair(void **state)
{
	(void)state;
	receive(&emu.route.program, 600);
	receive(&emu.route.program, 595);
	receive(&emu.route.own, 598);
	receive(&emu.route.capture, 590);
	decide_all();
	receive(&emu.route.own, 200);
	decide_all();
	assert_int_equal(nr_sent(), 1);
}

/* The same with auxtap's merged, and one to auxtap alone. */
static void one_to_auxtap_after_a_merged_pair(void **state)
{
	(void)state;
	receive(&emu.route.program, 600);
	receive(&emu.route.program, 595);
	receive(&emu.route.own, 598);
	receive(&emu.route.own, 592);
	receive(&emu.route.capture, 590);
	decide_all();
	receive(&emu.route.capture, 200);
	decide_all();
	assert_int_equal(nr_sent(), 1);
}

/* Two to the group, none merged; auxtap-emu runs late. */
static void a_late_pair(void **state)
{
	(void)state;
	receive(&emu.route.program, 600);
	receive(&emu.route.program, 595);
	receive(&emu.route.own, 598);
	receive(&emu.route.capture, 590);
	decide_all();
	receive(&emu.route.own, 400);
	receive(&emu.route.capture, 390);
	decide_all();
	assert_int_equal(nr_sent(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(one_to_auxtap, start),
		cmocka_unit_test_setup(one_to_the_group, start),
		cmocka_unit_test_setup(one_after_a_merged_pair, start),
		cmocka_unit_test_setup(one_to_auxtap_after_a_merged_pair, start),
		cmocka_unit_test_setup(a_late_pair, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
