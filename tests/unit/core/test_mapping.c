// SPDX-License-Identifier: BSD-2-Clause
/* Sections B and C: what may be mapped, how AUX memory is allocated and freed. */
#include "support_rig.h"
#include <sys/stat.h>
#include <unistd.h>

static void open_fake(struct rig *rig, int caps)
{
	struct perf_event_attr attr;

	rig_init(rig, caps);
	attr = rig_attr();
	rig->event = rig_open(rig, &attr);
}

static void map_ring(struct rig *rig, unsigned long pages)
{
	assert_int_equal(rig_map(rig->event, (pages + 1) * P, RW, 0, &rig->ring), 0);
	rig->page = rig->ring->addr;
}

/* B1, B2, B4 */
static void b1_b4_refused(void)
{
	struct core_mapping *map;
	struct perf_event_attr attr;
	struct rig rig;

	open_fake(&rig, 0);
	/* B2 */
	assert_int_equal(core_event_mmap(rig.event, 2 * P, RW, MAP_PRIVATE, 0, &map), -EINVAL);
	assert_int_equal(rig_map(rig.event, 4 * P, RW, 0, NULL), -EINVAL); /* B4: 3 pages */
	assert_int_equal(rig_map(rig.event, 0, RW, 0, NULL), -EINVAL);
	assert_int_equal(rig_map(rig.event, 2 * P, RW, 100, NULL), -EINVAL);
	core_event_close(rig.event);
	attr = rig_attr();
	attr.inherit = 1;
	rig.event = rig_open(&rig, &attr);
	assert_int_equal(rig_map(rig.event, 2 * P, RW, 0, NULL), -EINVAL); /* B1 */
	rig_fini(&rig);
}

/* B5, B15: a second mapping shares the ring, and keeps what the first one decided. */
static void b5_b15_second_mapping(void)
{
	struct core_mapping *first, *second;
	struct perf_event_mmap_page *page;
	struct rig rig;

	open_fake(&rig, 0);
	assert_int_equal(rig_map(rig.event, 2 * P, PROT_READ, 0, &first), 0);
	assert_int_equal(rig_map(rig.event, 3 * P, RW, 0, NULL), -EINVAL);
	assert_int_equal(rig_map(rig.event, 2 * P, RW, 0, &second), 0);
	assert_ptr_equal(first->addr, second->addr);
	assert_true(rig.event->rb->overwrite);
	page = second->addr;
	page->aux_offset = 2 * P; /* B15: so AUX can be mapped beside an overwrite ring */
	page->aux_size = 4 * P;
	assert_int_equal(rig_map(rig.event, 4 * P, RW, 2 * P, &rig.aux), 0);
	core_event_munmap(second);
	assert_int_equal(rig.event->rb->mmap_count, 2);
	rig.ring = first;
	rig_fini(&rig);
}

/* B6, B7, B8: the announced offset and size. */
static void b6_b8_aux_refused(void)
{
	struct rig rig;

	open_fake(&rig, 0);
	assert_int_equal(rig_map(rig.event, 4 * P, RW, 2 * P, NULL), -EINVAL); /* B6 */
	map_ring(&rig, 1);
	assert_int_equal(rig_map(rig.event, 4 * P, RW, 2 * P, NULL), -EINVAL); /* B7: 0 announced */
	rig.page->aux_size = 4 * P;
	rig.page->aux_offset = P; /* B7: inside the data */
	assert_int_equal(rig_map(rig.event, 4 * P, RW, P, NULL), -EINVAL);
	rig.page->aux_offset = 2 * P;
	assert_int_equal(rig_map(rig.event, 4 * P, RW, 3 * P, NULL), -EINVAL); /* B7 */
	assert_int_equal(rig_map(rig.event, 8 * P, RW, 2 * P, NULL), -EINVAL); /* B8 */
	rig.page->aux_size = 3 * P;
	assert_int_equal(rig_map(rig.event, 3 * P, RW, 2 * P, NULL), -EINVAL); /* B8 */
	rig.page->aux_size = 1ull << 43;
	assert_int_equal(rig_map(rig.event, 1ull << 43, RW, 2 * P, NULL), -ENOMEM); /* B8 */
	rig.page->aux_size = ~0ull;
	assert_int_equal(rig_map(rig.event, P, RW, 2 * P, NULL), -EINVAL);
	assert_int_equal(fake.nr_setups, 0);
	assert_int_equal(rig.event->rb->mmap_count, 1); /* B13 */
	rig_fini(&rig);
}

