/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A capture that opens no events: starts auxtap-emu with the qemu engine and a program, resumes
 * every task that is reported stopped, and keeps the reports. For the ground-truth files.
 */
#ifndef SUPPORT_CLIENT_H
#define SUPPORT_CLIENT_H

#include "emu/emu_abi.h"
#include <auxtap/capture.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct client_run {
	/* in */
	const char *truth; /* path prefix */
	const char *cwd;   /* NULL: "." */
	char *const *envp; /* NULL: environ */
	int kill_after_ms; /* send kill_signo this long after the start; 0: never */
	int kill_signo;
	bool hang_up; /* instead of a signal, disconnect, and wait for auxtap-emu only */
	const char *blocks, *slots; /* tunables, NULL: default */
	/* called when the program dies, all threads stopped */
	void (*on_dying)(struct client_run *run, const struct auxtap_target_event *ev);
	void *ctx;
	/* out */
	pid_t pid;
	int64_t result; /* of SPAWN */
	char why[512];
	struct emu_spawned engine; /* of a program that was started */
	int status;		   /* of the first process */
	int nr_events, nr_dying, nr_faults, nr_notices, nr_forks, nr_threads, nr_execs;
	struct auxtap_target_event dying, notice;
	uint64_t fault_ip[64];
	pid_t tids[64]; /* of all threads that existed */
	int nr_tids;
	char stdout_text[65536], stderr_text[65536];
	int request_fd, event_fd;
	pid_t emu_pid;
};

/* 0, or -1: auxtap-emu failed (printed). */
int client_run(struct client_run *run, char *const *argv);
/* One request; data_out may be NULL. Returns the result. */
int64_t client_call(struct client_run *run, uint32_t call, const uint64_t arg[5], const void *data,
		    size_t size, void *data_out, size_t max_out, size_t *size_out);
/* Reads PATH.TID; malloc'd. */
uint64_t *client_truth(const char *path, pid_t tid, size_t *nr);

#endif
