// SPDX-License-Identifier: BSD-2-Clause
/* Which bytes of a file are kept and readable, read back from what is written for packed files. */
#include "decode/pack/pack_sparse.h"
#include "decode/image/packed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define SIZE 1000 /* of the file: its last granule of 64 is not whole */

static uint8_t file[SIZE];
static struct pack_sparse f;

static void begin(void)
{
	for (size_t i = 0; i < SIZE; i++)
		file[i] = (uint8_t)(i * 7 + i / 256 + 1);
	assert_true(pack_sparse_init(&f, SIZE, 2 * SIZE));
}

/* "0-64r 128-192": extents by offsets, r: readable; bytes are those of want. */
static void expect(const char *extents, const uint8_t *want, uint64_t size)
{
	uint8_t *out = malloc(3), *bytes;
	size_t nr = 3, max = 3, at;
	struct packed_file_header head;
	uint64_t nr_bytes = 0;
	char text[300] = "";

	memcpy(out, "abc", 3);
	assert_true(pack_sparse_write(&f, &out, &nr, &max));
	assert_memory_equal(out, "abc\0\0\0\0\0", 8);
	memcpy(&head, out + 8, sizeof(head));
	assert_int_equal(head.size, size);
	at = 8 + sizeof(head);
	bytes = out + at + head.nr_extents * sizeof(struct packed_extent);
	for (uint64_t i = 0; i < head.nr_extents; i++) {
		struct packed_extent e;
		size_t used = strlen(text);

		memcpy(&e, out + at + i * sizeof(e), sizeof(e));
		snprintf(text + used, sizeof(text) - used, "%s%d-%d%s", used ? " " : "", (int)e.off,
			 (int)(e.off + e.size), e.flags == PACKED_READABLE ? "r" : "");
		assert_memory_equal(bytes + nr_bytes, want + e.off, e.size);
		nr_bytes += e.size;
	}
	assert_string_equal(text, extents);
	assert_int_equal(head.nr_bytes, nr_bytes);
	assert_int_equal(nr, (size_t)(bytes - out) + nr_bytes);
	free(out);
	pack_sparse_free(&f);
	assert_null(f.bytes);
}

static void pages(void **state)
{
	(void)state;
	begin();
	expect("", file, SIZE);
	begin();
	pack_sparse_keep_page(&f, 128, file + 128, 64);
	pack_sparse_keep_page(&f, 192, file + 192, 128);
	pack_sparse_keep_page(&f, 960, file + 960, 4096 - 960); /* the file ends before */
	pack_sparse_keep_page(&f, SIZE, file, 64);
	pack_sparse_keep_page(&f, 0, file, 0);
	expect("128-320r 960-1000r", file, SIZE);
}

/* The whole granules of what is kept are in the file: bytes beside it are zeros. */
static void parts(void **state)
{
	uint8_t want[SIZE] = {0};

	(void)state;
	begin();
	pack_sparse_keep(&f, 70, file + 70, 10);
	pack_sparse_keep(&f, 127, file + 127, 2);
	pack_sparse_keep(&f, 999, file + 999, 1);
	pack_sparse_keep(&f, 0, NULL, 64);
	pack_sparse_keep(&f, 320, file, 0);
	memcpy(want + 70, file + 70, 10);
	memcpy(want + 127, file + 127, 2);
	want[999] = file[999];
	expect("64-192 960-1000", want, SIZE);
}

/* Of a table that was made smaller nothing is readable; what is beside it in its granules is. */
static void changes(void **state)
{
	uint8_t want[SIZE], other[200];

	(void)state;
	memset(other, 0xee, sizeof(other));
	begin();
	memcpy(want, file, SIZE);
	memcpy(want + 100, other, 200);
	pack_sparse_keep_page(&f, 0, file, 640);
	pack_sparse_change(&f, 100, other, 200);
	expect("0-64r 64-100r 100-300 300-320r 320-640r", want, SIZE);

	begin();
	memcpy(want, file, SIZE);
	memcpy(want + 64, other, 128);
	pack_sparse_keep_page(&f, 0, file, SIZE);
	pack_sparse_change(&f, 64, other, 128); /* whole granules */
	expect("0-64r 64-192 192-1000r", want, SIZE);

	begin();
	memcpy(want, file, SIZE);
	memcpy(want + 970, other, 10);
	pack_sparse_keep_page(&f, 960, file + 960, 40);
	pack_sparse_change(&f, 970, other, 10);
	expect("960-970r 970-980 980-1000r", want, SIZE);
}

/* Beside what is changed nothing was kept: it is no edge that can be read. */
static void change_alone(void **state)
{
	uint8_t want[SIZE] = {0}, other[10];

	(void)state;
	memset(other, 0xee, sizeof(other));
	begin();
	memcpy(want + 100, other, 10);
	pack_sparse_change(&f, 100, other, 10);
	pack_sparse_change(&f, 500, other, 0);
	expect("64-128", want, SIZE);
	/* beyond the end of the file */
	begin();
	memset(want, 0, sizeof(want));
	memcpy(want + 995, other, 5);
	pack_sparse_change(&f, 995, other, 10);
	expect("960-1000", want, SIZE);
}

static void append(void **state)
{
	uint8_t want[2 * SIZE] = {0};

	(void)state;
	begin();
	assert_int_equal(pack_sparse_append(&f, 100), 1024);
	pack_sparse_keep(&f, 1024, file, 100);
	assert_int_equal(pack_sparse_append(&f, 64), 1152);
	assert_false(f.failed);
	memcpy(want + 1024, file, 100);
	expect("1024-1152", want, 1216);
	begin();
	assert_int_equal(pack_sparse_append(&f, 4 * SIZE), 0);
	assert_true(f.failed);
	expect("", want, SIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages),	cmocka_unit_test(parts),  cmocka_unit_test(changes),
		cmocka_unit_test(change_alone), cmocka_unit_test(append),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
