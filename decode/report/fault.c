// SPDX-License-Identifier: BSD-2-Clause
/*
 * Explains why a process died: the signal in words, and for memory faults which operand of the
 * faulting instruction failed, whether it was read or written, and what is mapped there.
 */
#include "fault.h"
#include "perfdata/capture_lines.h"
#include "report_blocks.h"
#include "report_regs.h"

#include <signal.h>
#include <string.h>

#define CLOSE 4096  /* bytes below the stack pointer that a function still uses */
#define FRAME 65536 /* bytes that a function's frame may have */

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
		{SIGALRM, "SIGALRM"}, {SIGUSR1, "SIGUSR1"}, {SIGUSR2, "SIGUSR2"},
		{SIGCHLD, "SIGCHLD"}, {SIGPROF, "SIGPROF"}, {SIGVTALRM, "SIGVTALRM"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].signo == signo)
			return names[i].name;
	}
	return NULL;
}

const char *fault_signal_text(int signo)
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
	case SIGKILL:
		return "killed";
	default:
		return "signal";
	}
}

const char *fault_death_text(const struct auxtap_crash *crash)
{
	return crash->flags & AUXTAP_CRASH_EMULATOR_CRASHED ? "the emulator itself crashed" :
							      fault_signal_text(crash->signo);
}

bool fault_canonical(const struct auxtap_regs *regs, uint64_t addr)
{
	/* AArch64: at most 52 bits, and the tag in the top byte */
	if (regs->arch == AUXTAP_ARCH_AARCH64)
		return !(addr >> 52 & 0xf);
	return addr + (1ull << 47) < (1ull << 48);
}

bool fault_explains(const struct report_facts *facts, const struct auxtap_regs *regs,
		    struct fault_access *a)
{
	const unsigned int nr_bytes = a->nr_bytes ? a->nr_bytes : 1;
	const struct report_map *map;

	if (facts->crash.flags & AUXTAP_CRASH_ADDR_VALID) {
		a->failed = facts->crash.fault_addr;
		return a->failed - a->addr < nr_bytes;
	}
	a->failed = a->addr;
	if (!fault_canonical(regs, a->addr))
		return true;
	while (a->failed - a->addr < nr_bytes) {
		map = report_facts_map(facts, a->failed);
		if (!map || (a->write ? map->perms[1] != 'w' : map->perms[0] != 'r'))
			return true;
		a->failed = map->end;
	}
	return false;
}

bool fault_update_writes(const struct report_facts *facts, uint64_t addr)
{
	const struct report_map *map = report_facts_map(facts, addr);

	return map && map->perms[0] == 'r';
}

/*
 * Is addr in the guard page of the stack that sp is in? That is a mapping without any permission,
 * directly below the writable one; sp may already be in it.
 */
static bool in_stack_guard(const struct report_facts *facts, const struct report_map *guard,
			   uint64_t sp)
{
	const struct report_map *stack;

	if (memcmp(guard->perms, "---", 3) != 0 || guard->name[0] == '/')
		return false;
	stack = report_facts_map(facts, guard->end);
	return stack && stack->start == guard->end && stack->perms[1] == 'w' &&
	       sp >= guard->start && sp < stack->end;
}

/* Describes an unmapped addr near zero. */
static const char *describe_near_zero(const struct fault_access *a, uint64_t addr, char *buf,
				      size_t size)
{
	if (a->known && a->both_regs[0]) {
		snprintf(buf, size, "nothing is mapped there; %s", a->both_regs);
		return buf;
	}
	if (a->known && a->constant)
		return addr ? "nothing is mapped there: the address is a constant, as compilers "
			      "make it of a null pointer and an offset" :
			      "a null pointer";
	if (!a->known || !a->base_reg[0])
		return "nothing is mapped there";
	if (!a->base)
		return addr ? "nothing is mapped there: a null pointer and a small offset" :
			      "a null pointer";
	snprintf(buf, size, "nothing is mapped there; %s is 0x%llx", a->base_reg,
		 (unsigned long long)a->base);
	return buf;
}

