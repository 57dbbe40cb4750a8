// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The CoreSight PMU: starts and stops a CPU's trace unit with its TRBE (trbe.c), and flags
 * TRUNCATED if one of them does not start. Also format/ in sysfs. Rules J3, J7, J8:
 * docs/kernel-rules.md.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/smp.h>
#include <linux/sysfs.h>
#include "cs_etm.h"
#include "pmu_local.h"

struct etm_cpu {
	struct perf_output_handle handle;
	bool started; /* an event runs on this CPU, possibly without trace (J7) */
	bool traced;  /* and the trace unit and the buffer are on */
};

static DEFINE_PER_CPU(struct etm_cpu, etm_cpus);
static PMU_LOCAL const struct cs_etm_hw *etm;
static PMU_LOCAL struct pmu etm_pmu;

static bool reaches_sink(int cpu)
{
	return !etm->reaches_sink || etm->reaches_sink(cpu);
}

static int etm_event_init(struct perf_event *event)
{
	if (event->attr.type != (u32)etm_pmu.type)
		return -ENOENT;
	/*
	 * config1 has no fields; config2 would select a sink or a configuration, but there is only
	 * one of each.
	 */
	if (event->attr.config & ~etm->config || event->attr.config1 || event->attr.config2)
		return -EINVAL;
	return 0;
}

/* Returns 0 if the buffer and the trace unit are on. */
static int trace_on(struct etm_cpu *c, struct perf_event *event)
{
	int cpu = smp_processor_id(), err = trbe_enable(&c->handle);

	if (err)
		return err;
	err = etm->trace_on(cpu, &event->attr);
	if (err)
		trbe_disable();
	return err;
}

static void etm_event_start(struct perf_event *event, int flags)
{
	struct etm_cpu *c = this_cpu_ptr(&etm_cpus);

	(void)flags;
	event->hw.state = PERF_HES_STOPPED;
	if (WARN_ON_ONCE(c->started))
		return;
	if (!perf_aux_output_begin(&c->handle, event))
		return;
	/* J7: without a sink it runs untraced; the task may move to a CPU that has one */
	c->traced = reaches_sink(smp_processor_id());
	if (c->traced && trace_on(c, event)) {
		c->traced = false;
		if (!c->handle.event) /* J7: trbe.c has already ended the transaction */
			return;
		perf_aux_output_flag(&c->handle, PERF_AUX_FLAG_TRUNCATED);
		perf_aux_output_end(&c->handle, 0);
		return;
	}
	c->started = true;
	event->hw.state = 0;
}

static void etm_event_stop(struct perf_event *event, int flags)
{
	struct etm_cpu *c = this_cpu_ptr(&etm_cpus);
	unsigned long nr_bytes = 0;

	if (event->hw.state == PERF_HES_STOPPED)
		return;
	event->hw.state = PERF_HES_STOPPED;
	c->started = false;
	if (c->traced)
		etm->trace_off(smp_processor_id());
	/* J8: the interrupt may have closed the handle, here or earlier */
	if (c->handle.event && flags & PERF_EF_UPDATE && !WARN_ON_ONCE(c->handle.event != event)) {
		if (c->traced)
			nr_bytes = trbe_update(&c->handle);
		if (READ_ONCE(c->handle.event))
			perf_aux_output_end(&c->handle, nr_bytes);
		else
			WARN_ON_ONCE(nr_bytes);
	}
	if (c->traced)
		trbe_disable();
	c->traced = false;
}

static int etm_event_add(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED;
	if (!(flags & PERF_EF_START))
		return 0;
	etm_event_start(event, 0);
	return event->hw.state == PERF_HES_STOPPED ? -EINVAL : 0;
}

static void etm_event_del(struct perf_event *event, int flags)
{
	(void)flags;
	etm_event_stop(event, PERF_EF_UPDATE);
}

static void etm_event_read(struct perf_event *event)
{
	(void)event; /* nothing is counted */
}

static void *etm_setup_aux(struct perf_event *event, void **pages, int nr_pages, bool overwrite)
{
	int cpu = event->cpu == -1 ? raw_smp_processor_id() : event->cpu;

	/* J7: an event that is bound to this CPU could never be traced */
	if (event->cpu >= 0 && !reaches_sink(event->cpu))
		return NULL;
	return trbe_setup(pages, nr_pages, overwrite, cpu_to_node(cpu));
}

/* ---- sysfs ---- */

PMU_FORMAT_ATTR(branch_broadcast, "config:8");
PMU_FORMAT_ATTR(cycacc, "config:12");
PMU_FORMAT_ATTR(contextid1, "config:14");
PMU_FORMAT_ATTR(contextid2, "config:15");
PMU_FORMAT_ATTR(timestamp, "config:28");
PMU_FORMAT_ATTR(retstack, "config:29");

/* clang-format off */
static struct attribute *format_attrs[] = {
	&format_attr_branch_broadcast.attr, &format_attr_cycacc.attr,
	&format_attr_contextid1.attr,	    &format_attr_contextid2.attr,
	&format_attr_timestamp.attr,	    &format_attr_retstack.attr,
	NULL,
};
/* clang-format on */

/* In the order of format_attrs: hides terms that the trace unit lacks. */
static umode_t format_visible(struct kobject *kobj, struct attribute *attr, int index)
{
	static const u8 bits[] = {8, 12, 14, 15, 28, 29};

	(void)kobj;
	return etm->config >> bits[index] & 1 ? attr->mode : 0;
}

static const struct attribute_group format_group = {
	.name = "format",
	.attrs = format_attrs,
	.is_visible = format_visible,
};

static const struct attribute_group *groups[] = {
	&format_group,
	NULL,
};

/* ---- registration ---- */

static PMU_LOCAL struct pmu etm_pmu = {
	.task_ctx_nr = perf_sw_context,
	.event_init = etm_event_init,
	.add = etm_event_add,
	.del = etm_event_del,
	.start = etm_event_start,
	.stop = etm_event_stop,
	.read = etm_event_read,
	.setup_aux = etm_setup_aux,
	.free_aux = trbe_free,
};

int cs_etm_register(const char *name, const struct cs_etm_hw *hw)
{
	int err;

	if (etm)
		return -EBUSY;
	get_cpu();
	err = trbe_probe(&hw->trbe);
	put_cpu();
	if (err)
		return err;
	etm = hw;
	etm_pmu.module = THIS_MODULE;
	etm_pmu.attr_groups = groups;
	/* F1: never marked as started, so that every start writes an ITRACE_START */
	etm_pmu.capabilities = PERF_PMU_CAP_ITRACE | PERF_PMU_CAP_EXCLUSIVE;
	err = perf_pmu_register(&etm_pmu, name, -1);
	if (err)
		etm = NULL;
	return err;
}

struct device *cs_etm_device(void)
{
	return etm_pmu.dev;
}

void cs_etm_unregister(void)
{
	if (!etm)
		return;
	perf_pmu_unregister(&etm_pmu);
	etm = NULL;
}
