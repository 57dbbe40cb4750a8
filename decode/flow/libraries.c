// SPDX-License-Identifier: BSD-2-Clause
/* The versions of the libraries that decode, as they are loaded: what they know depends on them. */
#include "decode/coresight/cs_tree.h"
#include "trace_family.h"

#include <auxtap/decode.h>
#include <pthread.h>
#include <stdio.h>

static char names[2][48];

static void fill(void)
{
	trace_family_flow(0)->version(names[0], sizeof(names[0]));
	snprintf(names[1], sizeof(names[1]), "OpenCSD %s", cs_tree_version());
}

const char *auxtap_decode_library(unsigned int index)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, fill);
	return index < 2 ? names[index] : NULL;
}
