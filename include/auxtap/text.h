/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names from files (threads, images, symbols, source files) as text that is safe to print.
 *
 * Thread safety: the functions have no state.
 */
#ifndef AUXTAP_TEXT_H
#define AUXTAP_TEXT_H

#include <auxtap/error.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Length of the printable UTF-8 sequence at text[0..len); 0: the first byte is a control character
 * (C0, DEL, C1 also as UTF-8) or does not start a valid sequence.
 */
AUXTAP_API unsigned int auxtap_text_printable(const char *text, size_t len);

/* Whether all of it is printable. */
AUXTAP_API bool auxtap_text_is_safe(const char *text, size_t len);

/*
 * Copies text[0..len) and writes each unprintable byte as the four characters \xNN. Writes at most
 * size bytes, including the NUL, and no partial sequence; returns the length without the NUL.
 */
AUXTAP_API size_t auxtap_text_escape(char *out, size_t size, const char *text, size_t len);

#ifdef __cplusplus
}
#endif
#endif
