/* SPDX-License-Identifier: BSD-2-Clause */
/* Text inside JSON strings. Names come from files: any bytes may be in them. */
#ifndef UTIL_JSON_TEXT_H
#define UTIL_JSON_TEXT_H

#include <stdio.h>

#define JSON_CHAR_SIZE 8

/*
 * One character of text, which is not at its end, as it appears in a JSON string: out gets at most
 * JSON_CHAR_SIZE bytes with the NUL. A control character becomes \u00NN, a byte that is part of no
 * UTF-8 sequence the text \xNN (two backslashes in JSON). Returns how many bytes of text it was.
 */
unsigned int json_text_char(const char *text, char *out);

/* All of text as a JSON string with its quotes. */
void json_text_print(const char *text, FILE *out);

#endif
