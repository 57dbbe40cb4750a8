/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that runs natively, for the kernel backend: no ptrace, so neither its threads
 * nor its death are seen before they are over.
 */
#ifndef AUXTAP_CAPTURE_NATIVE_H
#define AUXTAP_CAPTURE_NATIVE_H

#include <auxtap/capture.h>

struct native_target {
	pid_t pid;
	bool child;    /* ours: its status is known */
	bool gone;     /* PROCESS_EXIT was told */
	int pidfd;     /* readable when the process is gone */
	int hold_fd;   /* closing it releases the child */
	int result_fd; /* the child's errno if exec failed */
};

extern const struct auxtap_target_ops target_native_ops;
extern const struct auxtap_perf_ops perf_kernel_ops;

void native_target_init(struct native_target *target);
void native_target_free(struct native_target *target);

#endif
