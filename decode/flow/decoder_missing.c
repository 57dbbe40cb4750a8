// SPDX-License-Identifier: BSD-2-Clause
/*
 * Gaps for trace that the file lacks at the end of a ring, or for a whole ring: AUX records report
 * bytes that no AUXTRACE record contains, or auxtap's recorder reported that the unit wrote more.
 */
#include "decoder_private.h"
#include "perfdata/capture_lines.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/*
 * Not in snapshot mode, where the recorder keeps less than the unit wrote, and not for rings of
 * CPUs, since the text names threads.
 */
int decoder_note_written(struct auxtap_decoder *dec, const char *text, size_t size)
{
	const char *at = text;
	uint64_t written;
	int tid;

	if (!dec->sideband.per_thread || dec->sideband.aux_offsets_unusable ||
	    !capture_lines_is_full(text, size))
		return 0;
	while (capture_lines_next_unit(&at, text + size, &tid, &written)) {
		struct sideband_ring *ring = sideband_ring(&dec->sideband, tid, -1);

		if (!ring)
			return -ENOMEM;
		ring->begin = 0;
		ring->written = written > ring->written ? written : ring->written;
	}
	return 0;
}

static int add_gap(struct auxtap_decoder *dec, const struct sideband_ring *ring, uint64_t nr_bytes,
		   bool exact, const char *text)
{
	struct auxtap_gap gap = {.cause = AUXTAP_GAP_UNKNOWN,
				 .cpu = ring->cpu,
				 .tid = ring->tid,
				 .pid = sideband_pid(&dec->sideband, ring->tid),
				 .nr_bytes = nr_bytes,
				 .exact = exact,
				 .time_begin = ring->time,
				 .time_end = ring->time};

	return decoder_add_unattributed(dec, &gap, text);
}

int decoder_add_ring_end_gaps(struct auxtap_decoder *dec, const struct decoder_missing *missing)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < dec->sideband.ring_keys.nr; i++) {
		const struct sideband_ring *ring = &dec->sideband.rings[i];
		uint64_t file_end = trace_ends_find(&missing->ends, ring->cpu, ring->tid);

		if (missing->reported && ring->end > file_end)
			file_end = ring->end;
		file_end = file_end > ring->begin ? file_end : ring->begin;
		if (decoder_is_filtered_out(dec,
					    &(struct auxtap_auxtrace){.tid = (uint32_t)ring->tid,
								      .cpu = (uint32_t)ring->cpu}))
			continue;
		/* Padding moves a ring's end past the bytes written: then more may be missing. */
		if (ring->written > file_end && ring->written > ring->end)
			ret = add_gap(dec, ring, ring->written - file_end,
				      !missing->pads || !file_end,
				      "the file lacks trace that the recorder noted");
		else if (ring->end > file_end)
			ret = add_gap(dec, ring, ring->end - file_end, true,
				      "the file lacks trace that AUX records report");
	}
	return ret;
}

int decoder_add_queue_end_gaps(struct auxtap_decoder *dec, const struct trace_queues *queues,
			       bool pads)
{
	struct decoder_missing missing = {.pads = pads};
	int ret = 0;

	for (size_t i = 0; !ret && i < queues->keys.nr; i++) {
		const struct trace_queue *q = &queues->queues[i];

		ret = trace_ends_add(&missing.ends, q->key.cpu, q->key.tid, trace_queue_end(q));
	}
	if (!ret)
		ret = decoder_add_ring_end_gaps(dec, &missing);
	trace_ends_free(&missing.ends);
	return ret;
}
