// SPDX-License-Identifier: BSD-2-Clause
/*
 * The queues of a perf.data file: the AUXTRACE buffers of each thread or CPU become one stream,
 * broken where an AUX record says so and where bytes are missing. Snapshots overlap; what was seen
 * is skipped.
 */
#include "pt_decoder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FEATURE_CPUID 9
#define OVERLAP_KEY   64 /* bytes that identify the position where a snapshot goes on */
#define OVERLAP_MAX   (64u << 20)
#define OVERLAP_TRIES 64

/* perf pads AUXTRACE to this. */
#define AUXTRACE_ALIGN 8

static uint64_t pt_info(const struct pt_info *pi, enum auxtap_pt_info index)
{
	return (size_t)index < pi->nr ? pi->v[index] : 0;
}

/* ---- what the file says about the unit ---- */

static unsigned int low_bit(uint64_t mask)
{
	return mask ? (unsigned int)__builtin_ctzll(mask) : 0;
}

static void configure_clock(struct auxtap_decoder *dec)
{
	const struct pt_info *pi = &pt_of(dec)->info;
	struct pt_unit *unit = &pt_of(dec)->unit;
	struct time_conv *conv = &dec->sideband.conv;
	const struct auxtap_perfdata_attr *attr;
	unsigned int family, model, stepping;
	char vendor[32], text[128];
	const void *data;
	size_t size;

	conv->valid = pt_info(pi, AUXTAP_PT_INFO_CAP_USER_TIME_ZERO) &&
		      pt_info(pi, AUXTAP_PT_INFO_TIME_MULT);
	conv->shift = (uint16_t)(pt_info(pi, AUXTAP_PT_INFO_TIME_SHIFT) > 63 ?
					 63 :
					 pt_info(pi, AUXTAP_PT_INFO_TIME_SHIFT));
	conv->mult = pt_info(pi, AUXTAP_PT_INFO_TIME_MULT);
	conv->zero = pt_info(pi, AUXTAP_PT_INFO_TIME_ZERO);
	unit->cpuid_0x15_eax = (uint32_t)pt_info(pi, AUXTAP_PT_INFO_TSC_CTC_D);
	unit->cpuid_0x15_ebx = (uint32_t)pt_info(pi, AUXTAP_PT_INFO_TSC_CTC_N);
	unit->nom_freq = (uint8_t)pt_info(pi, AUXTAP_PT_INFO_MAX_NONTURBO_RATIO);
	for (uint32_t i = 0; (attr = auxtap_perfdata_attr(dec->pd, i)); i++) {
		uint64_t mask = pt_info(pi, AUXTAP_PT_INFO_MTC_FREQ_BITS);

		if (attr->attr.type == pt_info(pi, AUXTAP_PT_INFO_PMU_TYPE))
			unit->mtc_freq = (uint8_t)((attr->attr.config & mask) >> low_bit(mask));
		if (attr->attr.type == pt_info(pi, AUXTAP_PT_INFO_PMU_TYPE) &&
		    attr->attr.enable_on_exec)
			dec->sideband.follows_threads = true;
	}
	/* a perf string: u32 length, then the text */
	if (auxtap_perfdata_feature(dec->pd, FEATURE_CPUID, &data, &size) || size <= 4)
		return;
	size -= 4;
	if (size >= sizeof(text))
		size = sizeof(text) - 1;
	memcpy(text, (const char *)data + 4, size);
	text[size] = '\0';
	if (sscanf(text, "%31[^,],%u,%u,%u", vendor, &family, &model, &stepping) != 4 ||
	    strcmp(vendor, "GenuineIntel"))
		return;
	unit->family = family;
	unit->model = model;
	unit->stepping = stepping;
}

void pt_configure(struct auxtap_decoder *dec, const uint64_t *info, size_t nr)
{
	struct pt_info *pi = &pt_of(dec)->info;

	pi->nr = nr < AUXTAP_PT_INFO_NR ? nr : AUXTAP_PT_INFO_NR;
	memcpy(pi->v, info, pi->nr * sizeof(*info));
	pi->snapshot = pt_info(pi, AUXTAP_PT_INFO_SNAPSHOT_MODE);
	configure_clock(dec);
	dec->sideband.per_thread = !pt_info(pi, AUXTAP_PT_INFO_PER_CPU_MMAPS);
	/* the offsets of AUX records are not those of samples either */
	dec->sideband.snapshot = pi->snapshot || decoder_has_samples(dec->pd);
}

