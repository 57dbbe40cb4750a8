// SPDX-License-Identifier: BSD-2-Clause
/*
 * Computes the drawing from a run's events: lines, bars, points, and notes on what is wrong. The
 * simulator's monitor has decided what is wrong; this finds out where to draw it.
 */
#include "watermark_driver.h"
#include "watermark_picture.h"
#include "watermark_print.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LL	  unsigned long long
#define MAX_LINES 1024 /* more than the number of events that are drawn */

/* The interrupt line was raised at t, p; irq: when the driver handled it. */
struct line {
	uint64_t t, p, irq;
	bool paired, at_once;
};

struct scanner {
	struct pic_scan *s;
	const struct pic_run *run;
	bool open;
	uint64_t begin, pos, size; /* of the open transaction */
	size_t ints, stop,
		wakeup; /* indices of its bars in things[]; 0: none (things[0] is not used) */
	uint64_t stop_at, int_at, due_t, due_p;
	bool line_seen;
	struct line lines[MAX_LINES];
	size_t nr_lines;
	size_t runs; /* index of the bar of the running program, or 0 */
	uint64_t tail;
};

static struct pic_thing *add_thing(struct scanner *w, enum pic_kind kind, uint64_t t, uint64_t p)
{
	struct pic_thing *x = &w->s->things[w->s->nr_things++];

	x->kind = kind;
	x->t0 = x->t1 = t;
	x->p0 = x->p1 = p;
	return x;
}

static size_t add_bar(struct scanner *w, enum pic_kind kind, uint64_t t, uint64_t p,
		      const char *tip)
{
	struct pic_thing *x = add_thing(w, kind, t, p);

	x->t1 = PIC_NEVER; /* end_bar() sets the end */
	snprintf(x->tip, sizeof(x->tip), "%s", tip);
	return w->s->nr_things - 1;
}

static void end_bar(struct scanner *w, size_t *which, uint64_t t)
{
	if (*which)
		w->s->things[*which].t1 = t;
	*which = 0;
}

static void add_pointer_position(struct scanner *w, uint64_t t, uint64_t p, bool gap)
{
	w->s->pointer[w->s->nr_pointer++] = (struct pic_point){t, p, gap};
	w->pos = p;
}

static struct pic_note *add_note(struct scanner *w, uint64_t t, uint64_t p)
{
	struct pic_note *n = &w->s->notes[w->s->nr_notes++];

	*n = (struct pic_note){.t0 = t, .p0 = p, .t1 = t, .p1 = p};
	return n;
}

static uint64_t allowed_ns(const struct scanner *w)
{
	return w->run->c.irq_latency_ns + w->run->c.irq_jitter_ns + 1;
}

/* ---- transactions ---- */

static void on_begin(struct scanner *w, const struct pic_event *e)
{
	uint64_t area = w->run->c.nr_pages * w->run->c.page_size;
	char tip[128];

	/*
	 * In overwrite mode a record does not contain the unit's position (H11, J5), but the next
	 * transaction starts there.
	 */
	if (w->run->c.snapshot && w->s->nr_pointer) {
		struct pic_point *last = &w->s->pointer[w->s->nr_pointer - 1];

		last->p = e->a >= last->p ? e->a : e->a + area;
	}
	w->open = true;
	w->begin = e->time;
	w->stop_at = w->int_at = w->due_t = PIC_NEVER;
	w->line_seen = false;
	add_pointer_position(w, e->time, e->a, true);
	if (w->run->c.snapshot)
		return;
	snprintf(tip, sizeof(tip), "watermark: the reader is woken when the head passes %llu",
		 (LL)e->c);
	w->wakeup = add_bar(w, PIC_WAKEUP_AT, e->time, e->c, tip);
}

static void end_thresholds(struct scanner *w, uint64_t t)
{
	end_bar(w, &w->ints, t);
	end_bar(w, &w->stop, t);
}

