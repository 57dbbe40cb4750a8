// SPDX-License-Identifier: BSD-2-Clause
/*
 * Several runs as a heat map: loss over watermark and size of the area; and how often which skid.
 */
#include "watermark_picture.h"
#include "watermark_print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LL    unsigned long long
#define WIDTH 1280.0

static void draw_text(FILE *out, double x, double y, const char *class, const char *text)
{
	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class);
	pic_escape(out, text);
	fputs("</text>\n", out);
}

static void tip(FILE *out, const char *text)
{
	fputs("<title>", out);
	pic_escape(out, text);
	fputs("</title>", out);
}

/* ---- skid ---- */

double pic_overshoots(const struct pic_run *runs, size_t nr_runs, FILE *out, double y, double width)
{
	uint64_t sums[AUXTAP_OVERSHOOT_BUCKETS] = {0}, total = 0, most = 0, largest = 0;
	unsigned int from = AUXTAP_OVERSHOOT_BUCKETS, to = 0;
	double left = 96, base = y + 116, each;
	char text[200], a[24];

	for (size_t r = 0; r < nr_runs; r++) {
		for (unsigned int i = 0; i < AUXTAP_OVERSHOOT_BUCKETS; i++)
			sums[i] += runs[r].r.overshoots[i];
		if (runs[r].r.overshoot_max > largest)
			largest = runs[r].r.overshoot_max;
	}
	for (unsigned int i = 0; i < AUXTAP_OVERSHOOT_BUCKETS; i++) {
		if (!sums[i])
			continue;
		total += sums[i];
		most = sums[i] > most ? sums[i] : most;
		from = i < from ? i : from;
		to = i;
	}
	snprintf(
		text, sizeof(text),
		"skid: bytes of trace from the mark to the driver's turn; %llu interrupts, at most %llu bytes",
		(LL)total, (LL)largest);
	draw_text(out, left, y + 14, "listed", text);
	if (!total) {
		draw_text(out, left, y + 36, "muted", "no mark was reached and answered");
		return y + 50;
	}
	each = (width - left - 24) / (to - from + 1);
	if (each > 60)
		each = 60;
	fputs("<g id=\"skids\">\n", out);
	for (unsigned int i = from; i <= to; i++) {
		double h = sums[i] ? 2 + 70 * (double)sums[i] / (double)most : 0;
		double x = left + each * (i - from);

		fprintf(out,
			"<rect class=\"bar\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\">",
			x + 0.5, base - h, each > 3 ? each - 1.5 : each, h);
		snprintf(text, sizeof(text), "%llu to %llu bytes: %llu interrupts",
			 (LL)auxtap_overshoot_bucket_from(i),
			 (LL)auxtap_overshoot_bucket_from(i + 1) - 1, (LL)sums[i]);
		tip(out, text);
		fputs("</rect>\n", out);
		if (sums[i] && each > 34) {
			snprintf(text, sizeof(text), "%llu", (LL)sums[i]);
			draw_text(out, x + each / 2, base - h - 4, "small middle", text);
		}
		if (each > 34 || (i - from) % (unsigned int)(1 + 44 / each) == 0)
			draw_text(out, x, base + 15, "tick",
				  wm_size(auxtap_overshoot_bucket_from(i), a));
	}
	fprintf(out,
		"</g><line class=\"frame\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
		left, left + each * (to - from + 1), base, base);
	return base + 28;
}

/* ---- loss ---- */

static uint64_t lost(const struct auxtap_watermark_result *r)
{
	return r->produced - r->stored;
}

/* From nothing to all: pale, yellow, orange, red-brown; readable on both papers. */
static void colour(double share, char *buf, size_t size)
{
	/* each tenfold a step, from a ten thousandth on; the last step is seen in parts */
	double k = (4 + log10(share < 1e-4 ? 1e-4 : share)) / 4;

	if (share <= 0)
		snprintf(buf, size, "#2f9e77");
	else
		snprintf(buf, size, "hsl(%.0f,%.0f%%,%.0f%%)", 54 - 46 * pow(k, 2.2), 88.0,
			 82 - 36 * pow(k, 2.2));
}

static void share_text(double share, char *buf, size_t size)
{
	if (share <= 0)
		snprintf(buf, size, "0");
	else if (share < 0.0001)
		snprintf(buf, size, "%.1g%%", share * 100);
	else
		snprintf(buf, size, share < 0.1 ? "%.2f%%" : "%.1f%%", share * 100);
}

