// SPDX-License-Identifier: BSD-2-Clause
/* Which operand of an x86 instruction made it fault. */
#include "fault.h"

#include <capstone/capstone.h>
#include <signal.h>

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

static void find_access(const struct report_facts *facts, const struct auxtap_regs *regs,
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
		if (fault_explains(facts, regs, &a)) {
			*found = a;
			return;
		}
	}
	/* the stack, used without being named */
	a.nr_bytes = 8;
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

void fault_x86_memory(const struct report_facts *facts, const struct auxtap_regs *regs,
		      const uint8_t *bytes, size_t size, struct fault *fault)
{
	uint64_t to;
	cs_insn *insn = NULL;
	csh cs;

	if (cs_open(CS_ARCH_X86, CS_MODE_64, &cs) != CS_ERR_OK)
		return;
	cs_option(cs, CS_OPT_DETAIL, CS_OPT_ON);
	if (size && cs_disasm(cs, bytes, size, regs->reg[AUXTAP_X86_IP], 1, &insn) == 1) {
		find_access(facts, regs, insn, &fault->access);
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

void fault_x86_undefined(const uint8_t *bytes, size_t size, char *why, size_t why_size)
{
	if (size >= 2 && bytes[0] == 0x0f && bytes[1] == 0x0b)
		snprintf(why, why_size, "it ran into ud2, the instruction that compilers put where a "
					"program must not go");
}
