// SPDX-License-Identifier: BSD-2-Clause
/*
 * Several threads in one CPU's queue, as a kernel records a command: an emulated recording
 * of four threads and their parent is cut where tracing is off and distributed to two CPUs'
 * buffers. With every way to identify threads, each one's instructions are its ground truth.
 */
#include <auxtap/decode.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define NR_CPUS	   2
#define NR_THREADS 5
#define SLOT	   100000 /* emulated time of a slice */
#define START	   10000000
#define MAX_SLICES 4096

/* The records that identify the running thread. */
enum reporter {
	BY_AUX,	       /* a trace event for each thread: its AUX records */
	BY_SWITCH,     /* PERF_RECORD_SWITCH */
	BY_WIDE,       /* PERF_RECORD_SWITCH_CPU_WIDE */
	BY_TRACEPOINT, /* samples of sched:sched_switch */
};

struct slice {
	int32_t tid;
	uint8_t *bytes;
	size_t nr;
};

struct thread {
	int32_t tid;
	uint8_t *bytes;
	size_t nr;
	struct slice *slices;
	size_t nr_slices;
};

static char dir[] = "/tmp/auxtap-percpu-XXXXXX";
static struct thread threads[NR_THREADS];
static size_t nr_threads;
static int32_t pid;

/* ---- cutting the recording ---- */

struct cutter {
	struct thread *thread;
	struct slice *slice;
	bool off, cut; /* tracing is off; the next address must be uncompressed */
};

static void append(struct slice *s, const void *bytes, size_t nr)
{
	s->bytes = realloc(s->bytes, s->nr + nr);
	assert_non_null(s->bytes);
	memcpy(s->bytes + s->nr, bytes, nr);
	s->nr += nr;
}

static void new_slice(struct cutter *c, bool with_header)
{
	static const uint8_t header[] = {2, 0x82, 2, 0x82, 2,	 0x82, 2,    0x82, 2, 0x82,
					 2, 0x82, 2, 0x82, 2,	 0x82, 0x19, 0,	   0, 0,
					 0, 0,	  0, 0,	   0x99, 0x01, 2,    0x23};

	assert_true(c->thread->nr_slices < MAX_SLICES);
	c->slice = &c->thread->slices[c->thread->nr_slices++];
	c->slice->tid = c->thread->tid;
	if (with_header)
		append(c->slice, header, sizeof(header));
}

static int cut(void *ctx, const struct auxtap_packet *pkt)
{
	struct cutter *c = ctx;

	assert_string_not_equal(pkt->name, "error");
	if (!c->slice || c->off) {
		bool psb = !strcmp(pkt->name, "psb");

		new_slice(c, !psb);
		c->cut = !psb;
		c->off = false;
	}
	if (!strcmp(pkt->name, "tip.pge") && c->cut) {
		uint8_t pge[7] = {0x71};

		assert_true(pkt->has_ip);
		memcpy(pge + 1, &pkt->ip, 6);
		append(c->slice, pge, sizeof(pge));
		c->cut = false;
		return 0;
	}
	append(c->slice, pkt->bytes, pkt->nr_bytes);
	c->off = !strcmp(pkt->name, "tip.pgd");
	return 0;
}

static struct thread *thread_of(int32_t tid)
{
	for (size_t i = 0; i < nr_threads; i++)
		if (threads[i].tid == tid)
			return &threads[i];
	assert_true(nr_threads < NR_THREADS);
	threads[nr_threads].tid = tid;
	return &threads[nr_threads++];
}

