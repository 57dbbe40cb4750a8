/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Interfaces between the files of the plugin. Everything runs inside qemu, on the thread that
 * executes the guest, unless noted otherwise.
 */
#ifndef AUXTAP_QEMU_PLUGIN_H
#define AUXTAP_QEMU_PLUGIN_H

#include "exec/qemu/qemu_arch.h"
#include "qemu_plugin_api.h"
#include "exec/qemu/qemu_shm.h"

/* Set before main() of qemu runs guest code; constant afterwards, inherited by fork. */
struct qp {
	const struct qemu_arch *arch;
	struct qemu_shm *shm;
	u32 max_slots; /* a copy of shm->max_slots, which the guest may overwrite */
	char shm_path[64];
	char plugin_path[4096];
	char comm[16];
	char sysroot[4096]; /* as the user specified; "": none */
	char root[4096];    /* this program's; "": none */
	char program[4096]; /* the executed file, relative to the directory where it was started */
	u64 guest_base;
	u64 stack; /* as in struct qemu_rec */
	bool have_base;
	bool started; /* START was sent for this program */
	bool regs_valid;
	bool is_old; /* qemu before 10 */
	/* not constant: it has had a second thread, so atomics are synchronisation points */
	bool threaded;
	u64 brk, brk_end; /* the heap's pages; 0: brk() was not called yet */
	u64 handler[64];  /* address of each signal's last handler, or 0 */
	u64 has_info;	  /* bit n - 1: frames of signal n contain a siginfo */
	u64 caught;	  /* bit n - 1: signal n has a handler */
};
extern struct qp qp __attribute__((visibility("hidden")));

/*
 * The calling thread's record. Never NULL: qp_no_rec (limit 0) before the first block, qp_sink when
 * there is no consumer.
 */
extern __thread struct qemu_rec *qp_rec
	__attribute__((visibility("hidden"), tls_model("initial-exec")));
/*
 * qemu's state of this thread's CPU; NULL: unknown. rec->env is a copy of this pointer, which the
 * program may overwrite.
 */
extern __thread union qemu_env *qp_env
	__attribute__((visibility("hidden"), tls_model("initial-exec")));
extern struct qemu_rec qp_no_rec __attribute__((visibility("hidden")));
extern struct qemu_rec qp_sink __attribute__((visibility("hidden")));

static inline bool qp_recording(void)
{
	return qp_rec != &qp_no_rec && qp_rec != &qp_sink;
}

/* qemu_plugin_preload.c: at the program's start, makes qemu handle all signals that dump core. */
void qp_take_core_signals(void);

/* qemu_plugin_exception.c: whether an exception ended the calling thread's newest block. */
bool qp_left_by_exception(void);
void qp_delivery(void); /* qemu starts or ends the delivery of signals */
/* Notes that qemu restarts the block that an exception left at ip; no handler was entered. */
void qp_note_restart(u64 ip);
/*
 * Whether the only block since qp_note_restart() was left where it started, at ip: the signal's
 * frame could not be written, twice in a row.
 */
bool qp_left_restarted(u64 ip);

/* qemu_plugin_ring.c */
int qp_map(const char *path);
struct qemu_rec *qp_rec_claim(void); /* sets qp_rec */
void qp_flush(struct qemu_rec *rec);
/* Appends a message; flushes before if there is no space for it and a block. */
void qp_message(struct qemu_rec *rec, enum qemu_msg type, const void *words, u32 nr);
void qp_name(struct qemu_rec *rec, const char *name);
void qp_wait_for_tracer(struct qemu_rec *rec); /* until auxtap-emu opens rec->gate */

/* qemu_plugin_blocks.c */
enum qp_block_kind {
	QP_BLOCK_NORMAL,
	QP_BLOCK_ORDER, /* contains an instruction that orders threads */
	QP_BLOCK_SAMPLED,
	QP_BLOCK_REP,
	QP_BLOCK_WIDE,
	QP_BLOCK_VALUES,
	QP_BLOCK_REP_VALUES,
	QP_BLOCK_NONE
};
struct qp_wide { /* a block for which the tables had no space; freed with qemu's code */
	struct qp_wide *next;
	u32 nr_words;
	u32 word[4 + QEMU_BLOCK_INSNS / 4];
};
/* *arg: the callback's argument. */
enum qp_block_kind qp_block_translate(struct qemu_plugin_tb *tb, void **arg);
void qp_block_flush(qemu_plugin_id_t id);
/*
 * From now on code in [start, end) may be generated, not of a file: blocks that are translated
 * there carry their bytes.
 */
