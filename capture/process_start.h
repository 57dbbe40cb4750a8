/* SPDX-License-Identifier: BSD-2-Clause */
/* The arguments and the auxiliary vector that a stopped process was started with. */
#ifndef AUXTAP_PROCESS_START_H
#define AUXTAP_PROCESS_START_H

#include "session.h"

#define PROCESS_ARGS_SIZE 80 /* as in the note of a core file: ELF_PRARGSZ */

struct process_start {
	char args[PROCESS_ARGS_SIZE]; /* one line, as in the kernel's core files; truncated */
	uint64_t *auxv;		      /* pairs of type and value, the last AT_NULL; NULL: unknown */
	size_t nr_auxv;		      /* number of words */
};

/* tid: a stopped thread of the process. stack: as in struct auxtap_target_facts. */
void process_start_read(struct process_start *start, const struct auxtap_backend *be, pid_t pid,
			pid_t tid, const struct map_list *maps, uint64_t stack);
void process_start_free(struct process_start *start);
/* The value of an entry of the auxiliary vector; 0: there is no such entry. */
uint64_t process_start_auxv(const struct process_start *start, uint64_t type);

#endif