/* Describes an unmapped addr if the AArch64 pointer has bits set above those of the address. */
static const char *describe_high_bits(const struct fault_access *a, uint64_t addr, char *buf,
				      size_t size)
{
	snprintf(buf, size, "nothing is mapped there; %s is 0x%llx%s%s", a->base_reg,
		 (unsigned long long)a->base,
		 a->base >> 56 ? ", whose top byte the processor ignores" : "",
		 addr >> 48 & 0xff ?
			 "; only programs that ask for it have addresses of more than 48 bits" :
			 "");
	return buf;
}

/* Is it the stack of the first thread, not a file whose path has that word? */
static bool is_main_stack(const struct report_map *map)
{
	return !strncmp(map->name, "[stack", 6);
}

/* Is the stack pointer in a mapping? That of an empty stack is the mapping's end. */
static bool in_mapping(const struct report_facts *facts, uint64_t sp)
{
	return report_facts_map(facts, sp) || report_facts_map(facts, sp - 1);
}

/* The main thread's stack if it is the next mapping above addr; NULL: it is not. */
static const struct report_map *stack_above(const struct report_facts *facts, uint64_t addr)
{
	const struct report_map *above = NULL;

	for (size_t i = 0; i < facts->nr_maps; i++)
		if (facts->maps[i].start > addr && (!above || facts->maps[i].start < above->start))
			above = &facts->maps[i];
	return above && is_main_stack(above) ? above : NULL;
}

/*
 * Describes an unmapped addr, close to the stack pointer, below the stack. The stack pointer shows
 * whether there was too little space, unless it is far away from the stack itself.
 */
static const char *describe_below_stack(const struct report_map *stack, uint64_t sp, uint64_t addr)
{
	if (sp >= stack->start && sp < stack->end && sp > addr + CLOSE)
		return "it lies just below the stack, far from the stack pointer";
	if (sp + FRAME >= stack->start && sp < stack->end)
		return "it lies just below the stack: the stack is exhausted";
	return "it lies just below the stack: the stack is exhausted, or the stack pointer is wrong";
}

/* True if addr is in a frame that the stack has no space for: nothing is mapped from sp to addr. */
static bool beyond_stack(const struct report_facts *facts, uint64_t sp, uint64_t addr)
{
	const struct report_map *above;

	if (!sp || addr < sp || in_mapping(facts, sp))
		return false;
	above = stack_above(facts, sp);
	return above && addr < above->start;
}

const char *fault_text(const char *before, uint64_t word, char buf[FAULT_TEXT])
{
	char text[9];

	buf[0] = 0;
	if (report_word_text(word, text))
		/* an integer or address may look so, too */
		snprintf(buf, FAULT_TEXT, "%s as text \"%s\"", before, text);
	return buf;
}

/*
 * Appends to 'what' the text that a bad pointer may be a part of, if one register contains it, not
 * if only the sum of several does.
 */
static const char *append_pointer_text(const char *what, const struct fault_access *a,
				       uint64_t addr, char *buf, size_t size)
{
	char text[FAULT_TEXT];

	if (a->known && a->text_reg[0] && a->text_value != addr &&
	    *fault_text(",", a->text_value, text))
		snprintf(buf, size, "%s; %s is 0x%llx%s", what, a->text_reg,
			 (unsigned long long)a->text_value, text);
	else if (a->known && a->text_reg[0] && a->text_value == addr)
		snprintf(buf, size, "%s%s", what, fault_text(";", addr, text));
	else
		snprintf(buf, size, "%s", what);
	return buf;
}

/* Linux sends SIGBUS for a stack-segment fault (#SS); qemu does not distinguish it. */
static const char *describe_non_canonical(const struct report_facts *facts,
					  const struct fault_access *a, uint64_t addr, char *buf,
					  size_t size)
{
	return a->known && a->stack_segment && facts->crash.signo == SIGSEGV ?
		       "no such address exists on this processor; on a real one the kernel sends "
		       "SIGBUS for such an access" :
		       append_pointer_text("no such address exists on this processor", a, addr, buf,
					   size);
}

