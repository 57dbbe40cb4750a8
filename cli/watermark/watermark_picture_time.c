// SPDX-License-Identifier: BSD-2-Clause
/*
 * The time line as SVG: positions over time, lanes below, what is wrong in red with words, and a
 * legend. Shapes are drawn once, for the part that is seen first; the page's script moves them.
 */
#include "watermark_picture.h"
#include "watermark_print.h"

#include <string.h>

#define LL	   unsigned long long
#define WIDTH	   1280.0
#define LEFT	   96.0
#define RIGHT	   1256.0
#define PLOT	   400.0 /* its height */
#define LANE	   34.0
#define MAX_PLACED 64

enum { LANE_PROGRAM, LANE_IRQ, LANE_RECORDS, LANE_READER, NR_LANES };

struct canvas {
	const struct pic_run *run;
	const struct pic_scan *s;
	FILE *out;
	double top; /* of the plot */
	struct box {
		double x0, y0, x1, y1;
	} placed[MAX_PLACED];
	unsigned int nr_placed;
};

static double x_of(const struct canvas *k, uint64_t t)
{
	const struct pic_scan *s = k->s;
	double d = t >= s->t0 ? (double)(t - s->t0) : -(double)(s->t0 - t);

	return LEFT + d * (RIGHT - LEFT) / (double)(s->t1 - s->t0);
}

static double y_of(const struct canvas *k, uint64_t p)
{
	const struct pic_scan *s = k->s;
	double d = s->p1 >= p ? (double)(s->p1 - p) : -(double)(p - s->p1);

	return k->top + d * PLOT / (double)(s->p1 - s->p0);
}

static double lane_y(const struct canvas *k, int lane)
{
	return k->top + PLOT + 34 + lane * LANE;
}

static void tip(FILE *out, const char *text)
{
	fputs("<title>", out);
	pic_escape(out, text);
	fputs("</title>", out);
}

void pic_svg_begin(FILE *out, double width, double height, bool alone, const char *attributes)
{
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
		"height=\"%.0f\" role=\"img\" class=\"picture\" %s>\n",
		width, height, width, height, attributes);
	if (alone)
		fprintf(out, "<style>\n%s</style>\n", watermark_picture_css);
	fputs("<defs><pattern id=\"hatch\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" "
	      "patternTransform=\"rotate(45)\"><rect width=\"3\" height=\"7\" class=\"hatch\"/></pattern>"
	      "<pattern id=\"badhatch\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" "
	      "patternTransform=\"rotate(45)\"><rect width=\"3\" height=\"7\" class=\"badhatch\"/></pattern>"
	      "</defs>\n",
	      out);
	fprintf(out, "<rect class=\"paper\" width=\"%.0f\" height=\"%.0f\"/>\n", width, height);
}

static void draw_text(FILE *out, double x, double y, const char *class, const char *text)
{
	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class);
	pic_escape(out, text);
	fputs("</text>\n", out);
}

void pic_title(const struct auxtap_watermark_config *c, bool of_one, char *buf, size_t size)
{
	char page[24], area[24], watermark[24];
	size_t len;

	snprintf(buf, size, "%s, Linux %s", c->driver, c->kernel);
	len = strlen(buf);
	if (!of_one)
		snprintf(buf + len, size - len, ", pages of %s", wm_size(c->page_size, page));
	else
		snprintf(buf + len, size - len, ": AUX area of %llu pages of %s (%s), %s%s",
			 (LL)c->nr_pages, wm_size(c->page_size, page),
			 wm_size(c->nr_pages * c->page_size, area),
			 c->snapshot ? "overwritten" : "watermark ",
			 c->snapshot  ? "" :
			 c->watermark ? wm_size(c->watermark, watermark) :
					"half of it");
}

/* ---- scales ---- */

static uint64_t nice_time(uint64_t span)
{
	uint64_t step = 1;

	while (step * 10 <= span / 8)
		step *= 10;
	if (step * 5 <= span / 8)
		step *= 5;
	else if (step * 2 <= span / 8)
		step *= 2;
	return step;
}

static uint64_t nice_size(uint64_t span)
{
	uint64_t step = 1;

	while (step * 2 <= span / 6)
		step *= 2;
	return step;
}

