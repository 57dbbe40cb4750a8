// SPDX-License-Identifier: BSD-2-Clause
#include "support_a64.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MAX_RECORDS 200000

u64 a64_random(u64 *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed >> 11;
}

/* ---- the program ---- */

static u32 encode_branch(u32 op, s64 disp)
{
	u32 words = (u32)(disp / 4);

	switch (op >> 24) {
	case 0x14:
	case 0x94:
		return op | (words & 0x3ffffff);
	case 0x36:
	case 0x37:
	case 0xb6:
	case 0xb7:
		return op | (words & 0x3fff) << 5;
	default:
		return op | (words & 0x7ffff) << 5;
	}
}

/* The words that end a block; direct branches without their displacement. */
static u32 random_end(u64 *seed, bool kernel)
{
	/* clang-format off */
	static const u32 ends[] = {
		0x54000000, 0x54000001, 0x5400000b, 0x34000003, 0xb5000009, 0x36180004, 0xb7480011,
		0x14000000, 0x14000000, 0x94000000, 0x94000000, 0x94000000,
		0xd61f0200, 0xd71f0a11, 0xd61f0e3f, /* br, braa, brabz */
		0xd63f0020, 0xd73f0c41, 0xd63f085f, /* blr, blrab, blraaz */
		/* ret, retaa, ret x17 */
		0xd65f03c0, 0xd65f03c0, 0xd65f03c0, 0xd65f0bff, 0xd65f0220,
		0xd5033fdf, 0xd503207f, 0xd503205f, /* isb, wfi, wfe */
		0xd4000001, 0xd4000001, /* svc; eret in the kernel */
	};
	/* clang-format on */
	u32 nr = sizeof(ends) / sizeof(ends[0]), end = ends[a64_random(seed) % nr];

	if (kernel && end == 0xd4000001)
		return a64_random(seed) & 1 ? 0xd69f03e0 : 0xd69f0bff;
	return end;
}

static void make_region(struct a64_program *program, int region, u64 *seed)
{
	static const u32 plain[] = {0xd503201f, 0x8b020020, 0xf9400021, 0xd5033fbf, 0xd503245f};
	u32 *code = program->code[region], *block = program->block[region], nr = 0;
	u32 at = 0;

	while (at + 40 < A64_REGION_WORDS) {
		u32 max = a64_random(seed) % 16 ? 5 : 30, len = a64_random(seed) % max;

		block[nr++] = at;
		while (len--)
			code[at++] = plain[a64_random(seed) % 5];
		code[at++] = random_end(seed, region == A64_KERNEL);
	}
	block[nr++] = at;
	code[at] = 0xd65f03c0; /* execution stops at the end */
	program->nr_blocks[region] = nr;
	for (at = 0; at < A64_REGION_WORDS; at++) {
		s64 to;

		if (!a64_is_direct(a64_insn_decode(code[at]).cls))
			continue;
		/* mostly near targets, as in real code; also itself and the next one */
		to = (s64)at + (s64)(a64_random(seed) % 64) - 32;
		if (!(a64_random(seed) % 4) || to < 0 || to > (s64)block[nr - 1])
			to = block[a64_random(seed) % nr];
		code[at] = encode_branch(code[at], 4 * (to - (s64)at));
	}
}

void a64_program_make(struct a64_program *program, u64 seed)
{
	static const u64 bases[A64_NR_REGIONS] = {0x400000, 0xaaaac0de7000, 0xffff8123e000,
						  0xffff800008081000};

	memset(program, 0, sizeof(*program));
	seed = seed * 0x9e3779b97f4a7c15 + 1;
	for (int i = 0; i < A64_NR_REGIONS; i++) {
		program->base[i] = bases[i];
		make_region(program, i, &seed);
	}
}

static const u32 *word_at(const struct a64_program *program, u64 addr, u64 *nr_left)
{
	for (int i = 0; i < A64_NR_REGIONS; i++) {
		u64 off = addr - program->base[i];

		if (off < sizeof(program->code[i])) {
			*nr_left = sizeof(program->code[i]) - off;
			return &program->code[i][off / 4];
		}
	}
	return NULL;
}

