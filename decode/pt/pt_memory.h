/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose code a segment's flow is in, and what of it can be read. */
#ifndef AUXTAP_PT_MEMORY_H
#define AUXTAP_PT_MEMORY_H

#include "decode/image/image_private.h"

struct pt_memory {
	struct auxtap_image_set *set;
	pid_t pid;
	uint64_t time;
	uint64_t fault_ip; /* the last address that could not be read; fault_image: its file */
	char fault_image[80];
	bool fault_mapped;
	const struct image_code *code; /* that the process generated; NULL: none */
};

/* As long as none of these change, the mappings are the same. */
struct pt_epoch {
	pid_t pid;
	size_t user, kernel; /* changes of the two spaces so far */
};

static inline bool pt_epoch_same(const struct pt_epoch *a, const struct pt_epoch *b)
{
	return a->pid == b->pid && a->user == b->user && a->kernel == b->kernel;
}

void pt_memory_init(struct pt_memory *mem, struct auxtap_image_set *set);
/* Is there code at ip? If not, fault_ip and fault_image say where. count: note it with the image.
 */
bool pt_memory_readable(struct pt_memory *mem, uint64_t ip, bool count);
/*
 * The code at [addr, addr + size) was read as the process executed it last. Since when was it so?
 * 0: always, as far as the mappings say. Is that known to hold at the memory's time?
 */
uint64_t pt_memory_code_since(struct pt_memory *mem, uint64_t addr, uint64_t size);
static inline bool pt_memory_is_valid_since(const struct pt_memory *mem, uint64_t since)
{
	return !since || (since <= mem->time && mem->time != UINT64_MAX);
}
/* These two under the lock of the set. The first also notes the code of the process. */
struct pt_epoch pt_memory_epoch(struct pt_memory *mem);
/* Parts of files that hold code, and where they are mapped: later ones hide what was there. */
void pt_memory_each_file(struct auxtap_image_set *set, const struct pt_epoch *epoch,
			 void (*fn)(void *ctx, const char *path, uint64_t off, uint64_t size,
				    uint64_t addr),
			 void *ctx);

#endif
