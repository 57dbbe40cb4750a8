// SPDX-License-Identifier: BSD-2-Clause
/*
 * Extents of a ring and what lies between them: buffers that follow each other, padded, with bytes
 * missing or twice; snapshots that overlap; losses that the kernel flagged.
 */
#include "decode/stream/trace_queue.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* What the "file" holds; its offsets are file offsets. */
static unsigned char file[1 << 16];

static ssize_t read_file(void *ctx, void *buf, size_t size, uint64_t off)
{
	assert_ptr_equal(ctx, file);
	assert_true(off + size <= sizeof(file));
	memcpy(buf, file + off, size);
	return (ssize_t)size;
}

static struct trace_queues linear(void)
{
	return (struct trace_queues){.opts = {.pread = read_file, .ctx = file}};
}

static struct trace_queues snapshots(bool by_auxtap)
{
	struct trace_queues qs = linear();

	qs.opts.snapshot = true;
	qs.opts.by_auxtap = by_auxtap;
	return qs;
}

static struct trace_queue *ring(struct trace_queues *qs, int cpu, int32_t tid)
{
	struct auxtap_auxtrace head = {.cpu = (uint32_t)cpu, .tid = (uint32_t)tid};
	struct trace_queue *q = trace_queues_get(qs, &head);

	assert_non_null(q);
	return q;
}

static struct trace_queue *put(struct trace_queues *qs, uint64_t off, uint64_t size,
			       uint64_t file_off)
{
	struct trace_queue *q = ring(qs, 0, -1);
	struct auxtap_perfdata_aux aux = {.auxtrace.offset = off,
					  .trace_off = file_off,
					  .trace_size = size};

	assert_int_equal(trace_queue_add(&qs->opts, q, &aux), 0);
	return q;
}

static void expect(const struct trace_queue *q, size_t i, enum trace_border border, uint64_t off,
		   uint64_t size, uint64_t nr_lost)
{
	assert_true(i < q->nr);
	assert_int_equal(q->extents[i].border, border);
	assert_int_equal(q->extents[i].off, off);
	assert_int_equal(q->extents[i].size, size);
	assert_int_equal(q->extents[i].nr_lost, nr_lost);
}

/* Bytes that are the same nowhere else. */
static void fill(uint64_t from, size_t size, unsigned int seed)
{
	for (size_t i = 0; i < size; i++) {
		seed = seed * 1103515245 + 12345;
		file[from + i] = (unsigned char)(seed >> 16 | 1); /* no zeros: they are padding */
	}
}

/* ---- linear ---- */

static void test_buffers_join(void **state)
{
	struct trace_queues qs = linear();
	struct trace_queue *q;

	(void)state;
	put(&qs, 0, 104, 1000); /* 100 and 4 of padding */
	put(&qs, 100, 200, 2000);
	q = put(&qs, 300, 8, 3000);
	assert_int_equal(q->nr, 3);
	expect(q, 0, TRACE_STARTS, 0, 100, 0);
	expect(q, 1, TRACE_JOINS, 100, 200, 0);
	expect(q, 2, TRACE_JOINS, 300, 8, 0);
	assert_int_equal(q->extents[1].file_off, 2000);
	assert_int_equal(trace_queue_end(q), 308);
	trace_queues_free(&qs);
}

static void test_bytes_that_the_file_lacks(void **state)
{
	struct trace_queues qs = linear();
	struct trace_queue *q;

	(void)state;
	put(&qs, 64, 100, 0);
	q = put(&qs, 165, 10, 200);
	expect(q, 0, TRACE_LACKS, 64, 100, 64);
	expect(q, 1, TRACE_LACKS, 165, 10, 1);
	for (unsigned int i = 0; i < 2; i++) {
		assert_true(q->extents[i].exact);
		assert_int_equal(q->extents[i].cause, AUXTAP_GAP_UNKNOWN);
	}
	trace_queues_free(&qs);
}

/* Up to 7 bytes are padding, 8 are bytes that come twice; a buffer is not padded with all it has.
 */
