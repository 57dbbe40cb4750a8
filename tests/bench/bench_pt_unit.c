// SPDX-License-Identifier: BSD-2-Clause
/*
 * Time of the PT unit in an execution engine, per branch: a mix like gzip's or a compiler's,
 * replayed from a list. Prints nanoseconds, including 2 to 3 of the loop, and bits.
 * "bench_pt_unit N MIX" runs N branches of one mix (for callgrind).
 */
#include "hw/pt_unit.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define RING_SIZE (4u << 20)
#define NR_STEPS  65536

struct step {
	u64 ip, target;
	u8 cls, len, nr_insns;
};

static u8 ring[RING_SIZE];
static struct step steps[NR_STEPS];
static u64 tsc;

static void *bus_phys(void *ctx, u64 addr, u64 size)
{
	(void)ctx;
	return addr + size <= RING_SIZE ? ring + addr : NULL;
}

static void bus_irq(void *ctx)
{
	(void)ctx;
}

static const struct pt_output_bus bus = {NULL, bus_phys, bus_irq};

/* Per mille: jcc, direct jmp, call and ret in pairs, indirect. */
struct mix {
	const char *name;
	unsigned int jcc, jmp, call;
	u64 ctl;
};

static u64 next_random(u64 *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed >> 20;
}

static void make_steps(const struct mix *mix)
{
	u64 seed = 42, stack[64];
	unsigned int depth = 0;

	for (unsigned int i = 0; i < NR_STEPS; i++) {
		struct step *s = &steps[i];
		unsigned int what = next_random(&seed) % 1000;

		s->ip = 0x555555554000 + next_random(&seed) % 0x100000;
		s->len = 2;
		s->nr_insns = 1 + next_random(&seed) % 8;
		s->target = 0x555555554000 + next_random(&seed) % 0x100000;
		if (what < mix->jcc) {
			s->cls = X86_JCC;
			if (next_random(&seed) & 1)
				s->target = s->ip + 2;
		} else if (what < mix->jcc + mix->jmp) {
			s->cls = X86_JMP;
		} else if (what < mix->jcc + mix->jmp + mix->call) {
			if (depth && (depth == 64 || next_random(&seed) & 1)) {
				s->cls = X86_RET;
				s->target = stack[--depth];
			} else {
				s->cls = X86_CALL;
				stack[depth++] = s->ip + 2;
			}
		} else {
			s->cls = X86_JMP_INDIRECT;
		}
	}
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static double run(struct pt_unit *unit, unsigned long nr)
{
	double begin = seconds();

	for (unsigned long i = 0; i < nr; i++) {
		const struct step *s = &steps[i % NR_STEPS];

		tsc += s->nr_insns;
		pt_unit_retire(unit, s->nr_insns - 1, s->ip);
		pt_unit_branch(unit, s->cls, s->ip, s->len, s->target);
	}
	return (seconds() - begin) * 1e9 / nr;
}

int main(int argc, char **argv)
{
	static const u64 base =
		RTIT_CTL_TRACEEN | RTIT_CTL_USR | RTIT_CTL_BRANCHEN | RTIT_CTL_TSCEN;
	/* clang-format off */
	const struct mix mixes[] = {
		{ "jcc", 1000, 0, 0, base | RTIT_CTL_DISRETC },
		{ "mixed", 700, 100, 180, base | RTIT_CTL_DISRETC },
		{ "mixed-retcomp", 700, 100, 180, base },
		{ "mixed-mtc256", 700, 100, 180, base | RTIT_CTL_DISRETC | RTIT_CTL_MTCEN |
		  7ull << RTIT_CTL_MTC_RANGE_SHIFT },
		{ "mixed-cyc", 700, 100, 180, base | RTIT_CTL_DISRETC | RTIT_CTL_CYCEN },
	};
	/* clang-format on */
	const struct pt_unit_config config = {.tsc = &tsc,
					      .tsc_ctc_n = 2,
					      .tsc_ctc_d = 1,
					      .core_bus_ratio = 20,
					      .max_nonturbo_ratio = 20};
	unsigned long nr = argc > 1 ? strtoul(argv[1], NULL, 0) : 50000000;

	for (size_t i = 0; i < sizeof(mixes) / sizeof(mixes[0]); i++) {
		static struct pt_unit unit;
		double traced;

		if (argc > 2 && i != strtoul(argv[2], NULL, 0))
			continue;
		make_steps(&mixes[i]);
		pt_unit_init(&unit, &config, &bus);
		if (pt_unit_wrmsr(&unit, MSR_RTIT_OUTPUT_MASK_PTRS, RING_SIZE - 1) ||
		    pt_unit_wrmsr(&unit, MSR_RTIT_CTL, mixes[i].ctl))
			return 1;
		pt_unit_enter_user(&unit, steps[0].ip);
		traced = run(&unit, nr);
		printf("pt-unit-ns-per-branch-%s: %.2f\n", mixes[i].name, traced);
		printf("pt-unit-bits-per-branch-%s: %.2f\n", mixes[i].name,
		       unit.nr_produced * 8.0 / nr);
		pt_unit_leave_async(&unit, steps[0].ip);
	}
	return 0;
}
