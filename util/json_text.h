/* SPDX-License-Identifier: BSD-2-Clause */
/* Text inside JSON strings. It may contain any bytes: names come from files. */
#ifndef UTIL_JSON_TEXT_H
#define UTIL_JSON_TEXT_H

#include <stdio.h>

#define JSON_CHAR_SIZE 8

/*
 * Converts the first character of text, which is not empty, for a JSON string: out gets at most
 * JSON_CHAR_SIZE bytes with the NUL. A control character becomes \u00NN, a byte that is part of no
 * UTF-8 sequence the text \xNN (two backslashes in JSON). Returns the number of bytes of text used.
 */
unsigned int json_text_char(const char *text, char *out);

/* Prints text as a JSON string with its quotes. */
void json_text_print(const char *text, FILE *out);

#endif
