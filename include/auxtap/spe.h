/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arm SPE: packets and records of the Statistical Profiling Extension (Arm Architecture Reference
 * Manual, "Statistical Profiling Extension sample record"). A record is what one sampled operation
 * left: packets up to a time stamp or an END. All functions are pure and thread-safe; what they
 * are given is untrusted and stays the caller's.
 */
#ifndef AUXTAP_SPE_H
#define AUXTAP_SPE_H

#include <auxtap/decode.h>

#ifdef __cplusplus
extern "C" {
#endif

enum auxtap_spe_packet_type {
	AUXTAP_SPE_PAD,	      /* one byte */
	AUXTAP_SPE_ALIGNMENT, /* payload: what the next packet's offset is a multiple of */
	AUXTAP_SPE_END,
	AUXTAP_SPE_TIMESTAMP, /* payload: ticks of the generic timer */
	AUXTAP_SPE_ADDRESS,   /* index: enum auxtap_spe_address */
	AUXTAP_SPE_COUNTER,   /* index: enum auxtap_spe_counter; payload: cycles */
	AUXTAP_SPE_CONTEXT,   /* index: the exception level, 1 or 2, of CONTEXTIDR */
	AUXTAP_SPE_OPERATION, /* index: enum auxtap_spe_class; payload: the subclass, 8 bits */
	AUXTAP_SPE_EVENTS,    /* payload: mask, 1 << enum auxtap_spe_event */
	/* payload: where the data came from; means what the CPU's maker says */
	AUXTAP_SPE_SOURCE,
};

enum auxtap_spe_address {
	AUXTAP_SPE_ADDR_PC,
	AUXTAP_SPE_ADDR_TARGET, /* of the sampled branch */
	AUXTAP_SPE_ADDR_VIRT,	/* of the data */
	AUXTAP_SPE_ADDR_PHYS,
	AUXTAP_SPE_ADDR_PREV_TARGET, /* of the branch before */
};

enum auxtap_spe_counter {
	AUXTAP_SPE_LAT_TOTAL, /* from dispatch to completion */
	AUXTAP_SPE_LAT_ISSUE, /* from dispatch to issue */
	AUXTAP_SPE_LAT_XLAT,  /* of the translation of the address */
};

enum auxtap_spe_class {
	AUXTAP_SPE_OTHER,
	AUXTAP_SPE_LDST,   /* loads, stores, atomics */
	AUXTAP_SPE_BRANCH, /* and exception returns */
};

enum auxtap_spe_event {
	AUXTAP_SPE_EV_EXCEPTION,
	AUXTAP_SPE_EV_RETIRED,
	AUXTAP_SPE_EV_L1D_ACCESS,
	AUXTAP_SPE_EV_L1D_REFILL,
	AUXTAP_SPE_EV_TLB_ACCESS,
	AUXTAP_SPE_EV_TLB_WALK,
	AUXTAP_SPE_EV_NOT_TAKEN,
	AUXTAP_SPE_EV_MISPREDICTED,
	AUXTAP_SPE_EV_LLC_ACCESS,
	AUXTAP_SPE_EV_LLC_MISS,
	AUXTAP_SPE_EV_REMOTE_ACCESS,
	AUXTAP_SPE_EV_MISALIGNED,
	AUXTAP_SPE_EV_TRANSACTIONAL = 16,
	AUXTAP_SPE_EV_PARTIAL_PREDICATE,
	AUXTAP_SPE_EV_EMPTY_PREDICATE,
	AUXTAP_SPE_EV_L2D_ACCESS,
	AUXTAP_SPE_EV_L2D_MISS,
	AUXTAP_SPE_EV_DATA_MODIFIED,
	AUXTAP_SPE_EV_RECENTLY_FETCHED,
	AUXTAP_SPE_EV_SNOOPED,
	AUXTAP_SPE_EV_STREAMING_SVE,
	AUXTAP_SPE_EV_SMCU,
};

struct auxtap_spe_packet {
	enum auxtap_spe_packet_type type;
	uint8_t index;	  /* see the types */
	uint8_t size;	  /* bytes, header included */
	uint64_t payload; /* as it stands; an address has tag or level in its top byte */
};

/* The packet at the begin of trace. Its size; 0: more bytes are needed; -EBADMSG: this is none. */
AUXTAP_API int auxtap_spe_packet(const void *trace, size_t size, struct auxtap_spe_packet *pkt);

/* "LD GP-REG": as stock perf words it. Returns the length, less than size. */
AUXTAP_API size_t auxtap_spe_packet_text(const struct auxtap_spe_packet *pkt, char *text,
					 size_t size);

/*
 * "L2 cache": what a CPU means by a data source, by its MIDR_EL1 (variant and revision do not
 * matter), a static text. NULL: nothing is published of this CPU, or of this number.
 */
AUXTAP_API const char *auxtap_spe_source_name(uint64_t midr, uint64_t source);

/* An address packet's address: without tag, exception level and security state, sign extended. */
AUXTAP_API uint64_t auxtap_spe_address(const struct auxtap_spe_packet *pkt);

/*
 * Calls fn for each packet of a buffer that begins at a packet, offset in its stream (alignment
 * packets count from the stream's begin); pads come up to 16 together. What is no packet is
 * reported, up to the begin of the next plausible record, with name "error". fn's non-zero result
 * ends it and is returned.
 */
AUXTAP_API int auxtap_spe_packets(const void *trace, size_t size, uint64_t offset,
				  int (*fn)(void *ctx, const struct auxtap_packet *pkt), void *ctx);

/* ---- records ---- */

#define AUXTAP_SPE_HAS_PC	   0x0001
#define AUXTAP_SPE_HAS_TARGET	   0x0002
#define AUXTAP_SPE_HAS_VIRT	   0x0004
#define AUXTAP_SPE_HAS_PHYS	   0x0008
#define AUXTAP_SPE_HAS_PREV_TARGET 0x0010
#define AUXTAP_SPE_HAS_LAT_TOTAL   0x0020
#define AUXTAP_SPE_HAS_LAT_ISSUE   0x0040
#define AUXTAP_SPE_HAS_LAT_XLAT	   0x0080
#define AUXTAP_SPE_HAS_CONTEXT	   0x0100
#define AUXTAP_SPE_HAS_OP	   0x0200
#define AUXTAP_SPE_HAS_EVENTS	   0x0400
#define AUXTAP_SPE_HAS_SOURCE	   0x0800
#define AUXTAP_SPE_HAS_TIMESTAMP   0x1000

struct auxtap_spe_record {
	uint64_t offset; /* of its first packet, or of what is none, in the stream */
	uint32_t size;	 /* to the end of its last packet */
	uint32_t has;	 /* mask of AUXTAP_SPE_HAS_…: other fields are 0 */
	/* addresses as auxtap_spe_address() gives them */
	uint64_t pc, target, virt, phys, prev_target;
	uint8_t pc_el, target_el; /* exception levels */
	bool pc_ns;		  /* the PC is one of the non-secure state */
	uint8_t tag;		  /* of the data's address: its top byte */
	uint8_t op_class, op;	  /* enum auxtap_spe_class; the operation packet's byte */
	uint8_t context_el;
	/* CONTEXTIDR: a thread's number if the kernel was built so */
	uint32_t context;
	uint16_t lat_total, lat_issue, lat_xlat; /* cycles */
	uint64_t events;			 /* mask, 1 << enum auxtap_spe_event */
	uint64_t source, timestamp;
	const char *error; /* why no record, a static text */
};

/* Where a reader of records stands. The trace is the caller's and outlives it. */
struct auxtap_spe_reader {
	const uint8_t *trace;
	size_t size, at;
	uint64_t offset; /* of trace in its stream */
	uint64_t align_to;
};

/* trace begins at a packet. */
static inline void auxtap_spe_reader_init(struct auxtap_spe_reader *reader, const void *trace,
					  size_t size, uint64_t offset)
{
	reader->trace = (const uint8_t *)trace;
	reader->size = size;
	reader->at = 0;
	reader->offset = offset;
	reader->align_to = 0;
}

/*
 * The next record: 1; 0: there is none. -EBADMSG: something that is none, by record->offset, size
 * and error; what follows can be read. A packet of a kind that the record has already is taken for
 * the begin of the next one, whose own end was lost.
 */
AUXTAP_API int auxtap_spe_next(struct auxtap_spe_reader *reader, struct auxtap_spe_record *record);

#ifdef __cplusplus
}
#endif
#endif
