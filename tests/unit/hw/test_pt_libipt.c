// SPDX-License-Identifier: BSD-2-Clause
/*
 * libipt decodes the unit's stream of random programs to exactly the executed instructions, from
 * the beginning and from every PSB, in every configuration.
 */
#include "support_program.h"
#include <intel-pt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define CTL_BASE (RTIT_CTL_USR | RTIT_CTL_BRANCHEN)

static int read_code(u8 *buffer, size_t size, const struct pt_asid *asid, u64 ip, void *context)
{
	unsigned int avail;
	const u8 *code = program_bytes(context, ip, &avail);

	(void)asid;
	if (!code)
		return -pte_nomap;
	if (size > avail)
		size = avail;
	memcpy(buffer, code, size);
	return (int)size;
}

static struct pt_insn_decoder *decoder_new(const struct machine *m)
{
	struct pt_config config;
	struct pt_insn_decoder *decoder;

	pt_config_init(&config);
	config.begin = m->trace;
	config.end = m->trace + m->unit.out.nr_written;
	config.cpuid_0x15_eax = m->config.tsc_ctc_d;
	config.cpuid_0x15_ebx = m->config.tsc_ctc_n;
	config.mtc_freq = m->config.ctl >> RTIT_CTL_MTC_RANGE_SHIFT & 0xf;
	config.nom_freq = m->unit.config.max_nonturbo_ratio;
	decoder = pt_insn_alloc_decoder(&config);
	assert_non_null(decoder);
	assert_int_equal(pt_image_set_callback(pt_insn_get_image(decoder), read_code,
					       (void *)m->program),
			 0);
	return decoder;
}

/* Allowed and observed difference of the decoder's time from the ground truth. */
struct time_error {
	s64 early, late;
};

struct flow {
	const struct machine *m;
	struct pt_insn_decoder *decoder;
	size_t at;    /* next instruction of the ground truth */
	size_t lost;  /* next overflow */
	size_t enter; /* next TIP.PGE; -1: not counted */
	struct time_error error;
};

static void check_event(struct flow *flow, const struct pt_event *event)
{
	const struct machine *m = flow->m;
	const struct lost_run *lost;

	if (event->type == ptev_enabled && flow->enter != (size_t)-1 && event->has_tsc) {
		if (m->config.ctl & RTIT_CTL_TSCEN)
			assert_int_equal(event->tsc, m->enter_tsc[flow->enter]);
		flow->enter++;
	}
	if (event->type != ptev_overflow)
		return;
	assert_true(flow->lost < m->nr_lost);
	lost = &m->lost[flow->lost++];
	if (flow->at < lost->at_least || flow->at > lost->resume)
		fail_msg("overflow %zu: decoded up to %zu, lost %zu to %zu", flow->lost - 1,
			 flow->at, lost->at_least, lost->resume);
	flow->at = lost->resume;
	if (event->ip_suppressed) { /* outside of the filter: reported at the next entry */
		assert_true(m->config.ctl >> RTIT_CTL_ADDR_CFG_SHIFT);
		return;
	}
	assert_int_equal(event->variant.overflow.ip, lost->ip);
}

static int check_events(struct flow *flow, int status)
{
	while (status & pts_event_pending) {
		struct pt_event event;

		status = pt_insn_event(flow->decoder, &event, sizeof(event));
		if (status < 0)
			return status;
		check_event(flow, &event);
	}
	return status;
}

static void check_time(struct flow *flow)
{
	u64 tsc;
	s64 error;

	if (pt_insn_time(flow->decoder, &tsc, NULL, NULL))
		return;
	error = (s64)(tsc - flow->m->executed_tsc[flow->at]);
	if (error < flow->error.early)
		flow->error.early = error;
	if (error > flow->error.late)
		flow->error.late = error;
}