static void test_buffers_that_repeat(void **state)
{
	struct trace_queues qs = linear();
	struct trace_queue *q;

	(void)state;
	put(&qs, 0, 100, 0);
	put(&qs, 93, 50, 200);
	put(&qs, 135, 2, 300);
	q = put(&qs, 134, 50, 400);
	expect(q, 0, TRACE_STARTS, 0, 93, 0);
	expect(q, 1, TRACE_JOINS, 93, 50, 0);
	expect(q, 2, TRACE_REPEATS, 135, 2, 0);
	expect(q, 3, TRACE_REPEATS, 134, 50, 0);
	trace_queues_free(&qs);
}

/* An offset that the file made up: no end is before its begin. */
static void test_end_of_the_numbers(void **state)
{
	struct trace_queues qs = linear();
	struct trace_queue *q;

	(void)state;
	put(&qs, UINT64_MAX - 10, 100, 0);
	q = put(&qs, 5, 10, 200);
	assert_int_equal(q->extents[1].border, TRACE_REPEATS);
	assert_int_equal(trace_extent_end(&q->extents[0]), UINT64_MAX);
	trace_queues_free(&qs);
}

static void test_rings_are_apart(void **state)
{
	struct auxtap_auxtrace head = {.cpu = UINT32_MAX, .tid = 5, .idx = 1};
	struct trace_queues qs = linear();
	struct trace_queue *q;

	(void)state;
	for (int i = 0; i < 500; i++)
		assert_int_equal(ring(&qs, i, -1) - qs.queues, i);
	for (int i = 0; i < 500; i++)
		assert_int_equal(ring(&qs, -1, i) - qs.queues, 500 + i);
	for (int i = 0; i < 500; i++)
		assert_int_equal(ring(&qs, i, -1) - qs.queues, i);
	assert_int_equal(qs.keys.nr, 1000);
	/* perf's number of the queue counts only if it is asked for */
	assert_int_equal(trace_queues_get(&qs, &head) - qs.queues, 505);
	qs.opts.by_idx = true;
	q = trace_queues_get(&qs, &head);
	assert_int_equal(q - qs.queues, 1000);
	assert_int_equal(q->nr, 0);
	for (head.idx = 2; head.idx < 500; head.idx++)
		assert_int_equal(trace_queues_get(&qs, &head) - qs.queues, 999 + head.idx);
	for (head.idx = 2; head.idx < 500; head.idx++)
		assert_int_equal(trace_queues_get(&qs, &head) - qs.queues, 999 + head.idx);
	trace_queues_free(&qs);
}

/* ---- snapshots ---- */

/* The ring's bytes are at 'file + position'; a snapshot of [from, from + size) is put at copy. */
static void snapshot_at(uint64_t copy, uint64_t from, size_t size)
{
	memmove(file + copy, file + from, size);
}

static void test_snapshots_overlap(void **state)
{
	struct trace_queues qs = snapshots(true);
	struct trace_queue *q;

	(void)state;
	fill(0, 4000, 1);
	snapshot_at(10000, 1000, 1000);
	snapshot_at(20000, 1500, 1000);
	snapshot_at(30000, 2500, 500);
	put(&qs, 1000, 1000, 10000);
	put(&qs, 1500, 1000, 20000);
	q = put(&qs, 2600, 500, 30000);
	/* the first one: bytes before it were overwritten, at least as many as its offset says */
	expect(q, 0, TRACE_LACKS, 1000, 1000, 1000);
	assert_false(q->extents[0].exact);
	assert_int_equal(q->extents[0].cause, AUXTAP_GAP_OVERWRITTEN);
	expect(q, 1, TRACE_JOINS, 2000, 500, 0);
	assert_int_equal(q->extents[1].file_off, 20500);
	expect(q, 2, TRACE_LACKS, 2600, 500, 100);
	assert_true(q->extents[2].exact);
	trace_queues_free(&qs);
}

