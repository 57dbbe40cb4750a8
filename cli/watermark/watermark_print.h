/* SPDX-License-Identifier: BSD-2-Clause */
/* Output of the watermark commands: a run as text, as a row of a table, as JSON. */
#ifndef AUXTAP_CLI_WATERMARK_PRINT_H
#define AUXTAP_CLI_WATERMARK_PRINT_H

#include <auxtap/watermark.h>
#include <stdbool.h>
#include <stdio.h>

/* The thresholds of a run's first transaction, from its events. */
struct wm_first {
	bool seen;
	uint64_t int_at, stop_at;
};

/* Prints an event as a line. */
void wm_print_event(FILE *out, const struct auxtap_watermark_event *event);
const char *wm_event_name(enum auxtap_watermark_what what);
/* Prints a single run. */
void wm_print_run(FILE *out, const struct auxtap_watermark_config *c,
		  const struct auxtap_watermark_result *r, const struct wm_first *first);
/* Print a table of runs that differ in one value. */
void wm_print_row_head(FILE *out);
void wm_print_row(FILE *out, const struct auxtap_watermark_config *c,
		  const struct auxtap_watermark_result *r);
/* Prints the violations and the command that reproduces them. */
void wm_print_violations(FILE *out, const struct auxtap_watermark_config *c,
			 const struct auxtap_watermark_result *r);

/* The same as JSON objects of libjansson; they return new references. */
struct json_t;
struct json_t *wm_json_run(const struct auxtap_watermark_config *c,
			   const struct auxtap_watermark_result *r);
struct json_t *wm_json_event(const struct auxtap_watermark_event *event);
/* Any bytes as a JSON string: a byte that is not valid UTF-8 becomes the text \xNN. */
struct json_t *wm_json_text(const char *text);

/* "64K", "12288", "1M": the shortest exact form. buf has at least 24 bytes. */
const char *wm_size(uint64_t size, char *buf);
const char *wm_time(uint64_t ns, char *buf);
const char *wm_flags(uint64_t flags, char *buf); /* "TRUNCATED|PARTIAL" or "-"; buf has 64 bytes */

#endif
