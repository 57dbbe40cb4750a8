/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The connection to auxtap-emu, the emulated kernel: requests, file descriptors, events.
 * perf_emulated.c and target/emulated.c share it. The messages are those of driver/emu/emu_abi.h.
 * Only one thread may use it. Also internal functions of struct auxtap_backend (backend.c).
 */
#ifndef AUXTAP_CAPTURE_EMULATED_H
#define AUXTAP_CAPTURE_EMULATED_H

#include "driver/emu/emu_abi.h"

#include <auxtap/capture.h>
#include <limits.h>

#define VALUE_LOG_MAX (1ull << 30) /* bytes of the log of register and memory values */

struct emu_link_mapping {
	void *addr;
	size_t length;
	uint64_t number; /* auxtap-emu's number of the mapping */
};

struct emu_link {
	enum auxtap_engine engine; /* the engine that runs: QEMU or PTRACE */
	bool may_fall_back;	   /* AUTO was requested: use ptrace if there is no qemu */
	char trace_unit[24];	   /* command-line argument of auxtap-emu; empty: its default */
	char max_memory[40];	   /* likewise */
	char value_log[40];	   /* likewise; empty: no value log */
	char engine_version[32];   /* as auxtap-emu reports it after spawn */
	char engine_reason[256];   /* why this engine was chosen; empty: it is the default */
	pid_t pid;
	int request_fd, event_fd;
	int epoll_fd, queued_fd; /* epoll_fd is the target's fd: new events, or queued ones */
	bool dead;
	char death[128];
	/* event number of a file descriptor; 0: none */
	int32_t *event_of_fd;
	int nr_event_of_fd, max_event_of_fd, max_counter_of_fd;
	struct emu_counter {
		uint64_t offset; /* of the event's counter in 'counters'; 0: none */
		uint64_t begin;	 /* its value when the event was opened */
	} * counter_of_fd;	 /* has as many elements as event_of_fd */
	void *counters;		 /* auxtap-emu's memory, which outlives it; NULL: not mapped */
	size_t counters_size;
	struct emu_link_mapping *mappings;
	size_t nr_mappings, max_mappings;
	/* a ring of events that arrived while a reply was awaited */
	struct auxtap_target_event *queue;
	size_t queue_head, queue_len, max_queue;
	/* processes that are running, according to the events */
	pid_t *pids;
	size_t nr_pids, max_pids;
	pid_t only_tid; /* attached to this thread only; 0: to a process */
};

struct emu_call_args {
	uint32_t call;
	int32_t event;
	uint64_t arg[5];
	const void *data;
	size_t data_size;
	const int *fds;
	int nr_fds;
	/* the reply */
	void *out;
	size_t out_max;
	size_t out_size; /* output: bytes of data in the reply */
	uint64_t value[2];
	int out_fd;  /* output: a descriptor that came with the reply, or -1 */
	bool fd_cut; /* output: one came, but this process has reached its limit */
};

/* Finds the path of auxtap-emu. -ENOENT or -EACCES, described in *err. */
int emu_link_find(char *path, size_t size, struct auxtap_error *err);
/* The path of a helper file in the directory of auxtap-emu. 0 if the file is readable. */
int emu_link_find_beside(const char *name, char *path, size_t size);
/*
 * The qemu that auxtap-emu finds for programs of target ("x86_64"): version, path and a remark, or
 * only why it finds no qemu.
 */
struct emu_engine {
	char version[32];
	char path[PATH_MAX];
	char why[256];
};
/* Returns 0 if it finds one. */
int emu_link_engine(const char *target, struct emu_engine *engine);
/*
 * Starts auxtap-emu with an engine, also in place of one that was stopped: the members
 * may_fall_back, trace_unit, max_memory and value_log are kept. Raises this process's limit of open
 * files after the fork, so that the program keeps its own. On failure nothing stays open.
 */
int emu_link_start(struct emu_link *link, enum auxtap_engine engine, struct auxtap_error *err);
void emu_link_stop(struct emu_link *link);
/* Returns the result of the call or a negative errno; -EPIPE: auxtap-emu has ended. */
int64_t emu_link_call(struct emu_link *link, struct emu_call_args *args);
/* Returns 1 and fills *ev; 0: no event; -EPIPE: auxtap-emu has ended. Never blocks. */
int emu_link_next_event(struct emu_link *link, struct auxtap_target_event *ev);

/* Checks the sizes of a caller's backend and of its tables, and that it is open. */
int backend_check(const struct auxtap_backend *be, struct auxtap_error *err);
/* Copies and checks a caller's struct. */
int backend_copy_spawn(struct auxtap_spawn *copy, const struct auxtap_spawn *spawn,
		       struct auxtap_error *err);
/* Updates the names: after spawn the engine may be another one (ptrace, if there is no qemu). */
void backend_refresh(struct auxtap_backend *be);
/* How auxtap-emu died; NULL: it is running or was never started. */
const char *backend_death(const struct auxtap_backend *be);
/*
 * The event of a session that names none, for a program of machine, which is the result of
 * auxtap_program_machine().
 */
const char *backend_default_event(const struct auxtap_backend *be, int machine);

extern const struct auxtap_perf_ops perf_emulated_ops;
extern const struct auxtap_target_ops target_ptrace_ops;
extern const struct auxtap_target_ops target_qemu_ops;

#endif
