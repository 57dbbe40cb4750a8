/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OpenCSD, which decodes CoreSight trace, may crash or abort on damaged trace. For commands that
 * decode: a crash in it costs one stream of trace, and an abort is reported before the end.
 */
#ifndef AUXTAP_CRASH_GUARD_H
#define AUXTAP_CRASH_GUARD_H

/* Installs signal handlers, where there are none. path: of the trace, for the message. */
void crash_guard_install(const char *path);

#endif
