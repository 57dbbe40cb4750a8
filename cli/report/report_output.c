// SPDX-License-Identifier: BSD-2-Clause
/* The formats of a report, in options and file names. */
#include "cli/report/report_output.h"
#include "cli/cli.h"

#include <string.h>

static const char *const names[REPORT_NR_OUTPUTS] = {
	[REPORT_OUTPUT_TEXT] = "text",
	[REPORT_OUTPUT_JSON] = "json",
	[REPORT_OUTPUT_HTML] = "html",
};

bool report_output_parse(const char *option, const char *text, enum report_output *output)
{
	for (int i = 0; i < REPORT_NR_OUTPUTS; i++) {
		if (!strcmp(text, names[i])) {
			*output = (enum report_output)i;
			return true;
		}
	}
	cli_errorf(option, "give text, json or html", "unknown format '%s'", text);
	return false;
}

enum auxtap_report_format report_output_format(enum report_output output)
{
	return output == REPORT_OUTPUT_TEXT ? AUXTAP_REPORT_TEXT : AUXTAP_REPORT_JSON;
}

const char *report_output_suffix(enum report_output output)
{
	return output == REPORT_OUTPUT_TEXT ? "txt" : names[output];
}
