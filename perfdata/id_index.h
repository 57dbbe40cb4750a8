/* SPDX-License-Identifier: BSD-2-Clause */
/* The body of ID_INDEX records, for readers that pass over the records themselves. */
#ifndef PERFDATA_ID_INDEX_H
#define PERFDATA_ID_INDEX_H

#include <auxtap/perfdata.h>

/* How many entries the record really has, whatever number it contains. */
size_t id_index_entries(const struct auxtap_record *rec);
/* index: below that number. */
struct auxtap_perfdata_id id_index_entry(const struct auxtap_record *rec, size_t index);

#endif
