// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The Arm SPE PMU driver: AUX transactions, interrupt, control registers. It accesses the unit
 * through struct arm_spe_hw only. See also arm_area.c (the area, padding and the linear limit) and
 * arm_spe_attrs.c (sysfs). Rules I1 to I12: docs/kernel-rules.md.
 */
#include <linux/capability.h>
#include <linux/errno.h>
#include <linux/irq_work.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/smp.h>
#include <asm/local64.h>
#include "arm_area.h"
#include "arm_spe.h"
#include "arm_spe_regs.h"
#include "arm_spe_unit.h"
#include "pmu_local.h"

#define PAD_BYTE 0x00 /* I12 */

/* attr.config; config1 is PMSEVFR, config2 the minimum of PMSLATFR, config3 PMSNEVFR */
#define CONFIG_TS     (1ull << 0)
#define CONFIG_PA     (1ull << 1)
#define CONFIG_PCT    (1ull << 2)
#define CONFIG_JITTER (1ull << 16)
#define CONFIG_B      (1ull << 32)
#define CONFIG_LD     (1ull << 33)
#define CONFIG_ST     (1ull << 34)
#define CONFIG_ALL \
	(CONFIG_TS | CONFIG_PA | CONFIG_PCT | CONFIG_JITTER | CONFIG_B | CONFIG_LD | CONFIG_ST)
#define CONFIG2_ALL 0xfffull

#define FLAG_CONTEXT 0x1 /* event->hw.flags: samples may contain the context */

#define MAX_ALIGN  2048ul /* I1 */
#define MIN_RECORD 16ul
#define MAX_RECORD 2048ul

enum fault_action {
	ACT_SPURIOUS, /* no management event */
	ACT_OK,	      /* the buffer is full */
	ACT_FATAL,
};

static DEFINE_PER_CPU(struct perf_output_handle, spe_handles);
static PMU_LOCAL struct arm_spe_unit spe;
static PMU_LOCAL struct pmu spe_pmu;

static u64 reg_read(u32 reg)
{
	return spe.hw->read(smp_processor_id(), reg);
}

static void reg_write(u32 reg, u64 value)
{
	spe.hw->write(smp_processor_id(), reg, value);
}

bool arm_spe_cpu_present(const struct arm_spe_unit *unit, int cpu)
{
	return !unit->hw->present || unit->hw->present(cpu);
}

/* ---- control ---- */

#ifdef PERF_ATTR_SIZE_VER8 /* attr.config3: since 6.3 */
static u64 inverted_events(const struct perf_event *event)
{
	return event->attr.config3;
}

bool arm_spe_has_inverted(const struct arm_spe_unit *unit)
{
	return unit->pmsidr & SPE_PMSIDR_FNE;
}
#else
static u64 inverted_events(const struct perf_event *event)
{
	(void)event;
	return 0;
}

bool arm_spe_has_inverted(const struct arm_spe_unit *unit)
{
	(void)unit;
	return false;
}
#endif

static u64 sample_control(const struct perf_event *event)
{
	u64 config = event->attr.config, ctl = 0;

	if (config & CONFIG_TS)
		ctl |= SPE_PMSCR_TS;
	if (config & CONFIG_PA)
		ctl |= SPE_PMSCR_PA;
	if (config & CONFIG_PCT)
		ctl |= SPE_PMSCR_PCT;
	if (event->hw.flags & FLAG_CONTEXT)
		ctl |= SPE_PMSCR_CX;
	if (!event->attr.exclude_user)
		ctl |= SPE_PMSCR_E0SPE;
	if (!event->attr.exclude_kernel)
		ctl |= SPE_PMSCR_E1SPE;
	return ctl;
}

static u64 filter_control(const struct perf_event *event)
{
	u64 config = event->attr.config, filters = 0;

	if (config & CONFIG_B)
		filters |= SPE_PMSFCR_B;
	if (config & CONFIG_LD)
		filters |= SPE_PMSFCR_LD;
	if (config & CONFIG_ST)
		filters |= SPE_PMSFCR_ST;
	if (filters)
		filters |= SPE_PMSFCR_FT;
	if (event->attr.config1)
		filters |= SPE_PMSFCR_FE;
	if (inverted_events(event))
		filters |= SPE_PMSFCR_FNE;
	if (event->attr.config2)
		filters |= SPE_PMSFCR_FL;
	return filters;
}

/* A multiple of 256, at least the unit's minimum: ioctl(PERIOD) may have set any value. */
static u64 interval_control(struct perf_event *event)
{
	u64 interval = event->hw.sample_period;

	interval = clamp_t(u64, interval, spe.min_interval, SPE_PMSIRR_INTERVAL_MASK) &
		   SPE_PMSIRR_INTERVAL_MASK;
	event->hw.sample_period = interval;
	return interval | (event->attr.config & CONFIG_JITTER ? SPE_PMSIRR_RND : 0);
}

