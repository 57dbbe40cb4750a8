// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The Intel PT PMU driver: AUX transactions, interrupt, control registers. It accesses the unit
 * through struct intel_pt_hw only. See also intel_pt_buffer.c (tables, interrupt threshold, stop
 * position, and the position in the AUX area), intel_pt_filters.c (address ranges) and
 * intel_pt_attrs.c (sysfs). Rule numbers (H8) refer to docs/kernel-rules.md.
 */
#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <asm/barrier.h>
#include "intel_pt.h"
#include "intel_pt_buffer.h"
#include "intel_pt_filters.h"
#include "intel_pt_regs.h"
#include "pmu_local.h"

#define CONFIG_CYC_THRESH_SHIFT 19
#define CONFIG_PSB_PERIOD_SHIFT 24
#define CONFIG_MTC_PERIOD_SHIFT 14

/*
 * attr.config has the layout of RTIT_CTL. The unit lacks pwr_evt (4), fup_on_ptw (5), ptw (12),
 * event trace (31) and notnt (55), like a CPU whose CPUID does not report them.
 */
#define CONFIG_PASSTHROUGH  PT_CTL_TRACEEN /* "pt": branch is taken from config, not implied */
#define CONFIG_FIELD(shift) (0xfull << (shift))
#define CONFIG_ALL                                                                          \
	(CONFIG_PASSTHROUGH | PT_CTL_CYCEN | PT_CTL_MTCEN | PT_CTL_TSCEN | PT_CTL_DISRETC | \
	 PT_CTL_BRANCHEN | CONFIG_FIELD(CONFIG_MTC_PERIOD_SHIFT) |                          \
	 CONFIG_FIELD(CONFIG_CYC_THRESH_SHIFT) | CONFIG_FIELD(CONFIG_PSB_PERIOD_SHIFT))

struct pt_cpu {
	struct perf_output_handle handle;
	bool handle_irq; /* true between start and stop */
	bool vmx_on;
};

static DEFINE_PER_CPU(struct pt_cpu, pt_cpus);
static PMU_LOCAL const struct intel_pt_hw *pt_hw;
static PMU_LOCAL intel_pt_output_copy *output_copy;
static PMU_LOCAL struct pmu pt_pmu;

static u64 reg_read(u32 msr)
{
	return pt_hw->read(smp_processor_id(), msr);
}

static void reg_write(u32 msr, u64 value)
{
	pt_hw->write(smp_processor_id(), msr, value);
}

/* ---- control ---- */

static bool field_allowed(u64 config, int shift, u16 allowed)
{
	unsigned int value = config >> shift & 0xf;

	return !value || !allowed || allowed & 1u << value;
}

static bool config_valid(u64 config)
{
	if (config & ~CONFIG_ALL)
		return false;
	if (!field_allowed(config, CONFIG_PSB_PERIOD_SHIFT, pt_hw->psb_periods) ||
	    !field_allowed(config, CONFIG_CYC_THRESH_SHIFT, pt_hw->cyc_thresholds) ||
	    !field_allowed(config, CONFIG_MTC_PERIOD_SHIFT, pt_hw->mtc_periods))
		return false;
	/* Tools older than the pt bit never set branch, and expect it. */
	return config & CONFIG_PASSTHROUGH || !(config & PT_CTL_BRANCHEN);
}

/* Also sets the address registers, which cannot be changed later. */
static u64 prepare_control(struct perf_event *event, const struct pt_buffer *buf)
{
	u64 ctl = event->attr.config | PT_CTL_TRACEEN;

	ctl |= pt_filters_load(event, reg_write);

	if (!(event->attr.config & CONFIG_PASSTHROUGH))
		ctl |= PT_CTL_BRANCHEN;
	if (!buf->single)
		ctl |= PT_CTL_TOPA;
	if (!event->attr.exclude_kernel)
		ctl |= PT_CTL_OS;
	if (!event->attr.exclude_user)
		ctl |= PT_CTL_USR;
	return ctl;
}

static void trace_on(struct pt_cpu *pt, struct perf_event *event)
{
	u64 ctl = event->hw.config | PT_CTL_TRACEEN;

	/* H12: the write would fault; that part of the trace is missing */
	if (READ_ONCE(pt->vmx_on))
		perf_aux_output_flag(&pt->handle, PERF_AUX_FLAG_PARTIAL);
	else
		reg_write(PT_MSR_CTL, ctl);
	WRITE_ONCE(event->hw.config, ctl);
}

