// SPDX-License-Identifier: BSD-2-Clause
/* Finds the operand of an x86 instruction that faulted. */
#include "fault.h"
#include "zydis_insn.h"
#include "report_blocks.h"

#include <signal.h>
#include <string.h>

#define LARGEST_READ 64	   /* most bytes that qemu reads at once for an operand */
#define XSAVE_MAX    16384 /* at least the size of an XSAVE area: 11008 bytes with AMX */

static uint64_t next_ip(const struct auxtap_regs *regs, const struct x86_insn *insn)
{
	return regs->reg[AUXTAP_X86_IP] + insn->info.length;
}

/* The value of a general register of 32 or 64 bits, or of rip; 0 if there is no register. */
static bool reg_value(const struct auxtap_regs *regs, const struct x86_insn *insn,
		      ZydisRegister reg, uint64_t *value)
{
	int index = x86_reg_index(reg);

	if (reg == ZYDIS_REGISTER_NONE) {
		*value = 0;
		return true;
	}
	if (reg == ZYDIS_REGISTER_RIP || reg == ZYDIS_REGISTER_EIP) {
		*value = next_ip(regs, insn);
		return true;
	}
	if (index < 0 || !(regs->valid & (1ull << index)))
		return false;
	*value = regs->reg[index];
	if (ZydisRegisterGetClass(reg) == ZYDIS_REGCLASS_GPR32)
		*value = (uint32_t)*value;
	return true;
}

