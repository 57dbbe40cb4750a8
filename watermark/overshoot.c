// SPDX-License-Identifier: BSD-2-Clause
/*
 * Buckets of the histogram of overshoots: one per byte below 16, then eight of equal width for each
 * power of two.
 */
#include "sim.h"

uint64_t auxtap_overshoot_bucket_from(unsigned int bucket)
{
	if (bucket < 16)
		return bucket;
	return (8ull + (bucket & 7)) << ((bucket >> 3) - 1);
}

unsigned int mon_overshoot_bucket(u64 overshoot)
{
	unsigned int shift, bucket;

	if (overshoot < 16)
		return (unsigned int)overshoot;
	shift = 60 - (unsigned int)__builtin_clzll(overshoot); /* leaves 8 … 15 */
	bucket = ((shift + 1) << 3) + (unsigned int)(overshoot >> shift & 7);
	return bucket < AUXTAP_OVERSHOOT_BUCKETS ? bucket : AUXTAP_OVERSHOOT_BUCKETS - 1;
}
