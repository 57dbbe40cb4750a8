/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets of CoreSight, listed: of snapshots (dump_cs.c), of perf.data files (dump_cs_file.c). */
#ifndef AUXTAP_DUMP_CS_H
#define AUXTAP_DUMP_CS_H

#include "decode/coresight/cs_frames.h"
#include "dump_private.h"

struct dump_cs {
	FILE *out;
	uint64_t begin; /* of the stretch, in the offsets that are listed */
	enum cs_format format;
	uint64_t nr_errors; /* that were listed */
};

/* One packet's line. */
void dump_cs_packet(void *ctx, const struct cs_packet *pkt);
/*
 * Feeds the whole stretch to the tree, whose ctx is this dump_cs; frames may be NULL. 0; negative:
 * err. What cannot be decoded is listed and counted.
 */
int dump_cs_bytes(struct dump_cs *dump, struct cs_tree *tree, struct cs_bytes *bytes,
		  struct cs_frames *frames, struct auxtap_error *err);
/* The packets of a perf.data file's AUXTRACE records, which it asks for one by one. */
struct dump_cs_file;
int dump_cs_open(struct dump_cs_file **file, struct auxtap_perfdata *pd, struct auxtap_error *err);
void dump_cs_close(struct dump_cs_file *file);
/*
 * Those of the record whose trace begins there in the file. 0, 1: some could not be decoded;
 * negative.
 */
int dump_cs_record(struct dump_cs_file *file, uint64_t trace_off, uint64_t trace_size, FILE *out,
		   struct auxtap_error *err);

/* Which trace IDs the frames had that no unit of these has. */
void dump_cs_unknown(struct dump_cs *dump, const struct cs_frames *frames,
		     const struct cs_unit *const *units, size_t nr);

#endif
