// SPDX-License-Identifier: BSD-2-Clause
/* Chooses what the drawing shows first: some transactions around the first violation. */
#include "watermark_picture.h"

static uint64_t nth_begin_before(const struct pic_run *r, uint64_t t, unsigned int n)
{
	uint64_t at = r->events[0].time, last = PIC_NEVER;

	for (size_t i = r->nr_events; i--;) {
		const struct pic_event *e = &r->events[i];

		if (e->what != AUXTAP_WM_BEGIN || e->time > t || e->time == last)
			continue;
		last = at = e->time;
		if (!--n)
			break;
	}
	return at;
}

static uint64_t nth_end_after(const struct pic_run *r, uint64_t t, unsigned int n)
{
	for (size_t i = 0; i < r->nr_events; i++)
		if (r->events[i].what == AUXTAP_WM_END && r->events[i].time > t && !--n)
			return r->events[i].time;
	return r->events[r->nr_events - 1].time;
}

static void choose_time(struct pic_scan *s, const struct pic_run *r)
{
	uint64_t span, end;

	s->t0 = r->events[0].time;
	if (s->t_bad == PIC_NEVER) {
		s->t1 = nth_end_after(r, s->t0, 6);
	} else {
		s->t0 = nth_begin_before(r, s->t_bad, 3);
		span = s->t_bad > s->t0 ? s->t_bad - s->t0 : 1;
		s->t1 = s->t_bad + span * 2 / 5;
		end = nth_end_after(r, s->t_bad, 2);
		if (end < s->t_bad + span && end > s->t1)
			s->t1 = end + span / 20;
		for (unsigned int i = 0; i < s->nr_listed; i++)
			if (s->listed_at[i] > s->t1 && s->listed_at[i] < s->t_bad + span * 3 / 2)
				s->t1 = s->listed_at[i] + span / 5;
		for (size_t i = 0; i < s->nr_notes; i++)
			if (s->notes[i].t0 <= s->t_bad && s->notes[i].t1 > s->t1 &&
			    s->notes[i].t1 - s->t0 <= 5 * span)
				s->t1 = s->notes[i].t1 + span / 5;
	}
	if (s->t1 <= s->t0)
		s->t1 = s->t0 + 1000;
	span = (s->t1 - s->t0) / 40;
	s->t0 = s->t0 > span ? s->t0 - span : 0;
	s->t1 += span;
}

static void include_position(struct pic_scan *s, uint64_t p)
{
	if (p == PIC_NEVER)
		return;
	if (p < s->p0)
		s->p0 = p;
	if (p > s->p1)
		s->p1 = p;
}

static void choose_positions(struct pic_scan *s)
{
	uint64_t margin, far;

	s->p0 = PIC_NEVER;
	s->p1 = 0;
	for (size_t i = 0; i < s->nr_pointer; i++)
		if (s->pointer[i].t >= s->t0 && s->pointer[i].t <= s->t1)
			include_position(s, s->pointer[i].p);
	for (size_t i = 0; i < s->nr_things; i++)
		if (s->things[i].kind == PIC_INT && s->things[i].t0 <= s->t1 &&
		    s->things[i].t1 >= s->t0)
			include_position(s, s->things[i].p0);
	for (size_t i = 0; i < s->nr_notes; i++)
		if (s->notes[i].t0 >= s->t0 && s->notes[i].t0 <= s->t1) {
			include_position(s, s->notes[i].p0);
			include_position(s, s->notes[i].p1);
		}
	if (s->p0 == PIC_NEVER)
		s->p0 = 0;
	if (s->p1 <= s->p0)
		s->p1 = s->p0 + 4096;
	/* do not include a limit far away: the rest would be too small */
	far = s->p1 + (s->p1 - s->p0) * 3 / 2;
	for (size_t i = 0; i < s->nr_things; i++)
		if (s->things[i].kind == PIC_STOP && s->things[i].t0 <= s->t1 &&
		    s->things[i].t1 >= s->t0 && s->things[i].p0 <= far)
			include_position(s, s->things[i].p0);
	margin = (s->p1 - s->p0) / 12;
	s->p0 = s->p0 > margin ? s->p0 - margin : 0;
	s->p1 += margin;
}

void pic_view(struct pic_scan *s, const struct pic_run *run)
{
	choose_time(s, run);
	choose_positions(s);
}
