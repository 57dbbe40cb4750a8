// SPDX-License-Identifier: BSD-2-Clause
/*
 * Interrupt threshold and stop position, read back from the registers or tables that the driver has
 * programmed, never from the driver's own variables.
 */
#include "sim.h"

/* A ToPA entry (SDM vol. 3, "ToPA Table Entry"). */
#define ENTRY_END  0x01ull
#define ENTRY_INT  0x04ull
#define ENTRY_STOP 0x10ull

static u64 entry_bytes(u64 entry)
{
	return 4096ull << (entry >> 6 & 0xf);
}

/* One pass over the entries, starting at the unit's current one. */
void thresholds_read_tables(struct sim *sim)
{
	u64 base = sim->pt_base & ~0xfffull, index = sim->pt_mask_ptrs >> 7 & 0x1ffffff;
	u64 off = sim->pt_mask_ptrs >> 32, at, wrap, int_at = NO_OFFSET, stop_at = NO_OFFSET, start;
	const u64 *table = core_phys_to_virt(base, 4096);

	if (!table)
		return;
	start = machine_offset(sim, table[index] & ~0xfffull);
	if (start == NO_OFFSET)
		return;
	start += off;
	at = (sim->c.snapshot ? start : sim->mon.head) - off; /* where the entry begins */
	wrap = at + sim->aux_size;
	while (at < wrap) {
		u64 entry = table[index];

		if (entry & ENTRY_END) {
			table = core_phys_to_virt(entry & ~0xfffull, 4096);
			index = 0;
			if (!table)
				return;
			continue;
		}
		at += entry_bytes(entry);
		if (entry & ENTRY_STOP && stop_at == NO_OFFSET)
			stop_at = at;
		else if (entry & ENTRY_INT && int_at == NO_OFFSET)
			int_at = at;
		index++;
	}
	if (int_at == NO_OFFSET)
		int_at = stop_at;
	else if (int_at > stop_at) /* never reached: it is one wrap earlier */
		int_at -= sim->aux_size;
	mon_thresholds(sim, int_at, stop_at, start);
}

void thresholds_read_registers(struct sim *sim)
{
	u64 start = sim->ptr_written ? machine_offset(sim, sim->regs_ptr) : NO_OFFSET;
	u64 last = machine_offset(sim, sim->regs_limit - 1), head_off, stop_at;

	sim->ptr_written = false;
	if (last == NO_OFFSET) {
		mon_violation(sim, AUXTAP_INV_LIMIT_KEPT, "the limit is not in the AUX area");
		return;
	}
	head_off = sim->mon.head & (sim->aux_size - 1);
	stop_at = sim->c.snapshot ? last + 1 : sim->mon.head - head_off + last + 1;
	mon_thresholds(sim, stop_at, stop_at, start);
}
