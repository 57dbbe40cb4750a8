/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The system calls of the emulated kernel, as messages: the protocol between capture and
 * auxtap-emu. capture/emulated*.c is the only client, driver/emu/ the server.
 *
 * auxtap-emu is started with argv "auxtap-emu ENGINE [NAME=VALUE]..." (the execution engine, qemu
 * or ptrace; the names are those of emu_main.c's options), descriptor 3 a SOCK_SEQPACKET socket for
 * requests and replies, descriptor 4 another one for events. Both sides are programs of the same
 * user; nevertheless both check lengths. Native byte order.
 *
 * One request at a time; each has one reply. After sending a request the client also sends
 * EMU_DOORBELL to auxtap-emu, again every 2 ms until the reply arrives: the server may be sleeping
 * in waitpid(). The signal has no effect on a process without a handler. When the client hangs up,
 * tracing ends: the program continues untraced.
 */
#ifndef AUXTAP_EMU_ABI_H
#define AUXTAP_EMU_ABI_H

#include <signal.h>
#include <stdint.h>

#define EMU_ABI_VERSION 10
#define EMU_DOORBELL	SIGURG
/* threads that can be traced at a time; EMU_OPEN of one more: EUSERS */
#define EMU_NR_CPUS	1024
#define EMU_NO_FDS	124 /* exit status: no descriptors for the sockets */
#define EMU_REQUEST_FD	3
#define EMU_EVENT_FD	4
#define EMU_MESSAGE_MAX (128 * 1024)
#define EMU_DATA_MAX	(EMU_MESSAGE_MAX - 128)

enum emu_call {
	/*
	 * arg0 version -> result version; one descriptor, or none: memory with the counters of the
	 * trace units, read-only
	 */
	EMU_HELLO = 1,
	/* perf */
	/*
	 * data: struct perf_event_attr; arg0 pid, arg1 cpu, arg2 group event or -1, arg3 flags ->
	 * result event number > 0, one descriptor: an eventfd, readable on wakeup; for a PT event:
	 * value0 offset in the shared counters of a u64 that counts the bytes that its unit has
	 * written (0: none), value1 its initial value
	 */
	EMU_OPEN,
	/*
	 * event; arg0 length, arg1 prot, arg2 flags, arg3 offset -> result mapping number > 0,
	 * value0 offset in the memfd, one descriptor: memfd, opened read-only if prot has no
	 * PROT_WRITE
	 */
	EMU_MMAP,
	EMU_MUNMAP, /* arg0 mapping number */
	/*
	 * event; arg0 request, arg1 argument (a value, or an event number for SET_OUTPUT); data:
	 * the memory that a pointer argument points to -> data: its contents afterwards
	 */
	EMU_IOCTL,
	EMU_READ,     /* event; arg0 size -> data */
	EMU_CLOSE,    /* event */
	EMU_POLL,     /* event -> result revents of poll(): POLLIN, POLLHUP (E12) */
	EMU_PMU_ATTR, /* data: "pmu\0attr\0" -> data: text without newline */
	EMU_CLOCK,    /* -> value0: the current time of the clock that the records use */
	/* target */
	/*
	 * data: u32 argc, envc; cwd, argv, envp, truth path ("" none), each NUL-terminated; three
	 * descriptors: stdin, stdout, stderr -> result pid, data: struct emu_spawned
	 */
	EMU_SPAWN,
	/*
	 * arg0 pid, arg1 one thread only; data: truth path, NUL-terminated, or none. Threads follow
	 * as THREAD events with parent 0
	 */
	EMU_ATTACH,
	EMU_REGS,    /* arg0 tid -> data: struct auxtap_regs */
	EMU_SIGINFO, /* arg0 tid -> data: siginfo_t */
	EMU_MAPS,    /* arg0 pid, arg1 offset -> data: text from offset on; empty at the end */
	EMU_MEM,     /* arg0 pid, arg1 address, arg2 size -> data */
	EMU_THREADS, /* arg0 pid -> data: int32_t tids, ascending */
	EMU_RESUME,  /* arg0 tid */
	EMU_SIGNAL,  /* arg0 pid, arg1 signo */
	EMU_DETACH,  /* arg0 pid */
	EMU_STATS,   /* event -> data: struct emu_event_stats */
	/*
	 * arg0 signo, arg1 sender's pid, arg2 sender's user: capture received a signal; the started
	 * program gets it, unless it receives the same one itself (signal_route.c)
	 */
	EMU_FORWARD,
	/* arg0 tid, arg1 type of a note (NT_PRSTATUS …) -> data: registers as in a core file */
	EMU_REGSET,
	/* arg0 tid, arg1 offset, arg2 size -> data: of struct qemu_values; ENODATA: none */
	EMU_VALUES,
	EMU_HEAP,  /* the same for struct qemu_heap_log */
	EMU_FACTS, /* arg0 tid -> data: struct auxtap_target_facts; ENODATA: not supported */
	EMU_CODE,  /* as EMU_MAPS -> data: records of struct auxtap_crash_code */
};

struct emu_request {
	uint32_t call;
	int32_t event;
	uint64_t arg[5];
	uint32_t data_size; /* bytes that follow */
	uint32_t reserved;
};

struct emu_reply {
	int64_t result; /* or -errno */
	uint64_t value[2];
	uint32_t data_size;
	uint32_t reserved;
};

/* If SPAWN or ATTACH fails, data is the reason as a text; if SPAWN succeeds, it is this struct. */
struct emu_spawned {
	char version[32]; /* of the engine; "": none */
	char why[256];	  /* why it was chosen instead of the preferred one; "": it is that */
};

/*
 * Counters of the trace unit of the event's task since the event was opened; readable after the
 * task has exited, until EMU_CLOSE. Exact for the one PT event of a task: nr_written = Σ AUX sizes
 * + skipped = final head.
 *
 * While the driver has switched the unit off for lack of space, a second unit (the shadow), whose
 * output is discarded, keeps counting, also between DISABLE and ENABLE, until the unit runs again;
 * its bytes are in nr_produced and nr_dropped. They start with a PSB+, as if tracing were enabled
 * there. Code that runs after a DISABLE without a preceding truncation is not counted.
 */
struct emu_event_stats {
	uint64_t nr_produced; /* packet bytes */
	uint64_t nr_written;  /* reached the AUX area */
	/* produced while the output was stopped, or the event disabled by truncation */
	uint64_t nr_dropped;
	uint64_t nr_insns;    /* executed by the task */
	uint64_t nr_untraced; /* those of them that ran while capture had the event disabled */
};

/* Messages on EMU_EVENT_FD, to the client only: struct auxtap_target_event of capture.h. */

#endif
