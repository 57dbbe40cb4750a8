// SPDX-License-Identifier: BSD-2-Clause
/* Registers of a dead thread, of whichever architecture. */
#include "report_regs.h"
#include "util/json_out.h"

#include <inttypes.h>

struct named_reg {
	const char *name;
	int index;
};

/* clang-format off */
static const struct named_reg x86_order[] = {
	{"rax", AUXTAP_X86_AX}, {"rbx", AUXTAP_X86_BX}, {"rcx", AUXTAP_X86_CX},
	{"rdx", AUXTAP_X86_DX}, {"rsi", AUXTAP_X86_SI}, {"rdi", AUXTAP_X86_DI},
	{"rbp", AUXTAP_X86_BP}, {"rsp", AUXTAP_X86_SP}, {"r8", AUXTAP_X86_R8},
	{"r9", AUXTAP_X86_R9},	{"r10", AUXTAP_X86_R10}, {"r11", AUXTAP_X86_R11},
	{"r12", AUXTAP_X86_R12}, {"r13", AUXTAP_X86_R13}, {"r14", AUXTAP_X86_R14},
	{"r15", AUXTAP_X86_R15}, {"rip", AUXTAP_X86_IP}, {"eflags", AUXTAP_X86_FLAGS},
};
/* clang-format on */

/* clang-format off */
static const struct named_reg a64_order[] = {
	{"x0", 0},   {"x1", 1},	  {"x2", 2},   {"x3", 3},   {"x4", 4},	 {"x5", 5},
	{"x6", 6},   {"x7", 7},	  {"x8", 8},   {"x9", 9},   {"x10", 10}, {"x11", 11},
	{"x12", 12}, {"x13", 13}, {"x14", 14}, {"x15", 15}, {"x16", 16}, {"x17", 17},
	{"x18", 18}, {"x19", 19}, {"x20", 20}, {"x21", 21}, {"x22", 22}, {"x23", 23},
	{"x24", 24}, {"x25", 25}, {"x26", 26}, {"x27", 27}, {"x28", 28},
	{"fp", AUXTAP_A64_FP},	  {"lr", AUXTAP_A64_LR},    {"sp", AUXTAP_A64_SP},
	{"pc", AUXTAP_A64_PC},	  {"pstate", AUXTAP_A64_PSTATE},
};
/* clang-format on */

static bool known(const struct auxtap_regs *regs, int x86, int a64, uint64_t *value)
{
	int index = regs->arch == AUXTAP_ARCH_X86_64  ? x86 :
		    regs->arch == AUXTAP_ARCH_AARCH64 ? a64 :
							-1;

	if (index < 0 || !(regs->valid & (1ull << index)))
		return false;
	*value = regs->reg[index];
	return true;
}

bool report_regs_ip(const struct auxtap_regs *regs, uint64_t *ip)
{
	return known(regs, AUXTAP_X86_IP, AUXTAP_A64_PC, ip);
}

void report_regs_move(struct auxtap_regs *regs, uint64_t ip)
{
	regs->reg[regs->arch == AUXTAP_ARCH_AARCH64 ? AUXTAP_A64_PC : AUXTAP_X86_IP] = ip;
}

bool report_regs_sp(const struct auxtap_regs *regs, uint64_t *sp)
{
	return known(regs, AUXTAP_X86_SP, AUXTAP_A64_SP, sp);
}

void report_regs_json(struct json_out *j, const struct auxtap_regs *regs)
{
	bool a64 = regs->arch == AUXTAP_ARCH_AARCH64;
	const struct named_reg *order = a64 ? a64_order : x86_order;
	size_t nr = a64 ? sizeof(a64_order) / sizeof(a64_order[0]) :
			  sizeof(x86_order) / sizeof(x86_order[0]);

	json_out_open(j, "registers", '{');
	for (size_t i = 0; i < nr; i++)
		if (regs->valid & (1ull << order[i].index))
			json_out_hex(j, order[i].name, regs->reg[order[i].index]);
	json_out_close(j, '}');
}

bool report_regs_pointer(const struct auxtap_regs *regs, int i, const char **name, uint64_t *value)
{
	bool a64 = regs->arch == AUXTAP_ARCH_AARCH64;
	const struct named_reg *order = a64 ? a64_order : x86_order;
	size_t nr = a64 ? sizeof(a64_order) / sizeof(a64_order[0]) :
			  sizeof(x86_order) / sizeof(x86_order[0]);
	bool general;

	if (i < 0 || (size_t)i >= nr)
		return false;
	general = a64 ? order[i].index < AUXTAP_A64_LR :
			order[i].index != AUXTAP_X86_SP && order[i].index != AUXTAP_X86_IP &&
				  order[i].index != AUXTAP_X86_FLAGS;
	*name = general && regs->valid & 1ull << order[i].index ? order[i].name : NULL;
	*value = regs->reg[order[i].index];
	return true;
}

void report_regs_print(FILE *out, const struct auxtap_regs *regs)
{
	bool a64 = regs->arch == AUXTAP_ARCH_AARCH64;
	const struct named_reg *order = a64 ? a64_order : x86_order;
	size_t nr = a64 ? sizeof(a64_order) / sizeof(a64_order[0]) :
			  sizeof(x86_order) / sizeof(x86_order[0]);
	unsigned int column = 0;

	for (size_t i = 0; i < nr; i++) {
		if (!(regs->valid & (1ull << order[i].index)))
			continue;
		fprintf(out, "%s%6s %016" PRIx64, "  ", order[i].name, regs->reg[order[i].index]);
		if (++column == 4) {
			fputc('\n', out);
			column = 0;
		}
	}
	if (column)
		fputc('\n', out);
}
