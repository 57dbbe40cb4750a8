/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface of a flow decoder, which reconstructs the executed instructions, for example
 * libipt. The code of a trace family (trace_family.h: Intel PT, CoreSight) passes bytes to it and
 * gets steps. No type of a library crosses the interface, so that several decoders can exist for
 * one family, and their steps can be compared. The decoder is chosen when the trace is opened
 * (struct auxtap_decoder).
 *
 *	open                      once for all streams
 *	  create                  once for each thread that decodes, or for each stream
 *	    set_code, start, next, next, ... stop
 *	  destroy
 *	close
 *
 * A struct flow is used by one thread at a time; several with the same 'shared' concurrently.
 */
#ifndef AUXTAP_FLOW_OPS_H
#define AUXTAP_FLOW_OPS_H

#include <auxtap/decode.h>

enum flow_kind {
	/* The decoder is synchronised at pos; on: whether tracing is on there. */
	FLOW_SYNC,
	/*
	 * nr_insns instructions were executed in a row, from ip to the one at last_ip; branch says
	 * how the last one changes the flow, size and code are its bytes. The next step shows the
	 * branch target. 0 instructions: execution continues at ip.
	 */
	FLOW_BLOCK,
	FLOW_ON,  /* tracing starts at ip, or at the next block; loss: overflow, or none */
	FLOW_OFF, /* tracing stops at the branch of the last block, whose target is 'to' */
	/*
	 * An asynchronous event at ip (or after the last block), for example an interrupt; if
	 * tracing is still on, execution continues at 'to' or at the next block.
	 */
	FLOW_ASYNC,
	FLOW_CONTEXT,  /* another thread or address space may run from here on */
	FLOW_TIME,     /* contains only a time */
	FLOW_OVERFLOW, /* the unit lost trace here; on: whether tracing is still on */
	/*
	 * The flow is lost because of 'loss'. If it is known which bytes are not decoded, they are
	 * those from pos to next; then FLOW_SYNC follows, or FLOW_END if no more can be decoded.
	 */
	FLOW_LOST,
	FLOW_END, /* end of the bytes; ip: the last known address, on: whether tracing was on */
};

enum flow_loss {
	FLOW_LOSS_NONE,
	FLOW_LOSS_ERROR,      /* the trace does not match the code; why says how */
	FLOW_LOSS_CUT,	      /* the bytes end within a packet or block */
	FLOW_LOSS_NO_CODE,    /* the code at ip is unknown */
	FLOW_LOSS_NO_ADDRESS, /* the trace does not contain the current address */
	FLOW_LOSS_NO_PATH,    /* nr_insns instructions from ip on, but unknown which */
	FLOW_LOSS_OVERFLOW,   /* overflow of the unit's buffer; tracing is off until FLOW_ON */
	FLOW_LOSS_PACKET,     /* an invalid packet: see why; tracing is off until FLOW_ON */
	FLOW_LOSS_RESET,      /* the decoder was reset */
	FLOW_LOSS_NO_MEMORY,  /* the decoder is out of memory */
	FLOW_LOSS_BROKEN,     /* the decoder cannot continue with the bytes that follow these */
};

/* A step; it is valid until the next call for the same flow. */
struct flow_step {
	uint8_t kind;	/* enum flow_kind */
	uint8_t loss;	/* enum flow_loss */
	uint8_t branch; /* enum auxtap_branch_kind; NONE: execution falls through */
	uint8_t isa;	/* enum auxtap_isa, of a block */
	uint8_t size;	/* size of the last instruction */
	bool on;
	bool has_ip, has_to; /* LOST without ip: after the last block */
	/* code that generates no packets loops back to ip: the trace does not say how often */
	bool loops;
	bool may_loop;	 /* like loops, but the code at ip at that time is unknown */
	bool fetches_ip; /* a call to the next instruction that only reads the PC (32-bit PIC) */
	bool calls;	 /* ASYNC: if the last block led to ip, its last instruction is a call */
	uint32_t nr_insns;
	int32_t tid;	/* CONTEXT of Arm's units: the thread's id in the trace; -1: none */
	uint32_t space; /* CONTEXT of Arm's units: exception level and security state; 0: any */
	uint64_t tsc;	/* time of the step's end by the unit's clock; 0: unknown */
	uint64_t ip;
	union {
		uint64_t last_ip; /* BLOCK */
		uint64_t to;
		uint64_t next; /* LOST */
	};
	uint64_t pos; /* offset in the stream of a packet that caused the step, if known */
	union {
		const uint8_t *code; /* BLOCK: 15 readable bytes; NULL: unknown */
		const char *why;     /* LOST */
	};
};

/* Unless 'joins' is used, the decoder may write to the bytes and to as many bytes before them. */
#define FLOW_HEADROOM 64

struct flow_bytes {
	uint8_t *data; /* valid until stop, or until next() has returned 0 */
	size_t size;
	/*
	 * Size including the synchronisation point after the bytes: it belongs to the next bytes,
	 * but shows where the flow of these ends.
	 */
	size_t total;
	uint64_t off; /* offset of data in the stream */
	uint64_t tsc; /* the newest one before the bytes; 0: none */
	/* for a decoder that gets a stream in several parts: see flow_ops.start */
	bool joins, last;
};

/* Whether a decoder supports trace of speculative instructions, which may be cancelled later. */
enum flow_speculation {
	FLOW_SPECULATION_FOLLOWED,
	/* not if they are traced before a synchronisation point and commit after it */
	FLOW_SPECULATION_NOT_ACROSS_SYNC,
	/* not with cycle counts, which the unit traces: so none of its trace */
	FLOW_SPECULATION_NOT_WITH_CYCLES,
};

struct flow;

struct flow_ops {
	const char *name; /* "libipt" */
	/* Name and version: "libipt 2.0.5" */
	void (*version)(char *text, size_t size);

	/* config: defined by the family. Returns 'shared'; NULL: out of memory. */
	void *(*open)(const void *config);
	void (*close)(void *shared);

	/* source: as in create(), but only its trace unit is set. No function: FOLLOWED. */
	enum flow_speculation (*speculation)(const void *source);

	/*
	 * source: describes one stream (its trace unit, who reads code for it), in a struct that
	 * the family defines. NULL: out of memory.
	 */
	struct flow *(*create)(void *shared, const void *source);
	void (*destroy)(struct flow *flow);

	/*
	 * The process whose code is executed from here on (-1: unknown), with its mappings at that
	 * time (UINT64_MAX: the last ones). True: the code changed. Also called before start().
	 */
	bool (*set_code)(struct flow *flow, int32_t pid, uint64_t time);
	/*
	 * Starts decoding of these bytes. They begin with a synchronisation point, or continue the
	 * previous ones (joins). 'last': no bytes continue them; then their size may be 0.
	 */
	void (*start)(struct flow *flow, const struct flow_bytes *bytes);
	/*
	 * Returns the number of next steps, in order; 0: no more from these bytes. A step after
	 * which set_code() may be called (all but BLOCK, TIME and LOST) is the last one, unless the
	 * decoder itself asks its source which process runs.
	 */
	size_t (*next)(struct flow *flow, const struct flow_step **steps);
	/*
	 * After next() has returned 0: the offset of the first unused byte. No function: all bytes
	 * are always used.
	 */
	uint64_t (*position)(struct flow *flow);
	/* The bytes are not needed any more. */
	void (*stop)(struct flow *flow);
};

#endif
