/* SPDX-License-Identifier: BSD-2-Clause */
/* The head of the report (report_headline.c). */
#ifndef AUXTAP_REPORT_HEADLINE_H
#define AUXTAP_REPORT_HEADLINE_H

#include "report_callers.h"
#include "report_origin.h"
#include "report_slice.h"

struct fault;
struct report_branch;
struct report_branches;
struct report_out;
struct report_return_addrs;
struct unwind_frames;

/* The innermost function that is the program's own. */
struct report_own_frame {
	int frame;		 /* -1: none; for a tail frame the frame before it */
	struct report_caller at; /* for a tail frame, the jump */
	bool tail;		 /* it left its frame by a tail call */
};
struct report_own_frame report_own_frame(const struct report_out *ro,
					 const struct unwind_frames *frames);

/* Which of the faults it was. */
enum report_handled_order {
	REPORT_HANDLED_UNKNOWN,
	REPORT_HANDLED_FIRST,
	REPORT_HANDLED_NEWEST,
	REPORT_HANDLED_OTHER,
};

/* The fault that went to a handler and that the report names (report_handled_choose()). */
struct report_handled {
	struct auxtap_crash_fault fault; /* signo 0: none */
	uint64_t nr_faults;		 /* of the program that died; 0: unknown */
	enum report_handled_order order;
	/* the frame that the handler has interrupted; -1: not in the backtrace */
	int frame;
};

struct report_headline {
	const struct auxtap_regs *regs; /* of the thread that died; NULL: unknown */
	uint64_t ip;			/* with regs: of the instruction that caused the signal */
	struct fault *fault;
	const struct unwind_frames *frames;
	struct report_own_frame own_frame;
	const struct report_branches *branches;	   /* of the thread; NULL: it has no trace */
	const struct report_return_addrs *returns; /* the same */
	bool is_wrong_value; /* it died of a wrong pointer, index, address or heap */
	bool unknown_insn;   /* SIGILL of bytes that the disassembler does not know either */
	bool flow_end_known;
	uint64_t flow_end;		  /* the next address of the flow, if flow_end_known */
	const struct report_branch *last; /* the branch that went to ip; NULL: unknown */
	struct report_origin origin;
	struct report_slice slice;
	struct report_handled handled;
};

/*
 * report_handled.c: of the faults that went to handlers since 'exec_time', when the program began:
 * the outermost one whose handler is in the backtrace; the first, if more are further out than the
 * backtrace reaches; else the newest of the thread that died; else the newest. Fills head->handled.
 */
void report_handled_choose(const struct report_facts *facts, uint64_t exec_time,
			   struct report_headline *head);
/*
 * For a death in the handler of a fault, or by a signal sent there: explains the fault that was
 * handled. False: unknown.
 */
bool report_handled_fault(const struct report_out *ro, const struct report_facts *facts,
			  const struct report_headline *head, struct fault *fault);

/* Finds head->last, and completes head->fault->why by what the trace shows. */
void report_headline_explain(const struct report_out *ro, const struct report_facts *facts,
			     struct report_headline *head);
/*
 * For a death where no code is, with head->flow_end_known: an address in the last instruction of
 * the flow, or the one that it went on to.
 */
uint64_t report_last_traced(const struct report_headline *head);
void report_headline_print(const struct report_out *ro, const struct report_facts *facts,
			   const struct report_headline *head);

#endif
