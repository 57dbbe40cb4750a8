// SPDX-License-Identifier: BSD-2-Clause
/*
 * Event logs of trace units, such as simulators and FPGAs that run without a kernel. docs/audit.md
 * has the format, docs/kernel-rules.md the rules that comments cite by number (D21).
 */
#include "audit_private.h"
#include "util/number.h"
#include "util/vector.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct log {
	struct auxtap_audit *audit;
	struct auxtap_audit_ring *ring;
	uint64_t max_overshoot, max_delay, buffer;
	bool overwrite;
	uint64_t time, write, tail, limit, threshold;
	bool has_limit, has_threshold, has_time;
	bool limit_reported;	 /* a write past this limit was reported */
	bool overwrite_reported; /* lost unread bytes were reported since the tail moved */
	bool threshold_passed;	 /* the write position has reached the threshold */
	uint64_t passed_time;	 /* when it did */
	uint64_t passed_lost;	 /* bytes lost since then */
	uint64_t nr_interrupts;	 /* for this threshold */
	uint64_t nr_events;
	struct entry location; /* the current line, for findings */

	/* for logs that say when the driver switches the unit on and off */
	uint64_t key, max_record;
	uint64_t end_time; /* when the unit was switched off */
	bool has_transactions, on;
	bool at_limit; /* the unit reached its limit in this transaction; no interrupt since */
	bool tail_unknown;
	bool of_recording; /* the log belongs to a recording that is audited */
	/* for logs that say what the kernel does */
	uint64_t head;
	bool has_head, wakeup_due;
	uint64_t nr_wakeups, nr_transactions; /* nr_wakeups: in overwrite mode */
	bool interrupted;		      /* since the unit was switched on */
	/* event truncated_id was truncated by an interrupt; the tail has not moved since */
	bool truncated_by_irq;
	uint64_t truncated_id, nr_truncated;
	bool incomplete; /* lines are missing; the write position was missing_from */
	uint64_t missing_from;
	struct unit_transaction *transaction; /* NULL: no transaction is open */
};

/* Whether the unit has reached 'at': a record of max_record bytes would go past it. */
static bool reaches(const struct log *log, uint64_t at)
{
	return log->max_record ? audit_end(log->write, log->max_record) > at : log->write >= at;
}

/* The write pointer of a stopped unit no longer moves, so the lost bytes count, too. */
static uint64_t bytes_past_threshold(const struct log *log)
{
	return (log->write > log->threshold ? log->write - log->threshold : 0) +
	       (log->threshold_passed ? log->passed_lost : 0);
}

/* ---- history of the unit, for the comparison with its recording ---- */

static void add_extent(struct log *log, uint64_t from, uint64_t to, bool unknown)
{
	struct unit_history *u = &log->audit->units;
	struct unit_extent *last = u->nr_extents ? &u->extents[u->nr_extents - 1] : NULL;

	if (!log->of_recording || to <= from)
		return;
	if (last && last->unknown == unknown && last->log_path == log->location.log_path &&
	    last->key == log->key && last->end == from &&
	    (!log->transaction || last->line_off >= log->transaction->line_off)) {
		last->end = to;
		return;
	}
	if (vector_grow(u->extents, u->nr_extents, u->max_extents)) {
		log->audit->no_memory = true;
		return;
	}
	u->extents[u->nr_extents++] = (struct unit_extent){
		.key = log->key,
		.off = from,
		.end = to,
		.time = log->time,
		.line_off = log->location.file_off,
		.log_path = log->location.log_path,
		.unknown = unknown,
	};
}

/* Lines were missing up to here, so the unit may have written anything up to 'at'. */
static void close_missing_extent(struct log *log, uint64_t at)
{
	if (log->incomplete)
		add_extent(log, log->missing_from, at, true);
	log->incomplete = false;
}

static void leave_threshold(struct log *log);

static void close_transaction(struct log *log)
{
	if (log->transaction)
		log->transaction->end_line_off = log->location.file_off;
	log->transaction = NULL;
	if (log->on)
		log->end_time = log->time;
	log->on = false;
}

