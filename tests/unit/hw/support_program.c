// SPDX-License-Identifier: BSD-2-Clause
/* The random program and the machine that runs it. Neighbours: test_pt_libipt.c, test_pt_time.c. */
#include "support_program.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

u64 random_next(u64 *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed * 0x2545f4914f6cdd1dull >> 11;
}

static bool chance(u64 *seed, unsigned int per_mille)
{
	return random_next(seed) % 1000 < per_mille;
}

/* ---- the program ---- */

static const char *const plain[] = {"\x90",
				    "\x66\x90",
				    "\x0f\x1f\x00",
				    "\x0f\x1f\x40\x08",
				    "\x0f\x1f\x44\x24\x08",
				    "\x66\x0f\x1f\x44\x24\x08",
				    "\x89\xc8",
				    "\x83\xc0\x01"};

struct fixup {
	unsigned int at; /* after the displacement */
};

/* Direct jumps and calls go forward only: every loop contains a traced branch. */
static void fill_region(struct program *program, int r, u64 *seed)
{
	u8 *code = program->code[r];
	unsigned int at = 0, first = program->nr_blocks, nr_fixups = 0;
	struct fixup fixups[REGION_SIZE / 2];
	bool forward[REGION_SIZE / 2];

	while (at < REGION_SIZE - 64) {
		unsigned int nr = random_next(seed) % 7;

		program->block[program->nr_blocks++] = program->base[r] + at;
		while (nr--) {
			const char *insn = plain[random_next(seed) % 8];

			memcpy(code + at, insn, strlen(insn) + (insn[0] == 0x0f && !insn[2]));
			at += strlen(insn) + (insn[0] == 0x0f && !insn[2]);
		}
		switch (random_next(seed) % 16) {
		case 0:
		case 1:
		case 2:
		case 3:
		case 4:
		case 5: /* jcc rel32 */
			code[at++] = 0x0f;
			code[at++] = 0x80 | (random_next(seed) & 0xf);
			at += 4;
			forward[nr_fixups] = false;
			fixups[nr_fixups++].at = at;
			break;
		case 6:
		case 7:
		case 8: /* jmp, call rel32 */
			code[at++] = random_next(seed) & 1 ? 0xe9 : 0xe8;
			at += 4;
			forward[nr_fixups] = true;
			fixups[nr_fixups++].at = at;
			break;
		case 9: /* call +0 */
			memcpy(code + at, "\xe8\0\0\0\0", 5);
			at += 5;
			break;
		case 10:
			memcpy(code + at, "\xff\xd0", 2); /* call *%rax */
			at += 2;
			break;
		case 11:
			memcpy(code + at, "\xff\xe0", 2); /* jmp *%rax */
			at += 2;
			break;
		case 12: /* syscall, or int 0x80 */
			memcpy(code + at, program->bits == 64 ? "\x0f\x05" : "\xcd\x80", 2);
			at += 2;
			break;
		default:
			code[at++] = 0xc3;
			break;
		}
	}
	memcpy(code + at, "\xff\xe0", 2);
	program->block[program->nr_blocks++] = program->base[r] + at;
	for (unsigned int i = 0; i < nr_fixups; i++) {
		unsigned int lo = first, hi = program->nr_blocks;
		s32 disp;

		while (forward[i] && program->block[lo] < program->base[r] + fixups[i].at)
			lo++;
		disp = (s32)(program->block[lo + random_next(seed) % (hi - lo)] -
			     (program->base[r] + fixups[i].at));
		memcpy(code + fixups[i].at - 4, &disp, 4);
	}
}

void program_make(struct program *program, u64 seed, int bits)
{
	static const u64 bases[NR_REGIONS] = {0x400000, 0x1000, 0x7f12345f7000, 0x7f1234560000,
					      0x00a1234560000000};
	static const u64 bases_32[NR_REGIONS] = {0x8048000, 0x1000, 0xf7fe0000, 0xf7fd0000,
						 0x70000000};

	memset(program, 0, sizeof(*program));
	memset(program->code, 0x90, sizeof(program->code));
	program->bits = bits;
	for (int r = 0; r < NR_REGIONS; r++) {
		program->base[r] = bits == 64 ? bases[r] : bases_32[r];
		fill_region(program, r, &seed);
	}
}

