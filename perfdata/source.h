/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes of a recording: a file, a pipe that was spooled to an unlinked file, or the
 * concatenated data files of a directory. Every read is checked against the actual size.
 */
#ifndef PERFDATA_SOURCE_H
#define PERFDATA_SOURCE_H

#include <auxtap/error.h>
#include <stdbool.h>
#include <sys/types.h>

struct pd_file {
	int fd;
	uint64_t base; /* offset of its first byte among all bytes of the source */
	uint64_t size;
};

struct pd_source {
	struct pd_file *files; /* the first one has the header */
	unsigned int nr_files, max_files;
	bool directory;
	bool has_owner; /* the first one is a regular file, not a pipe */
	uid_t owner;
	uint64_t size; /* of all files */
};

/* path may be "-". */
int pd_source_open(struct pd_source *src, const char *path, struct auxtap_error *err);
/* Takes ownership of fd, also on failure. */
int pd_source_open_fd(struct pd_source *src, int fd, const char *name, struct auxtap_error *err);
void pd_source_close(struct pd_source *src);
/*
 * Like pread(2), also across file boundaries. Returns fewer bytes only at the end or after a read
 * error, and -errno if nothing was read.
 */
ssize_t pd_source_pread(const struct pd_source *src, void *buf, size_t size, uint64_t offset);
/* Reads all size bytes, or fails with -EBADMSG. */
int pd_source_read(const struct pd_source *src, void *buf, size_t size, uint64_t offset);
/* Opens an unlinked temporary file; -errno on failure. */
int pd_spool_file(void);

#endif
