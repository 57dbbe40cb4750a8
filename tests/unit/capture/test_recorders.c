// SPDX-License-Identifier: BSD-2-Clause
/*
 * Each recorder (full trace, snapshot, crash) with each layout (threads, the CPUs of a program,
 * whole CPUs) records the same short life: which events are opened, what is in the file, what is
 * counted.
 */
#include "capture/sideband_write.h"
#include "support_fake.h"

#include <auxtap/gap.h>
#include <auxtap/perfdata.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define AUX_BYTES 96 /* the file pads to 8 */
#define RING_COMM "of-a-ring"

enum recorder { FULL, SNAPSHOT, CRASH, NR_RECORDERS };
enum layout { THREADS, CPUS, WHOLE_CPUS, NR_LAYOUTS };

static const char *const modes[] = {"mode: full\n", "mode: snapshot\n", "mode: crash\n"};
static char dir[] = "/tmp/auxtap-recorders-XXXXXX";
static char output[64];
static char *const argv[] = {"/bin/fake", NULL};
static int nr_no_snapshot;

/* clang-format off */
static const struct auxtap_target_event life[] = {
	{.type = AUXTAP_TARGET_THREAD, .pid = FAKE_PID, .tid = FAKE_PID + 1,
	 .parent_pid = FAKE_PID, .parent_tid = FAKE_PID},
	{.type = AUXTAP_TARGET_DYING, .pid = FAKE_PID, .tid = FAKE_PID, .signo = SIGSEGV},
	{.type = AUXTAP_TARGET_PROCESS_EXIT, .pid = FAKE_PID, .tid = FAKE_PID, .status = SIGSEGV},
};

/* The death is seen only when the process has ended. */
static const struct auxtap_target_event late_death[] = {
	{.type = AUXTAP_TARGET_THREAD, .pid = FAKE_PID, .tid = FAKE_PID + 1,
	 .parent_pid = FAKE_PID, .parent_tid = FAKE_PID},
	{.type = AUXTAP_TARGET_PROCESS_EXIT, .pid = FAKE_PID, .tid = FAKE_PID, .status = SIGSEGV},
};
/* clang-format on */

/* Each unit writes some bytes, and each data ring gets a record. */
static void give_trace(struct fake *f, enum fake_call call)
{
	if (call != FAKE_POLL || f->nr_calls[FAKE_POLL])
		return;
	for (unsigned int i = 0; i < f->nr_pages; i++) {
		struct perf_event_mmap_page *page = f->pages[i];
		struct {
			struct perf_event_header header;
			uint32_t pid, tid;
			char comm[16];
			uint64_t trailer[4]; /* pid and tid, time, CPU, identifier */
		} record = {
			.header = {.type = PERF_RECORD_COMM, .size = sizeof(record)},
			.pid = FAKE_PID,
			.tid = FAKE_PID + i, /* of each thread only the newest name is kept */
			.comm = RING_COMM,
			.trailer = {(uint64_t)FAKE_PID << 32 | FAKE_PID, 1000 + i, 0, 1},
		};

		memcpy((char *)page + page->data_offset + page->data_head, &record, sizeof(record));
		page->data_head += sizeof(record);
		if (!f->aux[i]) /* sideband alone */
			continue;
		memset(f->aux[i], 0x99, AUX_BYTES);
		page->aux_head = AUX_BYTES;
	}
}

static void on_no_snapshot(void *ctx, const char *path, const struct auxtap_crash *crash,
			   const struct auxtap_error *why)
{
	(void)ctx;
	(void)path;
	assert_int_equal(crash->signo, SIGSEGV);
	assert_true(*why->why);
	nr_no_snapshot++;
}

static struct auxtap_session_opts options(enum recorder recorder, enum layout layout)
{
	return (struct auxtap_session_opts){
		.size = sizeof(struct auxtap_session_opts),
		.event = "intel_pt//u",
		.data_pages = 1,
		.aux_pages = 4,
		.output = output,
		.argv = argv,
		.snapshot = recorder == SNAPSHOT,
		.crash = recorder == CRASH,
		.all_cpus = layout == WHOLE_CPUS,
		.on_no_snapshot = on_no_snapshot,
	};
}

