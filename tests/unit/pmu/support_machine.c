// SPDX-License-Identifier: BSD-2-Clause
/* See support_machine.h. */
#include "support_machine.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

struct machine machine;

/* ---- the unit's registers ---- */

static void *bus_phys(void *ctx, u64 addr, u64 size)
{
	(void)ctx;
	return core_phys_to_virt(addr, size);
}

static void bus_irq(void *ctx)
{
	((struct machine_cpu *)ctx)->irq_line = true;
}

static struct pt_output_bus buses[8];

static u64 hw_read(int cpu, u32 msr)
{
	const struct machine_cpu *c = &machine.cpus[cpu];

	switch (msr) {
	case MSR_RTIT_OUTPUT_BASE:
		return c->out.base;
	case MSR_RTIT_OUTPUT_MASK_PTRS:
		if (c->out.region) /* running: its offset is in the stage */
			return (u32)c->out.mask_ptrs | c->out.region_off << 32;
		return c->out.mask_ptrs;
	case MSR_RTIT_CTL:
		return c->ctl;
	case MSR_RTIT_STATUS:
		return c->out.status;
	default:
		fail_msg("read of MSR %#x", msr);
		return 0;
	}
}

static void hw_write(int cpu, u32 msr, u64 value)
{
	struct machine_cpu *c = &machine.cpus[cpu];

	assert_int_equal(cpu, core_cpu());
	/* SDM: with TraceEn set, all but the write that clears it raise #GP. */
	if (c->ctl & RTIT_CTL_TRACEEN)
		assert_true(msr == MSR_RTIT_CTL && value == (c->ctl & ~RTIT_CTL_TRACEEN));
	switch (msr) {
	case MSR_RTIT_OUTPUT_BASE:
		c->out.base = value;
		break;
	case MSR_RTIT_OUTPUT_MASK_PTRS:
		c->out.mask_ptrs = value | 0x7f;
		break;
	case MSR_RTIT_STATUS:
		c->out.status = value;
		break;
	case MSR_RTIT_CTL:
		c->nr_ctl_writes++;
		if (value & RTIT_CTL_TRACEEN && !(c->ctl & RTIT_CTL_TRACEEN))
			pt_output_start(&c->out, value & RTIT_CTL_TOPA);
		else if (!(value & RTIT_CTL_TRACEEN))
			pt_output_stop(&c->out);
		c->ctl = value;
		if (machine.irq_in_stop && !(value & RTIT_CTL_TRACEEN)) {
			machine.irq_in_stop = false;
			intel_pt_interrupt();
		}
		break;
	default:
		fail_msg("write of MSR %#x", msr);
	}
}

u64 unit_read(u32 msr)
{
	return hw_read(machine.cpu, msr);
}

/* ---- the machine ---- */

static uint64_t machine_clock(void *ctx)
{
	(void)ctx;
	return ++machine.tsc;
}

static void machine_wakeup(void *ctx, struct perf_event *event)
{
	(void)ctx;
	(void)event;
	machine.nr_wakeups++;
}

static int machine_order(void *ctx, int order)
{
	int give = order;

	(void)ctx;
	if (machine.random_orders)
		give = rand() % (order + 1);
	else if (machine.nr_orders)
		give = machine.orders[machine.next_order < machine.nr_orders ?
					      machine.next_order++ :
					      machine.nr_orders - 1];
	return give < order ? give : order;
}

static void machine_log(void *ctx, char level, const char *text)
{
	(void)ctx;
	(void)text;
	if (level <= '3')
		machine.nr_errors_logged++;
}

static void machine_warn(void *ctx, const char *file, int line, const char *what)
{
	(void)ctx;
	fail_msg("%s:%d: %s", file, line, what);
}

void machine_start_with(const char *kernel, bool single_range, bool multiple_entries)
{
	const struct core_machine m = {
		.clock = machine_clock,
		.wakeup = machine_wakeup,
		.alloc_order = machine_order,
		.log = machine_log,
		.warn = machine_warn,
	};

	memset(&machine, 0, sizeof(machine));
	for (int i = 0; i < 8; i++) {
		buses[i] = (struct pt_output_bus){&machine.cpus[i], bus_phys, bus_irq};
		pt_output_init(&machine.cpus[i].out, &buses[i]);
	}
	machine.hw = (struct intel_pt_hw){
		.read = hw_read,
		.write = hw_write,
		.single_range = single_range,
		.topa_multiple_entries = multiple_entries,
	};
	core_machine_set(&m);
	core_kernel_use(core_kernel_find(kernel ? kernel : "6.1.192"));
	core_set_cpu(0);
	intel_pt_unregister();
	assert_int_equal(intel_pt_register("intel_pt", &machine.hw), 0);
}

