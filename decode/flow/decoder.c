// SPDX-License-Identifier: BSD-2-Clause
/*
 * The decoder's public face: queues merged by time. Each queue generates its events a batch
 * at a time, so memory does not grow with the file. See decoder_private.h for the other parts.
 */
#include "util/opts.h"
#include "decoder_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Sections that libipt keeps mapped with their block caches when unused. */
#define SECTION_CACHE_BYTES (96ull << 20)

int decoder_new(struct auxtap_decoder **dec_out, struct auxtap_image_set *images,
		const struct auxtap_decode_opts *opts, struct auxtap_error *err)
{
	struct auxtap_decode_opts known;
	struct auxtap_decoder *dec;
	int ret = opts_take(&known, sizeof(known), OPTS_SIZE_AT(struct auxtap_decode_opts, jobs),
			    opts, "struct auxtap_decode_opts", err);

	*dec_out = NULL;
	if (ret)
		return ret;
	dec = calloc(1, sizeof(*dec));
	if (!dec)
		return auxtap_error_set(err, -ENOMEM, "decoder", "out of memory");
	dec->raw_fd = -1;
	for (unsigned int i = 0; i < DECODER_COMMS; i++)
		dec->comms[i].tid = INT32_MIN;
	pthread_mutex_init(&dec->read_lock, NULL);
	sideband_init(&dec->sideband, images);
	dec->shared.opts = known;
	dec->shared.images = images;
	dec->shared.sideband = &dec->sideband;
	dec->shared.sections = pt_iscache_alloc(NULL);
	pt_config_init(&dec->shared.config);
	/*
	 * A PSB+ with FUP right before TIP.PGE never means that tracing was on: ask for the check
	 * on every CPU.
	 */
	dec->shared.config.errata.bdm70 = 1;
	if (!dec->shared.sections) {
		auxtap_decoder_close(dec);
		return auxtap_error_set(err, -ENOMEM, "decoder", "out of memory");
	}
	pt_iscache_set_limit(dec->shared.sections, SECTION_CACHE_BYTES);
	*dec_out = dec;
	return 0;
}