/* ---- streams ---- */

static bool aux_is_of(const struct sideband_aux *aux, const struct pt_queue *q)
{
	return q->per_cpu ? aux->cpu == q->cpu : aux->tid < 0 || aux->tid == q->queue_tid;
}

static int by_offset(const void *a, const void *b)
{
	const struct sideband_aux *x = *(const struct sideband_aux *const *)a;
	const struct sideband_aux *y = *(const struct sideband_aux *const *)b;

	return x->end_off < y->end_off ? -1 : x->end_off > y->end_off;
}

/* Splits the queue's extents at the ends of flagged AUX records. */
static int split_at_flags(struct auxtap_decoder *dec, struct pt_queue *q)
{
	struct pt_stream split = {.pread = q->stream.pread, .ctx = q->stream.ctx};
	const struct sideband_aux **flagged;
	size_t nr = 0, m = 0;
	int ret = 0;

	if (!dec->sideband.nr_aux)
		return 0;
	flagged = calloc(dec->sideband.nr_aux, sizeof(*flagged));
	if (!flagged)
		return -ENOMEM;
	for (size_t i = 0; i < dec->sideband.nr_aux; i++)
		if (aux_is_of(&dec->sideband.aux[i], q))
			flagged[nr++] = &dec->sideband.aux[i];
	qsort(flagged, nr, sizeof(*flagged), by_offset);
	for (size_t i = 0; !ret && i < q->stream.nr_extents; i++) {
		struct pt_extent rest = q->stream.extents[i];

		while (!ret && m < nr && flagged[m]->end_off <= rest.off + rest.size) {
			struct pt_extent part = rest;
			uint64_t end = flagged[m]->end_off;

			part.size = end > rest.off ? end - rest.off : 0;
			if (part.size || !part.joins)
				ret = pt_stream_add(&split, &part);
			rest.off += part.size;
			rest.file_off += part.size;
			rest.size -= part.size;
			rest.joins = false;
			rest.quiet = false;
			rest.cause = decoder_aux_cause(flagged[m]->flags);
			rest.nr_lost = flagged[m]->nr_bytes;
			rest.exact = flagged[m]->exact;
			for (m++; m < nr && flagged[m]->end_off == end; m++)
				rest.nr_lost += flagged[m]->nr_bytes;
		}
		/* What follows the flagged record may be in the next buffer. */
		if (!ret && !rest.size && !rest.joins && i + 1 < q->stream.nr_extents &&
		    q->stream.extents[i + 1].joins) {
			struct pt_extent *after = &q->stream.extents[i + 1];

			after->joins = false;
			after->quiet = rest.quiet;
			after->cause = rest.cause;
			after->nr_lost = rest.nr_lost;
			after->exact = rest.exact;
			continue;
		}
		if (!ret)
			ret = pt_stream_add(&split, &rest);
	}
	for (; !ret && m < nr; m++) {
		struct pt_extent tail = {.cause = decoder_aux_cause(flagged[m]->flags),
					 .off = flagged[m]->end_off,
					 .nr_lost = flagged[m]->nr_bytes,
					 .exact = flagged[m]->exact};

		ret = pt_stream_add(&split, &tail);
	}
	free(flagged);
	pt_stream_free(&q->stream);
	q->stream = split;
	return ret;
}

struct overlap {
	int64_t seen; /* bytes of the newer one that the older one had; -1: no overlap */
	bool sure;    /* there is no other position where it could go on */
};

/* What of the newer one's bytes before 'at' the older one can have had is what it ended with. */
static bool same_past(const uint8_t *old, size_t old_size, const uint8_t *new, size_t at)
{
	size_t size = at < old_size ? at : old_size;

	return !memcmp(new + at - size, old + old_size - size, size);
}

/*
 * Looks for the older one's last bytes. In a loop they come more than once, so all that stands
 * before them must be the older one's, too. Where several positions are left, the last one repeats
 * nothing.
 */
