/* SPDX-License-Identifier: BSD-2-Clause */
/* The formats of a report, as options and file names say them. */
#ifndef AUXTAP_CLI_REPORT_OUTPUT_H
#define AUXTAP_CLI_REPORT_OUTPUT_H

#include <auxtap/decode.h>
#include <stdbool.h>

enum report_output {
	REPORT_OUTPUT_TEXT,
	REPORT_OUTPUT_JSON,
	REPORT_OUTPUT_HTML,
	REPORT_NR_OUTPUTS
};

/* The value of --format; false and a message if it is none. */
bool report_output_parse(const char *option, const char *text, enum report_output *output);
/* What the library writes for it. */
enum auxtap_report_format report_output_format(enum report_output output);
/* What the name of its file ends with: "txt". */
const char *report_output_suffix(enum report_output output);

#endif