static void on_thresholds(struct scanner *w, const struct pic_event *e)
{
	const char *limit = wm_driver(w->run->c.driver)->stop;
	char tip[160];

	end_thresholds(w, e->time);
	w->int_at = e->a;
	w->stop_at = e->b;
	w->due_t = PIC_NEVER;
	w->line_seen = false;
	if (e->b != PIC_NEVER) {
		snprintf(tip, sizeof(tip), "%s: the unit must not write beyond %llu", limit,
			 (LL)e->b);
		w->stop = add_bar(w, PIC_STOP, e->time, e->b, tip);
	}
	if (e->a != PIC_NEVER) {
		snprintf(tip, sizeof(tip), "threshold: the unit must raise its interrupt at %llu%s",
			 (LL)e->a,
			 e->a <= w->pos ? " (the head has passed it: one wrap later)" : "");
		w->ints = add_bar(w, PIC_INT, e->time, e->a, tip);
	}
}

static void on_skip(struct scanner *w, const struct pic_event *e)
{
	struct pic_thing *x = add_thing(w, PIC_PADDING, e->time, e->a);

	x->p1 = e->a + e->b;
	x->t1 = PIC_NEVER;
	snprintf(x->text, sizeof(x->text), "padding");
	snprintf(x->tip, sizeof(x->tip), "padding: %llu bytes, %llu to %llu, skipped at %llu ns",
		 (LL)e->b, (LL)e->a, (LL)x->p1, (LL)e->time);
	add_pointer_position(w, e->time, e->a, false);
	add_pointer_position(w, e->time, x->p1, false);
}

static void on_end(struct scanner *w, const struct pic_event *e)
{
	if (w->open && !w->run->c.snapshot)
		add_pointer_position(w, e->time, e->a + e->b, false);
	else if (w->open)
		add_pointer_position(w, e->time, w->pos, false);
	end_thresholds(w, e->time);
	end_bar(w, &w->wakeup, e->time);
	w->open = false;
}

static void on_record(struct scanner *w, const struct pic_event *e)
{
	bool lost = e->what == AUXTAP_WM_RECORD_LOST;
	struct pic_thing *x = add_thing(w, lost ? PIC_RECORD_LOST : PIC_RECORD, w->begin, e->a);
	char flags[64], size[24];

	wm_flags(e->c & ~(uint64_t)0x100, flags);
	x->t1 = e->time;
	x->p1 = e->a + e->b;
	snprintf(x->text, sizeof(x->text), "%s%s%s", wm_size(e->b, size),
		 strcmp(flags, "-") != 0 ? " " : "", strcmp(flags, "-") != 0 ? flags : "");
	wm_flags(e->c, flags);
	snprintf(x->tip, sizeof(x->tip),
		 "AUX record%s: offset %llu, size %llu, flags %s, at %llu ns",
		 lost ? ", lost: no space in the data ring" : "", (LL)e->a, (LL)e->b, flags,
		 (LL)e->time);
	x->bad = lost;
}

/* ---- interrupts ---- */

static void on_threshold_hit(struct scanner *w, const struct pic_event *e)
{
	struct pic_thing *x = add_thing(w, PIC_DUE, e->time, e->a);

	add_pointer_position(w, e->time, e->a, false);
	w->due_t = e->time;
	w->due_p = e->a;
	snprintf(x->tip, sizeof(x->tip),
		 "interrupt due: the write pointer is at the threshold, %llu, at %llu ns", (LL)e->a,
		 (LL)e->time);
}

static bool violated_at(const struct scanner *w, size_t i, enum auxtap_watermark_invariant inv)
{
	const struct pic_run *r = w->run;

	for (size_t k = i + 1;
	     k < r->nr_events && k < i + 4 && r->events[k].time == r->events[i].time; k++) {
		if (r->events[k].what == AUXTAP_WM_VIOLATION && r->events[k].a == inv)
			return true;
		if (r->events[k].what == AUXTAP_WM_IRQ_LINE)
			break;
	}
	return false;
}

/* Was the line raised while the driver stops the unit: an end without an interrupt before it? */
static bool raised_while_stopping(const struct scanner *w, size_t i)
{
	const struct pic_run *r = w->run;

	for (size_t k = i + 1; k < r->nr_events && r->events[k].time == r->events[i].time; k++) {
		if (r->events[k].what == AUXTAP_WM_IRQ)
			return false;
		if (r->events[k].what == AUXTAP_WM_END)
			return true;
	}
	return false;
}

