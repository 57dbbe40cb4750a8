// SPDX-License-Identifier: BSD-2-Clause
/*
 * A perf.data file with samples of Arm SPE: loads, stores, branches and others of two threads on
 * two CPUs, with time stamps and contexts, in several buffers; one AUX record is flagged as
 * truncated. Usage: spe_file FILE NUMBER SEED [cut|again|midr|bare|large]; cut: buffers end inside
 * records; large: they are as large as those of stock perf's default area; again: the last one
 * is repeated; midr: the file says that CPU 0 is a Neoverse N1 and CPU 1 a HIP12; bare: not
 * perf.data but CPU 0's stream alone
 */
#include <auxtap/perfdata.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PMU	 10
#define ID_SPE	 100 /* + CPU */
#define ID_DUMMY 200
#define TID	 4242 /* + n */
#define BASE	 0xaaaac0000000ull
#define NR_CPUS	 2
#define BUFFER	 5000	    /* bytes of trace in an AUXTRACE record, at most */
#define LARGE	 (2u << 20) /* half of 4 MiB */

static struct auxtap_perfdata_writer *writer;
static struct auxtap_error err = AUXTAP_ERROR_INIT;
static unsigned int seed;

static void need(int ret)
{
	if (!ret)
		return;
	fprintf(stderr, "spe_file: %s: %s\n", err.what, err.why);
	exit(3);
}

static uint64_t random_bits(void)
{
	return (uint64_t)rand_r(&seed) << 40 ^ (uint64_t)rand_r(&seed) << 20 ^
	       (uint64_t)rand_r(&seed);
}

/* ---- sideband ---- */

static void put(uint32_t type, const void *body, size_t size, uint32_t tid, uint32_t cpu,
		uint64_t time, uint64_t id)
{
	struct trailer { /* sample_type TID | TIME | CPU | IDENTIFIER */
		uint32_t pid, tid;
		uint64_t time;
		uint32_t cpu, reserved;
		uint64_t id;
	} trailer = {TID, tid, time, cpu, 0, id};
	struct perf_event_header header = {.type = type, .misc = PERF_RECORD_MISC_USER};
	unsigned char record[512];

	header.size = (uint16_t)(sizeof(header) + size + (type < 64 ? sizeof(trailer) : 0));
	memcpy(record, &header, sizeof(header));
	memcpy(record + sizeof(header), body, size);
	memcpy(record + sizeof(header) + size, &trailer, sizeof(trailer));
	need(auxtap_perfdata_writer_record(writer, record, header.size, NULL, 0, &err));
}

