// SPDX-License-Identifier: BSD-2-Clause
/*
 * Compares a perf.data file with what the module replayed into it.
 *   check_replay pattern BYTES            writes bytes that encode their position
 *   check_replay full FILE DATA COUNTS [WATERMARK AUX_BYTES SKID]
 *   check_replay snapshot FILE DATA COUNTS
 * full: in every CPU's stream the bytes are those of the sequence, with holes only after
 * TRUNCATED records; records + holes = produced, holes = dropped, by COUNTS (a copy of
 * auxtap/replay/counts); with a watermark also that no record extends beyond the interrupt of H4
 * and H5. snapshot: each one is contiguous in the sequence; the newest ends with the last byte
 * produced. Reads the file without code of the project.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPUS	    8
#define TYPE_AUX    11
#define TYPE_TRACE  71
#define HAS_CPU	    (1u << 7)
#define HAS_IDENT   (1u << 16)
#define TRUNCATED   1u
#define SAMPLE_TYPE 24 /* in an attribute */
#define PAGE	    4096u

struct extent { /* an AUX record, or an AUXTRACE one's bytes */
	uint64_t offset, size, flags;
	const unsigned char *bytes;
};

static struct cpu {
	struct extent *records, *traces;
	size_t nr_records, nr_traces;
	uint64_t produced, written, dropped;
} cpus[CPUS];

static unsigned char *data; /* twice, so that a full wrap follows any position */
static size_t data_size;

static void __attribute__((__format__(printf, 1, 2))) __attribute__((__noreturn__))
fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("check_replay: ", stdout);
	vprintf(format, args);
	putchar('\n');
	exit(1);
}

static unsigned char *slurp(const char *path, size_t *size)
{
	FILE *f = fopen(path, "re");
	unsigned char *bytes;
	long n;

	if (!f || fseek(f, 0, SEEK_END) || (n = ftell(f)) < 0)
		fail("%s: not readable", path);
	rewind(f);
	bytes = malloc(2 * (size_t)n + 1);
	if (!bytes || fread(bytes, 1, (size_t)n, f) != (size_t)n)
		fail("%s: not readable", path);
	fclose(f);
	*size = (size_t)n;
	return bytes;
}

static uint64_t get(const unsigned char *at, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, at, size);
	return value;
}

static struct cpu *cpu_of(uint64_t nr)
{
	if (nr >= CPUS)
		fail("a record of CPU %llu", (unsigned long long)nr);
	return &cpus[nr];
}

static void add(struct extent **list, size_t *nr, struct extent extent)
{
	*list = realloc(*list, (*nr + 1) * sizeof(extent));
	if (!*list)
		fail("no memory");
	(*list)[(*nr)++] = extent;
}

/* ---- the file ---- */

/* Offset of the CPU from a record's end: must be the same in all attributes. */
static size_t cpu_from_end(const unsigned char *file, size_t size)
{
	uint64_t attr_size = get(file + 16, 8), at = get(file + 24, 8), nr = get(file + 32, 8);
	uint64_t bits = 0;

	if (size < 104 || memcmp(file, "PERFILE2", 8) || !attr_size || at + nr > size)
		fail("not a perf.data file");
	for (uint64_t i = 0; i < nr / attr_size; i++) {
		uint64_t here =
			get(file + at + i * attr_size + SAMPLE_TYPE, 8) & (HAS_CPU | HAS_IDENT);

		if (!(here & HAS_CPU) || (i && here != bits))
			fail("records do not contain the CPU");
		bits = here;
	}
	return bits & HAS_IDENT ? 16 : 8;
}

static void read_file(const unsigned char *file, size_t size)
{
	size_t from_end = cpu_from_end(file, size);
	uint64_t at = get(file + 40, 8), end = at + get(file + 48, 8);

	if (end > size)
		fail("cut short");
	while (at < end) {
		const unsigned char *record = file + at;
		uint64_t type = get(record, 4), nr_bytes = get(record + 6, 2);
		struct extent extent = {0};
		struct cpu *cpu;

		if (nr_bytes < 8 || nr_bytes > end - at)
			fail("a record of %llu bytes", (unsigned long long)nr_bytes);
		at += nr_bytes;
		if (type == TYPE_AUX) {
			cpu = cpu_of(get(record + nr_bytes - from_end, 4));
			extent = (struct extent){get(record + 8, 8), get(record + 16, 8),
						 get(record + 24, 8), NULL};
			add(&cpu->records, &cpu->nr_records, extent);
		} else if (type == TYPE_TRACE) {
			extent = (struct extent){get(record + 16, 8), get(record + 8, 8), 0,
						 record + nr_bytes};
			if (extent.size > end - at)
				fail("AUXTRACE goes beyond the end");
			at += extent.size;
			cpu = cpu_of(get(record + 40, 4));
			add(&cpu->traces, &cpu->nr_traces, extent);
		}
	}
}

