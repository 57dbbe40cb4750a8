// SPDX-License-Identifier: BSD-2-Clause
/*
 * Backtrace of a dead thread: elfutils' unwinder works on the registers and the stack in the
 * snapshot, with the unwind information of the images that were found. This file adds what elfutils
 * lacks: for AArch64 signed return addresses, and the kernel's signal frame (under qemu the
 * sigreturn code has no unwind information); calls to bad addresses; checks of frames that were
 * found by frame pointers, were left by a tail call, or were overwritten.
 */
#include "debug_file.h"
#include "dwarf_eval.h"
#include "decode/flow/branch_insn.h"
#include "image_private.h"
#include "packed.h"
#include "decode/report/report_facts.h"
#include "decode/report/report_frames.h"
#include "decode/report/report_regs.h"
#include "util/user_regs.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define A64_SIGRETURN	 0xd4000001d2801168ull /* mov x8, #139; svc #0 */
#define A64_CONTEXT_REGS (128 + 184)	       /* offset of x0 ... pstate in a signal frame */
#define NR_SIGNALS	 8		       /* nested handlers */
#define A64_ADDRESS	 0x0000ffffffffffffull
#define X86_CONTEXT_REGS 40 /* in struct ucontext: of r8 */
#define X86_DWARF_RAX	 0
#define X86_DWARF_RBX	 3
#define X86_DWARF_RSP	 7
#define A64_DWARF_SP	 31
#define X86_DWARF_REGS	 17 /* general ones, and the return address */

struct unwind {
	const struct report_facts *facts;
	struct auxtap_image_set *images;
	struct auxtap_regs regs; /* where unwinding starts */
	uint64_t ip, sp;
	struct unwind_frames *out;
	int max;
	bool started;
	/*
	 * ip is the byte before a return address, within the call: after a call that does not
	 * return the next instruction may have the unwind rules of another function
	 */
	bool in_call;
	/* it ends at a signal frame, from where 'regs', the interrupted registers, lead on */
	bool signal;
	/* code without unwind information may have changed its caller's registers */
	bool regs_doubtful;
};

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	struct unwind *u = arg;

	(void)dwfl;
	if (u->started)
		return 0;
	u->started = true;
	*thread_arg = u;
	return 1;
}

static bool read_memory(const struct unwind *u, uint64_t addr, void *buf, size_t size)
{
	return report_facts_memory(u->facts, addr, buf, size) ||
	       auxtap_image_set_read(u->images, u->facts->crash.pid, u->facts->crash.time, addr,
				     buf, size) == (ssize_t)size;
}

static bool is_code(const struct unwind *u, uint64_t addr)
{
	const struct report_map *map = report_facts_map(u->facts, addr);

	return map && map->perms[2] == 'x';
}

/*
 * With pointer authentication saved return addresses are signed: there are bits above the address.
 */
static uint64_t unsigned_address(const struct unwind *u, uint64_t word)
{
	if (u->regs.arch == AUXTAP_ARCH_AARCH64 && word & ~A64_ADDRESS &&
	    is_code(u, word & A64_ADDRESS))
		return word & A64_ADDRESS;
	return word;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *result, void *arg)
{
	struct unwind *u = arg;
	uint64_t word;

	(void)dwfl;
	if (!read_memory(u, addr, &word, sizeof(word))) {
		u->out->unread_addr = addr;
		return false;
	}
	*result = unsigned_address(u, word);
	return true;
}

static bool initial_registers(Dwfl_Thread *thread, void *arg)
{
	struct unwind *u = arg;
	Dwarf_Word words[32];
	unsigned int nr;

	if (u->regs.arch == AUXTAP_ARCH_AARCH64) {
		nr = 32; /* x0 ... x30, sp */
		for (unsigned int i = 0; i < nr; i++)
			words[i] = u->regs.reg[AUXTAP_A64_X0 + i];
		words[AUXTAP_A64_LR] = unsigned_address(u, words[AUXTAP_A64_LR]);
		words[AUXTAP_A64_SP] = u->sp;
	} else {
		nr = 17;
		for (unsigned int i = 0; i < 16; i++)
			words[i] = u->regs.reg[x86_dwarf_order[i]];
		words[7] = u->sp;
		words[16] = u->ip;
	}
	if (!dwfl_thread_state_registers(thread, 0, nr, words))
		return false;
	dwfl_thread_state_register_pc(thread, u->ip);
	return true;
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.memory_read = memory_read,
	.set_initial_registers = initial_registers,
};

