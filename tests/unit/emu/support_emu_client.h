/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small client of the emulated kernel, over its sockets as capture is, and the check of its
 * trace: libipt decodes the drained AUX area, which must equal the ground truth.
 */
#ifndef EMU_SUPPORT_CLIENT_H
#define EMU_SUPPORT_CLIENT_H

#include "emu/emu_abi.h"
#include <auxtap/capture.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* One traced thread: its event and rings, and what was drained. */
struct client_trace {
	pid_t pid, tid;
	int event, wake_fd;
	struct perf_event_mmap_page *page;
	uint8_t *data, *aux;
	size_t data_size, aux_size;
	uint8_t *stream; /* drained AUX bytes */
	size_t stream_size, max_stream;
	uint64_t aux_records, aux_bytes, truncated, lost, itrace_starts;
	int map_aux, map_data;
	struct emu_event_stats stats;
};

/* Memory mappings from the sideband, by time. */
struct client_map {
	uint64_t time, addr, len, pgoff;
	pid_t pid;
	bool exec_marker;
	char name[256];
	uint8_t *bytes; /* a copy, if there is no file */
};

struct client {
	int req, ev;
	pid_t emu;
	char truth[64]; /* path */
	struct client_trace *traces;
	int nr_traces;
	struct client_map *maps;
	int nr_maps;
	struct auxtap_target_event *events; /* all reported events */
	int nr_events;
	bool dead;
	uint8_t answer[EMU_DATA_MAX];
	uint32_t answer_size;
	int answer_fd;
	uint64_t answer_value[2];
	/* trace options */
	uint64_t config;
	size_t aux_pages;
	int stdio[3];
	int drain_every_ms;
	bool expect_loss;
	uint64_t astray; /* asynchronous changes of flow that client_verify() found: handlers */
	void (*on_event)(struct client *c, const struct auxtap_target_event *ev);
	void (*on_running)(struct client *c, pid_t pid); /* after the first resume */
	void *ctx;
};

/* options: further arguments of auxtap-emu's command line, NULL-terminated, may be NULL. */
void client_start(struct client *c, char *const *options);
int64_t client_call(struct client *c, uint32_t call, int event, const uint64_t arg[5],
		    const void *data, size_t data_size, const int *fds, int nr_fds);
int64_t client_simple(struct client *c, uint32_t call, uint64_t arg0, uint64_t arg1);
/* Starts argv and opens its first event; the program is still stopped. Returns its pid, or -errno.
 */
pid_t client_spawn(struct client *c, char *const *argv);
/* Resumes, drains and follows until the process is gone; returns its wait status. */
int client_run(struct client *c, pid_t pid);
/* The sequence of most tests: start, spawn, run. */
int client_trace_program(struct client *c, char *const *argv);
/* One event, or false after timeout_ms. */
bool client_next_event(struct client *c, struct auxtap_target_event *ev, int timeout_ms);
/* Waits until an event arrives; false if auxtap-emu and what it traces make no progress. */
bool client_wait_event(struct client *c, struct auxtap_target_event *ev);
void client_trace_task(struct client *c, pid_t pid, pid_t tid);
void client_read_maps(struct client *c, pid_t pid);
void client_drain(struct client *c);
int client_count(const struct client *c, enum auxtap_target_event_type type);
const struct auxtap_target_event *client_find(const struct client *c,
					      enum auxtap_target_event_type type, int nth);
void client_hang_up(struct client *c);
/*
 * Fails the running test unless every thread's decoded addresses are its ground truth; returns how
 * many.
 */
uint64_t client_verify(struct client *c);
/* As above for streams with losses: decoded runs must be found in the ground truth in order. */
uint64_t client_verify_lossy(struct client *c);
uint64_t *client_truth(struct client *c, pid_t tid, size_t *nr);
void client_stop(struct client *c);

#endif
