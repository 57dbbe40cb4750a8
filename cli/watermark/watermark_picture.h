/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What there is to draw of a run, as JSON, and the page whose script draws it: a time line of one
 * run, a heat map of several. Events arrive while the simulator runs; those that are drawn are
 * kept.
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
/* For each event of one run. */
void wm_picture_event(struct wm_picture *p, const struct auxtap_watermark_event *e);
/* The run is over: what there is to draw; null: nothing happened. A new reference; NULL: no memory.
 */
struct json_t *wm_picture_json(const struct wm_picture *p, const struct auxtap_watermark_config *c,
			       const struct auxtap_watermark_result *r);
/* The page that draws these runs, a list of wm_json_run(). 0 or -ENOMEM. */
int wm_page_write(const struct json_t *runs, FILE *out);

/* ---- between the files of it ---- */

#define PIC_NEVER UINT64_MAX

struct pic_event {
	uint64_t time, a, b, c;
	enum auxtap_watermark_what what;
	char *text; /* or NULL */
};
/* One run, and as many of its events as are drawn: in one piece. */
struct pic_run {
	struct auxtap_watermark_config c;
	struct auxtap_watermark_result r;
	struct pic_event *events;
	size_t nr_events, nr_before; /* nr_before: those that were before them */
	size_t nr_total;
};

enum pic_kind {
	PIC_INT, /* bars: from t0 to t1 at p0: where the interrupt is due */
	PIC_STOP,
	PIC_WAKEUP_AT,
	PIC_PADDING, /* … from p0 to p1 */
	PIC_RECORD,  /* … in a lane */
	PIC_RECORD_LOST,
	PIC_RUNS,
	PIC_LOSS,
	PIC_DELAY, /* from the line to the driver */
	PIC_DUE,   /* points: at t0, p0 */
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
	int number;    /* PIC_VIOLATION: in the list, or 0 */
	char text[96]; /* short */
	char tip[320]; /* exact */
};
struct pic_point {
	uint64_t t, p;
	bool gap; /* nothing is drawn from the one before */
};
/* Something is wrong: a text about a location, or about a distance. */
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
	char listed[6][320]; /* violations by number - 1 */
	uint64_t listed_at[6];
	unsigned int nr_listed;
	uint64_t t_end, t_bad;	 /* of the first violation, or PIC_NEVER */
	uint64_t t0, t1, p0, p1; /* what is worth seeing first */
};

/* 0 or -ENOMEM; to be freed in either case. */
int pic_scan(struct pic_scan *s, const struct pic_run *run);
/* t0 to p1 */
void pic_view(struct pic_scan *s, const struct pic_run *run);
void pic_scan_free(struct pic_scan *s);
/* A new reference; NULL: no memory. */
struct json_t *pic_json(const struct pic_run *run);

/* The page before its JSON and after it; the build makes them from picture_page.html. */
extern const char picture_page_head[], picture_page_tail[];

#endif
