/* SPDX-License-Identifier: BSD-2-Clause */
/* Generates shell scripts that complete auxtap's commands and options, from their tables. */
#ifndef AUXTAP_CLI_COMPLETION_H
#define AUXTAP_CLI_COMPLETION_H

#include "util/options.h"

#include <stdbool.h>

/* What a shell proposes for a value or an argument. */
enum completion_kind {
	COMPLETE_NONE, /* no proposals, as for a number */
	COMPLETE_FILE,
	COMPLETE_DIR,
	COMPLETE_COMMAND,
	COMPLETE_WORDS, /* "a|b|c" */
};
/* value: as in struct option_row and struct cli_command; NULL: COMPLETE_NONE. */
enum completion_kind completion_kind(const char *value);

static inline bool completion_has_letter(const struct option_row *row)
{
	return row->id > ' ' && row->id < 0x7f;
}

/* Print the script to stdout. */
void completion_bash(void);
void completion_zsh(void);

#endif
