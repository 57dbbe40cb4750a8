/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes of traced processes as libipt wants them: one pt_image per process and map epoch. */
#ifndef AUXTAP_PT_MEMORY_H
#define AUXTAP_PT_MEMORY_H

#include "decode/image/image_private.h"

#include <intel-pt.h>

#define PT_MEMORY_EPOCHS 4

struct pt_memory_epoch {
	struct pt_image *image;
	pid_t pid;
	size_t user, kernel; /* changes of the two spaces that went into it */
	uint64_t used;
};

/* One a queue; the section cache is shared by all queues of a decoder. */
struct pt_memory {
	struct auxtap_image_set *set;
	struct pt_image_section_cache *sections;
	pid_t pid;
	uint64_t time;
	struct pt_memory_epoch epochs[PT_MEMORY_EPOCHS];
	uint64_t clock;
	uint64_t fault_ip; /* the last address that could not be read; fault_image: its file */
	char fault_image[80];
	bool fault_mapped;
};

void pt_memory_init(struct pt_memory *mem, struct auxtap_image_set *set,
		    struct pt_image_section_cache *sections);
void pt_memory_free(struct pt_memory *mem);
/* The image of pid at time; owned by mem, valid until PT_MEMORY_EPOCHS others were asked for. */
struct pt_image *pt_memory_image(struct pt_memory *mem, pid_t pid, uint64_t time);
/* Is there code at ip? If not, fault_ip and fault_image say where. count: note it with the image.
 */
bool pt_memory_readable(struct pt_memory *mem, uint64_t ip, bool count);
void pt_memory_count(struct pt_memory *mem, uint64_t ip, uint64_t nr_insns);

#endif
