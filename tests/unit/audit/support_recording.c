// SPDX-License-Identifier: BSD-2-Clause
/* See support_recording.h. The layout is stock perf's (perf.data-file-format.txt). */
#include "support_recording.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define MAX_WORDS	  16
#define ATTR_SIZE	  128
#define FEATURE_HOSTNAME  3 /* the same form */
#define FEATURE_OSRELEASE 4

struct bytes {
	uint8_t *at;
	size_t nr, max;
};

struct recording {
	uint64_t family, watermark, nr_ids; /* nr_ids: announced; 0: as there are */
	bool inherit, unfinished;
	const char *osrelease;
	struct bytes data, ids, capture, wakeups, gaps;
	struct auxtap_wakeup_log reader;
	bool has_reader;
};

struct where {
	int32_t cpu, tid;
	bool of_thread, names_task;
};

static void put(struct bytes *b, const void *what, size_t nr)
{
	if (b->nr + nr > b->max) {
		b->max = 2 * (b->nr + nr);
		b->at = realloc(b->at, b->max);
		assert_non_null(b->at);
	}
	memcpy(b->at + b->nr, what, nr);
	b->nr += nr;
}

static void put_zeros(struct bytes *b, size_t nr)
{
	for (; nr; nr--)
		put(b, "", 1);
}

static uint64_t number(char *const *words, unsigned int nr, unsigned int i)
{
	char *end;
	uint64_t v;

	if (i >= nr)
		return 0;
	v = strtoull(words[i], &end, 0);
	if (*end)
		fail_msg("'%s' is no number", words[i]);
	return v;
}

static struct where ring(const char *text)
{
	struct where w = {.cpu = -1, .tid = 100};
	const char *task = strchr(text, ':');

	if (*text == 't') {
		w.of_thread = true;
		w.tid = atoi(text + 1);
		return w;
	}
	w.cpu = atoi(text);
	w.names_task = task != NULL;
	if (task)
		w.tid = atoi(task + 1);
	return w;
}

static void put_record(struct bytes *b, uint32_t type, const void *body, size_t size,
		       const struct where *w, uint64_t time, uint64_t id)
{
	struct {
		uint32_t pid, tid;
		uint64_t time;
		uint32_t cpu, reserved;
		uint64_t id;
	} trailer = {(uint32_t)w->tid,
		     (uint32_t)w->tid,
		     time,
		     w->of_thread ? 0 : (uint32_t)w->cpu,
		     0,
		     id};
	struct perf_event_header header = {type, 0,
					   (uint16_t)(sizeof(header) + size + sizeof(trailer))};

	put(b, &header, sizeof(header));
	put(b, body, size);
	put(b, &trailer, sizeof(trailer));
}

static void put_trace(struct bytes *b, char *const *words, unsigned int nr)
{
	struct where w = ring(words[1]);
	uint64_t size = number(words, nr, 3), cut = number(words, nr, 5);
	uint8_t fill = nr > 4 ? (uint8_t)number(words, nr, 4) : 0xa5;
	struct auxtap_auxtrace head = {
		.header = {AUXTAP_RECORD_AUXTRACE, 0, sizeof(head)},
		.size = (size + 7) & ~7ull,
		.offset = number(words, nr, 2),
		.reference = 1,
		.tid = w.of_thread || w.names_task ? (uint32_t)w.tid : (uint32_t)-1,
		.cpu = (uint32_t)w.cpu,
	};

	put(b, &head, sizeof(head));
	for (uint64_t i = 0; i < head.size - cut; i++)
		put(b, i < size ? &fill : (const uint8_t *)"", 1);
}