static int record(void **state)
{
	const struct auxtap_perfdata_aux *aux;
	struct auxtap_perfdata *pd;
	char text[1024];
	size_t nr;

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(text, sizeof(text),
		 "%s/auxtap record --source qemu -e intel_pt/noretcomp/u -o %s/data --truth "
		 "%s/truth -- %s/../fixtures/threads4 >%s/out 2>&1",
		 AUXTAP_BIN, dir, dir, AUXTAP_BIN, dir);
	if (system(text))
		return -1;
	snprintf(text, sizeof(text), "%s/data", dir);
	if (auxtap_perfdata_open(&pd, text, NULL) || auxtap_perfdata_auxtraces(pd, &aux, &nr, NULL))
		return -1;
	for (size_t i = 0; i < nr; i++) {
		struct thread *thread = thread_of((int32_t)aux[i].auxtrace.tid);

		thread->bytes = realloc(thread->bytes, thread->nr + aux[i].trace_size);
		auxtap_perfdata_pread(pd, thread->bytes + thread->nr, aux[i].trace_size,
				      aux[i].trace_off);
		thread->nr += aux[i].trace_size;
		if (!pid || thread->tid < pid)
			pid = thread->tid;
	}
	auxtap_perfdata_close(pd);
	for (size_t i = 0; i < nr_threads; i++) {
		struct cutter c = {.thread = &threads[i]};

		threads[i].slices = calloc(MAX_SLICES, sizeof(struct slice));
		assert_int_equal(auxtap_pt_packets(threads[i].bytes, threads[i].nr, 0, cut, &c,
						   NULL),
				 0);
	}
	return nr_threads == NR_THREADS ? 0 : -1;
}

static int clean(void **state)
{
	char text[256];

	(void)state;
	for (size_t i = 0; i < nr_threads; i++) {
		for (size_t s = 0; s < threads[i].nr_slices; s++)
			free(threads[i].slices[s].bytes);
		free(threads[i].slices);
		free(threads[i].bytes);
	}
	snprintf(text, sizeof(text), "rm -r %s", dir);
	return system(text);
}

/* ---- the per-CPU file ---- */

struct out {
	struct auxtap_perfdata_writer *w;
	uint64_t id, tracepoint_id;
	uint8_t *aux[NR_CPUS];
	size_t nr[NR_CPUS];
	int32_t ran[NR_CPUS]; /* last thread */
	bool started[NR_CPUS][NR_THREADS];
};

static void put(struct out *out, uint32_t type, uint16_t misc, const void *body, size_t size,
		int32_t tid, uint64_t time, uint32_t cpu)
{
	struct {
		struct perf_event_header header;
		uint8_t rest[65520];
	} rec = {.header = {.type = type, .misc = misc}};
	struct {
		int32_t pid, tid;
		uint64_t time;
		uint32_t cpu, zero;
		uint64_t id;
	} sid = {tid > 0 ? pid : tid, tid, time, cpu, 0, out->id};

	if (size)
		memcpy(rec.rest, body, size);
	memcpy(rec.rest + size, &sid, sizeof(sid));
	rec.header.size = (uint16_t)(sizeof(rec.header) + size + sizeof(sid));
	assert_int_equal(auxtap_perfdata_writer_record(out->w, &rec, rec.header.size, NULL, 0,
						       NULL),
			 0);
}

static void put_sched_switch(struct out *out, int32_t prev, int32_t next, uint64_t time,
			     uint32_t cpu)
{
	struct {
		struct perf_event_header header;
		uint64_t id, ip;
		int32_t pid, tid;
		uint64_t time;
		uint32_t cpu, zero;
		uint64_t period;
		uint32_t raw_size;
		uint8_t raw[68];
	} rec = {.header = {PERF_RECORD_SAMPLE, 1, sizeof(rec)},
		 .id = out->tracepoint_id,
		 .pid = prev ? pid : 0,
		 .tid = prev,
		 .time = time,
		 .cpu = cpu,
		 .period = 1,
		 .raw_size = 68};

	memcpy(rec.raw + 24, &prev, 4);
	memcpy(rec.raw + 56, &next, 4);
	assert_int_equal(auxtap_perfdata_writer_record(out->w, &rec, sizeof(rec), NULL, 0, NULL),
			 0);
}

/* New times for the slice's TSC packets, from 'time' on. */
struct clock {
	uint8_t *bytes;
	uint64_t time;
};