u32 a64_program_read(const struct a64_program *program, u64 addr, u32 nr, u8 *bytes)
{
	u64 nr_left = 0;
	const u32 *word = word_at(program, addr, &nr_left);

	if (!word)
		return 0;
	if (nr > nr_left)
		nr = (u32)nr_left;
	memcpy(bytes, (const u8 *)word + addr % 4, nr);
	return nr;
}

/* ---- the machine ---- */

static bool chance(struct a64_machine *m, unsigned int per_mille)
{
	return a64_random(&m->seed) % 1000 < per_mille;
}

static u64 random_block(struct a64_machine *m)
{
	int region = m->el ? A64_KERNEL : (int)(a64_random(&m->seed) % A64_KERNEL);
	const struct a64_program *p = m->program;

	return p->base[region] + 4 * p->block[region][a64_random(&m->seed) % p->nr_blocks[region]];
}

static bool traced(const struct a64_machine *m)
{
	return !(m->run.victlr >> (TRCVICTLR_EXLEVEL_NS_SHIFT + m->el) & 1);
}

static void begin_call(struct a64_machine *m)
{
	m->call_start = m->nr_executed;
	m->call_p0 = m->nr_p0;
}

static void retired(struct a64_machine *m, u64 addr)
{
	m->clock += 1 + (m->run.max_idle ? a64_random(&m->seed) % (m->run.max_idle + 1u) : 0);
	if (!traced(m))
		return;
	m->executed_ip[m->nr_executed] = addr;
	m->executed_clock[m->nr_executed] = m->clock;
	m->executed_cid[m->nr_executed] = m->cid;
	m->nr_executed++;
}

static void note_p0(struct a64_machine *m)
{
	m->p0[m->nr_p0++ % 64] = m->nr_executed;
}

static void on_write(void *ctx, const u8 *bytes, size_t nr_bytes)
{
	struct a64_machine *m = ctx;
	size_t at = etm_find_sync(bytes, nr_bytes, 0);
	struct a64_sync *sync = &m->syncs[m->nr_syncs];

	if (at == nr_bytes)
		return;
	assert_true(m->nr_syncs < MAX_RECORDS);
	m->nr_syncs++;
	sync->offset = m->stream.nr + at;
	sync->first_insn = m->nr_executed;
	if (m->overflow_pending) { /* the first packets after an overflow */
		m->overflow_pending = false;
		sync->first_insn = m->call_start;
		m->losses[m->nr_losses - 1].resume = m->call_start;
		m->nr_p0_resumed = m->call_p0;
	}
	sync->exceptions = m->nr_exceptions;
	sync->losses = m->nr_losses;
	assert_int_equal(etm_find_sync(bytes, nr_bytes, at + 1), nr_bytes);
}

static void inject_overflow(struct a64_machine *m)
{
	if (m->overflow_pending || !m->unit.active || !m->nr_p0)
		return;
	assert_true(m->nr_losses < MAX_RECORDS);
	if (m->nr_losses && m->nr_p0 - etm_nr_pending(&m->unit.enc) == m->nr_p0_resumed) {
		m->syncs[m->nr_syncs - 1].in_loss = true; /* one loss for both decoders */
		m->losses[m->nr_losses - 1].restart = false;
	} else {
		m->losses[m->nr_losses++].last =
			m->p0[(m->nr_p0 - 1 - etm_nr_pending(&m->unit.enc)) % 64];
	}
	m->overflow_pending = true;
	etm_unit_inject_overflow(&m->unit);
}

static void switch_off_and_on(struct a64_machine *m)
{
	assert_int_equal(etm_unit_write(&m->unit, TRCPRGCTLR, 0), 0);
	m->clock += 100;
	assert_int_equal(etm_unit_write(&m->unit, TRCPRGCTLR, TRCPRGCTLR_EN), 0);
	m->nr_restarts++;
}

/* Instructions since the last P0 element are lost. */
static void restart(struct a64_machine *m)
{
	struct a64_loss *loss = &m->losses[m->nr_losses];

	if (m->overflow_pending || !m->unit.active || !m->nr_p0)
		return;
	assert_true(m->nr_losses < MAX_RECORDS);
	m->nr_losses++;
	loss->restart = true;
	loss->last = m->p0[(m->nr_p0 - 1) % 64];
	if (m->nr_losses > 1 && m->nr_p0 == m->nr_p0_resumed)
		loss->last = loss[-1].resume; /* nothing was traced since */
	loss->resume = m->nr_executed;
	loss->offset = m->stream.nr;
	switch_off_and_on(m);
	m->nr_p0_resumed = m->nr_p0;
}