static const Dwfl_Callbacks dwfl_callbacks = {
	.find_elf = debug_file_no_elf,
	.find_debuginfo = image_packed_debug,
	.section_address = dwfl_offline_section_address,
};

static struct auxtap_image *find_image(const struct auxtap_image_set *images, const char *name)
{
	for (size_t i = 0; i < images->nr_images; i++) {
		struct auxtap_image *image = images->images[i];

		if (!strcmp(image->name, name) && image->state == AUXTAP_IMAGE_FOUND && image->path)
			return image;
	}
	return NULL;
}

/*
 * The address at which the file's first segment would be mapped, computed from the mapping of
 * another segment, since the program has unmapped the first one. 0: unknown.
 */
static uint64_t first_segment_address(const struct auxtap_image *image, const struct report_map *m)
{
	for (unsigned int i = 0; i < image->nr_loads; i++) {
		const struct image_load *load = &image->loads[i];
		uint64_t page = load->vaddr & ~4095ull, off = load->off & ~4095ull;

		if (m->pgoff >= off && m->pgoff < load->off + load->filesz)
			return m->start - page - (m->pgoff - off) +
			       (image->loads[0].vaddr & ~4095ull);
	}
	return 0;
}

static void report_modules(struct unwind *u, Dwfl *dwfl)
{
	const struct report_facts *f = u->facts;

	dwfl_report_begin(dwfl);
	for (size_t i = 0; i < f->nr_maps; i++) {
		const struct report_map *m = &f->maps[i];
		uint64_t base = m->start;
		struct auxtap_image *image;

		if (m->name[0] != '/')
			continue;
		if (i && !strcmp(f->maps[i - 1].name, m->name))
			continue; /* another part of the file, or its start mapped again */
		image = find_image(u->images, m->name);
		if (image && m->pgoff)
			base = first_segment_address(image, m);
		if (image && base && !image_report_elf(dwfl, image, base, false) &&
		    (errno == EMFILE || errno == ENFILE))
			image_set_note_oom(u->images);
	}
	dwfl_report_end(dwfl, NULL, NULL);
}

/* Reads the interrupted registers that the kernel wrote below a handler's frame; sp: its end. */
static bool x86_context(const struct unwind *u, uint64_t sp, struct auxtap_regs *regs)
{
	static const uint8_t order[] = {
		AUXTAP_X86_R8,	AUXTAP_X86_R9,	AUXTAP_X86_R10, AUXTAP_X86_R11, AUXTAP_X86_R12,
		AUXTAP_X86_R13, AUXTAP_X86_R14, AUXTAP_X86_R15, AUXTAP_X86_DI,	AUXTAP_X86_SI,
		AUXTAP_X86_BP,	AUXTAP_X86_BX,	AUXTAP_X86_DX,	AUXTAP_X86_AX,	AUXTAP_X86_CX,
		AUXTAP_X86_SP,	AUXTAP_X86_IP,
	};
	uint64_t context[sizeof(order)];

	if (!read_memory(u, sp + X86_CONTEXT_REGS, context, sizeof(context)))
		return false;
	for (size_t i = 0; i < sizeof(order); i++)
		regs->reg[order[i]] = context[i];
	return true;
}

/*
 * Whether pc is the code that returns from a signal handler; the next frame is the interrupted one.
 */
