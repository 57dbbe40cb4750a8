// SPDX-License-Identifier: BSD-2-Clause
/*
 * H14: address filters of the driver on the whole unit: which are accepted, their values in the
 * registers, and which instructions are traced then.
 */
#include "support_machine.h"
#include "hw/pt_unit.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#define FILTER PERF_ADDR_FILTER_ACTION_FILTER
#define START  PERF_ADDR_FILTER_ACTION_START
#define STOP   PERF_ADDR_FILTER_ACTION_STOP
#define KERNEL 0xffffffff81000000ull

static struct pt_unit units[2]; /* of CPUs 0 and 1 */
static u64 tsc;
static unsigned int nr_refused;

static void *phys(void *ctx, u64 addr, u64 size)
{
	(void)ctx;
	return core_phys_to_virt(addr, size);
}

static void irq(void *ctx)
{
	(void)ctx;
}

static u64 read_msr(int cpu, u32 msr)
{
	return pt_unit_rdmsr(&units[cpu], msr);
}

static void write_msr(int cpu, u32 msr, u64 value)
{
	if (pt_unit_wrmsr(&units[cpu], msr, value))
		nr_refused++;
}

static const struct pt_output_bus bus = {.phys = phys, .irq = irq};

static void start_machine(u8 nr_ranges)
{
	const struct pt_unit_config config = {
		.tsc = &tsc,
		.core_bus_ratio = 10,
		.max_nonturbo_ratio = 10,
		.nr_ranges = nr_ranges,
	};

	machine_start(NULL);
	intel_pt_unregister();
	machine.hw.read = read_msr;
	machine.hw.write = write_msr;
	machine.hw.nr_addr_ranges = nr_ranges;
	assert_int_equal(intel_pt_register("intel_pt", &machine.hw), 0);
	nr_refused = 0;
	for (int i = 0; i < 2; i++)
		pt_unit_init(&units[i], &config, &bus);
}

static void end_machine(void)
{
	assert_int_equal(nr_refused, 0);
	machine_end();
}

static int set_one(struct session *s, int action, u64 offset, u64 size, bool file)
{
	struct core_addr_filter filter = {offset, size, action, file};

	return core_event_set_addr_filters(s->event, &filter, 1);
}

static void which_are_taken(void **state)
{
	struct core_addr_filter many[5];
	struct session s;
	char text[16];

	(void)state;
	start_machine(4);
	core_pmu_attr("intel_pt", "caps/num_address_ranges", text, sizeof(text));
	assert_string_equal(text, "4");
	core_pmu_attr("intel_pt", "caps/ip_filtering", text, sizeof(text));
	assert_string_equal(text, "1");
	session_init(&s);
	assert_int_equal(session_open(&s, 8, 4, true), 0);
	assert_int_equal(set_one(&s, FILTER, 0x1000, 16, true), 0);
	assert_int_equal(set_one(&s, STOP, 0x1000, 16, true), 0);
	assert_int_equal(set_one(&s, START, 0x1000, 16, true), -EOPNOTSUPP);
	assert_int_equal(set_one(&s, START, 0x1000, 0, true), -EOPNOTSUPP);
	assert_int_equal(set_one(&s, STOP, 0x1000, 0, true), -EOPNOTSUPP);
	assert_int_equal(set_one(&s, FILTER, 0x1000, 0, true), -EINVAL);
	assert_int_equal(set_one(&s, FILTER, KERNEL, 16, false), 0); /* also with exclude_kernel */
	for (int i = 0; i < 5; i++)
		many[i] = (struct core_addr_filter){0x1000, 16, FILTER, true};
	assert_int_equal(core_event_set_addr_filters(s.event, many, 4), 0);
	assert_int_equal(core_event_set_addr_filters(s.event, many, 5), -EOPNOTSUPP);
	assert_int_equal(core_event_set_addr_filters(s.event, many, 0), 0);
	session_close(&s);

	session_init(&s);
	s.attr.exclude_kernel = 0;
	assert_int_equal(session_open(&s, 8, 4, true), 0);
	assert_int_equal(set_one(&s, FILTER, KERNEL, 16, false), 0);
	assert_int_equal(set_one(&s, FILTER, 0x400000, 16, false),
			 -EINVAL); /* not a kernel address */
	assert_int_equal(set_one(&s, FILTER, -8ull, 16, false), -EINVAL);
	session_close(&s);

	/* a CPU's event: whose file? */
	session_init(&s);
	assert_int_equal(core_event_open(&s.event, &s.attr, NULL, 0, NULL, NULL), 0);
	assert_int_equal(set_one(&s, FILTER, 0x1000, 16, true), -EOPNOTSUPP);
	session_close(&s);
	end_machine();

	start_machine(0);
	session_init(&s);
	assert_int_equal(session_open(&s, 8, 4, true), 0);
	assert_int_equal(set_one(&s, FILTER, 0x1000, 16, true), -EINVAL);
	session_close(&s);
	end_machine();
}

static u64 cfg(int cpu, int n)
{
	return units[cpu].ctl >> (RTIT_CTL_ADDR_CFG_SHIFT + 4 * n) & 0xf;
}

