/* SPDX-License-Identifier: BSD-2-Clause */
/* A pager for long output on a terminal, as in git. */
#ifndef AUXTAP_CLI_PAGER_H
#define AUXTAP_CLI_PAGER_H

#include <stdbool.h>

/*
 * If standard output is a terminal, starts a pager that reads standard output, and standard error
 * if that is a terminal, too: $AUXTAP_PAGER, else $PAGER, else less. If the name is empty or "cat",
 * or cannot be executed, there is no pager. To be called once, before any output.
 */
void pager_start(void);
/* Is standard output a terminal, or a pager on a terminal? Then colours may be used. */
bool pager_or_terminal(void);
/* Closes standard output and waits until the user has left the pager. */
void pager_finish(void);

#endif