static void open_transaction(struct log *log, uint64_t at)
{
	struct unit_history *u = &log->audit->units;
	close_missing_extent(log, at);
	close_transaction(log);
	leave_threshold(log);
	log->has_transactions = log->on = true;
	log->interrupted = false;
	log->nr_transactions++;
	log->write = at;
	log->has_limit = log->limit_reported = log->at_limit = false;
	if (!log->of_recording)
		return;
	if (vector_grow(u->transactions, u->nr_transactions, u->max_transactions)) {
		log->audit->no_memory = true;
		return;
	}
	log->transaction = &u->transactions[u->nr_transactions++];
	*log->transaction = (struct unit_transaction){
		.key = log->key,
		.seq = u->nr_transactions,
		.begin = at,
		.end = at,
		.time = log->time,
		.line_off = log->location.file_off,
		.end_line_off = log->location.file_off,
		.log_path = log->location.log_path,
	};
}

/* The ring's positions are unknown from here on. */
static void reset_position(struct log *log)
{
	close_transaction(log);
	log->has_threshold = log->threshold_passed = log->has_limit = log->at_limit = false;
	log->nr_interrupts = 0;
	log->tail_unknown = true;
	log->has_head = log->wakeup_due = log->truncated_by_irq = log->interrupted = false;
}

static void note_missing_events(struct log *log)
{
	struct unit_history *u = &log->audit->units;

	audit_add_finding(log->audit, INV_LOG_GAP, log->ring, &log->location, 0,
			  "from here on, up to the next begin");
	if (u->nr_transactions &&
	    u->transactions[u->nr_transactions - 1].log_path == log->location.log_path)
		u->transactions[u->nr_transactions - 1].incomplete = true;
	u->threads_incomplete |= log->key >= KEY_THREAD;
	if (!log->incomplete)
		log->missing_from = log->write;
	log->incomplete = true;
	reset_position(log);
}

static void note_at_limit(struct log *log)
{
	if (!log->has_limit || !reaches(log, log->limit))
		return;
	log->at_limit = true;
	if (log->transaction)
		log->transaction->at_limit = true;
}

static void advance_write(struct log *log, uint64_t to)
{
	struct auxtap_audit *audit = log->audit;

	if (to < log->write) {
		audit_add_finding(audit, INV_LOG_POINTER_BACK, log->ring, &log->location,
				  log->write - to, "from 0x%" PRIx64 " to 0x%" PRIx64, log->write,
				  to);
		return;
	}
	log->ring->nr_records++;
	log->ring->nr_bytes += to - log->write;
	add_extent(log, log->write, to, false);
	log->write = log->ring->last_end = to;
	if (log->has_limit && to > log->limit && !log->limit_reported) {
		log->limit_reported = true;
		audit_add_finding(audit, INV_LOG_PAST_LIMIT, log->ring, &log->location,
				  to - log->limit,
				  "at 0x%" PRIx64 ", %" PRIu64 " bytes past the limit 0x%" PRIx64,
				  to, to - log->limit, log->limit);
	}
	if (log->transaction)
		log->transaction->end = to;
	note_at_limit(log);
	if (!log->overwrite && !log->tail_unknown && to > log->tail) {
		uint64_t lag = to - log->tail;

		if (lag > log->ring->largest_unread)
			log->ring->largest_unread = lag;
		if (log->buffer && lag > log->buffer && !log->overwrite_reported) {
			log->overwrite_reported = true;
			audit_add_finding(audit, INV_LOG_OVERWRITTEN, log->ring, &log->location,
					  lag - log->buffer,
					  "%" PRIu64 " bytes are unread in a buffer of %" PRIu64
					  ": 0x%" PRIx64 " to 0x%" PRIx64 " are gone",
					  lag, log->buffer, log->tail, to - log->buffer);
		}
	}
	if (log->has_threshold && !log->threshold_passed && reaches(log, log->threshold)) {
		log->threshold_passed = true;
		log->passed_time = log->time;
		log->passed_lost = 0;
		log->ring->nr_passed++;
	}
}