/* Enters EL1 and, if EL1 is not traced, returns. */
static void exception(struct a64_machine *m, enum etm_exception type, u64 preferred_return,
		      u64 back)
{
	bool was = m->unit.active;

	begin_call(m);
	etm_unit_exception(&m->unit, type, preferred_return);
	if (was) {
		assert_true(m->nr_exceptions < MAX_RECORDS);
		m->exceptions[m->nr_exceptions++] =
			(struct a64_exception){m->nr_executed, preferred_return, type};
		note_p0(m);
	}
	if (chance(m, m->run.restart))
		switch_off_and_on(m);
	if (m->el) { /* nested: the kernel continues where it was */
		m->clock += 5;
		m->ip = back;
		etm_unit_enter(&m->unit, 1, back);
		return;
	}
	m->clock += a64_random(&m->seed) % 3000;
	m->elr = back;
	if (!(a64_random(&m->seed) % 4)) {
		m->cid = (u32)a64_random(&m->seed);
		etm_unit_set_context(&m->unit, m->cid, m->cid ^ 0xff);
	}
	m->el = 1;
	if (traced(m)) {
		m->ip = random_block(m);
	} else {
		m->el = 0;
		m->ip = back;
	}
	begin_call(m);
	etm_unit_enter(&m->unit, m->el, m->ip);
}

static void branch(struct a64_machine *m, enum a64_class cls, u64 target)
{
	u64 ip = m->ip;

	begin_call(m);
	retired(m, ip);
	if (traced(m) && (cls != A64_WFX || m->run.config.wfx_branch))
		note_p0(m);
	m->ip = target;
	etm_unit_branch(&m->unit, cls, ip, target);
}

static void eret(struct a64_machine *m)
{
	u64 ip = m->ip, target = chance(m, 100) ? 0 : m->elr;

	begin_call(m);
	retired(m, ip);
	if (traced(m))
		note_p0(m);
	m->el = 0;
	m->ip = target ? target : random_block(m);
	m->nr_erets++;
	etm_unit_eret(&m->unit, ip, m->ip, 0);
}

static void run_end(struct a64_machine *m, struct a64_insn insn)
{
	u64 next = m->ip + 4, target = m->ip + (s64)insn.disp;

	switch ((enum a64_class)insn.cls) {
	case A64_COND:
		branch(m, A64_COND, a64_random(&m->seed) & 1 ? target : next);
		break;
	case A64_B:
		branch(m, A64_B, target);
		break;
	case A64_BL:
	case A64_BLR:
		m->stack[m->depth++ % 256] = next;
		branch(m, insn.cls, insn.cls == A64_BL ? target : random_block(m));
		break;
	case A64_RET:
		m->nr_rets++;
		if (!m->depth || chance(m, m->run.lost_return)) {
			branch(m, A64_RET, random_block(m));
			break;
		}
		target = m->stack[--m->depth % 256];
		/* the call of the other exception level */
		branch(m, A64_RET, !(target >> 63) == !m->el ? target : random_block(m));
		break;
	case A64_BR:
		branch(m, A64_BR, random_block(m));
		break;
	case A64_ISB:
	case A64_WFX:
		branch(m, insn.cls, next);
		break;
	case A64_SVC:
		begin_call(m);
		retired(m, m->ip);
		etm_unit_retire(&m->unit, 1, next);
		exception(m, ETM_CALL, next, next);
		break;
	case A64_ERET:
		eret(m);
		break;
	default:
		fail_msg("class %d at %llx", insn.cls, (unsigned long long)m->ip);
	}
}

