// SPDX-License-Identifier: BSD-2-Clause
/*
 * Small files made here byte by byte: old headers, attributes of every size, sample ids
 * in every layout, compressed records that split records anywhere, and each kind of
 * damage.
 */
#include "perfdata/layout.h"
#include "perfdata/reader.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>
#include <cmocka.h>

struct image {
	unsigned char data[1 << 17];
	size_t size;
};

static struct image im;

static size_t put(const void *data, size_t size)
{
	assert_true(im.size + size <= sizeof(im.data));
	memcpy(im.data + im.size, data, size);
	im.size += size;
	return im.size - size;
}

static struct pd_file_header *header(void)
{
	return (void *)im.data;
}

/* Header and attributes of attr_size bytes each; the ids of attribute i are 100 i + 1,
 * + 2. */
static void begin(uint64_t header_size, uint32_t attr_size, unsigned int nr_attrs,
		  const struct perf_event_attr *attrs)
{
	uint64_t ids_off[8];

	memset(&im, 0, sizeof(im));
	im.size = header_size;
	header()->magic = PD_MAGIC_V2;
	header()->size = header_size;
	header()->attr_size = attr_size + 16;
	for (unsigned int i = 0; i < nr_attrs; i++) {
		uint64_t ids[2] = {100 * i + 1, 100 * i + 2};

		ids_off[i] = put(ids, sizeof(ids));
	}
	header()->attrs.offset = im.size;
	header()->attrs.size = (uint64_t)nr_attrs * (attr_size + 16);
	for (unsigned int i = 0; i < nr_attrs; i++) {
		unsigned char bytes[256] = {0};
		struct pd_section ids = {ids_off[i], 16};
		struct perf_event_attr attr = attrs[i];

		attr.size = attr_size;
		memset(bytes, 0xee, sizeof(bytes)); /* newer fields than we know */
		memcpy(bytes, &attr, attr_size < sizeof(attr) ? attr_size : sizeof(attr));
		put(bytes, attr_size);
		put(&ids, sizeof(ids));
	}
	header()->data.offset = im.size;
}

static void end_data(void)
{
	header()->data.size = im.size - header()->data.offset;
}

static void put_record(uint32_t type, const void *body, size_t size)
{
	struct perf_event_header head = {type, 0, (uint16_t)(sizeof(head) + size)};

	put(&head, sizeof(head));
	put(body, size);
}

static int open_image(struct auxtap_perfdata **pd, struct auxtap_error *err)
{
	int fd = memfd_create("image", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, im.data, im.size), im.size);
	return pd_open_fd(pd, fd, "image", err);
}

static const struct perf_event_attr plain = {.type = 1,
					     .config = 9,
					     .sample_id_all = 1,
					     .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
							    PERF_SAMPLE_IDENTIFIER};

struct trailer {
	uint32_t pid, tid;
	uint64_t time, id;
};

static void test_attr_sizes(void **state)
{
	static const uint32_t sizes[] = {64, 72, 80, 96, 104, 112, 120, 128, 136, 200};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct perf_event_attr attr = plain;
		struct auxtap_error err = AUXTAP_ERROR_INIT;
		const struct auxtap_perfdata_attr *got;
		struct auxtap_perfdata *pd;
		struct auxtap_record rec = {.size = sizeof(rec)};
		struct {
			uint64_t lost[2];
			struct trailer t;
		} body = {{5, 6}, {7, 8, 9000, 102}};

		attr.config2 = 0x1234;
		begin(PD_HEADER_SIZE, sizes[i], 2, (struct perf_event_attr[]){plain, attr});
		put_record(PERF_RECORD_LOST, &body, sizeof(body));
		end_data();
		assert_int_equal(open_image(&pd, &err), 0);
		assert_int_equal(auxtap_perfdata_get_info(pd)->nr_attrs, 2);
		got = auxtap_perfdata_get_attr(pd, 1);
		assert_int_equal(got->file_size, sizes[i]);
		assert_int_equal(got->attr.config, 9);
		assert_int_equal(got->attr.config2, sizes[i] >= 72 ? 0x1234 : 0);
		assert_int_equal(got->nr_ids, 2);
		assert_int_equal(got->ids[1], 102);
		assert_int_equal(auxtap_perfdata_next(pd, &rec, &err), 1);
		assert_ptr_equal(rec.attr, auxtap_perfdata_get_attr(pd, 1));
		assert_int_equal(rec.fields, AUXTAP_REC_PID_TID | AUXTAP_REC_TIME | AUXTAP_REC_ID);
		assert_int_equal(rec.tid, 8);
		assert_int_equal(rec.time, 9000);
		assert_int_equal(rec.body_size, 16);
		assert_int_equal(rec.offset, header()->data.offset);
		assert_int_equal(auxtap_perfdata_next(pd, &rec, &err), 0);
		auxtap_perfdata_rewind(pd);
		assert_int_equal(auxtap_perfdata_next(pd, &rec, &err), 1);
		auxtap_perfdata_close(pd);
	}
}

