// SPDX-License-Identifier: BSD-2-Clause
/*
 * The simulated machine's kernel side: the perf core with its event and areas, the drivers'
 * registers led to the trace unit, and the bus. Hardware faults that a driver would meet in a
 * register are injected here.
 */
#include "sim.h"

#include "core/core.h"
#include "pmu/arm_spe.h"
#include "pmu/cs_etm.h"
#include "pmu/intel_pt.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

struct sim *current_sim;

#define MSR_OUTPUT_BASE 0x560
#define MSR_MASK_PTRS	0x561
#define MSR_CTL		0x570
#define PMSCR		0xc4c8
#define PMBLIMITR	0xc4d0
#define PMBPTR		0xc4d1
#define TRBLIMITR	0xc4d8
#define TRBPTR		0xc4d9
#define TRBBASER	0xc4da
#define ENABLE		0x1

bool machine_tracing(const struct sim *w)
{
	return w->unit_on && w->buffer_on;
}

u64 machine_offset(const struct sim *w, u64 addr)
{
	const u8 *at = (const u8 *)(uintptr_t)addr;

	if (!strcmp(w->driver->name, "intel_pt"))
		at = core_phys_to_virt(addr, 1);
	if (!at || at < w->aux || at >= w->aux + w->aux_size)
		return NEVER;
	return (u64)(at - w->aux);
}

/* ---- the bus ---- */

static int bus_load(void *ctx, uint64_t addr, void *to, uint64_t nr_bytes)
{
	struct sim *w = ctx;
	const void *from = core_phys_to_virt(addr, nr_bytes);

	if (!from)
		return -EFAULT;
	memcpy(to, from, nr_bytes);
	if (nr_bytes == sizeof(u64))
		faults_table_entry(w, addr, to);
	return 0;
}

static int bus_store(void *ctx, uint64_t addr, const uint8_t *bytes, uint64_t nr_bytes)
{
	struct sim *w = ctx;
	u64 off = machine_offset(w, addr);

	if (!nr_bytes)
		return off == NEVER ? -EFAULT : 0;
	w->bus_bytes += nr_bytes;
	if (off == NEVER) {
		mon_violation(w, AUXTAP_INV_LIMIT_KEPT, "%llu bytes outside of the AUX area",
			      (unsigned long long)nr_bytes);
		return -EFAULT;
	}
	if (nr_bytes > w->aux_size - off) { /* it runs over the end of the area */
		mon_violation(w, AUXTAP_INV_LIMIT_KEPT,
			      "%llu bytes at offset %#llx go past the end of the AUX area",
			      (unsigned long long)nr_bytes, (unsigned long long)off);
		nr_bytes = w->aux_size - off;
	}
	mon_store(w, off, nr_bytes);
	if (bytes)
		memcpy(w->aux + off, bytes, nr_bytes);
	return 0;
}

static void bus_irq(void *ctx)
{
	sim_line(ctx);
}

/* ---- registers ---- */

struct status_bit {
	u64 bit;
	const char *name;
};

static u64 reg_read(int cpu, u32 reg)
{
	(void)cpu;
	return faults_reg_read(current_sim, reg, current_sim->unit->reg_read(current_sim->u, reg));
}

#define MSR_STATUS 0x571
#define PMBSR	   0xc4d3
#define TRBSR	   0xc4db

static void put_bits(char *text, size_t size, u64 value, const struct status_bit *bits)
{
	size_t len = 0;

	text[0] = '\0';
	for (; bits->name; bits++)
		if (value & bits->bit && len < size)
			len += (size_t)snprintf(text + len, size - len, "%s%s", len ? "|" : "",
						bits->name);
}

