// SPDX-License-Identifier: BSD-2-Clause
/* See id_index.h. */
#include "id_index.h"

#include <string.h>

/* The entries follow a u64, their number. perf appends data about guests after the last entry. */
struct index_entry {
	uint64_t id, idx, cpu, tid;
};

size_t id_index_entries(const struct auxtap_record *rec)
{
	uint64_t nr, most;

	if (rec->body_size < sizeof(nr))
		return 0;
	memcpy(&nr, rec->header + 1, sizeof(nr));
	most = (rec->body_size - sizeof(nr)) / sizeof(struct index_entry);
	return (size_t)(nr < most ? nr : most);
}

static int32_t in_range(uint64_t number)
{
	return number <= INT32_MAX ? (int32_t)number : -1;
}

struct auxtap_perfdata_id id_index_entry(const struct auxtap_record *rec, size_t index)
{
	const uint8_t *entries = (const uint8_t *)(rec->header + 1) + sizeof(uint64_t);
	struct index_entry entry;

	memcpy(&entry, entries + index * sizeof(entry), sizeof(entry));
	return (struct auxtap_perfdata_id){.id = entry.id,
					   .cpu = in_range(entry.cpu),
					   .tid = in_range(entry.tid)};
}
