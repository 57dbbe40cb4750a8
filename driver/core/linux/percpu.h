/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Per-CPU variables: one copy for each of the CORE_NR_CPUS emulated CPUs. Static ones only. */
#ifndef AUXTAP_SHIM_LINUX_PERCPU_H
#define AUXTAP_SHIM_LINUX_PERCPU_H

#include <linux/compiler.h>
#include <linux/smp.h>

/* core_state_ranges() finds the variables by their section. */
struct core_percpu {
	void *first; /* of CPU 0 */
	size_t size; /* of one CPU's */
};
#define DEFINE_PER_CPU(type, name)                         \
	__typeof__(type)(name)[NR_CPUS];                   \
	static const struct core_percpu core_percpu_##name \
		__attribute__((used, section("core_percpu"))) = {(name), sizeof((name)[0])}
#define DECLARE_PER_CPU(type, name) extern __typeof__(type)(name)[NR_CPUS]
/* ptr is &name, as in the kernel. Each thread has CPUs of its own: core_thread_begin(). */
#define per_cpu_ptr(ptr, cpu)	  (&(*(ptr))[core_first_cpu + (cpu)])
#define this_cpu_ptr(ptr)	  per_cpu_ptr(ptr, smp_processor_id())
#define raw_cpu_ptr(ptr)	  this_cpu_ptr(ptr)
#define per_cpu(name, cpu)	  (*per_cpu_ptr(&(name), cpu))
#define this_cpu_read(name)	  (*this_cpu_ptr(&(name)))
#define this_cpu_write(name, v)	  (*this_cpu_ptr(&(name)) = (v))
#define __this_cpu_read(name)	  this_cpu_read(name)
#define __this_cpu_write(name, v) this_cpu_write(name, v)

#endif
