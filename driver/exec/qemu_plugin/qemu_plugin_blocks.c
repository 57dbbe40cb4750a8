// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Translation: each block that qemu translates becomes an entry of the shared block tables, which
 * all processes of the session use. Equal blocks get equal ids, so that neither retranslation nor a
 * thousand short-lived processes fill the tables.
 */
#include "qemu_plugin.h"
#include "hw/x86_insn.h"
#include <stdlib.h>
#include <string.h>

/* The data of a table entry that is stored in the arenas. */
struct parts {
	u8 lens[QEMU_BLOCK_INSNS];
	u8 code[QEMU_CODE_MAX]; /* of generated blocks */
};

static struct qp_wide *wide_blocks;

/* ---- where code may be generated ---- */

#define MAX_RANGES 64

/* Ranges only grow; end is 0 in unused entries. If more are needed, any code may be generated. */
static struct range {
	u64 start, end;
} ranges[MAX_RANGES];
static u32 nr_ranges;

static bool may_be_generated(u64 ip)
{
	u32 nr = qemu_load(&nr_ranges);

	if (nr > MAX_RANGES)
		return true;
	for (u32 i = 0; i < nr; i++)
		if (ip < qemu_load(&ranges[i].end) && ip >= qemu_load(&ranges[i].start))
			return true;
	return false;
}

