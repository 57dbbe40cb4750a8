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
	AUXTAP_SPE_PAD, /* one byte */
	AUXTAP_SPE_ALIGNMENT, /* payload: what the next packet's offset is a multiple of */
	AUXTAP_SPE_END,
	AUXTAP_SPE_TIMESTAMP, /* payload: ticks of the generic timer */
	AUXTAP_SPE_ADDRESS, /* index: enum auxtap_spe_address */
	AUXTAP_SPE_COUNTER, /* index: enum auxtap_spe_counter; payload: cycles */
	AUXTAP_SPE_CONTEXT, /* index: the exception level, 1 or 2, of CONTEXTIDR */
	AUXTAP_SPE_OPERATION, /* index: enum auxtap_spe_class; payload: the subclass, 8 bits */
	AUXTAP_SPE_EVENTS, /* payload: mask, 1 << enum auxtap_spe_event */
	AUXTAP_SPE_SOURCE, /* payload: where the data came from; means what the CPU's maker says */
};

enum auxtap_spe_address {
	AUXTAP_SPE_ADDR_PC,
	AUXTAP_SPE_ADDR_TARGET, /* of the sampled branch */
	AUXTAP_SPE_ADDR_VIRT, /* of the data */
	AUXTAP_SPE_ADDR_PHYS,
	AUXTAP_SPE_ADDR_PREV_TARGET, /* of the branch before */
};

enum auxtap_spe_counter {
	AUXTAP_SPE_LAT_TOTAL, /* from dispatch to completion */
	AUXTAP_SPE_LAT_ISSUE, /* from dispatch to issue */
	AUXTAP_SPE_LAT_XLAT, /* of the translation of the address */
};

enum auxtap_spe_class {
	AUXTAP_SPE_OTHER,
	AUXTAP_SPE_LDST, /* loads, stores, atomics */
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
	uint8_t index; /* see the types */
	uint8_t size; /* bytes, header included */
	uint64_t payload; /* as it stands; an address has tag or level in its top byte */
};

/* The packet at the begin of trace. Its size; 0: more bytes are needed; -EBADMSG: this is none. */
AUXTAP_API int auxtap_spe_packet(const void *trace, size_t size, struct auxtap_spe_packet *pkt);

/* "LD GP-REG": as stock perf words it. Returns the length, less than size. */
AUXTAP_API size_t auxtap_spe_packet_text(const struct auxtap_spe_packet *pkt, char *text, size_t size);

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

#ifdef __cplusplus
}
#endif
#endif
