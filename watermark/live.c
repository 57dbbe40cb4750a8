// SPDX-License-Identifier: BSD-2-Clause
/*
 * Runs one configuration on this machine's own PMU: opens the event on a CPU, reads its
 * rings as the options say, keeps everything in a perf.data file, and compares with the predictions
 * of follow.c.
 */
#include "util/sized.h"
#include "follow.h"
#include "sim.h"

#include "core/core.h"
#include <auxtap/capture.h>
#include <auxtap/perfdata.h>
#include <auxtap/ring.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LL	 unsigned long long
#define POLL_MS	 20
#define GRACE_MS 1000 /* how long a wakeup may take; virtual processors may be slow */
/* After this time without a record, trace may be off; the prompt reader waits longer. */
#define IDLE_NS	       30000000ull
#define IDLE_PROMPT_NS 500000000ull
#define NS	       1000000000ull

struct live {
	const struct auxtap_watermark_config *c;
	const struct auxtap_live_opts *opts;
	struct auxtap_live_result *r;
	const struct auxtap_perf_ops *ops;
	void *ctx;
	const struct auxtap_backend *be;
	struct perf_event_attr attr;
	int fd;
	void *base, *aux;
	size_t base_size, aux_size;
	struct auxtap_ring *ring;
	struct auxtap_perfdata_writer *writer;
	struct follow *follow;
	bool truncated;		 /* a TRUNCATED record came since the event was enabled */
	bool off;		 /* the event is disabled: the last record may end anywhere */
	uint64_t last_record_ns; /* when the last record was read, or the event enabled */
	uint64_t reference;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

AUXTAP_PRINTF(2, 3)
static void report_difference(struct live *v, const char *fmt, ...)
{
	va_list args;

	if (!v->r->agrees)
		return;
	v->r->agrees = 0;
	va_start(args, fmt);
	vsnprintf(v->r->text, sizeof(v->r->text), fmt, args);
	va_end(args);
}

/* ---- the event ---- */

static void make_attr(struct live *v)
{
	struct perf_event_attr *attr = &v->attr;

	attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			    PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	attr->sample_id_all = 1;
	attr->read_format = PERF_FORMAT_ID;
	attr->aux_watermark = (uint32_t)v->c->watermark;
	attr->watermark = 1; /* of the size of the data ring: only trace wakes the reader */
	attr->wakeup_watermark = (uint32_t)(v->c->data_pages * v->c->page_size);
}

/* Negative errno: the kernel refuses the event or its areas. */
static int open_event(struct live *v)
{
	struct perf_event_mmap_page *page;
	int ret;

	make_attr(v);
	v->fd = v->ops->open(v->ctx, &v->attr, -1, v->opts->cpu, -1, 0);
	if (v->fd < 0)
		return v->fd;
	v->base_size = (v->c->data_pages + 1) * v->c->page_size;
	v->base = v->ops->mmap(v->ctx, v->base_size, PROT_READ | PROT_WRITE, MAP_SHARED, v->fd, 0,
			       &ret);
	if (!v->base)
		return ret;
	page = v->base;
	v->aux_size = v->c->nr_pages * v->c->page_size;
	page->aux_offset = v->base_size;
	page->aux_size = v->aux_size;
	v->aux = v->ops->mmap(v->ctx, v->aux_size, PROT_READ | PROT_WRITE, MAP_SHARED, v->fd,
			      (off_t)v->base_size, &ret);
	return v->aux ? 0 : ret;
}

static void close_event(struct live *v)
{
	if (v->aux)
		v->ops->munmap(v->ctx, v->aux, v->aux_size);
	if (v->base)
		v->ops->munmap(v->ctx, v->base, v->base_size);
	if (v->fd >= 0)
		v->ops->close(v->ctx, v->fd);
}

static int open_file(struct live *v, struct auxtap_error *err)
{
	uint64_t id = 0;
	int ret = auxtap_perfdata_writer_create(&v->writer, v->opts->path, err);

	if (ret)
		return ret;
	ret = auxtap_perfdata_writer_add_attr(v->writer, &v->attr, v->opts->event);
	if (ret >= 0)
		ret = v->ops->ioctl(v->ctx, v->fd, PERF_EVENT_IOC_ID, (unsigned long)&id);
	if (ret >= 0)
		ret = auxtap_perfdata_writer_add_id(v->writer, 0, id);
	if (ret < 0)
		return auxtap_error_set(err, ret, v->opts->path, "%s", strerror(-ret));
	ret = auxtap_perfdata_writer_begin(v->writer, err);
	if (ret)
		return ret;
	return auxtap_write_auxtrace_info(v->writer, v->opts->path, v->opts->event, v->be, v->base,
					  err);
}

/* ---- records ---- */

static void take_aux(struct live *v, const uint64_t *body)
{
	struct follow_record f = {.offset = body[0], .nr_bytes = body[1], .flags = body[2]};
	struct auxtap_live_record reported;

	v->r->nr_records++;
	v->r->nr_bytes += f.nr_bytes;
	if (f.flags & PERF_AUX_FLAG_TRUNCATED) {
		v->r->nr_truncated++;
		v->truncated = true;
	}
	if (!v->r->agrees) /* the model has stopped following */
		return;
	/* a record that ends at the head is the last one */
	follow_record(v->follow, &f,
		      v->off && f.offset + f.nr_bytes == auxtap_ring_aux_head(v->ring));
	if (!f.agrees) {
		report_difference(v, "AUX record %llu, offset %llu, size %llu: %s",
				  (LL)v->r->nr_records, (LL)f.offset, (LL)f.nr_bytes, f.text);
	} else {
		v->r->overshoot_max =
			f.overshoot > v->r->overshoot_max ? f.overshoot : v->r->overshoot_max;
		if (f.overshoot > v->opts->max_overshoot)
			report_difference(
				v,
				"AUX record %llu, offset %llu, ends at %llu, %llu bytes past where its "
				"interrupt was due; allowed are %llu",
				(LL)v->r->nr_records, (LL)f.offset, (LL)f.offset + (LL)f.nr_bytes,
				(LL)f.overshoot, (LL)v->opts->max_overshoot);
	}
	reported = (struct auxtap_live_record){.size = sizeof(reported),
					       .offset = f.offset,
					       .nr_bytes = f.nr_bytes,
					       .flags = f.flags,
					       .threshold = f.threshold,
					       .limit = f.limit,
					       .by_interrupt = f.by_interrupt};
	if (v->opts->on_record)
		v->opts->on_record(v->opts->ctx, &reported);
}

static void take_record(struct live *v, const struct auxtap_span *span)
{
	struct perf_event_header header;
	unsigned char copy[sizeof(header) + 3 * sizeof(uint64_t)];
	size_t size = span->size1 + span->size2, first;
	uint64_t body[3];

	memcpy(&header, span->part1, sizeof(header)); /* E15 */
	if (header.type == PERF_RECORD_LOST)
		report_difference(v, "records were lost: the data ring of %llu pages was full",
				  (LL)v->c->data_pages);
	if (header.type != PERF_RECORD_AUX)
		return;
	if (size < sizeof(copy)) {
		report_difference(v, "an AUX record has %zu bytes", size);
		return;
	}
	first = span->size1 < sizeof(copy) ? span->size1 : sizeof(copy);
	memcpy(copy, span->part1, first);
	memcpy(copy + first, span->part2, sizeof(copy) - first);
	memcpy(body, copy + sizeof(header), sizeof(body));
	take_aux(v, body);
}

/* Reads all records of the data ring. */
static int drain(struct live *v, struct auxtap_error *err)
{
	struct auxtap_span span;
	int ret;

	/* records not visible now were written after every tail stored so far (E: barriers) */
	__sync_synchronize();
	while ((ret = auxtap_ring_data_next(v->ring, &span, err)) == 1) {
		take_record(v, &span);
		ret = v->writer ? auxtap_perfdata_writer_record(v->writer, span.part1, span.size1,
								span.part2, span.size2, err) :
				  0;
		if (ret)
			return ret;
		auxtap_ring_data_consume(v->ring);
		v->last_record_ns = now_ns();
	}
	if (v->r->agrees)
		follow_drained(v->follow);
	return ret;
}

/* ---- the reader ---- */

static uint64_t unread(struct live *v)
{
	struct auxtap_span span;

	return auxtap_ring_aux_next(v->ring, &span) ? span.size1 + span.size2 : 0;
}

/* Writes all stored trace to the file and frees its space. */
static int read_all(struct live *v, struct auxtap_error *err)
{
	struct auxtap_auxtrace head = {.tid = UINT32_MAX, .cpu = (uint32_t)v->opts->cpu};
	struct auxtap_span span;
	int ret;

	if (!auxtap_ring_aux_next(v->ring, &span))
		return 0;
	/* D15: the kernel writes the records of these bytes first, so they are read first */
	ret = drain(v, err);
	if (ret)
		return ret;
	head.offset = span.offset_abs;
	head.reference = ++v->reference;
	ret = v->writer ? auxtap_perfdata_writer_auxtrace(v->writer, &head, span.part1, span.size1,
							  span.part2, span.size2, err) :
			  0;
	if (ret)
		return ret;
	auxtap_ring_aux_consume(v->ring, &span);
	v->r->nr_reads++;
	if (v->r->agrees)
		follow_read(v->follow, span.offset_abs + span.size1 + span.size2);
	return drain(v, err);
}

/*
 * DISABLE first (D21): then nothing more comes. Records written since the last drain() precede the
 * enable: a truncation among them is one that this enable ends. A kernel that disables late has
 * begun another transaction in between.
 */
static int enable_again(struct live *v, struct auxtap_error *err)
{
	int ret = v->ops->ioctl(v->ctx, v->fd, PERF_EVENT_IOC_DISABLE, 0);

	v->off = true;
	if (!ret)
		ret = drain(v, err);
	if (!ret)
		ret = read_all(v, err);
	v->off = false;
	if (ret)
		return ret;
	if (v->r->agrees)
		follow_enable(v->follow);
	v->truncated = false;
	v->r->nr_enabled++;
	v->last_record_ns = now_ns();
	ret = v->ops->ioctl(v->ctx, v->fd, PERF_EVENT_IOC_ENABLE, 0);
	return ret ? auxtap_error_set(err, ret, v->opts->event, "cannot be enabled again: %s",
				      strerror(-ret)) :
		     0;
}

/* D6: a writer that finds no space leaves no record. */
static bool seems_off(struct live *v)
{
	bool prompt = v->opts->reader == AUXTAP_LIVE_PROMPT;

	if (v->truncated || unread(v) >= v->aux_size - 1)
		return true;
	return now_ns() - v->last_record_ns > (prompt ? IDLE_PROMPT_NS : IDLE_NS) && v->r->agrees &&
	       follow_may_be_off(v->follow);
}

static int poll_wakeup(struct live *v, bool *woken, int timeout_ms)
{
	struct pollfd fd = {.fd = v->fd, .events = POLLIN};
	int ret = v->ops->poll(v->ctx, &fd, 1, timeout_ms);

	*woken = ret > 0 && fd.revents & POLLIN;
	v->r->nr_wakeups += *woken;
	return ret < 0 && ret != -EINTR ? ret : 0;
}

/* drain() found a record before its wakeup came: the wakeup must come now. */
static int expect_wakeup(struct live *v, bool *woken)
{
	int ret = poll_wakeup(v, woken, GRACE_MS);

	if (!ret && !*woken)
		report_difference(v, "no wakeup for AUX record %llu, although one was expected",
				  (LL)v->r->nr_records);
	return ret;
}

static int poll_round(struct live *v, struct auxtap_error *err)
{
	uint64_t before = follow_wakeups(v->follow);
	bool woken, off;
	int ret = poll_wakeup(v, &woken, POLL_MS);

	if (!ret)
		ret = drain(v, err);
	if (!ret && !woken && v->r->agrees && follow_wakeups(v->follow) > before)
		ret = expect_wakeup(v, &woken);
	if (ret)
		return ret;
	off = seems_off(v);
	if (off)
		return enable_again(v, err);
	return v->opts->reader == AUXTAP_LIVE_PROMPT && woken ? read_all(v, err) : 0;
}

static int finish(struct live *v, struct auxtap_error *err)
{
	struct follow_record left;
	bool woken = true;
	int ret;

	v->off = true;
	ret = v->ops->ioctl(v->ctx, v->fd, PERF_EVENT_IOC_DISABLE, 0);
	if (!ret)
		ret = drain(v, err);
	if (!ret)
		ret = read_all(v, err);
	while (!ret && woken)
		ret = poll_wakeup(v, &woken, 0);
	if (ret || !v->r->agrees)
		return ret;
	if (follow_expects(v->follow, &left))
		report_difference(
			v,
			"an AUX record was expected that did not come: offset %llu, size %llu, flags %#llx",
			(LL)left.offset, (LL)left.nr_bytes, (LL)left.flags);
	v->r->nr_expected_wakeups = follow_wakeups(v->follow);
	if (v->r->nr_wakeups > v->r->nr_expected_wakeups)
		report_difference(v, "woken %llu times, and %llu wakeups were due",
				  (LL)v->r->nr_wakeups, (LL)v->r->nr_expected_wakeups);
	if (follow_violation(v->follow))
		report_difference(v, "the model itself: %s", follow_violation(v->follow));
	return 0;
}

static int run(struct live *v, struct auxtap_error *err)
{
	uint64_t begin = now_ns();
	int ret = v->ops->ioctl(v->ctx, v->fd, PERF_EVENT_IOC_ENABLE, 0);

	v->last_record_ns = begin;
	while (!ret && v->r->agrees &&
	       (!v->opts->max_bytes || v->r->nr_bytes < v->opts->max_bytes) &&
	       now_ns() - begin < v->opts->max_ns)
		ret = poll_round(v, err);
	if (!ret)
		ret = finish(v, err);
	return ret;
}

/* ---- the public function ---- */

static int refused(struct live *v, int code)
{
	v->r->refused = 1;
	v->r->refusal = -code;
	if (!*v->r->expected_refusal)
		report_difference(
			v, "the kernel refuses this configuration (%s), but the model accepts it",
			strerror(-code));
	return 0;
}

static int check(const struct auxtap_watermark_config *c, struct auxtap_error *err)
{
	if (c->snapshot || c->fault || c->contents || !c->data_pages) {
		auxtap_error_set(err, -EINVAL, "live",
				 "snapshots, faults, contents and no data ring need 'sim'");
		return -EINVAL;
	}
	if ((uint64_t)sysconf(_SC_PAGESIZE) != c->page_size) {
		auxtap_error_set(err, -EINVAL, "page size", "this kernel's is %ld",
				 sysconf(_SC_PAGESIZE));
		return -EINVAL;
	}
	return 0;
}

static int with_model(struct live *v, struct auxtap_error *err)
{
	int ret = open_event(v);

	if (ret)
		return refused(v, ret);
	if (*v->r->expected_refusal) {
		report_difference(
			v, "the model refuses this configuration (%s), but the kernel accepts it",
			v->r->expected_refusal);
		return 0;
	}
	ret = auxtap_ring_open(&v->ring, v->base, v->base_size, v->aux, v->aux_size, false, err);
	if (!ret && v->opts->path)
		ret = open_file(v, err);
	if (!ret)
		ret = run(v, err);
	if (ret && !err->code)
		auxtap_error_set(err, ret, v->opts->event, "%s", strerror(-ret));
	if (!ret && v->writer)
		ret = auxtap_perfdata_writer_finish(v->writer, err);
	else if (v->writer)
		auxtap_perfdata_writer_abort(v->writer);
	if (!ret && !v->r->nr_records && v->r->agrees) {
		auxtap_error_set(err, -ENODATA, v->opts->event,
				 "no AUX record in %llu ms on CPU %d",
				 (LL)(v->opts->max_ns / 1000000), v->opts->cpu);
		auxtap_error_hint(err, "run something there that the event traces; "
				       "give slow trace more time");
		ret = -ENODATA;
	}
	return ret;
}

/* Fills in options that the caller leaves out. event: space for an event name. */
static void set_defaults(struct auxtap_live_opts *opts, const struct auxtap_watermark_config *c,
			 char *event, size_t size)
{
	if (!opts->event) {
		snprintf(event, size, "%s//u", sim_driver_find(c->driver)->pmu);
		opts->event = event;
	}
	if (!opts->max_ns)
		opts->max_ns = NS;
}

static int compare(struct live *v, const struct auxtap_watermark_config *c,
		   struct auxtap_error *err)
{
	int ret = auxtap_event_attr(&v->attr, v->opts->event, v->be, err);

