/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The listing of a file: header, attributes, features, each record and each packet, with offsets.
 * The text is for people; names from files are escaped.
 *
 * Each function returns 0; 1: listed as far as possible, the input is damaged (err says where); or
 * a negative errno. If ferror(out), the errno is that of the output, and err says nothing.
 * Thread safety: a call uses its arguments alone.
 */
#ifndef AUXTAP_DUMP_H
#define AUXTAP_DUMP_H

#include <auxtap/decode.h>

#ifdef __cplusplus
extern "C" {
#endif

struct auxtap_dump_opts {
	size_t size;
	bool no_packets; /* list records only */
};

/* A perf.data file. */
AUXTAP_API int auxtap_dump(struct auxtap_perfdata *pd, const struct auxtap_dump_opts *opts,
			   FILE *out, struct auxtap_error *err);
/* The directory of a CoreSight snapshot. */
AUXTAP_API int auxtap_dump_snapshot(const char *dir, const struct auxtap_dump_opts *opts, FILE *out,
				    struct auxtap_error *err);
/* The packets of a raw trace; of raw only family, and for "etm" the configuration, matter. */
AUXTAP_API int auxtap_dump_raw(const char *path, const struct auxtap_raw_opts *raw, FILE *out,
			       struct auxtap_error *err);
/* The records of a file of raw perf records, as in auxtap_raw_opts.sideband. */
AUXTAP_API int auxtap_dump_sideband(const char *path, uint64_t sample_type, FILE *out,
				    struct auxtap_error *err);

#ifdef __cplusplus
}
#endif
#endif