/* The threshold is replaced, or the log ends: its interrupt must have come. */
static void leave_threshold(struct log *log)
{
	uint64_t now = log->has_transactions && !log->on ? log->end_time : log->time;
	uint64_t overshoot = bytes_past_threshold(log),
		 delay = log->threshold_passed ? now - log->passed_time : 0;
	bool late = log->threshold_passed &&
		    (overshoot > log->max_overshoot || (log->max_delay && delay > log->max_delay));

	if (log->has_threshold && late && !log->nr_interrupts)
		audit_add_finding(log->audit, INV_LOG_MISSING, log->ring, &log->location, overshoot,
				  "the threshold 0x%" PRIx64 " was passed by %" PRIu64
				  " bytes and %" PRIu64 " ns ago, and no interrupt came",
				  log->threshold, overshoot, delay);
	log->has_threshold = log->threshold_passed = false;
	log->nr_interrupts = 0;
}

static void check_interrupt(struct log *log)
{
	struct auxtap_audit *audit = log->audit;
	uint64_t overshoot, delay;

	log->ring->nr_interrupts++;
	/* an interrupt that comes after the driver switched the unit off ends no transaction */
	log->interrupted = log->on || !log->has_transactions;
	if (log->has_threshold && log->threshold_passed && log->nr_interrupts++ &&
	    (log->on || !log->has_transactions)) {
		audit_add_finding(audit, INV_LOG_DOUBLED, log->ring, &log->location, 0,
				  "interrupt %" PRIu64 " for the threshold 0x%" PRIx64,
				  log->nr_interrupts, log->threshold);
		return;
	}
	if (!log->has_threshold || !log->threshold_passed || log->nr_interrupts > 1) {
		if (log->has_transactions ? log->at_limit :
					    log->has_limit && log->write >= log->limit) {
			log->at_limit = false;
			return; /* the interrupt reports that the unit stopped at its limit */
		}
		if (log->has_transactions && !log->on)
			audit_add_finding(audit, INV_LOG_STOPPED, log->ring, &log->location, 0,
					  "at 0x%" PRIx64 ", %" PRIu64
					  " ns after the unit was switched off",
					  log->write, log->time - log->end_time);
		else if (log->has_threshold)
			audit_add_finding(audit, INV_LOG_EARLY, log->ring, &log->location,
					  log->threshold - log->write,
					  "at 0x%" PRIx64 ", %" PRIu64
					  " bytes before the threshold 0x%" PRIx64,
					  log->write, log->threshold - log->write, log->threshold);
		else
			audit_add_finding(audit, INV_LOG_EARLY, log->ring, &log->location, 0,
					  "at 0x%" PRIx64 ", no threshold is set", log->write);
		return;
	}
	log->at_limit = false; /* threshold and limit may be the same */
	overshoot = bytes_past_threshold(log);
	delay = log->time - log->passed_time;
	audit_count_overshoot(log->ring, overshoot);
	if ((log->max_overshoot && overshoot > log->max_overshoot) ||
	    (log->max_delay && delay > log->max_delay))
		audit_add_finding(audit, INV_LOG_LATE, log->ring, &log->location, overshoot,
				  "%" PRIu64 " bytes and %" PRIu64
				  " ns after the threshold 0x%" PRIx64 " (allowed: %" PRIu64
				  " bytes, %" PRIu64 " ns; 0: any)",
				  overshoot, delay, log->threshold, log->max_overshoot,
				  log->max_delay);
}

static void set_limit(struct log *log, uint64_t to)
{
	log->limit = to;
	log->has_limit = true;
	log->limit_reported = false;
	if (log->transaction)
		log->transaction->has_limit = true;
	if (!log->overwrite && !log->tail_unknown && log->buffer &&
	    to > audit_end(log->tail, log->buffer))
		audit_add_finding(log->audit, INV_LOG_LIMIT_AHEAD, log->ring, &log->location,
				  to - log->tail - log->buffer,
				  "0x%" PRIx64
				  " lets the unit overwrite what is unread from 0x%" PRIx64 " on",
				  to, log->tail);
}

