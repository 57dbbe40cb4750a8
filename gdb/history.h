/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The decoded flow of one process, kept so that a step in either direction costs the same wherever
 * it is. A thread's history is a sequence of tokens: blocks of instructions, calls and returns
 * between them, gaps. Equal tokens are stored once. What follows a token is usually one of a few,
 * so the sequence takes about a byte per token, in chunks that are decoded alone:
 *
 *   tokens    #0 block 401000-401008   #1 call   #2 block 402000-402004   #3 return ...
 *   successors of each token            0: #1     0: #3  1: #7             ...
 *   chunk     first token, level of calls | slot slot slot ...             HISTORY_CHUNK tokens
 */
#ifndef GDB_HISTORY_H
#define GDB_HISTORY_H

#include <auxtap/decode.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/hash_map.h"

#define HISTORY_CHUNK 4096

enum token_kind {
	TOKEN_BLOCK,  /* instructions in [ip, last] */
	TOKEN_CALL,   /* a call: ip is where it returns to, last the function entered */
	TOKEN_SIGNAL, /* a signal handler was entered: ip is what was interrupted, last the handler
		       */
	TOKEN_RETURN, /* leaves nr known calls; ip: where it goes on */
	TOKEN_OUT,    /* leaves a function whose call is not in the history; ip: its caller */
	TOKEN_SWITCH, /* from here on none of the calls before is known to be open (longjmp, ...) */
	TOKEN_GAP,    /* number nr of the history's gaps */
};

struct token {
	enum token_kind kind;
	uint32_t nr; /* BLOCK: instructions */
	uint64_t ip, last;
	uint64_t time;	/* when it was first seen; 0: unknown */
	uint32_t sizes; /* BLOCK: where its instructions' sizes are, plus 1; 0: not looked up yet */
	uint16_t nr_next, max_next;
	uint32_t *next; /* successors, in the order in which they were first seen */
};

struct history_chunk {
	uint8_t *slots; /* the tokens after the first one */
	uint32_t size;	/* bytes of slots */
	uint32_t first; /* its first token */
	uint64_t insns; /* of the thread, before the chunk */
	uint64_t time;	/* of the thread, at its start; 0: unknown */
	int64_t level;	/* of calls, at its start */
	int64_t lowest; /* of calls, at its start and after any of its tokens */
};

/* An open call, while the history is built. */
struct open_call {
	uint64_t back; /* where it returns to */
	bool signal;
};

struct history_thread {
	int32_t pid, tid;
	const char *comm; /* the decoder's; NULL */
	struct history_chunk *chunks;
	size_t nr_chunks, max_chunks;
	uint64_t nr;	       /* tokens in all, dropped ones counted */
	uint64_t kept;	       /* the first one whose chunk is kept; a multiple of HISTORY_CHUNK */
	uint64_t first;	       /* the first one that may be reached; not before 'kept' */
	const char *begin_why; /* why nothing is before it; NULL: there is no more trace */
	uint64_t nr_insns;
	uint64_t time_last;
	/*
	 * Of calls that are open. Each gap and each switch begins a new count, far from those
	 * before, so that a level names the same call wherever it is met.
	 */
	int64_t level, level_base;
	/* Where it goes on after the last token, if known. */
	bool end_known;
	uint64_t end_ip;
	/* while it is built */
	uint32_t *open; /* tokens of the chunk that is not complete */
	uint32_t nr_open;
	struct open_call *calls;
	size_t nr_calls, max_calls;
	bool stopped; /* tracing is off since stop_ip */
	uint64_t stop_ip;
	bool in_syscall;     /* the instruction at stop_ip was executed */
	bool leaves_handler; /* by the call that ends a signal handler */
};

/* So many tokens of one thread, before those of another. */
struct history_run {
	uint32_t thread;
	uint64_t nr;
};

/* A gap's text, as it is shown. */
struct history_gap {
	char *text;
};

/* What is known of the program's code. NULL: nothing. */
struct history_code {
	/* Writes at most block->nr sizes of instructions, from ip to last; their count. */
	uint32_t (*sizes)(void *ctx, const struct token *block, uint8_t *sizes);
	/* Whether two addresses belong to one function. */
	bool (*same_function)(void *ctx, uint64_t a, uint64_t b, uint64_t time);
	void *ctx;
};

struct history {
	const struct history_code *code;
	struct token *tokens;
	size_t nr_tokens, max_tokens;
	struct hash_map by_content;
	struct hash_map returns; /* where calls return to */
	uint8_t *sizes;		 /* of instructions: see token.sizes */
	size_t nr_sizes, max_sizes;
	struct history_gap *gaps;
	size_t nr_gaps, max_gaps;
	struct history_thread *threads;
	size_t nr_threads, max_threads;
	struct history_run *runs; /* in order of time */
	size_t nr_runs, max_runs;
	bool ordered;		    /* times order the threads; else each moves by itself */
	size_t nr_bytes, max_bytes; /* of chunks; over the bound the oldest are dropped */
	/* decoded chunks, recently used */
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

/* What the decoder is to return. */
#define HISTORY_EVENTS                                                                        \
	(AUXTAP_EVENT_BLOCK | AUXTAP_EVENT_BRANCH | AUXTAP_EVENT_CALL | AUXTAP_EVENT_RETURN | \
	 AUXTAP_EVENT_ASYNC | AUXTAP_EVENT_TRACE | AUXTAP_EVENT_GAP)

/* Adds an event of the decoder. 0 or -ENOMEM. */
int history_add(struct history *h, const struct auxtap_event *ev);
/* The process became another program: its threads' history begins anew. why: a constant text. */
void history_exec(struct history *h, int32_t pid, const char *why);
/* After the last event. */
int history_finish(struct history *h);

/* ---- reading ---- */

/* The level of calls after a token that was reached at a level. */
int64_t history_level(const struct token *token, int64_t level);

/* Number of a thread; -1: the history has none of it. */
int history_find(const struct history *h, int32_t tid);
/* The token at a position in [first, nr) of a thread; NULL: out of memory. */
const struct token *history_token(struct history *h, uint32_t thread, uint64_t at);
/* Its number, for tables of the caller; UINT32_MAX: out of memory. */
uint32_t history_token_number(struct history *h, uint32_t thread, uint64_t at);

/*
 * The sizes of a block's instructions, block->nr of them. NULL: the code cannot be read, or is not
 * what was executed.
 */
const uint8_t *history_sizes(struct history *h, uint32_t number);

#endif
