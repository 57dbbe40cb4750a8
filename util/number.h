/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers and sizes as users write them on command lines and in files. */
#ifndef UTIL_NUMBER_H
#define UTIL_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Parses an unsigned number at the start of text: decimal, hexadecimal after 0x or octal after 0;
 * without sign and without blanks before it. *end: after its last digit. False: no number, or more
 * than 64 bits.
 */
bool number_prefix(const char *text, const char **end, uint64_t *value);

/* Whether all of text is such a number, at most max. *value is set only then. */
bool number_parse(const char *text, uint64_t max, uint64_t *value);

/*
 * Whether all of text is decimal digits, and the number is at most max; a leading 0 is not octal.
 */
bool number_parse_decimal(const char *text, uint64_t max, uint64_t *value);

/*
 * Parses a size in bytes: a number, then optionally K, M or G (powers of 1024), then optionally B;
 * all four in upper or lower case. *has_unit, unless NULL: any of the four is there. *value is set
 * only if true is returned.
 */
bool number_parse_size(const char *text, uint64_t *value, bool *has_unit);

/* Parses a time: a number, then ns, us, ms or s; without a unit it is in nanoseconds. */
bool number_parse_time(const char *text, uint64_t *value);

#endif
