// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The trace unit of each CPU and its TRBE: registers of the buffer for the driver, memory and an
 * interrupt line for the output stage, trace from the replay engine. The driver accesses them with
 * interrupts off, on its own CPU. Of the trace unit itself there are only a switch, and some
 * registers in sysfs.
 */
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/errno.h>
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include "arm_units.h"
#include "kmod_faults.h"
#include "irq_line.h"
#include "pmu/cs_etm.h"
#include "replay.h"

/* The kernel has these names for the same bits; the hardware model does not use kernel headers. */
#undef TRBSR_WRAP
#undef TRBSR_TRG
#undef TRBSR_IRQ
#include "hw/trbe_output.h"
#include "hw/unit_faults.h"
#include "unit_log.h"

#define ALIGN_LOG2    6u
#define OVERWRITE_MAX 192u
#define CONFIG_ALL    (1ull << 8 | 1ull << 12 | 3ull << 14 | 3ull << 28)

static unsigned int overwrite_bytes, beyond_bytes;
module_param_named(trbe_overwrite, overwrite_bytes, uint, 0444);
MODULE_PARM_DESC(trbe_overwrite, "erratum: bytes that the buffer writes at its base after a fill "
				 "(at most 192), of those before the interrupt (parameter skid)");
module_param_named(trbe_beyond, beyond_bytes, uint, 0444);
MODULE_PARM_DESC(trbe_beyond, "erratum: bytes that it writes after its limit (at most a page)");

/*
 * The registers of driver/hw's unit, an ETE. Trace of another unit requires that unit's values:
 * decoders depend on them.
 */
enum { TRCIDR0, TRCIDR1, TRCIDR2, TRCIDR8, TRCAUTHSTATUS, TRCDEVARCH, NR_REGISTERS };
static unsigned int registers[NR_REGISTERS] = {
	[TRCIDR0] = 0x28000ea1, [TRCIDR1] = 0x4100fff0, [TRCIDR2] = 0x00001088,
	[TRCIDR8] = 0,		[TRCAUTHSTATUS] = 0xcf, [TRCDEVARCH] = 0x47705a13,
};
module_param_array_named(etm_registers, registers, uint, NULL, 0444);
MODULE_PARM_DESC(etm_registers, "TRCIDR0,1,2,8, TRCAUTHSTATUS, TRCDEVARCH of the unit whose trace "
				"is replayed, as sysfs shows them");

/* The state of one CPU. Accessed only by that CPU, with interrupts off. */
struct etm_cpu {
	struct trbe_output out;
	struct trbe_output_bus bus;
	struct irq_line interrupt;
	struct unit_faults faults;
	struct unit_log log;
};

static DEFINE_PER_CPU(struct etm_cpu, etm_unit_cpus);
static struct replay etm_replay;

static void handle_irqs(unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		unit_log_irq(etm_unit_log());
	for (i = 0; i < nr; i++)
		cs_etm_interrupt();
}

static void raise_irq(void *ctx)
{
	struct etm_cpu *c = ctx;

	irq_line_raise(&c->interrupt, &c->faults);
}

struct unit_log *etm_unit_log(void)
{
	return &this_cpu_ptr(&etm_unit_cpus)->log;
}

static const struct unit_log_kind log_kind = {
	.name = "trbe",
	.area_bytes = arm_unit_area_bytes,
	.area_is_snapshot = arm_unit_area_is_snapshot,
	.offset = arm_unit_area_offset,
};

/* ---- registers and switch, for the driver ---- */

static u64 unit_read(int cpu, u32 reg)
{
	const struct etm_cpu *c = &per_cpu(etm_unit_cpus, cpu);
	u64 value = 0;

	if (!trbe_output_read(&c->out, reg, &value))
		pr_err_ratelimited("auxtap: undefined: read of register %x\n", reg);
	return unit_faults_read(&c->faults, reg, value, c->out.status, PAGE_SIZE);
}

