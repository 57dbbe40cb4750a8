/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Formats numbers without printf(), because most output of 'auxtap decode' is numbers. The
 * functions write to 'at' and return the end; they may write up to NUMBER_CHARS bytes.
 */
#ifndef AUXTAP_DECODE_NUMBER_H
#define AUXTAP_DECODE_NUMBER_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define NUMBER_CHARS 48

#ifdef __SSE2__
#include <emmintrin.h>

/* Writes the sixteen digits of v, the highest first. */
static inline void number_digits_hex(char *at, uint64_t v)
{
	const __m128i low = _mm_set1_epi8(0x0f);
	__m128i bytes = _mm_cvtsi64_si128((long long)htobe64(v)), digits;

	digits = _mm_unpacklo_epi8(_mm_and_si128(_mm_srli_epi64(bytes, 4), low),
				   _mm_and_si128(bytes, low));
	bytes = _mm_and_si128(_mm_cmpgt_epi8(digits, _mm_set1_epi8(9)),
			      _mm_set1_epi8('a' - '9' - 1));
	digits = _mm_add_epi8(_mm_add_epi8(digits, _mm_set1_epi8('0')), bytes);
	_mm_storeu_si128((__m128i *)(void *)at, digits);
}
#else
static inline void number_digits_hex(char *at, uint64_t v)
{
	for (unsigned int half = 0; half < 2; half++, v <<= 32) {
		uint64_t x = v >> 32, letters;

		x = (x << 16 | x) & 0x0000ffff0000ffffull;
		x = (x << 8 | x) & 0x00ff00ff00ff00ffull;
		x = (x << 4 | x) & 0x0f0f0f0f0f0f0f0full;
		letters = (x + 0x0606060606060606ull) >> 4 & 0x0101010101010101ull;
		x = htobe64(x + 0x3030303030303030ull + letters * ('a' - '9' - 1));
		memcpy(at + 8 * half, &x, 8);
	}
}
#endif

static inline unsigned int number_len_hex(uint64_t v)
{
	return (67 - (unsigned int)__builtin_clzll(v | 1)) / 4;
}

static inline char *number_hex(char *at, uint64_t v)
{
	unsigned int n = number_len_hex(v);

	number_digits_hex(at, v << (64 - 4 * n));
	return at + n;
}

static inline unsigned int number_len_decimal(uint64_t v)
{
	unsigned int n = 1;

	for (; v >= 10000; v /= 10000)
		n += 4;
	return n + (v >= 10) + (v >= 100) + (v >= 1000);
}

#define NUMBER_TEN(d) #d "0" #d "1" #d "2" #d "3" #d "4" #d "5" #d "6" #d "7" #d "8" #d "9"

/* Writes the two digits of v, 0 to 99. */
static inline void number_pair(char *at, unsigned int v)
{
	static const char pairs[] = NUMBER_TEN(0) NUMBER_TEN(1) NUMBER_TEN(2) NUMBER_TEN(3)
		NUMBER_TEN(4) NUMBER_TEN(5) NUMBER_TEN(6) NUMBER_TEN(7) NUMBER_TEN(8) NUMBER_TEN(9);

	memcpy(at, pairs + 2 * v, 2);
}

static inline char *number_decimal(char *at, uint64_t v)
{
	unsigned int n = number_len_decimal(v), left = n;

	while (left >= 2) {
		left -= 2;
		number_pair(at + left, (unsigned int)(v % 100));
		v /= 100;
	}
	if (left)
		*at = (char)('0' + v);
	return at + n;
}

static inline char *number_signed(char *at, int32_t v)
{
	if (v < 0)
		*at++ = '-';
	return number_decimal(at, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

/* Writes the nine decimals of a second. */
static inline char *number_decimals(char *at, uint32_t ns)
{
	uint32_t high = ns / 100000, low = ns % 100000;

	number_pair(at, high / 100);
	number_pair(at + 2, high % 100);
	at[4] = (char)('0' + low / 10000);
	low %= 10000;
	number_pair(at + 5, low / 100);
	number_pair(at + 7, low % 100);
	return at + 9;
}

static inline char *number_seconds(char *at, uint64_t ns)
{
	at = number_decimal(at, ns / 1000000000);
	*at = '.';
	return number_decimals(at + 1, (uint32_t)(ns % 1000000000));
}

#endif