	if (ret == -ENOENT || ret == -ENODEV)
		auxtap_error_hint(err, "'auxtap list' prints what this machine has");
	if (ret < 0)
		return ret;
	if (!ret) {
		auxtap_error_set(err, -EINVAL, v->opts->event, "this PMU has no AUX area");
		return -EINVAL;
	}
	v->ops = v->be->perf;
	v->ctx = v->be->perf_ctx;
	v->follow = follow_open(c, v->r->expected_refusal, sizeof(v->r->expected_refusal), err);
	if (!v->follow && !*v->r->expected_refusal)
		return err->code;
	ret = with_model(v, err);
	auxtap_ring_close(v->ring);
	close_event(v);
	if (v->follow)
		follow_close(v->follow);
	return ret;
}

int auxtap_watermark_live(const struct auxtap_watermark_config *config,
			  struct auxtap_backend *backend, const struct auxtap_live_opts *opts,
			  struct auxtap_live_result *result, struct auxtap_error *err)
{
	struct auxtap_live_result r = {.size = sizeof(r), .agrees = 1};
	struct auxtap_error fallback_err = AUXTAP_ERROR_INIT;
	struct auxtap_watermark_config c;
	struct auxtap_live_opts copy;
	struct live v = {.c = &c, .opts = &copy, .r = &r, .be = backend, .fd = -1};
	char event[64];
	int ret;

