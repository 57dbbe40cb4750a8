// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Decodes the chunk stream of a thread: block ids become emu_task_blocks(), or
 * emu_task_block() one at a time, messages the other calls of emu.h. Everything is checked, because
 * the guest can write to the shared memory.
 */
#include "emu/emu_abi.h"
#include "qemu.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct qemu_arena {
	struct qemu_arena *next;
	u8 bytes[64 * 1024];
};

/* ---- blocks ---- */

static bool check_lens(const struct qemu_arch *arch, const struct emu_block *b, const u8 *lens)
{
	u64 ip = b->ip;

	for (u32 i = 0; i < b->nr_insns; i++) {
		if (!lens[i] || lens[i] > arch->max_len)
			return false;
		if (i + 1 < b->nr_insns)
			ip += lens[i];
	}
	return ip == b->last_ip && lens[b->nr_insns - 1] == b->last_len &&
	       b->last_cls <= arch->max_cls;
}

/* Allocates memory that lives as long as the session. NULL: out of memory. */
static void *arena_take(struct qemu_engine *q, u32 size)
{
	void *taken;

	size = (size + 7) & ~7u;
	if (q->arena_left < size) {
		/* the rest of the old arena stays unused */
		struct qemu_arena *arena = malloc(sizeof(*arena));

		q->arena_left = 0;
		if (!arena)
			return NULL;
		arena->next = q->arenas;
		q->arenas = arena;
		q->arena = arena->bytes;
		q->arena_left = sizeof(arena->bytes);
	}
	taken = q->arena;
	q->arena += size;
	q->arena_left -= size;
	return taken;
}

/* The bytes of a generated block. NULL: out of memory. */
static struct emu_code *load_code(struct qemu_engine *q, const struct qemu_block *from)
{
	bool has_bytes = from->code_off <= QEMU_CODE_SIZE - QEMU_CODE_MAX &&
			 from->code_size == from->last_off + from->last_len;
	u32 size = has_bytes && from->code_size <= QEMU_CODE_MAX ? from->code_size : 0;
	struct emu_code *code = arena_take(q, (u32)sizeof(*code) + size);

	if (!code)
		return NULL;
	*code = (struct emu_code){.size = size};
	memcpy(code->bytes, q->shm->code + (size ? from->code_off : 0), size);
	return code;
}

/* The block's private copy, made at its first use. NULL: invalid, or no memory. */
static __attribute__((noinline)) const struct emu_block *
load_block(struct qemu_engine *q, const struct qemu_arch *arch, u32 id)
{
	const struct qemu_block from = q->shm->block[id];
	struct emu_block *b = &q->block[id];
	u8 *lens;
	struct emu_block copy = {
		.ip = from.ip,
		.last_ip = from.ip + from.last_off,
		.nr_insns = from.nr_insns,
		.last_len = from.last_len,
		.last_cls = from.last_cls,
		.last_flags = from.last_flags,
	};

	if (!from.nr_insns || from.nr_insns > QEMU_BLOCK_INSNS ||
	    from.lens_off > QEMU_LENS_SIZE - QEMU_BLOCK_INSNS || from.arch != arch->arch)
		return NULL;
	lens = arena_take(q, from.nr_insns);
	if (!lens)
		return NULL;
	memcpy(lens, q->shm->lens + from.lens_off, from.nr_insns);
	if (!check_lens(arch, &copy, lens))
		return NULL;
	copy.lens = lens;
	if (from.generated) {
		copy.code = load_code(q, &from);
		if (!copy.code)
			return NULL;
	} else {
		copy.batchable =
			emu_block_batchable(arch->arch, &copy,
					    copy.nr_insns == 1 && arch->restarts(copy.last_cls));
	}
	*b = copy;
	return b;
}

/* A block that the tables had no space for, sent in full. */
static const struct emu_block *wide_block(struct qemu_thread *t, const u32 *word, u32 nr)
{
	static struct emu_code no_code;
	/*
	 * Up to three are in use: one unresolved in emu (emu.h), one 'newest', and the one that is
	 * filled in. Four, so that the index is a mask.
	 */
	u32 at = t->wide_at++ & 3;
	struct emu_block *b = &t->wide[at];
	u32 nr_insns;

	if (nr < 5)
		return NULL;
	nr_insns = word[2] & 0xffff;
	if (!nr_insns || nr_insns > QEMU_BLOCK_INSNS || nr_insns > (nr - 4) * 4)
		return NULL;
	if (!t->wide_lens[at])
		t->wide_lens[at] = malloc(QEMU_BLOCK_INSNS);
	if (!t->wide_lens[at])
		return NULL;
	memcpy(t->wide_lens[at], &word[4], nr_insns);
	*b = (struct emu_block){
		.ip = word[0] | (u64)word[1] << 32,
		.nr_insns = nr_insns,
		.last_len = word[2] >> 16 & 0xff,
		.last_cls = (u8)(word[2] >> 24),
		.last_flags = (u8)word[3],
		.lens = t->wide_lens[at],
		.code = word[3] >> 8 ? &no_code : NULL,
	};
	b->last_ip = b->ip;
	for (u32 i = 0; i + 1 < nr_insns; i++)
		b->last_ip += b->lens[i];
	return check_lens(t->process->arch, b, b->lens) ? b : NULL;
}