static void unit_write(int cpu, u32 reg, u64 value)
{
	struct etm_cpu *c = &per_cpu(etm_unit_cpus, cpu);

	c->faults.fault = fault_of_unit();
	c->out.irq_delay_bytes =
		irq_line_delay_bytes() + unit_faults_irq_delay_bytes(&c->faults, PAGE_SIZE);
	if (reg == SYS_TRBLIMITR)
		arm_unit_log_limit(&c->log, value, c->out.ptr);
	value = unit_faults_write(&c->faults, reg, value, c->out.status, PAGE_SIZE);
	if (!trbe_output_write_reg(&c->out, reg, value))
		pr_err_ratelimited("auxtap: undefined: write of %llx to register %x\n", value, reg);
}

/* Nothing to wait for: only this CPU stores trace, in order. */
static void unit_drain(int cpu)
{
}

static int unit_trace_on(int cpu, const struct perf_event_attr *attr)
{
	if (replay_selected() && !attr->exclude_user)
		replay_on(&etm_replay);
	return 0;
}

static void unit_trace_off(int cpu)
{
	struct etm_cpu *c = &per_cpu(etm_unit_cpus, cpu);

	if (unit_faults_stopping(&c->faults))
		irq_line_raise(&c->interrupt, NULL);
	replay_off(&etm_replay);
}

struct cs_etm_hw etm_unit_hw = {
	.trbe = {.read = unit_read, .write = unit_write, .drain = unit_drain},
	.trace_on = unit_trace_on,
	.trace_off = unit_trace_off,
	.config = CONFIG_ALL,
};

/* ---- trace from the replay engine ---- */

/*
 * The output stage checks its interrupt line at the end of each write. For exact positions a write
 * ends where the buffer ends, or where a delayed interrupt is due.
 */
static size_t unit_produce(const u8 *bytes, size_t nr_bytes, size_t *nr_written)
{
	struct etm_cpu *c = this_cpu_ptr(&etm_unit_cpus);
	struct trbe_output *out = &c->out;
	u64 produced = out->nr_written + out->nr_dropped, at = out->ptr;
	u64 limit = out->limitr & PAGE_MASK;

	if (out->irq_pending && out->irq_at > produced)
		nr_bytes = min_t(u64, nr_bytes, out->irq_at - produced);
	if (out->limitr & TRBLIMITR_E && !(out->status & TRBSR_S) && out->ptr < limit)
		nr_bytes = min_t(u64, nr_bytes, limit - out->ptr);
	*nr_written = trbe_output_write(out, bytes, nr_bytes);
	unit_log_write(&c->log, at, *nr_written);
	unit_log_lost(&c->log, nr_bytes - *nr_written);
	return nr_bytes;
}

static bool unit_interrupt_pending(void)
{
	return irq_line_pending(&this_cpu_ptr(&etm_unit_cpus)->interrupt);
}

static const struct replay_unit etm_replay_unit = {
	.produce = unit_produce,
	.interrupt_pending = unit_interrupt_pending,
	.chunk_max = 1,
};

/* ---- injected management events ---- */

/*
 * "fail STATUS": the next bytes stop the buffer, with these bits of TRBSR besides S and IRQ, and
 * are lost. "spurious": an interrupt without a cause.
 */
static int inject_event(const char *word, u64 status, u32 nr_bytes)
{
	struct etm_cpu *c = this_cpu_ptr(&etm_unit_cpus);

	if (!strcmp(word, "fail"))
		trbe_output_fail(&c->out, status);
	else if (!strcmp(word, "spurious"))
		trbe_output_spurious(&c->out);
	else
		return -EINVAL;
	return 0;
}

static const struct inject etm_inject = {.event = inject_event};

/* ---- sysfs: the registers that a decoder needs, where tools expect them ---- */

#define REGISTER_ATTR(_name, _index)                                                               \
	static ssize_t _name##_show(struct kobject *kobj, struct kobj_attribute *attr, char *page) \
	{                                                                                          \
		return sysfs_emit(page, "0x%x\n", registers[_index]);                              \
	}                                                                                          \
	static struct kobj_attribute _name##_attr = __ATTR_RO(_name)

