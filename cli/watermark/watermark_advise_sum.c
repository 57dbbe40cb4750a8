// SPDX-License-Identifier: BSD-2-Clause
/* Computes the AUX area that is needed for the trace generated before the reader frees space. */
#include "watermark_advise.h"
#include "watermark_driver.h"

#include <string.h>

#define NS 1000000000ull
typedef unsigned __int128 u128;

static uint64_t at_rate(uint64_t rate, uint64_t time_ns)
{
	return (uint64_t)(((u128)rate * time_ns + NS - 1) / NS);
}

/*
 * The trace within time_ns from the start of rates[first]. The window with the most trace starts or
 * ends where the rate changes.
 */
static uint64_t bytes_from(const struct auxtap_watermark_config *c, size_t first, uint64_t time_ns)
{
	uint64_t from = first ? c->rates[first - 1].time_ns : 0, bytes = 0, at = from;

	for (size_t i = first; i < c->nr_rates && at - from < time_ns; i++) {
		uint64_t end = c->rates[i].time_ns;

		if (end - from > time_ns)
			end = from + time_ns;
		bytes += at_rate(c->rates[i].rate, end - at);
		at = end;
	}
	return bytes;
}

static uint64_t bytes_until(const struct auxtap_watermark_config *c, size_t last, uint64_t time_ns)
{
	uint64_t to = c->rates[last].time_ns, bytes = 0, at = to;

	for (size_t i = last + 1; i-- > 0 && to - at < time_ns;) {
		uint64_t begin = i ? c->rates[i - 1].time_ns : 0;

		if (to - begin > time_ns)
			begin = to - time_ns;
		bytes += at_rate(c->rates[i].rate, at - begin);
		at = begin;
	}
	return bytes;
}

uint64_t advise_bytes_in(const struct auxtap_watermark_config *c, uint64_t time_ns)
{
	uint64_t most = 0;

	if (c->rates) {
		for (size_t i = 0; i < c->nr_rates; i++) {
			uint64_t a = bytes_from(c, i, time_ns), b = bytes_until(c, i, time_ns);

			most = a > most ? a : most;
			most = b > most ? b : most;
		}
		return most;
	}
	if (c->burst_ns && c->pause_ns) { /* the window starts with a burst */
		uint64_t cycle = c->burst_ns + c->pause_ns, rest = time_ns % cycle;

		return at_rate(c->rate, time_ns / cycle * c->burst_ns +
						(rest < c->burst_ns ? rest : c->burst_ns));
	}
	return at_rate(c->rate, time_ns);
}

uint64_t advise_mean_rate(const struct auxtap_watermark_config *c)
{
	if (c->rates) {
		uint64_t end = c->rates[c->nr_rates - 1].time_ns;

		return end ? (uint64_t)((u128)bytes_from(c, 0, end) * NS / end) : 0;
	}
	if (c->burst_ns && c->pause_ns)
		return (uint64_t)((u128)c->rate * c->burst_ns / (c->burst_ns + c->pause_ns));
	return c->rate;
}

void advise_compute_need(const struct auxtap_watermark_config *c, uint64_t watermark,
			 struct advise_need *s)
{
	uint64_t sleep_ns = c->reader_latency_ns + c->reader_jitter_ns, per_watermark;
	bool arm = wm_driver(c->driver)->stops;

	*s = (struct advise_need){.watermark = watermark};
	s->overshoot =
		advise_bytes_in(c, c->irq_latency_ns + c->irq_jitter_ns) + c->setup.irq_delay_bytes;
	/*
	 * An Arm unit stores nothing between interrupt and handler, but time passes: this much
	 * trace is generated per watermark.
	 */
	per_watermark = watermark + (arm ? s->overshoot : 0);
	s->while_asleep = advise_bytes_in(c, sleep_ns);
	s->copied = watermark * (1 + s->while_asleep / per_watermark);
	s->copy_ns = c->reader_rate ? (uint64_t)((u128)s->copied * NS / c->reader_rate) : 0;
	s->until_read = advise_bytes_in(c, sleep_ns + s->copy_ns);
	s->nr_passed = s->until_read / per_watermark;
	s->unread = watermark * (1 + s->nr_passed);
	/*
	 * PT: the STOP that is set then must be after the driver's next interrupt (H4). Arm: the
	 * next limit is at least a page before the reader's tail, because the free byte of D5
	 * costs a page (I3).
	 */
	s->need = s->unread + watermark + (arm ? c->page_size : s->overshoot);
}

/* perf 6.1 uses a quarter for PT; for others it sets none, so the kernel uses half (C2). */
uint64_t advise_perf_watermark(const char *driver, uint64_t area)
{
	uint64_t watermark = area / wm_driver(driver)->perf_parts;

	return watermark > UINT32_MAX ? UINT32_MAX : watermark;
}
