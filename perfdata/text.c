// SPDX-License-Identifier: BSD-2-Clause
/* Makes names from files safe to print: see text.h. */
#include "util/utf8.h"

#include <auxtap/text.h>
#include <string.h>

unsigned int auxtap_text_printable(const char *text, size_t len)
{
	return utf8_printable(text, len);
}

bool auxtap_text_is_safe(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		unsigned int n;

		if (c >= 0x20 && c < 0x7f)
			continue;
		n = auxtap_text_printable(text + i, len - i);
		if (!n)
			return false;
		i += n - 1;
	}
	return true;
}

size_t auxtap_text_escape(char *out, size_t size, const char *text, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	size_t at = 0;

	if (!size)
		return 0;
	for (size_t i = 0; i < len;) {
		unsigned int n = auxtap_text_printable(text + i, len - i);

		if (at + (n ? n : 4) >= size)
			break;
		if (n) {
			memcpy(out + at, text + i, n);
			at += n;
			i += n;
			continue;
		}
		out[at++] = '\\';
		out[at++] = 'x';
		out[at++] = digits[(unsigned char)text[i] >> 4];
		out[at++] = digits[(unsigned char)text[i] & 15];
		i++;
	}
	out[at] = '\0';
	return at;
}
