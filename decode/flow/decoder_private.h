/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of the decoder that all families of traces share: decoder.c (public API, gaps that
 * belong to no stream), decoder_open.c (perf.data files), decoder_raw.c (raw streams, snapshot
 * directories). The rest is in the families' directories.
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
	int32_t pid, tid; /* tid -1: several exited threads of the process */
};

struct auxtap_decoder {
	struct auxtap_decode_opts opts;
	int32_t *filter_tids, *filter_cpus; /* the lists of opts, sorted */
	struct auxtap_image_set *images;
	const struct trace_family *family;
	const struct flow_ops
		*flow_ops; /* one of family->flows; may be replaced before the start */
	void *trace;	   /* the family's own data */
	struct sideband sideband;
	struct auxtap_perfdata *pd;
	bool by_auxtap; /* pd was recorded by auxtap */
	int raw_fd;
	pthread_mutex_t read_lock;	 /* protects pd */
	struct flow_event *unattributed; /* gaps found before decoding, sorted by time */
	size_t nr_unattributed, max_unattributed, next_unattributed;
	struct decoder_thread *discarded; /* threads whose trace the recorder discarded */
	size_t nr_discarded, max_discarded;
	struct auxtap_error damage; /* damage of the file; reported after the last event */
	struct auxtap_decode_summary sum;
	int32_t *tids; /* of all threads with events so far; sorted */
	size_t nr_tids, max_tids;
	/* cache of the last events' threads, all of which are in tids */
	struct {
		int32_t tid;
		const struct sideband_thread *thread;
	} comms[DECODER_COMMS];
	/* the gap of the last returned event; adjacent gaps are in its list and come next */
	struct flow_gap *delivered;
	struct auxtap_event adjacent_event; /* the event to which such adjacent gaps belong */
};

/* decoder_raw.c */
int raw_opts_copy_in(struct auxtap_raw_opts *copy, const struct auxtap_raw_opts *given,
		     struct auxtap_error *err);

/* For a family's open_raw(): opens a raw stream for decoder_read_raw(). */
int decoder_open_stream(struct auxtap_decoder *dec, const char *path, uint64_t *size,
			struct auxtap_error *err);
ssize_t decoder_read_raw(void *ctx, void *buf, size_t size, uint64_t off); /* ctx: dec */

/* decoder.c */
int decode_opts_copy_in(struct auxtap_decode_opts *copy, const struct auxtap_decode_opts *given,
			struct auxtap_error *err);
int decoder_new(struct auxtap_decoder **dec, const struct trace_family *family,
		struct auxtap_image_set *images, const struct auxtap_decode_opts *opts,
		struct auxtap_error *err);
/* Adds a gap that was found before decoding; events of all streams and these are merged by time. */
int decoder_add_unattributed(struct auxtap_decoder *dec, const struct auxtap_gap *gap,
			     const char *text);
int decoder_start(struct auxtap_decoder *dec);

/* decoder_open.c */
ssize_t decoder_read_file(void *ctx, void *buf, size_t size, uint64_t off); /* ctx: dec */
/* Reads the conversion of timestamps to perf's time from the file's TIME_CONV record. */
void decoder_time_conv(struct auxtap_decoder *dec);
/*
 * Whether the recorder reported that it discarded the thread's trace: then there is a gap for it.
 */
bool decoder_was_discarded(const struct auxtap_decoder *dec, int32_t pid, int32_t tid);
/* Whether the buffer has trace of one thread only, or its header's tid is the best that is known.
 */
bool decoder_is_one_thread(const struct auxtap_decoder *dec, const struct auxtap_auxtrace *head);
/* Whether the options' thread and CPU filters exclude the whole buffer. */
bool decoder_is_filtered_out(const struct auxtap_decoder *dec, const struct auxtap_auxtrace *head);
/*
 * For streams in which AUX records have no position: adds a gap for each record with flags of loss.
 */
int decoder_add_flagged_gaps(struct auxtap_decoder *dec, const char *text);

/*
 * decoder_missing.c: reads how many bytes each unit wrote from the recorder's capture text, before
 * the sideband is read. 0 or -ENOMEM.
 */
int decoder_note_written(struct auxtap_decoder *dec, const char *text, size_t size);
/* What decoder_add_ring_end_gaps() has to know of the streams. */
struct decoder_missing {
	bool pads;     /* the unit may skip bytes */
	bool reported; /* the family has added gaps for AUX records without trace in the file */
	struct trace_ends ends; /* where the trace in the file ends */
};
/*
 * After the last stream was added: adds gaps for trace that the file lacks at the ends of rings.
 * The caller frees missing->ends. 0 or -ENOMEM.
 */
int decoder_add_ring_end_gaps(struct auxtap_decoder *dec, const struct decoder_missing *missing);
/* The same for the queues of decode/stream. */
int decoder_add_queue_end_gaps(struct auxtap_decoder *dec, const struct trace_queues *queues,
			       bool pads);

/*
 * decoder_samples.c: finds the trace in AUX samples, sorted by time; the caller frees *samples. An
 * unattributed gap is added for samples that cannot be read.
 */
struct decoder_sample {
	uint64_t file_off, time;
	uint32_t size;
	int32_t tid; /* of the buffer from which the kernel copied it; -1: a CPU's buffer */
	int cpu;
};
bool decoder_has_samples(struct auxtap_perfdata *pd);
int decoder_find_samples(struct auxtap_decoder *dec, struct decoder_sample **samples, size_t *nr);

#endif
