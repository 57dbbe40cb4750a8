// SPDX-License-Identifier: BSD-2-Clause
/*
 * The ranges of code in .eh_frame: for the C library, readelf is the reference; wrong tables are
 * refused, or give wrong ranges within the file.
 */
#include "decode/image/image_private.h"

#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static int find_libc(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	if (!strstr(info->dlpi_name, "libc.so"))
		return 0;
	snprintf(ctx, 256, "%s", info->dlpi_name);
	return 1;
}

/* Each entry that readelf lists: its start, its middle and its last byte are in its range. */
static void check_by_readelf(struct auxtap_image *image, const char *path)
{
	char command[320], line[256];
	size_t nr = 0;
	FILE *out;

	snprintf(command, sizeof(command), "readelf --wide --debug-dump=frames %s 2>/dev/null",
		 path);
	out = popen(command, "r");
	assert_non_null(out);
	while (fgets(line, sizeof(line), out)) {
		const char *at = strstr(line, " FDE ") ? strstr(line, " pc=") : NULL;
		unsigned long start, end;
		struct image_range range;

		if (!at || sscanf(at, " pc=%lx..%lx", &start, &end) != 2 || start == end)
			continue;
		for (unsigned int i = 0; i < 3; i++) {
			uint64_t in = i == 0 ? start : i == 1 ? start + (end - start) / 2 : end - 1;

			assert_true(image_eh_find(image, in, &range));
			assert_int_equal(range.start, start);
			assert_int_equal(range.end, end);
		}
		nr++;
	}
	pclose(out);
	if (!nr) {
		print_message("readelf lists no entries: is it installed?\n");
		skip();
	}
	assert_true(nr > 100);
}

static void as_readelf(void **state)
{
	struct auxtap_image image = {0};
	char path[256] = "";

	(void)state;
	dl_iterate_phdr(find_libc, path);
	assert_true(path[0]);
	assert_int_equal(image_file_map(&image, path), 0);
	check_by_readelf(&image, path);
	assert_null(image.eh);
	image_file_close(&image);
}

/* Drops the file's search table, as static programs are linked. */
static void drop_search_table(uint8_t *data)
{
	Elf64_Ehdr eh;

	memcpy(&eh, data, sizeof(eh));
	for (unsigned int i = 0; i < eh.e_phnum; i++) {
		uint8_t *at = data + eh.e_phoff + (size_t)i * eh.e_phentsize;
		Elf64_Phdr ph;

		memcpy(&ph, at, sizeof(ph));
		if (ph.p_type == PT_GNU_EH_FRAME)
			ph.p_type = PT_NULL;
		memcpy(at, &ph, sizeof(ph));
	}
}

/* The entries of the section are listed instead; a damaged one leads to no reads elsewhere. */
static void listed(void **state)
{
	struct auxtap_image image = {0}, copy;
	unsigned int seed = 2;
	char path[256] = "";
	uint64_t off, left;
	uint8_t *data;

	(void)state;
	dl_iterate_phdr(find_libc, path);
	assert_int_equal(image_file_map(&image, path), 0);
	data = malloc(image.size);
	assert_non_null(data);
	memcpy(data, image.data, image.size);
	drop_search_table(data);
	copy = image;
	copy.data = data;
	check_by_readelf(&copy, path);
	assert_true(copy.nr_eh > 100);
	assert_int_equal(image_vaddr_to_off(&image, copy.eh[0].entry, &off, &left), 0);
	for (int round = 0; round < 100; round++) {
		/* the section, the file's header, the headers of the sections */
		size_t at = round % 4 == 0 ? (size_t)rand_r(&seed) % 64 :
			    round % 4 == 1 ? image.size - 1 - (size_t)rand_r(&seed) % 4096 :
					     off + (size_t)rand_r(&seed) % 4096;
		uint8_t was = data[at];

		data[at] = (uint8_t)rand_r(&seed);
		free(copy.eh);
		copy.eh = NULL;
		copy.nr_eh = 0;
		copy.eh_listed = false;
		for (uint64_t in = 0; in < image.size; in += 4001) {
			struct image_range range;

			if (image_eh_find(&copy, in, &range))
				assert_true(in >= range.start && in < range.end);
			image_eh_landing_pad(&copy, in);
		}
		data[at] = was;
	}
	free(data);
	free(copy.eh);
	image_file_close(&image);
}

/* Changes each byte of the tables in turn: no value leads to reads outside the file. */
static void damaged(void **state)
{
	struct auxtap_image image = {0}, copy = {0};
	unsigned int seed = 1;
	char path[256] = "";
	uint64_t text = 0;
	uint8_t *data;

	(void)state;
	dl_iterate_phdr(find_libc, path);
	assert_int_equal(image_file_map(&image, path), 0);
	data = malloc(image.size);
	assert_non_null(data);
	for (unsigned int i = 0; i < image.nr_loads; i++)
		if (image.loads[i].exec)
			text = image.loads[i].vaddr;
	for (int round = 0; round < 40; round++) {
		memcpy(data, image.data, image.size);
		for (size_t at = 0; at < image.size; at += 1 + (size_t)rand_r(&seed) % 64)
			if (at > 4096) /* keep the headers */
				data[at] = (uint8_t)rand_r(&seed);
		copy = image;
		copy.data = data;
		for (uint64_t at = text; at < text + (1 << 20); at += 997) {
			struct image_range range;

			if (image_eh_find(&copy, at, &range))
				assert_true(at >= range.start && at < range.end);
			image_eh_landing_pad(&copy, at);
		}
	}
	free(data);
	image_file_close(&image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_readelf),
		cmocka_unit_test(listed),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
