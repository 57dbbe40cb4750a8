// SPDX-License-Identifier: BSD-2-Clause
/*
 * A session against a backend that fails, call by call: the session reports each failure as a
 * clear error or tolerates it; it leaks no descriptor or mapping, leaves no program stopped and
 * loses no file.
 */
#include "support_fake.h"

#include <auxtap/perfdata.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[] = "/tmp/auxtap-session-XXXXXX";
static char output[64], old[80];
static char *const argv[] = {"/bin/fake", NULL};

static const struct auxtap_target_event whole_life[] = {
	{.type = AUXTAP_TARGET_EXEC, .pid = FAKE_PID, .tid = FAKE_PID},
	{.type = AUXTAP_TARGET_THREAD,
	 .pid = FAKE_PID,
	 .tid = FAKE_PID + 1,
	 .parent_pid = FAKE_PID,
	 .parent_tid = FAKE_PID},
	{.type = AUXTAP_TARGET_THREAD_EXIT, .pid = FAKE_PID, .tid = FAKE_PID + 1},
	{.type = AUXTAP_TARGET_FORK,
	 .pid = FAKE_PID + 2,
	 .tid = FAKE_PID + 2,
	 .parent_pid = FAKE_PID,
	 .parent_tid = FAKE_PID},
	{.type = AUXTAP_TARGET_DYING, .pid = FAKE_PID + 2, .tid = FAKE_PID + 2, .signo = SIGSEGV},
	{.type = AUXTAP_TARGET_PROCESS_EXIT,
	 .pid = FAKE_PID + 2,
	 .tid = FAKE_PID + 2,
	 .status = 139},
	{.type = AUXTAP_TARGET_PROCESS_EXIT, .pid = FAKE_PID, .tid = FAKE_PID, .status = 7 << 8},
};
#define NR_STOPS 5 /* the start, exec, thread, fork, death */

static struct auxtap_session_opts options(void)
{
	return (struct auxtap_session_opts){
		.size = sizeof(struct auxtap_session_opts),
		.event = "intel_pt//u",
		.data_pages = 1,
		.aux_pages = 1,
		.output = output,
		.argv = argv,
	};
}

static void forget_files(void)
{
	unlink(output);
	unlink(old);
}

static void write_old_file(void)
{
	int fd = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "the old file", 12), 12);
	close(fd);
}

static bool old_file_in_place(void)
{
	char text[13] = "";
	int fd = open(output, O_RDONLY);
	bool same = fd >= 0 && read(fd, text, 12) == 12 && !strcmp(text, "the old file");

	if (fd >= 0)
		close(fd);
	return same;
}

static void assert_reported(const struct auxtap_error *err, int code)
{
	assert_int_equal(err->code, code);
	assert_true(*err->what);
	assert_true(*err->why);
}

static void assert_nothing_left(const struct fake *f, int descriptors)
{
	assert_int_equal(f->nr_open, 0);
	assert_int_equal(f->nr_mapped, 0);
	assert_int_equal(fake_open_descriptors(), descriptors);
}

