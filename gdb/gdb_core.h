/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A core file, as written by the kernel, gdb's gcore or 'auxtap crash --core': threads, registers,
 * memory. Its contents are untrusted: a damaged file is refused.
 */
#ifndef GDB_CORE_H
#define GDB_CORE_H

#include <auxtap/crash.h>
#include <stdbool.h>

#define CORE_OTHER_MAX 520 /* bytes of the registers that are not in struct auxtap_regs */
#define CORE_SIGINFO   128

struct core_thread {
	int32_t tid;
	struct auxtap_regs regs;
	/* The other registers, in the order and the sizes of gdb_regs.c. */
	bool has_other;
	uint8_t other[CORE_OTHER_MAX];
};

struct core_segment {
	uint64_t addr, size;
	uint64_t in_file, off; /* the number of its bytes that are in the file, from off on */
	bool code;
};

/* A mapping of a file (NT_FILE). */
struct core_map {
	uint64_t start, end, pgoff;
	const char *name;
};

struct core_dump {
	char *path;
	int fd;
	uint64_t size; /* of the file */
	enum auxtap_arch arch;
	int32_t pid;
	int signo;		     /* the signal that dumped core; 0: none, or unknown */
	struct core_thread *threads; /* threads[0] is the thread that died */
	size_t nr_threads, max_threads;
	struct core_segment *segments; /* by address; they do not overlap */
	size_t nr_segments;
	struct core_map *maps; /* by address, like segments */
	size_t nr_maps, max_maps;
	const uint8_t *auxv; /* in 'notes' */
	size_t auxv_size;
	const uint8_t *siginfo; /* CORE_SIGINFO bytes; NULL: none */
	uint8_t *notes;
	size_t nr_notes; /* bytes */
};

/* 0 or negative errno. */
int core_dump_open(struct core_dump *core, const char *path, struct auxtap_error *err);
void core_dump_close(struct core_dump *core);
/* Reads memory. Returns the number of bytes from addr on that the file contains. */
size_t core_dump_memory(const struct core_dump *core, uint64_t addr, void *buf, size_t size);
/* NULL: the core file does not contain it. */
const struct core_thread *core_dump_thread(const struct core_dump *core, int32_t tid);
const struct core_segment *core_dump_segment(const struct core_dump *core, uint64_t addr);
const struct core_map *core_dump_map(const struct core_dump *core, uint64_t addr);

#endif
