// SPDX-License-Identifier: BSD-2-Clause
/*
 * Searches for an image's file: sysroot, perf's build-id cache and unpacked archives, the
 * distribution's build-id tree, the recorded path, debuginfod. A file whose build-id is not the
 * recorded one is never used.
 */
#include "packed.h"
#include "open_for_users.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_LEN 4352

const char *image_home(void)
{
	const char *home = getenv("HOME");

	return home && *home ? home : "/root";
}

static void hex(char *out, const uint8_t *id, unsigned int size)
{
	static const char digits[] = "0123456789abcdef";

	for (unsigned int i = 0; i < size; i++) {
		*out++ = digits[id[i] >> 4];
		*out++ = digits[id[i] & 15];
	}
	*out = '\0';
}

/* perf pads a build-id shorter than 20 bytes with zeros: trailing zeros do not count. */
static bool same_id(const uint8_t *a, unsigned int na, const uint8_t *b, unsigned int nb)
{
	unsigned int n = na < nb ? na : nb;

	if (memcmp(a, b, n))
		return false;
	for (unsigned int i = n; i < na; i++)
		if (a[i])
			return false;
	for (unsigned int i = n; i < nb; i++)
		if (b[i])
			return false;
	return true;
}

/* There is a file, but not the recorded one. Of several the image names the first. */
static void note_different(struct auxtap_image *image, const char *path, const uint8_t *before,
			   unsigned int before_size)
{
	if (image->state == AUXTAP_IMAGE_DIFFERENT) {
		memcpy(image->found_build_id, before, sizeof(image->found_build_id));
		image->found_build_id_size = (uint8_t)before_size;
	} else {
		image->state = AUXTAP_IMAGE_DIFFERENT;
		image->path = strdup(path);
	}
	image_file_close(image);
}

/*
 * Without a build-id, a file is not the recorded one if it has another device or inode, or if it
 * was written after the recording. This applies to the recorded path only.
 */
static bool is_other_file(const struct auxtap_image_set *set, const struct auxtap_image *image,
			  int fd)
{
	struct stat st;

	if (image->build_id_size || !image->file.ino)
		return false;
	if (!file_identity_is(fd, &image->file))
		return true;
	return set->recording_mtime.tv_sec && !fstat(fd, &st) &&
	       (st.st_mtim.tv_sec != set->recording_mtime.tv_sec ?
			st.st_mtim.tv_sec > set->recording_mtime.tv_sec :
			st.st_mtim.tv_nsec > set->recording_mtime.tv_nsec);
}

/*
 * Maps the file at the recorded path. A recording may name any file: the recording's owner must be
 * allowed to read it. If the owner is unknown, it must be an ELF program or library.
 */
static int map_recorded(const struct auxtap_image_set *set, struct auxtap_image *image)
{
	int ret, fd = open_for_users(image->name, &set->owner, set->from_recording);

	if (fd >= 0) {
		image->changed = is_other_file(set, image, fd);
		return image_file_map_fd(image, fd);
	}
	image->no_memory |= errno == EMFILE || errno == ENFILE;
	image->denied = errno == EACCES;
	if (!image->denied || set->owner != (uid_t)-1)
		return -errno;
	ret = image_file_map(image, image->name);
	if (ret || (image->is_elf && !image->is_core)) {
		image->denied = false;
		return ret;
	}
	image_file_close(image);
	return -EACCES;
}

/*
 * Uses the file if it exists and is the recorded one; cores have no build-id. set: not NULL if path
 * is the recorded path. must_match: only if the recording contains a build-id.
 */
static bool accept_path(const struct auxtap_image_set *set, struct auxtap_image *image,
			const char *path, bool must_match)
{
	unsigned int before_size = image->found_build_id_size;
	uint8_t before[20];

	memcpy(before, image->found_build_id, sizeof(before));
	if (access(path, R_OK) || (set ? map_recorded(set, image) : image_file_map(image, path)))
		return false;
	if (set && image->changed) {
		note_different(image, path, before, before_size);
		return false;
	}
	if (image->build_id_size && !image->is_core &&
	    !same_id(image->build_id, image->build_id_size, image->found_build_id,
		     image->found_build_id_size)) {
		note_different(image, path, before, before_size);
		return false;
	}
	if (must_match && !image->build_id_size) {
		image_file_close(image);
		return false;
	}
	free(image->path);
	image->path = strdup(path);
	image->state = AUXTAP_IMAGE_FOUND;
	return true;
}

static bool try_path(struct auxtap_image *image, const char *path, bool must_match)
{
	return accept_path(NULL, image, path, must_match);
}

/*
 * In the build-id table and in perf's cache the image "[kernel.kallsyms]_text" has the name
 * "[kernel.kallsyms]".
 */
size_t image_base_len(const char *name)
{
	const char *end = !strncmp(name, "[kernel", 7) || !strncmp(name, "[guest.kernel", 13) ?
				  strchr(name, ']') :
				  NULL;

	return end ? (size_t)(end + 1 - name) : strlen(name);
}

/*
 * DIR/[kernel.kcore]/ID/TIME/kcore: the newest one that perf saved of a kernel with this build-id.
 */
static bool try_kcores(struct auxtap_image *image, const char *dir, const char *id)
{
	char path[PATH_LEN], best[256] = "";
	struct dirent *entry;
	DIR *times;

	snprintf(path, sizeof(path), "%s/[kernel.kcore]/%s", dir, id);
	times = opendir(path);
	if (!times)
		return false;
	while ((entry = readdir(times)))
		if (entry->d_name[0] != '.' && strcmp(entry->d_name, best) > 0)
			snprintf(best, sizeof(best), "%s", entry->d_name);
	closedir(times);
	snprintf(path, sizeof(path), "%s/[kernel.kcore]/%s/%s/kcore", dir, id, best);
	return *best && try_path(image, path, true);
}