static int set_tsc(void *ctx, const struct auxtap_packet *pkt)
{
	struct clock *clock = ctx;

	if (!strcmp(pkt->name, "tsc")) {
		memcpy(clock->bytes + pkt->offset + 1, &clock->time, 7);
		clock->time += 10;
	}
	return 0;
}

static void put_slice(struct out *out, const struct slice *s, enum reporter reporter,
		      unsigned int cpu, unsigned int index, uint64_t time)
{
	uint64_t aux[3] = {out->nr[cpu], s->nr, 0};
	int32_t ids[2] = {pid, s->tid}, no_tid = 0;
	struct clock clock;

	out->aux[cpu] = realloc(out->aux[cpu], out->nr[cpu] + s->nr);
	clock = (struct clock){out->aux[cpu] + out->nr[cpu], time};
	memcpy(clock.bytes, s->bytes, s->nr);
	assert_int_equal(auxtap_pt_packets(clock.bytes, s->nr, 0, set_tsc, &clock, NULL), 0);
	out->nr[cpu] += s->nr;
	if (reporter == BY_WIDE)
		put(out, PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_MISC_SWITCH_OUT, ids, 8,
		    out->ran[cpu], time - 10, cpu);
	if (reporter == BY_TRACEPOINT)
		put_sched_switch(out, out->ran[cpu], s->tid, time - 10, cpu);
	if (reporter == BY_AUX && !out->started[cpu][index])
		put(out, PERF_RECORD_ITRACE_START, 0, ids, 8, s->tid, time + 3, cpu);
	out->started[cpu][index] = true;
	/* The kernel records it after tracing was enabled. */
	if (reporter == BY_SWITCH)
		put(out, PERF_RECORD_SWITCH, 0, NULL, 0, s->tid, time + 5, cpu);
	if (reporter == BY_SWITCH)
		put(out, PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, NULL, 0, s->tid,
		    time + SLOT - 500, cpu);
	put(out, PERF_RECORD_AUX, 0, aux, 24, reporter == BY_AUX ? s->tid : no_tid,
	    time + SLOT - 400, cpu);
	out->ran[cpu] = s->tid;
}