static void registers(void **state)
{
	const struct core_addr_filter filters[] = {{0x1000, 0x100, FILTER, true},
						   {0x2000, 0x10, STOP, true},
						   {0x3000, 1, FILTER, true}};
	struct session s;

	(void)state;
	start_machine(4);
	session_init(&s);
	assert_int_equal(session_open(&s, 8, 4, true), 0);
	assert_int_equal(core_event_set_addr_filters(s.event, filters, 3), 0);
	session_in(&s);
	/* not mapped yet: no address, not even 0, is in the range */
	for (int n = 0; n < 3; n++)
		assert_true(units[0].addr[2 * n] > units[0].addr[2 * n + 1]);
	/* mapped while it runs: the event is stopped, and started with the new ones */
	core_event_map_addr_filter(s.event, 0, 0x401000, 0x100);
	core_event_map_addr_filter(s.event, 1, 0x402000, 0x10);
	core_event_map_addr_filter(s.event, 2, (1ull << 56) - 8, 0x20); /* over the hole */
	assert_true(units[0].ctl & RTIT_CTL_TRACEEN);
	assert_int_equal(units[0].addr[0], 0x401000);
	assert_int_equal(units[0].addr[1], 0x4010ff); /* the last address in the range */
	assert_int_equal(units[0].addr[2], 0x402000);
	assert_int_equal(units[0].addr[3], 0x40200f);
	assert_int_equal(units[0].addr[5], (1ull << 56) - 1);
	assert_int_equal(cfg(0, 0), 1);
	assert_int_equal(cfg(0, 1), 2);
	assert_int_equal(cfg(0, 2), 1);
	assert_int_equal(cfg(0, 3), 0);
	session_out(&s);
	/* on another CPU */
	core_set_cpu(machine.cpu = 1);
	session_in(&s);
	assert_int_equal(units[1].addr[1], 0x4010ff);
	assert_int_equal(cfg(1, 1), 2);
	/* no filter left */
	assert_int_equal(core_event_set_addr_filters(s.event, NULL, 0), 0);
	assert_true(units[1].ctl & RTIT_CTL_TRACEEN);
	assert_int_equal(units[1].ctl >> RTIT_CTL_ADDR_CFG_SHIFT, 0);
	session_out(&s);
	core_set_cpu(machine.cpu = 0);
	session_close(&s);
	end_machine();
}

/* A forked task has the filters of its parent, wherever its own files are. */
static void inherited(void **state)
{
	struct core_task child_task = {.pid = 101, .tid = 101};
	struct perf_event *child;
	struct session s;

	(void)state;
	start_machine(4);
	session_init(&s);
	s.attr.inherit = 1;
	assert_int_equal(core_event_open(&s.event, &s.attr, &s.task, 0, NULL, NULL), 0);
	assert_int_equal(core_event_mmap(s.event, 9 * P, PROT_READ | PROT_WRITE, MAP_SHARED, 0,
					 &s.data_map),
			 0);
	s.page = s.data_map->addr;
	s.page->aux_offset = 9 * P;
	s.page->aux_size = 4 * P;
	assert_int_equal(core_event_mmap(s.event, 4 * P, PROT_READ | PROT_WRITE, MAP_SHARED, 9 * P,
					 &s.aux_map),
			 0);
	assert_int_equal(set_one(&s, FILTER, 0x1000, 0x100, true), 0);
	core_event_map_addr_filter(s.event, 0, 0x401000, 0x100);
	assert_int_equal(core_event_open(&child, &s.attr, &child_task, 0, NULL, s.event), 0);
	core_task_sched_in(&child_task);
	assert_int_equal(units[0].addr[0], 0x401000);
	assert_int_equal(cfg(0, 0), 1);
	core_event_map_addr_filter(child, 0, 0x701000, 0x100); /* after its exec */
	assert_int_equal(units[0].addr[1], 0x7010ff);
	core_task_sched_out(&child_task);
	session_in(&s);
	assert_int_equal(units[0].addr[1], 0x4010ff);
	session_out(&s);
	/* set anew for all of them */
	core_task_sched_in(&child_task);
	assert_int_equal(core_event_set_addr_filters(s.event, NULL, 0), 0);
	assert_int_equal(cfg(0, 0), 0);
	core_task_sched_out(&child_task);
	session_close(&s);
	end_machine();
}

/*
 * A TraceStop is not a loss: no TRUNCATED, the event stays on; the unit starts again when the
 * task is next scheduled in, as with the kernel's driver (H8).
 */
static void trace_stop(void **state)
{
	struct session s;
	u64 nr;

	(void)state;
	start_machine(4);
	session_init(&s);
	assert_int_equal(session_open(&s, 8, 4, true), 0);
	assert_int_equal(set_one(&s, STOP, 0x1000, 0x100, true), 0);
	core_event_map_addr_filter(s.event, 0, 0x401000, 0x100);
	session_in(&s);
	pt_unit_enter_user(&units[0], 0x400000);
	pt_unit_branch(&units[0], X86_JMP, 0x400000, 2, 0x401000);
	nr = units[0].nr_produced;
	assert_true(nr);
	pt_unit_branch(&units[0], X86_JMP_INDIRECT, 0x401000, 2, 0x400000);
	pt_unit_branch(&units[0], X86_JMP_INDIRECT, 0x400000, 2, 0x400000);
	pt_unit_leave_async(&units[0], 0x400000);
	assert_int_equal(units[0].nr_produced, nr);
	session_out(&s);
	session_records(&s);
	assert_int_equal(session_last(&s)->flags, 0);
	assert_int_equal(session_last(&s)->size, nr);
	assert_true(core_event_active(s.event) || s.event->state == PERF_EVENT_STATE_INACTIVE);
	session_in(&s);
	pt_unit_enter_user(&units[0], 0x400000);
	assert_true(units[0].nr_produced > nr);
	pt_unit_leave_async(&units[0], 0x400000);
	session_out(&s);
	session_close(&s);
	end_machine();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(which_are_taken),
		cmocka_unit_test(registers),
		cmocka_unit_test(inherited),
		cmocka_unit_test(trace_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