static void test_old_headers(void **state)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	uint64_t lost[2] = {0, 3};
	struct auxtap_perfdata *pd;
	struct auxtap_record rec = {.size = sizeof(rec)};

	(void)state;
	for (int old = 0; old < 3; old++) {
		begin(old == 2 ? PD_OLD_HEADER_SIZE : PD_HEADER_SIZE, 64, 1, &plain);
		if (old)
			header()->magic = PD_MAGIC_V1;
		put_record(PERF_RECORD_LOST, lost, sizeof(lost));
		end_data();
		assert_int_equal(open_image(&pd, &err), 0);
		assert_int_equal(auxtap_perfdata_get_info(pd)->features[0], 0);
		assert_int_equal(auxtap_perfdata_next(pd, &rec, &err), 1);
		assert_int_equal(rec.header->type, PERF_RECORD_LOST);
		assert_int_equal(auxtap_perfdata_next(pd, &rec, &err), 0);
		auxtap_perfdata_close(pd);
	}
}

/* Every combination of the fields that move the others, for samples and for other records. */
static void test_sample_ids(void **state)
{
	static const uint64_t in_sample[] = {PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,
					     PERF_SAMPLE_TID,	     PERF_SAMPLE_TIME,
					     PERF_SAMPLE_ADDR,	     PERF_SAMPLE_ID,
					     PERF_SAMPLE_STREAM_ID,  PERF_SAMPLE_CPU};
	static const uint64_t in_trailer[] = {PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
					      PERF_SAMPLE_ID,  PERF_SAMPLE_STREAM_ID,
					      PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER};
	struct auxtap_error err = AUXTAP_ERROR_INIT;

	(void)state;
	for (unsigned int set = 0; set < 256; set++) {
		struct perf_event_attr attrs[2] = {plain, plain};
		struct auxtap_perfdata *pd;
		struct auxtap_record rec = {.size = sizeof(rec)};
		uint64_t type = 0;

		for (int i = 0; i < 8; i++)
			type |= set >> i & 1 ? in_sample[i] : 0;
		attrs[0].sample_type = attrs[1].sample_type = type;
		begin(PD_HEADER_SIZE, 112, 2, attrs);
		for (int sample = 0; sample < 2; sample++) {
			uint64_t body[10] = {0x11, 0x22};
			size_t nr = sample ? 0 : 2;

			for (int i = 0; i < (sample ? 8 : 6); i++) {
				uint64_t field = sample ? in_sample[i] : in_trailer[i];

				if (!(type & field))
					continue;
				body[nr++] = field == PERF_SAMPLE_TID  ? 0x500000004ULL :
					     field == PERF_SAMPLE_TIME ? 777 :
					     field == PERF_SAMPLE_CPU  ? 3 :
					     field & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER) ?
									101 :
									0xbad;
			}
			put_record(sample ? PERF_RECORD_SAMPLE : PERF_RECORD_LOST, body, nr * 8);
		}
		end_data();
		assert_int_equal(open_image(&pd, &err), 0);
		for (int sample = 0; sample < 2; sample++) {
			bool id = type & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER);

			assert_int_equal(auxtap_perfdata_next(pd, &rec, &err), 1);
			assert_int_equal(!!(rec.fields & AUXTAP_REC_ID), id);
			assert_ptr_equal(rec.attr, auxtap_perfdata_get_attr(pd, id));
			if (type & PERF_SAMPLE_TID)
				assert_true(rec.pid == 4 && rec.tid == 5);
			assert_int_equal(!!(rec.fields & AUXTAP_REC_TIME),
					 !!(type & PERF_SAMPLE_TIME));
			assert_int_equal(rec.time, type & PERF_SAMPLE_TIME ? 777 : 0);
			assert_int_equal(rec.cpu, type & PERF_SAMPLE_CPU ? 3 : 0);
			if (!sample)
				assert_int_equal(rec.body_size, 16);
		}
		auxtap_perfdata_close(pd);
	}
}

