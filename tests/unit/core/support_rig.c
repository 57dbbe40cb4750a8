// SPDX-License-Identifier: BSD-2-Clause
/* See support_rig.h. */
#include "support_rig.h"

struct fake fake;
const struct core_kernel *rig_kernel;
static struct rig *the_rig;
static unsigned long warnings_before;

static u64 rig_clock(void *ctx)
{
	struct rig *rig = ctx;

	if (rig->page)
		rig->aux_head_at_clock = rig->page->aux_head;
	return ++rig->time;
}

static void rig_wakeup(void *ctx, struct perf_event *event)
{
	struct rig *rig = ctx;

	rig->woken[rig->nr_wakeups++ % 64] = event;
}

static int rig_order(void *ctx, int order)
{
	struct rig *rig = ctx;

	if (!rig->fail_after)
		return -1;
	if (rig->fail_after > 0)
		rig->fail_after--;
	return order < rig->max_order ? order : rig->max_order;
}

static int fake_event_init(struct perf_event *event)
{
	return event->attr.config == 99 ? -EINVAL : 0;
}

static void fake_start(struct perf_event *event, int flags)
{
	(void)flags;
	fake.nr_starts++;
	if (fake.say_started)
		event->attach_state |= PERF_ATTACH_ITRACE;
	event->hw.state = 0;
	if (fake.manual)
		return;
	if (!perf_aux_output_begin(&fake.handle, event))
		event->hw.state = PERF_HES_STOPPED;
}

static void fake_stop(struct perf_event *event, int flags)
{
	(void)flags;
	fake.nr_stops++;
	if (event->rb)
		fake.aux_count_at_stop = event->rb->aux_mmap_count;
	event->hw.state = PERF_HES_STOPPED;
	if (!perf_get_aux(&fake.handle))
		return;
	perf_aux_output_flag(&fake.handle, fake.stop_flags);
	perf_aux_output_end(&fake.handle, fake.pending);
	fake.pending = 0;
	fake.stop_flags = 0;
}

static int fake_add(struct perf_event *event, int flags)
{
	struct perf_event *output = event->parent ? event->parent : event;

	fake.nr_adds++;
	fake.head_at_add = output->rb ? output->rb->user_page->data_head : 0;
	event->hw.state = PERF_HES_STOPPED;
	if (flags & PERF_EF_START)
		fake_start(event, 0);
	return fake.fail_add || event->hw.state == PERF_HES_STOPPED ? -EINVAL : 0;
}

static void fake_del(struct perf_event *event, int flags)
{
	fake.nr_dels++;
	fake_stop(event, flags);
}

static void fake_read(struct perf_event *event)
{
	(void)event;
}

static void *fake_setup_aux(struct perf_event *event, void **pages, int nr_pages, bool overwrite)
{
	(void)event;
	fake.nr_setups++;
	fake.setup_pages = nr_pages;
	fake.setup_overwrite = overwrite;
	fake.nr_chunks = 0;
	for (int i = 0; i < nr_pages;) {
		struct page *page = virt_to_page(pages[i]);
		unsigned long order = PagePrivate(page) ? page_private(page) : 0;

		if (fake.nr_chunks < 64)
			fake.orders[fake.nr_chunks] = order;
		fake.nr_chunks++;
		i += 1 << order;
	}
	return fake.fail_setup ? NULL : &fake;
}

static void fake_free_aux(void *aux)
{
	assert_ptr_equal(aux, &fake);
	fake.nr_frees++;
}

struct perf_event_attr rig_attr(void)
{
	struct perf_event_attr attr = {
		.type = (u32)fake.pmu.type,
		.size = sizeof(attr),
		.read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST,
	};

	return attr;
}

struct perf_event_attr rig_dummy_attr(void)
{
	struct perf_event_attr attr = rig_attr();

	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	return attr;
}

void rig_init(struct rig *rig, int caps)
{
	struct core_machine machine = {
		.ctx = rig,
		.clock = rig_clock,
		.wakeup = rig_wakeup,
		.alloc_order = rig_order,
	};

	memset(rig, 0, sizeof(*rig));
	rig->max_order = 10;
	rig->fail_after = -1;
	rig->task.pid = 100;
	rig->task.tid = 101;
	the_rig = rig;
	warnings_before = core_warnings();
	core_machine_set(&machine);
	core_kernel_use(rig_kernel);
	core_set_cpu(3);
	memset(&fake, 0, sizeof(fake));
	fake.pmu = (struct pmu){
		.capabilities = caps,
		.task_ctx_nr = perf_sw_context,
		.event_init = fake_event_init,
		.add = fake_add,
		.del = fake_del,
		.start = fake_start,
		.stop = fake_stop,
		.read = fake_read,
		.setup_aux = fake_setup_aux,
		.free_aux = fake_free_aux,
	};
	assert_int_equal(perf_pmu_register(&fake.pmu, "fake_aux", -1), 0);
}

