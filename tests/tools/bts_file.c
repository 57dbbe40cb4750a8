// SPDX-License-Identifier: BSD-2-Clause
/*
 * bts_file DATA OUT [CUT]: writes the branches of a recording of Intel PT as a recording of Intel
 * BTS, one buffer for each thread, or two if there are many. A record of zeros ends each buffer,
 * since stock perf ignores the last one. CUT: bytes that are missing at the end of each buffer.
 */
#include <auxtap/decode.h>
#include <auxtap/perfdata.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORD	  3 /* 64-bit words */
#define BTS_TYPE  9
#define BTS_PRIVS 6 /* of AUXTRACE_INFO */

struct thread {
	int32_t tid;
	uint64_t *words;
	size_t nr, max;
};

static struct thread *threads;
static size_t nr_threads;

static void die(const char *what)
{
	fprintf(stderr, "bts_file: %s\n", what);
	exit(1);
}

static void add(int32_t tid, uint64_t from, uint64_t to)
{
	struct thread *t = NULL;

	for (size_t i = 0; i < nr_threads && !t; i++)
		if (threads[i].tid == tid)
			t = &threads[i];
	if (!t) {
		threads = realloc(threads, (nr_threads + 1) * sizeof(*threads));
		if (!threads)
			die("out of memory");
		t = &threads[nr_threads++];
		*t = (struct thread){.tid = tid};
	}
	if (t->nr + RECORD > t->max) {
		t->max = t->max ? 2 * t->max : 3000;
		t->words = realloc(t->words, t->max * sizeof(*t->words));
		if (!t->words)
			die("out of memory");
	}
	t->words[t->nr++] = from;
	t->words[t->nr++] = to;
	t->words[t->nr++] = 0x10;
}

static void collect(struct auxtap_perfdata *pd)
{
	struct auxtap_image_set_opts image_opts = {.size = sizeof(image_opts)};
	struct auxtap_decode_opts opts = {.size = sizeof(opts)};
	struct auxtap_image_set *images;
	struct auxtap_decoder *dec;
	struct auxtap_event ev = {.size = sizeof(ev)};

	opts.events = AUXTAP_EVENT_BRANCH | AUXTAP_EVENT_TRACE;
	if (auxtap_image_set_new(&images, &image_opts, NULL) ||
	    auxtap_decoder_open(&dec, pd, images, &opts, NULL))
		die("cannot decode");
	while (auxtap_decoder_next(dec, &ev, NULL) == 1) {
		if (ev.type == AUXTAP_EVENT_TRACE)
			add(ev.tid, ev.trace_on ? 0 : ev.ip, ev.trace_on ? ev.addr : 0);
		else if (ev.has_addr)
			add(ev.tid, ev.ip, ev.addr);
	}
	auxtap_decoder_close(dec);
	auxtap_image_set_free(images);
}

/* All but the trace's own records, with the one attribute that they are of. */
static void copy_records(struct auxtap_perfdata *pd, struct auxtap_perfdata_writer *w)
{
	struct auxtap_record rec = {.size = sizeof(rec)};

	auxtap_perfdata_rewind(pd);
	while (auxtap_perfdata_next(pd, &rec, NULL) == 1)
		if (rec.header->type < 64 && rec.header->type != PERF_RECORD_AUX &&
		    auxtap_perfdata_writer_record(w, rec.header, rec.header->size, NULL, 0, NULL))
			die("cannot write a record");
}

static void write_buffers(struct auxtap_perfdata_writer *w, const struct thread *t, uint32_t idx,
			  size_t cut)
{
	static const uint64_t zeros[RECORD];
	struct auxtap_auxtrace head = {.idx = idx,
				       .tid = (uint32_t)t->tid,
				       .cpu = UINT32_MAX,
				       .reference = 1};
	size_t nr_records = t->nr / RECORD, first = nr_records > 1000 ? nr_records / 2 : nr_records;

	for (size_t at = 0; at < nr_records; at += first) {
		size_t nr = nr_records - at < first ? nr_records - at : first;
		size_t size = nr * RECORD * 8;

		if (auxtap_perfdata_writer_auxtrace(w, &head, t->words + at * RECORD,
						    cut ? size - cut : size, zeros,
						    cut ? 0 : sizeof(zeros), NULL))
			die("cannot write a buffer");
		head.offset += size + sizeof(zeros);
		head.reference++;
	}
}

int main(int argc, char **argv)
{
	uint64_t info[BTS_PRIVS] = {BTS_TYPE, 0, 1 /* perf divides by it */, 0, 1};
	const struct auxtap_perfdata_attr *from;
	struct auxtap_perfdata_writer *w;
	struct perf_event_attr attr;
	struct auxtap_perfdata *pd;
	int index;

	if (argc < 3 || auxtap_perfdata_open(&pd, argv[1], NULL))
		die("usage: bts_file DATA OUT [CUT]");
	collect(pd);
	from = auxtap_perfdata_get_attr(pd, 0);
	if (!from || auxtap_perfdata_writer_create(&w, argv[2], NULL))
		die("cannot create the file");
	attr = from->attr;
	attr.type = BTS_TYPE;
	index = auxtap_perfdata_writer_add_attr(w, &attr, "intel_bts//u");
	for (uint32_t i = 0; i < from->nr_ids; i++)
		if (auxtap_perfdata_writer_add_id(w, index, from->ids[i]))
			die("cannot add an identifier");
	if (auxtap_perfdata_writer_begin(w, NULL) ||
	    auxtap_perfdata_writer_auxtrace_info(w, AUXTAP_AUXTRACE_INTEL_BTS, info, BTS_PRIVS,
						 NULL))
		die("cannot begin");
	copy_records(pd, w);
	for (size_t i = 0; i < nr_threads; i++)
		write_buffers(w, &threads[i], (uint32_t)i,
			      argc > 3 ? strtoul(argv[3], NULL, 0) : 0);
	if (auxtap_perfdata_writer_round(w, NULL) || auxtap_perfdata_writer_finish(w, NULL))
		die("cannot finish the file");
	auxtap_perfdata_close(pd);
	return 0;
}
