/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the standard sweep, for 'sweep', 'faults' and the demonstration. */
#ifndef AUXTAP_CLI_WATERMARK_SWEEP_H
#define AUXTAP_CLI_WATERMARK_SWEEP_H

#define SWEEP_MACHINES 8   /* at least as many as auxtap_watermark_get_machine() */
#define SWEEP_MAX_JOBS 128 /* simulations that a process can run at the same time */

struct sweep_opts {
	const char *kernel;
	unsigned int every; /* simulate every N-th configuration */
	unsigned int jobs;  /* threads, up to SWEEP_MAX_JOBS */
};
struct sweep_sum {
	unsigned long long runs, refused, lossy, failed, transactions;
};
/*
 * Adds the results to sums[], one for each auxtap_watermark_get_machine(). Prints failures to
 * stderr. Returns 0 or a negative errno.
 */
int sweep_run(const struct sweep_opts *opts, struct sweep_sum *sums);
unsigned int sweep_jobs(void); /* the number of CPUs */

#endif