static void scales(struct canvas *k)
{
	const struct pic_scan *s = k->s;
	uint64_t step = nice_time(s->t1 - s->t0), area = k->run->c.nr_pages * k->run->c.page_size;
	double bottom = k->top + PLOT, end = lane_y(k, NR_LANES);
	char text[48];

	fputs("<g id=\"xticks\">\n", k->out);
	for (uint64_t t = (s->t0 + step - 1) / step * step; t <= s->t1; t += step) {
		double x = x_of(k, t);

		fprintf(k->out,
			"<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", x,
			x, k->top, end);
		snprintf(text, sizeof(text), "%.10g", (double)t / 1000);
		draw_text(k->out, x, bottom + 16, "tick middle", text);
	}
	fputs("</g>\n<g id=\"yticks\">\n", k->out);
	step = nice_size(s->p1 - s->p0);
	for (uint64_t p = (s->p0 + step - 1) / step * step; p <= s->p1; p += step) {
		double y = y_of(k, p);

		fprintf(k->out,
			"<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>",
			LEFT, RIGHT, y, y);
		draw_text(k->out, LEFT - 8, y + 4, "tick end", wm_size(p, text));
	}
	fputs("</g>\n", k->out);
	draw_text(k->out, RIGHT, bottom + 30, "tick end", "time, us");
	fprintf(k->out,
		"<text class=\"tick middle\" transform=\"translate(24,%.1f) rotate(-90)\">%s</text>\n",
		k->top + PLOT / 2,
		k->run->c.snapshot ? "position in the area, bytes" :
				     "position, bytes since the beginning");
	fputs("<g clip-path=\"url(#clip)\"><g id=\"laps\" class=\"scaled\">\n", k->out);
	for (uint64_t p = s->p0 / area * area; area && p <= s->p1 + 4 * area; p += area) {
		if (!p)
			continue;
		snprintf(text, sizeof(text), "the area begins again: %llu", (LL)p);
		fprintf(k->out,
			"<line class=\"lap\" x1=\"-100000\" x2=\"1000000\" y1=\"%.2f\" y2=\"%.2f\">",
			y_of(k, p), y_of(k, p));
		tip(k->out, text);
		fputs("</line>\n", k->out);
	}
	fputs("</g></g>\n", k->out);
}

/* ---- lines ---- */

static void polyline(struct canvas *k, const char *class, const struct pic_point *pts, size_t n,
		     uint64_t lift)
{
	fprintf(k->out, "<path class=\"%s\" d=\"", class);
	for (size_t i = 0; i < n; i++)
		fprintf(k->out, "%s%.3f,%.3f", !i || pts[i].gap ? "M" : "L", x_of(k, pts[i].t),
			y_of(k, pts[i].p + lift));
	fputs("\"/>\n", k->out);
}

/* Between the write pointer and the tail: what waits for the reader. */
static void unread(struct canvas *k)
{
	const struct pic_scan *s = k->s;

	if (s->nr_pointer < 2 || k->run->c.snapshot)
		return;
	fputs("<path class=\"unread\" d=\"", k->out);
	for (size_t i = 0; i < s->nr_pointer; i++) {
		/* where nothing is written it stays where it was */
		if (i && s->pointer[i].gap)
			fprintf(k->out, "L%.3f,%.3f", x_of(k, s->pointer[i].t),
				y_of(k, s->pointer[i - 1].p));
		fprintf(k->out, "%s%.3f,%.3f", i ? "L" : "M", x_of(k, s->pointer[i].t),
			y_of(k, s->pointer[i].p));
	}
	fprintf(k->out, "L%.3f,%.3f", x_of(k, s->t_end), y_of(k, s->pointer[s->nr_pointer - 1].p));
	for (size_t i = s->nr_tail; i--;)
		fprintf(k->out, "L%.3f,%.3f", x_of(k, s->tail[i].t), y_of(k, s->tail[i].p));
	fputs("Z\"><title>trace that is stored and not yet read</title></path>\n", k->out);
}

static void bars(struct canvas *k)
{
	const struct pic_scan *s = k->s;

	for (size_t i = 1; i < s->nr_things; i++) {
		const struct pic_thing *x = &s->things[i];
		static const char *const classes[] = {"mark", "stop", "wakeat"};

		if (x->kind == PIC_PADDING) {
			fprintf(k->out,
				"<rect class=\"%s\" x=\"%.3f\" y=\"%.3f\" width=\"%.3f\" height=\"%.3f\">",
				x->bad ? "padding bad" : "padding", x_of(k, x->t0), y_of(k, x->p1),
				x_of(k, x->t1) - x_of(k, x->t0), y_of(k, x->p0) - y_of(k, x->p1));
			tip(k->out, x->tip);
			fputs("</rect>\n", k->out);
		} else if (x->kind <= PIC_WAKEUP_AT) {
			fprintf(k->out,
				"<line class=\"%s\" x1=\"%.3f\" x2=\"%.3f\" y1=\"%.3f\" y2=\"%.3f\">",
				classes[x->kind], x_of(k, x->t0), x_of(k, x->t1), y_of(k, x->p0),
				y_of(k, x->p0));
			tip(k->out, x->tip);
			fputs("</line>\n", k->out);
		}
	}
}