/* Lines of the data section; false: not one of them. */
static bool data_line(struct recording *r, char *const *words, unsigned int nr)
{
	const char *kind = words[0];
	uint64_t body[3] = {0};
	struct where w = nr > 1 ? ring(words[1]) : (struct where){0};

	if (!strcmp(kind, "aux")) {
		body[0] = number(words, nr, 3);
		body[1] = number(words, nr, 4);
		body[2] = number(words, nr, 5);
		put_record(&r->data, PERF_RECORD_AUX, body, 24, &w, number(words, nr, 2),
			   nr > 6 ? number(words, nr, 6) : 1);
	} else if (!strcmp(kind, "trace")) {
		put_trace(&r->data, words, nr);
	} else if (!strcmp(kind, "lost")) {
		body[0] = 1;
		body[1] = number(words, nr, 3);
		put_record(&r->data, PERF_RECORD_LOST, body, 16, &w, number(words, nr, 2), 1);
	} else if (!strcmp(kind, "start")) {
		put_record(&r->data, PERF_RECORD_ITRACE_START, body, 8, &w, number(words, nr, 2),
			   1);
	} else if (!strcmp(kind, "lost-samples")) {
		w = (struct where){.cpu = 0, .tid = 100};
		body[0] = number(words, nr, 1);
		put_record(&r->data, PERF_RECORD_LOST_SAMPLES, body, 8, &w, 100, 1);
	} else if (!strcmp(kind, "hw-id")) {
		w = (struct where){.cpu = 0, .tid = 100};
		put_record(&r->data, PERF_RECORD_AUX_OUTPUT_HW_ID, body, 8, &w, 100, 1);
	} else if (!strcmp(kind, "damage")) {
		put_zeros(&r->data, 8);
	} else {
		return false;
	}
	return true;
}

static void note_line(struct recording *r, char *const *words, unsigned int nr)
{
	const char *kind = words[0];

	if (!strcmp(kind, "capture")) {
		for (unsigned int i = 1; i < nr; i++) {
			put(&r->capture, words[i], strlen(words[i]));
			put(&r->capture, i + 1 < nr ? " " : "\n", 1);
		}
	} else if (!strcmp(kind, "gap")) {
		struct auxtap_gap {
			int32_t cause, cpu, pid, tid;
			uint64_t time_begin, time_end, nr_bytes;
			int32_t exact, unused;
		} gap = {(int32_t)number(words, nr, 1),
			 atoi(words[2]),
			 atoi(words[3]),
			 atoi(words[3]),
			 number(words, nr, 4),
			 number(words, nr, 4),
			 number(words, nr, 5),
			 (int32_t)number(words, nr, 6),
			 0};

		put(&r->gaps, &gap, sizeof(gap));
	} else if (!strcmp(kind, "reader")) {
		r->has_reader = true;
		r->reader = (struct auxtap_wakeup_log){
			.cpu = 0,
			.tid = -1,
			.aux_size = number(words, nr, 1),
			.data_size = number(words, nr, 2),
			.aux_watermark = number(words, nr, 3),
			.data_watermark = number(words, nr, 2) / 2,
			.nr_wakeups = number(words, nr, 4),
			.emulated = number(words, nr, 5),
		};
	} else if (!strcmp(kind, "wakeup")) {
		struct auxtap_wakeup wakeup = {
			.time_ns = 1000 + r->wakeups.nr,
			.aux_head = number(words, nr, 1),
			.aux_tail = number(words, nr, 2),
			.data_head = number(words, nr, 3),
			.flags = number(words, nr, 4),
		};

		put(&r->wakeups, &wakeup, sizeof(wakeup));
	} else {
		fail_msg("no such line: %s", kind);
	}
}

static void line(struct recording *r, char *text)
{
	char *words[MAX_WORDS], *save = NULL;
	unsigned int nr = 0;

	for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		assert_true(nr < MAX_WORDS);
		words[nr++] = word;
	}
	if (!nr)
		return;
	if (!strcmp(words[0], "family")) {
		r->family = number(words, nr, 1);
	} else if (!strcmp(words[0], "watermark")) {
		r->watermark = number(words, nr, 1);
	} else if (!strcmp(words[0], "id-count")) {
		r->nr_ids = number(words, nr, 1);
	} else if (!strcmp(words[0], "inherit")) {
		r->inherit = true;
	} else if (!strcmp(words[0], "unfinished")) {
		r->unfinished = true;
	} else if (!strcmp(words[0], "osrelease")) {
		r->osrelease = words[1];
	} else if (!strcmp(words[0], "id")) {
		uint64_t owner[4] = {number(words, nr, 1), 0, (uint64_t)(int64_t)atoi(words[2]),
				     (uint64_t)(int64_t)atoi(words[3])};

		put(&r->ids, owner, sizeof(owner));
	} else if (!data_line(r, words, nr)) {
		note_line(r, words, nr);
	}
}