static void damaged(struct qemu_engine *q, struct qemu_thread *t)
{
	if (!t->process->damaged)
		emu_report_problem(q->emu, t->process->pid,
				   "the program overwrote the memory shared with qemu");
	t->process->damaged = true;
}

/* Reports the block, and its sample. */
static inline void report_block(struct qemu_thread *t, const struct emu_block *b)
{
	emu_task_block(t->task, b);
	if (__builtin_expect(t->has_sample, 0) && t->sample.pc - b->ip <= b->last_ip - b->ip) {
		t->has_sample = false;
		emu_task_sample(t->task, &t->sample);
	}
}

void qemu_stream_release(struct qemu_thread *t)
{
	if (t->newest)
		report_block(t, t->newest);
	t->newest = NULL;
}

/* The newest block was left before ip: reports the part before ip as a block of its own. */
static void cut_newest(struct qemu_thread *t, u64 ip)
{
	const struct emu_block *b = t->newest;
	u64 at = b->ip, last = at;
	u32 nr = 0;

	while (nr < b->nr_insns && at < ip) {
		last = at;
		at += b->lens[nr++];
	}
	t->newest = NULL;
	if (at != ip || !nr) {
		if (nr)
			report_block(t, b);
		return;
	}
	t->prefix = (struct emu_block){
		.ip = b->ip,
		.last_ip = last,
		.nr_insns = nr,
		.last_len = (u8)(at - last),
		.last_cls = X86_PLAIN,
		.lens = b->lens,
		.code = b->code,
	};
	report_block(t, &t->prefix);
}

/*
 * qemu sometimes leaves a block in the middle, without a fault, and executes one instruction in a
 * block of its own: atomics that it must execute alone, stores into the page that is running. A
 * normal block of one instruction of these classes never starts inside the previous block.
 */
static inline bool is_restart(const struct qemu_thread *t, const struct emu_block *b)
{
	const struct emu_block *newest = t->newest;

	return b->nr_insns == 1 && b->ip - newest->ip <= newest->last_ip - newest->ip &&
	       !(b->last_flags & X86_INSN_REP) && t->process->arch->restarts(b->last_cls);
}

static inline void set_newest(struct qemu_thread *t, const struct emu_block *b)
{
	if (t->newest) {
		if (__builtin_expect(is_restart(t, b), 0))
			cut_newest(t, b->ip);
		else
			report_block(t, t->newest);
	}
	t->newest = b;
	t->in_kernel = false;
	if (__builtin_expect(t->order_due, 0)) {
		t->order_due >>= 1;
		if (t->order_due & 1)
			emu_task_emit_tsc(t->task);
		t->order_due &= ~1u;
	}
}

/*
 * Passes on as many blocks as possible in one call; emu decides how many. Returns the number of
 * words they take; 0: not even the first one.
 */
static inline u32 pass_run(struct qemu_engine *q, struct qemu_thread *t, const u32 *word, u32 nr)
{
	u32 nr_done = 0;

	if (!t->task || !t->newest || !t->newest->batchable || t->has_sample || t->order_due)
		return 0;
	t->newest =
		emu_task_blocks(t->task, t->newest, q->block, QEMU_MAX_BLOCKS, word, nr, &nr_done);
	if (nr_done)
		t->in_kernel = false;
	return nr_done;
}

/* ---- order ---- */

#define ORDER_TICKS 16384 /* a new timestamp after them, also without an atomic instruction */

/*
 * Other threads have run since the thread's last timestamp: requests a new one. It comes before the
 * branch of the next block to arrive, the one that contains the atomic instruction if
 * QEMU_MSG_ORDER requested it. Earlier blocks keep the earlier time.
 */
static void mark_order(struct qemu_engine *q, struct qemu_thread *t)
{
	if (t->order_seen == q->nr_switches || !t->task)
		return;
	t->order_seen = q->nr_switches;
	t->order_tsc = emu_clock(q->emu);
	t->order_due |= 1u << 2;
}

