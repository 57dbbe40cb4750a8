/* SPDX-License-Identifier: BSD-2-Clause */
/* The qemu that auxtap-emu finds: the tests run under it and take their reference from it. */
#ifndef SUPPORT_ENGINE_H
#define SUPPORT_ENGINE_H

#include <stdbool.h>

struct engine {
	char path[4096];
	char version[32];
	int major;     /* of the version */
	char why[512]; /* why none was found; or why it is not another one */
};

/* Returns false if none was found. target: "x86_64" or "aarch64". */
bool engine_find(const char *target, struct engine *engine);
/*
 * For main(): whether to skip; prints why. With AUXTAP_TEST_PACKAGED set the test is about the
 * distribution's qemu (AUXTAP_QEMU names its directory), and is skipped if auxtap finds the same
 * one without AUXTAP_QEMU.
 */
bool engine_skip(const char *target);

#endif
