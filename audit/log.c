// SPDX-License-Identifier: BSD-2-Clause
/* Event logs of simulators and FPGAs, where there is no kernel yet: docs/audit.md has the format. */
#include "audit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct log {
	struct auxtap_audit *audit;
	struct auxtap_audit_ring *ring;
	uint64_t max_skid, max_delay, buffer;
	bool overwrite;
	uint64_t time, write, tail, limit, mark;
	bool has_limit, has_mark, has_time;
	bool past_limit, overwritten; /* told already, of this limit, of this tail */
	bool passed; /* the mark, at: */
	uint64_t passed_time;
	uint64_t nr_interrupts; /* for this mark */
	uint64_t nr_events;
	struct entry line; /* of the file, as the place of findings */
};

static void pointer(struct log *log, uint64_t to)
{
	struct auxtap_audit *audit = log->audit;

	if (to < log->write) {
		audit_find(audit, INV_LOG_POINTER_BACK, log->ring, &log->line, log->write - to,
			   "from 0x%" PRIx64 " to 0x%" PRIx64, log->write, to);
		return;
	}
	log->ring->nr_records++;
	log->ring->nr_bytes += to - log->write;
	log->write = log->ring->last_end = to;
	if (log->has_limit && to > log->limit && !log->past_limit) {
		log->past_limit = true;
		audit_find(audit, INV_LOG_PAST_LIMIT, log->ring, &log->line, to - log->limit,
			   "at 0x%" PRIx64 ", %" PRIu64 " bytes past the limit 0x%" PRIx64, to, to - log->limit,
			   log->limit);
	}
	if (!log->overwrite && to > log->tail) {
		uint64_t lag = to - log->tail;

		if (lag > log->ring->largest_unread)
			log->ring->largest_unread = lag;
		if (log->buffer && lag > log->buffer && !log->overwritten) {
			log->overwritten = true;
			audit_find(audit, INV_LOG_OVERWRITTEN, log->ring, &log->line, lag - log->buffer,
				   "%" PRIu64 " bytes are unread in a buffer of %" PRIu64 ": 0x%" PRIx64
				   " to 0x%" PRIx64 " are gone",
				   lag, log->buffer, log->tail, to - log->buffer);
		}
	}
	if (log->has_mark && !log->passed && to >= log->mark) {
		log->passed = true;
		log->passed_time = log->time;
		log->ring->nr_passed++;
	}
}

/* The mark goes, or the log ends. */
static void leave_mark(struct log *log)
{
	bool late = log->passed && (log->write - log->mark > log->max_skid ||
				    (log->max_delay && log->time - log->passed_time > log->max_delay));

	if (log->has_mark && late && !log->nr_interrupts)
		audit_find(log->audit, INV_LOG_MISSING, log->ring, &log->line, log->write - log->mark,
			   "the mark 0x%" PRIx64 " was passed by %" PRIu64 " bytes, and no interrupt came", log->mark,
			   log->write - log->mark);
	log->has_mark = log->passed = false;
	log->nr_interrupts = 0;
}

static void interrupt(struct log *log)
{
	struct auxtap_audit *audit = log->audit;
	uint64_t skid, delay;

	log->ring->nr_starts++;
	if (log->has_mark && log->nr_interrupts++) {
		audit_find(audit, INV_LOG_DOUBLED, log->ring, &log->line, 0,
			   "interrupt %" PRIu64 " for the mark 0x%" PRIx64, log->nr_interrupts, log->mark);
		return;
	}
	if (!log->has_mark || !log->passed) {
		if (log->has_limit && log->write >= log->limit)
			return; /* it stopped there, and says so */
		if (log->has_mark)
			audit_find(audit, INV_LOG_EARLY, log->ring, &log->line, log->mark - log->write,
				   "at 0x%" PRIx64 ", %" PRIu64 " bytes before the mark 0x%" PRIx64, log->write,
				   log->mark - log->write, log->mark);
		else
			audit_find(audit, INV_LOG_EARLY, log->ring, &log->line, 0, "at 0x%" PRIx64 ", no mark is set",
				   log->write);
		return;
	}
	skid = log->write - log->mark;
	delay = log->time - log->passed_time;
	audit_skid(log->ring, skid);
	if ((log->max_skid && skid > log->max_skid) || (log->max_delay && delay > log->max_delay))
		audit_find(audit, INV_LOG_LATE, log->ring, &log->line, skid,
			   "%" PRIu64 " bytes and %" PRIu64 " ns behind the mark 0x%" PRIx64 " (allowed: %" PRIu64
			   " bytes, %" PRIu64 " ns; 0: any)",
			   skid, delay, log->mark, log->max_skid, log->max_delay);
}

