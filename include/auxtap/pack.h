/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packed files: a recording with what decoding it takes, in one file: of each image the pages that
 * were executed or read, and symbols, lines and unwind information of them; lines of source files
 * that the report shows. Stock perf reads such a file as it reads the recording.
 */
#ifndef AUXTAP_PACK_H
#define AUXTAP_PACK_H

#include <auxtap/image.h>
#include <auxtap/perfdata.h>

#ifdef __cplusplus
extern "C" {
#endif

struct auxtap_pack_opts {
	size_t size;
	/* without memory, arguments, data of images, lines of source files; a redacted recording
	 * stays so */
	bool redact;
	const struct auxtap_image_set_opts *images; /* where images are; NULL: the defaults */
};

struct auxtap_pack_result {
	size_t size;
	uint64_t file_size, trace_size; /* of the packed file; of the trace in it */
	unsigned int nr_images, nr_missing;
	char missing[256]; /* the first of them; "" */
	bool redacted; /* without memory: as asked for, or the recording was made or packed so */
};

/*
 * Writes pd, packed, to path: see auxtap_pack_writer_finish(). result may be NULL. Decodes the
 * recording twice.
 */
AUXTAP_API int auxtap_pack(struct auxtap_perfdata *pd, const char *path,
			   const struct auxtap_pack_opts *opts, struct auxtap_pack_result *result,
			   struct auxtap_error *err);

#ifdef __cplusplus
}
#endif
#endif