/* Stock perf's offsets do not show how snapshots overlap: their bytes do. */
static void test_overlap_by_bytes(void **state)
{
	struct trace_queues qs = snapshots(false);
	struct trace_queue *q;

	(void)state;
	fill(0, 4000, 2);
	snapshot_at(10000, 0, 1000);
	memset(file + 11000, 0, 5); /* of the newer one's bytes these are padding */
	snapshot_at(20000, 300, 1000);
	put(&qs, 777, 1005, 10000);
	q = put(&qs, 123456, 1000, 20000);
	expect(q, 0, TRACE_STARTS, 777, 1000, 0);
	expect(q, 1, TRACE_JOINS, 1777, 300, 0);
	assert_int_equal(q->extents[1].file_off, 20700);
	/* the same snapshot once more has nothing new */
	q = put(&qs, 99, 1000, 20000);
	assert_int_equal(q->nr, 2);
	trace_queues_free(&qs);
}

/* In a loop the older one's end comes several times: the last one repeats nothing. */
static void test_overlap_in_a_loop(void **state)
{
	struct trace_queues qs = snapshots(false);
	struct trace_queue *q;

	(void)state;
	fill(0, 100, 3);
	for (unsigned int i = 1; i < 20; i++)
		snapshot_at(100 * i, 0, 100);
	snapshot_at(10000, 0, 1000);
	snapshot_at(20000, 0, 1500);
	put(&qs, 5000, 1000, 10000);
	q = put(&qs, 9000, 1500, 20000);
	/* nothing of the newer one is sure to be new */
	assert_int_equal(q->nr, 1);
	fill(21500, 50, 4);
	q = put(&qs, 9000, 1550, 20000);
	expect(q, 1, TRACE_UNSURE, 6000, 50, 0);
	trace_queues_free(&qs);
}

/* Directly: an older one of old_size bytes at file + 10000 that ends at position 1000. */
static struct trace_overlap overlap(size_t old_size, uint64_t new_off, size_t new_size,
				    uint64_t by_off_min, bool padded)
{
	const struct trace_extent old = {.off = 1000 - old_size,
					 .file_off = 10000,
					 .size = old_size};
	struct trace_queues qs = snapshots(false);

	return trace_overlap_find(&qs.opts, &old, new_off, 20000, new_size, by_off_min, padded);
}

/* The same 64 bytes after different ones are another position. */
static void test_overlap_needs_the_same_past(void **state)
{
	struct trace_overlap found;

	(void)state;
	fill(10000, 500, 7);
	fill(20000, 500, 8);
	memcpy(file + 20200, file + 10400, 100);
	found = overlap(500, 5000, 500, 64, false);
	assert_int_equal(found.seen, -1);
	assert_true(found.unique);
	memcpy(file + 20000, file + 10200, 300);
	found = overlap(500, 5000, 500, 64, false);
	assert_int_equal(found.seen, 300);
	assert_true(found.sure);
	assert_true(found.unique);
	/* the end of the older one comes once more, after other bytes: 300 is still the position */
	memcpy(file + 20400, file + 10430, 70);
	found = overlap(500, 5000, 500, 64, false);
	assert_int_equal(found.seen, 300);
	assert_true(found.sure);
	assert_false(found.unique);
}

/* By their offsets few bytes prove nothing, if not all of the older one's. */
static void test_overlap_by_offset(void **state)
{
	(void)state;
	fill(10000, 500, 9);
	fill(20000, 500, 10);
	memcpy(file + 20000, file + 10470, 30);
	assert_int_equal(overlap(500, 970, 500, 64, false).seen, -1);
	assert_int_equal(overlap(500, 970, 500, 0, false).seen, 30);
	memcpy(file + 10000, file + 20000, 20);
	memcpy(file + 20300, file + 20000, 20);
	assert_int_equal(overlap(20, 980, 500, 64, false).seen, 20);
	assert_true(overlap(20, 980, 500, 64, false).unique); /* nothing was searched */
	/* they may be there, but not where the offset says */
	memcpy(file + 20000, file + 10400, 100);
	assert_int_equal(overlap(500, 901, 500, 64, false).seen, 100);
	/* with padding, 5 of the older one's bytes are none */
	memset(file + 10495, 0, 5);
	memcpy(file + 20000, file + 10300, 195);
	memset(file + 20195, 7, 100);
	memcpy(file + 20400, file + 10420, 75);
	assert_true(overlap(500, 800, 500, 195, true).unique);
	assert_int_equal(overlap(500, 800, 500, 195, true).seen, 195);
	assert_int_equal(overlap(500, 800, 500, 195, true).pad, 5);
	assert_int_equal(overlap(500, 800, 500, 195, false).seen, -1);
	/* at most 7 are */
	memset(file + 10480, 0, 20);
	assert_int_equal(overlap(500, 800, 500, 64, true).pad, 7);
}

