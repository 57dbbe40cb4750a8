// SPDX-License-Identifier: BSD-2-Clause
/*
 * auxtap_image_set_range() against auxtap_image_set_symbol(): the answer for a whole range and a
 * whole span of times equals the other's for each address and time in it.
 */
#include <auxtap/image.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define PID	 42
#define NR_ASKED 300
#define NR_TRIED 200

static unsigned int seed = 1;

static uint64_t below(uint64_t n)
{
	return (((uint64_t)rand_r(&seed) << 31) ^ (uint64_t)rand_r(&seed)) % n;
}

/* An address near a change, or any address. */
static uint64_t any_addr(const uint64_t *places, size_t nr)
{
	uint64_t near = places[below(nr)];

	return below(8) ? near + below(0x6000) - 0x3000 :
	       below(2) ? below(1ull << 47) :
			  0 - below(1ull << 40);
}

static void same(struct auxtap_image_set *set, const struct auxtap_range *range, uint64_t time,
		 uint64_t addr)
{
	struct auxtap_location loc = {.size = sizeof(loc)};

	assert_int_equal(auxtap_image_set_symbol(set, PID, time, addr, &loc), 0);
	if (!range->image) {
		assert_null(loc.image);
		return;
	}
	assert_non_null(loc.image);
	assert_string_equal(loc.image, range->image);
	assert_int_equal(addr - range->image_base, loc.image_off);
	assert_ptr_equal(range->symbol, loc.frames[0].symbol);
	if (range->symbol)
		assert_int_equal(addr - range->symbol_base, loc.frames[0].symbol_off);
}

static uint64_t inside(uint64_t first, uint64_t last)
{
	switch (below(4)) {
	case 0:
		return first;
	case 1:
		return last;
	default:
		return last - first == UINT64_MAX ? below(UINT64_MAX) :
						    first + below(last - first + 1);
	}
}

static void check(struct auxtap_image_set *set, const uint64_t *places, size_t nr,
		  unsigned int *nr_wide, unsigned int *nr_symbols)
{
	for (unsigned int i = 0; i < NR_ASKED; i++) {
		uint64_t addr = any_addr(places, nr), time = below(120);
		struct auxtap_range range = {.size = sizeof(range)};

		assert_int_equal(auxtap_image_set_range(set, PID, time, addr, &range), 0);
		assert_true(addr >= range.start && addr < range.end);
		assert_true(time >= range.time_begin && time <= range.time_last);
		*nr_wide += range.end - range.start > 1;
		*nr_symbols += range.symbol != NULL;
		for (unsigned int k = 0; k < NR_TRIED; k++) {
			uint64_t last = range.time_last < 200 ? range.time_last : 200;

			same(set, &range, inside(range.time_begin, last),
			     inside(range.start, range.end - 1));
		}
	}
}

extern char __executable_start[]; /* by the linker */

static void test_ranges(void **state)
{
	/* file offset of this program's functions, however it was linked */
	uint64_t text = (uint64_t)((uintptr_t)check - (uintptr_t)__executable_start) & ~0xfffull;
	static const char *const names[] = {"/nowhere/a", "/nowhere/b", "/proc/self/exe", "[heap]"};
	unsigned int nr_wide = 0, nr_symbols = 0;

	(void)state;
	for (unsigned int turn = 0; turn < 20; turn++) {
		struct auxtap_image_set_opts opts = {.size = sizeof(opts)};
		struct auxtap_image_set *set;
		uint64_t places[40];
		size_t nr = 0;

		assert_int_equal(auxtap_image_set_new(&set, &opts, NULL), 0);
		for (unsigned int i = 0; i < 20; i++) {
			uint64_t addr = 0x400000 + (below(64) << 12), len = (1 + below(200)) << 12;
			const char *name = names[below(4)];
			uint64_t time = below(100), off = below(3) << 12;

			if (!below(16)) {
				assert_int_equal(auxtap_image_set_exec(set, PID, time), 0);
				continue;
			}
			if (!below(10)) /* the kernel's half, another process */
				addr |= 0xffffull << 48;
			if (!strcmp(name, "/proc/self/exe"))
				off += text;
			assert_int_equal(auxtap_image_set_add_mapping(set, below(9) ? PID : PID + 1,
								      time, addr, len, off, name,
								      NULL, 0),
					 0);
			places[nr++] = addr;
			places[nr++] = addr + len;
		}
		if (turn % 5 == 4)
			assert_int_equal(auxtap_image_set_add_file(set, "/proc/self/exe", 0, 0x1000,
								   0x410000, NULL),
					 0);
		check(set, places, nr, &nr_wide, &nr_symbols);
		auxtap_image_set_free(set);
	}
	assert_true(nr_wide > 20 * NR_ASKED / 2);
	assert_true(nr_symbols > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