int decoder_add_unattributed(struct auxtap_decoder *dec, const struct auxtap_gap *gap,
			     const char *text)
{
	const struct auxtap_decode_opts *opts = &dec->shared.opts;
	struct flow_event *grown, *ev;

	dec->sum.gaps++;
	if (!(opts->events & AUXTAP_EVENT_GAP) || (opts->tid >= 0 && gap->tid != opts->tid) ||
	    (opts->cpu >= 0 && gap->cpu != opts->cpu))
		return 0;
	if (gap->time_begin && (gap->time_begin < opts->time_start ||
				(opts->time_stop && gap->time_begin >= opts->time_stop)))
		return 0;
	if (dec->nr_unattributed == dec->max_unattributed) {
		size_t max = dec->max_unattributed ? dec->max_unattributed * 2 : 16;

		grown = realloc(dec->unattributed, max * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		dec->unattributed = grown;
		dec->max_unattributed = max;
	}
	ev = &dec->unattributed[dec->nr_unattributed];
	memset(ev, 0, sizeof(*ev));
	ev->gap = calloc(1, sizeof(*ev->gap));
	dec->nr_unattributed++;
	if (!ev->gap)
		return -ENOMEM;
	ev->type = AUXTAP_EVENT_GAP;
	ev->time = gap->time_begin;
	ev->depth = (uint32_t)dec->nr_unattributed; /* ties: as they were added */
	ev->pid = gap->pid;
	ev->tid = gap->tid;
	ev->gap->gap = *gap;
	/* the recorder's numbers are of the whole file: readers count by cause */
	if ((unsigned int)gap->cause >= AUXTAP_GAP_NR_CAUSES)
		ev->gap->gap.cause = AUXTAP_GAP_UNKNOWN;
	ev->gap->gap.exact = gap->exact != 0;
	snprintf(ev->gap->text, sizeof(ev->gap->text), "%s", text);
	return 0;
}

/* ---- merge ---- */

static int by_time(const void *a, const void *b)
{
	const struct flow_event *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->depth < y->depth ? -1 : x->depth > y->depth;
}

int decoder_start(struct auxtap_decoder *dec)
{
	unsigned int nr_jobs;
	int ret;

	if (dec->nr_unattributed)
		qsort(dec->unattributed, dec->nr_unattributed, sizeof(*dec->unattributed), by_time);
	for (size_t i = 0; i < dec->nr_unattributed; i++)
		dec->unattributed[i].depth = 0;
	ret = pt_merge_start(dec);
	if (ret)
		return ret;
	nr_jobs = decoder_nr_jobs(dec->shared.opts.jobs);
	if (dec->source)
		return dec->source->start ? dec->source->start(dec, nr_jobs) : 0;
	return decoder_jobs_start(dec, nr_jobs);
}

/* Events of the source, and gaps that belong to no position in a stream, by time. */
static struct flow_event *next_of_source(struct auxtap_decoder *dec, bool *of_source)
{
	struct flow_event *ev = dec->source->peek(dec);

	*of_source = ev && !(dec->unattributed_at < dec->nr_unattributed &&
			     dec->unattributed[dec->unattributed_at].time < ev->time);
	if (*of_source) {
		dec->source->pop(dec);
		return ev;
	}
	return dec->unattributed_at < dec->nr_unattributed ?
		       &dec->unattributed[dec->unattributed_at++] :
		       NULL;
}

static void note_thread(struct auxtap_decoder *dec, int32_t tid)
{
	size_t lo = 0, hi = dec->nr_tids;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (dec->tids[mid] < tid)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < dec->nr_tids && dec->tids[lo] == tid)
		return;
	if (dec->nr_tids == dec->max_tids) {
		size_t max = dec->max_tids ? dec->max_tids * 2 : 16;
		int32_t *grown = realloc(dec->tids, max * sizeof(*grown));

		if (!grown)
			return;
		dec->tids = grown;
		dec->max_tids = max;
	}
	memmove(&dec->tids[lo + 1], &dec->tids[lo], (dec->nr_tids - lo) * sizeof(*dec->tids));
	dec->tids[lo] = tid;
	dec->nr_tids++;
}

static const char *comm_of(struct auxtap_decoder *dec, int32_t tid, uint64_t time)
{
	unsigned int slot = (unsigned int)tid % DECODER_COMMS;
	const struct sideband_thread *thread = dec->comms[slot].thread;

	if (tid != dec->comms[slot].tid) {
		note_thread(dec, tid);
		thread = sideband_thread(&dec->sideband, tid, false);
		dec->comms[slot].tid = tid;
		dec->comms[slot].thread = thread;
	}
	if (!thread || !thread->nr_comms)
		return NULL;
	if (thread->nr_comms == 1)
		return thread->comms[0].comm;
	return sideband_comm(&dec->sideband, tid, time);
}

/* Of gaps that touch the first was handed out: makes out the next one. */
static bool next_touching(struct auxtap_decoder *dec, struct auxtap_event *out)
{
	struct flow_gap *gap = dec->delivered;

	if (!gap)
		return false;
	dec->delivered = gap->next;
	free(gap);
	gap = dec->delivered;
	if (!gap)
		return false;
	*out = dec->touching;
	out->nr_insns = 0;
	out->gap = gap->gap;
	out->gap.cpu = out->cpu;
	memcpy(out->text, gap->text, sizeof(out->text));
	return true;
}

int auxtap_decoder_next(struct auxtap_decoder *dec, struct auxtap_event *out,
			struct auxtap_error *err)
{
	bool of_source = false;
	struct flow_event *ev;