static const char *describe_address(const struct report_facts *facts,
				    const struct auxtap_regs *regs, const struct fault_access *a,
				    uint64_t addr, char *buf, size_t size)
{
	const struct report_map *map = report_facts_map(facts, addr);
	uint64_t sp = 0;

	report_regs_sp(regs, &sp);
	if (map && facts->crash.signo == SIGBUS && facts->crash.si_code == BUS_ADRERR &&
	    map->name[0] == '/') {
		snprintf(buf, size, "it is mapped %.4s, but %.100s ends before it", map->perms,
			 map->name);
		return buf;
	}
	if (map && in_stack_guard(facts, map, sp))
		return sp < addr + CLOSE ?
			       "it lies in the guard page below the stack: the stack is exhausted" :
			       "it lies in the guard page below the stack, far from the stack pointer";
	if (map) {
		snprintf(buf, size, "it is mapped %.4s%s%s", map->perms, map->name[0] ? ", " : "",
			 map->name);
		return buf;
	}
	if (regs->arch == AUXTAP_ARCH_X86_64 && addr >> 47 == 0x1ffff)
		return "it lies in the kernel's half of the address space, which no program may access";
	if (addr < 4096)
		return describe_near_zero(a, addr, buf, size);
	if (!fault_canonical(regs, addr))
		return describe_non_canonical(facts, a, addr, buf, size);
	map = report_facts_map(facts, sp);
	if (map && map->perms[1] == 'w' && addr >= map->end && addr - map->end < 65536)
		return is_main_stack(map) ?
			       "nothing is mapped there: it lies just above the stack" :
			       "nothing is mapped there: it lies just above the mapping that the "
			       "stack pointer is in";
	if (addr - (sp - FRAME) < 2 * FRAME) {
		const struct report_map *stack = stack_above(facts, addr);
		bool is_close = sp && sp <= addr + CLOSE;

		if (stack && stack->start - addr < (1 << 20))
			return describe_below_stack(stack, sp, addr);
		if (is_close && map && addr < map->start)
			return "nothing is mapped there: it lies just below the mapping that the "
			       "stack pointer is in";
		if (is_close && !in_mapping(facts, sp))
			return "nothing is mapped there, nor where the stack pointer points: the "
			       "stack is exhausted or unmapped, or the stack pointer is wrong";
	}
	if (beyond_stack(facts, sp, addr))
		return "it lies above the stack pointer and below the stack: the stack is "
		       "exhausted, or the stack pointer is wrong";
	if (regs->arch == AUXTAP_ARCH_AARCH64 && a->known && a->base_reg[0] && a->base >> 48)
		return describe_high_bits(a, addr, buf, size);
	/* an emulator's program may reach what its list of mappings lacks, such as [vvar] */
	if (facts->crash.signo == SIGBUS && facts->crash.si_code == BUS_ADRERR)
		return "what is mapped there is not known";
	return append_pointer_text("nothing is mapped there", a, addr, buf, size);
}

/* Returns true if no instruction can be executed at ip. */
static bool explain_jump(const struct report_facts *facts, const struct auxtap_regs *regs,
			 uint64_t ip, struct fault *fault)
{
	const struct report_map *map = report_facts_map(facts, ip);
	char text[FAULT_TEXT];

	if (facts->nr_maps && map && map->perms[2] != 'x')
		snprintf(fault->where, sizeof(fault->where),
			 "which is mapped %.4s%s%.100s, not executable", map->perms,
			 map->name[0] ? ", " : "", map->name);
	else if (facts->nr_maps && !map)
		snprintf(fault->where, sizeof(fault->where), "%s%s",
			 fault_canonical(regs, ip) ? "where nothing is mapped" :
						     "which is no address at all",
			 fault_text(",", ip, text));
	else if (regs->arch == AUXTAP_ARCH_AARCH64 && ip & 3)
		snprintf(fault->where, sizeof(fault->where),
			 "where no instruction begins: their addresses are multiples of 4");
	else
		return false;
	fault->bad_ip = true;
	snprintf(fault->why, sizeof(fault->why), "it jumped to 0x%llx, %s", (unsigned long long)ip,
		 fault->where);
	return true;
}