static int check_filters(const struct perf_event *event)
{
	u64 filters = filter_control(event), needed = 0;

	if ((event->attr.config1 | inverted_events(event)) & spe.events_res0)
		return -EOPNOTSUPP;
	if (filters & SPE_PMSFCR_FE)
		needed |= SPE_PMSIDR_FE;
	if (filters & SPE_PMSFCR_FNE)
		needed |= SPE_PMSIDR_FNE;
	if (filters & SPE_PMSFCR_FT)
		needed |= SPE_PMSIDR_FT;
	if (filters & SPE_PMSFCR_FL)
		needed |= SPE_PMSIDR_FL;
	return needed & ~spe.pmsidr ? -EOPNOTSUPP : 0;
}

/* Stops sampling, and waits until all samples are in memory. */
static void profiling_off(void)
{
	reg_write(SPE_PMSCR, 0);
	/* Barrier B of the AUX area is the driver's: the drain. Pairs with the reader's C. */
	spe.hw->drain(smp_processor_id());
	reg_write(SPE_PMBLIMITR, 0);
}

/* ---- transactions ---- */

/* The stop position as an offset; 0: there is no space, and the transaction has ended. */
static u64 linear_limit(const struct arm_area *area, struct perf_output_handle *handle)
{
	u64 limit = arm_area_limit(area, handle, spe.align), left;

	left = limit - arm_area_off(area, handle->head);
	if (limit && left < spe.max_record) { /* I6: the unit would report a full buffer at once */
		arm_area_pad(area, handle, left);
		limit = arm_area_limit(area, handle, spe.align);
	}
	if (!limit) { /* I2, I5 */
		perf_aux_output_flag(handle, PERF_AUX_FLAG_TRUNCATED);
		perf_aux_output_end(handle, 0);
	}
	return limit;
}

/*
 * I8: samples cannot be decoded backwards, so one half of the area keeps its contents while the
 * unit fills the other. The driver moves handle->head itself: no reader constrains it.
 */
static u64 snapshot_limit(const struct arm_area *area, struct perf_output_handle *handle)
{
	u64 half = arm_area_bytes(area) / 2, head_off, limit;
	unsigned long delta = -handle->head & (spe.align - 1);

	/* Not in the kernel: a unit that drops low bits of PMBPTR would overwrite a record. */
	arm_area_pad(area, handle, delta);
	handle->head = arm_area_off(area, handle->head + delta);
	head_off = handle->head;
	limit = head_off < half ? half : 2 * half;
	if (limit - head_off < spe.max_record) {
		arm_area_pad(area, handle, limit - head_off);
		handle->head = arm_area_off(area, limit);
		limit = half + handle->head;
	}
	return limit;
}

static void begin_transaction(struct perf_output_handle *handle, struct perf_event *event)
{
	const struct arm_area *area = perf_aux_output_begin(handle, event);
	u64 limit;

	if (!area) {
		event->hw.state |= PERF_HES_STOPPED;
		/* the unit may be off only because of its status, which is about to be cleared */
		reg_write(SPE_PMBLIMITR, 0);
		return;
	}
	limit = area->snapshot ? snapshot_limit(area, handle) : linear_limit(area, handle);
	if (!limit) {
		reg_write(SPE_PMBLIMITR, 0);
		return;
	}
	reg_write(SPE_PMBPTR, (u64)(uintptr_t)area->base + arm_area_off(area, handle->head));
	reg_write(SPE_PMBLIMITR, ((u64)(uintptr_t)area->base + limit) | SPE_PMBLIMITR_E);
}

/* I9 */
static void end_transaction(struct perf_output_handle *handle)
{
	const struct arm_area *area = perf_get_aux(handle);
	u64 end_off = reg_read(SPE_PMBPTR) - (u64)(uintptr_t)area->base;
	u64 nr_bytes = end_off - arm_area_off(area, handle->head);

	if (area->snapshot)
		handle->head = end_off;
	perf_aux_output_end(handle, nr_bytes);
}

/* I10: evaluates the unit's status, and ends the transaction unless ACT_SPURIOUS. */
static enum fault_action spe_get_fault_action(struct perf_output_handle *handle)
{
	enum fault_action action = ACT_FATAL;
	u64 status;

