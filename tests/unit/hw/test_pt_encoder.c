// SPDX-License-Identifier: BSD-2-Clause
/*
 * Packets byte for byte, and the rules of the registers. Expected bytes are written by hand from
 * the layouts of the Intel SDM, vol. 3, "Packet Definitions".
 */
#include "hw/pt_unit.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define PSB  "02 82 02 82 02 82 02 82 02 82 02 82 02 82 02 82 "
#define CBR  "02 03 14 00 "
#define EXEC "99 01 "
#define END  "02 23 "
#define CTL  (RTIT_CTL_TRACEEN | RTIT_CTL_USR | RTIT_CTL_BRANCHEN | RTIT_CTL_DISRETC)

static struct pt_unit unit;
static u64 tsc;
static u8 memory[1 << 16];
static unsigned int seen; /* bytes already compared */

static void *bus_phys(void *ctx, u64 addr, u64 size)
{
	(void)ctx;
	return addr + size <= sizeof(memory) ? memory + addr : NULL;
}

static void bus_irq(void *ctx)
{
	(void)ctx;
}

static const struct pt_output_bus bus = {NULL, bus_phys, bus_irq};

static void make_unit(void)
{
	struct pt_unit_config config = {.tsc = &tsc,
					.tsc_ctc_n = 10,
					.tsc_ctc_d = 1,
					.mtc_freq = 3,
					.core_bus_ratio = 20,
					.max_nonturbo_ratio = 20};

	tsc = 0x123456;
	seen = 0;
	memset(memory, 0xee, sizeof(memory));
	pt_unit_init(&unit, &config, &bus);
}

static void start(u64 ctl)
{
	make_unit();
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_OUTPUT_MASK_PTRS, sizeof(memory) - 1), 0);
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_CTL, ctl), 0);
}

/* The bytes since the last call are exactly these. */
static void expect(const char *hex)
{
	char text[1024] = "", *at = text;
	const char *from = hex;
	char wanted[1024], *to = wanted;

	for (; seen < unit.out.nr_written; seen++)
		at += sprintf(at, "%02x ", memory[seen]);
	while (*from)
		*to++ = *from++;
	while (to > wanted && to[-1] == ' ')
		to--;
	*to = '\0';
	if (at > text)
		at[-1] = '\0';
	assert_string_equal(text, wanted);
	assert_int_equal(unit.nr_produced, unit.out.nr_written + unit.out.nr_dropped);
}

static void enter_at(u64 ip)
{
	pt_unit_enter_user(&unit, ip);
	seen = (unsigned int)unit.out.nr_written;
}

static void jcc(u64 ip, bool taken)
{
	pt_unit_branch(&unit, X86_JCC, ip, 2, taken ? ip + 0x40 : ip + 2);
}

static void jmp_to(u64 target)
{
	pt_unit_branch(&unit, X86_JMP_INDIRECT, 0x1000, 2, target);
}

/* PSB TSC CBR MODE.Exec PSBEND (no FUP), MODE.Exec, TIP.PGE. */
static void test_start(void **state)
{
	(void)state;
	start(CTL | RTIT_CTL_TSCEN);
	expect("");
	pt_unit_enter_user(&unit, 0x7f0011223344);
	expect(PSB "19 56 34 12 00 00 00 00 " CBR EXEC END EXEC "71 44 33 22 11 00 7f");
	pt_unit_leave_syscall(&unit, 0x7f0011223350);
	expect("01");
	tsc = 0x223456;
	pt_unit_enter_user(&unit, 0x7f0011223352);
	expect("19 56 34 22 00 00 00 00 31 52 33");
	pt_unit_leave_async(&unit, 0x7f0011240000);
	expect("5d 00 00 24 11 01");
}

