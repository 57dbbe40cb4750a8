/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists CoreSight packets of snapshot directories (dump_cs.c) and perf.data files (dump_cs_file.c).
 */
#ifndef AUXTAP_DUMP_CS_H
#define AUXTAP_DUMP_CS_H

#include "decode/coresight/cs_frames.h"
#include "dump_family.h"

struct dump_cs {
	FILE *out;
	uint64_t begin; /* offset of the first byte, as it is listed */
	enum cs_format format;
	uint64_t nr_errors; /* number of errors listed */
};

/* Prints the line of a packet; ctx: a struct dump_cs. */
void dump_cs_packet(void *ctx, const struct cs_packet *pkt);
/*
 * Feeds all bytes to the tree, whose ctx is this dump_cs; frames may be NULL. Bytes that cannot be
 * decoded are listed as errors. 0, or negative errno and err.
 */
int dump_cs_bytes(struct dump_cs *dump, struct cs_tree *tree, struct cs_bytes *bytes,
		  struct cs_frames *frames, struct auxtap_error *err);
/* Members of dump_family_cs: for snapshot directories and raw files. */
int dump_cs_snapshot(const char *dir, const struct dump_opts *opts, struct auxtap_error *err);
int dump_cs_raw(const char *path, const struct auxtap_raw_opts *raw, const struct dump_opts *opts,
		struct auxtap_error *err);

/* Lists the trace IDs in the frames that none of these units has. */
void dump_cs_unknown_ids(struct dump_cs *dump, const struct cs_frames *frames,
			 const struct cs_unit *const *units, size_t nr);

#endif
