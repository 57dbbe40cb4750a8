/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Internals of the reader: reader.c opens the file and reads the attributes, cursor.c reads the
 * records, scan.c collects what must be known before the first record, sorted.c returns records by
 * time, features.c and metadata.c read what follows the data.
 */
#ifndef PERFDATA_READER_H
#define PERFDATA_READER_H

#include "layout.h"
#include "source.h"
#include <auxtap/perfdata.h>

#define PD_WINDOW     (1u << 18) /* bytes of the file in memory at a time */
#define PD_RECORD_MAX 65536u	 /* header.size is 16 bits wide */

/* A range of records: the header's data section, or a data file of a directory. */
struct pd_range {
	uint64_t begin, end;
	bool cut; /* the file ends before the data section that the header describes */
};

struct pd_zstd; /* cursor_zstd.c */

struct pd_cursor {
	struct auxtap_perfdata *pd;
	unsigned int range;
	uint64_t pos; /* of the next record */
	bool started;
	int damaged; /* negative errno of the first failure, returned by all later calls */
	struct auxtap_error damage;
	bool raw; /* compressed records are not decompressed */
	unsigned char *window;
	uint64_t window_off;
	size_t window_size;
	struct pd_zstd *zstd;
	uint64_t zstd_record; /* offset of the compressed record being decompressed */
	_Alignas(8) unsigned char record[PD_RECORD_MAX];
};

struct pd_attr {
	struct auxtap_perfdata_attr pub; /* pub.ids points into ids */
	uint64_t *ids;
	char *name;
};

struct pd_id {
	uint64_t id;
	uint32_t attr;
};

struct pd_feature_data {
	uint64_t offset, size; /* in the source */
	bool present, loaded;
	unsigned char *data;
};

/* An element of the time-ordered index. */
struct pd_sorted {
	uint64_t time;
	uint64_t pos; /* file offset; with PD_SORTED_SPOOLED, in the file of decompressed records */
};
#define PD_SORTED_SPOOLED (1ULL << 63)

struct auxtap_perfdata {
	struct pd_source src;
	char *path;
	struct pd_file_header header;
	struct auxtap_perfdata_info info;
	struct pd_range *ranges;
	unsigned int nr_ranges, max_ranges;

	struct pd_attr *attrs;
	uint32_t nr_attrs, max_attrs;
	uint64_t ids_total; /* bounded by the file's size */
	struct pd_id *ids;  /* sorted by id */
	size_t nr_ids;
	bool same_layout;	     /* all attributes have one sample_type and sample_id_all */
	int sample_pos, trailer_pos; /* of the id, if the same for all attributes; else -1 */

	struct pd_feature_data features[PD_FEAT_END];
	uint64_t features_total; /* bytes loaded, bounded by the file's size */

	struct auxtap_build_id *build_ids;
	size_t nr_build_ids, max_build_ids;
	bool build_ids_read;

	bool scanned;
	int scan_ret; /* damage found by the scan */
	struct auxtap_error scan_err;
	struct auxtap_perfdata_id *id_index;
	size_t nr_id_index, max_id_index;
	struct auxtap_perfdata_aux *auxtraces;
	size_t nr_auxtraces, max_auxtraces;
	bool have_info;
	uint32_t info_type;
	uint64_t *info_priv;
	size_t info_nr;

	struct pd_cursor *cursor; /* of auxtap_perfdata_next() */
	struct pd_cursor *scan;	  /* while scanning */

	bool indexed;
	struct pd_sorted *index;
	size_t nr_index, max_index, index_at;
	int index_ret; /* damage, reported after the last record */
	struct auxtap_error index_err;
	bool pack_checked;
	int pack_state; /* the result of auxtap_perfdata_packed() */
	struct auxtap_pack_header pack_head;
	struct auxtap_error pack_err;

	int spool_fd;
	uint64_t spool_size;
	unsigned char *sorted_record;
};

/* Takes ownership of fd. For tests and fuzzing, which use a memfd. */
int pd_open_fd(struct auxtap_perfdata **pd, int fd, const char *name, struct auxtap_error *err);

/* reader.c */
int pd_attr_add(struct auxtap_perfdata *pd, const void *attr, uint32_t attr_size, const void *ids,
		uint64_t nr_ids);
int pd_attrs_done(struct auxtap_perfdata *pd);
struct pd_attr *pd_attr_by_id(struct auxtap_perfdata *pd, uint64_t id);
int pd_attr_set_name(struct pd_attr *attr, const char *name, size_t size);
/* Sets attr, fields, pid, … and body_size of rec, by the attribute and sample id of its record. */
void pd_identify(const struct auxtap_perfdata *pd, struct auxtap_record *rec, uint32_t size);

/* cursor.c */
struct pd_cursor *pd_cursor_new(struct auxtap_perfdata *pd, bool raw);
void pd_cursor_free(struct pd_cursor *cur);
void pd_cursor_rewind(struct pd_cursor *cur);
int pd_cursor_next(struct pd_cursor *cur, struct auxtap_record *rec, struct auxtap_error *err);

/* cursor_zstd.c: feed a compressed record, then call next until it returns 0 */
int pd_zstd_feed(struct pd_cursor *cur, const struct auxtap_record *rec, struct auxtap_error *err);
int pd_zstd_next(struct pd_cursor *cur, struct auxtap_record *rec, struct auxtap_error *err);
/* Number of bytes left of an incomplete record. */
size_t pd_zstd_left(const struct pd_cursor *cur);
void pd_zstd_reset(struct pd_cursor *cur);
void pd_zstd_free(struct pd_cursor *cur);

/* sorted.c */
int pd_sorted_next(struct auxtap_perfdata *pd, struct auxtap_record *rec, struct auxtap_error *err);

/* scan.c */
int pd_scan(struct auxtap_perfdata *pd);

/* metadata.c: where the file's metadata begins; 0: it has none */
uint64_t pd_metadata_begin(const struct auxtap_perfdata *pd);

/* pack_check.c: the checksum of the whole file, computed with 0 in place of the stored one */
int pd_pack_checksum(int (*read)(void *ctx, void *buf, size_t size, uint64_t off), void *ctx,
		     uint64_t size, uint64_t checksum_at, uint64_t *checksum);

/* features.c */
void pd_features_open(struct auxtap_perfdata *pd, uint64_t table);
void pd_feature_add(struct auxtap_perfdata *pd, unsigned int feature, uint64_t offset,
		    uint64_t size);
void pd_event_desc_names(struct auxtap_perfdata *pd);
int pd_build_id_add(struct auxtap_perfdata *pd, const void *record, size_t size);

#endif
