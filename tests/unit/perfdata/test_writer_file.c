// SPDX-License-Identifier: BSD-2-Clause
/*
 * The writer and the file system: modes, path.old, abort, unwritable paths, full
 * disks; and the writer's files through our reader: metadata, index, unfinished, split into
 * a directory.
 */
#include "perfdata/layout.h"
#include "perfdata/reader.h"
#include "support_ptfile.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void assert_text(const char *path, const char *text)
{
	char *out;

	assert_int_equal(run_command(&out, "cat %s", path), 0);
	assert_string_equal(out, text);
	free(out);
}

/* Numbers of records by type, and next()'s last result. */
static int read_records(const char *path, uint64_t *nr, struct auxtap_error *err)
{
	struct auxtap_perfdata *pd;
	struct auxtap_record rec = {.size = sizeof(rec)};
	int ret;

	memset(nr, 0, 128 * sizeof(*nr));
	assert_int_equal(auxtap_perfdata_open(&pd, path, err), 0);
	while ((ret = auxtap_perfdata_next(pd, &rec, err)) > 0)
		nr[rec.header->type & 127]++;
	auxtap_perfdata_close(pd);
	return ret;
}

static void test_old(void **state)
{
	char dir[] = "/tmp/auxtap-test-XXXXXX", path[64], old[64], *out;
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perfdata_writer *w;
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a.data", dir);
	snprintf(old, sizeof(old), "%s/a.data.old", dir);
	umask(0);
	write_text(path, "precious");
	assert_int_equal(auxtap_perfdata_writer_create(&w, path, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_text(old, "precious");
	auxtap_perfdata_writer_abort(w);
	assert_text(path, "precious");
	assert_int_equal(access(old, F_OK), -1);
	/* Nothing else is left. */
	assert_int_equal(run_command(&out, "ls %s", dir), 0);
	assert_string_equal(out, "a.data\n");
	free(out);
	assert_int_equal(run_command(&out, "rm -r %s", dir), 0);
	free(out);
}

static void test_refused(void **state)
{
	char dir[] = "/tmp/auxtap-test-XXXXXX", path[64], *out;
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perfdata_writer *w = (void *)1;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(auxtap_perfdata_writer_create(&w, dir, &err), -EISDIR);
	assert_null(w);
	assert_string_equal(err.what, dir);
	snprintf(path, sizeof(path), "%s/fifo", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(auxtap_perfdata_writer_create(&w, path, &err), -ESPIPE);
	snprintf(path, sizeof(path), "%s/none/a", dir);
	assert_int_equal(auxtap_perfdata_writer_create(&w, path, &err), -ENOENT);
	assert_string_equal(err.what, path);
	assert_int_equal(run_command(&out, "rm -r %s", dir), 0);
	free(out);
}

/* A full device: reported with the path, at once and by every later call. */
static void test_full(void **state)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perfdata_writer *w;

	(void)state;
	assert_int_equal(auxtap_perfdata_writer_create(&w, "/dev/full", &err), 0);
	assert_int_equal(auxtap_perfdata_writer_add_attr(w, &attr, "x"), 0);
	assert_int_equal(auxtap_perfdata_writer_begin(w, &err), -ENOSPC);
	assert_string_equal(err.what, "/dev/full");
	assert_non_null(strstr(err.why, "No space left"));
	auxtap_perfdata_writer_abort(w);
	assert_int_equal(access("/dev/full", F_OK), 0);
}

/* The file may not grow any more: the writer reports an error; committed records stay, with
 * the features. */
static void test_limit(void **state)
{
	struct rlimit limit, before;
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_auxtrace head = {.tid = PTFILE_PID, .cpu = (uint32_t)-1};
	uint64_t nr[128];
	struct ptfile pt;
	void *bytes = calloc(1, 4 << 20);
	int ret = 0;

	(void)state;
	assert_non_null(bytes);
	ptfile_begin(&pt);
	ptfile_run(&pt);
	ptfile_round(&pt);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = 1 << 20;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (int i = 0; i < 4 && !ret; i++)
		ret = auxtap_perfdata_writer_auxtrace(pt.w, &head, bytes, 4 << 20, NULL, 0, &err);
	assert_int_equal(ret, -EFBIG);
	assert_string_equal(err.what, pt.data);
	memset(&err, 0, sizeof(err));
	assert_int_equal(auxtap_perfdata_writer_round(pt.w, &err), -EFBIG);
	assert_int_equal(auxtap_perfdata_writer_finish(pt.w, &err), -EFBIG);
	assert_string_equal(err.what, pt.data);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_DFL);
	free(bytes);

	assert_int_equal(read_records(pt.data, nr, &err), 0);
	assert_int_equal(nr[AUXTAP_RECORD_AUXTRACE], 1);
	assert_int_equal(nr[AUXTAP_RECORD_FINISHED_ROUND], 1);
	if (have_command("perf")) {
		char *out;

		assert_int_equal(run_command(&out, "perf report --header-only -I -i %s 2>&1",
					     pt.data),
				 0);
		assert_non_null(strstr(out, "# contains AUX area data"));
		free(out);
	}
	ptfile_remove(&pt);
}

/* An AUXTRACE record written in fragments equals one written whole; nothing may come between. */
static void test_fragments(void **state)
{
	static unsigned char bytes[200001];
	static const size_t cuts[] = {0, 1, 8, 65543, 131072, 200001};
	struct auxtap_auxtrace head = {.tid = PTFILE_PID, .cpu = (uint32_t)-1};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perfdata *pd;
	struct auxtap_record rec = {.size = sizeof(rec)};
	struct ptfile pt;
	int seen = 0, ret;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 7 + i / 251);
	ptfile_begin(&pt);
	assert_int_equal(auxtap_perfdata_writer_auxtrace(pt.w, &head, bytes, 1000, bytes + 1000,
							 sizeof(bytes) - 1000, &err),
			 0);
	assert_int_equal(auxtap_perfdata_writer_auxtrace_begin(pt.w, &head, sizeof(bytes), &err),
			 0);
	for (size_t i = 1; i < sizeof(cuts) / sizeof(*cuts); i++) {
		assert_int_equal(auxtap_perfdata_writer_round(pt.w, NULL), -EINVAL);
		assert_int_equal(auxtap_perfdata_writer_auxtrace_begin(pt.w, &head, 8, NULL),
				 -EINVAL);
		assert_int_equal(auxtap_perfdata_writer_auxtrace(pt.w, &head, bytes, 8, NULL, 0,
								 NULL),
				 -EINVAL);
		assert_int_equal(auxtap_perfdata_writer_auxtrace_bytes(pt.w, bytes,
								       sizeof(bytes) - cuts[i - 1] +
									       1,
								       NULL),
				 -EINVAL);
		assert_int_equal(auxtap_perfdata_writer_auxtrace_bytes(pt.w, bytes + cuts[i - 1],
								       cuts[i] - cuts[i - 1], &err),
				 0);
	}
	assert_int_equal(auxtap_perfdata_writer_auxtrace_bytes(pt.w, bytes, 1, NULL), -EINVAL);
	ptfile_round(&pt);
	assert_int_equal(auxtap_perfdata_writer_finish(pt.w, &err), 0);

	assert_int_equal(auxtap_perfdata_open(&pd, pt.data, &err), 0);
	while ((ret = auxtap_perfdata_next(pd, &rec, &err)) > 0) {
		static unsigned char got[sizeof(bytes) + 7];

		if (rec.header->type != AUXTAP_RECORD_AUXTRACE)
			continue;
		assert_int_equal(rec.trace_size, sizeof(got));
		assert_int_equal(auxtap_perfdata_pread(pd, got, sizeof(got), rec.trace_off),
				 sizeof(got));
		assert_memory_equal(got, bytes, sizeof(bytes));
		for (size_t i = sizeof(bytes); i < sizeof(got); i++)
			assert_int_equal(got[i], 0);
		seen++;
	}
	assert_int_equal(ret, 0);
	assert_int_equal(seen, 2);
	auxtap_perfdata_close(pd);
	ptfile_remove(&pt);
}

