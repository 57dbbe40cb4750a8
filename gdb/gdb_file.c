// SPDX-License-Identifier: BSD-2-Clause
/*
 * Files for the client (vFile): only the images of the recording, by the names in the recording;
 * no other files of this machine. Their contents are those that the decoder uses.
 */
#include "gdb_private.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

/* Numbers of errors in gdb's protocol ("errno Values"). */
#define FILE_EBADF  9
#define FILE_EINVAL 22
#define FILE_ENFILE 23
#define FILE_ENOENT 2
#define FILE_EROFS  30

static void fail(struct gdb_session *s, int code)
{
	gdb_reply_text(&s->reply, "F-1,%x", (unsigned int)code);
}

/* Index of the image of that name; false: it was not found. */
static bool find_image(struct gdb_session *s, const char *name, size_t *index)
{
	size_t nr = auxtap_image_set_count(s->rec.images);
	bool is_interpreter = gdb_is_interpreter(s, name);

	for (*index = 0; *index < nr; ++*index) {
		struct auxtap_image_info info = {.size = sizeof(info)};

		if (!auxtap_image_set_info(s->rec.images, *index, &info) &&
		    info.state == AUXTAP_IMAGE_FOUND &&
		    (!strcmp(info.name, name) ||
		     (is_interpreter && !strcmp(gdb_base_name(info.name), gdb_base_name(name)))))
			return true;
	}
	return false;
}

/* "name,flags,mode", the name in hexadecimal digits */
static void do_open(struct gdb_session *s, const char *args)
{
	const char *comma = strchr(args, ',');
	uint64_t flags;
	char name[4096];
	size_t index;
	long len;

	len = comma ? gdb_unhex(args, (size_t)(comma - args), name, sizeof(name) - 1) : -1;
	if (len < 0) {
		fail(s, FILE_EINVAL);
		return;
	}
	name[len] = '\0';
	comma++;
	if (!gdb_take_hex_until(&comma, ',', &flags) || flags) { /* 0: to read */
		fail(s, FILE_EROFS);
		return;
	}
	if (strlen(name) != (size_t)len || !find_image(s, name, &index)) {
		fail(s, FILE_ENOENT);
		return;
	}
	for (unsigned int fd = 0; fd < GDB_MAX_FILES; fd++) {
		if (s->files[fd])
			continue;
		s->files[fd] = index + 1;
		gdb_reply_text(&s->reply, "F%x", fd);
		return;
	}
	fail(s, FILE_ENFILE);
}

/* Parses a descriptor; *data, *size: its file. False: it is not open (and the reply says so). */
static bool take_file(struct gdb_session *s, const char **args, uint64_t *fd, const void **data,
		      size_t *size)
{
	if (!gdb_take_hex(args, fd) || *fd >= GDB_MAX_FILES || !s->files[*fd] ||
	    auxtap_image_set_bytes(s->rec.images, s->files[*fd] - 1, data, size)) {
		fail(s, FILE_EBADF);
		return false;
	}
	return true;
}

/* "fd,count,offset" */
static void do_pread(struct gdb_session *s, const char *args)
{
	const uint64_t most = GDB_PACKET_MAX / 2 - 32; /* each byte may need an escape */
	uint64_t fd, count, off;
	const void *data;
	size_t size;

	if (!take_file(s, &args, &fd, &data, &size))
		return;
	if (*args++ != ',' || !gdb_take_hex_until(&args, ',', &count) ||
	    !gdb_take_hex(&args, &off) || *args) {
		fail(s, FILE_EINVAL);
		return;
	}
	if (off > size)
		off = size;
	if (count > most)
		count = most;
	if (count > size - off)
		count = size - off;
	gdb_reply_text(&s->reply, "F%" PRIx64 ";", count);
	gdb_reply_binary(&s->reply, (const uint8_t *)data + off, count);
}

static void put_be32(uint8_t *at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> (24 - 8 * i));
}

static void put_be64(uint8_t *at, uint64_t value)
{
	put_be32(at, (uint32_t)(value >> 32));
	put_be32(at + 4, (uint32_t)value);
}

/* gdb's "struct stat": dev, ino, mode, nlink, uid, gid, rdev: 4 bytes; size, blksize, blocks: 8 */
static void do_fstat(struct gdb_session *s, const char *args)
{
	uint8_t st[64] = {0};
	const void *data;
	uint64_t fd;
	size_t size;

	if (!take_file(s, &args, &fd, &data, &size))
		return;
	put_be32(st + 4, (uint32_t)s->files[fd]);
	put_be32(st + 8, S_IFREG | 0444);
	put_be32(st + 12, 1);
	put_be64(st + 28, size);
	put_be64(st + 36, 4096);
	put_be64(st + 44, (size + 511) / 512);
	gdb_reply_text(&s->reply, "F%zx;", sizeof(st));
	gdb_reply_binary(&s->reply, st, sizeof(st));
}

static void do_close(struct gdb_session *s, const char *args)
{
	const void *data;
	uint64_t fd;
	size_t size;

	if (!take_file(s, &args, &fd, &data, &size))
		return;
	s->files[fd] = 0;
	gdb_reply_text(&s->reply, "F0");
}

static void do_setfs(struct gdb_session *s, const char *args)
{
	(void)args;
	gdb_reply_text(&s->reply, "F0"); /* all processes have the same images */
}

static void do_readlink(struct gdb_session *s, const char *args)
{
	(void)args;
	fail(s, FILE_EINVAL); /* no image is a link */
}

static void do_refused(struct gdb_session *s, const char *args)
{
	(void)args;
	fail(s, FILE_EROFS);
}

static const struct operation {
	const char *name;
	void (*run)(struct gdb_session *s, const char *args);
} operations[] = {
	{"open:", do_open},	 {"pread:", do_pread},	  {"fstat:", do_fstat},
	{"close:", do_close},	 {"setfs:", do_setfs},	  {"readlink:", do_readlink},
	{"pwrite:", do_refused}, {"unlink:", do_refused},
};

void gdb_file(struct gdb_session *s, const char *args, size_t size)
{
	(void)size;
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		size_t len = strlen(operations[i].name);

		if (strncmp(args, operations[i].name, len) != 0)
			continue;
		operations[i].run(s, args + len);
		return;
	}
}