/*
 * Id 0 is of what the recorder made up itself: the first attribute's. One that no attribute lists
 * is of none, but its fields are read where all attributes have the same ones.
 */
static void test_unlisted_ids(void **state)
{
	struct perf_event_attr attrs[2] = {plain, plain};
	static const uint64_t ids[] = {0, 55, 101};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_record rec = {.size = sizeof(rec)};
	struct auxtap_perfdata *pd;

	(void)state;
	for (int other = 0; other < 2; other++) {
		/* without CPU and time: only the layout of one's own attribute says where fields
		 * are */
		attrs[1].sample_type = other ? PERF_SAMPLE_IDENTIFIER : plain.sample_type;
		begin(PD_HEADER_SIZE, 112, 2, attrs);
		for (int i = 0; i < 3; i++) {
			struct {
				uint64_t lost[2];
				struct trailer trailer;
			} body = {{1, 2}, {4, 5, 777, ids[i]}};

			put_record(PERF_RECORD_LOST, &body, sizeof(body));
		}
		end_data();
		assert_int_equal(open_image(&pd, &err), 0);
		for (unsigned int i = 0; i < 3; i++) {
			static const int attr_of[] = {0, -1, 1};
			bool parsed = i == 0 || (i == 1 && !other) || (i == 2 && !other);

			assert_int_equal(auxtap_perfdata_next(pd, &rec, &err), 1);
			assert_ptr_equal(rec.attr,
					 attr_of[i] < 0 ?
						 NULL :
						 auxtap_perfdata_get_attr(pd, (unsigned int)
										      attr_of[i]));
			assert_int_equal(rec.time, parsed ? 777 : 0);
			assert_int_equal(rec.body_size, parsed ? 16 : i == 2 ? 32 : 40);
		}
		auxtap_perfdata_close(pd);
	}
}

/* 200 records of growing size through one zstd stream, cut into compressed records of any
 * size. */
static void test_compressed(void **state)
{
	static unsigned char plain_bytes[1 << 16], packed[1 << 16];
	size_t nr_plain = 0, nr_packed;
	ZSTD_CStream *z = ZSTD_createCStream();

	(void)state;
	for (unsigned int i = 0; i < 200; i++) {
		struct perf_event_header head = {PERF_RECORD_LOST, 0,
						 (uint16_t)(24 + 8 * (i % 30))};
		uint64_t number = i;

		memset(plain_bytes + nr_plain, (int)i, head.size);
		memcpy(plain_bytes + nr_plain, &head, sizeof(head));
		memcpy(plain_bytes + nr_plain + 8, &number, 8);
		nr_plain += head.size;
	}
	for (int kind = 0; kind < 2; kind++) {
		for (size_t step = 7; step < 6000; step = step * 3 + 1) {
			struct auxtap_error err = AUXTAP_ERROR_INIT;
			struct auxtap_perfdata *pd;
			struct auxtap_record rec = {.size = sizeof(rec)};
			uint64_t expected = 0, plain_off = 0;
			ZSTD_inBuffer in = {plain_bytes, nr_plain, 0};

			ZSTD_initCStream(z, 1);
			begin(PD_HEADER_SIZE, 112, 1, &(struct perf_event_attr){.type = 1});
			while (in.pos < nr_plain) {
				ZSTD_inBuffer part = {plain_bytes, in.pos + step, in.pos};
				ZSTD_outBuffer out = {packed + 8, sizeof(packed) - 16, 0};

				if (part.size > nr_plain)
					part.size = nr_plain;
				ZSTD_compressStream(z, &out, &part);
				ZSTD_flushStream(z, &out);
				in.pos = part.pos;
				nr_packed = out.pos;
				if (kind) {
					uint64_t size = nr_packed;

					memcpy(packed, &size, 8);
					memset(packed + 8 + nr_packed, 0xff, 8);
					put_record(AUXTAP_RECORD_COMPRESSED2, packed,
						   8 + pd_align8(nr_packed));
				} else {
					put_record(AUXTAP_RECORD_COMPRESSED, packed + 8, nr_packed);
				}
			}
			end_data();
			assert_int_equal(open_image(&pd, &err), 0);
			while (auxtap_perfdata_next(pd, &rec, &err) > 0) {
				uint64_t number;

				if (!rec.decompressed)
					continue;
				memcpy(&number, rec.header + 1, 8);
				assert_int_equal(number, expected);
				assert_int_equal(rec.file_size, 24 + 8 * (number % 30));
				assert_int_equal(rec.decompressed_off, plain_off);
				assert_memory_equal(rec.header, plain_bytes + plain_off,
						    rec.file_size);
				plain_off += rec.file_size;
				expected++;
			}
			assert_int_equal(err.code, 0);
			assert_int_equal(expected, 200);
			for (expected = 0; auxtap_perfdata_next_sorted(pd, &rec, &err) > 0;
			     expected++)
				assert_int_equal(*(const uint64_t *)(rec.header + 1), expected);
			assert_int_equal(expected, 200);
			auxtap_perfdata_close(pd);

			/* Without its last compressed record the stream ends inside a
			 * record. */
			if (step == 7) {
				header()->data.size -= kind ? 32 : 16;
				assert_int_equal(open_image(&pd, &err), 0);
				while (auxtap_perfdata_next(pd, &rec, &err) > 0)
					;
				assert_int_equal(err.code, -EBADMSG);
				assert_true(err.offset > header()->data.offset);
				auxtap_perfdata_close(pd);
			}
		}
	}
	ZSTD_freeCStream(z);
}

