// SPDX-License-Identifier: BSD-2-Clause
/*
 * Images of a packed file: what is kept is read, a hole is missing and never zeros, and each
 * damaged record is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "decode/image/packed.h"

#include <auxtap/perfdata.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define NAME "/nonexistent/program"
#define BASE 0x10000ull
#define PAGE 4096

/* Two pages of a file of four: the second can be read, of the third the first granule is a table.
 */
struct record {
	struct packed_header head;
	char name[sizeof(NAME)], path[sizeof(NAME)];
	char pad[6];
	struct packed_file_header file;
	struct packed_extent extents[2];
	uint8_t bytes[PAGE + 64];
};

static void fill(struct record *r)
{
	_Static_assert(offsetof(struct record, file) % 8 == 0, "numbers lie at multiples of 8");
	memset(r, 0, sizeof(*r));
	r->head.name_size = r->head.path_size = sizeof(NAME);
	r->head.nr_files = 1;
	r->head.ino = 7;
	strcpy(r->name, NAME);
	strcpy(r->path, NAME);
	r->file = (struct packed_file_header){4 * PAGE, 2, sizeof(r->bytes)};
	r->extents[0] = (struct packed_extent){PAGE, PAGE, PACKED_READABLE};
	r->extents[1] = (struct packed_extent){2 * PAGE, 64, 0};
	memset(r->bytes, 0x90, sizeof(r->bytes));
}

static struct auxtap_image_set *new_set(void)
{
	struct auxtap_image_set_opts opts = {.size = sizeof(opts)};
	struct auxtap_image_set *set;

	assert_int_equal(auxtap_image_set_new(&set, &opts, NULL), 0);
	return set;
}

static int add(struct auxtap_image_set *set, const struct record *r, size_t size)
{
	size_t bound = ZSTD_compressBound(size), nr;
	void *frame = malloc(bound);
	int ret;

	assert_non_null(frame);
	nr = ZSTD_compress(frame, bound, r, size, 1);
	assert_false(ZSTD_isError(nr));
	ret = image_set_add_packed(set, AUXTAP_METADATA_PACK_IMAGE, frame, nr);
	free(frame);
	return ret;
}

static void map(struct auxtap_image_set *set, uint64_t ino)
{
	const struct file_identity file = {.ino = ino};

	assert_int_equal(image_set_add_map(set, 1, 0, BASE, 4 * PAGE, 0, NAME, NULL, 0, &file), 0);
}

static void holes(void **state)
{
	struct auxtap_image_set *set = new_set();
	uint8_t buf[32];
	struct record r;

	(void)state;
	fill(&r);
	assert_int_equal(add(set, &r, sizeof(r)), 0);
	map(set, 7);
	assert_int_equal(auxtap_image_set_read(set, 1, 0, BASE + PAGE, buf, sizeof(buf)), 32);
	assert_int_equal(buf[0], 0x90);
	/* up to the table, which is not as in the file; a hole before, and one after */
	assert_int_equal(auxtap_image_set_read(set, 1, 0, BASE + 2 * PAGE - 8, buf, 32), 8);
	assert_int_equal(auxtap_image_set_read(set, 1, 0, BASE + 2 * PAGE, buf, 32), -ENOENT);
	assert_int_equal(auxtap_image_set_read(set, 1, 0, BASE, buf, 32), -ENOENT);
	assert_int_equal(auxtap_image_set_read(set, 1, 0, BASE + 3 * PAGE, buf, 32), -ENOENT);
	auxtap_image_set_free(set);
}

static void other_file(void **state)
{
	struct auxtap_image_set *set = new_set();
	uint8_t buf[32];
	struct record r;

	(void)state;
	fill(&r);
	assert_int_equal(add(set, &r, sizeof(r)), 0);
	map(set, 8);
	assert_int_equal(auxtap_image_set_read(set, 1, 0, BASE + PAGE, buf, 32), -ENOENT);
	auxtap_image_set_free(set);
}

static void refused(const struct record *r, size_t size)
{
	struct auxtap_image_set *set = new_set();

	assert_int_equal(add(set, r, size), -EBADMSG);
	auxtap_image_set_free(set);
}

static void damaged(void **state)
{
	struct record good, r;

	(void)state;
	fill(&good);
	refused(&good, sizeof(good) - 1);
	refused(&good, sizeof(good.head) - 1);
	refused(&good, 0);
#define DAMAGE(change)                  \
	do {                            \
		r = good;               \
		change;                 \
		refused(&r, sizeof(r)); \
	} while (0)
	DAMAGE(r.head.nr_files = 3);
	DAMAGE(r.head.nr_files = 2);
	DAMAGE(r.head.nr_files = 0);
	DAMAGE(r.head.state = 3);
	DAMAGE(r.head.build_id_size = 21);
	DAMAGE(r.head.name_size = 0);
	DAMAGE(r.head.name_size = UINT32_MAX);
	DAMAGE(r.name[3] = '\0');
	DAMAGE(r.path[sizeof(r.path) - 1] = 'x');
	DAMAGE(r.file.size = 0);
	DAMAGE(r.file.size = UINT64_MAX);
	DAMAGE(r.file.size = PAGE);
	DAMAGE(r.file.nr_extents = UINT64_MAX);
	DAMAGE(r.file.nr_extents = 1);
	DAMAGE(r.file.nr_bytes--);
	DAMAGE(r.file.nr_bytes++);
	DAMAGE(r.extents[1].off = PAGE);
	DAMAGE(r.extents[0].off = UINT64_MAX);
	DAMAGE(r.extents[0].size = UINT64_MAX);
	DAMAGE(r.extents[1].size++);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holes),
		cmocka_unit_test(other_file),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
