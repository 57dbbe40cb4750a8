/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Known decoding errors of the OpenCSD in use, by its version: branches that it does not know, so
 * that it goes straight on; speculative elements whose commits it does not count. What it reports
 * after one of them may be wrong, so decoding stops there.
 */
#ifndef AUXTAP_CS_LIMITS_H
#define AUXTAP_CS_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_unit;

#define CS_VERSION(major, minor, patch) ((uint32_t)(major) << 16 | (minor) << 8 | (patch))

/* Whether the code is a branch that the library does not know as one. Code is little-endian. */
bool cs_limits_misses_a64(uint32_t version, uint32_t code);
bool cs_limits_misses_t32(uint32_t version, uint16_t first, uint16_t second);
/* Whether the library runs on if the flow does not lead to the address of an exception. */
bool cs_limits_overruns_exception(uint32_t version);
/*
 * Whether the unit may trace speculative elements, and the library does not count all commits.
 * *cycle_counts: the unit traces cycle counts, too.
 */
bool cs_limits_miscounts_commits(uint32_t version, const struct cs_unit *unit, bool *cycle_counts);

/*
 * Searches one unit's bytes (ETMv4, ETE), in order, for a Trace Info packet after an A-Sync that
 * says that elements before it are still speculative. Initialise it with {0}.
 */
struct cs_sync_scan {
	uint8_t nr_zeros, state;
	uint8_t parts; /* sections of the packet that were not yet read */
	bool speculated;
};
void cs_sync_scan(struct cs_sync_scan *scan, uint8_t byte);

#endif
