// SPDX-License-Identifier: BSD-2-Clause
/*
 * Prints an event as a line of text. 'auxtap decode' spends most of its time here, so common
 * columns are written directly to the output buffer; the others go through decode_value().
 */
#include "decode_number.h"
#include "decode_print.h"

#include <auxtap/spe.h>
#include <auxtap/text.h>

#include <stdlib.h>
#include <string.h>

#define VALUE_MAX     4096 /* with its NUL */
#define NAME_MAX_ADDR 1024 /* the same for the name at addr */
/* The longest possible line: all columns, and addr with two names. */
#define LINE_SIZE ((NR_FIELDS + 3) * (VALUE_MAX + NUMBER_CHARS))
#define BLANKS	  24 /* at least the width of the widest column */

/* clang-format off */
static const unsigned char text_width[NR_FIELDS] = {
	[FIELD_COMM] = 16, [FIELD_PID] = 7,    [FIELD_TID] = 7,	 [FIELD_CPU] = 3,
	[FIELD_TIME] = 20, [FIELD_EVENT] = 9,  [FIELD_IP] = 16,	 [FIELD_INSNLEN] = 2,
	[FIELD_FLAGS] = 13, [FIELD_INSN] = 23, [FIELD_SRCLINE] = 20, [FIELD_PHYS] = 16,
	[FIELD_LAT_TOTAL] = 5, [FIELD_LAT_ISSUE] = 5, [FIELD_LAT_XLAT] = 5, [FIELD_SOURCE] = 3,
	[FIELD_OP] = 12,
};
/* clang-format on */

static inline char *put_text(char *at, const char *text, size_t len, size_t max)
{
	if (len >= max)
		len = max - 1;
	memcpy(at, text, len);
	return at + len;
}

/* As put_text(); if len <= LOCATION_TEXT, copy has the same text in a buffer of LOCATION_TEXT
 * bytes. */
static inline char *put_copy(char *at, const char *text, const char *copy, size_t len, size_t max)
{
	if (len > LOCATION_TEXT)
		return put_text(at, text, len, max);
	for (size_t i = 0; i < len; i += 16)
		memcpy(at + i, copy + i, 16);
	return at + len;
}

/* Blanks before right-aligned text of length len. */
static inline char *pad_left(char *at, size_t width, size_t len)
{
	memset(at, ' ', BLANKS);
	return len < width ? at + (width - len) : at;
}

/* Blanks after left-aligned text that started at 'begin'. */
static inline char *pad_right(char *at, const char *begin, size_t width)
{
	size_t len = (size_t)(at - begin);

	memset(at, ' ', BLANKS);
	return len < width ? at + (width - len) : at;
}

/* Numbers are right-aligned; "-" stands for no value. */
static char *put_decimal(char *at, size_t width, uint64_t v)
{
	return number_decimal(pad_left(at, width, number_len_decimal(v)), v);
}

static char *put_signed(char *at, size_t width, int32_t v)
{
	if (v >= 0)
		return put_decimal(at, width, (uint64_t)v);
	return number_signed(pad_left(at, width, 1 + number_len_decimal(-(uint64_t)v)), v);
}

static char *put_hex(char *at, size_t width, uint64_t v)
{
	return number_hex(pad_left(at, width, number_len_hex(v)), v);
}

static char *put_none(char *at, size_t width)
{
	at = pad_left(at, width, 1);
	*at = '-';
	return at + 1;
}

/* Most events have the same second as the previous one: its text is cached. */
static char *put_seconds(struct decode_printer *p, char *at, size_t width, uint64_t ns)
{
	uint64_t second = ns / 1000000000;

	if (!p->second_len || p->second != second) {
		char *end = pad_left(p->second_text, width, number_len_decimal(second) + 10);

		end = number_decimal(end, second);
		*end++ = '.';
		p->second = second;
		p->second_len = (size_t)(end - p->second_text);
	}
	memcpy(at, p->second_text, BLANKS);
	return number_decimals(at + p->second_len, (uint32_t)(ns - second * 1000000000));
}

/* A few threads execute most events: the text of their IDs is cached. */
static char *put_tid(struct decode_printer *p, char *at, size_t width, int32_t tid)
{
	struct decode_tid *cached = &p->tids[(unsigned int)tid % DECODE_TIDS];

	if (!cached->len || cached->tid != tid) {
		cached->len = (size_t)(put_signed(cached->text, width, tid) - cached->text);
		cached->tid = tid;
	}
	memcpy(at, cached->text, 16);
	return at + cached->len;
}