void rig_fini(struct rig *rig)
{
	rig->page = NULL;
	if (rig->aux)
		core_event_munmap(rig->aux);
	if (rig->ring)
		core_event_munmap(rig->ring);
	if (rig->event)
		core_event_close(rig->event);
	if (rig->task.cpu_plus1) {
		core_set_cpu(rig->task.cpu_plus1 - 1);
		core_task_sched_out(&rig->task);
	}
	core_task_exit(&rig->task);
	perf_pmu_unregister(&fake.pmu);
	assert_int_equal(core_warnings() - warnings_before, rig->expected_warnings);
	assert_int_equal(fake.nr_setups - (fake.fail_setup ? 1 : 0), fake.nr_frees);
}

struct perf_event *rig_open(struct rig *rig, const struct perf_event_attr *attr)
{
	struct perf_event *event;

	assert_int_equal(core_event_open(&event, attr, &rig->task, -1, NULL, NULL), 0);
	return event;
}

int rig_map(struct perf_event *event, u64 length, int prot, u64 offset,
	    struct core_mapping **mapping)
{
	struct core_mapping *unused;

	return core_event_mmap(event, length, prot, MAP_SHARED, offset,
			       mapping ? mapping : &unused);
}

int rig_map_aux(struct rig *rig, unsigned long pages, int prot)
{
	rig->page->aux_offset = rig->page->data_offset + rig->page->data_size;
	rig->page->aux_size = pages * P;
	return rig_map(rig->event, pages * P, prot, rig->page->aux_offset, &rig->aux);
}

void rig_start(struct rig *rig, const struct perf_event_attr *attr, unsigned long data_pages,
	       unsigned long aux_pages, int aux_prot)
{
	rig->event = rig_open(rig, attr);
	assert_int_equal(rig_map(rig->event, (data_pages + 1) * P, RW, 0, &rig->ring), 0);
	rig->page = rig->ring->addr;
	if (aux_pages)
		assert_int_equal(rig_map_aux(rig, aux_pages, aux_prot ? aux_prot : PROT_READ), 0);
}

bool rig_next(struct rig *rig, void *record, size_t size)
{
	u64 head = __atomic_load_n(&rig->page->data_head, __ATOMIC_ACQUIRE); /* C, pairs with B */
	const unsigned char *data = (unsigned char *)rig->page + rig->page->data_offset;
	u64 mask = rig->page->data_size - 1;
	struct perf_event_header *header;

	if (rig->read_abs == head)
		return false;
	header = (void *)(data + (rig->read_abs & mask));
	assert_true(header->size >= 8 && header->size % 8 == 0); /* E15 */
	assert_true(header->size <= head - rig->read_abs);
	memset(record, 0, size);
	for (unsigned int i = 0; i < header->size && i < size; i++)
		((unsigned char *)record)[i] = data[(rig->read_abs + i) & mask];
	rig->read_abs += header->size;
	/* D, pairs with A */
	__atomic_store_n(&rig->page->data_tail, rig->read_abs, __ATOMIC_RELEASE);
	return true;
}

void rig_read_all(struct rig *rig)
{
	struct perf_event_header header;

	while (rig_next(rig, &header, sizeof(header)))
		;
}

int rig_record(struct perf_event *event, unsigned int size)
{
	static const unsigned char body[65536];

	return core_event_record(event, 77, 0, body, size - 8);
}

static void run_under_every_set(void **state)
{
	const struct rig_test *test = *state;

	for (int i = 0; core_kernels[i]; i++) {
		rig_kernel = core_kernels[i];
		test->fn();
	}
	rig_kernel = NULL;
}

int rig_run(const struct rig_test *tests, size_t nr_tests)
{
	struct CMUnitTest *unit = calloc(nr_tests, sizeof(*unit));
	int ret;

	if (!unit)
		return 1;
	for (size_t i = 0; i < nr_tests; i++) {
		unit[i].name = tests[i].name;
		unit[i].test_func = run_under_every_set;
		unit[i].initial_state = (void *)(uintptr_t)&tests[i];
	}
	ret = _cmocka_run_group_tests("rules", unit, nr_tests, NULL, NULL);
	free(unit);
	return ret;
}
