/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How 'auxtap dump' lists the packets of a family of traces: a member of struct trace_family.
 * Either dump_trace.c reads streams and passes them in fragments, or the family lists whole files.
 */
#ifndef DECODE_DUMP_FAMILY_H
#define DECODE_DUMP_FAMILY_H

#include "dump_private.h"

/* The family's state between two fragments. All zero: the stream begins. */
struct dump_stream {
	uint64_t state[4];
};

/* The most bytes of a fragment that may be left for the next one. */
#define DUMP_CARRY_MAX 16

struct dump_family {
	/* names of the first values of AUXTRACE_INFO */
	const char *const *info_names;
	size_t nr_info_names;

	/*
	 * Calls fn for each packet of a stream's next fragment, which begins at offset. Unless
	 * 'last' is set, less than DUMP_CARRY_MAX bytes are left for the next fragment; *used: the
	 * number of bytes used. A non-zero result of fn ends it and is returned. NULL: the family
	 * has the functions below instead.
	 */
	int (*chunk)(struct dump_stream *stream, const void *trace, size_t size, uint64_t offset,
		     bool last, size_t *used, int (*fn)(void *ctx, const struct auxtap_packet *pkt),
		     void *ctx, struct auxtap_error *err);
	void (*print)(FILE *out, const struct auxtap_packet *pkt);

	/* Opens all AUXTRACE records of a file; record() then lists one. 0 or negative errno. */
	int (*open)(void **state, struct auxtap_perfdata *pd, struct auxtap_error *err);
	/* 0; 1: some of it could not be decoded; negative errno. */
	int (*record)(void *state, const struct auxtap_perfdata_aux *aux, FILE *out,
		      struct auxtap_error *err);
	void (*close)(void *state);
	/* Lists a raw stream, a snapshot directory: as dump_raw(). */
	int (*raw)(const char *path, const struct auxtap_raw_opts *raw,
		   const struct dump_opts *opts, struct auxtap_error *err);
	int (*snapshot)(const char *dir, const struct dump_opts *opts, struct auxtap_error *err);
};

extern const struct dump_family dump_family_pt, dump_family_spe, dump_family_cs;

#endif