static void trace_off(struct pt_cpu *pt, struct perf_event *event)
{
	u64 ctl = READ_ONCE(event->hw.config);

	if (!(ctl & PT_CTL_TRACEEN)) /* the interrupt handler came first */
		return;
	ctl &= ~PT_CTL_TRACEEN;
	if (!READ_ONCE(pt->vmx_on)) /* H12: VMXON has cleared it */
		reg_write(PT_MSR_CTL, ctl);
	WRITE_ONCE(event->hw.config, ctl);
	/*
	 * Barrier B (section E of the rules) is the driver's: the unit has stored its packets,
	 * which now become visible before the aux_head that perf_aux_output_end() publishes. Pairs
	 * with the reader's C.
	 */
	wmb();
}

/* The unit starts at the buffer's position. */
static void load_position(const struct pt_buffer *buf)
{
	reg_write(PT_MSR_OUTPUT_BASE, pt_buffer_output_base(buf));
	reg_write(PT_MSR_OUTPUT_MASK_PTRS, pt_buffer_output_mask_ptrs(buf));
}

/*
 * Copies position and status of the unit, which is off, to the buffer and the handle. The position
 * need not be at a threshold: an INT does not stop the unit (H7).
 */
static void read_unit_position(struct pt_cpu *pt, struct pt_buffer *buf)
{
	u64 status = reg_read(PT_MSR_STATUS);
	bool stopped = status & PT_STATUS_STOPPED;

	pt_buffer_read_position(buf, buf->single ? 0 : reg_read(PT_MSR_OUTPUT_BASE),
				reg_read(PT_MSR_OUTPUT_MASK_PTRS));
	/* H8: only the log reports an error */
	if (status & PT_STATUS_ERROR)
		pr_err_ratelimited("intel_pt: output error, trace stopped\n");
	/* H8: a unit with single-entry ToPA only is losing data at once */
	if (stopped && !buf->single && (buf->one_entry || pt_buffer_region_full(buf)))
		perf_aux_output_flag(&pt->handle, PERF_AUX_FLAG_TRUNCATED);
	pt_buffer_finish_region(buf, stopped);
	reg_write(PT_MSR_STATUS, status & ~(PT_STATUS_ERROR | PT_STATUS_STOPPED));
	pt_buffer_update_head(buf);
}

/* Ends the transaction. H11: a snapshot's head is an offset, and its size has no meaning. */
static void end_transaction(struct pt_cpu *pt, struct pt_buffer *buf)
{
	unsigned long nr_bytes = buf->nr_bytes;

	buf->nr_bytes = 0;
	if (buf->snapshot) {
		pt->handle.head = nr_bytes;
		nr_bytes = buf->nr_pages << PAGE_SHIFT;
	}
	perf_aux_output_end(&pt->handle, nr_bytes);
}

/* Begins a transaction and sets the unit to its start; NULL: no transaction is open. */
static struct pt_buffer *begin_transaction(struct pt_cpu *pt, struct perf_event *event)
{
	struct pt_buffer *buf = perf_aux_output_begin(&pt->handle, event);

	if (!buf)
		return NULL;
	pt_buffer_seek(buf, pt->handle.head);
	if (pt_buffer_set_thresholds(buf, pt->handle.size, pt->handle.wakeup)) {
		/* H6: the space ends inside the region; D14 emits a record of size 0 */
		perf_aux_output_flag(&pt->handle, PERF_AUX_FLAG_TRUNCATED);
		perf_aux_output_end(&pt->handle, 0);
		return NULL;
	}
	load_position(buf);
	return buf;
}

/* ---- callbacks of the core ---- */

static int pt_event_init(struct perf_event *event)
{
	if (event->attr.type != (u32)pt_pmu.type)
		return -ENOENT;
	if (!config_valid(event->attr.config))
		return -EINVAL;
	return pt_filters_init(event);
}

static void pt_event_start(struct perf_event *event, int flags)
{
	struct pt_cpu *pt = this_cpu_ptr(&pt_cpus);
	struct pt_buffer *buf;

	(void)flags;
	buf = begin_transaction(pt, event);
	if (!buf) {
		event->hw.state = PERF_HES_STOPPED;
		return;
	}
	WRITE_ONCE(pt->handle_irq, true);
	event->hw.state = 0;
	if (!event->hw.config) {
		/* F1: perf_event_itrace_started() is not exported */
		event->attach_state |= PERF_ATTACH_ITRACE;
		/* this also resets the count of bytes to the next PSB */
		reg_write(PT_MSR_STATUS, 0);
	}
	event->hw.config = prepare_control(event, buf);
	trace_on(pt, event);
}