static struct overlap search(const uint8_t *old, size_t old_size, const uint8_t *new, size_t size)
{
	size_t key_size = old_size < OVERLAP_KEY ? old_size : OVERLAP_KEY;
	struct overlap found = {-1, true};
	const uint8_t *from = new, *at;
	unsigned int tries = OVERLAP_TRIES;

	while ((at = memmem(from, size - (size_t)(from - new), old + old_size - key_size,
			    key_size))) {
		size_t end = (size_t)(at - new) + key_size;

		if (same_past(old, old_size, new, end)) {
			found.sure = found.seen < 0;
			found.seen = (int64_t)end;
		}
		if (!--tries) {
			found.sure = false;
			break;
		}
		from = at + 1;
	}
	return found;
}

/*
 * Two snapshots of one buffer: the newer begins with bytes that the older one had. How many,
 * is found by the older one's last bytes; the offsets of stock perf do not show it. The record is
 * padded to 8 bytes: zeros at its end are taken off the older one (in the newer one they are
 * there again if they were trace).
 */
static struct overlap overlap(struct auxtap_decoder *dec, struct pt_extent *old,
			      const struct auxtap_perfdata_aux *new)
{
	size_t size = new->trace_size < OVERLAP_MAX ? (size_t) new->trace_size : OVERLAP_MAX;
	size_t old_size = old->size < size ? (size_t)old->size : size, pad = 0;
	uint64_t by_off = old->off + old->size - new->head.offset;
	struct overlap found = {-1, true};
	uint64_t key_size;
	uint8_t *buf;

	if (!old_size)
		return found;
	buf = malloc(size + old_size);
	if (!buf)
		return found;
	if (decoder_read_file(dec, buf + size, old_size, old->file_off + old->size - old_size) !=
		    (ssize_t)old_size ||
	    decoder_read_file(dec, buf, size, new->trace_off) != (ssize_t)size)
		goto out;
	while (pad < AUXTRACE_ALIGN - 1 && pad + 1 < old_size && !buf[size + old_size - 1 - pad])
		pad++;
	by_off -= pad;
	key_size = old_size - pad < OVERLAP_KEY ? old_size - pad : OVERLAP_KEY;
	if (by_off >= key_size && by_off <= size &&
	    same_past(buf + size, old_size - pad, buf, (size_t)by_off))
		found.seen = (int64_t)by_off;
	else
		found = search(buf + size, old_size - pad, buf, size);
out:
	if (found.seen >= 0)
		old->size -= pad;
	free(buf);
	return found;
}

static int add_buffer(struct auxtap_decoder *dec, struct pt_queue *q,
		      const struct auxtap_perfdata_aux *aux)
{
	const struct pt_info *pi = &pt_of(dec)->info;
	struct pt_extent extent = {.off = aux->head.offset,
				   .file_off = aux->trace_off,
				   .size = aux->trace_size};
	struct pt_extent *last =
		q->stream.nr_extents ? &q->stream.extents[q->stream.nr_extents - 1] : NULL;
	uint64_t end = last ? last->off + last->size : 0;
	struct overlap seen = {-1, true};

	extent.cause = pi->snapshot ? AUXTAP_GAP_OVERWRITTEN : AUXTAP_GAP_UNKNOWN;
	if (!last) {
		/* Of snapshots only our own recorder's offsets count from the first byte on. */
		extent.quiet = !extent.off || (pi->snapshot && !dec->by_auxtap);
		extent.nr_lost = extent.quiet ? 0 : extent.off;
		extent.exact = !extent.quiet && !pi->snapshot;
		return pt_stream_add(&q->stream, &extent);
	}
	if (pi->snapshot && extent.off != end) {
		seen = overlap(dec, last, aux);
		if (seen.seen >= 0) {
			end = last->off + last->size;
			/* one stream again: later offsets are counted from here */
			extent.file_off += (uint64_t)seen.seen;
			extent.size -= (uint64_t)seen.seen;
			extent.off = end;
			/* An empty extent would hide the older one from the next snapshot. */
			if (!extent.size)
				return 0;
		}
	}
	if (extent.off < end && end - extent.off < AUXTRACE_ALIGN &&
	    last->size >= end - extent.off) {
		last->size -= end - extent.off;
		end = extent.off;
	}
	extent.joins = extent.off == end && seen.sure;
	if (!extent.joins && extent.off > end) {
		extent.nr_lost = extent.off - end;
		extent.exact = !pi->snapshot || dec->by_auxtap;
	}
	return pt_stream_add(&q->stream, &extent);
}