void machine_start(const char *kernel)
{
	machine_start_with(kernel, true, true);
}

void machine_end(void)
{
	intel_pt_unregister();
	core_machine_set(NULL);
}

/* ---- one traced task ---- */

void session_init(struct session *s)
{
	memset(s, 0, sizeof(*s));
	s->task.pid = s->task.tid = 100;
	s->attr.size = sizeof(s->attr);
	s->attr.type = (u32)core_pmu_type("intel_pt");
	s->attr.config = 1 | RTIT_CTL_BRANCHEN | RTIT_CTL_TSCEN;
	s->attr.exclude_kernel = 1;
	s->attr.sample_period = 1;
}

int session_open(struct session *s, u64 data_pages, u64 aux_pages, bool writable)
{
	u64 data_size = (data_pages + 1) * P;
	int ret = core_event_open(&s->event, &s->attr, &s->task, -1, NULL, NULL);

	if (ret)
		return ret;
	ret = core_event_mmap(s->event, data_size, PROT_READ | PROT_WRITE, MAP_SHARED, 0,
			      &s->data_map);
	assert_int_equal(ret, 0);
	s->page = s->data_map->addr;
	s->aux_size = aux_pages * P;
	s->page->aux_offset = data_size;
	s->page->aux_size = s->aux_size;
	ret = core_event_mmap(s->event, s->aux_size, PROT_READ | (writable ? PROT_WRITE : 0),
			      MAP_SHARED, data_size, &s->aux_map);
	if (!ret)
		s->aux = s->aux_map->addr;
	return ret;
}

