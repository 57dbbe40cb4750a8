// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The core's environment: the machine's callbacks, the kernel log, warnings, the current CPU. */
#include "core/perf_buffer.h"
#include <linux/capability.h>
#include <linux/errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#define NR_THREADS (CORE_NR_CPUS / CORE_THREAD_CPUS)

CORE_LOCAL struct core_machine core_machine;
static CORE_LOCAL unsigned long nr_warnings;
static CORE_LOCAL int current_cpu, nr_cpus = CORE_NR_CPUS;
CORE_LOCAL int core_first_cpu;
/* Threads between begin and end; each uses its CPUs' entries in arrays that all threads share. */
static atomic_bool threads[NR_THREADS];
CORE_LOCAL unsigned int core_page_shift = 12;

void core_machine_set(const struct core_machine *machine)
{
	core_machine = machine ? *machine : (struct core_machine){0};
}

void core_page_size_use(uint64_t page_size)
{
	if (WARN_ON(!is_power_of_2(page_size)))
		return;
	core_page_shift = (unsigned int)ilog2(page_size);
}

u64 core_clock(void)
{
	return core_machine.clock ? core_machine.clock(core_machine.ctx) : 0;
}

bool perfmon_capable(void)
{
	return !core_machine.unprivileged;
}

int core_thread_begin(void)
{
	for (int i = 0; i < NR_THREADS; i++)
		if (!atomic_exchange(&threads[i], true)) {
			core_first_cpu = i * CORE_THREAD_CPUS;
			nr_cpus = CORE_THREAD_CPUS;
			return 0;
		}
	return -EBUSY;
}

void core_thread_end(void)
{
	int i = core_first_cpu / CORE_THREAD_CPUS;

	core_first_cpu = 0;
	current_cpu = 0;
	nr_cpus = CORE_NR_CPUS;
	atomic_store(&threads[i], false);
}

void core_set_cpu(int cpu)
{
	if (WARN_ON(cpu < 0 || cpu >= nr_cpus))
		return;
	current_cpu = cpu;
}

int core_cpu(void)
{
	return current_cpu;
}

void core_warn(const char *file, int line, const char *what)
{
	nr_warnings++;
	if (core_machine.warn)
		core_machine.warn(core_machine.ctx, file, line, what);
}

unsigned long core_warnings(void)
{
	return nr_warnings;
}

void core_printk(char level, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	if (!core_machine.log)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap); /* NOLINT(clang-analyzer-valist.Uninitialized) */
	va_end(ap);
	core_machine.log(core_machine.ctx, level, text);
}
