// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Translation: what qemu is about to run becomes an entry of the shared block tables, which all
 * processes of the session fill together. Equal blocks get equal ids, so that neither retranslation
 * nor a thousand short-lived processes fill them.
 */
#include "qemu_plugin.h"
#include "hw/x86_insn.h"
#include <stdlib.h>
#include <string.h>

static struct qp_wide *wide_blocks;

static u32 hash_block(const struct qemu_block *b, const u8 *lens)
{
	u64 h = b->ip * 0x9e3779b97f4a7c15ull + b->nr_insns;

	for (u32 i = 0; i < b->nr_insns; i++)
		h = (h ^ lens[i]) * 0x100000001b3ull;
	return (u32)(h ^ h >> 32);
}

static bool same_block(const struct qemu_block *a, const struct qemu_block *b, const u8 *lens)
{
	return a->ip == b->ip && a->arch == b->arch && a->last_off == b->last_off &&
	       a->nr_insns == b->nr_insns && a->last_len == b->last_len &&
	       a->last_cls == b->last_cls && a->last_flags == b->last_flags &&
	       a->lens_off <= QEMU_LENS_SIZE - QEMU_BLOCK_INSNS &&
	       !memcmp(qp.shm->lens + a->lens_off, lens, b->nr_insns);
}

/* A new entry, or QEMU_MSG: the tables are full. */
static u32 add_block(const struct qemu_block *b, const u8 *lens)
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
	memcpy(shm->lens + lens_off, lens, b->nr_insns);
	shm->block[id] = *b;
	shm->block[id].lens_off = lens_off;
	return id;
}

static u32 intern_block(const struct qemu_block *b, const u8 *lens)
{
	u32 id = QEMU_MSG, hash = hash_block(b, lens);

	for (u32 i = 0; i < 64; i++) {
		u32 *slot = &qp.shm->hash[(hash + i) & (QEMU_HASH_SIZE - 1)];
		u32 have = qemu_load(slot);

		if (!have) {
			if (id == QEMU_MSG)
				id = add_block(b, lens);
			if (id == QEMU_MSG)
				return id;
			if (__atomic_compare_exchange_n(slot, &have, id + 1, false,
							__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
				return id;
		}
		if (have <= QEMU_MAX_BLOCKS && same_block(&qp.shm->block[have - 1], b, lens))
			return have - 1;
	}
	return id != QEMU_MSG ? id : add_block(b, lens);
}

static struct qp_wide *make_wide(const struct qemu_block *b, const u8 *lens)
{
	struct qp_wide *wide = calloc(1, sizeof(*wide));

	if (!wide)
		return NULL;
	wide->word[0] = (u32)b->ip;
	wide->word[1] = (u32)(b->ip >> 32);
	wide->word[2] = b->nr_insns | (u32)b->last_len << 16 | (u32)b->last_cls << 24;
	wide->word[3] = b->last_flags;
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
	u8 lens[QEMU_BLOCK_INSNS];
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
		/* no code may be read there: qemu has none, and emulates the call */
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
		if (!i)
			b.ip = ip;
		b.last_off = (u32)(ip - b.ip);
		b.last_len = (u8)len;
		b.last_cls = cls;
		b.last_flags = flags;
		lens[b.nr_insns++] = (u8)len;
	}
	if (!b.nr_insns)
		return QP_BLOCK_NONE;
	id = intern_block(&b, lens);
	if (id == QEMU_MSG) {
		*arg = make_wide(&b, lens);
		return *arg ? QP_BLOCK_WIDE : QP_BLOCK_NONE;
	}
	*arg = (void *)(uintptr_t)id;
	return b.nr_insns == 1 && b.last_flags & X86_INSN_REP ? QP_BLOCK_REP : QP_BLOCK_NORMAL;
}