static void test_start_32_bit(void **state)
{
	(void)state;
	start(CTL);
	pt_unit_set_mode(&unit, 32);
	pt_unit_enter_user(&unit, 0x8048000);
	expect(PSB CBR "99 02 " END "99 02 51 00 80 04 08");
	pt_unit_leave_syscall(&unit, 0x8048000);
	pt_unit_enter_user(&unit, 0x8048002);
	expect("01 31 02 80");
	pt_unit_set_mode(&unit, 64); /* a far jump to 64-bit code, in user mode */
	pt_unit_branch(&unit, X86_FAR, 0x8048010, 7, 0x8049000);
	expect("99 01 2d 00 90");
}

static void test_tnt(void **state)
{
	(void)state;
	start(CTL);
	enter_at(0x1000);
	/* pending bits go before a TIP: T N T, stop bit 1, so 1101 and the bit 0 */
	jcc(0x1000, true);
	jcc(0x1000, false);
	jcc(0x1000, true);
	expect("");
	jmp_to(0x1000);
	expect("1a 2d 00 10");
	/* 7 bits: six and one */
	for (int i = 0; i < 7; i++)
		jcc(0x1000, i == 0);
	jmp_to(0x1000);
	expect("c0 04 2d 00 10");
	/* 42 bits are seven short ones, 43 a long one */
	for (int i = 0; i < 42; i++)
		jcc(0x1000, true);
	jmp_to(0x1000);
	expect("fe fe fe fe fe fe fe 2d 00 10");
	for (int i = 0; i < 43; i++)
		jcc(0x1000, i == 42);
	jmp_to(0x1000);
	expect("02 a3 01 00 00 00 00 08 2d 00 10");
	/* 47 fill a packet */
	for (int i = 0; i < 47; i++)
		jcc(0x1000, i == 0);
	expect("02 a3 00 00 00 00 00 c0");
	/* direct jumps and plain instructions generate no packet */
	pt_unit_branch(&unit, X86_JMP, 0x1000, 5, 0x2000);
	pt_unit_retire(&unit, 3, 0x2008);
	pt_unit_leave_async(&unit, 0x2008);
	expect("3d 08 20 01");
}

static void test_ip_compression(void **state)
{
	(void)state;
	start(CTL);
	enter_at(0x7f0011223344);
	jmp_to(0x7f0011223344);
	expect("2d 44 33");
	jmp_to(0x7f001122ffff);
	expect("2d ff ff");
	jmp_to(0x7f0055667788);
	expect("4d 88 77 66 55");
	jmp_to(0x7e0055667788);
	expect("6d 88 77 66 55 00 7e");
	jmp_to(0xffffffff81000000);
	expect("6d 00 00 00 81 ff ff");
	jmp_to(0x00a1234560000000); /* 57 bits */
	expect("cd 00 00 00 60 45 23 a1 00");
	jmp_to(0x00a1334560000000);
	expect("8d 00 00 00 60 45 33");
	jmp_to(0x0000ffff81000000); /* 48 bits, not sign-extended */
	expect("cd 00 00 00 81 ff ff 00 00");
}

static void call(u64 ip, u64 target)
{
	pt_unit_branch(&unit, X86_CALL, ip, 5, target);
}

static void ret_to(u64 target)
{
	pt_unit_branch(&unit, X86_RET, 0x1234, 1, target);
}

