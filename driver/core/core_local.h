/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * State of the model: each thread has a machine of its own. For programs whose threads run the
 * tasks of one machine in turn (tests/conform), the model is built with CORE_ONE_MACHINE.
 */
#ifndef AUXTAP_CORE_LOCAL_H
#define AUXTAP_CORE_LOCAL_H

#ifdef CORE_ONE_MACHINE
#define CORE_LOCAL
#else
#define CORE_LOCAL _Thread_local
#endif

#endif