static void set_tail(struct log *log, uint64_t to)
{
	if (to != log->tail)
		log->truncated_by_irq = false;
	if (to < log->tail && !log->tail_unknown)
		audit_add_finding(log->audit, INV_LOG_POINTER_BACK, log->ring, &log->location,
				  log->tail - to,
				  "the tail goes from 0x%" PRIx64 " back to 0x%" PRIx64, log->tail,
				  to);
	if (to > log->write)
		audit_add_finding(log->audit, INV_LOG_TAIL_AHEAD, log->ring, &log->location,
				  to - log->write,
				  "0x%" PRIx64 " is %" PRIu64 " bytes ahead of what was written",
				  to, to - log->write);
	if (to >= log->tail && !log->tail_unknown)
		log->ring->nr_read_bytes += to - log->tail;
	log->ring->nr_reads += to != log->tail || log->tail_unknown;
	log->tail = to;
	log->overwrite_reported = log->tail_unknown = false;
}

/* ---- lines ---- */

static bool parse_value(const char **at, uint64_t *v)
{
	while (**at == ' ')
		++*at;
	if (!number_prefix(*at, at, v))
		return false;
	while (**at == ' ' || **at == '\r' || **at == '\n')
		++*at;
	return true;
}

enum event_kind {
	EVENT_WRITE,
	EVENT_TAIL,
	EVENT_LIMIT,
	EVENT_THRESHOLD,
	EVENT_IRQ,
	EVENT_LOST,
	EVENT_BEGIN,
	EVENT_END,
	EVENT_JUMP,    /* the write pointer moves, and nothing is written up to there */
	EVENT_PARTIAL, /* "hole": trace is missing for another reason than lack of space */
	EVENT_RING,    /* from here on positions are of the ring of that thread */
	EVENT_MISSING, /* "gap": events are missing from the log */
	EVENT_HEAD,
	EVENT_WAKEUP,
	EVENT_TRUNCATED,
	EVENT_FREED,
	EVENT_NR
};

static void count_lost(struct log *log, uint64_t nr_bytes)
{
	log->ring->nr_lost_bytes += nr_bytes;
	log->passed_lost += nr_bytes;
	if (log->transaction)
		log->transaction->nr_lost += nr_bytes;
	if (nr_bytes && log->on && log->has_limit && !log->at_limit && !reaches(log, log->limit))
		audit_add_finding(log->audit, INV_LOG_LOST_WITH_SPACE, log->ring, &log->location,
				  nr_bytes,
				  "%" PRIu64 " bytes, at 0x%" PRIx64 ", %" PRIu64
				  " bytes before the limit 0x%" PRIx64,
				  nr_bytes, log->write, log->limit - log->write, log->limit);
	audit_add_finding(log->audit, INV_LOG_LOST, log->ring, &log->location, nr_bytes,
			  "%" PRIu64 " bytes", nr_bytes);
}

/*
 * An interrupt must come for the next watermark (D18), as the driver rounds it: PT interrupts
 * exactly at watermarks that are powers of two of pages (H5), the others at the next page boundary
 * (I4, J2). Without a threshold the unit interrupts at its limit.
 */
static void check_threshold(const struct log *log, uint64_t to)
{
	const struct auxtap_audit_facts *facts = &log->audit->facts;
	uint64_t watermark = facts->watermark, page = facts->page_size, next,
		 due = to > log->write ? to : log->limit;

	if (!watermark || !page || !log->has_transactions || !log->has_limit || log->overwrite)
		return;
	next = (log->write / watermark + 1) * watermark;
	if (log->audit->family->interrupts_at_topa_entries) {
		if (watermark & (watermark - 1) || watermark < page)
			return;
	} else if (next % page) {
		next += page - next % page;
	}
	if (due > next && due <= log->limit)
		audit_add_finding(log->audit, INV_LOG_THRESHOLD_LATE, log->ring, &log->location,
				  due - next,
				  "at 0x%" PRIx64 " the next interrupt is due at 0x%" PRIx64
				  ", for a watermark at 0x%" PRIx64,
				  log->write, due, (log->write / watermark + 1) * watermark);
}

static void set_threshold(struct log *log, uint64_t to)
{
	leave_threshold(log);
	log->threshold = to;
	/* a threshold at or below the write position never fires, which is correct (H5) */
	log->has_threshold = log->write < to;
	check_threshold(log, to);
}

/* ---- what the kernel does ---- */

#define TRANSACTIONS_PER_WAKEUP 1000 /* the data ring wakes, too, when half full (E6) */
#define TRUNCATED_MIN		2

