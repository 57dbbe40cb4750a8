/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_UTF8_H
#define UTIL_UTF8_H

#include <stddef.h>

/*
 * Length of the UTF-8 sequence at text[0..len) if it can be printed unchanged; 0: the first byte is
 * a control character (C0, DEL, C1 also as UTF-8) or begins no valid sequence.
 */
unsigned int utf8_printable(const char *text, size_t len);

#endif
