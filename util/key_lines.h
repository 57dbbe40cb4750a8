/* SPDX-License-Identifier: BSD-2-Clause */
/* Text with "key: value" lines, which need not end with a NUL. */
#ifndef UTIL_KEY_LINES_H
#define UTIL_KEY_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Copies the next line to buf, without its newline; if it does not fit, buf is empty. False: no
 * more lines.
 */
bool key_lines_next(const char **at, const char *end, char *buf, size_t size);
/* The value in the first line with this key, and its length; NULL: there is no such line. */
const char *key_lines_find(const char *text, size_t size, const char *key, size_t *len);
bool key_lines_equals(const char *text, size_t size, const char *key, const char *value);
/* The decimal number in the first line with this key; 0: there is no such line. */
uint64_t key_lines_number(const char *text, size_t size, const char *key);

#endif
