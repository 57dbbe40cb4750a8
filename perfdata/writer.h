/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside of the writer: writer.c owns file and records, writer_features.c what follows
 * the data. */
#ifndef PERFDATA_WRITER_H
#define PERFDATA_WRITER_H

#include "layout.h"
#include <auxtap/perfdata.h>

/* Bytes that grow; after the first -ENOMEM 'failed' stays set and appends do nothing. */
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
	bool regular; /* not a device: it can be removed, truncated, renamed */
	bool begun;
	bool had_old;
	int failed; /* negative errno of the first failed write; nothing is written after
		     */
	char *path, *old_path;
	char what_failed[128];

	struct pd_writer_attr *attrs;
	unsigned int nr_attrs, max_attrs;
	uint32_t attr_bytes; /* of one attribute in this file, without the section of ids
			      */
	uint64_t ids_off;    /* of the space for ids before the data */
	bool ids_dirty;	     /* ids were added since the attribute section was written */

	uint64_t data_off;
	uint64_t end;	    /* file offset after the last record handed in */
	uint64_t flushed;   /* file offset up to which the file holds the records */
	uint64_t committed; /* file offset that the header's data size leads to */
	unsigned char *buf;
	size_t buf_used;
	uint64_t auxtrace_at;	/* file offset of the AUXTRACE record that comes in parts */
	uint64_t auxtrace_left; /* its bytes still to come */
	unsigned int auxtrace_pad;

	uint64_t time_first, time_last; /* of the records handed in; first > last: none */
	struct pd_blob auxtraces;	/* struct pd_auxtrace_entry each: 16 bytes per AUXTRACE */
	struct pd_blob build_ids;	/* the section's bytes */
	struct pd_blob cmdline;		/* the section's bytes */
	struct pd_blob metadata;	/* as in the file */
	uint64_t nr_metadata;
};

/* Space for this many ids of each attribute before the data. */
#define PD_IDS_RESERVED 4096

/* Writes all of it at offset, or fills w->failed and *err. */
int pd_writer_pwrite(struct auxtap_perfdata_writer *w, const void *data, size_t size,
		     uint64_t offset, struct auxtap_error *err);
/* Attribute section and ids before the data, as far as there is space. */
int pd_writer_front_attrs(struct auxtap_perfdata_writer *w, struct auxtap_error *err);
/* Bytes of the final attribute section with its ids, to be placed at file offset 'at'. */
void pd_writer_attr_section(struct auxtap_perfdata_writer *w, struct pd_blob *out, uint64_t at);
/* True if the attribute section in front of the data holds every id. */
bool pd_writer_ids_fit(const struct auxtap_perfdata_writer *w);
/* Features, attributes if they did not fit before the data, metadata; then *header for the last
 * write. */
int pd_writer_tail(struct auxtap_perfdata_writer *w, struct pd_file_header *header,
		   struct auxtap_error *err);
void pd_writer_header(const struct auxtap_perfdata_writer *w, struct pd_file_header *header);

#endif
