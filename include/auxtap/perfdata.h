/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The perf.data format: reader and writer. The layout is that of stock perf
 * (tools/perf/Documentation/perf.data-file-format.txt); records are the kernel's
 * (<linux/perf_event.h>) and perf's own user records (type >= 64).
 *
 * Thread safety: one reader or writer belongs to one thread at a time.
 * Input is untrusted: every length is checked, no file is read completely into memory.
 */
#ifndef AUXTAP_PERFDATA_H
#define AUXTAP_PERFDATA_H

#include <auxtap/error.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* User records of stock perf that auxtap writes or reads. */
enum auxtap_user_record {
	AUXTAP_RECORD_HEADER_ATTR = 64,
	AUXTAP_RECORD_EVENT_TYPE = 65,
	AUXTAP_RECORD_TRACING_DATA = 66,
	AUXTAP_RECORD_BUILD_ID = 67,
	AUXTAP_RECORD_FINISHED_ROUND = 68,
	AUXTAP_RECORD_ID_INDEX = 69,
	AUXTAP_RECORD_AUXTRACE_INFO = 70,
	AUXTAP_RECORD_AUXTRACE = 71,
	AUXTAP_RECORD_AUXTRACE_ERROR = 72,
	AUXTAP_RECORD_THREAD_MAP = 73,
	AUXTAP_RECORD_CPU_MAP = 74,
	AUXTAP_RECORD_STAT_CONFIG = 75,
	AUXTAP_RECORD_STAT = 76,
	AUXTAP_RECORD_STAT_ROUND = 77,
	AUXTAP_RECORD_EVENT_UPDATE = 78,
	AUXTAP_RECORD_TIME_CONV = 79,
	AUXTAP_RECORD_HEADER_FEATURE = 80,
	AUXTAP_RECORD_COMPRESSED = 81,
	AUXTAP_RECORD_FINISHED_INIT = 82,
	AUXTAP_RECORD_COMPRESSED2 = 83,
};

/* PERF_RECORD_AUXTRACE: the header is followed by 'size' bytes of trace, padded to 8. */
struct auxtap_auxtrace {
	struct perf_event_header header; /* .size covers this struct only */
	uint64_t size;			 /* bytes of trace that follow, padding included */
	uint64_t offset;    /* of the first byte in the AUX stream; as aux_head, it never wraps */
	uint64_t reference; /* unique for the buffer */
	uint32_t idx;	    /* queue number */
	uint32_t tid;	    /* (u32)-1: per CPU */
	uint32_t cpu;	    /* (u32)-1: per thread */
	uint32_t reserved;
};

/* PERF_RECORD_AUXTRACE_INFO.type */
enum auxtap_auxtrace_type {
	AUXTAP_AUXTRACE_INTEL_PT = 1,
	AUXTAP_AUXTRACE_INTEL_BTS = 2,
	AUXTAP_AUXTRACE_CS_ETM = 3,
	AUXTAP_AUXTRACE_ARM_SPE = 4,
};

/* Indices into the u64 array of an Intel PT AUXTRACE_INFO, as stock perf defines them. */
enum auxtap_pt_info {
	AUXTAP_PT_INFO_PMU_TYPE,
	AUXTAP_PT_INFO_TIME_SHIFT,
	AUXTAP_PT_INFO_TIME_MULT,
	AUXTAP_PT_INFO_TIME_ZERO,
	AUXTAP_PT_INFO_CAP_USER_TIME_ZERO,
	AUXTAP_PT_INFO_TSC_BIT,
	AUXTAP_PT_INFO_NORETCOMP_BIT,
	/*
	 * The records that show which thread runs on a CPU: 0 none, 1 samples of
	 * sched:sched_switch, 2 SWITCH records of the traced threads (perf uses only 'in'), 3
	 * SWITCH_CPU_WIDE records of all threads (perf takes the next thread from 'out', and fails
	 * on an 'out' of the other kind). auxtap's decoder ignores this value and uses the records.
	 */
	AUXTAP_PT_INFO_HAVE_SCHED_SWITCH,
	AUXTAP_PT_INFO_SNAPSHOT_MODE,
	AUXTAP_PT_INFO_PER_CPU_MMAPS,
	AUXTAP_PT_INFO_MTC_BIT,
	AUXTAP_PT_INFO_MTC_FREQ_BITS,
	AUXTAP_PT_INFO_TSC_CTC_N,
	AUXTAP_PT_INFO_TSC_CTC_D,
	AUXTAP_PT_INFO_CYC_BIT,
	AUXTAP_PT_INFO_MAX_NONTURBO_RATIO,
	AUXTAP_PT_INFO_FILTER_STR_LEN,
	AUXTAP_PT_INFO_NR
};