/* One compressed record that unpacks to far more than the reader holds at once. */
static void test_expanding(void **state)
{
	static unsigned char packed[1 << 15];
	struct {
		struct perf_event_header head;
		unsigned char body[65520];
	} record = {{PERF_RECORD_LOST, 0, 65528}, {0}};
	ZSTD_outBuffer out = {packed, sizeof(packed), 0};
	ZSTD_CStream *z = ZSTD_createCStream();
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perfdata *pd;
	struct auxtap_record rec = {.size = sizeof(rec)};
	uint64_t nr = 0;

	(void)state;
	ZSTD_initCStream(z, 3);
	for (int i = 0; i < 100; i++) {
		ZSTD_inBuffer in = {&record, sizeof(record), 0};

		while (in.pos < in.size)
			assert_false(ZSTD_isError(ZSTD_compressStream(z, &out, &in)));
	}
	assert_int_equal(ZSTD_endStream(z, &out), 0);
	ZSTD_freeCStream(z);
	begin(PD_HEADER_SIZE, 112, 1, &(struct perf_event_attr){.type = 1});
	put_record(AUXTAP_RECORD_COMPRESSED, packed, out.pos);
	end_data();
	assert_int_equal(open_image(&pd, &err), 0);
	while (auxtap_perfdata_next(pd, &rec, &err) > 0) {
		assert_true(!rec.decompressed || rec.file_size == sizeof(record));
		nr += rec.decompressed;
	}
	assert_int_equal(err.code, 0);
	assert_int_equal(nr, 100);
	auxtap_perfdata_close(pd);
}

/* A damaged header: refused, or read without the damaged part. */
static void test_damage(void **state)
{
	/* clang-format off */
	struct {
		size_t offset;
		uint64_t value;
		int expected;
	} cases[] = {
		{offsetof(struct pd_file_header, size), 105, -EBADMSG},
		{offsetof(struct pd_file_header, size), 0, -EBADMSG},
		{offsetof(struct pd_file_header, attr_size), 0, -EBADMSG},
		{offsetof(struct pd_file_header, attr_size), 79, -EBADMSG},
		{offsetof(struct pd_file_header, attr_size), UINT64_MAX, -EBADMSG},
		{offsetof(struct pd_file_header, attrs.offset), 1 << 20, -EBADMSG},
		{offsetof(struct pd_file_header, attrs.offset), UINT64_MAX - 10,
		 -EBADMSG},
		{offsetof(struct pd_file_header, attrs.size), UINT64_MAX, -EBADMSG},
		{offsetof(struct pd_file_header, data.offset), 1 << 20, -EBADMSG},
		{offsetof(struct pd_file_header, data.offset), 8, -EBADMSG},
		{offsetof(struct pd_file_header, data.size), UINT64_MAX, 0},
		{offsetof(struct pd_file_header, features), UINT64_MAX, 0},
		{PD_HEADER_SIZE + 16 + 112, 1 << 20, -EBADMSG}, /* offset of the ids */
		{PD_HEADER_SIZE + 16 + 120, 1 << 20, -EBADMSG}, /* their size */
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct auxtap_error err = AUXTAP_ERROR_INIT;
		struct auxtap_perfdata *pd;
		uint64_t lost[2] = {1, 2};

		begin(PD_HEADER_SIZE, 112, 1, &plain);
		put_record(PERF_RECORD_LOST, lost, sizeof(lost));
		end_data();
		memcpy(im.data + cases[i].offset, &cases[i].value, 8);
		assert_int_equal(open_image(&pd, &err), cases[i].expected);
		if (cases[i].expected) {
			assert_null(pd);
			assert_true(err.offset != AUXTAP_OFFSET_NONE);
			assert_non_null(strstr(err.why, "offset"));
		} else {
			assert_true(auxtap_perfdata_get_info(pd)->features_damaged);
			auxtap_perfdata_close(pd);
		}
	}
}

