// SPDX-License-Identifier: BSD-2-Clause
/*
 * vectors WHAT: the SPE and TRBE vectors of section M (docs/kernel-rules.md), in an arm64 guest
 * with the module: pages of 4096 bytes, the unit played to the byte.
 *   spe, trbe   all of them, except
 *   beyond      the one of a TRBE that writes out of range (trbe_beyond=4096)
 * Exit: 0 they hold; 1 one does not: prints which.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE	  4096ull
#define DATA_SIZE (2 * PAGE) /* without the control page */
#define TRUNCATED 0x1
#define COLLISION 0x8
#define RAW	  0x100

static const char *unit, *name; /* of the current case */
static uint64_t raw, wrap;	/* flags of every record; of one that ended in a full buffer */
static uint8_t pad;
static uint64_t aux_size;
static int fd, bad, all_bad; /* bad: the vector that is played; all_bad: one that was played */
static struct perf_event_mmap_page *page;
static uint8_t *data, *aux;
static uint64_t tail; /* tail of the data ring */

#define check(condition, ...)                                              \
	do {                                                               \
		if (!(condition)) {                                        \
			printf("%s: %s: line %d: ", unit, name, __LINE__); \
			printf(__VA_ARGS__);                               \
			printf("\n");                                      \
			bad = 1;                                           \
		}                                                          \
	} while (0)

static void die(const char *what)
{
	perror(what);
	exit(3);
}

static int replay_open(const char *file, int flags)
{
	char path[128];
	int to;

	snprintf(path, sizeof(path), "/sys/kernel/debug/auxtap/%s/replay/%s", unit, file);
	to = open(path, flags);
	if (to < 0)
		die(path);
	return to;
}

static void replay_write(const char *file, const void *bytes, size_t nr_bytes)
{
	int to = replay_open(file, O_WRONLY);

	if (write(to, bytes, nr_bytes) != (ssize_t)nr_bytes)
		die(file);
	close(to);
}

static void replay_number(const char *file, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	replay_write(file, text, strlen(text));
}

static uint64_t replay_left(void)
{
	char text[32] = "";
	int from = replay_open("left", O_RDONLY);

	if (read(from, text, sizeof(text) - 1) <= 0)
		die("left");
	close(from);
	return strtoull(text, NULL, 10);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Up to this many bytes in total since begin(). */
static void play(uint64_t nr_bytes)
{
	uint64_t end = now_ms() + 5000;

	replay_number("limit", nr_bytes);
	while (replay_left())
		if (now_ms() > end) {
			check(false, "%llu bytes were not played",
			      (unsigned long long)replay_left());
			break;
		}
	/* wait for an interrupt caused by the last byte */
	end = now_ms() + 3;
	while (now_ms() < end)
		;
}

static void begin(const char *of, uint64_t nr_pages, uint32_t watermark)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.disabled = 1,
		.exclude_kernel = 1,
		.sample_period = 4096,
		.aux_watermark = watermark,
	};
	char path[96], text[16] = "";
	int from;

	name = of;
	aux_size = nr_pages * PAGE;
	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type",
		 strcmp(unit, "spe") ? "cs_etm" : "arm_spe_0");
	from = open(path, O_RDONLY);
	if (from < 0 || read(from, text, sizeof(text) - 1) <= 0)
		die(path);
	close(from);
	attr.type = (uint32_t)atoi(text);
	replay_number("limit", 1);
	replay_write("counts", "", 1);
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		die("perf_event_open");
	page = mmap(NULL, PAGE + DATA_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		die("mmap");
	data = (uint8_t *)page + PAGE;
	page->aux_offset = PAGE + DATA_SIZE;
	page->aux_size = aux_size;
	aux = mmap(NULL, aux_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)page->aux_offset);
	if (aux == MAP_FAILED)
		die("mmap of the AUX area");
	tail = 0;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
}

static void end(void)
{
	munmap(aux, aux_size);
	munmap(page, PAGE + DATA_SIZE);
	close(fd);
}

static bool woken(void)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1 && p.revents & POLLIN;
}

/* The next AUX record; false: none. */
static bool next(uint64_t v[3])
{
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);

	while (tail < head) {
		struct perf_event_header header;
		uint8_t record[64];

		for (size_t i = 0; i < sizeof(record); i++)
			record[i] = data[(tail + i) % DATA_SIZE];
		memcpy(&header, record, sizeof(header));
		tail += header.size;
		if (header.type != PERF_RECORD_AUX)
			continue;
		memcpy(v, record + sizeof(header), 3 * sizeof(*v));
		return true;
	}
	return false;
}

