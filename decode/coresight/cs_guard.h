/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OpenCSD is written in C++, and its C interface does not catch exceptions. Every call of it goes
 * through cs_guard(), which returns an error instead.
 */
#ifndef AUXTAP_CS_GUARD_H
#define AUXTAP_CS_GUARD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Calls fn(arg). Returns 0, or negative errno if it threw an exception; why then names it. -EFAULT:
 * fn crashed, and a signal handler called auxtap_decoder_leave_library(): leak all objects that fn
 * used.
 */
int cs_guard(void (*fn)(void *arg), void *arg, char *why, size_t size);
/* The offset that auxtap_decoder_in_library() reports. */
void cs_guard_set_offset(uint64_t off);

#ifdef __cplusplus
}
#endif
#endif
