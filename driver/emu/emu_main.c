// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * auxtap-emu: the emulated kernel as a separate process. Capture starts it with its sockets
 * (emu_abi.h). It contains the perf core, the PMU drivers, a trace unit for each traced thread, and
 * one execution engine, whose run() is the main loop.
 */
#include "emu_unit.h"
#include "exec/qemu/qemu_find.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct emu_engine_ops *const engines[] = {
	&emu_engine_ptrace,
	&emu_engine_qemu,
};

/* NAME=VALUE: memory limit, ring of values, trace unit; for tests: kernel and interrupt delay. */
static int set_option(struct emu *emu, const char *arg)
{
	const struct core_kernel *kernel;
	char *end;

	if (!strncmp(arg, "kernel=", 7)) {
		kernel = core_kernel_find(arg + 7);
		if (!kernel)
			return -EINVAL;
		core_kernel_use(kernel);
		return 0;
	}
	if (!strncmp(arg, "max-memory=", 11)) {
		emu->memory.bytes = strtoull(arg + 11, &end, 10);
		return *end || !emu->memory.bytes ? -EINVAL : 0;
	}
	if (!strncmp(arg, "values=", 7)) {
		emu->values = (u32)strtoul(arg + 7, &end, 10);
		return *end || !emu->values ? -EINVAL : 0;
	}
	if (!strncmp(arg, "trace-unit=", 11))
		return emu_etm_choose(emu, arg + 11);
	if (!strncmp(arg, "irq-delay=", 10)) {
		emu->irq_delay_blocks = (u32)strtoul(arg + 10, &end, 10);
		return *end || end == arg + 10 ? -EINVAL : 0;
	}
	if (!strncmp(arg, "irq-skid=", 9)) {
		emu->irq_delay_bytes = (u32)strtoul(arg + 9, &end, 10);
		return *end || end == arg + 9 ? -EINVAL : 0;
	}
	return -EINVAL;
}

#ifdef __SANITIZE_ADDRESS__
/* The leak checker stops its process with ptrace: a process that is a tracer would deadlock. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}
#endif

int main(int argc, char **argv)
{
	struct emu *emu;
	int ret;

	if (argc == 2 && !strcmp(argv[1], "engines")) {
		qemu_find_print();
		return 0;
	}
	emu = calloc(1, sizeof(*emu));
	if (!emu)
		return 125;
	emu->queue_tail = &emu->queue;
	emu_etm_choose(emu, "ete");
	emu->request_fd = EMU_REQUEST_FD;
	emu->event_fd = EMU_EVENT_FD;
	emu->message = malloc(EMU_MESSAGE_MAX);
	emu->answer = malloc(EMU_MESSAGE_MAX);
	for (size_t i = 0; argc > 1 && i < sizeof(engines) / sizeof(*engines); i++)
		if (!strcmp(engines[i]->name, argv[1]))
			emu->engine = engines[i];
	for (int i = 2; i < argc; i++) {
		if (set_option(emu, argv[i])) {
			fprintf(stderr, "auxtap-emu: %s: unknown option\n", argv[i]);
			return 125;
		}
	}
	if (!emu->engine || fcntl(emu->request_fd, F_GETFD) < 0 ||
	    fcntl(emu->event_fd, F_GETFD) < 0) {
		fprintf(stderr,
			"auxtap-emu: started by auxtap only, with an engine and "
			"its sockets as descriptors %d and %d\n",
			EMU_REQUEST_FD, EMU_EVENT_FD);
		return 125;
	}
	if (!emu->message || !emu->answer)
		return 125;
	emu_raise_limits(emu);
	ret = emu_signals_init(emu);
	emu_task_memory_start(
		emu); /* a file in memory: exceeding ulimit -f must not raise a signal */
	if (!ret)
		ret = emu_pmu_start(emu);
	if (!ret)
		ret = emu->engine->open(emu);
	if (ret) {
		fprintf(stderr, "auxtap-emu: start: %s\n", strerror(-ret));
		return 125;
	}
	ret = emu->engine->run(emu);
	emu_signals_end();
	emu_release_all(emu);
	return ret ? 125 : 0;
}