/* AUXTRACE_INFO and ID_INDEX come before the other records. */
static void put_head(struct recording *r, struct bytes *data)
{
	if (r->family) {
		struct perf_event_header header = {AUXTAP_RECORD_AUXTRACE_INFO, 0, 16 + 8 * 17};
		uint32_t body[2] = {(uint32_t)r->family, 0};

		put(data, &header, sizeof(header));
		put(data, body, sizeof(body));
		put_zeros(data, 8 * 17);
	}
	if (r->ids.nr) {
		uint64_t nr = r->nr_ids ? r->nr_ids : r->ids.nr / 32;
		struct perf_event_header header = {AUXTAP_RECORD_ID_INDEX, 0,
						   (uint16_t)(16 + r->ids.nr)};

		put(data, &header, sizeof(header));
		put(data, &nr, sizeof(nr));
		put(data, r->ids.at, r->ids.nr);
	}
}

static void put_note(struct bytes *out, uint32_t type, const void *body, size_t size, uint64_t *nr)
{
	struct {
		uint32_t type, reserved;
		uint64_t size;
	} head = {type, 0, size};

	put(out, &head, sizeof(head));
	put(out, body, size);
	put_zeros(out, -size & 7);
	++*nr;
}

static void put_notes(struct recording *r, struct bytes *out)
{
	uint64_t at = out->nr, nr = 0, trailer[4];

	if (r->capture.nr)
		put_note(out, AUXTAP_METADATA_CAPTURE, r->capture.at, r->capture.nr, &nr);
	for (size_t i = 0; i < r->gaps.nr; i += 48)
		put_note(out, AUXTAP_METADATA_GAP, r->gaps.at + i, 48, &nr);
	if (r->has_reader) {
		struct bytes log = {0};

		put(&log, &r->reader, sizeof(r->reader));
		if (r->wakeups.nr)
			put(&log, r->wakeups.at, r->wakeups.nr);
		put_note(out, AUXTAP_METADATA_WAKEUPS, log.at, log.nr, &nr);
		free(log.at);
	}
	if (!nr)
		return;
	trailer[0] = at;
	trailer[1] = out->nr - at;
	trailer[2] = nr;
	memcpy(&trailer[3], "AUXTAPN1", 8);
	put(out, trailer, sizeof(trailer));
}

static void put_file(struct recording *r, struct bytes *out)
{
	struct perf_event_attr attr = {
		.type = 8,
		.size = ATTR_SIZE,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
			       PERF_SAMPLE_IDENTIFIER,
		.sample_id_all = 1,
		.inherit = r->inherit,
		.aux_watermark = (uint32_t)r->watermark,
	};
	const uint64_t ids_at = 104, attrs_at = ids_at + 8, data_at = attrs_at + ATTR_SIZE + 16;
	struct bytes data = {0};
	uint64_t head[13] = {0}, id = 1, ids[2] = {ids_at, 8}, section[2];
	char release[64] = "";
	uint32_t size = sizeof(release);

	put_head(r, &data);
	if (r->data.nr)
		put(&data, r->data.at, r->data.nr);
	memcpy(head, "PERFILE2", 8);
	head[1] = 104;
	head[2] = ATTR_SIZE + 16;
	head[3] = attrs_at;
	head[4] = ATTR_SIZE + 16;
	head[5] = data_at;
	head[6] = r->unfinished ? 0 : data.nr;
	if (!r->unfinished) /* a finished file has a feature, at least */
		head[9] = 1 << (r->osrelease ? FEATURE_OSRELEASE : FEATURE_HOSTNAME);
	put(out, head, sizeof(head));
	put(out, &id, sizeof(id));
	put(out, &attr, ATTR_SIZE);
	put(out, ids, sizeof(ids));
	put(out, data.at, data.nr);
	free(data.at);
	if (r->unfinished)
		return;
	section[0] = out->nr + sizeof(section);
	section[1] = sizeof(size) + sizeof(release);
	put(out, section, sizeof(section));
	strncpy(release, r->osrelease ? r->osrelease : "host", sizeof(release) - 1);
	put(out, &size, sizeof(size));
	put(out, release, sizeof(release));
	put_notes(r, out);
}