REGISTER_ATTR(trcidr0, TRCIDR0);
REGISTER_ATTR(trcidr1, TRCIDR1);
REGISTER_ATTR(trcidr2, TRCIDR2);
REGISTER_ATTR(trcidr8, TRCIDR8);
REGISTER_ATTR(trcauthstatus, TRCAUTHSTATUS);
REGISTER_ATTR(trcdevarch, TRCDEVARCH);

static struct attribute *trcidr_attrs[] = {
	&trcidr0_attr.attr, &trcidr1_attr.attr, &trcidr2_attr.attr, &trcidr8_attr.attr, NULL,
};
static struct attribute *mgmt_attrs[] = {
	&trcauthstatus_attr.attr,
	&trcdevarch_attr.attr,
	NULL,
};
static const struct attribute_group trcidr_group = {.name = "trcidr", .attrs = trcidr_attrs};
static const struct attribute_group mgmt_group = {.name = "mgmt", .attrs = mgmt_attrs};
static const struct attribute_group *register_groups[] = {&trcidr_group, &mgmt_group, NULL};

static struct kobject **shown; /* for each possible CPU, or NULL */

int etm_registers_show(struct device *pmu)
{
	int cpu, err = 0;

	shown = kcalloc(nr_cpu_ids, sizeof(struct kobject *), GFP_KERNEL);
	if (!shown)
		return -ENOMEM;
	for_each_possible_cpu (cpu) {
		char name[16];

		snprintf(name, sizeof(name), "cpu%d", cpu);
		shown[cpu] = kobject_create_and_add(name, &pmu->kobj);
		err = shown[cpu] ? sysfs_create_groups(shown[cpu], register_groups) : -ENOMEM;
		if (err)
			break;
	}
	if (err)
		etm_registers_hide();
	return err;
}

void etm_registers_hide(void)
{
	int cpu;

	if (!shown)
		return;
	for_each_possible_cpu (cpu)
		kobject_put(shown[cpu]);
	kfree(shown);
	shown = NULL;
}

/* ---- the units of all CPUs ---- */

static void logs_exit(void)
{
	int cpu;

	for_each_possible_cpu (cpu)
		unit_log_exit(&per_cpu(etm_unit_cpus, cpu).log);
}

static int logs_init(struct dentry *dir)
{
	int cpu, err = 0;

	dir = debugfs_create_dir("log", dir);
	for_each_possible_cpu (cpu) {
		struct unit_log *log = &per_cpu(etm_unit_cpus, cpu).log;

		err = err ?: unit_log_init(log, &log_kind, cpu);
		unit_log_show(log, dir);
	}
	return err;
}

int etm_units_init(struct dentry *dir)
{
	int cpu, err;

	if (overwrite_bytes > OVERWRITE_MAX || beyond_bytes > PAGE_SIZE)
		return -EINVAL;
	etm_unit_hw.trbe.overwrites_in_fill_mode = overwrite_bytes;
	etm_unit_hw.trbe.writes_out_of_range = beyond_bytes;
	for_each_possible_cpu (cpu) {
		struct etm_cpu *c = &per_cpu(etm_unit_cpus, cpu);

		c->bus =
			(struct trbe_output_bus){.ctx = c, .virt = arm_unit_virt, .irq = raise_irq};
		trbe_output_init(&c->out, &c->bus, 1u << ALIGN_LOG2);
		c->out.overwrite_bytes = overwrite_bytes;
		c->out.beyond_bytes = beyond_bytes;
		irq_line_init(&c->interrupt, handle_irqs);
	}
	dir = debugfs_create_dir("trbe", dir);
	err = logs_init(dir);
	if (err)
		goto fail;
	inject_init(&etm_inject, dir);
	err = replay_init(&etm_replay, &etm_replay_unit, dir);
fail:
	if (err)
		logs_exit();
	return err;
}

void etm_units_exit(void)
{
	int cpu;

	replay_exit(&etm_replay);
	for_each_possible_cpu (cpu)
		irq_line_sync(&per_cpu(etm_unit_cpus, cpu).interrupt);
	logs_exit();
}
