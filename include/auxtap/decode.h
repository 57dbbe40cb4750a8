/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decode: from a perf.data file (or raw trace) to the executed flow, as events.
 *
 * Thread safety: a decoder belongs to one thread. Input is untrusted: steps and memory are
 * bounded by the size of the trace; every loss is a gap event.
 */
#ifndef AUXTAP_DECODE_H
#define AUXTAP_DECODE_H

#include <auxtap/gap.h>
#include <auxtap/image.h>
#include <auxtap/perfdata.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AUXTAP_EVENT_INSN   0x001 /* one instruction */
#define AUXTAP_EVENT_BRANCH 0x002 /* a taken change of flow: ip -> addr */
#define AUXTAP_EVENT_CALL   0x004
#define AUXTAP_EVENT_RETURN 0x008
#define AUXTAP_EVENT_ASYNC  0x010 /* interrupt, signal, fault: at ip, not yet executed */
#define AUXTAP_EVENT_TRACE  0x020 /* tracing on or off */
#define AUXTAP_EVENT_GAP    0x040
#define AUXTAP_EVENT_MEM    0x080 /* a sampled load or store at ip; addr: its data */
#define AUXTAP_EVENT_ALL    0x0ff /* each of these types */
/* library only: instructions without a taken branch between; may be split into several events */
#define AUXTAP_EVENT_BLOCK 0x100

enum auxtap_branch_kind {
	AUXTAP_BRANCH_NONE,
	AUXTAP_BRANCH_COND,
	AUXTAP_BRANCH_JUMP,
	AUXTAP_BRANCH_JUMP_INDIRECT,
	AUXTAP_BRANCH_CALL,
	AUXTAP_BRANCH_CALL_INDIRECT,
	AUXTAP_BRANCH_RETURN,
	AUXTAP_BRANCH_SYSCALL,
	AUXTAP_BRANCH_FAR,
	AUXTAP_BRANCH_INT, /* a software interrupt: int3, int1, into; not int $0x80, a SYSCALL */
};

/*
 * One event. gap and text are valid until the next call of auxtap_decoder_next(), comm until the
 * decoder is closed.
 */
struct auxtap_event {
	size_t size;
	uint32_t type; /* exactly one AUXTAP_EVENT_… */
	enum auxtap_branch_kind kind;
	uint64_t time; /* perf time, ns; 0: not known */
	uint64_t ip;   /* instruction, or source of a branch; 0 for a start of trace */
	/* target of a branch, or of a start of trace; BLOCK: its last instruction; 0: unknown */
	uint64_t addr;
	int32_t cpu; /* -1 unknown */
	int32_t pid, tid;
	/* BLOCK: instructions in [ip, addr]; else those since the thread's or CPU's last event */
	uint32_t nr_insns;
	uint32_t depth;	     /* CALL, RETURN: call depth; meaningful between gaps */
	enum auxtap_isa isa; /* of the instruction at ip */
	bool has_ip, has_addr;
	bool trace_on;	   /* TRACE */
	uint8_t insn_size; /* INSN, BRANCH: bytes in insn[] */
	uint8_t insn[15];
	uint8_t op_class, op;	      /* Arm SPE, as the last six members */
	const char *comm;	      /* NULL: unknown */
	const struct auxtap_gap *gap; /* GAP; else NULL */
	/* GAP: detail ("no image /lib/x.so", libipt's error text), may be empty; else NULL */
	const char *text;
	/*
	 * Arm SPE, whose events are samples: which of the following are known (AUXTAP_SPE_HAS_… of
	 * spe.h)
	 */
	uint32_t spe_has;
	uint16_t lat_total, lat_issue, lat_xlat; /* cycles */
	uint64_t phys, spe_events, source;
};

struct auxtap_decode_opts {
	size_t size;
	/* mask of AUXTAP_EVENT_… to return, others are not computed; 0: AUXTAP_EVENT_ALL */
	uint32_t events;
	uint64_t time_start, time_stop; /* perf time, ns; stop 0: no end */
	/* threads and CPUs to decode, copied by the decoder; an empty list: all of them */
	const int32_t *tids;
	size_t nr_tids;
	const int32_t *cpus;
	size_t nr_cpus;
	/* threads; 0: one per CPU, at most 8. The result does not depend on it */
	unsigned int jobs;
	/* only auxtap_decoder_summary() matters: events without an effect on it may be left out */
	bool only_summary;
};