/* ---- what stays as large as it is: points and words ---- */

static void pin(struct canvas *k, uint64_t t, uint64_t p, const char *class)
{
	fprintf(k->out,
		"<g class=\"pin %s\" data-t=\"%llu\" data-p=\"%llu\" transform=\"translate(%.2f,%.2f)\">",
		class, (LL)t, (LL)p, x_of(k, t), y_of(k, p));
}

static void lane_pin(struct canvas *k, uint64_t t, int lane, const char *class)
{
	double y = lane_y(k, lane) + LANE / 2;

	fprintf(k->out,
		"<g class=\"pin %s\" data-t=\"%llu\" data-y=\"%.1f\" transform=\"translate(%.2f,%.2f)\">",
		class, (LL)t, y, x_of(k, t), y);
}

static const char *const shapes[PIC_NR_KINDS] = {
	[PIC_DUE] = "<path d=\"M0,-6L6,0L0,6L-6,0Z\"/>",
	[PIC_LINE] = "<path d=\"M0,-6L6,5L-6,5Z\"/>",
	[PIC_IRQ] = "<circle r=\"5\"/>",
	[PIC_WAKEUP] = "<path d=\"M0,6L6,-5L-6,-5Z\"/>",
	[PIC_READ] = "<rect x=\"-5\" y=\"-5\" width=\"10\" height=\"10\"/>",
	[PIC_ENABLE] = "<path d=\"M-4,-6L6,0L-4,6Z\"/>",
	[PIC_REFUSED] = "<path class=\"cross\" d=\"M-5,-5L5,5M5,-5L-5,5\"/>",
};
static const char *const classes[PIC_NR_KINDS] = {
	[PIC_DUE] = "due",	   [PIC_LINE] = "line", [PIC_IRQ] = "irq",
	[PIC_WAKEUP] = "wakeup",   [PIC_READ] = "read", [PIC_ENABLE] = "enable",
	[PIC_REFUSED] = "refused",
};
static const int lanes[PIC_NR_KINDS] = {
	[PIC_DUE] = LANE_IRQ,	      [PIC_LINE] = LANE_IRQ,	[PIC_IRQ] = LANE_IRQ,
	[PIC_WAKEUP] = LANE_READER,   [PIC_READ] = LANE_READER, [PIC_ENABLE] = LANE_READER,
	[PIC_REFUSED] = LANE_PROGRAM,
};

static void points(struct canvas *k, bool in_lanes)
{
	const struct pic_scan *s = k->s;
	unsigned int stacked[PIC_NR_KINDS] = {0};
	uint64_t last[PIC_NR_KINDS];

	memset(last, 0xff, sizeof(last));
	for (size_t i = 1; i < s->nr_things; i++) {
		const struct pic_thing *x = &s->things[i];
		char class[32];

		if (x->kind < PIC_DUE || x->kind >= PIC_VIOLATION)
			continue;
		if (!in_lanes && lanes[x->kind] != LANE_IRQ)
			continue;
		snprintf(class, sizeof(class), "%s%s", classes[x->kind], x->bad ? " bad" : "");
		/* several at one moment must be seen as several */
		stacked[x->kind] = x->t0 == last[x->kind] ? stacked[x->kind] + 1 : 0;
		last[x->kind] = x->t0;
		if (in_lanes)
			lane_pin(k, x->t0, lanes[x->kind], class);
		else
			pin(k, x->t0, x->p0, class);
		if (stacked[x->kind])
			fprintf(k->out, "<g transform=\"translate(%d,%d)\">",
				x->kind == PIC_LINE ? 0 : 13 * (int)stacked[x->kind],
				/* a line stands above the other: beside it would be another time */
				x->kind == PIC_LINE ? -9 * (int)stacked[x->kind] : 0);
		fputs(shapes[x->kind], k->out);
		if (stacked[x->kind])
			fputs("</g>", k->out);
		tip(k->out, x->tip);
		fputs("</g>\n", k->out);
	}
}