/* Decodes nr_max instructions at most; each must be the next one of the ground truth. */
static void check_insns(struct flow *flow, int status, size_t nr_max)
{
	const struct machine *m = flow->m;
	u64 offset = 0;

	while (nr_max--) {
		struct pt_insn insn;

		if (status >= 0)
			status = check_events(flow, status);
		if (status < 0 || status & pts_eos)
			break;
		status = pt_insn_next(flow->decoder, &insn, sizeof(insn));
		if (!insn.iclass && status < 0)
			break;
		if (flow->at >= m->nr_executed)
			fail_msg("%llx decoded after the end", (unsigned long long)insn.ip);
		if (insn.ip != m->executed_ip[flow->at])
			fail_msg("instruction %zu: %llx decoded, %llx executed", flow->at,
				 (unsigned long long)insn.ip,
				 (unsigned long long)m->executed_ip[flow->at]);
		check_time(flow);
		flow->at++;
	}
	if (status < 0 && status != -pte_eos) {
		pt_insn_get_offset(flow->decoder, &offset);
		fail_msg("instruction %zu of %zu, offset %#llx: %s", flow->at, m->nr_executed,
			 (unsigned long long)offset, pt_errstr(pt_errcode(status)));
	}
}

static struct flow decode_all(const struct machine *m)
{
	struct flow flow = {.m = m, .decoder = decoder_new(m)};
	int status = pt_insn_sync_forward(flow.decoder);

	check_insns(&flow, status, (size_t)-1);
	assert_int_equal(flow.at, m->nr_executed);
	assert_int_equal(flow.lost, m->nr_lost);
	pt_insn_free_decoder(flow.decoder);
	return flow;
}

/* A segment does not depend on the one before: start at each PSB, run past the next one. */
static void decode_segments(const struct machine *m)
{
	struct flow flow = {.m = m, .decoder = decoder_new(m), .enter = (size_t)-1};
	size_t nr = 0;
	u64 offset;

	for (;; nr++) {
		int status = pt_insn_sync_forward(flow.decoder);

		if (status == -pte_eos)
			break;
		assert_true(status >= 0);
		assert_true(nr < m->nr_psbs);
		assert_int_equal(pt_insn_get_sync_offset(flow.decoder, &offset), 0);
		flow.at = m->psb_executed[nr];
		flow.lost = m->psb_lost[nr];
		check_insns(&flow, status, 3000);
		assert_int_equal(pt_insn_sync_set(flow.decoder, offset) < 0, 0);
	}
	assert_int_equal(nr, m->nr_psbs);
	pt_insn_free_decoder(flow.decoder);
}

static struct program program;
static struct machine machine;

static struct flow run_and_decode(const struct run_config *config, u64 seed, int bits)
{
	struct flow flow;

	program_make(&program, seed, bits);
	machine_run(&machine, &program, config, seed * 77 + 1);
	flow = decode_all(&machine);
	decode_segments(&machine);
	return flow;
}

static unsigned int nr_insns(void)
{
	const char *text = getenv("AUXTAP_LONG");

	return text && *text ? 600000 : 200000;
}

static void test_plain(void **state)
{
	struct run_config config = {.ctl = CTL_BASE | RTIT_CTL_DISRETC | RTIT_CTL_TSCEN,
				    .nr_insns = nr_insns()};

	(void)state;
	for (u64 seed = 1; seed <= 5; seed++) {
		run_and_decode(&config, seed, 64);
		machine_free(&machine);
	}
}

static void test_ret_compression(void **state)
{
	struct run_config config = {.ctl = CTL_BASE | RTIT_CTL_TSCEN,
				    .nr_insns = nr_insns(),
				    .lost_return = 30};

	(void)state;
	for (u64 seed = 11; seed <= 16; seed++) {
		run_and_decode(&config, seed, 64);
		assert_true(machine.nr_compressed_rets > machine.nr_rets / 4);
		assert_true(machine.nr_compressed_rets < machine.nr_rets);
		machine_free(&machine);
		config.lost_return = seed & 1 ? 0 : 30;
	}
}