/* What the traces of one family have in common. Belongs to the library. */
struct auxtap_trace_family {
	size_t size;		/* of this library's struct */
	const char *name;	/* "Intel PT" */
	const char *contents;	/* in sentences: "Intel PT trace", "Arm SPE samples" */
	uint32_t auxtrace_type; /* of perf.data files: AUXTAP_AUXTRACE_… */
	bool samples;		/* each event is a sample of its own: there is no flow */
	/* AUXTAP_EVENT_… that its traces never contain; in words: "memory samples" */
	uint32_t lacks;
	const char *lacks_text;
	/* Raw streams: family of struct auxtap_raw_opts; NULL: there are none. */
	const char *raw_name;
	bool raw_takes_cpu_model; /* the CPU's family, model and stepping have an effect */
	/* they require etm_configs; CPU, clock and sideband have no effect */
	bool raw_needs_units;
};
/* NULL: there is no trace in the file, or of no family that this version decodes. */
AUXTAP_API const struct auxtap_trace_family *auxtap_family_of_file(struct auxtap_perfdata *pd);
/* raw_name NULL: the default. NULL: no family has that name. */
AUXTAP_API const struct auxtap_trace_family *auxtap_family_of_raw(const char *raw_name);
/* NULL: dir is no snapshot. */
AUXTAP_API const struct auxtap_trace_family *auxtap_family_of_snapshot(const char *dir);

struct auxtap_decoder; /* opaque */

/*
 * pd and images must outlive the decoder; images are filled from the file's sideband. opts NULL:
 * everything is decoded.
 */
AUXTAP_API int auxtap_decoder_open(struct auxtap_decoder **dec, struct auxtap_perfdata *pd,
				   struct auxtap_image_set *images,
				   const struct auxtap_decode_opts *opts, struct auxtap_error *err);

/* A directory with a CoreSight snapshot (snapshot.ini); its memory dumps become images. */
AUXTAP_API int auxtap_decoder_open_snapshot(struct auxtap_decoder **dec, const char *dir,
					    struct auxtap_image_set *images,
					    const struct auxtap_decode_opts *opts,
					    struct auxtap_error *err);
/* Whether dir is a CoreSight snapshot. */
AUXTAP_API bool auxtap_is_coresight_snapshot(const char *dir);

/* A raw stream without a container. Arm SPE and ETM ignore the fields about the CPU. */
struct auxtap_raw_opts {
	size_t size;
	const char *family;			 /* "pt", "spe", "etm" */
	int cpu_family, cpu_model, cpu_stepping; /* 0 0 0: unknown */
	const char *const *sideband;		 /* files of raw records; the first is primary */
	unsigned int nr_sideband;
	uint64_t sample_type;
	uint64_t time_shift, time_mult, time_zero;
	/* For times between timestamps (CYC, MTC); 0: unknown. */
	uint8_t mtc_freq;			 /* IA32_RTIT_CTL[17:14] */
	uint8_t nom_freq;			 /* MSR_PLATFORM_INFO[15:8] */
	uint32_t cpuid_0x15_eax, cpuid_0x15_ebx; /* TSC : crystal clock is ebx : eax */
	/* added to a timestamp before its conversion to perf's time */
	uint64_t tsc_offset;
	/*
	 * ETM: .ini files with the registers of the trace units, in the form of a CoreSight
	 * snapshot.
	 */
	const char *const *etm_configs;
	unsigned int nr_etm_configs;
	/* "source_data" (one unit's bytes), "coresight" (frames) …; NULL: source_data. */
	const char *etm_format;
};
AUXTAP_API int auxtap_decoder_open_raw(struct auxtap_decoder **dec, const char *path,
				       const struct auxtap_raw_opts *raw,
				       struct auxtap_image_set *images,
				       const struct auxtap_decode_opts *opts,
				       struct auxtap_error *err);
