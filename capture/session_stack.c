// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writes memory of a crashing process to its snapshot: each thread's stack from the stack pointer
 * up. Other parts of the stack may be needed, too: around the frame pointer (a variable-length
 * array moved the stack pointer far away), and the stack that a signal interrupted (the handler
 * runs on an alternate stack).
 */
#include "session.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/*
 * Offsets in the frame that the kernel pushes for a signal handler. x86-64: the return address,
 * then ucontext. AArch64: siginfo, then ucontext. Both start their ucontext with uc_flags and
 * uc_link, which is 0.
 */
struct signal_layout {
	size_t context, sp, pc, size;
};

static const struct signal_layout x86_layout = {8, 168, 176, 184};
static const struct signal_layout a64_layout = {128, 560, 568, 576};

#define RED_ZONE	  128
#define BELOW_SP	  4096u
#define STACK_GUARD_GAP	  (1u << 20) /* after an overflow sp may be this far below its stack */
#define FRAME_BYTES	  4096u	     /* below the frame pointer */
#define MAX_CONTEXT_FLAGS 15
#define A64_ADDRESS	  0x0000ffffffffffffull

static uint64_t word_at(const unsigned char *bytes, size_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

static bool is_code(const struct map_list *maps, uint64_t addr)
{
	const struct map_entry *e = map_list_find(maps, addr);

	return e && e->prot & PROT_EXEC;
}

static bool is_stack(const struct map_list *maps, uint64_t addr)
{
	const struct map_entry *e = map_list_find(maps, addr);

	return e && e->prot & PROT_READ && e->prot & PROT_WRITE;
}

static bool is_signal_frame(uint32_t arch, const struct map_list *maps, const unsigned char *bytes)
{
	const struct signal_layout *l = arch == AUXTAP_ARCH_X86_64 ? &x86_layout : &a64_layout;
	uint32_t signo;

	if (word_at(bytes, l->context) > MAX_CONTEXT_FLAGS || word_at(bytes, l->context + 8))
		return false;
	memcpy(&signo, bytes, sizeof(signo));
	if (arch == AUXTAP_ARCH_X86_64 ? !is_code(maps, word_at(bytes, 0)) :
					 !signo || signo > (uint32_t)SIGRTMAX)
		return false;
	return is_code(maps, word_at(bytes, l->pc)) && is_stack(maps, word_at(bytes, l->sp));
}

static bool find_interrupted(uint32_t arch, const struct map_list *maps, uint64_t addr,
			     const unsigned char *bytes, size_t size, uint64_t *sp)
{
	const struct signal_layout *l = arch == AUXTAP_ARCH_X86_64 ? &x86_layout : &a64_layout;

	for (size_t at = (size_t)(-addr & 7); at + l->size <= size; at += 8) {
		if (!is_signal_frame(arch, maps, bytes + at))
			continue;
		*sp = word_at(bytes + at, l->sp);
		if (*sp < addr || *sp - addr >= size)
			return true;
	}
	return false;
}

static bool is_frame(uint32_t arch, const struct map_list *maps, uint64_t fp,
		     const unsigned char record[16])
{
	uint64_t back = word_at(record, 8);

	/* AArch64 may have signed the return address, in the bits above the address */
	if (arch == AUXTAP_ARCH_AARCH64)
		back &= A64_ADDRESS;
	return !(fp & 7) && is_stack(maps, fp) && is_code(maps, back);
}

/* The maximum number of separate parts that a thread's stack is saved in. */
#define STACK_PARTS 4

/* The parts of a thread's stack that are saved. */
struct stack_ranges {
	const struct map_list *maps;
	uint32_t arch; /* enum auxtap_arch */
	pid_t pid;
	size_t max; /* maximum size of the next part, in bytes */
	struct stack_part {
		uint64_t from, to;
	} parts[STACK_PARTS];
	unsigned int nr;
	bool interrupted; /* the last part has a signal frame; sp is the interrupted one */
	uint64_t sp;
};

/* Writes a range of memory. Returns the record, which the caller frees, and the bytes read. */
static unsigned char *write_range(struct auxtap_session *s, struct trace_file *file, pid_t pid,
				  uint64_t addr, size_t *size)
{
	struct auxtap_crash_memory header = {.size = sizeof(header), .pid = pid, .addr = addr};
	unsigned char *record = malloc(sizeof(header) + *size);
	ssize_t n;

	if (!record)
		return NULL;
	n = s->be->target->mem(s->be->target_ctx, pid, addr, record + sizeof(header), *size);
	if (n <= 0) {
		free(record);
		return NULL;
	}
	header.nr_bytes = (uint64_t)n;
	memcpy(record, &header, sizeof(header));
	auxtap_perfdata_writer_metadata(file->writer, AUXTAP_METADATA_MEMORY, record,
					sizeof(header) + (size_t)n);
	*size = (size_t)n;
	return record;
}

void session_write_memory(struct auxtap_session *s, struct trace_file *file, pid_t pid,
			  uint64_t addr, size_t size)
{
	free(write_range(s, file, pid, addr, &size));
}

/* Writes the stack from 'from' to at most 'end', without the parts that are saved already. */
static void write_stack_part(struct auxtap_session *s, struct trace_file *file,
			     struct stack_ranges *stack, uint64_t from, uint64_t end)
{
	unsigned char *record;
	size_t size;

	if (stack->nr == STACK_PARTS)
		return;
	for (unsigned int i = 0; i < stack->nr; i++) {
		const struct stack_part *p = &stack->parts[i];

		if (from >= p->from && from < p->to)
			from = p->to;
		else if (p->from > from && p->from < end)
			end = p->from;
	}
	if (end <= from)
		return;
	size = end - from < stack->max ? (size_t)(end - from) : stack->max;
	record = write_range(s, file, stack->pid, from, &size);
	if (!record)
		return;
	stack->parts[stack->nr++] = (struct stack_part){from, from + size};
	reachable_mark_saved(file->reachable, from, size);
	reachable_add_words(file->reachable, record + sizeof(struct auxtap_crash_memory), size);
	stack->interrupted =
		find_interrupted(stack->arch, stack->maps, from,
				 record + sizeof(struct auxtap_crash_memory), size, &stack->sp);
	free(record);
}

/*
 * Writes what is below the red zone: where a wrong frame pointer became the stack pointer, the
 * return addresses of the thread are there. It is not searched for signal frames or pointers.
 */
static void write_below(struct auxtap_session *s, struct trace_file *file,
			const struct stack_ranges *stack, uint64_t end, uint64_t lowest)
{
	size_t size = end - lowest < BELOW_SP ? (size_t)(end - lowest) : BELOW_SP;

	if (size)
		free(write_range(s, file, stack->pid, end - size, &size));
}

/*
 * Writes the stack from sp up to the end of its mapping, and the 128 bytes below sp that leaf
 * functions use on x86-64 (the red zone of the ABI).
 */
static void write_stack(struct auxtap_session *s, struct trace_file *file,
			struct stack_ranges *stack, uint64_t sp)
{
	const struct map_list *maps = stack->maps;
	const struct map_entry *e = map_list_find(maps, sp);
	uint64_t from = (sp & ~7ull) - RED_ZONE;

	/* After a stack overflow sp is below the stack or in its guard page. */
	if (e && !(e->prot & PROT_READ))
		e = NULL;
	if (e && (from < e->start || from > sp))
		from = e->start;
	for (size_t i = 0; i < maps->nr && !e; i++) {
		if (maps->entries[i].start > sp && maps->entries[i].start - sp <= STACK_GUARD_GAP &&
		    (maps->entries[i].prot & PROT_WRITE)) {
			e = &maps->entries[i];
			from = e->start;
		}
	}
	if (!e || !(e->prot & PROT_READ))
		return;
	write_stack_part(s, file, stack, from, e->end);
	write_below(s, file, stack, from, e->start);
}

/*
 * Writes the frame of a function whose variable-length array was too large: sp is far below the
 * frame pointer, below which the unwinder finds the registers that the function saved.
 */
static void write_frame(struct auxtap_session *s, struct trace_file *file,
			struct stack_ranges *stack, uint64_t sp, uint64_t fp)
{
	const struct map_entry *e = map_list_find(stack->maps, fp);
	unsigned char record[16];
	uint64_t from;

	for (unsigned int i = 0; i < stack->nr; i++) {
		if (fp >= stack->parts[i].from && fp < stack->parts[i].to)
			return;
	}
	if (!e || fp < sp ||
	    s->be->target->mem(s->be->target_ctx, stack->pid, fp, record, sizeof(record)) !=
		    (ssize_t)sizeof(record) ||
	    !is_frame(stack->arch, stack->maps, fp, record))
		return;
	from = fp - e->start < FRAME_BYTES ? e->start : fp - FRAME_BYTES;
	write_stack_part(s, file, stack, from, e->end);
}

void session_write_stack(struct auxtap_session *s, struct trace_file *file, pid_t pid,
			 const struct map_list *maps, const struct auxtap_regs *r, size_t max)
{
	struct stack_ranges stack = {.maps = maps, .arch = r->arch, .pid = pid, .max = max};
	bool x86 = r->arch == AUXTAP_ARCH_X86_64;
	int sp = x86 ? (int)AUXTAP_X86_SP : (int)AUXTAP_A64_SP;
	int fp = x86 ? (int)AUXTAP_X86_BP : (int)AUXTAP_A64_FP;

	if (!(r->valid & (1ull << sp)))
		return;
	write_stack(s, file, &stack, r->reg[sp]);
	stack.max = max / 4;
	for (unsigned int nr = 0; stack.interrupted && stack.nr > nr && stack.nr < STACK_PARTS;) {
		nr = stack.nr;
		write_stack(s, file, &stack, stack.sp);
	}
	if (r->valid & (1ull << fp))
		write_frame(s, file, &stack, r->reg[sp], r->reg[fp]);
}