/* An incomplete one is not in the file, nor are records after the commit. */
static void test_fragment_missing(void **state)
{
	struct auxtap_auxtrace head = {.tid = PTFILE_PID, .cpu = (uint32_t)-1};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	uint64_t nr[128];
	struct ptfile pt;

	(void)state;
	ptfile_begin(&pt);
	ptfile_run(&pt);
	ptfile_round(&pt);
	assert_int_equal(auxtap_perfdata_writer_auxtrace_begin(pt.w, &head, 64, &err), 0);
	assert_int_equal(auxtap_perfdata_writer_auxtrace_bytes(pt.w, "12345678", 8, &err), 0);
	assert_int_equal(auxtap_perfdata_writer_finish(pt.w, &err), -EINVAL);
	assert_int_equal(read_records(pt.data, nr, &err), 0);
	assert_int_equal(nr[AUXTAP_RECORD_AUXTRACE], 1);
	assert_int_equal(nr[AUXTAP_RECORD_FINISHED_ROUND], 1);
	ptfile_remove(&pt);
}

static void test_wrong_use(void **state)
{
	struct perf_event_header header = {PERF_RECORD_COMM, 0, 24};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct ptfile pt;

	(void)state;
	ptfile_begin(&pt);
	assert_int_equal(auxtap_perfdata_writer_record(pt.w, &header, 8, NULL, 0, &err), -EINVAL);
	assert_int_equal(auxtap_perfdata_writer_record(pt.w, &header, 4, NULL, 0, &err), -EINVAL);
	assert_int_equal(auxtap_perfdata_writer_add_id(pt.w, 2, 1), -EINVAL);
	assert_int_equal(auxtap_perfdata_writer_begin(pt.w, &err), -EINVAL);
	auxtap_perfdata_writer_abort(pt.w);
	ptfile_remove(&pt);
}