/* So many positions that not all are looked at: none is sure. */
static void test_overlap_with_many_positions(void **state)
{
	struct trace_overlap found;

	(void)state;
	memset(file + 10000, 1, 64);
	fill(20000, 40, 11);
	memset(file + 20040, 1, 64 + 63); /* 64 positions */
	found = overlap(64, 5000, 300, 64, false);
	assert_int_equal(found.seen, 40 + 64 + 63);
	assert_false(found.sure);
	assert_false(found.unique);
	/* the first one is right, but there are too many after it */
	fill(10000, 30, 12);
	memset(file + 10030, 1, 64);
	memcpy(file + 20000, file + 10000, 30);
	memset(file + 20030, 1, 64 + 63);
	found = overlap(94, 5000, 300, 64, false);
	assert_int_equal(found.seen, 94);
	assert_false(found.sure);
	file[20030 + 64 + 62] = 2;
	assert_true(overlap(94, 5000, 300, 64, false).sure);
}

static void test_sample_in_a_loop(void **state)
{
	struct trace_queues qs = snapshots(false);
	struct trace_queue *q = ring(&qs, 0, -1);

	(void)state;
	fill(0, 100, 13);
	for (unsigned int i = 1; i < 4; i++)
		snapshot_at(100 * i, 0, 100);
	fill(400, 50, 14);
	assert_int_equal(trace_queue_add_sample(&qs.opts, q, 0, 200), 0);
	assert_int_equal(trace_queue_add_sample(&qs.opts, q, 0, 450), 0);
	expect(q, 1, TRACE_UNSURE, 200, 50, 0);
	trace_queues_free(&qs);
}

static void test_snapshots_apart(void **state)
{
	struct trace_queues qs = snapshots(false);
	struct trace_queue *q;

	(void)state;
	fill(0, 4000, 5);
	put(&qs, 100, 1000, 0);
	put(&qs, 3000, 500, 2000);  /* after it */
	q = put(&qs, 0, 500, 3000); /* before its end */
	expect(q, 0, TRACE_STARTS, 100, 1000, 0);
	expect(q, 1, TRACE_LACKS, 3000, 500, 1900);
	assert_false(q->extents[1].exact);
	expect(q, 2, TRACE_REPEATS, 0, 500, 0);
	trace_queues_free(&qs);
}

/* A sample has no offset; what it has of the one before is taken off. */
static void test_samples(void **state)
{
	struct trace_queues qs = snapshots(false);
	struct trace_queue *q = ring(&qs, 0, -1);

	(void)state;
	fill(0, 4000, 6);
	assert_int_equal(trace_queue_add_sample(&qs.opts, q, 0, 500), 0);
	snapshot_at(10000, 400, 300);
	assert_int_equal(trace_queue_add_sample(&qs.opts, q, 10000, 300), 0);
	assert_int_equal(trace_queue_add_sample(&qs.opts, q, 2000, 300), 0);
	assert_int_equal(trace_queue_add_sample(&qs.opts, q, 2000, 300), 0); /* the same */
	assert_int_equal(q->nr, 3);
	expect(q, 0, TRACE_UNSURE, 0, 500, 0);
	expect(q, 1, TRACE_JOINS, 500, 200, 0);
	assert_int_equal(q->extents[1].file_off, 10100);
	expect(q, 2, TRACE_UNSURE, 700, 300, 0);
	trace_queues_free(&qs);
}

/* ---- losses ---- */

static const struct trace_aux *lossy(uint64_t end, uint64_t flags, uint64_t nr_lost)
{
	static struct trace_aux pool[16];
	static unsigned int nr;
	struct trace_aux *aux = &pool[nr++ % 16];

	*aux = (struct trace_aux){.off = end,
				  .flags = flags,
				  .nr_lost = nr_lost,
				  .exact = nr_lost > 0};
	return aux;
}

