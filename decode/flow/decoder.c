// SPDX-License-Identifier: BSD-2-Clause
/*
 * The decoder's public API: the events of a family of traces, and gaps that belong to no stream.
 * See decoder_private.h for the other parts.
 */
#include "util/sized.h"
#include "util/vector.h"
#include "decoder_private.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_JOBS	 256
#define MAX_DEFAULT_JOBS 8 /* the reading thread merges all events: more jobs would wait for it */

int decode_opts_copy_in(struct auxtap_decode_opts *copy, const struct auxtap_decode_opts *given,
			struct auxtap_error *err)
{
	const char *what = "struct auxtap_decode_opts";
	int ret = sized_copy_in(copy, sizeof(*copy),
				SIZED_UP_TO(struct auxtap_decode_opts, nr_cpus), given, what, err);

	if (ret)
		return ret;
	if ((copy->nr_tids && !copy->tids) || (copy->nr_cpus && !copy->cpus))
		return auxtap_error_set(err, -EINVAL, what, "%s is NULL, but its count is not 0",
					copy->nr_tids && !copy->tids ? "tids" : "cpus");
	if (!copy->events)
		copy->events = AUXTAP_EVENT_ALL;
	return 0;
}

static int by_id(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return x < y ? -1 : x > y;
}

/* A sorted copy for flow_listed(). NULL: an empty list, or out of memory. */
static int32_t *sorted_list(const int32_t *list, size_t nr)
{
	int32_t *copy = nr ? calloc(nr, sizeof(*copy)) : NULL;

	if (copy) {
		memcpy(copy, list, nr * sizeof(*copy));
		qsort(copy, nr, sizeof(*copy), by_id);
	}
	return copy;
}

int decoder_new(struct auxtap_decoder **dec_out, const struct trace_family *family,
		struct auxtap_image_set *images, const struct auxtap_decode_opts *opts,
		struct auxtap_error *err)
{
	struct auxtap_decode_opts copy;
	struct auxtap_decoder *dec;
	int ret = decode_opts_copy_in(&copy, opts, err);

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
	dec->opts = copy;
	dec->opts.tids = dec->filter_tids = sorted_list(copy.tids, copy.nr_tids);
	dec->opts.cpus = dec->filter_cpus = sorted_list(copy.cpus, copy.nr_cpus);
	dec->images = images;
	dec->family = family;
	dec->flow_ops = family->flows ? family->flows[0] : NULL;
	ret = (copy.nr_tids && !dec->filter_tids) || (copy.nr_cpus && !dec->filter_cpus) ?
		      -ENOMEM :
		      family->create(dec);
	if (ret) {
		auxtap_decoder_close(dec);
		return auxtap_error_set(err, ret, "decoder", "out of memory");
	}
	*dec_out = dec;
	return 0;
}