static void lane_bars(struct canvas *k)
{
	const struct pic_scan *s = k->s;
	static const struct {
		int lane;
		const char *class;
		double thick;
	} looks[] = {
		[PIC_RECORD] = {LANE_RECORDS, "record", 18},
		[PIC_RECORD_LOST] = {LANE_RECORDS, "record bad", 18},
		[PIC_RUNS] = {LANE_PROGRAM, "runs", 8},
		[PIC_LOSS] = {LANE_PROGRAM, "loss", 18},
		[PIC_DELAY] = {LANE_IRQ, "delay", 4},
	};

	for (size_t i = 1; i < s->nr_things; i++) {
		const struct pic_thing *x = &s->things[i];
		double width = x_of(k, x->t1) - x_of(k, x->t0);

		if (x->kind < PIC_RECORD || x->kind > PIC_DELAY)
			continue;
		fprintf(k->out,
			"<rect class=\"%s%s\" x=\"%.3f\" y=\"%.1f\" width=\"%.3f\" height=\"%.1f\">",
			looks[x->kind].class, x->kind == PIC_DELAY && x->bad ? " bad" : "",
			x_of(k, x->t0),
			lane_y(k, looks[x->kind].lane) + LANE / 2 - looks[x->kind].thick / 2,
			width > 1.5 || x->kind == PIC_RECORD ? width : 1.5, looks[x->kind].thick);
		tip(k->out, x->tip);
		fputs("</rect>\n", k->out);
	}
}

static void lane_text(struct canvas *k)
{
	const struct pic_scan *s = k->s;
	double last[NR_LANES] = {LEFT, LEFT, LEFT, LEFT};

	for (size_t i = 1; i < s->nr_things; i++) {
		const struct pic_thing *x = &s->things[i];
		int lane = x->kind == PIC_LOSS ? LANE_PROGRAM : LANE_RECORDS;
		double width = (double)strlen(x->text) * 6.4 + 8, x0 = x_of(k, x->t0),
		       x1 = x_of(k, x->t1);
		double middle;

		if (x->kind != PIC_RECORD && x->kind != PIC_RECORD_LOST && x->kind != PIC_LOSS)
			continue;
		x0 = x0 < LEFT ? LEFT : x0;
		x1 = x1 > RIGHT ? RIGHT : x1;
		middle = (x0 + x1) / 2;
		if (middle - width / 2 < last[lane] || middle > RIGHT || middle < LEFT)
			continue; /* the tip has it */
		if (width > x1 - x0 + 12)
			continue;
		last[lane] = middle + width / 2;
		fprintf(k->out,
			"<g class=\"pin\" data-t=\"%llu\" data-t1=\"%llu\" data-w=\"%.0f\" data-y=\"%.1f\" "
			"transform=\"translate(%.2f,%.2f)\">",
			(LL)x->t0, (LL)x->t1, width, lane_y(k, lane) + LANE / 2, middle,
			lane_y(k, lane) + LANE / 2);
		draw_text(k->out, 0, 4,
			  x->kind == PIC_LOSS ?
				  "small middle lossword" :
				  /* COLLISION is how a good TRBE says that it was full (J4) */
				  strpbrk(x->text, "TP") && !strstr(x->text, " COLLISION") ?
				  "small middle flagged" :
				  "small middle",
			  x->text);
		fputs("</g>\n", k->out);
	}
}

/* ---- what is wrong ---- */

/* Does the line from a to b touch the box? Cut off at its sides, one after the other. */
static bool touches(struct box b, double ax, double ay, double bx, double by)
{
	double from = 0, to = 1, dx = bx - ax, dy = by - ay;
	const double moves[4] = {-dx, dx, -dy, dy};
	const double rooms[4] = {ax - b.x0, b.x1 - ax, ay - b.y0, b.y1 - ay};

	for (int i = 0; i < 4; i++) {
		double at = moves[i] != 0 ? rooms[i] / moves[i] : 0;

		if (moves[i] == 0 && rooms[i] < 0)
			return false;
		if (moves[i] < 0 && at > from)
			from = at;
		if (moves[i] > 0 && at < to)
			to = at;
	}
	return from <= to;
}

/* What is written there would hide the write pointer. */
static bool hides_pointer(const struct canvas *k, struct box b)
{
	const struct pic_point *p = k->s->pointer;

	for (size_t i = 1; i < k->s->nr_pointer; i++)
		if (!p[i].gap && touches(b, x_of(k, p[i - 1].t), y_of(k, p[i - 1].p),
					 x_of(k, p[i].t), y_of(k, p[i].p)))
			return true;
	return false;
}

static bool is_free(const struct canvas *k, struct box b)
{
	for (unsigned int i = 0; i < k->nr_placed; i++) {
		const struct box *o = &k->placed[i];

		if (b.x0 < o->x1 && b.x1 > o->x0 && b.y0 < o->y1 && b.y1 > o->y0)
			return false;
	}
	return b.x0 >= LEFT && b.x1 <= RIGHT && b.y0 >= k->top && b.y1 <= k->top + PLOT;
}

static void reserve_box(struct canvas *k, struct box b)
{
	if (k->nr_placed < MAX_PLACED)
		k->placed[k->nr_placed++] = b;
}

