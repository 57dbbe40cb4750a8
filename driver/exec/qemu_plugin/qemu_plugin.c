// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The plugin that qemu-user loads: reports every block that starts to run. It encodes nothing; ids
 * of blocks go through shared memory to auxtap-emu (qemu.c), which outlives qemu. This file
 * contains installation and the callbacks of generated code, the hot path.
 */
#include "qemu_plugin.h"
#include "hw/x86_insn.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PLUGIN_EXPORT __attribute__((visibility("default")))

PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc,
				      char **argv);

/* si_code, as far as it is known: greater than 0 for a fault of the program. */
static s32 code_of(struct qemu_rec *rec, u64 signo, u64 info)
{
	u64 bit = 1ull << (signo - 1);
	bool sent = __atomic_fetch_and(&rec->sent, ~bit, __ATOMIC_ACQ_REL) & bit;
	s32 si_code = 0;

	/* without SA_SIGINFO the frame has no siginfo: it is a fault unless a process sent it */
	if (qp.has_info & bit && !qp_read(info + 8, &si_code, sizeof(si_code)))
		return si_code;
	return sent ? SI_USER : SI_KERNEL;
}

/* The id of the newest block, QEMU_MAX_BLOCKS or more if unknown, or if a message came after it. */
static inline u32 previous_block(const struct qemu_rec *rec)
{
	/* a message ends with a word that is not a block id */
	return rec->nr ? rec->word[(rec->nr - 1) % QEMU_CHUNK_WORDS] : rec->last_block;
}

/*
 * Reports that a handler of the program starts: the frame that qemu built shows where the program
 * was interrupted. False: none starts.
 */
static bool report_signal(struct qemu_rec *rec, const union qemu_env *env, u64 ip)
{
	struct qemu_frame frame = {0};
	u64 sp = qp.arch->sp(env);
	s32 si_code = 0;
	u32 word[4], signo = 0, previous = previous_block(rec);
	u64 ran = previous < QEMU_MAX_BLOCKS ? qp.shm->block[previous].ip : 0;

	/*
	 * Frames may be stacked: a second signal interrupts the first handler's first instruction.
	 * The one that was delivered first has interrupted the program. But if the second signal is
	 * a fault, that instruction has caused it, and the first one has been reported.
	 */
	for (int depth = 0; depth < 64; depth++) {
		bool is_handler = false;

		for (int i = 0; i < 64; i++)
			if (qp.handler[i] == ip)
				is_handler = true;
		if (!is_handler || (ip == ran && qemu_is_fault((int)signo, si_code)) ||
		    qp.arch->frame(env, sp, frame.at, qp_read, &frame))
			break;
		if (frame.signo < 1 || frame.signo > 64)
			break;
		signo = (u32)frame.signo;
		si_code = code_of(rec, frame.signo, frame.info);
		ip = frame.ip;
		sp = frame.sp;
	}
	if (!signo)
		return false;
	word[0] = signo;
	word[1] = (u32)si_code;
	word[2] = (u32)ip;
	word[3] = (u32)(ip >> 32);
	qp_message(rec, QEMU_MSG_SIGNAL, word, 4);
	return true;
}

/*
 * qemu has delivered signals. If it cannot write the frame of a handler it executes the faulting
 * instruction once more, in a block that starts with it: the previous block ends there. True: that
 * happened.
 */
static bool after_delivery(struct qemu_rec *rec, const union qemu_env *env, u64 ip)
{
	u32 word[2] = {(u32)ip, (u32)(ip >> 32)};
	bool is_handler = report_signal(rec, env, ip), is_left = qp_left_by_exception();

	/* a frame was written, or a part of one */
	if (is_handler || is_left || qp_values_in_handler(env))
		qp_values_unknown(0, ~0ull);
	if (is_handler || !is_left)
		return false;
	qp_message(rec, QEMU_MSG_LEFT, word, 2);
	return true;
}

/* Makes space for a block and a message, and does everything that is not needed for every block. */
static __attribute__((noinline)) struct qemu_rec *slow_path(struct qemu_rec *rec, void *env, u64 ip)
{
	bool again = false;

	if (rec == &qp_no_rec) {
		rec = qp_rec_claim();
		if (rec == &qp_sink)
			goto sink;
		rec->env = (u64)(uintptr_t)env;
		qp_env = env;
		if (!qp.started)
			qp_start(rec, env, ip);
		else
			/* a forked child or thread may start in a handler */
			report_signal(rec, env, ip);
		rec = qp_rec;
	}
	if (rec == &qp_sink)
		goto sink;
	if (!rec->limit) {
		rec->limit = QEMU_CHUNK_LIMIT;
		if (rec->regs_valid)
			again = after_delivery(rec, env, ip);
	}
	if (rec->nr >= QEMU_CHUNK_LIMIT)
		qp_flush(rec);
	if (again)
		qp_note_restart(ip);
	if (qp_rec != &qp_sink)
		return qp_rec;
sink:
	qp_sink.nr = 0;
	qp_sink.limit = QEMU_CHUNK_LIMIT;
	return &qp_sink;
}