static void test_ret_compression(void **state)
{
	(void)state;
	start(CTL & ~RTIT_CTL_DISRETC);
	enter_at(0x1000);
	call(0x1000, 0x2000);
	ret_to(0x1005);
	jmp_to(0x1000);
	expect("06 2d 00 10");
	/* entries below a return that went elsewhere are not used */
	call(0x1000, 0x2000);
	call(0x2000, 0x3000);
	ret_to(0x4444);
	expect("2d 44 44");
	ret_to(0x1005);
	expect("2d 05 10");
	/* call +0 is not pushed, an indirect one to there is */
	call(0x1000, 0x1005);
	ret_to(0x1005);
	expect("2d 05 10");
	pt_unit_branch(&unit, X86_CALL_INDIRECT, 0x1000, 5, 0x1005);
	ret_to(0x1005);
	jmp_to(0x1000);
	expect("2d 05 10 06 2d 00 10");
	/* 64 deep */
	for (u64 i = 0; i < 65; i++)
		call(0x1000 + i * 16, 0x1000 + i * 16 + 16);
	for (u64 i = 64; i > 0; i--)
		ret_to(0x1000 + i * 16 + 5);
	assert_int_equal(unit.nr_tnt, 64 - 47);
	ret_to(0x1005);
	assert_int_equal(unit.nr_tnt, 0);
	seen = (unsigned int)unit.out.nr_written;
	/* also in recursion, where the slot of the 65th would match, too */
	for (int i = 0; i < 70; i++)
		call(0x1000, 0x1100);
	for (int i = 0; i < 64; i++)
		ret_to(0x1005);
	assert_int_equal(unit.nr_tnt, 64 - 47);
	ret_to(0x1005);
	assert_int_equal(unit.nr_tnt, 0);
	/* off */
	start(CTL);
	enter_at(0x1000);
	call(0x1000, 0x2000);
	ret_to(0x1005);
	expect("2d 05 10");
}

/* The FUP of a PSB+ is uncompressed whatever the last IP was, and is the last IP afterwards. */
static void test_psb_in_stream(void **state)
{
	(void)state;
	start((CTL & ~RTIT_CTL_DISRETC) | RTIT_CTL_TSCEN | RTIT_CTL_MTCEN |
	      15ull << RTIT_CTL_MTC_RANGE_SHIFT);
	enter_at(0x400000);
	call(0x3ffff0, 0x400000);
	while (unit.nr_produced + 3 < unit.psb_at)
		jmp_to(0x400000);
	seen = (unsigned int)unit.out.nr_written;
	tsc = 1234567; /* CTC 123456 = 0x1e240, and 7 ticks */
	jmp_to(0x400100);
	expect("2d 00 01 " PSB "19 87 d6 12 00 00 00 00 02 73 40 e2 00 07 00 " CBR EXEC
	       "7d 00 01 40 00 00 00 " END);
	ret_to(0x3ffff5);
	expect("4d f5 ff 3f 00");
}

static void test_time(void **state)
{
	(void)state;
	/* TSC = 10 CTC; MTCFreq 2: an MTC each 40 ticks, of CTC bits 9:2 */
	start(CTL | RTIT_CTL_MTCEN | RTIT_CTL_TSCEN | 2ull << RTIT_CTL_MTC_RANGE_SHIFT);
	tsc = 40000;
	enter_at(0x1000);
	tsc = 40039;
	jcc(0x1000, true);
	expect("");
	tsc = 40040; /* the older bit is sent first */
	jcc(0x1000, false);
	expect("06 59 e9");
	tsc = 40040 + 40 * 255;
	pt_unit_retire(&unit, 1, 0x1001);
	expect("04 59 e8");
	tsc += 40 * 256; /* eight bits would not show it */
	pt_unit_retire(&unit, 1, 0x1001);
	expect("19 40 ec 00 00 00 00 00 02 73 a0 17 00 00 00"); /* 60480, CTC 6048 */
	/* cycles before a TIP; 5 bits, then 7 a byte */
	start(CTL | RTIT_CTL_CYCEN);
	enter_at(0x1000);
	tsc += 31;
	jmp_to(0x1000);
	expect("fb 2d 00 10");
	tsc += 32;
	jmp_to(0x1000);
	expect("07 02 2d 00 10");
	tsc += 5000;
	jcc(0x1000, true);
	jmp_to(0x1000);
	expect("47 39 02 06 2d 00 10");
	jmp_to(0x1000);
	expect("2d 00 10");
	/* threshold 4: at least 8 cycles; a TSC gets its CYC below that, too */
	start(CTL | RTIT_CTL_CYCEN | RTIT_CTL_TSCEN | 4ull << RTIT_CTL_CYC_THRESH_SHIFT);
	enter_at(0x1000);
	tsc += 7;
	jmp_to(0x1000);
	expect("2d 00 10");
	tsc += 1;
	jmp_to(0x1000);
	expect("43 2d 00 10");
	pt_unit_leave_syscall(&unit, 0x1000);
	tsc += 1;
	pt_unit_enter_user(&unit, 0x1002);
	expect("01 0b 19 5f 34 12 00 00 00 00 31 02 10");
}

