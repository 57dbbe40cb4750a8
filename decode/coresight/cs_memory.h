/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code for the flow: files that processes had mapped, what was given by hand, a snapshot's dumps.
 */
#ifndef AUXTAP_CS_MEMORY_H
#define AUXTAP_CS_MEMORY_H

#include "cs_snapshot.h"
#include "decode/image/image_private.h"

struct cs_dump {
	uint64_t addr, size;
	uint32_t space;
	const uint8_t *bytes; /* NULL: the file is not there */
};

/* The memory dumps of a decoder. */
struct cs_dumps {
	struct cs_dump *dumps; /* where two overlap the first holds */
	size_t nr;
};

/*
 * The dumps become images of the set, for symbols and names. A file that is not there is no error.
 */
int cs_dumps_load(struct cs_dumps *dumps, struct auxtap_image_set *set,
		  const struct cs_snapshot *ss, struct auxtap_error *err);
void cs_dumps_free(struct cs_dumps *dumps);

struct cs_memory {
	struct auxtap_image_set *set;
	const struct cs_dumps *dumps;
	int32_t pid;
	uint64_t time;	 /* not later; UINT64_MAX: the last that is known */
	uint64_t since;	 /* later than that */
	bool from_start; /* see struct image_between */
	bool changed;	 /* the maps, between the two */
	uint32_t space;
	/* image that the last instructions were in */
	uint64_t count_lo, count_hi, count_nr;
	struct auxtap_image *count_image;
};

/* The count; 0 where there are none. */
uint32_t cs_memory_read(const struct cs_memory *mem, uint64_t addr, uint32_t size, void *buf);
/* Whose code is run, and when. False: nothing is different from what it was. */
bool cs_memory_set(struct cs_memory *mem, int32_t pid, uint64_t since, uint64_t time,
		   bool from_start);
/* Is it not known which code was at addr? */
bool cs_memory_in_doubt(const struct cs_memory *mem, uint64_t addr);
void cs_memory_count(struct cs_memory *mem, uint64_t addr, uint64_t nr_insns);
void cs_memory_count_flush(struct cs_memory *mem);
/* Nothing could be read at addr: why, in words; counted with the image. */
void cs_memory_fault(const struct cs_memory *mem, uint64_t addr, char *text, size_t size);

#endif
