// SPDX-License-Identifier: BSD-2-Clause
/* Read a perf.data file with libauxtap and count its records by kind: count_records FILE */
#include <auxtap/perfdata.h>
#include <stdio.h>

#define NR_KINDS 256

int main(int argc, char **argv)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	unsigned long long counts[NR_KINDS] = {0}, trace = 0;
	struct auxtap_perfdata *pd;
	struct auxtap_record rec = {.size = sizeof(rec)};
	int ret;

	if (argc != 2) {
		fprintf(stderr, "usage: count_records FILE\n");
		return 2;
	}
	ret = auxtap_perfdata_open(&pd, argv[1], &err);
	if (ret)
		goto fail;
	while ((ret = auxtap_perfdata_next(pd, &rec, &err)) > 0) {
		if (rec.header->type < NR_KINDS)
			counts[rec.header->type]++;
		if (rec.header->type == AUXTAP_RECORD_AUXTRACE)
			trace += rec.trace_size;
	}
	for (unsigned int i = 0; i < NR_KINDS; i++) {
		const char *name = auxtap_record_name(i);

		if (counts[i])
			printf("%s: %llu\n", name ? name : "unknown", counts[i]);
	}
	printf("bytes of trace: %llu\n", trace);
	auxtap_perfdata_close(pd);
	if (!ret)
		return 0;
fail:
	fprintf(stderr, "count_records: %s: %s\n", err.what, err.why);
	return 1;
}
