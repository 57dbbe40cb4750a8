/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Interrupts are function calls here, made only where the machine allows them. */
#ifndef AUXTAP_SHIM_LINUX_IRQFLAGS_H
#define AUXTAP_SHIM_LINUX_IRQFLAGS_H

#define local_irq_save(flags)	 ((void)((flags) = 0))
#define local_irq_restore(flags) ((void)(flags))
#define local_irq_disable()	 ((void)0)
#define local_irq_enable()	 ((void)0)

#endif
