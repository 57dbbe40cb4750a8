// SPDX-License-Identifier: BSD-2-Clause
/* See source.h. */
#include "source.h"
#include "layout.h"
#include "util/vector.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int pd_spool_file(void)
{
	const char *dir = getenv("TMPDIR");
	char path[4096];
	int fd;

	if (!dir || !*dir)
		dir = "/tmp";
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	/* Not every file system supports O_TMPFILE. */
	if (snprintf(path, sizeof(path), "%s/auxtap-XXXXXX", dir) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

static int add_file(struct pd_source *src, int fd, uint64_t size)
{
	if (vector_grow(src->files, src->nr_files, src->max_files))
		return -ENOMEM;
	src->files[src->nr_files++] = (struct pd_file){.fd = fd, .base = src->size, .size = size};
	src->size += size;
	return 0;
}

/*
 * Whether the bytes spooled so far may be the start of a recording. If not, the rest is not read,
 * as it may be endless; the reader then reports what is wrong with the start.
 */
static bool begins_recording(int fd)
{
	uint64_t magic;

	if (pread(fd, &magic, sizeof(magic), 0) != (ssize_t)sizeof(magic))
		return true;
	return magic == PD_MAGIC_V2 || magic == PD_MAGIC_V1 ||
	       magic == __builtin_bswap64(PD_MAGIC_V2) || magic == __builtin_bswap64(PD_MAGIC_V1);
}

/* Copies all bytes of fd to an unlinked file; returns its descriptor. */
static int spool(int fd, const char *name, struct auxtap_error *err)
{
	const size_t chunk = 1 << 16;
	char *buf = malloc(chunk);
	int out = pd_spool_file();
	int ret = 0;

	if (!buf || out < 0) {
		ret = auxtap_error_set(err, buf ? out : -ENOMEM, name,
				       "no temporary file to read it into: %s",
				       strerror(buf ? -out : ENOMEM));
		auxtap_error_hint(err, "set TMPDIR to a directory with free space");
		goto out;
	}
	for (;;) {
		ssize_t got = read(fd, buf, chunk), put = 0;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			ret = auxtap_error_set(err, -errno, name, "cannot read: %s",
					       strerror(errno));
			break;
		}
		if (!got)
			break;
		while (put < got) {
			ssize_t done = write(out, buf + put, (size_t)(got - put));

			if (done < 0 && errno == EINTR)
				continue;
			if (done <= 0) {
				ret = auxtap_error_set(err, -errno, name,
						       "cannot spool into a temporary file: %s",
						       strerror(errno));
				auxtap_error_hint(err, "set TMPDIR to a directory with free space");
				goto out;
			}
			put += done;
		}
		if (!begins_recording(out))
			break;
	}
out:
	free(buf);
	if (ret && out >= 0)
		close(out);
	return ret ? ret : out;
}

int pd_source_open_fd(struct pd_source *src, int fd, const char *name, struct auxtap_error *err)
{
	struct stat st;
	int ret;

	if (fstat(fd, &st)) {
		ret = auxtap_error_set(err, -errno, name, "cannot open: %s", strerror(errno));
		goto fail;
	}
	if (!src->nr_files && S_ISREG(st.st_mode)) {
		src->has_owner = true;
		src->owner = st.st_uid;
	}
	if (!S_ISREG(st.st_mode)) {
		ret = spool(fd, name, err);
		if (ret < 0)
			goto fail;
		close(fd);
		fd = ret;
		if (fstat(fd, &st)) {
			ret = auxtap_error_set(err, -errno, name, "cannot read: %s",
					       strerror(errno));
			goto fail;
		}
	}
	ret = add_file(src, fd, (uint64_t)st.st_size);
	if (!ret)
		return 0;
	auxtap_error_set(err, ret, name, "no memory");
fail:
	close(fd);
	return ret;
}

static int is_data_file(const struct dirent *entry)
{
	const char *name = entry->d_name;

	return !strncmp(name, "data.", 5) && name[5] &&
	       strspn(name + 5, "0123456789") == strlen(name + 5);
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
	unsigned long x = strtoul((*a)->d_name + 5, NULL, 10);
	unsigned long y = strtoul((*b)->d_name + 5, NULL, 10);

	return x < y ? -1 : x > y;
}

/* Opens a regular file in the directory; refuses links, which may lead out of it, and FIFOs. */
static int open_in(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
	struct stat st;

	if (fd < 0 || (!fstat(fd, &st) && S_ISREG(st.st_mode)))
		return fd;
	close(fd);
	errno = EINVAL;
	return -1;
}

/* The directory has the file "data" with the header, and data.0, data.1, … with records only. */
static int open_directory(struct pd_source *src, int dir, const char *path,
			  struct auxtap_error *err)
{
	struct dirent **names = NULL;
	int nr = scandir(path, &names, is_data_file, by_number);
	int ret = 0;

	if (nr < 0)
		return auxtap_error_set(err, -errno, path, "cannot list: %s", strerror(errno));
	for (int i = -1; i < nr && !ret; i++) {
		const char *name = i < 0 ? "data" : names[i]->d_name;
		int fd = open_in(dir, name);

		if (fd < 0 && i < 0 && errno == ENOENT)
			ret = auxtap_error_set(err, -EINVAL, path,
					       "a directory without a file 'data' in it is not of "
					       "'perf record --threads'");
		else if (fd < 0)
			ret = auxtap_error_set(err, -errno, path,
					       "%s in this directory cannot be opened: %s", name,
					       strerror(errno));
		else
			ret = pd_source_open_fd(src, fd, path, err);
	}
	for (int i = 0; i < nr; i++)
		free(names[i]);
	free(names);
	src->directory = true;
	return ret;
}

int pd_source_open(struct pd_source *src, const char *path, struct auxtap_error *err)
{
	struct stat st;
	int fd, ret;

	if (!strcmp(path, "-")) {
		fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
		path = "standard input";
	} else {
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (fd < 0)
		return auxtap_error_set(err, -errno, path, "cannot open: %s", strerror(errno));
	if (fstat(fd, &st)) {
		ret = auxtap_error_set(err, -errno, path, "cannot open: %s", strerror(errno));
		close(fd);
		return ret;
	}
	if (!S_ISDIR(st.st_mode))
		return pd_source_open_fd(src, fd, path, err);
	ret = open_directory(src, fd, path, err);
	close(fd);
	if (ret)
		pd_source_close(src);
	return ret;
}

void pd_source_close(struct pd_source *src)
{
	for (unsigned int i = 0; i < src->nr_files; i++)
		close(src->files[i].fd);
	free(src->files);
	memset(src, 0, sizeof(*src));
}

static const struct pd_file *file_at(const struct pd_source *src, uint64_t offset)
{
	unsigned int low = 0, high = src->nr_files;

	if (offset >= src->size)
		return NULL;
	while (high - low > 1) {
		unsigned int mid = low + (high - low) / 2;

		if (src->files[mid].base <= offset)
			low = mid;
		else
			high = mid;
	}
	return &src->files[low];
}

ssize_t pd_source_pread(const struct pd_source *src, void *buf, size_t size, uint64_t offset)
{
	size_t done = 0;

	while (done < size) {
		const struct pd_file *file = file_at(src, offset + done);
		uint64_t in_file;
		size_t want = size - done;
		ssize_t got;

		if (!file)
			break;
		in_file = offset + done - file->base;
		if (want > file->size - in_file)
			want = (size_t)(file->size - in_file);
		got = pread(file->fd, (char *)buf + done, want, (off_t)in_file);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return done ? (ssize_t)done : -errno;
		if (!got)
			break; /* the file was truncated since it was opened */
		done += (size_t)got;
	}
	return (ssize_t)done;
}

int pd_source_read(const struct pd_source *src, void *buf, size_t size, uint64_t offset)
{
	return pd_source_pread(src, buf, size, offset) == (ssize_t)size ? 0 : -EBADMSG;
}
