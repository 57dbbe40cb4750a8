/* SPDX-License-Identifier: BSD-2-Clause */
/* The dying thread's registers and memory in the past, from its log of values (value_log.h). */
#ifndef AUXTAP_REPORT_PAST_H
#define AUXTAP_REPORT_PAST_H

#include "report_facts.h"
#include "report_frames.h"
#include "report_out.h"
#include "zydis_insn.h"

#define PAST_SP_INDEX 4 /* of rsp in the log */

#define PAST_MAPPED 32

struct past_range {
	uint64_t addr, nr_bytes;
};

#define PAST_UNORDERED 2000 /* nanoseconds: a store may become visible so much later */

/* Until when the block was executed: its begin, and that of the thread's next block. */
struct past_time {
	/* nanoseconds; begin 0: the process had no other thread; end UINT64_MAX: its newest block
	 */
	uint64_t begin, end;
};

/* Is the time certainly after the other one, of another thread? */
bool past_is_after(uint64_t time, uint64_t other);

/* A place in the log: before an instruction of a block, or (at == end) the end of the log. */
struct past {
	const struct report_out *ro;
	const struct report_facts *facts;
	const struct value_log *log;
	bool has_threads;      /* writes of other threads are in their logs */
	struct past_time time; /* of the block */
	uint64_t log_begin;    /* when the dying thread's log begins */
	size_t at, end;	       /* in the log: the block's entry, and the next block's */
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
 * threads without one. work: limits the time that a damaged log takes.
 */
bool past_begin(struct past *p, const struct report_out *ro, const struct report_facts *facts,
		unsigned int *work);
/* Is there a log of the dying thread, of a process that had other threads? */
bool past_has_threads(const struct report_facts *facts);
/* Did no thread write there of which there is no log, since the block p is in? */
bool past_has_all_since(const struct past *p);
/* Begins at the end of that thread's log. */
void past_begin_log(struct past *p, const struct value_log *log);
/* False: a damaged log would take too long. */
bool past_has_work(const struct past *p, unsigned int nr);
/* May other processes write there, or is that not known? The logs do not show what they did. */
bool past_is_shared(const struct past *p, uint64_t addr);
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
	PAST_WRITE_UNORDERED, /* the order of several threads' writes is not known */
	PAST_WRITE_NOT_SINCE, /* none since the frame of a function that the memory is in began */
};
/*
 * The newest write of the block, before the instruction 'limit', that touches the memory; or the
 * call that pushed the return address at frame_slot: the frame begins there. False: none.
 */
bool past_find_in_block(struct past *p, uint64_t addr, uint64_t nr_bytes, uint64_t frame_slot,
			uint32_t limit, enum past_write *result, struct value_log_write *write);
/*
 * Moves to the instruction of this thread that last wrote to the memory before. frame_slot: only to
 * one since the call that pushed the return address there; 0: since the log begins.
 */
enum past_write past_find_own_write(struct past *p, uint64_t addr, uint64_t nr_bytes,
				    uint64_t frame_slot, struct value_log_write *write);
/*
 * past_threads.c: the same of all threads: *p may move to the log of another one. value: what was
 * read there.
 */
enum past_write past_find_write(struct past *p, uint64_t addr, uint64_t nr_bytes,
				uint64_t frame_slot, uint64_t value, struct value_log_write *write);
/* Did no other thread write there, as far as the logs show? */
bool past_is_own(const struct past *p, uint64_t addr, uint64_t nr_bytes);
/*
 * past_threads.c: calls fn for what other threads wrote there since p's log begins. is_strict: with
 * a write to all memory for what their logs do not reach back to.
 */
typedef void past_foreign_fn(void *ctx, const struct value_log_write *write);
void past_each_foreign(const struct past *p, uint64_t addr, uint64_t nr_bytes, bool is_strict,
		       past_foreign_fn *fn, void *ctx);
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
