/* SPDX-License-Identifier: BSD-2-Clause */
/* How events of 'auxtap decode' look: text, JSON lines, CSV. cmd_decode.c reads the options. */
#ifndef AUXTAP_DECODE_PRINT_H
#define AUXTAP_DECODE_PRINT_H

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
	/* samples of Arm SPE; no value in Intel PT */
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

#define PRINT_BUFFER (256u << 10)

struct decode_printer {
	FILE *out;
	enum decode_format format;
	enum decode_field fields[NR_FIELDS]; /* in the order asked for */
	unsigned int nr_fields;
	uint32_t has; /* bit n: field n */
	uint32_t events;
	struct auxtap_image_set *images;
	bool failed; /* out did not take everything */
	size_t nr;
	char buf[PRINT_BUFFER];
};

/* "comm,tid,ip": 0, or -1 with the unknown name in bad. */
int decode_fields_parse(struct decode_printer *p, const char *list, char bad[32]);
void decode_print_begin(struct decode_printer *p);
void decode_print(struct decode_printer *p, const struct auxtap_event *ev);
/* Writes out what is buffered. */
void decode_print_flush(struct decode_printer *p);

#endif