/*
 * True if the kernel sent SIGSEGV because it could not write a signal's frame: it has no address,
 * and the instruction cannot have caused it. On AArch64 a SIGSEGV from the kernel without an
 * address always means that.
 */
static bool is_failed_frame(const struct report_facts *facts, const struct auxtap_regs *regs,
			    const uint8_t *bytes, size_t size)
{
	return facts->crash.signo == SIGSEGV && facts->crash.si_code == SI_KERNEL &&
	       !(facts->crash.flags & AUXTAP_CRASH_ADDR_VALID) && !fault_after_call(facts, regs) &&
	       (regs->arch == AUXTAP_ARCH_AARCH64 || fault_x86_harmless(regs, bytes, size));
}

/* The signal replaced one whose handler could not be started; no memory access failed. */
static bool explain_failed_frame(const struct auxtap_crash *c, struct fault *fault)
{
	int signo = c->frame_signo;

	if (!signo || signo == SIGSEGV || signo == SIGBUS)
		return false;
	fault->no_frame = true;
	fault->has_insn = signo == SIGFPE || signo == SIGILL || signo == SIGTRAP;
	snprintf(
		fault->why, sizeof(fault->why),
		"the kernel sends it where it cannot write the frame of a signal handler to the stack");
	return true;
}

static bool by_qemu(const struct report_facts *facts)
{
	char engine[32];

	return report_facts_capture(facts, CAPTURE_LINE_SOURCE, engine, sizeof(engine)) &&
	       !strcmp(engine, CAPTURE_LINE_QEMU);
}

static void explain_memory(const struct report_facts *facts, const struct auxtap_regs *regs,
			   const uint8_t *bytes, size_t size, struct fault *fault)
{
	const struct fault_access *a = &fault->access;
	bool misaligned = facts->crash.signo == SIGBUS && facts->crash.si_code == BUS_ADRALN;
	uint64_t ip = 0, addr = facts->crash.fault_addr;
	char where[200], nr[80] = "";
	uint64_t from;
	const char *what;

	report_regs_ip(regs, &ip);
	if (auxtap_regs_32bit(regs)) {
		size = 0; /* operands are found of 64-bit code only */
		if (!(facts->crash.flags & AUXTAP_CRASH_ADDR_VALID)) {
			fault->has_insn = false;
			return;
		}
	}
	if (explain_failed_frame(&facts->crash, fault) || explain_jump(facts, regs, ip, fault))
		return;
	if (regs->arch == AUXTAP_ARCH_AARCH64)
		fault_a64_memory(facts, regs, bytes, size, fault);
	else
		fault_x86_memory(facts, regs, bytes, size, fault);
	if (!a->known && !fault->why[0] && regs->arch == AUXTAP_ARCH_X86_64) {
		if (!(facts->crash.flags & AUXTAP_CRASH_ADDR_VALID))
			fault_x86_protection(facts, regs, bytes, size, fault);
		else if (by_qemu(facts))
			fault_x86_beyond(facts, regs, bytes, size, fault);
	}
	if (fault->why[0])
		return;
	if (is_failed_frame(facts, regs, bytes, size)) {
		fault->no_frame = true;
		if (!a->known) {
			fault->has_insn = false;
			snprintf(
				fault->why, sizeof(fault->why),
				"it is no fault of the instruction there: the kernel sends this signal where it "
				"cannot write the frame of a signal handler to the stack");
			return;
		}
	}
	if (!a->known && !(facts->crash.flags & AUXTAP_CRASH_ADDR_VALID)) {
		snprintf(
			fault->why, sizeof(fault->why),
			fault_after_call(facts, regs) ?
				"the processor refused the instruction, or the kernel the system call "
				"before it; neither reports an address" :
				"the processor refused the instruction: a general protection fault, "
				"which reports no address");
		/* it is unknown which access failed */
		fault->has_insn = !fault_after_call(facts, regs);
		return;
	}
	if (!(facts->crash.flags & AUXTAP_CRASH_ADDR_VALID))
		addr = a->failed ? a->failed : a->addr;
	what = !a->known ? "touched" : a->write ? "wrote to" : "read from";
	if (a->known && a->nr_bytes)
		snprintf(nr, sizeof(nr), " (%u byte%s%s)", a->nr_bytes, a->nr_bytes == 1 ? "" : "s",
			 a->or_more ? " or more" : "");
	from = addr;
	/* the fault's address is the first of the bytes that could not be accessed */
	if (a->known && addr > a->addr && addr - a->addr < a->nr_bytes) {
		from = a->addr;
		snprintf(nr, sizeof(nr), " (%u bytes%s), which failed at 0x%llx", a->nr_bytes,
			 a->or_more ? " or more" : "", (unsigned long long)addr);
	}
	snprintf(
		fault->why, sizeof(fault->why), "it %s 0x%llx%s; %s%s", what,
		(unsigned long long)from, nr,
		misaligned ? "the address is not aligned as this instruction needs it" :
			     describe_address(facts, regs, a, addr, where, sizeof(where)),
		a->known && a->masked && by_qemu(facts) ?
			"; qemu reads all of these bytes, a processor only those that the mask selects: "
			"--source ptrace runs it on the processor" :
			"");
}

