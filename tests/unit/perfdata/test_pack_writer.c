// SPDX-License-Identifier: BSD-2-Clause
/*
 * Packed files as files: a copy of the recording with other metadata, refused once it is cut or
 * any byte of it is changed; what must not be packed; what is left out when it is redacted.
 */
#include <auxtap/perfdata.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define NOTE	"twelve bytes"
#define TRAILER 32
#define RECORD	48 /* the first metadata record: type, size, struct auxtap_pack_header */

static char dir[] = "/tmp/auxtap-packw-XXXXXX";
static char data[64], packed[64], old[64];

/* So many calls of pread() more are made; those after them find the end of the file. -1: all are.
 */
static int nr_preads = -1;

ssize_t __real_pread(int fd, void *buf, size_t size, off_t off);
ssize_t __wrap_pread(int fd, void *buf, size_t size, off_t off);

ssize_t __wrap_pread(int fd, void *buf, size_t size, off_t off)
{
	if (!nr_preads)
		return 0;
	nr_preads -= nr_preads > 0;
	return __real_pread(fd, buf, size, off);
}

struct content {
	uint8_t *bytes;
	size_t size;
};

static struct content read_file(const char *path)
{
	struct content c = {malloc(1 << 20), 0};
	FILE *f = fopen(path, "r");

	assert_non_null(c.bytes);
	assert_non_null(f);
	c.size = fread(c.bytes, 1, 1 << 20, f);
	assert_true(feof(f));
	fclose(f);
	return c;
}

static void write_file(const char *path, const void *bytes, size_t size)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

/* nr_extra: bytes of a record more, if not 0 */
static void record_more(uint64_t sample_type, uint16_t nr_extra)
{
	const struct perf_event_header more = {200, 0, nr_extra};
	const struct perf_event_attr attr = {.size = sizeof(attr),
					     .type = 1,
					     .sample_type = sample_type};
	const struct perf_event_header lost = {PERF_RECORD_LOST, 0, 24};
	const uint64_t body[2] = {0, 77};
	static const uint8_t zeros[1 << 16];
	char *const argv[] = {"command", "secret"};
	struct auxtap_perfdata_writer *w;

	assert_int_equal(auxtap_perfdata_writer_create(&w, data, NULL), 0);
	assert_int_equal(auxtap_perfdata_writer_add_attr(w, &attr, "dummy:u"), 0);
	assert_int_equal(auxtap_perfdata_writer_begin(w, NULL), 0);
	assert_int_equal(auxtap_perfdata_writer_record(w, &lost, sizeof(lost), body, sizeof(body),
						       NULL),
			 0);
	if (nr_extra)
		assert_int_equal(auxtap_perfdata_writer_record(w, &more, sizeof(more), zeros,
							       nr_extra - sizeof(more), NULL),
				 0);
	assert_int_equal(auxtap_perfdata_writer_cmdline(w, 2, argv), 0);
	assert_int_equal(auxtap_perfdata_writer_metadata(w, AUXTAP_METADATA_MESSAGE, "gone", 4), 0);
	assert_int_equal(auxtap_perfdata_writer_finish(w, NULL), 0);
}

static void record(uint64_t sample_type)
{
	record_more(sample_type, 0);
}

static int create(struct auxtap_pack_writer **w, struct auxtap_perfdata **pd, const char *to,
		  uint32_t flags)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;

	assert_int_equal(auxtap_perfdata_open(pd, data, NULL), 0);
	return auxtap_pack_writer_create(w, *pd, to, flags, &err);
}

static void pack(const char *to, uint32_t flags)
{
	struct auxtap_pack_writer *w;
	struct auxtap_perfdata *pd;
	uint64_t size;
	struct stat st;

	assert_int_equal(create(&w, &pd, to, flags), 0);
	assert_int_equal(auxtap_pack_writer_metadata(w, 200, NOTE, 12), 0);
	assert_int_equal(auxtap_pack_writer_metadata(w, 201, "", 0), 0);
	assert_int_equal(auxtap_pack_writer_finish(w, &size, NULL), 0);
	auxtap_perfdata_close(pd);
	assert_int_equal(stat(to, &st), 0);
	assert_int_equal(st.st_size, size);
	assert_int_equal(st.st_mode & 07777, 0600);
}