	if (!err)
		err = &fallback_err;
	ret = sized_check(result, sizeof(r), SIZED_UP_TO(struct auxtap_live_result, text),
			  "struct auxtap_live_result", err);
	if (ret)
		return ret;
	ret = sized_copy_in(&copy, sizeof(copy), SIZED_UP_TO(struct auxtap_live_opts, ctx), opts,
			    "struct auxtap_live_opts", err);
	if (!ret)
		ret = config_copy_in_valid(&c, config, err);
	if (!ret)
		ret = check(&c, err);
	if (!ret) {
		set_defaults(&copy, &c, event, sizeof(event));
		ret = compare(&v, &c, err);
	}
	sized_copy_out(result, &r, sizeof(r));
	return ret;
}

const char *auxtap_watermark_kernel_for(const char *release)
{
	unsigned int major, minor, best = 0;
	const char *name = NULL;

	if (sscanf(release, "%u.%u", &major, &minor) != 2)
		return NULL;
	/* the newest set of rules that is not newer than the release */
	for (const struct core_kernel *const *k = core_kernels; *k; k++) {
		unsigned int of_set[2] = {0};

		if (sscanf((*k)->name, "%u.%u", &of_set[0], &of_set[1]) != 2 || of_set[0] > major ||
		    (of_set[0] == major && of_set[1] > minor) ||
		    (of_set[0] << 16 | of_set[1]) < best)
			continue;
		best = of_set[0] << 16 | of_set[1];
		name = (*k)->name;
	}
	return name;
}
