// SPDX-License-Identifier: BSD-2-Clause
/*
 * Opens perf.data files, which have a queue for each ring, with the extents of its trace
 * (decode/stream), and the configuration of the trace units; and raw streams.
 */
#include "pt_decoder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FEATURE_CPUID 9

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
	struct pt_source_cpu *cpu = &pt_of(dec)->cpu;
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
	cpu->cpuid_0x15_eax = (uint32_t)pt_info(pi, AUXTAP_PT_INFO_TSC_CTC_D);
	cpu->cpuid_0x15_ebx = (uint32_t)pt_info(pi, AUXTAP_PT_INFO_TSC_CTC_N);
	cpu->nom_freq = (uint8_t)pt_info(pi, AUXTAP_PT_INFO_MAX_NONTURBO_RATIO);
	for (uint32_t i = 0; (attr = auxtap_perfdata_get_attr(dec->pd, i)); i++) {
		uint64_t mask = pt_info(pi, AUXTAP_PT_INFO_MTC_FREQ_BITS);

		if (attr->attr.type == pt_info(pi, AUXTAP_PT_INFO_PMU_TYPE))
			cpu->mtc_freq = (uint8_t)((attr->attr.config & mask) >> low_bit(mask));
		if (attr->attr.type == pt_info(pi, AUXTAP_PT_INFO_PMU_TYPE) &&
		    attr->attr.enable_on_exec)
			dec->sideband.traces_some_tasks = true;
	}
	/* perf writes a string as its length (u32), then the text */
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
	cpu->family = family;
	cpu->model = model;
	cpu->stepping = stepping;
}

void pt_configure(struct auxtap_decoder *dec, const uint64_t *info, size_t nr)
{
	struct pt_info *pi = &pt_of(dec)->info;

	pi->nr = nr < AUXTAP_PT_INFO_NR ? nr : AUXTAP_PT_INFO_NR;
	memcpy(pi->v, info, pi->nr * sizeof(*info));
	pi->snapshot = pt_info(pi, AUXTAP_PT_INFO_SNAPSHOT_MODE);
	configure_clock(dec);
	dec->sideband.per_thread = !pt_info(pi, AUXTAP_PT_INFO_PER_CPU_MMAPS);
	/* with AUX samples the offsets of AUX records do not match either: as in snapshot mode */
	dec->sideband.aux_offsets_unusable = pi->snapshot || decoder_has_samples(dec->pd);
}

/* ---- streams ---- */

/* Adds the decoder's queue for a queue of the file; both have the same index. */
static int add_queue(struct auxtap_decoder *dec, const struct trace_queue *from)
{
	struct auxtap_auxtrace head = {.cpu = (uint32_t)from->key.cpu,
				       .tid = (uint32_t)from->key.tid};
	struct pt_merge_queue *queue = pt_add_queue(pt_of(dec));
	struct pt_queue *q;

	if (!queue)
		return -ENOMEM;
	q = &queue->pt;
	q->queue_tid = q->tid = from->key.tid;
	q->cpu = from->key.cpu;
	q->per_cpu = !decoder_is_one_thread(dec, &head);
	if (q->tid != -1) {
		q->queue_pid = q->pid = sideband_pid(&dec->sideband, q->tid);
		if (q->pid == -1)
			q->queue_pid = q->pid = q->tid;
	}
	q->stream.pread = decoder_read_file;
	q->stream.ctx = dec;
	return 0;
}

static int add_buffers(struct auxtap_decoder *dec, struct trace_queues *queues,
		       const struct auxtap_perfdata_aux *aux, size_t nr)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < nr; i++) {
		struct trace_queue *q;

		if (decoder_is_filtered_out(dec, &aux[i].auxtrace))
			continue;
		q = trace_queues_get(queues, &aux[i].auxtrace);
		ret = q ? trace_queue_add(&queues->opts, q, &aux[i]) : -ENOMEM;
	}
	return ret;
}