/* As auxtap_perfdata_packed(); a file that cannot be opened is refused, too. */
static int state_of(const char *path, struct auxtap_pack_header *head)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perfdata *pd;
	int ret;

	if (auxtap_perfdata_open(&pd, path, NULL))
		return -EBADMSG;
	ret = auxtap_perfdata_packed(pd, head, &err);
	assert_int_equal(auxtap_perfdata_packed(pd, NULL, NULL), ret);
	auxtap_perfdata_close(pd);
	return ret;
}

static int list(void *ctx, uint32_t type, const void *note, size_t size)
{
	char *text = ctx;

	if (type == 200) {
		assert_int_equal(size, 12);
		assert_memory_equal(note, NOTE, 12);
	}
	sprintf(text + strlen(text), "%u:%zu ", type, size);
	return 0;
}

/* Offset of the metadata: at the end of the file is where it begins. */
static uint64_t metadata_of(const struct content *c)
{
	uint64_t trailer[4];

	assert_true(c->size > sizeof(trailer));
	memcpy(trailer, c->bytes + c->size - sizeof(trailer), sizeof(trailer));
	assert_memory_equal(&trailer[3], "AUXTAPN1", 8);
	assert_int_equal(trailer[0] + trailer[1], c->size - sizeof(trailer));
	return trailer[0];
}

static void whole(void **state)
{
	struct content before, after;
	struct auxtap_pack_header head;
	struct auxtap_perfdata *pd;
	char notes[100] = "";
	uint64_t front;

	(void)state;
	record(PERF_SAMPLE_TID);
	write_file(packed, "older", 5);
	pack(packed, 0);
	before = read_file(data);
	after = read_file(packed);
	front = metadata_of(&before);
	assert_int_equal(metadata_of(&after), front);
	assert_memory_equal(before.bytes, after.bytes, front);
	assert_int_equal(after.size, front + RECORD + 16 + 16 + 16 + TRAILER);
	assert_int_equal(state_of(data, &head), 0);
	assert_int_equal(state_of(packed, &head), 1);
	assert_int_equal(head.file_size, after.size);
	assert_int_equal(head.flags, 0);
	assert_int_equal(auxtap_perfdata_open(&pd, packed, NULL), 0);
	assert_int_equal(auxtap_perfdata_metadata(pd, list, notes, NULL), 0);
	assert_string_equal(notes, "32:32 200:12 201:0 ");
	auxtap_perfdata_close(pd);
	free(before.bytes);
	before = read_file(old);
	assert_int_equal(before.size, 5);
	assert_memory_equal(before.bytes, "older", 5);
	free(before.bytes);
	free(after.bytes);
}

static void damaged(void **state)
{
	struct content c;
	struct auxtap_pack_header head;
	uint64_t front;

	(void)state;
	record(PERF_SAMPLE_TID);
	pack(packed, 0);
	c = read_file(packed);
	front = metadata_of(&c);
	for (size_t at = 0; at < c.size; at += at < front ? 97 : 1) {
		/* without these it is no record of a packed file */
		if ((at >= front && at < front + 4) || (at >= front + 8 && at < front + 24))
			continue;
		c.bytes[at] ^= 0x10;
		write_file(packed, c.bytes, c.size);
		if (state_of(packed, &head) >= 0)
			fail_msg("byte %zu of %zu may be another", at, c.size);
		c.bytes[at] ^= 0x10;
	}
	for (size_t size = front + RECORD; size < c.size; size += 7) {
		write_file(packed, c.bytes, size);
		assert_int_equal(state_of(packed, &head), -EBADMSG);
	}
	c.bytes[front + 24]++; /* the form */
	write_file(packed, c.bytes, c.size);
	assert_int_equal(state_of(packed, &head), -ENOTSUP);
	c.bytes[front + 24]--;
	write_file(packed, c.bytes, c.size);
	assert_int_equal(state_of(packed, &head), 1);
	/* more than the file had */
	c.bytes = realloc(c.bytes, c.size + 8);
	assert_non_null(c.bytes);
	memmove(c.bytes + c.size - TRAILER + 8, c.bytes + c.size - TRAILER, TRAILER);
	memset(c.bytes + c.size - TRAILER, 0, 8);
	c.bytes[c.size - TRAILER + 8 + 8] += 8; /* as the trailer says */
	write_file(packed, c.bytes, c.size + 8);
	assert_int_equal(state_of(packed, &head), -EBADMSG);
	free(c.bytes);
}