static bool signal_frame(struct unwind *u, Dwfl_Frame *frame, uint64_t pc)
{
	static const unsigned char x86_sigreturn[] = {
		0x48, 0xc7, 0xc0, 15, 0, 0, 0, /* mov $15, %rax */
		0x0f, 0x05,		       /* syscall */
	};
	unsigned char bytes[sizeof(x86_sigreturn)];
	uint64_t code, sp, context[34];

	if (u->regs.arch != AUXTAP_ARCH_AARCH64) {
		if (!read_memory(u, pc, bytes, sizeof(bytes)) ||
		    memcmp(bytes, x86_sigreturn, sizeof(bytes)) != 0)
			return false;
		/* elfutils goes on by itself, unless the signal hit no code */
		u->signal = !dwfl_frame_reg(frame, X86_DWARF_RSP, &sp) &&
			    x86_context(u, sp, &u->regs) && !is_code(u, u->regs.reg[AUXTAP_X86_IP]);
		return true;
	}
	if (!read_memory(u, pc, &code, sizeof(code)) || code != A64_SIGRETURN ||
	    dwfl_frame_reg(frame, AUXTAP_A64_SP, &sp) ||
	    !read_memory(u, sp + A64_CONTEXT_REGS, context, sizeof(context)))
		return false;
	memcpy(&u->regs.reg[AUXTAP_A64_X0], context, sizeof(context));
	u->signal = true;
	return true;
}

static bool has_unwind_information(Dwarf_CFI *cfi, Dwarf_Addr addr, Dwarf_Addr *start)
{
	Dwarf_Frame *frame;
	Dwarf_Addr end;
	bool signal;

	if (dwarf_cfi_addrframe(cfi, addr, &frame))
		return false;
	if (dwarf_frame_info(frame, start, &end, &signal) < 0)
		*start = 0;
	free(frame);
	return true;
}

/*
 * Whether the return address is the first instruction of a function, so that no call is before it.
 * Then the stack begins with that function (makecontext), or the return address was overwritten.
 */
static bool not_called(Dwfl_Frame *frame, uint64_t pc)
{
	Dwfl_Module *module = dwfl_addrmodule(dwfl_thread_dwfl(dwfl_frame_thread(frame)), pc);
	Dwarf_Addr bias, start;
	Dwarf_CFI *cfi = module ? dwfl_module_eh_cfi(module, &bias) : NULL;

	return cfi && has_unwind_information(cfi, pc - bias, &start) && start == pc - bias &&
	       !has_unwind_information(cfi, pc - bias - 1, &start);
}

/* Whether there is unwind information for addr, though its page is not executable, or no longer. */
static bool was_code(Dwfl *dwfl, uint64_t addr)
{
	Dwfl_Module *module = dwfl ? dwfl_addrmodule(dwfl, addr) : NULL;
	Dwarf_Addr bias, start;
	Dwarf_CFI *cfi = module ? dwfl_module_eh_cfi(module, &bias) : NULL;

	return cfi && has_unwind_information(cfi, addr - bias, &start);
}

/* Whether there is unwind information for addr in .eh_frame or .debug_frame. */
static bool is_described(Dwfl *dwfl, uint64_t addr)
{
	Dwfl_Module *module = dwfl ? dwfl_addrmodule(dwfl, addr) : NULL;
	Dwarf_Addr bias, start;
	Dwarf_CFI *cfi;

	if (!module)
		return false;
	cfi = dwfl_module_eh_cfi(module, &bias);
	if (cfi && has_unwind_information(cfi, addr - bias, &start))
		return true;
	cfi = dwfl_module_dwarf_cfi(module, &bias);
	return cfi && has_unwind_information(cfi, addr - bias, &start);
}

/* Frame nr has a return address: from now on it stands for the call before that address. */
static void mark_call(struct unwind_frames *out, int nr)
{
	out->pcs[nr]--;
	out->call_mask |= 1ull << nr;
}

static void add_call(struct unwind_frames *out, uint64_t return_address)
{
	out->pcs[out->nr] = return_address;
	mark_call(out, out->nr++);
}