static bool raised_at_start(const struct scanner *w, size_t i)
{
	const struct pic_run *r = w->run;

	for (size_t k = i; k-- && r->events[k].time == r->events[i].time;) {
		if (r->events[k].what == AUXTAP_WM_THRESHOLDS)
			return true;
		if (r->events[k].what == AUXTAP_WM_IRQ || r->events[k].what == AUXTAP_WM_IRQ_LINE)
			return false;
	}
	return false;
}

static void note_no_cause(struct scanner *w, size_t i, bool stopping)
{
	const struct pic_event *e = &w->run->events[i];
	struct pic_note *n = add_note(w, e->time, e->a);
	bool again = w->line_seen && w->due_t != PIC_NEVER;
	uint64_t due = w->int_at != PIC_NEVER && w->int_at > e->a ? w->int_at : w->stop_at;

	if (again && !stopping) {
		char after[24];

		wm_time(w->nr_lines ? e->time - w->lines[w->nr_lines - 1].t : 0, after);
		snprintf(n->text, sizeof(n->text),
			 "a second interrupt for the same threshold, %s after the first", after);
		return;
	}
	snprintf(n->text, sizeof(n->text), "interrupt here%s: no threshold is reached",
		 stopping	       ? ", while the unit is being switched off" :
		 raised_at_start(w, i) ? ", the moment the unit is switched on" :
					 "");
	if (due == PIC_NEVER || due <= e->a)
		return;
	n = add_note(w, e->time, e->a);
	n->span = true;
	n->p1 = due;
	snprintf(n->text, sizeof(n->text), "due only here, %llu bytes further on",
		 (LL)(due - e->a));
}

static void on_line(struct scanner *w, size_t i)
{
	const struct pic_event *e = &w->run->events[i];
	struct pic_thing *x = add_thing(w, PIC_LINE, e->time, e->a);
	bool stopping = raised_while_stopping(w, i);
	char time[24];

	add_pointer_position(w, e->time, e->a, false);
	snprintf(x->tip, sizeof(x->tip),
		 "the interrupt line goes up at %llu ns, write pointer %llu", (LL)e->time,
		 (LL)e->a);
	if (violated_at(w, i, AUXTAP_INV_IRQ_HAS_CAUSE)) {
		x->bad = true;
		note_no_cause(w, i, stopping);
	} else if (w->due_t != PIC_NEVER && !w->line_seen && w->s->t_bad != PIC_NEVER &&
		   violated_at(w, i, AUXTAP_INV_IRQ_AT_THRESHOLD)) {
		x->bad = true;
	}
	/* a note on the overshoot, if the monitor has found it too large */
	if (w->due_t != PIC_NEVER && !w->line_seen && w->due_t < e->time) {
		double bytes = (double)(e->time - w->due_t) * (double)w->run->c.rate / 1e9;

		if (x->bad || (w->run->r.by_invariant[AUXTAP_INV_IRQ_AT_THRESHOLD] &&
			       bytes > (double)(w->run->c.setup.irq_delay_bytes +
						2ull * w->run->c.setup.record_bytes))) {
			struct pic_note *n = add_note(w, w->due_t, w->due_p);

			x->bad = n->span = true;
			n->t1 = e->time;
			n->p1 = e->a;
			snprintf(n->text, sizeof(n->text),
				 "interrupt due here, comes %s (%llu bytes of trace) later",
				 wm_time(e->time - w->due_t, time), (LL)(bytes + 0.5));
		}
	}
	w->line_seen = true;
	if (w->nr_lines < MAX_LINES)
		w->lines[w->nr_lines++] = (struct line){e->time, e->a, PIC_NEVER, false, stopping};
}

