/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface of a decoder that follows the executed flow, for example libipt. A family of traces
 * gives it bytes and takes steps; no type of a library crosses the interface, so that several
 * decoders can exist for one family, and their steps can be compared. Which one is used is chosen
 * when the trace is opened (struct auxtap_decoder).
 *
 *	open                      once for all streams
 *	  create                  once for each thread that decodes, or for each stream
 *	    set_code, start, next, next, ... stop
 *	  destroy
 *	close
 *
 * A flow is used by one thread at a time; several flows of one 'shared' are used at the same time.
 */
#ifndef AUXTAP_FLOW_OPS_H
#define AUXTAP_FLOW_OPS_H

#include <auxtap/decode.h>

enum flow_kind {
	/* The decoder is synchronised at pos; on: whether tracing is on there. The first step. */
	FLOW_SYNC,
	/*
	 * nr_insns instructions were executed in a row, from ip to the one at last_ip; branch says
	 * how the last one changes the flow, size and code are its bytes. Where it went shows the
	 * next step.
	 */
	FLOW_BLOCK,
	FLOW_ON,  /* tracing goes on at ip */
	FLOW_OFF, /* tracing went off at the branch of the last block, which went to 'to' */
	/* An event at ip; the flow goes on at 'to', if tracing is still on. */
	FLOW_ASYNC,
	FLOW_CONTEXT,  /* another thread or address space may run from here on */
	FLOW_TIME,     /* nothing but the time */
	FLOW_OVERFLOW, /* the unit lost trace here; on: whether the flow goes on */
	/*
	 * The flow is lost at pos, because of 'loss'. It goes on at 'next': a FLOW_SYNC follows, or
	 * FLOW_END if nothing up to there can be decoded.
	 */
	FLOW_LOST,
	FLOW_END, /* of the bytes; ip: where the flow was, on: whether tracing was on */
};

enum flow_loss {
	FLOW_LOSS_ERROR,     /* what was expected is not in the trace: why */
	FLOW_LOSS_CUT,	     /* the bytes end inside of something */
	FLOW_LOSS_NO_CODE,   /* no code at ip */
	FLOW_LOSS_NO_MEMORY, /* of the decoder itself */
};

/* A step; it holds until the next call of the flow. */
struct flow_step {
	uint8_t kind;	/* enum flow_kind */
	uint8_t loss;	/* enum flow_loss */
	uint8_t branch; /* enum auxtap_branch_kind; NONE: the flow goes straight on */
	uint8_t size;	/* of the last instruction */
	bool on;
	bool has_ip, has_to; /* LOST without ip: after the last block */
	/* code without packets comes back to ip: how often it ran before is not in the trace */
	bool loops;
	bool fetches_ip; /* a call of the next instruction, which only fetches its address */
	uint32_t nr_insns;
	uint64_t tsc; /* when it was over, by the unit's clock; 0: not known */
	uint64_t ip;
	union {
		uint64_t last_ip; /* BLOCK */
		uint64_t to;
		uint64_t next; /* LOST */
	};
	uint64_t pos; /* in the stream */
	union {
		const uint8_t *code; /* BLOCK: 15 bytes that can be read; NULL: not known */
		const char *why;     /* LOST */
	};
};

/* The decoder may write to the bytes, and to as many before them. */
#define FLOW_HEADROOM 64

struct flow_bytes {
	uint8_t *data; /* begins with a synchronisation point; valid until stop */
	size_t size;
	/*
	 * With the synchronisation that follows: it shows how far the flow went, and belongs to the
	 * next bytes.
	 */
	size_t total;
	uint64_t off; /* of data in the stream */
	uint64_t tsc; /* the newest before them; 0: none */
};

struct flow;

struct flow_ops {
	const char *name; /* "libipt" */
	/* Name and version: "libipt 2.0.5" */
	void (*version)(char *text, size_t size);

	/* config: of the family. NULL: out of memory. */
	void *(*open)(const void *config);
	void (*close)(void *shared);

	struct flow *(*create)(void *shared); /* NULL: out of memory */
	void (*destroy)(struct flow *flow);

	/*
	 * Whose code is executed from here on (-1: unknown), by the mappings of that time
	 * (UINT64_MAX: the last). True: it is not the code of before. Also before start.
	 */
	bool (*set_code)(struct flow *flow, int32_t pid, uint64_t time);
	/* From here on the flow of these bytes; nothing is kept of those before. */
	void (*start)(struct flow *flow, const struct flow_bytes *bytes);
	/*
	 * The next steps, in order, and how many; 0 after FLOW_END. A step after which set_code may
	 * be called (all but BLOCK, TIME and LOST) is the last one.
	 */
	size_t (*next)(struct flow *flow, const struct flow_step **steps);
	/* The bytes are not needed any more. */
	void (*stop)(struct flow *flow);
};

#endif