/* Whether a call ends at the return address. On AArch64 always true. */
static bool follows_call(const struct unwind *u, uint64_t back)
{
	struct branch_insn insn;
	uint8_t code[8];

	if (u->regs.arch == AUXTAP_ARCH_AARCH64)
		return true;
	for (unsigned int size = 2; size < sizeof(code); size++) {
		if (!read_memory(u, back - size, code, size) ||
		    branch_insn_decode(code, size, false, &insn) || insn.size != size)
			continue;
		if (insn.kind == AUXTAP_BRANCH_CALL || insn.kind == AUXTAP_BRANCH_CALL_INDIRECT)
			return true;
	}
	return false;
}

/*
 * Without unwind information for a function elfutils follows the frame pointer. The register may
 * still have the caller's; then elfutils skips the caller. True: the frame is plausible; the first
 * such frame is noted in by_pointers.
 */
static bool accept_frame(struct unwind *u, Dwfl_Frame *frame, uint64_t pc)
{
	struct unwind_frames *out = u->out;
	int last = out->nr - 1;

	if (last < 0 || out->by_pointers ||
	    is_described(dwfl_thread_dwfl(dwfl_frame_thread(frame)), out->pcs[last]))
		return true;
	if (out->signal_mask & 1ull << last || !is_code(u, pc) || !follows_call(u, pc))
		return false;
	out->by_pointers = out->nr;
	return true;
}

static bool read_snapshot(void *ctx, uint64_t addr, void *buf, size_t size)
{
	return read_memory(ctx, addr, buf, size);
}

/* The unwind rules of the code at pc; the caller frees them. NULL: not found. */
static Dwarf_Frame *rules_at(Dwfl_Frame *frame, uint64_t pc)
{
	Dwfl_Module *module = dwfl_addrmodule(dwfl_thread_dwfl(dwfl_frame_thread(frame)), pc);
	Dwarf_Frame *rules = NULL;
	Dwarf_Addr bias = 0;
	Dwarf_CFI *cfi;

	if (!module)
		return NULL;
	cfi = dwfl_module_eh_cfi(module, &bias);
	if (cfi && !dwarf_cfi_addrframe(cfi, pc - bias, &rules))
		return rules;
	/* this reads, and decompresses, all of the debug information */
	cfi = dwfl_module_dwarf_cfi(module, &bias);
	return cfi && !dwarf_cfi_addrframe(cfi, pc - bias, &rules) ? rules : NULL;
}

/* Computes the frame's CFA by the unwind rules of the code at pc. */
static void frame_address(struct unwind *u, Dwfl_Frame *frame, uint64_t pc, struct image_frame *f)
{
	const struct image_memory memory = {.read = read_snapshot, .ctx = u};
	const struct dwarf_context context = {.frame = f, .memory = &memory};
	Dwarf_Frame *rules = rules_at(frame, pc);
	Dwarf_Op *ops;
	size_t nr;

	if (!rules)
		return;
	f->has_cfa = !dwarf_frame_cfa(rules, &ops, &nr) && nr &&
		     dwarf_compute(&context, NULL, ops, nr, &f->cfa) == DWARF_KNOWN;
	free(rules);
}

/* The CFA minus the stack pointer, by the unwind rules of the code at pc; 0: not known so. */
static uint64_t frame_size(const struct unwind *u, Dwfl_Frame *frame, uint64_t pc)
{
	const unsigned int sp = u->regs.arch == AUXTAP_ARCH_AARCH64 ? A64_DWARF_SP : X86_DWARF_RSP;
	Dwarf_Frame *rules = rules_at(frame, pc);
	uint64_t size = 0;
	Dwarf_Op *ops;
	size_t nr;

	if (rules && !dwarf_frame_cfa(rules, &ops, &nr) && nr == 1) {
		if (ops[0].atom == DW_OP_bregx && ops[0].number == sp)
			size = ops[0].number2;
		else if (ops[0].atom == DW_OP_breg0 + sp)
			size = ops[0].number;
	}
	free(rules);
	return size;
}