/* ---- reader ---- */

struct auxtap_perfdata; /* opaque */

enum auxtap_perfdata_form {
	AUXTAP_PERFDATA_FILE,
	AUXTAP_PERFDATA_PIPE,
	AUXTAP_PERFDATA_DIRECTORY,
};

/* One event attribute of the file. Owned by the reader, valid until close. */
struct auxtap_perfdata_attr {
	size_t size;	    /* of this library's struct */
	uint32_t file_size; /* size of the attribute in the file */
	uint32_t nr_ids;
	const uint64_t *ids;
	const char *name; /* "intel_pt//u"; NULL where the file has none */
	/* the last member, because the kernel's header adds to it; newer fields than the file's: 0
	 */
	struct perf_event_attr attr;
};

/* Which members of struct auxtap_record's sample id are set. */
#define AUXTAP_REC_PID_TID 0x1
#define AUXTAP_REC_TIME	   0x2
#define AUXTAP_REC_ID	   0x4
#define AUXTAP_REC_CPU	   0x8

/*
 * One record. 'header' points at the header in host byte order followed by
 * header->size - 8 bytes of body; valid until the next call on the same reader.
 */
struct auxtap_record {
	size_t size;
	/*
	 * Of the record in the file (in a directory: in the concatenation of its data files); if
	 * decompressed, of the enclosing record that completes it.
	 */
	uint64_t offset;
	uint64_t decompressed_off; /* offset in the stream of decompressed bytes; 0 otherwise */
	bool decompressed;
	/*
	 * In the file (if decompressed: in the decompressed stream), header included; simpleperf's
	 * may exceed header->size.
	 */
	uint32_t file_size;
	uint32_t body_size; /* at header + 1: without sample id for non-samples; at most 64 KiB */
	const struct perf_event_header *header;
	const struct auxtap_perfdata_attr *attr; /* NULL: unknown, or a user record */
	uint32_t fields;			 /* AUXTAP_REC_…: those below that are known */
	uint32_t pid, tid, cpu;
	uint64_t time, id;
	uint64_t trace_off;  /* AUXTRACE: file offset of its trace bytes */
	uint64_t trace_size; /* AUXTRACE: the bytes that the file contains */
};

struct auxtap_perfdata_info {
	size_t size; /* of this library's struct */
	enum auxtap_perfdata_form form;
	uint64_t data_off, data_size; /* 0 size and unfinished: up to the end of the file */
	bool unfinished;	      /* the recorder never wrote the header's final sizes */
	/* unfinished: bytes after data_size, which no commit covers; not read */
	uint64_t uncommitted;
	bool features_damaged; /* the table of features is beyond the end: no feature is read */
	uint32_t nr_attrs;
	uint64_t features[4]; /* bitmap of feature sections present */
};

/*
 * Opens a file, a directory written by 'perf record --threads' or "-" (standard input, which is
 * spooled into an unlinked temporary file). Reads header, attributes and features. Errors: -ENOENT,
 * -EACCES …; -EINVAL not a perf.data file; -ENOTSUP an unsupported form (the other byte order);
 * -EBADMSG damaged beyond use: see err->offset.
 */
AUXTAP_API int auxtap_perfdata_open(struct auxtap_perfdata **pd, const char *path,
				    struct auxtap_error *err);
AUXTAP_API void auxtap_perfdata_close(struct auxtap_perfdata *pd);
/* The user who owns the file; false: it came through a pipe. */
AUXTAP_API bool auxtap_perfdata_owner(const struct auxtap_perfdata *pd, uid_t *uid);
AUXTAP_API const char *auxtap_perfdata_path(const struct auxtap_perfdata *pd);
AUXTAP_API const struct auxtap_perfdata_info *
auxtap_perfdata_get_info(const struct auxtap_perfdata *pd);
/*
 * NULL past the end. In pipe mode attributes are records in the stream; open() scans it, so all are
 * known.
 */
AUXTAP_API const struct auxtap_perfdata_attr *
auxtap_perfdata_get_attr(const struct auxtap_perfdata *pd, uint32_t index);

/*
 * Next record in file order. The caller sets rec->size once. 1: *rec is filled; 0: end of data;
 * negative: the data is damaged at err->offset and cannot be read after it (all records before it
 * were returned), or -EINVAL: rec->size is not set. A compressed record is returned first, then the
 * records in it.
 */
