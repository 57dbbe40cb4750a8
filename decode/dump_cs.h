/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets of CoreSight, listed: of one stretch of trace here, of snapshots in dump_snapshot(). */
#ifndef AUXTAP_DUMP_CS_H
#define AUXTAP_DUMP_CS_H

#include "cs_frames.h"
#include "dump.h"

struct dump_cs {
	FILE *out;
	uint64_t base;	    /* what the listed offsets begin with */
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
/* Which trace IDs the frames had that no unit of these has. */
void dump_cs_unknown(struct dump_cs *dump, const struct cs_frames *frames,
		     const struct cs_unit *const *units, size_t nr);

#endif