/* Runs it to its end; a snapshot is asked for at the beginning, but of the crash recorder. */
static void record(struct fake *f, const struct auxtap_session_opts *o, bool per_cpu,
		   struct auxtap_session_stats *stats)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_backend be;
	struct auxtap_session *s;
	int descriptors = fake_open_descriptors();

	fake_backend(f, &be, per_cpu);
	if (auxtap_session_open(&s, &be, o, &err))
		fail_msg("%s: %s", err.what, err.why);
	if (!o->crash || o->keep)
		auxtap_session_request_snapshot(s);
	assert_int_equal(auxtap_session_run(s, NULL, &err), 0);
	*stats = *auxtap_session_get_stats(s);
	assert_int_equal(auxtap_session_close(s, &err), 0);
	assert_int_equal(f->nr_open, 0);
	assert_int_equal(f->nr_mapped, 0);
	assert_int_equal(fake_open_descriptors(), descriptors);
}

static void check_events(const struct fake *f, enum recorder recorder, enum layout layout)
{
	const struct perf_event_attr *trace = &f->attrs[0], *dummy = &f->attrs[1];
	bool per_cpu = layout != THREADS;

	assert_int_equal(f->nr_calls[FAKE_OPEN], per_cpu ? 2 * f->nr_pages : f->nr_pages);
	assert_int_equal(trace->type, 10);
	assert_true(trace->disabled);
	assert_int_equal(trace->inherit, layout == CPUS);
	assert_int_equal(trace->enable_on_exec, layout == CPUS);
	assert_int_equal(trace->mmap, !per_cpu);
	assert_int_equal(trace->comm, !per_cpu);
	assert_int_equal(trace->task, !per_cpu);
	assert_int_equal(trace->aux_watermark, recorder == FULL ? 4096 : 0);
	assert_int_equal(f->aux_prot & PROT_WRITE, recorder == FULL ? PROT_WRITE : 0);
	if (!per_cpu)
		return;
	/* the kernel's sideband */
	assert_int_equal(dummy->type, PERF_TYPE_SOFTWARE);
	assert_int_equal(dummy->config, PERF_COUNT_SW_DUMMY);
	assert_true(dummy->mmap && dummy->comm && dummy->task && dummy->context_switch);
	assert_int_equal(dummy->aux_watermark, 0);
	assert_int_equal(dummy->disabled, layout == CPUS); /* else on while /proc is read */
	assert_int_equal(dummy->inherit, layout == CPUS);
}

struct content {
	const char *mode;
	bool found_mode;
	unsigned int nr_crashes, nr_wakeup_logs;
};

static int look_at_metadata(void *ctx, uint32_t type, const void *data, size_t size)
{
	struct content *c = ctx;

	if (type == AUXTAP_METADATA_CAPTURE)
		c->found_mode = memmem(data, size, c->mode, strlen(c->mode));
	c->nr_crashes += type == AUXTAP_METADATA_CRASH;
	c->nr_wakeup_logs += type == AUXTAP_METADATA_WAKEUPS;
	return 0;
}

