/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The decoder's parts: decoder.c (merge, public face), decoder_open.c (queues of a perf.data
 * file), decoder_raw.c (bare streams), decoder_jobs.c (threads). In the place of all queues:
 * spe_decoder.c (samples of Arm SPE), cs_decoder.c (CoreSight).
 */
#ifndef AUXTAP_DECODER_PRIVATE_H
#define AUXTAP_DECODER_PRIVATE_H

#include "decode/pt/pt_queue.h"
#include "decode/spe/spe_stream.h"

struct decoder_jobs;
struct spe_decoder;
struct cs_decoder;

struct decoder_queue {
	struct pt_queue pt;
	struct pt_batch *front; /* being delivered; NULL: nothing was taken yet */
	bool finished;		/* nothing will come any more */
	size_t index;		/* in the decoder's list: the last tie-break */
	/* no event of it comes before these */
	uint64_t first_time;
	int32_t first_tid;
};

/*
 * What delivers its events by itself, merged by time, in the place of all queues: samples of Arm
 * SPE, the flow of CoreSight. An event lives until the next call.
 */
struct decoder_source {
	/* After the last stream was added, with at most so many threads; or NULL. 0 or -ENOMEM. */
	int (*start)(struct auxtap_decoder *dec, unsigned int nr_jobs);
	struct flow_event *(*peek)(struct auxtap_decoder *dec); /* NULL at the end */
	void (*pop)(struct auxtap_decoder *dec);
	/* What else there is to say of the event that was popped last; its CPU. */
	void (*facts)(const struct auxtap_decoder *dec, struct auxtap_event *ev);
	int (*error)(const struct auxtap_decoder *dec);
	/* or NULL */
	void (*sums)(const struct auxtap_decoder *dec, struct auxtap_decode_summary *sum);
	void (*free)(struct auxtap_decoder *dec);
};

#define DECODER_COMMS 8

struct auxtap_decoder {
	struct pt_shared shared;
	struct sideband sideband;
	struct auxtap_perfdata *pd;
	int raw_fd;
	pthread_mutex_t read_lock; /* pd belongs to one thread at a time */
	struct decoder_queue **queues;
	size_t nr_queues, max_queues;
	const struct decoder_source *source; /* NULL: the queues, Intel PT */
	struct spe_decoder *spe;
	struct cs_decoder *cs;
	/* merge: queues not yet begun, by first event; and a heap of the others, by next event */
	struct decoder_queue **closed, **heap;
	size_t nr_closed, closed_at, nr_heap;
	struct flow_event *unattributed; /* by time: gaps that belong to no position in a stream */
	size_t nr_unattributed, max_unattributed, unattributed_at;
	struct decoder_jobs *jobs;
	/* merge: the queue being delivered stays in front up to the limit */
	struct decoder_queue *current;
	uint64_t limit_time;
	int32_t limit_tid;
	bool limited;
	struct auxtap_error damage; /* of the file; reported after the last event */
	struct auxtap_decode_summary sum;
	int32_t *tids; /* seen; sorted */
	size_t nr_tids, max_tids;
	/* threads of the last events, by tid: each is in tids */
	struct {
		int32_t tid;
		const struct sideband_thread *thread;
	} comms[DECODER_COMMS];
	/* gap of the event handed out last; those that touch it come next */
	struct flow_gap *delivered;
	struct auxtap_event touching; /* whose they are */
};

/* decoder.c */
/* decoder_raw.c */
int raw_opts_take(struct auxtap_raw_opts *known, const struct auxtap_raw_opts *given,
		  struct auxtap_error *err);

int decoder_new(struct auxtap_decoder **dec, struct auxtap_image_set *images,
		const struct auxtap_decode_opts *opts, struct auxtap_error *err);
struct decoder_queue *decoder_add_queue(struct auxtap_decoder *dec);
int decoder_add_unattributed(struct auxtap_decoder *dec, const struct auxtap_gap *gap,
			     const char *text);
int decoder_start(struct auxtap_decoder *dec);

/* pt_open.c */
struct pt_info {
	uint64_t v[AUXTAP_PT_INFO_NR];
	size_t nr;
	bool snapshot, ours;
};

