/* SPDX-License-Identifier: BSD-2-Clause */
/* The build-ids of the files that the traced programs mapped, by name, device and inode. */
#ifndef AUXTAP_CAPTURE_MAPPED_BUILD_IDS_H
#define AUXTAP_CAPTURE_MAPPED_BUILD_IDS_H

#include "perfdata/file_identity.h"
#include "sideband_write.h"

#include <time.h>

struct mapped_id {
	char *name;
	struct file_identity file;
	uint8_t id[20], size;	 /* size 0: no build-id, or the name belonged to another file */
	struct timespec changed; /* ctime of the inode when the build-id was read */
	bool several;		 /* several files were mapped with this name */
};

struct mapped_build_ids {
	struct mapped_id *files;
	size_t nr, max;
};

/*
 * The entry of the mapping's file, valid until the next call. mapped_now: the mapping is new, not
 * one that was recorded earlier. NULL: no memory, or too many files.
 */
const struct mapped_id *mapped_build_ids_get(struct mapped_build_ids *ids,
					     const struct mmap2_body *map, bool mapped_now);
void mapped_build_ids_free(struct mapped_build_ids *ids);

#endif