static void on_irq(struct scanner *w, const struct pic_event *e)
{
	struct pic_thing *x = add_thing(w, PIC_IRQ, e->time, e->a), *d;
	struct line *l = NULL;
	size_t after = 0;

	add_pointer_position(w, e->time, e->a, false);
	for (size_t i = w->nr_lines; i-- && !l;)
		if (!w->lines[i].paired && !w->lines[i].at_once &&
		    e->time - w->lines[i].t <= allowed_ns(w))
			l = &w->lines[after = i];
	for (size_t i = 0; i < w->nr_lines && !l; i++)
		if (!w->lines[i].paired && !w->lines[i].at_once)
			l = &w->lines[after = i];
	snprintf(x->tip, sizeof(x->tip),
		 "interrupt: the driver handles it at %llu ns, write pointer %llu", (LL)e->time,
		 (LL)e->a);
	if (!l)
		return;
	l->paired = true;
	l->irq = e->time;
	x->bad = e->time - l->t > allowed_ns(w);
	/* the line was raised again before: the same interrupt handles it */
	for (size_t i = after + 1; i < w->nr_lines && x->bad; i++)
		w->lines[i].paired = true;
	d = add_thing(w, PIC_DELAY, l->t, l->p);
	d->t1 = e->time;
	d->bad = x->bad;
	snprintf(d->tip, sizeof(d->tip),
		 "from the line to the driver: %llu ns; up to %llu are expected",
		 (LL)(e->time - l->t), (LL)(allowed_ns(w) - 1));
}

static void note_delays(struct scanner *w)
{
	char took[24], most[24];

	for (size_t i = 0; i < w->nr_lines; i++) {
		const struct line *l = &w->lines[i];
		uint64_t until = l->paired ? l->irq : w->s->t_end;
		struct pic_note *n;

		if (l->at_once || until == PIC_NEVER || until - l->t <= allowed_ns(w))
			continue;
		n = add_note(w, l->t, l->p);
		n->span = true;
		n->t1 = until;
		wm_time(allowed_ns(w) - 1, most);
		if (l->paired) {
			snprintf(
				n->text, sizeof(n->text),
				"line up here; the interrupt reaches the driver %s later (at most %s expected)",
				wm_time(until - l->t, took), most);
		} else {
			struct pic_thing *d = add_thing(w, PIC_DELAY, l->t, l->p);

			d->t1 = until;
			d->bad = true;
			snprintf(d->text, sizeof(d->text), "never came");
			snprintf(d->tip, sizeof(d->tip),
				 "the line went up at %llu ns; no interrupt followed", (LL)l->t);
			for (size_t k = i + 1; k < w->nr_lines; k++)
				if (w->lines[k].irq != PIC_NEVER && w->lines[k].irq < n->t1)
					n->t1 = d->t1 = w->lines[k].irq;
			snprintf(
				n->text, sizeof(n->text),
				"line up here: its interrupt never reaches the driver (%s expected at most)",
				most);
		}
	}
}

/* ---- the numbered list of what is wrong ---- */

/*
 * Adds an entry about what starts at t. Returns its number, or 0 if the list is full or has an
 * entry with that name.
 */
static int add_to_list(struct pic_scan *s, uint64_t t, uint64_t noticed, const char *name,
		       const char *text)
{
	char time[24], late[48] = "", later[24];

	/* list each name once: later ones are mostly repetitions */
	for (unsigned int i = 0; i < s->nr_listed; i++) {
		const char *colon = strchr(s->listed[i], ':');

		if (colon && !strncmp(colon + 2, name, strlen(name)))
			return 0;
	}
	if (s->nr_listed == sizeof(s->listed) / sizeof(s->listed[0]))
		return 0;
	s->listed_at[s->nr_listed] = t;
	if (noticed != t)
		snprintf(late, sizeof(late), " (noticed at %s)", wm_time(noticed, later));
	snprintf(s->listed[s->nr_listed++], sizeof(s->listed[0]), "%s: %s: %s%s", wm_time(t, time),
		 name, text, late);
	return (int)s->nr_listed;
}

/* Adds what happened before a violation and caused it. */
static void add_cause(struct scanner *w, uint64_t t, const char *text)
{
	int number = add_to_list(w->s, t, t, "status register", text);
	struct pic_thing *x;

	if (!number)
		return;
	x = add_thing(w, PIC_VIOLATION, t, w->pos);
	x->bad = true;
	x->number = number;
	snprintf(x->text, sizeof(x->text), "status register");
	snprintf(x->tip, sizeof(x->tip), "status register at %llu ns: %s", (LL)t, text);
	if (w->s->t_bad == PIC_NEVER)
		w->s->t_bad = t;
}

/* ---- registers ---- */

