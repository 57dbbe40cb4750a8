/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets of gdb's remote serial protocol (gdb's manual, "Overview"): pure functions on buffers.
 * What comes from the client is untrusted.
 */
#ifndef GDB_PACKET_H
#define GDB_PACKET_H

#include <auxtap/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes between $ and #, escapes not counted twice, of the longest packet in either direction. */
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
 * Takes what is at the front of in[0..size). *used: how many bytes to remove from it; with
 * GDB_INPUT_MORE none, and never more than 2 * GDB_PACKET_MAX + 4 bytes are needed for an answer.
 */
enum gdb_input gdb_packet_take(const uint8_t *in, size_t size, size_t *used,
			       struct gdb_packet *packet);

/*
 * A reply that grows. What does not fit is left out, and 'cut' is set: a reply is then replaced by
 * an error, never sent in part.
 */
struct gdb_reply {
	size_t size;
	bool cut;
	char data[2 * GDB_PACKET_MAX];
};

void gdb_reply_reset(struct gdb_reply *reply);
void gdb_reply_text(struct gdb_reply *reply, const char *fmt, ...) AUXTAP_PRINTF(2, 3);
/* Two hexadecimal digits for each byte. */
void gdb_reply_hex(struct gdb_reply *reply, const void *bytes, size_t size);
/* Bytes as they are, with escapes for those that mean something in a packet. */
void gdb_reply_binary(struct gdb_reply *reply, const void *bytes, size_t size);
/* '$', the reply, '#', checksum: the bytes to send, at most max; 0 if there are more. */
size_t gdb_reply_frame(const struct gdb_reply *reply, uint8_t *out, size_t max);

/*
 * Reads a hexadecimal number at *text, of at most 16 digits, and moves *text after it. False: no
 * digit, or too many.
 */
bool gdb_take_hex(const char **text, uint64_t *value);
/* The same, and the character 'end' after it, which is skipped, too. */
bool gdb_take_hex_until(const char **text, char end, uint64_t *value);
/* Bytes from pairs of digits. How many; -1: something else than pairs of digits, or too many. */
long gdb_unhex(const char *text, size_t len, void *out, size_t max);

#endif
