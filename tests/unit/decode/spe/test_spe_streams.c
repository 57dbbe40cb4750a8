// SPDX-License-Identifier: BSD-2-Clause
/*
 * Arm SPE's streams read ahead by threads: every record of every stream, in order, for any number
 * of threads; a trace with a read error; an end before the last record.
 */
#include "decode/spe/spe_stream.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define NR_STREAMS  37
#define RECORD_SIZE 19
#define EXTENT	    1000 /* no multiple of a record */

static unsigned char trace[1 << 20];
static uint64_t broken_at = UINT64_MAX;

static ssize_t read_trace(void *ctx, void *buf, size_t size, uint64_t off)
{
	assert_ptr_equal(ctx, trace);
	if (off >= broken_at)
		return -EIO;
	assert_true(off < sizeof(trace));
	if (size > 777)
		size = 777; /* short reads are allowed */
	if (size > sizeof(trace) - off)
		size = sizeof(trace) - off;
	memcpy(buf, trace + off, size);
	return (ssize_t)size;
}

/* The address, a counter of 4 bytes with its header, and the end: 9 + 9 + 1 bytes. */
static unsigned char *put_record(unsigned char *at, uint64_t pc, uint64_t virt)
{
	*at++ = 0xb0;
	memcpy(at, &pc, sizeof(pc));
	at += sizeof(pc);
	*at++ = 0xb2;
	memcpy(at, &virt, sizeof(virt));
	at += sizeof(virt);
	*at++ = 0x01;
	return at;
}

static unsigned int records_of(unsigned int stream)
{
	return stream == 5 ? 1 : 100 + 53 * stream;
}

/* Consecutive streams, each in extents that cut records. */
static void make(struct spe_streams *ss)
{
	unsigned char *at = trace;

	spe_streams_init(ss, read_trace, trace);
	for (unsigned int i = 0; i < NR_STREAMS; i++) {
		unsigned char *begin = at;
		size_t size;

		for (unsigned int r = 0; r < records_of(i); r++)
			at = put_record(at, i, r);
		size = (size_t)(at - begin);
		for (size_t off = 0; off < size; off += EXTENT) {
			struct auxtap_perfdata_aux aux = {
				.auxtrace = {.offset = off, .cpu = i, .tid = UINT32_MAX},
				.trace_off = (uint64_t)(begin - trace) + off,
				.trace_size = size - off < EXTENT ? size - off : EXTENT,
			};
			struct trace_queue *q = trace_queues_get(&ss->queues, &aux.auxtrace);

			assert_non_null(q);
			assert_int_equal(trace_queue_add(&ss->queues.opts, q, &aux), 0);
		}
	}
	assert_true(at < trace + sizeof(trace));
	assert_int_equal(ss->queues.keys.nr, NR_STREAMS);
}

static void test_all_in_order(void **state)
{
	static const unsigned int nr_jobs[] = {1, 2, 3, 8, 200};

	(void)state;
	for (size_t n = 0; n < sizeof(nr_jobs) / sizeof(nr_jobs[0]); n++) {
		unsigned int seen[NR_STREAMS] = {0}, nr_ended = 0;
		bool ended[NR_STREAMS] = {false};
		uint64_t nr_bytes = 0;
		struct spe_streams ss;

		make(&ss);
		assert_int_equal(spe_streams_start(&ss, nr_jobs[n]), 0);
		assert_int_equal(ss.nr_threads,
				 nr_jobs[n] > NR_STREAMS ? NR_STREAMS : nr_jobs[n] - 1);
		/* in batches of different lengths */
		for (unsigned int turn = 0; nr_ended < NR_STREAMS; turn++) {
			unsigned int i = turn * 7 % NR_STREAMS;

			for (unsigned int k = 0; k < 1 + turn % 400 && !ended[i]; k++) {
				int error = 0;
				const struct spe_item *item =
					spe_streams_next(&ss, &ss.streams[i], &error);

				assert_int_equal(error, 0);
				if (!item) {
					ended[i] = true;
					nr_ended++;
					break;
				}
				assert_int_equal(item->ret, 1);
				assert_int_equal(item->record.pc, i);
				assert_int_equal(item->record.virt, seen[i]);
				assert_int_equal(item->record.offset, seen[i] * RECORD_SIZE);
				seen[i]++;
			}
		}
		for (unsigned int i = 0; i < NR_STREAMS; i++) {
			assert_int_equal(seen[i], records_of(i));
			nr_bytes += (uint64_t)records_of(i) * RECORD_SIZE;
		}
		assert_int_equal(ss.nr_bytes, nr_bytes);
		spe_streams_free(&ss);
	}
}

/* Records before the read error are delivered, then the reason; no record counts as cut. */
static void test_cannot_be_read(void **state)
{
	(void)state;
	for (unsigned int nr_jobs = 1; nr_jobs < 4; nr_jobs++) {
		const struct spe_item *item;
		struct spe_streams ss;
		unsigned int nr = 0;
		int error = 0;

		make(&ss);
		broken_at = ss.queues.queues[9].extents[2].file_off;
		assert_int_equal(spe_streams_start(&ss, nr_jobs), 0);
		while ((item = spe_streams_next(&ss, &ss.streams[9], &error))) {
			assert_int_equal(item->ret, 1);
			assert_int_equal(item->record.virt, nr);
			nr++;
		}
		assert_int_equal(error, -EIO);
		assert_int_equal(nr, 2 * EXTENT / RECORD_SIZE);
		spe_streams_free(&ss);
		broken_at = UINT64_MAX;
	}
}

static void test_ends_early(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 20; i++) {
		struct spe_streams ss;
		int error = 0;

		make(&ss);
		assert_int_equal(spe_streams_start(&ss, 4), 0);
		for (unsigned int n = 0; n < i * 40; n++)
			assert_non_null(spe_streams_next(&ss, &ss.streams[NR_STREAMS - 1], &error));
		spe_streams_free(&ss);
	}
}

/* No streams: nothing to read, nothing to wait for. */
static void test_none(void **state)
{
	struct spe_streams ss;

	(void)state;
	spe_streams_init(&ss, read_trace, trace);
	assert_int_equal(spe_streams_start(&ss, 4), 0);
	assert_int_equal(ss.nr_threads, 0);
	spe_streams_free(&ss);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_in_order),
		cmocka_unit_test(test_cannot_be_read),
		cmocka_unit_test(test_ends_early),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
