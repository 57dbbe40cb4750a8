/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets of gdb's remote serial protocol (gdb's manual, "Overview"): pure functions on buffers.
 * Input from the client is untrusted.
 */
#ifndef GDB_PACKET_H
#define GDB_PACKET_H

#include <auxtap/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes between $ and #, after removing escapes, of the longest packet in either direction. */
#define GDB_PACKET_MAX 16384

enum gdb_input {
	GDB_INPUT_MORE, /* the bytes end before the packet does */
	GDB_INPUT_PACKET,
	GDB_INPUT_ACK,	   /* '+' */
	GDB_INPUT_NAK,	   /* '-': the client asks for the last packet again */
	GDB_INPUT_BREAK,   /* 0x03: stop */
	GDB_INPUT_DAMAGED, /* wrong checksum, longer than GDB_PACKET_MAX, or no packet at all */
};

struct gdb_packet {
	size_t size;
	char data[GDB_PACKET_MAX + 1]; /* without escapes; a NUL follows */
};

/*
 * Parses the item at the front of in[0..size). *used: the number of bytes to remove; with
 * GDB_INPUT_MORE none. At most 2 * GDB_PACKET_MAX + 4 bytes are needed for another result.
 */
enum gdb_input gdb_packet_take(const uint8_t *in, size_t size, size_t *used,
			       struct gdb_packet *packet);

/*
 * A reply that is being built. If it does not fit, 'cut' is set: it is then replaced by an error,
 * never sent in part.
 */
struct gdb_reply {
	size_t size;
	bool cut;
	char data[2 * GDB_PACKET_MAX];
};

void gdb_reply_reset(struct gdb_reply *reply);
void gdb_reply_text(struct gdb_reply *reply, const char *fmt, ...) AUXTAP_PRINTF(2, 3);
/* Appends two hexadecimal digits for each byte. */
void gdb_reply_hex(struct gdb_reply *reply, const void *bytes, size_t size);
/* Appends bytes as they are, but escapes those with a meaning in a packet. */
void gdb_reply_binary(struct gdb_reply *reply, const void *bytes, size_t size);
/* Writes '$', the reply, '#', checksum. Returns the number of bytes; 0: more than max. */
size_t gdb_reply_frame(const struct gdb_reply *reply, uint8_t *out, size_t max);

/*
 * Reads a hexadecimal number at *text, of at most 16 digits, and moves *text after it. False: no
 * digit, or too many.
 */
bool gdb_take_hex(const char **text, uint64_t *value);
/* The same, and the character 'end' after it, which is skipped, too. */
bool gdb_take_hex_until(const char **text, char end, uint64_t *value);
/* Decodes pairs of hexadecimal digits. Returns the number of bytes; -1: invalid, or too many. */
long gdb_unhex(const char *text, size_t len, void *out, size_t max);

#endif
