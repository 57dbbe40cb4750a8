// SPDX-License-Identifier: BSD-2-Clause
/*
 * Finds AUX samples (PERF_SAMPLE_AUX): fragments of trace inside other events' records.
 * pt_open.c makes queues of them, as of snapshots.
 */
#include "decoder_private.h"
#include "util/vector.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The fields before the trace in a sample, in this order; 8 bytes each if not said otherwise. */
/* clang-format off */
static const uint64_t fixed_fields[] = {
	PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
	PERF_SAMPLE_ADDR, PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,
	PERF_SAMPLE_PERIOD, PERF_SAMPLE_CALLCHAIN /* u64 nr, nr of them */,
	PERF_SAMPLE_RAW /* u32 size, bytes, to 8 */, PERF_SAMPLE_WEIGHT, PERF_SAMPLE_DATA_SRC,
	PERF_SAMPLE_TRANSACTION, PERF_SAMPLE_PHYS_ADDR, PERF_SAMPLE_CGROUP,
	PERF_SAMPLE_DATA_PAGE_SIZE, PERF_SAMPLE_CODE_PAGE_SIZE, PERF_SAMPLE_WEIGHT_STRUCT,
};
/* clang-format on */
/* Fields whose lengths do not follow from the record alone. */
#define UNKNOWN_FIELDS                                                         \
	(PERF_SAMPLE_READ | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | \
	 PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_INTR)

#define NR(array) (sizeof(array) / sizeof((array)[0]))

bool decoder_has_samples(struct auxtap_perfdata *pd)
{
	const struct auxtap_perfdata_attr *attr;

	for (uint32_t i = 0; (attr = auxtap_perfdata_get_attr(pd, i)); i++)
		if (attr->attr.sample_type & PERF_SAMPLE_AUX)
			return true;
	return false;
}

/* Offset of the trace in the record's body; 0: unknown. */
static uint32_t find_trace(const struct auxtap_record *rec, uint32_t *size)
{
	const uint8_t *body = (const uint8_t *)(rec->header + 1);
	uint64_t type = rec->attr->attr.sample_type, at = 0, nr;
	uint32_t raw;

	if (type & UNKNOWN_FIELDS)
		return 0;
	for (size_t i = 0; i < NR(fixed_fields); i++) {
		if (!(type & fixed_fields[i]))
			continue;
		if (rec->body_size < 8 || at > rec->body_size - 8)
			return 0;
		if (fixed_fields[i] == PERF_SAMPLE_CALLCHAIN) {
			memcpy(&nr, body + at, 8);
			if (nr > rec->body_size / 8)
				return 0;
			at += 8 * nr;
		} else if (fixed_fields[i] == PERF_SAMPLE_RAW) {
			memcpy(&raw, body + at, 4);
			at += (((uint64_t)raw + 4 + 7) & ~7ull) - 8;
		}
		at += 8;
	}
	if (rec->body_size < 8 || at > rec->body_size - 8)
		return 0;
	memcpy(&nr, body + at, 8);
	at += 8;
	if (nr > rec->body_size - at)
		return 0;
	*size = (uint32_t)nr;
	return (uint32_t)at;
}

static bool find_owner(const struct auxtap_record *rec, const struct trace_ids *ids,
		       struct decoder_sample *sample)
{
	const struct auxtap_perfdata_id *event = NULL;

	sample->cpu = -1;
	sample->tid = -1;
	if (rec->fields & AUXTAP_REC_ID)
		event = trace_ids_find(ids, rec->id);
	if (event && event->cpu >= 0)
		sample->cpu = event->cpu;
	else if (event && event->tid > 0)
		sample->tid = event->tid;
	else if (rec->fields & AUXTAP_REC_CPU)
		sample->cpu = (int)rec->cpu;
	else
		return false;
	return true;
}

/* Adds one gap for all samples that cannot be read, with the reason of the last one. */
static int report_unread(struct auxtap_decoder *dec, size_t nr, const char *why, uint64_t time)
{
	struct auxtap_gap gap = {.cause = AUXTAP_GAP_UNKNOWN,
				 .cpu = -1,
				 .pid = -1,
				 .tid = -1,
				 .time_begin = time,
				 .time_end = time};
	char text[96];

	snprintf(text, sizeof(text), "the trace in %zu samples is not read: %s", nr, why);
	return decoder_add_unattributed(dec, &gap, text);
}

int decoder_find_samples(struct auxtap_decoder *dec, struct decoder_sample **samples, size_t *nr)
{
	struct auxtap_error ignored = AUXTAP_ERROR_INIT;
	struct auxtap_record rec = {.size = sizeof(rec)};
	const char *why = NULL;
	size_t nr_unread = 0, max = 0;
	uint64_t first_unread = 0;
	int ret = 0;

	*samples = NULL;
	*nr = 0;
	if (!decoder_has_samples(dec->pd))
		return 0;
	auxtap_perfdata_rewind_sorted(dec->pd);
	while (!ret && auxtap_perfdata_next_sorted(dec->pd, &rec, &ignored) == 1) {
		struct decoder_sample sample = {.time = rec.time};
		const char *reason = NULL;
		uint32_t at;

		if (rec.header->type != PERF_RECORD_SAMPLE || !rec.attr ||
		    !(rec.attr->attr.sample_type & PERF_SAMPLE_AUX))
			continue;
		at = find_trace(&rec, &sample.size);
		if (!at)
			reason = "where it lies in the record is not known";
		else if (rec.decompressed)
			reason = "the record is compressed";
		else if (sample.size && !find_owner(&rec, &dec->sideband.ids, &sample))
			reason = "the file does not say whose it is";
		if (reason) {
			why = reason;
			first_unread = nr_unread++ ? first_unread : rec.time;
			continue;
		}
		if (!sample.size) /* kernel-rules.md G3: nested in another sample */
			continue;
		sample.file_off = rec.offset + sizeof(*rec.header) + at;
		ret = vector_grow(*samples, *nr, max);
		if (ret)
			break;
		(*samples)[(*nr)++] = sample;
	}
	if (!ret && nr_unread)
		ret = report_unread(dec, nr_unread, why, first_unread);
	if (ret) {
		free(*samples);
		*samples = NULL;
		*nr = 0;
	}
	return ret;
}
