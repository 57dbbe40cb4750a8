/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report: auxtap_report() with images of the caller (report.c), and its sections that are one
 * function each.
 */
#ifndef AUXTAP_REPORT_H
#define AUXTAP_REPORT_H

#include "report_facts.h"

#include <auxtap/crash.h>
#include <auxtap/decode.h>
#include <stdio.h>

struct report_out;

/* Says which memory of the program the file contains, as a part of a sentence. */
void report_memory_text(const struct report_facts *facts, char *text, size_t size);
/* Prints the same as the report's last line. */
void report_memory_print(const struct report_out *ro, const struct report_facts *facts);

void report_images_print(const struct report_out *ro, const struct report_facts *facts);
/* Bytes of executable anonymous memory that the snapshot contains. */
uint64_t report_generated_bytes(const struct report_facts *facts);

/* report_samples.c: prints the report of Arm SPE samples; either raw or pd is NULL. */
int report_samples(struct auxtap_perfdata *pd, const char *path, const struct auxtap_raw_opts *raw,
		   struct auxtap_image_set *images, const struct auxtap_report_opts *opts,
		   FILE *out, struct auxtap_error *err);

/* auxtap_report() with the caller's images; opts is complete, those for images are unused. */
int report_recording(struct auxtap_perfdata *pd, struct auxtap_image_set *images,
		     const struct auxtap_report_opts *opts, FILE *out, struct auxtap_error *err);

#endif