/* Queues by thread and CPU: open addressing, index + 1. */
struct queue_table {
	size_t *slots, size; /* a power of two */
};

static size_t *queue_slot(const struct pt_decoder *pt, const struct queue_table *table, int32_t tid,
			  int cpu)
{
	size_t at = ((uint32_t)tid * 2654435761u) ^ ((uint32_t)cpu * 0x9e3779b1u >> 7);

	for (at &= table->size - 1; table->slots[at]; at = (at + 1) & (table->size - 1)) {
		const struct pt_queue *q = &pt->queues[table->slots[at] - 1]->pt;

		if (q->queue_tid == tid && q->cpu == cpu)
			break;
	}
	return &table->slots[at];
}

static int grow_table(const struct pt_decoder *pt, struct queue_table *table)
{
	struct queue_table grown = {.size = table->size ? table->size * 2 : 64};

	grown.slots = calloc(grown.size, sizeof(*grown.slots));
	if (!grown.slots)
		return -ENOMEM;
	for (size_t i = 0; i < pt->nr_queues; i++) {
		const struct pt_queue *q = &pt->queues[i]->pt;

		*queue_slot(pt, &grown, q->queue_tid, q->cpu) = i + 1;
	}
	free(table->slots);
	*table = grown;
	return 0;
}

static struct pt_queue *get_queue(struct auxtap_decoder *dec, struct queue_table *table,
				  const struct auxtap_auxtrace *head)
{
	struct pt_decoder *pt = pt_of(dec);
	int32_t tid = (int32_t)head->tid;
	int cpu = (int32_t)head->cpu;
	struct pt_merge_queue *queue;
	struct pt_queue *q;
	size_t *slot;

	if (pt->nr_queues * 2 >= table->size && grow_table(pt, table))
		return NULL;
	slot = queue_slot(pt, table, tid, cpu);
	if (*slot)
		return &pt->queues[*slot - 1]->pt;
	queue = pt_add_queue(pt);
	if (!queue)
		return NULL;
	*slot = pt->nr_queues;
	q = &queue->pt;
	q->queue_tid = q->tid = tid;
	q->cpu = cpu;
	q->per_cpu = !decoder_of_one_thread(dec, head);
	if (tid != -1) {
		q->queue_pid = q->pid = sideband_pid(&dec->sideband, tid);
		if (q->pid == -1)
			q->queue_pid = q->pid = tid;
	}
	q->stream.pread = decoder_read_file;
	q->stream.ctx = dec;
	return q;
}

/*
 * A sample is a snapshot, too. It may begin with what the one before had; how much was traced in
 * between is not known.
 */
static int add_sample(struct auxtap_decoder *dec, struct pt_queue *q,
		      const struct decoder_sample *sample)
{
	struct pt_extent extent = {.file_off = sample->file_off,
				   .size = sample->size,
				   .cause = AUXTAP_GAP_OVERWRITTEN};
	struct pt_extent *last =
		q->stream.nr_extents ? &q->stream.extents[q->stream.nr_extents - 1] : NULL;

	if (last) {
		struct auxtap_perfdata_aux aux = {.trace_off = sample->file_off,
						  .trace_size = sample->size};
		struct overlap seen;

		aux.head.offset = last->off + last->size + 1; /* no hint */
		seen = overlap(dec, last, &aux);
		extent.off = last->off + last->size;
		if (seen.seen >= 0) {
			extent.file_off += (uint64_t)seen.seen;
			extent.size -= (uint64_t)seen.seen;
			extent.joins = seen.sure;
		}
	}
	return extent.size ? pt_stream_add(&q->stream, &extent) : 0;
}

