/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a session, and interfaces between the files of the server. */
#ifndef GDB_PRIVATE_H
#define GDB_PRIVATE_H

#include "gdb_packet.h"
#include "gdb_core.h"
#include <auxtap/gdb.h>
#include "recording.h"
#include "gdb_replay.h"
#include "gdb_values.h"

#define GDB_MAX_FILES	16
#define GDB_MAX_WATCHES 64

struct gdb_watch {
	uint64_t addr, nr_bytes;
};

struct gdb_session {
	struct auxtap_gdb_opts opts;
	struct recording rec;
	struct core_dump core;
	bool has_core;			/* core is of the end of the recording */
	struct auxtap_decoder *decoder; /* NULL: all its events are in the history */
	struct history_code code;
	struct history history;
	struct replay replay;
	bool has_history;
	struct values *values; /* memory writes and registers in the past, of each thread */
	size_t nr_values;
	struct gdb_watch watches[GDB_MAX_WATCHES];
	size_t nr_watches;
	struct auxtap_regs past_regs; /* registers in the past of the thread last asked for */
	uint64_t nr_resumes;	      /* number of steps and continues */
	struct auxtap_error *err;
	int error; /* negative errno, and *err: the session ends */
	/* the protocol */
	bool no_acks, done;
	bool btrace;		       /* the client records the branch trace */
	int32_t general_tid, cont_tid; /* threads of Hg and Hc; 0: any, -1: all */
	int32_t stopped_tid;	       /* the thread of the last stop */
	/* the thread that 0 stands for: the last that Hg or the user selected, or that stopped */
	int32_t any_tid;
	uint64_t last_sent_ns;
	struct gdb_reply reply;
	uint8_t sent[2 * GDB_PACKET_MAX + 4]; /* the last packet, for GDB_INPUT_NAK */
	size_t nr_sent;
	/* an object of qXfer as it was when the client began to read it */
	char *object;
	size_t object_size;
	char object_name[128];
	/* files: indices of images plus 1; 0: free */
	size_t files[GDB_MAX_FILES];
};

/* gdb_server.c */
void gdb_send(struct gdb_session *s, const struct gdb_reply *reply);
/* Shows the user a line, while the client waits for a stop. Escapes unprintable bytes. */
void gdb_console(struct gdb_session *s, const char *fmt, ...) AUXTAP_PRINTF(2, 3);
/* Shows the client that the server is alive, if nothing has been sent for a second. */
void gdb_keep_alive(struct gdb_session *s);

/* gdb_decode.c: decodes the trace, unless that is done. 0 or negative errno (and s->error). */
int gdb_decode(struct gdb_session *s);
void gdb_code_init(struct gdb_session *s);

/* gdb_threads.c */
/* Index of the thread in history.threads; -1: it is not there, or nothing is decoded yet. */
int gdb_thread_index(const struct gdb_session *s, int32_t tid);
bool gdb_thread_exists(const struct gdb_session *s, int32_t tid);
/* Thread number nr of the list; 0: nr is out of range. */
int32_t gdb_thread_listed(const struct gdb_session *s, size_t nr);
/* The thread's name; "": unknown. */
const char *gdb_thread_name(const struct gdb_session *s, int32_t tid);
/* Whether the thread is at the end of its recording. */
bool gdb_thread_at_end(const struct gdb_session *s, int32_t tid);
/* Whether all of them are. */
bool gdb_at_end(const struct gdb_session *s);
/* tid, if there is such a thread; otherwise (0: any, -1: all) the current thread. */
int32_t gdb_current(const struct gdb_session *s, int32_t tid);
void gdb_put_regs(struct gdb_session *s, int32_t tid);
bool gdb_put_reg(struct gdb_session *s, int32_t tid, uint64_t number);
void gdb_put_pc(struct gdb_session *s, int32_t tid);

/* gdb_resume.c */
void gdb_put_stop(struct gdb_session *s);
void gdb_resume(struct gdb_session *s, bool reverse, bool cont);

/*
 * gdb_memory.c: reads memory of the process as it was where its threads are. Returns the number of
 * bytes from addr on that are known.
 */
size_t gdb_read_memory(struct gdb_session *s, uint64_t addr, void *buf, size_t size);

/* gdb_watch.c */
/* The recorded values of a thread; NULL: none. */
const struct values *gdb_values(const struct gdb_session *s, uint32_t thread);
/* The values that contain writes to the process's memory; NULL: none. */
const struct values *gdb_values_memory(const struct gdb_session *s);
bool gdb_watch_set(struct gdb_session *s, uint64_t addr, uint64_t nr_bytes);
void gdb_watch_remove(struct gdb_session *s, uint64_t addr, uint64_t nr_bytes);
/* The first write to a watchpoint that a resume from here on reaches. */
struct gdb_hit {
	bool has_watches;
	const struct value_event *event;
	const struct gdb_watch *watch;
	uint64_t from, first; /* instructions: where the resume started; the oldest with values */
};
void gdb_watch_find(struct gdb_session *s, uint32_t thread, bool reverse, struct gdb_hit *hit);
/* After the resume: goes back to the hit, if it came first, and replies. False: it did not. */
bool gdb_watch_stop(struct gdb_session *s, uint32_t thread, bool reverse,
		    const struct gdb_hit *hit);

/* gdb_xfer.c: "object:read:annex:offset,length" */
void gdb_xfer(struct gdb_session *s, const char *args);
/* gdb_program.c: write what is known about the program to a stream; false: nothing. */
bool gdb_write_auxv(struct gdb_session *s, FILE *out);
bool gdb_write_libraries(struct gdb_session *s, FILE *out);
/* Whether the program's interpreter (PT_INTERP) is that file, which mappings name differently. */
bool gdb_is_interpreter(struct gdb_session *s, const char *name);
const char *gdb_base_name(const char *path);

/* gdb_btrace.c: objects of qXfer for the current thread; the arguments after "Qbtrace:" */
bool gdb_write_btrace(struct gdb_session *s, FILE *out);
bool gdb_write_no_btrace(struct gdb_session *s, FILE *out);
bool gdb_write_btrace_conf(struct gdb_session *s, FILE *out);
void gdb_btrace(struct gdb_session *s, const char *args);

/* gdb_file.c: the arguments after "vFile:" */
void gdb_file(struct gdb_session *s, const char *args, size_t size);

/*
 * gdb_calls.c: a thread's frames in the past, as 64-bit words: the number of resumes, that of
 * frames, then pc, entry and depth of each (history_calls.h). The number of frames is 0 where gdb
 * can unwind. Each thread has its own window, selected by its tid: since version 17 gdb does not
 * say which thread it reads memory of for Python.
 */
#define GDB_FRAMES	  0xff80000000000000ull /* the kernel's half of both architectures */
#define GDB_FRAMES_WINDOW 8192ull
#define GDB_FRAMES_END	  (GDB_FRAMES_WINDOW << 31)
size_t gdb_read_frames(struct gdb_session *s, uint64_t addr, void *buf, size_t size);
void gdb_print_calls(struct gdb_session *s, FILE *out);

/* gdb_monitor.c: a user command, in hexadecimal digits (qRcmd) */
void gdb_monitor(struct gdb_session *s, const char *hex, size_t size);

#endif
