// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Tasks are in memory shared with capture: if auxtap-emu is killed, capture can still read there
 * how much a task's PT unit has written, and so find the newest byte of its AUX area.
 */
#include "emu_state.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SLOT_SIZE ((sizeof(struct emu_task) + 63) & ~63ul)

void emu_task_memory_start(struct emu *emu)
{
	struct emu_task_memory *m = &emu->task_memory;
	int fd = memfd_create("auxtap-tasks", MFD_CLOEXEC);
	void *base;

	m->fd = -1;
	if (fd < 0)
		return;
	base = ftruncate(fd, (off_t)(EMU_NR_TASK_SLOTS * SLOT_SIZE)) ?
		       MAP_FAILED :
		       mmap(NULL, EMU_NR_TASK_SLOTS * SLOT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
			    fd, 0);
	if (base == MAP_FAILED) {
		close(fd); /* not fatal: if auxtap-emu is killed, more trace is lost */
		return;
	}
	m->fd = fd;
	m->base = base;
}

int emu_task_memory_fd(const struct emu *emu)
{
	char path[32];
	int fd;

	if (emu->task_memory.fd < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", emu->task_memory.fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -1 : fd;
}

struct emu_task *emu_task_alloc(struct emu *emu)
{
	struct emu_task_memory *m = &emu->task_memory;
	struct emu_task *task = NULL;

	for (size_t i = 0; m->base && !task && i < EMU_NR_TASK_SLOTS; i++) {
		if (m->used[i])
			continue;
		m->used[i] = true;
		task = memset(m->base + i * SLOT_SIZE, 0, SLOT_SIZE);
	}
	if (!task)
		task = calloc(1, sizeof(*task));
	if (task)
		task->emu = emu;
	return task;
}

static bool is_shared(const struct emu_task *task)
{
	const struct emu_task_memory *m = &task->emu->task_memory;
	const u8 *at = (const u8 *)task;

	return m->base && at >= m->base && at < m->base + EMU_NR_TASK_SLOTS * SLOT_SIZE;
}

void emu_task_free(struct emu_task *task)
{
	struct emu_task_memory *m = &task->emu->task_memory;

	if (is_shared(task))
		m->used[(size_t)((u8 *)task - m->base) / SLOT_SIZE] = false;
	else
		free(task);
}

u64 emu_task_bytes_counter(const struct emu_task *task)
{
	const u8 *base = task->emu->task_memory.base;

	return is_shared(task) ? (u64)((const u8 *)&task->pt.out.nr_written - base) : 0;
}
