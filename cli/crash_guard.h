/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OpenCSD, which decodes CoreSight trace, may crash or abort on damaged trace. In commands that
 * decode, a crash in it costs one stream of trace, and an abort is reported before auxtap ends.
 */
#ifndef AUXTAP_CRASH_GUARD_H
#define AUXTAP_CRASH_GUARD_H

/* Installs handlers for signals that have none. path: the trace, for the message. */
void crash_guard_install(const char *path);

#endif