static char *put_comm(char *at, size_t width, const char *comm)
{
	size_t len = comm ? strlen(comm) : 0;

	if (len >= 16)
		return pad_right(put_text(at, comm, len, VALUE_MAX), at, width);
	memset(at, ' ', 16);
	memcpy(at, comm ? comm : "", len);
	return at + (len < width ? width : len);
}

/* Writes the function, if with_off with the offset in it; without one, the image and offset. */
static char *put_name(char *at, const struct location *location, uint64_t addr, bool with_off,
		      size_t max)
{
	char *end = put_copy(at, location->name, location->name_text, location->name_len, max);

	if ((with_off || !location->range.symbol) && max - (size_t)(end - at) >= 20) {
		end = put_text(end, "+0x", 3, VALUE_MAX);
		end = number_hex(end, addr - location->base);
	}
	return end;
}

static char *put_image(char *at, const struct location *location)
{
	if (location->image_len + 2 <= LOCATION_TEXT)
		return put_copy(at, location->range.image, location->image_text,
				location->image_len + 2, VALUE_MAX);
	*at++ = '(';
	at = put_text(at, location->range.image, location->image_len, VALUE_MAX);
	*at++ = ')';
	return at;
}

static char *put_addr(struct decode_printer *p, const struct auxtap_event *ev, char *at)
{
	const struct location *location;

	if (!ev->has_addr)
		return at;
	at = put_text(at, " => ", 4, VALUE_MAX);
	at = number_hex(at, ev->addr);
	if (!(p->has & (1u << FIELD_SYM | 1u << FIELD_DSO)))
		return at;
	location = location_find(&p->locations, p->images, ev->pid, ev->time, ev->addr);
	if (!location->name)
		return at;
	if (p->has & 1u << FIELD_SYM) {
		*at++ = ' ';
		at = put_name(at, location, ev->addr, true, NAME_MAX_ADDR);
	}
	if (p->has & 1u << FIELD_DSO) {
		*at++ = ' ';
		at = put_image(at, location);
	}
	return at;
}

/* Writes a number that only some samples have. */
static inline __attribute__((always_inline)) char *
put_sampled(const struct auxtap_event *ev, char *at, size_t width, unsigned int has, uint64_t value)
{
	return ev->spe_has & has ? put_decimal(at, width, value) : put_none(at, width);
}

/* Prints a column at its full width even if the value is missing. */
static inline __attribute__((always_inline)) char *
put_column(struct decode_printer *p, const struct auxtap_event *ev, enum decode_field field,
	   const struct location *location, char *at)
{
	size_t width = p->nr_fields == 1 ? 0 : text_width[field], len;
	const char *begin = at, *word;
	bool number;

	switch (field) {
	case FIELD_COMM:
		return put_comm(at, width, ev->comm);
	case FIELD_PID:
	case FIELD_TID:
		if (ev->tid < 0)
			return put_none(at, width);
		return put_tid(p, at, width, field == FIELD_PID ? ev->pid : ev->tid);
	case FIELD_CPU:
		return ev->cpu < 0 ? put_none(at, width) : put_signed(at, width, ev->cpu);
	case FIELD_TIME:
		at = ev->time ? put_seconds(p, at, width, ev->time) : put_none(at, width);
		*at = ':';
		return at + 1;
	case FIELD_IP:
		return ev->has_ip ? put_hex(at, width, ev->ip) : put_none(at, width);
	case FIELD_PHYS:
		return ev->spe_has & AUXTAP_SPE_HAS_PHYS ? put_hex(at, width, ev->phys) :
							   put_none(at, width);
	case FIELD_LAT_TOTAL:
		return put_sampled(ev, at, width, AUXTAP_SPE_HAS_LAT_TOTAL, ev->lat_total);
	case FIELD_LAT_ISSUE:
		return put_sampled(ev, at, width, AUXTAP_SPE_HAS_LAT_ISSUE, ev->lat_issue);
	case FIELD_LAT_XLAT:
		return put_sampled(ev, at, width, AUXTAP_SPE_HAS_LAT_XLAT, ev->lat_xlat);
	case FIELD_SOURCE:
		return put_sampled(ev, at, width, AUXTAP_SPE_HAS_SOURCE, ev->source);
	case FIELD_OP:
	case FIELD_SPE_EVENTS:
		len = 0;
		word = "";
		if (field == FIELD_OP && ev->spe_has & AUXTAP_SPE_HAS_OP)
			word = location_op(&p->locations, ev->op_class, ev->op, &len);
		else if (field == FIELD_SPE_EVENTS && ev->spe_has & AUXTAP_SPE_HAS_EVENTS)
			word = location_events(&p->locations, ev->spe_events, &len);
		return pad_right(put_text(at, word, len, VALUE_MAX), begin, width);
	case FIELD_SYM:
		if (location)
			at = put_name(at, location, ev->ip, p->has & 1u << FIELD_SYMOFF, VALUE_MAX);
		return at == begin ? put_text(at, "[unknown]", 9, VALUE_MAX) : at;
	case FIELD_DSO:
		if (location && location->image_len)
			return put_image(at, location);
		return put_text(at, "([unknown])", 11, VALUE_MAX);
	default:
		decode_value(p, ev, field, location, &number, at, VALUE_MAX);
		return pad_right(at + strlen(at), begin, width);
	}
}