	if (next_touching(dec, out))
		return 1;
	ev = dec->source ? next_of_source(dec, &of_source) : pt_merge_next(dec);
	if (!ev) {
		for (size_t i = 0; i < dec->nr_queues; i++)
			if (dec->queues[i]->pt.error)
				return auxtap_error_set(err, dec->queues[i]->pt.error, "trace",
							"cannot go on: %s",
							strerror(-dec->queues[i]->pt.error));
		if (dec->source && dec->source->error(dec))
			return auxtap_error_set(err, dec->source->error(dec), "trace",
						"cannot go on: %s",
						strerror(-dec->source->error(dec)));
		if (dec->damage.code && err)
			*err = dec->damage;
		return dec->damage.code;
	}
	out->type = ev->type;
	out->kind = (enum auxtap_branch_kind)ev->kind;
	out->cpu = dec->current ? dec->current->pt.cpu : -1;
	out->pid = ev->pid;
	out->tid = ev->tid;
	out->time = ev->time;
	out->ip = ev->ip;
	out->addr = ev->addr;
	out->has_ip = ev->has_ip;
	out->has_addr = ev->has_addr;
	out->trace_on = ev->trace_on;
	out->insn_size = ev->insn_size;
	memcpy(out->insn, ev->insn, sizeof(out->insn));
	out->nr_insns = ev->nr_insns;
	out->depth = ev->depth;
	out->spe_has = 0;
	out->isa = (enum auxtap_isa)ev->isa;
	if (of_source)
		dec->source->facts(dec, out);
	out->comm = comm_of(dec, ev->tid, ev->time);
	out->text[0] = '\0';
	if (ev->gap) {
		out->gap = ev->gap->gap;
		memcpy(out->text, ev->gap->text, sizeof(out->text));
		dec->delivered = ev->gap;
		ev->gap = NULL;
	} else {
		memset(&out->gap, 0, sizeof(out->gap));
	}
	if (out->cpu == SIDEBAND_UNNUMBERED_CPU)
		out->cpu = -1;
	if (out->gap.cpu == SIDEBAND_UNNUMBERED_CPU)
		out->gap.cpu = -1;
	if (dec->delivered && dec->delivered->next)
		dec->touching = *out;
	if (ev->time && !dec->sum.time_begin)
		dec->sum.time_begin = ev->time;
	if (ev->time > dec->sum.time_end)
		dec->sum.time_end = ev->time;
	return 1;
}

void auxtap_decoder_summary(const struct auxtap_decoder *dec, struct auxtap_decode_summary *sum)
{
	*sum = dec->sum;
	for (size_t i = 0; i < dec->nr_queues; i++) {
		const struct auxtap_decode_summary *q = &dec->queues[i]->pt.sum;

		sum->instructions += q->instructions;
		sum->branches += q->branches;
		sum->gaps += q->gaps;
		sum->errors += q->errors;
		sum->bytes += q->bytes;
	}
	if (dec->source && dec->source->sums)
		dec->source->sums(dec, sum);
	sum->threads = dec->nr_tids;
}

void auxtap_decoder_close(struct auxtap_decoder *dec)
{
	if (!dec)
		return;
	decoder_jobs_stop(dec);
	if (dec->source)
		dec->source->free(dec);
	for (size_t i = 0; i < dec->nr_queues; i++) {
		struct decoder_queue *queue = dec->queues[i];

		pt_queue_free(&queue->pt);
		free(queue);
	}
	for (size_t i = dec->unattributed_at; i < dec->nr_unattributed; i++)
		free(dec->unattributed[i].gap);
	flow_gap_free(dec->delivered);
	free(dec->unattributed);
	free(dec->queues);
	free(dec->closed);
	free(dec->heap);
	free(dec->tids);
	sideband_free(&dec->sideband);
	if (dec->shared.sections)
		pt_iscache_free(dec->shared.sections);
	if (dec->raw_fd >= 0)
		close(dec->raw_fd);
	pthread_mutex_destroy(&dec->read_lock);
	free(dec);
}
