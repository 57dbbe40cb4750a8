/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The listing of a file: dump.c prints the header and all records, dump_features.c the feature
 * sections, dump_records.c the bodies of records, dump_trace.c the packets. dump_api.c implements
 * the public API.
 */
#ifndef DECODE_DUMP_PRIVATE_H
#define DECODE_DUMP_PRIVATE_H

#include <auxtap/decode.h>
#include <auxtap/perfdata.h>

struct trace_family;

struct dump_opts {
	FILE *out;
	const struct trace_family *family; /* of a raw trace */
	bool packets;
};

/*
 * 0; 1: listed, but damaged (err says where); negative errno. If ferror(out), it is the errno of
 * the output, and err is not set.
 */
int dump_perfdata(struct auxtap_perfdata *pd, const struct dump_opts *opts,
		  struct auxtap_error *err);
/* Lists a raw stream of a family with dump_family.chunk; path may be "-". */
int dump_raw(const char *path, const struct dump_opts *opts, struct auxtap_error *err);

/* Lists the records of a --sideband file. */
int dump_raw_sideband(const char *path, uint64_t sample_type, const struct dump_opts *opts,
		      struct auxtap_error *err);

/* ---- inside ---- */

/* Call it right after printing: 0, or the negative errno of the output. */
int dump_output_failed(FILE *out);
/*
 * Prints at most size bytes, up to a NUL. Bytes that are not printable become \xNN: a file must not
 * send control characters to the terminal.
 */
void dump_text(FILE *out, const void *text, size_t size);
void dump_attr(FILE *out, const struct perf_event_attr *attr);
void dump_features(struct auxtap_perfdata *pd, FILE *out);
/* Prints the fields of a record's body, without a newline. */
void dump_body(const struct auxtap_record *rec, FILE *out);

struct dump_trace; /* the AUX streams of a file */
int dump_trace_open(struct dump_trace **trace, struct auxtap_perfdata *pd,
		    struct auxtap_error *err);
/*
 * Lists the packets of the next AUXTRACE record. 0; 1: some could not be decoded; negative errno.
 */
int dump_trace_next(struct dump_trace *trace, FILE *out, struct auxtap_error *err);
void dump_trace_close(struct dump_trace *trace);

#endif