/* Words near a place, where nothing else is written, with a line to it. */
static void label(struct canvas *k, uint64_t t, uint64_t p, double px, double py, const char *text)
{
	static const double ups[] = {-26, 30,	-50, 54,   -74, 78,   -98, 102,	 -122, 126,  -150,
				     150, -180, 180, -210, 210, -240, 240, -270, 270,  -300, 300};
	const size_t nr_places = sizeof(ups) / sizeof(ups[0]) * 3;
	double width = (double)strlen(text) * 7.1 + 14, x, y;
	struct box b = {0};

	/* a place that hides no part of the curve, or else any */
	for (size_t i = 0; i < 2 * nr_places; i++) {
		size_t at = i % nr_places;
		double shift = at % 3 == 0 ? 12 : at % 3 == 1 ? -width - 12 : -width / 2;

		x = px + shift;
		y = py + ups[at / 3];
		b = (struct box){x, y - 12, x + width, y + 10};
		if (is_free(k, b) && (i >= nr_places || !hides_pointer(k, b)))
			break;
	}
	if (b.x0 < LEFT || b.x1 > RIGHT || b.y0 < k->top || b.y1 > k->top + PLOT) {
		x = px + width + 12 > RIGHT ? RIGHT - width : px + 12 < LEFT ? LEFT : px + 12;
		b = (struct box){x, py - 38, x + width, py - 16};
		if (b.y0 < k->top)
			b = (struct box){x, k->top + 4, x + width, k->top + 26};
	}
	reserve_box(k, b);
	fprintf(k->out,
		"<g class=\"pin note\" data-t=\"%llu\" data-p=\"%llu\" data-dx=\"%.1f\" data-dy=\"%.1f\" "
		"transform=\"translate(%.2f,%.2f)\"><line class=\"leader\" x1=\"0\" y1=\"0\" x2=\"%.1f\" "
		"y2=\"%.1f\"/><rect class=\"notebox\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"22\" "
		"rx=\"4\"/>",
		(LL)t, (LL)p, px - x_of(k, t), py - y_of(k, p), px, py,
		(b.x0 + 8 > px ? b.x0 :
		 b.x1 - 8 < px ? b.x1 :
				 px) -
			px,
		(b.y0 > py ? b.y0 : b.y1) - py, b.x0 - px, b.y0 - py, width);
	draw_text(k->out, b.x0 - px + 7, b.y0 - py + 15, "notetext", text);
	fputs("</g>\n", k->out);
}

static bool seen(const struct canvas *k, uint64_t t)
{
	return t >= k->s->t0 && t <= k->s->t1;
}

static void spans(struct canvas *k)
{
	for (size_t i = 0; i < k->s->nr_notes; i++) {
		const struct pic_note *n = &k->s->notes[i];

		const char *class = "span";

		if (!n->span)
			continue;
		for (size_t j = 0; j < i; j++)
			if (k->s->notes[j].span && !strncmp(k->s->notes[j].text, n->text, 14))
				class = "span more"; /* the first one has words */
		fprintf(k->out,
			"<line class=\"%s\" x1=\"%.3f\" x2=\"%.3f\" y1=\"%.3f\" y2=\"%.3f\">",
			class, x_of(k, n->t0), x_of(k, n->t1), y_of(k, n->p0),
			n->t1 != n->t0 ? y_of(k, n->p0) : y_of(k, n->p1));
		tip(k->out, n->text);
		fputs("</line>\n", k->out);
		if (n->t1 != n->t0 && n->p1 != n->p0) {
			fprintf(k->out,
				"<line class=\"%s\" x1=\"%.3f\" x2=\"%.3f\" y1=\"%.3f\" y2=\"%.3f\"/>\n",
				class, x_of(k, n->t1), x_of(k, n->t1), y_of(k, n->p0),
				y_of(k, n->p1));
		}
	}
}

