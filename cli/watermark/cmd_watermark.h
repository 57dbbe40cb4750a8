/* SPDX-License-Identifier: BSD-2-Clause */
/* The subcommands of auxtap watermark; argv[0] is their name. */
#ifndef AUXTAP_CLI_CMD_WATERMARK_H
#define AUXTAP_CLI_CMD_WATERMARK_H

struct option_row;

extern const struct option_row *const watermark_sim_options[],
	*const watermark_faults_options[], *const watermark_sweep_options[],
						   *const watermark_explore_options[],
							   *const watermark_advise_options[],
								   *const watermark_live_options[];

int watermark_sim(int argc, char **argv);
int watermark_faults(int argc, char **argv);
int watermark_sweep(int argc, char **argv);
int watermark_explore(int argc, char **argv);
int watermark_advise(int argc, char **argv);
int watermark_live(int argc, char **argv);
int watermark_demo(void);

#endif
