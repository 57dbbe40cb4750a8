// SPDX-License-Identifier: BSD-2-Clause
/*
 * Why a process died: the signal in words, and for memory faults which operand of the
 * faulting instruction did it, whether it read or wrote, and what is mapped there.
 */
#include "report.h"

#include <capstone/capstone.h>
#include <signal.h>
#include <string.h>

const char *fault_signal_name(int signo)
{
	static const struct {
		int signo;
		const char *name;
	} names[] = {
		{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGILL, "SIGILL"},
		{SIGFPE, "SIGFPE"},   {SIGABRT, "SIGABRT"}, {SIGTRAP, "SIGTRAP"},
		{SIGQUIT, "SIGQUIT"}, {SIGSYS, "SIGSYS"},   {SIGXCPU, "SIGXCPU"},
		{SIGXFSZ, "SIGXFSZ"}, {SIGKILL, "SIGKILL"}, {SIGTERM, "SIGTERM"},
		{SIGINT, "SIGINT"},   {SIGHUP, "SIGHUP"},   {SIGPIPE, "SIGPIPE"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].signo == signo)
			return names[i].name;
	}
	return NULL;
}

const char *fault_signal_words(int signo)
{
	switch (signo) {
	case SIGSEGV:
		return "segmentation fault";
	case SIGBUS:
		return "bus error";
	case SIGILL:
		return "illegal instruction";
	case SIGFPE:
		return "arithmetic error";
	case SIGABRT:
		return "abort";
	case SIGTRAP:
		return "trap";
	case SIGQUIT:
		return "quit";
	case SIGSYS:
		return "bad system call";
	case SIGXCPU:
		return "processor time limit exceeded";
	case SIGXFSZ:
		return "file size limit exceeded";
	default:
		return "signal";
	}
}

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

static bool canonical(uint64_t addr)
{
	return addr + (1ull << 47) < (1ull << 48);
}

