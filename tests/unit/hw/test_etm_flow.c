// SPDX-License-Identifier: BSD-2-Clause
/*
 * OpenCSD decodes the unit's stream of random programs to exactly the executed instructions,
 * exceptions and times; from the beginning, from any offset of the stream, and in every
 * configuration.
 */
#include "support_a64.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define VICTLR_USER   (1u | TRCVICTLR_SSSTATUS | 6u << TRCVICTLR_EXLEVEL_NS_SHIFT)
#define VICTLR_KERNEL (1u | TRCVICTLR_SSSTATUS | 5u << TRCVICTLR_EXLEVEL_NS_SHIFT)
#define VICTLR_BOTH   (1u | TRCVICTLR_SSSTATUS)

struct flow {
	const struct a64_machine *m;
	size_t first;
	size_t at;	  /* next instruction of the ground truth */
	size_t exception; /* next exception */
	size_t loss;
	size_t offset; /* of the first byte */
	size_t nr_max; /* most that are compared */
	bool done, recovered;
	u32 cid;
	u64 cycles_at; /* clock at the last cycle count; 0: unknown */
	bool counting; /* a cycle count belongs to the range that follows */
	u64 cycles;
	size_t nr_packets[0x500];
	size_t nr_timestamps, nr_counts, nr_events, nr_erets, nr_targets;
};

static u32 on_memory(void *ctx, u64 addr, u32 nr, u8 *bytes)
{
	struct flow *flow = ctx;

	return a64_program_read(flow->m->program, addr, nr, bytes);
}

static void check_cycles(struct flow *flow, u64 now)
{
	if (flow->cycles && flow->cycles_at)
		assert_int_equal(flow->cycles, now - flow->cycles_at);
	flow->cycles_at = now;
	flow->nr_counts++;
	flow->counting = false;
}

static void check_range(struct flow *flow, const ocsd_generic_trace_elem *elem)
{
	const struct a64_machine *m = flow->m;

	flow->recovered = false;
	for (u64 addr = elem->st_addr; addr < elem->en_addr; addr += 4, flow->at++) {
		if (flow->at >= m->nr_executed)
			fail_msg("%llx decoded after the end", (unsigned long long)addr);
		if (addr != m->executed_ip[flow->at])
			fail_msg("instruction %zu: %llx decoded, %llx executed", flow->at,
				 (unsigned long long)addr,
				 (unsigned long long)m->executed_ip[flow->at]);
		if (m->run.configr & TRCCONFIGR_CID)
			assert_int_equal(flow->cid, m->executed_cid[flow->at]);
	}
	if (flow->counting)
		check_cycles(flow, m->executed_clock[flow->at - 1]);
}

static void check_exception(struct flow *flow, const ocsd_generic_trace_elem *elem)
{
	const struct a64_exception *e = &flow->m->exceptions[flow->exception++];

	assert_true(flow->exception <= flow->m->nr_exceptions);
	if (flow->at != e->at || elem->en_addr != e->preferred_return ||
	    elem->exception_number != (u32)e->type)
		fail_msg("exception %zu: %u to %llx after %zu; was %d to %llx after %zu",
			 flow->exception - 1, elem->exception_number,
			 (unsigned long long)elem->en_addr, flow->at, e->type,
			 (unsigned long long)e->preferred_return, e->at);
	flow->nr_targets += elem->excep_ret_addr_br_tgt;
}

static void check_timestamp(struct flow *flow, u64 timestamp)
{
	const struct a64_machine *m = flow->m;

	flow->nr_timestamps++;
	if (flow->at > flow->first && timestamp < m->executed_clock[flow->at - 1])
		fail_msg("instruction %zu: time %llx is before %llx", flow->at,
			 (unsigned long long)timestamp,
			 (unsigned long long)m->executed_clock[flow->at - 1]);
	/* where an overflow ended, the unit sees instructions after they ran */
	if (flow->loss < m->nr_losses && m->losses[flow->loss].last == flow->at)
		return; /* between two overflows, without an instruction */
	if (!flow->recovered && flow->at < m->nr_executed &&
	    timestamp > m->executed_clock[flow->at])
		fail_msg("instruction %zu: time %llx is after %llx", flow->at,
			 (unsigned long long)timestamp,
			 (unsigned long long)m->executed_clock[flow->at]);
}