/* Opening, for a command, and as the kernel backend does with one event per CPU. */
static void test_open_fails(void **state)
{
	static const struct {
		enum fake_call call;
		unsigned int at;
		int code;
		bool per_cpu, hint;
	} cases[] = {
		{FAKE_SPAWN, 1, ENOENT, false, false},
		{FAKE_OPEN, 1, EACCES, false, true},
		{FAKE_OPEN, 1, EMFILE, false, true},
		{FAKE_OPEN, 1, EBUSY, false, true},
		{FAKE_OPEN, 1, ENOSPC, false, false},
		{FAKE_MMAP, 1, EPERM, false, true},
		{FAKE_MMAP, 2, ENOMEM, false, true},
		{FAKE_ID, 1, ENOTTY, false, false},
		{FAKE_MAPS, 1, EIO, false, false},
		{FAKE_ENABLE, 1, ENODEV, false, false},
		{FAKE_OPEN, 1, EACCES, true, true},
		{FAKE_OPEN, 2, EMFILE, true, true}, /* the dummy event */
		{FAKE_MMAP, 1, EPERM, true, true},
		{FAKE_MMAP, 2, EPERM, true, true},
		{FAKE_ID, 1, ENOTTY, true, false},
		{FAKE_ID, 2, ENOTTY, true, false},
		{FAKE_SET_OUTPUT, 1, EINVAL, true, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct auxtap_session_opts o = options();
		struct auxtap_error err = AUXTAP_ERROR_INIT;
		struct fake f = {.fail_call = cases[i].call,
				 .fail_at = cases[i].at,
				 .fail_errno = cases[i].code};
		struct auxtap_backend be;
		struct auxtap_session *s = NULL;
		int descriptors = fake_open_descriptors();

		write_old_file();
		fake_backend(&f, &be, cases[i].per_cpu);
		assert_int_equal(auxtap_session_open(&s, &be, &o, &err), -cases[i].code);
		assert_reported(&err, -cases[i].code);
		assert_int_equal(*err.hint != '\0', cases[i].hint);
		assert_int_equal(err.subject, cases[i].call == FAKE_SPAWN ? AUXTAP_ERROR_PROGRAM :
									    AUXTAP_ERROR_OTHER);
		assert_nothing_left(&f, descriptors);
		assert_true(old_file_in_place());
		assert_int_equal(access(old, F_OK), -1);
		/* A program that was started for the recording is not left stopped. */
		assert_int_equal(f.last_signal, cases[i].call == FAKE_SPAWN ? 0 : SIGKILL);
	}
	forget_files();
}

static void test_bad_page(void **state)
{
	struct auxtap_session_opts o = options();
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct fake f = {.bad_page = true};
	struct auxtap_backend be;
	struct auxtap_session *s;
	int descriptors = fake_open_descriptors();

	(void)state;
	fake_backend(&f, &be, false);
	assert_int_equal(auxtap_session_open(&s, &be, &o, &err), -EINVAL);
	assert_reported(&err, -EINVAL);
	assert_nothing_left(&f, descriptors);
}

/* A process that we attached to is detached, not killed. */
static void test_attach_fails(void **state)
{
	static const enum fake_call calls[] = {FAKE_ATTACH, FAKE_THREADS, FAKE_OPEN, FAKE_MMAP,
					       FAKE_ENABLE};

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct auxtap_session_opts o = options();
		struct auxtap_error err = AUXTAP_ERROR_INIT;
		struct fake f = {.fail_call = calls[i], .fail_at = 1, .fail_errno = EPERM};
		struct auxtap_backend be;
		struct auxtap_session *s;
		int descriptors = fake_open_descriptors(), ret;

		o.argv = NULL;
		o.pid = FAKE_PID;
		fake_backend(&f, &be, true);
		ret = auxtap_session_open(&s, &be, &o, &err);
		assert_true(ret < 0);
		assert_reported(&err, ret);
		assert_nothing_left(&f, descriptors);
		assert_int_equal(f.nr_attached, 0);
		assert_int_equal(f.last_signal, 0);
		assert_int_equal(access(output, F_OK), -1);
	}
}

static void assert_readable(const char *path)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perfdata *pd;

	if (auxtap_perfdata_open(&pd, path, &err))
		fail_msg("%s: %s: %s", path, err.what, err.why);
	auxtap_perfdata_close(pd);
}

static void run(struct fake *f, bool crash, int want, unsigned int want_snapshots)
{
	struct auxtap_session_opts o = options();
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_backend be;
	struct auxtap_session *s;
	int descriptors = fake_open_descriptors(), ret;

	f->events = whole_life;
	f->nr_events = sizeof(whole_life) / sizeof(whole_life[0]);
	o.crash = crash;
	fake_backend(f, &be, false);
	ret = auxtap_session_open(&s, &be, &o, &err);
	if (ret)
		fail_msg("open: %s: %s", err.what, err.why);
	ret = auxtap_session_run(s, NULL, &err);
	assert_int_equal(ret, want);
	if (want) {
		assert_reported(&err, want);
		/* the kernel backend executes the program when it resumes it */
		assert_int_equal(err.subject, f->fail_call == FAKE_RESUME ? AUXTAP_ERROR_PROGRAM :
									    AUXTAP_ERROR_OTHER);
	}
	/* Whatever failed, the program ran to its end as it would alone. */
	if (f->fail_call != FAKE_WAIT && f->fail_call != FAKE_RESUME) {
		assert_int_equal(f->at, f->nr_events);
		assert_int_equal(f->nr_resumed, NR_STOPS);
		assert_int_equal(auxtap_session_get_stats(s)->size,
				 sizeof(struct auxtap_session_stats));
		assert_int_equal(auxtap_session_get_stats(s)->exit_status, 7 << 8);
		assert_int_equal(auxtap_session_get_stats(s)->crashes, 1);
	}
	assert_int_equal(f->last_signal, 0);
	assert_int_equal(auxtap_session_get_stats(s)->snapshots, want_snapshots);
	assert_int_equal(auxtap_session_close(s, &err), 0);
	assert_nothing_left(f, descriptors);
	if (!crash || want_snapshots)
		assert_readable(output);
	else
		assert_int_equal(access(output, F_OK), -1);
	forget_files();
}

