// SPDX-License-Identifier: BSD-2-Clause
/* Names from files as text that is safe to print: see text.h. */
#include <auxtap/text.h>
#include <string.h>

unsigned int auxtap_text_printable(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned int n;

	if (!len || s[0] < 0x20 || s[0] == 0x7f)
		return 0;
	if (s[0] < 0x80)
		return 1;
	n = s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
	if (!n || n > len)
		return 0;
	for (unsigned int i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* overlong forms, surrogates, what lies above U+10FFFF */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	/* C1: U+0080 to U+009F, which terminals take for ESC and a letter */
	if (s[0] == 0xc2 && s[1] < 0xa0)
		return 0;
	return n;
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