/* Does the access explain the fault? With a fault address by hitting it; without, by being impossible. */
static bool explains(const struct report_facts *facts, const struct fault_access *a)
{
	const struct report_map *map;

	if (facts->crash.flags & AUXTAP_CRASH_ADDR_VALID)
		return facts->crash.fault_addr - a->addr < (a->nr_bytes ? a->nr_bytes : 1);
	if (!canonical(a->addr))
		return true;
	map = report_facts_map(facts, a->addr);
	return !map || (a->write ? map->perms[1] != 'w' : map->perms[0] != 'r');
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
		/* read-modify-write faults on the read, unless reading is allowed */
		if ((op->access & CS_AC_WRITE) && (op->access & CS_AC_READ)) {
			const struct report_map *map = report_facts_map(facts, a.addr);

			a.write = map && map->perms[0] == 'r';
		}
		if (explains(facts, &a)) {
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
	if (explains(facts, &a))
		*found = a;
}

static const char *vicinity(const struct report_facts *facts, const struct auxtap_regs *regs,
			    uint64_t addr, char *buf, size_t size)
{
	uint64_t sp = regs->reg[AUXTAP_X86_SP];
	const struct report_map *map = report_facts_map(facts, addr);

	if (map) {
		snprintf(buf, size, "it is mapped %.4s%s%s", map->perms,
			 map->name[0] ? ", " : "", map->name);
		return buf;
	}
	if (addr < 4096)
		return addr ? "nothing is mapped there: a null pointer and a small offset"
			    : "a null pointer";
	if (!canonical(addr))
		return "no such address exists on this processor: the pointer is garbage";
	if (addr - (sp - 65536) < 2 * 65536) {
		for (size_t i = 0; i < facts->nr_maps; i++) {
			if (facts->maps[i].start >= addr && facts->maps[i].start - addr < (1 << 20) &&
			    strstr(facts->maps[i].name, "stack"))
				return "it lies just below the stack: the stack is exhausted";
		}
		return "nothing is mapped there, and the stack pointer is close: the stack is exhausted or gone";
	}
	return "nothing is mapped there";
}

static void explain_memory(const struct report_facts *facts, const struct auxtap_regs *regs,
			   const uint8_t *bytes, size_t size, struct fault *fault)
{
	uint64_t ip = regs->reg[AUXTAP_X86_IP];
	const struct report_map *map = report_facts_map(facts, ip);
	char where[160];
	cs_insn *insn = NULL;
	csh cs;

	if (facts->nr_maps && (!map || map->perms[2] != 'x')) {
		fault->bad_ip = true;
		snprintf(fault->why, sizeof(fault->why), "it jumped to 0x%llx, %s",
			 (unsigned long long)ip,
			 map ? "which is data, not code"
			     : !canonical(ip) ? "which is no address at all"
					      : "where nothing is mapped");
		return;
	}
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &cs) == CS_ERR_OK) {
		cs_option(cs, CS_OPT_DETAIL, CS_OPT_ON);
		if (size && cs_disasm(cs, bytes, size, ip, 1, &insn) == 1) {
			find_access(facts, regs, insn, &fault->access);
			if (!fault->access.known && insn->id == X86_INS_RET &&
			    facts->crash.si_code == SI_KERNEL) {
				uint64_t to;

				if (report_facts_memory(facts, regs->reg[AUXTAP_X86_SP], &to, 8)) {
					snprintf(fault->why, sizeof(fault->why),
						 "it returns to 0x%llx, which is no address at all: "
						 "the return address was overwritten",
						 (unsigned long long)to);
					cs_free(insn, 1);
					cs_close(&cs);
					return;
				}
			}
			cs_free(insn, 1);
		}
		cs_close(&cs);
	}
	if (fault->access.known) {
		uint64_t addr = fault->access.addr;

		if (facts->crash.flags & AUXTAP_CRASH_ADDR_VALID)
			addr = facts->crash.fault_addr;
		snprintf(fault->why, sizeof(fault->why), "it %s 0x%llx (%u byte%s); %s",
			 fault->access.write ? "wrote to" : "read from", (unsigned long long)addr,
			 fault->access.nr_bytes, fault->access.nr_bytes == 1 ? "" : "s",
			 vicinity(facts, regs, addr, where, sizeof(where)));
	} else if (facts->crash.flags & AUXTAP_CRASH_ADDR_VALID) {
		snprintf(fault->why, sizeof(fault->why), "it touched 0x%llx; %s",
			 (unsigned long long)facts->crash.fault_addr,
			 vicinity(facts, regs, facts->crash.fault_addr, where, sizeof(where)));
	} else {
		snprintf(fault->why, sizeof(fault->why),
			 "the processor refused the instruction's operands (address unknown)");
	}
}

void fault_explain(const struct report_facts *facts, const struct auxtap_regs *regs,
		   const uint8_t *insn, size_t insn_size, struct fault *fault)
{
	const struct auxtap_crash *c = &facts->crash;

	memset(fault, 0, sizeof(*fault));
	if (c->si_code == SI_USER || c->si_code == SI_TKILL || c->si_code == SI_QUEUE) {
		if (c->signo == SIGABRT && (c->sender_pid == c->pid || c->si_code == SI_TKILL))
			snprintf(fault->why, sizeof(fault->why), "the program called abort()");
		else if (c->sender_pid == c->pid)
			snprintf(fault->why, sizeof(fault->why), "the program sent it to itself");
		else
			snprintf(fault->why, sizeof(fault->why), "sent by process %d", c->sender_pid);
		return;
	}
	switch (c->signo) {
	case SIGSEGV:
	case SIGBUS:
		explain_memory(facts, regs, insn, insn_size, fault);
		break;
	case SIGFPE:
		snprintf(fault->why, sizeof(fault->why), "%s",
			 c->si_code == FPE_INTDIV ? "integer division by zero"
						  : "arithmetic error");
		break;
	case SIGILL:
		snprintf(fault->why, sizeof(fault->why), "%s",
			 insn_size >= 2 && insn[0] == 0x0f && insn[1] == 0x0b
				 ? "it ran into ud2, the instruction that compilers put where a program must not go"
				 : "the bytes at this address are no instruction of this processor");
		break;
	case SIGABRT:
		snprintf(fault->why, sizeof(fault->why), "the program called abort()");
		break;
	default:
		break;
	}
}
