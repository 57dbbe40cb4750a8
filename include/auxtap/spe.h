/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arm SPE: packets and records of the Statistical Profiling Extension (Arm Architecture Reference
 * Manual, "Statistical Profiling Extension sample record"). A record contains the packets of one
 * sampled operation, up to a timestamp or an END. All functions are pure and thread-safe; their
 * input is untrusted and belongs to the caller.
 */
#ifndef AUXTAP_SPE_H
#define AUXTAP_SPE_H

#include <auxtap/decode.h>

#ifdef __cplusplus
extern "C" {
#endif

enum auxtap_spe_packet_type {
	AUXTAP_SPE_PAD,	      /* one byte */
	AUXTAP_SPE_ALIGNMENT, /* payload: the next packet's offset is a multiple of it */
	AUXTAP_SPE_END,
	AUXTAP_SPE_TIMESTAMP, /* payload: ticks of the generic timer */
	AUXTAP_SPE_ADDRESS,   /* index: enum auxtap_spe_address */
	AUXTAP_SPE_COUNTER,   /* index: enum auxtap_spe_counter; payload: cycles */
	AUXTAP_SPE_CONTEXT,   /* index: the exception level, 1 or 2, of CONTEXTIDR */
	AUXTAP_SPE_OPERATION, /* index: enum auxtap_spe_class; payload: the subclass, 8 bits */
	AUXTAP_SPE_EVENTS,    /* payload: mask, 1 << enum auxtap_spe_event */
	/* payload: where the data came from; the vendor of the CPU defines the values */
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
	size_t size;
	enum auxtap_spe_packet_type type;
	uint8_t index;	  /* see the types */
	uint8_t nr_bytes; /* header included */
	uint64_t payload; /* unmodified; an address has tag or level in its top byte */
};

/*
 * The packet at the start of trace. Returns how many bytes it has; 0: too few bytes; -EBADMSG: no
 * packet; -EINVAL: the size of *pkt is not set.
 */
AUXTAP_API int auxtap_spe_get_packet(const void *trace, size_t size, struct auxtap_spe_packet *pkt);

/*
 * "LD GP-REG": the same text as in stock perf. Returns the length, less than size; 0, and an empty
 * text: the size of *pkt is not set.
 */
AUXTAP_API size_t auxtap_spe_packet_text(const struct auxtap_spe_packet *pkt, char *text,
					 size_t size);

/*
 * "L2 cache": the meaning of a data source on a CPU, by its MIDR_EL1 (variant and revision are
 * ignored); a static string. NULL: this CPU or this value is not documented.
 */
AUXTAP_API const char *auxtap_spe_source_name(uint64_t midr, uint64_t source);

/* The address of an address packet, without tag, exception level and security state, sign extended.
 */
AUXTAP_API uint64_t auxtap_spe_get_address(const struct auxtap_spe_packet *pkt);

/*
 * Calls fn for each packet of a buffer that starts with a packet. offset: its position in the
 * stream, because alignment packets count from the start of the stream. Up to 16 pads are reported
 * together. Bytes that are not a packet are reported with name "error", up to the start of the next
 * plausible record. A non-zero result of fn ends the loop and is returned.
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
	size_t size;
	uint64_t offset;   /* in the stream, of its first packet or of the error */
	uint32_t nr_bytes; /* to the end of its last packet */
	uint32_t has;	   /* mask of AUXTAP_SPE_HAS_…; other fields are 0 */
	/* addresses as from auxtap_spe_get_address() */
	uint64_t pc, target, virt, phys, prev_target;
	uint8_t pc_el, target_el; /* exception levels */
	bool pc_ns;		  /* the PC is in the non-secure state */
	uint8_t tag;		  /* of the data's address: its top byte */
	uint8_t op_class, op;	  /* enum auxtap_spe_class; the operation packet's byte */
	uint8_t context_el;
	/* CONTEXTIDR: the thread ID if the kernel is configured for that */
	uint32_t context;
	uint16_t lat_total, lat_issue, lat_xlat; /* cycles */
	uint64_t events;			 /* mask, 1 << enum auxtap_spe_event */
	uint64_t source, timestamp;
	const char *error; /* why it is not a record; a static string */
};

struct auxtap_spe_reader; /* opaque */

/*
 * trace must start with a packet; it belongs to the caller and must outlive the reader. offset: its
 * position in the stream. 0 or -ENOMEM.
 */
AUXTAP_API int auxtap_spe_reader_open(struct auxtap_spe_reader **reader, const void *trace,
				      size_t size, uint64_t offset);
AUXTAP_API void auxtap_spe_reader_close(struct auxtap_spe_reader *reader);

/*
 * The next record: 1; 0: no more. -EBADMSG: bytes that are not a record, described by
 * record->offset, nr_bytes and error; reading can continue. A packet of a kind that the record
 * already has counts as the start of the next record: the end of this one was lost. -EINVAL: the
 * size of *record is not set.
 */
AUXTAP_API int auxtap_spe_next(struct auxtap_spe_reader *reader, struct auxtap_spe_record *record);

#ifdef __cplusplus
}
#endif
#endif