static void begin_chunk(struct qemu_engine *q, struct qemu_thread *t)
{
	if (q->last_tid != t->tid)
		q->nr_switches++;
	q->last_tid = t->tid;
	if (emu_clock(q->emu) - t->order_tsc >= ORDER_TICKS)
		mark_order(q, t);
}

/* ---- messages ---- */

void qemu_stream_async(struct qemu_thread *t, u64 ip, bool sync)
{
	const struct emu_block *b = t->newest;
	bool cut = false;

	if (t->in_kernel || !t->task)
		return;
	if (b)
		/* an interrupted REP has not retired */
		cut = sync ? ip - b->ip <= b->last_ip - b->ip :
			     b->last_flags & X86_INSN_REP && ip == b->last_ip;
	qemu_stream_release(t);
	emu_task_leave_async(t->task, ip, cut);
}

static void on_start(struct qemu_engine *q, struct qemu_thread *t)
{
	struct qemu_process *p = t->process;
	struct qemu_rec *rec = qemu_ring_rec(q, t);
	char comm[16];

	if (rec) {
		p->guest_base = rec->guest_base;
		if (qemu_arch_of(rec->arch))
			p->arch = qemu_arch_of(rec->arch);
	}
	p->started = true;
	t->gated = true;
	t->in_kernel = true;
	t->nr_resumes++;
	emu_read_comm(t->tid, comm);
	if (!p->announced) {
		p->announced = true;
		t->task = emu_task_new(q->emu, NULL, p->pid, t->tid, comm);
		if (t->task) {
			emu_task_set_arch(t->task, p->arch->arch);
			emu_task_set_priv(t->task, t);
		}
		return; /* the maps are reported when capture has opened its events */
	}
	if (t->task) {
		emu_task_set_arch(t->task, p->arch->arch);
		emu_task_exec(t->task, comm);
		p->reported_maps = true;
		qemu_maps_report(p, t->task, 0, ~0ull);
	}
}

static u64 word64(const u32 *word)
{
	return word[0] | (u64)word[1] << 32;
}

static void on_map(struct qemu_thread *t, const u32 *word)
{
	struct qemu_range range = {
		.start = word64(word),
		.end = word64(word) + word64(word + 2),
		.pgoff = word64(word + 4),
		.ino = word64(word + 6),
		.prot = word[8] & ~QEMU_MAP_SHARED,
		.shared = word[8] & QEMU_MAP_SHARED,
		.maj = word[9],
		.min = word[10],
		.name = t->name,
	};

	qemu_maps_add(t->process, &range);
	if (t->process->reported_maps && t->task)
		qemu_maps_report(t->process, t->task, range.start, range.end);
}

/* Minimum number of words of each message. */
static const u8 message_min[] = {
	[QEMU_MSG_SYSCALL] = 1, [QEMU_MSG_SIGNAL] = 4, [QEMU_MSG_VSYSCALL] = 2,
	[QEMU_MSG_WIDE] = 5,	[QEMU_MSG_MAP] = 11,   [QEMU_MSG_PROTECT] = 5,
	[QEMU_MSG_UNMAP] = 4,	[QEMU_MSG_REMAP] = 8,  [QEMU_MSG_COMM] = 4,
	[QEMU_MSG_SAMPLE] = 3,	[QEMU_MSG_DATA] = 3,   [QEMU_MSG_REFUSED] = 1,
	[QEMU_MSG_LEFT] = 2,	[QEMU_MSG_ORDER] = 0,
};

/* Reports it once for each process: a program may retry for ever. */
static void refused(struct qemu_engine *q, struct qemu_process *p, u32 what)
{
	/* clang-format off */
	static const char *const text[QEMU_REFUSED_NR] = {
		[QEMU_REFUSED_SECCOMP] = "qemu has no seccomp: the program's request for it failed",
		[QEMU_REFUSED_CLONE_VM] = "qemu refused a clone() that shares memory and makes no thread",
	};
	/* clang-format on */

	if (what >= QEMU_REFUSED_NR || p->refused & 1u << what)
		return;
	p->refused |= 1u << what;
	emu_report_notice(q->emu, p->pid, AUXTAP_NOTICE_REQUEST_REFUSED, text[what]);
}

