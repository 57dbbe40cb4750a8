// SPDX-License-Identifier: BSD-2-Clause
/*
 * Finds who called the functions that allocated and freed a heap block: for each such call the file
 * contains the caller's registers and stack, which are unwound like those of a thread.
 */
#include "decode/image/image_private.h"
#include "report_state.h"
#include "zydis_insn.h"

#include <string.h>

#define MAX_INSNS 4096 /* of a function that is searched for jumps */

/* The call's record in the file; NULL: there is none. */
static const struct auxtap_heap_call *find_call(const struct report_facts *facts,
						const struct auxtap_crash_block *block,
						enum auxtap_block_action action,
						uint64_t return_addr)
{
	for (size_t i = 0; i < facts->nr_block_calls; i++) {
		const struct auxtap_block_call *c = &facts->block_calls[i];

		if (c->addr == block->addr && c->action == (uint32_t)action &&
		    c->return_addr == return_addr)
			return &c->call;
	}
	return NULL;
}

static void set_reg(struct auxtap_regs *regs, int nr, uint64_t value)
{
	regs->reg[nr] = value;
	regs->valid |= 1ull << nr;
}

/* Sets pc into the call instruction: that is where line and frame are looked up. */
static void set_regs(struct auxtap_regs *regs, uint32_t arch, const struct auxtap_heap_call *call,
		     uint64_t return_addr)
{
	static const int x86[] = {AUXTAP_X86_BX,  AUXTAP_X86_BP,  AUXTAP_X86_R12,
				  AUXTAP_X86_R13, AUXTAP_X86_R14, AUXTAP_X86_R15};

	memset(regs, 0, sizeof(*regs));
	regs->arch = arch;
	if (arch == AUXTAP_ARCH_AARCH64) {
		for (int i = 0; i < AUXTAP_CALL_REGS; i++)
			set_reg(regs, AUXTAP_A64_X0 + 19 + i, call->reg[i]);
		set_reg(regs, AUXTAP_A64_SP, call->sp);
		set_reg(regs, AUXTAP_A64_PC, return_addr - 4);
		return;
	}
	for (size_t i = 0; i < sizeof(x86) / sizeof(x86[0]); i++)
		set_reg(regs, x86[i], call->reg[i]);
	set_reg(regs, AUXTAP_X86_SP, call->sp);
	set_reg(regs, AUXTAP_X86_IP, return_addr - 1);
}

static void add_caller(struct report_callers *callers, struct report_caller caller, int level)
{
	caller.level = level;
	if (callers->nr < REPORT_MAX_CALLERS)
		callers->at[callers->nr++] = caller;
}

bool report_is_replaced(const struct report_out *ro, uint64_t pc)
{
	return image_set_had_other_code(ro->images, ro->pid, ro->time, pc);
}

/*
 * Adds the functions inlined at pc that are the program's own, innermost first. False: the code has
 * been replaced, and with it the unwind information: further frames are not known.
 */
static bool add_own(const struct report_out *ro, struct report_caller caller,
		    struct report_callers *callers)
{
	struct auxtap_location loc = {.size = sizeof(loc)};
	const uint64_t pc = caller.pc;

	if (report_is_replaced(ro, pc)) {
		add_caller(callers, caller, REPORT_REPLACED);
		return false;
	}
	if (auxtap_image_set_resolve(ro->images, ro->pid, ro->time, pc, &loc) || !loc.image ||
	    report_is_runtime(loc.image))
		return true;
	for (unsigned int i = 0; i < loc.nr_frames; i++)
		if (!report_is_library_function(&loc, i))
			add_caller(callers, caller, (int)i);
	return true;
}

void report_callers_add(const struct report_out *ro, uint64_t pc, bool returns,
			const struct unwind_frames *frames, struct report_callers *callers)
{
	struct report_caller first = {.pc = pc, .returns = returns};
	bool known;

	callers->nr = 0;
	callers->in_call = false;
	known = add_own(ro, first, callers);
	for (int i = 1; known && i < frames->nr; i++) {
		if ((frames->by_pointers && i >= frames->by_pointers) ||
		    (frames->overwritten && i >= frames->overwritten))
			break;
		known = add_own(ro,
				(struct report_caller){.pc = frames->pcs[i],
						       .returns = frames->call_mask >> i & 1},
				callers);
	}
	if (!callers->nr)
		add_caller(callers, first, 0);
}

