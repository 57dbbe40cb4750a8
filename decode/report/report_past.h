/* SPDX-License-Identifier: BSD-2-Clause */
/* The dying thread's registers and memory in the past, from its log of values (value_log.h). */
#ifndef AUXTAP_REPORT_PAST_H
#define AUXTAP_REPORT_PAST_H

#include "report.h"
#include "zydis_insn.h"

#define PAST_SP_INDEX 4 /* of rsp in the log */

#define PAST_MAPPED 32

struct past_range {
	uint64_t addr, nr_bytes;
};

/* A place in the log: before an instruction of a block, or (at == end) the end of the log. */
struct past {
	const struct report_out *ro;
	const struct report_facts *facts;
	const struct value_log *log;
	size_t at, end; /* in the log: the block's entry, and the next block's */
	uint64_t ip;
	uint32_t nr_insns;
	uint64_t regs[AUXTAP_VALUES_REGS];  /* before the block */
	uint64_t older[AUXTAP_VALUES_REGS]; /* before the block before it */
	uint32_t insn;
	bool by_kernel; /* the kernel may have changed registers since the block */
	/* where something else may have been mapped since */
	struct past_range mapped[PAST_MAPPED];
	unsigned int nr_mapped;
	unsigned int *work; /* what may still be done */
};

/*
 * Starts at the end of the dying thread's log. False: the file has no log, or the process had other
 * threads, whose writes have no known order. work: limits the time that a damaged log takes.
 */
bool past_begin(struct past *p, const struct report_out *ro, const struct report_facts *facts,
		unsigned int *work);
/* Is there a log of the dying thread that is of no use, because the process had other threads? */
bool past_has_threads(const struct report_facts *facts);
/* Moves to the end of the block before it. False: it is not in the log, or unknown. */
bool past_back(struct past *p);
/*
 * Moves to the last time that the instruction at ip was executed. death_ip: where the thread died;
 * is_executed: after it executed that instruction.
 */
bool past_find_insn(struct past *p, uint64_t ip, uint64_t death_ip, bool is_executed);

enum past_write {
	PAST_WRITE_FOUND,
	PAST_WRITE_UNKNOWN,   /* or older than the log */
	PAST_WRITE_NOT_SINCE, /* none since the frame of a function that the memory is in began */
};
/*
 * Moves to the instruction that last wrote to the memory before. frame_slot: only to one since the
 * call that pushed the return address there; 0: since the log begins.
 */
enum past_write past_find_write(struct past *p, uint64_t addr, uint64_t nr_bytes,
				uint64_t frame_slot, struct value_log_write *write);
/* Is the memory operand of the instruction p->insn one of rsp or rbp? */
bool past_uses_stack(const struct past *p);
/*
 * Is addr, of the memory operand of the instruction p->insn, that of a local variable of its
 * function? Sets *slot to where the return address is.
 */
bool past_frame_slot(const struct past *p, uint64_t addr, uint64_t *slot);

/* An instruction of the block. False: the code is not known. */
bool past_insn(const struct past *p, uint32_t index, struct x86_insn *insn, uint64_t *ip);
#define PAST_CALLS_KERNEL 0x10000
/*
 * The general registers that the block's code writes: bits in the order of the log, and
 * PAST_CALLS_KERNEL if it ends with a system call. UINT32_MAX: unknown.
 */
uint32_t past_written_regs(const struct past *p);
/* A register's index in the log; -1: another register. */
int past_reg_index(ZydisRegister reg);
/* The register of that index at the death. */
uint64_t past_death_reg(const struct auxtap_regs *regs, int index);
/* The value of a general register. False: unknown. */
bool past_reg(struct past *p, ZydisRegister reg, uint64_t *value);
/* The address of the memory operand of the instruction p->insn; false: unknown. */
bool past_operand(struct past *p, uint64_t *addr);
/* Memory. False: unknown. */
bool past_word(const struct past *p, uint64_t addr, unsigned int nr_bytes, uint64_t *word);
/* Unwinds the stack before the block, as far as calls pushed the return addresses. */
void past_unwind(const struct past *p, struct unwind_frames *frames);

#endif
