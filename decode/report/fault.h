/* SPDX-License-Identifier: BSD-2-Clause */
/* Why a process died, by architecture: fault.c asks fault_x86.c and fault_a64.c. */
#ifndef AUXTAP_FAULT_H
#define AUXTAP_FAULT_H

#include "report.h"

/* Can there be such an address in a program at all? */
bool fault_canonical(const struct auxtap_regs *regs, uint64_t addr);
/* The bytes of a word that are text, as " the text \"...\"" after before; else "". Returns buf. */
#define FAULT_TEXT 32
const char *fault_text(const char *before, uint64_t word, char buf[FAULT_TEXT]);
/*
 * Does the access explain the fault? With a fault address by hitting it; without, by a byte of it
 * that the maps do not permit. Sets a->failed.
 */
bool fault_explains(const struct report_facts *facts, const struct auxtap_regs *regs,
		    struct fault_access *a);
/* An instruction that reads and writes faults on the read, unless reading is allowed. */
bool fault_update_writes(const struct report_facts *facts, uint64_t addr);

/* The instruction's access that explains the fault, if there is one; else perhaps 'why'. */
void fault_x86_memory(const struct report_facts *facts, const struct auxtap_regs *regs,
		      const uint8_t *bytes, size_t size, struct fault *fault);
void fault_a64_memory(const struct report_facts *facts, const struct auxtap_regs *regs,
		      const uint8_t *bytes, size_t size, struct fault *fault);

/* Did qemu fail beyond an operand? Sets 'why' then. For a fault that no access explains. */
void fault_x86_beyond(const struct report_facts *facts, const struct auxtap_regs *regs,
		      const uint8_t *bytes, size_t size, struct fault *fault);

/* Why the processor refused an x86 instruction without a fault address; nothing if unknown. */
void fault_x86_protection(const struct report_facts *facts, const struct auxtap_regs *regs,
			  const uint8_t *bytes, size_t size, struct fault *fault);
/*
 * Is it an instruction that cannot make the processor refuse it without a fault address? (Accesses
 * to memory that is not there report one.)
 */
bool fault_x86_harmless(const struct auxtap_regs *regs, const uint8_t *bytes, size_t size);
/* Which of its two reasons an integer division had to fail. */
void fault_x86_division(const struct report_facts *facts, const struct auxtap_regs *regs,
			const uint8_t *bytes, size_t size, char *why, size_t why_size);

/* What an undefined instruction, or a breakpoint, is; "" where nothing can be said. */
void fault_a64_undefined(const uint8_t *bytes, size_t size, char *why, size_t why_size);
/*
 * A trap is reported after the instruction that made it: where that one is, by the two bytes
 * before ip. ip itself where none of them is a trap.
 */
uint64_t fault_x86_trap_ip(const uint8_t before[2], uint64_t ip);
void fault_x86_trap(const uint8_t *bytes, size_t size, char *why, size_t why_size);
void fault_x86_undefined(const uint8_t *bytes, size_t size, char *why, size_t why_size);

/* fault_sent.c: who sent the signal, for a si_code that says a process or a timer did. */
void fault_sender(const struct report_facts *facts, const struct auxtap_regs *regs,
		  struct fault *fault);
/* A signal that the kernel sends for no instruction of the program. */
void fault_by_kernel(const struct auxtap_crash *c, struct fault *fault);
/* Is the instruction directly before ip one that makes system calls? */
bool fault_after_call(const struct report_facts *facts, const struct auxtap_regs *regs);
/* SIGSYS: the system call, and the instruction that made it. */
void fault_system_call(const struct report_facts *facts, const struct auxtap_regs *regs,
		       struct fault *fault);
/* The name of a system call of the architecture (enum auxtap_arch); NULL: not known. */
const char *fault_syscall_name(uint32_t arch, uint64_t nr);

#endif