uint64_t pt_info(const struct pt_info *pi, enum auxtap_pt_info index);
void pt_configure(struct auxtap_decoder *dec, const struct pt_info *pi);
int pt_add_queues(struct auxtap_decoder *dec, const struct pt_info *pi, struct auxtap_error *err);

/* pt_merge.c */
int pt_merge_start(struct auxtap_decoder *dec);
struct flow_event *pt_merge_next(struct auxtap_decoder *dec);

/* spe_decoder.c; events live until the next call. */
int spe_decoder_new(struct auxtap_decoder *dec,
		    ssize_t (*pread)(void *ctx, void *buf, size_t size, uint64_t off));
/* In the order of the file. 0 or -ENOMEM. */
int spe_decoder_add(struct auxtap_decoder *dec, const struct spe_extent *extent);
/*
 * Of a perf.data file: the clock, whether buffers are CPUs' (by its AUXTRACE_INFO), all its
 * streams.
 */
void spe_decoder_clock(struct auxtap_decoder *dec);
bool spe_decoder_per_cpu(const uint64_t *info, size_t nr);
int spe_decoder_streams(struct auxtap_decoder *dec, struct auxtap_error *err);

/* cs_decoder.c: how a file's sideband is to be read; all its streams; those of a snapshot. */
int cs_decoder_open_raw(struct auxtap_decoder *dec, const char *path,
			const struct auxtap_raw_opts *raw, struct auxtap_error *err);
void cs_decoder_sideband(struct auxtap_decoder *dec, const uint64_t *info, size_t nr);
int cs_decoder_open_file(struct auxtap_decoder *dec, struct auxtap_error *err);
int cs_decoder_open_snapshot(struct auxtap_decoder *dec, const char *dir, struct auxtap_error *err);

/* decoder_open.c */
enum auxtap_gap_cause decoder_aux_cause(uint64_t flags);
ssize_t decoder_read_file(void *ctx, void *buf, size_t size, uint64_t off);
bool decoder_of_one_thread(const struct auxtap_decoder *dec, const struct auxtap_auxtrace *head);
/* Does the caller need nothing of this buffer? */
bool decoder_left_out(const struct auxtap_decoder *dec, const struct auxtap_auxtrace *head);
/* Flags of AUX records have no position in such streams: adds a gap of its own for each. */
int decoder_add_flagged(struct auxtap_decoder *dec, const char *text);

/* decoder_missing.c: the recorder's text, before the sideband is read. 0 or -ENOMEM. */
int decoder_note_written(struct auxtap_decoder *dec, const char *text, size_t size);
/*
 * After the last stream was added: gaps for what the file lacks at the ends of rings. pads: the
 * unit may skip bytes. end_of: where the ring's bytes in the file end, 0 without any. 0 or -ENOMEM.
 */
int decoder_add_missing(struct auxtap_decoder *dec, bool pads,
			uint64_t (*end_of)(const struct auxtap_decoder *dec,
					   const struct sideband_ring *ring));

/*
 * decoder_samples.c: trace in samples, by time; the caller frees. What cannot be read is an extra
 * gap.
 */
struct decoder_sample {
	uint64_t file_off, time;
	uint32_t size;
	int32_t tid; /* of the buffer that it was taken from; -1: a CPU's */
	int cpu;
};
bool decoder_has_samples(struct auxtap_perfdata *pd);
int decoder_find_samples(struct auxtap_decoder *dec, struct decoder_sample **samples, size_t *nr);

/* decoder_jobs.c: walks segments ahead of the reader; with nr 0 or 1 when it asks for them. */
unsigned int decoder_nr_jobs(unsigned int wanted); /* 0: one a CPU, within reason */
int decoder_jobs_start(struct auxtap_decoder *dec, unsigned int nr);
void decoder_jobs_stop(struct auxtap_decoder *dec);
/*
 * Makes the queue's next batch the front one (events of type 0 in it are none); false at its end.
 */
bool decoder_jobs_take(struct auxtap_decoder *dec, struct decoder_queue *queue);

#endif