/* The command's name stays, its arguments do not; nothing else in front of the metadata changes. */
static void redacted(void **state)
{
	struct content before, after;
	struct auxtap_pack_header head;
	uint64_t front, nr_other = 0;
	const uint8_t *secret;

	(void)state;
	record(PERF_SAMPLE_TID);
	pack(packed, AUXTAP_PACK_REDACTED);
	assert_int_equal(state_of(packed, &head), 1);
	assert_int_equal(head.flags, AUXTAP_PACK_REDACTED);
	before = read_file(data);
	after = read_file(packed);
	front = metadata_of(&before);
	assert_null(memmem(after.bytes, after.size, "secret", 6));
	assert_non_null(memmem(after.bytes, after.size, "command", 7));
	secret = memmem(before.bytes, before.size, "secret", 6);
	assert_non_null(secret);
	for (uint64_t i = 0; i < front; i++)
		nr_other += before.bytes[i] != after.bytes[i];
	/* the argument, the number of arguments (2, now 1), the argument's length */
	assert_int_equal(nr_other, 6 + 1 + 1);
	free(before.bytes);
	free(after.bytes);
}

static void refused(void **state)
{
	static const uint64_t revealing[] = {PERF_SAMPLE_STACK_USER, PERF_SAMPLE_REGS_USER,
					     PERF_SAMPLE_REGS_INTR, PERF_SAMPLE_RAW};
	const struct perf_event_attr attr = {.size = sizeof(attr), .type = 1};
	struct auxtap_pack_writer *w;
	struct auxtap_perfdata *pd;
	struct auxtap_perfdata_writer *writer;

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		record(PERF_SAMPLE_TID | revealing[i]);
		assert_int_equal(create(&w, &pd, packed, AUXTAP_PACK_REDACTED), -ENOTSUP);
		auxtap_perfdata_close(pd);
		assert_null(w);
		assert_int_equal(create(&w, &pd, packed, 0), 0);
		auxtap_pack_writer_abort(w);
		auxtap_perfdata_close(pd);
	}
	/* its recorder did not finish it */
	assert_int_equal(auxtap_perfdata_writer_create(&writer, data, NULL), 0);
	assert_int_equal(auxtap_perfdata_writer_add_attr(writer, &attr, "dummy:u"), 0);
	assert_int_equal(auxtap_perfdata_writer_begin(writer, NULL), 0);
	assert_int_equal(create(&w, &pd, packed, 0), -ENOTSUP);
	auxtap_perfdata_close(pd);
	auxtap_perfdata_writer_abort(writer);
	record(PERF_SAMPLE_TID);
	assert_int_equal(create(&w, &pd, "/nonexistent/file", 0), -ENOENT);
	auxtap_perfdata_close(pd);
}

/* The checksum is the first of the bytes that are read at once, or the last. */
static void checksum_at_an_edge(void **state)
{
	const uint64_t in_record = 16 + offsetof(struct auxtap_pack_header, checksum);
	struct auxtap_pack_header head;
	struct content c;
	uint64_t front;

	(void)state;
	record(PERF_SAMPLE_TID);
	c = read_file(data);
	front = metadata_of(&c);
	free(c.bytes);
	for (uint64_t at = 65536 - 8; at <= 65536; at += 8) {
		record_more(PERF_SAMPLE_TID, (uint16_t)(at - in_record - front));
		pack(packed, 0);
		c = read_file(packed);
		assert_int_equal(metadata_of(&c) + in_record, at);
		assert_int_equal(state_of(packed, &head), 1);
		assert_memory_equal(c.bytes + at, &head.checksum, 8);
		/* each of its bytes counts, and those beside it */
		for (uint64_t i = at - 1; i <= at + 8; i++) {
			c.bytes[i] ^= 1;
			write_file(packed, c.bytes, c.size);
			assert_int_equal(state_of(packed, &head), -EBADMSG);
			c.bytes[i] ^= 1;
		}
		free(c.bytes);
	}
}

