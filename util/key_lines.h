/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts of "key: value" lines; their bytes need not end with a NUL. */
#ifndef UTIL_KEY_LINES_H
#define UTIL_KEY_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line without its end: copied to buf if it fits with a NUL, else buf is empty. False: no more.
 */
bool key_lines_next(const char **at, const char *end, char *buf, size_t size);
/* The value in the first line with this key, and its length; NULL: no line has it. */
const char *key_lines_find(const char *text, size_t size, const char *key, size_t *len);
bool key_lines_is(const char *text, size_t size, const char *key, const char *value);
/* 0 without such a line. */
uint64_t key_lines_number(const char *text, size_t size, const char *key);

#endif
