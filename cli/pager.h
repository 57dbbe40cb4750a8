/* SPDX-License-Identifier: BSD-2-Clause */
/* A pager for long outputs on a terminal, as git has it. */
#ifndef AUXTAP_CLI_PAGER_H
#define AUXTAP_CLI_PAGER_H

#include <stdbool.h>

/*
 * If standard output is a terminal, starts a pager, which then reads standard output, and standard
 * error if that is a terminal, too: $AUXTAP_PAGER, else $PAGER, else less; none if that is empty or
 * "cat", or cannot be executed. To be called once, before any output.
 */
void pager_start(void);
/* Standard output is a terminal, or a pager that shows it on one: colours may be used. */
bool pager_or_terminal(void);
/* Closes standard output and waits until the user has left the pager. */
void pager_finish(void);

#endif