/*
 * Even if the unit sees the change of the CTC some instructions late, it puts the change between
 * the cycles before and after it.
 */
static void test_cycles_up_to_the_mtc(void **state)
{
	(void)state;
	start(CTL | RTIT_CTL_CYCEN | RTIT_CTL_MTCEN | RTIT_CTL_TSCEN |
	      2ull << RTIT_CTL_MTC_RANGE_SHIFT);
	tsc = 40000;
	enter_at(0x1000);
	tsc = 40039;
	jcc(0x1000, true);
	expect("");
	tsc = 40057;
	pt_unit_retire(&unit, 18, 0x1002);
	expect("47 02 06 59 e9"); /* 40 cycles, the branch, MTC of 40040 */
	jmp_to(0x1000);
	expect("8b 2d 00 10"); /* 17 cycles since */
	tsc = 40157;	       /* of the two changes, 40080 and 40120, the last */
	pt_unit_retire(&unit, 100, 0x1000);
	expect("ff 02 59 eb");
	jmp_to(0x1000);
	expect("2f 02 2d 00 10"); /* 37 */
}

/* The time before a branch that other threads may depend on: after the branches before it. */
static void test_request_tsc(void **state)
{
	(void)state;
	start(CTL | RTIT_CTL_TSCEN);
	tsc = 40000;
	enter_at(0x1000);
	jcc(0x1000, true);
	tsc = 40039;
	pt_unit_request_tsc(&unit);
	expect(""); /* not before the next branch */
	jcc(0x1000, true);
	expect("06 19 67 9c 00 00 00 00 00");
	jmp_to(0x1000); /* the second branch is after it */
	expect("06 2d 00 10");
	/* what TIP.PGE comes with is time enough */
	pt_unit_request_tsc(&unit);
	pt_unit_leave_syscall(&unit, 0x1000);
	expect("19 67 9c 00 00 00 00 00 01");
	pt_unit_request_tsc(&unit);
	tsc = 40041;
	pt_unit_enter_user(&unit, 0x1002);
	expect("19 69 9c 00 00 00 00 00 31 02 10");
	jmp_to(0x1000);
	expect("2d 00 10");
	start(CTL); /* no TSCEn: no time */
	enter_at(0x1000);
	pt_unit_request_tsc(&unit);
	jmp_to(0x1000);
	expect("2d 00 10");
}

static void test_overflow(void **state)
{
	(void)state;
	start(CTL & ~RTIT_CTL_DISRETC);
	enter_at(0x400000);
	call(0x400000, 0x400100);
	for (int i = 0; i < 8; i++)
		jcc(0x400100, true);
	pt_unit_inject_overflow(&unit);
	expect("");
	assert_int_equal(unit.nr_overflow_lost, 2);
	/* unit->ip is 0x400140: where decoders continue; no bit, no return address is left */
	pt_unit_branch(&unit, X86_RET, 0x400145, 1, 0x400005);
	expect("02 f3 7d 40 01 40 00 00 00 2d 05 00 " PSB CBR EXEC "7d 05 00 40 00 00 00 " END);
	/* while packets are off: no FUP, a PSB+ before the TIP.PGE */
	pt_unit_leave_syscall(&unit, 0x400005);
	pt_unit_inject_overflow(&unit);
	pt_unit_enter_user(&unit, 0x400007);
	expect("01 02 f3 " PSB CBR EXEC END "51 07 00 40 00");
}

