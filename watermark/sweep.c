// SPDX-License-Identifier: BSD-2-Clause
/* The standard sweep: its machines, areas, watermarks and readers. */
#include "sim.h"

#define SIZE sizeof(struct auxtap_sweep_machine)

static const struct auxtap_sweep_machine machines[] = {
	{SIZE, "intel_pt", 4096}, {SIZE, "arm_spe", 4096}, {SIZE, "arm_spe", 16384},
	{SIZE, "arm_spe", 65536}, {SIZE, "trbe", 4096},	   {SIZE, "trbe", 16384},
	{SIZE, "trbe", 65536},
};

const struct auxtap_sweep_machine *auxtap_watermark_get_machine(size_t index)
{
	return index < sizeof(machines) / sizeof(machines[0]) ? &machines[index] : NULL;
}

struct watermarks {
	uint64_t at[AUXTAP_SWEEP_WATERMARKS];
	unsigned int nr;
};

static void add(struct watermarks *m, uint64_t watermark)
{
	if (m->nr == AUXTAP_SWEEP_WATERMARKS || watermark > UINT32_MAX)
		return;
	for (unsigned int i = 0; i < m->nr; i++)
		if (m->at[i] == watermark)
			return;
	m->at[m->nr++] = watermark;
}

/* Adds k/n of the area, k from 1 to n: whole pages, parts of pages; for odd n, unaligned sizes. */
static void add_parts(struct watermarks *m, uint64_t area, uint64_t n)
{
	for (uint64_t k = 1; k <= n; k++)
		add(m, area / n * k + (n & 1 ? k : 0));
}

static void fill(struct watermarks *m, uint64_t page, uint64_t area)
{
	add(m, 0);
	add(m, 1);
	add(m, 100);
	add(m, 6000);
	for (int by = -1; by <= 1; by++) {
		add(m, page + (uint64_t)by);
		add(m, 3 * page + (uint64_t)by);
		add(m, area + (uint64_t)by);
		add(m, area / 2 + (uint64_t)by);
	}
	add(m, page + page / 2);
	add(m, 2 * area);
	add(m, 4 * area - page);
	add_parts(m, area, 32);
	for (uint64_t n = 3; m->nr < AUXTAP_SWEEP_WATERMARKS; n += 2)
		add_parts(m, area, n);
}

int auxtap_watermark_sweep_config(struct auxtap_watermark_config *config, const char *driver,
				  uint64_t page_size, unsigned int area, unsigned int watermark,
				  unsigned int reader)
{
	static const struct {
		uint64_t times, parts;
	} latency[AUXTAP_SWEEP_READERS] = {{0, 1}, {1, 8}, {1, 2}, {2, 1}};
	const struct sim_driver *d = sim_driver_find(driver);
	struct auxtap_watermark_config copy, *c = &copy;
	struct watermarks watermarks = {0};
	uint64_t fill_ns, bytes;

	config_typical(c, driver);
	c->page_size = page_size;
	c->nr_pages = 2ull << (area % AUXTAP_SWEEP_AREAS);
	bytes = c->nr_pages * page_size;
	fill(&watermarks, page_size, bytes);
	c->watermark = watermarks.at[watermark % AUXTAP_SWEEP_WATERMARKS];
	c->rate = 1000000000;
	fill_ns = bytes;
	c->irq_latency_ns = 1000;
	c->irq_jitter_ns = 200;
	c->setup.irq_delay_bytes = d ? d->sweep_overshoot : 0;
	reader %= AUXTAP_SWEEP_READERS;
	c->reader_latency_ns = fill_ns * latency[reader].times / latency[reader].parts;
	c->reader_jitter_ns = c->reader_latency_ns / 8;
	c->reader_rate = reader ? 4000000000 : 0;
	c->seed = 1 + watermark + 64ull * area;
	c->max_bytes = 0;
	c->max_transactions = 96;
	c->max_ns = 40 * fill_ns;
	return config_copy_out(config, c);
}