/* Only the files that were there before. */
static void nothing_left(void)
{
	char command[300];

	snprintf(command, sizeof(command), "test -z \"$(ls %s | grep '[.]......$')\"", dir);
	assert_int_equal(system(command), 0);
}

/* The recording was made shorter, or the new file, while it is packed: an error, not half a file.
 */
static void file_shrinks(void **state)
{
	struct auxtap_pack_writer *w;
	struct auxtap_perfdata *pd;
	int ret = -EBADMSG, last = 0;
	struct stat st;

	(void)state;
	record(PERF_SAMPLE_TID);
	remove(packed);
	assert_int_equal(auxtap_perfdata_open(&pd, data, NULL), 0);
	assert_int_equal(stat(data, &st), 0);
	assert_int_equal(truncate(data, st.st_size / 2), 0);
	assert_int_equal(auxtap_pack_writer_create(&w, pd, packed, 0, NULL), -EBADMSG);
	assert_null(w);
	auxtap_perfdata_close(pd);
	nothing_left();
	/* before each read of it, the last of which is that of the command line */
	record(PERF_SAMPLE_TID);
	for (int nr = 0; ret; nr++) {
		last = ret;
		assert_int_equal(auxtap_perfdata_open(&pd, data, NULL), 0);
		nr_preads = nr;
		ret = auxtap_pack_writer_create(&w, pd, packed, AUXTAP_PACK_REDACTED, NULL);
		nr_preads = -1;
		assert_true(ret <= 0 && !ret == !!w);
		if (w)
			auxtap_pack_writer_abort(w);
		auxtap_perfdata_close(pd);
		nothing_left();
	}
	assert_int_equal(last, -EIO);
	/* as what was written is read back */
	assert_int_equal(create(&w, &pd, packed, 0), 0);
	nr_preads = 0;
	assert_int_equal(auxtap_pack_writer_finish(w, NULL, NULL), -EIO);
	nr_preads = -1;
	auxtap_perfdata_close(pd);
	nothing_left();
	assert_int_equal(access(packed, F_OK), -1);
}

/* A failed write is an error, and ends. */
static void too_large(void **state)
{
	struct rlimit old_limit, limit;
	struct auxtap_pack_writer *w;
	struct auxtap_perfdata *pd;

	(void)state;
	record(PERF_SAMPLE_TID);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
	limit = old_limit;
	limit.rlim_cur = 1024;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(create(&w, &pd, packed, 0), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
	auxtap_perfdata_close(pd);
	assert_null(w);
}

/* Nothing is left of what was not finished; the recording itself can be replaced. */
static void names(void **state)
{
	struct auxtap_pack_writer *w;
	struct auxtap_perfdata *pd;
	char command[300];

	(void)state;
	record(PERF_SAMPLE_TID);
	unlink(packed);
	unlink(old);
	assert_int_equal(create(&w, &pd, packed, 0), 0);
	assert_int_equal(access(packed, F_OK), -1);
	auxtap_pack_writer_abort(w);
	auxtap_perfdata_close(pd);
	snprintf(command, sizeof(command),
		 "rm -f %s.old; pack=$(echo %s.*); [ \"$pack\" = '%s.*' ]", data, packed, packed);
	assert_int_equal(system(command), 0);
	pack(packed, 0);
	assert_int_equal(access(old, F_OK), -1);
	pack(data, 0);
	assert_int_equal(state_of(data, NULL), 1);
	snprintf(command, sizeof(command), "[ ! -e %s.old ]", data);
	assert_int_equal(system(command), 0);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(data, sizeof(data), "%s/data", dir);
	snprintf(packed, sizeof(packed), "%s/packed", dir);
	snprintf(old, sizeof(old), "%s/packed.old", dir);
	return 0;
}

static int tear_down(void **state)
{
	char command[80];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),	cmocka_unit_test(damaged),
		cmocka_unit_test(redacted),	cmocka_unit_test(refused),
		cmocka_unit_test(names),	cmocka_unit_test(checksum_at_an_edge),
		cmocka_unit_test(file_shrinks), cmocka_unit_test(too_large),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
