/* SPDX-License-Identifier: BSD-2-Clause */
/* The formats of a report, in options and file names. */
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

/* Parses the value of --format. False: printed an error. */
bool report_output_parse(const char *option, const char *text, enum report_output *output);
/* The library's format for it. */
enum auxtap_report_format report_output_format(enum report_output output);
/* The suffix of its file name: "txt". */
const char *report_output_suffix(enum report_output output);

#endif
