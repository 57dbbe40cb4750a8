// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Values for 'crash --values': writes registers at block starts, and stores, to a ring of the
 * thread (auxtap/values.h). A store's value is read from memory after it: the one that qemu passes
 * for an atomic operation is its operand. What is written without a callback is found by comparing
 * memory before and after.
 */
#include "qemu_plugin.h"
#include "exec/qemu/qemu_values.h"
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define MAX_ENTRY    32	   /* words */
#define UNSEEN_BYTES 4096  /* most that an instruction writes without a callback */
#define READ_BYTES   65536 /* most of a system call's that are recorded */

/* An instruction that wrote without a callback. */
struct unseen_write {
	u64 addr;
	u32 insn;
	bool is_area;		 /* it writes only to parts of the range */
	u8 before[UNSEEN_BYTES]; /* what was there */
};

#define OF_THREAD static __thread __attribute__((tls_model("initial-exec")))

OF_THREAD struct qemu_values *ring;
OF_THREAD bool broken; /* there was no memory for the ring */
static u32 nr_rings;   /* threads of this process that ever had one */
static u64 lost_until; /* see struct qemu_values */
static pthread_key_t at_exit;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Of all threads, in their order: the kernel makes it so. */
static u64 time_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000000000 + (u64)now.tv_nsec;
}

static size_t ring_size(const struct qemu_values *v)
{
	return sizeof(*v) + v->capacity * sizeof(u64) + sizeof(struct unseen_write);
}

static struct unseen_write *unseen_of(struct qemu_values *v)
{
	return (struct unseen_write *)&v->word[v->capacity];
}