static int add_samples(struct auxtap_decoder *dec, struct queue_table *table)
{
	struct decoder_sample *samples;
	size_t nr;
	int ret = decoder_find_samples(dec, &samples, &nr);

	if (!ret && nr)
		ret = decoder_add_flagged(dec, "between or in samples");
	for (size_t i = 0; !ret && i < nr; i++) {
		struct auxtap_auxtrace head = {.tid = (uint32_t)samples[i].tid,
					       .cpu = (uint32_t)samples[i].cpu};
		struct pt_queue *q;

		if (decoder_left_out(dec, &head))
			continue;
		q = get_queue(dec, table, &head);
		ret = q ? add_sample(dec, q, &samples[i]) : -ENOMEM;
	}
	free(samples);
	return ret;
}

static uint64_t end_of_queues(const struct auxtap_decoder *dec, const struct sideband_ring *ring)
{
	const struct pt_decoder *pt = pt_of(dec);
	uint64_t end = 0;

	for (size_t k = 0; k < pt->nr_queues; k++) {
		const struct pt_queue *q = &pt->queues[k]->pt;
		const struct pt_extent *last;

		if (!q->stream.nr_extents ||
		    (ring->tid >= 0 ? q->queue_tid != ring->tid : q->cpu != ring->cpu))
			continue;
		last = &q->stream.extents[q->stream.nr_extents - 1];
		end = last->off + last->size > end ? last->off + last->size : end;
	}
	return end;
}

int pt_open_file(struct auxtap_decoder *dec, struct auxtap_error *err)
{
	struct pt_decoder *pt = pt_of(dec);
	const struct auxtap_perfdata_aux *aux;
	struct queue_table table = {NULL, 0};
	size_t nr;
	int ret = auxtap_perfdata_auxtraces(dec->pd, &aux, &nr, err);

	if (ret)
		return ret;
	for (size_t i = 0; !ret && i < nr; i++) {
		const struct auxtap_auxtrace *head = &aux[i].head;
		struct pt_queue *q;

		if (decoder_left_out(dec, head))
			continue;
		q = get_queue(dec, &table, head);
		ret = q ? add_buffer(dec, q, &aux[i]) : -ENOMEM;
	}
	if (!ret)
		ret = add_samples(dec, &table);
	if (!ret)
		ret = decoder_add_missing(dec, false, end_of_queues);
	free(table.slots);
	for (size_t i = 0; !ret && i < pt->nr_queues; i++)
		ret = split_at_flags(dec, &pt->queues[i]->pt);
	if (ret)
		return auxtap_error_set(err, ret, auxtap_perfdata_path(dec->pd), "out of memory");
	return 0;
}

/* ---- bare streams ---- */

void pt_configure_raw(struct auxtap_decoder *dec, const struct auxtap_raw_opts *raw)
{
	struct pt_unit *unit = &pt_of(dec)->unit;

	unit->family = raw->cpu_family;
	unit->model = raw->cpu_model;
	unit->stepping = raw->cpu_stepping;
	unit->mtc_freq = raw->mtc_freq;
	unit->nom_freq = raw->nom_freq;
	unit->cpuid_0x15_eax = raw->cpuid_0x15_eax;
	unit->cpuid_0x15_ebx = raw->cpuid_0x15_ebx;
}

int pt_open_raw(struct auxtap_decoder *dec, const char *path, const struct auxtap_raw_opts *raw,
		int cpu, struct auxtap_error *err)
{
	struct pt_extent extent = {.quiet = true, .cause = AUXTAP_GAP_OVERWRITTEN};
	struct pt_merge_queue *queue;
	int ret = decoder_open_stream(dec, path, &extent.size, err);

	(void)raw;
	if (ret)
		return ret;
	queue = pt_add_queue(pt_of(dec));
	if (!queue || pt_stream_add(&queue->pt.stream, &extent))
		return auxtap_error_set(err, -ENOMEM, path, "out of memory");
	queue->pt.stream.pread = decoder_read_raw;
	queue->pt.stream.ctx = dec;
	queue->pt.cpu = cpu;
	queue->pt.per_cpu = cpu >= 0;
	if (!queue->pt.per_cpu) {
		queue->pt.pid = queue->pt.queue_pid = dec->sideband.first_pid;
		queue->pt.tid = queue->pt.queue_tid = dec->sideband.first_tid;
	}
	return 0;
}
