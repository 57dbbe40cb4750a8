/* SPDX-License-Identifier: BSD-2-Clause */
/* NT_GNU_BUILD_ID of an ELF file, read without libelf. */
#ifndef AUXTAP_CAPTURE_BUILD_ID_H
#define AUXTAP_CAPTURE_BUILD_ID_H

#include <stdint.h>

struct file_identity;

/*
 * Bytes of the id (at most 20), or 0 where there is none, the file is no ELF or not the one of that
 * identity (NULL: any).
 */
unsigned int build_id_read(const char *path, const struct file_identity *recorded, uint8_t id[20]);

#endif