void qp_block_generates(u64 start, u64 end);
/* A mapping has moved from 'from' to 'to'. */
void qp_block_moved(u64 from, u64 to, u64 len);

/* qemu_plugin_sample.c: samples for SPE */
struct qp_sampling {
	u32 left; /* instructions to the next sample, including it; 0: not chosen yet */
	u32 random;
	u64 wanted; /* address of the sample whose data access is awaited; 0: none */
};
extern __thread struct qp_sampling qp_sampling
	__attribute__((visibility("hidden"), tls_model("initial-exec")));
void qp_sample_translate(struct qemu_plugin_tb *tb);
void qp_sample_take(u64 ip, u32 nr_insns);

/* nr_insns at ip are about to run. */
static inline void qp_sample(u64 ip, u32 nr_insns)
{
	if (qp_sampling.left > nr_insns)
		qp_sampling.left -= nr_insns;
	else
		qp_sample_take(ip, nr_insns);
}

/* qemu_plugin_start.c */
struct stat;
void qp_map_message(struct qemu_rec *rec, u64 addr, u64 len, u64 pgoff, u32 prot,
		    const struct stat *st, const char *name); /* st NULL: no file */
void qp_start(struct qemu_rec *rec, const union qemu_env *env, u64 ip);

/* qemu_plugin_syscall.c */
void qp_syscall(qemu_plugin_id_t id, unsigned int cpu, int64_t nr, uint64_t a1, uint64_t a2,
		uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8);
void qp_syscall_ret(qemu_plugin_id_t id, unsigned int cpu, int64_t nr, int64_t result);
void qp_thread_left(void); /* qemu has freed its data of the calling thread */
void qp_threads_forked(void);

/* qemu_plugin_values.c: records the calling thread's values (auxtap/values.h), if requested */
void qp_values_translate(struct qemu_plugin_tb *tb);
void qp_values_block(u64 ip, u32 nr_insns, const union qemu_env *env);
/* Something may be written there now; it is not known what. 0, ~0: all memory. */
void qp_values_unknown(u64 addr, u64 len);
/*
 * The system call that begins may write there, and nowhere else: what it changes is recorded when
 * it has returned.
 */
void qp_values_by_call(u64 addr, u64 len);
/* The system call, of which qp_values_unknown() gave the range at addr, wrote 'nr' bytes to it. */
void qp_values_call_wrote(u64 addr, u64 nr);
void qp_values_left(u64 ip);
/* May a signal handler begin here? */
bool qp_values_in_handler(const union qemu_env *env);
void qp_values_lost(void);
void qp_values_add_syscall(void);
/* The process has a second thread, whose writes have no order with those of this one. */
void qp_values_set_threaded(void);
void qp_values_forked(void);
/* qemu_plugin_heap.c: logs who allocates and frees blocks of the heap */
void qp_heap_translate(struct qemu_plugin_tb *tb);
void qp_heap_hook_image(int fd, u64 bias); /* hooks functions of a file that qemu has loaded */
/* Hooks functions of a file that the program has mapped. */
void qp_heap_hook_mapped_file(int fd, u64 addr, u64 pgoff);
/* After a system call: logs that old was unmapped, and addr mapped; lengths of 0: neither. */
void qp_heap_log_mapping(u64 old, u64 old_len, u64 addr, u64 len);
void qp_heap_mappings_change(void); /* to be called before a system call that changes mappings */
void qp_heap_forked(void);
/* number of calls that have not returned */
extern __thread u32 qp_heap_pending
	__attribute__((visibility("hidden"), tls_model("initial-exec")));
void qp_heap_entered(u64 ip); /* to be called at each block if there are any */
u64 qp_heap_ring(void);	      /* struct qemu_heap_log, or 0 */
/* qemu_plugin_kernel.c */
void qp_values_syscall(s64 nr, const u64 arg[6]);
void qp_values_syscall_failed(s64 nr, const u64 arg[6]); /* it wrote nothing */
void qp_values_syscall_ret(s64 nr, const u64 arg[6], s64 result);

/* qemu_plugin_exec.c: returns only if the program cannot be traced, or not be executed. */
void qp_exec(struct qemu_rec *rec, enum qemu_call call, const u64 arg[6]);

/*
 * qemu_plugin_guest.c: reads the guest's memory safely. Bytes read, all or -EFAULT; a string is
 * malloc'd.
 */
int qp_read(u64 addr, void *buf, size_t size);
char *qp_read_string(u64 addr, size_t max);

#endif