/* All attributes name the same ids, which are the whole file: memory must not
 * multiply. */
static void test_overlapping_ids(void **state)
{
	struct perf_event_attr attrs[8] = {plain, plain, plain, plain, plain, plain, plain, plain};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perfdata *pd;

	(void)state;
	begin(PD_HEADER_SIZE, 112, 8, attrs);
	end_data();
	for (int i = 0; i < 8; i++) {
		struct pd_section all = {0, im.size};

		memcpy(im.data + PD_HEADER_SIZE + 8 * 16 + i * 128 + 112, &all, sizeof(all));
	}
	assert_int_equal(open_image(&pd, &err), -EBADMSG);
}

/* Damage inside the data: records before it are delivered; every further call reports its offset.
 */
static void test_damaged_records(void **state)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	uint64_t lost[2] = {1, 2};
	struct auxtap_perfdata *pd;
	struct auxtap_record rec = {.size = sizeof(rec)};
	size_t bad;

	(void)state;
	for (unsigned int size = 0; size < 8; size++) {
		struct perf_event_header head = {PERF_RECORD_COMM, 0, (uint16_t)size};

		begin(PD_HEADER_SIZE, 112, 1, &plain);
		put_record(PERF_RECORD_LOST, lost, sizeof(lost));
		bad = put(&head, sizeof(head));
		put_record(PERF_RECORD_LOST, lost, sizeof(lost));
		end_data();
		assert_int_equal(open_image(&pd, &err), 0);
		assert_int_equal(auxtap_perfdata_next(pd, &rec, &err), 1);
		for (int again = 0; again < 3; again++) {
			memset(&err, 0, sizeof(err));
			assert_int_equal(auxtap_perfdata_next(pd, &rec, &err), -EBADMSG);
			assert_int_equal(err.offset, bad);
		}
		assert_int_equal(auxtap_perfdata_next_sorted(pd, &rec, &err), 1);
		assert_int_equal(auxtap_perfdata_next_sorted(pd, &rec, &err), -EBADMSG);
		assert_int_equal(auxtap_perfdata_next_sorted(pd, &rec, &err), 0);
		auxtap_perfdata_close(pd);
	}
}

/* Unknown kinds are delivered by number; simpleperf's may be larger than 64 KiB. */
static void test_unknown(void **state)
{
	static unsigned char zeros[70000];
	struct perf_event_header large = {32776, 1, 8 + 4464}; /* 0x10000 + 4472 */
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perfdata *pd;
	struct auxtap_record rec = {.size = sizeof(rec)};

	(void)state;
	begin(PD_HEADER_SIZE, 112, 1, &plain);
	put_record(61, zeros, 32);
	put_record(4000, zeros, 8);
	put(&large, sizeof(large));
	put(zeros, 65536 + 4464);
	put_record(PERF_RECORD_LOST, zeros, 16);
	end_data();
	assert_int_equal(open_image(&pd, &err), 0);
	assert_int_equal(auxtap_perfdata_next(pd, &rec, &err), 1);
	assert_int_equal(rec.header->type, 61);
	assert_null(auxtap_record_name(61));
	assert_int_equal(auxtap_perfdata_next(pd, &rec, &err), 1);
	assert_int_equal(rec.header->type, 4000);
	assert_int_equal(rec.body_size, 8);
	assert_int_equal(auxtap_perfdata_next(pd, &rec, &err), 1);
	assert_int_equal(rec.file_size, 65536 + 4472);
	assert_true(rec.body_size < 65536);
	assert_int_equal(auxtap_perfdata_next(pd, &rec, &err), 1);
	assert_int_equal(rec.header->type, PERF_RECORD_LOST);
	assert_int_equal(auxtap_perfdata_next(pd, &rec, &err), 0);
	auxtap_perfdata_close(pd);
}

