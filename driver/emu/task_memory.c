// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Tasks are in memory shared with capture: after auxtap-emu was killed, capture can still read
 * there how much a task's PT unit has written, and so where the newest byte of its AUX area is.
 */
#include "emu_state.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NR_SLOTS  2048ul
#define SLOT_SIZE ((sizeof(struct emu_task) + 63) & ~63ul)

struct emu_task_memory {
	int fd;
	u8 *base;
	bool used[NR_SLOTS];
};
static struct emu_task_memory memory = {.fd = -1};

void emu_task_memory_start(void)
{
	int fd = memfd_create("auxtap-tasks", MFD_CLOEXEC);
	void *base;

	if (fd < 0)
		return;
	base = ftruncate(fd, (off_t)(NR_SLOTS * SLOT_SIZE)) ?
		       MAP_FAILED :
		       mmap(NULL, NR_SLOTS * SLOT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED) {
		close(fd); /* not fatal: only more is lost if auxtap-emu is killed */
		return;
	}
	memory.fd = fd;
	memory.base = base;
}

int emu_task_memory_fd(void)
{
	char path[32];
	int fd;

	if (memory.fd < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", memory.fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -1 : fd;
}

struct emu_task *emu_task_alloc(void)
{
	for (size_t i = 0; memory.base && i < NR_SLOTS; i++) {
		if (memory.used[i])
			continue;
		memory.used[i] = true;
		return memset(memory.base + i * SLOT_SIZE, 0, SLOT_SIZE);
	}
	return calloc(1, sizeof(struct emu_task));
}

static bool is_shared(const struct emu_task *task)
{
	const u8 *at = (const u8 *)task;

	return memory.base && at >= memory.base && at < memory.base + NR_SLOTS * SLOT_SIZE;
}

void emu_task_free(struct emu_task *task)
{
	if (is_shared(task))
		memory.used[(size_t)((u8 *)task - memory.base) / SLOT_SIZE] = false;
	else
		free(task);
}

u64 emu_task_account(const struct emu_task *task)
{
	return is_shared(task) ? (u64)((const u8 *)&task->unit.out.nr_written - memory.base) : 0;
}