static void check_file(const struct fake *f, enum recorder recorder, enum layout layout)
{
	static const uint64_t switches[] = {0, 2, 3};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct content c = {.mode = modes[recorder]};
	const struct auxtap_perfdata_aux *aux;
	unsigned int nr_comms = 0;
	struct auxtap_perfdata *pd;
	struct auxtap_record rec = {.size = sizeof(rec)};
	const uint64_t *priv;
	size_t nr, nr_priv;
	uint32_t type;

	assert_int_equal(auxtap_perfdata_open(&pd, output, &err), 0);
	assert_int_equal(auxtap_perfdata_auxtrace_info(pd, &type, &priv, &nr_priv), 0);
	assert_int_equal(type, AUXTAP_AUXTRACE_INTEL_PT);
	assert_int_equal(priv[AUXTAP_PT_INFO_SNAPSHOT_MODE], recorder != FULL);
	assert_int_equal(priv[AUXTAP_PT_INFO_PER_CPU_MMAPS], layout != THREADS);
	assert_int_equal(priv[AUXTAP_PT_INFO_HAVE_SCHED_SWITCH], switches[layout]);
	assert_int_equal(auxtap_perfdata_get_info(pd)->nr_attrs, layout == THREADS ? 1 : 2);
	/* the ring's record names identifier 1, which a thread's snapshot lists, too */
	assert_int_equal(auxtap_perfdata_get_attr(pd, 0)->nr_ids,
			 f->nr_pages + (recorder == CRASH && layout == THREADS));
	assert_int_equal(auxtap_perfdata_auxtraces(pd, &aux, &nr, &err), 0);
	assert_int_equal(nr, f->nr_pages);
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(aux[i].trace_size, AUX_BYTES);
		assert_int_equal((int32_t)aux[i].auxtrace.cpu >= 0, layout != THREADS);
		assert_int_equal((int32_t)aux[i].auxtrace.tid >= 0, layout == THREADS);
	}
	while (auxtap_perfdata_next(pd, &rec, &err) > 0) {
		const char *body = (const char *)(rec.header + 1);

		nr_comms += rec.header->type == PERF_RECORD_COMM && !strcmp(body + 8, RING_COMM);
	}
	assert_int_equal(nr_comms, f->nr_pages);
	assert_int_equal(auxtap_perfdata_metadata(pd, look_at_metadata, &c, &err), 0);
	assert_true(c.found_mode);
	assert_int_equal(c.nr_crashes, recorder == CRASH);
	assert_int_equal(c.nr_wakeup_logs, recorder == CRASH ? 0 : f->nr_pages);
	auxtap_perfdata_close(pd);
}

/* How often events were switched off: for a snapshot, for a death, at the end of a CPU's. */
static unsigned int switched_off(enum recorder recorder, enum layout layout, unsigned int nr)
{
	switch (recorder) {
	case SNAPSHOT: /* the first thread alone, when the snapshot is asked for */
		return layout == THREADS ? 1 : 2 * nr;
	case CRASH:
		return layout == THREADS ? nr : 2 * nr;
	default:
		return layout == THREADS ? 0 : nr;
	}
}

static void test_every_combination(void **state)
{
	static const unsigned int snapshots[] = {0, 2, 1}; /* asked for, and at the end; a death */

	(void)state;
	for (enum recorder r = 0; r < NR_RECORDERS; r++) {
		for (enum layout l = 0; l < NR_LAYOUTS; l++) {
			struct auxtap_session_opts o = options(r, l);
			struct fake f = {.before = give_trace,
					 .events = life,
					 .nr_events = sizeof(life) / sizeof(life[0])};
			struct auxtap_session_stats stats;

			print_message("recorder %d, layout %d\n", r, l);
			nr_no_snapshot = 0;
			record(&f, &o, l != THREADS, &stats);
			check_events(&f, r, l);
			check_file(&f, r, l);
			assert_int_equal(stats.snapshots, snapshots[r]);
			assert_int_equal(stats.crashes, 1);
			assert_int_equal(stats.aux_bytes, f.nr_pages * AUX_BYTES);
			assert_int_equal(stats.exit_status, SIGSEGV);
			assert_int_equal(nr_no_snapshot, 0);
			/* the start, and each event but the end */
			assert_int_equal(f.nr_resumed, f.nr_events);
			assert_int_equal(f.nr_calls[FAKE_DISABLE], switched_off(r, l, f.nr_pages));
			unlink(output);
		}
	}
}

/* The rings of CPUs outlive a process; those of its threads are gone with it. */
static void test_late_death(void **state)
{
	(void)state;
	for (enum layout l = 0; l < NR_LAYOUTS; l++) {
		struct auxtap_session_opts o = options(CRASH, l);
		struct fake f = {.before = give_trace,
				 .events = late_death,
				 .nr_events = sizeof(late_death) / sizeof(late_death[0])};
		struct auxtap_session_stats stats;

		nr_no_snapshot = 0;
		record(&f, &o, l != THREADS, &stats);
		assert_int_equal(stats.crashes, 1);
		assert_int_equal(stats.snapshots, l != THREADS);
		assert_int_equal(nr_no_snapshot, l == THREADS);
		assert_int_equal(access(output, F_OK), l == THREADS ? -1 : 0);
		if (l != THREADS)
			check_file(&f, CRASH, l);
		unlink(output);
	}
}

