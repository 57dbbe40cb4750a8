// SPDX-License-Identifier: BSD-2-Clause
/* See json_text.h. */
#include "util/json_text.h"
#include "util/utf8.h"

#include <stdbool.h>
#include <string.h>

unsigned int json_text_char(const char *text, char *out)
{
	unsigned char c = (unsigned char)text[0];
	unsigned int nr;

	if (c == '"' || c == '\\') {
		snprintf(out, JSON_CHAR_SIZE, "\\%c", c);
		return 1;
	}
	if (c < 0x20 || c == 0x7f) {
		snprintf(out, JSON_CHAR_SIZE, "\\u%04x", c);
		return 1;
	}
	/* U+0080 to U+009F: terminals interpret them as control characters */
	if (c == 0xc2 && (text[1] & 0xe0) == 0x80) {
		snprintf(out, JSON_CHAR_SIZE, "\\u%04x", (unsigned char)text[1]);
		return 2;
	}
	nr = utf8_printable(text, strnlen(text, 4));
	if (!nr) {
		snprintf(out, JSON_CHAR_SIZE, "\\\\x%02x", c);
		return 1;
	}
	memcpy(out, text, nr);
	out[nr] = '\0';
	return nr;
}

void json_text_print(const char *text, FILE *out)
{
	char buf[JSON_CHAR_SIZE];

	fputc('"', out);
	while (*text) {
		text += json_text_char(text, buf);
		fputs(buf, out);
	}
	fputc('"', out);
}
