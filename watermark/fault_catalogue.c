// SPDX-License-Identifier: BSD-2-Clause
/*
 * The fault catalogue: bugs of kernels, and faults of a trace unit or its interrupt. Each is
 * injected where it would happen, and the invariant it names must report it. Faults of units are in
 * driver/hw/unit_faults.c, which the kernel module uses, too.
 */
#include "sim.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ALL "intel_pt arm_spe trbe"
#define ARM "arm_spe trbe"

#define MSR_STATUS 0x571
#define PMBSR	   0xc4d3
#define TRBSR	   0xc4db

/* clang-format off */
#define FAULT(...) {sizeof(struct auxtap_watermark_fault), __VA_ARGS__}

static const struct auxtap_watermark_fault faults[] = {
	FAULT("wakeup-by-one", "aux_wakeup goes on by one watermark, however many were passed",
	 AUXTAP_INV_WAKEUP_AHEAD, ALL, 0),
	FAULT("overwrite-watermark", "an area in snapshot (overwrite) mode has a watermark",
	 AUXTAP_INV_OVERWRITE_SILENT, ALL, 0),
	FAULT("truncation-goes-on", "a truncated event is not disabled",
	 AUXTAP_INV_TRUNCATED_DISABLED, ALL, 0),
	FAULT("disable-lost-on-cpu-0", "the CPU's number marks the event for disable, so CPU 0 never does",
	 AUXTAP_INV_TRUNCATED_DISABLED, ALL, 0),
	FAULT("refcount-first", "begin takes its reference before it checks that the area is mapped",
	 AUXTAP_INV_FREED_ONCE, ALL, 0),
	FAULT("partial-as-truncated", "PARTIAL is reported as TRUNCATED", AUXTAP_INV_FLAG_HAS_CAUSE,
	 "intel_pt", 0),
	FAULT("head-32-bit", "aux_head has 32 bits", AUXTAP_INV_BYTES_ADD_UP, ALL, 0),
	FAULT("skip-without-wakeup", "a skip that passes a watermark does not wake",
	 AUXTAP_INV_WAKEUP_AT_WATERMARK, ARM, 0),
	FAULT("interrupt-late", "now and then an interrupt comes a millisecond late",
	 AUXTAP_INV_IRQ_IN_TIME, ALL, 1),
	FAULT("interrupt-lost", "every third interrupt does not come",
	 AUXTAP_INV_IRQ_IN_TIME, ALL, 1),
	FAULT("interrupt-doubled", "an interrupt comes twice", AUXTAP_INV_IRQ_HAS_CAUSE, ALL, 1),
	FAULT("interrupt-page-off", "the interrupt line goes up a page after the threshold",
	 AUXTAP_INV_IRQ_AT_THRESHOLD, ALL, 1),
	FAULT("past-limit", "the unit writes on beyond its STOP or limit",
	 AUXTAP_INV_LIMIT_KEPT, ALL, 1),
	FAULT("stale-status", "what the driver clears in the status register stays",
	 AUXTAP_INV_PROGRESS, ALL, 1),
	FAULT("flag-missing", "the unit stops, and its status register does not say so (STOPPED)",
	 AUXTAP_INV_LOSS_FLAGGED, "intel_pt", 1),
	FAULT("flag-missing", "the buffer is filled, and the status register does not say so (WRAP)",
	 AUXTAP_INV_RECORDS_TRUE, "trbe", 1),
	FAULT("wrong-wrap", "after the end of the area the unit goes on a page too far",
	 AUXTAP_INV_RECORDS_TRUE, "intel_pt trbe", 1),
	FAULT("padding-missing", "what is skipped is not filled with padding",
	 AUXTAP_INV_CONTENTS_TRUE, ARM, 1),
	FAULT("interrupt-while-stopping", "the line goes up while the unit is being switched off",
	 AUXTAP_INV_IRQ_HAS_CAUSE, ALL, 1),
};
/* clang-format on */

#define NR_FAULTS (sizeof(faults) / sizeof(faults[0]))

const struct auxtap_watermark_fault *auxtap_watermark_get_fault(size_t index)
{
	return index < NR_FAULTS ? &faults[index] : NULL;
}

static const struct auxtap_watermark_fault *find(const char *name, const char *driver, bool *known)
{
	*known = false;
	for (const struct auxtap_watermark_fault *f = faults; f < faults + NR_FAULTS; f++) {
		if (strcmp(f->name, name) != 0)
			continue;
		*known = true;
		if (strstr(f->drivers, driver))
			return f;
	}
	return NULL;
}

static int no_such(const char *name, const char *driver, bool known, struct auxtap_error *err)
{
	auxtap_error_set(err, -EINVAL, name, known ? "%s cannot have this fault" : "no such fault",
			 driver);
	auxtap_error_hint(err, "'auxtap watermark faults --list' prints them");
	return -EINVAL;
}

