/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The decoded flow of one process, stored so that a step costs the same in either direction and at
 * any position. A thread's history is a sequence of entries: blocks of instructions, calls and
 * returns between them, gaps. Equal entries are stored once, and have a number. Each entry is
 * usually followed by one of a few others, so the sequence takes about a byte per entry, in chunks
 * that are unpacked independently:
 *
 *   entries   #0 block 401000-401008   #1 call   #2 block 402000-402004   #3 return ...
 *   successors of each entry           0: #1     0: #3  1: #7             ...
 *   chunk     first entry, call depth | successor successor ...           HISTORY_CHUNK entries
 */
#ifndef GDB_HISTORY_H
#define GDB_HISTORY_H

#include <auxtap/decode.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/hash_map.h"

#define HISTORY_CHUNK 4096

enum history_kind {
	ENTRY_BLOCK, /* instructions in [ip, last] */
	ENTRY_CALL,  /* a call: ip is its return address, last the function entered; 0: unknown */
	/*
	 * A signal handler, last, was entered: the interrupted code goes on at ip, which after a
	 * system call is the next instruction.
	 */
	ENTRY_SIGNAL,
	ENTRY_RETURN,		/* returns to ip, out of nr known calls */
	ENTRY_RETURN_UNMATCHED, /* returns to ip, from a function whose call is unknown */
	ENTRY_STACK_RESET, /* from here on no earlier call is known to be open (longjmp, ...) */
	ENTRY_GAP,	   /* number nr of the history's gaps */
};

struct history_entry {
	enum history_kind kind;
	uint32_t nr; /* BLOCK: instructions; RETURN: calls; GAP: its number */
	uint64_t ip, last;
	uint64_t time; /* when it was first seen; 0: unknown */
	/*
	 * BLOCK: index of the sizes of its instructions, plus 1; 0: not looked up yet; UINT32_MAX:
	 * its code is unknown.
	 */
	uint32_t sizes;
	uint16_t nr_next, max_next;
	uint32_t *next; /* successors, in the order in which they were first seen */
};

struct history_chunk {
	uint8_t *successors; /* the entries after the first one */
	uint32_t size;	     /* bytes of successors */
	uint32_t first_id;   /* its first entry */
	uint64_t icount;     /* instructions of the thread before the chunk */
	uint64_t time;	     /* of the thread, at its start; 0: unknown */
	int64_t depth;	     /* call depth at its start */
	int64_t min_depth;   /* least call depth at its start and after any of its entries */
};

/* An open call, while the history is built. */
struct history_open_call {
	uint64_t return_addr;
	bool signal;
};

struct history_thread {
	int32_t pid, tid;
	const char *comm; /* owned by the decoder; NULL: unknown */
	struct history_chunk *chunks;
	size_t nr_chunks, max_chunks;
	uint64_t nr;	       /* entries, including dropped ones */
	uint64_t first_kept;   /* the first one whose chunk is kept; a multiple of HISTORY_CHUNK */
	uint64_t first;	       /* the first one that may be reached; not before first_kept */
	const char *begin_why; /* why nothing is before it; NULL: the trace starts there */
	uint64_t nr_insns;
	uint64_t time_last;
	/*
	 * Depth of open calls. Each gap and each reset starts a new count, far from the earlier
	 * ones, so that a depth names the same call at any position.
	 */
	int64_t depth;
	/* the next address after the last entry, if known */
	bool end_known;
	uint64_t end_ip;
	/* while it is built */
	uint32_t *partial; /* entries of the chunk that is not complete */
	uint32_t nr_partial;
	struct history_open_call *calls;
	size_t nr_calls, max_calls;
	bool stopped; /* tracing is off since stop_ip */
	uint64_t stop_ip;
	bool in_syscall;   /* the instruction at stop_ip was executed */
	bool in_sigreturn; /* a handler has returned: rt_sigreturn() follows */
};

/* nr consecutive entries of one thread, up to the next of another thread. */
struct history_slice {
	uint32_t thread;
	uint64_t nr;
};

/* The text of a gap, as it is shown. */
struct history_gap {
	char *text;
};

/* Questions about the program's code. NULL: nothing is known. */
struct history_code {
	/* Writes at most block->nr sizes of instructions, from ip to last; returns their number. */
	uint32_t (*sizes)(void *ctx, const struct history_entry *block, uint8_t *sizes);
	/* Whether two addresses belong to one function. */
	bool (*same_function)(void *ctx, uint64_t a, uint64_t b, uint64_t time);
	void *ctx;
};

struct history {
	const struct history_code *code;
	struct history_entry *entries;
	size_t nr_entries, max_entries;
	struct hash_map by_content;
	struct hash_map returns; /* return addresses of calls */
	uint8_t *sizes;		 /* of instructions: see history_entry.sizes */
	size_t nr_sizes, max_sizes;
	struct history_gap *gaps;
	size_t nr_gaps, max_gaps;
	struct history_thread *threads;
	size_t nr_threads, max_threads;
	struct history_slice *slices; /* in order of time */
	size_t nr_slices, max_slices;
	bool ordered;		    /* the threads are ordered by times; else each moves alone */
	size_t nr_bytes, max_bytes; /* of chunks; over the bound the oldest are dropped */
	/* unpacked chunks, recently used */
	struct chunk_view {
		uint32_t *ids;
		uint32_t thread;
		size_t chunk;
		uint64_t used;
	} views[8];
	unsigned int newest;
	uint64_t clock;
};

/* code may be NULL. */
void history_init(struct history *h, size_t max_bytes, const struct history_code *code);
void history_free(struct history *h);

/* ---- building ---- */

/* The events that the decoder must return. */
#define HISTORY_EVENTS                                                                        \
	(AUXTAP_EVENT_BLOCK | AUXTAP_EVENT_BRANCH | AUXTAP_EVENT_CALL | AUXTAP_EVENT_RETURN | \
	 AUXTAP_EVENT_ASYNC | AUXTAP_EVENT_TRACE | AUXTAP_EVENT_GAP)

/* Adds an event of the decoder. 0 or -ENOMEM. */
int history_add(struct history *h, const struct auxtap_event *ev);
/* The process executed another program: its threads' history starts here. why: a constant text. */
void history_exec(struct history *h, int32_t pid, const char *why);
/* To be called after the last event. */
int history_finish(struct history *h);

/* ---- reading ---- */

/* The call depth after an entry that was reached at a depth. */
int64_t history_depth(const struct history_entry *entry, int64_t depth);

/* Index of a thread; -1: the history does not contain it. */
int history_find(const struct history *h, int32_t tid);
/* The entry at a position in [first, nr) of a thread; NULL: out of memory. */
const struct history_entry *history_entry_at(struct history *h, uint32_t thread, uint64_t pos);
/* The entry's number, for tables of the caller; UINT32_MAX: out of memory. */
uint32_t history_entry_id(struct history *h, uint32_t thread, uint64_t pos);

/*
 * The sizes of a block's instructions, block->nr of them. NULL: the code cannot be read, is not
 * what was executed, or out of memory.
 */
const uint8_t *history_sizes(struct history *h, uint32_t id);

#endif
