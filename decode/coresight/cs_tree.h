/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One OpenCSD decode tree: takes bytes and calls back with packets or with steps of the flow, from
 * within cs_tree_feed() and cs_tree_end(). A tree is used by one thread.
 */
#ifndef AUXTAP_CS_TREE_H
#define AUXTAP_CS_TREE_H

#include "cs_snapshot.h"
#include "decode/flow/flow_ops.h"

#define CS_FRAME 16

struct cs_packet {
	uint64_t off; /* of its first byte, in the offsets given to cs_tree_feed() */
	uint8_t id;
	const uint8_t *bytes;
	uint32_t size;
	const char *text;
};

struct cs_tree_opts {
	/* DSTREAM: the caller has removed the footers of the blocks */
	enum cs_format format;
	void (*packet)(void *ctx, const struct cs_packet *pkt); /* NULL: not wanted */
	/*
	 * NULL: the tree reports only packets and decodes no flow. mode: for a FLOW_CONTEXT step
	 * the exception level and security state in one number, else 0.
	 */
	void (*step)(void *ctx, const struct flow_step *step, uint32_t mode);
	/* Reads code; returns the number of bytes, 0 if the code is not known. */
	uint32_t (*read)(void *ctx, uint64_t addr, uint32_t space, uint32_t size, uint8_t *buf);
	void *ctx;
};

struct cs_tree;

/* The library's version: "1.3.3". */
const char *cs_tree_version(void);
void cs_tree_name(char *text, size_t size); /* "OpenCSD 1.3.3" */
uint32_t cs_tree_version_number(void);	    /* as CS_VERSION() of cs_limits.h */
/* Whether this OpenCSD can decode the protocol. */
bool cs_tree_decodes(enum cs_protocol protocol);
/* Fails with -ENOTSUP if no unit has a decoder; err then has the reason for the last one. */
int cs_tree_new(struct cs_tree **tree, const struct cs_tree_opts *opts,
		const struct cs_unit *const *units, size_t nr, struct auxtap_error *err);
void cs_tree_free(struct cs_tree *tree);
/*
 * Decodes bytes at offset off, which continue those before. Returns 0; -EBADMSG if the library
 * could not decode them: why has the reason, *used bytes (more than 0) were consumed, and the tree
 * was reset; any other negative errno: the tree is broken and can only be freed.
 */
int cs_tree_feed(struct cs_tree *tree, uint64_t off, const uint8_t *data, size_t size, size_t *used,
		 char *why, size_t why_size);
/* The library takes bytes of the format only in multiples of this number. */
size_t cs_tree_granularity(enum cs_format format);
/* The next bytes do not continue those before. */
int cs_tree_reset(struct cs_tree *tree, char *why, size_t why_size);
/* No more bytes follow: the library reports what it has held back. */
int cs_tree_end(struct cs_tree *tree, char *why, size_t why_size);
/* Code that read() has returned may have changed: drops the library's cache. */
void cs_tree_memory_changed(struct cs_tree *tree);

#endif