/* Whether one of the last instructions before pc made the function's frame smaller. */
static bool has_shrunk(const struct unwind *u, Dwfl_Frame *frame, uint64_t pc)
{
	const uint64_t size = frame_size(u, frame, pc);

	/* at most a "vzeroupper" is between them */
	for (unsigned int back = 1; back <= 4; back++)
		if (frame_size(u, frame, pc - back) > size)
			return true;
	return false;
}

/*
 * A wrong number in elfutils' table makes rax callee-saved and rbx not. If the unwind information
 * of the callee, which is the previous frame, has a rule for rbx, elfutils has applied that.
 */
static void correct_preserved(const struct unwind *u, Dwfl_Frame *frame, struct image_frame *f)
{
	const uint64_t rbx = 1ull << X86_DWARF_RBX;
	const struct unwind_frames *out = u->out;
	const struct image_frame *callee = out->nr ? &out->frames[out->nr - 1] : NULL;
	Dwarf_Frame *rules;
	Dwarf_Op memory[3], *ops;
	size_t nr = 1;

	f->known_mask &= ~(1ull << X86_DWARF_RAX);
	if (f->known_mask & rbx || !callee || !(callee->known_mask & rbx))
		return;
	rules = rules_at(frame, out->pcs[out->nr - 1]);
	if (rules && !dwarf_frame_register(rules, X86_DWARF_RBX, memory, &ops, &nr) && !nr) {
		f->reg[X86_DWARF_RBX] = callee->reg[X86_DWARF_RBX];
		f->known_mask |= rbx;
	}
	free(rules);
}

/* Stores the registers of the frame that is about to be added: variables are found by them. */
static void note_registers(struct unwind *u, Dwfl_Frame *frame, uint64_t pc, bool is_call)
{
	struct image_frame *f = &u->out->frames[u->out->nr];

	memset(f, 0, sizeof(*f));
	for (unsigned int i = 0; i < IMAGE_FRAME_REGS; i++) {
		Dwarf_Word word;

		if (dwfl_frame_reg(frame, i, &word))
			continue;
		f->reg[i] = word;
		f->known_mask |= 1ull << i;
	}
	f->in_snapshot_mask = (1ull << (u->regs.arch == AUXTAP_ARCH_AARCH64 ? IMAGE_FRAME_REGS :
									      X86_DWARF_REGS)) -
			      1;
	if (is_call && u->regs.arch != AUXTAP_ARCH_AARCH64)
		correct_preserved(u, frame, f);
	f->valid = !u->regs_doubtful;
	frame_address(u, frame, pc, f);
	f->shrinks = !is_call && has_shrunk(u, frame, pc);
}

static int on_frame(Dwfl_Frame *frame, void *arg)
{
	struct unwind *u = arg;
	struct unwind_frames *out = u->out;
	const bool in_call = u->in_call; /* activations are also the frames that signals hit */
	Dwarf_Addr pc;
	bool activation;

	u->in_call = false;
	out->unread_addr = 0;
	if (out->nr == u->max)
		return DWARF_CB_ABORT;
	if (!dwfl_frame_pc(frame, &pc, &activation))
		return DWARF_CB_ABORT;
	if (activation && in_call)
		pc++;
	if (pc == 0)
		return DWARF_CB_ABORT;
	note_registers(u, frame, activation ? pc : pc - 1, !activation || in_call);
	if (out->nr && signal_frame(u, frame, pc)) {
		out->signal_mask |= 1ull << out->nr;
		out->pcs[out->nr++] = pc;
		return u->signal ? DWARF_CB_ABORT : DWARF_CB_OK;
	}
	if (!activation && not_called(frame, pc)) {
		out->not_called = true;
		out->pcs[out->nr++] = pc;
		return DWARF_CB_ABORT;
	}
	if (activation) {
		out->pcs[out->nr++] = pc;
		return DWARF_CB_OK;
	}
	if (!accept_frame(u, frame, pc))
		return DWARF_CB_ABORT;
	out->frames[out->nr].valid = out->frames[out->nr].valid && !out->by_pointers;
	/* elfutils would continue with a wrong frame pointer */
	if (!is_code(u, pc) && !was_code(dwfl_thread_dwfl(dwfl_frame_thread(frame)), pc)) {
		out->bad_return_addr = pc;
		return DWARF_CB_ABORT;
	}
	add_call(out, pc);
	return DWARF_CB_OK;
}