static void test_interrupts(void **state)
{
	struct run_config config = {.ctl = CTL_BASE | RTIT_CTL_TSCEN,
				    .nr_insns = nr_insns(),
				    .lost_return = 10,
				    .async = 100};

	(void)state;
	for (u64 seed = 21; seed <= 24; seed++) {
		run_and_decode(&config, seed, 64);
		machine_free(&machine);
	}
}

static void test_overflows(void **state)
{
	struct run_config config = {.ctl = CTL_BASE | RTIT_CTL_TSCEN,
				    .nr_insns = nr_insns(),
				    .lost_return = 10,
				    .async = 30,
				    .overflow = 5};

	(void)state;
	for (u64 seed = 31; seed <= 36; seed++) {
		if (seed & 1)
			config.ctl ^= RTIT_CTL_DISRETC;
		run_and_decode(&config, seed, 64);
		assert_true(machine.nr_lost > 10);
		assert_true(machine.unit.nr_overflow_lost > 0);
		machine_free(&machine);
	}
}

static void test_32_bit(void **state)
{
	struct run_config config = {.ctl = CTL_BASE | RTIT_CTL_TSCEN,
				    .nr_insns = nr_insns(),
				    .lost_return = 10,
				    .async = 30};

	(void)state;
	run_and_decode(&config, 41, 32);
	machine_free(&machine);
}

/* Execution in the ranges, by the rule that only branches and events are checked. */
static void test_filters(void **state)
{
	struct run_config config = {.nr_insns = nr_insns() / 2, .async = 20, .lost_return = 10};

	(void)state;
	for (u64 seed = 91; seed <= 102; seed++) {
		u64 random = seed;

		config.ctl = CTL_BASE | RTIT_CTL_TSCEN | 1ull << RTIT_CTL_ADDR_CFG_SHIFT;
		config.ctl |= seed & 1 ? RTIT_CTL_DISRETC : 0;
		config.overflow = seed & 2 ? 3 : 0;
		program_make(&program, seed, 64);
		for (int n = 0; n < PT_NR_RANGES; n++) {
			/* borders anywhere, even in the middle of an instruction */
			config.range[n].first =
				program.base[n] + random_next(&random) % (REGION_SIZE / 2);
			config.range[n].last =
				config.range[n].first + random_next(&random) % (REGION_SIZE / 2);
		}
		config.ctl |= (random_next(&random) % 2) << (RTIT_CTL_ADDR_CFG_SHIFT + 4);
		if (seed & 4) { /* a TraceStop range inside the first range, and one outside */
			config.range[2].first = config.range[0].first + 50;
			config.range[2].last = config.range[2].first + 100;
			config.range[3].last = config.range[3].first + 100;
			config.ctl |= 0x22ull << (RTIT_CTL_ADDR_CFG_SHIFT + 8);
			config.restart = 500;
		} else {
			config.restart = 0;
		}
		run_and_decode(&config, seed, 64);
		assert_true(machine.nr_left > 500);
		assert_true(machine.nr_executed > 5000);
		assert_int_equal(machine.nr_stops > 20, !!(seed & 4));
		machine_free(&machine);
	}
}

/* PSB period 2^(n+11): every PSB except at overflows comes within a period plus one burst. */
static void test_psb_period(void **state)
{
	struct run_config config = {.ctl = CTL_BASE, .nr_insns = nr_insns()};

	(void)state;
	for (u64 n = 0; n < 4; n++) {
		size_t expected;

		config.ctl = CTL_BASE | n << RTIT_CTL_PSB_FREQ_SHIFT;
		run_and_decode(&config, 51, 64);
		expected = machine.unit.nr_produced / (2048ull << n) + 1;
		assert_in_range(machine.nr_psbs, expected - expected / 20, expected);
		machine_free(&machine);
	}
}

/*
 * The time of an instruction is that of the last packet with a time before the packet that
 * contains its branch. With MTC it is late by at most an MTC period and a stretch of code without
 * a packet; with CYC it is off by what one TNT of six bits covers, either way.
 */
