/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A CoreSight snapshot: a directory with snapshot.ini, which names the .ini files of the devices
 * (registers of cores and trace units, dumps of memory) and of the trace (buffers, which unit's
 * trace is in which). Debuggers and OpenCSD write and read them. All of it is untrusted; files
 * outside of the directory are refused.
 */
#ifndef AUXTAP_CS_SNAPSHOT_H
#define AUXTAP_CS_SNAPSHOT_H

#include "cs_config.h"

enum cs_format {
	CS_FORMAT_SOURCE, /* one unit's bytes */
	CS_FORMAT_FRAMES, /* 16-byte frames in memory */
	/* frames with full syncs; blocks of 512 bytes that end with 8 of their own */
	CS_FORMAT_DSTREAM,
	CS_FORMAT_FSYNC, /* frames with full syncs, as a trace port has them */
	CS_FORMAT_HSYNC, /* and with half syncs */
};

#define CS_DSTREAM_BLOCK  512
#define CS_DSTREAM_FOOTER 8

struct cs_snapshot_buffer {
	char *name, *path;
	enum cs_format format;
};

struct cs_snapshot_unit {
	char *name;
	struct cs_unit unit;
	size_t buffer; /* SIZE_MAX: in none */
	size_t core;   /* its device; SIZE_MAX: none */
	char why[128]; /* why it cannot be decoded; empty: it can */
};

struct cs_snapshot_dump {
	size_t core;
	char *path;
	uint64_t addr, off, len; /* of the file from off on; what the file has, at most len */
	uint32_t space;		 /* CS_SPACE_… */
};

struct cs_snapshot {
	char *dir;
	struct cs_snapshot_buffer *buffers;
	size_t nr_buffers, max_buffers;
	struct cs_snapshot_unit *units;
	size_t nr_units;
	struct cs_snapshot_dump *dumps;
	size_t nr_dumps, max_dumps;
};

/* Is there a snapshot.ini in this directory? */
bool cs_snapshot_is(const char *dir);
int cs_snapshot_read(struct cs_snapshot *ss, const char *dir, struct auxtap_error *err);
/*
 * The same of a raw file: configs are files of the units whose trace it has, as a snapshot's
 * device .ini; [device] core= names the core (default: the newest AArch64). format: NULL is
 * source_data.
 */
int cs_snapshot_bare(struct cs_snapshot *ss, const char *path, const char *format,
		     const char *const *configs, unsigned int nr, struct auxtap_error *err);
void cs_snapshot_free(struct cs_snapshot *ss);

#endif
