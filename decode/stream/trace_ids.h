/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whose ring the records of an event go to, found by the event's identifier: what ID_INDEX says, or
 * other records of the event.
 */
#ifndef STREAM_TRACE_IDS_H
#define STREAM_TRACE_IDS_H

#include "util/hash_map.h"

#include <auxtap/perfdata.h>

/* All zero: empty. */
struct trace_ids {
	struct auxtap_perfdata_id *ids;
	size_t nr, max;
	struct hash_map numbers; /* by identifier */
};

/*
 * What is added first stays, but a thread is added to an event that has none. 0 (also of identifier
 * 0, which is ignored) or -ENOMEM.
 */
int trace_ids_add(struct trace_ids *ids, const struct auxtap_perfdata_id *id);
/* NULL: not known. Valid until the next one is added. */
const struct auxtap_perfdata_id *trace_ids_find(const struct trace_ids *ids, uint64_t id);
void trace_ids_free(struct trace_ids *ids);

#endif
