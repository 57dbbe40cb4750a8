// SPDX-License-Identifier: BSD-2-Clause
/* Which events are kept to be drawn, and the page around a picture. See watermark_picture.h. */
#include "watermark_options.h"
#include "watermark_picture.h"
#include "watermark_print.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define KEPT  400 /* before the first violation, and as many behind it */
#define SLOTS (2 * KEPT + 1)

extern const char watermark_picture_page_css[];

struct wm_picture {
	struct pic_run *runs;
	size_t nr_runs;
	/* of the run under way */
	struct pic_event *first, *ring; /* the first ones, and the last ones */
	size_t nr_seen, bad_at;
	bool bad; /* there was a violation: at bad_at */
	int failed;
};

void pic_escape(FILE *out, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			fputc(*text, out);
		}
}

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

static void free_events(struct pic_event *events, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		free(events[i].text);
	free(events);
}

void wm_picture_free(struct wm_picture *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->nr_runs; i++)
		free_events(p->runs[i].events, p->runs[i].nr_events);
	free(p->runs);
	if (p->first)
		free_events(p->first, SLOTS);
	if (p->ring)
		free_events(p->ring, SLOTS);
	free(p);
}

static void put(struct wm_picture *p, struct pic_event *at, const struct auxtap_watermark_event *e)
{
	free(at->text);
	*at = (struct pic_event){e->time_ns, e->a, e->b, e->c, e->what, NULL};
	if (!e->text)
		return;
	at->text = strdup(e->text);
	if (!at->text)
		p->failed = -ENOMEM;
}

/* The last ones are kept; the first ones too, until a violation decides which are wanted. */
void wm_picture_event(struct wm_picture *p, const struct auxtap_watermark_event *e)
{
	size_t i = p->nr_seen++;

	if (p->bad && i > p->bad_at + KEPT)
		return;
	if (i < SLOTS)
		put(p, &p->first[i], e);
	put(p, &p->ring[i % SLOTS], e);
	if (e->what == AUXTAP_WM_VIOLATION && !p->bad) {
		p->bad = true;
		p->bad_at = i;
	}
}

int wm_picture_run(struct wm_picture *p, const struct auxtap_watermark_config *c,
		   const struct auxtap_watermark_result *r)
{
	struct pic_run *more = realloc(p->runs, (p->nr_runs + 1) * sizeof(*more)), *run;
	size_t from = 0, to = p->nr_seen < SLOTS ? p->nr_seen : SLOTS;
	struct pic_event *events = p->first;

	if (!more)
		return -ENOMEM;
	p->runs = more;
	run = &more[p->nr_runs];
	*run = (struct pic_run){.c = *c, .r = *r, .nr_total = p->nr_seen};
	if (p->bad) {
		from = p->bad_at > KEPT ? p->bad_at - KEPT : 0;
		to = p->bad_at + KEPT + 1 < p->nr_seen ? p->bad_at + KEPT + 1 : p->nr_seen;
		events = p->ring; /* no more than it holds */
	}
	run->events = calloc(to - from + 1, sizeof(*run->events));
	if (!run->events)
		return -ENOMEM;
	for (size_t i = from; i < to; i++) {
		struct pic_event *e = &events[i % SLOTS];

		run->events[i - from] = *e;
		e->text = NULL;
	}
	run->nr_events = to - from;
	run->nr_before = from;
	p->nr_runs++;
	p->nr_seen = 0;
	p->bad = false;
	return p->failed;
}

/* ---- the page ---- */

/* Inside a script: nothing in it may end the script. */
static int put_json(FILE *out, json_t *value)
{
	char *text = json_dumps(value, JSON_COMPACT);

	json_decref(value);
	if (!text)
		return -ENOMEM;
	for (const char *at = text; *at; at++)
		if (*at == '<')
			fputs("\\u003c", out);
		else
			fputc(*at, out);
	free(text);
	return 0;
}

static int put_data(const struct wm_picture *p, FILE *out)
{
	json_t *runs = json_array();

	for (size_t i = 0; runs && i < p->nr_runs; i++) {
		const struct pic_run *run = &p->runs[i];
		json_t *o = wm_json_run(&run->c, &run->r), *events;

		if (p->nr_runs == 1 && o) {
			events = json_array();
			for (size_t k = 0; events && k < run->nr_events; k++) {
				const struct pic_event *e = &run->events[k];
				struct auxtap_watermark_event event = {e->time, e->what, e->a,
								       e->b,	e->c,	 e->text};

				json_array_append_new(events, wm_json_event(&event));
			}
			json_object_set_new(o, "events", events);
			json_object_set_new(o, "events_before",
					    json_integer((json_int_t)run->nr_before));
			json_object_set_new(o, "events_total",
					    json_integer((json_int_t)run->nr_total));
		}
		json_array_append_new(runs, o);
	}
	fputs("<script type=\"application/json\" id=\"data\">", out);
	if (put_json(out, runs))
		return -ENOMEM;
	fputs("</script>\n", out);
	return 0;
}

/* The sums of a run, from its JSON, so that they are the same. */
static int put_figures(const struct pic_run *run, FILE *out)
{
	json_t *o = wm_json_run(&run->c, &run->r), *value;
	const char *key;
	int n = 0;

	if (!o)
		return -ENOMEM;
	fputs("<div class=\"card\"><div class=\"figures\">", out);
	json_object_foreach (o, key, value) {
		if (!json_is_integer(value))
			continue;
		if (n % 8 == 0)
			fprintf(out, "%s<table>", n ? "</table>" : "");
		fprintf(out, "<tr><th>%s</th><td data-key=\"%s\">%lld</td></tr>\n", key, key,
			(long long)json_integer_value(value));
		n++;
	}
	fputs("</table></div></div>\n", out);
	json_decref(o);
	return 0;
}

static int write_page(const struct wm_picture *p, FILE *out)
{
	const struct pic_run *run = &p->runs[0];
	char title[256];
	int ret = 0;

	pic_title(&run->c, p->nr_runs == 1, title, sizeof(title));
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>",
	      out);
	pic_escape(out, title);
	fprintf(out, "</title>\n<style>\n%s%s</style></head>\n<body><main>\n",
		watermark_picture_css, watermark_picture_page_css);
	if (p->nr_runs == 1)
		fputs("<p id=\"help\">Wheel: zoom in time; with Shift also in positions, with Alt only in "
		      "positions. Drag: move. Double click: back. Point at anything for its exact "
		      "numbers.</p>\n",
		      out);
	fputs("<div class=\"card\">", out);
	if (p->nr_runs == 1)
		ret = pic_timeline(run, out, false);
	else
		pic_heat(p->runs, p->nr_runs, out, false);
	fputs("</div>\n", out);
	if (!ret && p->nr_runs == 1)
		ret = put_figures(run, out);
	fputs("</main><div id=\"tip\"></div>\n", out);
	if (!ret)
		ret = put_data(p, out);
	fprintf(out, "<script>\n%s</script>\n</body></html>\n", watermark_picture_js);
	return ret;
}

int wm_picture_write(struct wm_picture *p, bool html, FILE *out)
{
	if (!p->nr_runs)
		return -EINVAL;
	if (html)
		return write_page(p, out);
	if (p->nr_runs == 1)
		return pic_timeline(&p->runs[0], out, true);
	pic_heat(p->runs, p->nr_runs, out, true);
	return 0;
}