	spe.hw->drain(smp_processor_id());
	status = reg_read(SPE_PMBSR);
	if (!(status & SPE_PMBSR_S))
		return ACT_SPURIOUS;
	/* The last record is incomplete. */
	if (status & SPE_PMBSR_DL)
		perf_aux_output_flag(handle, PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL);
	/* Samples were due while one was being taken: the interval is too short. */
	if (status & SPE_PMBSR_COLL)
		perf_aux_output_flag(handle, PERF_AUX_FLAG_COLLISION);
	if ((status >> SPE_PMBSR_EC_SHIFT & SPE_PMBSR_EC_MASK) == SPE_PMBSR_EC_BUF &&
	    (status & SPE_PMBSR_BSC_MASK) == SPE_PMBSR_BSC_FULL)
		action = ACT_OK;
	else
		pr_err_ratelimited("arm_spe: CPU %d: status %llx, address %llx\n",
				   smp_processor_id(), status, reg_read(SPE_PMBPTR));
	end_transaction(handle);
	return action;
}

/* ---- callbacks of the core ---- */

static int spe_event_init(struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;
	int err;

	if (attr->type != (u32)spe_pmu.type)
		return -ENOENT;
	if (event->cpu >= 0 && !arm_spe_cpu_present(&spe, event->cpu))
		return -ENOENT;
	if (attr->config & ~CONFIG_ALL || attr->config2 & ~CONFIG2_ALL)
		return -EINVAL;
	if (attr->exclude_idle)
		return -EOPNOTSUPP;
	/* The period cannot be adjusted: samples are counted by their reader, much later. */
	if (attr->freq)
		return -EINVAL;
	err = check_filters(event);
	if (err)
		return err;
	/* physical addresses, the physical counter and ids of other tasks require privileges */
	if (!perfmon_capable())
		return attr->config & (CONFIG_PA | CONFIG_PCT) ? -EACCES : 0;
	if (spe.hw->context_ids)
		event->hw.flags |= FLAG_CONTEXT;
	return 0;
}

static void spe_event_start(struct perf_event *event, int flags)
{
	struct perf_output_handle *handle = this_cpu_ptr(&spe_handles);

	event->hw.state = 0;
	begin_transaction(handle, event);
	if (event->hw.state)
		return;
	reg_write(SPE_PMSFCR, filter_control(event));
	reg_write(SPE_PMSEVFR, event->attr.config1);
	if (arm_spe_has_inverted(&spe))
		reg_write(SPE_PMSNEVFR, inverted_events(event));
	reg_write(SPE_PMSLATFR, event->attr.config2);
	if (flags & PERF_EF_RELOAD) {
		reg_write(SPE_PMSIRR, interval_control(event));
		/* the count continues from its value when the event was scheduled out */
		reg_write(SPE_PMSICR, local64_read(&event->hw.period_left));
	}
	reg_write(SPE_PMSCR, sample_control(event));
}

static void spe_event_stop(struct perf_event *event, int flags)
{
	struct perf_output_handle *handle = this_cpu_ptr(&spe_handles);

	if (event->hw.state & PERF_HES_STOPPED)
		return;
	profiling_off();
	if (flags & PERF_EF_UPDATE) {
		/* An interrupt on its way belongs to this event: handle it now (I10). */
		if (perf_get_aux(handle)) {
			if (spe_get_fault_action(handle) == ACT_SPURIOUS)
				end_transaction(handle);
			else
				reg_write(SPE_PMBSR, 0);
		}
		local64_set(&event->hw.period_left, reg_read(SPE_PMSICR));
		event->hw.state |= PERF_HES_UPTODATE;
	}
	event->hw.state |= PERF_HES_STOPPED;
}

static int spe_event_add(struct perf_event *event, int flags)
{
	if (!arm_spe_cpu_present(&spe, smp_processor_id()))
		return -ENOENT;
	event->hw.state = PERF_HES_UPTODATE | PERF_HES_STOPPED;
	if (!(flags & PERF_EF_START))
		return 0;
	spe_event_start(event, PERF_EF_RELOAD);
	return event->hw.state & PERF_HES_STOPPED ? -EINVAL : 0;
}

static void spe_event_del(struct perf_event *event, int flags)
{
	(void)flags;
	spe_event_stop(event, PERF_EF_UPDATE);
}

static void spe_event_read(struct perf_event *event)
{
	(void)event; /* nothing is counted */
}

static void *spe_setup_aux(struct perf_event *event, void **pages, int nr_pages, bool overwrite)
{
	int cpu = event->cpu == -1 ? raw_smp_processor_id() : event->cpu;

	return arm_area_new(pages, nr_pages, overwrite, PAD_BYTE, cpu_to_node(cpu));
}

static void spe_free_aux(void *aux)
{
	arm_area_free(aux);
}

/* ---- entry points of the CPU ---- */

