// SPDX-License-Identifier: BSD-2-Clause
/* See conform.h. Random scripts: a mostly valid start, then anything. */
#include "conform.h"
#include <string.h>

struct plan {
	uint64_t rng;
	int cpu, nr_events;
	bool task, threads, swaps, limits;
	int bound_cpu; /* of the events: -1 any */
	uint64_t aux_watermark;
	unsigned int diligence; /* how often the reader of records reads, percent */
	/* as the script assumes it */
	int map_data, map_aux; /* mappings of event 0; -1: none */
	uint64_t data_pages, aux_size, aux_off;
	bool backward;
	int faults; /* slot of an event of page faults; 0: none */
};

static uint64_t dice(struct plan *p, uint64_t n)
{
	p->rng ^= p->rng << 13;
	p->rng ^= p->rng >> 7;
	p->rng ^= p->rng << 17;
	return (p->rng >> 11) % n;
}

static bool chance(struct plan *p, unsigned int percent)
{
	return dice(p, 100) < percent;
}

static void add(struct script *s, enum opcode code, int64_t a, int64_t b, int64_t c, int64_t d,
		int64_t e, int64_t f)
{
	struct op op = {.code = code, .arg = {a, b, c, d, e, f}};

	script_add(s, &op);
}
#define ADD(code, ...) add_args(s, code, (int64_t[NR_ARGS]){__VA_ARGS__})
static void add_args(struct script *s, enum opcode code, const int64_t *args)
{
	add(s, code, args[0], args[1], args[2], args[3], args[4], args[5]);
}

static int pick_pmu(struct plan *p, int slot)
{
	uint64_t d = dice(p, 100);

	if (slot && d < 15)
		return PMU_FAULTS;
	if (slot && d < 35)
		return PMU_DUMMY;
	if (d < 70)
		return CONFORM_PLAIN;
	if (d < 82)
		return CONFORM_NO_SG;
	if (d < 95)
		return CONFORM_ITRACE;
	return CONFORM_NO_AUX;
}

/* Watermarks: none, odd, a power of two, more than the area. */
static uint64_t pick_watermark(struct plan *p, uint64_t size)
{
	switch (dice(p, 6)) {
	case 0:
	case 1:
		return 0;
	case 2:
		return 1 + dice(p, 200);
	case 3:
		return 1 + dice(p, 2 * size);
	default:
		return PAGE << dice(p, 5);
	}
}

static void open_event(struct plan *p, struct script *s, int slot)
{
	struct op op = {.code = OP_OPEN};

	op.arg[A_EVENT] = slot;
	op.arg[A_PMU] = pick_pmu(p, slot);
	if (op.arg[A_PMU] == PMU_FAULTS)
		p->faults = slot;
	op.arg[A_TASK] = chance(p, 8) ? !p->task : p->task;
	op.arg[A_CPU] = chance(p, 8) ? (int64_t)dice(p, 3) - 1 : p->bound_cpu;
	if (chance(p, 12))
		op.arg[A_CONFIG] |= CONFORM_AUTO;
	if (chance(p, 2))
		op.arg[A_CONFIG] |= CONFORM_FAIL_SETUP;
	if (chance(p, 60))
		op.arg[A_CONFIG] |= CONFORM_STARTED;
	op.arg[A_DISABLED] = chance(p, 12);
	op.arg[A_INHERIT] = p->swaps || chance(p, p->threads ? 80 : 5);
	op.arg[A_PINNED] = chance(p, 8);
	if (op.arg[A_PINNED] && chance(p, 60)) /* so that its add may fail (Q5) */
		op.arg[A_CONFIG] |= CONFORM_AUTO;
	if (chance(p, 1))
		op.arg[A_AUX_ACTION] = (int64_t)dice(p, 9);
	op.arg[A_COMM] = chance(p, 85);
	op.arg[A_MMAP] = chance(p, 30);
	op.arg[A_MMAP2] = op.arg[A_MMAP] && chance(p, 60);
	op.arg[A_BACKWARD] = chance(p, 4) ? !p->backward : p->backward;
	op.arg[A_ID_ALL] = chance(p, 60);
	op.arg[A_SAMPLE_TYPE] =
		(int64_t)(dice(p, 1 << 17) &
			  (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
			   PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER));
	op.arg[A_WATERMARK] = chance(p, 35);
	if (op.arg[A_WATERMARK])
		op.arg[A_WAKEUP] =
			(int64_t)(chance(p, 20) ? 0 : dice(p, chance(p, 50) ? 500 : 12000));
	else if (chance(p, 20))
		op.arg[A_WAKEUP] = 1 + (int64_t)dice(p, 3);
	op.arg[A_AUX_WATERMARK] = (int64_t)p->aux_watermark;
	op.arg[A_READ_FORMAT] = PERF_FORMAT_LOST | (chance(p, 50) ? PERF_FORMAT_ID : 0);
	op.arg[A_CLOCK] = chance(p, 5);
	op.arg[A_GROUP] = slot && chance(p, 12); /* in the group of event 0 */
	script_add(s, &op);
}

