/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The drawing of a run as JSON, and the page whose script draws it: a timeline of one run, a heat
 * map of several. Events arrive while the simulator runs; those that will be drawn are kept.
 */
#ifndef AUXTAP_CLI_WATERMARK_PICTURE_H
#define AUXTAP_CLI_WATERMARK_PICTURE_H

#include <auxtap/watermark.h>
#include <stdbool.h>
#include <stdio.h>

struct json_t;
struct wm_picture;

struct wm_picture *wm_picture_new(void); /* NULL: no memory */
void wm_picture_free(struct wm_picture *p);
/* To be called for each event of one run. */
void wm_picture_event(struct wm_picture *p, const struct auxtap_watermark_event *e);
/* After the run: its drawing; JSON null: there were no events. A new reference; NULL: no memory. */
struct json_t *wm_picture_json(const struct wm_picture *p, const struct auxtap_watermark_config *c,
			       const struct auxtap_watermark_result *r);
/* Writes the page that draws these runs, a list of wm_json_run(). Returns 0 or -ENOMEM. */
int wm_page_write(const struct json_t *runs, FILE *out);

/* ---- internal: shared by watermark_picture*.c ---- */

#define PIC_NEVER UINT64_MAX

struct pic_event {
	uint64_t time, a, b, c;
	enum auxtap_watermark_what what;
	char *text; /* or NULL */
};
/* One run, and the events that are drawn, which are consecutive. */
struct pic_run {
	struct auxtap_watermark_config c;
	struct auxtap_watermark_result r;
	struct pic_event *events;
	size_t nr_events, nr_before; /* nr_before: how many events preceded them */
	size_t nr_total;
};

enum pic_kind {
	PIC_INT, /* bars from t0 to t1 at p0: the interrupt threshold */
	PIC_STOP,
	PIC_WAKEUP_AT,
	PIC_PADDING, /* … from position p0 to p1 */
	PIC_RECORD,  /* … in a lane */
	PIC_RECORD_LOST,
	PIC_RUNS,
	PIC_LOSS,
	PIC_DELAY, /* from the interrupt line to the driver's handler */
	PIC_DUE,   /* points at t0, p0: the pointer reaches the threshold */
	PIC_LINE,
	PIC_IRQ,
	PIC_WAKEUP,
	PIC_READ,
	PIC_ENABLE,
	PIC_REFUSED,
	PIC_VIOLATION,
	PIC_NR_KINDS
};
struct pic_thing {
	enum pic_kind kind;
	uint64_t t0, t1, p0, p1;
	bool bad;
	int number;    /* PIC_VIOLATION: its number in the list, or 0 */
	char text[96]; /* the short label */
	char tip[320]; /* the exact values, as a tooltip */
};
struct pic_point {
	uint64_t t, p;
	bool gap; /* no line from the previous point */
};
/* A text about what is wrong: at a location, or (span) along a distance. */
struct pic_note {
	uint64_t t0, p0, t1, p1;
	bool span;
	char text[160];
};
struct pic_scan {
	struct pic_thing *things;
	struct pic_point *pointer, *tail;
	struct pic_note *notes;
	size_t nr_things, nr_pointer, nr_tail, nr_notes;
	char listed[6][320]; /* violations, by their number - 1 */
	uint64_t listed_at[6];
	unsigned int nr_listed;
	uint64_t t_end, t_bad;	 /* t_bad: time of the first violation, or PIC_NEVER */
	uint64_t t0, t1, p0, p1; /* what is shown first */
};

/* Returns 0 or -ENOMEM; pic_scan_free() must be called in either case. */
int pic_scan(struct pic_scan *s, const struct pic_run *run);
/* Sets t0, t1, p0 and p1. */
void pic_view(struct pic_scan *s, const struct pic_run *run);
void pic_scan_free(struct pic_scan *s);
/* A new reference; NULL: no memory. */
struct json_t *pic_json(const struct pic_run *run);

/* The page before and after its JSON; the build generates them from picture_page.html. */
extern const char picture_page_head[], picture_page_tail[];

#endif
