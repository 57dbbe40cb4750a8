/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Conformance: one script, played step by step to the running kernel (system calls, and the module
 * auxtap_conform for the driver's calls) and to driver/core, compared after every step. script.c:
 * the text form; generate.c: random scripts; kernel.c, model.c: the two sides; play.c: steps and
 * comparison; reduce.c: minimises a script that differs; section_o.c: rules that only a kernel
 * keeps; conform.c: the program.
 */
#ifndef TEST_CONFORM_H
#define TEST_CONFORM_H

#include <linux/perf_event.h>
#include "kmod/conform/abi.h"
#include "core/core.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define PAGE	   4096ull
#define NR_EVENTS  (CONFORM_NR_VIEWS / 3)
#define INHERITED  NR_EVENTS	   /* views from here on: what the other thread inherited */
#define TAKEN_OVER (2 * NR_EVENTS) /* what it left to the first thread when it ended (Q3) */
#define NR_MAPS	   12
#define NR_ARGS	   21
#define NR_USERS   4 /* of a script that sets limits or users (B11); 0 is always exempt */
#define PMU_DUMMY  CONFORM_NR_FLAVOURS /* software dummy event, after the module's PMUs */
/* the software event of page faults: its samples are produced on request */
#define PMU_FAULTS (PMU_DUMMY + 1)
#define NR_PMUS	   (PMU_FAULTS + 1)

#define MAX_SAMPLES 16

enum opcode {
	OP_CPU,	 /* the thread moves to it */
	OP_OPEN, /* event slot, attributes */
	OP_CLOSE,
	OP_ENABLE,
	OP_DISABLE,
	OP_MAP,	     /* data area, or AUX if off is not 0 */
	OP_ANNOUNCE, /* aux_offset and aux_size into a control page */
	OP_UNMAP,
	OP_OUTPUT,
	OP_PAUSE,
	OP_POLL,
	OP_READ,
	OP_LIMITS, /* B11: perf_event_mlock_kb, RLIMIT_MEMLOCK in bytes, perf_event_paranoid */
	OP_USER,   /* the user that maps from now on, and whether it has CAP_IPC_LOCK */
	/* 0: the first thread has only events of the script: contexts may swap (Q3) */
	OP_HOLD,
	OP_FORK,  /* another thread starts, on the same CPU; it inherits events */
	OP_TURN,  /* it (1) or the first (0) executes the following operations */
	OP_EXIT,  /* it ends */
	OP_COMM,  /* the thread takes a name of this length */
	OP_FILE,  /* maps a file executable */
	OP_DTAIL, /* the reader moves data_tail; modes below */
	OP_ATAIL,
	OP_SAMPLE, /* that many samples of an event of page faults */
	OP_BEGIN,
	OP_FLAG,
	OP_SKIP,
	OP_END,
	OP_HEAD,
	OP_ATSTOP,
	OP_GET,
	NR_OPCODES,
};

/*
 * New value of a tail: the head, some way towards it, a given value, or the head plus an offset (of
 * either sign).
 */
enum tail_mode { TAIL_ALL, TAIL_PART, TAIL_VALUE, TAIL_NEAR };
/* A size: a number, or handle->size less that number. */
enum size_mode { SIZE_BYTES, SIZE_FROM_FULL };

/* Arguments of OP_OPEN. */
enum open_arg {
	A_EVENT,
	A_PMU,
	A_TASK,
	A_CPU,
	A_CONFIG,
	A_DISABLED,
	A_INHERIT,
	A_PINNED,
	A_COMM,
	A_MMAP,
	A_MMAP2,
	A_BACKWARD,
	A_ID_ALL,
	A_SAMPLE_TYPE,
	A_WATERMARK,
	A_WAKEUP,
	A_AUX_WATERMARK,
	A_READ_FORMAT,
	A_GROUP,
	A_CLOCK,
	A_AUX_ACTION,
};

struct op {
	enum opcode code;
	int64_t arg[NR_ARGS];
};

struct script {
	struct op *ops;
	int nr, max;
	char only[32]; /* prefix of a kernel's name; "" any */
};

/* script.c */
void script_add(struct script *script, const struct op *op);
void script_free(struct script *script);
void script_print(const struct script *script, FILE *to);
void op_print(const struct op *op, FILE *to);
int script_read(struct script *script, const char *path); /* 0, or -1 and a line on stderr */
const char *op_name(enum opcode code);

/* generate.c */
void script_generate(struct script *script, uint64_t seed);

/* One side: the kernel or the model. Results as of system calls, negative errno. */
struct side {
	const char *name;
	/* starts a script; budget: it sets limits or users (B11) */
	void (*begin)(int cpu, bool budget);
	void (*end)(void);
	void (*cpu)(int cpu);
	int (*open)(int slot, const struct perf_event_attr *attr, int pmu, bool task, int cpu,
		    int group);
	uint64_t (*id)(int slot);
	void (*close)(int slot);
	int (*map)(int map, int slot, uint64_t length, int prot, int flags, uint64_t off,
		   void **addr);
	void (*unmap)(int map);
	long (*ioctl)(int slot, unsigned long request, unsigned long argument, int target);
	int (*poll)(int slot);
	long (*read)(int slot, void *buf, size_t size);
	void (*limits)(long mlock_kb, uint64_t memlock, int paranoid);
	void (*user)(int user, bool ipc_lock);
	void (*hold)(bool on);
	uint64_t (*pinned)(void); /* pages, of the address space */
	void (*comm)(const char *name);
	void (*map_file)(int which);
	long (*sample)(int slot, int nr, const struct perf_event_attr *attr);
	void (*call)(struct conform_call *call); /* ids of views are those of this side */
};
extern const struct side kernel_side, model_side;

/* kernel.c */
int kernel_possible(void); /* 0, or 77 and a line on stdout */
const struct core_kernel *kernel_set(void);
void kernel_orders(uint64_t id, struct conform_orders *orders);
const char *conform_file(int which);  /* one of three, with names of different lengths */
extern void *const conform_file_addr; /* address where it is mapped, on both sides */
/* model.c */
int model_init(const struct core_kernel *kernel);
const char *model_warning(void); /* the last one */
/* B11: the limits at the start of a script */
void model_usual(long mlock_kb, uint64_t memlock, int paranoid);
/* Q3: the module's PMUs have higher addresses than the kernel's */
void model_pmus_after(bool after);
/* C5: the chunks that the kernel's allocator returned, for the next AUX area; nr 0: unknown */
void model_orders(const struct conform_orders *orders);
/* The thread was scheduled out and in again. */
void model_switch(void);
/* The other thread has started; runs, or the first does again; has ended. */
void model_fork(int tid);
void model_turn(int who);
void model_exit(void);
/* The event that it inherited from this one; 0: none */
uint64_t model_child_id(uint64_t parent);
#define MODEL_TIME 0x7e00000000000000ull /* start of the model's clock */
#define MODEL_ANY  0x7d00000000000000ull /* a word that only the kernel knows */

enum verdict { SAME, DIFFERENT, DISTURBED };
/*
 * Possible causes of a difference other than the code under test. All but the last are observed:
 * the kernel's count of switches, of our thread or (when one hands over to the other) of our CPU,
 * or of tasks, shows that others ran, or came or went (their records).
 */
enum cause { BY_NONE, BY_SWITCH, BY_TASK, UNREPEATED, NR_CAUSES };
struct stats {
	uint64_t scripts, ops, done[NR_OPCODES], ok[NR_OPCODES];
	uint64_t bytes, records, lost_records, aux_records, itrace_records, wakeups, no_space,
		switches, swaps, chunks, errors, refused, between, disturbed, unrepeated;
};
extern struct stats stats;
/* Plays it on both sides. Describes a difference in text and at_op. */
enum verdict play(const struct script *script, char *text, size_t size, int *at_op);
/* For the previous play, if it was not SAME: what was different, as a format; and the cause. */
const char *play_differed_in(void);
enum cause play_cause(void);

/* section_o.c: 0, or 1 and lines on stdout: a rule does not hold on this kernel */
int section_o(void);

/* reduce.c: a shorter script with a difference at the same kind of operation, if possible. */
void script_reduce(struct script *script);

#endif
