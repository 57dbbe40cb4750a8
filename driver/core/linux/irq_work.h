/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Work of the current CPU, run at its next interrupt. The core keeps the queue. */
#ifndef AUXTAP_SHIM_LINUX_IRQ_WORK_H
#define AUXTAP_SHIM_LINUX_IRQ_WORK_H

#include "core/core.h"

static inline void irq_work_run(void)
{
	core_irq_work_run();
}

#endif