static void map_data(struct plan *p, struct script *s, int map, int slot)
{
	uint64_t pages = chance(p, map ? 75 : 95) ? p->data_pages : dice(p, 10);

	ADD(OP_MAP, map, slot, (int64_t)((pages + 1) * PAGE - (chance(p, 3) ? dice(p, PAGE) : 0)),
	    0, !chance(p, map ? 20 : 6), chance(p, 2));
}

static void map_aux(struct plan *p, struct script *s, int data, int map, int slot)
{
	uint64_t off = p->aux_off, size = p->aux_size, wrong = dice(p, 40);

	ADD(OP_ANNOUNCE, data, (int64_t)(wrong == 0 ? off - PAGE * dice(p, 6) : off),
	    (int64_t)(wrong == 1 ? size + dice(p, 4) * 1024 : size));
	if (wrong == 2)
		off += PAGE * (1 + dice(p, 3));
	if (wrong == 3)
		size = PAGE * dice(p, 40);
	ADD(OP_MAP, map, slot, (int64_t)size, (int64_t)off, !chance(p, 25), chance(p, 1));
}

static uint64_t some_size(struct plan *p)
{
	switch (dice(p, 8)) {
	case 0:
		return 0;
	case 1:
		return p->aux_watermark ? p->aux_watermark - 1 + dice(p, 3) : p->aux_size / 2;
	case 2:
		return dice(p, p->aux_size + 1);
	case 3:
		return p->aux_size - dice(p, 3) + dice(p, 5);
	case 4:
		return chance(p, 10) ? dice(p, 1ull << 33) : dice(p, 16);
	default:
		return dice(p, p->aux_size / 8 + 1);
	}
}

static void transaction(struct plan *p, struct script *s, int slot)
{
	if (chance(p, 40))
		ADD(OP_ATAIL, p->map_data, TAIL_ALL);
	ADD(OP_BEGIN, slot);
	while (chance(p, 30))
		ADD(OP_SKIP, slot, chance(p, 20), (int64_t)some_size(p));
	if (chance(p, 30))
		ADD(OP_FLAG, slot, 1ll << dice(p, 4));
	if (chance(p, 10))
		ADD(OP_FLAG, slot, (int64_t)(dice(p, 256) << 8));
	if (chance(p, 25))
		ADD(OP_HEAD, slot,
		    (int64_t)(chance(p, 80) ? dice(p, p->aux_size + 1) : dice(p, 1ull << 40)));
	ADD(OP_END, slot, chance(p, 30), (int64_t)some_size(p));
}

/* D21: a reader that drains, and enables the event again. */
static void recover(struct plan *p, struct script *s, int slot, int map)
{
	if (chance(p, p->diligence))
		ADD(OP_DTAIL, map, TAIL_ALL);
	ADD(OP_ATAIL, map, TAIL_ALL);
	if (chance(p, 50))
		ADD(OP_DISABLE, slot);
	ADD(OP_ENABLE, slot);
}