struct seen {
	unsigned int nr;
	uint32_t types[8];
	char texts[8][32];
	int stop;
};

static int on_metadata(void *ctx, uint32_t type, const void *data, size_t size)
{
	struct seen *seen = ctx;

	assert_true(seen->nr < 8 && size < 32);
	seen->types[seen->nr] = type;
	memcpy(seen->texts[seen->nr], data, size);
	seen->texts[seen->nr++][size] = '\0';
	return seen->stop;
}

static void test_metadata(void **state)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct seen seen = {0};
	struct auxtap_perfdata *pd;
	struct ptfile pt;
	struct stat st;
	unsigned char byte;
	int fd;

	(void)state;
	ptfile_begin(&pt);
	assert_int_equal(auxtap_perfdata_writer_metadata(pt.w, AUXTAP_METADATA_CAPTURE, "a: b\n",
							 5),
			 0);
	assert_int_equal(auxtap_perfdata_writer_metadata(pt.w, AUXTAP_METADATA_MAPS, NULL, 0), 0);
	assert_int_equal(auxtap_perfdata_writer_metadata(pt.w, 77, "12345678", 8), 0);
	assert_int_equal(auxtap_perfdata_writer_finish(pt.w, &err), 0);
	assert_int_equal(auxtap_perfdata_open(&pd, pt.data, &err), 0);
	assert_int_equal(auxtap_perfdata_metadata(pd, on_metadata, &seen, &err), 0);
	assert_int_equal(seen.nr, 3);
	assert_int_equal(seen.types[1], AUXTAP_METADATA_MAPS);
	assert_int_equal(seen.types[2], 77);
	assert_string_equal(seen.texts[0], "a: b\n");
	assert_string_equal(seen.texts[1], "");
	assert_string_equal(seen.texts[2], "12345678");
	memset(&seen, 0, sizeof(seen));
	seen.stop = 42;
	assert_int_equal(auxtap_perfdata_metadata(pd, on_metadata, &seen, &err), 42);
	assert_int_equal(seen.nr, 1);
	auxtap_perfdata_close(pd);

	/* A trailer with a wrong offset; a last metadata entry (size, 8 bytes of data) that
	 * exceeds the metadata. */
	assert_int_equal(stat(pt.data, &st), 0);
	fd = open(pt.data, O_RDWR);
	for (int i = 0; i < 2; i++) {
		off_t at = st.st_size - (i ? 32 + 8 + 1 : 32);

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 0x40;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		assert_int_equal(auxtap_perfdata_open(&pd, pt.data, &err), 0);
		memset(&seen, 0, sizeof(seen));
		assert_int_equal(auxtap_perfdata_metadata(pd, on_metadata, &seen, &err), -EBADMSG);
		assert_true(err.offset >= (uint64_t)st.st_size - 100);
		auxtap_perfdata_close(pd);
		byte ^= 0x40;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	close(fd);
	ptfile_remove(&pt);
}