static void read_counts(const char *path)
{
	size_t size;
	char *text = (char *)slurp(path, &size), *line;

	text[size] = '\0';
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		unsigned long long nr, produced, written, dropped;

		if (sscanf(line, "cpu %llu: produced %llu written %llu dropped %llu", &nr,
			   &produced, &written, &dropped) != 4)
			fail("%s: '%s'", path, line);
		*cpu_of(nr) = (struct cpu){NULL, NULL, 0, 0, produced, written, dropped};
		if (produced != written + dropped)
			fail("cpu %llu: produced %llu is not written %llu + dropped %llu", nr,
			     produced, written, dropped);
	}
}

/* ---- streams ---- */

/* The bytes of [offset, offset + size) of a CPU's stream. */
static unsigned char *stream_bytes(const struct cpu *cpu, uint64_t offset, uint64_t size)
{
	unsigned char *bytes = malloc(size + 1);
	uint64_t done = 0;

	if (!bytes)
		fail("no memory");
	for (size_t i = 0; i < cpu->nr_traces && done < size; i++) {
		const struct extent *t = &cpu->traces[i];
		uint64_t skip = offset + done - t->offset, n, have = t->size;

		/* may be padded up to the next one */
		if (i + 1 < cpu->nr_traces && have > cpu->traces[i + 1].offset - t->offset)
			have = cpu->traces[i + 1].offset - t->offset;
		if (offset + done < t->offset || skip >= have)
			continue;
		n = have - skip < size - done ? have - skip : size - done;
		memcpy(bytes + done, t->bytes + skip, n);
		done += n;
	}
	if (done != size)
		fail("no AUX bytes at %llu", (unsigned long long)(offset + done));
	return bytes;
}

static bool same(const unsigned char *bytes, uint64_t size, uint64_t pos)
{
	uint64_t done = 0;

	while (done < size) {
		uint64_t from = (pos + done) % data_size, n = data_size;

		if (n > size - done)
			n = size - done;
		if (memcmp(bytes + done, data + from, n))
			return false;
		done += n;
	}
	return true;
}

/* The hole before the bytes: their distance from pos in the sequence; UINT64_MAX: not found. */
static uint64_t hole_before(const unsigned char *bytes, uint64_t size, uint64_t pos)
{
	for (uint64_t hole = 0; hole < data_size; hole++) {
		if (data[(pos + hole) % data_size] == bytes[0] && same(bytes, size, pos + hole))
			return hole;
	}
	return UINT64_MAX;
}

static void check_thresholds(const struct cpu *cpu, uint64_t watermark, uint64_t aux,
			     uint64_t overshoot)
{
	uint64_t entry = PAGE, hits = 0, wakes = 0, others = 0, crossed = UINT64_MAX;

	while (entry < watermark && entry < aux)
		entry *= 2; /* C3 */
	for (size_t i = 0; i < cpu->nr_records; i++) {
		const struct extent *r = &cpu->records[i];
		uint64_t wakeup = r->offset - r->offset % watermark + watermark;
		uint64_t threshold = wakeup - wakeup % entry, end = r->offset + r->size;

		if (threshold > r->offset && end > threshold + overshoot)
			fail("a record from %llu to %llu exceeds the threshold at %llu",
			     (unsigned long long)r->offset, (unsigned long long)end,
			     (unsigned long long)threshold);
		if (end == threshold + overshoot && r->size)
			hits++;
		else if (end % entry != overshoot)
			others++; /* scheduled out, stopped */
		if (end / watermark != crossed)
			wakes++;
		crossed = end / watermark;
	}
	printf("%zu records, %llu end at their threshold, %llu wakeups, %llu ended otherwise\n",
	       cpu->nr_records, (unsigned long long)hits, (unsigned long long)wakes,
	       (unsigned long long)others);
	if (!(watermark & (watermark - 1)) && cpu->written > 4 * watermark &&
	    hits < cpu->written / watermark / 2)
		fail("only %llu records end at their threshold", (unsigned long long)hits);
}