int decoder_add_unattributed(struct auxtap_decoder *dec, const struct auxtap_gap *gap,
			     const char *text)
{
	const struct auxtap_decode_opts *opts = &dec->opts;
	struct flow_event *ev;

	dec->sum.gaps++;
	if (!(opts->events & AUXTAP_EVENT_GAP) ||
	    !flow_listed(opts->tids, opts->nr_tids, gap->tid) ||
	    !flow_listed(opts->cpus, opts->nr_cpus, gap->cpu))
		return 0;
	if (gap->time_begin && (gap->time_begin < opts->time_start ||
				(opts->time_stop && gap->time_begin >= opts->time_stop)))
		return 0;
	if (vector_grow(dec->unattributed, dec->nr_unattributed, dec->max_unattributed))
		return -ENOMEM;
	ev = &dec->unattributed[dec->nr_unattributed];
	memset(ev, 0, sizeof(*ev));
	ev->gap = calloc(1, sizeof(*ev->gap));
	dec->nr_unattributed++;
	if (!ev->gap)
		return -ENOMEM;
	ev->type = AUXTAP_EVENT_GAP;
	ev->time = gap->time_begin;
	ev->depth = (uint32_t)dec->nr_unattributed; /* keeps the order of equal times */
	ev->pid = gap->pid;
	ev->tid = gap->tid;
	ev->gap->gap = *gap;
	/* a cause from the file may be invalid; callers use it as an index */
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

static unsigned int default_nr_jobs(void)
{
	cpu_set_t set;
	int nr;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	nr = CPU_COUNT(&set);
	return nr < 1 ? 1 : nr > MAX_DEFAULT_JOBS ? MAX_DEFAULT_JOBS : (unsigned int)nr;
}

static unsigned int decoder_nr_jobs(unsigned int wanted)
{
	if (!wanted)
		wanted = default_nr_jobs();
	return wanted < MAX_JOBS ? wanted : MAX_JOBS;
}

int decoder_start(struct auxtap_decoder *dec)
{
	if (dec->nr_unattributed)
		qsort(dec->unattributed, dec->nr_unattributed, sizeof(*dec->unattributed), by_time);
	for (size_t i = 0; i < dec->nr_unattributed; i++)
		dec->unattributed[i].depth = 0;
	return dec->family->start(dec, decoder_nr_jobs(dec->opts.jobs));
}

/* The next one of the family's events and the gaps that belong to no stream, by time. */
static struct flow_event *next_event(struct auxtap_decoder *dec, int *cpu, bool *from_family)
{
	bool more = dec->next_unattributed < dec->nr_unattributed;
	struct flow_event *ev =
		dec->family->next(dec,
				  more ? dec->unattributed[dec->next_unattributed].time :
					 UINT64_MAX,
				  cpu);

	*from_family = ev;
	if (ev || !more)
		return ev;
	*cpu = -1;
	return &dec->unattributed[dec->next_unattributed++];
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
	if (vector_grow(dec->tids, dec->nr_tids, dec->max_tids))
		return;
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

/* After a gap was delivered: stores the next adjacent one in *out. False: there is none. */
static bool next_adjacent_gap(struct auxtap_decoder *dec, struct auxtap_event *out)
{
	struct flow_gap *gap = dec->delivered;

	if (!gap)
		return false;
	dec->delivered = gap->next;
	free(gap);
	gap = dec->delivered;
	if (!gap)
		return false;
	*out = dec->adjacent_event;
	out->nr_insns = 0;
	gap->gap.cpu = out->cpu;
	out->gap = &gap->gap;
	out->text = gap->text;
	return true;
}

/* For a caller whose struct auxtap_event is that of another version. */
static int next_other_version(struct auxtap_decoder *dec, struct auxtap_event *out,
			      struct auxtap_error *err)
{
	struct auxtap_event copy = {.size = sizeof(copy)};
	int ret = sized_check(out, sizeof(copy), SIZED_UP_TO(struct auxtap_event, source),
			      "struct auxtap_event", err);

	if (!ret)
		ret = auxtap_decoder_next(dec, &copy, err);
	if (ret == 1)
		sized_copy_out(out, &copy, sizeof(copy));
	return ret;
}

int auxtap_decoder_next(struct auxtap_decoder *dec, struct auxtap_event *out,
			struct auxtap_error *err)
{
	bool from_family;
	struct flow_event *ev;
	int cpu, ret;

	if (out->size != sizeof(*out))
		return next_other_version(dec, out, err);
	if (next_adjacent_gap(dec, out))
		return 1;
	ev = next_event(dec, &cpu, &from_family);
	if (!ev) {
		ret = dec->family->error(dec);
		if (ret)
			return auxtap_error_set(err, ret, "trace", "cannot go on: %s",
						strerror(-ret));
		if (dec->damage.code && err)
			*err = dec->damage;
		return dec->damage.code;
	}
	out->type = ev->type;
	out->kind = (enum auxtap_branch_kind)ev->kind;
	out->cpu = cpu;
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
	if (from_family && dec->family->fill_event)
		dec->family->fill_event(dec, out);
	out->comm = comm_of(dec, ev->tid, ev->time);
	if (out->cpu == SIDEBAND_UNNUMBERED_CPU)
		out->cpu = -1;
	out->gap = NULL;
	out->text = NULL;
	if (ev->gap) {
		dec->delivered = ev->gap;
		ev->gap = NULL;
		if (dec->delivered->gap.cpu == SIDEBAND_UNNUMBERED_CPU)
			dec->delivered->gap.cpu = -1;
		out->gap = &dec->delivered->gap;
		out->text = dec->delivered->text;
		/* a gap of an exited thread spans the thread's life: use its last name */
		if (out->gap->cause == AUXTAP_GAP_DISCARDED && out->gap->time_end > ev->time)
			out->comm = comm_of(dec, ev->tid, out->gap->time_end);
	}
	if (dec->delivered && dec->delivered->next)
		dec->adjacent_event = *out;
	if (ev->time && !dec->sum.time_begin)
		dec->sum.time_begin = ev->time;
	if (ev->time > dec->sum.time_end)
		dec->sum.time_end = ev->time;
	return 1;
}

int auxtap_decoder_summary(const struct auxtap_decoder *dec, struct auxtap_decode_summary *sum)
{
	struct auxtap_decode_summary copy = dec->sum;
	int ret =
		sized_check(sum, sizeof(copy), SIZED_UP_TO(struct auxtap_decode_summary, time_end),
			    "struct auxtap_decode_summary", NULL);

	if (ret)
		return ret;
	if (dec->family->add_sums)
		dec->family->add_sums(dec, &copy);
	copy.threads = dec->nr_tids;
	sized_copy_out(sum, &copy, sizeof(copy));
	return 0;
}

void auxtap_decoder_close(struct auxtap_decoder *dec)
{
	if (!dec)
		return;
	if (dec->trace)
		dec->family->destroy(dec);
	for (size_t i = dec->next_unattributed; i < dec->nr_unattributed; i++)
		free(dec->unattributed[i].gap);
	flow_gap_free(dec->delivered);
	free(dec->unattributed);
	free(dec->discarded);
	free(dec->tids);
	free(dec->filter_tids);
	free(dec->filter_cpus);
	sideband_free(&dec->sideband);
	if (dec->raw_fd >= 0)
		close(dec->raw_fd);
	pthread_mutex_destroy(&dec->read_lock);
	free(dec);
}
