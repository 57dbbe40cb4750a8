// SPDX-License-Identifier: BSD-2-Clause
/* See trace_ids.h. */
#include "trace_ids.h"
#include "util/vector.h"

static struct auxtap_perfdata_id *find_id(const struct trace_ids *ids, uint64_t id)
{
	size_t index = hash_map_find(&ids->index, hash_number(id));

	return index == HASH_MAP_NONE ? NULL : &ids->ids[index];
}

int trace_ids_add(struct trace_ids *ids, const struct auxtap_perfdata_id *id)
{
	struct auxtap_perfdata_id *existing = find_id(ids, id->id);

	/* the kernel's ids begin at 1 */
	if (!id->id)
		return 0;
	if (existing) {
		if (existing->tid <= 0)
			existing->tid = id->tid;
		return 0;
	}
	if (vector_grow(ids->ids, ids->nr, ids->max) ||
	    hash_map_add(&ids->index, hash_number(id->id), ids->nr))
		return -ENOMEM;
	ids->ids[ids->nr++] = *id;
	return 0;
}

const struct auxtap_perfdata_id *trace_ids_find(const struct trace_ids *ids, uint64_t id)
{
	return find_id(ids, id);
}

void trace_ids_free(struct trace_ids *ids)
{
	free(ids->ids);
	hash_map_free(&ids->index);
	*ids = (struct trace_ids){0};
}