static int on_thread(Dwfl_Thread *thread, void *arg)
{
	/* dwfl_thread_getframes() returns 0 when it reached the outermost frame */
	return dwfl_thread_getframes(thread, on_frame, arg) == 0 ? DWARF_CB_OK : DWARF_CB_ABORT;
}

/* Continues in the caller of a call to a bad address: sets ip and sp from its return address. */
static bool return_from_stray_call(struct unwind *u)
{
	uint64_t back;

	if (u->regs.arch == AUXTAP_ARCH_AARCH64) {
		back = unsigned_address(u, u->regs.reg[AUXTAP_A64_LR]);
	} else {
		if (!report_facts_memory(u->facts, u->sp, &back, sizeof(back)))
			return false;
		u->sp += 8;
	}
	if (!is_code(u, back))
		return false;
	u->ip = back - 1;
	u->in_call = true;
	return true;
}

/*
 * Whether code without unwind information (generated, or written in assembly) was entered by the
 * last call of the trace: that call's return address is where a function without a frame has it.
 */
static bool called_by_last_call(const struct unwind *u, uint64_t last_call)
{
	uint64_t back;

	if (u->regs.arch == AUXTAP_ARCH_AARCH64)
		back = unsigned_address(u, u->regs.reg[AUXTAP_A64_LR]);
	else if (!report_facts_memory(u->facts, u->sp, &back, sizeof(back)))
		return false;
	return last_call && back == last_call;
}

/*
 * The frames were found with the registers at the jump. If the jump was a tail call, the function
 * that jumped had already left its frame: its return address is on top of the stack, and the
 * function is removed from the backtrace.
 */
static void drop_left_frame(const struct unwind *u)
{
	struct unwind_frames *out = u->out;
	uint64_t low = 1, high = ~3ull;

	if (out->nr < 3 || !(out->call_mask & 4) || !called_by_last_call(u, out->pcs[2] + 1))
		return;
	out->nr--;
	memmove(&out->pcs[1], &out->pcs[2], (size_t)(out->nr - 1) * sizeof(out->pcs[0]));
	memmove(&out->frames[1], &out->frames[2], (size_t)(out->nr - 1) * sizeof(out->frames[0]));
	out->call_mask = (out->call_mask & low) | (out->call_mask & high) >> 1;
	out->signal_mask = (out->signal_mask & low) | (out->signal_mask & high) >> 1;
}

/* If the last frame is in code without unwind information, notes that and why. */
static void note_why_it_ends(const struct unwind *u, Dwfl *dwfl)
{
	struct unwind_frames *out = u->out;
	uint64_t last = out->pcs[out->nr - 1];
	const struct report_map *map = report_facts_map(u->facts, last);

	if (out->complete || !is_code(u, last) || is_described(dwfl, last))
		return;
	out->no_info = true;
	out->no_file = dwfl && map->name[0] == '/' && !dwfl_addrmodule(dwfl, last);
}

/*
 * A function whose stack protector check failed has overwritten its frame: the registers restored
 * from it are not its caller's.
 */
static void distrust_overwritten(const struct unwind *u)
{
	struct unwind_frames *out = u->out;
	int check = 0;

	for (; check < out->nr; check++) {
		struct auxtap_location loc = {.size = sizeof(loc)};

		if (!auxtap_image_set_symbol(u->images, u->facts->crash.pid, u->facts->crash.time,
					     out->pcs[check], &loc) &&
		    loc.nr_frames && loc.frames[0].symbol &&
		    !strcmp(loc.frames[0].symbol, "__stack_chk_fail"))
			break;
	}
	if (check + 2 >= out->nr)
		return;
	out->overwritten = check + 2;
	for (int i = out->overwritten; i < out->nr; i++)
		out->frames[i].valid = false;
}