/* B9: AUX again: same offset and size, no second allocation, overwrite stays. */
static void b9_aux_again(void)
{
	struct core_mapping *again;
	struct rig rig;

	open_fake(&rig, 0);
	map_ring(&rig, 1);
	assert_int_equal(rig_map_aux(&rig, 4, PROT_READ), 0);
	rig.page->aux_size = 8 * P;
	assert_int_equal(rig_map(rig.event, 8 * P, RW, 2 * P, NULL), -EINVAL);
	rig.page->aux_offset = 3 * P;
	rig.page->aux_size = 4 * P;
	assert_int_equal(rig_map(rig.event, 4 * P, RW, 3 * P, NULL), -EINVAL);
	rig.page->aux_offset = 2 * P;
	assert_int_equal(rig_map(rig.event, 4 * P, RW, 2 * P, &again), 0);
	assert_true(rig.event->rb->aux_overwrite);
	assert_int_equal(fake.nr_setups, 1);
	assert_int_equal(rig.event->rb->aux_mmap_count, 2);
	assert_int_equal(rig.event->rb->mmap_count, 3);
	assert_int_equal(rig.event->mmap_count, 3);
	core_event_munmap(again);
	assert_int_equal(fake.nr_frees, 0);
	rig_fini(&rig);
}

/*
 * B10: the ring's last mapping was removed while AUX was being mapped. No call sequence of one
 * thread reaches this.
 */
static void b10_raced(void)
{
	struct rig rig;

	open_fake(&rig, 0);
	map_ring(&rig, 1);
	rig.event->rb->mmap_count = 0;
	assert_int_equal(rig_map_aux(&rig, 4, RW), -EINVAL);
	rig.event->rb->mmap_count = 1;
	rig_fini(&rig);
}

/* B11 (the limit; whom it applies to is the kernel's choice), B12, B13 */
static void b11_b13_limits(void)
{
	u64 user = 0, pinned = 0, other = 0;
	struct core_budget budget = {.user_pages = &user, .pinned_pages = &pinned, .free_pages = 9};
	struct core_machine machine;
	struct rig rig;

	open_fake(&rig, 0);
	machine = core_machine;
	machine.budget = &budget;
	core_machine_set(&machine);
	assert_int_equal(rig_map(rig.event, 17 * P, RW, 0, NULL), -EPERM);
	assert_int_equal(rig_map(rig.event, 9 * P, RW, 0, &rig.ring), 0);
	rig.page = rig.ring->addr;
	assert_int_equal(rig_map_aux(&rig, 1, RW), -EPERM);
	core_event_munmap(rig.ring);
	map_ring(&rig, 4);
	assert_int_equal(rig_map_aux(&rig, 4, RW), 0); /* 5 + 4 */
	assert_int_equal(rig.event->rb->mmap_count, 2);
	core_event_munmap(rig.aux);
	assert_int_equal(rig_map_aux(&rig, 4, RW), 0); /* given back */
	assert_int_equal(user, 9);
	core_event_munmap(rig.aux);
	/* pages beyond the user's budget are charged to the address space */
	budget.limit_pages = 2;
	assert_int_equal(rig_map_aux(&rig, 8, RW), -EPERM);
	budget.free_pages = 7;
	assert_int_equal(rig_map_aux(&rig, 4, RW), 0);
	assert_int_equal(user, 7);
	assert_int_equal(pinned, 2);
	core_event_munmap(rig.aux);
	assert_int_equal(pinned, 0);
	/* a budget below what is already charged */
	budget.free_pages = 1;
	assert_int_equal(rig_map_aux(&rig, 4, RW), -EPERM);
	budget.limit_pages = 4;
	assert_int_equal(rig_map_aux(&rig, 4, RW), 0);
	assert_int_equal(pinned, 4);
	core_event_munmap(rig.aux);
	budget.exempt = true;
	assert_int_equal(rig_map_aux(&rig, 8, RW), 0);
	assert_int_equal(pinned, 8);
	core_event_munmap(rig.aux);
	/* another user is charged for the AUX area, and the user who mapped the ring is credited */
	budget = (struct core_budget){.user_pages = &other,
				      .pinned_pages = &pinned,
				      .free_pages = 20};
	assert_int_equal(rig_map_aux(&rig, 4, RW), 0);
	core_event_munmap(rig.aux);
	assert_int_equal(other, 4);
	assert_int_equal(user, 5 - 4);
	machine.budget = NULL;
	core_machine_set(&machine);
	rig.aux = NULL;
	rig_fini(&rig);
	assert_int_equal(user, -(u64)4); /* a kernel's counter goes below 0, too */

	open_fake(&rig, 0);
	assert_int_equal(rig_map(rig.event, (1ull << 46) + P, RW, 0, NULL), -ENOMEM); /* B12 */
	rig_fini(&rig);
}