static void pt_event_stop(struct perf_event *event, int flags)
{
	struct pt_cpu *pt = this_cpu_ptr(&pt_cpus);
	struct pt_buffer *buf;

	/* An interrupt after this must not turn the unit on again. */
	WRITE_ONCE(pt->handle_irq, false);
	trace_off(pt, event);
	if (event->hw.state == PERF_HES_STOPPED)
		return;
	event->hw.state = PERF_HES_STOPPED;
	if (!(flags & PERF_EF_UPDATE))
		return;
	buf = perf_get_aux(&pt->handle);
	if (!buf || WARN_ON_ONCE(pt->handle.event != event))
		return;
	read_unit_position(pt, buf);
	end_transaction(pt, buf);
}

static int pt_event_add(struct perf_event *event, int flags)
{
	struct pt_cpu *pt = this_cpu_ptr(&pt_cpus);

	if (pt->handle.event)
		return -EBUSY;
	event->hw.state = PERF_HES_STOPPED;
	if (!(flags & PERF_EF_START))
		return 0;
	pt_event_start(event, 0);
	return event->hw.state == PERF_HES_STOPPED ? -EINVAL : 0;
}

static void pt_event_del(struct perf_event *event, int flags)
{
	(void)flags;
	pt_event_stop(event, PERF_EF_UPDATE);
}

static void pt_event_read(struct perf_event *event)
{
	(void)event; /* nothing is counted */
}

static void *pt_setup_aux(struct perf_event *event, void **pages, int nr_pages, bool overwrite)
{
	int cpu = event->cpu == -1 ? raw_smp_processor_id() : event->cpu;

	/* C7: sampling needs a unit that runs without interrupts */
	if (event->attr.aux_sample_size && !overwrite)
		return NULL;
	return pt_buffer_new(pages, nr_pages, overwrite, cpu_to_node(cpu), pt_hw->single_range,
			     !pt_hw->topa_multiple_entries);
}

static void pt_free_aux(void *aux)
{
	pt_buffer_free(aux);
}

/* ---- samples ---- */

static long copy_area(const struct pt_buffer *buf, struct perf_output_handle *handle, u64 from,
		      unsigned long size)
{
	unsigned long left = size;

	while (left) {
		u64 at = from & ((buf->nr_pages << PAGE_SHIFT) - 1);
		unsigned long len = min(left, (unsigned long)(PAGE_SIZE - (at & (PAGE_SIZE - 1))));

		if (output_copy(handle,
				(char *)buf->pages[at >> PAGE_SHIFT] + (at & (PAGE_SIZE - 1)),
				(unsigned int)len))
			return -EFAULT;
		from += len;
		left -= len;
	}
	return (long)size;
}

/* G5: the space is reserved, and the kernel warns if it is not filled: zero is PAD. */
static long copy_padding(struct perf_output_handle *handle, unsigned long size)
{
	static const u64 pad[8];
	unsigned long left = size;

	while (left) {
		unsigned long len = min(left, (unsigned long)sizeof(pad));

		if (output_copy(handle, pad, (unsigned int)len))
			return -EFAULT;
		left -= len;
	}
	return (long)size;
}

/*
 * G4, G5: copies the newest bytes into a sample of another event. Interrupts are off; the
 * transaction stays open, and the buffer keeps its position. An area that is read while it is
 * filled (linear) has no newest bytes for a sample, and stopping the unit might cancel a pending
 * interrupt.
 */
static long pt_event_snapshot_aux(struct perf_event *event, struct perf_output_handle *handle,
				  unsigned long size)
{
	struct pt_cpu *pt = this_cpu_ptr(&pt_cpus);
	const struct pt_buffer *buf = perf_get_aux(&pt->handle);
	struct pt_buffer now;
	bool stop;
	long ret;

	if (!buf || !buf->snapshot || pt->handle.event != event)
		return copy_padding(handle, size);
	/* an emulated unit may be in the middle of its work: then it may only be read */
	stop = READ_ONCE(pt->handle_irq) && !(pt_hw->read_only && pt_hw->read_only());
	if (stop)
		trace_off(pt, event);
	now = *buf;
	pt_buffer_read_position(&now, now.single ? 0 : reg_read(PT_MSR_OUTPUT_BASE),
				reg_read(PT_MSR_OUTPUT_MASK_PTRS));
	pt_buffer_update_head(&now);
	ret = copy_area(buf, handle, now.nr_bytes + (buf->nr_pages << PAGE_SHIFT) - size, size);
	if (stop)
		trace_on(pt, event);
	return ret;
}

