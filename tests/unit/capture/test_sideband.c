// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sideband kept per process: records that describe living tasks stay, others go; memory is
 * bounded.
 */
#include "capture/build_id.h"
#include "capture/sideband_write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static unsigned char record[65536];

static const void *mmap2(uint32_t pid, uint64_t addr, uint64_t len, uint64_t time, const char *name)
{
	struct mmap2_body body = {.pid = pid,
				  .tid = pid,
				  .addr = addr,
				  .len = len,
				  .prot = PROT_EXEC};
	struct trailer trailer = {.pid = pid, .tid = pid, .time = time};

	assert_true(record_make(record, sizeof(record), PERF_RECORD_MMAP2, 0, &body, sizeof(body),
				name, &trailer));
	return record;
}

static const void *comm(uint32_t pid, uint32_t tid, uint16_t misc, const char *name)
{
	struct comm_body body = {.pid = pid, .tid = tid};
	struct trailer trailer = {.pid = pid, .tid = tid};

	assert_true(record_make(record, sizeof(record), PERF_RECORD_COMM, misc, &body, sizeof(body),
				name, &trailer));
	return record;
}

/* FORK or EXIT of a thread. */
static const void *life(uint32_t type, uint32_t pid, uint32_t tid, uint64_t time)
{
	struct {
		uint32_t pid, ppid, tid, ptid;
		uint64_t time;
	} body = {pid, pid, tid, pid, time};
	struct trailer trailer = {.pid = pid, .tid = tid, .time = time};

	assert_true(
		record_make(record, sizeof(record), type, 0, &body, sizeof(body), NULL, &trailer));
	return record;
}

static void test_fork_renumbers(void **state)
{
	struct process_table table = {0};
	const struct mmap2_body *map;
	struct process *child;

	(void)state;
	assert_int_equal(process_keep_record(&table, 10, comm(10, 10, 0, "parent")), 0);
	assert_int_equal(process_keep_record(&table, 10, comm(10, 11, 0, "thread")), 0);
	assert_int_equal(process_keep_record(&table, 10, mmap2(10, 0x1000, 0x1000, 5, "/lib/a")),
			 0);
	assert_int_equal(process_fork(&table, 10, 20), 0);
	child = process_find(&table, 20);
	assert_non_null(child);
	assert_int_equal(child->nr, 2); /* not the other thread's name */
	map = record_mmap2(child->records[1]->bytes);
	assert_non_null(map);
	assert_int_equal(map->pid, 20);
	assert_string_equal(map->filename, "/lib/a");
	assert_int_equal(child->records[1]->time, 5);
	process_remove(&table, 10);
	assert_null(process_find(&table, 10));
	process_remove(&table, 20);
	assert_int_equal(table.bytes, 0);
	process_table_free(&table);
}

static void test_exec_and_threads(void **state)
{
	struct exited_thread gone = {.tid = 8, .nr_bytes = 10, .exact = true};
	struct process_table table = {0};
	struct process *p;

	(void)state;
	for (int i = 0; i < 12; i++) {
		process_keep_record(&table, 7, comm(7, 7, PERF_RECORD_MISC_COMM_EXEC, "image"));
		process_keep_record(&table, 7, mmap2(7, 0x1000, 0x1000, 1, "/bin/image"));
	}
	p = process_find(&table, 7);
	assert_int_equal(p->nr, 16); /* this image, and the seven before it */
	process_keep_record(&table, 7, comm(7, 8, 0, "one"));
	process_keep_record(&table, 7, comm(7, 8, 0, "two"));
	assert_int_equal(p->nr, 17);
	process_thread_exit(&table, 7, &gone);
	assert_int_equal(p->nr, 17); /* its last name stays */
	/*
	 * The newest are kept one by one, with their names, the rest as a sum, so that every byte
	 * is counted.
	 */
	for (int i = 0; i < 3 * EXITED_MAX; i++) {
		gone.tid = 100 + i;
		process_keep_record(&table, 7, comm(7, gone.tid, 0, "one"));
		process_thread_exit(&table, 7, &gone);
		assert_int_equal(p->nr, i + 2 < EXITED_MAX ? 18 + i : 16 + EXITED_MAX);
	}
	assert_int_equal(p->nr_exited, 3 * EXITED_MAX + 1);
	assert_int_equal(p->older_exited_bytes, 10 * (2 * EXITED_MAX + 1));
	for (int i = 0; i < EXITED_MAX; i++)
		assert_in_range(p->exited[i].tid, 100 + 2 * EXITED_MAX, 100 + 3 * EXITED_MAX - 1);
	process_table_free(&table);
}