/* The AUXTRACE feature names the AUXTRACE records; ids and names are read back. */
static void test_features(void **state)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	const struct auxtap_perfdata_aux *aux;
	const struct pd_auxtrace_entry *entries;
	struct auxtap_perfdata *pd;
	const void *data;
	uint64_t counted;
	struct ptfile pt;
	size_t size, nr;

	(void)state;
	ptfile_begin(&pt);
	for (int i = 0; i < 5; i++) {
		ptfile_run(&pt);
		ptfile_round(&pt);
	}
	assert_int_equal(auxtap_perfdata_writer_finish(pt.w, &err), 0);
	assert_int_equal(auxtap_perfdata_open(&pd, pt.data, &err), 0);
	assert_int_equal(auxtap_perfdata_auxtraces(pd, &aux, &nr, &err), 0);
	assert_int_equal(nr, 5);
	assert_int_equal(auxtap_perfdata_feature(pd, PD_FEAT_AUXTRACE, &data, &size), 0);
	assert_int_equal(size, 8 + 5 * sizeof(*entries));
	memcpy(&counted, data, 8);
	assert_int_equal(counted, 5);
	entries = (const void *)((const char *)data + 8);
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(entries[i].offset, aux[i].trace_off - 48);
		assert_int_equal(entries[i].size, 48);
	}
	assert_string_equal(auxtap_perfdata_get_attr(pd, 0)->name, "intel_pt//u");
	assert_int_equal(auxtap_perfdata_get_attr(pd, 1)->nr_ids, 1);
	assert_int_equal(auxtap_perfdata_get_attr(pd, 1)->ids[0], PTFILE_ID_DUMMY);
	assert_null(auxtap_perfdata_get_attr(pd, 2));
	assert_int_equal(auxtap_perfdata_feature(pd, PD_FEAT_STAT, &data, &size), -ENOENT);
	auxtap_perfdata_close(pd);
	ptfile_remove(&pt);
}

/* A recorder that never wrote a size: read to the end; the incomplete last record is
 * reported. */
static void test_unfinished(void **state)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	uint64_t nr[128], zero = 0;
	struct auxtap_perfdata *pd;
	struct ptfile pt;
	struct stat st;
	int fd;

	(void)state;
	ptfile_begin(&pt);
	ptfile_run(&pt);
	ptfile_round(&pt);
	fd = open(pt.data, O_RDWR);
	assert_int_equal(pwrite(fd, &zero, 8, offsetof(struct pd_file_header, data.size)), 8);
	assert_int_equal(read_records(pt.data, nr, &err), 0);
	assert_int_equal(nr[AUXTAP_RECORD_FINISHED_ROUND], 1);
	assert_int_equal(auxtap_perfdata_open(&pd, pt.data, &err), 0);
	assert_true(auxtap_perfdata_get_info(pd)->unfinished);
	auxtap_perfdata_close(pd);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(ftruncate(fd, st.st_size - 3), 0);
	assert_int_equal(read_records(pt.data, nr, &err), -EBADMSG);
	assert_int_equal(nr[AUXTAP_RECORD_FINISHED_ROUND], 0);
	assert_int_equal(nr[AUXTAP_RECORD_AUXTRACE], 1);
	assert_int_equal(err.offset, st.st_size - 8);
	/* Cut in the trace: the AUXTRACE record is delivered with the bytes that exist. */
	assert_int_equal(ftruncate(fd, st.st_size - 8 - 16), 0);
	assert_int_equal(read_records(pt.data, nr, &err), -EBADMSG);
	assert_int_equal(nr[AUXTAP_RECORD_AUXTRACE], 1);
	assert_non_null(strstr(err.why, "AUXTRACE"));
	close(fd);
	auxtap_perfdata_writer_abort(pt.w);
	ptfile_remove(&pt);
}