static void on_status(struct scanner *w, size_t i)
{
	const struct wm_driver *d = wm_driver(w->run->c.driver);
	const struct pic_event *e = &w->run->events[i];
	const char *bits = e->text ? e->text : "";
	bool filled = w->due_t != PIC_NEVER && w->stop_at != PIC_NEVER && w->pos == w->stop_at;
	struct pic_thing *irq = NULL;
	struct pic_note *n;

	if (i && w->run->events[i - 1].what == AUXTAP_WM_IRQ)
		for (size_t k = w->s->nr_things; k-- && !irq;)
			if (w->s->things[k].kind == PIC_IRQ)
				irq = &w->s->things[k];
	if (irq)
		snprintf(irq->tip + strlen(irq->tip), sizeof(irq->tip) - strlen(irq->tip),
			 "; it finds status %#llx (%s), pointer at offset %lld", (LL)e->a,
			 *bits ? bits : "nothing set", (long long)e->b);
	n = NULL;
	if (e->c != PIC_NEVER && e->a & ~e->c) {
		n = add_note(w, e->time, w->pos);
		snprintf(n->text, sizeof(n->text),
			 "the driver clears the status register, and it still says %s",
			 *bits ? bits : "what it said");
	} else if (irq && filled && d->stop_bit && !strstr(bits, d->stop_bit)) {
		n = add_note(w, e->time, w->pos);
		snprintf(n->text, sizeof(n->text), "%s", d->no_stop_bit);
	} else if (irq && filled && d->wraps && e->b) {
		n = add_note(w, e->time, w->pos);
		snprintf(n->text, sizeof(n->text),
			 "wrapped: the write pointer should be at offset 0, and is at %llu",
			 (LL)e->b);
	}
	if (n)
		add_cause(w, e->time, n->text);
}

/* ---- the reader, losses, violations ---- */

static void on_read(struct scanner *w, const struct pic_event *e)
{
	struct pic_thing *x = add_thing(w, PIC_READ, e->time, e->a - e->b);
	struct pic_scan *s = w->s;
	char size[24];

	x->p1 = e->a;
	snprintf(x->text, sizeof(x->text), "%s", wm_size(e->b, size));
	snprintf(x->tip, sizeof(x->tip), "read: %llu bytes at %llu ns, tail %llu", (LL)e->b,
		 (LL)e->time, (LL)e->a);
	s->tail[s->nr_tail++] = (struct pic_point){e->time, w->tail, false};
	s->tail[s->nr_tail++] = (struct pic_point){e->time, e->a, false};
	w->tail = e->a;
	for (size_t i = 0; i < s->nr_things; i++)
		if (s->things[i].kind == PIC_PADDING && s->things[i].t1 == PIC_NEVER &&
		    s->things[i].p1 <= e->a)
			s->things[i].t1 = e->time;
}

static void on_loss(struct scanner *w, const struct pic_event *e)
{
	struct pic_thing *x = add_thing(w, PIC_LOSS, e->time > e->c ? e->time - e->c : 0, w->pos);
	const char *why = auxtap_watermark_loss_name((enum auxtap_watermark_loss)e->b);
	char size[24];

	x->t1 = e->time;
	snprintf(x->text, sizeof(x->text), "%s lost", wm_size(e->a, size));
	snprintf(x->tip, sizeof(x->tip), "lost: %llu bytes in %llu ns until %llu ns: %s", (LL)e->a,
		 (LL)e->c, (LL)e->time, why);
}

/*
 * The monitor reports a violation when no correct continuation is possible, which is later than the
 * cause. Finds the cause in the events before it.
 */
static void find_cause(const struct scanner *w, const struct pic_event *e, uint64_t *t, uint64_t *p)
{
	const struct pic_scan *s = w->s;

	switch ((enum auxtap_watermark_invariant)e->a) {
	case AUXTAP_INV_IRQ_AT_THRESHOLD: /* where the pointer reached the threshold */
		if (w->due_t != PIC_NEVER) {
			*t = w->due_t;
			*p = w->due_p;
		}
		break;
	case AUXTAP_INV_IRQ_IN_TIME: /* where the interrupt line was raised */
		for (size_t i = w->nr_lines; i--;)
			if (!w->lines[i].paired || w->lines[i].irq == e->time) {
				*t = w->lines[i].t;
				*p = w->lines[i].p;
			}
		break;
	case AUXTAP_INV_LIMIT_KEPT: /* where the pointer crossed the limit */
		if (e->c != PIC_NEVER && w->due_t != PIC_NEVER && w->due_p == e->c) {
			*t = w->due_t;
			*p = w->due_p;
		}
		break;
	case AUXTAP_INV_LOSS_FLAGGED: /* where the loss began, if it is over */
		for (size_t i = s->nr_things; i-- > 1;)
			if (s->things[i].kind == PIC_LOSS) {
				if (s->things[i].t1 == e->time) {
					*t = s->things[i].t0;
					*p = s->things[i].p0;
				}
				break;
			}
		break;
	case AUXTAP_INV_CONTENTS_TRUE: /* where bytes that are not padding were skipped */
		for (size_t i = s->nr_things; i-- > 1;)
			if (s->things[i].kind == PIC_PADDING && s->things[i].p0 <= *p &&
			    s->things[i].p1 > *p) {
				*t = s->things[i].t0;
				break;
			}
		break;
	default:
		break;
	}
}