/* Searches a tree with the layout of ~/.debug. */
static bool try_cache(struct auxtap_image *image, const char *dir, const char *id)
{
	static const char *const files[] = {"elf", "vdso", "kcore", "vmlinux"};
	int len = (int)image_base_len(image->name);
	char path[PATH_LEN];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s/%s", dir, id, id + 2, files[i]);
		if (try_path(image, path, true))
			return true;
		snprintf(path, sizeof(path), "%s/%.*s/%s/%s", dir, len - (image->name[0] == '/'),
			 image->name + (image->name[0] == '/'), id, files[i]);
		if (try_path(image, path, true))
			return true;
	}
	if (!strncmp(image->name, "[kernel", 7) && try_kcores(image, dir, id))
		return true;
	/* Old versions of perf linked the file itself. */
	snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s", dir, id, id + 2);
	return try_path(image, path, true);
}

static bool try_by_id(const struct auxtap_image_set *set, struct auxtap_image *image)
{
	char id[41], path[PATH_LEN];
	unsigned int size = image->build_id_size;

	if (!size)
		return false;
	hex(id, image->build_id, size);
	if (set->sysroot) {
		static const char *const under[] = {"", "/.debug", "/root/.debug"};

		for (size_t i = 0; i < sizeof(under) / sizeof(under[0]); i++) {
			snprintf(path, sizeof(path), "%s%s", set->sysroot, under[i]);
			if (try_cache(image, path, id))
				return true;
		}
	}
	snprintf(path, sizeof(path), "%s/.debug", image_home());
	if (try_cache(image, path, id))
		return true;
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s", id, id + 2);
	return try_path(image, path, true);
}

/* Only if the user asked for it; DEBUGINFOD_URLS names the servers. */
static bool try_debuginfod(const struct auxtap_image_set *set, struct auxtap_image *image)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	void *lib, *client;
	void *(*begin)(void);
	void (*end)(void *);
	int (*find)(void *, const unsigned char *, int, char **);
	char *path = NULL;
	bool found = false;
	int fd;

	if (!set->debuginfod || !urls || !*urls || !image->build_id_size)
		return false;
	lib = dlopen("libdebuginfod.so.1", RTLD_NOW);
	if (!lib)
		return false;
	*(void **)&begin = dlsym(lib, "debuginfod_begin");
	*(void **)&end = dlsym(lib, "debuginfod_end");
	*(void **)&find = dlsym(lib, "debuginfod_find_executable");
	client = begin && end && find ? begin() : NULL;
	if (client) {
		fd = find(client, image->build_id, image->build_id_size, &path);
		if (fd >= 0) {
			close(fd);
			found = try_path(image, path, true);
			free(path);
		}
		end(client);
	}
	dlclose(lib);
	return found;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A file from --image is used for a recorded file of the same base name, whatever its directory. */
static bool try_override_file(const struct auxtap_image_set *set, struct auxtap_image *image)
{
	for (size_t i = 0; i < set->nr_override; i++) {
		const struct auxtap_image *override = set->override_maps[i].image;

		if (override != image && override->path &&
		    !strcmp(base_name(override->path), base_name(image->name)) &&
		    try_path(image, override->path, false))
			return true;
	}
	return false;
}

static bool is_file_name(const char *name)
{
	return name[0] == '/' && name[1] != '/' && strncmp(name, "/dev/", 5) &&
	       strncmp(name, "/memfd:", 7) && strncmp(name, "/SYSV", 5) &&
	       !strstr(name, "/../"); /* would lead out of a sysroot; no kernel records it */
}

static void search_everywhere(const struct auxtap_image_set *set, struct auxtap_image *image)
{
	char path[PATH_LEN];
	bool kernel =
		!strncmp(image->name, "[kernel", 7) || !strncmp(image->name, "[guest.kernel", 13);

	image->state = AUXTAP_IMAGE_MISSING;
	if (try_override_file(set, image))
		return;
	if (kernel) {
		if (set->kcore && try_path(image, set->kcore, false))
			return;
		if (set->vmlinux && try_path(image, set->vmlinux, false))
			return;
	}
	if (set->sysroot && is_file_name(image->name)) {
		snprintf(path, sizeof(path), "%s%s", set->sysroot, image->name);
		if (try_path(image, path, false))
			return;
		/* or the sysroot has all files in one directory */
		snprintf(path, sizeof(path), "%s/%s", set->sysroot, base_name(image->name));
		if (try_path(image, path, false))
			return;
	}
	if (try_by_id(set, image))
		return;
	/*
	 * With a sysroot this machine's file is used only if the build-id proves that it is the
	 * same.
	 */
	if (is_file_name(image->name) && accept_path(set, image, image->name, set->sysroot != NULL))
		return;
	try_debuginfod(set, image);
}

void image_find_file(const struct auxtap_image_set *set, struct auxtap_image *image)
{
	if (image_packed_find(set, image))
		return;
	search_everywhere(set, image);
	/* A module's file does not contain the executed code: the kernel relocated its sections. */
	if (image->state == AUXTAP_IMAGE_FOUND && image->is_rel) {
		image_file_close(image);
		image->state = AUXTAP_IMAGE_MISSING;
	}
}