/* For observers: what the driver is going to find. */
static void show_status(struct sim *w, u64 written)
{
	static const struct status_bit pt[] = {{0x20, "Stopped"}, {0x10, "Error"}, {0}};
	static const struct status_bit spe[] = {{0x80000, "DL"},
						{0x40000, "EA"},
						{0x20000, "S"},
						{0x10000, "COLL"},
						{0}};
	static const struct status_bit trb[] = {{0x400000, "IRQ"},  {0x200000, "TRG"},
						{0x100000, "WRAP"}, {0x40000, "EA"},
						{0x20000, "S"},	    {0}};
	const struct status_bit *bits = trb;
	u32 status_reg = TRBSR, pointer_reg = TRBPTR;
	u64 status, pointer, off;
	char text[64];

	if (!w->on_event)
		return;
	if (!strcmp(w->driver->name, "intel_pt")) {
		bits = pt;
		status_reg = MSR_STATUS;
		pointer_reg = MSR_MASK_PTRS;
	} else if (!strcmp(w->driver->name, "arm_spe")) {
		bits = spe;
		status_reg = PMBSR;
		pointer_reg = PMBPTR;
	}
	status = reg_read(w->c.cpu, status_reg);
	pointer = reg_read(w->c.cpu, pointer_reg);
	if (bits == pt) { /* the table's entry, and the offset in it */
		u64 base = reg_read(w->c.cpu, MSR_OUTPUT_BASE) & ~0xfffull;
		const u64 *table = core_phys_to_virt(base, 4096);
		u64 index = pointer >> 7 & 0x1ffffff;

		off = table && index < 512 ? machine_offset(w, table[index] & ~0xfffull) : NEVER;
		if (off != NEVER)
			off = (off + (pointer >> 32)) & (w->aux_size - 1);
	} else {
		off = machine_offset(w, pointer);
		if (pointer == (u64)(uintptr_t)w->aux + w->aux_size)
			off = w->aux_size;
	}
	put_bits(text, sizeof(text), status, bits);
	if (written == NEVER || status & ~written)
		sim_status(w, status, off, written, text);
}

/* A write, after which the driver may have set the buffer up anew: that is looked at. */
static void reg_write(int cpu, u32 reg, u64 value)
{
	struct sim *w = current_sim;
	bool was_on = machine_tracing(w);

	(void)cpu;
	switch (reg) {
	case MSR_OUTPUT_BASE:
		w->pt_base = value;
		break;
	case MSR_MASK_PTRS:
		w->pt_mask_ptrs = value;
		break;
	case MSR_CTL:
		w->unit_on = w->buffer_on = value & ENABLE;
		break;
	case PMSCR:
		w->unit_on = value & 3;
		break;
	case PMBPTR:
	case TRBPTR:
		w->regs_ptr = value;
		w->ptr_written = true;
		break;
	case TRBBASER:
		w->regs_base = value;
		break;
	case PMBLIMITR:
	case TRBLIMITR:
		w->regs_limit = value & ~0xfffull;
		w->buffer_on = value & ENABLE;
		break;
	default:
		break;
	}
	/* before the unit runs: it may reach its thresholds at once */
	if (value & ENABLE &&
	    ((reg == MSR_CTL && !was_on) || reg == PMBLIMITR || reg == TRBLIMITR)) {
		thresholds_read(w);
		show_status(w, NEVER);
	}
	w->unit->reg_write(w->u, reg, faults_reg_write(w, reg, value));
	if (reg == MSR_STATUS || reg == PMBSR || reg == TRBSR)
		show_status(w, value);
	if ((reg == MSR_CTL && was_on && !(value & ENABLE)) || (reg == PMSCR && was_on && !value))
		faults_stopping(w);
}

static void drain(int cpu)
{
	(void)cpu;
}

static int etm_on(int cpu, const struct perf_event_attr *attr)
{
	(void)cpu;
	(void)attr;
	current_sim->unit_on = true;
	return 0;
}

static void etm_off(int cpu)
{
	(void)cpu;
	current_sim->unit_on = false;
	faults_stopping(current_sim);
}

/* ---- drivers ---- */

static int pt_start(void)
{
	static const struct intel_pt_hw hw = {
		.read = reg_read,
		.write = reg_write,
		.topa_multiple_entries = true,
	};

	return intel_pt_register("intel_pt", &hw);
}

static bool pt_interrupt(void)
{
	intel_pt_interrupt();
	return true;
}

static int spe_start(void)
{
	static const struct arm_spe_hw hw = {
		.read = reg_read,
		.write = reg_write,
		.drain = drain,
		.version = 4,
	};

	return arm_spe_register("arm_spe_0", &hw);
}

static struct cs_etm_hw etm_hw = {
	.trbe = {.read = reg_read, .write = reg_write, .drain = drain},
	.trace_on = etm_on,
	.trace_off = etm_off,
};

