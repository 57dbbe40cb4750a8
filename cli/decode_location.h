/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Caches of 'auxtap decode': names of address ranges, and the text of SPE packets. Each printer has
 * its own.
 */
#ifndef AUXTAP_DECODE_LOCATION_H
#define AUXTAP_DECODE_LOCATION_H

#include <auxtap/decode.h>

#define LOCATION_TEXT 64

/* A range of addresses with the same names; the image set owns the strings. */
struct location {
	struct auxtap_range range; /* image NULL: no image is mapped there */
	int32_t pid;
	const char *name; /* the symbol, or the last part of the image's name */
	uint64_t base;	  /* an address minus base is the offset in the symbol or image */
	size_t name_len, image_len;
	/*
	 * Copies of name and "(image)" if they fit: the printer copies them in fixed-size steps,
	 * whatever their length.
	 */
	char name_text[LOCATION_TEXT], image_text[LOCATION_TEXT];
	/* set only by location_line() */
	const char *file;
	unsigned int line;
};

#define LOCATION_NR_BIG	  4 /* ranges of more than LOCATION_BIG_SIZE bytes */
#define LOCATION_SLOTS	  512
#define LOCATION_BIG_SIZE (64u << 10)

#define WORD_SLOTS 256

enum word_kind {
	WORD_NONE,
	WORD_OP,
	WORD_EVENTS,
};

struct word {
	uint64_t key;
	uint8_t kind, len;
	char text[246]; /* longer text is not cached */
};

struct decode_locations {
	struct location big[LOCATION_NR_BIG], slots[LOCATION_SLOTS];
	struct location other; /* the result of location_line(), not cached */
	unsigned int next_big;
	struct word words[WORD_SLOTS];
	char text[512]; /* text of a packet that is not cached */
};

/* Valid until the next call. time: 0 if it is not known. */
const struct location *location_find(struct decode_locations *locations,
				     struct auxtap_image_set *images, int32_t pid, uint64_t time,
				     uint64_t addr);
/* The same with the source line. */
const struct location *location_line(struct decode_locations *locations,
				     struct auxtap_image_set *images, int32_t pid, uint64_t time,
				     uint64_t addr);

/* "LD GP-REG"; "RETIRED L1D-ACCESS", without "EV". Valid until the next call. */
const char *location_op(struct decode_locations *locations, uint8_t op_class, uint8_t op,
			size_t *len);
const char *location_events(struct decode_locations *locations, uint64_t events, size_t *len);

#endif
