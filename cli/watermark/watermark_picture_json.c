// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writes the drawing of a run as JSON: the "picture" of a run in 'sim --format json', described in
 * docs/watermark.md, which the page's script draws. Times are in ns, positions in bytes.
 */
#include "watermark_picture.h"
#include "watermark_print.h"

#include <jansson.h>

static const char *const kinds[PIC_NR_KINDS] = {
	[PIC_INT] = "threshold",   [PIC_STOP] = "stop",		  [PIC_WAKEUP_AT] = "watermark",
	[PIC_PADDING] = "padding", [PIC_RECORD] = "record",	  [PIC_RECORD_LOST] = "record-lost",
	[PIC_RUNS] = "runs",	   [PIC_LOSS] = "loss",		  [PIC_DELAY] = "delay",
	[PIC_DUE] = "due",	   [PIC_LINE] = "line",		  [PIC_IRQ] = "interrupt",
	[PIC_WAKEUP] = "wakeup",   [PIC_READ] = "read",		  [PIC_ENABLE] = "enable",
	[PIC_REFUSED] = "refused", [PIC_VIOLATION] = "violation",
};

static void set_number(json_t *o, const char *key, uint64_t value)
{
	json_object_set_new(o, key,
			    value == PIC_NEVER ? json_null() : json_integer((json_int_t)value));
}

static void set_extent(json_t *o, uint64_t t0, uint64_t t1, uint64_t p0, uint64_t p1)
{
	set_number(o, "t0", t0);
	set_number(o, "t1", t1);
	set_number(o, "p0", p0);
	set_number(o, "p1", p1);
}

/* A point on the curve of the write pointer or of the tail. */
static json_t *json_point(const struct pic_point *at)
{
	return json_pack("[I, I]", (json_int_t)at->t, (json_int_t)at->p);
}

/* A list of lines, each a list of points; between two lines there is a gap. */
static json_t *json_lines(const struct pic_point *points, size_t nr)
{
	json_t *lines = json_array(), *line = NULL;

	for (size_t i = 0; i < nr; i++) {
		if (!line || points[i].gap) {
			line = json_array();
			json_array_append_new(lines, line);
		}
		json_array_append_new(line, json_point(&points[i]));
	}
	return lines;
}

static json_t *json_shapes(const struct pic_scan *s)
{
	json_t *list = json_array();

	for (size_t i = 1; i < s->nr_things; i++) {
		const struct pic_thing *x = &s->things[i];
		json_t *o = json_object();

		json_object_set_new(o, "kind", json_string(kinds[x->kind]));
		set_extent(o, x->t0, x->t1, x->p0, x->p1);
		if (x->bad)
			json_object_set_new(o, "bad", json_true());
		if (x->number)
			json_object_set_new(o, "number", json_integer(x->number));
		if (x->text[0])
			json_object_set_new(o, "text", wm_json_text(x->text));
		json_object_set_new(o, "tip", wm_json_text(x->tip));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *json_notes(const struct pic_scan *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->nr_notes; i++) {
		const struct pic_note *n = &s->notes[i];
		json_t *o = json_object();

		set_extent(o, n->t0, n->t1, n->p0, n->p1);
		if (n->span)
			json_object_set_new(o, "span", json_true());
		json_object_set_new(o, "text", wm_json_text(n->text));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *json_numbered(const struct pic_scan *s)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < s->nr_listed; i++) {
		json_t *o = json_object();

		json_object_set_new(o, "number", json_integer(i + 1));
		set_number(o, "t0", s->listed_at[i]);
		json_object_set_new(o, "text", wm_json_text(s->listed[i]));
		json_array_append_new(list, o);
	}
	return list;
}

json_t *pic_json(const struct pic_run *run)
{
	json_t *o = json_object(), *view = json_object(), *events = json_object();
	struct pic_scan s;
	int ret = pic_scan(&s, run);

	if (!ret) {
		set_extent(view, s.t0, s.t1, s.p0, s.p1);
		set_number(events, "before", run->nr_before);
		set_number(events, "drawn", run->nr_events);
		set_number(events, "total", run->nr_total);
		json_object_set(o, "view", view);
		json_object_set(o, "events", events);
		set_number(o, "first_bad_ns", s.t_bad);
		json_object_set_new(o, "pointer", json_lines(s.pointer, s.nr_pointer));
		json_object_set_new(o, "tail", json_lines(s.tail, s.nr_tail));
		json_object_set_new(o, "shapes", json_shapes(&s));
		json_object_set_new(o, "notes", json_notes(&s));
		json_object_set_new(o, "numbered", json_numbered(&s));
	}
	pic_scan_free(&s);
	json_decref(view);
	json_decref(events);
	if (!ret)
		return o;
	json_decref(o);
	return NULL;
}
