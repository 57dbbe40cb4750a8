// SPDX-License-Identifier: BSD-2-Clause
/* The log of a ring's wakeups: the first of them without gaps, and how many there were. */
#include "capture/session.h"

#include <linux/perf_event.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define AUX_SIZE  65536
#define WATERMARK 4096
#define MOST	  4096

static uint64_t now;

static uint64_t fake_clock(void *ctx)
{
	(void)ctx;
	return ++now;
}

static const struct auxtap_perf_ops perf = {.clock = fake_clock};
static struct auxtap_backend backend = {.perf = &perf};
static const struct recorder_ops linear = {.overwrite = false};
static struct perf_event_mmap_page page;
static struct auxtap_session session;
static struct stream stream;

static int begin(void **state)
{
	(void)state;
	now = 0;
	memset(&page, 0, sizeof(page));
	memset(&session, 0, sizeof(session));
	memset(&stream, 0, sizeof(stream));
	session.be = &backend;
	session.recorder = &linear;
	session.attrs[0].aux_watermark = WATERMARK;
	session.file.writer = (void *)&page; /* there is one */
	stream.ring.page = &page;
	stream.ring.aux_size = AUX_SIZE;
	return 0;
}

static int end(void **state)
{
	(void)state;
	session.file.writer = NULL;
	session_write_wakeup_log(&session, &stream);
	assert_null(stream.wakeups.list);
	assert_int_equal(stream.wakeups.max, 0);
	return 0;
}

static void test_bounded(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < MOST + 1000; i++) {
		page.aux_head = i;
		session_after_poll(&session, &stream, POLLIN);
	}
	assert_int_equal(stream.wakeups.nr, MOST);
	assert_int_equal(stream.wakeups.nr_all, MOST + 1000);
	for (unsigned int i = 0; i < MOST; i++) {
		assert_int_equal(stream.wakeups.list[i].time_ns, i + 1);
		assert_int_equal(stream.wakeups.list[i].aux_head, i);
		assert_int_equal(stream.wakeups.list[i].flags, AUXTAP_WAKEUP_READABLE);
	}
}

/* A return without a wakeup counts where a watermark was passed, and the one after that. */
static void test_watermark(void **state)
{
	(void)state;
	page.aux_head = WATERMARK - 1;
	session_after_poll(&session, &stream, 0);
	assert_int_equal(stream.wakeups.nr, 0);
	page.aux_head = WATERMARK;
	session_after_poll(&session, &stream, 0);
	assert_int_equal(stream.wakeups.nr, 1);
	session_after_poll(&session, &stream, 0);
	assert_int_equal(stream.wakeups.nr, 2);
	session_after_poll(&session, &stream, 0);
	assert_int_equal(stream.wakeups.nr, 2);
	assert_int_equal(stream.wakeups.list[1].flags, 0);
	assert_int_equal(stream.wakeups.nr_all, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_bounded, begin, end),
		cmocka_unit_test_setup_teardown(test_watermark, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
