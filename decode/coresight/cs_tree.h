/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One OpenCSD decode tree: bytes in, packets or steps of the flow out by callbacks, which are
 * called from within cs_tree_feed() and cs_tree_end(). Belongs to one thread.
 */
#ifndef AUXTAP_CS_TREE_H
#define AUXTAP_CS_TREE_H

#include "cs_snapshot.h"
#include "decode/flow/flow_ops.h"

#define CS_FRAME 16

struct cs_packet {
	uint64_t off; /* of its first byte, as fed */
	uint8_t id;
	const uint8_t *bytes;
	uint32_t size;
	const char *text;
};

struct cs_tree_opts {
	/* DSTREAM: without its footers, they are taken off before */
	enum cs_format format;
	void (*packet)(void *ctx, const struct cs_packet *pkt); /* NULL: not wanted */
	/*
	 * NULL: packets only, nothing is followed. mode: of a CONTEXT, the exception level and
	 * security state in one number.
	 */
	void (*step)(void *ctx, const struct flow_step *step, uint32_t mode);
	/* Code for the flow: the count, 0 where it is not known. */
	uint32_t (*read)(void *ctx, uint64_t addr, uint32_t space, uint32_t size, uint8_t *buf);
	void *ctx;
};

struct cs_tree;

/* The library's version: "1.3.3". */
const char *cs_tree_version(void);
void cs_tree_name(char *text, size_t size); /* "OpenCSD 1.3.3" */
uint32_t cs_tree_version_number(void);	    /* as CS_VERSION() of cs_limits.h */
/* Can it decode that protocol? */
bool cs_tree_decodes(enum cs_protocol protocol);
/* Without a decoder for any unit it fails with -ENOTSUP; err says why of the first. */
int cs_tree_new(struct cs_tree **tree, const struct cs_tree_opts *opts,
		const struct cs_unit *const *units, size_t nr, struct auxtap_error *err);
void cs_tree_free(struct cs_tree *tree);
/*
 * Bytes at offset off, which continue those before. How many the library takes at a time:
 * cs_tree_grain(). 0; -EBADMSG: what it could not go on with is in why, it was reset, *used
 * bytes are done with (more than 0); other negative: the tree is broken, only cs_tree_free() is
 * left.
 */
int cs_tree_feed(struct cs_tree *tree, uint64_t off, const uint8_t *data, size_t size, size_t *used,
		 char *why, size_t why_size);
size_t cs_tree_grain(enum cs_format format);
/* What follows does not continue. */
int cs_tree_reset(struct cs_tree *tree, char *why, size_t why_size);
/* Nothing follows: out with all that waited for more. */
int cs_tree_end(struct cs_tree *tree, char *why, size_t why_size);
/* What read() gave before is not true any more. */
void cs_tree_memory_changed(struct cs_tree *tree);

#endif
