/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The connection to auxtap-emu, the emulated kernel: requests, descriptors, events.
 * Shared by perf_emulated.c and target/emulated.c, which are the two sides of one server.
 * The messages are those of driver/emu/emu_abi.h. One thread.
 */
#ifndef AUXTAP_CAPTURE_EMULATED_H
#define AUXTAP_CAPTURE_EMULATED_H

#include "driver/emu/emu_abi.h"

#include <auxtap/capture.h>
#include <limits.h>

#define VALUE_LOG_MAX (1ull << 30) /* bytes of a ring of values */

struct emu_link_mapping {
	void *addr;
	size_t length;
	uint64_t number; /* the server's */
};

struct emu_link {
	enum auxtap_engine engine; /* QEMU or PTRACE: what runs */
	bool may_fall_back;	   /* source was AUTO: ptrace if qemu cannot */
	char trace_unit[24];	   /* as an argument of the server; empty: its choice */
	char max_memory[40];	   /* as an argument of the server; empty: its default */
	char values[40];	   /* likewise; empty: none */
	char engine_version[32];   /* its version, as auxtap-emu says after spawn */
	char engine_reason[256];   /* why it is not another one; empty: nothing to say */
	pid_t pid;
	int request_fd, event_fd;
	int epoll_fd, queued_fd; /* target fd: events from the server, or queued ones */
	bool dead;
	char death[128];
	/* file descriptor -> event number, 0: none */
	int32_t *event_of_fd;
	int nr_event_of_fd, max_event_of_fd, max_counter_of_fd;
	struct emu_counter {
		uint64_t offset; /* of a counter in 'counters'; 0: none */
		uint64_t begin;	 /* its value when the event was opened */
	} * counter_of_fd;	 /* as long as event_of_fd */
	void *counters;		 /* memory of the server's that outlives it; NULL: none */
	size_t counters_size;
	struct emu_link_mapping *mappings;
	size_t nr_mappings, max_mappings;
	/* events that arrived while a reply was awaited */
	struct auxtap_target_event *queue;
	size_t queue_head, queue_len, max_queue;
	/* living processes, according to the events */
	pid_t *pids;
	size_t nr_pids, max_pids;
	pid_t only_tid; /* attached to this thread alone; 0: no */
};

struct emu_call_args {
	uint32_t call;
	int32_t event;
	uint64_t arg[5];
	const void *data;
	size_t data_size;
	const int *fds;
	int nr_fds;
	/* reply */
	void *out;
	size_t out_max;
	size_t out_size; /* set: bytes of data in the reply */
	uint64_t value[2];
	int out_fd;  /* set: a descriptor that came along, or -1 */
	bool fd_cut; /* set: one came along, and this process has no number for it */
};

/* Path of auxtap-emu; -ENOENT with an explanation. */
int emu_link_find(char *path, size_t size, struct auxtap_error *err);
/* The file name of a helper in the directory of auxtap-emu. 0 if it is there. */
int emu_link_find_beside(const char *name, char *path, size_t size);
/*
 * What auxtap-emu finds for programs of target ("x86_64"): version, path and why, or only
 * why.
 */
struct emu_engine {
	char version[32];
	char path[PATH_MAX];
	char why[256];
};
/* 0: there is one. */
int emu_link_engine(const char *target, struct emu_engine *engine);
/*
 * Starts auxtap-emu with an engine, also in place of one that was stopped: of *link only
 * may_fall_back, trace_unit and max_memory are kept. Raises this process's limit of open files
 * after the fork, so that the program keeps its own. On failure nothing stays open.
 */
int emu_link_start(struct emu_link *link, enum auxtap_engine engine, struct auxtap_error *err);
void emu_link_stop(struct emu_link *link);
/* Result of the call, or a negative errno; -EPIPE: the server is gone. */
int64_t emu_link_call(struct emu_link *link, struct emu_call_args *args);
/* 1: *ev filled; 0: none; -EPIPE: the server is gone. Never blocks. */
int emu_link_next_event(struct emu_link *link, struct auxtap_target_event *ev);

/* A backend that a caller hands in, with its tables: sizes that are set, and an interface. */
int backend_check(const struct auxtap_backend *be, struct auxtap_error *err);
/* What a caller wants started. */
int backend_copy_spawn(struct auxtap_spawn *known, const struct auxtap_spawn *spawn,
		       struct auxtap_error *err);
/* After spawn the engine may be another one (qemu could not, ptrace can): name it anew. */
void backend_refresh(struct auxtap_backend *be);
/* How the emulated kernel died; NULL: it lives, or was never started. */
const char *backend_death(const struct auxtap_backend *be);
/* The event of a session that names none. */
/* machine: the program's, as auxtap_program_machine() says. */
const char *backend_default_event(const struct auxtap_backend *be, int machine);

extern const struct auxtap_perf_ops perf_emulated_ops;
extern const struct auxtap_target_ops target_ptrace_ops;
extern const struct auxtap_target_ops target_qemu_ops;

#endif
