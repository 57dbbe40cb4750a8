// SPDX-License-Identifier: BSD-2-Clause
/* Buckets of the skid's histogram: exact below 16, then eight of equal width in each
 * power of two. */
#include "world.h"

uint64_t auxtap_skid_bucket_from(unsigned int bucket)
{
	if (bucket < 16)
		return bucket;
	return (8ull + (bucket & 7)) << ((bucket >> 3) - 1);
}

unsigned int mon_skid_bucket(u64 skid)
{
	unsigned int shift, bucket;

	if (skid < 16)
		return (unsigned int)skid;
	shift = 60 - (unsigned int)__builtin_clzll(skid); /* leaves 8 … 15 */
	bucket = ((shift + 1) << 3) + (unsigned int)(skid >> shift & 7);
	return bucket < AUXTAP_SKID_BUCKETS ? bucket : AUXTAP_SKID_BUCKETS - 1;
}