static void test_filters(void **state)
{
	(void)state;
	/* OS only: user code generates nothing */
	start((CTL & ~RTIT_CTL_USR) | RTIT_CTL_OS | RTIT_CTL_TSCEN | RTIT_CTL_MTCEN);
	pt_unit_enter_user(&unit, 0x1000);
	tsc += 100000;
	jcc(0x1000, true);
	jmp_to(0x1000);
	pt_unit_inject_overflow(&unit);
	pt_unit_leave_async(&unit, 0x1000);
	expect("");
	/* no BranchEn: time alone */
	start((CTL & ~RTIT_CTL_BRANCHEN) | RTIT_CTL_MTCEN);
	pt_unit_enter_user(&unit, 0x1000);
	expect(PSB CBR EXEC END);
	tsc = 0x123456 / 10 * 10 + 20;
	jcc(0x1000, true);
	jmp_to(0x1000);
	expect("59 0a");
	pt_unit_leave_async(&unit, 0x1000);
	expect("");
	/* TraceEn off: nothing at all */
	start(0);
	pt_unit_enter_user(&unit, 0x1000);
	jmp_to(0x1000);
	pt_unit_leave_syscall(&unit, 0x1000);
	expect("");
}

/* Output stops, the unit continues to count. */
static void test_stopped(void **state)
{
	u64 entries[2] = {TOPA_STOP | 0x1000, TOPA_END};
	u64 produced;

	(void)state;
	make_unit();
	memcpy(memory, entries, sizeof(entries));
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_OUTPUT_BASE, 0), 0);
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_OUTPUT_MASK_PTRS, 0), 0);
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_CTL, CTL | RTIT_CTL_TOPA), 0);
	pt_unit_enter_user(&unit, 0x1000);
	for (int i = 0; i < 3000; i++)
		jmp_to(0x1000);
	assert_int_equal(unit.out.nr_written, 4096);
	assert_true(unit.nr_produced > 9000);
	assert_int_equal(unit.nr_produced, unit.out.nr_written + unit.out.nr_dropped);
	assert_int_equal(pt_unit_rdmsr(&unit, MSR_RTIT_STATUS),
			 RTIT_STATUS_STOPPED | RTIT_STATUS_FILTEREN | RTIT_STATUS_CONTEXTEN);
	/*
	 * the driver stops the unit, clears the status and starts at a new address: PSB+ first
	 */
	pt_unit_leave_async(&unit, 0x1000);
	produced = unit.nr_produced;
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_CTL, 0), 0);
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_STATUS, 0), 0);
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_OUTPUT_MASK_PTRS, 0x4000ull << 32 | 0xffff),
			 0);
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_CTL, CTL), 0);
	assert_int_equal(unit.nr_produced, produced);
	pt_unit_enter_user(&unit, 0x1000);
	assert_int_equal(memory[0x4000], 0x02);
	assert_int_equal(memory[0x4001], 0x82);
	assert_int_equal(pt_unit_rdmsr(&unit, MSR_RTIT_OUTPUT_MASK_PTRS) >> 32,
			 0x4000 + unit.nr_produced - produced);
}