#define CHILD (FAKE_PID + 2)

/* clang-format off */
static const struct auxtap_target_event two_deaths[] = {
	{.type = AUXTAP_TARGET_FAULT, .pid = FAKE_PID, .tid = FAKE_PID},
	{.type = AUXTAP_TARGET_FORK, .pid = CHILD, .tid = CHILD,
	 .parent_pid = FAKE_PID, .parent_tid = FAKE_PID},
	{.type = AUXTAP_TARGET_DYING, .pid = CHILD, .tid = CHILD, .signo = SIGSEGV},
	{.type = AUXTAP_TARGET_PROCESS_EXIT, .pid = CHILD, .tid = CHILD, .status = SIGSEGV},
	{.type = AUXTAP_TARGET_DYING, .pid = FAKE_PID, .tid = FAKE_PID, .signo = SIGSEGV},
	{.type = AUXTAP_TARGET_PROCESS_EXIT, .pid = FAKE_PID, .tid = FAKE_PID, .status = SIGSEGV},
};
/* clang-format on */

static void put_record(struct perf_event_mmap_page *page, uint32_t type, const void *body,
		       size_t body_size, const char *name, uint64_t time)
{
	const struct trailer trailer = {.pid = FAKE_PID, .tid = FAKE_PID, .time = time, .id = 1};
	char *at = (char *)page + page->data_offset + page->data_head;
	size_t size =
		record_make(at, 256, type, PERF_RECORD_MISC_USER, body, body_size, name, &trailer);

	assert_true(size);
	page->data_head += size;
}

/* A mapping that is gone when the processes die, and the fork; the kernel's record of it. */
static void map_and_fork(struct fake *f, enum fake_call call)
{
	const struct mmap2_body map = {.pid = FAKE_PID,
				       .tid = FAKE_PID,
				       .addr = 0x700000,
				       .len = 4096,
				       .prot = PROT_EXEC};
	const struct task_body fork = {.pid = CHILD,
				       .ppid = FAKE_PID,
				       .tid = CHILD,
				       .ptid = FAKE_PID,
				       .time = 1001};

	if (call != FAKE_POLL || f->nr_calls[FAKE_POLL])
		return;
	put_record(f->pages[0], PERF_RECORD_MMAP2, &map, sizeof(map), "/lib/gone.so", 1000);
	put_record(f->pages[0], PERF_RECORD_FORK, &fork, sizeof(fork), NULL, 1001);
}

static int count_pauses(void *ctx, uint32_t type, const void *data, size_t size)
{
	(void)size;
	if (type == AUXTAP_METADATA_GAP)
		*(unsigned int *)ctx +=
			((const struct auxtap_gap *)data)->cause == AUXTAP_GAP_PAUSED;
	return 0;
}

/* Pauses of events before the snapshot, and mappings of the child at 0x700000. */
static void count_in(const char *path, unsigned int *nr_pauses, unsigned int *nr_maps)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perfdata *pd;
	struct auxtap_record rec = {.size = sizeof(rec)};

	*nr_pauses = *nr_maps = 0;
	if (auxtap_perfdata_open(&pd, path, &err))
		fail_msg("%s: %s", err.what, err.why);
	while (auxtap_perfdata_next(pd, &rec, &err) > 0) {
		const struct mmap2_body *map = (const void *)(rec.header + 1);

		*nr_maps += rec.header->type == PERF_RECORD_MMAP2 && map->pid == CHILD &&
			    map->addr == 0x700000;
	}
	assert_int_equal(auxtap_perfdata_metadata(pd, count_pauses, nr_pauses, &err), 0);
	auxtap_perfdata_close(pd);
	unlink(path);
}