static void on_violation(struct scanner *w, const struct pic_event *e)
{
	const struct auxtap_invariant_info *info =
		auxtap_watermark_get_invariant((enum auxtap_watermark_invariant)e->a);
	struct pic_scan *s = w->s;
	struct pic_thing *x;
	uint64_t at = e->b != PIC_NEVER ? e->b : w->pos, t = e->time, p = at;
	uint64_t area = w->run->c.nr_pages * w->run->c.page_size;
	int number;

	find_cause(w, e, &t, &p);
	x = add_thing(w, PIC_VIOLATION, e->time, at);
	x->bad = true;
	snprintf(x->text, sizeof(x->text), "%s", info->name);
	snprintf(x->tip, sizeof(x->tip), "%s (rules %s) at %llu ns: %s", info->name, info->rules,
		 (LL)e->time, e->text ? e->text : info->text);
	if (s->t_bad == PIC_NEVER)
		s->t_bad = e->time;
	number = add_to_list(s, t, e->time, info->name, e->text ? e->text : info->text);
	if (!number)
		return;
	if (t != e->time || p != at) { /* a dot here; the number where it began */
		struct pic_thing *first = add_thing(w, PIC_VIOLATION, t, p);

		*first = *x;
		first->t0 = first->t1 = t;
		first->p0 = first->p1 = p;
		x = first;
		if (s->t_bad > t)
			s->t_bad = t;
	}
	x->number = number;
	if (e->b != PIC_NEVER && e->c != PIC_NEVER && e->b != e->c) {
		struct pic_note *n = add_note(w, e->time, e->c);

		n->span = true;
		n->p1 = e->b;
		if (e->a == AUXTAP_INV_LIMIT_KEPT)
			snprintf(n->text, sizeof(n->text), "%llu bytes written beyond the limit",
				 (LL)(e->b - e->c));
		else if (e->a == AUXTAP_INV_UNREAD_KEPT)
			snprintf(n->text, sizeof(n->text), "%llu unread bytes written over",
				 (LL)(e->b - e->c));
		else
			snprintf(
				n->text, sizeof(n->text),
				"%strace due at offset %llu is stored at offset %llu: %llu bytes %s",
				e->c % area ? "" : "the area wraps: ", (LL)(e->c % area),
				(LL)(e->b % area), (LL)(e->b > e->c ? e->b - e->c : e->c - e->b),
				e->b > e->c ? "too far" : "back");
	}
	if (e->a == AUXTAP_INV_CONTENTS_TRUE)
		for (size_t i = s->nr_things; i--;)
			if (s->things[i].kind == PIC_PADDING && s->things[i].p0 <= at &&
			    s->things[i].p1 > at) {
				struct pic_note *n = add_note(w, t, p);

				s->things[i].bad = true;
				snprintf(
					n->text, sizeof(n->text),
					"these %llu bytes of padding, which the driver writes, were not filled: what was there before is read",
					(LL)(s->things[i].p1 - s->things[i].p0));
				break;
			}
	if (e->a == AUXTAP_INV_LOSS_FLAGGED || e->a == AUXTAP_INV_PROGRESS)
		snprintf(add_note(w, t, p)->text, sizeof(s->notes[0].text), "%s",
			 e->text ? e->text : info->text);
}

static void add_point(struct scanner *w, enum pic_kind kind, const struct pic_event *e,
		      const char *what)
{
	struct pic_thing *x = add_thing(w, kind, e->time, w->pos);

	snprintf(x->tip, sizeof(x->tip), "%s at %llu ns", what, (LL)e->time);
}

