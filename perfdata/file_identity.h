/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether an open file is the one that an MMAP2 record names by device and inode. Not public. */
#ifndef AUXTAP_FILE_IDENTITY_H
#define AUXTAP_FILE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

struct file_identity {
	uint32_t maj, min;
	uint64_t ino; /* 0: unknown */
};

/* True if fd is that file, or if the identity is unknown. */
bool file_identity_is(int fd, const struct file_identity *recorded);

#endif