static char *temporary(const void *bytes, size_t nr)
{
	char *path = strdup("/tmp/auxtap-audit-XXXXXX");
	int fd;

	assert_non_null(path);
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, nr), nr);
	close(fd);
	return path;
}

char *audit_file(const char *text)
{
	return temporary(text, strlen(text));
}

static int audit_made(const char *lines, const struct auxtap_audit_opts *opts,
		      struct auxtap_audit **audit, struct auxtap_error *err)
{
	struct recording r = {.family = AUXTAP_AUXTRACE_INTEL_PT};
	struct bytes out = {0};
	struct auxtap_perfdata *pd;
	char *text = strdup(lines), *save = NULL, *path;
	int ret;

	assert_non_null(text);
	for (char *at = strtok_r(text, "\n", &save); at; at = strtok_r(NULL, "\n", &save))
		line(&r, at);
	put_file(&r, &out);
	path = temporary(out.at, out.nr);
	ret = auxtap_perfdata_open(&pd, path, err);
	unlink(path);
	if (ret)
		fail_msg("%s: %s", err->what, err->why);
	ret = auxtap_audit_perfdata(audit, pd, opts, err);
	auxtap_perfdata_close(pd);
	free(path);
	free(text);
	free(out.at);
	free(r.data.at);
	free(r.ids.at);
	free(r.capture.at);
	free(r.wakeups.at);
	free(r.gaps.at);
	return ret;
}

struct auxtap_audit *audit_recording(const char *lines, const struct auxtap_audit_opts *opts)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_audit *audit;

	if (audit_made(lines, opts, &audit, &err))
		fail_msg("%s: %s", err.what, err.why);
	return audit;
}

int audit_recording_error(const char *lines, const struct auxtap_audit_opts *opts,
			  struct auxtap_error *err)
{
	struct auxtap_audit *audit;
	int ret = audit_made(lines, opts, &audit, err);

	if (!ret)
		auxtap_audit_free(audit);
	return ret;
}

struct auxtap_audit *audit_log_text(const char *text, const struct auxtap_audit_opts *opts)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_audit *audit;
	char *path = audit_file(text);
	int ret = auxtap_audit_log(&audit, path, opts, &err);

	unlink(path);
	free(path);
	if (ret)
		fail_msg("%s: %s\n%s", err.what, err.why, text);
	return audit;
}

bool audit_found(const struct auxtap_audit *audit, const char *found, const char *what)
{
	const struct auxtap_invariant *inv;
	const struct auxtap_finding *f;
	char all[1024] = "";
	size_t len = 0;

	for (size_t i = 0; (inv = auxtap_audit_get_invariant(i)); i++) {
		uint64_t nr = auxtap_audit_count(audit, inv);

		if (nr)
			len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s",
						len ? " " : "", inv->name);
		if (nr > 1)
			len += (size_t)snprintf(all + len, sizeof(all) - len, ":%llu",
						(unsigned long long)nr);
	}
	if (!strcmp(all, found))
		return true;
	for (size_t i = 0; (f = auxtap_audit_get_finding(audit, i)); i++)
		print_message("  %s: %s\n", f->invariant->name, f->text);
	print_message("found '%s', not '%s', in:\n%s\n", all, found, what);
	return false;
}

const struct auxtap_finding *audit_first(const struct auxtap_audit *audit, const char *name)
{
	const struct auxtap_finding *f;

	for (size_t i = 0; (f = auxtap_audit_get_finding(audit, i)); i++)
		if (!strcmp(f->invariant->name, name))
			return f;
	fail_msg("no finding %s", name);
	return NULL;
}

const struct auxtap_invariant *audit_invariant_by_name(const char *name)
{
	const struct auxtap_invariant *inv;

	for (size_t i = 0; (inv = auxtap_audit_get_invariant(i)); i++)
		if (!strcmp(inv->name, name))
			return inv;
	fail_msg("no invariant %s", name);
	return NULL;
}