AUXTAP_API int auxtap_perfdata_next(struct auxtap_perfdata *pd, struct auxtap_record *rec,
				    struct auxtap_error *err);
AUXTAP_API void auxtap_perfdata_rewind(struct auxtap_perfdata *pd);

/*
 * Next record in time order: kernel records (type < 64) with a time, sorted by
 * (time, position in file); those without a time come first. The first call builds an index of 16
 * bytes per record. Return values as for auxtap_perfdata_next(); damage ends the index and is
 * reported once, at the end, in err.
 */
AUXTAP_API int auxtap_perfdata_next_sorted(struct auxtap_perfdata *pd, struct auxtap_record *rec,
					   struct auxtap_error *err);
AUXTAP_API void auxtap_perfdata_rewind_sorted(struct auxtap_perfdata *pd);

/* Reads raw bytes of the file (trace: rec.trace_off). Short only at the end of the file. */
AUXTAP_API ssize_t auxtap_perfdata_pread(struct auxtap_perfdata *pd, void *buf, size_t size,
					 uint64_t offset);

/* Whose ring an event's records go to. */
struct auxtap_perfdata_id {
	uint64_t id;
	/* -1: the event is not of one CPU, not of one thread, or its number is out of range */
	int cpu;
	int32_t tid;
};
/* What ID_INDEX records say, in file order; the first call scans the records. Owned by the reader.
 */
AUXTAP_API int auxtap_perfdata_ids(struct auxtap_perfdata *pd,
				   const struct auxtap_perfdata_id **ids, size_t *nr,
				   struct auxtap_error *err);

/*
 * All AUXTRACE buffers in file order; the first call scans the records. Owned by the reader.
 */
struct auxtap_perfdata_aux {
	struct auxtap_auxtrace auxtrace; /* the record as in the file */
	uint64_t trace_off;		 /* file offset of the bytes */
	uint64_t trace_size;		 /* bytes that the file contains */
};
AUXTAP_API int auxtap_perfdata_auxtraces(struct auxtap_perfdata *pd,
					 const struct auxtap_perfdata_aux **aux, size_t *nr,
					 struct auxtap_error *err);

/*
 * The AUXTRACE_INFO record: its type and u64 array; -ENOENT: the file has none. Owned by the
 * reader.
 */
AUXTAP_API int auxtap_perfdata_auxtrace_info(struct auxtap_perfdata *pd, uint32_t *type,
					     const uint64_t **priv, size_t *nr_priv);

/*
 * Feature section or HEADER_FEATURE record number 'feature' (perf's HEADER_…): bytes owned by the
 * reader; -ENOENT.
 */
AUXTAP_API int auxtap_perfdata_feature(struct auxtap_perfdata *pd, unsigned int feature,
				       const void **data, size_t *size);
AUXTAP_API const char *auxtap_perfdata_feature_name(unsigned int feature);

/* One line of the build-id table (feature 2, BUILD_ID records, MMAP2 build ids excluded). */
struct auxtap_build_id {
	int32_t pid;
	uint16_t misc; /* PERF_RECORD_MISC_KERNEL / USER / … */
	uint8_t size;  /* bytes used in id */
	uint8_t id[20];
	const char *filename;
};
AUXTAP_API int auxtap_perfdata_build_ids(struct auxtap_perfdata *pd,
					 const struct auxtap_build_id **ids, size_t *nr);

/* The record type's name as stock perf prints it ("MMAP2", "AUXTRACE_INFO"); NULL if unknown. */
AUXTAP_API const char *auxtap_record_name(uint32_t type);

/* ---- the metadata trailer: auxtap's own records after the last feature section ---- */