static void notes(struct canvas *k)
{
	const struct pic_scan *s = k->s;
	unsigned int drawn = 0;

	/* numbers of the violations first: they have their places */
	for (size_t i = 1; i < s->nr_things; i++) {
		const struct pic_thing *x = &s->things[i];
		unsigned int same = 0;
		double px, py, up;

		if (x->kind != PIC_VIOLATION)
			continue;
		for (size_t j = 1; j < i && x->number; j++)
			same += s->things[j].kind == PIC_VIOLATION && s->things[j].number &&
				s->things[j].t0 == x->t0;
		px = x_of(k, x->t0);
		py = y_of(k, x->p0);
		up = py + 34 > k->top + PLOT ? -22 : 22;
		pin(k, x->t0, x->p0, x->number ? "violation" : "violation again");
		if (x->number) {
			fprintf(k->out,
				"<circle class=\"ring\" r=\"15\"/><g transform=\"translate(%.0f,%.0f)\">"
				"<circle r=\"10\"/><text class=\"number\" y=\"4.5\">%d</text></g>",
				20.0 + 24 * same, up, x->number);
			reserve_box(k, (struct box){px - 15, py + (up < 0 ? -34 : -15),
						    px + 32 + 24 * same, py + (up < 0 ? 15 : 34)});
		} else {
			fputs("<circle r=\"4\"/>", k->out);
		}
		tip(k->out, x->tip);
		fputs("</g>\n", k->out);
	}
	for (size_t i = 0; i < s->nr_notes; i++) {
		const struct pic_note *n = &s->notes[i];
		unsigned int same = 0;
		uint64_t t1 = n->t1 < s->t1 ? n->t1 : s->t1;
		double px, py;

		for (size_t j = 0; j < i; j++)
			same += !strncmp(s->notes[j].text, n->text, 14);
		if (same >= 1 || drawn == 6 || !seen(k, n->t0))
			continue;
		drawn++;
		px = (x_of(k, n->t0) + x_of(k, t1)) / 2;
		py = n->t1 != n->t0 ? y_of(k, n->p0) : (y_of(k, n->p0) + y_of(k, n->p1)) / 2;
		label(k, n->t0, n->p0, px, py, n->text);
	}
}

/* ---- head and foot ---- */

static double headline(struct canvas *k)
{
	const struct pic_run *run = k->run;
	const struct pic_scan *s = k->s;
	const struct pic_event *last = run->nr_events ? &run->events[run->nr_events - 1] : NULL;
	char text[400], a[24], b[24], c[24];
	double y = 58;

	pic_title(&run->c, true, text, sizeof(text));
	draw_text(k->out, 24, 34, "title", text);
	if (run->r.refused) {
		snprintf(text, sizeof(text), "refused: %s", run->r.refusal);
		draw_text(k->out, 24, y, "verdict bad", text);
		return y + 12;
	}
	if (run->r.nr_violations)
		snprintf(text, sizeof(text),
			 "%s: %llu violation%s; what is wrong is red, and numbered where it begins",
			 auxtap_watermark_verdict(&run->r) == AUXTAP_WM_NO_PROGRESS ?
				 "no progress" :
				 "FAIL",
			 (LL)run->r.nr_violations, run->r.nr_violations == 1 ? "" : "s");
	else
		snprintf(text, sizeof(text), "pass: all invariants hold");
	draw_text(k->out, 24, y, run->r.nr_violations ? "verdict bad" : "verdict good", text);
	for (unsigned int i = 0; i < s->nr_listed; i++) {
		y += 22;
		fprintf(k->out,
			"<circle class=\"numberdisc\" cx=\"34\" cy=\"%.1f\" r=\"9\"/><text class=\"number\" "
			"x=\"34\" y=\"%.1f\">%u</text>\n",
			y - 4, y + 0.5, i + 1);
		snprintf(text, sizeof(text), "%s%s", s->listed[i],
			 s->listed_at[i] > s->t1 ? " (later than what is seen here)" : "");
		draw_text(k->out, 52, y, "listed", text);
	}
	y += 24;
	snprintf(text, sizeof(text), "seen here: %s to %s of %s, %s", wm_time(s->t0, a),
		 wm_time(s->t1, b), wm_time(run->r.time_ns, c),
		 s->t_bad != PIC_NEVER ? "around the first violation" : "from the beginning");
	if (last && run->nr_events < run->nr_total)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "; drawn: events %zu to %zu of %zu, the others are left out",
			 run->nr_before + 1, run->nr_before + run->nr_events, run->nr_total);
	draw_text(k->out, 24, y, "muted", text);
	return y + 12;
}

static void lanes_frame(struct canvas *k)
{
	static const char *const names[NR_LANES] = {[LANE_PROGRAM] = "program",
						    [LANE_IRQ] = "interrupts",
						    [LANE_RECORDS] = "AUX records",
						    [LANE_READER] = "reader"};

	for (int i = 0; i < NR_LANES; i++) {
		fprintf(k->out,
			"<rect class=\"lane\" x=\"%.0f\" y=\"%.1f\" width=\"%.0f\" height=\"%.0f\"/>",
			LEFT, lane_y(k, i) + 1, RIGHT - LEFT, LANE - 2);
		draw_text(k->out, LEFT - 8, lane_y(k, i) + LANE / 2 + 4, "tick end", names[i]);
	}
}

static bool has(const struct pic_scan *s, enum pic_kind kind)
{
	for (size_t i = 1; i < s->nr_things; i++)
		if (s->things[i].kind == kind && !(kind == PIC_VIOLATION && s->things[i].number))
			return true;
	return false;
}

