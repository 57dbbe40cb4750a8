/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OpenCSD is C++ behind a C interface that lets exceptions through: every call of it goes
 * through here, and comes back.
 */
#ifndef AUXTAP_CS_GUARD_H
#define AUXTAP_CS_GUARD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * fn(arg); 0, or negative when an exception came out of it, which why then names. -EFAULT: a signal
 * handler called auxtap_decoder_leave_library(); whatever fn used is lost.
 */
int cs_guard(void (*fn)(void *arg), void *arg, char *why, size_t size);
/* The offset that auxtap_decoder_in_library() reports. */
void cs_guard_at(uint64_t off);

#ifdef __cplusplus
}
#endif
#endif