static void begin(const char *path, bool midr)
{
	struct perf_event_attr attr = {
		.type = PMU,
		.size = sizeof(attr),
		.config = 1, /* ts_enable */
		.sample_period = 1024,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CPU | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_ADDR |
			       PERF_SAMPLE_IDENTIFIER,
		.sample_id_all = 1,
		.exclude_kernel = 1,
	};
	struct perf_event_attr dummy = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(dummy),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = attr.sample_type,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.task = 1,
	};
	const uint64_t info[] = {PMU, 1 /* per CPU */};
	/*
	 * version, words before the CPUs', PMU, CPUs; magic, CPU, words after, MIDR, PMU, interval
	 */
	const uint64_t info2[] = {2,   4,    PMU,    NR_CPUS, 0x1010, 0,	  3,   0x410fd0c1,
				  PMU, 1024, 0x1010, 1,	      3,      0x480fd060, PMU, 1024};
	/* shift, mult, zero, cycles, mask, can: 10 ns a tick */
	const uint64_t conv[] = {1, 20, 1000000, 0, ~0ull, 1};
	struct {
		uint32_t pid, tid;
		char name[16];
	} comm = {TID, TID, "sampled"};
	struct {
		uint32_t pid, tid;
		uint64_t addr, len, pgoff;
		uint32_t maj, min;
		uint64_t ino, generation;
		uint32_t prot, flags;
		char name[32];
	} mmap2 = {.pid = TID,
		   .tid = TID,
		   .addr = BASE,
		   .len = 0x100000,
		   .prot = 5,
		   .flags = 2,
		   .name = "/nowhere/sampled"};
	uint32_t fork[] = {TID, TID, TID + 1, TID, 0, 0};

	need(auxtap_perfdata_writer_create(&writer, path, &err));
	auxtap_perfdata_writer_add_attr(writer, &attr, "arm_spe_0/ts_enable=1/u");
	auxtap_perfdata_writer_add_attr(writer, &dummy, "dummy:u");
	need(auxtap_perfdata_writer_begin(writer, &err));
	for (uint64_t cpu = 0; cpu < NR_CPUS; cpu++)
		auxtap_perfdata_writer_add_id(writer, 0, ID_SPE + cpu);
	auxtap_perfdata_writer_add_id(writer, 1, ID_DUMMY);
	/* in perf's order: perf divides by the multiplier when it reads the second one */
	put(AUXTAP_RECORD_TIME_CONV, conv, sizeof(conv), 0, 0, 0, 0);
	need(auxtap_perfdata_writer_auxtrace_info(writer, AUXTAP_AUXTRACE_ARM_SPE,
						  midr ? info2 : info, midr ? sizeof(info2) / 8 : 2,
						  &err));
	put(PERF_RECORD_COMM, &comm, sizeof(comm), TID, 0, 1000, ID_DUMMY);
	put(PERF_RECORD_MMAP2, &mmap2, sizeof(mmap2), TID, 0, 1001, ID_DUMMY);
	put(PERF_RECORD_FORK, fork, sizeof(fork), TID, 0, 1002, ID_DUMMY);
}

/* ---- trace ---- */

struct trace {
	unsigned char *bytes;
	size_t *ends, nr; /* of records */
	size_t size;
	uint64_t ticks;
};

static void byte(struct trace *t, unsigned int value)
{
	t->bytes[t->size++] = (unsigned char)value;
}

static void number(struct trace *t, uint64_t value, unsigned int nr_bytes)
{
	for (unsigned int i = 0; i < nr_bytes; i++)
		byte(t, (unsigned int)(value >> (8 * i)) & 0xff);
}

static void record(struct trace *t)
{
	static const unsigned char ops[][2] = {{0x49, 0x00}, {0x49, 0x01}, {0x49, 0x04},
					       {0x4a, 0x01}, {0x4a, 0x02}, {0x4a, 0x00},
					       {0x48, 0x00}};
	const unsigned char *op = ops[random_bits() % 7];
	bool memory = op[0] == 0x49;
	uint64_t r = random_bits();

	byte(t, 0xb0); /* PC, el0, non-secure */
	number(t, (BASE + (r & 0xffffc)) | 1ull << 63, 8);
	byte(t, 0x64); /* context, el1 */
	number(t, TID + (r >> 20 & 1), 4);
	byte(t, op[0]);
	byte(t, op[1]);
	byte(t, 0x52); /* events: retired; cache and TLB, or mispredicted */
	number(t, 2 | (memory ? (r >> 21 & 0x3f) << 2 & 0x3c : (r >> 21 & 1) << 7), 2);
	byte(t, 0x99);
	number(t, r >> 30 & 0xff, 2);
	byte(t, 0x98);
	number(t, (r >> 30 & 0xff) + 3, 2);
	if (memory) {
		byte(t, 0xb2); /* virtual, sometimes with a tag */
		number(t, (BASE + 0x10000000 + (r >> 8 & 0xffffff)), 8);
		byte(t, 0x9a);
		number(t, r >> 40 & 7, 2);
		byte(t, 0xb3); /* physical */
		number(t, (0x80000000 + (r >> 8 & 0xffffff)) | 1ull << 63, 8);
		byte(t, 0x43);
		byte(t, (unsigned int)(r >> 44 & 0xf));
	} else if (op[0] == 0x4a) {
		byte(t, 0xb1); /* target */
		number(t, (BASE + (r >> 3 & 0xffffc)) | 1ull << 63, 8);
	}
	while ((t->size + 9) % (r >> 50 & 1 ? 64 : 8))
		byte(t, 0);
	t->ticks += 1 + (r >> 51 & 0x3ff);
	byte(t, 0x71);
	number(t, t->ticks, 8);
	t->ends[t->nr++] = t->size;
}

