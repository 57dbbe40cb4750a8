// SPDX-License-Identifier: BSD-2-Clause
/*
 * aux_samples WORD: requests AUX samples from the kernel directly. 'refused': the PMU does not
 * support them, EINVAL (G2). 'rules': which events may sample which (G2), how long a sample is
 * (G1), its contents.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define P	   4096ul
#define DATA_PAGES 64ul

static int bad;
#define CHECK(what)                                                                              \
	do {                                                                                     \
		if (!(what)) {                                                                   \
			printf("aux_samples: line %d: %s (errno %d)\n", __LINE__, #what, errno); \
			bad = 1;                                                                 \
		}                                                                                \
	} while (0)

static int sys_open(struct perf_event_attr *attr, int group)
{
	return (int)syscall(SYS_perf_event_open, attr, 0, -1, group, 0);
}

static int pt_open(void)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .config = 1 | 1 << 13 | 1 << 10,
				       .exclude_kernel = 1,
				       .disabled = 1,
				       .sample_period = 1};
	FILE *f = fopen("/sys/bus/event_source/devices/intel_pt/type", "re");
	unsigned int type;

	if (!f || fscanf(f, "%u", &type) != 1)
		exit(2);
	fclose(f);
	attr.type = type;
	return sys_open(&attr, -1);
}

static int clock_open(int group, uint32_t size)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .exclude_kernel = 1,
				       .sample_period = 2000000,
				       .aux_sample_size = size,
				       .sample_type =
					       PERF_SAMPLE_IP | (size ? PERF_SAMPLE_AUX : 0)};

	return sys_open(&attr, group);
}

static volatile long sink;

static void spin(void)
{
	for (long i = 0; i < 3000; i++)
		sink += i;
}

/* Samples of size bytes from an area of 'pages' pages; *nr_blank: how many contained no trace. */
static void sample(uint32_t size, unsigned long pages, int prot, uint64_t expected, int blank)
{
	int pt = pt_open(), clock = clock_open(pt, size), nr = 0, nr_blank = 0;
	volatile struct perf_event_mmap_page *page;
	unsigned char *data;
	uint64_t at;
	void *aux;

	CHECK(pt >= 0);
	CHECK(clock >= 0);
	page = mmap(NULL, (DATA_PAGES + 1) * P, PROT_READ | PROT_WRITE, MAP_SHARED, pt, 0);
	if (page == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
	page->aux_offset = (DATA_PAGES + 1) * P;
	page->aux_size = pages * P;
	aux = mmap(NULL, pages * P, prot, MAP_SHARED, pt, (off_t)page->aux_offset);
	CHECK(aux != MAP_FAILED);
	CHECK(!ioctl(clock, PERF_EVENT_IOC_SET_OUTPUT, pt));
	CHECK(!ioctl(pt, PERF_EVENT_IOC_ENABLE, 0));
	/* the clock samples by time: on an overloaded machine a round contains less of it */
	for (int round = 0; round < 400 && page->data_head < 4 * (24 + expected); round++)
		spin();
	CHECK(!ioctl(pt, PERF_EVENT_IOC_DISABLE, 0));
	data = (unsigned char *)page + P;
	for (at = 0; at < page->data_head;) {
		struct perf_event_header head;
		uint64_t bytes, i;

		memcpy(&head, data + at % (DATA_PAGES * P), sizeof(head));
		if (!head.size || page->data_head > DATA_PAGES * P)
			break;
		if (head.type == PERF_RECORD_SAMPLE) {
			memcpy(&bytes, data + at + 16, 8);
			nr++;
			CHECK(bytes == expected);
			CHECK(head.size == 8 + 8 + 8 + bytes);
			for (i = 0; i < bytes && !data[at + 24 + i]; i++)
				;
			nr_blank += i == bytes;
		}
		at += head.size;
	}
	printf("size %u, %lu pages: %d samples of %lu bytes, %d blank\n", size, pages, nr, expected,
	       nr_blank);
	CHECK(nr >= 3);
	CHECK(blank ? nr_blank == nr : nr_blank == 0);
	munmap(aux, pages * P);
	munmap((void *)page, (DATA_PAGES + 1) * P);
	close(clock);
	close(pt);
}

int main(int argc, char **argv)
{
	int pt, clock;

	if (argc != 2)
		return 2;
	pt = pt_open();
	CHECK(pt >= 0);
	if (!strcmp(argv[1], "refused")) {
		CHECK(clock_open(pt, 4096) < 0 && errno == EINVAL);
		CHECK(clock_open(pt, 0) >= 0);
		return bad;
	}
	CHECK(clock_open(-1, 4096) < 0 && errno == EINVAL); /* G2: the leader is the sampler */
	clock = clock_open(-1, 0);
	CHECK(clock >= 0);
	CHECK(clock_open(clock, 4096) < 0 && errno == EINVAL); /* and one that has an area */
	close(clock);
	close(pt);
	/* G1 */
	sample(4096, 16, PROT_READ, 4096, 0);
	sample(100, 16, PROT_READ, 96, 0);
	sample(16384, 1, PROT_READ, 4096, 0); /* no more than the area */
	/* a linear area has no bytes for a sample; its space in the record is PAD */
	sample(4096, 16, PROT_READ | PROT_WRITE, 4096, 1);
	return bad;
}
