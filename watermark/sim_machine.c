// SPDX-License-Identifier: BSD-2-Clause
/*
 * The simulated machine's kernel side: the perf core with its event and areas, and the bus. The
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

bool machine_tracing(const struct sim *w)
{
	return w->unit_on && w->buffer_on;
}

u64 machine_offset(const struct sim *w, u64 addr)
{
	const u8 *at = (const u8 *)(uintptr_t)addr;

	if (driver_is(w, DRIVER_PHYSICAL))
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
	int max;

	if (!w->c.max_alloc_pages)
		return order;
	max = __builtin_ctzll(w->c.max_alloc_pages);
	return order < max ? order : max;
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
	if (w->c.nr_pages < w->driver->min_pages)
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
	core_thread_end();
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

	if (core_thread_begin())
		return auxtap_error_set(err, -EBUSY, "simulation",
					"too many threads simulate at the same time");
	current_sim = w;
	w->core = (struct core_machine){
		.ctx = w,
		.clock = core_now,
		.wakeup = core_woken,
		.alloc_order = order_of,
		.private_rings = true,
		.warn = core_warned,
		.observer = &monitor_observer,
	};
	w->bus = (struct auxtap_unit_bus){sizeof(w->bus), w, bus_load, bus_store, bus_irq};
	setup = w->c.setup;
	setup.irq_delay_bytes += unit_faults_irq_delay_bytes(&w->faults.unit, w->c.page_size);
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
	driver_show_status(w, NEVER);
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
