/* SPDX-License-Identifier: BSD-2-Clause */
/* The build-ids of the files that a session saw mapped, by name, device and inode. */
#ifndef AUXTAP_CAPTURE_MAPPED_IDS_H
#define AUXTAP_CAPTURE_MAPPED_IDS_H

#include "perfdata/file_identity.h"
#include "sideband_write.h"

#include <time.h>

struct mapped_id {
	char *name;
	struct file_identity file;
	uint8_t id[20], size;	 /* size 0: no build-id, or the name was another file's by then */
	struct timespec changed; /* the inode, when the build-id was read */
	bool several;		 /* other files were mapped under the same name */
};

struct mapped_ids {
	struct mapped_id *files;
	size_t nr, max;
};

/*
 * The file of the mapping, which is new (mapped_now) or was recorded before; valid until the next
 * call. NULL: no memory, or too many files.
 */
const struct mapped_id *mapped_ids_get(struct mapped_ids *ids, const struct mmap2_body *map,
				       bool mapped_now);
void mapped_ids_free(struct mapped_ids *ids);

#endif