static void set_config(struct auxtap_watermark_config *c, const char *fault)
{
	c->fault = fault;
	if (!strcmp(fault, "wakeup-by-one"))
		c->watermark = 1000;
	if (!strcmp(fault, "overwrite-watermark")) {
		c->snapshot = 1;
		c->watermark = c->page_size;
		c->switch_ns = 100000;
	}
	if (!strcmp(fault, "truncation-goes-on") || !strcmp(fault, "disable-lost-on-cpu-0")) {
		c->kernel = "6.18.44";
		c->cpu = strcmp(fault, "truncation-goes-on") != 0 ? 0 : 1;
		c->reader_latency_ns = 5000000;
	}
	if (!strcmp(fault, "head-32-bit")) {
		c->nr_pages = (1ull << 30) / c->page_size;
		c->rate = 100000000000;
		c->max_bytes = 6ull << 30;
		c->reader_latency_ns = c->reader_jitter_ns = c->reader_rate = 0;
	}
	if (!strcmp(fault, "skip-without-wakeup")) {
		c->watermark = c->page_size / 2;
		c->reader_latency_ns = 5000000;
	}
	/* an interrupt before the area is full, so that more than one occurs */
	if (!strncmp(fault, "interrupt-", 10) || !strcmp(fault, "past-limit"))
		c->watermark = c->nr_pages * c->page_size / 4;
	if (!strcmp(fault, "flag-missing") || !strcmp(fault, "stale-status") ||
	    !strcmp(fault, "past-limit"))
		c->reader_latency_ns = 5000000;
	if (!strcmp(fault, "wrong-wrap"))
		c->watermark = c->page_size;
	if (!strcmp(fault, "padding-missing")) {
		c->contents = 1;
		c->reader_latency_ns = 5000000;
	}
	if (!strcmp(fault, "interrupt-while-stopping"))
		c->switch_ns = 100000;
}

int auxtap_watermark_fault_config(struct auxtap_watermark_config *config, const char *fault,
				  struct auxtap_error *err)
{
	struct auxtap_watermark_config c;
	int ret = config_copy_in(&c, config, err);
	bool known;

	if (ret)
		return ret;
	if (!find(fault, c.driver, &known))
		return no_such(fault, c.driver, known, err);
	set_config(&c, fault);
	return config_copy_out(config, &c);
}

int faults_set(struct sim *sim, struct auxtap_error *err)
{
	static const struct {
		const char *name;
		size_t at;
	} kernel[] = {
		{"wakeup-by-one", offsetof(struct core_injected_bugs, wakeup_by_one)},
		{"overwrite-watermark", offsetof(struct core_injected_bugs, overwrite_watermark)},
		{"truncation-goes-on", offsetof(struct core_injected_bugs, truncation_goes_on)},
		{"refcount-first", offsetof(struct core_injected_bugs, refcount_first)},
		{"partial-as-truncated", offsetof(struct core_injected_bugs, partial_is_truncated)},
		{"head-32-bit", offsetof(struct core_injected_bugs, head_32_bit)},
		{"skip-without-wakeup", offsetof(struct core_injected_bugs, skip_without_wakeup)},
	};
	const char *name = sim->c.fault;
	bool known;

	sim->expected_kernel = core_kernel_find(sim->c.kernel);
	sim->faults.kernel = *sim->expected_kernel;
	if (!name)
		return 0;
	if (!find(name, sim->c.driver, &known))
		return no_such(name, sim->c.driver, known, err);
	sim->faults.kernel.bugs = &sim->faults.bugs;
	if (!strcmp(name, "disable-lost-on-cpu-0"))
		sim->faults.kernel.disable_by_cpu_number = true;
	for (size_t i = 0; i < sizeof(kernel) / sizeof(kernel[0]); i++)
		if (!strcmp(kernel[i].name, name))
			*((bool *)((char *)&sim->faults.bugs + kernel[i].at)) = true;
	sim->faults.unit.fault = unit_fault_find(name);
	sim->faults.partial = !strcmp(name, "partial-as-truncated");
	return 0;
}

/* Injects faults into a table entry that the unit reads. */
void faults_table_entry(struct sim *sim, u64 addr, u64 *entry)
{
	if (sim->faults.unit.fault)
		*entry =
			unit_faults_entry(&sim->faults.unit, *entry,
					  core_phys_to_virt(addr + sizeof(*entry), sizeof(*entry)));
}

static bool is_status(u32 reg)
{
	return reg == MSR_STATUS || reg == PMBSR || reg == TRBSR;
}

u64 faults_reg_read(struct sim *sim, u32 reg, u64 value)
{
	u64 status = 0;

	if (sim->faults.unit.fault == UNIT_WRONG_WRAP && driver_has(sim, DRIVER_WRAPS))
		status = sim->unit->reg_read(sim->u, sim->driver->status_reg);
	return unit_faults_read(&sim->faults.unit, reg, value, status, sim->c.page_size);
}

u64 faults_reg_write(struct sim *sim, u32 reg, u64 value)
{
	u64 now = 0;

	if (sim->faults.unit.fault == UNIT_STALE_STATUS && is_status(reg))
		now = sim->unit->reg_read(sim->u, reg);
	return unit_faults_write(&sim->faults.unit, reg, value, now, sim->c.page_size);
}

void faults_at_unit_off(struct sim *sim)
{
	if (!unit_faults_stopping(&sim->faults.unit))
		return;
	mon_irq_raised(sim);
	sim->driver->interrupt();
}

void sim_forward_irq(struct sim *sim)
{
	u64 delay = sim->c.irq_latency_ns + sim_random(sim, sim->c.irq_jitter_ns + 1), more;
	unsigned int nr = unit_faults_line(&sim->faults.unit, &more);

	if (!nr)
		return;
	if (nr > 1) {
		mon_irq_raised(sim);
		sim_send_irq(sim, delay + more);
	} else if (sim->nr_irqs) { /* already pending */
		return;
	}
	sim_send_irq(sim, delay + more);
}

/* Now and then user code runs untraced, as after VMXON (H12). */
void faults_step(struct sim *sim)
{
	if (!sim->faults.partial || !sim->mon.open ||
	    sim->r->nr_transactions < sim->faults.at_transaction + 3)
		return;
	sim->faults.at_transaction = sim->r->nr_transactions;
	machine_inject_partial(sim);
}