static void set_limit(struct log *log, uint64_t to)
{
	log->limit = to;
	log->has_limit = true;
	log->past_limit = false;
	if (!log->overwrite && log->buffer && to > audit_end(log->tail, log->buffer))
		audit_find(log->audit, INV_LOG_LIMIT_AHEAD, log->ring, &log->line, to - log->tail - log->buffer,
			   "0x%" PRIx64 " lets the unit overwrite what is unread from 0x%" PRIx64 " on", to, log->tail);
}

static void set_tail(struct log *log, uint64_t to)
{
	if (to < log->tail)
		audit_find(log->audit, INV_LOG_POINTER_BACK, log->ring, &log->line, log->tail - to,
			   "the tail goes from 0x%" PRIx64 " back to 0x%" PRIx64, log->tail, to);
	if (to > log->write)
		audit_find(log->audit, INV_LOG_TAIL_AHEAD, log->ring, &log->line, to - log->write,
			   "0x%" PRIx64 " is %" PRIu64 " bytes ahead of what was written", to, to - log->write);
	if (to >= log->tail)
		log->ring->nr_read_bytes += to - log->tail;
	log->ring->nr_reads++;
	log->tail = to;
	log->overwritten = false;
}

/* ---- lines ---- */

static bool number(const char **at, uint64_t *v)
{
	char *end;

	while (**at == ' ')
		++*at;
	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*v = strtoull(*at, &end, 0);
	*at = end;
	while (**at == ' ' || **at == '\r' || **at == '\n')
		++*at;
	return !errno;
}

static bool event(struct log *log, const char *name, size_t len, bool has_value, uint64_t value)
{
	static const char *const names[] = {"write", "tail", "limit", "mark", "irq", "lost"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == len && !strncmp(names[i], name, len))
			break;
	if (i == sizeof(names) / sizeof(names[0]) || (!has_value && i != 4))
		return false;
	switch (i) {
	case 0:
		pointer(log, value);
		break;
	case 1:
		set_tail(log, value);
		break;
	case 2:
		set_limit(log, value);
		break;
	case 3:
		leave_mark(log);
		log->mark = value;
		log->has_mark = true;
		if (log->write >= value) { /* behind the pointer: it never comes, and that is no fault (H5) */
			log->has_mark = false;
		}
		break;
	case 4:
		if (has_value && value > log->write)
			pointer(log, value);
		interrupt(log);
		break;
	default:
		log->ring->nr_lost_bytes += value;
		audit_find(log->audit, INV_LOG_LOST, log->ring, &log->line, value, "%" PRIu64 " bytes", value);
		break;
	}
	return true;
}

/* "# buffer: 65536" */
static void setting(struct log *log, const char *line)
{
	struct auxtap_audit_facts *facts = &log->audit->facts;
	char key[32], value[64];
	uint64_t v;

	if (sscanf(line, "# %31[^:]: %63[^\r\n]", key, value) != 2)
		return; /* a remark */
	if (!strcmp(key, "unit")) {
		snprintf(log->audit->unit, sizeof(log->audit->unit), "%s", value);
		return;
	}
	if (!strcmp(key, "mode")) {
		log->overwrite = log->ring->overwrite = !strcmp(value, "overwrite");
		return;
	}
	errno = 0;
	v = strtoull(value, NULL, 0);
	if (!strcmp(key, "buffer") && !log->audit->opts.aux_size)
		log->buffer = facts->aux_size = v;
	else if (!strcmp(key, "page") && !log->audit->opts.page_size)
		facts->page_size = v;
	else if (!strcmp(key, "watermark"))
		facts->watermark = v;
	else if (!strcmp(key, "max-skid") && !log->audit->opts.max_skid)
		log->max_skid = v;
	else if (!strcmp(key, "max-delay"))
		log->max_delay = v;
}

