// SPDX-License-Identifier: BSD-2-Clause
/* See trace_ids.h. */
#include "trace_ids.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_SLOTS 64

/* Where the identifier is, or the free slot for it. */
static struct auxtap_perfdata_id *slot_of(const struct trace_ids *ids, uint64_t id)
{
	size_t mask = ids->nr_slots - 1, at = (size_t)((id * 0x9e3779b97f4a7c15u) >> 32) & mask;

	while (ids->slots[at].id && ids->slots[at].id != id)
		at = (at + 1) & mask;
	return &ids->slots[at];
}

static int grow(struct trace_ids *ids)
{
	struct trace_ids grown = {.nr = ids->nr,
				  .nr_slots = ids->nr_slots ? 2 * ids->nr_slots : FIRST_SLOTS};

	grown.slots = calloc(grown.nr_slots, sizeof(*grown.slots));
	if (!grown.slots)
		return -ENOMEM;
	for (size_t i = 0; i < ids->nr_slots; i++)
		if (ids->slots[i].id)
			*slot_of(&grown, ids->slots[i].id) = ids->slots[i];
	free(ids->slots);
	*ids = grown;
	return 0;
}

int trace_ids_add(struct trace_ids *ids, const struct auxtap_perfdata_id *id)
{
	struct auxtap_perfdata_id *slot;

	if (!id->id)
		return 0;
	/* at least half of the slots stay free, so that a search ends soon */
	if (ids->nr * 2 >= ids->nr_slots && grow(ids))
		return -ENOMEM;
	slot = slot_of(ids, id->id);
	if (!slot->id) {
		*slot = *id;
		ids->nr++;
	} else if (slot->tid <= 0) {
		slot->tid = id->tid;
	}
	return 0;
}

const struct auxtap_perfdata_id *trace_ids_find(const struct trace_ids *ids, uint64_t id)
{
	const struct auxtap_perfdata_id *slot;

	if (!id || !ids->nr_slots)
		return NULL;
	slot = slot_of(ids, id);
	return slot->id ? slot : NULL;
}

void trace_ids_free(struct trace_ids *ids)
{
	free(ids->slots);
	*ids = (struct trace_ids){0};
}
