// SPDX-License-Identifier: BSD-2-Clause
/* Separate debug files without debuginfod: see debug_file.h. */
#include "debug_file.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEBUG_ROOT "/usr/lib/debug"

int debug_file_no_elf(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base, char **file,
		      Elf **elf)
{
	(void)mod;
	(void)data;
	(void)name;
	(void)base;
	(void)file;
	(void)elf;
	return -1;
}

/* libdwfl continues without debug information, and does not preserve errno. */
static _Thread_local bool no_descriptors;

static void note_errno(void)
{
	no_descriptors |= errno == EMFILE || errno == ENFILE;
}

bool debug_file_no_descriptors(void)
{
	bool before = no_descriptors;

	no_descriptors = false;
	return before;
}

static int open_regular(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		note_errno();
	if (fd < 0 || (!fstat(fd, &st) && S_ISREG(st.st_mode)))
		return fd;
	close(fd);
	return -1;
}

/* The checksum of .gnu_debuglink: zlib's CRC-32, computed for half a byte at a time. */
static GElf_Word checksum(int fd)
{
	static const GElf_Word half[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
		0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
		0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};
	unsigned char buf[16384];
	GElf_Word crc = ~0u;
	ssize_t got;

	while ((got = read(fd, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < got; i++) {
			crc ^= buf[i];
			crc = crc >> 4 ^ half[crc & 15];
			crc = crc >> 4 ^ half[crc & 15];
		}
	}
	return ~crc;
}

/* Whether the dwz file has the build-id that .gnu_debugaltlink of the module names. */
static bool is_alternate(Dwfl_Module *mod, int fd)
{
	const void *want = NULL, *have = NULL;
	const char *name;
	ssize_t want_size, have_size = 0;
	Dwarf_Addr bias;
	Dwarf *dw = dwfl_module_getdwarf(mod, &bias);
	Elf *elf;

	want_size = dw ? dwelf_dwarf_gnu_debugaltlink(dw, &name, &want) : 0;
	elf = want_size > 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
	if (elf)
		have_size = dwelf_elf_gnu_build_id(elf, &have);
	want_size = elf && want_size == have_size && !memcmp(want, have, (size_t)have_size);
	elf_end(elf);
	return want_size;
}

/* Opens ROOT/DIR/SUB/LINK if its checksum or build-id matches; *found: its name. */
static int try_file(Dwfl_Module *mod, const char *root, const char *dir, const char *sub,
		    const char *link, GElf_Word crc, char **found)
{
	char *path;
	int fd;

	if (asprintf(&path, "%s%s%s/%s", root, dir, sub, link) < 0)
		return -1;
	fd = open_regular(path);
	if (fd >= 0 && (crc ? checksum(fd) == crc : is_alternate(mod, fd))) {
		*found = path;
		lseek(fd, 0, SEEK_SET);
		return fd;
	}
	if (fd >= 0)
		close(fd);
	free(path);
	return -1;
}

int debug_file_find(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base,
		    const char *file, const char *link, GElf_Word crc, char **found)
{
	static __thread bool inside; /* dwfl_module_getdwarf() may call this function again */
	const char *sysroot = data ? *data : NULL;
	int fd = dwfl_build_id_find_debuginfo(mod, data, name, base, file, link, crc, found);
	char *dir;

	if (fd < 0)
		note_errno();
	if (fd >= 0 || inside || !link || !*link || !file || *file != '/')
		return fd;
	inside = true;
	dir = strdup(file);
	if (dir) {
		*strrchr(dir, '/') = '\0';
		fd = try_file(mod, "", *link == '/' ? "" : dir, "", link, crc, found);
		if (fd < 0)
			fd = try_file(mod, "", dir, "/.debug", link, crc, found);
		if (fd < 0 && sysroot) {
			const char *below = dir;
			char *root = NULL;

			/* the image itself may be in the sysroot */
			if (!strncmp(dir, sysroot, strlen(sysroot)))
				below = dir + strlen(sysroot);
			if (asprintf(&root, "%s" DEBUG_ROOT, sysroot) >= 0)
				fd = try_file(mod, root, below, "", link, crc, found);
			free(root);
		}
		if (fd < 0)
			fd = try_file(mod, DEBUG_ROOT, dir, "", link, crc, found);
		free(dir);
	}
	inside = false;
	return fd;
}

int debug_file_find_or_ask(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base,
			   const char *file, const char *link, GElf_Word crc, char **found)
{
	int fd = debug_file_find(mod, data, name, base, file, link, crc, found);

	/* without file names elfutils opens no file that the image names: only debuginfod is asked
	 */
	return fd >= 0 ? fd :
			 dwfl_standard_find_debuginfo(mod, data, name, base, NULL, NULL, 0, found);
}

/*
 * Whether libdw may open FILE, or FILE in DIR, which may be relative to BESIDE's directory: there
 * is no file, or a regular one.
 */
static bool may_open(const char *beside, const char *dir, const char *file)
{
	const char *slash = strrchr(beside, '/');
	bool may = false;
	struct stat st;
	char *path;
	int len;

	if (file[0] == '/')
		len = asprintf(&path, "%s", file);
	else if (dir && dir[0] == '/')
		len = asprintf(&path, "%s/%s", dir, file);
	else
		len = asprintf(&path, "%.*s/%s/%s", slash ? (int)(slash - beside) : 1,
			       slash ? beside : ".", dir ? dir : ".", file);
	if (len >= 0) {
		may = stat(path, &st) || S_ISREG(st.st_mode);
		free(path);
	}
	return may;
}

/* The module's main file and debug file. */
static void module_files(Dwfl_Module *mod, const char *files[2])
{
	files[0] = files[1] = NULL;
	dwfl_module_info(mod, NULL, NULL, NULL, NULL, NULL, &files[0], &files[1]);
}

bool debug_file_split_is_safe(Dwfl_Module *mod, Dwarf_Die *unit)
{
	const char *files[2], *name, *dir;
	Dwarf_Attribute attr;

	name = dwarf_formstring(dwarf_attr(unit, DW_AT_dwo_name, &attr));
	if (!name)
		name = dwarf_formstring(dwarf_attr(unit, DW_AT_GNU_dwo_name, &attr));
	dir = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attr));
	module_files(mod, files);
	for (int i = 0; i < 2 && name; i++)
		if (files[i] && (!may_open(files[i], NULL, name) || !may_open(files[i], dir, name)))
			return false;
	return true;
}

bool debug_file_alternate_is_safe(Dwfl_Module *mod, Dwarf *dw)
{
	const char *files[2], *name;
	const void *id;

	if (dwelf_dwarf_gnu_debugaltlink(dw, &name, &id) <= 0)
		return true;
	module_files(mod, files);
	for (int i = 0; i < 2; i++)
		if (files[i] && !may_open(files[i], NULL, name))
			return false;
	return true;
}
