/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses the body of ID_INDEX records, for readers that iterate over records themselves. */
#ifndef PERFDATA_ID_INDEX_H
#define PERFDATA_ID_INDEX_H

#include <auxtap/perfdata.h>

/* How many entries the record has: not more than fit in it, whatever number it contains. */
size_t id_index_entries(const struct auxtap_record *rec);
/* index: below id_index_entries(). */
struct auxtap_perfdata_id id_index_entry(const struct auxtap_record *rec, size_t index);

#endif
