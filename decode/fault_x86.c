// SPDX-License-Identifier: BSD-2-Clause
/* Which operand of an x86 instruction made it fault. */
#include "fault.h"

#include <capstone/capstone.h>
#include <signal.h>
#include <string.h>

static bool reg_value(const struct auxtap_regs *regs, x86_reg reg, uint64_t next_ip, uint64_t *value)
{
	static const struct {
		x86_reg r64, r32;
		int index;
	} map[] = {
		{X86_REG_RAX, X86_REG_EAX, AUXTAP_X86_AX},  {X86_REG_RBX, X86_REG_EBX, AUXTAP_X86_BX},
		{X86_REG_RCX, X86_REG_ECX, AUXTAP_X86_CX},  {X86_REG_RDX, X86_REG_EDX, AUXTAP_X86_DX},
		{X86_REG_RSI, X86_REG_ESI, AUXTAP_X86_SI},  {X86_REG_RDI, X86_REG_EDI, AUXTAP_X86_DI},
		{X86_REG_RBP, X86_REG_EBP, AUXTAP_X86_BP},  {X86_REG_RSP, X86_REG_ESP, AUXTAP_X86_SP},
		{X86_REG_R8, X86_REG_R8D, AUXTAP_X86_R8},   {X86_REG_R9, X86_REG_R9D, AUXTAP_X86_R9},
		{X86_REG_R10, X86_REG_R10D, AUXTAP_X86_R10}, {X86_REG_R11, X86_REG_R11D, AUXTAP_X86_R11},
		{X86_REG_R12, X86_REG_R12D, AUXTAP_X86_R12}, {X86_REG_R13, X86_REG_R13D, AUXTAP_X86_R13},
		{X86_REG_R14, X86_REG_R14D, AUXTAP_X86_R14}, {X86_REG_R15, X86_REG_R15D, AUXTAP_X86_R15},
	};

	if (reg == X86_REG_INVALID || reg == X86_REG_RIZ || reg == X86_REG_EIZ) {
		*value = 0;
		return true;
	}
	if (reg == X86_REG_RIP || reg == X86_REG_EIP) {
		*value = next_ip;
		return true;
	}
	for (size_t i = 0; i < sizeof(map) / sizeof(map[0]); i++) {
		if (map[i].r64 != reg && map[i].r32 != reg)
			continue;
		if (!(regs->valid & (1ull << map[i].index)))
			return false;
		*value = regs->reg[map[i].index];
		if (map[i].r32 == reg)
			*value = (uint32_t)*value;
		return true;
	}
	return false;
}

static bool effective_address(const struct auxtap_regs *regs, const x86_op_mem *mem,
			      uint64_t next_ip, uint64_t *addr)
{
	uint64_t base, index;

	if (!reg_value(regs, mem->base, next_ip, &base) ||
	    !reg_value(regs, mem->index, next_ip, &index))
		return false;
	*addr = base + index * (uint64_t)mem->scale + (uint64_t)mem->disp;
	if (mem->segment == X86_REG_FS && (regs->valid & (1ull << AUXTAP_X86_FS)))
		*addr += regs->reg[AUXTAP_X86_FS];
	if (mem->segment == X86_REG_GS && (regs->valid & (1ull << AUXTAP_X86_GS)))
		*addr += regs->reg[AUXTAP_X86_GS];
	return true;
}

static void set_base(csh cs, const struct auxtap_regs *regs, const x86_op_mem *mem,
		     uint64_t next_ip, struct fault_access *a)
{
	const char *name = cs_reg_name(cs, mem->base);
	uint64_t index = 0;

	a->base_reg[0] = '\0';
	if (mem->base == X86_REG_INVALID || mem->base == X86_REG_RIP || mem->base == X86_REG_EIP ||
	    mem->segment == X86_REG_FS || mem->segment == X86_REG_GS || !name ||
	    !reg_value(regs, mem->base, next_ip, &a->base))
		return;
	/* with an index that is not 0 either register may be the pointer */
	if (reg_value(regs, mem->index, next_ip, &index) && !index)
		snprintf(a->base_reg, sizeof(a->base_reg), "%s", name);
}