static void test_whole_life(void **state)
{
	struct fake f = {0}, g = {0};

	(void)state;
	run(&f, false, 0, 0);
	run(&g, true, 0, 1);
}

/* Second and later calls, while the program runs: tracing ends, the program does not. */
static void test_run_fails(void **state)
{
	/* clang-format off */
	static const struct {
		enum fake_call call;
		unsigned int at;
		int code;
	} cases[] = {
		{FAKE_POLL, 1, EBADF},	{FAKE_POLL, 3, EINVAL}, {FAKE_OPEN, 3, EBUSY},
		{FAKE_MMAP, 3, EPERM},	{FAKE_ID, 2, ENOTTY},	{FAKE_ENABLE, 2, ENODEV},
		{FAKE_WAIT, 3, EIO},	{FAKE_WAIT, 4, EPIPE},	{FAKE_RESUME, 1, ESRCH},
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (int crash = 0; crash < 2; crash++) {
			struct fake f = {.fail_call = cases[i].call,
					 .fail_at = cases[i].at,
					 .fail_errno = cases[i].code};

			run(&f, crash, -cases[i].code, 0);
		}
	}
}

static pid_t refused;

static void on_refused(void *ctx, pid_t tid, const struct auxtap_error *why)
{
	(void)ctx;
	assert_true(*why->why);
	refused = tid;
}

/* One thread too many for a limit: it is reported by name and as a gap; the others are traced. */
static void test_thread_refused(void **state)
{
	static const struct {
		enum fake_call call;
		unsigned int at;
		int code;
		pid_t tid;
	} cases[] = {
		{FAKE_OPEN, 2, EMFILE, FAKE_PID + 1}, {FAKE_OPEN, 2, EUSERS, FAKE_PID + 1},
		{FAKE_OPEN, 3, EUSERS, FAKE_PID + 2}, {FAKE_MMAP, 4, ENOMEM, FAKE_PID + 1},
		{FAKE_MMAP, 5, EMFILE, FAKE_PID + 2},
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		struct auxtap_session_opts o = options();
		struct auxtap_error err = AUXTAP_ERROR_INIT;
		struct fake f = {.fail_call = cases[i / 2].call,
				 .fail_at = cases[i / 2].at,
				 .fail_errno = cases[i / 2].code,
				 .events = whole_life,
				 .nr_events = sizeof(whole_life) / sizeof(whole_life[0])};
		int descriptors = fake_open_descriptors();
		struct auxtap_backend be;
		struct auxtap_session *s;

		o.crash = i % 2;
		o.on_refused = on_refused;
		refused = 0;
		fake_backend(&f, &be, false);
		assert_int_equal(auxtap_session_open(&s, &be, &o, &err), 0);
		assert_int_equal(auxtap_session_run(s, NULL, &err), 0);
		assert_int_equal(refused, cases[i / 2].tid);
		assert_int_equal(auxtap_session_get_stats(s)->threads_refused, 1);
		assert_int_equal(auxtap_session_get_stats(s)->crashes, 1);
		assert_int_equal(f.nr_resumed, NR_STOPS);
		assert_int_equal(auxtap_session_close(s, &err), 0);
		assert_nothing_left(&f, descriptors);
		assert_readable(output);
		forget_files();
	}
}

/* Ordinary failures because of a signal or a slow task. */
static void test_poll_is_interrupted(void **state)
{
	struct fake f = {.fail_call = FAKE_POLL, .fail_at = 2, .fail_errno = EINTR};

	(void)state;
	run(&f, false, 0, 0);
}