/* Explains SIGILL and SIGTRAP: an undefined instruction, or a breakpoint. */
static void explain_trap(const struct auxtap_crash *c, const struct auxtap_regs *regs,
			 const uint8_t *insn, size_t insn_size, struct fault *fault)
{
	if (regs->arch == AUXTAP_ARCH_AARCH64) {
		fault_a64_undefined(insn, insn_size, fault->why, sizeof(fault->why));
	} else if (c->signo == SIGTRAP) {
		fault_x86_trap(insn, insn_size, fault->why, sizeof(fault->why));
	} else {
		fault_x86_undefined(insn, insn_size, fault->why, sizeof(fault->why));
	}
	if (!fault->why[0] && c->signo == SIGILL)
		snprintf(fault->why, sizeof(fault->why),
			 "the bytes at this address are no instruction of this processor");
}

void fault_explain(const struct report_facts *facts, const struct auxtap_regs *regs,
		   const uint8_t *insn, size_t insn_size, struct fault *fault)
{
	const struct auxtap_crash *c = &facts->crash;

	memset(fault, 0, sizeof(*fault));
	if (c->limit_bytes)
		return; /* the headline says so, even if no registers are known */
	if (c->si_code <= 0) {
		fault_sender(facts, regs, fault);
		return;
	}
	fault->has_insn = true;
	report_regs_ip(regs, &fault->insn_ip);
	switch (c->signo) {
	case SIGSEGV:
	case SIGBUS:
		explain_memory(facts, regs, insn, insn_size, fault);
		break;
	case SIGFPE:
		if (c->si_code == FPE_INTDIV && regs->arch == AUXTAP_ARCH_X86_64)
			fault_x86_division(facts, regs, insn,
					   auxtap_regs_32bit(regs) ? 0 : insn_size, fault);
		else
			snprintf(fault->why, sizeof(fault->why), "arithmetic error");
		break;
	case SIGILL:
	case SIGTRAP:
		explain_trap(c, regs, insn, insn_size, fault);
		break;
	case SIGSYS:
		fault->has_insn = false;
		fault_system_call(facts, regs, fault);
		break;
	default:
		fault->has_insn = false;
		fault_by_kernel(c, fault);
		break;
	}
}