static void cell(const struct pic_run *run, FILE *out, double x, double y, double w, double h)
{
	const struct auxtap_watermark_result *r = &run->r;
	double share = r->produced ? (double)lost(r) / (double)r->produced : 0;
	char text[400], fill[32], a[24], b[24];

	colour(share, fill, sizeof(fill));
	fprintf(out,
		"<g class=\"run\"><rect class=\"cell%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"%s%s%s "
		"data-pages=\"%llu\" data-watermark=\"%llu\" data-lost=\"%llu\" data-produced=\"%llu\"/>",
		r->refused	 ? " refused" :
		r->nr_violations ? " fail" :
				   "",
		x + 2.5, y + 2.5, w - 5, h - 5,
		r->refused ? "" : " style=\"fill:", r->refused ? "" : fill, r->refused ? "" : "\"",
		(LL)run->c.nr_pages, (LL)run->c.watermark, (LL)lost(r), (LL)r->produced);
	if (!r->refused && w > 30 && h > 15) {
		if (w > 56 || share <= 0)
			share_text(share, text, sizeof(text));
		else
			snprintf(text, sizeof(text), share < 0.01 ? "<1%%" : "%.0f%%", share * 100);
		fprintf(out, "<text class=\"small middle dark\" x=\"%.1f\" y=\"%.1f\">%s",
			x + w / 2, y + h / 2 + 4, r->nr_violations ? "✗ " : "");
		pic_escape(out, text);
		fputs("</text>", out);
	}
	if (r->refused)
		snprintf(text, sizeof(text), "%llu pages, watermark %s: refused: %s",
			 (LL)run->c.nr_pages, wm_size(run->c.watermark, b), r->refusal);
	else
		snprintf(
			text, sizeof(text),
			"%llu pages (%s), watermark %s: %llu of %llu bytes lost; largest lag %llu; %s",
			(LL)run->c.nr_pages, wm_size(run->c.nr_pages * run->c.page_size, a),
			run->c.watermark ? wm_size(run->c.watermark, b) : "half", (LL)lost(r),
			(LL)r->produced, (LL)r->max_lag,
			r->nr_violations ? r->violations[0].text : "all invariants hold");
	tip(out, text);
	fputs("</g>\n", out);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The values that occur, in order; n of them. */
static uint64_t *values(const struct pic_run *runs, size_t nr, bool pages, size_t *n)
{
	uint64_t *list = calloc(nr + 1, sizeof(*list));

	*n = 0;
	for (size_t i = 0; list && i < nr; i++)
		list[i] = pages ? runs[i].c.nr_pages : runs[i].c.watermark;
	if (!list)
		return NULL;
	qsort(list, nr, sizeof(*list), compare);
	for (size_t i = 0; i < nr; i++)
		if (!*n || list[*n - 1] != list[i])
			list[(*n)++] = list[i];
	return list;
}

static size_t index_of(const uint64_t *list, size_t n, uint64_t value)
{
	size_t i = 0;

	while (i + 1 < n && list[i] != value)
		i++;
	return i;
}

void pic_heat(const struct pic_run *runs, size_t nr_runs, FILE *out, bool alone)
{
	size_t nr_x = 0, nr_y = 0, every, nr_bad = 0, nr_lossless = 0;
	uint64_t *xs = values(runs, nr_runs, false, &nr_x),
		 *ys = values(runs, nr_runs, true, &nr_y);
	double left = 130, top = 122, w, h, bottom;
	char text[300], size[24];

	if (!xs || !ys) {
		free(xs);
		free(ys);
		return;
	}
	w = (WIDTH - left - 24) / (double)nr_x;
	w = w > 110 ? 110 : w;
	h = nr_y > 24 ? 18 : 34;
	bottom = top + h * (double)nr_y;
	pic_svg_begin(out, WIDTH, bottom + 232, alone, "id=\"heat\"");
	pic_title(&runs[0].c, nr_y == 1, text, sizeof(text));
	if (nr_y == 1 && strstr(text, ", watermark "))
		*strstr(text, ", watermark ") = '\0';
	draw_text(out, 24, 34, "title", text);
	for (size_t i = 0; i < nr_runs; i++) {
		nr_bad += runs[i].r.nr_violations != 0;
		nr_lossless += !runs[i].r.refused && !lost(&runs[i].r);
	}
	snprintf(text, sizeof(text), "%zu machines: %zu lose nothing; %zu break an invariant%s",
		 nr_runs, nr_lossless, nr_bad, nr_bad ? " (✗, framed in red)" : "");
	draw_text(out, 24, 60, nr_bad ? "verdict bad" : "verdict good", text);
	draw_text(
		out, 24, 84, "muted",
		"trace lost, as a share of what the program produced; green: nothing; the redder, the more; "
		"hatched: refused by driver or kernel");
	for (size_t i = 0; i < nr_runs; i++)
		cell(&runs[i], out, left + w * (double)index_of(xs, nr_x, runs[i].c.watermark),
		     bottom - h * (double)(1 + index_of(ys, nr_y, runs[i].c.nr_pages)), w, h);
	every = 1 + (size_t)(44 / w);
	for (size_t i = 0; i < nr_x; i += every)
		draw_text(out, left + w * ((double)i + 0.5), bottom + 18, "tick middle",
			  xs[i] ? wm_size(xs[i], size) : "half");
	for (size_t i = 0; i < nr_y; i++) {
		snprintf(text, sizeof(text), "%llu pages (%s)", (LL)ys[i],
			 wm_size(ys[i] * runs[0].c.page_size, size));
		draw_text(out, left - 8, bottom - h * ((double)i + 0.5) + 4, "tick end", text);
	}
	draw_text(out, left, bottom + 40, "tick", "watermark, bytes");
	draw_text(out, left - 8, top - 8, "tick end", "AUX area");
	pic_overshoots(runs, nr_runs, out, bottom + 70, WIDTH);
	fputs("</svg>\n", out);
	free(xs);
	free(ys);
}