typedef int next_fn(struct auxtap_perfdata *pd, struct auxtap_record *rec,
		    struct auxtap_error *err);

/* The size of a record's struct: of an older caller, of a newer one, not set. */
static void test_struct_sizes(void **state)
{
	static next_fn *const fns[] = {auxtap_perfdata_next, auxtap_perfdata_next_sorted};
	const size_t wrong[] = {0, 1, sizeof(struct auxtap_record) - 1, SIZE_MAX};
	struct {
		struct auxtap_record rec;
		uint64_t newer;
	} longer = {.rec = {.size = sizeof(longer)}};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	uint64_t lost[2] = {1, 2};
	struct auxtap_perfdata *pd;

	(void)state;
	begin(PD_HEADER_SIZE, 112, 1, &plain);
	put_record(PERF_RECORD_LOST, lost, sizeof(lost));
	put_record(PERF_RECORD_LOST, lost, sizeof(lost));
	end_data();
	assert_int_equal(open_image(&pd, &err), 0);
	for (size_t f = 0; f < 2; f++) {
		struct auxtap_record rec = {.size = sizeof(rec)};

		for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
			rec.size = wrong[i];
			assert_int_equal(fns[f](pd, &rec, &err), -EINVAL);
			assert_string_equal(err.what, "struct auxtap_record");
			assert_null(rec.header); /* untouched */
		}
		longer.newer = 1;
		assert_int_equal(fns[f](pd, &longer.rec, &err), 1);
		assert_int_equal(longer.rec.size, sizeof(longer));
		assert_int_equal(longer.rec.file_size, 24);
		assert_int_equal(longer.rec.header->type, PERF_RECORD_LOST);
		assert_int_equal(longer.newer, 0);
		rec.size = sizeof(rec);
		assert_int_equal(fns[f](pd, &rec, &err), 1);
		assert_int_equal(rec.size, sizeof(rec));
		assert_int_equal(rec.offset, longer.rec.offset + 24);
		assert_int_equal(fns[f](pd, &rec, &err), 0);
		assert_int_equal(rec.size, sizeof(rec));
	}
	auxtap_perfdata_close(pd);
}

/* A record without a sample id says itself whom it is about; with one, the id says it. */
static void test_bodies(void **state)
{
	const struct {
		uint32_t pid, ppid, tid, ptid;
		uint64_t time;
	} fork = {1, 2, 3, 4, 5000};
	static const struct {
		uint32_t type, size, tid;
		uint64_t time; /* 0: it has none */
	} bodies[] = {
		{PERF_RECORD_FORK, 24, 3, 5000}, {PERF_RECORD_EXIT, 24, 3, 5000},
		{PERF_RECORD_FORK, 16, 3, 0},	 {PERF_RECORD_COMM, 16, 2, 0},
		{PERF_RECORD_COMM, 8, 2, 0},	 {PERF_RECORD_ITRACE_START, 8, 2, 0},
		{PERF_RECORD_LOST, 16, 0, 0},
	};
	const struct trailer t = {7, 8, 9000, 102};
	const size_t nr = sizeof(bodies) / sizeof(bodies[0]);

	(void)state;
	for (unsigned int ids = 0; ids < 2; ids++) {
		struct perf_event_attr attr = plain;
		struct auxtap_error err = AUXTAP_ERROR_INIT;
		struct auxtap_record rec = {.size = sizeof(rec)};
		struct auxtap_perfdata *pd;

		attr.sample_id_all = ids;
		begin(PD_HEADER_SIZE, 112, 1, &attr);
		for (size_t i = 0; i < nr; i++) {
			unsigned char body[64];

			memcpy(body, &fork, sizeof(fork));
			memcpy(body + bodies[i].size, &t, sizeof(t));
			put_record(bodies[i].type, body, bodies[i].size + (ids ? sizeof(t) : 0));
		}
		end_data();
		assert_int_equal(open_image(&pd, &err), 0);
		for (size_t i = 0; i < nr; i++) {
			bool known = ids || bodies[i].tid;

			assert_int_equal(auxtap_perfdata_next(pd, &rec, &err), 1);
			assert_int_equal(rec.header->type, bodies[i].type);
			assert_int_equal(rec.body_size, bodies[i].size);
			assert_int_equal(!!(rec.fields & AUXTAP_REC_PID_TID), known);
			assert_int_equal(!!(rec.fields & AUXTAP_REC_TIME), ids || bodies[i].time);
			if (known) {
				assert_int_equal(rec.pid, ids ? 7 : 1);
				assert_int_equal(rec.tid, ids ? 8 : bodies[i].tid);
			}
			if (ids || bodies[i].time)
				assert_int_equal(rec.time, ids ? 9000 : bodies[i].time);
		}
		assert_int_equal(auxtap_perfdata_next(pd, &rec, &err), 0);
		auxtap_perfdata_close(pd);
	}
}

