// SPDX-License-Identifier: BSD-2-Clause
/*
 * Finds who called the functions that allocated and freed a block: for each such call the file
 * contains the caller's registers and stack, which are unwound like those of a thread.
 */
#include "decode/image/image_private.h"
#include "report_state.h"

#include <string.h>

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

static void add_caller(struct report_callers *callers, uint64_t pc, int level)
{
	if (callers->nr < REPORT_MAX_CALLERS)
		callers->at[callers->nr++] = (struct report_caller){.pc = pc, .level = level};
}

bool report_is_replaced(const struct report_out *ro, uint64_t pc)
{
	return image_set_had_other_code(ro->images, ro->pid, ro->time, pc);
}

/*
 * Adds the functions inlined at pc that are the program's own, innermost first. False: the code has
 * been replaced, and with it the unwind information: further frames are not known.
 */
static bool add_own(const struct report_out *ro, uint64_t pc, struct report_callers *callers)
{
	struct auxtap_location loc = {.size = sizeof(loc)};

	if (report_is_replaced(ro, pc)) {
		add_caller(callers, pc, REPORT_REPLACED);
		return false;
	}
	if (auxtap_image_set_resolve(ro->images, ro->pid, ro->time, pc, &loc) || !loc.image ||
	    report_is_runtime(loc.image))
		return true;
	for (unsigned int i = 0; i < loc.nr_frames; i++)
		if (!report_is_library_function(&loc, i))
			add_caller(callers, pc, (int)i);
	return true;
}

void report_callers_add(const struct report_out *ro, uint64_t pc,
			const struct unwind_frames *frames, struct report_callers *callers)
{
	bool known;

	callers->nr = 0;
	callers->in_call = false;
	known = add_own(ro, pc, callers);
	for (int i = 1; known && i < frames->nr; i++) {
		if ((frames->by_pointers && i >= frames->by_pointers) ||
		    (frames->overwritten && i >= frames->overwritten))
			break;
		known = add_own(ro, frames->pcs[i], callers);
	}
	if (!callers->nr)
		add_caller(callers, pc, 0);
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

enum called { CALLED_UNKNOWN, CALLED_DIRECTLY, CALLED_BY_POINTER };

/* How the call before return_addr found its target; *target: that of a direct call. */
static enum called called_how(const struct report_out *ro, const struct report_facts *facts,
			      uint32_t arch, uint64_t return_addr, uint64_t *target)
{
	const struct report_map *map;
	uint8_t code[6];
	int32_t offset;
	uint32_t insn;

	if (auxtap_image_set_read(ro->images, ro->pid, ro->time, return_addr - sizeof(code), code,
				  sizeof(code)) != sizeof(code))
		return CALLED_UNKNOWN;
	if (arch == AUXTAP_ARCH_AARCH64) {
		memcpy(&insn, code + 2, sizeof(insn));
		*target = return_addr - 4 + (uint64_t)((int64_t)(int32_t)(insn << 6) >> 4);
		return insn >> 26 == 0x25 ? CALLED_DIRECTLY : CALLED_BY_POINTER;
	}
	memcpy(&offset, code + 2, sizeof(offset));
	*target = return_addr + (uint64_t)(int64_t)offset;
	if (code[0] == 0xff && code[1] == 0x15) { /* by a word; the GOT is read-only */
		map = report_facts_map(facts, *target);
		return map && map->perms[1] != 'w' ? CALLED_UNKNOWN : CALLED_BY_POINTER;
	}
	return code[1] == 0xe8 ? CALLED_DIRECTLY : CALLED_BY_POINTER;
}

/*
 * The innermost caller may not have called the allocating or freeing function, but another one
 * which ended with a jump to it: that has no frame.
 */
static void add_jump(const struct report_out *ro, const struct report_facts *facts, uint32_t arch,
		     uint64_t return_addr, struct report_callers *callers)
{
	struct auxtap_location loc = {.size = sizeof(loc)};
	uint64_t target;
	enum called how;

	if (callers->at[0].pc != return_addr - 1 || callers->at[0].level < 0)
		return;
	how = called_how(ro, facts, arch, return_addr, &target);
	callers->in_call = how == CALLED_BY_POINTER;
	if (how != CALLED_DIRECTLY ||
	    auxtap_image_set_resolve(ro->images, ro->pid, ro->time, target, &loc) || !loc.image ||
	    !loc.nr_frames || !loc.frames[loc.nr_frames - 1].symbol ||
	    loc.frames[loc.nr_frames - 1].symbol_off || report_is_runtime(loc.image) ||
	    report_is_library_function(&loc, loc.nr_frames - 1) ||
	    is_allocator(loc.frames[loc.nr_frames - 1].symbol) ||
	    strstr(loc.frames[loc.nr_frames - 1].symbol, "@plt"))
		return;
	callers->nr -= callers->nr == REPORT_MAX_CALLERS;
	memmove(&callers->at[1], &callers->at[0], (size_t)callers->nr * sizeof(callers->at[0]));
	callers->at[0] = (struct report_caller){.pc = target, .level = REPORT_BY_JUMP};
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
	report_callers_add(ro, return_addr - 1, &frames, callers);
	add_jump(ro, facts, arch, return_addr, callers);
}