static void check_trace_on(struct flow *flow, u64 offset, const ocsd_generic_trace_elem *elem)
{
	const struct a64_loss *loss = &flow->m->losses[flow->loss];

	flow->cycles_at = 0;
	flow->recovered = elem->trace_on_reason == TRACE_ON_OVERFLOW || flow->at == flow->first;
	flow->recovered |= flow->loss < flow->m->nr_losses && loss->restart;
	if (elem->trace_on_reason != TRACE_ON_OVERFLOW &&
	    (flow->loss == flow->m->nr_losses || !loss->restart || offset < loss->offset))
		return;
	assert_int_equal(elem->trace_on_reason == TRACE_ON_OVERFLOW, !loss->restart);
	assert_true(flow->loss++ < flow->m->nr_losses);
	if (flow->at != loss->last)
		fail_msg("loss %zu: decoded up to %zu, lost from %zu to %zu", flow->loss - 1,
			 flow->at, loss->last, loss->resume);
	flow->at = loss->resume;
}

static void on_element(void *ctx, u64 offset, const ocsd_generic_trace_elem *elem)
{
	struct flow *flow = ctx;

	flow->done |= flow->at - flow->first > flow->nr_max;
	if (flow->done)
		return;
	switch (elem->elem_type) {
	case OCSD_GEN_TRC_ELEM_INSTR_RANGE:
		check_range(flow, elem);
		break;
	case OCSD_GEN_TRC_ELEM_EXCEPTION:
		check_exception(flow, elem);
		break;
	case OCSD_GEN_TRC_ELEM_EXCEPTION_RET:
		flow->nr_erets++;
		break;
	case OCSD_GEN_TRC_ELEM_TRACE_ON:
		check_trace_on(flow, flow->offset + offset, elem);
		break;
	case OCSD_GEN_TRC_ELEM_PE_CONTEXT:
		assert_true(elem->context.bits64);
		assert_int_equal(elem->context.security_level, ocsd_sec_nonsecure);
		if (elem->context.ctxt_id_valid)
			flow->cid = elem->context.context_id;
		break;
	case OCSD_GEN_TRC_ELEM_TIMESTAMP:
		check_timestamp(flow, elem->timestamp);
		break;
	case OCSD_GEN_TRC_ELEM_CYCLE_COUNT:
		flow->cycles = elem->cycle_count;
		flow->counting = true;
		break;
	case OCSD_GEN_TRC_ELEM_EVENT:
		flow->nr_events++;
		break;
	case OCSD_GEN_TRC_ELEM_NO_SYNC:
	case OCSD_GEN_TRC_ELEM_EO_TRACE:
	case OCSD_GEN_TRC_ELEM_SYNC_MARKER:
		break;
	default:
		fail_msg("element %d after instruction %zu", elem->elem_type, flow->at);
	}
}

static void on_packet(void *ctx, u64 offset, const ocsd_etmv4_i_pkt *packet, const u8 *bytes,
		      u32 nr)
{
	struct flow *flow = ctx;

	(void)offset;
	(void)bytes;
	(void)nr;
	assert_true(packet->type < 0x500);
	flow->nr_packets[packet->type]++;
}

static struct flow decode_all(const struct a64_machine *m)
{
	static struct flow flow;
	struct etm_reference ref = {on_memory, on_element, on_packet, NULL, &flow};
	struct etm_registers regs = etm_registers_of(&m->unit);

	memset(&flow, 0, sizeof(flow));
	flow.m = m;
	flow.nr_max = (size_t)-2;
	etm_reference_run(&ref, &regs, m->stream.bytes, m->stream.nr);
	assert_int_equal(flow.at, m->nr_executed);
	assert_int_equal(flow.exception, m->nr_exceptions);
	assert_int_equal(flow.loss, m->nr_losses);
	assert_int_equal(flow.nr_events, m->nr_events);
	return flow;
}

