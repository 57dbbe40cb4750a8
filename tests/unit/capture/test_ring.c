// SPDX-License-Identifier: BSD-2-Clause
/* The reader's rings: order and content with a concurrent writer, damage, wrap, snapshots. */
#include <auxtap/ring.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define DATA_SIZE 8192u
#define AUX_SIZE  4096u

struct rig {
	void *page;
	size_t page_mapping;
	unsigned char *aux;
	struct auxtap_ring *ring;
};

static void rig_make(struct rig *rig, bool overwrite)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);

	rig->page_mapping = page_size + DATA_SIZE;
	rig->page = aligned_alloc(page_size, rig->page_mapping);
	rig->aux = aligned_alloc(page_size, AUX_SIZE);
	memset(rig->page, 0, rig->page_mapping);
	memset(rig->aux, 0, AUX_SIZE);
	assert_int_equal(auxtap_ring_open(&rig->ring, rig->page, rig->page_mapping, rig->aux,
					  AUX_SIZE, overwrite, NULL),
			 0);
}

static unsigned char *rig_data(const struct rig *rig)
{
	return (unsigned char *)rig->page + rig->page_mapping - DATA_SIZE;
}

static void rig_free(struct rig *rig)
{
	auxtap_ring_close(rig->ring);
	free(rig->page);
	free(rig->aux);
}

static void put(unsigned char *buf, uint64_t buf_size, uint64_t at_abs, const void *src,
		size_t size)
{
	for (size_t i = 0; i < size; i++)
		buf[(at_abs + i) & (buf_size - 1)] = ((const unsigned char *)src)[i];
}

static void get(void *dst, const struct auxtap_span *span)
{
	memcpy(dst, span->part1, span->size1);
	if (span->size2)
		memcpy((char *)dst + span->size1, span->part2, span->size2);
}

#define NR_RECORDS 200000u

