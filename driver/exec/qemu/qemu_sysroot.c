// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Finds the libraries for a program of another architecture. Loader and C library must come from
 * the same directory tree: otherwise threads and fork would hang. The loader of a cross compiler's
 * sysroot searches /lib/aarch64-linux-gnu, which the sysroot lacks; so if this machine has the
 * libraries itself, qemu would take those. The directory next to the plugin (created by CMake)
 * contains the same libraries under all names that the loader tries.
 */
#include "qemu_arch.h"
#include "qemu_exec.h"
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NR_SEGMENTS 64
#define NR_DYNAMIC  4096
#define STRINGS_MAX (1u << 20)

struct program {
	int fd;
	Elf64_Phdr segment[NR_SEGMENTS];
	int nr;
};

/* Reads from the file at the address it is linked for. */
static ssize_t read_at(const struct program *p, u64 addr, void *buf, size_t size)
{
	for (int i = 0; i < p->nr; i++) {
		const Elf64_Phdr *ph = &p->segment[i];

		if (ph->p_type != PT_LOAD || addr < ph->p_vaddr ||
		    addr - ph->p_vaddr >= ph->p_filesz)
			continue;
		if (size > ph->p_filesz - (addr - ph->p_vaddr))
			size = (size_t)(ph->p_filesz - (addr - ph->p_vaddr));
		return pread(p->fd, buf, size, (off_t)(ph->p_offset + (addr - ph->p_vaddr)));
	}
	return -1;
}

static bool open_program(struct program *p, const char *path)
{
	Elf64_Ehdr eh;
	ssize_t size;

	p->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (p->fd < 0)
		return false;
	if (pread(p->fd, &eh, sizeof(eh), 0) != sizeof(eh) ||
	    eh.e_phentsize != sizeof(p->segment[0]) || eh.e_phnum > NR_SEGMENTS)
		goto out;
	size = (ssize_t)(eh.e_phnum * sizeof(p->segment[0]));
	if (pread(p->fd, p->segment, (size_t)size, (off_t)eh.e_phoff) != size)
		goto out;
	p->nr = eh.e_phnum;
	return true;
out:
	close(p->fd);
	return false;
}

static const Elf64_Phdr *find(const struct program *p, u32 type)
{
	for (int i = 0; i < p->nr; i++)
		if (p->segment[i].p_type == type)
			return &p->segment[i];
	return NULL;
}

static bool exists(const char *dir, const char *below, const char *name)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s%s/%s", dir, below, name) < (int)sizeof(path) &&
	       !access(path, R_OK);
}

/* True if a library exists only in the sysroot. */
static bool only_in_sysroot(const struct qemu_arch *arch, const char *loader, const char *name)
{
	char dir[PATH_MAX], *slash;

	if (strchr(name, '/') || !exists(arch->sysroot, "/lib", name) || !realpath(loader, dir))
		return false;
	slash = strrchr(dir, '/');
	if (slash)
		*slash = 0;
	/* the loader's directory, and Debian's */
	return !exists(dir, "", name) && !exists("/usr/lib/", arch->triplet, name) &&
	       !exists("/usr", "/local/lib", name);
}

static bool needs_sysroot(const struct qemu_arch *arch, const struct program *p, const char *loader)
{
	const Elf64_Phdr *at = find(p, PT_DYNAMIC);
	Elf64_Dyn dyn;
	u64 strings = 0, size = 0;
	char *text;
	bool needed = false;

	for (u32 i = 0; at && i < NR_DYNAMIC && i < at->p_filesz / sizeof(dyn); i++) {
		if (pread(p->fd, &dyn, sizeof(dyn), (off_t)(at->p_offset + i * sizeof(dyn))) !=
		    sizeof(dyn))
			break;
		if (dyn.d_tag == DT_STRTAB)
			strings = dyn.d_un.d_ptr;
		else if (dyn.d_tag == DT_STRSZ)
			size = dyn.d_un.d_val;
	}
	if (!size || size > STRINGS_MAX)
		return false;
	text = calloc(1, (size_t)size + 1);
	if (!text)
		return false;
	if (read_at(p, strings, text, (size_t)size) == (ssize_t)size) {
		for (u32 i = 0; !needed && i < NR_DYNAMIC && i < at->p_filesz / sizeof(dyn); i++)
			needed = pread(p->fd, &dyn, sizeof(dyn),
				       (off_t)(at->p_offset + i * sizeof(dyn))) == sizeof(dyn) &&
				 dyn.d_tag == DT_NEEDED && dyn.d_un.d_val < size &&
				 only_in_sysroot(arch, loader, text + dyn.d_un.d_val);
	}
	free(text);
	return needed;
}

/* The directory next to the plugin, if it exists. */
static bool dir_next_to_plugin(const struct qemu_arch *arch, const char *plugin, char *root,
			       size_t size)
{
	const char *slash = strrchr(plugin, '/');
	int len = slash ? (int)(slash - plugin) + 1 : 0;

	return snprintf(root, size, "%.*s%s-root", len, plugin, arch->target) < (int)size &&
	       exists(root, "/lib/", arch->triplet);
}

/* "/usr/aarch64-linux-gnu/" equals "/usr/aarch64-linux-gnu". */
static bool same_dir(const char *a, const char *b)
{
	size_t len = strlen(a);

	while (len > 1 && a[len - 1] == '/')
		len--;
	return len == strlen(b) && !strncmp(a, b, len);
}

const char *qemu_exec_sysroot(const struct qemu_exec *exec, const char *said, const char *plugin,
			      char *root, size_t size)
{
	const struct qemu_arch *arch = exec->arch;
	const Elf64_Phdr *interp;
	struct program p = {.nr = 0};
	char loader[PATH_MAX] = "";
	const char *sysroot = "";

	if (*said) /* the usual path by name: replaced by the directory that has all names */
		return arch && arch->sysroot && same_dir(said, arch->sysroot) &&
				       dir_next_to_plugin(arch, plugin, root, size) ?
			       root :
			       said;
	if (!arch || !arch->sysroot || access(arch->sysroot, X_OK) ||
	    !open_program(&p, exec->program))
		return "";
	interp = find(&p, PT_INTERP);
	if (interp && interp->p_filesz < sizeof(loader) &&
	    pread(p.fd, loader, interp->p_filesz, (off_t)interp->p_offset) ==
		    (ssize_t)interp->p_filesz &&
	    (access(loader, R_OK) || needs_sysroot(arch, &p, loader)))
		sysroot = dir_next_to_plugin(arch, plugin, root, size) ? root : arch->sysroot;
	close(p.fd);
	return sysroot;
}
