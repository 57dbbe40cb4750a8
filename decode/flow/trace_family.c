// SPDX-License-Identifier: BSD-2-Clause
/* The families of traces that this version decodes: see trace_family.h. */
#include "trace_family.h"

#include <stdio.h>
#include <string.h>

extern const struct trace_family pt_family, bts_family, spe_family, cs_family;

/* The first one is the default for raw streams. */
static const struct trace_family *const families[] = {&pt_family, &bts_family, &spe_family,
						      &cs_family};

#define NR (sizeof(families) / sizeof(families[0]))

const struct trace_family *trace_family_of_type(uint32_t auxtrace_type)
{
	for (size_t i = 0; i < NR; i++)
		if (families[i]->info.auxtrace_type == auxtrace_type)
			return families[i];
	return NULL;
}

const struct trace_family *trace_family_of_raw(const char *name)
{
	if (!name)
		return families[0];
	for (size_t i = 0; i < NR; i++)
		if (families[i]->info.raw_name && !strcmp(families[i]->info.raw_name, name))
			return families[i];
	return NULL;
}

const struct trace_family *trace_family_of_snapshot(const char *dir)
{
	for (size_t i = 0; i < NR; i++)
		if (families[i]->is_snapshot_directory && families[i]->is_snapshot_directory(dir))
			return families[i];
	return NULL;
}

const struct flow_ops *trace_family_flow(unsigned int index)
{
	for (size_t i = 0; i < NR; i++)
		for (const struct flow_ops *const *flow = families[i]->flows; flow && *flow; flow++)
			if (!index--)
				return *flow;
	return NULL;
}

void trace_family_names(char *text, size_t size)
{
	size_t len = 0;

	for (size_t i = 0; i < NR && len < size; i++)
		len += (size_t)snprintf(text + len, size - len, "%s%s", i ? ", " : "",
					families[i]->info.name);
}

/* ---- for users of the library ---- */

static const struct auxtap_trace_family *info_of(const struct trace_family *family)
{
	return family ? &family->info : NULL;
}

const struct auxtap_trace_family *auxtap_family_of_file(struct auxtap_perfdata *pd)
{
	const uint64_t *values;
	uint32_t type;
	size_t nr;

	if (auxtap_perfdata_auxtrace_info(pd, &type, &values, &nr))
		return NULL;
	return info_of(trace_family_of_type(type));
}

const struct auxtap_trace_family *auxtap_family_of_raw(const char *raw_name)
{
	return info_of(trace_family_of_raw(raw_name));
}

const struct auxtap_trace_family *auxtap_family_of_snapshot(const char *dir)
{
	return info_of(trace_family_of_snapshot(dir));
}
