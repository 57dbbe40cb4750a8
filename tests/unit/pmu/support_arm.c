// SPDX-License-Identifier: BSD-2-Clause
/* See support_arm.h. */
#include "support_arm.h"
#include <errno.h>
#include <linux/mm.h>
#include <string.h>
#include <sys/mman.h>

struct arm_machine arm = {.absent_cpu = -1};

/* ---- the machine ---- */

/* Mapped memory is the AUX pages; the driver decides whether they are one range. */
static void *bus_virt(void *ctx, u64 addr, u64 size)
{
	(void)ctx;
	for (u64 at = addr & ~(P - 1); at < addr + size; at += P)
		if (!virt_to_page((void *)(uintptr_t)at))
			return NULL;
	return (void *)(uintptr_t)addr;
}

static void bus_irq(void *ctx)
{
	((struct arm_cpu *)ctx)->nr_irqs++;
}

static struct spe_output_bus spe_buses[8];

static bool buffer_runs(const struct arm_cpu *c)
{
	return c->spe.limitr & PMBLIMITR_E && !(c->spe.status & PMBSR_S);
}

static u64 spe_read(int cpu, u32 reg)
{
	struct arm_cpu *c = &arm.cpus[cpu];
	u64 value;

	assert_int_equal(cpu, core_cpu());
	if (reg == SPE_PMSIDR)
		return arm.pmsidr;
	/* bytes still on their way may change both */
	if (reg == SPE_PMBPTR || reg == SPE_PMBSR)
		assert_false(c->undrained);
	if (spe_output_read(&c->spe, reg, &value))
		return reg == SPE_PMBIDR ? value | arm.pmbidr_p : value;
	assert_true(reg >= 0xc4c8 && reg < 0xc4d0);
	return c->regs[reg - 0xc4c8];
}

static void spe_write(int cpu, u32 reg, u64 value)
{
	struct arm_cpu *c = &arm.cpus[cpu];

	assert_int_equal(cpu, core_cpu());
	/* The Arm ARM does not define the effect of a write while the buffer is filled. */
	if (reg == SPE_PMBPTR || (reg == SPE_PMBLIMITR && value & PMBLIMITR_E))
		assert_false(buffer_runs(c));
	if (reg == SPE_PMBLIMITR && c->regs[SPE_PMSCR - 0xc4c8])
		assert_true(value & PMBLIMITR_E || !buffer_runs(c));
	if (spe_output_write(&c->spe, reg, value))
		return;
	assert_true(reg >= 0xc4c8 && reg < 0xc4cf);
	c->regs[reg - 0xc4c8] = value;
}

static void spe_drain(int cpu)
{
	assert_int_equal(cpu, core_cpu());
	arm.cpus[cpu].undrained = false;
}

static bool spe_present(int cpu)
{
	return cpu != arm.absent_cpu;
}

struct arm_spe_hw spe_hw;

/* ---- trace units and TRBEs ---- */

struct cs_etm_hw etm_hw;
static struct trbe_output_bus trbe_buses[8];

static u64 trbe_read(int cpu, u32 reg)
{
	struct arm_cpu *c = &arm.cpus[cpu];
	u64 value;

	assert_int_equal(cpu, core_cpu());
	if (reg == SYS_TRBPTR)
		assert_int_equal(c->nr_fifo, 0);
	assert_true(trbe_output_read(&c->trbe, reg, &value));
	return reg == SYS_TRBIDR ? value | arm.pmbidr_p : value;
}

static void trbe_write(int cpu, u32 reg, u64 value)
{
	struct arm_cpu *c = &arm.cpus[cpu];
	u64 limit = value & ~0xfffull;

	assert_int_equal(cpu, core_cpu());
	if (reg == SYS_TRBPTR || reg == SYS_TRBBASER)
		assert_false(c->trbe.limitr & TRBLIMITR_E);
	if (reg == SYS_TRBBASER)
		assert_false(value & 0xfff);
	if (reg == SYS_TRBLIMITR && value & TRBLIMITR_E) {
		/* J1: fill mode, between two pages */
		assert_int_equal(value >> TRBLIMITR_FM_SHIFT & 3, TRBLIMITR_FM_FILL);
		/* also at a restart: triggers stop nothing */
		assert_int_equal(value >> 3 & 3, 3);
		assert_true(c->trbe.base <= c->trbe.ptr && c->trbe.ptr < limit);
	}
	assert_true(trbe_output_write_reg(&c->trbe, reg, value));
}