static void find_access(csh cs, const struct report_facts *facts, const struct auxtap_regs *regs,
			const cs_insn *insn, struct fault_access *found)
{
	const cs_x86 *x86 = &insn->detail->x86;
	uint64_t next_ip = insn->address + insn->size;
	uint64_t sp = regs->reg[AUXTAP_X86_SP];
	struct fault_access a = {.known = true};

	for (int i = 0; i < x86->op_count; i++) {
		const cs_x86_op *op = &x86->operands[i];

		if (op->type != X86_OP_MEM || insn->id == X86_INS_LEA || insn->id == X86_INS_NOP)
			continue;
		if (!effective_address(regs, &op->mem, next_ip, &a.addr))
			continue;
		a.nr_bytes = op->size;
		a.write = (op->access & CS_AC_WRITE) && !(op->access & CS_AC_READ);
		if ((op->access & CS_AC_WRITE) && (op->access & CS_AC_READ))
			a.write = fault_update_writes(facts, a.addr);
		set_base(cs, regs, &op->mem, next_ip, &a);
		if (fault_explains(facts, regs, &a)) {
			*found = a;
			return;
		}
	}
	/* the stack, used without being named */
	a.nr_bytes = 8;
	a.base_reg[0] = '\0';
	switch (insn->id) {
	case X86_INS_PUSH:
	case X86_INS_CALL:
	case X86_INS_PUSHF:
	case X86_INS_PUSHFQ:
	case X86_INS_ENTER:
		a.addr = sp - 8;
		a.write = true;
		break;
	case X86_INS_POP:
	case X86_INS_RET:
	case X86_INS_LEAVE:
	case X86_INS_POPF:
	case X86_INS_POPFQ:
		a.addr = insn->id == X86_INS_LEAVE ? regs->reg[AUXTAP_X86_BP] : sp;
		a.write = false;
		break;
	default:
		return;
	}
	if (fault_explains(facts, regs, &a))
		*found = a;
}

/* The instruction at ip with details, or NULL; cs is open in either case. */
static cs_insn *disassemble(const struct auxtap_regs *regs, const uint8_t *bytes, size_t size,
			    csh *cs)
{
	cs_insn *insn = NULL;

	cs_option(*cs, CS_OPT_DETAIL, CS_OPT_ON);
	if (!size || cs_disasm(*cs, bytes, size, regs->reg[AUXTAP_X86_IP], 1, &insn) != 1)
		return NULL;
	return insn;
}

void fault_x86_memory(const struct report_facts *facts, const struct auxtap_regs *regs,
		      const uint8_t *bytes, size_t size, struct fault *fault)
{
	cs_insn *insn;
	uint64_t to;
	csh cs;

	if (cs_open(CS_ARCH_X86, CS_MODE_64, &cs) != CS_ERR_OK)
		return;
	insn = disassemble(regs, bytes, size, &cs);
	if (insn) {
		find_access(cs, facts, regs, insn, &fault->access);
		if (!fault->access.known && insn->id == X86_INS_RET &&
		    facts->crash.si_code == SI_KERNEL &&
		    report_facts_memory(facts, regs->reg[AUXTAP_X86_SP], &to, 8))
			snprintf(fault->why, sizeof(fault->why),
				 "it returns to 0x%llx, which is no address at all: "
				 "the return address was overwritten",
				 (unsigned long long)to);
		cs_free(insn, 1);
	}
	cs_close(&cs);
}

/* ---- general protection: the processor reports no address ---- */

static bool is_one_of(const char *name, const char *const *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(name, list[i]))
			return true;
	return false;
}