/* Of symbols, those that are drawn. */
static double legend(struct canvas *k, double y)
{
	const char *limit = !strcmp(k->run->c.driver, "intel_pt") ?
				    "STOP: the unit must not write beyond" :
				    "limit: the unit must not write beyond";
	const struct {
		const char *sample, *text;
		enum pic_kind kind; /* PIC_INT: in every picture */
	} items[] = {
		{"<path class=\"pointer\" d=\"M0,4L26,-8\"/>",
		 "write pointer: what the unit has stored", PIC_INT},
		{"<path class=\"tail\" d=\"M0,2L12,2L12,-8L26,-8\"/>",
		 "tail: what the reader has read", PIC_INT},
		{"<rect class=\"unread\" y=\"-10\" width=\"26\" height=\"14\"/>",
		 "stored, not yet read", PIC_INT},
		{"<path class=\"full\" d=\"M0,-3L26,-3\"/>", "area full: beyond lies unread trace",
		 PIC_INT},
		{"<path class=\"mark\" d=\"M0,-3L26,-3\"/>", "mark: an interrupt is due there",
		 PIC_INT},
		{"<path class=\"stop\" d=\"M0,-3L26,-3\"/>", limit, PIC_STOP},
		{"<path class=\"wakeat\" d=\"M0,-3L26,-3\"/>",
		 "watermark: the reader is woken behind it", PIC_WAKEUP_AT},
		{"<rect class=\"padding\" y=\"-10\" width=\"26\" height=\"14\"/>",
		 "padding, skipped", PIC_PADDING},
		{"<g class=\"due\" transform=\"translate(13,-3)\"><path d=\"M0,-6L6,0L0,6L-6,0Z\"/></g>",
		 "interrupt due: the mark is reached", PIC_DUE},
		{"<g class=\"line\" transform=\"translate(13,-3)\"><path d=\"M0,-6L6,5L-6,5Z\"/></g>",
		 "the interrupt line goes up", PIC_LINE},
		{"<g class=\"irq\" transform=\"translate(13,-3)\"><circle r=\"5\"/></g>",
		 "it reaches the driver", PIC_IRQ},
		{"<g class=\"wakeup\" transform=\"translate(13,-3)\"><path d=\"M0,6L6,-5L-6,-5Z\"/></g>",
		 "wakeup of the reader", PIC_WAKEUP},
		{"<g class=\"read\" transform=\"translate(13,-3)\"><rect x=\"-5\" y=\"-5\" width=\"10\" "
		 "height=\"10\"/></g>",
		 "it has read", PIC_READ},
		{"<g class=\"enable\" transform=\"translate(13,-3)\"><path d=\"M-4,-6L6,0L-4,6Z\"/></g>",
		 "it enables the event again", PIC_ENABLE},
		{"<g class=\"refused\" transform=\"translate(13,-3)\"><path d=\"M-5,-5L5,5M5,-5L-5,5\"/></g>",
		 "no room: tracing ends until it is read", PIC_REFUSED},
		{"<rect class=\"loss\" y=\"-12\" width=\"26\" height=\"18\"/>",
		 "trace is lost; a tick: for a moment", PIC_LOSS},
		{"<rect class=\"runs\" y=\"-7\" width=\"12\" height=\"8\"/><rect class=\"runs\" x=\"12\" "
		 "y=\"-7\" width=\"14\" height=\"8\"/>",
		 "the program runs; dark tick: switched", PIC_RUNS},
		{"<rect class=\"delay\" y=\"-5\" width=\"26\" height=\"4\"/>",
		 "from the interrupt line to the driver", PIC_DELAY},
		{"<path class=\"lap\" d=\"M0,-3L26,-3\"/>", "the area begins again", PIC_INT},
		{"<rect class=\"recordsample\" y=\"-12\" width=\"26\" height=\"18\"/>",
		 "AUX record: what the reader is told", PIC_INT},
		{"<text class=\"small flagged\" x=\"-8\" y=\"1\">TRU…</text>",
		 "TRUNCATED: no room, the event is off", PIC_INT},
		{"<text class=\"small\" x=\"-8\" y=\"1\">COL…</text>",
		 "COLLISION: it was full, goes on; no error", PIC_INT},
		{"<path class=\"grid\" d=\"M0,-3L26,-3\"/>", "thin and grey: the scales alone",
		 PIC_INT},
		{"<path class=\"span\" d=\"M0,-3L26,-3\"/>",
		 "the distance between is and should be", PIC_INT},
		{"<g class=\"violation again\" transform=\"translate(13,-3)\"><circle r=\"4\"/></g>",
		 "what is wrong is noticed", PIC_VIOLATION},
	};
	const size_t nr = sizeof(items) / sizeof(items[0]);
	size_t shown = 0, row;
	bool trbe = !strcmp(k->run->c.driver, "trbe");

	for (size_t i = 0; i < nr; i++) {
		double x, at;

		if (items[i].kind != PIC_INT && !has(k->s, items[i].kind))
			continue;
		if (!trbe && strstr(items[i].text, "COLLISION"))
			continue; /* J4: only there */
		if (!k->run->r.nr_violations && strstr(items[i].sample, "\"span\""))
			continue;
		x = LEFT + (double)(shown % 4) * 294;
		row = shown++ / 4;
		at = y + (double)row * 22;
		fprintf(k->out, "<g transform=\"translate(%.0f,%.1f)\">%s", x, at, items[i].sample);
		draw_text(k->out, 36, 1, "small", items[i].text);
		fputs("</g>\n", k->out);
	}
	row = (shown + 3) / 4;
	return y + (double)row * 22;
}

