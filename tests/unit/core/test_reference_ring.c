// SPDX-License-Identifier: BSD-2-Clause
/*
 * The running kernel as reference for section E: random scripts of records, reads, pauses and
 * polls, run on two dummy events that share a ring, in the kernel and in the model.
 * After every step heads, poll results, lost counts and the new bytes must be the same.
 */
#include "support_perf_side.h"
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define P	 4096ul
#define NR_STEPS 300
#define NEW_MAX	 1024

struct config {
	uint64_t data_pages;
	int protection; /* 0 read-write, 1 read-only, 2 read-only first and then read-write */
	struct perf_event_attr attr;
	bool mmap2, mmap_data;
	uint64_t seed;
};

/* The state that is visible after a step. */
struct view {
	char what[48];
	uint64_t head, lost_a, lost_b;
	int poll;
	size_t nr_new;
	unsigned char new_bytes[NEW_MAX];
};

static uint64_t xorshift(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static struct config make_config(uint64_t seed)
{
	struct config c = {.seed = seed};
	uint64_t r = seed * 0x9e3779b97f4a7c15ull + 1;

	for (int i = 0; i < 4; i++)
		xorshift(&r);
	c.attr = side_dummy_attr();
	c.data_pages = 1ull << xorshift(&r) % 3;
	c.protection = xorshift(&r) % 6 == 0 ? 1 : xorshift(&r) % 6 == 0 ? 2 : 0;
	c.attr.write_backward = xorshift(&r) % 3 == 0;
	c.attr.sample_id_all = xorshift(&r) % 4 != 0;
	c.attr.sample_type =
		xorshift(&r) & (PERF_SAMPLE_TID | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
				PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
	c.mmap2 = xorshift(&r) % 3 != 0;
	c.mmap_data = xorshift(&r) % 2;
	c.attr.read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST;
	switch (xorshift(&r) % 4) {
	case 0: /* E6: an explicit watermark, also 0 and more than the ring */
		c.attr.watermark = 1;
		c.attr.wakeup_watermark = xorshift(&r) % 5 == 0 ? 0 : xorshift(&r) % 12000;
		break;
	case 1: /* E7: no effect on records other than samples */
		c.attr.wakeup_events = 1 + xorshift(&r) % 3;
		break;
	}
	return c;
}

static void ring_bytes(const struct perf_event_mmap_page *page, uint64_t at, void *to, size_t size)
{
	const unsigned char *data = (const unsigned char *)page + page->data_offset;
	unsigned char *out = to;

	for (size_t i = 0; i < size; i++)
		out[i] = data[(at + i) & (page->data_size - 1)];
}

/* True if the word at this distance from a record's end is an id of its sample id. */
static bool is_id_word(const struct perf_event_attr *attr, size_t from_end)
{
	/* clang-format off */
	static const struct {
		uint64_t bit;
		bool id;
	} fields[] = { /* from the end backward */
		{ PERF_SAMPLE_IDENTIFIER, true }, { PERF_SAMPLE_CPU, false },
		{ PERF_SAMPLE_STREAM_ID, true },  { PERF_SAMPLE_ID, true },
		{ PERF_SAMPLE_TID, false },
	};
	/* clang-format on */

	for (size_t i = 0; attr->sample_id_all && i < 5; i++) {
		if (!(attr->sample_type & fields[i].bit))
			continue;
		from_end -= 8;
		if (!from_end)
			return fields[i].id;
	}
	return false;
}

/* Only ids differ between the kernels: map them to 1 for the ring's owner, 2 for the other. */
static void mask_ids(unsigned char *bytes, size_t size, const struct perf_event_attr *attr,
		     const uint64_t ids[2])
{
	size_t at = 0;

	while (at + 8 <= size) {
		struct perf_event_header *h = (void *)(bytes + at);

		assert_true(h->size >= 8 && h->size % 8 == 0 && at + h->size <= size);
		for (size_t i = 8; i < h->size; i += 8) {
			uint64_t *word = (void *)(bytes + at + i);
			bool is_id = (h->type == PERF_RECORD_LOST && i == 8) ||
				     is_id_word(attr, h->size - i);

			if (h->type == PERF_RECORD_MMAP2 && i == 56)
				*word = 0; /* the file's generation number */
			if (is_id && *word == ids[0])
				*word = 0x1d1d1d1d1d1d1d01;
			else if (is_id && *word == ids[1])
				*word = 0x1d1d1d1d1d1d1d02;
		}
		at += h->size;
	}
	assert_int_equal(at, size);
}

static uint64_t lost_of(struct perf_side *side, int fd)
{
	uint64_t words[3] = {0};

	assert_int_equal(side_read(side, fd, words, sizeof(words)), 24);
	return words[2];
}

static char file_names[3][64];

static void play(const struct config *c, bool model, struct view *views)
{
	struct perf_event_attr attr = c->attr, attr_b = c->attr;
	uint64_t r = c->seed | 1, ids[2], prev = 0, size = c->data_pages * P;
	struct perf_event_mmap_page *page;
	struct perf_side side;
	int a, b, error;
	bool writable = c->protection != 1;
	void *addr = mmap(NULL, P, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static void *kernel_addr;

	/* the same address on both sides, because the record contains it */
	if (model) {
		munmap(addr, P);
		addr = kernel_addr;
	}
	kernel_addr = addr;
	side_init(&side, model);
	a = side_open(&side, &attr, 0, -1);
	attr_b.comm = 0;
	attr_b.mmap = 1;
	attr_b.mmap2 = c->mmap2;
	attr_b.mmap_data = c->mmap_data;
	b = side_open(&side, &attr_b, 0, -1);
	assert_true(a >= 0 && b >= 0);
	page = side_mmap(&side, a, size + P, c->protection ? PROT_READ : PROT_READ | PROT_WRITE,
			 MAP_SHARED, 0, &error);
	assert_int_equal(error, 0);
	if (c->protection == 2) { /* B15 */
		page = side_mmap(&side, a, size + P, PROT_READ | PROT_WRITE, MAP_SHARED, 0, &error);
		assert_int_equal(error, 0);
	}
	assert_int_equal(side_ioctl(&side, b, PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)a), 0);
	assert_int_equal(side_ioctl(&side, a, PERF_EVENT_IOC_ID, (unsigned long)&ids[0]), 0);
	assert_int_equal(side_ioctl(&side, b, PERF_EVENT_IOC_ID, (unsigned long)&ids[1]), 0);

	for (int i = 0; i < NR_STEPS; i++) {
		struct view *v = &views[i];
		uint64_t dice = xorshift(&r) % 100, arg = xorshift(&r), low;

		memset(v, 0, sizeof(*v));
		v->poll = -1;
		if (dice < 45) {
			const char *name = arg % 2 ? "short" : "eleven char";

			snprintf(v->what, sizeof(v->what), "comm %s", name);
			side_comm(&side, name);
		} else if (dice < 70) {
			snprintf(v->what, sizeof(v->what), "map %d", (int)(arg % 3));
			side_map_file(&side, file_names[arg % 3], addr, arg % 8);
		} else if (dice < 80) {
			strcpy(v->what, "read all");
			if (writable)
				__atomic_store_n(&page->data_tail, page->data_head,
						 __ATOMIC_RELEASE);
		} else if (dice < 85) {
			uint64_t unread = page->data_head - page->data_tail;

			strcpy(v->what, "read a part");
			if (writable && !attr.write_backward && unread)
				page->data_tail += arg % unread & ~7ull;
		} else if (dice < 87) { /* E4: not validated */
			strcpy(v->what, "foolish tail");
			if (writable)
				page->data_tail = arg & 1 ? arg : page->data_head + arg % size;
		} else if (dice < 90) {
			strcpy(v->what, "pause");
			side_ioctl(&side, a, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
		} else if (dice < 91) {
			strcpy(v->what, arg & 2 ? "disable" : "enable");
			side_ioctl(&side, arg & 1 ? a : b,
				   arg & 2 ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, 0);
		} else if (dice < 94) {
			strcpy(v->what, "go on");
			side_ioctl(&side, b, PERF_EVENT_IOC_PAUSE_OUTPUT, 0);
		} else {
			strcpy(v->what, "poll");
			v->poll = side_poll(&side, arg & 1 ? a : b);
		}
		if (v->poll < 0 && arg % 4)
			v->poll = side_poll(&side, arg & 64 ? a : b);
		v->head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
		v->lost_a = lost_of(&side, a);
		v->lost_b = lost_of(&side, b);
		low = attr.write_backward ? v->head : prev;
		v->nr_new = attr.write_backward ? prev - v->head : v->head - prev;
		assert_true(v->nr_new <= NEW_MAX);
		ring_bytes(page, low, v->new_bytes, v->nr_new);
		mask_ids(v->new_bytes, v->nr_new, &attr, ids);
		prev = v->head;
	}
	side_fini(&side);
	if (model)
		munmap(addr, P);
	else /* the model maps it again in its own run */
		mmap(addr, P, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static void test_random_scripts(void **state)
{
	static struct view views[2][NR_STEPS];
	uint64_t seed = getenv("SEED") ? strtoull(getenv("SEED"), NULL, 0) : (uint64_t)time(NULL);
	uint64_t lost = 0, wakeups = 0, lost_records = 0, bytes = 0;

	(void)state;
	printf("SEED=%llu\n", (unsigned long long)seed);
	for (int n = 0; n < 400; n++) {
		struct config c = make_config(seed + (uint64_t)n);

		play(&c, false, views[0]);
		play(&c, true, views[1]);
		for (int i = 0; i < NR_STEPS; i++) {
			struct view *k = &views[0][i], *m = &views[1][i];

			if (memcmp(k, m, sizeof(*k)))
				printf("script %d (pages %d prot %d backward %d) step %d, %s:\n"
				       "  kernel head %llx lost %llu %llu poll %d new %zu\n"
				       "  model  head %llx lost %llu %llu poll %d new %zu\n",
				       n, (int)c.data_pages, c.protection,
				       (int)c.attr.write_backward, i, k->what,
				       (unsigned long long)k->head, (unsigned long long)k->lost_a,
				       (unsigned long long)k->lost_b, k->poll, k->nr_new,
				       (unsigned long long)m->head, (unsigned long long)m->lost_a,
				       (unsigned long long)m->lost_b, m->poll, m->nr_new);
			assert_memory_equal(k, m, sizeof(*k));
			wakeups += k->poll > 0;
			bytes += k->nr_new;
			for (size_t at = 0; at < k->nr_new;) {
				const struct perf_event_header *h = (void *)(k->new_bytes + at);

				lost_records += h->type == PERF_RECORD_LOST;
				at += h->size;
			}
		}
		lost += views[0][NR_STEPS - 1].lost_a + views[0][NR_STEPS - 1].lost_b;
	}
	printf("%llu bytes, %llu records lost, %llu LOST records, %llu wakeups: all the same\n",
	       (unsigned long long)bytes, (unsigned long long)lost,
	       (unsigned long long)lost_records, (unsigned long long)wakeups);
	/* the scripts prove something only if these happen */
	assert_true(lost > 1000 && lost_records > 100 && wakeups > 100);
}

/* M: 64-byte records, D 4096: 63 fit, the 64th is lost, the first wakeup is at index 32. */
static void vector(bool model, uint64_t sample_type, unsigned int size, int fit, int wake)
{
	struct perf_event_attr attr = side_dummy_attr();
	struct perf_event_mmap_page *page;
	struct perf_side side;
	int fd, error, first_wake = -1, i;

	attr.sample_id_all = 1;
	attr.sample_type = sample_type;
	attr.read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST;
	side_init(&side, model);
	fd = side_open(&side, &attr, 0, -1);
	page = side_mmap(&side, fd, 2 * P, PROT_READ | PROT_WRITE, MAP_SHARED, 0, &error);
	assert_int_equal(error, 0);
	for (i = 0; lost_of(&side, fd) == 0; i++) {
		side_comm(&side, "short");
		if (side_poll(&side, fd) && first_wake < 0)
			first_wake = i;
	}
	assert_int_equal(i - 1, fit);
	assert_int_equal(first_wake, wake);
	assert_int_equal(page->data_head, fit * size);
	side_fini(&side);
}

static void test_vectors(void **state)
{
	(void)state;
	for (int model = 0; model < 2; model++) {
		vector(model,
		       PERF_SAMPLE_TID | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
			       PERF_SAMPLE_IDENTIFIER,
		       64, 63, 32);
		vector(model, PERF_SAMPLE_TID | PERF_SAMPLE_CPU, 40, 102, 51);
	}
}

static int make_files(void **state)
{
	static const char *const tails[] = {"a", "a_name_of_another_length",
					    "a_long_name_that_makes_a_long_record_of_it"};

	(void)state;
	for (int i = 0; i < 3; i++) {
		FILE *f;

		snprintf(file_names[i], sizeof(file_names[i]), "/tmp/%d_%s", getpid(), tails[i]);
		f = fopen(file_names[i], "w");
		if (!f)
			return -1;
		fputs("text", f);
		fclose(f);
	}
	return 0;
}

static int remove_files(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		unlink(file_names[i]);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_random_scripts),
	};
	int skip = side_kernel_possible();

	if (skip)
		return skip;
	printf("reference: the running kernel; model: %s\n", side_running_kernel()->name);
	return cmocka_run_group_tests(tests, make_files, remove_files);
}