/*
 * A child inherits its parent's mappings, by the fork that is reported or by the kernel's record.
 * Events of CPUs go on after the first death: the second snapshot says that they were off.
 */
static void test_two_deaths(void **state)
{
	(void)state;
	for (enum layout l = 0; l < NR_LAYOUTS; l++) {
		struct auxtap_session_opts o = options(CRASH, l);
		struct fake f = {.before = map_and_fork,
				 .events = two_deaths,
				 .nr_events = sizeof(two_deaths) / sizeof(two_deaths[0])};
		struct auxtap_session_stats stats;
		unsigned int nr_pauses, nr_maps;
		char second[96];

		snprintf(second, sizeof(second), "%s.%d", output, FAKE_PID);
		record(&f, &o, l != THREADS, &stats);
		assert_int_equal(stats.crashes, 2);
		assert_int_equal(stats.snapshots, 2);
		count_in(output, &nr_pauses, &nr_maps);
		assert_int_equal(nr_maps, 1);
		assert_int_equal(nr_pauses, 0);
		count_in(second, &nr_pauses, &nr_maps);
		assert_int_equal(nr_maps, l != THREADS); /* all processes of the CPUs */
		assert_int_equal(nr_pauses, l != THREADS);
		snprintf(second, sizeof(second), "%s.%d.vdso", output, FAKE_PID);
		unlink(second);
	}
}

/* With -C the other CPUs' mappings are recorded, too: by an event of their own, without switches.
 */
static void test_other_cpus(void **state)
{
	long nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct auxtap_session_opts o = options(FULL, CPUS);
	struct fake f = {.before = give_trace, .events = late_death, .nr_events = 2};
	struct auxtap_session_stats stats;

	(void)state;
	if (nr_cpus < 2) {
		print_message("skipped: one CPU alone\n");
		skip();
	}
	o.cpus = "0";
	o.all_cpus = false;
	record(&f, &o, true, &stats);
	assert_int_equal(f.nr_calls[FAKE_OPEN], 2 + nr_cpus - 1);
	assert_int_equal(f.attrs[1].context_switch, 1);
	assert_int_equal(f.attrs[2].type, PERF_TYPE_SOFTWARE);
	assert_int_equal(f.attrs[2].context_switch, 0);
	assert_true(f.attrs[2].mmap && f.attrs[2].comm && f.attrs[2].task);
	assert_false(f.attrs[2].disabled);
	unlink(output);
}

struct note {
	unsigned int nr_gaps[AUXTAP_GAP_NR_CAUSES];
	uint64_t nr_bytes; /* of all gaps */
	char text[1024];
};

static int take_note(void *ctx, uint32_t type, const void *data, size_t size)
{
	const struct auxtap_gap *gap = data;
	struct note *note = ctx;

	if (type == AUXTAP_METADATA_GAP) {
		note->nr_gaps[gap->cause]++;
		note->nr_bytes += gap->nr_bytes;
	}
	if (type == AUXTAP_METADATA_CAPTURE)
		snprintf(note->text, sizeof(note->text), "%.*s", (int)size, (const char *)data);
	return 0;
}

static void read_note(struct note *note)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perfdata *pd;

	memset(note, 0, sizeof(*note));
	assert_int_equal(auxtap_perfdata_open(&pd, output, &err), 0);
	assert_int_equal(auxtap_perfdata_metadata(pd, take_note, note, &err), 0);
	auxtap_perfdata_close(pd);
	unlink(output);
}