static void test_split_at_losses(void **state)
{
	const struct trace_aux *flagged[] = {
		lossy(0, PERF_AUX_FLAG_PARTIAL, 0),	lossy(40, PERF_AUX_FLAG_TRUNCATED, 7),
		lossy(100, PERF_AUX_FLAG_COLLISION, 1), lossy(100, PERF_AUX_FLAG_TRUNCATED, 2),
		lossy(250, PERF_AUX_FLAG_PARTIAL, 0),	lossy(400, PERF_AUX_FLAG_TRUNCATED, 5),
	};
	struct trace_queues qs = linear();
	struct trace_queue *q;

	(void)state;
	put(&qs, 0, 100, 1000);
	put(&qs, 100, 100, 2000);
	q = put(&qs, 210, 90, 3000);
	assert_int_equal(trace_queue_split(q, flagged, 6, false), 0);
	assert_int_equal(q->nr, 7);
	expect(q, 0, TRACE_STARTS, 0, 0, 0);
	expect(q, 1, TRACE_FLAGGED, 0, 40, 0);
	assert_int_equal(q->extents[1].cause, AUXTAP_GAP_PARTIAL);
	assert_false(q->extents[1].exact);
	expect(q, 2, TRACE_FLAGGED, 40, 60, 7);
	assert_int_equal(q->extents[2].file_off, 1040);
	assert_int_equal(q->extents[2].cause, AUXTAP_GAP_TRUNCATED);
	assert_true(q->extents[2].exact);
	/* two end with the buffer: the next one begins with the first one's cause, and both losses
	 */
	expect(q, 3, TRACE_FLAGGED, 100, 100, 3);
	assert_int_equal(q->extents[3].cause, AUXTAP_GAP_COLLISION);
	assert_int_equal(q->extents[3].file_off, 2000);
	assert_true(q->extents[3].exact);
	expect(q, 4, TRACE_LACKS, 210, 40, 10);
	expect(q, 5, TRACE_FLAGGED, 250, 50, 0);
	assert_int_equal(q->extents[5].file_off, 3040);
	/* after the last byte of the file */
	expect(q, 6, TRACE_FLAGGED, 400, 0, 5);
	trace_queues_free(&qs);
}

/* A loss within a buffer leaves the next one joined; one at its end and a hole are two gaps. */
static void test_split_before_a_hole(void **state)
{
	const struct trace_aux *flagged[] = {lossy(40, PERF_AUX_FLAG_TRUNCATED, 7),
					     lossy(200, PERF_AUX_FLAG_TRUNCATED, 9)};
	struct trace_queues qs = linear();
	struct trace_queue *q;

	(void)state;
	put(&qs, 0, 100, 1000);
	put(&qs, 100, 100, 2000);
	q = put(&qs, 210, 90, 3000);
	assert_int_equal(trace_queue_split(q, flagged, 2, false), 0);
	assert_int_equal(q->nr, 5);
	expect(q, 0, TRACE_STARTS, 0, 40, 0);
	expect(q, 1, TRACE_FLAGGED, 40, 60, 7);
	expect(q, 2, TRACE_JOINS, 100, 100, 0);
	expect(q, 3, TRACE_FLAGGED, 200, 0, 9);
	expect(q, 4, TRACE_LACKS, 210, 90, 10);
	trace_queues_free(&qs);
}

/*
 * Records that name no thread: only where there is no other ring it is known that the queue has
 * lost the bytes. One that names the thread and ends at the same place is sure.
 */