static int draw(struct canvas *k, bool alone)
{
	const struct pic_scan *s = k->s;
	uint64_t area = k->run->c.nr_pages * k->run->c.page_size;
	double height, lanes_end, head = 58 + 22.0 * s->nr_listed + 36, end;
	char attributes[256];

	k->top = head + 8;
	lanes_end = lane_y(k, NR_LANES);
	height = lanes_end + 30 + 6 * 22 + 166;
	snprintf(
		attributes, sizeof(attributes),
		"id=\"timeline\" data-t0=\"%llu\" data-t1=\"%llu\" data-p0=\"%llu\" data-p1=\"%llu\" "
		"data-box=\"%.1f,%.1f,%.1f,%.1f\" data-lanes=\"%.1f\"",
		(LL)s->t0, (LL)s->t1, (LL)s->p0, (LL)s->p1, LEFT, k->top, RIGHT, k->top + PLOT,
		lanes_end);
	pic_svg_begin(k->out, WIDTH, height, alone, attributes);
	headline(k);
	fprintf(k->out,
		"<clipPath id=\"clip\"><rect x=\"%.0f\" y=\"%.1f\" width=\"%.0f\" height=\"%.0f\"/></clipPath>"
		"<clipPath id=\"pinclip\"><rect x=\"%.0f\" y=\"%.1f\" width=\"%.0f\" "
		"height=\"%.0f\"/></clipPath>"
		"<clipPath id=\"laneclip\"><rect x=\"%.0f\" y=\"%.1f\" width=\"%.0f\" "
		"height=\"%.0f\"/></clipPath>\n",
		LEFT, k->top, RIGHT - LEFT, PLOT, LEFT - 16, k->top - 16, RIGHT - LEFT + 32,
		PLOT + 32, LEFT, lane_y(k, 0), RIGHT - LEFT, lanes_end - lane_y(k, 0));
	lanes_frame(k);
	scales(k);
	fputs("<g clip-path=\"url(#clip)\"><g class=\"scaled\">\n", k->out);
	unread(k);
	bars(k);
	if (!k->run->c.snapshot) {
		polyline(k, "full", s->tail, s->nr_tail, area);
		polyline(k, "tail", s->tail, s->nr_tail, 0);
	}
	polyline(k, "pointer", s->pointer, s->nr_pointer, 0);
	spans(k);
	fputs("</g></g>\n<g clip-path=\"url(#pinclip)\">\n", k->out);
	points(k, false);
	notes(k);
	fputs("</g>\n<g clip-path=\"url(#laneclip)\"><g class=\"scaled-x\">\n", k->out);
	lane_bars(k);
	fputs("</g>\n", k->out);
	points(k, true);
	lane_text(k);
	fputs("</g>\n", k->out);
	fprintf(k->out,
		"<rect class=\"frame\" x=\"%.0f\" y=\"%.1f\" width=\"%.0f\" height=\"%.0f\"/>\n",
		LEFT, k->top, RIGHT - LEFT, PLOT);
	end = legend(k, lanes_end + 28);
	pic_overshoots(k->run, 1, k->out, end + 10, WIDTH);
	fputs("</svg>\n", k->out);
	return 0;
}

int pic_timeline(const struct pic_run *run, FILE *out, bool alone)
{
	struct canvas k = {.run = run, .out = out};
	struct pic_scan s;
	int ret;

	if (run->r.refused || !run->nr_events) {
		char text[256];

		pic_svg_begin(out, WIDTH, 90, alone, "id=\"timeline\"");
		pic_title(&run->c, true, text, sizeof(text));
		draw_text(out, 24, 34, "title", text);
		snprintf(text, sizeof(text), "refused: %s", run->r.refusal);
		draw_text(out, 24, 64, "verdict bad", text);
		fputs("</svg>\n", out);
		return 0;
	}
	ret = pic_scan(&s, run);
	k.s = &s;
	if (!ret)
		ret = draw(&k, alone);
	pic_scan_free(&s);
	return ret;
}