static char *put_cause(const struct auxtap_event *ev, char *at, bool first)
{
	if (!first)
		*at++ = ' ';
	at = put_text(at, "---- gap: ", 10, VALUE_MAX);
	decode_gap_text(ev, at, VALUE_MAX);
	at += strlen(at);
	return put_text(at, " ----", 5, VALUE_MAX);
}

static char *put_tag(const struct auxtap_event *ev, char *at)
{
	const char *tag = ev->type == AUXTAP_EVENT_ASYNC ? " [async]" :
			  ev->trace_on			 ? " [trace on]" :
							   " [trace off]";

	return put_text(at, tag, strlen(tag), VALUE_MAX);
}

/* Writes a gap: only the columns up to the event's name, then the cause. */
static char *put_gap(struct decode_printer *p, const struct auxtap_event *ev, char *at)
{
	bool first = true;

	for (unsigned int i = 0; i < p->nr_fields; i++) {
		if (p->fields[i] > FIELD_EVENT)
			continue;
		if (!first)
			*at++ = ' ';
		at = put_column(p, ev, p->fields[i], NULL, at);
		first = false;
	}
	return put_cause(ev, at, first);
}

static char *put_event(struct decode_printer *p, const struct auxtap_event *ev,
		       const struct location *location, char *at)
{
	bool first = true;

	for (unsigned int i = 0; i < p->nr_fields; i++) {
		enum decode_field field = p->fields[i];

		if (field == FIELD_ADDR) {
			at = put_addr(p, ev, at);
			continue;
		}
		/* the symbol's column prints it */
		if ((field == FIELD_SYMOFF && p->has & 1u << FIELD_SYM) ||
		    (!ev->has_ip && (field == FIELD_SYM || field == FIELD_DSO)))
			continue;
		if (!first)
			*at++ = ' ';
		at = put_column(p, ev, field, location, at);
		first = false;
	}
	if ((ev->type & (AUXTAP_EVENT_ASYNC | AUXTAP_EVENT_TRACE)) && !(p->has & 1u << FIELD_EVENT))
		at = put_tag(ev, at);
	return at;
}

/* May the line contain a control character? Few lines do. */
static bool has_unsafe(const char *at, const char *end)
{
	unsigned char any = 0;

	for (; at < end; at++) {
		unsigned char c = (unsigned char)*at;

		any |= (unsigned char)((c < 0x20) | (c >= 0x7f));
	}
	return any;
}

/* Escapes the control characters of the line of len bytes at the end of the buffer. */
static void escape_line(struct decode_printer *p, size_t len)
{
	char *copy = malloc(len);

	if (!copy || decode_print_reserve(p, 4 * len + 2)) {
		p->failed = true;
		free(copy);
		return;
	}
	memcpy(copy, p->buf + p->nr, len);
	p->nr += auxtap_text_escape(p->buf + p->nr, 4 * len + 1, copy, len);
	p->buf[p->nr++] = '\n';
	free(copy);
}

void decode_print_text(struct decode_printer *p, const struct auxtap_event *ev,
		       const struct location *location)
{
	char *at;

	if (decode_print_reserve(p, LINE_SIZE))
		return;
	at = p->buf + p->nr;
	at = ev->type == AUXTAP_EVENT_GAP ? put_gap(p, ev, at) : put_event(p, ev, location, at);
	if (has_unsafe(p->buf + p->nr, at)) {
		escape_line(p, (size_t)(at - (p->buf + p->nr)));
		return;
	}
	*at++ = '\n';
	p->nr = (size_t)(at - p->buf);
}