/* Unmaps the whole area and maps it again, and perhaps the ring. */
static void map_anew(struct plan *p, struct script *s)
{
	ADD(OP_UNMAP, p->map_aux);
	if (chance(p, 50)) {
		ADD(OP_UNMAP, p->map_data);
		map_data(p, s, p->map_data, 0);
	}
	map_aux(p, s, p->map_data, p->map_aux, 0);
}

static void some_limits(struct plan *p, struct script *s)
{
	if (chance(p, 60))
		ADD(OP_LIMITS, (int64_t)dice(p, chance(p, 80) ? 12 : 60) * 4,
		    (int64_t)(dice(p, 24) * PAGE + dice(p, 2)),
		    chance(p, 10) ? -1 : (int64_t)dice(p, 4));
	if (chance(p, 60))
		ADD(OP_USER, chance(p, 5) ? 0 : 1 + (int64_t)dice(p, NR_USERS - 1), chance(p, 10));
}

static void any_step(struct plan *p, struct script *s)
{
	int slot = chance(p, 75) ? 0 : (int)dice(p, (uint64_t)p->nr_events);
	int map = chance(p, 85) ? p->map_data : (int)dice(p, NR_MAPS);
	uint64_t d = dice(p, 1000);

	if (p->limits && chance(p, 3)) {
		some_limits(p, s);
		if (chance(p, 70))
			map_anew(p, s);
		return;
	}
	if (p->threads && chance(p, 10)) {
		ADD(OP_TURN, (int64_t)dice(p, 2));
		return;
	}
	if (p->threads && chance(p, 2)) {
		ADD(OP_TURN, 0);
		ADD(chance(p, 30) ? OP_EXIT : OP_FORK, 0);
		return;
	}
	if (d < 220)
		transaction(p, s, slot);
	else if (d < 260)
		ADD(OP_BEGIN, slot);
	else if (d < 290)
		ADD(OP_END, slot, chance(p, 30), (int64_t)some_size(p));
	else if (d < 310)
		ADD(OP_SKIP, slot, chance(p, 20), (int64_t)some_size(p));
	else if (d < 320)
		ADD(OP_FLAG, slot, (int64_t)dice(p, 0x10000));
	else if (d < 375)
		recover(p, s, slot, map);
	else if (d < 390)
		ADD(OP_ATSTOP, slot, (int64_t)some_size(p),
		    (int64_t)(chance(p, 50) ? 0 : 1 << dice(p, 4)));
	else if (d < 400)
		ADD(OP_GET, slot);
	else if (d < 490 && !chance(p, p->diligence))
		ADD(OP_COMM, 8 + (int64_t)dice(p, 8));
	else if (d < 460)
		ADD(OP_DTAIL, map, TAIL_ALL);
	else if (d < 490)
		ADD(OP_DTAIL, map, TAIL_PART, (int64_t)(dice(p, 512) * 8));
	else if (d < 500)
		ADD(OP_DTAIL, map, chance(p, 50) ? TAIL_VALUE : TAIL_NEAR,
		    chance(p, 50) ? (int64_t)dice(p, 1ull << 52) * 999 :
				    (int64_t)dice(p, 8192) - 4096);
	else if (d < 580)
		ADD(OP_ATAIL, map, TAIL_ALL);
	else if (d < 620)
		ADD(OP_ATAIL, map, TAIL_PART, (int64_t)dice(p, p->aux_size * 2));
	else if (d < 632)
		ADD(OP_ATAIL, map, TAIL_VALUE, (int64_t)dice(p, 1ull << 52) * 999);
	else if (d < 645)
		ADD(OP_ATAIL, map, TAIL_NEAR,
		    (int64_t)dice(p, 4) - 2 - (chance(p, 50) ? (int64_t)p->aux_size : 0));
	else if (d < (p->faults ? 680 : 745))
		ADD(OP_COMM, (int64_t)dice(p, 16));
	else if (d < 750 && p->faults)
		ADD(OP_SAMPLE, p->faults, (int64_t)dice(p, 9));
	else if (d < 770)
		ADD(OP_FILE, (int64_t)dice(p, 3));
	else if (d < 820)
		ADD(OP_POLL, slot);
	else if (d < 850)
		ADD(OP_READ, slot);
	else if (d < 900)
		ADD(OP_ENABLE, slot);
	else if (d < 915)
		ADD(OP_DISABLE, slot);
	else if (d < 928)
		ADD(OP_PAUSE, slot, chance(p, 40));
	else if (d < 942)
		ADD(OP_OUTPUT, (int64_t)dice(p, (uint64_t)p->nr_events),
		    (int64_t)dice(p, (uint64_t)p->nr_events + 1) - 1);
	else if (d < 955)
		map_data(p, s, 2 + (int)dice(p, NR_MAPS - 2), (int)dice(p, (uint64_t)p->nr_events));
	else if (d < 968)
		map_aux(p, s, map, 2 + (int)dice(p, NR_MAPS - 2),
			chance(p, 70) ? 0 : (int)dice(p, (uint64_t)p->nr_events));
	else if (d < 974)
		ADD(OP_UNMAP, 2 + (int64_t)dice(p, NR_MAPS - 2));
	else if (d < 980)
		ADD(OP_UNMAP, (int64_t)dice(p, 2));
	else if (d < 986)
		open_event(p, s, (int)dice(p, NR_EVENTS));
	else if (d < 989)
		ADD(OP_CLOSE, chance(p, 30) ? 0 : 1 + (int64_t)dice(p, NR_EVENTS - 1));
	else if (d < 992) {
		ADD(OP_CPU, !p->cpu);
		for (int i = 0; i < 4; i++)
			ADD(chance(p, 50) ? OP_BEGIN : OP_COMM, slot);
		ADD(OP_UNMAP, (int64_t)dice(p, NR_MAPS));
		if (chance(p, 80))
			ADD(OP_CPU, p->cpu);
	} else
		map_anew(p, s);
}