/*
 * Next event: within a thread in execution order, between threads by time, then by tid. The caller
 * sets ev->size once; ev->gap and ev->text belong to the decoder until the next call, which first
 * returns further gaps that touch this one. 1; 0 at the end of an intact trace; negative errno, of
 * a damaged file only after all that could be decoded, and again by each later call.
 */
AUXTAP_API int auxtap_decoder_next(struct auxtap_decoder *dec, struct auxtap_event *ev,
				   struct auxtap_error *err);
AUXTAP_API void auxtap_decoder_close(struct auxtap_decoder *dec);

struct auxtap_decode_summary {
	size_t size;
	uint64_t instructions, branches, gaps, errors, bytes, threads; /* errors are gaps, too */
	uint64_t time_begin, time_end;
};
/* The sums so far. 0, or -EINVAL: the size of *sum is not set. */
AUXTAP_API int auxtap_decoder_summary(const struct auxtap_decoder *dec,
				      struct auxtap_decode_summary *sum);

/*
 * The decoder libraries with their versions: 0 "libipt 2.0.5", 1 "OpenCSD 1.3.3"; then NULL. Static
 * strings.
 */
AUXTAP_API const char *auxtap_decode_library(unsigned int index);

/*
 * OpenCSD may crash or abort on damaged trace. The library installs no signal handlers; a program
 * that wants to survive that, or to report it, calls these from a handler of its own for SIGSEGV,
 * SIGBUS, SIGFPE, SIGILL and SIGABRT. Both are async-signal-safe.
 *
 * Whether this thread is in a call of OpenCSD; *offset: about where in the trace.
 */
AUXTAP_API bool auxtap_decoder_in_library(uint64_t *offset);
/*
 * Ends that call, and does not return if there is one: the rest of the stream becomes a gap, and
 * what OpenCSD had allocated is lost. Not after SIGABRT: the heap may be damaged.
 */
AUXTAP_API void auxtap_decoder_leave_library(void);

/* ---- packets ---- */

/* One packet of a buffer that starts at a packet boundary or must be synchronised first. */
struct auxtap_packet {
	size_t size;	 /* of this library's struct */
	uint64_t offset; /* in the stream */
	uint8_t nr_bytes;
	uint8_t bytes[16];
	char text[384];	  /* "tip.pge 3: 0000000000400511" */
	const char *name; /* "tip.pge" */
	bool has_ip;
	uint64_t ip;
};
/*
 * Calls fn for each packet; undecodable bytes are reported with name "error" and libipt's error
 * text.
 */
AUXTAP_API int auxtap_pt_packets(const void *trace, size_t size, uint64_t offset,
				 int (*fn)(void *ctx, const struct auxtap_packet *pkt), void *ctx,
				 struct auxtap_error *err);

/* ---- report ---- */

enum auxtap_report_format {
	AUXTAP_REPORT_TEXT,
	AUXTAP_REPORT_JSON, /* as docs/report-json.md says; colour and width have no effect */
};

struct auxtap_report_opts {
	size_t size;
	bool colour;
	unsigned int width;	  /* columns; 0: 100 */
	unsigned int nr_branches; /* last branches shown; 0: 16 */
	unsigned int nr_calls;	  /* lines of the call tree; 0: at most 40, without the start-up */
	const struct auxtap_image_set_opts *images; /* where images are; NULL: the defaults */
	enum auxtap_report_format format;
};
/* Prints the report of a crash, else an overview; and which images are needed, found, missing. */
AUXTAP_API int auxtap_report(struct auxtap_perfdata *pd, const struct auxtap_report_opts *opts,
			     FILE *out, struct auxtap_error *err);
/*
 * Prints the overview of a raw trace. images, which may contain images from
 * auxtap_image_set_add_file(), belongs to the caller; the field images of opts is ignored.
 */
AUXTAP_API int auxtap_report_raw(const char *path, const struct auxtap_raw_opts *raw,
				 struct auxtap_image_set *images,
				 const struct auxtap_report_opts *opts, FILE *out,
				 struct auxtap_error *err);
/* The same for the directory of a CoreSight snapshot. */
AUXTAP_API int auxtap_report_snapshot(const char *dir, struct auxtap_image_set *images,
				      const struct auxtap_report_opts *opts, FILE *out,
				      struct auxtap_error *err);

#ifdef __cplusplus
}
#endif
#endif