/* Address of an operand in memory; false: a register is unknown, or it has several addresses. */
static bool effective_address(const struct auxtap_regs *regs, const struct x86_insn *insn,
			      const ZydisDecodedOperand *op, uint64_t *addr)
{
	uint64_t base, index;

	if (op->mem.type != ZYDIS_MEMOP_TYPE_MEM || !reg_value(regs, insn, op->mem.base, &base) ||
	    !reg_value(regs, insn, op->mem.index, &index))
		return false;
	*addr = base + index * op->mem.scale + (uint64_t)op->mem.disp.value;
	if (insn->info.address_width == 32)
		*addr = (uint32_t)*addr;
	/* push and call store below the current stack pointer */
	if (op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
	    op->mem.base == ZYDIS_REGISTER_RSP && op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		*addr -= op->size / 8;
	if (op->mem.segment == ZYDIS_REGISTER_FS && (regs->valid & (1ull << AUXTAP_X86_FS)))
		*addr += regs->reg[AUXTAP_X86_FS];
	if (op->mem.segment == ZYDIS_REGISTER_GS && (regs->valid & (1ull << AUXTAP_X86_GS)))
		*addr += regs->reg[AUXTAP_X86_GS];
	return true;
}

static void set_text_reg(struct fault_access *a, ZydisRegister reg, uint64_t value)
{
	char text[9];

	if (a->text_reg[0] && !report_word_text(value, text))
		return;
	snprintf(a->text_reg, sizeof(a->text_reg), "%s", ZydisRegisterGetString(reg));
	a->text_value = value;
}

static void set_base(const struct auxtap_regs *regs, const struct x86_insn *insn,
		     const ZydisDecodedOperand *op, struct fault_access *a)
{
	ZydisRegister base = op->mem.base;
	uint64_t index = 0;

	a->base_reg[0] = '\0';
	a->stack_segment = op->mem.segment == ZYDIS_REGISTER_SS;
	a->constant = base == ZYDIS_REGISTER_NONE && op->mem.index == ZYDIS_REGISTER_NONE &&
		      op->mem.segment != ZYDIS_REGISTER_FS && op->mem.segment != ZYDIS_REGISTER_GS;
	if (base == ZYDIS_REGISTER_NONE || base == ZYDIS_REGISTER_RIP ||
	    base == ZYDIS_REGISTER_EIP || op->mem.segment == ZYDIS_REGISTER_FS ||
	    op->mem.segment == ZYDIS_REGISTER_GS || !reg_value(regs, insn, base, &a->base) ||
	    !reg_value(regs, insn, op->mem.index, &index))
		return;
	if (index) /* either register may be the pointer */
		set_text_reg(a, op->mem.index, index);
	set_text_reg(a, base, a->base);
	if (op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
		return;
	if (!index)
		snprintf(a->base_reg, sizeof(a->base_reg), "%s", ZydisRegisterGetString(base));
	else
		snprintf(a->both_regs, sizeof(a->both_regs), "%s is 0x%llx, %s is 0x%llx",
			 ZydisRegisterGetString(base), (unsigned long long)a->base,
			 ZydisRegisterGetString(op->mem.index), (unsigned long long)index);
}

/* False: the instruction only computes the address of the operand and does not access it. */
static bool accesses(const struct x86_insn *insn, const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_MEMORY && op->actions &&
	       insn->info.meta.category != ZYDIS_CATEGORY_PREFETCH &&
	       insn->info.mnemonic != ZYDIS_MNEMONIC_NOP;
}

static bool is_one_of(const char *name, const char *const *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(name, list[i]))
			return true;
	return false;
}

/*
 * The alignment that the instruction requires for a memory operand of 'size' bytes, 0: none.
 * Without VEX all operands of 16 bytes must be aligned, except those of a few instructions; with
 * VEX and EVEX only those of aligned moves (Intel SDM, volume 1, 14.9).
 */
static unsigned int alignment(const char *name, unsigned int size)
{
	static const char *const unaligned[] = {
		"movups",    "movupd",	  "movdqu",    "lddqu",	 "pcmpestri",
		"pcmpestrm", "pcmpistri", "pcmpistrm", "bndmov",
	};
	static const char *const aligned[] = {
		"vmovaps",  "vmovapd",	"vmovdqa",  "vmovdqa32", "vmovdqa64",
		"vmovntps", "vmovntpd", "vmovntdq", "vmovntdqa",
	};
	static const char *const areas[] = {"fxsave", "fxsave64", "fxrstor", "fxrstor64"};

	if (is_one_of(name, areas, sizeof(areas) / sizeof(areas[0])))
		return 16;
	if (!strncmp(name, "xsave", 5) || !strncmp(name, "xrstor", 6))
		return 64;
	if (size != 16 && size != 32 && size != 64)
		return 0;
	if (name[0] == 'v')
		return is_one_of(name, aligned, sizeof(aligned) / sizeof(aligned[0])) ? size : 0;
	return size == 16 && !is_one_of(name, unaligned, sizeof(unaligned) / sizeof(unaligned[0])) ?
		       16 :
		       0;
}

static bool is_masked_load(const struct x86_insn *insn)
{
	static const char *const names[] = {"vmaskmovps", "vmaskmovpd", "vpmaskmovd", "vpmaskmovq"};

	return is_one_of(insn->name, names, sizeof(names) / sizeof(names[0])) &&
	       insn->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER;
}

static bool is_aligned(const struct x86_insn *insn, const struct fault_access *a)
{
	unsigned int align = alignment(insn->name, a->nr_bytes);

	return !align || !(a->addr & (align - 1));
}

/*
 * An instruction that reads and writes its operand counts as one that writes: the processor checks
 * for write permission first, and reports its page fault as a write.
 */
static void find_access(const struct report_facts *facts, const struct auxtap_regs *regs,
			const struct x86_insn *insn, struct fault_access *found)
{
	for (unsigned int i = 0; i < insn->info.operand_count; i++) {
		const ZydisDecodedOperand *op = &insn->op[i];
		struct fault_access a = {
			.known = true,
			.write = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE,
			.nr_bytes = op->size / 8,
			.masked = is_masked_load(insn),
			.or_more = alignment(insn->name, op->size / 8) == 64 && op->size > 512,
		};

		if (!accesses(insn, op) || !effective_address(regs, insn, op, &a.addr))
			continue;
		set_base(regs, insn, op, &a);
		/* a processor may access the end of an XSAVE area first */
		if (a.or_more && facts->crash.flags & AUXTAP_CRASH_ADDR_VALID &&
		    facts->crash.fault_addr - a.addr < XSAVE_MAX &&
		    facts->crash.fault_addr - a.addr >= a.nr_bytes)
			a.nr_bytes = (uint32_t)(facts->crash.fault_addr - a.addr) + 1;
		if (!fault_explains(facts, regs, &a))
			continue;
		/* a misaligned operand faults before any byte of it is accessed */
		if (a.failed != a.addr && facts->crash.si_code == SI_KERNEL &&
		    !is_aligned(insn, &a))
			continue;
		*found = a;
		return;
	}
}

/* The target of a near indirect call or jump; false: it is unknown. */
static bool branch_target(const struct report_facts *facts, const struct auxtap_regs *regs,
			  const struct x86_insn *insn, uint64_t *to)
{
	const ZydisDecodedOperand *op = &insn->op[0];
	uint64_t addr;

	if ((insn->info.mnemonic != ZYDIS_MNEMONIC_CALL &&
	     insn->info.mnemonic != ZYDIS_MNEMONIC_JMP) ||
	    insn->info.operand_count < 1 || op->size != 64)
		return false;
	if (op->type == ZYDIS_OPERAND_TYPE_REGISTER)
		return reg_value(regs, insn, op->reg.value, to);
	return op->type == ZYDIS_OPERAND_TYPE_MEMORY && effective_address(regs, insn, op, &addr) &&
	       report_facts_memory(facts, addr, to, 8);
}

void fault_x86_memory(const struct report_facts *facts, const struct auxtap_regs *regs,
		      const uint8_t *bytes, size_t size, struct fault *fault)
{
	char text[FAULT_TEXT];
	struct x86_insn insn;
	uint64_t to;

	if (!x86_disassemble(bytes, size, &insn))
		return;
	find_access(facts, regs, &insn, &fault->access);
	if (!fault->access.known && insn.info.mnemonic == ZYDIS_MNEMONIC_RET &&
	    facts->crash.si_code == SI_KERNEL &&
	    report_facts_memory(facts, regs->reg[AUXTAP_X86_SP], &to, 8)) {
		fault->bad_return = true;
		snprintf(fault->why, sizeof(fault->why),
			 "it returns to 0x%llx, which is no address at all%s",
			 (unsigned long long)to, fault_text(",", to, text));
	} else if (!fault->access.known && facts->crash.si_code == SI_KERNEL &&
		   branch_target(facts, regs, &insn, &to) && !fault_canonical(regs, to)) {
		snprintf(fault->why, sizeof(fault->why),
			 "it %s 0x%llx, which is no address at all%s",
			 insn.info.mnemonic == ZYDIS_MNEMONIC_CALL ? "calls" : "jumps to",
			 (unsigned long long)to, fault_text(",", to, text));
	}
}

void fault_x86_beyond(const struct report_facts *facts, const struct auxtap_regs *regs,
		      const uint8_t *bytes, size_t size, struct fault *fault)
{
	struct report_facts by_maps = *facts;
	uint64_t failed = facts->crash.fault_addr;
	struct x86_insn insn;

	by_maps.crash.flags &= ~(unsigned int)AUXTAP_CRASH_ADDR_VALID;
	if (!x86_disassemble(bytes, size, &insn))
		return;
	for (unsigned int i = 0; i < insn.info.operand_count; i++) {
		const ZydisDecodedOperand *op = &insn.op[i];
		struct fault_access a = {.nr_bytes = op->size / 8};

		/* it must be the first byte of a page, after an operand that can be accessed */
		if (!accesses(&insn, op) || op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ||
		    !effective_address(regs, &insn, op, &a.addr) || failed & 4095 ||
		    failed - a.addr >= LARGEST_READ || failed - a.addr < a.nr_bytes ||
		    fault_explains(&by_maps, regs, &a))
			continue;
		snprintf(
			fault->why, sizeof(fault->why),
			"qemu reads more than the %u bytes at 0x%llx, which the program may read: it failed "
			"at 0x%llx; a processor would not, and --source ptrace runs it on the processor",
			a.nr_bytes, (unsigned long long)a.addr, (unsigned long long)failed);
		return;
	}
}

/* ---- general protection: the processor reports no address ---- */

static bool misaligned(const struct auxtap_regs *regs, const struct x86_insn *insn,
		       struct fault *fault)
{
	uint64_t addr;

	for (unsigned int i = 0; i < insn->info.operand_count; i++) {
		const ZydisDecodedOperand *op = &insn->op[i];
		unsigned int align;

		if (!accesses(insn, op))
			continue;
		align = alignment(insn->name, op->size / 8);
		if (!align || !effective_address(regs, insn, op, &addr) || !(addr & (align - 1)))
			continue;
		fault->access = (struct fault_access){
			.known = true,
			.write = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE,
			.addr = addr,
			.nr_bytes = op->size / 8,
		};
		snprintf(fault->why, sizeof(fault->why),
			 "it %s 0x%llx (%u bytes); %s needs an address that is a multiple of %u",
			 fault->access.write ? "wrote to" : "read from", (unsigned long long)addr,
			 fault->access.nr_bytes, insn->name, align);
		return true;
	}
	return false;
}

static bool is_port(const struct x86_insn *insn)
{
	static const char *const names[] = {"in",  "insb",  "insw",  "insd",
					    "out", "outsb", "outsw", "outsd"};

	return is_one_of(insn->name, names, sizeof(names) / sizeof(names[0]));
}

/* Does it have an operand in a register of that class? */
static bool has_register(const struct x86_insn *insn, ZydisRegisterClass class)
{
	for (unsigned int i = 0; i < insn->info.operand_count_visible; i++)
		if (insn->op[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    ZydisRegisterGetClass(insn->op[i].reg.value) == class)
			return true;
	return false;
}

/* Privileged instructions cause a general protection fault in user mode. */
static bool is_privileged(const struct x86_insn *insn)
{
	/* clang-format off */
	static const char *const names[] = {
		"hlt",	"cli",	"sti",	 "clts",  "invd",  "wbinvd", "invlpg", "invpcid", "lgdt",
		"lidt", "lldt", "ltr",	 "lmsw",  "rdmsr", "wrmsr",  "swapgs", "sysret",
		"sysexit", "xsetbv", "rdpmc",
	};
	/* clang-format on */

	return insn->info.attributes & ZYDIS_ATTRIB_IS_PRIVILEGED ||
	       is_one_of(insn->name, names, sizeof(names) / sizeof(names[0]));
}

void fault_x86_protection(const struct report_facts *facts, const struct auxtap_regs *regs,
			  const uint8_t *bytes, size_t size, struct fault *fault)
{
	struct x86_insn insn;

	if (facts->crash.si_code != SI_KERNEL || !x86_disassemble(bytes, size, &insn))
		return;
	if (is_port(&insn))
		snprintf(fault->why, sizeof(fault->why),
			 "%s accesses an I/O port, for which the program has no permission",
			 insn.name);
	else if (insn.info.mnemonic == ZYDIS_MNEMONIC_INT)
		snprintf(fault->why, sizeof(fault->why),
			 "int 0x%llx: the kernel offers programs no such software interrupt",
			 (unsigned long long)insn.op[0].imm.value.u & 0xff);
	else if (has_register(&insn, ZYDIS_REGCLASS_CONTROL) ||
		 has_register(&insn, ZYDIS_REGCLASS_DEBUG))
		snprintf(fault->why, sizeof(fault->why),
			 "%s of a control or debug register is privileged: only the kernel may "
			 "execute it",
			 insn.name);
	else if (has_register(&insn, ZYDIS_REGCLASS_SEGMENT) &&
		 insn.op[0].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		snprintf(fault->why, sizeof(fault->why),
			 "%s loads %s with a selector that programs may not use", insn.name,
			 ZydisRegisterGetString(insn.op[0].reg.value));
	else if (is_privileged(&insn))
		snprintf(fault->why, sizeof(fault->why),
			 "%s is a privileged instruction: only the kernel may execute it",
			 insn.name);
	else
		misaligned(regs, &insn, fault);
}

bool fault_x86_harmless(const struct auxtap_regs *regs, const uint8_t *bytes, size_t size)
{
	static const ZydisInstructionCategory plain[] = {
		ZYDIS_CATEGORY_BINARY, ZYDIS_CATEGORY_LOGICAL, ZYDIS_CATEGORY_DATAXFER,
		ZYDIS_CATEGORY_SHIFT,  ZYDIS_CATEGORY_ROTATE,  ZYDIS_CATEGORY_COND_BR,
		ZYDIS_CATEGORY_CMOV,   ZYDIS_CATEGORY_CONVERT, ZYDIS_CATEGORY_PUSH,
		ZYDIS_CATEGORY_POP,
	};
	struct x86_insn insn;
	uint64_t addr;
	bool is_plain = false;

	if (!x86_disassemble(bytes, size, &insn) || insn.info.meta.isa_ext != ZYDIS_ISA_EXT_BASE ||
	    has_register(&insn, ZYDIS_REGCLASS_SEGMENT) || is_privileged(&insn))
		return false;
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		is_plain = is_plain || insn.info.meta.category == plain[i];
	for (unsigned int i = 0; i < insn.info.operand_count; i++) {
		if (accesses(&insn, &insn.op[i]) &&
		    (insn.op[i].size > 64 || !effective_address(regs, &insn, &insn.op[i], &addr) ||
		     !fault_canonical(regs, addr)))
			return false;
	}
	return is_plain;
}

/* ---- division ---- */

/* The value of a divisor, sign-extended; false: it is unknown. */
static bool divisor(const struct report_facts *facts, const struct auxtap_regs *regs,
		    const struct x86_insn *insn, int64_t *value)
{
	const ZydisDecodedOperand *op = &insn->op[0];
	unsigned int bits = op->size;
	uint64_t raw = 0, addr;

	if (insn->info.operand_count < 1 || !bits || bits > 64)
		return false;
	if (op->type == ZYDIS_OPERAND_TYPE_REGISTER) {
		if (!reg_value(regs, insn, op->reg.value, &raw))
			return false;
	} else if (op->type != ZYDIS_OPERAND_TYPE_MEMORY ||
		   !effective_address(regs, insn, op, &addr) ||
		   !report_facts_memory(facts, addr, &raw, bits / 8)) {
		return false;
	}
	*value = (int64_t)(raw << (64 - bits)) >> (64 - bits);
	return true;
}

/* Is the dividend, in rdx and rax, the most negative number of that many bits? */
static bool most_negative(const struct auxtap_regs *regs, const struct x86_insn *insn,
			  unsigned int bits)
{
	unsigned int shift = 64 - bits;
	uint64_t low, high;

	return (bits == 32 || bits == 64) && reg_value(regs, insn, ZYDIS_REGISTER_RAX, &low) &&
	       reg_value(regs, insn, ZYDIS_REGISTER_RDX, &high) && low << shift == 1ull << 63 &&
	       high << shift == UINT64_MAX << shift;
}

/*
 * True if the quotient cannot be too large, as the dividend fits into half of its registers: only a
 * divisor of 0 (or -1, for the most negative number) makes such a division fail.
 */
static bool quotient_fits(const struct auxtap_regs *regs, const struct x86_insn *insn)
{
	unsigned int bits = insn->op[0].size;
	uint64_t low, high, mask = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
	uint64_t top = 1ull << (bits - 1);

	if (!reg_value(regs, insn, ZYDIS_REGISTER_RAX, &low) ||
	    !reg_value(regs, insn, ZYDIS_REGISTER_RDX, &high))
		return false;
	if (bits == 8)
		high = low >> 8; /* ah */
	low &= mask;
	high &= mask;
	if (insn->info.mnemonic == ZYDIS_MNEMONIC_DIV)
		return !high;
	return low != top && high == (low & top ? mask : 0);
}

void fault_x86_division(const struct report_facts *facts, const struct auxtap_regs *regs,
			const uint8_t *bytes, size_t size, struct fault *fault)
{
	const char *text = "integer division: the divisor is 0, or the quotient is too large";
	struct x86_insn insn;
	int64_t by;

	fault->may_succeed = true;
	if (x86_disassemble(bytes, size, &insn) && insn.op[0].size >= 8 &&
	    (insn.info.mnemonic == ZYDIS_MNEMONIC_DIV ||
	     insn.info.mnemonic == ZYDIS_MNEMONIC_IDIV)) {
		bool known = divisor(facts, regs, &insn, &by);

		if (known ? !by : quotient_fits(regs, &insn)) {
			text = "integer division by zero";
			fault->may_succeed = false;
		} else if (known && by == -1 && insn.info.mnemonic == ZYDIS_MNEMONIC_IDIV &&
			   most_negative(regs, &insn, insn.op[0].size)) {
			text = "integer overflow: the most negative number divided by -1";
			fault->may_succeed = false;
		} else if (known) {
			text = "integer overflow: the quotient of a division is too large";
		}
	}
	snprintf(fault->why, sizeof(fault->why), "%s", text);
}

uint64_t fault_x86_trap_ip(const uint8_t before[2], uint64_t ip)
{
	if (before[1] == 0xcc || before[1] == 0xf1) /* int3, int1 */
		return ip - 1;
	return before[0] == 0xcd && before[1] == 3 ? ip - 2 : ip;
}

void fault_x86_trap(const uint8_t *bytes, size_t size, char *why, size_t why_size)
{
	struct x86_insn insn;

	if (x86_disassemble(bytes, size, &insn) &&
	    insn.info.meta.category == ZYDIS_CATEGORY_INTERRUPT)
		snprintf(why, why_size, "it ran into %s, a breakpoint, without a debugger",
			 bytes[0] == 0xcd ? "int $3" : insn.name);
}

void fault_x86_undefined(const uint8_t *bytes, size_t size, char *why, size_t why_size)
{
	size_t at = size && bytes[0] == 0x67 ? 1 : 0;
	const char *name;

	if (size < at + 2 || bytes[at] != 0x0f)
		return;
	name = bytes[at + 1] == 0x0b ? "ud2" :
	       bytes[at + 1] == 0xb9 ? "ud1" :
	       bytes[at + 1] == 0xff ? "ud0" :
				       NULL;
	if (name)
		snprintf(why, why_size,
			 "it ran into %s, the instruction that compilers put where a program must "
			 "not go",
			 name);
}