/* Is it a function whose calls are recorded as those that allocate or free? */
static bool is_allocator(const char *symbol)
{
	static const char *const names[] = {
		"malloc",	   "calloc",	     "realloc", "reallocarray",
		"memalign",	   "posix_memalign", "valloc",	"pvalloc",
		"aligned_alloc",   "free",	     "cfree",	"mmap",
		"mmap64",	   "munmap",	     "mremap",	"operator new",
		"operator delete",
	};
	size_t len;

	symbol += !strncmp(symbol, "__libc_", 7) ? 7 : !strncmp(symbol, "__", 2) ? 2 : 0;
	len = strcspn(symbol, "([@");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(symbol, names[i], len) && !names[i][len])
			return true;
	return false;
}

/* Is what begins at addr such a function, or its stub? *known: it is known what is there. */
static bool is_allocator_at(const struct report_out *ro, uint64_t addr, bool *known)
{
	struct auxtap_location loc = {.size = sizeof(loc)};

	*known = !auxtap_image_set_symbol(ro->images, ro->pid, ro->time, addr, &loc) && loc.image &&
		 loc.nr_frames && loc.frames[0].symbol && !loc.frames[0].symbol_off;
	return *known && is_allocator(loc.frames[0].symbol);
}

enum target { TARGET_UNKNOWN, TARGET_ALLOCATOR, TARGET_FUNCTION };

/* What the call before return_addr called; *target: a function of the program. */
static enum target find_target(const struct report_out *ro, const struct report_facts *facts,
			       uint32_t arch, uint64_t return_addr, uint64_t *target)
{
	struct auxtap_location loc = {.size = sizeof(loc)};
	uint8_t code[6];
	int32_t offset;
	uint32_t insn;
	bool known;

	if (auxtap_image_set_read(ro->images, ro->pid, ro->time, return_addr - sizeof(code), code,
				  sizeof(code)) != sizeof(code))
		return TARGET_UNKNOWN;
	memcpy(&offset, code + 2, sizeof(offset));
	*target = return_addr + (uint64_t)(int64_t)offset;
	if (arch == AUXTAP_ARCH_AARCH64) {
		memcpy(&insn, code + 2, sizeof(insn));
		*target = return_addr - 4 + (uint64_t)((int64_t)(int32_t)(insn << 6) >> 4);
		if (insn >> 26 != 0x25)
			return TARGET_UNKNOWN;
	} else if (code[0] == 0xff && code[1] == 0x15) { /* through a pointer, perhaps of the GOT */
		const struct report_map *map = report_facts_map(facts, *target);

		if (!map || map->perms[1] == 'w' ||
		    !report_facts_memory(facts, *target, target, sizeof(*target)))
			return TARGET_UNKNOWN;
	} else if (code[1] != 0xe8) {
		return TARGET_UNKNOWN;
	}
	if (is_allocator_at(ro, *target, &known))
		return TARGET_ALLOCATOR;
	/* a library's function, or bytes that only look like a direct call */
	if (!known || auxtap_image_set_resolve(ro->images, ro->pid, ro->time, *target, &loc) ||
	    !loc.image || report_is_runtime(loc.image) ||
	    report_is_library_function(&loc, loc.nr_frames - 1) ||
	    strstr(loc.frames[loc.nr_frames - 1].symbol, "@plt"))
		return TARGET_UNKNOWN;
	return TARGET_FUNCTION;
}

struct jumps {
	unsigned int nr;
	uint64_t at;  /* the last one */
	bool unknown; /* one may go elsewhere than to a function that allocates or frees */
};

/* Notes a jump that may leave the function; target 0: unknown. */
static void note_jump(const struct report_out *ro, uint64_t start, uint64_t at, uint64_t target,
		      struct jumps *jumps)
{
	bool known;

