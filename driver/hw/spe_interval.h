/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The number of operations between two samples: PMSIRR's interval, plus eight random bits if RND is
 * set. This is the only part of the unit that an execution engine may run itself, outside the
 * unit's process.
 */
#ifndef AUXTAP_SPE_INTERVAL_H
#define AUXTAP_SPE_INTERVAL_H

#include "hw_types.h"

#define PMSIRR_RND	1u
#define PMSIRR_INTERVAL 0xffffff00u

/* state: any number but 0; advanced by each call. Never 0. */
static inline u32 spe_interval_next(u32 pmsirr, u32 *state)
{
	u32 interval = pmsirr & PMSIRR_INTERVAL;

	if (pmsirr & PMSIRR_RND) {
		/* xorshift: visits every number but 0 */
		*state ^= *state << 13;
		*state ^= *state >> 17;
		*state ^= *state << 5;
		interval |= *state & 0xff;
	}
	return interval ? interval : 1;
}

#endif