/*
 * The alignment that the instruction requires of a memory operand of 'size' bytes, 0: none. Without
 * VEX all operands of 16 bytes must be aligned but those of a few instructions; with VEX and EVEX
 * only those of the moves that say so (Intel SDM, volume 1, 14.9).
 */
static unsigned int alignment(const char *name, unsigned int size)
{
	static const char *const unaligned[] = {
		"movups",    "movupd",	  "movdqu",    "lddqu",	    "pcmpestri",
		"pcmpestrm", "pcmpistri", "pcmpistrm", "bndmov",
	};
	static const char *const aligned[] = {
		"vmovaps",  "vmovapd",	"vmovdqa",   "vmovdqa32",  "vmovdqa64",
		"vmovntps", "vmovntpd", "vmovntdq", "vmovntdqa",
	};
	static const char *const areas[] = {"fxsave", "fxsave64", "fxrstor", "fxrstor64"};

	if (is_one_of(name, areas, sizeof(areas) / sizeof(areas[0])))
		return 16;
	if (size != 16 && size != 32 && size != 64)
		return 0;
	if (name[0] == 'v')
		return is_one_of(name, aligned, sizeof(aligned) / sizeof(aligned[0])) ? size : 0;
	return size == 16 && !is_one_of(name, unaligned, sizeof(unaligned) / sizeof(unaligned[0]))
		       ? 16
		       : 0;
}

static bool misaligned(const struct auxtap_regs *regs, const cs_insn *insn, struct fault *fault)
{
	const cs_x86 *x86 = &insn->detail->x86;
	uint64_t addr;

	for (int i = 0; i < x86->op_count; i++) {
		const cs_x86_op *op = &x86->operands[i];
		unsigned int align;

		if (op->type != X86_OP_MEM)
			continue;
		align = alignment(insn->mnemonic, op->size);
		if (!align || !effective_address(regs, &op->mem, insn->address + insn->size, &addr) ||
		    !(addr & (align - 1)))
			continue;
		fault->access = (struct fault_access){
			.known = true,
			.write = (op->access & CS_AC_WRITE) && !(op->access & CS_AC_READ),
			.addr = addr,
			.nr_bytes = op->size,
		};
		snprintf(fault->why, sizeof(fault->why),
			 "it %s 0x%llx (%u bytes); %s needs an address that is a multiple of %u",
			 fault->access.write ? "wrote to" : "read from", (unsigned long long)addr,
			 op->size, insn->mnemonic, align);
		return true;
	}
	return false;
}

static bool is_port(const cs_insn *insn)
{
	static const char *const names[] = {"in",   "insb", "insw",  "insd",  "out",
					    "outsb", "outsw", "outsd"};

	return is_one_of(insn->mnemonic, names, sizeof(names) / sizeof(names[0]));
}

/* Instructions of the kernel that a program's use of makes a general protection fault. */
static bool is_privileged(csh cs, const cs_insn *insn)
{
	static const char *const names[] = {
		"hlt",	"cli",	"sti",	 "clts",  "invd",  "wbinvd", "invlpg", "invpcid", "lgdt",
		"lidt", "lldt", "ltr",	 "lmsw",  "rdmsr", "wrmsr",  "swapgs", "sysret",  "sysretq",
		"sysexit", "xsetbv", "rdpmc",
	};

	return cs_insn_group(cs, insn, X86_GRP_PRIVILEGE) ||
	       is_one_of(insn->mnemonic, names, sizeof(names) / sizeof(names[0]));
}

