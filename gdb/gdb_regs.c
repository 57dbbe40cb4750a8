// SPDX-License-Identifier: BSD-2-Clause
/*
 * See gdb_regs.h. Names, order and features are those of gdb's manual ("Standard Target Features"):
 * gdb refuses a description without them.
 */
#include "gdb_regs.h"

#include <stdio.h>
#include <string.h>

/* nr registers in a row, of 'bytes' bytes each; from: the index of the first in auxtap_regs. */
struct reg_group {
	unsigned int nr, bytes;
	int from; /* OTHER: not recorded; a core file may contain them (core_thread.other) */
};

#define OTHER (-1)

/* clang-format off */
static const struct reg_group x86_groups[] = {
	{1, 8, AUXTAP_X86_AX}, {1, 8, AUXTAP_X86_BX}, {1, 8, AUXTAP_X86_CX}, {1, 8, AUXTAP_X86_DX},
	{1, 8, AUXTAP_X86_SI}, {1, 8, AUXTAP_X86_DI}, {1, 8, AUXTAP_X86_BP}, {1, 8, AUXTAP_X86_SP},
	{8, 8, AUXTAP_X86_R8},
	{1, 8, AUXTAP_X86_IP}, {1, 4, AUXTAP_X86_FLAGS},
	{1, 4, AUXTAP_X86_CS}, {1, 4, AUXTAP_X86_SS}, {1, 4, AUXTAP_X86_DS}, {1, 4, AUXTAP_X86_ES},
	{2, 4, OTHER},		/* fs, gs: the selectors */
	{8, 10, OTHER}, {8, 4, OTHER},	/* st0 ... fop */
	{16, 16, OTHER}, {1, 4, OTHER},	/* xmm0 ... mxcsr */
	{1, 8, OTHER},		/* orig_rax */
	{1, 8, AUXTAP_X86_FS}, {1, 8, AUXTAP_X86_GS}, /* fs_base, gs_base */
	{0},
};

static const struct reg_group a64_groups[] = {
	{33, 8, AUXTAP_A64_X0},		/* x0 ... x30, sp, pc */
	{1, 4, AUXTAP_A64_PSTATE},
	{32, 16, OTHER}, {2, 4, OTHER},	/* v0 ... v31, fpsr, fpcr */
	{0},
};
/* clang-format on */

#define REG(name, bits, type) "<reg name=\"" name "\" bitsize=\"" bits "\" type=\"" type "\"/>"
#define INT64(name)	      REG(name, "64", "int64")
#define INT32(name)	      REG(name, "32", "int32")
#define FPU(name)	      REG(name, "32", "int")
#define XMM(name)	      REG(name, "128", "vec128")
#define ST(name)	      REG(name, "80", "i387_ext")

/* clang-format off */
static const char x86_description[] =
	"<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target>"
	"<architecture>i386:x86-64</architecture><osabi>GNU/Linux</osabi>"
	"<feature name=\"org.gnu.gdb.i386.core\">"
	INT64("rax") INT64("rbx") INT64("rcx") INT64("rdx") INT64("rsi") INT64("rdi")
	REG("rbp", "64", "data_ptr") REG("rsp", "64", "data_ptr")
	INT64("r8") INT64("r9") INT64("r10") INT64("r11") INT64("r12") INT64("r13") INT64("r14")
	INT64("r15") REG("rip", "64", "code_ptr") REG("eflags", "32", "int32")
	INT32("cs") INT32("ss") INT32("ds") INT32("es") INT32("fs") INT32("gs")
	ST("st0") ST("st1") ST("st2") ST("st3") ST("st4") ST("st5") ST("st6") ST("st7")
	FPU("fctrl") FPU("fstat") FPU("ftag") FPU("fiseg") FPU("fioff") FPU("foseg") FPU("fooff")
	FPU("fop") "</feature>"
	"<feature name=\"org.gnu.gdb.i386.sse\">"
	"<vector id=\"v4f\" type=\"ieee_single\" count=\"4\"/>"
	"<vector id=\"v2d\" type=\"ieee_double\" count=\"2\"/>"
	"<vector id=\"v16i8\" type=\"int8\" count=\"16\"/>"
	"<vector id=\"v2i64\" type=\"int64\" count=\"2\"/>"
	"<union id=\"vec128\"><field name=\"v4_float\" type=\"v4f\"/>"
	"<field name=\"v2_double\" type=\"v2d\"/><field name=\"v16_int8\" type=\"v16i8\"/>"
	"<field name=\"v2_int64\" type=\"v2i64\"/><field name=\"uint128\" type=\"uint128\"/></union>"
	XMM("xmm0") XMM("xmm1") XMM("xmm2") XMM("xmm3") XMM("xmm4") XMM("xmm5") XMM("xmm6")
	XMM("xmm7") XMM("xmm8") XMM("xmm9") XMM("xmm10") XMM("xmm11") XMM("xmm12") XMM("xmm13")
	XMM("xmm14") XMM("xmm15") FPU("mxcsr") "</feature>"
	/* without this feature gdb does not handle Linux's signals and libraries */
	"<feature name=\"org.gnu.gdb.i386.linux\">" INT64("orig_rax") "</feature>"
	"<feature name=\"org.gnu.gdb.i386.segments\">" INT64("fs_base") INT64("gs_base")
	"</feature></target>";

#define X(n)			    INT64("x" n)
#define V(n)			    REG("v" n, "128", "aarch64v")
#define VECTOR(name, element, count) \
	"<vector id=\"" name "\" type=\"" element "\" count=\"" count "\"/>"
