// SPDX-License-Identifier: BSD-2-Clause
/* Keeps the events of a run that will be drawn, and writes the page. See watermark_picture.h. */
#include "watermark_picture.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define KEPT  400 /* events before the first violation, and as many after it */
#define SLOTS (2 * KEPT + 1)

struct wm_picture {
	struct pic_event *first, *ring; /* the first SLOTS events, and the last ones */
	size_t nr_seen, bad_at;
	bool bad; /* event number bad_at is a violation */
	int failed;
};

struct wm_picture *wm_picture_new(void)
{
	struct wm_picture *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->first = calloc(SLOTS, sizeof(*p->first));
	p->ring = calloc(SLOTS, sizeof(*p->ring));
	if (p->first && p->ring)
		return p;
	wm_picture_free(p);
	return NULL;
}

static void free_events(struct pic_event *events)
{
	for (size_t i = 0; events && i < SLOTS; i++)
		free(events[i].text);
	free(events);
}

void wm_picture_free(struct wm_picture *p)
{
	if (!p)
		return;
	free_events(p->first);
	free_events(p->ring);
	free(p);
}

static void keep_event(struct wm_picture *p, struct pic_event *at,
		       const struct auxtap_watermark_event *e)
{
	free(at->text);
	*at = (struct pic_event){e->time_ns, e->a, e->b, e->c, e->what, NULL};
	if (!e->text)
		return;
	at->text = strdup(e->text);
	if (!at->text)
		p->failed = -ENOMEM;
}

/* Keeps the newest events; the first ones, too, in case there is no violation. */
void wm_picture_event(struct wm_picture *p, const struct auxtap_watermark_event *e)
{
	size_t i = p->nr_seen++;

	if (p->bad && i > p->bad_at + KEPT)
		return;
	if (i < SLOTS)
		keep_event(p, &p->first[i], e);
	keep_event(p, &p->ring[i % SLOTS], e);
	if (e->what == AUXTAP_WM_VIOLATION && !p->bad) {
		p->bad = true;
		p->bad_at = i;
	}
}

json_t *wm_picture_json(const struct wm_picture *p, const struct auxtap_watermark_config *c,
			const struct auxtap_watermark_result *r)
{
	size_t from = 0, to = p->nr_seen < SLOTS ? p->nr_seen : SLOTS;
	const struct pic_event *events = p->first;
	struct pic_event drawn[SLOTS];

	if (p->failed)
		return NULL;
	if (!p->nr_seen)
		return json_null();
	if (p->bad) {
		from = p->bad_at > KEPT ? p->bad_at - KEPT : 0;
		to = p->bad_at + KEPT + 1 < p->nr_seen ? p->bad_at + KEPT + 1 : p->nr_seen;
		events = p->ring; /* they all are in the ring */
	}
	for (size_t i = from; i < to; i++)
		drawn[i - from] = events[i % SLOTS];
	return pic_json(&(struct pic_run){*c, *r, drawn, to - from, from, p->nr_seen});
}

/* ---- the page ---- */

/* Escapes '<': the JSON is in a script element, and no text may look like the end of it. */
static int write_json(const char *text, size_t size, void *out)
{
	for (size_t i = 0; i < size; i++)
		if (text[i] == '<')
			fputs("\\u003c", out);
		else
			fputc(text[i], out);
	return 0;
}

int wm_page_write(const json_t *runs, FILE *out)
{
	fputs(picture_page_head, out);
	if (json_dump_callback(runs, write_json, out, JSON_COMPACT))
		return -ENOMEM;
	fputs(picture_page_tail, out);
	return 0;
}