/* B16: no data pages: always paused, nothing counted; AUX still works. */
static void b16_no_data_pages(void)
{
	static const unsigned char body[16];
	struct perf_event_attr attr;
	u64 words[3];
	struct rig rig;

	rig_init(&rig, 0);
	attr = rig_attr();
	rig_start(&rig, &attr, 0, 4, RW);
	assert_true(rig.event->rb->paused);
	assert_int_equal(core_event_record(rig.event, 77, 0, body, 16), -ENOSPC);
	core_task_sched_in(&rig.task);
	fake.pending = 64;
	core_task_sched_out(&rig.task);
	assert_int_equal(rig.page->aux_head, 64);
	assert_int_equal(rig.page->data_head, 0);
	assert_int_equal(core_event_read(rig.event, words, sizeof(words)), 24);
	assert_int_equal(words[2], 0);
	assert_int_equal(core_event_ioctl(rig.event, PERF_EVENT_IOC_PAUSE_OUTPUT, 0, NULL),
			 -EINVAL);
	rig_fini(&rig);
}

/* B18, D2, D17: the count goes first, then every event of the ring is stopped, then memory is
 * freed. */
static void b18_unmap_while_running(void)
{
	struct core_task child_task = {.pid = 200, .tid = 201};
	struct perf_event_attr attr;
	struct perf_event *child;
	struct rig rig;

	rig_init(&rig, 0);
	attr = rig_attr();
	attr.inherit = 1;
	assert_int_equal(core_event_open(&rig.event, &attr, &rig.task, 4, NULL, NULL), 0);
	assert_int_equal(rig_map(rig.event, 2 * P, RW, 0, &rig.ring), 0);
	rig.page = rig.ring->addr;
	assert_int_equal(rig_map_aux(&rig, 4, RW), 0);
	assert_int_equal(core_event_open(&child, NULL, &child_task, -1, NULL, rig.event), 0);
	core_set_cpu(4);
	core_task_sched_in(&child_task);
	assert_non_null(perf_get_aux(&fake.handle));
	fake.pending = 77;
	core_set_cpu(3); /* the reader unmaps from elsewhere */
	core_event_munmap(rig.aux);
	rig.aux = NULL;
	assert_int_equal(fake.aux_count_at_stop, 0);
	assert_int_equal(fake.nr_stops, 1);
	assert_int_equal(fake.nr_frees, 1);
	assert_null(perf_get_aux(&fake.handle));
	assert_int_equal(rig.page->aux_head, 77);
	assert_true(core_event_active(child));
	assert_false(rb_has_aux(rig.event->rb));
	assert_int_equal(core_cpu(), 3);
	/* and once more from the start */
	assert_int_equal(rig_map_aux(&rig, 8, RW), 0);
	assert_int_equal(fake.setup_pages, 8);
	core_set_cpu(4);
	core_task_sched_out(&child_task);
	core_task_exit(&child_task);
	rig_fini(&rig);
}

/*
 * B18: the last data mapping detaches the event, the ring's last one the redirected events; a
 * closed event lives while it is mapped.
 */