/* A thread that ended before the death: its trace is not in the snapshot, which says so. */
static void test_ended_thread(void **state)
{
	/* clang-format off */
	static const struct auxtap_target_event events[] = {
		{.type = AUXTAP_TARGET_THREAD, .pid = FAKE_PID, .tid = FAKE_PID + 1,
		 .parent_pid = FAKE_PID, .parent_tid = FAKE_PID},
		{.type = AUXTAP_TARGET_THREAD_EXIT, .pid = FAKE_PID, .tid = FAKE_PID + 1},
		{.type = AUXTAP_TARGET_DYING, .pid = FAKE_PID, .tid = FAKE_PID, .signo = SIGSEGV},
		{.type = AUXTAP_TARGET_PROCESS_EXIT, .pid = FAKE_PID, .tid = FAKE_PID,
		 .status = SIGSEGV},
	};
	/* clang-format on */
	struct auxtap_session_opts o = options(CRASH, THREADS);
	struct fake f = {.before = give_trace, .events = events, .nr_events = 4};
	struct auxtap_session_stats stats;
	struct note note;

	(void)state;
	record(&f, &o, false, &stats);
	read_note(&note);
	assert_int_equal(note.nr_gaps[AUXTAP_GAP_DISCARDED], 1);
	assert_non_null(strstr(note.text, "\nthreads_ended: 1\n"));
}

#define NR_DROPPED 50

static int dropping_unit(void *ctx, int fd, struct auxtap_unit_stats *stats)
{
	(void)ctx;
	(void)fd;
	assert_int_equal(stats->size, sizeof(*stats));
	*stats = (struct auxtap_unit_stats){.size = stats->size,
					    .nr_produced = AUX_BYTES + NR_DROPPED,
					    .nr_written = AUX_BYTES,
					    .nr_dropped = NR_DROPPED};
	return 0;
}

static void give_collision(struct fake *f, enum fake_call call)
{
	const struct aux_body aux = {.aux_size = AUX_BYTES, .flags = PERF_AUX_FLAG_COLLISION};

	if (call != FAKE_POLL || f->nr_calls[FAKE_POLL])
		return;
	put_record(f->pages[0], PERF_RECORD_AUX, &aux, sizeof(aux), NULL, 1000);
	f->pages[0]->aux_head = AUX_BYTES;
}

/*
 * A full trace of a unit that dropped bytes and then makes no progress: the loss is a gap, the note
 * counts, and the event is enabled once more.
 */
static void test_losses_of_full_trace(void **state)
{
	struct auxtap_target_event events[8] = {{.type = AUXTAP_TARGET_NONE}};
	struct auxtap_session_opts o = options(FULL, THREADS);
	struct fake f = {.before = give_collision, .events = events, .nr_events = 8};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perf_ops ops;
	struct auxtap_backend be;
	struct auxtap_session *s;
	struct note note;

	(void)state;
	for (int i = 0; i < 8; i++) {
		events[i].pid = events[i].tid = FAKE_PID;
		events[i].type = i < 7 ? AUXTAP_TARGET_FAULT : AUXTAP_TARGET_PROCESS_EXIT;
	}
	fake_backend(&f, &be, false);
	ops = *be.perf;
	ops.unit_stats = dropping_unit;
	be.perf = &ops;
	assert_int_equal(auxtap_session_open(&s, &be, &o, &err), 0);
	assert_int_equal(auxtap_session_run(s, NULL, &err), 0);
	assert_int_equal(auxtap_session_close(s, &err), 0);
	read_note(&note);
	assert_int_equal(note.nr_gaps[AUXTAP_GAP_TRUNCATED], 1);
	assert_int_equal(note.nr_bytes, NR_DROPPED);
	assert_non_null(strstr(note.text, "\nbackend: emulated\n"));
	assert_non_null(strstr(note.text, "\ntime: emulated\n"));
	assert_non_null(strstr(note.text, "\ntruncations: 0\ncollisions: 1\n"));
	assert_int_equal(f.nr_calls[FAKE_ENABLE], 2);
}

/* The kernel's side of a data ring contains a record of size 0. */
static void damage(struct fake *f, enum fake_call call)
{
	struct perf_event_mmap_page *page = f->pages[0];

	if (call != FAKE_POLL || f->nr_calls[FAKE_POLL])
		return;
	memset((char *)page + page->data_offset + page->data_head, 0, 8);
	page->data_head += 8;
}

