// SPDX-License-Identifier: BSD-2-Clause
/* See pt_limits.h. Versions are those of libipt's history. */
#include "pt_limits.h"

#include <string.h>

#define VERSION_REX2 PT_VERSION(2, 2) /* knows REX2, with jmpabs; eretu, erets */

#define REX2 0xd5

/* Whether it is eretu or erets. code: after the prefixes; repeat: the last of f2, f3. */
static bool returns_from_event(unsigned int version, uint8_t repeat, const uint8_t *code)
{
	return code[0] == 0x0f && code[1] == 0x01 && code[2] == 0xca && repeat &&
	       version < VERSION_REX2;
}

bool pt_limits_misreads_insn(unsigned int version, bool bits_32, const uint8_t *code, size_t size)
{
	static const uint8_t prefixes[] = {0x66, 0x67, 0x2e, 0x36, 0x3e, 0x26,
					   0x64, 0x65, 0xf0, 0xf2, 0xf3};
	uint8_t repeat = 0;
	size_t at = 0;

	while (at < size && memchr(prefixes, code[at], sizeof(prefixes))) {
		if (code[at] >= 0xf2)
			repeat = code[at];
		at++;
	}
	if (at < size && !bits_32 && code[at] == REX2)
		return version < VERSION_REX2;
	if (at < size && !bits_32 && code[at] >> 4 == 4) /* REX */
		at++;
	return size - at >= 3 && returns_from_event(version, repeat, code + at);
}

bool pt_limits_may_misread(unsigned int version, const uint8_t *code, size_t size)
{
	if (version >= VERSION_REX2)
		return false;
	return memchr(code, REX2, size) || memmem(code, size, "\x0f\x01\xca", 3);
}