static void free_ring(void *arg)
{
	struct qemu_values *v = arg;

	/* UINT64_MAX stays: a thread has no ring */
	for (u64 until = qemu_load(&lost_until), now = time_now(); until < now;)
		if (__atomic_compare_exchange_n(&lost_until, &until, now, false, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			break;
	if (qp_recording())
		qemu_store(&qp_rec->values, 0);
	ring = NULL;
	broken = true;
	munmap(v, ring_size(v));
}

static void make_key(void)
{
	pthread_key_create(&at_exit, free_ring);
}

static struct qemu_values *make_ring(void)
{
	u64 capacity = 1, bytes = qp.shm->values;
	struct qemu_values *v;

	while (2 * capacity * sizeof(u64) <= bytes)
		capacity *= 2;
	v = mmap(NULL, sizeof(*v) + capacity * sizeof(u64) + sizeof(struct unseen_write),
		 PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (v == MAP_FAILED)
		return NULL;
	pthread_once(&once, make_key);
	pthread_setspecific(at_exit, v);
	v->capacity = capacity;
	v->threads = __atomic_fetch_add(&nr_rings, 1, __ATOMIC_RELAXED) > 0;
	v->lost_until = (u64)(uintptr_t)&lost_until - (u64)(uintptr_t)v;
	v->magic = QEMU_VALUES_MAGIC;
	return v;
}

static u64 tag_of(enum auxtap_values_kind kind, u32 insn, u32 own)
{
	return (u64)kind | (u64)insn << 16 | (u64)own << 32;
}

/* Appends an entry of up to MAX_ENTRY words; its tag comes last. */
static inline void append(struct qemu_values *v, const u64 *word, u32 nr, u64 tag)
{
	u64 head = v->head, mask = v->capacity - 1;

	for (u32 i = 0; i < nr; i++)
		v->word[head++ & mask] = word[i];
	v->word[head++ & mask] = tag | (u64)nr << 8;
	qemu_store(&v->head, head);
}

/* The entry with that tag says nothing any more; without 'range' not even where. */
static void make_void(struct qemu_values *v, u64 tag_at, bool range)
{
	const u64 mask = v->capacity - 1;

	if (v->head - tag_at > v->capacity)
		return; /* it was overwritten */
	if (!range)
		v->word[(tag_at - 1) & mask] = 0;
	v->word[tag_at & mask] ^= AUXTAP_VALUES_UNKNOWN ^ AUXTAP_VALUES_VOID;
}

/* Appends entries for bytes that were written. */
static void append_bytes(struct qemu_values *v, u64 addr, const u8 *bytes, u32 nr, u32 insn)
{
	u64 word[MAX_ENTRY];

	for (u32 done = 0, part; done < nr; done += part) {
		part = nr - done < sizeof(word) - sizeof(u64) ? nr - done :
								(u32)(sizeof(word) - sizeof(u64));
		word[0] = addr + done;
		word[(part + 7) / 8] = 0;
		memcpy(&word[1], bytes + done, part);
		append(v, word, 1 + (part + 7) / 8, tag_of(AUXTAP_VALUES_WRITE, insn, part));
	}
}

/*
 * Appends what the instruction or system call changed. Its entry of unknown contents, the newest
 * one, stays if that cannot be read.
 */
static __attribute__((noinline)) void append_unseen(struct qemu_values *v)
{
	const struct unseen_write *w = unseen_of(v);
	const u64 tag_at = v->head - 1;
	const u32 size = v->unseen;
	u8 after[UNSEEN_BYTES];
	u32 i = 0;

	v->unseen = 0;
	/* the program may have overwritten the size */
	if (size > sizeof(after) || qp_read(w->addr, after, size))
		return;
	while (i < size) {
		u32 first = i;

		while (i < size && after[i] != w->before[i])
			i++;
		append_bytes(v, w->addr + first, after + first, i - first, w->insn);
		i += i == first;
	}
	make_void(v, tag_at, !w->is_area);
}

static inline void put(struct qemu_values *v, const u64 *word, u32 nr, u64 tag)
{
	if (__builtin_expect(v->unseen, 0))
		append_unseen(v);
	append(v, word, nr, tag);
}

void qp_values_unknown(u64 addr, u64 len)
{
	const u64 word[2] = {addr, len};

	if (ring)
		put(ring, word, 2, tag_of(AUXTAP_VALUES_UNKNOWN, AUXTAP_VALUES_AFTER, 0));
}

/*
 * Notes what the instruction, or system call, that is about to be executed may change. is_area: it
 * writes only to parts. is_own_stack: no other thread writes there meanwhile.
 */
static void note_unseen(struct qemu_values *v, u64 addr, u64 size, u32 insn, bool is_area,
			bool is_own_stack)
{
	struct unseen_write *w = unseen_of(v);

	if (size > sizeof(w->before) || (v->threads && !is_own_stack))
		return;
	if (qp_read(addr, w->before, size)) {
		/* the next page is not mapped: the instruction does not reach it */
		size = QEMU_PAGE - (addr & (QEMU_PAGE - 1));
		if (qp_read(addr, w->before, size))
			return;
	}
	w->addr = addr;
	w->insn = insn;
	w->is_area = is_area;
	v->unseen = (u32)size;
}

void qp_values_by_call(u64 addr, u64 len)
{
	qp_values_unknown(addr, len);
	if (ring)
		note_unseen(ring, addr, len, AUXTAP_VALUES_AFTER, false, false);
}

void qp_values_call_wrote(u64 addr, u64 nr)
{
	struct qemu_values *v = ring;
	u64 tag_at, mask;
	u8 part[256];

	if (!v || v->threads || v->unseen || v->head < 3)
		return;
	tag_at = v->head - 1;
	mask = v->capacity - 1;
	if ((v->word[tag_at & mask] & 0xff) != AUXTAP_VALUES_UNKNOWN ||
	    v->word[(tag_at - 2) & mask] != addr || nr > v->word[(tag_at - 1) & mask])
		return;
	v->word[(tag_at - 1) & mask] = nr;
	if (nr > READ_BYTES)
		return;
	for (u64 done = 0, size; done < nr; done += size) {
		size = nr - done < sizeof(part) ? nr - done : sizeof(part);
		if (qp_read(addr + done, part, size))
			return;
		append_bytes(v, addr + done, part, (u32)size, AUXTAP_VALUES_AFTER);
	}
	make_void(v, tag_at, false);
}

bool qp_values_in_handler(const union qemu_env *env)
{
	/* what a handler returns to: mov $15, %rax, or %eax; syscall */
	static const u8 restorer[2][9] = {
		{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05},
		{0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05},
	};
	u64 sp = env->x86.regs[4], to;
	u8 code[9] = {0};

	if (!ring)
		return false;
	if (qp_read(sp, &to, sizeof(to)))
		return true;
	return !qp_read(to, code, 7) && (!memcmp(code, restorer[1], 7) ||
					 (!qp_read(to, code, 9) && !memcmp(code, restorer[0], 9)));
}

void qp_values_left(u64 ip)
{
	if (ring)
		put(ring, &ip, 1, tag_of(AUXTAP_VALUES_LEFT, 0, 0));
}

void qp_values_lost(void)
{
	if (ring)
		put(ring, NULL, 0, tag_of(AUXTAP_VALUES_LOST, 0, 0));
}

void qp_values_add_syscall(void)
{
	if (ring)
		put(ring, NULL, 0, tag_of(AUXTAP_VALUES_SYSCALL, 0, 0));
}

void qp_values_set_threaded(void)
{
	if (ring)
		ring->threads = 1;
}

void qp_values_forked(void)
{
	nr_rings = 1; /* only this thread's ring was copied */
	qemu_store(&lost_until, 0);
	if (ring)
		ring->threads = 0;
	qp_values_lost();
}

/* Returns the thread's ring, and notes it in its record; NULL: it has none. */
static struct qemu_values *take_ring(struct qemu_rec *rec)
{
	if (rec == &qp_sink) /* a thread too many: it is not recorded */
		qemu_store(&lost_until, UINT64_MAX);
	if (rec == &qp_sink || rec == &qp_no_rec)
		return NULL;
	if (!ring && !broken) {
		ring = make_ring();
		broken = !ring;
		if (broken)
			qemu_store(&lost_until, UINT64_MAX);
	}
	qemu_store(&rec->values, (u64)(uintptr_t)ring);
	return ring;
}

void qp_values_block(u64 ip, u32 nr_insns, const union qemu_env *env)
{
	struct qemu_values *v = ring;
	u64 word[AUXTAP_VALUES_REGS + 1], now[2];
	u32 changed = 0, nr = 0;

	if (__builtin_expect(!v || !qp_rec->values, 0)) {
		v = take_ring(qp_rec);
		if (!v)
			return;
	}
	if (v->threads) {
		word[0] = time_now();
		put(v, word, 1, tag_of(AUXTAP_VALUES_TIME, 0, 0));
	}
	now[0] = env->x86.segs[4].base;
	now[1] = env->x86.segs[5].base;
	v->busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	for (u32 i = 0; i < 16; i++)
		changed |= (u32)(v->regs[i] != env->x86.regs[i]) << i;
	for (u32 i = 0; i < 2; i++)
		changed |= (u32)(v->regs[16 + i] != now[i]) << (16 + i);
	for (u32 left = changed; left; left &= left - 1) {
		u32 i = (u32)__builtin_ctz(left);

		word[nr++] = v->regs[i];
		v->regs[i] = i < 16 ? env->x86.regs[i] : now[i - 16];
	}
	word[nr++] = ip;
	put(v, word, nr, tag_of(AUXTAP_VALUES_BLOCK, nr_insns, changed));
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	v->busy = 0;
}

/* ---- stores ---- */

static void on_store(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t addr, void *arg)
{
	u32 insn = (u32)(uintptr_t)arg, size = 1u << (qemu_plugin_mem_size_shift(info) & 7);
	u64 word[1 + 16] = {addr};

	(void)cpu;
	if (!ring)
		return;
	/* the page is mapped: it was written a moment ago */
	memcpy(&word[1], (const void *)(uintptr_t)(qp.guest_base + addr), size);
	put(ring, word, 1 + (size + 7) / 8, tag_of(AUXTAP_VALUES_WRITE, insn, size));
}

/*
 * Instructions whose helpers in qemu write memory without a callback: fxsave, xsave, xsaveopt,
 * xsavec, xsaves, fnstenv, fnsave, fstp of 80 bits, fbstp; and how many bytes they write from the
 * address of their operand on, at most. qemu's largest extended state has 2696.
 */
enum unseen_size { OF_XSAVE, OF_FXSAVE, OF_80_BITS, OF_ENVIRONMENT, OF_STATE };

static const u16 unseen_bytes[] = {
	[OF_XSAVE] = UNSEEN_BYTES, [OF_FXSAVE] = 512, [OF_80_BITS] = 10,
	[OF_ENVIRONMENT] = 28,	   [OF_STATE] = 108,
};

#define NO_REG 16

/* Their operand: base + index + offset; or relative to rip: then offset is the whole address. */
struct unseen {
	enum unseen_size size;
	u8 base, index, scale;
	bool fixed;
	bool anywhere; /* the address has another form: it is unknown */
	s32 offset;
};

/*
 * It is passed to the callback as one word: instruction in bits 0-8, size in bits 9-11, then flags;
 * from bit 16 on the address, or from bit 14 on the registers.
 */
#define UNSEEN_ANYWHERE (1u << 12)
#define UNSEEN_FIXED	(1u << 13)

static u64 reg_of(const union qemu_env *env, u8 reg)
{
	return reg < NO_REG ? env->x86.regs[reg] : 0;
}

static void on_unseen(unsigned int cpu, void *arg)
{
	u64 packed = (u64)(uintptr_t)arg, word[2] = {0, ~0ull};
	const union qemu_env *env = qp_env;
	u32 insn = packed & 0x1ff, size = packed >> 9 & 7;

	(void)cpu;
	if (!ring)
		return;
	if (packed & UNSEEN_FIXED)
		word[0] = packed >> 16;
	else if (env && !(packed & UNSEEN_ANYWHERE))
		word[0] = reg_of(env, packed >> 14 & 31) +
			  (reg_of(env, packed >> 19 & 31) << (packed >> 24 & 3)) +
			  (u64)(s64)(s32)(packed >> 32);
	if (packed & UNSEEN_FIXED || (env && !(packed & UNSEEN_ANYWHERE)))
		word[1] = unseen_bytes[size];
	put(ring, word, 2, tag_of(AUXTAP_VALUES_UNKNOWN, insn, 0));
	/* as the dynamic linker saves the arguments of a function */
	note_unseen(ring, word[0], word[1], insn, size == OF_XSAVE,
		    env && word[0] - env->x86.regs[4] < 2 * UNSEEN_BYTES);
}

/* The instruction after such a one begins. */
static void on_seen(unsigned int cpu, void *arg)
{
	(void)cpu;
	(void)arg;
	if (ring && ring->unseen)
		append_unseen(ring);
}

/* The operand of the ModRM byte at 'at': base, index and offset. */
static void take_operand(const u8 *code, size_t nr, size_t at, u8 rex, struct unseen *u)
{
	u8 modrm = code[at], mod = modrm >> 6, rm = modrm & 7;
	size_t size = mod == 1 ? 1 : mod == 2 ? 4 : 0;

	u->base = rm | (rex & 1) << 3;
	at++;
	if (rm == 4) {
		if (at >= nr)
			goto anywhere;
		u->base = (code[at] & 7) | (rex & 1) << 3;
		u->index = (code[at] >> 3 & 7) | (rex & 2) << 2;
		u->scale = code[at] >> 6;
		if (u->index == 4)
			u->index = NO_REG;
		at++;
	}
	if ((u->base & 7) == 5 && !mod) { /* relative to rip; with an index: absolute */
		u->fixed = rm == 5;
		u->base = NO_REG;
		size = 4;
	}
	if (at + size > nr)
		goto anywhere;
	if (size == 1)
		u->offset = (s32)(code[at] ^ 0x80u) - 0x80;
	else if (size)
		memcpy(&u->offset, code + at, sizeof(u->offset));
	return;
anywhere:
	u->anywhere = true;
}

static bool is_prefix(u8 byte)
{
	return byte == 0x66 || byte == 0x67 || (byte & 0xfe) == 0xf2 || (byte & 0xe7) == 0x26 ||
	       (byte & 0xfe) == 0x64 || byte == 0x9b;
}

static bool is_unseen(const u8 *code, size_t nr, struct unseen *u)
{
	size_t at = 0;
	u8 rex = 0;
	u32 reg;

	*u = (struct unseen){.index = NO_REG};
	for (; at < nr && is_prefix(code[at]); at++)
		if (code[at] == 0x67 || (code[at] & 0xfe) == 0x64)
			u->anywhere = true;
	if (at < nr && (code[at] & 0xf0) == 0x40)
		rex = code[at++];
	if (at + 3 <= nr && code[at] == 0x0f) {
		u8 op = code[++at];

		reg = code[++at] >> 3 & 7;
		if (!(op == 0xae ? reg == 0 || reg == 4 || reg == 6 :
				   op == 0xc7 && (reg == 3 || reg == 4 || reg == 5)))
			return false;
		u->size = op == 0xae && !reg ? OF_FXSAVE : OF_XSAVE;
	} else if (at + 2 <= nr) {
		u8 op = code[at];

		reg = code[++at] >> 3 & 7;
		if (!(reg == 6 && (op == 0xd9 || op == 0xdd || op == 0xdf)) &&
		    !(reg == 7 && op == 0xdb))
			return false;
		u->size = op == 0xd9 ? OF_ENVIRONMENT : op == 0xdd ? OF_STATE : OF_80_BITS;
	} else {
		return false;
	}
	if (code[at] >> 6 == 3)
		return false;
	take_operand(code, nr, at, rex, u);
	return true;
}

/* next: the address after the instruction */
static void *pack(const struct unseen *u, size_t insn, u64 next)
{
	u64 word = (insn & 0x1ff) | (u64)u->size << 9;

	if (u->anywhere)
		word |= UNSEEN_ANYWHERE;
	else if (u->fixed)
		word |= UNSEEN_FIXED | (next + (u64)(s64)u->offset) << 16;
	else
		word |= (u64)u->base << 14 | (u64)u->index << 19 | (u64)(u->scale & 3) << 24 |
			(u64)(u32)u->offset << 32;
	return (void *)(uintptr_t)word;
}

void qp_values_translate(struct qemu_plugin_tb *tb)
{
	size_t nr = qemu_plugin_tb_n_insns(tb);
	bool after_unseen = false;

	for (size_t i = 0; i < nr; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		u8 code[QEMU_INSN_MAX];
		size_t len = qp_api_insn_code(insn, code, sizeof(code));
		struct unseen unseen;

		if (after_unseen)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_seen,
							       QEMU_PLUGIN_CB_NO_REGS, NULL);
		qemu_plugin_register_vcpu_mem_cb(insn, on_store, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_W, (void *)(uintptr_t)i);
		after_unseen = is_unseen(code, len, &unseen);
		if (after_unseen)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_unseen,
							       QEMU_PLUGIN_CB_R_REGS,
							       pack(&unseen, i,
								    qemu_plugin_insn_vaddr(insn) +
									    len));
	}
}
