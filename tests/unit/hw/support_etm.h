/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OpenCSD as the judge of a trace unit: what it makes of a stream, configured by nothing but
 * the unit's registers.
 */
#ifndef AUXTAP_TEST_ETM_H
#define AUXTAP_TEST_ETM_H

#include "hw/etm_unit.h"
#include <opencsd/c_api/opencsd_c_api.h>

struct etm_stream {
	struct etm_sink sink;
	u8 *bytes;
	size_t nr, max;
	/* called with each piece before it is appended */
	void (*on_write)(void *ctx, const u8 *bytes, size_t nr_bytes);
	void *ctx;
};

void etm_stream_init(struct etm_stream *stream);
void etm_stream_free(struct etm_stream *stream);

/* All that a decoder is told. */
struct etm_registers {
	bool ete;
	u32 idr0, idr1, idr2, idr8, devarch, configr, traceidr;
};

struct etm_registers etm_registers_of(const struct etm_unit *unit);

struct etm_reference {
	/* the code at addr: how many of nr bytes there are */
	u32 (*memory)(void *ctx, u64 addr, u32 nr, u8 *bytes);
	void (*element)(void *ctx, u64 offset, const ocsd_generic_trace_elem *elem);
	/* NULL, or every packet; not for ETE, OpenCSD 1.3.3 has no way */
	void (*packet)(void *ctx, u64 offset, const ocsd_etmv4_i_pkt *packet, const u8 *bytes,
		       u32 nr);
	/* NULL, or a line of text for each packet, of either architecture */
	void (*text)(void *ctx, const char *line);
	void *ctx;
};

/* Decodes all of it; a complaint of the decoder fails the test. */
void etm_reference_run(const struct etm_reference *judge, const struct etm_registers *regs,
		       const u8 *bytes, size_t nr);

/* Offset of the next A-Sync at or behind 'from'; nr: there is none. */
size_t etm_find_sync(const u8 *bytes, size_t nr, size_t from);

#endif