enum auxtap_metadata_type {
	AUXTAP_METADATA_CAPTURE = 1, /* text: "key: value" lines (backend, source, version, …) */
	AUXTAP_METADATA_CRASH,	     /* struct auxtap_crash, see crash.h */
	AUXTAP_METADATA_THREAD,	     /* struct auxtap_crash_thread */
	AUXTAP_METADATA_MEMORY,	     /* struct auxtap_crash_memory, then the bytes */
	AUXTAP_METADATA_MAPS,	     /* text of /proc/PID/maps at the time of death */
	AUXTAP_METADATA_GAP,	     /* struct auxtap_gap */
	AUXTAP_METADATA_IMAGE,	     /* u32 name length, name, then the file's bytes (vdso) */
	AUXTAP_METADATA_WAKEUPS,     /* struct auxtap_wakeup_log, then its entries */
	AUXTAP_METADATA_MESSAGE,     /* text: what the C library printed before abort() */
	AUXTAP_METADATA_VALUES,	     /* struct auxtap_values (values.h), then its words */
	AUXTAP_METADATA_CODE,	     /* struct auxtap_crash_code, then the bytes */
	AUXTAP_METADATA_CODE_NAMES,  /* struct auxtap_crash_code_names, then a perf map */
	/*
	 * text: the mangled type of the C++ exception that the dying thread handled; if known, a
	 * line break and the text of its what()
	 */
	AUXTAP_METADATA_EXCEPTION,
	/*
	 * struct auxtap_crash_code_names, then records of a jitdump, whose JIT_CODE_LOAD have no
	 * code
	 */
	AUXTAP_METADATA_CODE_DUMP,
	AUXTAP_METADATA_HEAP_BLOCK,	 /* struct auxtap_crash_block */
	AUXTAP_METADATA_HEAP_BLOCK_CALL, /* struct auxtap_block_call, of a heap block before it */
	/* of packed files: */
	AUXTAP_METADATA_PACK = 32,   /* struct auxtap_pack_header; the first record */
	AUXTAP_METADATA_PACK_IMAGE,  /* parts of an image and of its debug file */
	AUXTAP_METADATA_PACK_SOURCE, /* lines of source files that the report shows */
};

#define AUXTAP_PACK_REDACTED 0x1 /* without memory, strings, arguments and environment */

/* A packed file says how long it is, and has a checksum. */
struct auxtap_pack_header {
	uint64_t magic;
	uint32_t version;
	uint32_t flags;	    /* AUXTAP_PACK_… */
	uint64_t file_size; /* of the whole file */
	uint64_t checksum;  /* of the whole file, with 0 here */
};

/*
 * The wakeup log of the reader of one ring: an entry for each return of poll() that found new
 * positions.
 */
struct auxtap_wakeup {
	/* in the clock of the records, as exactly as the recorder knows it */
	uint64_t time_ns;
	uint64_t aux_head, data_head; /* after the return */
	uint64_t aux_tail;	      /* what had been read by then */
	uint64_t flags;		      /* AUXTAP_WAKEUP_… */
};
/* poll() reported this ring; else another ring, or a timeout */
#define AUXTAP_WAKEUP_READABLE 0x1
/* since the last entry the reader has seen truncations, or the area full */
#define AUXTAP_WAKEUP_STOPPED 0x2
#define AUXTAP_WAKEUP_LAST    0x4 /* not a return of poll(): the end of the reader */

struct auxtap_wakeup_log {
	int32_t cpu, tid; /* of the ring; -1: none */
	uint64_t aux_size, data_size;
	uint64_t aux_watermark, data_watermark; /* AUX: as requested, 0: half; data: as in effect */
	uint64_t emulated;			/* 1: by the emulated kernel */
	uint64_t nr_wakeups;			/* in total; the log contains the first ones */
};

/*
 * Calls fn for every metadata record in the file, in order; a non-zero result of fn ends it and is
 * returned. 0: done, or no metadata.
 */
AUXTAP_API int auxtap_perfdata_metadata(struct auxtap_perfdata *pd,
					int (*fn)(void *ctx, uint32_t type, const void *data,
						  size_t size),
					void *ctx, struct auxtap_error *err);

/*
 * Is it a packed file? 1: yes, it is whole, and *head (may be NULL) is filled; 0: no; -EBADMSG: it
 * is one, but cut or damaged. The first call reads the whole file.
 */
AUXTAP_API int auxtap_perfdata_packed(struct auxtap_perfdata *pd, struct auxtap_pack_header *head,
				      struct auxtap_error *err);

/* ---- packed files: a copy of a recording with other metadata ---- */

struct auxtap_pack_writer; /* opaque */

/*
 * Copies pd's file, but for its metadata, into a new file, which gets the name 'path' when it is
 * finished. flags: AUXTAP_PACK_…. -ENOTSUP: what came through a pipe, a directory, a file that its
 * recorder did not finish; to be redacted, samples with memory or registers.
 */
AUXTAP_API int auxtap_pack_writer_create(struct auxtap_pack_writer **w, struct auxtap_perfdata *pd,
					 const char *path, uint32_t flags,
					 struct auxtap_error *err);
AUXTAP_API int auxtap_pack_writer_metadata(struct auxtap_pack_writer *w, uint32_t type,
					   const void *data, size_t size);
/*
 * Completes and renames it; an older file of that name, unless it is the recording itself, becomes
 * path.old. Always frees w.
 */
AUXTAP_API int auxtap_pack_writer_finish(struct auxtap_pack_writer *w, uint64_t *file_size,
					 struct auxtap_error *err);
