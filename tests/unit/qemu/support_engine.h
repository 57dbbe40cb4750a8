/* SPDX-License-Identifier: BSD-2-Clause */
/* The qemu that auxtap-emu finds: what tests run under, and where their reference comes from. */
#ifndef SUPPORT_ENGINE_H
#define SUPPORT_ENGINE_H

#include <stdbool.h>

struct engine {
	char path[4096];
	char version[32];
	int major;     /* of the version */
	char why[512]; /* there is none, and why; or why it is not another one */
};

/* False: there is none. target: "x86_64" or "aarch64". */
bool engine_find(const char *target, struct engine *engine);
/*
 * For main(): whether to skip, which it prints. With AUXTAP_TEST_PACKAGED set the test is about
 * the distribution's qemu (AUXTAP_QEMU names its directory), and about another than is found
 * without.
 */
bool engine_skip(const char *target);

#endif