static void write_file(const char *path, enum reporter reporter)
{
	struct perf_event_attr attr,
		tracepoint = {.type = PERF_TYPE_TRACEPOINT, .size = sizeof(tracepoint)};
	uint64_t info[AUXTAP_PT_INFO_NR], time = START;
	struct auxtap_perfdata *pd;
	struct out out = {.id = 0};
	struct auxtap_record rec = {.size = sizeof(rec)};
	const uint64_t *priv;
	char from[256];
	uint32_t type;
	size_t nr, turn = 0, left = 1;
	int index;

	snprintf(from, sizeof(from), "%s/data", dir);
	assert_int_equal(auxtap_perfdata_open(&pd, from, NULL), 0);
	attr = auxtap_perfdata_get_attr(pd, 0)->attr;
	out.id = auxtap_perfdata_get_attr(pd, 0)->ids[0];
	attr.context_switch = reporter == BY_SWITCH || reporter == BY_WIDE;
	assert_int_equal(auxtap_perfdata_writer_create(&out.w, path, NULL), 0);
	index = auxtap_perfdata_writer_add_attr(out.w, &attr, "intel_pt//u");
	assert_int_equal(auxtap_perfdata_writer_add_id(out.w, index, out.id), 0);
	if (reporter == BY_TRACEPOINT) {
		tracepoint.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
					 PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
					 PERF_SAMPLE_RAW;
		tracepoint.sample_id_all = 1;
		out.tracepoint_id = out.id + 1000;
		index = auxtap_perfdata_writer_add_attr(out.w, &tracepoint, "sched:sched_switch");
		assert_int_equal(auxtap_perfdata_writer_add_id(out.w, index, out.tracepoint_id), 0);
	}
	assert_int_equal(auxtap_perfdata_writer_begin(out.w, NULL), 0);
	assert_int_equal(auxtap_perfdata_auxtrace_info(pd, &type, &priv, &nr), 0);
	memset(info, 0, sizeof(info));
	memcpy(info, priv, (nr < AUXTAP_PT_INFO_NR ? nr : AUXTAP_PT_INFO_NR) * 8);
	info[AUXTAP_PT_INFO_PER_CPU_MMAPS] = 1;
	info[AUXTAP_PT_INFO_HAVE_SCHED_SWITCH] = reporter == BY_TRACEPOINT ? 1 :
						 reporter == BY_WIDE	   ? 3 :
									     2;
	assert_int_equal(auxtap_perfdata_writer_auxtrace_info(out.w, type, info, AUXTAP_PT_INFO_NR,
							      NULL),
			 0);
	/* all mappings and threads exist from the start */
	for (uint64_t n = 1; auxtap_perfdata_next_sorted(pd, &rec, NULL) == 1;) {
		uint32_t t = rec.header->type;

		if (t == PERF_RECORD_COMM || t == PERF_RECORD_MMAP2 || t == PERF_RECORD_FORK)
			put(&out, t, rec.header->misc, rec.header + 1, rec.body_size, pid,
			    START / 2 + n++, 0);
	}
	auxtap_perfdata_close(pd);
	for (size_t round = 0; left; round++) {
		left = 0;
		for (unsigned int i = 0; i < NR_THREADS; i++) {
			unsigned int cpu = turn / 3 % NR_CPUS;

			if (round >= threads[i].nr_slices)
				continue;
			put_slice(&out, &threads[i].slices[round], reporter, cpu, i, time);
			time += SLOT;
			turn++;
			left++;
		}
	}
	assert_true(turn > 20);
	for (uint32_t cpu = 0; cpu < NR_CPUS; cpu++) {
		struct auxtap_auxtrace head = {.reference = cpu + 1,
					       .idx = cpu,
					       .tid = UINT32_MAX,
					       .cpu = cpu};

		assert_int_equal(auxtap_perfdata_writer_auxtrace(out.w, &head, out.aux[cpu],
								 out.nr[cpu], NULL, 0, NULL),
				 0);
		free(out.aux[cpu]);
	}
	assert_int_equal(auxtap_perfdata_writer_round(out.w, NULL), 0);
	assert_int_equal(auxtap_perfdata_writer_finish(out.w, NULL), 0);
}

/* ---- comparison ---- */

static FILE *open_truth(int32_t tid)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/truth.%d", dir, tid);
	f = fopen(path, "rb");
	assert_non_null(f);
	return f;
}

static void expect_truth(const char *path, int32_t tid)
{
	struct auxtap_decode_opts opts = {.size = sizeof(opts),
					  .tids = &tid,
					  .nr_tids = 1,
					  .jobs = 1,
					  .events = AUXTAP_EVENT_INSN | AUXTAP_EVENT_GAP};
	struct auxtap_image_set_opts image_opts = {.size = sizeof(image_opts)};
	struct auxtap_image_set *images;
	struct auxtap_perfdata *pd;
	struct auxtap_decoder *dec;
	struct auxtap_event ev = {.size = sizeof(ev)};
	FILE *truth = open_truth(tid);
	uint64_t ip, nr = 0;

	assert_int_equal(auxtap_image_set_new(&images, &image_opts, NULL), 0);
	assert_int_equal(auxtap_perfdata_open(&pd, path, NULL), 0);
	assert_int_equal(auxtap_decoder_open(&dec, pd, images, &opts, NULL), 0);
	for (; auxtap_decoder_next(dec, &ev, NULL) == 1; nr++) {
		assert_int_equal(ev.type, AUXTAP_EVENT_INSN);
		assert_int_equal(ev.pid, pid);
		assert_int_equal(fread(&ip, 8, 1, truth), 1);
		if (ev.ip != ip)
			fail_msg("thread %d, instruction %llu: %llx instead of %llx", tid,
				 (unsigned long long)nr, (unsigned long long)ev.ip,
				 (unsigned long long)ip);
	}
	assert_int_equal(fread(&ip, 8, 1, truth), 0);
	assert_true(nr > 1000);
	fclose(truth);
	auxtap_decoder_close(dec);
	auxtap_perfdata_close(pd);
	auxtap_image_set_free(images);
}

