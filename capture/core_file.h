/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a core file of a crashing process while its threads are stopped, in the kernel's format
 * (fs/binfmt_elf.c): core_file.c lays it out and writes it, core_notes.c makes the notes,
 * core_memory.c decides which memory it contains.
 */
#ifndef AUXTAP_CORE_FILE_H
#define AUXTAP_CORE_FILE_H

#include "session.h"

#define CORE_PAGE 4096u

/* The process, with the data that only the engine has. */
struct core_process {
	struct auxtap_session *s;
	const struct auxtap_target_event *ev;
	const struct map_list *maps;
	const pid_t *tids; /* tids[0] is the thread that died */
	int nr_tids;
	uint32_t arch; /* enum auxtap_arch */
	struct auxtap_target_facts facts;
	uint64_t *stacks; /* stack pointer of each of tids; 0: unknown */
};

/* A mapping, and where its contents are in the file. */
struct core_segment {
	uint64_t start, end;
	uint32_t flags;	 /* PF_… */
	uint64_t dumped; /* how many bytes from its start are to be dumped */
	bool from_file;	 /* pages that are not in memory have contents, too */
	unsigned int
		order; /* segments with lower values are written first, as space may be short */
	uint64_t offset, filesz;
};

struct core_segments {
	struct core_segment *list; /* by address */
	size_t nr, max;
};

struct core_notes {
	unsigned char *bytes;
	size_t nr, max;
};

/* core_memory.c */
/* Returns 0 or -ENOMEM. */
int core_segments_find(const struct core_process *p, struct core_segments *segments);
/* Which pages of a process are in memory: /proc/PID/pagemap. */
struct core_pages {
	int fd; /* -1: unknown, all pages are read */
	uint64_t base;
	uint64_t entry[512];
	uint64_t first; /* page of entry[0] */
	size_t nr;
};
void core_pages_open(struct core_pages *pages, const struct core_process *p);
void core_pages_close(struct core_pages *pages);
/* Whether the page may have contents other than zero. */
bool core_page_present(struct core_pages *pages, const struct core_segment *segment, uint64_t addr);
/* RLIMIT_CORE of the process; UINT64_MAX: unlimited; 0: no core file, or unknown. */
uint64_t core_limit(const struct core_process *p);

/* core_notes.c */
/* Returns 0, -ENOMEM, or -ENODATA if the registers of the thread that died are not known. */
int core_notes_make(const struct core_process *p, struct core_notes *notes);

/* core_file.c */
/*
 * Writes the core file of a stopped process if the user asked for one or RLIMIT_CORE allows it, and
 * calls the session's on_core().
 */
void session_save_core(struct auxtap_session *s, const struct auxtap_target_event *ev,
		       const struct map_list *maps, const char *snapshot);

#endif