static void check_full(const struct cpu *cpu, int nr)
{
	uint64_t pos = 0, holes = 0, records = 0;
	bool truncated = false;
	size_t nr_truncated = 0, nr_holes = 0, after = 0;

	for (size_t i = 0; i < cpu->nr_records; i++) {
		const struct extent *r = &cpu->records[i];
		unsigned char *bytes;
		uint64_t hole;

		if (i && r->offset != cpu->records[i - 1].offset + cpu->records[i - 1].size)
			fail("cpu %d: a record at %llu after one up to %llu", nr,
			     (unsigned long long)r->offset,
			     (unsigned long long)(cpu->records[i - 1].offset +
						  cpu->records[i - 1].size));
		if (r->size) {
			bytes = stream_bytes(cpu, r->offset, r->size);
			hole = truncated		 ? hole_before(bytes, r->size, pos) :
			       same(bytes, r->size, pos) ? 0 :
							   UINT64_MAX;
			if (hole == UINT64_MAX)
				fail("cpu %d: the bytes at %llu are not %s %llu of the sequence",
				     nr, (unsigned long long)r->offset,
				     truncated ? "at or after" : "those at",
				     (unsigned long long)pos);
			free(bytes);
			nr_holes += hole != 0;
			after += truncated;
			holes += hole;
			pos += hole + r->size;
			records += r->size;
			truncated = false;
		}
		if (r->flags & TRUNCATED) {
			truncated = true;
			nr_truncated++;
		}
	}
	if (truncated) { /* no byte follows what was dropped at the end */
		holes += cpu->produced - pos;
		pos = cpu->produced;
	}
	printf("cpu %d: %zu records of %llu bytes, %zu truncated, %zu holes of %llu bytes, "
	       "%zu recoveries\n",
	       nr, cpu->nr_records, (unsigned long long)records, nr_truncated, nr_holes,
	       (unsigned long long)holes, after);
	if (records != cpu->written || holes != cpu->dropped || pos != cpu->produced)
		fail("cpu %d: produced %llu written %llu dropped %llu", nr,
		     (unsigned long long)cpu->produced, (unsigned long long)cpu->written,
		     (unsigned long long)cpu->dropped);
}

static void check_snapshot(const struct cpu *cpu, int nr)
{
	for (size_t i = 0; i < cpu->nr_traces; i++) {
		const struct extent *t = &cpu->traces[i];
		uint64_t size = t->size, wrap = cpu->produced % data_size, hole;
		const unsigned char *bytes = t->bytes;

		/* pages start zeroed, and the record is padded: neither is trace */
		while (size && !*bytes) {
			bytes++;
			size--;
		}
		while (size && !bytes[size - 1])
			size--;
		if (size < 64)
			fail("cpu %d: an empty snapshot", nr);
		hole = hole_before(bytes, size, 0);
		if (hole == UINT64_MAX)
			fail("cpu %d: snapshot %zu of %llu bytes is not contiguous in the sequence",
			     nr, i, (unsigned long long)size);
		printf("cpu %d: snapshot %zu: %llu bytes from %llu\n", nr, i,
		       (unsigned long long)size, (unsigned long long)hole);
		if (i + 1 == cpu->nr_traces && (hole + size) % data_size != wrap)
			fail("cpu %d: the newest byte is %llu, not %llu", nr,
			     (unsigned long long)((hole + size) % data_size),
			     (unsigned long long)wrap);
	}
}

static int pattern(uint64_t nr_bytes)
{
	for (uint64_t i = 0; i < nr_bytes / 8; i++) {
		/* never a zero byte: that would be padding, or a page not written to */
		uint64_t word = ((i + 1) * 0x9e3779b97f4a7c15u) | 0x0101010101010101u;

		if (fwrite(&word, sizeof(word), 1, stdout) != 1)
			return 1;
	}
	return fflush(stdout) != 0;
}

int main(int argc, char **argv)
{
	bool snapshot, any = false;
	unsigned char *file;
	size_t file_size;

	if (argc == 3 && !strcmp(argv[1], "pattern"))
		return pattern(strtoull(argv[2], NULL, 0));
	if (argc != 5 && argc != 8)
		return 2;
	snapshot = !strcmp(argv[1], "snapshot");
	file = slurp(argv[2], &file_size);
	data = slurp(argv[3], &data_size);
	memcpy(data + data_size, data, data_size);
	read_counts(argv[4]);
	read_file(file, file_size);
	for (int i = 0; i < CPUS; i++) {
		if (!cpus[i].produced && !cpus[i].nr_records && !cpus[i].nr_traces)
			continue;
		any = any || cpus[i].produced;
		if (snapshot)
			check_snapshot(&cpus[i], i);
		else
			check_full(&cpus[i], i);
		if (argc == 8)
			check_thresholds(&cpus[i], strtoull(argv[5], NULL, 0),
					 strtoull(argv[6], NULL, 0), strtoull(argv[7], NULL, 0));
	}
	if (!any)
		fail("nothing was produced");
	return 0;
}