static int add_samples(struct auxtap_decoder *dec, struct trace_queues *queues)
{
	struct decoder_sample *samples;
	size_t nr;
	int ret = decoder_find_samples(dec, &samples, &nr);

	if (!ret && nr)
		ret = decoder_add_flagged_gaps(dec, "between or in samples");
	for (size_t i = 0; !ret && i < nr; i++) {
		struct auxtap_auxtrace head = {.tid = (uint32_t)samples[i].tid,
					       .cpu = (uint32_t)samples[i].cpu};
		struct trace_queue *q;

		if (decoder_is_filtered_out(dec, &head))
			continue;
		q = trace_queues_get(queues, &head);
		ret = q ? trace_queue_add_sample(&queues->opts, q, samples[i].file_off,
						 samples[i].size) :
			  -ENOMEM;
	}
	free(samples);
	return ret;
}

/* Splits the file's queue where the kernel reported losses, and moves its extents to q. */
static int fill_queue(struct auxtap_decoder *dec, struct trace_queue *from, struct pt_queue *q,
		      bool one_ring)
{
	const struct trace_aux **lossy;
	size_t nr;
	int ret = trace_auxes_select(&dec->sideband.lossy, q->per_cpu,
				     q->per_cpu ? q->cpu : q->queue_tid, &lossy, &nr);

	if (!ret)
		ret = trace_queue_split(from, lossy, nr, q->per_cpu || one_ring);
	free((void *)lossy);
	q->stream.extents = from->extents;
	q->stream.nr_extents = from->nr;
	q->stream.max_extents = from->max;
	from->extents = NULL;
	from->nr = from->max = 0;
	return ret;
}

/* Whether the recording has only one ring, including those that are not decoded. */
static bool has_one_ring(const struct auxtap_decoder *dec, const struct auxtap_perfdata_aux *aux,
			 size_t nr)
{
	for (size_t i = 1; i < nr; i++)
		if (aux[i].auxtrace.cpu != aux[0].auxtrace.cpu ||
		    aux[i].auxtrace.tid != aux[0].auxtrace.tid)
			return false;
	return dec->sideband.ring_keys.nr <= 1;
}

int pt_open_file(struct auxtap_decoder *dec, struct auxtap_error *err)
{
	struct pt_decoder *pt = pt_of(dec);
	struct trace_queues queues = {.opts = {.snapshot = pt->info.snapshot,
					       .by_auxtap = dec->by_auxtap,
					       .pread = decoder_read_file,
					       .ctx = dec}};
	const struct auxtap_perfdata_aux *aux;
	size_t nr;
	bool one_ring;
	int ret = auxtap_perfdata_auxtraces(dec->pd, &aux, &nr, err);

	if (ret)
		return ret;
	one_ring = has_one_ring(dec, aux, nr);
	ret = add_buffers(dec, &queues, aux, nr);
	if (!ret)
		ret = add_samples(dec, &queues);
	if (!ret)
		ret = decoder_add_queue_end_gaps(dec, &queues, false);
	for (size_t i = 0; !ret && i < queues.keys.nr; i++) {
		ret = add_queue(dec, &queues.queues[i]);
		if (!ret)
			ret = fill_queue(dec, &queues.queues[i], &pt->queues[i]->pt, one_ring);
	}
	trace_queues_free(&queues);
	if (ret)
		return auxtap_error_set(err, ret, auxtap_perfdata_path(dec->pd), "out of memory");
	return 0;
}

/* ---- raw streams ---- */

void pt_configure_raw(struct auxtap_decoder *dec, const struct auxtap_raw_opts *raw)
{
	struct pt_source_cpu *cpu = &pt_of(dec)->cpu;

	cpu->family = raw->cpu_family;
	cpu->model = raw->cpu_model;
	cpu->stepping = raw->cpu_stepping;
	cpu->mtc_freq = raw->mtc_freq;
	cpu->nom_freq = raw->nom_freq;
	cpu->cpuid_0x15_eax = raw->cpuid_0x15_eax;
	cpu->cpuid_0x15_ebx = raw->cpuid_0x15_ebx;
}

int pt_open_raw(struct auxtap_decoder *dec, const char *path, const struct auxtap_raw_opts *raw,
		int cpu, struct auxtap_error *err)
{
	struct trace_extent extent = {.border = TRACE_STARTS, .cause = AUXTAP_GAP_OVERWRITTEN};
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