static void test_registers(void **state)
{
	(void)state;
	make_unit();
	assert_int_equal(pt_unit_rdmsr(&unit, MSR_RTIT_CTL), 3ull << RTIT_CTL_MTC_RANGE_SHIFT);
	/* reserved bits */
	for (int bit = 0; bit < 64; bit++) {
		bool known = (bit >= 1 && bit <= 3) || (bit >= 8 && bit <= 11) || bit == 13 ||
			     (bit >= 14 && bit <= 17) || (bit >= 19 && bit <= 22) ||
			     (bit >= 24 && bit <= 27);

		if (bit)
			assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_CTL, 1ull << bit),
					 known ? 0 : -1);
	}
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_STATUS, 1ull << 3), -1);
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_STATUS, 0x37), 0);
	assert_int_equal(pt_unit_rdmsr(&unit, MSR_RTIT_STATUS), 0x30); /* the rest is read-only */
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_STATUS, 0), 0);
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_OUTPUT_BASE, 0x1040), -1);
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_OUTPUT_BASE, 0x1080), 0);
	assert_int_equal(pt_unit_rdmsr(&unit, MSR_RTIT_OUTPUT_BASE), 0x1080);
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_OUTPUT_MASK_PTRS, 5ull << 32), 0);
	assert_int_equal(pt_unit_rdmsr(&unit, MSR_RTIT_OUTPUT_MASK_PTRS), 5ull << 32 | 0x7f);
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_CR3_MATCH, 0x1010), -1);
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_CR3_MATCH, 0x1020), 0);
	assert_int_equal(pt_unit_rdmsr(&unit, MSR_RTIT_CR3_MATCH), 0x1020);
	assert_int_equal(pt_unit_wrmsr(&unit, 0x10, 0), -1);

	/* while TraceEn: only clearing TraceEn is allowed */
	start(CTL);
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_CTL, CTL), 0);
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_CTL, CTL | RTIT_CTL_TSCEN), -1);
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_STATUS, 0), -1);
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_OUTPUT_BASE, 0), -1);
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_OUTPUT_MASK_PTRS, 0xffff), -1);
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_CR3_MATCH, 0), -1);
	assert_int_equal(pt_unit_rdmsr(&unit, MSR_RTIT_CTL), CTL);
	assert_int_equal(pt_unit_rdmsr(&unit, MSR_RTIT_STATUS),
			 RTIT_STATUS_FILTEREN | RTIT_STATUS_TRIGGEREN);
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_CTL, CTL & ~RTIT_CTL_TRACEEN), 0);

	/* without a crystal ratio there is no MTC */
	pt_unit_init(&unit, &(struct pt_unit_config){.tsc = &tsc, .core_bus_ratio = 20}, &bus);
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_CTL, RTIT_CTL_MTCEN), -1);
}

/* A register write in the middle of user code, which no driver does. */
static void test_switched_in_user_mode(void **state)
{
	(void)state;
	make_unit();
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_OUTPUT_MASK_PTRS, sizeof(memory) - 1), 0);
	pt_unit_enter_user(&unit, 0x400000);
	pt_unit_retire(&unit, 2, 0x400002);
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_CTL, CTL), 0);
	expect(PSB CBR EXEC END EXEC "51 02 00 40 00");
	jcc(0x400002, true);
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_CTL, 0), 0);
	expect("06 3d 42 00 01");
}

static u64 next_random(u64 *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed * 0x2545f4914f6cdd1dull >> 11;
}

static void random_call(u64 *seed)
{
	u64 ip = next_random(seed) >> (next_random(seed) % 4) * 16;
	u64 ctl = next_random(seed) & 0xf7afd0e; /* all bits but the reserved ones and TraceEn */

	tsc += next_random(seed) >> (28 + next_random(seed) % 36);
	switch (next_random(seed) % 32) {
	case 0:
		pt_unit_wrmsr(&unit, MSR_RTIT_CTL, ctl);
		pt_unit_wrmsr(&unit, MSR_RTIT_STATUS, 0);
		pt_unit_wrmsr(&unit, MSR_RTIT_OUTPUT_BASE, next_random(seed) % 4 << 12);
		pt_unit_wrmsr(&unit, MSR_RTIT_OUTPUT_MASK_PTRS,
			      next_random(seed) % 8192 << 32 | 0xfff);
		break;
	case 1:
	case 2:
		pt_unit_wrmsr(&unit, MSR_RTIT_CTL, ctl | RTIT_CTL_TRACEEN);
		break;
	case 3:
		pt_unit_inject_overflow(&unit);
		break;
	case 4:
		pt_unit_leave_syscall(&unit, ip);
		break;
	case 5:
		pt_unit_leave_async(&unit, ip);
		break;
	case 6:
		pt_unit_set_mode(&unit, next_random(seed) & 1 ? 64 : 32);
		break;
	case 7:
	case 8:
	case 9:
		pt_unit_enter_user(&unit, ip);
		break;
	case 10:
	case 11:
		pt_unit_retire(&unit, 5, ip);
		break;
	default:
		pt_unit_branch(&unit, next_random(seed) % (X86_FAR + 1), ip, next_random(seed) % 16,
			       next_random(seed) & 1 ? ip + 2 : ip * 3);
		break;
	}
}