/* Extends r by [start, end). False: they do not touch, or another thread changes r. */
static bool extend(struct range *r, u64 start, u64 end)
{
	u64 old_end = qemu_load(&r->end), old_start = qemu_load(&r->start);

	if (!old_end || start > old_end || end < old_start)
		return false;
	while (start < old_start)
		if (__atomic_compare_exchange_n(&r->start, &old_start, start, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			break;
	while (end > old_end)
		if (__atomic_compare_exchange_n(&r->end, &old_end, end, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			break;
	return true;
}

void qp_block_generates(u64 start, u64 end)
{
	u32 nr = qemu_load(&nr_ranges), at;

	for (u32 i = 0; i < nr && i < MAX_RANGES; i++)
		if (extend(&ranges[i], start, end))
			return;
	if (nr > MAX_RANGES)
		return;
	at = __atomic_fetch_add(&nr_ranges, 1, __ATOMIC_ACQ_REL);
	if (at >= MAX_RANGES)
		return;
	qemu_store(&ranges[at].start, start);
	qemu_store(&ranges[at].end, end);
}

void qp_block_moved(u64 from, u64 to, u64 len)
{
	u32 nr = qemu_load(&nr_ranges);

	for (u32 i = 0; i < nr && i < MAX_RANGES; i++) {
		if (from < qemu_load(&ranges[i].end) && from + len > qemu_load(&ranges[i].start)) {
			qp_block_generates(to, to + len);
			return;
		}
	}
}

/* ---- the tables ---- */

static u64 hash_bytes(u64 h, const u8 *bytes, u32 nr)
{
	for (u32 i = 0; i < nr; i++)
		h = (h ^ bytes[i]) * 0x100000001b3ull;
	return h;
}

static u32 hash_block(const struct qemu_block *b, const struct parts *parts)
{
	u64 h = hash_bytes(b->ip * 0x9e3779b97f4a7c15ull + b->nr_insns, parts->lens, b->nr_insns);

	if (b->generated)
		h = hash_bytes(h + 1, parts->code, b->code_size);
	return (u32)(h ^ h >> 32);
}

/* A block whose bytes had no space equals no other, because its code is not known. */
static bool same_code(const struct qemu_block *a, const struct qemu_block *b, const u8 *code)
{
	if (!a->generated || !b->generated)
		return a->generated == b->generated;
	return a->code_size && a->code_size == b->code_size &&
	       a->code_off <= QEMU_CODE_SIZE - QEMU_CODE_MAX &&
	       !memcmp(qp.shm->code + a->code_off, code, b->code_size);
}

static bool same_block(const struct qemu_block *a, const struct qemu_block *b,
		       const struct parts *parts)
{
	return a->ip == b->ip && a->arch == b->arch && a->last_off == b->last_off &&
	       a->nr_insns == b->nr_insns && a->last_len == b->last_len &&
	       a->last_cls == b->last_cls && a->last_flags == b->last_flags &&
	       a->lens_off <= QEMU_LENS_SIZE - QEMU_BLOCK_INSNS &&
	       !memcmp(qp.shm->lens + a->lens_off, parts->lens, b->nr_insns) &&
	       same_code(a, b, parts->code);
}

/* Adds the block's bytes; if there is no space, it has none. */
static void add_code(struct qemu_block *b, const struct parts *parts)
{
	struct qemu_shm *shm = qp.shm;
	u32 off = QEMU_CODE_SIZE;

	if (qemu_load(&shm->code_used) <= QEMU_CODE_SIZE - QEMU_CODE_MAX)
		off = __atomic_fetch_add(&shm->code_used, b->code_size, __ATOMIC_ACQ_REL);
	if (off > QEMU_CODE_SIZE - QEMU_CODE_MAX) {
		b->code_size = 0;
		return;
	}
	memcpy(shm->code + off, parts->code, b->code_size);
	b->code_off = off;
}

/* Adds an entry and returns its id, or QEMU_MSG: the tables are full. */
static u32 add_block(const struct qemu_block *b, const struct parts *parts)
{
	struct qemu_shm *shm = qp.shm;
	u32 id, lens_off;

	/* checked first, so that the counters cannot wrap however often this is called */
	if (qemu_load(&shm->nr_blocks) >= shm->max_blocks ||
	    qemu_load(&shm->lens_used) > QEMU_LENS_SIZE - QEMU_BLOCK_INSNS)
		return QEMU_MSG;
	lens_off = __atomic_fetch_add(&shm->lens_used, b->nr_insns, __ATOMIC_ACQ_REL);
	id = __atomic_fetch_add(&shm->nr_blocks, 1, __ATOMIC_ACQ_REL);
	if (id >= shm->max_blocks || id >= QEMU_MAX_BLOCKS ||
	    lens_off > QEMU_LENS_SIZE - QEMU_BLOCK_INSNS)
		return QEMU_MSG;
	memcpy(shm->lens + lens_off, parts->lens, b->nr_insns);
	shm->block[id] = *b;
	shm->block[id].lens_off = lens_off;
	if (b->generated)
		add_code(&shm->block[id], parts);
	return id;
}

static u32 intern_block(const struct qemu_block *b, const struct parts *parts)
{
	u32 id = QEMU_MSG, hash = hash_block(b, parts);

	for (u32 i = 0; i < 64; i++) {
		u32 *slot = &qp.shm->hash[(hash + i) & (QEMU_HASH_SIZE - 1)];
		u32 have = qemu_load(slot);

		if (!have) {
			if (id == QEMU_MSG)
				id = add_block(b, parts);
			if (id == QEMU_MSG)
				return id;
			if (__atomic_compare_exchange_n(slot, &have, id + 1, false,
							__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
				return id;
		}
		if (have <= QEMU_MAX_BLOCKS && same_block(&qp.shm->block[have - 1], b, parts))
			return have - 1;
	}
	return id != QEMU_MSG ? id : add_block(b, parts);
}

static struct qp_wide *make_wide(const struct qemu_block *b, const u8 *lens)
{
	struct qp_wide *wide = calloc(1, sizeof(*wide));

	if (!wide)
		return NULL;
	wide->word[0] = (u32)b->ip;
	wide->word[1] = (u32)(b->ip >> 32);
	wide->word[2] = b->nr_insns | (u32)b->last_len << 16 | (u32)b->last_cls << 24;
	wide->word[3] = b->last_flags | (u32)b->generated << 8;
	memcpy(&wide->word[4], lens, b->nr_insns);
	wide->nr_words = 4 + (b->nr_insns + 3u) / 4;
	/* translation runs under qemu's own lock */
	wide->next = wide_blocks;
	wide_blocks = wide;
	return wide;
}

void qp_block_flush(qemu_plugin_id_t id)
{
	(void)id;
	while (wide_blocks) {
		struct qp_wide *wide = wide_blocks;

		wide_blocks = wide->next;
		free(wide);
	}
}

static bool is_vsyscall(u64 ip)
{
	return qp.arch->vsyscall && (ip & ~(QEMU_PAGE - 1)) == qp.arch->vsyscall;
}

enum qp_block_kind qp_block_translate(struct qemu_plugin_tb *tb, void **arg)
{
	size_t nr = qemu_plugin_tb_n_insns(tb);
	struct qemu_block b = {.arch = (u8)qp.arch->arch};
	struct parts parts; /* an instruction has at most 15 bytes */
	bool orders = false;
	u64 next = 0;
	u32 id;

	*arg = NULL;
	if (!nr || nr > QEMU_BLOCK_INSNS)
		return QP_BLOCK_NONE;
	for (size_t i = 0; i < nr; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		u64 ip = qemu_plugin_insn_vaddr(insn);
		u8 code[QEMU_INSN_MAX], cls = 0, flags = 0;
		size_t len;

		if (i && ip != next)
			break;
		/* do not read code there: qemu has none, and emulates the call */
		len = is_vsyscall(ip) ? 0 : qp_api_insn_code(insn, code, qp.arch->max_len);
		if (!len) {
			/* qemu records the address of a block that starts with it */
			if (i)
				break;
			*arg = (void *)(uintptr_t)ip;
			return QP_BLOCK_NONE;
		}
		if (!qp.have_base) {
			qp.guest_base = (u64)(uintptr_t)qemu_plugin_insn_haddr(insn) - ip;
			qp.have_base = true;
		}
		next = ip + len;
		if (i + 1 == nr) {
			qp.arch->decode(code, len, &cls, &flags);
			if (i && qp.arch->cut_off(ip, code, len))
				break;
		}
		orders |= qp.arch->orders && qp.arch->orders(code, len);
		if (!i)
			b.ip = ip;
		if (may_be_generated(ip) || may_be_generated(ip + len - 1))
			b.generated = b.arch == AUXTAP_ARCH_X86_64;
		memcpy(parts.code + b.code_size, code, len);
		b.code_size += (u32)len;
		b.last_off = (u32)(ip - b.ip);
		b.last_len = (u8)len;
		b.last_cls = cls;
		b.last_flags = flags;
		parts.lens[b.nr_insns++] = (u8)len;
	}
	if (!b.nr_insns)
		return QP_BLOCK_NONE;
	id = intern_block(&b, &parts);
	if (id == QEMU_MSG) {
		*arg = make_wide(&b, parts.lens);
		return *arg ? QP_BLOCK_WIDE : QP_BLOCK_NONE;
	}
	*arg = (void *)(uintptr_t)id;
	if (b.nr_insns == 1 && b.last_flags & X86_INSN_REP)
		return QP_BLOCK_REP;
	return orders ? QP_BLOCK_ORDER : QP_BLOCK_NORMAL;
}