static void update_head(struct log *log, uint64_t to)
{
	uint64_t watermark = log->audit->facts.watermark;

	if (watermark && log->has_head && !log->overwrite && to > log->head)
		log->wakeup_due = to / watermark > log->head / watermark;
	log->head = to;
	log->has_head = true;
}

/* Called at any event other than a wakeup: none may be due. */
static void report_missing_wakeup(struct log *log)
{
	if (log->wakeup_due)
		audit_add_finding(log->audit, INV_LOG_NO_WAKEUP, log->ring, &log->location, 0,
				  "the head has passed a watermark and is at 0x%" PRIx64,
				  log->head);
	log->wakeup_due = false;
}

static void check_wakeup(struct log *log)
{
	log->wakeup_due = false;
	if (log->overwrite && ++log->nr_wakeups * TRANSACTIONS_PER_WAKEUP > log->nr_transactions)
		audit_add_finding(log->audit, INV_LOG_WAKEUP, log->ring, &log->location, 0,
				  "wakeup %" PRIu64
				  ", but no reader waits for a part of an overwritten area",
				  log->nr_wakeups);
}

/*
 * D21: an event that an interrupt truncates is disabled. The reader enables it again after reading,
 * so the tail has moved by then. An event that is truncated during sched-in is not disabled, so it
 * is not checked.
 */
static void check_truncated(struct log *log, uint64_t id)
{
	if (!log->truncated_by_irq && log->interrupted) {
		log->truncated_by_irq = true;
		log->truncated_id = id;
		log->nr_truncated = 0;
	} else if (log->truncated_by_irq && log->truncated_id == id &&
		   ++log->nr_truncated == TRUNCATED_MIN) {
		audit_add_finding(log->audit, INV_LOG_GOES_ON, log->ring, &log->location, 0,
				  "event %" PRIu64 " went on after a truncation %" PRIu64
				  " times, while the reader stayed at 0x%" PRIx64,
				  id, log->nr_truncated, log->tail);
	}
	log->interrupted = false;
}

/* A transaction holds a reference to the area, so the area must not be freed before its end. */
static void check_freed(struct log *log, bool atomic)
{
	if (log->on)
		audit_add_finding(log->audit, INV_LOG_FREED, log->ring, &log->location, 0,
				  "while the unit is on, at 0x%" PRIx64, log->write);
	else if (atomic)
		audit_add_finding(
			log->audit, INV_LOG_FREED, log->ring, &log->location, 0,
			"in atomic context, as in a begin or end; the unit was at 0x%" PRIx64,
			log->write);
	leave_threshold(log);
	reset_position(log);
	log->write = 0; /* the next events are of another area */
}

static void apply_event(struct log *log, enum event_kind kind, bool has_value, uint64_t value)
{
	if (kind != EVENT_WAKEUP)
		report_missing_wakeup(log);
	switch (kind) {
	case EVENT_WRITE:
		advance_write(log, value);
		break;
	case EVENT_TAIL:
		set_tail(log, value);
		break;
	case EVENT_LIMIT:
		set_limit(log, value);
		break;
	case EVENT_THRESHOLD:
		set_threshold(log, value);
		break;
	case EVENT_IRQ:
		if (has_value && value > log->write)
			advance_write(log, value);
		check_interrupt(log);
		break;
	case EVENT_LOST:
		count_lost(log, value);
		break;
	case EVENT_BEGIN:
		open_transaction(log, value);
		break;
	case EVENT_END:
		if (has_value && value > log->write)
			advance_write(log, value);
		close_transaction(log);
		break;
	case EVENT_JUMP:
		log->write = value;
		break;
	case EVENT_PARTIAL:
		if (log->transaction)
			log->transaction->partial = true;
		break;
	case EVENT_RING:
		reset_position(log);
		log->key = KEY_THREAD | (uint32_t)value;
		break;
	case EVENT_MISSING:
		note_missing_events(log);
		break;
	case EVENT_HEAD:
		update_head(log, value);
		break;
	case EVENT_WAKEUP:
		check_wakeup(log);
		break;
	case EVENT_TRUNCATED:
		check_truncated(log, value);
		break;
	case EVENT_FREED:
		check_freed(log, value);
		break;
	case EVENT_NR:
		break;
	}
}

