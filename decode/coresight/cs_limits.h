/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the OpenCSD in use is known not to decode right, by its version: instructions that branch
 * where it goes straight on, commits that it does not count. What it says of them would be a guess.
 */
#ifndef AUXTAP_CS_LIMITS_H
#define AUXTAP_CS_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_unit;

#define CS_VERSION(major, minor, patch) ((uint32_t)(major) << 16 | (minor) << 8 | (patch))

/* Does the library of that version go on after a branch as if it were none? Little-endian code. */
bool cs_limits_a64(uint32_t version, uint32_t code);
bool cs_limits_t32(uint32_t version, uint16_t first, uint16_t second);
/*
 * An exception that the flow before it does not lead to: versions that go on to the end of
 * memory.
 */
bool cs_limits_exception(uint32_t version);
/*
 * Speculation: a unit that may have speculated elements needs a library that counts all commits.
 * cycle_counts: they are in its trace, too.
 */
bool cs_limits_speculation(uint32_t version, const struct cs_unit *unit, bool *cycle_counts);

/*
 * Looks for Trace Info packets after A-Syncs in one unit's bytes (ETMv4, ETE), in order. Does one
 * start with elements that are still speculated? Starts as {0}.
 */
struct cs_sync_scan {
	uint8_t nr_zeros, state;
	uint8_t parts; /* of the packet, still to come */
	bool speculated;
};
void cs_sync_scan(struct cs_sync_scan *scan, uint8_t byte);

#endif
