/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the packets of a family of traces are listed: a member of struct trace_family. Either a
 * stream is listed a fragment at a time (dump_trace.c reads it), or the family lists whole files.
 */
#ifndef DECODE_DUMP_FAMILY_H
#define DECODE_DUMP_FAMILY_H

#include "dump_private.h"

/* What a fragment leaves for the next one. All zero: the stream begins. */
struct dump_stream {
	uint64_t state[4];
};

/* Bytes of a fragment that may have to wait for the next one. */
#define DUMP_CARRY_MAX 16

struct dump_family {
	/* What the first values of AUXTRACE_INFO are called. */
	const char *const *info_names;
	size_t nr_info_names;

	/*
	 * The packets of a stream's next fragment, which begins at offset. With last unset, less
	 * than DUMP_CARRY_MAX bytes are left for the next one; *used says how much was taken. fn's
	 * non-zero result ends it and is returned. NULL: the functions below list it.
	 */
	int (*chunk)(struct dump_stream *stream, const void *trace, size_t size, uint64_t offset,
		     bool last, size_t *used, int (*fn)(void *ctx, const struct auxtap_packet *pkt),
		     void *ctx, struct auxtap_error *err);
	void (*print)(FILE *out, const struct auxtap_packet *pkt);

	/* All AUXTRACE records of a file, which are asked for one by one. 0 or negative errno. */
	int (*open)(void **state, struct auxtap_perfdata *pd, struct auxtap_error *err);
	/* 0, 1: some of it could not be decoded; negative. */
	int (*record)(void *state, const struct auxtap_perfdata_aux *aux, FILE *out,
		      struct auxtap_error *err);
	void (*close)(void *state);
	/* A raw stream, a directory: as dump_raw(). */
	int (*raw)(const char *path, const struct auxtap_raw_opts *raw,
		   const struct dump_opts *opts, struct auxtap_error *err);
	int (*snapshot)(const char *dir, const struct dump_opts *opts, struct auxtap_error *err);
};

extern const struct dump_family dump_family_pt, dump_family_spe, dump_family_cs;

#endif
