// SPDX-License-Identifier: BSD-2-Clause
/*
 * The kernel of the simulated machine: the perf core with its event and areas, and the bus. The
 * drivers and their registers: sim_drivers.c.
 */
#include "sim.h"

#include "core/core.h"
#include "pmu/intel_pt.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

_Thread_local struct sim *current_sim;

bool machine_tracing(const struct sim *sim)
{
	return sim->unit_on && sim->buffer_on;
}

u64 machine_offset(const struct sim *sim, u64 addr)
{
	const u8 *at = (const u8 *)(uintptr_t)addr;

	if (driver_has(sim, DRIVER_PHYSICAL))
		at = core_phys_to_virt(addr, 1);
	if (!at || at < sim->aux || at >= sim->aux + sim->aux_size)
		return NO_OFFSET;
	return (u64)(at - sim->aux);
}

/* ---- the bus ---- */

static int bus_load(void *ctx, uint64_t addr, void *to, uint64_t nr_bytes)
{
	struct sim *sim = ctx;
	const void *from = core_phys_to_virt(addr, nr_bytes);

	if (!from)
		return -EFAULT;
	memcpy(to, from, nr_bytes);
	if (nr_bytes == sizeof(u64))
		faults_table_entry(sim, addr, to);
	return 0;
}

static int bus_store(void *ctx, uint64_t addr, const uint8_t *bytes, uint64_t nr_bytes)
{
	struct sim *sim = ctx;
	u64 off = machine_offset(sim, addr);

	if (!nr_bytes)
		return off == NO_OFFSET ? -EFAULT : 0;
	sim->store_bytes += nr_bytes;
	if (off == NO_OFFSET) {
		mon_violation(sim, AUXTAP_INV_LIMIT_KEPT, "%llu bytes outside of the AUX area",
			      (unsigned long long)nr_bytes);
		return -EFAULT;
	}
	if (nr_bytes > sim->aux_size - off) { /* it crosses the end of the area */
		mon_violation(sim, AUXTAP_INV_LIMIT_KEPT,
			      "%llu bytes at offset %#llx go past the end of the AUX area",
			      (unsigned long long)nr_bytes, (unsigned long long)off);
		nr_bytes = sim->aux_size - off;
	}
	mon_store(sim, off, nr_bytes);
	if (bytes)
		memcpy(sim->aux + off, bytes, nr_bytes);
	return 0;
}

static void bus_irq(void *ctx)
{
	sim_irq_raised(ctx);
}

/* ---- callbacks of struct core_machine ---- */

static uint64_t core_now(void *ctx)
{
	return ((struct sim *)ctx)->now;
}

static void core_woken(void *ctx, struct perf_event *event)
{
	struct sim *sim = ctx;

	(void)event;
	sim->mon.reader_woken = true;
	reader_wake(sim);
}

static int order_of(void *ctx, int order)
{
	const struct sim *sim = ctx;
	int max;

	if (!sim->c.max_alloc_pages)
		return order;
	max = __builtin_ctzll(sim->c.max_alloc_pages);
	return order < max ? order : max;
}

static void core_warned(void *ctx, const char *file, int line, const char *what)
{
	const char *base = strrchr(file, '/');

	mon_violation(ctx, AUXTAP_INV_NO_WARNING, "kernel warning at %s:%d: %s",
		      base ? base + 1 : file, line, what);
}

static int refuse(struct sim *sim, int err, const char *why)
{
	sim->r->refused = 1;
	snprintf(sim->r->refusal, sizeof(sim->r->refusal), "%s", why);
	return err;
}

static const char *why_no_area(const struct sim *sim)
{
	if (sim->c.nr_pages < sim->driver->min_pages)
		return "the driver requires at least 2 pages (I1, J2)";
	if (sim->c.setup.errata & AUXTAP_ERRATUM_BEYOND && sim->c.nr_pages < 4)
		return "with the out-of-range erratum two pages would only be padding (J2)";
	return "no memory, or the driver has refused the area (C7)";
}

static int map_areas(struct sim *sim)
{
	u64 data_size = (sim->c.data_pages + 1) * sim->c.page_size;
	int prot = PROT_READ | PROT_WRITE, ret;

	ret = core_event_mmap(sim->event, data_size, prot, MAP_SHARED, 0, &sim->data_map);
	if (ret)
		return refuse(sim, ret, "the data ring cannot be mapped (B4)");
	sim->page = sim->data_map->addr;
	sim->aux_size = sim->c.nr_pages * sim->c.page_size;
	sim->page->aux_offset = data_size;
	sim->page->aux_size = sim->aux_size;
	ret = core_event_mmap(sim->event, sim->aux_size, sim->c.snapshot ? PROT_READ : prot,
			      MAP_SHARED, data_size, &sim->aux_map);
	if (ret)
		return refuse(sim, ret, why_no_area(sim));
	sim->aux = sim->aux_map->addr;
	if (sim->c.contents) /* a value that is neither trace nor padding */
		memset(sim->aux, 0xee, sim->aux_size);
	return 0;
}

/* Releases the thread's global state, so that the next simulation can begin. */
static void release_thread(struct sim *sim)
{
	core_machine_set(NULL);
	core_kernel_use(NULL);
	core_page_size_use(4096);
	if (sim->u)
		sim->unit->destroy(sim->u);
	core_thread_end();
	current_sim = NULL;
}

