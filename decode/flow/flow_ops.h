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
	/* The decoder is synchronised at pos; on: whether tracing is on there. */
	FLOW_SYNC,
	/*
	 * nr_insns instructions were executed in a row, from ip to the one at last_ip; branch says
	 * how the last one changes the flow, size and code are its bytes. Where it went shows the
	 * next step. 0 instructions: the flow is at ip.
	 */
	FLOW_BLOCK,
	FLOW_ON,  /* tracing goes on at ip, or at the next block; loss: overflow, or none */
	FLOW_OFF, /* tracing went off at the branch of the last block, which went to 'to' */
	/*
	 * An event at ip (or after the last block), for example an interrupt; the flow goes on at
	 * 'to' or at the next block, if tracing is still on.
	 */
	FLOW_ASYNC,
	FLOW_CONTEXT,  /* another thread or address space may run from here on */
	FLOW_TIME,     /* nothing but the time */
	FLOW_OVERFLOW, /* the unit lost trace here; on: whether the flow goes on */
	/*
	 * The flow is lost because of 'loss'. If the bytes that it costs are known, they are those
	 * from pos to next, and FLOW_SYNC follows, or FLOW_END where nothing else can be decoded.
	 */
	FLOW_LOST,
	FLOW_END, /* of the bytes; ip: where the flow was, on: whether tracing was on */
};

enum flow_loss {
	FLOW_LOSS_NONE,
	FLOW_LOSS_ERROR,      /* what was expected is not in the trace: why */
	FLOW_LOSS_CUT,	      /* the bytes end inside of something */
	FLOW_LOSS_NO_CODE,    /* no code at ip */
	FLOW_LOSS_NO_ADDRESS, /* the trace does not contain where the flow is */
	FLOW_LOSS_NO_PATH,    /* from ip on nr_insns instructions, it is not known which */
	FLOW_LOSS_OVERFLOW,   /* of the unit's buffer; tracing was off until the next FLOW_ON */
	FLOW_LOSS_PACKET,     /* no packet: why; tracing is off until the next FLOW_ON */
	FLOW_LOSS_RESET,      /* the decoder began anew */
	FLOW_LOSS_NO_MEMORY,  /* of the decoder itself */
	FLOW_LOSS_BROKEN,     /* of the decoder: it takes no more bytes that continue these */
};

/* A step; it holds until the next call of the flow. */
struct flow_step {
	uint8_t kind;	/* enum flow_kind */
	uint8_t loss;	/* enum flow_loss */
	uint8_t branch; /* enum auxtap_branch_kind; NONE: the flow goes straight on */
	uint8_t isa;	/* enum auxtap_isa, of a block */
	uint8_t size;	/* of the last instruction */
	bool on;
	bool has_ip, has_to; /* LOST without ip: after the last block */
	/* code without packets comes back to ip: how often it ran before is not in the trace */
	bool loops;
	bool may_loop;	 /* which code was at ip then is not known */
	bool fetches_ip; /* a call of the next instruction, which only fetches its address */
	bool calls;	 /* ASYNC: if the last block led to ip, its last instruction is a call */
	uint32_t nr_insns;
	/* CONTEXT, of Arm's units: thread by the number in the trace, -1: none; CS_SPACE_..., 0:
	 * any */
	int32_t tid;
	uint32_t space;
	uint64_t tsc; /* when it was over, by the unit's clock; 0: not known */
	uint64_t ip;
	union {
		uint64_t last_ip; /* BLOCK */
		uint64_t to;
		uint64_t next; /* LOST */
	};
	uint64_t pos; /* in the stream; of a packet that the step is from, as far as it is known */
	union {
		const uint8_t *code; /* BLOCK: 15 bytes that can be read; NULL: not known */
		const char *why;     /* LOST */
	};
};

/* The decoder may write to the bytes, and to as many before them, unless 'joins' is used. */
#define FLOW_HEADROOM 64

struct flow_bytes {
	uint8_t *data; /* valid until stop, or until next() has returned 0 */
	size_t size;
	/*
	 * With the synchronisation that follows: it shows how far the flow went, and belongs to the
	 * next bytes.
	 */
	size_t total;
	uint64_t off; /* of data in the stream */
	uint64_t tsc; /* the newest before them; 0: none */
	/* For a decoder that takes a stream a little at a time: see flow_ops.start. */
	bool joins, last;
};

/* Whether a decoder follows instructions that the unit traced before they were committed. */
enum flow_speculation {
	FLOW_SPECULATION_FOLLOWED,
	/* not where some of them come before a synchronisation point and commit after it */
	FLOW_SPECULATION_NOT_ACROSS_SYNC,
	/* not with cycle counts, which the unit traces: so none of its trace */
	FLOW_SPECULATION_NOT_WITH_CYCLES,
};

struct flow;

struct flow_ops {
	const char *name; /* "libipt" */
	/* Name and version: "libipt 2.0.5" */
	void (*version)(char *text, size_t size);

	/* config: of the family. NULL: out of memory. */
	void *(*open)(const void *config);
	void (*close)(void *shared);

	/* source: as in create, but only its trace unit is set. NULL: FOLLOWED. */
	enum flow_speculation (*speculation)(const void *source);

	/* source: of the family. NULL: out of memory. */
	struct flow *(*create)(void *shared, const void *source);
	void (*destroy)(struct flow *flow);

	/*
	 * Whose code is executed from here on (-1: unknown), by the mappings of that time
	 * (UINT64_MAX: the last). True: it is not the code of before. Also before start.
	 */
	bool (*set_code)(struct flow *flow, int32_t pid, uint64_t time);
	/*
	 * From here on the flow of these bytes. They begin with a synchronisation point, or
	 * continue those before (joins). 'last': nothing continues them; they may be none.
	 */
	void (*start)(struct flow *flow, const struct flow_bytes *bytes);
	/*
	 * The next steps, in order, and how many; 0: no more of these bytes. A step after which
	 * set_code may be called (all but BLOCK, TIME and LOST) is the last one, unless the decoder
	 * asks its source whose code runs.
	 */
	size_t (*next)(struct flow *flow, const struct flow_step **steps);
	/*
	 * When next() has returned 0: the offset of the first byte that was not used. NULL: all
	 * always are.
	 */
	uint64_t (*position)(struct flow *flow);
	/* The bytes are not needed any more. */
	void (*stop)(struct flow *flow);
};

#endif
