/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads NT_GNU_BUILD_ID of an ELF file, without libelf. */
#ifndef AUXTAP_CAPTURE_BUILD_ID_H
#define AUXTAP_CAPTURE_BUILD_ID_H

#include <stdint.h>

struct file_identity;

/*
 * Returns the size of the id in bytes (at most 20); 0 if the file has no build-id, is not ELF, or
 * is not the file with that identity (NULL: any file).
 */
unsigned int build_id_read(const char *path, const struct file_identity *recorded, uint8_t id[20]);

#endif
