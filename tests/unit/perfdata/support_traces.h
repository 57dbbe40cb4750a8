/* SPDX-License-Identifier: BSD-2-Clause */
/* The directory of real traces, its cases and the listings of records next to them. */
#ifndef TEST_SUPPORT_TRACES_H
#define TEST_SUPPORT_TRACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_case {
	char name[256]; /* perfdata/zstd-sleep */
	char data[512];
	char expected[600]; /* directory of the expectations */
};

/* $AUXTAP_TRACES, or the default of the build; NULL if it does not exist (prints why). */
const char *traces_root(void);
/* All cases with a perf.data under root; malloc'd. */
size_t traces_cases(const char *root, struct trace_case **cases);

/* A line of a listing by 'perf script -D'. */
struct listed {
	uint64_t offset, size, time;
	int64_t cpu;
	bool has_cpu, has_who, shown; /* shown: found in the file by the test */
	uint32_t pid, tid;
	char name[32];
	char text[160];
};

/* Whole text of a file, decompressed if it ends in .xz; NULL if it does not exist. */
char *traces_text(const char *dir, const char *name);
/* The records of a listing, sorted by offset, size, name, time; malloc'd. */
size_t traces_listing(char *text, struct listed **out);

#endif
