// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* PMUs by name and number, their attributes as sysfs would show them, and the software PMU. */
#include "core/perf_buffer.h"
#include <linux/slab.h>

static CORE_LOCAL struct pmu *pmus;
static CORE_LOCAL int next_type = PERF_TYPE_MAX;

static int dummy_event_init(struct perf_event *event)
{
	return event->attr.config == PERF_COUNT_SW_DUMMY ? 0 : -ENOENT;
}

static int dummy_add(struct perf_event *event, int flags)
{
	event->hw.state = flags & PERF_EF_START ? 0 : PERF_HES_STOPPED;
	return 0;
}

static void dummy_start(struct perf_event *event, int flags)
{
	(void)flags;
	event->hw.state = 0;
}

static void dummy_stop(struct perf_event *event, int flags)
{
	(void)flags;
	event->hw.state = PERF_HES_STOPPED;
}

static void dummy_read(struct perf_event *event)
{
	(void)event;
}

/* Events that count nothing but carry sideband: PERF_COUNT_SW_DUMMY. */
static struct pmu pmu_software = {
	.name = "software",
	.type = PERF_TYPE_SOFTWARE,
	.task_ctx_nr = perf_sw_context,
	.event_init = dummy_event_init,
	.add = dummy_add,
	.del = dummy_stop,
	.start = dummy_start,
	.stop = dummy_stop,
	.read = dummy_read,
};

int perf_pmu_register(struct pmu *pmu, const char *name, int type)
{
	if (WARN_ON(!name) || WARN_ON(!pmu->event_init || !pmu->add || !pmu->del))
		return -EINVAL;
	for (struct pmu *p = pmus; p; p = p->next)
		if (!strcmp(p->name, name))
			return -EEXIST;
	pmu->name = name;
	pmu->type = type >= 0 ? type : next_type++;
	pmu->dev = &pmu->device;
	dev_set_drvdata(pmu->dev, pmu);
	pmu->next = pmus;
	pmus = pmu;
	return 0;
}

void perf_pmu_unregister(struct pmu *pmu)
{
	struct pmu **at = &pmus;

	while (*at && *at != pmu)
		at = &(*at)->next;
	if (*at)
		*at = pmu->next;
}

struct pmu *core_pmu_by_type(u32 type)
{
	if (type == PERF_TYPE_SOFTWARE)
		return &pmu_software;
	for (struct pmu *p = pmus; p; p = p->next)
		if ((u32)p->type == type)
			return p;
	return NULL;
}

static struct pmu *pmu_by_name(const char *name)
{
	if (!strcmp(name, pmu_software.name))
		return &pmu_software;
	for (struct pmu *p = pmus; p; p = p->next)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}

int core_pmu_type(const char *name)
{
	struct pmu *pmu = pmu_by_name(name);

	return pmu ? pmu->type : -ENOENT;
}

int core_pmu_capabilities(const char *name)
{
	struct pmu *pmu = pmu_by_name(name);

	return pmu ? pmu->capabilities : -ENOENT;
}

static struct attribute *find_attr(const struct attribute_group *const *groups, const char *name)
{
	for (; groups && *groups; groups++) {
		const struct attribute_group *group = *groups;
		size_t len = group->name ? strlen(group->name) : 0;
		const char *leaf = name;

		if (len) {
			if (strncmp(name, group->name, len) != 0 || name[len] != '/')
				continue;
			leaf = name + len + 1;
		}
		for (int i = 0; group->attrs && group->attrs[i]; i++) {
			if (strcmp(group->attrs[i]->name, leaf) != 0)
				continue;
			if (group->is_visible && !group->is_visible(NULL, group->attrs[i], i))
				continue;
			return group->attrs[i];
		}
	}
	return NULL;
}

ssize_t core_pmu_attr(const char *name, const char *attr, char *buf, size_t size)
{
	struct pmu *pmu = pmu_by_name(name);
	struct device_attribute *dev_attr;
	char page[4096];
	struct attribute *found;
	ssize_t len;

	if (!pmu)
		return -ENOENT;
	if (!strcmp(attr, "type")) {
		len = snprintf(page, sizeof(page), "%d", pmu->type);
	} else {
		found = find_attr(pmu->attr_groups, attr);
		if (!found)
			found = find_attr(pmu->attr_update, attr);
		if (!found)
			return -ENOENT;
		dev_attr = container_of(found, struct device_attribute, attr);
		len = dev_attr->show ? dev_attr->show(pmu->dev, dev_attr, page) : -EIO;
		if (len < 0)
			return len;
		if (len && page[len - 1] == '\n')
			len--;
	}
	if ((size_t)len >= size)
		return -ENOSPC;
	memcpy(buf, page, (size_t)len);
	buf[len] = '\0';
	return len;
}
