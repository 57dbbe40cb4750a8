/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instructions that the libipt in use takes for others, by its version. After one of them it would
 * decode the code wrongly, so decoding stops there.
 */
#ifndef AUXTAP_PT_LIMITS_H
#define AUXTAP_PT_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PT_VERSION(major, minor) ((unsigned int)(major) << 8 | (minor))

/* Whether the instruction at code is one of them. */
bool pt_limits_misreads_insn(unsigned int version, bool bits_32, const uint8_t *code, size_t size);
/* Whether the bytes may contain one of them, wherever instructions begin. */
bool pt_limits_may_misread(unsigned int version, const uint8_t *code, size_t size);

#endif
