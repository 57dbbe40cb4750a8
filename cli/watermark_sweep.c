// SPDX-License-Identifier: BSD-2-Clause
/* auxtap watermark sweep: the standard sweep. */
#include "cli.h"
#include "cmd_watermark.h"

int watermark_sweep(int argc, char **argv)
{
	(void)argc;
	cli_complain(argv[0], "", "not there yet");
	return CLI_FAILED;
}

int watermark_demo(void)
{
	char *argv[] = {"faults", NULL};

	return watermark_faults(1, argv);
}