	if (target && report_function_start(ro, target) == start)
		return;
	jumps->unknown |= !target || !is_allocator_at(ro, target, &known);
	jumps->nr++;
	jumps->at = at;
}

/* Finds the jumps out of the function. */
static void find_jumps(const struct report_out *ro, uint32_t arch, uint64_t start,
		       struct jumps *jumps)
{
	const bool a64 = arch == AUXTAP_ARCH_AARCH64;
	uint64_t at = start, target;
	struct x86_insn x;
	uint8_t code[16];
	uint32_t insn;
	ssize_t nr;

	*jumps = (struct jumps){.nr = 0};
	for (unsigned int i = 0; i < MAX_INSNS && report_function_start(ro, at) == start; i++) {
		nr = auxtap_image_set_read(ro->images, ro->pid, ro->time, at, code, sizeof(code));
		if (a64 && nr >= 4) {
			memcpy(&insn, code, sizeof(insn));
			if (insn >> 26 == 0x5)
				note_jump(ro, start, at,
					  at + (uint64_t)((int64_t)(int32_t)(insn << 6) >> 4),
					  jumps);
			else if ((insn & 0xfffffc1f) == 0xd61f0000)
				note_jump(ro, start, at, 0, jumps);
			at += 4;
			continue;
		}
		if (a64 || nr <= 0 || !x86_disassemble(code, (size_t)nr, &x))
			break;
		if (x.info.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
		    x.info.meta.category == ZYDIS_CATEGORY_COND_BR) {
			target = x.op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE ?
					 at + x.info.length + x.op[0].imm.value.u :
					 0;
			note_jump(ro, start, at, target, jumps);
		}
		at += x.info.length;
	}
	jumps->unknown |= report_function_start(ro, at) == start;
}

/*
 * The innermost caller may not have called the allocating or freeing function, but another one
 * which ended with a jump to it: that has no frame.
 */
static void add_jump(const struct report_out *ro, const struct report_facts *facts, uint32_t arch,
		     uint64_t return_addr, struct report_callers *callers)
{
	struct jumps jumps;
	uint64_t target;
	enum target what;

	if (callers->at[0].pc != return_addr - 1 || callers->at[0].level < 0)
		return;
	what = find_target(ro, facts, arch, return_addr, &target);
	callers->in_call = what == TARGET_UNKNOWN;
	if (what != TARGET_FUNCTION)
		return;
	find_jumps(ro, arch, target, &jumps);
	callers->in_call = jumps.unknown;
	if (!jumps.nr) /* it is the allocating function itself, by another name */
		return;
	callers->nr -= callers->nr == REPORT_MAX_CALLERS;
	memmove(&callers->at[1], &callers->at[0], (size_t)callers->nr * sizeof(callers->at[0]));
	callers->at[0] = jumps.nr == 1 ?
				 (struct report_caller){.pc = jumps.at, .level = REPORT_BY_JUMP} :
				 (struct report_caller){.pc = target, .level = REPORT_BY_ANY_JUMP};
	callers->nr++;
}

void report_block_callers(const struct report_out *ro, const struct report_facts *facts,
			  uint32_t arch, const struct auxtap_crash_block *block,
			  enum auxtap_block_action action, uint64_t return_addr,
			  struct report_callers *callers)
{
	const struct auxtap_heap_call *call = find_call(facts, block, action, return_addr);
	struct report_facts then = *facts;
	struct report_memory stack;
	struct unwind_frames frames;
	struct auxtap_regs regs;

	frames.nr = 0;
	if (call) {
		stack = (struct report_memory){.addr = call->sp,
					       .nr_bytes = call->nr_stack,
					       .bytes = (unsigned char *)call->stack};
		then.memory = &stack; /* the stack as it was then */
		then.nr_memory = 1;
		set_regs(&regs, arch, call, return_addr);
		unwind_backtrace(&then, ro->images, &regs, NULL, &frames);
	}
	report_callers_add(ro, return_addr - 1, true, &frames, callers);
	add_jump(ro, facts, arch, return_addr, callers);
}