/* A writer like the kernel: space by tail (D5, E4: one byte free), bytes, then head. */
static void *writer(void *arg)
{
	struct rig *rig = arg;
	struct perf_event_mmap_page *page = rig->page;
	unsigned char *data = rig_data(rig);
	uint64_t head = 0, aux_head = 0;

	for (uint32_t n = 0; n < NR_RECORDS; n++) {
		uint64_t record[64];
		size_t size = 16 + 8 * (n % 50);
		struct perf_event_header header = {.type = 1000, .size = (uint16_t)size};

		memcpy(record, &header, 8);
		for (size_t i = 1; i < size / 8; i++)
			record[i] = n + i;
		while (DATA_SIZE - 1 -
			       (head - __atomic_load_n(&page->data_tail, __ATOMIC_ACQUIRE)) <
		       size)
			sched_yield();
		put(data, DATA_SIZE, head, record, size);
		head += size;
		__atomic_store_n(&page->data_head, head, __ATOMIC_RELEASE);
		if (n % 3)
			continue;
		/* AUX: byte k of the stream is (k * 7) & 255 */
		while (AUX_SIZE - 1 -
			       (aux_head - __atomic_load_n(&page->aux_tail, __ATOMIC_ACQUIRE)) <
		       n % 97)
			sched_yield();
		for (uint32_t i = 0; i < n % 97; i++)
			rig->aux[(aux_head + i) & (AUX_SIZE - 1)] =
				(unsigned char)((aux_head + i) * 7);
		aux_head += n % 97;
		__atomic_store_n(&page->aux_head, aux_head, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void test_concurrent(void **state)
{
	struct auxtap_span span;
	uint64_t aux_seen = 0, record[64], aux_total = 0;
	uint32_t n = 0;
	struct rig rig;
	pthread_t thread;

	(void)state;
	rig_make(&rig, false);
	for (uint32_t i = 0; i < NR_RECORDS; i += 3)
		aux_total += i % 97;
	assert_int_equal(pthread_create(&thread, NULL, writer, &rig), 0);
	while (n < NR_RECORDS || aux_seen < aux_total) {
		int r = auxtap_ring_data_next(rig.ring, &span, NULL);

		assert_true(r >= 0);
		if (r) {
			size_t size = 16 + 8 * (n % 50);

			assert_int_equal(span.size1 + span.size2, size);
			get(record, &span);
			for (size_t i = 1; i < size / 8; i++)
				assert_int_equal(record[i], n + i);
			auxtap_ring_data_consume(rig.ring);
			n++;
		}
		if (auxtap_ring_aux_next(rig.ring, &span)) {
			unsigned char copy[AUX_SIZE];

			assert_int_equal(span.offset_abs, aux_seen);
			get(copy, &span);
			for (size_t i = 0; i < span.size1 + span.size2; i++)
				assert_int_equal(copy[i], (unsigned char)((aux_seen + i) * 7));
			aux_seen += span.size1 + span.size2;
			auxtap_ring_aux_consume(rig.ring, &span);
		} else if (!r) {
			sched_yield();
		}
	}
	pthread_join(thread, NULL);
	assert_int_equal(auxtap_ring_data_next(rig.ring, &span, NULL), 0);
	assert_int_equal(auxtap_ring_aux_overrun(rig.ring), 0);
	rig_free(&rig);
}

/* Every damage that a writer could do to the data ring is refused, with its location. */
static void test_damaged(void **state)
{
	static const struct {
		uint64_t head;
		uint16_t size;
	} cases[] = {
		{8, 0}, {8, 4},		 {16, 12},    {16, 24}, {DATA_SIZE + 8, 8},
		{4, 8}, {UINT64_MAX, 8}, {16, 65528},
	};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_span span;
	struct rig rig;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct perf_event_header header = {.type = 1, .size = cases[i].size};
		struct perf_event_mmap_page *page;

		rig_make(&rig, false);
		page = rig.page;
		memcpy(rig_data(&rig), &header, sizeof(header));
		page->data_head = cases[i].head;
		assert_int_equal(auxtap_ring_data_head(rig.ring), cases[i].head);
		assert_int_equal(auxtap_ring_data_next(rig.ring, &span, &err), -EBADMSG);
		assert_int_equal(err.offset, 0);
		rig_free(&rig);
	}
	/*
	 * AUX: a head more than one wrap ahead costs the excess, which is counted; no byte outside
	 * is accessed.
	 */
	rig_make(&rig, false);
	((struct perf_event_mmap_page *)rig.page)->aux_head = AUX_SIZE + 100;
	assert_true(auxtap_ring_aux_next(rig.ring, &span));
	assert_int_equal(span.size1 + span.size2, AUX_SIZE);
	assert_int_equal(span.offset_abs, 100);
	assert_int_equal(auxtap_ring_aux_overrun(rig.ring), 100);
	rig_free(&rig);
}

static void test_bad_sizes(void **state)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *page = aligned_alloc(page_size, 4 * page_size);
	struct auxtap_ring *ring;

	(void)state;
	memset(page, 0, 4 * page_size);
	assert_int_equal(auxtap_ring_open(&ring, page, 4 * page_size, NULL, 0, false, NULL),
			 -EINVAL); /* three data pages */
	assert_null(ring);
	assert_int_equal(auxtap_ring_open(&ring, page, 8, NULL, 0, false, NULL), -EINVAL);
	assert_int_equal(auxtap_ring_open(&ring, page, 3 * page_size, page, 3 * page_size, false,
					  NULL),
			 -EINVAL);
	page->data_offset = page_size;
	page->data_size = 64 * page_size;
	assert_int_equal(auxtap_ring_open(&ring, page, 3 * page_size, NULL, 0, false, NULL),
			 -EINVAL);
	page->data_offset = UINT64_MAX;
	page->data_size = page_size;
	assert_int_equal(auxtap_ring_open(&ring, page, 3 * page_size, NULL, 0, false, NULL),
			 -EINVAL);
	assert_int_equal(auxtap_ring_open(&ring, page, page_size, NULL, 0, false, NULL), -EINVAL);
	page->data_size = 0;
	assert_int_equal(auxtap_ring_open(&ring, page, page_size, NULL, 0, false, NULL), 0);
	auxtap_ring_close(ring);
	auxtap_ring_close(NULL);
	free(page);
}

/*
 * A snapshot is exactly the newest bytes, for every alignment of the head, whether head is an
 * offset or a count.
 */
static void test_snapshot_alignments(void **state)
{
	struct auxtap_span span;
	struct rig rig;

	(void)state;
	rig_make(&rig, true);
	for (uint64_t total = 0; total < 2 * AUX_SIZE + 64; total += 1) {
		struct perf_event_mmap_page *page = rig.page;
		uint64_t expect = total < AUX_SIZE ? total : AUX_SIZE;
		unsigned char copy[AUX_SIZE];

		if (total) /* stream byte k is never zero */
			rig.aux[(total - 1) & (AUX_SIZE - 1)] =
				(unsigned char)(1 + (total - 1) % 255);
		page->aux_head = total & 1 ? total : total & (AUX_SIZE - 1);
		auxtap_ring_aux_snapshot(rig.ring, 0, &span);
		assert_int_equal(span.size1 + span.size2, expect);
		get(copy, &span);
		for (uint64_t i = 0; i < expect; i += total % 61 + 1)
			assert_int_equal(copy[i], 1 + (total - expect + i) % 255);
		auxtap_ring_aux_snapshot(rig.ring, 1000, &span);
		if (expect > 1000)
			expect = 1000;
		assert_int_equal(span.size1 + span.size2, expect);
		get(copy, &span);
		for (uint64_t i = 0; i < expect; i += 37)
			assert_int_equal(copy[i], 1 + (total - expect + i) % 255);
	}
	rig_free(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_concurrent),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_bad_sizes),
		cmocka_unit_test(test_snapshot_alignments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
