/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parts of images in a packed recording. A packed image keeps its size and the offsets of the
 * parts; the rest is a hole. So all code that reads an image file can read these, too.
 * AUXTAP_METADATA_PACK_IMAGE is a zstd frame of: struct packed_header; its name and path, NUL
 * included; then nr_files times a struct packed_file_header, its extents, their bytes. Also records
 * which parts of images were used, for the packer.
 */
#ifndef AUXTAP_IMAGE_PACKED_H
#define AUXTAP_IMAGE_PACKED_H

#include "image_private.h"

#include <elfutils/libdwfl.h>

#define PACKED_READABLE 1 /* flag of an extent: original bytes; else: reduced sections */

struct packed_extent {
	uint64_t off, size, flags;
};

struct packed_file_header {
	uint64_t size; /* of the original file */
	uint64_t nr_extents, nr_bytes;
};

struct packed_header {
	uint32_t name_size, path_size;
	uint32_t nr_files; /* 0: no file was found; 1: the image; 2: its debug file, too */
	uint32_t state;	   /* enum auxtap_image_state */
	uint8_t build_id[20], found_build_id[20];
	uint8_t build_id_size, found_build_id_size, denied, changed;
	uint32_t maj, min;
	uint64_t ino;
};

struct packed_file {
	uint64_t size; /* 0: none */
	const struct packed_extent *extents;
	size_t nr_extents;
	const uint8_t *bytes;
};

struct packed_image {
	uint8_t *unpacked; /* the decompressed record; the other members point into it */
	struct packed_header header;
	const char *name, *path;
	struct packed_file file, debug;
};

/* Unpacks metadata of a packed file: a zstd frame. 0 or -errno; *out is malloc'ed. */
int packed_unpack(const void *data, size_t size, uint8_t **out, size_t *out_size);

/* Adds a packed image. 0, -ENOMEM, or -EBADMSG: it is damaged. */
int image_packed_add(struct auxtap_image_set *set, const void *data, size_t size);
/* If the set has packed parts of the image: uses them as its file and returns true. */
bool image_packed_find(const struct auxtap_image_set *set, struct auxtap_image *image);
void image_packed_free(struct auxtap_image_set *set);
/* Whether the byte at off is not in a hole; limits *left to the bytes up to the next hole. */
bool image_packed_has(const struct auxtap_image *image, uint64_t off, size_t *left);
/*
 * As dwfl_report_elf() for the image's file or its packed parts; sets the module's *data for
 * image_packed_debug(), which is a find_debuginfo callback.
 */
Dwfl_Module *image_report_elf(Dwfl *dwfl, struct auxtap_image *image, GElf_Addr base,
			      bool add_vaddr);
int image_packed_debug(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base,
		       const char *file, const char *link, GElf_Word crc, char **found);

/*
 * A new file descriptor of the image's file or packed parts, or of its packed debug file; -1: none.
 */
int image_open_again(const struct auxtap_image *image);
int image_open_packed_debug(const struct auxtap_image *image);

/* ---- image_use.c: which parts of images were used; the caller holds the lock ---- */

#define IMAGE_USE_GRANULE 64

struct image_use {
	uint64_t *names; /* a bit for each granule of the file: its symbols and lines are needed */
	uint64_t *pages; /* a bit for each page of the file: its bytes are needed */
	size_t nr_bytes; /* of the file */
	uint64_t *variables; /* ELF addresses of those whose names are needed */
	size_t nr_variables, max_variables;
};

void image_use_bytes(struct auxtap_image *image, uint64_t off, uint64_t size);
/* vaddr: ELF address; the bytes before and after the range count, too */
void image_use_name(struct auxtap_image *image, uint64_t vaddr, uint64_t size);
bool image_use_has_name(const struct auxtap_image *image, uint64_t vaddr, uint64_t end);
/* vaddr: where the variable begins */
void image_use_variable(struct auxtap_image *image, uint64_t vaddr);
bool image_use_has_variable(const struct auxtap_image *image, uint64_t vaddr);
void image_use_free(struct auxtap_image *image);
/* From now on the set tracks which parts of images are used. */
void image_set_track_use(struct auxtap_image_set *set);
/* Tracks that [addr, addr + size) was executed. */
void image_set_note_executed(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
			     uint64_t size);

/* ---- image_source.c: source lines that are embedded in the recording, or will be packed ---- */

struct image_source {
	char *file, *text;
	unsigned int line;
	bool newer; /* the source file is newer than the image */
};

/* The line if the set has it; NULL: it has not. */
const struct image_source *image_set_find_source(const struct auxtap_image_set *set,
						 const char *file, unsigned int line);
/* Keeps the line if the set tracks use. */
void image_set_note_source(struct auxtap_image_set *set, const char *file, unsigned int line,
			   const char *text, size_t size, bool newer);
/* All lines as one text for AUXTAP_METADATA_PACK_SOURCE, malloc'ed; NULL: none, or no memory. */
uint8_t *image_source_pack(const struct auxtap_image_set *set, size_t *size);
/* 0, -ENOMEM or -EBADMSG */
int image_source_add(struct auxtap_image_set *set, const void *data, size_t size);
void image_source_free(struct auxtap_image_set *set);

/* ---- for decode/flow and decode/pack ---- */

/* Adds metadata of a packed recording. 0, -ENOMEM or -EBADMSG. */
int image_set_add_packed(struct auxtap_image_set *set, uint32_t type, const void *data,
			 size_t size);

#endif
