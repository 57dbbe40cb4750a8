// SPDX-License-Identifier: BSD-2-Clause
/*
 * The running kernel as reference for sections B and C: the same system calls on a software
 * dummy event and on the model give the same results. Skips if perf_event_open is refused.
 */
#include "support_perf_side.h"
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

#define P  4096ul
#define RW (PROT_READ | PROT_WRITE)

struct log {
	struct {
		const char *what;
		long result;
	} lines[256];
	int nr;
};

static void note(struct log *log, const char *what, long result)
{
	log->lines[log->nr].what = what;
	log->lines[log->nr++].result = result;
}

static int map_error(struct perf_side *side, int fd, size_t length, int prot, int flags,
		     uint64_t offset)
{
	int error;

	side_mmap(side, fd, length, prot, flags, offset, &error);
	return error;
}

#define MAP(what, ...) note(log, what, map_error(side, __VA_ARGS__))

static void script_data(struct perf_side *side, struct log *log)
{
	struct perf_event_attr attr = side_dummy_attr(), inherit = attr;
	int fd = side_open(side, &attr, 0, -1), child;
	void *addr;
	int error;

	inherit.inherit = 1;
	child = side_open(side, &inherit, 0, -1);
	MAP("B1 cpu -1 and inherit", child, 2 * P, RW, MAP_SHARED, 0);
	child = side_open(side, &inherit, 0, side->cpu);
	MAP("B1 a cpu and inherit", child, 2 * P, RW, MAP_SHARED, 0);
	MAP("B2 private", fd, 2 * P, RW, MAP_PRIVATE, 0);
	MAP("B4 three data pages", fd, 4 * P, RW, MAP_SHARED, 0);
	MAP("B4 five data pages", fd, 6 * P, RW, MAP_SHARED, 0);
	MAP("B4 length 0", fd, 0, RW, MAP_SHARED, 0);
	MAP("B4 length rounded up", fd, 2 * P - 100, RW, MAP_SHARED, 0);
	MAP("B5 same size", fd, 2 * P, RW, MAP_SHARED, 0);
	MAP("B5 same size, read-only", fd, 2 * P, PROT_READ, MAP_SHARED, 0);
	MAP("B5 another size", fd, 3 * P, RW, MAP_SHARED, 0);
	MAP("B5 control page only", fd, P, RW, MAP_SHARED, 0);
	fd = side_open(side, &attr, 0, -1);
	addr = side_mmap(side, fd, P, RW, MAP_SHARED, 0, &error);
	note(log, "B16 no data pages", error);
	note(log, "E13 pause without data pages",
	     side_ioctl(side, fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0));
	note(log, "poll", side_poll(side, fd));
	side_munmap(side, addr);
	note(log, "poll after unmap", side_poll(side, fd));
	MAP("B4 once unmapped, another size", fd, 5 * P, RW, MAP_SHARED, 0);
	fd = side_open(side, &attr, 0, -1);
	MAP("B12 2 GiB of data", fd, (1ul << 31) + P, RW, MAP_SHARED, 0);
	MAP("B4 after that", fd, 3 * P, RW, MAP_SHARED, 0);
	fd = side_open(side, &attr, 0, -1);
	note(log, "E13 pause without ring", side_ioctl(side, fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
	note(log, "E12 poll without ring", side_poll(side, fd));
	note(log, "refresh of a counter", side_ioctl(side, fd, PERF_EVENT_IOC_REFRESH, 1));
	note(log, "reset", side_ioctl(side, fd, PERF_EVENT_IOC_RESET, 0));
	note(log, "unknown ioctl", side_ioctl(side, fd, 0x2499, 0));
}

static void set_aux(void *page, uint64_t offset, uint64_t size)
{
	struct perf_event_mmap_page *user = page;

	user->aux_offset = offset;
	user->aux_size = size;
}

static void script_aux(struct perf_side *side, struct log *log)
{
	struct perf_event_attr attr = side_dummy_attr();
	int fd = side_open(side, &attr, 0, -1), error;
	void *page;

	MAP("B6 AUX before data", fd, 4 * P, RW, MAP_SHARED, 2 * P);
	page = side_mmap(side, fd, 2 * P, RW, MAP_SHARED, 0, &error);
	note(log, "data", error);
	MAP("B7 nothing announced", fd, 4 * P, RW, MAP_SHARED, 2 * P);
	set_aux(page, P, 4 * P);
	MAP("B7 inside the data", fd, 4 * P, RW, MAP_SHARED, P);
	set_aux(page, 2 * P, 4 * P);
	MAP("B7 not where announced", fd, 4 * P, RW, MAP_SHARED, 3 * P);
	MAP("B8 not as long as announced", fd, 2 * P, RW, MAP_SHARED, 2 * P);
	set_aux(page, 2 * P, 3 * P);
	MAP("B8 three pages", fd, 3 * P, RW, MAP_SHARED, 2 * P);
	set_aux(page, 2 * P, 4 * P - 8);
	MAP("B8 not a whole page", fd, 4 * P - 8, RW, MAP_SHARED, 2 * P);
	set_aux(page, 2 * P, 4 * P);
	MAP("C1 no setup_aux", fd, 4 * P, RW, MAP_SHARED, 2 * P);
	MAP("C1 overwrite", fd, 4 * P, PROT_READ, MAP_SHARED, 2 * P);
	set_aux(page, 64 * P, 4 * P);
	MAP("C1 with a hole between", fd, 4 * P, RW, MAP_SHARED, 64 * P);
	MAP("B13 data again", fd, 2 * P, RW, MAP_SHARED, 0);
	side_munmap(side, page);
	MAP("B13 a third time", fd, 2 * P, RW, MAP_SHARED, 0);
	MAP("B9 after all", fd, 4 * P, RW, MAP_SHARED, 64 * P);
	set_aux(side->maps[1].addr ? side->maps[1].addr : side->maps[0].addr, 64 * P, 1ull << 43);
	MAP("B8 more pages than INT_MAX", fd, 1ull << 43, RW, MAP_SHARED, 64 * P);
}

static void script_output(struct perf_side *side, struct log *log)
{
	struct perf_event_attr attr = side_dummy_attr(), other = attr;
	int a = side_open(side, &attr, 0, -1), b = side_open(side, &attr, 0, -1);
	int on_cpu = side_open(side, &attr, 0, side->cpu);
	int backward, clock, cpu_wide, error;
	void *page, *page_b;

#define OUT(what, from, to) \
	note(log, what, side_ioctl(side, from, PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)(to)))
	OUT("B19 self", a, a);
	OUT("B19 target without ring", b, a);
	page = side_mmap(side, a, 2 * P, RW, MAP_SHARED, 0, &error);
	note(log, "map", error);
	OUT("B19 good", b, a);
	OUT("B19 another cpu", on_cpu, a);
	other.write_backward = 1;
	backward = side_open(side, &other, 0, -1);
	OUT("B19 other direction", backward, a);
	other = attr;
	other.use_clockid = 1;
	other.clockid = CLOCK_MONOTONIC_RAW;
	clock = side_open(side, &other, 0, -1);
	OUT("B19 other clock", clock, a);
	cpu_wide = side_open(side, &attr, -1, side->cpu);
	note(log, "cpu event", cpu_wide < 0 ? cpu_wide : 0);
	OUT("B19 no task, cpu", cpu_wide, on_cpu);
	page_b = side_mmap(side, b, 2 * P, RW, MAP_SHARED, 0, &error);
	note(log, "L6 map what belongs to another", error);
	MAP("B5 map what belongs to another, other size", b, 3 * P, RW, MAP_SHARED, 0);
	if (page_b)
		side_munmap(side, page_b);
	OUT("B19 own mapping", a, b);
	OUT("B19 detach", b, -1);
	OUT("B19 detach again", b, -1);
	OUT("B19 good again", b, a);
	note(log, "E12 poll of the redirected", side_poll(side, b));
	side_munmap(side, page);
	note(log, "B18 poll after the last unmap", side_poll(side, b));
	OUT("B19 target unmapped", b, a);
	MAP("B18 a ring of its own", b, 3 * P, RW, MAP_SHARED, 0);
	OUT("B19 source is mapped", b, a);
	OUT("B19 mapped, detach", b, -1);
#undef OUT
}

static void script_userpage(struct perf_side *side, struct log *log)
{
	struct perf_event_attr attr = side_dummy_attr();
	int fd = side_open(side, &attr, 0, -1), error;
	struct perf_event_mmap_page *page = side_mmap(side, fd, 5 * P, RW, MAP_SHARED, 0, &error);

	note(log, "version", page->version);
	note(log, "compat_version", page->compat_version);
	note(log, "bit0_is_deprecated", page->cap_bit0_is_deprecated);
	note(log, "cap_bit0", page->cap_bit0);
	note(log, "size", page->size);
	note(log, "data_offset", (long)page->data_offset);
	note(log, "data_size", (long)page->data_size);
	note(log, "data_head", (long)page->data_head);
	note(log, "data_tail", (long)page->data_tail);
	note(log, "aux",
	     (long)(page->aux_head | page->aux_tail | page->aux_offset | page->aux_size));
}

static void script_open(struct perf_side *side, struct log *log)
{
	struct perf_event_attr attr;
	uint64_t id = 0, words[8];
	int fd;

#define OPEN(what, change)                          \
	do {                                        \
		attr = side_dummy_attr();           \
		change;                             \
		fd = side_open(side, &attr, 0, -1); \
		note(log, what, fd < 0 ? fd : 0);   \
	} while (0)
	OPEN("reserved bits", attr.__reserved_1 = 1);
	OPEN("reserved word", attr.__reserved_2 = 1);
	OPEN("unknown sample type", attr.sample_type = 1ull << 40);
	OPEN("unknown read format", attr.read_format = 1ull << 20);
	OPEN("unknown type", attr.type = 0x7fffff00);
	OPEN("attr too short", attr.size = 32);
	OPEN("attr of the first version", attr.size = 64);
	OPEN("period with the top bit", attr.sample_period = 1ull << 63);
	OPEN("inherit and read samples", (attr.inherit = 1, attr.sample_type = PERF_SAMPLE_READ));
	OPEN("inherit_thread alone", attr.inherit_thread = 1);
	OPEN("L4 pause and resume", attr.__reserved_3 = 6);
	OPEN("L4 start paused, no PMU for it", attr.__reserved_3 = 1);
	OPEN("L4 pause without leader", attr.__reserved_3 = 2);
	OPEN("aux_output without leader", attr.aux_output = 1);
	OPEN("G2 aux samples without leader", attr.aux_sample_size = 4096);
	OPEN("bad clock", (attr.use_clockid = 1, attr.clockid = 77));
	OPEN("id", attr.read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST);
	note(log, "ioctl ID", side_ioctl(side, fd, PERF_EVENT_IOC_ID, (unsigned long)&id));
	note(log, "short read", side_read(side, fd, words, 16));
	note(log, "read", side_read(side, fd, words, sizeof(words)));
	note(log, "count", (long)words[0]);
	note(log, "same id", words[1] == id);
	note(log, "lost", (long)words[2]);
	OPEN("group", attr.read_format =
			      PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED);
	note(log, "read a group of one", side_read(side, fd, words, sizeof(words)));
	note(log, "number", (long)words[0]);
#undef OPEN
}

/*
 * Describes the records from a position on: LOST's own, and the sample id's TID, ID, STREAM_ID,
 * CPU.
 */
static void note_records(struct perf_side *side, struct log *log,
			 const struct perf_event_mmap_page *page, uint64_t at, uint64_t id)
{
	const unsigned char *data = (const unsigned char *)page + P;

	while (at != page->data_head) {
		const struct perf_event_header *h = (void *)(data + (at & (P - 1)));
		uint64_t words[16] = {0};

		for (int i = 0; i < h->size; i++)
			((unsigned char *)words)[i] = data[(at + (uint64_t)i) & (P - 1)];
		note(log, "type", h->type);
		note(log, "size", h->size);
		if (h->type == PERF_RECORD_LOST) {
			note(log, "E8 id", words[1] == id);
			note(log, "E8 lost", (long)words[2]);
		}
		note(log, "tid is the thread's",
		     words[h->size / 8 - 4] >> 32 == (uint64_t)side->other.tid);
		note(log, "id", words[h->size / 8 - 3] == id);
		note(log, "stream id", words[h->size / 8 - 2] == id);
		note(log, "cpu", (long)words[h->size / 8 - 1]);
		at += h->size;
	}
}

/* An event of another thread: full ring, LOST, the thread's end. */
static void script_other_thread(struct perf_side *side, struct log *log)
{
	struct perf_event_attr attr = side_dummy_attr();
	struct perf_event_mmap_page *page;
	uint64_t id, at = 0;
	int fd, error;

	side_other_start(side);
	attr.task = 1;
	attr.sample_id_all = 1;
	attr.sample_type =
		PERF_SAMPLE_TID | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU;
	fd = side_open_other(side, &attr);
	page = side_mmap(side, fd, 2 * P, RW, MAP_SHARED, 0, &error);
	note(log, "map", error);
	side_ioctl(side, fd, PERF_EVENT_IOC_ID, (unsigned long)&id);
	side_other_comm(side, "one");
	note(log, "head", (long)page->data_head);
	side_comm(side, "not traced");
	note(log, "head", (long)page->data_head);
	for (int i = 0; i < 80; i++)
		side_other_comm(side, "many");
	note(log, "full", (long)page->data_head);
	page->data_tail = page->data_head;
	at = page->data_head;
	side_other_comm(side, "after");
	note(log, "poll", side_poll(side, fd));
	side_other_exit(side);
	note(log, "E12 poll of a dead task", side_poll(side, fd));
	note(log, "head with EXIT", (long)page->data_head);
	note_records(side, log, page, at, id);
	note(log, "enable the dead", side_ioctl(side, fd, PERF_EVENT_IOC_ENABLE, 0));
}

/* E1: inherited events: where their records go, and under which ids; also after a LOST. */
static void script_inherit(struct perf_side *side, struct log *log)
{
	struct perf_event_attr attr = side_dummy_attr();
	struct perf_event_mmap_page *page;
	uint64_t id, at, words[3];
	int fd, error;

	attr.inherit = 1;
	attr.sample_id_all = 1;
	attr.sample_type =
		PERF_SAMPLE_TID | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU;
	attr.read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST;
	fd = side_open(side, &attr, 0, side->cpu);
	page = side_mmap(side, fd, 2 * P, RW, MAP_SHARED, 0, &error);
	side_ioctl(side, fd, PERF_EVENT_IOC_ID, (unsigned long)&id);
	side_other_start(side);
	if (side->model)
		note(log, "child", side_open_child(side, fd) < 0);
	else
		note(log, "child", 0);
	at = page->data_head;
	side_other_comm(side, "child");
	side_comm(side, "parent");
	note_records(side, log, page, at, id);
	for (int i = 0; i < 80; i++)
		side_other_comm(side, "many");
	side_read(side, fd, words, sizeof(words));
	note(log, "E9 lost of the parent", (long)words[2]);
	note(log, "full", (long)page->data_head);
	page->data_tail = at = page->data_head;
	side_other_comm(side, "after");
	side_other_comm(side, "and again");
	note_records(side, log, page, at, id);
	side_ioctl(side, fd, PERF_EVENT_IOC_DISABLE, 0); /* affects the child */
	page->data_tail = at = page->data_head;
	side_other_comm(side, "quiet");
	note(log, "disabled", (long)(page->data_head - at));
	side_ioctl(side, fd, PERF_EVENT_IOC_ENABLE, 0);
	side_other_comm(side, "loud");
	note(log, "enabled", (long)(page->data_head - at));
	side_other_exit(side);
	note(log, "poll when the child is gone", side_poll(side, fd));
}

static void compare(void (*script)(struct perf_side *side, struct log *log))
{
	static struct log logs[2];
	struct perf_side side;
	int bad = 0;

	memset(logs, 0, sizeof(logs));
	for (int i = 0; i < 2; i++) {
		side_init(&side, i == 1);
		script(&side, &logs[i]);
		side_fini(&side);
	}
	assert_int_equal(logs[0].nr, logs[1].nr);
	for (int i = 0; i < logs[0].nr; i++) {
		if (getenv("AUXTAP_VERBOSE"))
			printf("  %s: %ld\n", logs[0].lines[i].what, logs[0].lines[i].result);
		if (logs[0].lines[i].result == logs[1].lines[i].result)
			continue;
		printf("%s: kernel %ld, model %ld\n", logs[0].lines[i].what,
		       logs[0].lines[i].result, logs[1].lines[i].result);
		bad++;
	}
	assert_int_equal(bad, 0);
}

#define REFERENCE(name)                       \
	static void test_##name(void **state) \
	{                                     \
		(void)state;                  \
		compare(script_##name);       \
	}
REFERENCE(data)
REFERENCE(aux)
REFERENCE(output)
REFERENCE(userpage)
REFERENCE(open)
REFERENCE(other_thread)
REFERENCE(inherit)

int main(void)
{
	/* clang-format off */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_data),	 cmocka_unit_test(test_aux),
		cmocka_unit_test(test_output),	 cmocka_unit_test(test_userpage),
		cmocka_unit_test(test_open),	 cmocka_unit_test(test_other_thread),
		cmocka_unit_test(test_inherit),
	};
	/* clang-format on */
	int skip = side_kernel_privileged();

	if (skip)
		return skip;
	printf("reference: the running kernel; model: %s\n", side_running_kernel()->name);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
