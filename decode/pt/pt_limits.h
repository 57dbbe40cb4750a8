/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instructions that the libipt in use takes for others, by its version: what it says of the code
 * after them would be a guess.
 */
#ifndef AUXTAP_PT_LIMITS_H
#define AUXTAP_PT_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PT_VERSION(major, minor) ((unsigned int)(major) << 8 | (minor))

/* Is the instruction at code one of them? */
bool pt_limits_insn(unsigned int version, bool bits_32, const uint8_t *code, size_t size);
/* Can one of them be among these bytes, wherever instructions begin? */
bool pt_limits_bytes(unsigned int version, const uint8_t *code, size_t size);

#endif