/*
 * Any calls in any order: every byte is accounted for, and the unit's state stays within its
 * bounds (asan and ubsan check that).
 */
static void test_any_order(void **state)
{
	u64 seed = 12345, total = 0;

	(void)state;
	make_unit();
	for (int i = 0; i < 2000000; i++) {
		u64 produced = unit.nr_produced;

		random_call(&seed);
		assert_true(unit.nr_produced == unit.out.nr_written + unit.out.nr_dropped);
		assert_true(unit.nr_produced - produced <= 320);
		assert_true(unit.nr_tnt < 47 && unit.tnt >> unit.nr_tnt == 0);
		assert_true(unit.ret_depth <= 64 && unit.ret_top < 64);
		assert_true(!unit.packet_en || (unit.context_en && unit.ctl & RTIT_CTL_TRACEEN));
		total += unit.nr_produced - produced;
	}
	assert_true(total > 1000000 && unit.out.nr_written > 1000 && unit.out.nr_dropped > 1000);
}

#define FILTER(n, cfg) ((cfg) << (RTIT_CTL_ADDR_CFG_SHIFT + 4 * (n)))

/* Two ranges, 0x401000 to 0x4010ff and 0x402000 to 0x40200f, configured by the arguments. */
static void start_ranges(u64 ctl)
{
	make_unit();
	unit.config.nr_ranges = 2;
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_OUTPUT_MASK_PTRS, sizeof(memory) - 1), 0);
	assert_int_equal(pt_unit_wrmsr(&unit, 0x580, 0x401000), 0);
	assert_int_equal(pt_unit_wrmsr(&unit, 0x581, 0x4010ff), 0);
	assert_int_equal(pt_unit_wrmsr(&unit, 0x582, 0x402000), 0);
	assert_int_equal(pt_unit_wrmsr(&unit, 0x583, 0x40200f), 0);
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_CTL, ctl), 0);
}

/* SDM "Filtering by IP": packets begin and end where a branch or an event leads in or out. */
static void test_filter(void **state)
{
	(void)state;
	start_ranges(CTL | FILTER(0, 1ull));
	pt_unit_enter_user(&unit, 0x400000);
	jcc(0x400000, true);
	jmp_to(0x400100);
	expect("");
	assert_int_equal(pt_unit_rdmsr(&unit, MSR_RTIT_STATUS) & RTIT_STATUS_FILTEREN, 0);
	jmp_to(0x4010ff); /* the last byte is in */
	expect(PSB CBR EXEC END EXEC "51 ff 10 40 00");
	assert_int_equal(pt_unit_rdmsr(&unit, MSR_RTIT_STATUS) & RTIT_STATUS_FILTEREN, 1);
	/* running past the end is not checked, nor is a branch that is not taken */
	pt_unit_retire(&unit, 1, 0x401100);
	jcc(0x401100, false);
	expect("");
	jcc(0x401102, true); /* TNT N; the branch that leaves is TIP.PGD alone */
	expect("04 21 42 11");
	pt_unit_branch(&unit, X86_CALL, 0x400000, 5, 0x401000);
	expect("31 00 10");
	pt_unit_branch(&unit, X86_CALL, 0x401000, 5, 0x403000); /* a direct one, too */
	expect("21 00 30");
	pt_unit_branch(&unit, X86_RET, 0x403000, 1, 0x401005);
	expect("31 05 10");
	/* leaving user mode: no address; entering it elsewhere: nothing */
	pt_unit_leave_async(&unit, 0x401006);
	expect("3d 06 10 01");
	pt_unit_enter_user(&unit, 0x400000);
	pt_unit_leave_syscall(&unit, 0x400000);
	expect("");
	pt_unit_enter_user(&unit, 0x401006);
	expect("31 06 10");
}