/* A snapshot that cannot be created: reported once, by the callback, and returned by run(). */
static void test_lost_snapshot(void **state)
{
	(void)state;
	for (enum layout l = 0; l < NR_LAYOUTS; l++) {
		struct auxtap_session_opts o = options(CRASH, l);
		struct fake f = {.before = give_trace,
				 .events = life,
				 .nr_events = sizeof(life) / sizeof(life[0])};
		struct auxtap_error err = AUXTAP_ERROR_INIT;
		struct auxtap_backend be;
		struct auxtap_session *s;

		o.output = "/nonexistent/data";
		nr_no_snapshot = 0;
		fake_backend(&f, &be, l != THREADS);
		assert_int_equal(auxtap_session_open(&s, &be, &o, &err), 0);
		assert_int_equal(auxtap_session_run(s, NULL, &err), -ENOENT);
		assert_int_equal(nr_no_snapshot, 1);
		assert_true(auxtap_session_get_stats(s)->error_reported);
		assert_int_equal(auxtap_session_get_stats(s)->crashes, 1);
		assert_int_equal(auxtap_session_get_stats(s)->snapshots, 0);
		assert_int_equal(auxtap_session_close(s, &err), 0);
	}
}

/* Tracing ended before the death, with an error: no file without trace is left. */
static void test_death_after_failure(void **state)
{
	static const struct auxtap_target_event events[] = {
		{.type = AUXTAP_TARGET_FAULT, .pid = FAKE_PID, .tid = FAKE_PID},
		{.type = AUXTAP_TARGET_FAULT, .pid = FAKE_PID, .tid = FAKE_PID},
		{.type = AUXTAP_TARGET_PROCESS_EXIT,
		 .pid = FAKE_PID,
		 .tid = FAKE_PID,
		 .status = SIGSEGV},
	};

	(void)state;
	for (enum layout l = 0; l < NR_LAYOUTS; l++) {
		struct auxtap_session_opts o = options(CRASH, l);
		struct fake f = {.before = damage, .events = events, .nr_events = 3};
		struct auxtap_error err = AUXTAP_ERROR_INIT;
		struct auxtap_backend be;
		struct auxtap_session *s;

		fake_backend(&f, &be, l != THREADS);
		assert_int_equal(auxtap_session_open(&s, &be, &o, &err), 0);
		assert_int_equal(auxtap_session_run(s, NULL, &err), -EBADMSG);
		assert_false(auxtap_session_get_stats(s)->error_reported);
		assert_int_equal(auxtap_session_get_stats(s)->snapshots, 0);
		assert_int_equal(auxtap_session_close(s, &err), 0);
		assert_int_equal(access(output, F_OK), -1);
	}
}

/* What perf's readers of each family need in a file. */
static void test_families(void **state)
{
	static const struct {
		const char *event;
		uint32_t auxtrace;
		bool time_conv, threads_without_cpu;
	} cases[] = {
		{"intel_pt//u", AUXTAP_AUXTRACE_INTEL_PT, false, false},
		{"cs_etm//u", AUXTAP_AUXTRACE_CS_ETM, true, true},
		{"arm_spe_0//u", AUXTAP_AUXTRACE_ARM_SPE, true, false},
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		enum layout layout = i % 2 ? CPUS : THREADS;
		struct auxtap_session_opts o = options(FULL, layout);
		struct fake f = {.before = give_trace,
				 .events = life,
				 .nr_events = sizeof(life) / sizeof(life[0])};
		struct auxtap_error err = AUXTAP_ERROR_INIT;
		struct auxtap_session_stats stats;
		unsigned int nr_time_convs = 0;
		struct auxtap_perfdata *pd;
		struct auxtap_record rec = {.size = sizeof(rec)};
		const uint64_t *priv;
		bool has_cpu;
		size_t nr_priv;
		uint32_t type;

		o.event = cases[i / 2].event;
		record(&f, &o, layout != THREADS, &stats);
		assert_int_equal(auxtap_perfdata_open(&pd, output, &err), 0);
		assert_int_equal(auxtap_perfdata_auxtrace_info(pd, &type, &priv, &nr_priv), 0);
		assert_int_equal(type, cases[i / 2].auxtrace);
		if (type == AUXTAP_AUXTRACE_ARM_SPE) {
			assert_int_equal(nr_priv, 2);
			assert_int_equal(priv[0], 11);
			assert_int_equal(priv[1], layout != THREADS);
		}
		has_cpu = auxtap_perfdata_get_attr(pd, 0)->attr.sample_type & PERF_SAMPLE_CPU;
		assert_int_equal(has_cpu, !(cases[i / 2].threads_without_cpu && layout == THREADS));
		while (auxtap_perfdata_next(pd, &rec, &err) > 0) {
			nr_time_convs += rec.header->type == AUXTAP_RECORD_TIME_CONV;
			if (rec.header->type == PERF_RECORD_COMM)
				assert_int_equal((rec.fields & AUXTAP_REC_CPU) != 0, has_cpu);
		}
		assert_int_equal(nr_time_convs, cases[i / 2].time_conv);
		auxtap_perfdata_close(pd);
		unlink(output);
	}
}