/* A stream that starts anywhere: from its first A-Sync on everything is decoded. */
static void decode_cuts(struct a64_machine *m, unsigned int nr_cuts)
{
	struct etm_registers regs = etm_registers_of(&m->unit);

	while (nr_cuts--) {
		size_t cut = a64_random(&m->seed) % m->stream.nr, i = 0;
		size_t at = etm_find_sync(m->stream.bytes, m->stream.nr, cut);
		struct flow flow = {.m = m, .nr_max = 2500};
		struct etm_reference ref = {on_memory, on_element, NULL, NULL, &flow};
		size_t end = cut + 200000;

		while (i < m->nr_syncs && m->syncs[i].offset < at)
			i++;
		if (i == m->nr_syncs)
			continue;
		assert_int_equal(m->syncs[i].offset, at);
		if (m->syncs[i].in_loss)
			continue;
		flow.offset = cut;
		flow.first = flow.at = m->syncs[i].first_insn;
		flow.exception = m->syncs[i].exceptions;
		flow.loss = m->syncs[i].losses;
		if (end > m->stream.nr)
			end = m->stream.nr;
		etm_reference_run(&ref, &regs, m->stream.bytes + cut, end - cut);
		assert_true(flow.done || (flow.at == m->nr_executed && end == m->stream.nr));
	}
}

static struct a64_program program;
static struct a64_machine machine;

static unsigned int nr_insns(void)
{
	const char *text = getenv("AUXTAP_LONG");

	return text && *text ? 1000000 : 150000;
}

static struct flow run_and_decode(const struct a64_run *run, u64 seed)
{
	struct flow flow;

	a64_program_make(&program, seed);
	a64_machine_run(&machine, &program, run, seed);
	flow = decode_all(&machine);
	assert_true(machine.nr_syncs > 5);
	decode_cuts(&machine, 8);
	return flow;
}

/* Both architectures; the smallest synchronisation period, so that the tests meet many A-Syncs. */
static struct a64_run plain_run(u64 seed)
{
	return (struct a64_run){.config = {.ete = seed & 1, .wfx_branch = seed & 2},
				.victlr = VICTLR_USER,
				.syncpr = 8 + seed % 3,
				.nr_insns = nr_insns(),
				.lost_return = 20};
}

static void test_plain(void **state)
{
	/* clang-format off */
	static const int forms[] = {
		ETM4_PKT_I_ATOM_F1, ETM4_PKT_I_ATOM_F2, ETM4_PKT_I_ATOM_F3, ETM4_PKT_I_ATOM_F4,
		ETM4_PKT_I_ATOM_F5, ETM4_PKT_I_ATOM_F6, ETM4_PKT_I_ADDR_MATCH,
		ETM4_PKT_I_ADDR_S_IS0, ETM4_PKT_I_ADDR_L_32IS0, ETM4_PKT_I_ADDR_L_64IS0,
		ETM4_PKT_I_ADDR_CTXT_L_32IS0, ETM4_PKT_I_ADDR_CTXT_L_64IS0, ETM4_PKT_I_EXCEPT,
	};
	/* clang-format on */
	size_t nr_packets[0x500] = {0};

	(void)state;
	for (u64 seed = 1; seed <= 8; seed++) {
		struct a64_run run = plain_run(seed);
		struct flow flow = run_and_decode(&run, seed);

		for (int i = 0; i < 0x500; i++)
			nr_packets[i] += flow.nr_packets[i];
		a64_machine_free(&machine);
	}
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		assert_true(nr_packets[forms[i]] > 100);
}

static void test_return_stack(void **state)
{
	(void)state;
	for (u64 seed = 11; seed <= 18; seed++) {
		struct a64_run run = plain_run(seed);
		size_t nr_without;

		run.lost_return = seed & 4 ? 0 : 30;
		run.async = seed & 2 ? 0 : 10;
		run_and_decode(&run, seed);
		nr_without = machine.stream.nr;
		a64_machine_free(&machine);
		run.configr = TRCCONFIGR_RS;
		run_and_decode(&run, seed);
		assert_true(machine.stream.nr < nr_without);
		a64_machine_free(&machine);
	}
}

