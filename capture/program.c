// SPDX-License-Identifier: BSD-2-Clause
/* Finds the program that a command names, and for which machine it is. */
#include "driver/exec/elf_sanitizer.h"
#include <auxtap/capture.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_INTERPRETERS 5 /* the kernel's limit for scripts whose interpreter is a script */

int auxtap_find_program(const char *name, char *path, size_t size)
{
	const char *dirs = getenv("PATH");
	int ret = -ENOENT;

	if (!*name)
		return -ENOENT;
	if (strchr(name, '/')) {
		struct stat st;

		if ((size_t)snprintf(path, size, "%s", name) >= size)
			return -ENAMETOOLONG;
		if (stat(path, &st))
			return errno == ENOTDIR ? -ENOENT : -errno;
		if (S_ISDIR(st.st_mode) || access(path, X_OK))
			return -EACCES;
		return 0;
	}
	if (!dirs)
		dirs = "/bin:/usr/bin";
	for (;;) {
		size_t n = strcspn(dirs, ":");
		struct stat st;

		/* An empty element is the current directory. */
		if ((size_t)snprintf(path, size, "%.*s%s%s", (int)n, dirs, n ? "/" : "./", name) <
			    size &&
		    !stat(path, &st) && S_ISREG(st.st_mode)) {
			if (!access(path, X_OK))
				return 0;
			ret = -EACCES;
		}
		if (!dirs[n])
			return ret;
		dirs += n + 1;
	}
}

/* Sets path to the interpreter that a script's first line names. */
static bool read_interpreter(char *line, char *path)
{
	char *at = line + 2 + strspn(line + 2, " \t");

	at[strcspn(at, " \t\n")] = '\0';
	if (!*at)
		return false;
	strcpy(path, at); /* it is shorter than the line, which is shorter than PATH_MAX */
	return true;
}

/* Sets path (PATH_MAX bytes) to the ELF file that the kernel executes; its machine, or -errno. */
static int resolve_elf(const char *name, char *path)
{
	int ret = auxtap_find_program(name, path, PATH_MAX);

	for (int depth = 0; !ret && depth <= MAX_INTERPRETERS; depth++) {
		char head[257] = "";
		Elf64_Ehdr eh;
		int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		ssize_t size;

		if (fd < 0)
			return -errno;
		size = read(fd, head, sizeof(head) - 1);
		close(fd);
		if (size >= (ssize_t)sizeof(eh) && !memcmp(head, ELFMAG, SELFMAG)) {
			/* e_machine has the same offset in both ELF classes */
			memcpy(&eh, head, sizeof(eh));
			return head[EI_DATA] == ELFDATA2LSB ? eh.e_machine : -ENOEXEC;
		}
		if (size < 3 || memcmp(head, "#!", 2) || !read_interpreter(head, path))
			return -ENOEXEC;
	}
	return ret ? ret : -ELOOP;
}

int auxtap_program_machine(const char *name)
{
	char path[PATH_MAX];

	return resolve_elf(name, path);
}

const char *auxtap_program_sanitizer(const char *name)
{
	char path[PATH_MAX];

	return resolve_elf(name, path) < 0 ? NULL : elf_sanitizer(path);
}