/*
 * Stock perf, where it is installed, lists the same; it needs switches recorded before the trace.
 */
static void expect_truth_of_perf(const char *path, int32_t tid)
{
	FILE *truth, *perf;
	char text[512];
	uint64_t ip, nr = 0;

	if (access("/usr/bin/perf", X_OK))
		return;
	snprintf(text, sizeof(text),
		 "/usr/bin/perf script -i %s --tid %d --itrace=i1i -F ip 2>/dev/null", path, tid);
	truth = open_truth(tid);
	perf = popen(text, "r");
	assert_non_null(perf);
	while (fgets(text, sizeof(text), perf)) {
		char *end;
		uint64_t got = strtoull(text, &end, 16);

		if (end == text || *end != '\n')
			continue;
		assert_int_equal(fread(&ip, 8, 1, truth), 1);
		if (got != ip)
			fail_msg("perf, thread %d, instruction %llu: %s", tid,
				 (unsigned long long)nr, text);
		nr++;
	}
	assert_int_equal(fread(&ip, 8, 1, truth), 0);
	pclose(perf);
	fclose(truth);
}

/* ---- the same as raw streams, with each CPU's records in files ---- */

static void export(struct auxtap_perfdata *pd)
{
	const struct auxtap_perfdata_aux *aux;
	struct auxtap_record rec = {.size = sizeof(rec)};
	FILE *out[NR_CPUS];
	char path[256];
	size_t nr;

	for (unsigned int i = 0; i < NR_CPUS; i++) {
		snprintf(path, sizeof(path), "%s/sideband%u", dir, i);
		out[i] = fopen(path, "wb");
		assert_non_null(out[i]);
	}
	while (auxtap_perfdata_next_sorted(pd, &rec, NULL) == 1)
		assert_int_equal(fwrite(rec.header, rec.header->size, 1, out[rec.cpu % NR_CPUS]),
				 1);
	assert_int_equal(auxtap_perfdata_auxtraces(pd, &aux, &nr, NULL), 0);
	assert_int_equal(nr, NR_CPUS);
	for (unsigned int i = 0; i < NR_CPUS; i++) {
		uint8_t *bytes = malloc(aux[i].trace_size);

		fclose(out[i]);
		assert_non_null(bytes);
		assert_int_equal(auxtap_perfdata_pread(pd, bytes, aux[i].trace_size,
						       aux[i].trace_off),
				 aux[i].trace_size);
		snprintf(path, sizeof(path), "%s/cpu%u.pt", dir, aux[i].auxtrace.cpu);
		out[i] = fopen(path, "wb");
		assert_non_null(out[i]);
		assert_int_equal(fwrite(bytes, 1, aux[i].trace_size, out[i]), aux[i].trace_size);
		fclose(out[i]);
		free(bytes);
	}
}

static struct auxtap_image_set *no_images(void)
{
	struct auxtap_image_set_opts opts = {.size = sizeof(opts)};
	struct auxtap_image_set *images;

	assert_int_equal(auxtap_image_set_new(&images, &opts, NULL), 0);
	return images;
}