void intel_pt_use_output_copy(intel_pt_output_copy *copy)
{
	output_copy = copy;
}

/* ---- entry points of the CPU ---- */

void intel_pt_interrupt(void)
{
	struct pt_cpu *pt = this_cpu_ptr(&pt_cpus);
	struct perf_event *event = pt->handle.event;
	struct pt_buffer *buf;

	/* H13. An interrupt that was on its way while the event was stopped has nothing to do. */
	if (!READ_ONCE(pt->handle_irq) || !event)
		return;
	buf = perf_get_aux(&pt->handle);
	if (!buf || buf->snapshot) /* H3: snapshots have no thresholds */
		return;
	trace_off(pt, event);
	read_unit_position(pt, buf);
	end_transaction(pt, buf);
	if (begin_transaction(pt, event))
		trace_on(pt, event);
	else
		event->hw.state = PERF_HES_STOPPED;
}

void intel_pt_vmx(bool on)
{
	struct pt_cpu *pt = this_cpu_ptr(&pt_cpus);
	struct perf_event *event;
	unsigned long flags;

	local_irq_save(flags);
	WRITE_ONCE(pt->vmx_on, on);
	event = pt->handle.event;
	if (event) {
		/* H12: trace of this transaction is missing */
		perf_aux_output_flag(&pt->handle, PERF_AUX_FLAG_PARTIAL);
		if (!on)
			reg_write(PT_MSR_CTL, event->hw.config);
	}
	local_irq_restore(flags);
}

void intel_pt_flag_partial(void)
{
	struct pt_cpu *pt = this_cpu_ptr(&pt_cpus);

	if (perf_get_aux(&pt->handle))
		perf_aux_output_flag(&pt->handle, PERF_AUX_FLAG_PARTIAL);
}

struct perf_event *intel_pt_traced_event(void)
{
	return this_cpu_ptr(&pt_cpus)->handle.event;
}

/* ---- registration ---- */

static PMU_LOCAL struct pmu pt_pmu = {
	.task_ctx_nr = perf_sw_context,
	.event_init = pt_event_init,
	.add = pt_event_add,
	.del = pt_event_del,
	.start = pt_event_start,
	.stop = pt_event_stop,
	.read = pt_event_read,
	.setup_aux = pt_setup_aux,
	.free_aux = pt_free_aux,
	.addr_filters_validate = pt_filters_validate,
	.addr_filters_sync = pt_filters_sync,
};

int intel_pt_register(const char *name, const struct intel_pt_hw *hw)
{
	int err;

	if (pt_hw)
		return -EBUSY;
	pt_hw = hw;
	pt_pmu.module = THIS_MODULE;
	pt_filters_set_hw(hw);
	/* G2: without snapshot_aux the core refuses events that sample the AUX area */
	pt_pmu.snapshot_aux = output_copy ? pt_event_snapshot_aux : NULL;
	pt_pmu.nr_addr_filters = hw->nr_addr_ranges;
	pt_pmu.attr_groups = intel_pt_attr_groups(hw);
	/* exclude_kernel and exclude_user are honoured, so no NO_EXCLUDE */
	pt_pmu.capabilities = PERF_PMU_CAP_ITRACE | PERF_PMU_CAP_EXCLUSIVE;
	if (!hw->topa_multiple_entries)
		pt_pmu.capabilities |= PERF_PMU_CAP_AUX_NO_SG; /* C6 */
#ifdef PERF_PMU_CAP_AUX_PREFER_LARGE
	else
		pt_pmu.capabilities |= PERF_PMU_CAP_AUX_PREFER_LARGE; /* L3 */
#endif
	err = perf_pmu_register(&pt_pmu, name, -1);
	if (err)
		pt_hw = NULL;
	return err;
}

void intel_pt_unregister(void)
{
	if (!pt_hw)
		return;
	perf_pmu_unregister(&pt_pmu);
	pt_hw = NULL;
}
