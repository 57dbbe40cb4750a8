// SPDX-License-Identifier: BSD-2-Clause
/* See gdb_packet.h. */
#include "gdb_packet.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ESCAPE	   '}'
#define ESCAPE_XOR 0x20

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Removes the escapes of in[0..size). False: it is too long, or ends within an escape. */
static bool unescape(const uint8_t *in, size_t size, struct gdb_packet *packet)
{
	packet->size = 0;
	for (size_t i = 0; i < size; i++) {
		uint8_t byte = in[i];

		if (byte == ESCAPE) {
			if (++i == size)
				return false;
			byte = in[i] ^ ESCAPE_XOR;
		}
		if (packet->size == GDB_PACKET_MAX)
			return false;
		packet->data[packet->size++] = (char)byte;
	}
	packet->data[packet->size] = '\0';
	return true;
}

/*
 *   $ q C # b 4
 *   0 1 ... end
 */
static enum gdb_input take_framed(const uint8_t *in, size_t size, size_t *used,
				  struct gdb_packet *packet)
{
	const uint8_t *hash = memchr(in, '#', size);
	size_t end = hash ? (size_t)(hash - in) : size;
	uint8_t sum = 0;
	int high, low;

	if (end > 2 * GDB_PACKET_MAX + 1) {
		*used = hash ? end : size;
		return GDB_INPUT_DAMAGED;
	}
	if (size < 3 || end > size - 3)
		return GDB_INPUT_MORE;
	*used = end + 3;
	for (size_t i = 1; i < end; i++)
		sum = (uint8_t)(sum + in[i]);
	high = hex_digit((char)in[end + 1]);
	low = hex_digit((char)in[end + 2]);
	if (high < 0 || low < 0 || sum != (high << 4 | low))
		return GDB_INPUT_DAMAGED;
	return unescape(in + 1, end - 1, packet) ? GDB_INPUT_PACKET : GDB_INPUT_DAMAGED;
}

enum gdb_input gdb_packet_take(const uint8_t *in, size_t size, size_t *used,
			       struct gdb_packet *packet)
{
	*used = 0;
	if (!size)
		return GDB_INPUT_MORE;
	if (in[0] == '$')
		return take_framed(in, size, used, packet);
	*used = 1;
	switch (in[0]) {
	case '+':
		return GDB_INPUT_ACK;
	case '-':
		return GDB_INPUT_NAK;
	case 0x03:
		return GDB_INPUT_BREAK;
	default: /* skip everything up to the next possible packet */
		while (*used < size && !strchr("$+-\003", in[*used]))
			++*used;
		return GDB_INPUT_DAMAGED;
	}
}

/* ---- replies ---- */

void gdb_reply_reset(struct gdb_reply *reply)
{
	reply->size = 0;
	reply->cut = false;
}

static void put(struct gdb_reply *reply, const char *bytes, size_t size)
{
	if (reply->cut || size > sizeof(reply->data) - reply->size) {
		reply->cut = true;
		return;
	}
	memcpy(reply->data + reply->size, bytes, size);
	reply->size += size;
}

void gdb_reply_text(struct gdb_reply *reply, const char *fmt, ...)
{
	char text[1024];
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof(text))
		reply->cut = true;
	else
		put(reply, text, (size_t)len);
}

void gdb_reply_hex(struct gdb_reply *reply, const void *bytes, size_t size)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < size; i++) {
		uint8_t byte = ((const uint8_t *)bytes)[i];
		char pair[2] = {digits[byte >> 4], digits[byte & 15]};

		put(reply, pair, 2);
	}
}

void gdb_reply_binary(struct gdb_reply *reply, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		char byte = ((const char *)bytes)[i];
		char escaped[2] = {ESCAPE, (char)(byte ^ ESCAPE_XOR)};
		bool special = byte == '$' || byte == '#' || byte == '*' || byte == ESCAPE;

		put(reply, special ? escaped : &byte, special ? 2 : 1);
	}
}

size_t gdb_reply_frame(const struct gdb_reply *reply, uint8_t *out, size_t max)
{
	char sum_text[4];
	uint8_t sum = 0;

	if (max < reply->size + 4)
		return 0;
	for (size_t i = 0; i < reply->size; i++)
		sum = (uint8_t)(sum + (uint8_t)reply->data[i]);
	snprintf(sum_text, sizeof(sum_text), "#%02x", sum);
	out[0] = '$';
	memcpy(out + 1, reply->data, reply->size);
	memcpy(out + 1 + reply->size, sum_text, 3);
	return reply->size + 4;
}

/* ---- numbers ---- */

bool gdb_take_hex(const char **text, uint64_t *value)
{
	unsigned int nr = 0;

	*value = 0;
	while (hex_digit(**text) >= 0) {
		if (++nr > 16)
			return false;
		*value = *value << 4 | (uint64_t)hex_digit(*(*text)++);
	}
	return nr;
}

bool gdb_take_hex_until(const char **text, char end, uint64_t *value)
{
	if (!gdb_take_hex(text, value) || **text != end)
		return false;
	++*text;
	return true;
}

long gdb_unhex(const char *text, size_t len, void *out, size_t max)
{
	if (len & 1 || len / 2 > max)
		return -1;
	for (size_t i = 0; i < len / 2; i++) {
		int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return -1;
		((uint8_t *)out)[i] = (uint8_t)(high << 4 | low);
	}
	return (long)(len / 2);
}
