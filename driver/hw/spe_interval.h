/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How many operations lie between two samples: PMSIRR's interval, with RND eight random bits
 * more. The one piece of the unit that an execution source may run itself, far from it.
 */
#ifndef AUXTAP_SPE_INTERVAL_H
#define AUXTAP_SPE_INTERVAL_H

#include "hw_types.h"

#define PMSIRR_RND	1u
#define PMSIRR_INTERVAL 0xffffff00u

/* state: any number but 0; moves on. Never 0. */
static inline u32 spe_interval_next(u32 pmsirr, u32 *state)
{
	u32 interval = pmsirr & PMSIRR_INTERVAL;

	if (pmsirr & PMSIRR_RND) {
		/* xorshift: every number but 0 in turn */
		*state ^= *state << 13;
		*state ^= *state >> 17;
		*state ^= *state << 5;
		interval |= *state & 0xff;
	}
	return interval ? interval : 1;
}

#endif
