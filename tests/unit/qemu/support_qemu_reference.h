/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An independent reference for ground-truth files: qemu's own log of single steps, of the same
 * program in the same environment, without our plugin.
 */
#ifndef SUPPORT_QEMU_REFERENCE_H
#define SUPPORT_QEMU_REFERENCE_H

#include "support_qemu_client.h"
#include <stdio.h>

struct qemu_reference {
	const char *target; /* runs under the qemu that auxtap-emu finds */
	const char *cpu;
	const char *variable; /* that names its qemu */
	/*
	 * qemu 10 only: the guest's address space, so that qemu itself places mappings, at the same
	 * addresses in both runs. AArch64's libraries are aligned to 64 KiB, and the loader
	 * branches on their addresses. programs/reserve.c has the same. NULL: the kernel places
	 * them (x86-64: its vsyscall page is higher).
	 */
	const char *reserve;
	const char *sysroot; /* NULL: none */
};
extern const struct qemu_reference reference_x86, reference_a64;

extern char truth_path[64]; /* prefix of the ground-truth files; the test sets it */
extern char *const env_of_run[];

void forget_truth(const struct client_run *run);

/* The log of a program, a line for each instruction that starts, for REP each iteration. */
FILE *reference_start(const struct qemu_reference *qemu_reference, char *const *argv, pid_t *pid);
/* False: end of the log. *cpu (may be NULL): the thread, counted from 0. */
bool reference_next(FILE *log, uint64_t *ip, int *cpu);

/*
 * Runs the program and compares its first thread's ground truth with the log, instruction by
 * instruction. removed: instructions that started and did not retire, because they faulted.
 */
void reference_compare(const struct qemu_reference *qemu_reference, char *const *argv,
		       struct client_run *run, int removed);

#endif