/* The size of the buffer at 'at': whole records, as a driver reports them, or all that fits. */
static uint64_t buffer_size(const struct trace *t, uint64_t at, bool cut, uint64_t max)
{
	uint64_t left = t->size - at, size = 0;

	/* no multiple of 8: the file's padding is not trace */
	if (cut)
		return left < max ? left : max - 1 - at % 7;
	if (left <= max)
		return left;
	for (size_t i = 0; i < t->nr && t->ends[i] <= at + max; i++)
		size = t->ends[i] - at;
	return size;
}

static void write_bare(const char *path, const struct trace *t)
{
	FILE *f = fopen(path, "w");

	if (!f || fwrite(t->bytes, 1, t->size, f) != t->size || fclose(f)) {
		perror(path);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 4 ? argv[4] : "";
	struct trace traces[NR_CPUS] = {{0}};
	uint64_t at[NR_CPUS] = {0};
	uint64_t max = strcmp(mode, "large") ? BUFFER : LARGE;
	unsigned int nr_buffers = 0;
	bool more = true;
	long nr;

	if (argc < 4)
		return 2;
	nr = strtol(argv[2], NULL, 10);
	seed = (unsigned int)strtoul(argv[3], NULL, 10);
	for (int cpu = 0; cpu < NR_CPUS; cpu++) {
		traces[cpu].bytes = malloc((size_t)nr * 192 + 1);
		traces[cpu].ends = calloc((size_t)nr + 1, sizeof(size_t));
		traces[cpu].ticks = 500000;
		for (long i = 0; i < nr; i++)
			record(&traces[cpu]);
	}
	if (!strcmp(mode, "bare")) {
		write_bare(argv[1], &traces[0]);
		more = false;
	} else {
		begin(argv[1], !strcmp(mode, "midr"));
	}
	while (more) {
		more = false;
		for (uint32_t cpu = 0; cpu < NR_CPUS; cpu++) {
			struct trace *t = &traces[cpu];
			uint64_t size = buffer_size(t, at[cpu], !strcmp(mode, "cut"), max);
			uint64_t aux[] = {at[cpu], size, 0};
			struct auxtap_auxtrace head = {.offset = at[cpu],
						       .idx = cpu,
						       .cpu = cpu,
						       .tid = (uint32_t)-1};

			if (!size)
				continue;
			if (cpu == 1 && ++nr_buffers == 2)
				aux[2] = PERF_AUX_FLAG_TRUNCATED;
			put(PERF_RECORD_AUX, aux, sizeof(aux), TID, cpu, 20000000 + at[cpu],
			    ID_SPE + cpu);
			need(auxtap_perfdata_writer_auxtrace(writer, &head, t->bytes + at[cpu],
							     size, NULL, 0, &err));
			at[cpu] += size;
			if (cpu == 1 && at[cpu] == t->size && !strcmp(mode, "again"))
				need(auxtap_perfdata_writer_auxtrace(writer, &head,
								     t->bytes + at[cpu] - size,
								     size, NULL, 0, &err));
			more = true;
		}
		need(auxtap_perfdata_writer_round(writer, &err));
	}
	if (writer)
		need(auxtap_perfdata_writer_finish(writer, &err));
	for (int cpu = 0; cpu < NR_CPUS; cpu++) {
		free(traces[cpu].bytes);
		free(traces[cpu].ends);
	}
	return 0;
}
