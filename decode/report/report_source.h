/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of source files that the report quotes (report_source.c). */
#ifndef AUXTAP_REPORT_SOURCE_H
#define AUXTAP_REPORT_SOURCE_H

#include <auxtap/decode.h>
#include <stdbool.h>

struct report_out;

#define REPORT_SOURCE_AROUND 3 /* lines before, and after, at most */

/* Lines of a source file around one. */
struct report_source {
	unsigned int first, nr;
	bool newer; /* the file is newer than the program: its lines may have changed */
	struct report_source_line {
		size_t len;
		char text[1024]; /* as in the file, but truncated */
	} lines[2 * REPORT_SOURCE_AROUND + 1];
};

/*
 * report_source.c: reads the line of the frame, which is in that image, and 'around' lines on
 * either side. False if the owner of the recording, or of the image, which names the source file,
 * may not read that file; or if the recording is a packed file.
 */
bool report_source_read(const struct report_out *ro, const char *image_name,
			const struct auxtap_frame *frame, unsigned int around,
			struct report_source *source);
/* The line of the frame from a packed file; false: it does not contain the line. */
bool report_source_packed(const struct report_out *ro, const struct auxtap_frame *frame,
			  struct report_source *source);
/* Prints the source line at loc if report_source_read(), or a packed file, provides it. */
void report_source_line(const struct report_out *ro, const struct auxtap_location *loc);

#endif