static void unwind_from_caller(struct unwind *u, Dwfl *dwfl)
{
	if (!return_from_stray_call(u))
		return;
	u->started = false;
	u->regs_doubtful = true;
	u->out->complete = dwfl_getthreads(dwfl, on_thread, u) == 0;
	if (u->out->nr > 1)
		mark_call(u->out, 1); /* elfutils takes it for the innermost frame */
}

/* Goes on with the function that a signal interrupted, or the caller of a bad address. */
static void unwind_interrupted(struct unwind *u, Dwfl *dwfl)
{
	struct unwind_frames *out = u->out;
	int caller = 0;

	u->started = u->signal = u->in_call = false;
	report_regs_ip(&u->regs, &u->ip);
	report_regs_sp(&u->regs, &u->sp);
	if (!is_code(u, u->ip) && !was_code(dwfl, u->ip)) {
		if (out->nr == u->max)
			return;
		memset(&out->frames[out->nr], 0, sizeof(out->frames[0]));
		out->pcs[out->nr++] = u->ip;
		if (!return_from_stray_call(u))
			return;
		caller = out->nr;
	}
	out->complete = dwfl_getthreads(dwfl, on_thread, u) == 0;
	if (caller && out->nr > caller)
		mark_call(out, caller);
}

void unwind_backtrace(const struct report_facts *facts, struct auxtap_image_set *images,
		      const struct auxtap_regs *regs, const struct unwind_trace *trace,
		      struct unwind_frames *out)
{
	static const struct unwind_trace unknown;
	struct unwind u = {.facts = facts,
			   .images = images,
			   .regs = *regs,
			   .out = out,
			   .max = UNWIND_MAX_FRAMES};
	uint64_t ip;
	Dwfl *dwfl;
	int begin;
	bool jumped = false, is_called;

	trace = trace ? trace : &unknown;
	memset(out, 0, sizeof(*out));
	if (!report_regs_ip(regs, &u.ip) || !report_regs_sp(regs, &u.sp))
		return;
	ip = u.ip;
	if (auxtap_regs_32bit(regs)) {
		out->pcs[out->nr++] = ip;
		out->code_32bit = true;
		return;
	}
	dwfl = dwfl_begin(&dwfl_callbacks);
	if (dwfl)
		report_modules(&u, dwfl);
	if (!is_code(&u, u.ip) && !was_code(dwfl, u.ip)) {
		out->pcs[out->nr++] = u.ip;
		jumped = is_code(&u, trace->bad_jump) && is_described(dwfl, trace->bad_jump);
		if (jumped) {
			u.ip = trace->bad_jump;
		} else if ((trace->bad_return &&
			    !called_by_last_call(&u, trace->open_call_returns_to)) ||
			   !return_from_stray_call(&u)) {
			dwfl_end(dwfl);
			return;
		}
	}
	begin = out->nr;
	is_called = !begin && dwfl && !is_described(dwfl, u.ip) &&
		    called_by_last_call(&u, trace->last_call_returns_to);
	if (is_called)
		out->pcs[out->nr++] = ip;
	if (dwfl && dwfl_attach_state(dwfl, NULL, facts->crash.pid, &thread_callbacks, &u) &&
	    !is_called) {
		out->complete = dwfl_getthreads(dwfl, on_thread, &u) == 0;
		for (int i = 0; u.signal && i < NR_SIGNALS; i++)
			unwind_interrupted(&u, dwfl);
	}
	if (is_called)
		unwind_from_caller(&u, dwfl);
	/* elfutils reports a caller that could not be read as the end of the stack */
	if (!out->complete || out->not_called)
		out->unread_addr = 0;
	if (out->nr == 0)
		out->pcs[out->nr++] = ip;
	else if (jumped)
		drop_left_frame(&u);
	/* after a call to a bad address the second frame has a return address */
	else if (begin == 1 && out->nr > 1)
		mark_call(out, 1);
	distrust_overwritten(&u);
	note_why_it_ends(&u, dwfl);
	dwfl_end(dwfl);
}