/* The records split over data, data.0, … data.10 are the same records. */
static void test_directory(void **state)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	uint64_t nr[128], split[128], trace[2][2];
	const struct auxtap_perfdata_aux *aux;
	struct auxtap_perfdata *pd;
	struct auxtap_record rec = {.size = sizeof(rec)};
	uint64_t data_off, end;
	struct ptfile pt;
	size_t nr_aux;
	char *out;

	(void)state;
	ptfile_begin(&pt);
	for (int i = 0; i < 8; i++)
		ptfile_run(&pt);
	ptfile_round(&pt);
	assert_int_equal(auxtap_perfdata_writer_finish(pt.w, &err), 0);
	assert_int_equal(read_records(pt.data, nr, &err), 0);

	assert_int_equal(run_command(&out, "mkdir %s/d && cp %s %s/d/data", pt.dir, pt.data,
				     pt.dir),
			 0);
	free(out);
	assert_int_equal(auxtap_perfdata_open(&pd, pt.data, &err), 0);
	data_off = auxtap_perfdata_get_info(pd)->data_off;
	end = data_off + auxtap_perfdata_get_info(pd)->data_size;
	/* Every AUX and AUXTRACE into a file of its own; the numbers are not in order of
	 * names. */
	for (int file = -1, i = 0; auxtap_perfdata_next(pd, &rec, &err) > 0; i++) {
		if (rec.header->type == PERF_RECORD_AUX)
			file++;
		if (file < 0)
			continue;
		if (file == 0 && rec.header->type == PERF_RECORD_AUX)
			end = rec.offset;
		assert_int_equal(run_command(&out,
					     "tail -c +%llu %s | head -c %llu >> %s/d/data.%d",
					     (unsigned long long)rec.offset + 1, pt.data,
					     (unsigned long long)(rec.file_size + rec.trace_size),
					     pt.dir, file + 4),
				 0);
		free(out);
	}
	auxtap_perfdata_close(pd);
	{
		struct pd_file_header header;
		char path[128];
		int fd;

		snprintf(path, sizeof(path), "%s/d/data", pt.dir);
		fd = open(path, O_RDWR);
		assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
		header.data.size = end - data_off;
		memset(header.features, 0, sizeof(header.features));
		assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
		assert_int_equal(ftruncate(fd, (off_t)end), 0);
		close(fd);
		snprintf(path, sizeof(path), "%s/d", pt.dir);
		assert_int_equal(read_records(path, split, &err), 0);
		assert_memory_equal(nr, split, sizeof(nr));
		assert_int_equal(auxtap_perfdata_open(&pd, path, &err), 0);
	}
	assert_int_equal(auxtap_perfdata_get_info(pd)->form, AUXTAP_PERFDATA_DIRECTORY);
	assert_int_equal(auxtap_perfdata_auxtraces(pd, &aux, &nr_aux, &err), 0);
	assert_int_equal(nr_aux, 8);
	for (size_t i = 0; i < nr_aux; i++) {
		assert_int_equal(aux[i].auxtrace.offset, i * 48); /* in order, "10" after "9" */
		assert_int_equal(auxtap_perfdata_pread(pd, trace[0], 16, aux[i].trace_off), 16);
		assert_int_equal(trace[0][0], 0x8202820282028202ULL);
	}
	auxtap_perfdata_close(pd);
	ptfile_remove(&pt);
}

int main(void)
{
	/* clang-format off */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_old),       cmocka_unit_test(test_refused),
		cmocka_unit_test(test_fragments),    cmocka_unit_test(test_fragment_missing),
		cmocka_unit_test(test_full),      cmocka_unit_test(test_limit),
		cmocka_unit_test(test_wrong_use), cmocka_unit_test(test_metadata),
		cmocka_unit_test(test_features),  cmocka_unit_test(test_unfinished),
		cmocka_unit_test(test_directory),
	};
	/* clang-format on */

	return cmocka_run_group_tests(tests, NULL, NULL);
}
