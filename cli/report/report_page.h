/* SPDX-License-Identifier: BSD-2-Clause */
/* A report as one HTML page that needs no other file: its script draws the embedded JSON. */
#ifndef AUXTAP_CLI_REPORT_PAGE_H
#define AUXTAP_CLI_REPORT_PAGE_H

#include <stdio.h>

/*
 * Returns a stream for the JSON of the page, which is written to out; without JSON there is no
 * page. Returns NULL and sets errno on failure. fclose() returns EOF if the page could not be
 * written.
 */
FILE *report_page_open(FILE *out);

#endif