static void run_block(struct a64_machine *m)
{
	static const enum etm_exception types[] = {ETM_IRQ,  ETM_DATA_FAULT, ETM_FIQ,
						   ETM_TRAP, ETM_INST_FAULT, ETM_SYSTEM_ERROR};
	u64 nr_left, ip = m->ip;
	const u32 *code = word_at(m->program, ip, &nr_left);
	bool stuck = chance(m, 4); /* random programs end in small loops */
	bool async = stuck || chance(m, m->run.async);
	u32 nr = 0, max = async ? (u32)(a64_random(&m->seed) % 4) : ~0u;

	assert_non_null(code);
	begin_call(m);
	while (nr < max && a64_insn_decode(code[nr]).cls == A64_PLAIN)
		retired(m, ip + 4 * nr++);
	m->ip = ip + 4 * nr;
	if (nr)
		etm_unit_retire(&m->unit, nr, m->ip);
	if (chance(m, m->run.overflow))
		inject_overflow(m);
	if (chance(m, m->run.restart))
		restart(m);
	if (chance(m, m->run.event)) {
		m->nr_events += m->unit.active && !m->overflow_pending;
		etm_unit_event(&m->unit, 1 + a64_random(&m->seed) % 15);
	}
	if (async) {
		u32 which = a64_random(&m->seed) % 12;
		u64 back = m->ip;

		if (stuck || (!m->el && !(a64_random(&m->seed) % 4))) /* a signal's handler runs */
			back = random_block(m);
		exception(m, types[which % 6], m->ip, back);
		return;
	}
	run_end(m, a64_insn_decode(code[nr]));
}

static void start_unit(struct a64_machine *m)
{
	const struct a64_run *run = &m->run;
	/* clang-format off */
	const u32 writes[][2] = {
		{ TRCCONFIGR, run->configr }, { TRCVICTLR, run->victlr },
		{ TRCCCCTLR, run->ccctlr }, { TRCSYNCPR, run->syncpr },
		{ TRCTRACEIDR, 0x10 }, { TRCEVENTCTL1R, 0xf },
		{ TRCTSCTLR, run->timestamp_period ? 2 : 0 },
		{ TRCCNTRLDVR0, run->timestamp_period - 1 },
		{ TRCCNTCTLR0, TRCCNTCTLR_RLDSELF | 1 }, { TRCRSCTLR2, TRCRSCTLR_COUNTER0 },
		{ TRCPRGCTLR, TRCPRGCTLR_EN },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++)
		assert_int_equal(etm_unit_write(&m->unit, writes[i][0], writes[i][1]), 0);
}

void a64_machine_run(struct a64_machine *m, const struct a64_program *program,
		     const struct a64_run *run, u64 seed)
{
	struct etm_unit_config config = run->config;

	memset(m, 0, sizeof(*m));
	m->program = program;
	m->run = *run;
	m->seed = seed * 0xda942042e4dd58b5 + 1;
	m->clock = 0x123456789abull << (seed % 3 * 10); /* timestamps of all lengths */
	m->executed_ip = calloc(run->nr_insns + 100, sizeof(*m->executed_ip));
	m->executed_clock = calloc(run->nr_insns + 100, sizeof(*m->executed_clock));
	m->executed_cid = calloc(run->nr_insns + 100, sizeof(*m->executed_cid));
	m->losses = calloc(MAX_RECORDS, sizeof(*m->losses));
	m->exceptions = calloc(MAX_RECORDS, sizeof(*m->exceptions));
	m->syncs = calloc(MAX_RECORDS, sizeof(*m->syncs));
	assert_true(m->executed_ip && m->executed_clock && m->executed_cid && m->losses &&
		    m->exceptions && m->syncs);
	etm_stream_init(&m->stream);
	m->stream.on_write = on_write;
	m->stream.ctx = m;
	config.clock = &m->clock;
	etm_unit_init(&m->unit, &config, &m->stream.sink);
	start_unit(m);
	m->ip = random_block(m);
	etm_unit_enter(&m->unit, 0, m->ip);
	while (m->nr_executed < run->nr_insns)
		run_block(m);
	exception(m, ETM_IRQ, m->ip, m->ip);
	assert_int_equal(etm_unit_write(&m->unit, TRCPRGCTLR, 0), 0);
}

void a64_machine_free(struct a64_machine *m)
{
	etm_stream_free(&m->stream);
	free(m->executed_ip);
	free(m->executed_clock);
	free(m->executed_cid);
	free(m->losses);
	free(m->exceptions);
	free(m->syncs);
}