void fault_x86_protection(const struct report_facts *facts, const struct auxtap_regs *regs,
			  const uint8_t *bytes, size_t size, struct fault *fault)
{
	cs_insn *insn;
	csh cs;

	if (facts->crash.si_code != SI_KERNEL ||
	    cs_open(CS_ARCH_X86, CS_MODE_64, &cs) != CS_ERR_OK)
		return;
	insn = disassemble(regs, bytes, size, &cs);
	if (!insn)
		goto out;
	if (is_port(insn))
		snprintf(fault->why, sizeof(fault->why),
			 "%s accesses an I/O port, for which the program has no permission",
			 insn->mnemonic);
	else if (insn->id == X86_INS_INT)
		snprintf(fault->why, sizeof(fault->why),
			 "int %s: the kernel offers programs no such software interrupt",
			 insn->op_str);
	else if (is_privileged(cs, insn))
		snprintf(fault->why, sizeof(fault->why),
			 "%s is a privileged instruction: only the kernel may execute it",
			 insn->mnemonic);
	else
		misaligned(regs, insn, fault);
	cs_free(insn, 1);
out:
	cs_close(&cs);
}

/* ---- division ---- */

/* The value of a divisor, sign-extended; false where it is unknown. */
static bool divisor(const struct report_facts *facts, const struct auxtap_regs *regs,
		    const cs_insn *insn, int64_t *value)
{
	const cs_x86_op *op = &insn->detail->x86.operands[0];
	unsigned int shift = 64 - 8u * op->size;
	uint64_t raw = 0, addr;

	if (insn->detail->x86.op_count != 1 || !op->size || op->size > 8)
		return false;
	if (op->type == X86_OP_REG) {
		if (op->size < 4 || !reg_value(regs, op->reg, 0, &raw))
			return false;
	} else if (op->type != X86_OP_MEM ||
		   !effective_address(regs, &op->mem, insn->address + insn->size, &addr) ||
		   !report_facts_memory(facts, addr, &raw, op->size)) {
		return false;
	}
	*value = (int64_t)(raw << shift) >> shift;
	return true;
}

/* Is the dividend, in rdx and rax, the most negative number of 'size' bytes? */
static bool most_negative(const struct auxtap_regs *regs, unsigned int size)
{
	unsigned int shift = 64 - 8 * size;
	uint64_t low, high;

	return (size == 4 || size == 8) && reg_value(regs, X86_REG_RAX, 0, &low) &&
	       reg_value(regs, X86_REG_RDX, 0, &high) && low << shift == 1ull << 63 &&
	       high << shift == UINT64_MAX << shift;
}

void fault_x86_division(const struct report_facts *facts, const struct auxtap_regs *regs,
			const uint8_t *bytes, size_t size, char *why, size_t why_size)
{
	const char *text = "integer division: the divisor is 0, or the quotient is too large";
	cs_insn *insn;
	int64_t by;
	csh cs;

	if (cs_open(CS_ARCH_X86, CS_MODE_64, &cs) == CS_ERR_OK) {
		insn = disassemble(regs, bytes, size, &cs);
		if (insn && (insn->id == X86_INS_DIV || insn->id == X86_INS_IDIV) &&
		    divisor(facts, regs, insn, &by)) {
			if (!by)
				text = "integer division by zero";
			else if (by == -1 && insn->id == X86_INS_IDIV &&
				 most_negative(regs, insn->detail->x86.operands[0].size))
				text = "integer overflow: the most negative number divided by -1";
			else
				text = "integer overflow: the quotient of a division is too large";
		}
		if (insn)
			cs_free(insn, 1);
		cs_close(&cs);
	}
	snprintf(why, why_size, "%s", text);
}

void fault_x86_undefined(const uint8_t *bytes, size_t size, char *why, size_t why_size)
{
	size_t at = size && bytes[0] == 0x67 ? 1 : 0;
	const char *name;

	if (size < at + 2 || bytes[at] != 0x0f)
		return;
	name = bytes[at + 1] == 0x0b   ? "ud2"
	       : bytes[at + 1] == 0xb9 ? "ud1"
	       : bytes[at + 1] == 0xff ? "ud0"
				       : NULL;
	if (name)
		snprintf(why, why_size,
			 "it ran into %s, the instruction that compilers put where a program must "
			 "not go",
			 name);
}