static void b18_detach_and_lifetime(void)
{
	struct perf_event_attr attr;
	struct perf_event *other;
	struct rig rig;

	open_fake(&rig, 0);
	attr = rig_dummy_attr();
	other = rig_open(&rig, &attr);
	map_ring(&rig, 1);
	assert_int_equal(core_event_ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, 0, rig.event), 0);
	assert_int_equal(rig_map_aux(&rig, 4, RW), 0);
	core_event_munmap(rig.ring);
	rig.ring = NULL;
	assert_non_null(rig.event->rb); /* AUX is still mapped */
	core_event_close(rig.event);	/* and holds the event */
	core_task_sched_in(&rig.task);
	assert_true(core_event_active(rig.event));
	core_task_sched_out(&rig.task);
	rig.page = NULL;
	core_event_munmap(rig.aux);
	assert_int_equal(fake.nr_frees, 1);
	assert_null(other->rb);
	assert_int_equal(core_event_poll(other), POLLHUP);
	core_event_close(other);
	rig.aux = NULL;
	rig.event = NULL;
	assert_null(rig.task.events);
	rig_fini(&rig);
}

/* B19: redirecting an AUX event ends its transaction. L6 by the set of switches. */
static void b19_set_output(void)
{
	struct perf_event_attr attr, other_attr;
	struct perf_event *a, *b;
	struct fake other_pmu;
	struct core_task other_task = {.pid = 1, .tid = 1};
	struct rig rig;
	u64 bytes;

	open_fake(&rig, 0);
	attr = rig_attr();
	map_ring(&rig, 1);
	assert_int_equal(rig_map_aux(&rig, 4, RW), 0);
#define OUT(e, t) core_event_ioctl(e, PERF_EVENT_IOC_SET_OUTPUT, 0, t)
	assert_int_equal(OUT(rig.event, rig.event), -EINVAL);
	a = rig_open(&rig, &attr);
	assert_int_equal(OUT(a, rig.event), 0);
	assert_int_equal(OUT(rig.event, a), -EINVAL); /* has a mapping of its own */
	assert_int_equal(core_event_open(&b, &attr, &other_task, -1, NULL, NULL), 0);
	assert_int_equal(OUT(b, rig.event), -EINVAL); /* cpu -1, other task */
	core_event_close(b);
	assert_int_equal(core_event_open(&b, &attr, &rig.task, 2, NULL, NULL), 0);
	assert_int_equal(OUT(b, rig.event), -EINVAL); /* other cpu */
	assert_int_equal(OUT(a, b), -EINVAL);	      /* no ring */
	core_event_close(b);
	other_attr = attr;
	other_attr.write_backward = 1;
	b = rig_open(&rig, &other_attr);
	assert_int_equal(OUT(b, rig.event), -EINVAL);
	core_event_close(b);
	other_attr = attr;
	other_attr.use_clockid = 1;
	other_attr.clockid = 1;
	b = rig_open(&rig, &other_attr);
	assert_int_equal(OUT(b, rig.event), -EINVAL);
	core_event_close(b);
	/* both AUX, different PMUs */
	other_pmu = fake;
	assert_int_equal(perf_pmu_register(&other_pmu.pmu, "another", -1), 0);
	other_attr = attr;
	other_attr.type = (u32)core_pmu_type("another");
	b = rig_open(&rig, &other_attr);
	assert_int_equal(OUT(b, rig.event), -EINVAL);
	core_event_close(b);
	perf_pmu_unregister(&other_pmu.pmu);
	/* attaching stops: the transaction on the old ring ends */
	core_event_close(a);
	core_task_sched_in(&rig.task);
	assert_non_null(perf_get_aux(&fake.handle));
	a = rig.event;
	fake.pending = 50;
	bytes = rig.page->aux_head;
	core_event_munmap(rig.aux); /* the same path: stop, then unmap */
	rig.aux = NULL;
	assert_int_equal(rig.page->aux_head, bytes + 50);
	core_task_sched_out(&rig.task);
	/* L6 */
	attr = rig_dummy_attr();
	b = rig_open(&rig, &attr);
	assert_int_equal(OUT(b, rig.event), 0);
	assert_int_equal(rig_map(b, 2 * P, RW, 0, &rig.aux),
			 rig_kernel->mmap_other_ring_busy ? -EBUSY : 0);
	if (rig.aux) {
		core_event_munmap(rig.aux);
		rig.aux = NULL;
	}
	assert_int_equal(OUT(b, NULL), 0);
	core_event_close(b);
#undef OUT
	rig_fini(&rig);
}

