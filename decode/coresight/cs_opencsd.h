/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OpenCSD as a flow decoder (flow_ops.h), which takes a stream a little at a time. It stops where
 * the library in use is known to be wrong (cs_limits.h) and continues at the next synchronisation
 * point.
 */
#ifndef AUXTAP_CS_OPENCSD_H
#define AUXTAP_CS_OPENCSD_H

#include "cs_snapshot.h"
#include "decode/flow/flow_ops.h"

/* The argument of flow_ops.create for any CoreSight flow decoder: one trace unit's stream. */
struct cs_flow_source {
	const struct cs_unit *unit;
	enum cs_format format; /* of its bytes */
	/* Reads code; returns the number of bytes, 0 if it is not known. space: CS_SPACE_… */
	uint32_t (*read)(void *ctx, uint64_t addr, uint32_t space, uint32_t size, void *buf);
	/*
	 * Called when the trace at off names a thread (-1: none), before its code is read. Returns
	 * whether the code differs from before. NULL: it never does.
	 */
	bool (*context)(void *ctx, uint64_t off, int32_t tid);
	void *ctx;
};

extern const struct flow_ops cs_opencsd_ops;

#endif