/* The CPU's stream, with its own records first, lists what the recording lists for that CPU. */
static void expect_raw(const char *path, unsigned int cpu)
{
	const int32_t filter = (int32_t)cpu;
	struct auxtap_decode_opts opts = {.size = sizeof(opts),
					  .jobs = 1,
					  .cpus = &filter,
					  .nr_cpus = 1,
					  .events = AUXTAP_EVENT_INSN | AUXTAP_EVENT_GAP};
	char own[256], other[256], trace[256];
	const char *sideband[] = {own, other};
	struct auxtap_raw_opts raw = {.size = sizeof(raw),
				      .family = "pt",
				      .sideband = sideband,
				      .nr_sideband = 2,
				      .time_mult = 1};
	struct auxtap_image_set *images = no_images(), *raw_images = no_images();
	struct auxtap_decoder *dec, *raw_dec;
	struct auxtap_event ev = {.size = sizeof(ev)}, raw_ev = {.size = sizeof(raw_ev)};
	struct auxtap_perfdata *pd;
	int32_t last = -1;
	size_t nr = 0, changes = 0;

	assert_int_equal(auxtap_perfdata_open(&pd, path, NULL), 0);
	export(pd);
	raw.sample_type = auxtap_perfdata_get_attr(pd, 0)->attr.sample_type;
	snprintf(own, sizeof(own), "%s/sideband%u", dir, cpu);
	snprintf(other, sizeof(other), "%s/sideband%u", dir, 1 - cpu);
	snprintf(trace, sizeof(trace), "%s/cpu%u.pt", dir, cpu);
	assert_int_equal(auxtap_decoder_open(&dec, pd, images, &opts, NULL), 0);
	opts.nr_cpus = 0;
	assert_int_equal(auxtap_decoder_open_raw(&raw_dec, trace, &raw, raw_images, &opts, NULL),
			 0);
	for (; auxtap_decoder_next(dec, &ev, NULL) == 1; nr++) {
		assert_int_equal(auxtap_decoder_next(raw_dec, &raw_ev, NULL), 1);
		if (ev.tid != raw_ev.tid || ev.pid != raw_ev.pid || ev.ip != raw_ev.ip ||
		    ev.type != raw_ev.type || ev.time != raw_ev.time || raw_ev.cpu != (int)cpu)
			fail_msg("event %zu: tid %d ip %llx, not tid %d ip %llx", nr, raw_ev.tid,
				 (unsigned long long)raw_ev.ip, ev.tid, (unsigned long long)ev.ip);
		changes += ev.tid != last;
		last = ev.tid;
	}
	assert_int_equal(auxtap_decoder_next(raw_dec, &raw_ev, NULL), 0);
	assert_true(nr > 1000 && changes > 3);
	auxtap_decoder_close(dec);
	auxtap_decoder_close(raw_dec);
	auxtap_perfdata_close(pd);
	auxtap_image_set_free(images);
	auxtap_image_set_free(raw_images);
}

static void check(const char *name, enum reporter reporter, bool perf_too)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	write_file(path, reporter);
	for (size_t i = 0; i < nr_threads; i++) {
		expect_truth(path, threads[i].tid);
		if (perf_too)
			expect_truth_of_perf(path, threads[i].tid);
	}
	for (unsigned int cpu = 0; cpu < NR_CPUS; cpu++)
		if (reporter == BY_SWITCH || reporter == BY_WIDE)
			expect_raw(path, cpu);
}

/* The number of events that a decoder with these options returns; each is of the lists. */
static uint64_t count(const char *path, const struct auxtap_decode_opts *opts)
{
	struct auxtap_image_set *images = no_images();
	struct auxtap_perfdata *pd;
	struct auxtap_decoder *dec;
	struct auxtap_event ev = {.size = sizeof(ev)};
	uint64_t nr = 0;

	assert_int_equal(auxtap_perfdata_open(&pd, path, NULL), 0);
	assert_int_equal(auxtap_decoder_open(&dec, pd, images, opts, NULL), 0);
	for (; auxtap_decoder_next(dec, &ev, NULL) == 1; nr++) {
		bool listed = !opts || !opts->nr_tids;

		for (size_t i = 0; opts && i < opts->nr_tids; i++)
			listed |= ev.tid == opts->tids[i];
		assert_true(listed);
	}
	auxtap_decoder_close(dec);
	auxtap_perfdata_close(pd);
	auxtap_image_set_free(images);
	return nr;
}