/* B19: redirecting stops a running AUX event; its transaction ends on the old ring. */
static void b19_attach_stops(void)
{
	struct perf_event_attr attr;
	struct perf_event *target;
	struct core_mapping *map;
	struct rig rig;

	open_fake(&rig, 0);
	attr = rig_attr();
	target = rig_open(&rig, &attr);
	assert_int_equal(rig_map(target, 2 * P, RW, 0, &map), 0);
	fake.manual = true;
	core_task_sched_in(&rig.task);
	assert_true(core_event_active(rig.event));
	assert_int_equal(core_event_ioctl(rig.event, PERF_EVENT_IOC_SET_OUTPUT, 0, target), 0);
	assert_int_equal(fake.nr_stops, 1);
	core_task_sched_out(&rig.task);
	core_event_munmap(map);
	assert_null(rig.event->rb);
	core_event_close(target);
	rig_fini(&rig);
}

/* C1 */
static void c1_no_setup_aux(void)
{
	struct perf_event_attr attr;
	struct rig rig;

	rig_init(&rig, 0);
	attr = rig_dummy_attr();
	rig.event = rig_open(&rig, &attr);
	map_ring(&rig, 1);
	assert_int_equal(rig_map_aux(&rig, 4, RW), -EOPNOTSUPP);
	assert_int_equal(rig.event->rb->mmap_count, 1); /* B13 */
	rig_fini(&rig);
}

/* C2, C3, C5, L3: watermark and chunks. orders: the first three, and how many chunks. */
static void c2_c5_chunks(void)
{
	/* clang-format off */
	static const struct {
		unsigned long pages;
		u32 watermark;
		int prot, max_order;
		u64 aux_watermark;
		unsigned long order, nr_chunks;
	} cases[] = {
		{ 16, 0, RW, 10, 32768, 3, 2 },
		{ 16, 16384, RW, 10, 16384, 2, 4 },
		{ 16, 12288, RW, 10, 12288, 2, 4 }, /* rounded up for chunks, not for W */
		{ 16, 6000, RW, 10, 6000, 1, 8 },
		{ 16, 100, RW, 10, 100, 0, 16 },
		{ 16, 131072, RW, 10, 131072, 4, 1 }, /* W > B is kept */
		{ 16, 0, PROT_READ, 10, 0, 4, 1 },
		{ 16, 5000, PROT_READ, 10, 0, 4, 1 },
		{ 16, 0, RW, 1, 32768, 1, 8 },	     /* C5: fragmented */
		{ 16, 0, PROT_READ, 0, 0, 0, 16 },
		{ 1, 0, RW, 10, 2048, 0, 1 },
		{ 4096, 0, RW, 10, 4096 * P / 2, 10, 4 }, /* C5: never above 4 MiB */
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (int large = 0; large < 2; large++) {
			bool zero = rig_kernel->aux_chunk_order_zero && !large;
			struct perf_event_attr attr;
			struct rig rig;

			rig_init(&rig, large ? PERF_PMU_CAP_AUX_PREFER_LARGE : 0);
			rig.max_order = cases[i].max_order;
			attr = rig_attr();
			attr.aux_watermark = cases[i].watermark;
			rig_start(&rig, &attr, 1, cases[i].pages, cases[i].prot);
			assert_int_equal(rig.event->rb->aux_watermark, cases[i].aux_watermark);
			assert_int_equal(fake.setup_overwrite, cases[i].prot == PROT_READ);
			assert_int_equal(fake.setup_pages, cases[i].pages);
			assert_int_equal(fake.orders[0], zero ? 0 : cases[i].order);
			assert_int_equal(fake.nr_chunks,
					 zero ? cases[i].pages : cases[i].nr_chunks);
			rig_fini(&rig);
		}
	}
}