static void on_event(struct scanner *w, size_t i)
{
	const struct pic_event *e = &w->run->events[i];

	switch (e->what) {
	case AUXTAP_WM_BEGIN:
		on_begin(w, e);
		break;
	case AUXTAP_WM_THRESHOLDS:
		on_thresholds(w, e);
		break;
	case AUXTAP_WM_SKIP:
		on_skip(w, e);
		break;
	case AUXTAP_WM_THRESHOLD_HIT:
		on_threshold_hit(w, e);
		break;
	case AUXTAP_WM_IRQ_LINE:
		on_line(w, i);
		break;
	case AUXTAP_WM_IRQ:
		on_irq(w, e);
		break;
	case AUXTAP_WM_END:
		on_end(w, e);
		break;
	case AUXTAP_WM_RECORD:
	case AUXTAP_WM_RECORD_LOST:
		on_record(w, e);
		break;
	case AUXTAP_WM_READ:
		on_read(w, e);
		break;
	case AUXTAP_WM_LOSS:
		on_loss(w, e);
		break;
	case AUXTAP_WM_VIOLATION:
		on_violation(w, e);
		break;
	case AUXTAP_WM_STATUS:
		on_status(w, i);
		break;
	case AUXTAP_WM_WAKEUP:
		add_point(w, PIC_WAKEUP, e, "wakeup: the kernel wakes the reader");
		break;
	case AUXTAP_WM_REENABLE:
		add_point(w, PIC_ENABLE, e, "the reader enables the event again");
		break;
	case AUXTAP_WM_REFUSED:
		add_point(w, PIC_REFUSED, e, "refused: no space, no transaction");
		break;
	case AUXTAP_WM_SWITCH:
		end_bar(w, &w->runs, e->time);
		if (e->a)
			w->runs = add_bar(w, PIC_RUNS, e->time, 0, "the program runs");
		break;
	case AUXTAP_WM_FINDING:
		break;
	}
}

int pic_scan(struct pic_scan *s, const struct pic_run *run)
{
	size_t n = run->nr_events * 4 + 8; /* no event adds more than 4 of a kind */
	struct scanner *w;
	uint64_t tail = 0;

	memset(s, 0, sizeof(*s));
	s->t_bad = PIC_NEVER;
	w = calloc(1, sizeof(*w));
	s->things = calloc(n, sizeof(*s->things));
	s->pointer = calloc(n, sizeof(*s->pointer));
	s->tail = calloc(n, sizeof(*s->tail));
	s->notes = calloc(n, sizeof(*s->notes));
	if (!w || !s->things || !s->pointer || !s->tail || !s->notes || !run->nr_events) {
		free(w);
		return -ENOMEM;
	}
	w->s = s;
	w->run = run;
	s->nr_things = 1; /* the first one is not used */
	s->things[0].kind = PIC_NR_KINDS;
	s->t_end = run->events[run->nr_events - 1].time;
	for (size_t i = 0; i < run->nr_events; i++)
		if (run->events[i].what == AUXTAP_WM_READ) {
			tail = run->events[i].a - run->events[i].b;
			break;
		}
	w->tail = tail;
	s->tail[s->nr_tail++] = (struct pic_point){run->events[0].time, tail, true};
	w->begin = run->events[0].time;
	w->pos = tail;
	w->stop_at = w->int_at = w->due_t = PIC_NEVER;
	if (run->nr_before) /* earlier events are not drawn: the program may be running */
		w->runs = add_bar(w, PIC_RUNS, run->events[0].time, 0, "the program runs");
	for (size_t i = 0; i < run->nr_events; i++)
		on_event(w, i);
	s->tail[s->nr_tail++] = (struct pic_point){s->t_end, w->tail, false};
	note_delays(w);
	for (size_t i = 1; i < s->nr_things; i++)
		if (s->things[i].t1 == PIC_NEVER)
			s->things[i].t1 = s->t_end;
	pic_view(s, run);
	free(w);
	return 0;
}

void pic_scan_free(struct pic_scan *s)
{
	free(s->things);
	free(s->pointer);
	free(s->tail);
	free(s->notes);
}