bool arm_spe_interrupt(void)
{
	struct perf_output_handle *handle = this_cpu_ptr(&spe_handles);
	struct perf_event *event = handle->event;
	enum fault_action action;

	if (!perf_get_aux(handle))
		return false;
	action = spe_get_fault_action(handle);
	if (action == ACT_SPURIOUS)
		return false;
	/*
	 * I11: the event may be about to be disabled, by this TRUNCATED record or an earlier
	 * pending disable (D21). Until that has run, no transaction may be opened: nothing would
	 * end a transaction of a disabled event. The handle's flags stay valid after its end (A).
	 */
	irq_work_run();
	if (action == ACT_FATAL)
		profiling_off();
	else if (!(handle->aux_flags & PERF_AUX_FLAG_TRUNCATED) &&
		 !(event->hw.state & PERF_HES_STOPPED))
		begin_transaction(handle, event);
	else /* if D21 has not disabled the event, the unit would run without a transaction */
		reg_write(SPE_PMBLIMITR, 0);
	/* I11: only now, with the buffer's registers set, may the unit continue */
	reg_write(SPE_PMBSR, 0);
	return true;
}

/* ---- registration ---- */

static PMU_LOCAL struct pmu spe_pmu = {
	.task_ctx_nr = perf_sw_context,
	.event_init = spe_event_init,
	.add = spe_event_add,
	.del = spe_event_del,
	.start = spe_event_start,
	.stop = spe_event_stop,
	.read = spe_event_read,
	.setup_aux = spe_setup_aux,
	.free_aux = spe_free_aux,
};

/* PMSIDR.Interval; reserved values count as the longest. */
static unsigned int min_interval_of(u64 pmsidr)
{
	switch (pmsidr >> SPE_PMSIDR_INTERVAL_SHIFT & 0xf) {
	case 0:
		return 256;
	case 2:
		return 512;
	case 3:
		return 768;
	case 4:
		return 1024;
	case 5:
		return 1536;
	case 6:
		return 2048;
	case 7:
		return 3072;
	default:
		return 4096;
	}
}

/* Event bits that have no filter in this version. */
static u64 unknown_events(unsigned int version)
{
	u64 known = GENMASK_ULL(63, 48) | GENMASK_ULL(31, 24) | GENMASK_ULL(15, 12) | 0xaa;

	if (version >= 2) /* alignment, and the two SVE predicate events */
		known |= 1ull << 11 | 1ull << 17 | 1ull << 18;
	if (version >= 3) /* branch not taken */
		known |= 1ull << 6;
	if (version >= 4) /* events of caches and snoops */
		known |= GENMASK_ULL(10, 8) | 1ull << 4 | 1ull << 2 | GENMASK_ULL(23, 19);
	return ~known;
}

/* Runs on a CPU that has the unit. */
static int probe(const struct arm_spe_hw *hw)
{
	u64 pmbidr = hw->read(smp_processor_id(), SPE_PMBIDR);

	spe = (struct arm_spe_unit){.hw = hw};
	spe.pmsidr = hw->read(smp_processor_id(), SPE_PMSIDR);
	if (pmbidr & SPE_PMBIDR_P)
		return -ENODEV;
	/* I1 */
	spe.align = 1ul << (pmbidr & SPE_PMBIDR_ALIGN_MASK);
	if (spe.align > MAX_ALIGN)
		return -ENODEV;
	spe.max_record = 1ul << (spe.pmsidr >> SPE_PMSIDR_MAXSIZE_SHIFT & 0xf);
	if (spe.max_record < MIN_RECORD || spe.max_record > MAX_RECORD)
		return -ENODEV;
	spe.min_interval = min_interval_of(spe.pmsidr);
	spe.count_size = (spe.pmsidr >> SPE_PMSIDR_COUNTSIZE_SHIFT & 0xf) == 3 ? 16 : 12;
	spe.events_res0 = unknown_events(hw->version);
	return 0;
}

int arm_spe_register(const char *name, const struct arm_spe_hw *hw)
{
	int err;

	if (spe.hw)
		return -EBUSY;
	get_cpu();
	err = probe(hw);
	put_cpu();
	if (!err) {
		spe_pmu.module = THIS_MODULE;
		spe_pmu.attr_groups = arm_spe_attr_groups(&spe);
		/* F1: never marked as started, so that every start writes an ITRACE_START */
		spe_pmu.capabilities = PERF_PMU_CAP_ITRACE | PERF_PMU_CAP_EXCLUSIVE;
		err = perf_pmu_register(&spe_pmu, name, -1);
	}
	if (err)
		spe.hw = NULL;
	return err;
}

void arm_spe_unregister(void)
{
	if (!spe.hw)
		return;
	perf_pmu_unregister(&spe_pmu);
	spe.hw = NULL;
}
