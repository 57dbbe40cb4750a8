/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Output formats of 'auxtap decode': text (decode_text.c), JSON lines, CSV. cmd_decode.c parses the
 * options.
 */
#ifndef AUXTAP_DECODE_PRINT_H
#define AUXTAP_DECODE_PRINT_H

#include "decode_location.h"

#include <auxtap/decode.h>
#include <stdio.h>

enum decode_field {
	FIELD_COMM,
	FIELD_PID,
	FIELD_TID,
	FIELD_CPU,
	FIELD_TIME,
	FIELD_EVENT,
	FIELD_IP,
	FIELD_SYM,
	FIELD_SYMOFF,
	FIELD_DSO,
	FIELD_SRCLINE,
	FIELD_ADDR,
	FIELD_INSN,
	FIELD_INSNLEN,
	FIELD_ASM,
	FIELD_FLAGS,
	/* Arm SPE samples; other families have no value */
	FIELD_PHYS,
	FIELD_LAT_TOTAL,
	FIELD_LAT_ISSUE,
	FIELD_LAT_XLAT,
	FIELD_SPE_EVENTS,
	FIELD_SOURCE,
	FIELD_OP,
	NR_FIELDS
};

enum decode_format {
	FORMAT_TEXT,
	FORMAT_JSONL,
	FORMAT_CSV,
};

#define DECODE_TIDS 16

/* A thread ID and its formatted text. */
struct decode_tid {
	int32_t tid;
	size_t len; /* 0: none yet */
	char text[64];
};

struct decode_printer {
	FILE *out; /* NULL: output stays in buf, which grows as needed */
	enum decode_format format;
	enum decode_field fields[NR_FIELDS]; /* in the requested order */
	unsigned int nr_fields;
	uint32_t has;	 /* bit n: field n */
	bool addr_first; /* addr is listed before a field that describes ip */
	uint32_t events;
	struct auxtap_image_set *images;
	bool failed;	 /* a write failed, or out of memory */
	size_t nr, size; /* bytes of buf that are used; its size */
	char *buf;
	/* decode_text.c: text of recent times and threads */
	uint64_t second;
	size_t second_len; /* 0: none yet */
	char second_text[64];
	struct decode_tid tids[DECODE_TIDS];
	struct decode_locations locations;
};

/* Parses "comm,tid,ip". Returns 0, or -1 with the unknown name in bad. */
int decode_fields_parse(struct decode_printer *p, const char *list, char bad[32]);
/*
 * Copies an event's gap, which belongs to the decoder, so that the event stays valid after the next
 * one. Returns 0, or -1: out of memory.
 */
int decode_event_keep(struct auxtap_event *ev);
void decode_event_release(struct auxtap_event *ev);
/* Formats the gap of an event. */
void decode_gap_text(const struct auxtap_event *ev, char *buf, size_t size);
/*
 * Formats the value of a field; empty: no value. location is that of ip; NULL: unknown. *number:
 * the value is printed without quotes.
 */
void decode_value(struct decode_printer *p, const struct auxtap_event *ev, enum decode_field field,
		  const struct location *location, bool *number, char *buf, size_t size);
/* Reserves need bytes at buf + nr. Returns 0, or -1 and sets failed. */
int decode_print_reserve(struct decode_printer *p, size_t need);
/* decode_text.c: prints a line of text. */
void decode_print_text(struct decode_printer *p, const struct auxtap_event *ev,
		       const struct location *location);
void decode_print_begin(struct decode_printer *p);
void decode_print(struct decode_printer *p, const struct auxtap_event *ev);
/* Writes the buffered lines. */
void decode_print_flush(struct decode_printer *p);
void decode_print_free(struct decode_printer *p);

#endif