static inline void append(struct qemu_rec *rec, u32 word)
{
	u32 nr = rec->nr;

	rec->word[nr % QEMU_CHUNK_WORDS] = word;
	qemu_store(&rec->nr, nr + 1);
}

/* Checks whether a hooked function has returned to ip. */
static inline void enter_block(u64 ip)
{
	if (__builtin_expect(qp_heap_pending != 0, 0))
		qp_heap_entered(ip);
}

static __attribute__((used)) void block_body(unsigned int cpu, void *arg, void *env)
{
	struct qemu_rec *rec = qp_rec;
	u32 id = (u32)(uintptr_t)arg;

	(void)cpu;
	if (__builtin_expect(rec->nr >= rec->limit, 0))
		rec = slow_path(rec, env, qp.shm->block[id].ip);
	enter_block(qp.shm->block[id].ip);
	append(rec, id);
}

/*
 * The block may take or release a lock: flushes everything before it, so that it is ordered among
 * all threads before another thread can continue because of this block.
 */
static __attribute__((used)) void order_body(unsigned int cpu, void *arg, void *env)
{
	struct qemu_rec *rec = qp_rec;
	u32 id = (u32)(uintptr_t)arg;

	(void)cpu;
	if (__builtin_expect(rec->nr >= rec->limit, 0))
		rec = slow_path(rec, env, qp.shm->block[id].ip);
	enter_block(qp.shm->block[id].ip);
	if (qp.threaded && qp_recording()) {
		qp_flush(rec);
		qp_message(qp_rec, QEMU_MSG_ORDER, NULL, 0);
	}
	append(qp_rec, id);
}

static __attribute__((used)) void sampled_body(unsigned int cpu, void *arg, void *env)
{
	const struct qemu_block *block = &qp.shm->block[(u32)(uintptr_t)arg];

	block_body(cpu, arg, env);
	qp_sample(block->ip, block->nr_insns);
}

/* REP re-enters its block with every iteration, but is one instruction: false if re-entered. */
static inline bool begin_rep(void *arg, void *env)
{
	struct qemu_rec *rec = qp_rec;
	u32 id = (u32)(uintptr_t)arg, previous;

	if (__builtin_expect(rec->nr >= rec->limit, 0))
		rec = slow_path(rec, env, qp.shm->block[id].ip);
	enter_block(qp.shm->block[id].ip);
	previous = previous_block(rec);
	if (previous < QEMU_MAX_BLOCKS) {
		const struct qemu_block *p = &qp.shm->block[previous];

		if (p->last_flags & X86_INSN_REP && p->ip + p->last_off == qp.shm->block[id].ip)
			return false;
	}
	append(rec, id);
	return true;
}

static __attribute__((used)) void rep_body(unsigned int cpu, void *arg, void *env)
{
	(void)cpu;
	begin_rep(arg, env);
}

static __attribute__((used)) void wide_body(unsigned int cpu, void *arg, void *env)
{
	const struct qp_wide *wide = arg;
	struct qemu_rec *rec = qp_rec;

	(void)cpu;
	if (__builtin_expect(rec->nr >= rec->limit, 0))
		rec = slow_path(rec, env, wide->word[0] | (u64)wide->word[1] << 32);
	enter_block(wide->word[0] | (u64)wide->word[1] << 32);
	qp_values_lost();
	if (rec == &qp_sink)
		append(rec, 0);
	else
		qp_message(rec, QEMU_MSG_WIDE, wide->word, wide->nr_words);
	if (qp.arch->samples && qemu_load(&qp.shm->sampled))
		qp_sample(wide->word[0] | (u64)wide->word[1] << 32, wide->word[2] & 0xffff);
}

static __attribute__((used)) void vsyscall_body(unsigned int cpu, void *arg, void *env)
{
	u64 ip = (u64)(uintptr_t)arg;
	u32 word[2] = {(u32)ip, (u32)(ip >> 32)};
	struct qemu_rec *rec = qp_rec;

	(void)cpu;
	if (rec->nr >= rec->limit)
		rec = slow_path(rec, env, ip);
	qp_values_lost();
	qp_message(rec, QEMU_MSG_VSYSCALL, word, 2);
}

/* With --values. */
static __attribute__((used)) void values_body(unsigned int cpu, void *arg, void *env)
{
	const struct qemu_block *block = &qp.shm->block[(u32)(uintptr_t)arg];

	block_body(cpu, arg, env);
	qp_values_block(block->ip, block->nr_insns, env);
}