int machine_open(struct sim *sim, struct auxtap_error *err)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.config = sim->driver->attr_config,
		.exclude_kernel = 1,
		.sample_period = 1,
		.aux_watermark = (u32)sim->c.watermark,
	};
	struct auxtap_unit_setup setup;
	int ret;

	if (core_thread_begin())
		return auxtap_error_set(err, -EBUSY, "simulation",
					"too many threads simulate at the same time");
	current_sim = sim;
	sim->core = (struct core_machine){
		.ctx = sim,
		.clock = core_now,
		.wakeup = core_woken,
		.alloc_order = order_of,
		.private_rings = true,
		.warn = core_warned,
		.observer = &monitor_observer,
	};
	sim->bus = (struct auxtap_unit_bus){sizeof(sim->bus), sim, bus_load, bus_store, bus_irq};
	setup = sim->c.setup;
	setup.irq_delay_bytes += unit_faults_irq_delay_bytes(&sim->faults.unit, sim->c.page_size);
	sim->u = sim->unit->create(&sim->bus, &setup);
	if (!sim->u) {
		release_thread(sim);
		return auxtap_error_set(err, -ENOMEM, sim->unit->name, "no memory");
	}
	core_machine_set(&sim->core);
	core_page_size_use(sim->c.page_size);
	core_kernel_use(&sim->faults.kernel);
	core_set_cpu(sim->c.cpu);
	ret = sim->driver->start();
	if (ret) {
		release_thread(sim);
		return auxtap_error_set(err, ret, sim->unit->name,
					"the driver does not accept this unit: %s", strerror(-ret));
	}
	attr.type = (u32)core_pmu_type(sim->driver->pmu);
	sim->task.pid = sim->task.tid = 1;
	ret = core_event_open(&sim->event, &attr, &sim->task, -1, NULL, NULL);
	if (ret)
		return refuse(sim, ret, "the event cannot be opened");
	ret = map_areas(sim);
	if (ret)
		return ret;
	/* C2; unused in snapshot mode */
	sim->watermark = attr.aux_watermark ? attr.aux_watermark : sim->aux_size / 2;
	if (sim->watermark > UINT32_MAX)
		sim->watermark = UINT32_MAX;
	return 0;
}

/*
 * B18, D2: unmaps the area, and schedules the program in while that is in progress: monitor.c's
 * on_race() does the second half of the unmapping between the two checks of
 * perf_aux_output_begin().
 */
void machine_unmap(struct sim *sim)
{
	core_set_cpu(sim->c.cpu);
	core_event_munmap_stop(sim->aux_map);
	core_irq_work_run();
	mon_check_step(sim);
	for (; sim->nr_irqs; sim->nr_irqs--) /* pending when the event was stopped */
		machine_interrupt(sim);
	if (sim->running)
		machine_sched(sim, false);
	sim->mon.mute = true; /* begin is refused now, which is no loss */
	machine_sched(sim, true);
	if (sim->aux_map) {
		core_event_munmap_free(sim->aux_map);
		sim->aux_map = NULL;
	}
	machine_sched(sim, false);
}

void machine_close(struct sim *sim)
{
	if (sim->aux_map)
		machine_unmap(sim);
	if (sim->data_map)
		core_event_munmap(sim->data_map);
	if (sim->event)
		core_event_close(sim->event);
	sim->driver->end();
	release_thread(sim);
}

/* ---- events ---- */

void machine_sched(struct sim *sim, bool in)
{
	core_set_cpu(sim->c.cpu);
	if (in)
		core_task_sched_in(&sim->task);
	else
		core_task_sched_out(&sim->task);
	core_irq_work_run();
	sim->running = in;
	sim_event(sim, AUXTAP_WM_SWITCH, in, 0, 0);
	mon_check_step(sim);
}

void machine_interrupt(struct sim *sim)
{
	core_set_cpu(sim->c.cpu);
	sim_event(sim, AUXTAP_WM_IRQ, sim->mon.pos, 0, 0);
	driver_show_status(sim, NOT_WRITTEN);
	sim->r->nr_interrupts++;
	mon_irq(sim);
	sim->in_interrupt = true;
	sim->driver->interrupt();
	core_irq_work_run();
	sim->in_interrupt = false;
	mon_check_step(sim);
}

/* D21: DISABLE and ENABLE; ENABLE alone has no effect while the event is still active. */
void machine_reenable(struct sim *sim)
{
	bool disable_late = sim->event->pending_disable, still_tracing;
	u64 head = sim->mon.head;

	sim->r->nr_reenabled++;
	sim_event(sim, AUXTAP_WM_REENABLE, 0, 0, 0);
	core_set_cpu(sim->c.cpu);
	core_event_ioctl(sim->event, PERF_EVENT_IOC_DISABLE, 0, NULL);
	core_irq_work_run();
	mon_check_step(sim);
	still_tracing = sim->mon.head != head;
	core_event_ioctl(sim->event, PERF_EVENT_IOC_ENABLE, 0, NULL);
	core_irq_work_run();
	mon_check_step(sim);
	mon_drained(sim, disable_late, still_tracing);
}

void machine_inject_partial(struct sim *sim)
{
	if (!sim->mon.open)
		return;
	sim->mon.partial_expected = true;
	intel_pt_flag_partial();
}