static int trbe_start(void)
{
	etm_hw.trbe.overwrites_in_fill_mode =
		current_sim->c.setup.errata & AUXTAP_ERRATUM_OVERWRITE;
	etm_hw.trbe.writes_out_of_range = current_sim->c.setup.errata & AUXTAP_ERRATUM_BEYOND;
	return cs_etm_register("cs_etm", &etm_hw);
}

static bool trbe_irq(void)
{
	return cs_etm_interrupt();
}

static const struct sim_driver drivers[] = {
	{"intel_pt", "intel_pt", pt_start, intel_pt_unregister, pt_interrupt, 0x2001, 0x00},
	{"arm_spe", "arm_spe_0", spe_start, arm_spe_unregister, arm_spe_interrupt, 0, 0x00},
	{"trbe", "cs_etm", trbe_start, cs_etm_unregister, trbe_irq, 0, 0x70},
};

const struct sim_driver *sim_driver_find(const char *name)
{
	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (name && !strcmp(drivers[i].name, name))
			return &drivers[i];
	return NULL;
}

/* ---- the core's machine ---- */

static uint64_t core_now(void *ctx)
{
	return ((struct sim *)ctx)->now;
}

static void core_woken(void *ctx, struct perf_event *event)
{
	struct sim *w = ctx;

	(void)event;
	w->mon.delivered = true;
	reader_wake(w);
}

static int order_of(void *ctx, int order)
{
	const struct sim *w = ctx;

	return w->c.max_order < 0 || order < w->c.max_order ? order : w->c.max_order;
}

static void core_warned(void *ctx, const char *file, int line, const char *what)
{
	const char *base = strrchr(file, '/');

	mon_violation(ctx, AUXTAP_INV_NO_WARNING, "kernel warning at %s:%d: %s",
		      base ? base + 1 : file, line, what);
}

static int refuse(struct sim *w, int err, const char *why)
{
	w->r->refused = 1;
	snprintf(w->r->refusal, sizeof(w->r->refusal), "%s", why);
	return err;
}

static const char *why_no_area(const struct sim *w)
{
	if (w->c.nr_pages < 2 && strcmp(w->c.driver, "intel_pt") != 0)
		return "the driver wants at least 2 pages (I1, J2)";
	if (w->c.setup.errata & AUXTAP_ERRATUM_BEYOND && w->c.nr_pages < 4)
		return "with the out-of-range erratum two pages would only be padding (J2)";
	return "no memory, or the driver has refused the area (C7)";
}

static int map_areas(struct sim *w)
{
	u64 data_size = (w->c.data_pages + 1) * w->c.page_size;
	int prot = PROT_READ | PROT_WRITE, ret;

	ret = core_event_mmap(w->event, data_size, prot, MAP_SHARED, 0, &w->data_map);
	if (ret)
		return refuse(w, ret, "the data ring cannot be mapped (B4)");
	w->page = w->data_map->addr;
	w->aux_size = w->c.nr_pages * w->c.page_size;
	w->page->aux_offset = data_size;
	w->page->aux_size = w->aux_size;
	ret = core_event_mmap(w->event, w->aux_size, w->c.snapshot ? PROT_READ : prot, MAP_SHARED,
			      data_size, &w->aux_map);
	if (ret)
		return refuse(w, ret, why_no_area(w));
	w->aux = w->aux_map->addr;
	if (w->c.contents) /* not yet written: no value that a reader expects */
		memset(w->aux, 0xee, w->aux_size);
	return 0;
}

/* The next simulation may begin. */
static void leave(struct sim *w)
{
	core_machine_set(NULL);
	core_kernel_use(NULL);
	core_page_size_use(4096);
	if (w->u)
		w->unit->destroy(w->u);
	current_sim = NULL;
}