/* Drains the trace unit's FIFO, all but keep bytes. */
static void fifo_out(struct arm_cpu *c, u32 keep)
{
	struct arm_session *s = arm.traced;
	u64 written = c->trbe.nr_written, before = c->trbe.ptr;
	u32 nr = c->nr_fifo > keep ? c->nr_fifo - keep : 0;

	if (!nr)
		return;
	trbe_output_write(&c->trbe, c->fifo, nr);
	written = c->trbe.nr_written - written;
	if (written && !s->snapshot)
		arm_note(s, before - (u64)(uintptr_t)s->aux,
			 before - (u64)(uintptr_t)s->aux + written, c->fifo, (u32)written);
	memmove(c->fifo, c->fifo + nr, c->nr_fifo - nr);
	c->nr_fifo -= nr;
}

static void trbe_drain(int cpu)
{
	assert_int_equal(cpu, core_cpu());
	fifo_out(&arm.cpus[cpu], 0);
}

static int etm_trace_on(int cpu, const struct perf_event_attr *attr)
{
	(void)attr;
	assert_int_equal(cpu, core_cpu());
	assert_true(arm.cpus[cpu].trbe.limitr & TRBLIMITR_E); /* the sink is enabled first */
	arm.cpus[cpu].etm_on = !arm.etm_error;
	return arm.etm_error;
}

static void etm_trace_off(int cpu)
{
	assert_true(arm.cpus[cpu].etm_on);
	arm.cpus[cpu].etm_on = false;
	if (arm.irq_in_stop)
		cs_etm_interrupt();
}

static bool etm_reaches_sink(int cpu)
{
	return cpu != arm.absent_cpu;
}

static uint64_t machine_clock(void *ctx)
{
	(void)ctx;
	return ++arm.time;
}

static void machine_wakeup(void *ctx, struct perf_event *event)
{
	(void)ctx;
	(void)event;
	arm.nr_wakeups++;
	if (arm.prompt)
		arm_set_tail(arm.prompt, arm_aux_head(arm.prompt));
}

static void machine_log(void *ctx, char level, const char *text)
{
	(void)ctx;
	(void)text;
	if (level <= '3')
		arm.nr_errors_logged++;
}

static void machine_warn(void *ctx, const char *file, int line, const char *what)
{
	(void)ctx;
	fail_msg("%s:%d: %s", file, line, what);
}

static void machine_start(const char *kernel)
{
	memset(arm.cpus, 0, sizeof(arm.cpus));
	arm.cpu = 0;
	arm.time = 0;
	arm.prompt = arm.traced = NULL;
	arm.fifo_size = 0;
	arm.etm_error = 0;
	arm.irq_in_stop = false;
	arm.nr_wakeups = arm.nr_errors_logged = 0;
	arm.core = (struct core_machine){
		.clock = machine_clock,
		.wakeup = machine_wakeup,
		.log = machine_log,
		.warn = machine_warn,
	};
	core_machine_set(&arm.core);
	core_kernel_use(core_kernel_find(kernel));
	core_set_cpu(0);
}

static int spe_units(const char *kernel, u32 align)
{
	u32 max_record = 1u << (arm.pmsidr >> 12 & 0xf);

	machine_start(kernel);
	for (int i = 0; i < 8; i++) {
		spe_buses[i] = (struct spe_output_bus){&arm.cpus[i], bus_virt, bus_irq};
		spe_output_init(&arm.cpus[i].spe, &spe_buses[i], max_record, align);
	}
	spe_hw = (struct arm_spe_hw){
		.read = spe_read,
		.write = spe_write,
		.drain = spe_drain,
		.present = spe_present,
		.version = 3,
	};
	arm_spe_unregister();
	return arm_spe_register("arm_spe_0", &spe_hw);
}

int spe_start(const char *kernel, u32 max_record, u32 align)
{
	/* all filters, 12 bits of counters; Interval 0: 256 */
	arm.pmsidr = 0x7f | (u64)__builtin_ctz(max_record) << 12 | 2 << 16;
	return spe_units(kernel, align);
}