const u8 *program_bytes(const struct program *program, u64 ip, unsigned int *avail)
{
	for (int r = 0; r < NR_REGIONS; r++) {
		if (ip - program->base[r] < REGION_SIZE) {
			*avail = (unsigned int)(REGION_SIZE - (ip - program->base[r]));
			return program->code[r] + (ip - program->base[r]);
		}
	}
	*avail = 0;
	return NULL;
}

/* ---- the machine ---- */

static void *bus_phys(void *ctx, u64 addr, u64 size)
{
	struct machine *m = ctx;

	return addr + size <= TRACE_SIZE ? m->trace + addr : NULL;
}

static void bus_irq(void *ctx)
{
	(void)ctx;
}

static void push(struct machine *m, u64 ip)
{
	if (m->depth == 256) {
		memmove(m->stack, m->stack + 1, 255 * sizeof(u64));
		m->depth--;
	}
	m->stack[m->depth++] = ip;
}

static void perf_push(struct machine *m, u64 ip)
{
	if (m->perf_depth < 4096)
		m->perf_stack[m->perf_depth++] = ip;
}

static u64 some_block(struct machine *m)
{
	return m->program->block[random_next(&m->seed) % m->program->nr_blocks];
}

static void note_psb(struct machine *m)
{
	if (m->unit.psb_at == m->seen_psb_at || m->unit.psb_at <= m->unit.nr_produced)
		return;
	m->seen_psb_at = m->unit.psb_at;
	m->perf_depth = 0;
	assert_true(m->nr_psbs < 65536);
	m->psb_lost[m->nr_psbs] = m->nr_lost;
	m->psb_executed[m->nr_psbs++] = m->nr_executed;
}

static void note_insn(struct machine *m, u64 ip)
{
	m->tsc++;
	if (!m->tracing)
		return;
	m->executed_ip[m->nr_executed] = ip;
	m->executed_tsc[m->nr_executed++] = m->tsc;
}

static unsigned int range_cfg(const struct machine *m, int n)
{
	return m->config.ctl >> (RTIT_CTL_ADDR_CFG_SHIFT + 4 * n) & 0xf;
}

/* The program jumped to ip, or an event led there; decides whether it is traced from there on. */
static void arrive(struct machine *m, u64 ip, bool was)
{
	bool inside = false, filtered = false;

	for (int n = 0; n < PT_NR_RANGES; n++) {
		bool here = m->config.range[n].first <= ip && ip <= m->config.range[n].last;

		if (range_cfg(m, n) == 2 && here && !m->stopped) {
			m->stopped = true;
			m->nr_stops++;
		}
		filtered |= range_cfg(m, n) == 1;
		inside |= range_cfg(m, n) == 1 && here;
	}
	m->tracing = !m->stopped && (inside || !filtered);
	m->nr_left += was && !m->tracing;
	if (m->tracing && !was) {
		assert_true(m->nr_enters < 65536);
		m->enter_tsc[m->nr_enters++] = m->tsc;
	}
}

static void restart_unit(struct machine *m)
{
	assert_int_equal(m->unit.out.status, RTIT_STATUS_STOPPED);
	assert_int_equal(pt_unit_wrmsr(&m->unit, MSR_RTIT_CTL, 0), 0);
	assert_int_equal(pt_unit_wrmsr(&m->unit, MSR_RTIT_STATUS, 0), 0);
	assert_int_equal(pt_unit_wrmsr(&m->unit, MSR_RTIT_CTL, m->config.ctl | RTIT_CTL_TRACEEN),
			 0);
	m->stopped = false;
}

