/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's perf API for PMU drivers, host shim: the ABI header, and what drivers use of the
 * kernel's internal header, with the same names but other layouts. Implemented by the core
 * (event.c, data_ring.c, aux_output.c, pmu_registry.c); members below "core's own" are not for
 * drivers.
 */
#ifndef AUXTAP_SHIM_LINUX_PERF_EVENT_H
#define AUXTAP_SHIM_LINUX_PERF_EVENT_H

#include_next <linux/perf_event.h>
#include <linux/bug.h>
#include <linux/device.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/types.h>
#include <errno.h>

#ifndef PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK
#define PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK 0xff00
#endif

struct perf_event;
struct perf_buffer;
struct core_task;
struct core_kernel;
struct module;

/*
 * pmu->capabilities. The last two came after 6.1; whether the core supports them depends on the
 * modelled kernel version (L3, L4).
 */
#define PERF_PMU_CAP_NO_INTERRUPT     0x0001
#define PERF_PMU_CAP_NO_NMI	      0x0002
#define PERF_PMU_CAP_AUX_NO_SG	      0x0004
#define PERF_PMU_CAP_EXTENDED_REGS    0x0008
#define PERF_PMU_CAP_EXCLUSIVE	      0x0010
#define PERF_PMU_CAP_ITRACE	      0x0020
#define PERF_PMU_CAP_NO_EXCLUDE	      0x0040
#define PERF_PMU_CAP_AUX_OUTPUT	      0x0080
#define PERF_PMU_CAP_EXTENDED_HW_TYPE 0x0100
#define PERF_PMU_CAP_AUX_PAUSE	      0x0200
#define PERF_PMU_CAP_AUX_PREFER_LARGE 0x0400

/* Flags of pmu->add, start, stop, del. */
#define PERF_EF_START  0x01
#define PERF_EF_RELOAD 0x02
#define PERF_EF_UPDATE 0x04
#define PERF_EF_PAUSE  0x08
#define PERF_EF_RESUME 0x10

/* hw.state */
#define PERF_HES_STOPPED  0x01
#define PERF_HES_UPTODATE 0x02
#define PERF_HES_ARCH	  0x04

/* event->attach_state */
#define PERF_ATTACH_CONTEXT 0x01
#define PERF_ATTACH_GROUP   0x02
#define PERF_ATTACH_TASK    0x04
#define PERF_ATTACH_ITRACE  0x10
#define PERF_ATTACH_CHILD   0x40

enum perf_event_state {
	PERF_EVENT_STATE_DEAD = -4,
	PERF_EVENT_STATE_EXIT = -3,
	PERF_EVENT_STATE_ERROR = -2,
	PERF_EVENT_STATE_OFF = -1,
	PERF_EVENT_STATE_INACTIVE = 0,
	PERF_EVENT_STATE_ACTIVE = 1,
};

enum perf_event_task_context {
	perf_invalid_context = -1,
	perf_hw_context = 0,
	perf_sw_context,
	perf_nr_task_contexts,
};

/* The driver's part of an event. */
struct hw_perf_event {
	u64 config;
	u64 aux_config; /* L5: where a later kernel's PT driver keeps its RTIT_CTL */
	unsigned long config_base;
	unsigned long event_base;
	int idx;
	int last_cpu;
	int flags;
	int state; /* PERF_HES_… */
	local64_t prev_count;
	u64 sample_period;
	local64_t period_left;
	unsigned int aux_paused;
	void *addr_filters; /* the driver's form of the filters, of generation … */
	unsigned long addr_filters_gen;
};

/* Address filters; path.dentry points to the file, NULL: a kernel address. */
enum perf_addr_filter_action_t {
	PERF_ADDR_FILTER_ACTION_STOP = 0,
	PERF_ADDR_FILTER_ACTION_START,
	PERF_ADDR_FILTER_ACTION_FILTER,
};

struct path {
	void *dentry;
};

struct perf_addr_filter {
	struct list_head entry;
	struct path path;
	unsigned long offset;
	unsigned long size;
	enum perf_addr_filter_action_t action;
};

struct perf_addr_filters_head {
	struct list_head list;
};

/* Where a filter's range is mapped now; 0: its file is not mapped. */
struct perf_addr_filter_range {
	unsigned long start;
	unsigned long size;
};

struct perf_output_handle {
	struct perf_event *event;
	struct perf_buffer *rb;
	unsigned long wakeup;
	unsigned long size;
	u64 aux_flags;
	union {
		void *addr;
		unsigned long head;
	};
	/* core's own: position of the record's next byte, and the record's end */
	u64 pos, end;
};

