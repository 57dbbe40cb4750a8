/* SPDX-License-Identifier: BSD-2-Clause */
/* Explains why the kernel refused an event or a mapping, and which value it would accept. */
#ifndef AUXTAP_CAPTURE_REFUSAL_H
#define AUXTAP_CAPTURE_REFUSAL_H

#include <auxtap/error.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The current limits of the kernel. */
struct limits {
	long paranoid;	     /* kernel.perf_event_paranoid */
	uint64_t mlock_kb;   /* kernel.perf_event_mlock_kb, for each CPU */
	uint64_t memlock_kb; /* RLIMIT_MEMLOCK; UINT64_MAX: unlimited */
	unsigned int nr_cpus;
};

void limits_read(struct limits *limits);

/* perf_event_open(attr, tid, cpu) returned code. Sets *err and returns code. */
int refusal_open(const char *event, const struct perf_event_attr *attr, pid_t tid, int code,
		 const struct limits *limits, struct auxtap_error *err);
/* mmap() of bytes returned code; nr_rings of data_kb and aux_kb each were requested. */
int refusal_map(const char *what, uint64_t bytes, int code, unsigned int nr_rings, uint64_t data_kb,
		uint64_t aux_kb, const struct limits *limits, struct auxtap_error *err);

#endif
