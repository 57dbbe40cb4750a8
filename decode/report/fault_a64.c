// SPDX-License-Identifier: BSD-2-Clause
/*
 * Decodes what an A64 instruction accesses: address, size and direction, by the tables "Loads and
 * stores" of the Arm Architecture Reference Manual (C4.1). SVE and memory tags are not supported.
 */
#include "fault.h"

#include <string.h>

#define TAG_MASK 0x00ffffffffffffffull /* the top byte of a pointer is the program's own (TBI) */

static uint32_t bits(uint32_t code, unsigned int high, unsigned int low)
{
	return code >> low & (uint32_t)((1ull << (high - low + 1)) - 1);
}

static uint64_t sign_extend(uint32_t value, unsigned int nr_bits)
{
	return (uint64_t)value - ((uint64_t)(value >> (nr_bits - 1) & 1) << nr_bits);
}

/* Register 31 is sp as a base, zero as an index. */
static uint64_t base_reg(const struct auxtap_regs *regs, uint32_t code)
{
	return regs->reg[AUXTAP_A64_X0 + bits(code, 9, 5)];
}

static uint64_t index_reg(const struct auxtap_regs *regs, uint32_t code)
{
	uint32_t rm = bits(code, 20, 16);
	uint64_t value = rm == 31 ? 0 : regs->reg[AUXTAP_A64_X0 + rm];

	switch (bits(code, 15, 13)) {
	case 2: /* uxtw */
		return (uint32_t)value;
	case 6: /* sxtw */
		return (uint64_t)(int64_t)(int32_t)value;
	default:
		return value;
	}
}

/* The memory access of one instruction. */
struct access {
	uint64_t addr;
	unsigned int nr_bytes;
	bool reads, writes;
	bool no_base; /* addr is relative to the program counter, or has an index */
};

/* Load/store exclusive and ordered, compare and swap. */
static bool ordered(uint32_t code, const struct auxtap_regs *regs, struct access *a)
{
	bool o2 = code >> 23 & 1, load = code >> 22 & 1, o1 = code >> 21 & 1;
	uint32_t size = bits(code, 31, 30);

	a->addr = base_reg(regs, code);
	a->nr_bytes = 1u << size;
	a->reads = load;
	a->writes = !load;
	if (o1 && !o2) { /* a pair: exclusive, or compare and swap */
		a->nr_bytes = size >= 2 ? 2u << size : 8u << size;
		if (size < 2)
			a->reads = a->writes = true;
	} else if (o1) { /* compare and swap */
		a->reads = a->writes = true;
	}
	return true;
}

static bool pair(uint32_t code, const struct auxtap_regs *regs, struct access *a)
{
	uint32_t opc = bits(code, 31, 30), how = bits(code, 24, 23);
	unsigned int scale = code >> 26 & 1 ? 2 + opc : opc & 2 ? 3 : 2;

	if (opc == 3)
		return false;
	a->addr = base_reg(regs, code);
	if (how != 1) /* not post-indexed */
		a->addr += sign_extend(bits(code, 21, 15), 7) << scale;
	a->nr_bytes = 2u << scale;
	a->reads = code >> 22 & 1;
	a->writes = !a->reads;
	if (opc == 1 && !(code >> 26 & 1) && a->writes) /* stgp: tags */
		return false;
	return true;
}

static bool single(uint32_t code, const struct auxtap_regs *regs, struct access *a)
{
	bool vector = code >> 26 & 1;
	uint32_t size = bits(code, 31, 30), opc = bits(code, 23, 22);
	unsigned int scale = vector && opc & 2 ? 4 : size;

	if (!vector && size == 3 && opc & 2 && (code >> 24 & 1 || !(code >> 21 & 1)))
		return false; /* prefetches never fault */
	a->addr = base_reg(regs, code);
	a->nr_bytes = 1u << scale;
	a->reads = vector ? opc & 1 : opc != 0;
	a->writes = !a->reads;
	if (code >> 24 & 1) {
		a->addr += (uint64_t)bits(code, 21, 10) << scale;
		return true;
	}
	/* unscaled, unprivileged, pre-indexed; post-indexed counts later */
	if (!(code >> 21 & 1)) {
		if (bits(code, 11, 10) != 1)
			a->addr += sign_extend(bits(code, 20, 12), 9);
		return true;
	}
	if (bits(code, 11, 10) == 2) {
		if (!vector && size == 3 && opc == 2)
			return false; /* a prefetch */
		a->addr += index_reg(regs, code) << (code >> 12 & 1 ? scale : 0);
		a->no_base = index_reg(regs, code) != 0;
		return true;
	}
	if (bits(code, 11, 10) == 0 && !vector) { /* atomic operations */
		bool ldapr = bits(code, 15, 12) == 12 && bits(code, 23, 22) == 2;

		a->reads = true;
		a->writes = !ldapr;
		return true;
	}
	return false; /* loads by signed pointers */
}

