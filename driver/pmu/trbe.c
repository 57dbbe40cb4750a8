// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The TRBE as a sink: its start and stop positions, its management events, two errata. It handles
 * registers and transactions; cs_etm.c handles perf events and the trace unit, arm_area.c the area,
 * padding and the linear limit. Rules J1 to J6, J8: docs/kernel-rules.md.
 */
#include <linux/errno.h>
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/smp.h>
#include <linux/string.h>
#include "arm_area.h"
#include "pmu_local.h"
#include "trbe.h"
#include "trbe_regs.h"

#define PAD_BYTE   0x70 /* J2: an ETE packet without content */
#define MIN_RUN	   64ul
#define SKIP_BYTES 256ul /* J6 */
#define MAX_ALIGN  2048ul
#define FORMAT_RAW 0x0100ull /* J3: PERF_AUX_FLAG_CORESIGHT_FORMAT_RAW */

enum fault_action {
	ACT_SPURIOUS,
	ACT_WRAP, /* the buffer was filled */
	ACT_FATAL,
};

static PMU_LOCAL const struct trbe_hw *trbe;
static PMU_LOCAL unsigned long trbe_align;
/* The open transaction that the interrupt may end, or NULL. */
static DEFINE_PER_CPU(struct perf_output_handle *, trbe_handles);

static u64 reg_read(u32 reg)
{
	return trbe->read(smp_processor_id(), reg);
}

static void reg_write(u32 reg, u64 value)
{
	trbe->write(smp_processor_id(), reg, value);
}

/* Stops collection, and waits until all trace is in memory. Base and limit stay readable. */
static void buffer_off(void)
{
	/* Barrier B of the AUX area is the driver's: the drain. Pairs with the reader's C. */
	trbe->drain(smp_processor_id());
	reg_write(TRBE_LIMITR, reg_read(TRBE_LIMITR) & ~TRBE_LIMITR_E);
}

/* ---- limits ---- */

/* J2: with the erratum, a page after the limit must be free, too. */
static unsigned long min_run(void)
{
	return MIN_RUN + (trbe->writes_out_of_range ? PAGE_SIZE : 0);
}

static u64 linear_limit(const struct arm_area *area, struct perf_output_handle *handle)
{
	u64 limit = arm_area_limit(area, handle, trbe_align);

	/* J2: retries until the space suffices or is used up (SPE retries once) */
	while (limit && limit - arm_area_off(area, handle->head) < min_run()) {
		arm_area_pad(area, handle, limit - arm_area_off(area, handle->head));
		limit = arm_area_limit(area, handle, trbe_align);
	}
	return limit;
}

/*
 * J5: the whole area, because decoding of ETE trace can start anywhere. Head keeps counting; the
 * driver moves it itself, because no reader constrains it.
 */
static u64 snapshot_limit(const struct arm_area *area, struct perf_output_handle *handle)
{
	u64 bytes = arm_area_bytes(area), left;
	unsigned long delta = -handle->head & (trbe_align - 1);

	/* Not in the kernel: a unit that drops low bits of its pointer would overwrite trace. */
	arm_area_pad(area, handle, delta);
	handle->head += delta;
	left = bytes - arm_area_off(area, handle->head);
	if (left < min_run()) {
		arm_area_pad(area, handle, left);
		handle->head += left;
	}
	return bytes;
}

static void stop_and_truncate(struct perf_output_handle *handle)
{
	buffer_off();
	perf_aux_output_flag(handle, PERF_AUX_FLAG_TRUNCATED); /* J4 */
	perf_aux_output_end(handle, 0);
	*this_cpu_ptr(&trbe_handles) = NULL;
}

int trbe_enable(struct perf_output_handle *handle)
{
	const struct arm_area *area = perf_get_aux(handle);
	u64 limit, base, start;

	perf_aux_output_flag(handle, FORMAT_RAW);
	limit = area->snapshot ? snapshot_limit(area, handle) : linear_limit(area, handle);
	if (!limit) {
		stop_and_truncate(handle);
		return -ENOSPC;
	}
	base = (u64)(uintptr_t)area->base;
	limit += base;
	start = base + arm_area_off(area, handle->head);
	if (trbe->overwrites_in_fill_mode) {
		/* J6: the erratum overwrites the skipped bytes; align is a page here */
		base = start;
		start += SKIP_BYTES;
	}
	if (trbe->writes_out_of_range)
		limit -= PAGE_SIZE;
	*this_cpu_ptr(&trbe_handles) = handle;
	/* J1: fill mode; both ends are pages */
	reg_write(TRBE_LIMITR, 0);
	reg_write(TRBE_SR, 0);
	reg_write(TRBE_BASER, base);
	reg_write(TRBE_PTR, start);
	reg_write(TRBE_LIMITR, limit | TRBE_LIMITR_TM_IGNORE | TRBE_LIMITR_E);
	return 0;
}

/* ---- bytes written ---- */

/* J5: the number of bytes that the buffer has written in this transaction. */
static unsigned long trbe_get_trace_size(struct perf_output_handle *handle, bool wrapped)
{
	const struct arm_area *area = perf_get_aux(handle);
	u64 end = wrapped ? reg_read(TRBE_LIMITR) & TRBE_LIMITR_LIMIT : reg_read(TRBE_PTR);
	u64 start_off = arm_area_off(area, handle->head);
	u64 end_off = end - (u64)(uintptr_t)area->base;
	unsigned long nr_bytes = end_off - start_off;

	if (WARN_ON_ONCE(end_off < start_off))
		return 0;
	if (trbe->overwrites_in_fill_mode) /* J6 */
		memset(area->base + start_off, PAD_BYTE, min(nr_bytes, SKIP_BYTES));
	if (area->snapshot)
		handle->head += nr_bytes;
	return nr_bytes;
}