/* A death with some facts unavailable leaves a snapshot with the others. */
static void test_crash_with_less(void **state)
{
	static const struct {
		enum fake_call call;
		unsigned int at;
	} cases[] = {
		{FAKE_MAPS, 2},	   {FAKE_REGS, 1}, {FAKE_SIGINFO, 1}, {FAKE_MEM, 1},
		{FAKE_THREADS, 1}, {FAKE_MEM, 2},  {FAKE_DISABLE, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fake f = {.fail_call = cases[i].call,
				 .fail_at = cases[i].at,
				 .fail_errno = ESRCH};

		run(&f, true, 0, 1);
		/* the call was made, and failed */
		assert_true(f.nr_calls[cases[i].call] >= cases[i].at);
	}
}

static int make_dir(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(output, sizeof(output), "%s/data", dir);
	snprintf(old, sizeof(old), "%s.old", output);
	return 0;
}

static int remove_dir(void **state)
{
	char name[96];

	(void)state;
	forget_files();
	snprintf(name, sizeof(name), "%s.vdso", output);
	unlink(name);
	return rmdir(dir);
}

/* ---- a unit that is stopped while its bytes are being saved ---- */

#define AUX_BYTES 100

static unsigned int nr_stopped, disabled_at_poll[8], nr_polls;

/* D6, D14: the kernel ran out of space and says so in the ring. */
static void stop_unit(struct perf_event_mmap_page *page, unsigned int tid)
{
	struct {
		struct perf_event_header header;
		uint64_t offset, size, flags;
		uint64_t trailer[4]; /* pid and tid, time, CPU, identifier: what capture asks for */
	} record = {
		.header = {.type = PERF_RECORD_AUX, .size = sizeof(record)},
		.size = AUX_BYTES,
		.flags = PERF_AUX_FLAG_TRUNCATED,
		.trailer = {(uint64_t)tid << 32 | FAKE_PID, 1000, 0, 1},
	};
	char *data = (char *)page + page->data_offset;

	memcpy(data + page->data_head, &record, sizeof(record));
	page->data_head += sizeof(record);
	nr_stopped++;
}

/*
 * Both threads have trace; the first one's unit has stopped. Restarting it gives the second
 * one's unit time to stop after the session has read all data rings.
 */
static void stop_in_the_midst(struct fake *f, enum fake_call call)
{
	if (call == FAKE_POLL) {
		if (nr_polls < sizeof(disabled_at_poll) / sizeof(*disabled_at_poll))
			disabled_at_poll[nr_polls++] = f->nr_calls[FAKE_DISABLE];
		if (f->nr_pages == 2 && !nr_stopped) {
			f->pages[0]->aux_head = f->pages[1]->aux_head = AUX_BYTES;
			stop_unit(f->pages[0], FAKE_PID);
			nr_polls = 0;
		}
	} else if (call == FAKE_DISABLE && nr_stopped == 1) {
		stop_unit(f->pages[1], FAKE_PID + 1);
	}
}

/* clang-format off */
static const struct auxtap_target_event two_threads[] = {
	{.type = AUXTAP_TARGET_THREAD, .pid = FAKE_PID, .tid = FAKE_PID + 1,
	 .parent_pid = FAKE_PID, .parent_tid = FAKE_PID},
	{.type = AUXTAP_TARGET_FAULT, .pid = FAKE_PID, .tid = FAKE_PID},
	{.type = AUXTAP_TARGET_PROCESS_EXIT, .pid = FAKE_PID, .tid = FAKE_PID},
};
/* clang-format on */

/* It is enabled again in the same round that saved its bytes, not in the next one (D21). */
static void test_stopped_while_saving(void **state)
{
	struct auxtap_session_opts o = options();
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct fake f = {.before = stop_in_the_midst};
	struct auxtap_backend be;
	struct auxtap_session *s;

	(void)state;
	f.events = two_threads;
	f.nr_events = sizeof(two_threads) / sizeof(two_threads[0]);
	fake_backend(&f, &be, false);
	assert_int_equal(auxtap_session_open(&s, &be, &o, &err), 0);
	assert_int_equal(auxtap_session_run(s, NULL, &err), 0);
	assert_int_equal(nr_stopped, 2);
	assert_int_equal(auxtap_session_get_stats(s)->truncations, 2);
	assert_int_equal(auxtap_session_get_stats(s)->aux_bytes, 2 * AUX_BYTES);
	assert_true(nr_polls > 0);
	assert_int_equal(disabled_at_poll[0], 2);
	assert_int_equal(auxtap_session_close(s, &err), 0);
	assert_readable(output);
	forget_files();
}

/* The kernel's side of a data ring contains a record of size 0. */
static void damage_ring(struct fake *f, enum fake_call call)
{
	struct perf_event_mmap_page *page = f->pages[0];

	if (call != FAKE_POLL || f->nr_calls[FAKE_POLL])
		return;
	memset((char *)page + page->data_offset + page->data_head, 0, 8);
	page->data_head += 8;
}

/* An end whose rings could not be read is no snapshot, in no mode. */
static void test_failed_end_is_no_snapshot(void **state)
{
	static const struct auxtap_target_event end[] = {
		{.type = AUXTAP_TARGET_FAULT, .pid = FAKE_PID, .tid = FAKE_PID},
		{.type = AUXTAP_TARGET_PROCESS_EXIT, .pid = FAKE_PID, .tid = FAKE_PID},
	};

	(void)state;
	for (int snapshot = 0; snapshot < 2; snapshot++) {
		struct auxtap_session_opts o = options();
		struct auxtap_error err = AUXTAP_ERROR_INIT;
		struct fake f = {.before = damage_ring, .events = end, .nr_events = 2};
		struct auxtap_backend be;
		struct auxtap_session *s;

		o.snapshot = snapshot;
		fake_backend(&f, &be, false);
		assert_int_equal(auxtap_session_open(&s, &be, &o, &err), 0);
		assert_int_equal(auxtap_session_run(s, NULL, &err), -EBADMSG);
		assert_reported(&err, -EBADMSG);
		assert_int_equal(f.at, 2);
		assert_int_equal(auxtap_session_get_stats(s)->snapshots, 0);
		assert_int_equal(auxtap_session_close(s, &err), 0);
		forget_files();
	}
}

static unsigned int nr_reported[4]; /* by enum auxtap_target_notice */

static void on_notice(void *ctx, pid_t pid, enum auxtap_target_notice what, const char *why)
{
	(void)ctx;
	assert_int_equal(pid, FAKE_PID);
	assert_string_equal(why, "for this reason");
	nr_reported[what]++;
}

static int count_gaps(void *ctx, uint32_t type, const void *data, size_t size)
{
	(void)data;
	(void)size;
	*(unsigned int *)ctx += type == AUXTAP_METADATA_GAP;
	return 0;
}

/* What it lacks decides whether trace is missing, not what its text says. */
static void test_untraced(void **state)
{
	struct auxtap_target_event events[6] = {[5] = {.type = AUXTAP_TARGET_PROCESS_EXIT}};
	struct auxtap_session_opts o = options();
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct fake f = {.events = events, .nr_events = 6};
	const struct auxtap_session_stats *stats;
	struct auxtap_backend be;
	struct auxtap_perfdata *pd;
	struct auxtap_session *s;
	unsigned int nr_gaps = 0;

	(void)state;
	for (int i = 0; i < 6; i++) {
		events[i].pid = events[i].tid = FAKE_PID;
		if (i == 5)
			break;
		events[i].type = AUXTAP_TARGET_NOTICE;
		events[i].notice = (enum auxtap_target_notice)(i % 4); /* a process twice */
		snprintf(events[i].text, sizeof(events[i].text), "for this reason");
	}
	o.on_notice = on_notice;
	fake_backend(&f, &be, false);
	assert_int_equal(auxtap_session_open(&s, &be, &o, &err), 0);
	assert_int_equal(auxtap_session_run(s, NULL, &err), 0);
	stats = auxtap_session_get_stats(s);
	assert_int_equal(stats->untraced, 2);
	assert_true(stats->truth_failed);
	for (int i = 0; i < 4; i++)
		assert_int_equal(nr_reported[i], i == AUXTAP_NOTICE_UNTRACED ? 2 : 1);
	assert_int_equal(auxtap_session_close(s, &err), 0);
	assert_int_equal(auxtap_perfdata_open(&pd, output, &err), 0);
	assert_int_equal(auxtap_perfdata_metadata(pd, count_gaps, &nr_gaps, &err), 0);
	assert_int_equal(nr_gaps, 2);
	auxtap_perfdata_close(pd);
	forget_files();
}

/* A snapshot lists the identifiers of all events of its CPUs, including those of the sideband. */
static void test_ids_of_cpus(void **state)
{
	static const struct auxtap_target_event death[] = {
		{.type = AUXTAP_TARGET_DYING, .pid = FAKE_PID, .tid = FAKE_PID, .signo = SIGSEGV},
		{.type = AUXTAP_TARGET_PROCESS_EXIT,
		 .pid = FAKE_PID,
		 .tid = FAKE_PID,
		 .status = 139},
	};
	struct auxtap_session_opts o = options();
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct fake f = {.events = death, .nr_events = 2};
	struct auxtap_perfdata *pd;
	struct auxtap_backend be;
	struct auxtap_session *s;

	(void)state;
	o.crash = true;
	fake_backend(&f, &be, true);
	assert_int_equal(auxtap_session_open(&s, &be, &o, &err), 0);
	assert_int_equal(auxtap_session_run(s, NULL, &err), 0);
	assert_int_equal(auxtap_session_close(s, &err), 0);
	assert_int_equal(auxtap_perfdata_open(&pd, output, &err), 0);
	assert_int_equal(auxtap_perfdata_get_info(pd)->nr_attrs, 2);
	/* for each CPU the tracing event and the dummy */
	assert_int_equal(f.nr_calls[FAKE_OPEN] % 2, 0);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(auxtap_perfdata_get_attr(pd, i)->nr_ids,
				 f.nr_calls[FAKE_OPEN] / 2);
	auxtap_perfdata_close(pd);
	forget_files();
}

/* ---- signals that arrive while others are forwarded ---- */

static struct auxtap_session *running;
static int nr_forwarded[3]; /* of TERM, HUP, others */

static void on_forwarded(struct fake *f, int signo)
{
	(void)f;
	nr_forwarded[signo == SIGTERM ? 0 : signo == SIGHUP ? 1 : 2]++;
	/* Both arrive once more while the first is being forwarded. */
	if (nr_forwarded[0] == 1 && !nr_forwarded[1] && !nr_forwarded[2]) {
		auxtap_session_forward_signal(running, SIGTERM);
		auxtap_session_forward_signal(running, SIGHUP);
	}
}

/* Each is forwarded as often as it arrived: none is lost or duplicated. */
static void test_signals_meanwhile(void **state)
{
	struct auxtap_session_opts o = options();
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct fake f = {.forwarded = on_forwarded};
	struct auxtap_backend be;

	(void)state;
	f.events = whole_life;
	f.nr_events = sizeof(whole_life) / sizeof(whole_life[0]);
	fake_backend(&f, &be, false);
	assert_int_equal(auxtap_session_open(&running, &be, &o, &err), 0);
	auxtap_session_forward_signal(running, SIGTERM);
	assert_int_equal(auxtap_session_run(running, NULL, &err), 0);
	assert_int_equal(nr_forwarded[0], 2);
	assert_int_equal(nr_forwarded[1], 1);
	assert_int_equal(nr_forwarded[2], 0);
	assert_int_equal(auxtap_session_close(running, &err), 0);
	forget_files();
}

/* More of them at once than any list holds. */
static void test_many_signals(void **state)
{
	static const int signals[] = {SIGINT,	SIGQUIT, SIGALRM, SIGUSR1,   SIGUSR2, SIGCONT,
				      SIGWINCH, SIGURG,	 SIGIO,	  SIGVTALRM, SIGPROF, SIGCHLD};
	const int nr = sizeof(signals) / sizeof(signals[0]);
	struct auxtap_session_opts o = options();
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct fake f = {.forwarded = on_forwarded};
	struct auxtap_backend be;

	(void)state;
	nr_forwarded[2] = 0;
	f.events = whole_life;
	f.nr_events = sizeof(whole_life) / sizeof(whole_life[0]);
	fake_backend(&f, &be, false);
	assert_int_equal(auxtap_session_open(&running, &be, &o, &err), 0);
	for (int i = 0; i < nr; i++)
		auxtap_session_forward_signal(running, signals[i]);
	assert_int_equal(auxtap_session_run(running, NULL, &err), 0);
	assert_int_equal(nr_forwarded[2], nr);
	assert_int_equal(auxtap_session_close(running, &err), 0);
	forget_files();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open_fails),
		cmocka_unit_test(test_bad_page),
		cmocka_unit_test(test_attach_fails),
		cmocka_unit_test(test_whole_life),
		cmocka_unit_test(test_run_fails),
		cmocka_unit_test(test_poll_is_interrupted),
		cmocka_unit_test(test_stopped_while_saving),
		cmocka_unit_test(test_crash_with_less),
		cmocka_unit_test(test_failed_end_is_no_snapshot),
		cmocka_unit_test(test_untraced),
		cmocka_unit_test(test_ids_of_cpus),
		cmocka_unit_test(test_thread_refused),
		cmocka_unit_test(test_signals_meanwhile),
		cmocka_unit_test(test_many_signals),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