/* Loads and stores of Advanced SIMD structures. */
static bool structure(uint32_t code, const struct auxtap_regs *regs, struct access *a)
{
	static const uint8_t nr_regs[16] =
		{[0] = 4, [2] = 4, [4] = 3, [6] = 3, [7] = 1, [8] = 2, [10] = 2};
	uint32_t op = bits(code, 15, 12);

	a->addr = base_reg(regs, code);
	a->reads = code >> 22 & 1;
	a->writes = !a->reads;
	if (!(code >> 24 & 1)) {
		a->nr_bytes = nr_regs[op] * (code >> 30 & 1 ? 16u : 8u);
	} else {
		unsigned int nr = (op >> 1 & 1) * 2 + (code >> 21 & 1) + 1, scale = op >> 2 & 3;

		if (scale == 3) /* one element for all */
			scale = bits(code, 11, 10);
		else if (scale == 2 && code >> 10 & 1)
			scale = 3;
		a->nr_bytes = nr << scale;
	}
	return a->nr_bytes != 0;
}

static bool decode(uint32_t code, const struct auxtap_regs *regs, struct access *a)
{
	if ((code & 0x3f000000) == 0x08000000)
		return ordered(code, regs, a);
	if ((code & 0x3b000000) == 0x18000000) { /* literal */
		uint32_t opc = bits(code, 31, 30);
		bool vector = code >> 26 & 1;

		if (opc == 3)
			return false;
		a->addr = regs->reg[AUXTAP_A64_PC] + (sign_extend(bits(code, 23, 5), 19) << 2);
		a->nr_bytes = vector ? 4u << opc : opc == 1 ? 8 : 4;
		a->no_base = true;
		a->reads = true;
		return true;
	}
	if ((code & 0x3f200c00) == 0x19000000) { /* ordered, with an offset */
		uint32_t opc = bits(code, 23, 22);

		a->addr = base_reg(regs, code) + sign_extend(bits(code, 20, 12), 9);
		a->nr_bytes = 1u << bits(code, 31, 30);
		a->reads = opc != 0;
		a->writes = opc == 0;
		return true;
	}
	if ((code & 0x3a000000) == 0x28000000)
		return pair(code, regs, a);
	if ((code & 0x3a000000) == 0x38000000)
		return single(code, regs, a);
	if ((code & 0xbe000000) == 0x0c000000)
		return structure(code, regs, a);
	return false;
}

/* dc zva, xt: zeroes a block, whose size is in DCZID_EL0, which is unknown; at most 2048 bytes. */
static bool zeroes(uint32_t code, const struct report_facts *facts, const struct auxtap_regs *regs)
{
	uint32_t rt = bits(code, 4, 0);
	uint64_t addr = rt == 31 ? 0 : regs->reg[AUXTAP_A64_X0 + rt];

	return (code & 0xffffffe0) == 0xd50b7420 &&
	       (facts->crash.flags & AUXTAP_CRASH_ADDR_VALID) &&
	       !((addr ^ facts->crash.fault_addr) & TAG_MASK & ~2047ull);
}

/*
 * Is addr among the bytes that a memory copy or memory set instruction has not processed yet? reg
 * is an address and left the count. Forwards the bytes start at the address; with option A of the
 * architecture, once started, the count is negative and the address is the end. Backwards with
 * option B it is the end, too.
 */
static bool is_left(const struct auxtap_regs *regs, uint32_t code, uint32_t reg, uint64_t addr)
{
	const uint64_t option_b = 1u << 29, backwards = 1u << 31; /* PSTATE.C and .N */
	uint64_t at = regs->reg[AUXTAP_A64_X0 + reg],
		 left = regs->reg[AUXTAP_A64_X0 + bits(code, 9, 5)];
	bool begun = bits(code, 23, 22) == 3 ? bits(code, 15, 14) != 0 : bits(code, 23, 22) != 0;
	uint64_t pstate = regs->reg[AUXTAP_A64_PSTATE];

	if (left >> 63) {
		at += left;
		left = -left;
	} else if (begun && code >> 26 & 1 && bits(code, 23, 22) != 3 && pstate & option_b &&
		   pstate & backwards) {
		at -= left;
	}
	return ((addr - at) & TAG_MASK) < left;
}

