/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every family of traces shares: decoder.c (public face, gaps that belong to no stream),
 * decoder_open.c (perf.data files), decoder_raw.c (raw streams, directories). The rest is in the
 * families' directories.
 */
#ifndef AUXTAP_DECODER_PRIVATE_H
#define AUXTAP_DECODER_PRIVATE_H

#include "decode/stream/trace_queue.h"
#include "sideband.h"
#include "trace_family.h"

#include <pthread.h>
#include <sys/types.h>

#define DECODER_COMMS 8

struct decoder_thread {
	int32_t pid, tid; /* tid -1: several that ended */
};

struct auxtap_decoder {
	struct auxtap_decode_opts opts;
	int32_t *filter_tids, *filter_cpus; /* the lists of opts, sorted */
	struct auxtap_image_set *images;
	const struct trace_family *family;
	const struct flow_ops *flow_ops; /* of family->flows; may be replaced before the start */
	void *trace;			 /* the family's */
	struct sideband sideband;
	struct auxtap_perfdata *pd;
	bool by_auxtap; /* pd was recorded by auxtap */
	int raw_fd;
	pthread_mutex_t read_lock;	 /* pd belongs to one thread at a time */
	struct flow_event *unattributed; /* by time: gaps that belong to no stream */
	size_t nr_unattributed, max_unattributed, unattributed_at;
	struct decoder_thread *discarded; /* the recorder kept no trace of these */
	size_t nr_discarded, max_discarded;
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

/* decoder_raw.c */
int raw_opts_take(struct auxtap_raw_opts *known, const struct auxtap_raw_opts *given,
		  struct auxtap_error *err);

/* For a family's open_raw(): opens a raw stream for decoder_read_raw(). */
int decoder_open_stream(struct auxtap_decoder *dec, const char *path, uint64_t *size,
			struct auxtap_error *err);
ssize_t decoder_read_raw(void *ctx, void *buf, size_t size, uint64_t off); /* ctx: dec */

/* decoder.c */
int decode_opts_take(struct auxtap_decode_opts *known, const struct auxtap_decode_opts *given,
		     struct auxtap_error *err);
int decoder_new(struct auxtap_decoder **dec, const struct trace_family *family,
		struct auxtap_image_set *images, const struct auxtap_decode_opts *opts,
		struct auxtap_error *err);
int decoder_add_unattributed(struct auxtap_decoder *dec, const struct auxtap_gap *gap,
			     const char *text);
int decoder_start(struct auxtap_decoder *dec);

/* decoder_open.c */
ssize_t decoder_read_file(void *ctx, void *buf, size_t size, uint64_t off); /* ctx: dec */
/* How a time stamp becomes perf's time, by the file's TIME_CONV record. */
void decoder_time_conv(struct auxtap_decoder *dec);
/* Did the recorder note that it kept no trace of the thread? Then that is a gap already. */
bool decoder_discarded(const struct auxtap_decoder *dec, int32_t pid, int32_t tid);
bool decoder_of_one_thread(const struct auxtap_decoder *dec, const struct auxtap_auxtrace *head);
/* Does the caller need nothing of this buffer? */
bool decoder_left_out(const struct auxtap_decoder *dec, const struct auxtap_auxtrace *head);
/* Flags of AUX records have no position in such streams: adds a gap of its own for each. */
int decoder_add_flagged(struct auxtap_decoder *dec, const char *text);

/* decoder_missing.c: the recorder's text, before the sideband is read. 0 or -ENOMEM. */
int decoder_note_written(struct auxtap_decoder *dec, const char *text, size_t size);
/*
 * After the last stream was added: gaps for what the file lacks at the ends of rings. ends: where
 * the trace in the file ends.
 */
struct decoder_missing {
	bool pads;     /* the unit may skip bytes */
	bool reported; /* the family has reported what AUX records contain and the file lacks */
	struct trace_ends ends;
};
/* The caller frees missing->ends. 0 or -ENOMEM. */
int decoder_add_missing(struct auxtap_decoder *dec, const struct decoder_missing *missing);
/* The same, where the trace is in queues as decode/stream makes them. */
int decoder_add_missing_of(struct auxtap_decoder *dec, const struct trace_queues *queues,
			   bool pads);

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

#endif