static struct exited_trace *trace_of(size_t size)
{
	struct exited_trace *trace = calloc(1, sizeof(*trace) + size);

	trace->size = size;
	return trace;
}

static size_t nr_traces(const struct process *p)
{
	size_t nr = 0;

	for (int i = 0; p->exited && i < EXITED_MAX; i++)
		nr += p->exited[i].trace != NULL;
	return nr;
}

/* The newest trace of ended threads, within bounds of threads and bytes; the oldest is dropped. */
static void test_ended_traces(void **state)
{
	const size_t nr_whole = EXITED_TRACES_MAX / EXITED_TRACE_MAX;
	struct process_table table = {0};
	struct exited_thread gone = {.time_end = 50};
	struct process *a, *b;

	(void)state;
	process_get(&table, 7);
	process_get(&table, 9);
	a = process_find(&table, 7);
	b = process_find(&table, 9);
	for (int i = 0; i < EXITED_MAX + 3; i++) {
		gone.tid = 100 + i;
		gone.trace = trace_of(1000);
		process_thread_exit(&table, 7, &gone);
	}
	assert_int_equal(nr_traces(a), EXITED_MAX);
	assert_int_equal(table.exited_bytes, EXITED_MAX * 1000);
	/* those of one process are given up for another's, as they are older */
	for (size_t i = 0; i < nr_whole; i++) {
		gone.tid = (pid_t)(200 + i);
		gone.trace = trace_of(EXITED_TRACE_MAX);
		process_thread_exit(&table, 9, &gone);
		assert_true(table.exited_bytes <= EXITED_TRACES_MAX);
	}
	assert_int_equal(nr_traces(a), 0);
	assert_int_equal(nr_traces(b), nr_whole);
	assert_int_equal(a->nr_exited, EXITED_MAX + 3);
	/* one of a process that is not known */
	gone.trace = trace_of(10);
	process_thread_exit(&table, 11, &gone);
	assert_int_equal(table.exited_bytes, EXITED_TRACES_MAX);
	process_remove(&table, 9);
	assert_int_equal(table.exited_bytes, 0);
	process_table_free(&table);
}

/* The start and the end of a thread are kept with its trace, and no longer. */
static void test_ended_life(void **state)
{
	struct process_table table = {0};
	struct exited_thread gone = {.tid = 8, .time_end = 50};
	struct process *p;

	(void)state;
	/* its start is in the ring of its parent, and is read after its end */
	process_get(&table, 7);
	p = process_find(&table, 7);
	process_keep_record(&table, 7, life(PERF_RECORD_EXIT, 7, 8, 49));
	gone.trace = trace_of(10);
	process_thread_exit(&table, 7, &gone);
	process_keep_record(&table, 7, life(PERF_RECORD_FORK, 7, 8, 20));
	assert_int_equal(nr_traces(p), 1);
	assert_int_equal(p->nr, 2);
	/* a new thread with its number: the trace would be taken for that one's */
	process_keep_record(&table, 7, life(PERF_RECORD_FORK, 7, 8, 60));
	assert_int_equal(nr_traces(p), 0);
	assert_int_equal(p->nr, 1);
	gone.trace = NULL;
	process_keep_record(&table, 7, life(PERF_RECORD_EXIT, 7, 8, 70));
	process_thread_exit(&table, 7, &gone);
	assert_int_equal(p->nr, 0);
	assert_int_equal(p->nr_exited, 2);
	process_table_free(&table);
}

static void test_bounded(void **state)
{
	struct process_table table = {0};
	struct process *p;
	bool found = false;

	(void)state;
	process_keep_record(&table, 7, mmap2(7, 0x100000, 0x1000, 1, "/bin/kept"));
	/* A JIT that maps the same address again and again: no loss. */
	for (int i = 0; i < 20000; i++)
		process_keep_record(&table, 7, mmap2(7, 0x200000, 0x1000, 2, "//anon"));
	p = process_find(&table, 7);
	assert_true(p->nr <= 4097);
	assert_int_equal(table.dropped, 0);
	for (size_t i = 0; i < p->nr; i++)
		found = found || !strcmp(record_mmap2(p->records[i]->bytes)->filename, "/bin/kept");
	assert_true(found);
	/* Ever new addresses: the oldest are dropped and counted. */
	for (uint64_t i = 0; i < 9000; i++)
		process_keep_record(&table, 7,
				    mmap2(7, 0x10000000 + i * 0x1000, 0x1000, 3, "//anon"));
	assert_true(p->nr <= 4097);
	assert_true(table.dropped > 0);
	process_table_free(&table);
}

