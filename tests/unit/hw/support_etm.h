/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OpenCSD as the reference for a trace unit: decodes a stream, configured by nothing but the
 * unit's registers.
 */
#ifndef AUXTAP_TEST_ETM_H
#define AUXTAP_TEST_ETM_H

#include "hw/etm_unit.h"
#include <opencsd/c_api/opencsd_c_api.h>

struct etm_stream {
	struct etm_sink sink;
	u8 *bytes;
	size_t nr, max;
	/* called with each fragment before it is appended */
	void (*on_write)(void *ctx, const u8 *bytes, size_t nr_bytes);
	void *ctx;
};

void etm_stream_init(struct etm_stream *stream);
void etm_stream_free(struct etm_stream *stream);

/* All input of a decoder. */
struct etm_registers {
	bool ete;
	u32 idr0, idr1, idr2, idr8, devarch, configr, traceidr;
};

struct etm_registers etm_registers_of(const struct etm_unit *unit);

struct etm_reference {
	/* reads code at addr; returns how many of nr bytes exist */
	u32 (*memory)(void *ctx, u64 addr, u32 nr, u8 *bytes);
	void (*element)(void *ctx, u64 offset, const ocsd_generic_trace_elem *elem);
	/* NULL, or every packet; not for ETE: OpenCSD 1.3.3 has no interface for it */
	void (*packet)(void *ctx, u64 offset, const ocsd_etmv4_i_pkt *packet, const u8 *bytes,
		       u32 nr);
	/* NULL, or a line of text for each packet, of either architecture */
	void (*text)(void *ctx, const char *line);
	void *ctx;
};

/* Decodes the whole stream; an error of the decoder fails the test. */
void etm_reference_run(const struct etm_reference *ref, const struct etm_registers *regs,
		       const u8 *bytes, size_t nr);

/* Offset of the next A-Sync at or after 'from'; nr if not found. */
size_t etm_find_sync(const u8 *bytes, size_t nr, size_t from);

#endif
