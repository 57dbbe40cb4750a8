/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the bytes come from: a file, a pipe spooled into an unlinked file, or the data
 * files of a directory one after the other. Every read is checked against the true
 * size.
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
	struct pd_file *files; /* the first holds the header */
	unsigned int nr_files, max_files;
	bool directory;
	bool has_owner; /* the first is a file of its own, and not what came through a pipe */
	uid_t owner;
	uint64_t size; /* of all files */
};

/* path may be "-". */
int pd_source_open(struct pd_source *src, const char *path, struct auxtap_error *err);
/* Takes fd over, also on failure. */
int pd_source_open_fd(struct pd_source *src, int fd, const char *name, struct auxtap_error *err);
void pd_source_close(struct pd_source *src);
/* As pread(2), across the borders of files; short only at the end or on a read error
 * (then -errno if nothing was read). */
ssize_t pd_source_pread(const struct pd_source *src, void *buf, size_t size, uint64_t offset);
/* All of it or -EBADMSG. */
int pd_source_read(const struct pd_source *src, void *buf, size_t size, uint64_t offset);
/* An unlinked temporary file; -errno. */
int pd_spool_file(void);

#endif