static void message(struct qemu_engine *q, struct qemu_thread *t, u32 type, const u32 *word, u32 nr)
{
	struct qemu_process *p = t->process;
	const struct emu_block *b;
	char comm[17] = "";
	bool is_new;

	if (type >= sizeof(message_min) || nr < message_min[type]) {
		damaged(q, t);
		return;
	}
	if (type == QEMU_MSG_NAME) {
		u32 size = (u32)strnlen((const char *)word, nr * 4);

		if (t->name_len + size >= sizeof(t->name))
			size = (u32)sizeof(t->name) - 1 - t->name_len;
		memcpy(t->name + t->name_len, word, size);
		t->name[t->name_len += size] = 0;
		return;
	}
	switch (type) {
	case QEMU_MSG_START:
		on_start(q, t);
		break;
	case QEMU_MSG_SYSCALL:
		if (t->task) {
			qemu_stream_release(t);
			emu_task_enter_kernel(t->task);
			t->in_kernel = true;
		}
		break;
	case QEMU_MSG_SIGNAL:
		is_new = qemu_is_fault((int)word[0], (int)word[1]) && t->task && !t->in_kernel;
		qemu_stream_async(t, word64(word + 2), is_new);
		/*
		 * not new: a handler of a fault begins when that of another signal, which came at
		 * the same time, has returned
		 */
		if (is_new)
			emu_task_fault(t->task, word64(word + 2), (int)word[0]);
		break;
	case QEMU_MSG_LEFT:
		if (t->newest && word64(word) - t->newest->ip <= t->newest->last_ip - t->newest->ip)
			cut_newest(t, word64(word));
		break;
	case QEMU_MSG_VSYSCALL:
		qemu_stream_async(t, word64(word), false);
		break;
	case QEMU_MSG_WIDE:
		b = wide_block(t, word, nr);
		if (!b)
			damaged(q, t);
		else if (t->task)
			set_newest(t, b);
		break;
	case QEMU_MSG_MAP:
		on_map(t, word);
		break;
	case QEMU_MSG_PROTECT:
		qemu_maps_protect(p, word64(word), word64(word) + word64(word + 2), word[4]);
		if (p->reported_maps && t->task && word[4] & PROT_EXEC)
			qemu_maps_report(p, t->task, word64(word), word64(word) + word64(word + 2));
		break;
	case QEMU_MSG_UNMAP:
		qemu_maps_remove(p, word64(word), word64(word) + word64(word + 2));
		break;
	case QEMU_MSG_REMAP:
		qemu_maps_move(p, word64(word), word64(word + 2), word64(word + 4),
			       word64(word + 6));
		if (p->reported_maps && t->task)
			qemu_maps_report(p, t->task, word64(word + 4),
					 word64(word + 4) + word64(word + 6));
		break;
	case QEMU_MSG_COMM:
		memcpy(comm, word, 16);
		if (t->task)
			emu_task_comm(t->task, comm);
		break;
	case QEMU_MSG_ORDER:
		mark_order(q, t);
		break;
	case QEMU_MSG_REFUSED:
		refused(q, p, word[0]);
		break;
	case QEMU_MSG_SAMPLE:
		/* replaces a sample that was not reached because its block was left before it */
		t->sample = (struct emu_sample){.pc = word64(word), .code = word[2]};
		t->has_sample = t->newest;
		break;
	case QEMU_MSG_DATA:
		if (!t->has_sample)
			break;
		t->sample.has_addr = true;
		t->sample.addr = word64(word);
		t->sample.size = word[2] & 0xffff;
		t->sample.is_store = word[2] >> 16;
		break;
	default:
		break;
	}
	t->name_len = 0;
	t->name[0] = 0;
}

void qemu_stream(struct qemu_engine *q, struct qemu_thread *t, const u32 *word, u32 nr)
{
	begin_chunk(q, t);
	for (u32 i = 0; i < nr; i++) {
		u32 w = word[i];
		u32 run = pass_run(q, t, word + i, nr - i);

		if (run) {
			i += run - 1;
			continue;
		}
		if (__builtin_expect(w < QEMU_MAX_BLOCKS, 1)) {
			const struct emu_block *b = &q->block[w];

			if (!t->task)
				continue;
			if (__builtin_expect(!b->nr_insns, 0)) {
				b = load_block(q, t->process->arch, w);
				if (!b) {
					damaged(q, t);
					continue;
				}
			}
			set_newest(t, b);
		} else if (w >= QEMU_MSG) {
			u32 len = QEMU_MSG_LEN(w);

			if (len > nr - i - 1) {
				damaged(q, t);
				return;
			}
			if (QEMU_MSG_TYPE(w))
				message(q, t, QEMU_MSG_TYPE(w), word + i + 1, len);
			i += len;
		} else {
			damaged(q, t);
		}
	}
}

void qemu_stream_free_blocks(struct qemu_engine *q)
{
	while (q->arenas) {
		struct qemu_arena *arena = q->arenas;

		q->arenas = arena->next;
		free(arena);
	}
	free(q->block);
}

void qemu_stream_free(struct qemu_thread *t)
{
	for (u32 i = 0; i < 4; i++)
		free(t->wide_lens[i]);
}