struct pmu {
	struct module *module;
	struct device *dev;
	const struct attribute_group **attr_groups;
	const struct attribute_group **attr_update;
	const char *name;
	int type;
	int capabilities;
	int task_ctx_nr;
	unsigned int nr_addr_filters;

	void (*pmu_enable)(struct pmu *pmu);
	void (*pmu_disable)(struct pmu *pmu);
	int (*event_init)(struct perf_event *event);
	int (*add)(struct perf_event *event, int flags);
	void (*del)(struct perf_event *event, int flags);
	void (*start)(struct perf_event *event, int flags);
	void (*stop)(struct perf_event *event, int flags);
	void (*read)(struct perf_event *event);
	void *(*setup_aux)(struct perf_event *event, void **pages, int nr_pages, bool overwrite);
	void (*free_aux)(void *aux);
	long (*snapshot_aux)(struct perf_event *event, struct perf_output_handle *handle,
			     unsigned long size);
	int (*addr_filters_validate)(struct list_head *filters);
	void (*addr_filters_sync)(struct perf_event *event);

	/* core's own */
	struct pmu *next;
	int exclusive_cnt; /* positive: number of task events; negative: of CPU events */
	struct device device;
};

struct perf_event {
	struct pmu *pmu;
	struct perf_event_attr attr;
	struct hw_perf_event hw;
	struct perf_event *parent;
	struct perf_event *group_leader;
	enum perf_event_state state;
	unsigned int attach_state;
	int cpu;   /* requested CPU; -1: any */
	int oncpu; /* the CPU it is active on, or -1 */
	u64 id;
	void (*destroy)(struct perf_event *event);
	struct perf_addr_filters_head addr_filters; /* parent's count, for its children */
	struct perf_addr_filter_range *addr_filter_ranges;
	unsigned long addr_filters_gen;

	/* core's own: event.c, sched.c */
	const struct core_kernel *kernel;
	struct core_task *ctx; /* of a task or a CPU; NULL after the task's exit */
	/* the requested task, compared but never dereferenced; NULL: a CPU event */
	struct core_task *target;
	void *priv;
	struct perf_event *next_in_ctx;		    /* of the context, in order of opening */
	struct perf_event *child_list, *child_next; /* inherited events of one parent */
	/* size of the sample id at the end of every record */
	int id_header_size;
	u64 time_enabled, time_running, time_stamp;
	u64 lost_samples; /* E9 */
	int pending_disable;
	bool pending_disable_irq; /* L1: the separate irq_work of later kernels */
	bool pending_wakeup;
	int irq_cpu; /* -1: no irq_work queued */
	struct perf_event *irq_next;
	bool closed; /* only its mappings keep it alive */
	/* core's own: the ring */
	struct perf_buffer *rb;
	struct perf_event *rb_next; /* events of the same ring */
	int mmap_count;
};

int perf_pmu_register(struct pmu *pmu, const char *name, int type);
void perf_pmu_unregister(struct pmu *pmu);

void *perf_aux_output_begin(struct perf_output_handle *handle, struct perf_event *event);
void perf_aux_output_end(struct perf_output_handle *handle, unsigned long size);
int perf_aux_output_skip(struct perf_output_handle *handle, unsigned long size);
void perf_aux_output_flag(struct perf_output_handle *handle, u64 flags);
void *perf_get_aux(struct perf_output_handle *handle);

void perf_event_addr_filters_sync(struct perf_event *event);

static inline struct perf_addr_filters_head *perf_event_addr_filters(struct perf_event *event)
{
	return event->parent ? &event->parent->addr_filters : &event->addr_filters;
}

/* Not exported to modules: a driver sets PERF_ATTACH_ITRACE itself (F1). */
static inline void perf_event_itrace_started(struct perf_event *event)
{
	event->attach_state |= PERF_ATTACH_ITRACE;
}

static inline void perf_event_update_userpage(struct perf_event *event)
{
	(void)event;
}

/* Attributes of a PMU, as in the kernel: PMU_FORMAT_ATTR(cyc, "config:1") makes format_attr_cyc. */
#define PMU_FORMAT_ATTR(_name, _format)                                                            \
	static ssize_t _name##_show(struct device *dev, struct device_attribute *attr, char *page) \
	{                                                                                          \
		(void)dev;                                                                         \
		(void)attr;                                                                        \
		return sysfs_emit(page, _format "\n");                                             \
	}                                                                                          \
	static struct device_attribute format_attr_##_name = __ATTR_RO(_name)

#endif