/* cpyp, cpym, cpye, setp, setm, sete and their variants: finds which side of the copy failed. */
static bool copies(uint32_t code, const struct report_facts *facts, const struct auxtap_regs *regs,
		   bool *write)
{
	uint64_t addr = facts->crash.fault_addr;
	bool set = bits(code, 23, 22) == 3, from;

	if ((code & 0xfb200c00) != 0x19000400 || bits(code, 20, 16) == 31 ||
	    bits(code, 9, 5) == 31 || bits(code, 4, 0) == 31 ||
	    !(facts->crash.flags & AUXTAP_CRASH_ADDR_VALID))
		return false;
	from = !set && is_left(regs, code, bits(code, 20, 16), addr);
	*write = is_left(regs, code, bits(code, 4, 0), addr);
	return from != *write; /* if source and target overlap, it may be either: unknown */
}

void fault_a64_memory(const struct report_facts *facts, const struct auxtap_regs *regs,
		      const uint8_t *bytes, size_t size, struct fault *fault)
{
	struct access a = {0};
	uint32_t code;
	bool write;

	if (size < 4)
		return;
	code = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
	if (copies(code, facts, regs, &write)) {
		fault->access = (struct fault_access){.known = true,
						      .write = write,
						      .addr = facts->crash.fault_addr};
		return;
	}
	if (zeroes(code, facts, regs)) {
		fault->access = (struct fault_access){.known = true,
						      .write = true,
						      .addr = facts->crash.fault_addr};
		return;
	}
	if (!decode(code, regs, &a))
		return;
	/* replace the tag by bit 55, as Linux does in the address of a fault */
	a.addr = (uint64_t)((int64_t)(a.addr << 8) >> 8);
	{
		struct fault_access found = {
			.known = true,
			.write = a.writes && (!a.reads || fault_update_writes(facts, a.addr)),
			.addr = a.addr,
			.nr_bytes = a.nr_bytes,
			.base = base_reg(regs, code),
		};
		uint32_t rn = bits(code, 9, 5);

		if (!a.no_base && rn == 31)
			strcpy(found.base_reg, "sp");
		else if (!a.no_base)
			snprintf(found.base_reg, sizeof(found.base_reg), "x%u", rn);
		/* if there is an index, take the base: an index is rarely the pointer */
		snprintf(found.text_reg, sizeof(found.text_reg), rn == 31 ? "sp" : "x%u", rn);
		found.text_value = found.base;
		if (fault_explains(facts, regs, &found))
			fault->access = found;
	}
}

void fault_a64_undefined(const uint8_t *bytes, size_t size, char *why, size_t why_size)
{
	uint32_t code;

	if (size < 4)
		return;
	code = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
	if ((code & 0xff000000) == 0xd5000000)
		snprintf(
			why, why_size,
			"it accesses a system register, or has an effect, that only the kernel may use");
	else if ((code & 0xff00001f) == 0xd4000002 || (code & 0xff00001f) == 0xd4000003 ||
		 (code & 0xffe0001f) == 0xd4400000 || code == 0xd69f03e0)
		snprintf(why, why_size,
			 "%s is not for programs: only the kernel or a debugger may execute it",
			 code == 0xd69f03e0			    ? "eret" :
			 code >> 20 == 0xd44 || code >> 20 == 0xd45 ? "hlt" :
			 code & 1				    ? "smc" :
								      "hvc");
	else if (!(code & 0xffff0000))
		snprintf(why, why_size, "it ran into udf #%u, which is never an instruction%s",
			 code, code ? "" : ": zeroes, perhaps data");
	else if ((code & 0xffe0001f) == 0xd4200000) {
		uint32_t imm = bits(code, 20, 5);

		/* gcc's __builtin_trap is brk #1000, clang's brk #1 */
		snprintf(
			why, why_size, "it ran into brk #%u%s", imm,
			imm == 1000 || imm == 1 ?
				", the instruction that compilers put where a program must not go" :
				", a breakpoint, without a debugger");
	}
}