static void filters_are_lists(void **state)
{
	const int32_t cpus[] = {1, 0};
	struct auxtap_decode_opts opts = {.size = sizeof(opts), .events = AUXTAP_EVENT_INSN};
	uint64_t all, nr = 0;
	int32_t tids[8];
	char path[256];

	(void)state;
	snprintf(path, sizeof(path), "%s/filters", dir);
	write_file(path, BY_WIDE);
	all = count(path, &opts);
	assert_in_range(nr_threads, 2, 8);
	opts.tids = tids;
	opts.nr_tids = 1;
	for (size_t i = 0; i < nr_threads; i++) {
		tids[0] = threads[i].tid;
		nr += count(path, &opts);
	}
	assert_int_equal(nr, all);
	/* in any order */
	for (size_t i = 0; i < nr_threads; i++)
		tids[i] = threads[nr_threads - 1 - i].tid;
	opts.nr_tids = nr_threads;
	assert_int_equal(count(path, &opts), all);
	opts.nr_tids = nr_threads - 1;
	nr = count(path, &opts);
	assert_in_range(nr, 1, all - 1);
	tids[0] = 0;
	opts.nr_tids = 1; /* a thread of its own, not "all" */
	assert_int_equal(count(path, &opts), 0);
	opts.nr_tids = 0;
	opts.cpus = cpus;
	opts.nr_cpus = 2;
	assert_int_equal(count(path, &opts), all);
	opts.nr_cpus = 1;
	nr = count(path, &opts);
	assert_in_range(nr, 1, all - 1);
	opts.cpus = &cpus[1];
	assert_int_equal(nr + count(path, &opts), all);
	/* the default is everything */
	opts = (struct auxtap_decode_opts){.size = sizeof(opts), .events = AUXTAP_EVENT_ALL};
	nr = count(path, &opts);
	assert_true(nr > all);
	assert_int_equal(count(path, NULL), nr);
	opts.events = 0;
	assert_int_equal(count(path, &opts), nr);
}

static void sums(const char *path, bool only, struct auxtap_decode_summary *sum)
{
	const struct auxtap_decode_opts opts = {.size = sizeof(opts),
						.events = AUXTAP_EVENT_BRANCH,
						.only_summary = only};
	struct auxtap_image_set *images = no_images();
	struct auxtap_event ev = {.size = sizeof(ev)};
	struct auxtap_perfdata *pd;
	struct auxtap_decoder *dec;

	assert_int_equal(auxtap_perfdata_open(&pd, path, NULL), 0);
	assert_int_equal(auxtap_decoder_open(&dec, pd, images, &opts, NULL), 0);
	while (auxtap_decoder_next(dec, &ev, NULL) == 1)
		;
	sum->size = sizeof(*sum);
	assert_int_equal(auxtap_decoder_summary(dec, sum), 0);
	auxtap_decoder_close(dec);
	auxtap_perfdata_close(pd);
	auxtap_image_set_free(images);
}

static void summary_without_events(void **state)
{
	struct auxtap_decode_summary all, only;
	char path[256];

	(void)state;
	snprintf(path, sizeof(path), "%s/sums", dir);
	write_file(path, BY_WIDE);
	sums(path, false, &all);
	sums(path, true, &only);
	assert_memory_equal(&all, &only, sizeof(all));
	assert_int_equal(all.threads, NR_THREADS);
}

static void reported_by_aux_records(void **state)
{
	(void)state;
	check("aux", BY_AUX, false);
}

static void reported_by_switches(void **state)
{
	(void)state;
	check("switch", BY_SWITCH, false);
}

static void reported_by_cpu_wide_switches(void **state)
{
	(void)state;
	check("wide", BY_WIDE, true);
}

static void reported_by_the_tracepoint(void **state)
{
	(void)state;
	check("tracepoint", BY_TRACEPOINT, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reported_by_aux_records),
		cmocka_unit_test(reported_by_switches),
		cmocka_unit_test(reported_by_cpu_wide_switches),
		cmocka_unit_test(reported_by_the_tracepoint),
		cmocka_unit_test(filters_are_lists),
		cmocka_unit_test(summary_without_events),
	};

	if (access(AUXTAP_BIN "/auxtap-emu", X_OK) && access(AUXTAP_BIN "/auxtap", X_OK)) {
		printf("skipped: built without emulation\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, record, clean);
}
