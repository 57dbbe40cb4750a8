/* SPDX-License-Identifier: BSD-2-Clause */
/* Explains why a process died: fault.c uses fault_x86.c and fault_a64.c. */
#ifndef AUXTAP_FAULT_H
#define AUXTAP_FAULT_H

#include "report_facts.h"
#include "report_fault.h"

/* Is the address canonical, so that a program may have memory there? */
bool fault_canonical(const struct auxtap_regs *regs, uint64_t addr);
/* Writes before and ' the text "..."' for a word that is text, else "". Returns buf. */
#define FAULT_TEXT 32
const char *fault_text(const char *before, uint64_t word, char buf[FAULT_TEXT]);
/*
 * Does the access explain the fault? It must contain the fault address; if that is unknown, a byte
 * that the maps do not permit to access. Sets a->failed.
 */
bool fault_explains(const struct report_facts *facts, const struct auxtap_regs *regs,
		    struct fault_access *a);
/*
 * True if an instruction that reads and writes addr faults on the write: it faults on the read
 * unless reading is allowed.
 */
bool fault_update_writes(const struct report_facts *facts, uint64_t addr);

/* Sets fault->access to the access that explains the fault, if there is one; else perhaps 'why'. */
void fault_x86_memory(const struct report_facts *facts, const struct auxtap_regs *regs,
		      const uint8_t *bytes, size_t size, struct fault *fault);
void fault_a64_memory(const struct report_facts *facts, const struct auxtap_regs *regs,
		      const uint8_t *bytes, size_t size, struct fault *fault);

/* For a fault that no access explains: sets 'why' if qemu read past the end of an operand. */
void fault_x86_beyond(const struct report_facts *facts, const struct auxtap_regs *regs,
		      const uint8_t *bytes, size_t size, struct fault *fault);

/* Explains a general protection fault of x86, which has no address; sets nothing if unknown. */
void fault_x86_protection(const struct report_facts *facts, const struct auxtap_regs *regs,
			  const uint8_t *bytes, size_t size, struct fault *fault);
/*
 * Is it an instruction that cannot cause a general protection fault? (Page faults have an address
 * and do not count.)
 */
bool fault_x86_harmless(const struct auxtap_regs *regs, const uint8_t *bytes, size_t size);
/* Explains which of two reasons an integer division had to fail: divisor 0, or overflow. */
void fault_x86_division(const struct report_facts *facts, const struct auxtap_regs *regs,
			const uint8_t *bytes, size_t size, struct fault *fault);

/* Explains an undefined instruction, or a breakpoint; "": unknown. */
void fault_a64_undefined(const uint8_t *bytes, size_t size, char *why, size_t why_size);
/*
 * A trap is reported after the instruction that caused it: finds that from the two bytes before ip.
 * Returns ip if they are not a trap.
 */
uint64_t fault_x86_trap_ip(const uint8_t before[2], uint64_t ip);
void fault_x86_trap(const uint8_t *bytes, size_t size, char *why, size_t why_size);
void fault_x86_undefined(const uint8_t *bytes, size_t size, char *why, size_t why_size);

/* fault_sent.c: explains who sent the signal, if si_code says that a process or a timer did. */
void fault_sender(const struct report_facts *facts, const struct auxtap_regs *regs,
		  struct fault *fault);
/* Explains a signal of the kernel that no instruction of the program caused. */
void fault_by_kernel(const struct auxtap_crash *c, struct fault *fault);
/* Is the instruction directly before ip a system call? */
bool fault_after_call(const struct report_facts *facts, const struct auxtap_regs *regs);
/* Explains SIGSYS: finds the system call, and its instruction. */
void fault_system_call(const struct report_facts *facts, const struct auxtap_regs *regs,
		       struct fault *fault);
/* The name of a system call of the architecture (enum auxtap_arch); NULL: unknown. */
const char *fault_syscall_name(uint32_t arch, uint64_t nr);

#endif