static void test_damaged_records(void **state)
{
	struct process_table table = {0};
	struct perf_event_header header = {.type = PERF_RECORD_MMAP2, .size = 8};

	(void)state;
	assert_int_equal(process_keep_record(&table, 1, &header), 0); /* too short for a trailer */
	mmap2(1, 1, 1, 1, "name");
	/* a name without terminator */
	memset(record + sizeof(header) + sizeof(struct mmap2_body), 'x', 8);
	assert_null(record_mmap2(record));
	assert_int_equal(process_keep_record(&table, 1, record), 0);
	assert_int_equal(process_find(&table, 1)->nr, 0);
	process_table_free(&table);
}

static void test_maps(void **state)
{
	struct map_list list;

	(void)state;
	assert_int_equal(
		map_list_parse(
			&list,
			"1000-3000 r-xp 00002000 fe:01 77   /a path/with blanks\n"
			"garbage\n"
			"3000-3000 r-xp 0 0:0 0\n"
			"7000-8000 rw-s 00000000 00:00 0 \n"
			"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n"),
		0);
	assert_int_equal(list.nr, 3);
	assert_string_equal(list.entries[0].name, "/a path/with blanks");
	assert_int_equal(list.entries[0].pgoff, 0x2000);
	assert_int_equal(list.entries[0].maj, 0xfe);
	assert_true(map_runs_code(&list.entries[0]));
	assert_true(list.entries[1].shared);
	assert_string_equal(list.entries[1].name, "");
	assert_false(map_runs_code(&list.entries[2]));
	assert_ptr_equal(map_list_find(&list, 0x2fff), &list.entries[0]);
	assert_null(map_list_find(&list, 0x3000));
	map_list_free(&list);
}

static void test_build_id(void **state)
{
	char path[] = "/tmp/auxtap-build-id-XXXXXX";
	unsigned char image[65536];
	uint8_t id[20];
	size_t size;
	FILE *self = fopen("/proc/self/exe", "r");
	int fd = mkstemp(path);

	(void)state;
	assert_true(self && fd >= 0);
	assert_int_equal(build_id_read("/proc/self/exe", NULL, id), 20);
	assert_int_equal(build_id_read("/proc/self/maps", NULL, id), 0);
	assert_int_equal(build_id_read("/dev/null", NULL, id), 0);
	assert_int_equal(build_id_read("/nonexistent", NULL, id), 0);
	size = fread(image, 1, sizeof(image), self);
	fclose(self);
	/* Mutations of its headers: no crash, no read out of bounds. */
	srand(1);
	for (int i = 0; i < 3000; i++) {
		size_t at = (size_t)rand() % 1024;
		unsigned char was = image[at];

		image[at] = (unsigned char)rand();
		assert_int_equal(pwrite(fd, image, size, 0), size);
		assert_true(build_id_read(path, NULL, id) <= 20);
		image[at] = was;
	}
	close(fd);
	unlink(path);
}

/* Each string is new once; what is more than the bound is always new. */
static void test_strings(void **state)
{
	struct string_set set = {0};
	char name[32];

	(void)state;
	assert_true(string_set_add(&set, ""));
	assert_false(string_set_add(&set, ""));
	for (int i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "/lib/%d.so", i);
		assert_true(string_set_add(&set, name));
		assert_int_equal(string_set_add(&set, name), i >= 8191);
	}
	assert_int_equal(set.nr, 8192);
	assert_false(string_set_add(&set, "/lib/0.so"));
	assert_false(string_set_add(&set, "/lib/8190.so"));
	assert_true(string_set_add(&set, "/lib/8191.so"));
	string_set_free(&set);
	assert_true(string_set_add(&set, "/lib/0.so"));
	string_set_free(&set);
}

int main(void)
{
	/* clang-format off */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fork_renumbers),	cmocka_unit_test(test_exec_and_threads),
		cmocka_unit_test(test_ended_traces),	cmocka_unit_test(test_ended_life),
		cmocka_unit_test(test_bounded),		cmocka_unit_test(test_damaged_records),
		cmocka_unit_test(test_maps),		cmocka_unit_test(test_build_id),
		cmocka_unit_test(test_strings),
	};
	/* clang-format on */

	return cmocka_run_group_tests(tests, NULL, NULL);
}