/* "1000,write,0x2000"; false: it is no event */
static bool line_of(struct log *log, const char *line)
{
	const char *at = line, *name;
	uint64_t time, value = 0;
	bool has_value = false;
	size_t len;

	if (!number(&at, &time) || *at != ',')
		return false;
	name = at + 1;
	len = strcspn(name, ", \r\n");
	at = name + len;
	if (*at == ',') {
		at++;
		has_value = number(&at, &value);
		if (!has_value && *at && *at != '\r' && *at != '\n')
			return false;
	}
	if (*at && *at != '\r' && *at != '\n' && *at != ' ')
		return false;
	log->line.time = time;
	if (log->has_time && time < log->time)
		audit_find(log->audit, INV_LOG_TIME_BACK, log->ring, &log->line, 0, "%" PRIu64 " ns before the event before",
			   log->time - time);
	else
		log->time = time;
	if (!log->has_time)
		log->audit->facts.time_begin = time;
	log->has_time = true;
	if (time > log->audit->facts.time_end)
		log->audit->facts.time_end = time;
	return event(log, name, len, has_value, value);
}

static int read_lines(struct log *log, FILE *f, const char *path, struct auxtap_error *err)
{
	char *line = NULL;
	size_t size = 0;
	uint64_t off = 0;
	ssize_t len;
	int ret = 0;

	while (!ret && (len = getline(&line, &size, f)) > 0) {
		log->line.file_off = off;
		off += (uint64_t)len;
		if (*line == '#') {
			setting(log, line);
		} else if (strspn(line, " \r\n") == (size_t)len || (!log->nr_events && !strncmp(line, "time", 4))) {
			continue; /* the columns' names */
		} else if (line_of(log, line)) {
			log->nr_events++;
		} else if (!log->nr_events) {
			ret = auxtap_error_set_at(err, -EINVAL, path, log->line.file_off,
						  "the line at offset %llu is no event",
						  (unsigned long long)log->line.file_off);
			auxtap_error_todo(err, "a line is TIME,EVENT,VALUE: write, tail, limit, mark, irq, lost");
		} else {
			audit_find(log->audit, INV_LOG_DAMAGED, log->ring, &log->line, 0, "no event; it was left out");
		}
	}
	if (!ret && ferror(f))
		ret = auxtap_error_set(err, -EIO, path, "cannot read");
	else if (!ret && !log->nr_events)
		ret = auxtap_error_set(err, -EINVAL, path, "has no events");
	free(line);
	return ret;
}

int auxtap_audit_log(struct auxtap_audit **out, const char *path, const struct auxtap_audit_opts *opts,
		     struct auxtap_error *err)
{
	struct log log = {0};
	FILE *f = fopen(path, "re");
	int ret;

	if (!f)
		return auxtap_error_set(err, -errno, path, "%s", strerror(errno));
	log.audit = audit_new(opts);
	if (!log.audit) {
		fclose(f);
		return auxtap_error_set(err, -ENOMEM, path, "out of memory");
	}
	log.ring = audit_add_ring(log.audit, -1, -1);
	if (log.ring) {
		log.audit->facts.of_log = true;
		strcpy(log.audit->unit, "unknown");
		log.max_skid = log.audit->opts.max_skid;
		log.buffer = log.audit->opts.aux_size;
		ret = read_lines(&log, f, path, err);
		if (!ret)
			leave_mark(&log);
	} else {
		ret = -ENOMEM;
	}
	fclose(f);
	if (log.audit->no_memory)
		ret = auxtap_error_set(err, -ENOMEM, path, "out of memory");
	if (ret)
		auxtap_audit_free(log.audit);
	else
		*out = log.audit;
	return ret;
}