#define FIELD(name, type) "<field name=\"" name "\" type=\"" type "\"/>"
static const char a64_description[] =
	"<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target>"
	"<architecture>aarch64</architecture><osabi>GNU/Linux</osabi>"
	"<feature name=\"org.gnu.gdb.aarch64.core\">"
	X("0") X("1") X("2") X("3") X("4") X("5") X("6") X("7") X("8") X("9") X("10") X("11")
	X("12") X("13") X("14") X("15") X("16") X("17") X("18") X("19") X("20") X("21") X("22")
	X("23") X("24") X("25") X("26") X("27") X("28") X("29") X("30")
	REG("sp", "64", "data_ptr") REG("pc", "64", "code_ptr") REG("cpsr", "32", "int")
	"</feature><feature name=\"org.gnu.gdb.aarch64.fpu\">"
	VECTOR("v2d", "ieee_double", "2") VECTOR("v2u", "uint64", "2") VECTOR("v2i", "int64", "2")
	VECTOR("v4f", "ieee_single", "4") VECTOR("v4u", "uint32", "4") VECTOR("v4i", "int32", "4")
	VECTOR("v8f", "ieee_half", "8") VECTOR("v8u", "uint16", "8") VECTOR("v8i", "int16", "8")
	VECTOR("v16u", "uint8", "16") VECTOR("v16i", "int8", "16")
	VECTOR("v1u", "uint128", "1") VECTOR("v1i", "int128", "1")
	"<union id=\"vnd\">" FIELD("f", "v2d") FIELD("u", "v2u") FIELD("s", "v2i") "</union>"
	"<union id=\"vns\">" FIELD("f", "v4f") FIELD("u", "v4u") FIELD("s", "v4i") "</union>"
	"<union id=\"vnh\">" FIELD("f", "v8f") FIELD("u", "v8u") FIELD("s", "v8i") "</union>"
	"<union id=\"vnb\">" FIELD("u", "v16u") FIELD("s", "v16i") "</union>"
	"<union id=\"vnq\">" FIELD("u", "v1u") FIELD("s", "v1i") "</union>"
	"<union id=\"aarch64v\">" FIELD("d", "vnd") FIELD("s", "vns") FIELD("h", "vnh")
	FIELD("b", "vnb") FIELD("q", "vnq") "</union>"
	V("0") V("1") V("2") V("3") V("4") V("5") V("6") V("7") V("8") V("9") V("10") V("11")
	V("12") V("13") V("14") V("15") V("16") V("17") V("18") V("19") V("20") V("21") V("22")
	V("23") V("24") V("25") V("26") V("27") V("28") V("29") V("30") V("31")
	FPU("fpsr") FPU("fpcr") "</feature></target>";
/* clang-format on */

static const struct reg_group *groups_of(enum auxtap_arch arch)
{
	return arch == AUXTAP_ARCH_X86_64  ? x86_groups :
	       arch == AUXTAP_ARCH_AARCH64 ? a64_groups :
					     NULL;
}

const char *gdb_regs_description(enum auxtap_arch arch)
{
	return arch == AUXTAP_ARCH_X86_64  ? x86_description :
	       arch == AUXTAP_ARCH_AARCH64 ? a64_description :
					     NULL;
}

static int pc_index(enum auxtap_arch arch)
{
	return arch == AUXTAP_ARCH_AARCH64 ? (int)AUXTAP_A64_PC : (int)AUXTAP_X86_IP;
}

/* Writes register nr of a group; other: offset of the group in core_thread.other. */
static void put_reg(struct gdb_reply *reply, const struct gdb_reg_values *v,
		    const struct reg_group *g, unsigned int nr, unsigned int other)
{
	int index = g->from == OTHER ? OTHER : g->from + (int)nr;
	const void *value = NULL;

	if (index == pc_index(v->arch))
		value = v->has_pc ? &v->pc : NULL;
	else if (index != OTHER)
		value = v->regs && v->regs->valid & 1ull << index ? &v->regs->reg[index] : NULL;
	else if (v->core && v->core->has_other)
		value = v->core->other + other + nr * g->bytes;
	if (value)
		gdb_reply_hex(reply, value, g->bytes); /* both are little-endian */
	else
		for (unsigned int i = 0; i < g->bytes; i++)
			gdb_reply_text(reply, "xx");
}

void gdb_regs_put_all(struct gdb_reply *reply, const struct gdb_reg_values *v)
{
	unsigned int other = 0;

	for (const struct reg_group *g = groups_of(v->arch); g && g->nr; g++) {
		for (unsigned int i = 0; i < g->nr; i++)
			put_reg(reply, v, g, i, other);
		other += g->from == OTHER ? g->nr * g->bytes : 0;
	}
}

bool gdb_regs_put_one(struct gdb_reply *reply, const struct gdb_reg_values *v, uint64_t number)
{
	unsigned int other = 0;

	for (const struct reg_group *g = groups_of(v->arch); g && g->nr; g++) {
		if (number < g->nr) {
			put_reg(reply, v, g, (unsigned int)number, other);
			return true;
		}
		number -= g->nr;
		other += g->from == OTHER ? g->nr * g->bytes : 0;
	}
	return false;
}

void gdb_regs_put_pc(struct gdb_reply *reply, const struct gdb_reg_values *v)
{
	unsigned int number = 0;

	if (!v->has_pc)
		return;
	for (const struct reg_group *g = groups_of(v->arch); g && g->nr; number += g->nr, g++) {
		int off = pc_index(v->arch) - g->from;

		if (g->from == OTHER || off < 0 || off >= (int)g->nr)
			continue;
		gdb_reply_text(reply, "%x:", number + (unsigned int)off);
		gdb_reply_hex(reply, &v->pc, sizeof(v->pc));
		gdb_reply_text(reply, ";");
		return;
	}
}
