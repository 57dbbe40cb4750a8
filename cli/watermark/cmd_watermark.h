/* SPDX-License-Identifier: BSD-2-Clause */
/* The subcommands of auxtap watermark; argv[0] is their name. */
#ifndef AUXTAP_CLI_CMD_WATERMARK_H
#define AUXTAP_CLI_CMD_WATERMARK_H

int watermark_sim(int argc, char **argv);
int watermark_faults(int argc, char **argv);
int watermark_sweep(int argc, char **argv);
int watermark_explore(int argc, char **argv);
int watermark_advise(int argc, char **argv);
int watermark_live(int argc, char **argv);
int watermark_demo(void);

#endif