void script_generate(struct script *s, uint64_t seed)
{
	struct plan plan = {.rng = seed * 0x9e3779b97f4a7c15ull + 0x1234567, .map_aux = 1},
		    *p = &plan;
	int steps;

	memset(s, 0, sizeof(*s));
	for (int i = 0; i < 8; i++)
		dice(p, 2);
	p->cpu = (int)dice(p, 2);
	p->task = chance(p, 25);
	p->bound_cpu = p->task && chance(p, 60) ? -1 : p->cpu;
	p->threads = chance(p, 20);
	if (p->threads) {
		p->task = true;
		p->bound_cpu = p->cpu;
	}
	p->nr_events = 1 + (int)dice(p, 3);
	p->data_pages = chance(p, 60) ? 1 : 1ull << dice(p, 4);
	p->aux_size = PAGE << (chance(p, 5) ? 6 + dice(p, 6) : dice(p, 6));
	p->aux_off = (p->data_pages + 1) * PAGE + (chance(p, 10) ? PAGE * dice(p, 100) : 0);
	p->aux_watermark = pick_watermark(p, p->aux_size);
	p->backward = chance(p, 12);
	p->swaps = p->threads && chance(p, 50);
	p->limits = chance(p, 8);
	ADD(OP_CPU, p->cpu);
	if (p->swaps)
		ADD(OP_HOLD, 0);
	if (p->limits)
		some_limits(p, s);
	for (int i = 0; i < p->nr_events; i++)
		open_event(p, s, i);
	if (chance(p, 10)) /* before there is a ring, or an area in its future ring (B6) */
		ADD(OP_MAP, 2, 0, (int64_t)p->aux_size, (int64_t)p->aux_off, 1, 0);
	if (!chance(p, 3))
		map_data(p, s, 0, 0);
	if (!chance(p, 5))
		map_aux(p, s, 0, 1, 0);
	for (int i = 1; i < p->nr_events; i++)
		if (chance(p, 60))
			ADD(OP_OUTPUT, i, 0);
	if (p->threads)
		ADD(OP_FORK, 0);
	p->diligence = (unsigned int)dice(p, 101);
	if (chance(p, 50))
		p->diligence = 0;
	steps = 20 + (int)dice(p, chance(p, 30) ? 1000 : 150);
	for (int i = 0; i < steps; i++)
		any_step(p, s);
}