static void enter(struct machine *m, u64 ip)
{
	if (m->stopped && chance(&m->seed, m->config.restart))
		restart_unit(m);
	arrive(m, ip, false);
	pt_unit_enter_user(&m->unit, ip);
	m->traced = m->sent = m->nr_executed;
	note_psb(m);
}

/* The kernel, and the run of other threads meanwhile. */
static void pass_time(struct machine *m)
{
	m->tsc += 1 + random_next(&m->seed) % (chance(&m->seed, m->config.pause) ? 10000000 : 300);
}

static void overflow(struct machine *m, u64 ip)
{
	struct lost_run *lost;

	/* one before the first PSB reaches no decoder; or another one is still unreported */
	if (m->stopped || !m->nr_psbs || m->unit.pending_work & 2)
		return;
	lost = &m->lost[m->nr_lost++];
	assert_true(m->nr_lost <= 4096);
	lost->at_least = m->sent;
	lost->resume = m->nr_executed;
	lost->ip = ip;
	pt_unit_inject_overflow(&m->unit);
	m->perf_depth = 0;
}

/* Executes the branch at ip to the returned address; informs the unit and the models. */
static u64 branch(struct machine *m, u64 ip, const struct x86_insn *insn)
{
	u64 next = ip + insn->len, target = next + insn->disp;
	const struct pt_unit *unit = &m->unit;
	bool compressed, was = m->tracing;

	switch (insn->cls) {
	case X86_JCC:
		if (random_next(&m->seed) & 1)
			target = next;
		break;
	case X86_JMP_INDIRECT:
	case X86_CALL_INDIRECT:
		target = some_block(m);
		break;
	case X86_RET:
		target = m->depth ? m->stack[--m->depth] : some_block(m);
		if (chance(&m->seed, m->config.lost_return))
			target = some_block(m);
		break;
	default:
		break;
	}
	if (insn->cls == X86_CALL_INDIRECT || insn->cls == X86_CALL) {
		push(m, next);
		if (was && (insn->cls == X86_CALL_INDIRECT || insn->disp))
			perf_push(m, next);
	}
	note_insn(m, ip);
	if (insn->cls != X86_JCC || target != next)
		arrive(m, target, was);
	compressed = was && m->tracing && insn->cls == X86_RET && unit->ret_compress &&
		     unit->ret_depth && unit->ret_stack[unit->ret_top] == target &&
		     !(unit->pending_work & 2 /* an overflow must be reported first */);
	pt_unit_branch(&m->unit, insn->cls, ip, insn->len, target);
	if (was && insn->cls == X86_RET) {
		m->nr_rets++;
		m->nr_compressed_rets += compressed;
		if (compressed)
			assert_true(m->perf_depth && m->perf_stack[m->perf_depth - 1] == target);
		if (m->perf_depth)
			m->perf_depth--;
	}
	if (insn->cls != X86_JMP && insn->cls != X86_CALL) {
		m->sent = unit->nr_tnt == 0 ? m->nr_executed :
			  unit->nr_tnt == 1 ? m->traced :
					      m->sent;
		m->traced = m->nr_executed;
	}
	return target;
}

/* Executes one block from ip on. */
static u64 run_block(struct machine *m, u64 ip)
{
	struct x86_insn insn;
	u64 from = ip;
	u32 nr = 0;
	bool interrupted = chance(&m->seed, m->config.async);
	unsigned int interrupt_at = random_next(&m->seed) % 4;

	for (;; ip += insn.len) {
		unsigned int avail;
		const u8 *code = program_bytes(m->program, ip, &avail);

		assert_non_null(code);
		assert_int_equal(x86_insn_decode(code, avail, m->program->bits, &insn), 0);
		if (interrupted && nr == interrupt_at)
			break;
		if (insn.cls != X86_PLAIN)
			break;
		note_insn(m, ip);
		nr++;
	}
	if (ip != from)
		pt_unit_retire(&m->unit, nr, ip);
	note_psb(m);
	if (interrupted && nr == interrupt_at) {
		pt_unit_leave_async(&m->unit, ip);
		note_psb(m);
		pass_time(m);
		ip = chance(&m->seed, 300) ? some_block(m) : ip;
		enter(m, ip);
		return ip;
	}
	if (insn.cls == X86_SYSCALL) {
		note_insn(m, ip);
		pt_unit_leave_syscall(&m->unit, ip);
		note_psb(m);
		pass_time(m);
		ip = chance(&m->seed, 50) ? some_block(m) : ip + insn.len;
		enter(m, ip);
		return ip;
	}
	ip = branch(m, ip, &insn);
	note_psb(m);
	return ip;
}

