// SPDX-License-Identifier: BSD-2-Clause
/*
 * Device and inode of a file as the kernel writes them into MMAP2 records and /proc/PID/maps. A
 * layered file system (overlayfs, btrfs) may report others to stat().
 */
#include "file_identity.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static bool matches_maps(const void *at, const struct file_identity *recorded)
{
	unsigned long long start, end, ino;
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned int maj, min;
	bool same = false;
	char line[8192]; /* the rest of a longer line does not parse as a mapping */

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx-%llx %*s %*x %x:%x %llu", &start, &end, &maj, &min, &ino) !=
			    5 ||
		    (uintptr_t)at < start || (uintptr_t)at >= end)
			continue;
		same = maj == recorded->maj && min == recorded->min && ino == recorded->ino;
		break;
	}
	if (f)
		fclose(f);
	return same;
}

bool file_identity_is(int fd, const struct file_identity *recorded)
{
	struct stat st;
	bool same;
	void *at;

	if (!recorded->ino)
		return true;
	if (fstat(fd, &st))
		return false;
	if (st.st_ino == recorded->ino && major(st.st_dev) == recorded->maj &&
	    minor(st.st_dev) == recorded->min)
		return true;
	if (!S_ISREG(st.st_mode))
		return false;
	at = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return false;
	same = matches_maps(at, recorded);
	munmap(at, 1);
	return same;
}
