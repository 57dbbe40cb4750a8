/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that runs natively, for the kernel backend. A full trace does not need ptrace: then the
 * recorder sees neither new threads nor a death before it is over. Crash mode uses ptrace
 * (native_trace.c), to read a process that is about to die.
 */
#ifndef AUXTAP_CAPTURE_NATIVE_H
#define AUXTAP_CAPTURE_NATIVE_H

#include <auxtap/capture.h>

enum traced_state {
	TRACED_RUNS,
	TRACED_HELD,	/* stopped until native_trace_resume() */
	TRACED_LISTENS, /* in group-stop (PTRACE_LISTEN), until SIGCONT */
};

struct traced_thread {
	pid_t tid, pid;
	enum traced_state state;
	int signo;  /* held: the signal that it gets when it is resumed */
	bool dying; /* its process is about to die */
};

struct native_trace {
	bool on;
	int fd; /* signalfd for SIGCHLD */
	sigset_t old_mask;
	struct traced_thread *threads;
	size_t nr, max;
	struct auxtap_target_event *events;
	size_t nr_events, max_events;
	bool lost_event; /* no memory for an event: a process may stay stopped */
};

struct native_target {
	struct native_trace trace;
	pid_t pid;
	bool child;    /* a child of this process: its exit status is known */
	bool gone;     /* PROCESS_EXIT was reported */
	int pidfd;     /* readable when the process is gone */
	int hold_fd;   /* closing it releases the child */
	int result_fd; /* the child's errno if exec failed */
};

extern const struct auxtap_target_ops target_native_ops;
extern const struct auxtap_perf_ops perf_kernel_ops;

/* Blocks SIGCHLD for the calling thread until native_trace_end(). */
int native_trace_begin(struct native_trace *w, struct auxtap_error *err);
/* Returns 1 if it traces the thread now, 0 if it was traced before, or a negative errno. */
int native_trace_seize(struct native_trace *w, pid_t pid, pid_t tid);
/* Handles all threads that stopped or exited; queues an event where capture must react. */
void native_trace_poll(struct native_trace *w);
bool native_trace_next(struct native_trace *w, struct auxtap_target_event *ev);
int native_trace_resume(struct native_trace *w, pid_t tid);
void native_trace_end(struct native_trace *w);
int native_trace_regs(struct native_trace *w, pid_t tid, struct auxtap_regs *regs);
int native_trace_siginfo(struct native_trace *w, pid_t tid, siginfo_t *info);
int native_trace_regset(struct native_trace *w, pid_t tid, int type, void *buf, size_t *size);
void native_trace_stopped(struct native_trace *w, pid_t tid, int status);

void native_target_init(struct native_target *target);
void native_target_free(struct native_target *target);

#endif