static __attribute__((used)) void rep_values_body(unsigned int cpu, void *arg, void *env)
{
	(void)cpu;
	/* re-entered after an interrupt: it is not a new block */
	if (!begin_rep(arg, env))
		qp_values_lost();
	qp_values_block(qp.shm->block[(u32)(uintptr_t)arg].ip, 1, env);
}

QEMU_CALLBACK_WITH_ENV(on_block, block_body)
QEMU_CALLBACK_WITH_ENV(on_order, order_body)
QEMU_CALLBACK_WITH_ENV(on_values, values_body)
QEMU_CALLBACK_WITH_ENV(on_rep_values, rep_values_body)
QEMU_CALLBACK_WITH_ENV(on_sampled, sampled_body)
QEMU_CALLBACK_WITH_ENV(on_rep, rep_body)
QEMU_CALLBACK_WITH_ENV(on_wide, wide_body)
QEMU_CALLBACK_WITH_ENV(on_vsyscall, vsyscall_body)

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	/* clang-format off */
	static void (*const callback[])(unsigned int, void *) = {
		[QP_BLOCK_NORMAL] = on_block,
		[QP_BLOCK_ORDER] = on_order,
		[QP_BLOCK_SAMPLED] = on_sampled,
		[QP_BLOCK_REP] = on_rep,
		[QP_BLOCK_WIDE] = on_wide,
		[QP_BLOCK_NONE] = on_vsyscall,
		[QP_BLOCK_VALUES] = on_values,
		[QP_BLOCK_REP_VALUES] = on_rep_values,
	};
	/* clang-format on */
	enum qp_block_kind kind;
	void *arg;

	(void)id;
	if (qemu_load(&qp.shm->closed))
		return;
	kind = qp_block_translate(tb, &arg);
	if (qp.shm->values &&
	    (kind == QP_BLOCK_NORMAL || kind == QP_BLOCK_ORDER || kind == QP_BLOCK_REP)) {
		qp_values_translate(tb);
		kind = kind == QP_BLOCK_REP ? QP_BLOCK_REP_VALUES : QP_BLOCK_VALUES;
	}
	if (qp.arch->samples && kind != QP_BLOCK_NONE && qemu_load(&qp.shm->sampled)) {
		qp_sample_translate(tb);
		if (kind == QP_BLOCK_NORMAL)
			kind = QP_BLOCK_SAMPLED;
	}
	if (kind != QP_BLOCK_NONE || arg)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, callback[kind], QEMU_PLUGIN_CB_NO_REGS,
						     arg);
	qp_heap_translate(tb);
}

/* A forked child has no record yet, only a copy of its parent's. */
static void after_fork(void)
{
	qp_rec = &qp_no_rec;
	qp_threads_forked();
	qp_values_forked();
	qp_heap_forked();
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv)
{
	const char *target;
	int err, api;

	memcpy(&target, info, sizeof(target)); /* its first member */
	memcpy(&api, (const char *)info + sizeof(target) + sizeof(int), sizeof(api));
	qp.is_old = api < QEMU_PLUGIN_API_4;
	qp.arch = qemu_arch_of_target(target);
	if (!qp.arch) {
		fprintf(stderr, "auxtap: plugin: %s: unsupported target\n", target);
		return -1;
	}
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "try=", 4)) {
			/* qemu_find.c only checks that we are loaded */
			dprintf(STDOUT_FILENO, "auxtap-plugin %d\n", qp_api_version());
			_exit(0);
		}
		if (!strncmp(argv[i], "shm=", 4))
			snprintf(qp.shm_path, sizeof(qp.shm_path), "%s", argv[i] + 4);
		else if (!strncmp(argv[i], "comm=", 5))
			snprintf(qp.comm, sizeof(qp.comm), "%s", argv[i] + 5);
		else if (!strncmp(argv[i], "sysroot=", 8))
			snprintf(qp.sysroot, sizeof(qp.sysroot), "%s", argv[i] + 8);
		else if (!strncmp(argv[i], "root=", 5))
			snprintf(qp.root, sizeof(qp.root), "%s", argv[i] + 5);
		else if (!strncmp(argv[i], "program=", 8))
			snprintf(qp.program, sizeof(qp.program), "%s", argv[i] + 8);
	}
	err = qp_map(qp.shm_path);
	if (err) {
		fprintf(stderr, "auxtap: plugin: %s: %s; start it by auxtap\n", qp.shm_path,
			strerror(-err));
		return -1;
	}
	qemu_store(&qp.shm->plugged, 1);
	pthread_atfork(NULL, NULL, after_fork);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_flush_cb(id, qp_block_flush);
	qemu_plugin_register_vcpu_syscall_cb(id, qp_syscall);
	qemu_plugin_register_vcpu_syscall_ret_cb(id, qp_syscall_ret);
	return 0;
}
