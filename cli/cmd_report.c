// SPDX-License-Identifier: BSD-2-Clause
#include "cli.h"

int cmd_report(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return CLI_FAILED;
}
