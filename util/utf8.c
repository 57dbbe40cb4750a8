// SPDX-License-Identifier: BSD-2-Clause
/* See utf8.h. */
#include "util/utf8.h"

unsigned int utf8_printable(const char *text, size_t len)
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
	/* overlong forms, surrogates, code points above U+10FFFF */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	/* C1: U+0080 to U+009F, which terminals interpret as ESC and a letter */
	if (s[0] == 0xc2 && s[1] < 0xa0)
		return 0;
	return n;
}