static void test_exceptions(void **state)
{
	size_t nr_targets = 0;

	(void)state;
	for (u64 seed = 21; seed <= 26; seed++) {
		struct a64_run run = plain_run(seed);

		run.async = 150;
		run.configr = seed & 1 ? TRCCONFIGR_RS : 0;
		nr_targets += run_and_decode(&run, seed).nr_targets;
		assert_true(machine.nr_exceptions > 1000);
		a64_machine_free(&machine);
	}
	assert_true(nr_targets > 100);
}

static void test_kernel(void **state)
{
	(void)state;
	for (u64 seed = 31; seed <= 38; seed++) {
		struct a64_run run = plain_run(seed);
		struct flow flow;

		run.async = 50;
		run.configr = seed & 1 ? TRCCONFIGR_RS : 0;
		run.victlr = seed & 4 ? VICTLR_KERNEL : VICTLR_BOTH;
		flow = run_and_decode(&run, seed);
		assert_true(machine.nr_erets > 100);
		if (run.victlr == VICTLR_BOTH)
			assert_int_equal(flow.nr_erets, machine.nr_erets);
		a64_machine_free(&machine);
	}
}

static void test_broadcast(void **state)
{
	(void)state;
	for (u64 seed = 41; seed <= 44; seed++) {
		struct a64_run run = plain_run(seed);

		run.configr = TRCCONFIGR_BB | (seed & 2 ? TRCCONFIGR_RS : 0);
		run.async = 50;
		run_and_decode(&run, seed);
		a64_machine_free(&machine);
	}
}

static void test_context(void **state)
{
	(void)state;
	for (u64 seed = 51; seed <= 58; seed++) {
		struct a64_run run = plain_run(seed);
		struct flow flow;

		run.configr = TRCCONFIGR_CID | (seed & 2 ? TRCCONFIGR_VMID : 0);
		run.victlr = seed & 4 ? VICTLR_BOTH : VICTLR_USER;
		run.async = 50;
		flow = run_and_decode(&run, seed);
		if (!run.config.ete)
			assert_int_equal(!!flow.nr_packets[ETM4_PKT_I_CTXT], !!(seed & 4));
		a64_machine_free(&machine);
	}
}

static void test_overflows(void **state)
{
	(void)state;
	for (u64 seed = 61; seed <= 68; seed++) {
		struct a64_run run = plain_run(seed);

		run.async = 30;
		run.overflow = 5;
		run.configr = seed & 1 ? TRCCONFIGR_RS : 0;
		run.victlr = seed & 4 ? VICTLR_BOTH : VICTLR_USER;
		run_and_decode(&run, seed);
		assert_true(machine.nr_losses > 50);
		assert_true(machine.unit.nr_lost_atoms > 0);
		a64_machine_free(&machine);
	}
}

/* Each time the stream starts anew; in user mode instructions since the last branch are lost. */
static void test_restarts(void **state)
{
	(void)state;
	for (u64 seed = 131; seed <= 138; seed++) {
		struct a64_run run = plain_run(seed);

		run.async = 30;
		run.restart = 20;
		run.overflow = seed & 8 ? 5 : 0;
		run.configr = (seed & 1 ? TRCCONFIGR_RS : 0) | (seed & 2 ? TRCCONFIGR_TS : 0);
		run.victlr = seed & 4 ? VICTLR_BOTH : VICTLR_USER;
		run_and_decode(&run, seed);
		assert_true(machine.nr_restarts > 100);
		assert_true(machine.nr_losses > 100);
		a64_machine_free(&machine);
	}
}