void session_close(struct session *s)
{
	if (s->task.cpu_plus1)
		session_out(s);
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

void session_in(struct session *s)
{
	core_set_cpu(machine.cpu);
	core_task_sched_in(&s->task);
	core_irq_work_run();
}

void session_out(struct session *s)
{
	core_set_cpu(machine.cpu);
	core_task_sched_out(&s->task);
	core_irq_work_run();
}

u8 produced_byte(u64 n)
{
	return (u8)(1 + n * 2654435761u % 255);
}

size_t session_packet(struct session *s, size_t nr_bytes)
{
	size_t written;
	u8 bytes[64];

	assert_true(nr_bytes <= sizeof(bytes));
	for (size_t i = 0; i < nr_bytes; i++)
		bytes[i] = produced_byte(s->produced + i);
	s->produced += nr_bytes;
	if (!unit_on()) {
		s->produced_off += nr_bytes;
		return 0;
	}
	written = pt_output_write(&unit()->out, bytes, nr_bytes);
	if (s->nr_stored + written > s->max_stored) {
		s->max_stored = 2 * s->max_stored + 65536;
		s->stored = realloc(s->stored, s->max_stored);
		assert_non_null(s->stored);
	}
	memcpy(s->stored + s->nr_stored, bytes, written);
	s->nr_stored += written;
	return written;
}

bool machine_take_irq(void)
{
	if (!unit()->irq_line)
		return false;
	unit()->irq_line = false;
	core_set_cpu(machine.cpu);
	intel_pt_interrupt();
	core_irq_work_run();
	return true;
}

void session_run(struct session *s, u64 nr_bytes)
{
	while (nr_bytes) {
		size_t size = 1 + (s->produced * 7 + nr_bytes) % 16;

		if (size > nr_bytes)
			size = nr_bytes;
		session_packet(s, size);
		nr_bytes -= size;
		machine_take_irq();
	}
}

/* ---- the reader ---- */

u64 session_aux_head(const struct session *s)
{
	return __atomic_load_n(&s->page->aux_head, __ATOMIC_ACQUIRE);
}

u64 session_aux_tail(const struct session *s)
{
	return s->page->aux_tail;
}

void session_set_tail(struct session *s, u64 tail)
{
	__atomic_store_n(&s->page->aux_tail, tail, __ATOMIC_RELEASE);
}

static void add_record(struct session *s, const struct aux_record *r)
{
	if (s->nr_records == s->max_records) {
		s->max_records = 2 * s->max_records + 16;
		s->records = realloc(s->records, s->max_records * sizeof(*s->records));
		assert_non_null(s->records);
	}
	if (!(r->flags & PERF_AUX_FLAG_OVERWRITE) && s->nr_records) {
		const struct aux_record *last = &s->records[s->nr_records - 1];

		assert_int_equal(r->offset, last->offset + last->size);
	}
	s->records[s->nr_records++] = *r;
}

void session_records(struct session *s)
{
	u64 head = __atomic_load_n(&s->page->data_head, __ATOMIC_ACQUIRE);
	u64 tail = s->page->data_tail;
	const u8 *data = (const u8 *)s->page + s->page->data_offset;
	u64 size = s->page->data_size;

	while (tail != head) {
		struct perf_event_header header;
		struct aux_record r;
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

const struct aux_record *session_last(struct session *s)
{
	session_records(s);
	assert_true(s->nr_records > 0);
	return &s->records[s->nr_records - 1];
}

void session_check_unread(const struct session *s)
{
	u64 head = session_aux_head(s), at = session_aux_tail(s);

	assert_true(head <= s->nr_stored && head - at <= s->aux_size);
	while (at < head) {
		u64 off = at % s->aux_size, chunk = s->aux_size - off;

		if (chunk > head - at)
			chunk = head - at;
		assert_memory_equal(s->aux + off, s->stored + at, chunk);
		at += chunk;
	}
}

/* ---- tables ---- */

size_t topa_list(const struct session *s, struct topa_entry *entries, size_t max, size_t *nr_tables)
{
	u64 first_phys = unit_read(MSR_RTIT_OUTPUT_BASE), phys = first_phys;
	size_t nr = 0, at_zero = 0;

	*nr_tables = 0;
	do {
		const u64 *table = core_phys_to_virt(phys, P);

		assert_non_null(table);
		assert_true(!(phys & (P - 1)));
		(*nr_tables)++;
		for (unsigned int i = 0; !(table[i] & TOPA_END); i++) {
			u64 size = P << (table[i] >> TOPA_SIZE_SHIFT & 0xf);
			u64 base = table[i] & ~(P - 1);
			const u8 *mem = core_phys_to_virt(base, size);

			assert_true(nr < max && i < 511);
			assert_non_null(mem);
			assert_true(mem >= s->aux && mem + size <= s->aux + s->aux_size);
			if (mem == s->aux)
				at_zero = nr;
			entries[nr++] = (struct topa_entry){
				.begin_off = (u64)(mem - s->aux),
				.end_off = (u64)(mem - s->aux) + size,
				.flags = table[i] & (TOPA_INT | TOPA_STOP),
				.table_phys = phys,
				.index = i,
			};
			phys = table[i + 1] & ~(P - 1);
		}
	} while (phys != first_phys);
	/* the list starts at the unit's table: rotate it to start at the area's start */
	if (at_zero) {
		struct topa_entry *turned = malloc(nr * sizeof(*turned));

		assert_non_null(turned);
		for (size_t i = 0; i < nr; i++)
			turned[i] = entries[(i + at_zero) % nr];
		memcpy(entries, turned, nr * sizeof(*turned));
		free(turned);
	}
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(entries[i].begin_off, i ? entries[i - 1].end_off : 0);
	assert_int_equal(entries[nr - 1].end_off, s->aux_size);
	return nr;
}

void topa_thresholds(const struct session *s, u64 *int_off, u64 *stop_off)
{
	static struct topa_entry entries[4096];
	size_t nr_tables, nr = topa_list(s, entries, 4096, &nr_tables);
	int nr_stops = 0, nr_ints = 0;

	*int_off = *stop_off = 0;
	for (size_t i = 0; i < nr; i++) {
		if (entries[i].flags & TOPA_STOP) {
			assert_true(entries[i].flags & TOPA_INT); /* H4 */
			*stop_off = entries[i].end_off;
			nr_stops++;
		} else if (entries[i].flags & TOPA_INT) {
			*int_off = entries[i].end_off;
			nr_ints++;
		}
	}
	assert_int_equal(nr_stops, 1);
	assert_true(nr_ints <= 1); /* none is left from the transaction before */
	if (!nr_ints)
		*int_off = *stop_off;
}