static void test_split_at_unnamed(void **state)
{
	(void)state;
	for (int only = 0; only < 2; only++) {
		struct trace_aux aux[] = {
			{.off = 40,
			 .flags = PERF_AUX_FLAG_TRUNCATED,
			 .tid = -1,
			 .nr_lost = 7,
			 .exact = true},
			{.off = 60, .flags = PERF_AUX_FLAG_PARTIAL, .tid = -1, .nr_lost = 1},
			{.off = 60,
			 .flags = PERF_AUX_FLAG_TRUNCATED,
			 .tid = 9,
			 .nr_lost = 2,
			 .exact = true},
			{.off = 60,
			 .flags = PERF_AUX_FLAG_TRUNCATED,
			 .tid = -1,
			 .nr_lost = 4,
			 .exact = true},
			{.off = 100,
			 .flags = PERF_AUX_FLAG_TRUNCATED,
			 .tid = -1,
			 .nr_lost = 8,
			 .exact = true},
			{.off = 200,
			 .flags = PERF_AUX_FLAG_TRUNCATED,
			 .tid = -1,
			 .nr_lost = 16,
			 .exact = true},
		};
		const struct trace_aux *flagged[] = {&aux[0], &aux[1], &aux[2],
						     &aux[3], &aux[4], &aux[5]};
		struct trace_queues qs = linear();
		struct trace_queue *q;

		put(&qs, 0, 100, 1000);
		q = put(&qs, 100, 100, 2000);
		assert_int_equal(trace_queue_split(q, flagged, 6, only), 0);
		assert_int_equal(q->nr, 5);
		expect(q, 0, TRACE_STARTS, 0, 40, 0);
		expect(q, 1, TRACE_FLAGGED, 40, 20, only ? 7 : 0);
		assert_int_equal(q->extents[1].exact, only);
		assert_int_equal(q->extents[1].unsure, !only);
		expect(q, 2, TRACE_FLAGGED, 60, 40, only ? 7 : 2);
		assert_int_equal(q->extents[2].cause,
				 only ? AUXTAP_GAP_PARTIAL : AUXTAP_GAP_TRUNCATED);
		assert_int_equal(q->extents[2].exact, !only);
		assert_false(q->extents[2].unsure);
		/* the next buffer begins with it */
		expect(q, 3, TRACE_FLAGGED, 100, 100, only ? 8 : 0);
		assert_int_equal(q->extents[3].exact, only);
		assert_int_equal(q->extents[3].unsure, !only);
		expect(q, 4, TRACE_FLAGGED, 200, 0, only ? 16 : 0);
		assert_int_equal(q->extents[4].exact, only);
		assert_int_equal(q->extents[4].unsure, !only);
		trace_queues_free(&qs);
	}
}

/* ---- ends ---- */

static void test_ends_of_rings(void **state)
{
	struct trace_ends ends = {0};

	(void)state;
	assert_int_equal(trace_ends_find(&ends, 0, -1), 0);
	assert_int_equal(trace_ends_add(&ends, 0, 100, 50), 0);
	assert_int_equal(trace_ends_add(&ends, 1, 100, 40), 0);
	assert_int_equal(trace_ends_add(&ends, 1, 101, 30), 0);
	assert_int_equal(trace_ends_find(&ends, 0, -1), 50);
	assert_int_equal(trace_ends_find(&ends, 1, -1), 40);
	assert_int_equal(trace_ends_find(&ends, -1, 100), 50);
	assert_int_equal(trace_ends_find(&ends, 7, 101), 30);
	assert_int_equal(trace_ends_find(&ends, -1, 102), 0);
	assert_int_equal(trace_ends_find(&ends, 2, -1), 0);
	trace_ends_free(&ends);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buffers_join),
		cmocka_unit_test(test_bytes_that_the_file_lacks),
		cmocka_unit_test(test_buffers_that_repeat),
		cmocka_unit_test(test_end_of_the_numbers),
		cmocka_unit_test(test_rings_are_apart),
		cmocka_unit_test(test_snapshots_overlap),
		cmocka_unit_test(test_overlap_by_bytes),
		cmocka_unit_test(test_overlap_in_a_loop),
		cmocka_unit_test(test_overlap_needs_the_same_past),
		cmocka_unit_test(test_overlap_by_offset),
		cmocka_unit_test(test_overlap_with_many_positions),
		cmocka_unit_test(test_sample_in_a_loop),
		cmocka_unit_test(test_snapshots_apart),
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_split_at_losses),
		cmocka_unit_test(test_split_before_a_hole),
		cmocka_unit_test(test_split_at_unnamed),
		cmocka_unit_test(test_ends_of_rings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
