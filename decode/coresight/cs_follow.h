/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OpenCSD as a decoder of the flow (flow_ops.h), a little of a stream at a time. It stops where the
 * library in use is known to be wrong (cs_limits.h), and goes on at the next synchronisation.
 */
#ifndef AUXTAP_CS_FOLLOW_H
#define AUXTAP_CS_FOLLOW_H

#include "cs_snapshot.h"
#include "decode/flow/flow_ops.h"

/* What every decoder of CoreSight flow is created for (flow_ops.create): one trace unit's stream.
 */
struct cs_flow_source {
	const struct cs_unit *unit;
	enum cs_format format; /* of its bytes */
	/* Code for the flow: the count, 0 where it is not known. space: CS_SPACE_… */
	uint32_t (*read)(void *ctx, uint64_t addr, uint32_t space, uint32_t size, void *buf);
	/*
	 * The trace at off names a thread (-1: none), before its code is read: is it other code
	 * than before? NULL: it never is.
	 */
	bool (*context)(void *ctx, uint64_t off, int32_t tid);
	void *ctx;
};

extern const struct flow_ops cs_follow;

#endif
