/* SPDX-License-Identifier: BSD-2-Clause */
/* How the thread came to where no code is (report_jump.c). */
#ifndef AUXTAP_REPORT_JUMP_H
#define AUXTAP_REPORT_JUMP_H

#include "decode/flow/callstack.h"
#include "report_facts.h"

#include <auxtap/decode.h>

struct fault;
struct report_branch;
struct report_out;

/* The calls of a thread that have not returned, and its last return. */
struct report_return_addrs {
	struct callstack calls; /* their return addresses; 0 for a signal handler */
	uint64_t last_call;	/* the return address of the last call; gaps do not change it */
	uint64_t from, to;	/* the last return */
	uint64_t expected;	/* the return address of its call; 0: unknown */
	bool unmatched;		/* it returned to none of the calls */
	uint64_t trace_off_ip;	/* where tracing last went off */
	bool trace_off_async;
};

/* Notes an event of the thread. 0, or -1 without memory. */
int report_return_addrs_add(struct report_return_addrs *returns, const struct auxtap_event *ev);
/*
 * For a death at an ip that cannot be executed (bad_ip), or at a return to a non-canonical address:
 * writes fault->why by what the trace shows. last: the branch that went to ip; NULL: unknown.
 */
void report_jump_explain(const struct report_out *ro, const struct report_facts *facts,
			 const struct auxtap_regs *regs, const struct report_return_addrs *returns,
			 const struct report_branch *last, uint64_t ip, struct fault *fault);

/*
 * Does the stack, from a little below sp on, have the return address of a call elsewhere than in
 * 'slot'? back is how many of the calls that have not returned are newer.
 */
bool report_return_addr_elsewhere(const struct report_facts *facts,
				  const struct report_return_addrs *returns, size_t back,
				  uint64_t sp, uint64_t slot);
/* Does the stack below 'slot' have the return address of the newest call? */
bool report_return_addr_below(const struct report_facts *facts,
			      const struct report_return_addrs *returns, uint64_t slot);

/* Is nothing mapped at addr where an image was before? */
bool report_was_unloaded(const struct report_out *ro, const struct report_facts *facts,
			 uint64_t addr);

/* Is the instruction before addr the system call of rt_sigreturn()? */
bool report_ends_handler(const struct report_out *ro, const struct auxtap_regs *regs,
			 uint64_t addr);
/*
 * For a death by a signal that was sent while the handler of a fault ran, at the faulting
 * instruction: explains why that faults again with the registers of the death; false: it may not.
 */
bool report_faults_again(const struct report_out *ro, const struct report_facts *facts,
			 const struct auxtap_regs *regs, const struct auxtap_crash_fault *handled,
			 struct fault *fault);

#endif
