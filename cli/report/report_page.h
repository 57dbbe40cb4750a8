/* SPDX-License-Identifier: BSD-2-Clause */
/* A report as one HTML page that needs no other file: its script draws the JSON in it. */
#ifndef AUXTAP_CLI_REPORT_PAGE_H
#define AUXTAP_CLI_REPORT_PAGE_H

#include <stdio.h>

/*
 * Where to write the JSON for a page, which goes to out when this stream is closed, if anything was
 * written. NULL and errno. fclose() returns EOF if the page could not be written.
 */
FILE *report_page_open(FILE *out);

#endif
