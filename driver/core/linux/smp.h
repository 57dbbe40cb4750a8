/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The emulated CPU that runs the caller: the last one set by core_set_cpu() (core.h). */
#ifndef AUXTAP_SHIM_LINUX_SMP_H
#define AUXTAP_SHIM_LINUX_SMP_H

#include <linux/types.h>
#include "core/core.h"

#define NR_CPUS			   CORE_NR_CPUS
#define nr_cpu_ids		   CORE_NR_CPUS
#define smp_processor_id()	   core_cpu()
#define raw_smp_processor_id()	   core_cpu()
#define get_cpu()		   core_cpu()
#define put_cpu()		   ((void)0)
#define cpu_to_node(cpu)	   ((void)(cpu), 0)
#define for_each_possible_cpu(cpu) for ((cpu) = 0; (cpu) < NR_CPUS; (cpu)++)
#define for_each_online_cpu(cpu)   for_each_possible_cpu (cpu)

#endif