int machine_open(struct sim *w, struct auxtap_error *err)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.config = w->driver->attr_config,
		.exclude_kernel = 1,
		.sample_period = 1,
		.aux_watermark = (u32)w->c.watermark,
	};
	struct auxtap_unit_setup setup;
	int ret;

	current_sim = w;
	w->core = (struct core_machine){
		.ctx = w,
		.clock = core_now,
		.wakeup = core_woken,
		.alloc_order = order_of,
		.warn = core_warned,
		.observer = &monitor_observer,
	};
	w->bus = (struct auxtap_unit_bus){w, bus_load, bus_store, bus_irq};
	setup = w->c.setup;
	setup.overshoot_bytes += unit_faults_overshoot(&w->faults.unit, w->c.page_size);
	w->u = w->unit->create(&w->bus, &setup);
	if (!w->u) {
		leave(w);
		return auxtap_error_set(err, -ENOMEM, w->unit->name, "no memory");
	}
	core_machine_set(&w->core);
	core_page_size_use(w->c.page_size);
	core_kernel_use(&w->faults.kernel);
	core_set_cpu(w->c.cpu);
	ret = w->driver->start();
	if (ret) {
		leave(w);
		return auxtap_error_set(err, ret, w->unit->name,
					"the driver does not accept this unit: %s", strerror(-ret));
	}
	attr.type = (u32)core_pmu_type(w->driver->pmu);
	w->task.pid = w->task.tid = 1;
	ret = core_event_open(&w->event, &attr, &w->task, -1, NULL, NULL);
	if (ret)
		return refuse(w, ret, "the event cannot be opened");
	ret = map_areas(w);
	if (ret)
		return ret;
	/* C2; an overwritten area has none */
	w->watermark = attr.aux_watermark ? attr.aux_watermark : w->aux_size / 2;
	if (w->watermark > UINT32_MAX)
		w->watermark = UINT32_MAX;
	return 0;
}

/*
 * B18, D2: the area is unmapped, and while that is under way the program begins to run once
 * more: monitor.c's race() lets the second half of the unmapping fall between two looks.
 */
void machine_unmap(struct sim *w)
{
	core_set_cpu(w->c.cpu);
	core_event_munmap_stop(w->aux_map);
	core_irq_work_run();
	mon_settle(w);
	for (; w->nr_irqs; w->nr_irqs--) /* on its way when the event was stopped */
		machine_interrupt(w);
	if (w->running)
		machine_sched(w, false);
	w->mon.mute = true; /* begin is refused: no trace of the run is lost */
	machine_sched(w, true);
	if (w->aux_map) {
		core_event_munmap_free(w->aux_map);
		w->aux_map = NULL;
	}
	machine_sched(w, false);
}

void machine_close(struct sim *w)
{
	if (w->aux_map)
		machine_unmap(w);
	if (w->data_map)
		core_event_munmap(w->data_map);
	if (w->event)
		core_event_close(w->event);
	w->driver->end();
	leave(w);
}

/* ---- what happens to it ---- */

void machine_sched(struct sim *w, bool in)
{
	core_set_cpu(w->c.cpu);
	if (in)
		core_task_sched_in(&w->task);
	else
		core_task_sched_out(&w->task);
	core_irq_work_run();
	w->running = in;
	sim_event(w, AUXTAP_WM_SWITCH, in, 0, 0);
	mon_settle(w);
}

void machine_interrupt(struct sim *w)
{
	core_set_cpu(w->c.cpu);
	sim_event(w, AUXTAP_WM_IRQ, w->mon.pos, 0, 0);
	show_status(w, NEVER);
	w->r->nr_interrupts++;
	mon_irq(w);
	w->in_interrupt = true;
	w->driver->interrupt();
	core_irq_work_run();
	w->in_interrupt = false;
	mon_settle(w);
}

/* D21: DISABLE and ENABLE; ENABLE alone does nothing where the event still counts as active. */
void machine_reenable(struct sim *w)
{
	bool marked = w->event->pending_disable, more;
	u64 head = w->mon.head;

	w->r->nr_reenabled++;
	sim_event(w, AUXTAP_WM_REENABLE, 0, 0, 0);
	core_set_cpu(w->c.cpu);
	core_event_ioctl(w->event, PERF_EVENT_IOC_DISABLE, 0, NULL);
	core_irq_work_run();
	mon_settle(w);
	more = w->mon.head != head;
	core_event_ioctl(w->event, PERF_EVENT_IOC_ENABLE, 0, NULL);
	core_irq_work_run();
	mon_settle(w);
	mon_drained(w, marked, more);
}

void machine_inject_hole(struct sim *w)
{
	if (!w->mon.open)
		return;
	w->mon.hole = true;
	intel_pt_hole();
}