static bool parse_event(struct log *log, const char *name, size_t len, bool has_value,
			uint64_t value)
{
	/* clang-format off */
	static const struct {
		const char *name;
		bool value_optional;
	} events[EVENT_NR] = {
		[EVENT_WRITE] = {"write", false}, [EVENT_TAIL] = {"tail", false},
		[EVENT_LIMIT] = {"limit", false}, [EVENT_THRESHOLD] = {"mark", false},
		[EVENT_IRQ] = {"irq", true},	  [EVENT_LOST] = {"lost", false},
		[EVENT_BEGIN] = {"begin", false}, [EVENT_END] = {"end", true},
		[EVENT_JUMP] = {"jump", false},	  [EVENT_PARTIAL] = {"hole", true},
		[EVENT_RING] = {"ring", false},	  [EVENT_MISSING] = {"gap", true},
		[EVENT_HEAD] = {"head", false},	  [EVENT_WAKEUP] = {"wakeup", true},
		[EVENT_TRUNCATED] = {"truncated", false}, [EVENT_FREED] = {"freed", true},
	};
	/* clang-format on */

	for (int i = 0; i < EVENT_NR; i++) {
		if (strlen(events[i].name) != len || strncmp(events[i].name, name, len) != 0)
			continue;
		if (!has_value && !events[i].value_optional)
			return false;
		apply_event(log, (enum event_kind)i, has_value, value);
		return true;
	}
	return false;
}

/* "# buffer: 65536" */
static void parse_setting(struct log *log, const char *line)
{
	struct auxtap_audit_facts *facts = &log->audit->facts;
	char key[32], value[64];
	uint64_t v;

	if (sscanf(line, "# %31[^:]: %63[^\r\n]", key, value) != 2)
		return; /* a comment */
	if (!strcmp(key, "unit")) {
		if (log->of_recording)
			return; /* the recording says which unit it is */
		snprintf(log->audit->unit, sizeof(log->audit->unit), "%s", value);
		log->audit->family = audit_family_named(value);
		return;
	}
	if (!strcmp(key, "mode")) {
		log->overwrite = log->ring->overwrite = !strcmp(value, "overwrite");
		return;
	}
	v = strtoull(value, NULL, 0);
	if (!strcmp(key, "buffer") && !log->audit->opts.aux_size)
		log->buffer = facts->aux_size = v;
	else if (!strcmp(key, "cpu")) {
		log->ring->cpu = (int32_t)v;
		log->key = KEY_CPU | (uint32_t)v;
	} else if (!strcmp(key, "max-record"))
		log->max_record = v;
	else if (!strcmp(key, "page") && !log->audit->opts.page_size)
		facts->page_size = v;
	else if (!strcmp(key, "watermark") && !log->of_recording)
		facts->watermark = v;
	else if (!strcmp(key, "max-skid") && !log->audit->opts.max_overshoot)
		log->max_overshoot = v;
	else if (!strcmp(key, "max-delay") && !log->audit->opts.max_delay)
		log->max_delay = v;
}

/* "1000,write,0x2000"; false: not an event */
static bool parse_event_line(struct log *log, const char *line)
{
	const char *at = line, *name;
	uint64_t time, value = 0;
	bool has_value = false;
	size_t len;

	if (!parse_value(&at, &time) || *at != ',')
		return false;
	name = at + 1;
	len = strcspn(name, ", \r\n");
	at = name + len;
	if (*at == ',') {
		at++;
		has_value = parse_value(&at, &value);
		if (!has_value && *at && *at != '\r' && *at != '\n')
			return false;
	}
	if (*at && *at != '\r' && *at != '\n' && *at != ' ')
		return false;
	log->location.time = time;
	if (log->has_time && time < log->time)
		audit_add_finding(log->audit, INV_LOG_TIME_BACK, log->ring, &log->location, 0,
				  "%" PRIu64 " ns before the previous event", log->time - time);
	else
		log->time = time;
	if (!log->of_recording) { /* the time span of a recording is that of its records */
		if (!log->has_time)
			log->audit->facts.time_begin = time;
		if (time > log->audit->facts.time_end)
			log->audit->facts.time_end = time;
	}
	log->has_time = true;
	return parse_event(log, name, len, has_value, value);
}