static void expect(uint64_t off, uint64_t size, uint64_t flags)
{
	uint64_t v[3] = {0};

	check(next(v) && v[0] == off && v[1] == size && v[2] == flags,
	      "AUX (%llu,%llu,%#llx), not (%llu,%llu,%#llx)", (unsigned long long)v[0],
	      (unsigned long long)v[1], (unsigned long long)v[2], (unsigned long long)off,
	      (unsigned long long)size, (unsigned long long)flags);
}

static void expect_none(void)
{
	uint64_t v[3];

	check(!next(v), "unexpected record: (%llu,%llu,%#llx)", (unsigned long long)v[0],
	      (unsigned long long)v[1], (unsigned long long)v[2]);
}

static void expect_head(uint64_t head)
{
	check(page->aux_head == head, "aux_head %llu, not %llu", (unsigned long long)page->aux_head,
	      (unsigned long long)head);
}

static void expect_padding(uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		if (aux[i] != pad) {
			check(false, "byte %llu is not padding", (unsigned long long)i);
			return;
		}
}

static void idle_reader(void)
{
	begin("idle reader", 4, 8192);
	play(8128);
	check(!woken(), "woken early");
	expect_none();
	play(8192);
	check(woken(), "not woken");
	expect(0, 8192, wrap | raw);
	play(12288);
	check(woken(), "not woken by the truncation");
	expect(8192, 4096, wrap | raw);
	expect(16383, 0, TRUNCATED | raw);
	expect_none();
	expect_head(16383);
	expect_padding(12288, 16383);
	end();
}

static void odd_watermark(void)
{
	begin("watermark 6000", 4, 6000);
	play(8128);
	check(!woken(), "woken early");
	play(8192);
	check(woken(), "not woken");
	expect(0, 8192, wrap | raw);
	play(12224);
	check(!woken(), "woken early");
	play(12288);
	check(woken(), "not woken");
	expect(8192, 4096, wrap | raw);
	end();
}

/*
 * Another task never reads so promptly that the tail has moved when the interrupt handler opens the
 * next transaction: so this uses a larger area than the vector's, where that does not matter.
 */
static void prompt_reader(void)
{
	begin("prompt reader", 8, 8192);
	for (uint64_t i = 0; i < 10; i++) {
		play(i * 8192 + 8128);
		check(!woken(), "woken early");
		expect_none();
		play((i + 1) * 8192);
		check(woken(), "not woken");
		expect(i * 8192, 8192, wrap | raw);
		__atomic_store_n(&page->aux_tail, (i + 1) * 8192, __ATOMIC_RELEASE);
	}
	expect_none();
	end();
}

/* J2: with the erratum */
static void out_of_range(void)
{
	begin("out of range", 4, 8192);
	play(4096);
	check(woken(), "not woken");
	expect(0, 4096, wrap | raw);
	expect(16383, 0, TRUNCATED | raw);
	expect_none();
	expect_head(16383);
	expect_padding(4096, 16383);
	end();
}

static long nr_switches(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return use.ru_nvcsw + use.ru_nivcsw;
}

/* If another task ran meanwhile, transactions ended that the vector does not account for. */
static void play_alone(void (*vector)(void))
{
	for (int tries = 0;; tries++) {
		long before = nr_switches();

		bad = 0;
		vector();
		if (!bad || nr_switches() == before || tries == 4) {
			all_bad |= bad;
			return;
		}
		printf("%s: another task ran meanwhile: repeated\n", name);
	}
}

int main(int argc, char **argv)
{
	struct sched_param first = {.sched_priority = 1};
	const char *what = argc > 1 ? argv[1] : "";
	uint8_t record[64];
	cpu_set_t cpus;

	setvbuf(stdout, NULL, _IOLBF, 0);
	unit = strcmp(what, "spe") ? "trbe" : "spe";
	if (strcmp(what, "spe")) {
		raw = RAW;
		wrap = COLLISION; /* J4 */
		pad = 0x70;
	}
	/* seven addresses and an end: a valid record for SPE, arbitrary bytes for TRBE */
	for (int i = 0; i < 63; i++)
		record[i] = i % 9 ? (uint8_t)(0x80 + i) : 0xb2;
	record[63] = 0x01;
	replay_write("data", record, sizeof(record));
	replay_number("rate", 0);
	/* D21: on CPU 0, 6.1 does not disable the event; no other task runs meanwhile */
	CPU_ZERO(&cpus);
	CPU_SET(1, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) || sched_setscheduler(0, SCHED_FIFO, &first))
		die("sched");
	if (!strcmp(what, "beyond")) {
		play_alone(out_of_range);
	} else {
		play_alone(idle_reader);
		play_alone(odd_watermark);
		play_alone(prompt_reader);
	}
	printf("vectors of %s: %s\n", what, all_bad ? "do not hold" : "hold");
	return all_bad;
}
