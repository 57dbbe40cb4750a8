/* SPDX-License-Identifier: BSD-2-Clause */
/* Code for flow decoders: files that processes mapped, files of --image, memory dumps. */
#ifndef AUXTAP_CS_MEMORY_H
#define AUXTAP_CS_MEMORY_H

#include "cs_snapshot.h"
#include "decode/image/image_private.h"

struct cs_memory_dump {
	uint64_t addr, size;
	uint32_t space;	      /* CS_SPACE_…; 0: any */
	const uint8_t *bytes; /* NULL: the file does not exist */
};

/* The memory dumps of a snapshot directory. */
struct cs_memory_dumps {
	struct cs_memory_dump *dumps; /* where two overlap, the first one is used */
	size_t nr;
};

/* Adds the dumps to the image set, for symbols and names. A missing file is not an error. */
int cs_memory_dumps_load(struct cs_memory_dumps *dumps, struct auxtap_image_set *set,
			 const struct cs_snapshot *ss, struct auxtap_error *err);
void cs_memory_dumps_free(struct cs_memory_dumps *dumps);

struct cs_memory {
	struct auxtap_image_set *set;
	const struct cs_memory_dumps *dumps;
	int32_t pid;
	/* the code ran after 'since', at the latest at 'time'; UINT64_MAX: newest mappings */
	uint64_t time;
	uint64_t since;
	bool from_start; /* see struct image_between */
	bool changed;	 /* mappings may have changed between the two times */
	uint32_t space;
	/* instructions executed in an image, not yet added to its counter */
	uint64_t count_lo, count_hi, count_nr;
	struct auxtap_image *count_image;
};

/* Reads code at addr; returns the number of bytes, 0 if it is not known. */
uint32_t cs_memory_read(const struct cs_memory *mem, uint64_t addr, uint32_t size, void *buf);
/* Sets whose code is executed, and when. False: all of it was set already. */
bool cs_memory_set(struct cs_memory *mem, int32_t pid, uint64_t since, uint64_t time,
		   bool from_start);
/* Whether mappings changed so that it is not known which code was at addr. */
bool cs_memory_code_uncertain(const struct cs_memory *mem, uint64_t addr);
/* Counts executed instructions for the image that is mapped at addr. */
void cs_memory_count(struct cs_memory *mem, uint64_t addr, uint64_t nr_insns);
void cs_memory_count_flush(struct cs_memory *mem);
/* Writes why no code can be read at addr into text, and counts the gap for the image there. */
void cs_memory_describe_fault(const struct cs_memory *mem, uint64_t addr, char *text, size_t size);

#endif
