/* SPDX-License-Identifier: BSD-2-Clause */
/* Internals of the writer: writer.c writes the records, writer_features.c what follows the data. */
#ifndef PERFDATA_WRITER_H
#define PERFDATA_WRITER_H

#include "layout.h"
#include <auxtap/perfdata.h>

/* Growing array of bytes. After a failed allocation, failed stays set and appends do nothing. */
struct pd_blob {
	unsigned char *data;
	size_t size, capacity;
	bool failed;
};

void pd_blob_append(struct pd_blob *blob, const void *data, size_t size);
void pd_blob_zeros(struct pd_blob *blob, size_t size);
void pd_blob_free(struct pd_blob *blob);

struct pd_writer_attr {
	struct perf_event_attr attr;
	char *name;
	struct pd_blob ids; /* u64 each */
};

struct auxtap_perfdata_writer {
	int fd;
	bool regular; /* no device: it can be removed, truncated, renamed */
	bool begun;
	bool had_old;
	int failed; /* negative errno of the first failed write, after which nothing is written */
	char *path, *old_path;
	char what_failed[128];

	struct pd_writer_attr *attrs;
	unsigned int nr_attrs, max_attrs;
	uint32_t attr_bytes; /* size of an attribute in this file, without the section of its ids */
	uint64_t ids_off;    /* file offset of the space for ids before the data */
	bool ids_dirty;	     /* ids were added since the attribute section was written */

	uint64_t data_off;
	/* data_off <= committed <= flushed <= end */
	uint64_t end;	    /* file offset after the last record passed by the caller */
	uint64_t flushed;   /* file offset up to which records were written to the file */
	uint64_t committed; /* file offset of the end of the data, by the size in the header */
	unsigned char *buf;
	size_t buf_used;
	uint64_t auxtrace_at;	/* file offset of the newest AUXTRACE record */
	uint64_t auxtrace_left; /* bytes of it that the caller has not passed yet */
	unsigned int auxtrace_pad;

	uint64_t time_first, time_last; /* of all records; first > last: none has a time */
	struct pd_blob auxtraces;	/* struct pd_auxtrace_entry for each AUXTRACE record */
	struct pd_blob build_ids;	/* contents of the feature section */
	struct pd_blob cmdline;		/* contents of the feature section */
	struct pd_blob metadata;	/* metadata records, as they will be in the file */
	uint64_t nr_metadata;
};

/* There is space for this many ids of each attribute before the data. */
#define PD_IDS_RESERVED 4096

/* Writes all size bytes at offset, or sets w->failed and *err. */
int pd_writer_pwrite(struct auxtap_perfdata_writer *w, const void *data, size_t size,
		     uint64_t offset, struct auxtap_error *err);
/* Writes the attribute section and the ids before the data, as many as there is space for. */
int pd_writer_front_attrs(struct auxtap_perfdata_writer *w, struct auxtap_error *err);
/* Appends the final attribute section with all ids to out; it will be at file offset 'at'. */
void pd_writer_attr_section(struct auxtap_perfdata_writer *w, struct pd_blob *out, uint64_t at);
/* Whether all ids fit in the space before the data. */
bool pd_writer_ids_fit(const struct auxtap_perfdata_writer *w);
/*
 * Writes features, attributes if their ids did not fit before the data, and metadata; sets *header,
 * which the caller writes last.
 */
int pd_writer_tail(struct auxtap_perfdata_writer *w, struct pd_file_header *header,
		   struct auxtap_error *err);
void pd_writer_header(const struct auxtap_perfdata_writer *w, struct pd_file_header *header);

#endif