/* Frees w and removes what was written. */
AUXTAP_API void auxtap_pack_writer_abort(struct auxtap_pack_writer *w);

/* ---- writer ---- */

struct auxtap_perfdata_writer; /* opaque */

/*
 * Creates path with mode 0600; an existing file is kept as path.old. Stock perf can read the file
 * up to the last commit even if this process is killed. Call order: create, add_attr…, begin,
 * (record | auxtrace | round)…, metadata…, finish. Memory: a buffer of 1 MiB; until finish 16 bytes
 * for each AUXTRACE record, and the metadata. After a failed write every call returns the same
 * error; finish then still completes the file with what was committed, and returns the error.
 */
AUXTAP_API int auxtap_perfdata_writer_create(struct auxtap_perfdata_writer **w, const char *path,
					     struct auxtap_error *err);
/* name: as printed by perf ("intel_pt//u"). Returns the attribute's index. */
AUXTAP_API int auxtap_perfdata_writer_add_attr(struct auxtap_perfdata_writer *w,
					       const struct perf_event_attr *attr,
					       const char *name);
/* May be called at any time before finish: the final attribute section comes after the data. */
AUXTAP_API int auxtap_perfdata_writer_add_id(struct auxtap_perfdata_writer *w, int attr_index,
					     uint64_t id);
AUXTAP_API int auxtap_perfdata_writer_begin(struct auxtap_perfdata_writer *w,
					    struct auxtap_error *err);
/* One complete record (header->size bytes) in two parts, so that the wrap of a ring needs no copy.
 */
AUXTAP_API int auxtap_perfdata_writer_record(struct auxtap_perfdata_writer *w, const void *part1,
					     size_t size1, const void *part2, size_t size2,
					     struct auxtap_error *err);
/* head->size is computed (size1 + size2 padded to 8), header filled in. */
AUXTAP_API int auxtap_perfdata_writer_auxtrace(struct auxtap_perfdata_writer *w,
					       const struct auxtap_auxtrace *head,
					       const void *part1, size_t size1, const void *part2,
					       size_t size2, struct auxtap_error *err);
/*
 * The same in parts, for a reader that releases space while it writes: nr_bytes is the total, which
 * the calls of _bytes must add up to, without other calls in between. A failed part fails the file.
 */
AUXTAP_API int auxtap_perfdata_writer_auxtrace_begin(struct auxtap_perfdata_writer *w,
						     const struct auxtap_auxtrace *head,
						     uint64_t nr_bytes, struct auxtap_error *err);
AUXTAP_API int auxtap_perfdata_writer_auxtrace_bytes(struct auxtap_perfdata_writer *w,
						     const void *bytes, size_t size,
						     struct auxtap_error *err);
AUXTAP_API int auxtap_perfdata_writer_auxtrace_info(struct auxtap_perfdata_writer *w, uint32_t type,
						    const uint64_t *priv, size_t nr_priv,
						    struct auxtap_error *err);
/* PERF_RECORD_FINISHED_ROUND, then commit: the header's data size covers everything written. */
AUXTAP_API int auxtap_perfdata_writer_round(struct auxtap_perfdata_writer *w,
					    struct auxtap_error *err);
AUXTAP_API int auxtap_perfdata_writer_build_id(struct auxtap_perfdata_writer *w,
					       const struct auxtap_build_id *id);
AUXTAP_API int auxtap_perfdata_writer_cmdline(struct auxtap_perfdata_writer *w, int argc,
					      char *const *argv);
AUXTAP_API int auxtap_perfdata_writer_metadata(struct auxtap_perfdata_writer *w, uint32_t type,
					       const void *data, size_t size);
AUXTAP_API uint64_t auxtap_perfdata_writer_size(const struct auxtap_perfdata_writer *w);
/*
 * After a failed write: drops what was not committed, so that metadata can be added and the file
 * finished. False: nothing was committed.
 */
AUXTAP_API bool auxtap_perfdata_writer_cut(struct auxtap_perfdata_writer *w);
/*
 * Commits, writes features (host, command line, events, build ids, auxtrace index, times) and
 * metadata; always frees w. On failure the file keeps what was committed; without a commit after
 * begin it is removed, as by abort.
 */
AUXTAP_API int auxtap_perfdata_writer_finish(struct auxtap_perfdata_writer *w,
					     struct auxtap_error *err);
/* Frees w and removes what was written; path.old is put back. */
AUXTAP_API void auxtap_perfdata_writer_abort(struct auxtap_perfdata_writer *w);

#ifdef __cplusplus
}
#endif
#endif
