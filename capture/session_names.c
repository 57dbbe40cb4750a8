// SPDX-License-Identifier: BSD-2-Clause
/*
 * Saves the names of code that a crashing process generated at run time. JIT compilers write them
 * on request in the formats of perf: /tmp/perf-PID.map, and the jitdump jit-PID.dump, which the
 * compiler maps as executable. PID is that of the process's own namespace, and paths start at the
 * process's root directory. Anyone may write to /tmp, so the file must be a regular one of the
 * process's user, with a single hard link, and no component of its path may be a symbolic link.
 */
#include "core_file.h"
#include "perfdata/jitdump.h"
#include "util/sized.h"

#include <auxtap/crash.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES_MAX (32u << 20)

struct owner {
	pid_t pid; /* in the process's own namespace */
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

/*
 * Opens a file of the process by its absolute path below the process's root directory. Returns a
 * descriptor or a negative errno: -ELOOP for a link, -EPERM if the file is not the owner's.
 */
static int open_owned(pid_t pid, const struct owner *owner, const char *path)
{
	char name[NAME_MAX + 1];
	int dir, fd, ret;
	struct stat st;

	snprintf(name, sizeof(name), "/proc/%d/root", pid);
	dir = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	for (;;) {
		size_t length;
		bool is_last;

		path += strspn(path, "/");
		length = strcspn(path, "/");
		is_last = !path[length];
		ret = !length || length > NAME_MAX ? -EINVAL : 0;
		if (!ret) {
			snprintf(name, sizeof(name), "%.*s", (int)length, path);
			ret = strcmp(name, "..") != 0 ? 0 : -EINVAL;
		}
		fd = ret ? -1 :
			   openat(dir, name,
				  O_NOFOLLOW | O_CLOEXEC |
					  (is_last ? O_RDONLY | O_NONBLOCK | O_NOCTTY :
						     O_PATH | O_DIRECTORY));
		if (!ret && fd < 0)
			ret = -errno;
		close(dir);
		if (ret)
			return ret;
		if (is_last)
			break;
		dir = fd;
		path += length;
	}
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

/* Reads whole lines: the process may have died while it wrote the last one. */
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

/* Reads a file of names into 'to'. Returns the number of bytes or a negative errno. */
typedef int64_t read_names(int fd, uint8_t *to, bool *cut);

static int64_t read_perf_map(int fd, uint8_t *to, bool *cut)
{
	size_t size = read_lines(fd, (char *)to, NAMES_MAX);

	*cut = lseek(fd, 0, SEEK_END) > NAMES_MAX;
	return (int64_t)size;
}

static int64_t read_jitdump(int fd, uint8_t *to, bool *cut)
{
	return jitdump_condense(fd, to, NAMES_MAX, cut);
}

static void write_names(struct trace_file *file, uint32_t type,
			struct auxtap_crash_code_names *header, int fd, read_names *fn)
{
	uint8_t *record = fd < 0 ? NULL : malloc(sizeof(*header) + NAMES_MAX);

	if (record) {
		bool cut = false;
		int64_t size = fn(fd, record + sizeof(*header), &cut);

		header->cut = cut;
		header->nr_bytes = size > 0 ? (uint64_t)size : 0;
		header->error = size < 0 ? (int32_t)-size : 0;
		memcpy(record, header, sizeof(*header));
	} else {
		header->error = fd < 0 ? -fd : ENOMEM;
	}
	auxtap_perfdata_writer_metadata(file->writer, type,
					record ? (const void *)record : (const void *)header,
					sizeof(*header) + header->nr_bytes);
	free(record);
	if (fd >= 0)
		close(fd);
}

/* The path of the jitdump, from the executable mapping of it; NULL: the process has none. */
static const char *find_jitdump(const struct map_list *maps, const struct owner *owner)
{
	char name[64];

	snprintf(name, sizeof(name), "/jit-%d.dump", owner->pid);
	for (size_t i = 0; i < maps->nr; i++) {
		const struct map_entry *e = &maps->entries[i];
		size_t length = strlen(e->name);

		if (map_runs_code(e) && *e->name == '/' && length >= strlen(name) &&
		    !strcmp(e->name + length - strlen(name), name))
			return e->name;
	}
	return NULL;
}

void session_write_code_names(struct trace_file *file, pid_t pid, const struct map_list *maps)
{
	struct auxtap_crash_code_names header = {.size = sizeof(header), .pid = pid};
	struct owner owner = {0};
	const char *dump;
	char path[64];
	int fd;

	if (read_owner(pid, &owner))
		return;
	header.file_pid = owner.pid;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", owner.pid);
	fd = open_owned(pid, &owner, path);
	if (fd != -ENOENT)
		write_names(file, AUXTAP_METADATA_CODE_NAMES, &header, fd, read_perf_map);
	dump = find_jitdump(maps, &owner);
	if (dump)
		write_names(file, AUXTAP_METADATA_CODE_DUMP,
			    &(struct auxtap_crash_code_names){.size = sizeof(header),
							      .pid = pid,
							      .file_pid = owner.pid},
			    open_owned(pid, &owner, dump), read_jitdump);
}