int spe_restart(const char *kernel)
{
	return spe_units(kernel, 64);
}

void spe_end(void)
{
	arm_spe_unregister();
	core_machine_set(NULL);
	arm.absent_cpu = -1;
	arm.pmbidr_p = 0;
}

bool spe_on(void)
{
	return arm_unit()->regs[SPE_PMSCR - 0xc4c8] & SPE_PMSCR_E0SPE && buffer_runs(arm_unit());
}

int trbe_start(const char *kernel, u32 align, int errata)
{
	machine_start(kernel);
	for (int i = 0; i < 8; i++) {
		struct trbe_output *out = &arm.cpus[i].trbe;

		trbe_buses[i] = (struct trbe_output_bus){&arm.cpus[i], bus_virt, bus_irq};
		trbe_output_init(out, &trbe_buses[i], align);
		out->overwrite_bytes = errata & ERRATUM_OVERWRITE ? 192 : 0;
		out->beyond_bytes = errata & ERRATUM_BEYOND ? (u32)P : 0;
	}
	etm_hw = (struct cs_etm_hw){
		/* clang-format off */
		.trbe = {
			.read = trbe_read,
			.write = trbe_write,
			.drain = trbe_drain,
			.overwrites_in_fill_mode = errata & ERRATUM_OVERWRITE,
			.writes_out_of_range = errata & ERRATUM_BEYOND,
		},
		/* clang-format on */
		.trace_on = etm_trace_on,
		.trace_off = etm_trace_off,
		.reaches_sink = etm_reaches_sink,
		.config = 1u << 28 | 1u << 12,
	};
	cs_etm_unregister();
	return cs_etm_register("cs_etm", &etm_hw);
}

void trbe_end(void)
{
	cs_etm_unregister();
	core_machine_set(NULL);
	arm.absent_cpu = -1;
	arm.pmbidr_p = 0;
}

bool trbe_on(void)
{
	return arm_unit()->etm_on && arm_unit()->trbe.limitr & TRBLIMITR_E &&
	       !(arm_unit()->trbe.status & TRBSR_S);
}

/* ---- one profiled task ---- */

void spe_session(struct arm_session *s)
{
	memset(s, 0, sizeof(*s));
	s->task.pid = s->task.tid = 100;
	s->attr.size = sizeof(s->attr);
	s->attr.type = (u32)core_pmu_type("arm_spe_0");
	s->attr.config = 1; /* ts_enable */
	s->attr.exclude_kernel = 1;
	s->attr.sample_period = 1024;
}

void trbe_session(struct arm_session *s)
{
	memset(s, 0, sizeof(*s));
	s->task.pid = s->task.tid = 100;
	s->attr.size = sizeof(s->attr);
	s->attr.type = (u32)core_pmu_type("cs_etm");
	s->attr.config = 1u << 28; /* timestamp */
	s->attr.exclude_kernel = 1;
	s->pad = 0x70;
	s->skips_reported = etm_hw.trbe.overwrites_in_fill_mode;
	arm.traced = s;
}

int arm_open(struct arm_session *s, u64 aux_pages, bool writable)
{
	u64 data_size = 65 * P;
	int ret = core_event_open(&s->event, &s->attr, &s->task, -1, NULL, NULL);

	if (ret)
		return ret;
	ret = core_event_mmap(s->event, data_size, PROT_READ | PROT_WRITE, MAP_SHARED, 0,
			      &s->data_map);
	assert_int_equal(ret, 0);
	s->page = s->data_map->addr;
	s->aux_size = aux_pages * P;
	s->snapshot = !writable;
	s->page->aux_offset = data_size;
	s->page->aux_size = s->aux_size;
	ret = core_event_mmap(s->event, s->aux_size, PROT_READ | (writable ? PROT_WRITE : 0),
			      MAP_SHARED, data_size, &s->aux_map);
	if (!ret) {
		s->aux = s->aux_map->addr;
		/* bytes that the driver leaves are neither padding nor trace */
		memset(s->aux, 0xee, s->aux_size);
	}
	return ret;
}

