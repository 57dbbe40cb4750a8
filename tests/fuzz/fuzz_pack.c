// SPDX-License-Identifier: BSD-2-Clause
/*
 * Fuzz target: any bytes as the uncompressed record of an image in a packed file: it is refused, or
 * it is an image whose code, symbols, lines and unwind information are looked up. For libFuzzer,
 * and called by mutate.c.
 */
#include "fuzz.h"

#include "decode/image/packed.h"

#include <auxtap/perfdata.h>
#include <stdlib.h>
#include <zstd.h>

#define BASE	0x400000ull
#define LENGTH	0x200000ull
#define NR_LOOK 64

static void look(struct auxtap_image_set *set, uint64_t addr)
{
	struct auxtap_location loc = {.size = sizeof(loc)};
	struct auxtap_range range = {.size = sizeof(range)};
	struct image_range eh;
	char insn[64];
	uint8_t code[64];

	auxtap_image_set_resolve(set, 1, 0, addr, &loc);
	auxtap_image_set_range(set, 1, 0, addr, &range);
	image_set_find_range(set, 1, 0, addr, &eh);
	image_set_landing_pad(set, 1, 0, addr);
	auxtap_image_set_read(set, 1, 0, addr, code, sizeof(code));
	auxtap_image_set_disassemble(set, 1, 0, addr, insn, sizeof(insn));
}

static void look_at_image(struct auxtap_image_set *set, const struct packed_image *p)
{
	const struct file_identity file = {p->header.maj, p->header.min, p->header.ino};

	if (image_set_add_map(set, 1, 0, BASE, LENGTH, 0, p->name, p->header.build_id,
			      p->header.build_id_size, &file))
		abort();
	for (uint64_t i = 0; i < NR_LOOK; i++)
		look(set, BASE + i * LENGTH / NR_LOOK);
	for (size_t i = 0; i < p->file.nr_extents; i += p->file.nr_extents / NR_LOOK + 1)
		look(set, BASE + p->file.extents[i].off);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct auxtap_image_set_opts opts = {.size = sizeof(opts), .sysroot = "/nonexistent"};
	size_t bound = ZSTD_compressBound(size), nr;
	struct auxtap_image_set *set;
	void *frame = malloc(bound);
	int ret;

	if (!frame || auxtap_image_set_new(&set, &opts, NULL))
		abort();
	nr = ZSTD_compress(frame, bound, data, size, 1);
	ret = image_set_add_packed(set, AUXTAP_METADATA_PACK_IMAGE, frame, nr);
	if (ret && ret != -EBADMSG)
		abort();
	if (!ret)
		look_at_image(set, set->packed[0]);
	if (image_set_add_packed(set, AUXTAP_METADATA_PACK_SOURCE, frame, nr) == -ENOMEM)
		abort();
	/* not compressed: no frame, or a damaged one */
	image_set_add_packed(set, AUXTAP_METADATA_PACK_IMAGE, data, size);
	auxtap_image_set_free(set);
	free(frame);
	return 0;
}