#define STRETCH 128

struct timing {
	u64 ctl;
	u32 n, d;
	u8 ratio, nominal;
	s64 early, late; /* bounds; 0, 0: no time at all */
};

static void test_all_timing(void **state)
{
	/* clang-format off */
	static const struct timing timings[] = {
		{ RTIT_CTL_MTCEN | RTIT_CTL_TSCEN, 84, 2, 20, 20, 42 + STRETCH, STRETCH },
		{ RTIT_CTL_MTCEN | RTIT_CTL_TSCEN, 10, 3, 20, 20, 4 + STRETCH, STRETCH },
		{ RTIT_CTL_MTCEN | RTIT_CTL_TSCEN | 3ull << RTIT_CTL_MTC_RANGE_SHIFT, 84, 2, 20, 20,
		  8 * 42 + STRETCH, STRETCH },
		{ RTIT_CTL_CYCEN | RTIT_CTL_TSCEN, 0, 0, 20, 20, STRETCH, STRETCH },
		{ RTIT_CTL_CYCEN | RTIT_CTL_TSCEN, 0, 0, 30, 20, STRETCH, STRETCH },
		{ RTIT_CTL_CYCEN | RTIT_CTL_TSCEN, 0, 0, 10, 20, STRETCH, STRETCH },
		{ RTIT_CTL_CYCEN | RTIT_CTL_TSCEN | 5ull << RTIT_CTL_CYC_THRESH_SHIFT, 0, 0, 20, 20,
		  STRETCH + 16, STRETCH + 16 },
		{ RTIT_CTL_CYCEN | RTIT_CTL_MTCEN | RTIT_CTL_TSCEN |
		  2ull << RTIT_CTL_MTC_RANGE_SHIFT, 84, 2, 20, 20, 4 * 42 + STRETCH, STRETCH },
		{ RTIT_CTL_CYCEN | RTIT_CTL_MTCEN | RTIT_CTL_TSCEN |
		  2ull << RTIT_CTL_MTC_RANGE_SHIFT, 84, 2, 25, 20, 4 * 42 + STRETCH, STRETCH },
		{ RTIT_CTL_CYCEN | RTIT_CTL_MTCEN, 84, 2, 20, 20, 0, 0 },
		{ RTIT_CTL_MTCEN, 84, 2, 20, 20, 0, 0 },
		{ RTIT_CTL_CYCEN, 0, 0, 20, 20, 0, 0 },
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < sizeof(timings) / sizeof(timings[0]); i++) {
		const struct timing *t = &timings[i];
		struct run_config config = {.ctl = CTL_BASE | t->ctl,
					    .nr_insns = nr_insns() / 2,
					    .tsc_ctc_n = t->n,
					    .tsc_ctc_d = t->d,
					    .core_bus_ratio = t->ratio,
					    .max_nonturbo_ratio = t->nominal,
					    .lost_return = 10,
					    .async = 20,
					    .pause = 20};
		struct flow flow;

		flow = run_and_decode(&config, 60 + i, 64);
		machine_free(&machine);
		print_message("RTIT_CTL %#llx: time off by %lld to %lld ticks, %llu bytes\n",
			      (unsigned long long)config.ctl, (long long)flow.error.early,
			      (long long)flow.error.late,
			      (unsigned long long)machine.unit.nr_produced);
		assert_in_range(-flow.error.early, 0, t->early);
		assert_in_range(flow.error.late, 0, t->late);
		config.overflow = 2; /* the time is wrong until the next TSC; the flow is right */
		run_and_decode(&config, 80 + i, 64);
		machine_free(&machine);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),	   cmocka_unit_test(test_ret_compression),
		cmocka_unit_test(test_interrupts), cmocka_unit_test(test_overflows),
		cmocka_unit_test(test_32_bit),	   cmocka_unit_test(test_psb_period),
		cmocka_unit_test(test_all_timing), cmocka_unit_test(test_filters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
