/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a recording says about the process that gdb is shown: its death, threads, memory and
 * mappings (crash.h), its programs and their images. Its contents are untrusted.
 */
#ifndef GDB_RECORDING_H
#define GDB_RECORDING_H

#include "decode/report/report_facts.h"

#include <auxtap/decode.h>
#include <stdbool.h>

/* A process executed another program. */
struct recording_exec {
	int32_t pid;
	bool done;
	uint64_t time;
};

/* The first mapping of a process's newest program. */
struct recording_program {
	int32_t pid;
	bool expected; /* an exec was seen, but not its first mapping */
	uint64_t start;
	char *name;
};

struct recording {
	struct auxtap_perfdata *pd;
	struct auxtap_image_set *images;
	enum auxtap_arch arch;
	int32_t pid;	/* of the process that is shown; -1: not decided yet */
	bool has_crash; /* facts.crash is of that process */
	uint64_t time;	/* when it ended; UINT64_MAX: after all records */
	struct report_facts facts;
	struct recording_exec *execs;
	size_t nr_execs, max_execs;
	struct recording_program *programs;
	size_t nr_programs, max_programs;
};

/* pd and images must outlive it. 0 or negative errno. */
int recording_read(struct recording *rec, struct auxtap_perfdata *pd,
		   struct auxtap_image_set *images, struct auxtap_error *err);
/* Selects the process to be shown; drops what is known about the death of another one. */
void recording_choose(struct recording *rec, int32_t pid);
/* Takes what the recording lacks from a core file of the same death. 0 or -ENOMEM. */
struct core_dump;
int recording_take_core(struct recording *rec, const struct core_dump *core);
void recording_free(struct recording *rec);

/* Registers of a thread at its end; NULL: unknown. */
const struct auxtap_regs *recording_regs(const struct recording *rec, int32_t tid);
bool recording_pc(const struct auxtap_regs *regs, uint64_t *pc);
/* The program that the process ran last; NULL: unknown. */
const struct recording_program *recording_program(const struct recording *rec);
/* Reads the process's memory at its end. Returns how many bytes from addr on are known. */
size_t recording_memory(const struct recording *rec, uint64_t addr, void *buf, size_t size);
/*
 * Reads bytes at addr that the process cannot have changed: code, and read-only data. Returns their
 * number.
 */
size_t recording_constant(const struct recording *rec, uint64_t addr, void *buf, size_t size);

#endif
