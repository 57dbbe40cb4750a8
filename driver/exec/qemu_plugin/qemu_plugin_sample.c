// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Samples for an SPE unit. This file chooses which instruction is the next sample, a number of
 * instructions after the last one. Only samples are expensive: other instructions are counted a
 * block at a time, and their addresses compared with one word.
 */
#include "qemu_plugin.h"
#include "hw/a64_insn.h"
#include "hw/spe_interval.h"

#define DEFAULT_PMSIRR 4096 /* until the unit has been programmed */

__thread struct qp_sampling qp_sampling;

static u32 next_interval(void)
{
	u32 pmsirr = qemu_load(&qp.shm->pmsirr);

	if (!qp_sampling.random) /* each thread has its own random sequence */
		qp_sampling.random = (u32)qp_rec->tid * 2654435761u | 1;
	return spe_interval_next(pmsirr ? pmsirr : DEFAULT_PMSIRR, &qp_sampling.random);
}

void qp_sample_take(u64 ip, u32 nr_insns)
{
	u32 left = qp_sampling.left, after, word[3], interval;
	u64 at;

	if (!qp_recording())
		return;
	if (!left) {
		left = next_interval();
		if (left > nr_insns) {
			qp_sampling.left = left - nr_insns;
			return;
		}
	}
	at = ip + (u64)(left - 1) * A64_INSN_LEN;
	after = nr_insns - left; /* instructions of the block */
	interval = next_interval();
	/* a block has at most one: a shorter interval is never requested */
	qp_sampling.left = interval > after ? interval - after : 1;
	if (!qemu_load(&qp.shm->pmsirr) || qp_read(at, &word[2], A64_INSN_LEN))
		return;
	word[0] = (u32)at;
	word[1] = (u32)(at >> 32);
	qp_message(qp_rec, QEMU_MSG_SAMPLE, word, 3);
	qp_sampling.wanted = at;
}

static void on_access(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t addr, void *arg)
{
	u32 word[3];

	(void)cpu;
	if (__builtin_expect(qp_sampling.wanted != (u64)(uintptr_t)arg, 1))
		return;
	qp_sampling.wanted = 0;
	word[0] = (u32)addr;
	word[1] = (u32)(addr >> 32);
	word[2] = 1u << qemu_plugin_mem_size_shift(info) | (u32)qemu_plugin_mem_is_store(info)
								   << 16;
	qp_message(qp_rec, QEMU_MSG_DATA, word, 3);
}

void qp_sample_translate(struct qemu_plugin_tb *tb)
{
	size_t nr = qemu_plugin_tb_n_insns(tb);

	for (size_t i = 0; i < nr; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW,
						 (void *)(uintptr_t)qemu_plugin_insn_vaddr(insn));
	}
}
