// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See unit_faults.h. Freestanding. */
#include "unit_faults.h"

#define ENTRY_END     0x01ull
#define ENTRY_STOP    0x10ull
#define PT_STATUS     0x571u
#define PT_STOPPED    0x20ull
#define PT_ERRORS     0x30ull
#define PMBLIMITR     0xc4d0u
#define PMBSR	      0xc4d3u
#define TRBLIMITR     0xc4d8u
#define TRBPTR	      0xc4d9u
#define TRBSR	      0xc4dbu
#define TRBSR_WRAPPED 0x100000ull
#define ENABLE	      1ull

static const char *const names[UNIT_NR_FAULTS] = {
	[UNIT_IRQ_LATE] = "interrupt-late",
	[UNIT_IRQ_LOST] = "interrupt-lost",
	[UNIT_IRQ_DOUBLED] = "interrupt-doubled",
	[UNIT_IRQ_PAGE_OFF] = "interrupt-page-off",
	[UNIT_IRQ_WHILE_STOPPING] = "interrupt-while-stopping",
	[UNIT_PAST_LIMIT] = "past-limit",
	[UNIT_STALE_STATUS] = "stale-status",
	[UNIT_FLAG_MISSING] = "flag-missing",
	[UNIT_WRONG_WRAP] = "wrong-wrap",
	[UNIT_PADDING_MISSING] = "padding-missing",
};

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

enum unit_fault unit_fault_find(const char *name)
{
	for (unsigned int i = 1; i < UNIT_NR_FAULTS; i++)
		if (same(names[i], name))
			return (enum unit_fault)i;
	return UNIT_FAULT_NONE;
}

const char *unit_fault_name(enum unit_fault fault)
{
	return fault < UNIT_NR_FAULTS ? names[fault] : (const char *)0;
}

u64 unit_faults_entry(struct unit_faults *f, u64 entry, const u64 *next)
{
	if (f->fault == UNIT_PAST_LIMIT)
		entry &= ~ENTRY_STOP;
	if (f->fault != UNIT_WRONG_WRAP)
		return entry;
	/* skips the first entry after a link */
	if (f->linked && next && !(*next & ENTRY_END))
		entry = *next;
	f->linked = entry & ENTRY_END;
	return entry;
}

u64 unit_faults_read(const struct unit_faults *f, u32 reg, u64 value, u64 status, u64 page_size)
{
	if (f->fault == UNIT_FLAG_MISSING && reg == PT_STATUS)
		return value & ~PT_STOPPED;
	if (f->fault == UNIT_FLAG_MISSING && reg == TRBSR)
		return value & ~TRBSR_WRAPPED;
	if (f->fault == UNIT_WRONG_WRAP && reg == TRBPTR && status & TRBSR_WRAPPED)
		return value + page_size;
	return value;
}

u64 unit_faults_write(struct unit_faults *f, u32 reg, u64 value, u64 now, u64 page_size)
{
	if (f->fault == UNIT_PAST_LIMIT && (reg == PMBLIMITR || reg == TRBLIMITR) && value & ENABLE)
		return value + page_size;
	if (f->fault != UNIT_STALE_STATUS)
		return value;
	if (reg == PT_STATUS) /* the other bits are not output status */
		return value | (now & PT_ERRORS);
	if (reg != PMBSR && reg != TRBSR)
		return value;
	f->uncleared = now & ~value;
	return value | now;
}

u64 unit_faults_cleared(struct unit_faults *f)
{
	u64 cleared = f->fault == UNIT_STALE_STATUS ? 0 : f->uncleared;

	f->uncleared -= cleared;
	return cleared;
}

u32 unit_faults_irq_delay_bytes(const struct unit_faults *f, u64 page_size)
{
	return f->fault == UNIT_IRQ_PAGE_OFF ? (u32)page_size : 0;
}

unsigned int unit_faults_line(struct unit_faults *f, u64 *delay_ns)
{
	bool third = !(++f->nr_raises % 3);

	*delay_ns = f->fault == UNIT_IRQ_LATE && third ? UNIT_IRQ_LATE_NS : 0;
	if (f->fault == UNIT_IRQ_LOST && third)
		return 0;
	return f->fault == UNIT_IRQ_DOUBLED ? 2 : 1;
}

bool unit_faults_stopping(struct unit_faults *f)
{
	return f->fault == UNIT_IRQ_WHILE_STOPPING && !(++f->nr_stops % 3);
}
