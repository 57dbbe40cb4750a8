/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a session, and what the files of the server share. */
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
	bool has_core;			/* of the end of the recording */
	struct auxtap_decoder *decoder; /* NULL: its events are in the history */
	struct history_code code;
	struct history history;
	struct replay replay;
	bool has_history;
	struct values *values; /* of threads */
	size_t nr_values;
	struct gdb_watch watches[GDB_MAX_WATCHES];
	size_t nr_watches;
	struct auxtap_regs past; /* of the thread that was asked for last */
	uint64_t nr_motions;
	struct auxtap_error *err;
	int error; /* negative errno, and *err: the session ends */
	/* the protocol */
	bool no_acks, done;
	bool btrace;		  /* the client records by it */
	int32_t general, resumed; /* threads of Hg and Hc; 0: any, -1: all */
	int32_t stopped;	  /* the thread of the last stop */
	int32_t any; /* what 0 stands for: the last that Hg or the user selected, or that stopped */
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
/* Shows the user a line, while the client waits for a stop. Escapes what is not printable. */
void gdb_console(struct gdb_session *s, const char *fmt, ...) AUXTAP_PRINTF(2, 3);
/* Shows the client that the server is alive, if it has not heard of it for a second. */
void gdb_keep_alive(struct gdb_session *s);

/* gdb_decode.c: decodes, unless it is done. 0 or negative errno (and s->error). */
int gdb_decode(struct gdb_session *s);
void gdb_code_init(struct gdb_session *s);

/* gdb_threads.c */
/* A thread's number in the history; -1: it has none there, or nothing is decoded yet. */
int gdb_thread(const struct gdb_session *s, int32_t tid);
bool gdb_thread_exists(const struct gdb_session *s, int32_t tid);
/* Thread number nr of the list; 0: nr is out of range. */
int32_t gdb_thread_listed(const struct gdb_session *s, size_t nr);
/* Its name; "": unknown. */
const char *gdb_thread_name(const struct gdb_session *s, int32_t tid);
/* Whether the thread is where the recording ends for it. */
bool gdb_thread_at_end(const struct gdb_session *s, int32_t tid);
/* Whether all of them are. */
bool gdb_at_end(const struct gdb_session *s);
/* The thread that 0 and -1 stand for. */
int32_t gdb_current(const struct gdb_session *s, int32_t tid);
void gdb_put_regs(struct gdb_session *s, int32_t tid);
bool gdb_put_reg(struct gdb_session *s, int32_t tid, uint64_t number);
void gdb_put_pc(struct gdb_session *s, int32_t tid);

/* gdb_resume.c */
void gdb_put_stop(struct gdb_session *s);
void gdb_resume(struct gdb_session *s, bool reverse, bool cont);

/* gdb_memory.c: bytes of the process as far as they are known where its threads are. */
size_t gdb_read_memory(struct gdb_session *s, uint64_t addr, void *buf, size_t size);

/* gdb_watch.c */
/* A thread's values of the past; NULL: none. */
const struct values *gdb_values(const struct gdb_session *s, uint32_t thread);
/* Those of the process's memory; NULL: none. */
const struct values *gdb_values_memory(const struct gdb_session *s);
bool gdb_watch_set(struct gdb_session *s, uint64_t addr, uint64_t nr_bytes);
void gdb_watch_remove(struct gdb_session *s, uint64_t addr, uint64_t nr_bytes);
/* What a motion from here on meets first. */
struct gdb_hit {
	bool any; /* there are watchpoints */
	const struct value_event *event;
	const struct gdb_watch *watch;
	uint64_t from, first; /* instructions: where the motion began; the oldest with values */
};
void gdb_watch_find(struct gdb_session *s, uint32_t thread, bool reverse, struct gdb_hit *hit);
/* After the motion: goes back to the hit, if it came first, and replies. False: it did not. */
bool gdb_watch_stop(struct gdb_session *s, uint32_t thread, bool reverse,
		    const struct gdb_hit *hit);

/* gdb_xfer.c: "object:read:annex:offset,length" */
void gdb_xfer(struct gdb_session *s, const char *args);
/* gdb_program.c: they write what is known of the program to a stream; false: nothing. */
bool gdb_write_auxv(struct gdb_session *s, FILE *out);
bool gdb_write_libraries(struct gdb_session *s, FILE *out);
/* Whether the program names that file as its ld.so; mappings have its real name. */
bool gdb_is_interpreter(struct gdb_session *s, const char *name);
const char *gdb_base_name(const char *path);

/* gdb_btrace.c: objects of qXfer, of the current thread; after "Qbtrace:" */
bool gdb_write_btrace(struct gdb_session *s, FILE *out);
bool gdb_write_no_btrace(struct gdb_session *s, FILE *out);
bool gdb_write_btrace_conf(struct gdb_session *s, FILE *out);
void gdb_btrace(struct gdb_session *s, const char *args);

/* gdb_file.c: after "vFile:" */
void gdb_file(struct gdb_session *s, const char *args, size_t size);

/*
 * gdb_calls.c: a thread's frames in the past, as 64-bit words: their number, then pc, entry and
 * depth of each (history_calls.h). The number is 0 where gdb can unwind. Each thread has a window
 * of its own, by its number: since version 17 gdb reads memory for Python without saying of which
 * thread.
 */
#define GDB_FRAMES	  0xff80000000000000ull /* the kernel's half of both architectures */
#define GDB_FRAMES_WINDOW 8192ull
#define GDB_FRAMES_END	  (GDB_FRAMES_WINDOW << 31)
size_t gdb_read_frames(struct gdb_session *s, uint64_t addr, void *buf, size_t size);
void gdb_print_calls(struct gdb_session *s, FILE *out);

/* gdb_monitor.c: a command of the user, its output as hexadecimal digits */
void gdb_monitor(struct gdb_session *s, const char *hex, size_t size);

#endif
