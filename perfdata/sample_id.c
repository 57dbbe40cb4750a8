// SPDX-License-Identifier: BSD-2-Clause
/* See sample_id.h. Field orders: perf_event_open(2), PERF_RECORD_SAMPLE and struct sample_id. */
#include "sample_id.h"

#include <string.h>

/* Both orders, as bits of sample_type; each field has 8 bytes. */
static const uint64_t sample_order[] = {
	PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP, PERF_SAMPLE_TID,       PERF_SAMPLE_TIME,
	PERF_SAMPLE_ADDR,	PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,
};
static const uint64_t trailer_order[] = {
	PERF_SAMPLE_TID,       PERF_SAMPLE_TIME, PERF_SAMPLE_ID,
	PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,	 PERF_SAMPLE_IDENTIFIER,
};

#define NR(array) (sizeof(array) / sizeof((array)[0]))

uint32_t pd_trailer_size(const struct perf_event_attr *attr)
{
	uint32_t size = 0;

	if (!attr->sample_id_all)
		return 0;
	for (size_t i = 0; i < NR(trailer_order); i++)
		size += attr->sample_type & trailer_order[i] ? 8 : 0;
	return size;
}

int pd_sample_id_pos(const struct perf_event_attr *attr)
{
	int pos = 0;

	if (attr->sample_type & PERF_SAMPLE_IDENTIFIER)
		return 0;
	if (!(attr->sample_type & PERF_SAMPLE_ID))
		return -1;
	for (size_t i = 0; sample_order[i] != PERF_SAMPLE_ID; i++)
		pos += attr->sample_type & sample_order[i] ? 8 : 0;
	return pos;
}

int pd_trailer_id_pos(const struct perf_event_attr *attr)
{
	int pos = 0;

	if (!attr->sample_id_all)
		return -1;
	if (attr->sample_type & PERF_SAMPLE_IDENTIFIER)
		return 8;
	if (!(attr->sample_type & PERF_SAMPLE_ID))
		return -1;
	for (size_t i = NR(trailer_order) - 1; trailer_order[i] != PERF_SAMPLE_ID; i--)
		pos += attr->sample_type & trailer_order[i] ? 8 : 0;
	return pos + 8;
}

static void set_field(struct pd_sample_id *sid, uint64_t field, const unsigned char *p)
{
	uint32_t half[2];
	uint64_t value;

	memcpy(&value, p, sizeof(value));
	memcpy(half, p, sizeof(half));
	switch (field) {
	case PERF_SAMPLE_TID:
		sid->pid = half[0];
		sid->tid = half[1];
		sid->fields |= AUXTAP_REC_PID_TID;
		break;
	case PERF_SAMPLE_TIME:
		sid->time = value;
		sid->fields |= AUXTAP_REC_TIME;
		break;
	case PERF_SAMPLE_ID:
	case PERF_SAMPLE_IDENTIFIER:
		sid->id = value;
		sid->fields |= AUXTAP_REC_ID;
		break;
	case PERF_SAMPLE_CPU:
		sid->cpu = half[0];
		sid->fields |= AUXTAP_REC_CPU;
		break;
	default:
		break;
	}
}

void pd_sample_id_parse(const struct perf_event_attr *attr, uint32_t type, const void *body,
			uint32_t size, struct pd_sample_id *sid)
{
	const unsigned char *p = body, *end = p + size;
	const uint64_t *order = sample_order;
	size_t nr = NR(sample_order);

	memset(sid, 0, sizeof(*sid));
	if (type != PERF_RECORD_SAMPLE) {
		uint32_t trailer = pd_trailer_size(attr);

		if (!trailer || trailer > size)
			return;
		p = end - trailer;
		order = trailer_order;
		nr = NR(trailer_order);
	}
	for (size_t i = 0; i < nr; i++) {
		if (!(attr->sample_type & order[i]))
			continue;
		if (end - p < 8)
			return;
		set_field(sid, order[i], p);
		p += 8;
	}
}