/* C5, C4, C6, C7, C8, B13: failures leave nothing allocated. */
static void c4_c8_failures(void)
{
	struct rig rig;

	open_fake(&rig, PERF_PMU_CAP_AUX_NO_SG);
	map_ring(&rig, 1);
	rig.max_order = 2;
	assert_int_equal(rig_map_aux(&rig, 16, PROT_READ), -ENOMEM); /* C6 */
	assert_int_equal(fake.nr_setups, 0);
	assert_int_equal(rig_map_aux(&rig, 16, RW), 0); /* C6: only overwrite */
	core_event_munmap(rig.aux);
	rig.max_order = 10;
	assert_int_equal(rig_map_aux(&rig, 2048, PROT_READ), -ENOMEM); /* C5, C6: 8 MiB */
	assert_int_equal(rig_map_aux(&rig, 16, PROT_READ), 0);
	assert_int_equal(fake.nr_chunks, 1);
	assert_int_equal(rig.event->rb->aux_refcount, 1); /* C8 */
	assert_int_equal(rig.event->rb->aux_mmap_count, 1);
	rig_fini(&rig);

	open_fake(&rig, PERF_PMU_CAP_AUX_PREFER_LARGE);
	map_ring(&rig, 1);
	rig.max_order = 0;
	rig.fail_after = 3;
	assert_int_equal(rig_map_aux(&rig, 16, RW), -ENOMEM); /* C5: page 0 fails */
	assert_int_equal(rig.event->rb->mmap_count, 1);
	assert_false(rb_has_aux(rig.event->rb));
	rig.fail_after = -1;
	rig.page->aux_size = 1ull << 32; /* C4: a pointer array of 8 MiB */
	assert_int_equal(rig_map(rig.event, 1ull << 32, RW, 2 * P, NULL), -ENOMEM);
	fake.fail_setup = true;
	assert_int_equal(rig_map_aux(&rig, 16, RW), -ENOMEM); /* C7 */
	assert_int_equal(fake.nr_frees, 0);
	assert_int_equal(rig.event->rb->mmap_count, 1);
	assert_int_equal(rig.event->rb->aux_nr_pages, 0);
	rig_fini(&rig);
}

/*
 * The model guarantees: chunks are aligned to their size, and no two are contiguous.
 */
static void physical_memory(void)
{
	struct perf_event_attr attr;
	struct rig rig;
	u64 last_end = 0;

	rig_init(&rig, PERF_PMU_CAP_AUX_PREFER_LARGE);
	rig.max_order = 2;
	attr = rig_attr();
	rig_start(&rig, &attr, 1, 32, RW);
	for (int i = 0; i < 32; i += 4) {
		void *virt = rig.event->rb->aux_pages[i];
		u64 phys = virt_to_phys(virt);

		assert_int_equal(phys & (4 * P - 1), 0);
		assert_true(phys != last_end);
		assert_ptr_equal(core_phys_to_virt(phys + 5, 4 * P - 5), (char *)virt + 5);
		assert_null(core_phys_to_virt(phys, 4 * P + 1));
		assert_int_equal(virt_to_phys((char *)virt + 3 * P + 9), phys + 3 * P + 9);
		last_end = phys + 4 * P;
	}
	assert_null(core_phys_to_virt(0x1000, 8));
	assert_null(core_phys_to_virt(~0ull, 8));
	rig_fini(&rig);
}

/* The reader holds the descriptor but cannot shrink the memory under the writer. */
static void sealed_memory(void)
{
	struct perf_event_attr attr;
	struct stat st;
	struct rig rig;

	rig_init(&rig, 0);
	attr = rig_attr();
	rig_start(&rig, &attr, 4, 16, RW);
	assert_int_equal(ftruncate(rig.ring->memfd, 0), -1);
	assert_int_equal(ftruncate(rig.aux->memfd, 0), -1);
	assert_int_equal(fstat(rig.aux->memfd, &st), 0);
	assert_int_equal(st.st_size, 16 * P);
	rig_fini(&rig);
}

int main(void)
{
	/* clang-format off */
	static const struct rig_test tests[] = {
		RIG_TEST(b1_b4_refused),     RIG_TEST(b5_b15_second_mapping),
		RIG_TEST(b6_b8_aux_refused), RIG_TEST(b9_aux_again),
		RIG_TEST(b10_raced),	     RIG_TEST(b11_b13_limits),
		RIG_TEST(b16_no_data_pages), RIG_TEST(b18_unmap_while_running),
		RIG_TEST(b18_detach_and_lifetime), RIG_TEST(b19_set_output),
		RIG_TEST(b19_attach_stops),  RIG_TEST(c1_no_setup_aux),
		RIG_TEST(c2_c5_chunks),	     RIG_TEST(c4_c8_failures),
		RIG_TEST(physical_memory),   RIG_TEST(sealed_memory),
	};
	/* clang-format on */

	return RIG_RUN(tests);
}