/* An overflow outside is reported at the next entry. */
static void test_filter_overflow(void **state)
{
	(void)state;
	start_ranges(CTL | FILTER(0, 1ull));
	enter_at(0x401000);
	jmp_to(0x400000);
	expect("21 00 00");
	pt_unit_inject_overflow(&unit);
	jmp_to(0x400100);
	pt_unit_retire(&unit, 1, 0x400101);
	expect("");
	jmp_to(0x401000);
	expect("02 f3 " PSB CBR EXEC END "51 00 10 40 00");
}

/* SDM "TraceStop": TIP.PGD, TraceStop, and nothing until TraceEn and STOPPED were cleared. */
static void test_trace_stop(void **state)
{
	(void)state;
	start_ranges(CTL | FILTER(0, 2ull) | FILTER(1, 1ull));
	enter_at(0x402000);
	jcc(0x402000, false);
	jmp_to(0x401010);
	expect("04 21 10 10 02 83");
	assert_int_equal(pt_unit_rdmsr(&unit, MSR_RTIT_STATUS),
			 RTIT_STATUS_STOPPED | RTIT_STATUS_CONTEXTEN);
	jmp_to(0x402000);
	pt_unit_leave_async(&unit, 0x402002);
	pt_unit_enter_user(&unit, 0x402002);
	pt_unit_inject_overflow(&unit);
	jmp_to(0x402004);
	pt_unit_leave_syscall(&unit, 0x402004);
	expect("");
	assert_int_equal(unit.out.nr_dropped, 0);
	/* TraceEn alone is not enough */
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_CTL, 0), 0);
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_CTL, CTL | FILTER(0, 2ull)), 0);
	pt_unit_enter_user(&unit, 0x402002);
	pt_unit_leave_async(&unit, 0x402002);
	expect("");
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_CTL, 0), 0);
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_STATUS, 0), 0);
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_CTL, CTL | FILTER(0, 2ull)), 0);
	pt_unit_enter_user(&unit, 0x402002);
	expect(PSB CBR EXEC END EXEC "51 02 20 40 00");
	/* without packets before it, TraceStop alone; an event leads in like a branch */
	pt_unit_leave_syscall(&unit, 0x402002);
	pt_unit_enter_user(&unit, 0x401000);
	expect("01 02 83");
}

static void test_range_registers(void **state)
{
	(void)state;
	make_unit();
	assert_int_equal(pt_unit_wrmsr(&unit, 0x580, 0x401000), -1); /* has none */
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_CTL, CTL | FILTER(0, 1ull)), -1);
	start_ranges(CTL | FILTER(0, 2ull) | FILTER(1, 1ull));
	assert_int_equal(pt_unit_rdmsr(&unit, 0x583), 0x40200f);
	assert_int_equal(pt_unit_wrmsr(&unit, 0x580, 0x401000), -1); /* TraceEn */
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_CTL, 0), 0);
	assert_int_equal(pt_unit_wrmsr(&unit, 0x581, 1ull << 60), -1); /* not canonical */
	assert_int_equal(pt_unit_wrmsr(&unit, 0x581, ~0ull), 0);
	assert_int_equal(pt_unit_wrmsr(&unit, 0x584, 0), -1); /* a third range */
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_CTL, CTL | FILTER(2, 1ull)), -1);
	assert_int_equal(pt_unit_wrmsr(&unit, MSR_RTIT_CTL, CTL | FILTER(1, 3ull)), -1);
}

int main(void)
{
	/* clang-format off */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start),	       cmocka_unit_test(test_start_32_bit),
		cmocka_unit_test(test_tnt),	       cmocka_unit_test(test_ip_compression),
		cmocka_unit_test(test_ret_compression), cmocka_unit_test(test_psb_in_stream),
		cmocka_unit_test(test_time),	       cmocka_unit_test(test_cycles_up_to_the_mtc),
		cmocka_unit_test(test_request_tsc),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_filters),	       cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_registers),      cmocka_unit_test(test_switched_in_user_mode),
		cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_filter),	cmocka_unit_test(test_filter_overflow),
		cmocka_unit_test(test_trace_stop), cmocka_unit_test(test_range_registers),
	};
	/* clang-format on */

	return cmocka_run_group_tests(tests, NULL, NULL);
}
