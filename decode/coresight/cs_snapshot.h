/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A CoreSight snapshot: a directory with snapshot.ini, which names .ini files for the devices
 * (registers of cores and trace units, memory dumps) and for the trace (its buffers, and which
 * unit's trace is in which buffer). Debuggers write such directories, OpenCSD's tools read them.
 * All input is untrusted; files outside of the directory are refused.
 */
#ifndef AUXTAP_CS_SNAPSHOT_H
#define AUXTAP_CS_SNAPSHOT_H

#include "cs_config.h"

enum cs_format {
	CS_FORMAT_SOURCE, /* one unit's bytes */
	CS_FORMAT_FRAMES, /* 16-byte frames, as sinks write them to memory */
	/* frames with FSYNCs, in blocks of 512 bytes of which the last 8 are a footer */
	CS_FORMAT_DSTREAM,
	CS_FORMAT_FSYNC, /* frames with FSYNCs, as a trace port (TPIU) emits them */
	CS_FORMAT_HSYNC, /* the same with HSYNCs */
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
	size_t buffer; /* index of the buffer with its trace; SIZE_MAX: none */
	size_t core;   /* index of its core's device; SIZE_MAX: none */
	char why[128]; /* why it cannot be decoded; empty: it can be decoded */
};

struct cs_snapshot_dump {
	size_t core;
	char *path;
	uint64_t addr, off, len; /* at addr: the file's bytes from off on, at most len */
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

/* Whether the directory has a snapshot.ini. */
bool cs_snapshot_is_directory(const char *dir);
int cs_snapshot_read(struct cs_snapshot *ss, const char *dir, struct auxtap_error *err);
/*
 * Makes ss describe a raw file instead. configs: for each unit whose trace the file has, the path
 * of an .ini file like those of a snapshot's devices; [device] core= names the core, as OpenCSD
 * does (default: ARM-AA64, any with AArch64). format: as in a snapshot, for example coresight or
 * tpiu; NULL is source_data.
 */
int cs_snapshot_from_raw(struct cs_snapshot *ss, const char *path, const char *format,
			 const char *const *configs, unsigned int nr, struct auxtap_error *err);
void cs_snapshot_free(struct cs_snapshot *ss);

#endif
