// SPDX-License-Identifier: BSD-2-Clause
/* Feature sections and HEADER_FEATURE records: located at open, read when asked for. */
#include "reader.h"
#include "util/vector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void pd_feature_add(struct auxtap_perfdata *pd, unsigned int feature, uint64_t offset,
		    uint64_t size)
{
	struct pd_feature_data *f = &pd->features[feature];

	f->present = true;
	f->offset = offset;
	f->size = size;
	pd->info.features[feature / 64] |= 1ULL << (feature % 64);
}

void pd_features_open(struct auxtap_perfdata *pd, uint64_t table)
{
	for (unsigned int i = 0; i < PD_FEAT_END; i++) {
		struct pd_section section;

		if (!(pd->header.features[i / 64] & 1ULL << (i % 64)))
			continue;
		if (pd_source_read(&pd->src, &section, sizeof(section), table)) {
			pd->info.features_damaged = true;
			return;
		}
		table += sizeof(section);
		pd_feature_add(pd, i, section.offset, section.size);
	}
}

int auxtap_perfdata_feature(struct auxtap_perfdata *pd, unsigned int feature, const void **data,
			    size_t *size)
{
	struct pd_feature_data *f;
	int ret;

	if (feature >= PD_FEAT_END || !pd->features[feature].present)
		return -ENOENT;
	f = &pd->features[feature];
	if (!f->loaded) {
		/* Sections of a damaged file may overlap, but must not add up to more than it. */
		if (f->offset > pd->src.size || f->size > pd->src.size - f->offset ||
		    f->size > pd->src.size - pd->features_total)
			return -EBADMSG;
		f->data = malloc(f->size + 1);
		if (!f->data)
			return -ENOMEM;
		ret = pd_source_read(&pd->src, f->data, f->size, f->offset);
		if (ret) {
			free(f->data);
			f->data = NULL;
			return ret;
		}
		f->data[f->size] = '\0';
		f->loaded = true;
		pd->features_total += f->size;
	}
	*data = f->data;
	*size = f->size;
	return 0;
}

/*
 * EVENT_DESC: u32 number of attributes, u32 size of an attribute; then for each the attribute, u32
 * number of ids, name, ids.
 */
void pd_event_desc_names(struct auxtap_perfdata *pd)
{
	const unsigned char *p, *end;
	uint32_t nr, attr_size, nr_ids, len;
	const void *data;
	size_t size;

	if (auxtap_perfdata_feature(pd, PD_FEAT_EVENT_DESC, &data, &size) || size < 8)
		return;
	p = data;
	end = p + size;
	memcpy(&nr, p, 4);
	memcpy(&attr_size, p + 4, 4);
	p += 8;
	for (uint32_t i = 0; i < nr && i < pd->nr_attrs; i++) {
		if ((uint64_t)(end - p) < (uint64_t)attr_size + 8)
			return;
		p += attr_size;
		memcpy(&nr_ids, p, 4);
		memcpy(&len, p + 4, 4);
		p += 8;
		if ((uint64_t)(end - p) < len)
			return;
		if (!pd->attrs[i].name)
			pd_attr_set_name(&pd->attrs[i], (const char *)p, len);
		p += len;
		if ((uint64_t)(end - p) < (uint64_t)nr_ids * 8)
			return;
		p += (uint64_t)nr_ids * 8;
	}
}

/* A BUILD_ID record: header, s32 pid, 24 bytes of id, filename. */
int pd_build_id_add(struct auxtap_perfdata *pd, const void *record, size_t size)
{
	const unsigned char *p = record;
	struct perf_event_header header;
	struct auxtap_build_id *id;
	char *name;

	if (size < 36)
		return -EBADMSG;
	if (vector_grow(pd->build_ids, pd->nr_build_ids, pd->max_build_ids))
		return -ENOMEM;
	name = malloc(size - 36 + 1);
	if (!name)
		return -ENOMEM;
	memcpy(name, p + 36, size - 36);
	name[size - 36] = '\0';
	memcpy(&header, p, sizeof(header));
	id = &pd->build_ids[pd->nr_build_ids++];
	memset(id, 0, sizeof(*id));
	memcpy(&id->pid, p + 8, 4);
	memcpy(id->id, p + 12, 20);
	id->misc = header.misc & (uint16_t)~PD_MISC_BUILD_ID_SIZE;
	id->size = header.misc & PD_MISC_BUILD_ID_SIZE ? p[32] : 20;
	if (id->size > 20)
		id->size = 20;
	id->filename = name;
	return 0;
}

int auxtap_perfdata_build_ids(struct auxtap_perfdata *pd, const struct auxtap_build_id **ids,
			      size_t *nr)
{
	const unsigned char *p, *end;
	struct perf_event_header header;
	const void *data;
	size_t size;
	int ret = 0;

	if (!pd->build_ids_read && pd->info.form == AUXTAP_PERFDATA_PIPE)
		pd->build_ids_read = true; /* the scan at open has read the records */
	if (!pd->build_ids_read && !auxtap_perfdata_feature(pd, PD_FEAT_BUILD_ID, &data, &size)) {
		p = data;
		end = p + size;
		while ((size_t)(end - p) >= sizeof(header)) {
			memcpy(&header, p, sizeof(header));
			if (header.size < 36 || header.size > end - p) {
				ret = -EBADMSG;
				break;
			}
			ret = pd_build_id_add(pd, p, header.size);
			if (ret)
				break;
			p += header.size;
		}
	}
	if (ret == -ENOMEM)
		return ret;
	pd->build_ids_read = true;
	*ids = pd->build_ids;
	*nr = pd->nr_build_ids;
	return 0;
}
