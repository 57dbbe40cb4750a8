// SPDX-License-Identifier: BSD-2-Clause
/*
 * extract_raw DATA DIR: splits a recording into the files that other tools and decode --raw read:
 *   DIR/<tid or cpuN>.pt   the trace of each thread or CPU
 *   DIR/sideband           the kernel's records, unchanged, in time order
 *   DIR/images             a line "PID ADDR OFF END FILE" for each file mapping
 *   DIR/options            decode's options for the clock, sample type included
 * The sideband's sample_type is that of the first attribute; all must agree.
 */
#include <auxtap/perfdata.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *dir;

static FILE *create(const char *name, const char *mode)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, mode);
	if (!f) {
		perror(path);
		exit(1);
	}
	return f;
}

static void die(const char *what)
{
	fprintf(stderr, "extract_raw: %s\n", what);
	exit(1);
}

/* AUXTRACE is padded to 8 bytes: the AUX records give the real end of each buffer. */
struct end {
	uint32_t tid, cpu;
	uint64_t off;
};

static struct end *ends;
static size_t nr_ends;

static void note_end(uint32_t tid, uint32_t cpu, uint64_t off)
{
	ends = realloc(ends, (nr_ends + 1) * sizeof(*ends));
	if (!ends)
		die("out of memory");
	ends[nr_ends++] = (struct end){tid, cpu, off};
}

static uint64_t real_size(const struct auxtap_auxtrace *head, uint64_t size)
{
	uint64_t best = 0;

	for (size_t i = 0; i < nr_ends; i++) {
		bool same = head->tid == UINT32_MAX ? ends[i].cpu == head->cpu :
						      ends[i].tid == head->tid;

		if (same && ends[i].off > head->offset && ends[i].off - head->offset <= size &&
		    ends[i].off - head->offset > best)
			best = ends[i].off - head->offset;
	}
	return size - best < 8 ? best : size;
}

static void put_map(FILE *out, const struct auxtap_record *rec)
{
	const uint8_t *body = (const uint8_t *)(rec->header + 1);
	size_t name = rec->header->type == PERF_RECORD_MMAP2 ? 64 : 32;
	uint64_t v[3];
	int32_t pid;

	if (rec->body_size <= name || body[name] != '/')
		return;
	memcpy(&pid, body, 4);
	memcpy(v, body + 8, sizeof(v));
	fprintf(out, "%d 0x%" PRIx64 " %" PRIu64 " %" PRIu64 " %s\n", pid, v[0], v[2], v[2] + v[1],
		(const char *)body + name);
}

static void put_sideband(struct auxtap_perfdata *pd)
{
	FILE *out = create("sideband", "wb"), *images = create("images", "w");
	struct auxtap_record rec = {.size = sizeof(rec)};
	uint64_t aux[3];

	while (auxtap_perfdata_next_sorted(pd, &rec, NULL) == 1) {
		if (fwrite(rec.header, rec.header->size, 1, out) != 1)
			die("cannot write");
		if (rec.header->type == PERF_RECORD_MMAP || rec.header->type == PERF_RECORD_MMAP2)
			put_map(images, &rec);
		if (rec.header->type != PERF_RECORD_AUX || rec.body_size < sizeof(aux))
			continue;
		memcpy(aux, rec.header + 1, sizeof(aux));
		if (aux[2] & PERF_AUX_FLAG_TRUNCATED)
			die("truncated: the pieces would be one stream");
		note_end(rec.tid, rec.cpu, aux[0] + aux[1]);
	}
	fclose(images);
	fclose(out);
}

static void put_trace(struct auxtap_perfdata *pd, const struct auxtap_perfdata_aux *aux)
{
	uint64_t size = real_size(&aux->auxtrace, aux->trace_size);
	char name[32], *buf = malloc(size + 1);
	FILE *out;

	if (aux->auxtrace.tid == UINT32_MAX)
		snprintf(name, sizeof(name), "cpu%u.pt", aux->auxtrace.cpu);
	else
		snprintf(name, sizeof(name), "%u.pt", aux->auxtrace.tid);
	out = create(name, "ab");
	if (!buf || auxtap_perfdata_pread(pd, buf, size, aux->trace_off) != (ssize_t)size ||
	    fwrite(buf, 1, size, out) != size)
		die("cannot copy the trace");
	fclose(out);
	free(buf);
}

static void put_options(struct auxtap_perfdata *pd)
{
	FILE *out = create("options", "w");
	const struct auxtap_perfdata_attr *attr = auxtap_perfdata_get_attr(pd, 0);
	const uint64_t *v;
	uint32_t type;
	size_t nr;

	if (!attr || auxtap_perfdata_auxtrace_info(pd, &type, &v, &nr) ||
	    type != AUXTAP_AUXTRACE_INTEL_PT || nr <= AUXTAP_PT_INFO_MAX_NONTURBO_RATIO)
		die("no Intel PT");
	fprintf(out, "--sample-type 0x%llx --time-conv %" PRIu64 ",%" PRIu64 ",%" PRIu64,
		(unsigned long long)attr->attr.sample_type, v[AUXTAP_PT_INFO_TIME_SHIFT],
		v[AUXTAP_PT_INFO_TIME_MULT], v[AUXTAP_PT_INFO_TIME_ZERO]);
	for (uint32_t i = 0; v[AUXTAP_PT_INFO_MTC_FREQ_BITS] && auxtap_perfdata_get_attr(pd, i);
	     i++) {
		const struct perf_event_attr *a = &auxtap_perfdata_get_attr(pd, i)->attr;
		uint64_t mask = v[AUXTAP_PT_INFO_MTC_FREQ_BITS];

		if (a->type == v[AUXTAP_PT_INFO_PMU_TYPE])
			fprintf(out, " --mtc-freq %" PRIu64,
				(uint64_t)(a->config & mask) >> __builtin_ctzll(mask));
	}
	if (v[AUXTAP_PT_INFO_MAX_NONTURBO_RATIO])
		fprintf(out, " --nom-freq %" PRIu64, v[AUXTAP_PT_INFO_MAX_NONTURBO_RATIO]);
	if (v[AUXTAP_PT_INFO_TSC_CTC_N] && v[AUXTAP_PT_INFO_TSC_CTC_D])
		fprintf(out, " --cpuid-0x15 %" PRIu64 ",%" PRIu64, v[AUXTAP_PT_INFO_TSC_CTC_D],
			v[AUXTAP_PT_INFO_TSC_CTC_N]);
	fputc('\n', out);
	fclose(out);
}

int main(int argc, char **argv)
{
	const struct auxtap_perfdata_aux *aux;
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perfdata *pd;
	size_t nr;

	if (argc != 3) {
		fprintf(stderr, "usage: extract_raw DATA DIR\n");
		return 2;
	}
	dir = argv[2];
	mkdir(dir, 0755);
	if (auxtap_perfdata_open(&pd, argv[1], &err)) {
		fprintf(stderr, "extract_raw: %s: %s\n", err.what, err.why);
		return 1;
	}
	put_options(pd);
	put_sideband(pd);
	if (auxtap_perfdata_auxtraces(pd, &aux, &nr, &err))
		die("no trace");
	for (size_t i = 0; i < nr; i++)
		put_trace(pd, &aux[i]);
	auxtap_perfdata_close(pd);
	free(ends);
	return 0;
}