void arm_close(struct arm_session *s)
{
	if (s->task.cpu_plus1)
		arm_out(s);
	if (s->aux_map)
		core_event_munmap(s->aux_map);
	if (s->data_map)
		core_event_munmap(s->data_map);
	if (s->event)
		core_event_close(s->event);
	free(s->stored);
	free(s->records);
	memset(s, 0, sizeof(*s));
}

void arm_in(struct arm_session *s)
{
	core_set_cpu(arm.cpu);
	core_task_sched_in(&s->task);
	core_irq_work_run();
}

void arm_out(struct arm_session *s)
{
	core_set_cpu(arm.cpu);
	core_task_sched_out(&s->task);
	core_irq_work_run();
}

void arm_reenable(struct arm_session *s)
{
	core_event_ioctl(s->event, PERF_EVENT_IOC_DISABLE, 0, NULL);
	core_irq_work_run();
	core_event_ioctl(s->event, PERF_EVENT_IOC_ENABLE, 0, NULL);
	core_irq_work_run();
}

u8 arm_byte(u64 n)
{
	u8 byte = (u8)(1 + n * 2654435761u % 250);

	return byte == 0x70 ? 0xfe : byte;
}

void arm_note(struct arm_session *s, u64 from_off, u64 to_off, const u8 *bytes, u32 nr_bytes)
{
	/* D11: skipped bytes are published at once, so the open transaction begins at head */
	u64 head = arm_aux_head(s);
	u64 at = head + (from_off - head) % s->aux_size, end = at + (to_off - from_off);

	if (end > s->max_stored) {
		u64 max = 2 * end + 65536;

		s->stored = realloc(s->stored, max * sizeof(*s->stored));
		assert_non_null(s->stored);
		memset(s->stored + s->max_stored, 0, (max - s->max_stored) * sizeof(*s->stored));
		s->max_stored = max;
	}
	/* the hardware's own padding comes before a record */
	for (u64 i = at; i < end; i++) {
		u64 left = end - i;

		s->stored[i] = 1;
		if (left <= nr_bytes)
			s->stored[i] = 1 + bytes[nr_bytes - left];
	}
	s->nr_stored += nr_bytes;
}

bool spe_record(struct arm_session *s, u32 nr_bytes)
{
	struct arm_cpu *c = arm_unit();
	u64 written = c->spe.nr_written, base = (u64)(uintptr_t)s->aux, before = c->spe.ptr;
	u8 bytes[2048];
	bool whole;

	assert_true(nr_bytes <= c->spe.max_record);
	for (u32 i = 0; i < nr_bytes; i++)
		bytes[i] = arm_byte(s->produced + i);
	s->produced += nr_bytes;
	if (!(c->regs[SPE_PMSCR - 0xc4c8] & SPE_PMSCR_E0SPE)) {
		s->produced_off += nr_bytes;
		return false;
	}
	whole = spe_output_record(&c->spe, bytes, nr_bytes);
	c->undrained = true;
	if (c->spe.nr_written != written && !s->snapshot)
		arm_note(s, before - base, c->spe.ptr - base, bytes,
			 (u32)(c->spe.nr_written - written));
	return whole;
}

bool spe_take_irq(void)
{
	bool ours;

	if (!spe_output_irq(&arm_unit()->spe))
		return false;
	core_set_cpu(arm.cpu);
	ours = arm_spe_interrupt();
	core_irq_work_run();
	return ours;
}

void spe_run(struct arm_session *s, unsigned int n, u32 nr_bytes)
{
	while (n--) {
		spe_record(s, nr_bytes);
		spe_take_irq();
	}
}

void trbe_trace(struct arm_session *s, u32 nr_bytes)
{
	struct arm_cpu *c = arm_unit();

	while (nr_bytes) {
		u32 nr = nr_bytes < 64 ? nr_bytes : 64;

		nr_bytes -= nr;
		s->produced += nr;
		if (!c->etm_on) {
			s->produced_off += nr;
			continue;
		}
		for (u32 i = 0; i < nr; i++)
			c->fifo[c->nr_fifo++] = arm_byte(s->produced - nr + i);
		fifo_out(c, arm.fifo_size);
	}
}

bool trbe_take_irq(void)
{
	bool ours;

	if (!trbe_output_irq(&arm_unit()->trbe))
		return false;
	core_set_cpu(arm.cpu);
	ours = cs_etm_interrupt();
	core_irq_work_run();
	return ours;
}

