/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets of CoreSight, listed: of snapshots (dump_cs.c), of perf.data files (dump_cs_file.c). */
#ifndef AUXTAP_DUMP_CS_H
#define AUXTAP_DUMP_CS_H

#include "decode/coresight/cs_frames.h"
#include "dump_family.h"

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
/* Functions of dump_family_cs: of snapshots and of raw files. */
int dump_cs_snapshot(const char *dir, const struct dump_opts *opts, struct auxtap_error *err);
int dump_cs_raw(const char *path, const struct auxtap_raw_opts *raw, const struct dump_opts *opts,
		struct auxtap_error *err);

/* Which trace IDs the frames had that no unit of these has. */
void dump_cs_unknown(struct dump_cs *dump, const struct cs_frames *frames,
		     const struct cs_unit *const *units, size_t nr);

#endif