static int read_lines(struct log *log, FILE *f, const char *path, struct auxtap_error *err)
{
	char *line = NULL;
	size_t size = 0;
	uint64_t off = 0;
	ssize_t len;
	int ret = 0;

	while (!ret && (len = getline(&line, &size, f)) > 0) {
		log->location.file_off = off;
		off += (uint64_t)len;
		if (*line == '#') {
			parse_setting(log, line);
		} else if (strspn(line, " \r\n") == (size_t)len ||
			   (!log->nr_events && !strncmp(line, "time", 4))) {
			continue; /* empty, or the names of the columns */
		} else if (parse_event_line(log, line)) {
			log->nr_events++;
		} else if (!log->nr_events) {
			ret = auxtap_error_set_at(err, -EINVAL, path, log->location.file_off,
						  "the line at offset %llu is not an event",
						  (unsigned long long)log->location.file_off);
			auxtap_error_hint(
				err,
				"a line is TIME,EVENT,VALUE: write, tail, limit, mark, irq, lost, begin, end …");
		} else {
			audit_add_finding(log->audit, INV_LOG_DAMAGED, log->ring, &log->location, 0,
					  "not an event; ignored");
		}
	}
	if (!ret && ferror(f))
		ret = auxtap_error_set(err, -EIO, path, "cannot read");
	else if (!ret && !log->nr_events)
		ret = auxtap_error_set(err, -EINVAL, path, "has no events");
	free(line);
	return ret;
}

/* Reads a log into audit: on its own, or (of_recording) the log of the unit of a recording. */
static int read_log(struct auxtap_audit *audit, const char *path, bool of_recording,
		    struct auxtap_error *err)
{
	struct log log = {.audit = audit, .of_recording = of_recording};
	FILE *f = fopen(path, "re");
	int ret;

	if (!f)
		return auxtap_error_set(err, -errno, path, "%s", strerror(errno));
	log.ring = audit_add_ring(audit, -1, -1);
	if (!log.ring) {
		fclose(f);
		return auxtap_error_set(err, -ENOMEM, path, "out of memory");
	}
	log.ring->log = log.location.log_path = path;
	log.max_overshoot = audit->opts.max_overshoot;
	log.max_delay = audit->opts.max_delay;
	log.buffer = audit->opts.aux_size;
	ret = read_lines(&log, f, path, err);
	if (!ret) {
		close_missing_extent(&log, UINT64_MAX);
		close_transaction(&log);
		leave_threshold(&log);
	}
	fclose(f);
	if (audit->no_memory)
		ret = auxtap_error_set(err, -ENOMEM, path, "out of memory");
	return ret;
}

static const char *keep_path(struct auxtap_audit *audit, const char *path)
{
	struct unit_history *u = &audit->units;
	char *copy;

	if (vector_grow(u->paths, u->nr_paths, u->max_paths))
		return NULL;
	copy = strdup(path);
	if (copy)
		u->paths[u->nr_paths++] = copy;
	return copy;
}

int audit_unit_log(struct auxtap_audit *audit, const char *path, struct auxtap_error *err)
{
	path = keep_path(audit, path);
	if (!path)
		return auxtap_error_set(err, -ENOMEM, "unit log", "out of memory");
	audit->facts.nr_unit_logs++;
	return read_log(audit, path, true, err);
}

int auxtap_audit_log(struct auxtap_audit **out, const char *path,
		     const struct auxtap_audit_opts *opts, struct auxtap_error *err)
{
	struct auxtap_error why = AUXTAP_ERROR_INIT;
	struct auxtap_audit *audit = audit_new(opts, &why);
	int ret;

	if (!audit) {
		if (err)
			*err = why;
		return why.code;
	}
	audit->facts.of_log = true;
	strcpy(audit->unit, "unknown");
	path = keep_path(audit, path);
	ret = path ? read_log(audit, path, false, err) :
		     auxtap_error_set(err, -ENOMEM, "event log", "out of memory");
	if (ret)
		auxtap_audit_free(audit);
	else
		*out = audit;
	return ret;
}
