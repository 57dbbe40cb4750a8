// SPDX-License-Identifier: BSD-2-Clause
/* auxtap completion: prints the script that completes auxtap's command line in a shell. */
#include "cli.h"
#include "completion.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
	"usage: auxtap completion bash|zsh\n"
	"\n"
	"Prints a script with which the shell completes auxtap's commands, options and their\n"
	"values. Load it when the shell starts:\n"
	"\n"
	"  bash   source <(auxtap completion bash)      in ~/.bashrc\n"
	"  zsh    source <(auxtap completion zsh)       in ~/.zshrc, after compinit\n"
	"\n"
	"  -h, --help   print help\n";

enum completion_kind completion_kind(const char *value)
{
	if (!value)
		return COMPLETE_NONE;
	if (!strcmp(value, "FILE"))
		return COMPLETE_FILE;
	if (!strcmp(value, "DIR"))
		return COMPLETE_DIR;
	if (!strcmp(value, "CMD"))
		return COMPLETE_COMMAND;
	return strchr(value, '|') ? COMPLETE_WORDS : COMPLETE_NONE;
}

int cmd_completion(int argc, char **argv)
{
	if (cli_wants_help(argc, argv)) {
		fputs(help, stdout);
		return CLI_OK;
	}
	if (argc != 2) {
		cli_errorf("completion", "give bash or zsh",
			   argc < 2 ? "no shell given" : "too many arguments");
		return CLI_USAGE;
	}
	if (!strcmp(argv[1], "bash")) {
		completion_bash();
	} else if (!strcmp(argv[1], "zsh")) {
		completion_zsh();
	} else {
		cli_errorf(argv[1], "give bash or zsh", "no script for this shell");
		return CLI_USAGE;
	}
	return CLI_OK;
}
