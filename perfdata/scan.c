// SPDX-License-Identifier: BSD-2-Clause
/*
 * One pass over all records that collects attributes, features and names of a pipe, AUXTRACE_INFO,
 * the AUXTRACE buffers, BUILD_ID and ID_INDEX records.
 */
#include "id_index.h"
#include "reader.h"
#include "util/vector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* EVENT_UPDATE.type */
#define UPDATE_NAME 2

static int on_attr(struct auxtap_perfdata *pd, const unsigned char *body, uint32_t size)
{
	uint32_t attr_size;

	if (size < PERF_ATTR_SIZE_VER0)
		return 0;
	memcpy(&attr_size, body + 4, sizeof(attr_size));
	if (!attr_size)
		attr_size = PERF_ATTR_SIZE_VER0;
	if (attr_size < PERF_ATTR_SIZE_VER0 || attr_size > size)
		return 0; /* ignored here; the record itself is still returned to callers */
	return pd_attr_add(pd, body, attr_size, body + attr_size, (size - attr_size) / 8);
}

static int on_event_update(struct auxtap_perfdata *pd, const unsigned char *body, uint32_t size)
{
	uint64_t type, id;

	if (size < 16)
		return 0;
	memcpy(&type, body, 8);
	memcpy(&id, body + 8, 8);
	if (type != UPDATE_NAME)
		return 0;
	/* The ids are not sorted yet, and updates are few: a linear search will do. */
	for (uint32_t i = 0; i < pd->nr_attrs && i < 1024; i++) {
		struct pd_attr *attr = &pd->attrs[i];

		if (attr->pub.nr_ids && attr->ids[0] == id)
			return pd_attr_set_name(attr, (const char *)body + 16, size - 16);
	}
	return 0;
}

/* EVENT_TYPE, before Linux 3.12: the name of the event with this config. */
static int on_event_type(struct auxtap_perfdata *pd, const unsigned char *body, uint32_t size)
{
	uint64_t config;

	if (size < 9)
		return 0;
	memcpy(&config, body, 8);
	for (uint32_t i = 0; i < pd->nr_attrs && i < 1024; i++) {
		struct pd_attr *attr = &pd->attrs[i];

		if (!attr->name && attr->pub.attr.config == config)
			return pd_attr_set_name(attr, (const char *)body + 8, size - 8);
	}
	return 0;
}

static int on_auxtrace(struct auxtap_perfdata *pd, const struct auxtap_record *rec)
{
	struct auxtap_perfdata_aux *aux;

	if (vector_grow(pd->auxtraces, pd->nr_auxtraces, pd->max_auxtraces))
		return -ENOMEM;
	aux = &pd->auxtraces[pd->nr_auxtraces++];
	memcpy(&aux->auxtrace, rec->header, sizeof(aux->auxtrace));
	aux->trace_off = rec->trace_off;
	aux->trace_size = rec->trace_size;
	return 0;
}

static int on_id_index(struct auxtap_perfdata *pd, const struct auxtap_record *rec)
{
	size_t nr = id_index_entries(rec);

	if (vector_reserve(pd->id_index, pd->nr_id_index + nr, pd->max_id_index))
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		pd->id_index[pd->nr_id_index++] = id_index_entry(rec, i);
	return 0;
}

static int on_auxtrace_info(struct auxtap_perfdata *pd, const unsigned char *body, uint32_t size)
{
	if (pd->have_info || size < 8)
		return 0;
	memcpy(&pd->info_type, body, sizeof(pd->info_type));
	pd->info_nr = (size - 8) / 8;
	pd->info_priv = malloc(pd->info_nr * 8 + 1);
	if (!pd->info_priv)
		return -ENOMEM;
	memcpy(pd->info_priv, body + 8, pd->info_nr * 8);
	pd->have_info = true;
	return 0;
}

static int on_record(struct auxtap_perfdata *pd, const struct auxtap_record *rec)
{
	const unsigned char *body = (const unsigned char *)(rec->header + 1);
	uint32_t size = rec->body_size;
	bool pipe = pd->info.form == AUXTAP_PERFDATA_PIPE;
	uint64_t number;

	switch (rec->header->type) {
	case AUXTAP_RECORD_HEADER_ATTR:
		return pipe ? on_attr(pd, body, size) : 0;
	case AUXTAP_RECORD_EVENT_UPDATE:
		return on_event_update(pd, body, size);
	case AUXTAP_RECORD_EVENT_TYPE:
		return pipe ? on_event_type(pd, body, size) : 0;
	case AUXTAP_RECORD_HEADER_FEATURE:
		if (size < 8)
			return 0;
		memcpy(&number, body, 8);
		if (number < PD_FEAT_END && !pd->features[number].present)
			pd_feature_add(pd, (unsigned int)number, rec->offset + 16, size - 8);
		return 0;
	case AUXTAP_RECORD_BUILD_ID:
		return pd_build_id_add(pd, rec->header, rec->header->size);
	case AUXTAP_RECORD_ID_INDEX:
		return on_id_index(pd, rec);
	case AUXTAP_RECORD_AUXTRACE_INFO:
		return on_auxtrace_info(pd, body, size);
	case AUXTAP_RECORD_AUXTRACE:
		return on_auxtrace(pd, rec);
	default:
		return 0;
	}
}

int pd_scan(struct auxtap_perfdata *pd)
{
	struct auxtap_record rec;
	int ret;

	if (pd->scanned)
		return pd->scan_ret;
	pd->scan = pd_cursor_new(pd, true);
	if (!pd->scan)
		return -ENOMEM;
	while ((ret = pd_cursor_next(pd->scan, &rec, &pd->scan_err)) > 0) {
		int taken = on_record(pd, &rec);

		if (taken == -ENOMEM) {
			ret = taken;
			break;
		}
	}
	pd_cursor_free(pd->scan);
	pd->scan = NULL;
	pd->scanned = true;
	pd->scan_ret = ret;
	return ret;
}

int auxtap_perfdata_ids(struct auxtap_perfdata *pd, const struct auxtap_perfdata_id **ids,
			size_t *nr, struct auxtap_error *err)
{
	int ret = pd_scan(pd);

	*ids = pd->id_index;
	*nr = pd->nr_id_index;
	/* damage is ignored, as in auxtap_perfdata_auxtraces() */
	return ret == -ENOMEM ? auxtap_error_set(err, ret, pd->path, "no memory") : 0;
}

int auxtap_perfdata_auxtraces(struct auxtap_perfdata *pd, const struct auxtap_perfdata_aux **aux,
			      size_t *nr, struct auxtap_error *err)
{
	int ret = pd_scan(pd);

	*aux = pd->auxtraces;
	*nr = pd->nr_auxtraces;
	if (ret == -ENOMEM)
		return auxtap_error_set(err, ret, pd->path, "no memory");
	/* The records before damage are usable; auxtap_perfdata_next() reports the damage. */
	return 0;
}

int auxtap_perfdata_auxtrace_info(struct auxtap_perfdata *pd, uint32_t *type, const uint64_t **priv,
				  size_t *nr_priv)
{
	if (pd_scan(pd) == -ENOMEM)
		return -ENOMEM;
	if (!pd->have_info)
		return -ENOENT;
	*type = pd->info_type;
	*priv = pd->info_priv;
	*nr_priv = pd->info_nr;
	return 0;
}
