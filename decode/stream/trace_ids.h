/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The CPU or thread of an event, by the event's id: from ID_INDEX, or from other records of the
 * event. It identifies the ring of the event's records.
 */
#ifndef STREAM_TRACE_IDS_H
#define STREAM_TRACE_IDS_H

#include "util/hash_map.h"

#include <auxtap/perfdata.h>

/* All zero: empty. */
struct trace_ids {
	struct auxtap_perfdata_id *ids;
	size_t nr, max;
	struct hash_map index; /* by id */
};

/*
 * An id that was added before is left as it is, but gets the tid if it has none. Id 0 is ignored. 0
 * or -ENOMEM.
 */
int trace_ids_add(struct trace_ids *ids, const struct auxtap_perfdata_id *id);
/* NULL: unknown. Valid until the next id is added. */
const struct auxtap_perfdata_id *trace_ids_find(const struct trace_ids *ids, uint64_t id);
void trace_ids_free(struct trace_ids *ids);

#endif