void trbe_run(struct arm_session *s, u64 nr_bytes)
{
	while (nr_bytes) {
		u32 nr = nr_bytes < 16 ? (u32)nr_bytes : 16;

		trbe_trace(s, nr);
		trbe_take_irq();
		nr_bytes -= nr;
	}
}

/* ---- the reader ---- */

u64 arm_aux_head(const struct arm_session *s)
{
	return __atomic_load_n(&s->page->aux_head, __ATOMIC_ACQUIRE);
}

void arm_set_tail(struct arm_session *s, u64 tail)
{
	__atomic_store_n(&s->page->aux_tail, tail, __ATOMIC_RELEASE);
}

static void add_record(struct arm_session *s, const struct arm_record *r)
{
	if (s->nr_records == s->max_records) {
		s->max_records = 2 * s->max_records + 16;
		s->records = realloc(s->records, s->max_records * sizeof(*s->records));
		assert_non_null(s->records);
	}
	if (!(r->flags & OVERWRITE) && s->nr_records) {
		const struct arm_record *last = &s->records[s->nr_records - 1];

		assert_true(r->offset >= last->offset + last->size);
	}
	s->records[s->nr_records++] = *r;
}

void arm_records(struct arm_session *s)
{
	u64 head = __atomic_load_n(&s->page->data_head, __ATOMIC_ACQUIRE);
	u64 tail = s->page->data_tail;
	const u8 *data = (const u8 *)s->page + s->page->data_offset;
	u64 size = s->page->data_size;

	while (tail != head) {
		struct perf_event_header header;
		struct arm_record r;
		u8 bytes[256];

		memcpy(&header, data + tail % size, sizeof(header));
		assert_true(header.size >= sizeof(header) && header.size <= sizeof(bytes));
		for (u16 i = 0; i < header.size; i++)
			bytes[i] = data[(tail + i) % size];
		if (header.type == PERF_RECORD_AUX) {
			memcpy(&r, bytes + sizeof(header), sizeof(r));
			add_record(s, &r);
		} else if (header.type == PERF_RECORD_ITRACE_START) {
			s->nr_itrace_start++;
		} else if (header.type == PERF_RECORD_LOST) {
			s->nr_lost++;
		}
		tail += header.size;
	}
	__atomic_store_n(&s->page->data_tail, tail, __ATOMIC_RELEASE);
}

const struct arm_record *arm_last(struct arm_session *s)
{
	arm_records(s);
	assert_true(s->nr_records > 0);
	return &s->records[s->nr_records - 1];
}

void arm_expect(struct arm_session *s, size_t n, u64 offset, u64 size, u64 flags)
{
	arm_records(s);
	assert_true(n < s->nr_records);
	assert_int_equal(s->records[n].offset, offset);
	assert_int_equal(s->records[n].size, size);
	assert_int_equal(s->records[n].flags, flags);
}

void arm_check_unread(const struct arm_session *s)
{
	u64 head = arm_aux_head(s);
	size_t n = 0;

	assert_true(head - arm_aux_tail(s) <= s->aux_size);
	for (u64 at = arm_aux_tail(s); at < head; at++) {
		u16 stored = at < s->max_stored ? s->stored[at] : 0;
		bool reported;

		if (s->aux[at % s->aux_size] != (stored ? (u8)(stored - 1) : s->pad))
			fail_msg("at %#llx of %#llx: %#x, not %#x", (unsigned long long)at,
				 (unsigned long long)head, s->aux[at % s->aux_size],
				 stored ? stored - 1 : s->pad);
		while (n < s->nr_records && s->records[n].offset + s->records[n].size <= at)
			n++;
		reported = n < s->nr_records && s->records[n].offset <= at;
		if (stored && !reported)
			fail_msg("at %#llx: stored, but in no record", (unsigned long long)at);
		if (!stored && reported && !s->skips_reported)
			fail_msg("at %#llx: in a record, but not stored", (unsigned long long)at);
	}
}

void arm_every_kernel(void **state)
{
	arm_test *fn = *(arm_test **)state;

	for (const struct core_kernel *const *k = core_kernels; *k; k++)
		fn((*k)->name);
}