/* A sample id with only the time: that is the time, and the body says whom it is about. */
static void test_body_with_time(void **state)
{
	struct perf_event_attr attr = {.type = 1,
				       .sample_id_all = 1,
				       .sample_type = PERF_SAMPLE_TIME};
	const struct {
		uint32_t pid, ppid, tid, ptid;
		uint64_t time, id_time;
	} fork = {1, 2, 3, 4, 5000, 9000};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_record rec = {.size = sizeof(rec)};
	struct auxtap_perfdata *pd;

	(void)state;
	begin(PD_HEADER_SIZE, 112, 1, &attr);
	put_record(PERF_RECORD_FORK, &fork, sizeof(fork));
	end_data();
	assert_int_equal(open_image(&pd, &err), 0);
	assert_int_equal(auxtap_perfdata_next(pd, &rec, &err), 1);
	assert_int_equal(rec.fields, AUXTAP_REC_PID_TID | AUXTAP_REC_TIME);
	assert_int_equal(rec.time, 9000);
	assert_int_equal(rec.tid, 3);
	auxtap_perfdata_close(pd);
}

/* What came after the records that the header counts is not read, and its size is reported. */
static void test_uncommitted(void **state)
{
	uint64_t lost[2] = {1, 2};

	(void)state;
	for (unsigned int nr = 0; nr < 4; nr++) {
		struct auxtap_error err = AUXTAP_ERROR_INIT;
		struct auxtap_record rec = {.size = sizeof(rec)};
		struct auxtap_perfdata *pd;

		begin(PD_HEADER_SIZE, 112, 1, &plain);
		put_record(PERF_RECORD_LOST, lost, sizeof(lost));
		end_data();
		for (unsigned int i = 0; i < nr; i++)
			put_record(PERF_RECORD_LOST, lost, sizeof(lost));
		assert_int_equal(open_image(&pd, &err), 0);
		assert_true(auxtap_perfdata_get_info(pd)->unfinished);
		assert_int_equal(auxtap_perfdata_get_info(pd)->uncommitted, nr * 24);
		assert_int_equal(auxtap_perfdata_next(pd, &rec, &err), 1);
		assert_int_equal(auxtap_perfdata_next(pd, &rec, &err), 0);
		auxtap_perfdata_close(pd);
	}
}

/* An error names the offset of the field that is wrong. */
static void test_ids_beyond_end(void **state)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perfdata *pd;
	uint64_t far = 1ull << 40;
	size_t at;

	(void)state;
	begin(PD_HEADER_SIZE, 112, 2, (struct perf_event_attr[]){plain, plain});
	at = header()->attrs.offset + 112 + 16 + 112; /* the second one's section of ids */
	memcpy(im.data + at, &far, 8);
	assert_int_equal(open_image(&pd, &err), -EBADMSG);
	assert_int_equal(err.offset, at);
}

int main(void)
{
	/* clang-format off */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attr_sizes),
		cmocka_unit_test(test_old_headers),
		cmocka_unit_test(test_sample_ids),
		cmocka_unit_test(test_unlisted_ids),
		cmocka_unit_test(test_compressed),
		cmocka_unit_test(test_expanding),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_overlapping_ids),
		cmocka_unit_test(test_damaged_records),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_struct_sizes),
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_body_with_time),
		cmocka_unit_test(test_uncommitted),
		cmocka_unit_test(test_ids_beyond_end),
	};
	/* clang-format on */

	return cmocka_run_group_tests(tests, NULL, NULL);
}
