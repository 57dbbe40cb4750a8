// SPDX-License-Identifier: BSD-2-Clause
/*
 * Names of the code that a dying process wrote at run time: /tmp/perf-PID.map, as perf reads it
 * (JIT compilers write it on request). PID is the process's number in its own namespace, /tmp that
 * of its root. Anybody may write to /tmp: only a regular file of the process's user counts, that
 * has one name and is not reached through a link.
 */
#include "core_file.h"
#include "util/sized.h"

#include <auxtap/crash.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES_MAX (32u << 20)

struct owner {
	pid_t pid; /* as the process itself sees it */
	uid_t uid; /* effective */
};

static int read_owner(pid_t pid, struct owner *owner)
{
	bool has_uid = false, has_pid = false;
	char path[64], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		unsigned int uid;

		if (sscanf(line, "Uid: %*u %u", &uid) == 1) {
			owner->uid = uid;
			has_uid = true;
		} else if (!strncmp(line, "NSpid:", 6)) {
			char *last = strrchr(line, '\t');

			owner->pid = last ? atoi(last) : 0;
			has_pid = owner->pid > 0;
		}
	}
	fclose(f);
	return has_uid && has_pid ? 0 : -ENODATA;
}

/* A descriptor, or a negative errno: -ELOOP for a link, -EPERM for what is not the owner's. */
static int open_names(pid_t pid, const struct owner *owner)
{
	int root, tmp, fd, ret;
	char name[64];
	struct stat st;

	snprintf(name, sizeof(name), "/proc/%d/root", pid);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	tmp = openat(root, "tmp", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	ret = -errno;
	close(root);
	if (tmp < 0)
		return ret;
	snprintf(name, sizeof(name), "perf-%d.map", owner->pid);
	fd = openat(tmp, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	ret = -errno;
	close(tmp);
	if (fd < 0)
		return ret;
	if (fstat(fd, &st))
		ret = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_uid != owner->uid)
		ret = -EPERM;
	else if (st.st_nlink != 1)
		ret = -ELOOP;
	else
		return fd;
	close(fd);
	return ret;
}

/* Whole lines: the process may have died in the last one. */
static size_t read_lines(int fd, char *text, size_t max)
{
	size_t size = 0;
	ssize_t got;

	while (size < max && (got = read(fd, text + size, max - size)) > 0)
		size += (size_t)got;
	while (size && text[size - 1] != '\n')
		size--;
	return size;
}

void session_put_code_names(struct trace_file *file, pid_t pid)
{
	struct auxtap_crash_code_names head = {.size = sizeof(head), .pid = pid};
	struct owner owner = {0};
	uint8_t *note;
	int fd, ret = read_owner(pid, &owner);

	if (ret)
		return;
	head.file_pid = owner.pid;
	fd = open_names(pid, &owner);
	if (fd == -ENOENT)
		return;
	note = malloc(sizeof(head) + NAMES_MAX);
	if (fd < 0 || !note) {
		head.error = fd < 0 ? -fd : ENOMEM;
	} else {
		head.nr_bytes = read_lines(fd, (char *)note + sizeof(head), NAMES_MAX);
		head.cut = lseek(fd, 0, SEEK_END) > NAMES_MAX;
	}
	if (fd >= 0)
		close(fd);
	if (note)
		memcpy(note, &head, sizeof(head));
	auxtap_perfdata_writer_metadata(file->writer, AUXTAP_METADATA_CODE_NAMES,
					note ? (const void *)note : &head,
					sizeof(head) + head.nr_bytes);
	free(note);
}