/* TRCSYNCPR: 2^n bytes plus the packets of one branch. */
static void test_sync_period(void **state)
{
	(void)state;
	for (u32 n = 8; n <= 12; n++) {
		struct a64_run run = plain_run(n);
		size_t expected;

		run.syncpr = n;
		run_and_decode(&run, n);
		expected = machine.stream.nr >> n;
		assert_in_range(machine.nr_syncs, expected - expected / 4, expected + 1);
		a64_machine_free(&machine);
	}
}

static void test_events(void **state)
{
	(void)state;
	for (u64 seed = 71; seed <= 72; seed++) {
		struct a64_run run = plain_run(seed);

		run.event = 100;
		run.async = 20;
		run_and_decode(&run, seed);
		assert_true(machine.nr_events > 100);
		a64_machine_free(&machine);
	}
}

static void test_timestamps(void **state)
{
	(void)state;
	for (u64 seed = 81; seed <= 90; seed++) {
		struct a64_run run = plain_run(seed);
		struct flow flow;

		run.configr = TRCCONFIGR_TS | (seed & 4 ? TRCCONFIGR_RS : 0);
		run.timestamp_period = seed & 2 ? 0 : 300;
		run.config.ete_minor = seed % 3 == 0;
		run.max_idle = 3;
		run.async = 20;
		run.overflow = seed & 8 ? 3 : 0;
		flow = run_and_decode(&run, seed);
		assert_true(flow.nr_timestamps > machine.nr_syncs / 2);
		if (run.timestamp_period)
			assert_true(flow.nr_timestamps > machine.nr_executed / 300);
		a64_machine_free(&machine);
	}
}

static void test_cycles(void **state)
{
	size_t nr[3] = {0};

	(void)state;
	for (u64 seed = 101; seed <= 116; seed++) {
		struct a64_run run = plain_run(seed);
		struct flow flow;

		run.configr = TRCCONFIGR_CCI | (seed & 4 ? TRCCONFIGR_TS : 0) |
			      (seed & 1 ? TRCCONFIGR_RS : 0);
		run.ccctlr = seed % 5 * 30;
		run.max_idle = seed % 3 * 3;
		run.async = 20;
		run.overflow = seed & 8 ? 3 : 0;
		run.config.cycle_bits = seed & 2 ? 12 : 20;
		run.config.max_spec = seed % 3 * 4;
		flow = run_and_decode(&run, seed);
		assert_true(flow.nr_counts > 500);
		nr[0] += flow.nr_packets[ETM4_PKT_I_CCNT_F1];
		nr[1] += flow.nr_packets[ETM4_PKT_I_CCNT_F2];
		nr[2] += flow.nr_packets[ETM4_PKT_I_CCNT_F3];
		a64_machine_free(&machine);
	}
	print_message("cycle counts of formats 1 to 3: %zu, %zu, %zu\n", nr[0], nr[1], nr[2]);
	assert_true(nr[0] > 300 && nr[1] > 300 && nr[2] > 300);
}

/* A speculation depth: everything is committed as early as possible. */
static void test_commits(void **state)
{
	(void)state;
	for (u64 seed = 121; seed <= 126; seed++) {
		struct a64_run run = plain_run(2 * seed);
		struct flow flow;

		run.config.max_spec = (u8)(1u << (seed - 120));
		run.async = 20;
		run.configr = seed & 1 ? TRCCONFIGR_RS : 0;
		flow = run_and_decode(&run, seed);
		assert_true(flow.nr_packets[ETM4_PKT_I_COMMIT] > 1000);
		a64_machine_free(&machine);
	}
}

int main(void)
{
	/* clang-format off */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),	   cmocka_unit_test(test_return_stack),
		cmocka_unit_test(test_exceptions), cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_broadcast),  cmocka_unit_test(test_context),
		cmocka_unit_test(test_overflows),  cmocka_unit_test(test_events),
		cmocka_unit_test(test_timestamps), cmocka_unit_test(test_cycles),
		cmocka_unit_test(test_commits),
		cmocka_unit_test(test_restarts),   cmocka_unit_test(test_sync_period),
	};
	/* clang-format on */

	return cmocka_run_group_tests(tests, NULL, NULL);
}