void machine_run(struct machine *m, const struct program *program, const struct run_config *config,
		 u64 seed)
{
	static struct pt_output_bus bus;
	struct pt_unit_config unit_config = {
		.tsc = &m->tsc,
		.tsc_ctc_n = config->tsc_ctc_n,
		.tsc_ctc_d = config->tsc_ctc_d,
		.core_bus_ratio = config->core_bus_ratio ? config->core_bus_ratio : 20,
		.max_nonturbo_ratio = config->max_nonturbo_ratio ? config->max_nonturbo_ratio : 20,
		.nr_ranges = PT_NR_RANGES,
	};
	size_t nr_blocks = 0;
	u64 ip;

	memset(m, 0, sizeof(*m));
	bus = (struct pt_output_bus){m, bus_phys, bus_irq};
	m->program = program;
	m->config = *config;
	m->seed = seed;
	m->tsc = 123456789012345;
	m->trace = calloc(1, TRACE_SIZE);
	m->executed_ip = malloc((config->nr_insns + 64) * sizeof(u64));
	m->executed_tsc = malloc((config->nr_insns + 64) * sizeof(u64));
	assert_true(m->trace && m->executed_ip && m->executed_tsc);
	pt_unit_init(&m->unit, &unit_config, &bus);
	pt_unit_set_mode(&m->unit, program->bits);
	assert_int_equal(pt_unit_wrmsr(&m->unit, MSR_RTIT_OUTPUT_BASE, 0), 0);
	assert_int_equal(pt_unit_wrmsr(&m->unit, MSR_RTIT_OUTPUT_MASK_PTRS, TRACE_SIZE - 1), 0);
	for (u32 n = 0; n < PT_NR_RANGES; n++) {
		assert_int_equal(pt_unit_wrmsr(&m->unit, MSR_RTIT_ADDR0_A + 2 * n,
					       config->range[n].first),
				 0);
		assert_int_equal(pt_unit_wrmsr(&m->unit, MSR_RTIT_ADDR0_A + 2 * n + 1,
					       config->range[n].last),
				 0);
	}
	assert_int_equal(pt_unit_wrmsr(&m->unit, MSR_RTIT_CTL, config->ctl | RTIT_CTL_TRACEEN), 0);
	ip = program->block[0];
	enter(m, ip);
	while (m->nr_executed < config->nr_insns && nr_blocks++ < 10ul * config->nr_insns) {
		ip = run_block(m, ip);
		if (chance(&m->seed, config->overflow))
			overflow(m, ip);
	}
	pt_unit_leave_async(&m->unit, ip);
	m->nr_lost -=
		!!(m->unit.pending_work & 2); /* outside of the filter to the end: unreported */
	assert_int_equal(pt_unit_wrmsr(&m->unit, MSR_RTIT_CTL, 0), 0);
	assert_int_equal(m->unit.out.status, m->stopped ? RTIT_STATUS_STOPPED : 0);
	assert_int_equal(m->unit.nr_produced, m->unit.out.nr_written);
	assert_true(m->unit.nr_produced < TRACE_SIZE);
}

void machine_free(struct machine *m)
{
	free(m->trace);
	free(m->executed_ip);
	free(m->executed_tsc);
}