/* CoreSight's synchronisations are 4096 bytes apart: a snapshot has to hold two of these. */
static void test_least_snapshot(void **state)
{
	static const struct {
		const char *event;
		uint64_t size;
		int ret;
	} cases[] = {
		{"cs_etm//u", 8191, -EINVAL},
		{"cs_etm//u", 8192, 0},
		{"arm_spe_0//u", 1, 0},
		{"intel_pt//u", 4096, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct auxtap_session_opts o = options(SNAPSHOT, THREADS);
		struct auxtap_error err = AUXTAP_ERROR_INIT;
		struct auxtap_session *s;
		struct auxtap_backend be;
		struct fake f = {0};

		o.event = cases[i].event;
		o.snapshot_size = cases[i].size;
		fake_backend(&f, &be, false);
		assert_int_equal(auxtap_session_open(&s, &be, &o, &err), cases[i].ret);
		if (cases[i].ret)
			assert_string_equal(err.hint, "keep 8K or more");
		else
			assert_int_equal(auxtap_session_close(s, &err), 0);
		unlink(output);
	}
}

static int make_dir(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(output, sizeof(output), "%s/data", dir);
	return 0;
}

static int remove_dir(void **state)
{
	char name[96];

	(void)state;
	snprintf(name, sizeof(name), "%s.vdso", output);
	unlink(name);
	return rmdir(dir);
}

/* Crash: of a process that runs on, and then dies; its events are on again in between. */
static void test_interrupted(void **state)
{
	(void)state;
	for (enum layout l = 0; l < NR_LAYOUTS; l++) {
		struct auxtap_session_opts o = options(CRASH, l), quiet = o;
		struct fake f = {.before = give_trace,
				 .events = life,
				 .nr_events = sizeof(life) / sizeof(life[0])};
		struct fake g = f;
		struct auxtap_session_stats stats;
		char second[128];

		record(&g, &quiet, l != THREADS, &stats);
		unlink(output);
		o.keep = 8; /* asks for one */
		record(&f, &o, l != THREADS, &stats);
		assert_int_equal(stats.requested, 1);
		assert_int_equal(stats.snapshots, 2);
		assert_int_equal(stats.crashes, 1);
		assert_int_equal(stats.crash_signo, SIGSEGV);
		assert_true(f.nr_calls[FAKE_ENABLE] > g.nr_calls[FAKE_ENABLE]);
		snprintf(second, sizeof(second), "%s.%d", output, stats.program_pid);
		assert_int_equal(unlink(output), 0);
		assert_int_equal(unlink(second), 0);
		snprintf(second, sizeof(second), "%s.%d.vdso", output, stats.program_pid);
		unlink(second);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_combination),
		cmocka_unit_test(test_late_death),
		cmocka_unit_test(test_two_deaths),
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_least_snapshot),
		cmocka_unit_test(test_other_cpus),
		cmocka_unit_test(test_ended_thread),
		cmocka_unit_test(test_losses_of_full_trace),
		cmocka_unit_test(test_death_after_failure),
		cmocka_unit_test(test_lost_snapshot),
		cmocka_unit_test(test_interrupted),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