static enum fault_action trbe_get_fault_action(u64 status)
{
	u64 class = status >> TRBE_SR_EC_SHIFT & TRBE_SR_EC_MASK;

	if (status & (TRBE_SR_TRG | TRBE_SR_EA) || class == TRBE_SR_EC_STAGE1 ||
	    class == TRBE_SR_EC_STAGE2)
		return ACT_FATAL;
	if (!(status & TRBE_SR_WRAP) || class != TRBE_SR_EC_BUFFER ||
	    (status & TRBE_SR_BSC_MASK) != TRBE_SR_BSC_FILLED)
		return ACT_SPURIOUS;
	/* J6: with the erratum the pointer may have moved on from base */
	return trbe->overwrites_in_fill_mode || reg_read(TRBE_PTR) == reg_read(TRBE_BASER) ?
		       ACT_WRAP :
		       ACT_SPURIOUS;
}

unsigned long trbe_update(struct perf_output_handle *handle)
{
	unsigned long nr_bytes = 0, flags;
	bool wrapped = false;
	u64 status;

	/* A fill while the buffer is being stopped belongs to this transaction: block its
	 * interrupt. */
	local_irq_save(flags);
	perf_aux_output_flag(handle, FORMAT_RAW); /* J3 */
	/* J8: if the buffer is off, the interrupt came first and has reported the bytes. */
	if (!(reg_read(TRBE_LIMITR) & TRBE_LIMITR_E))
		goto out;
	buffer_off();
	status = reg_read(TRBE_SR);
	if (status & TRBE_SR_IRQ) {
		reg_write(TRBE_SR, status & ~TRBE_SR_IRQ);
		/* J4: the number of bytes is unknown, so none is reported */
		if (trbe_get_fault_action(status) != ACT_WRAP)
			goto out;
		perf_aux_output_flag(handle, PERF_AUX_FLAG_COLLISION);
		wrapped = true;
	}
	nr_bytes = trbe_get_trace_size(handle, wrapped);
out:
	local_irq_restore(flags);
	return nr_bytes;
}

void trbe_disable(void)
{
	buffer_off();
	*this_cpu_ptr(&trbe_handles) = NULL;
}

/* ---- interrupt ---- */

/* The buffer was filled. Returns 0 if collection continues in another transaction. */
static int next_transaction(struct perf_output_handle *handle)
{
	struct perf_event *event = handle->event;
	unsigned long nr_bytes = trbe_get_trace_size(handle, true);

	/*
	 * J4: some trace was lost, because the trace unit did not stop. That is no reason to
	 * disable the event.
	 */
	perf_aux_output_flag(handle, PERF_AUX_FLAG_COLLISION);
	perf_aux_output_end(handle, nr_bytes);
	if (perf_aux_output_begin(handle, event))
		return trbe_enable(handle);
	/* J4: full, without a flag (D6); cs_etm.c detects it by the handle */
	*this_cpu_ptr(&trbe_handles) = NULL;
	return -ENOSPC;
}

/* An unknown management event. Collection continues; if it had stopped, some trace was lost. */
static void resume_collection(struct perf_output_handle *handle, u64 status)
{
	if (status & TRBE_SR_S) {
		perf_aux_output_flag(handle, PERF_AUX_FLAG_COLLISION);
		reg_write(TRBE_SR, 0);
	}
	reg_write(TRBE_LIMITR, reg_read(TRBE_LIMITR) | TRBE_LIMITR_E);
}

bool trbe_interrupt(void)
{
	struct perf_output_handle *handle = *this_cpu_ptr(&trbe_handles);
	bool truncated = false;
	u64 status;

	/* Raised by another device, or already handled by trbe_update() (J8). */
	if (!(reg_read(TRBE_SR) & TRBE_SR_IRQ))
		return false;
	buffer_off();
	status = reg_read(TRBE_SR);
	reg_write(TRBE_SR, status & ~TRBE_SR_IRQ);
	if (!handle || !perf_get_aux(handle))
		return false;
	switch (trbe_get_fault_action(status)) {
	case ACT_WRAP:
		truncated = next_transaction(handle);
		break;
	case ACT_SPURIOUS:
		resume_collection(handle, status);
		break;
	case ACT_FATAL:
		pr_err_ratelimited("trbe: CPU %d: status %llx, address %llx\n", smp_processor_id(),
				   status, reg_read(TRBE_PTR));
		stop_and_truncate(handle);
		truncated = true;
		break;
	}
	if (truncated) /* this may disable the event: now, before more trace is written */
		irq_work_run();
	return true;
}

/* ---- areas ---- */

void *trbe_setup(void **pages, int nr_pages, bool overwrite, int node)
{
	/* Not in the kernel: with the erratum, two pages would never contain trace (J2). */
	if (trbe->writes_out_of_range && !overwrite && nr_pages < 4)
		return NULL;
	return arm_area_new(pages, nr_pages, overwrite, PAD_BYTE, node);
}

void trbe_free(void *aux)
{
	arm_area_free(aux);
}

int trbe_probe(const struct trbe_hw *hw)
{
	u64 id = hw->read(smp_processor_id(), TRBE_IDR);

	trbe = hw;
	trbe_align = 1ul << (id & TRBE_IDR_ALIGN_MASK);
	if (id & TRBE_IDR_P || trbe_align > MAX_ALIGN)
		return -ENODEV;
	if (hw->overwrites_in_fill_mode) /* J6 */
		trbe_align = PAGE_SIZE;
	return 0;
}
