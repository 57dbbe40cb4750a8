// SPDX-License-Identifier: BSD-2-Clause
/* Names and versions of the decoder libraries that are loaded. */
#include "trace_family.h"

#include <auxtap/decode.h>
#include <pthread.h>

#define MAX_LIBRARIES 4

static char names[MAX_LIBRARIES][48];

static void fill_names(void)
{
	const struct flow_ops *ops;

	for (unsigned int i = 0; i < MAX_LIBRARIES && (ops = trace_family_flow(i)); i++)
		ops->version(names[i], sizeof(names[i]));
}

const char *auxtap_decode_library(unsigned int index)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, fill_names);
	return index < MAX_LIBRARIES && names[index][0] ? names[index] : NULL;
}

const char *trace_family_library(const struct trace_family *family)
{
	const struct flow_ops *ops;

	if (!family->flows)
		return NULL;
	for (unsigned int i = 0; (ops = trace_family_flow(i)); i++)
		if (ops == family->flows[0])
			return auxtap_decode_library(i);
	return NULL;
}
