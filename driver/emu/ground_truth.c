// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * --truth: writes the address of every retired user instruction to PATH.TID, as a little-endian
 * u64. The first failure of each thread is reported to capture (AUXTAP_NOTICE_TRUTH_ENDED): its
 * file ends, the trace goes on. The files grow by some hundred megabytes a second, so writing stops
 * before the disk is full.
 */
#include "emu_state.h"
#include "util/vector.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define TRUTH_NR      8192
#define TRUTH_RESERVE (1ull << 30) /* bytes to leave free, or a tenth of a smaller disk */

static int truth_file(const char *path, pid_t tid, bool append)
{
	char name[4096];

	if (snprintf(name, sizeof(name), "%s.%d", path, tid) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND | (append ? 0 : O_TRUNC),
		      0600);

	return fd < 0 ? -errno : fd;
}

static void report_failure(struct emu_task *task, const char *reason)
{
	char why[128];

	task->truth.failed = true;
	snprintf(why, sizeof(why), "thread %d: %s", task->core.tid, reason);
	emu_report_notice(task->emu, task->core.pid, AUXTAP_NOTICE_TRUTH_ENDED, why);
}

static bool disk_full(const struct emu_ground_truth *t, size_t more)
{
	struct statvfs fs;
	u64 unit, reserve;

	if (fstatvfs(t->fd, &fs))
		return false;
	unit = fs.f_frsize ? fs.f_frsize : fs.f_bsize;
	reserve = fs.f_blocks * unit / 10 < TRUTH_RESERVE ? fs.f_blocks * unit / 10 : TRUTH_RESERVE;
	/* a file system that reports no size is never full */
	return fs.f_blocks && fs.f_bavail * unit < reserve + more;
}

static void flush(struct emu_task *task)
{
	struct emu_ground_truth *t = &task->truth;
	const char *at = (const char *)t->addrs;
	size_t left = t->nr * sizeof(*t->addrs);

	if (left && !t->failed && disk_full(t, left))
		report_failure(task, "ends here, the disk is nearly full");
	while (left && !t->failed) {
		ssize_t n = write(t->fd, at, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			report_failure(task, strerror(errno));
			break;
		}
		at += n;
		left -= (size_t)n;
	}
	t->nr = 0;
}

/* Whether this run has a file for the tid already: a reused tid appends to it. */
static bool tid_seen_before(struct emu *emu, pid_t tid)
{
	for (int i = 0; i < emu->nr_truth_tids; i++)
		if (emu->truth_tids[i] == tid)
			return true;
	if (!vector_grow(emu->truth_tids, emu->nr_truth_tids, emu->max_truth_tids))
		emu->truth_tids[emu->nr_truth_tids++] = tid;
	return false;
}

int emu_ground_truth_open(struct emu *emu, struct emu_task *task)
{
	struct emu_ground_truth *t = &task->truth;

	t->fd = -1;
	if (!emu->truth_path || !emu->truth_path[0])
		return 0;
	t->addrs = malloc(TRUTH_NR * sizeof(*t->addrs));
	if (!t->addrs) {
		report_failure(task, strerror(ENOMEM));
		return -ENOMEM;
	}
	t->fd = truth_file(emu->truth_path, task->core.tid, tid_seen_before(emu, task->core.tid));
	if (t->fd < 0) {
		int err = t->fd;

		free(t->addrs);
		t->addrs = NULL;
		t->fd = -1;
		report_failure(task, strerror(-err));
		return err;
	}
	task->has_truth = true;
	return 0;
}

static inline void add(struct emu_task *task, u64 addr)
{
	struct emu_ground_truth *t = &task->truth;

	if (t->nr == TRUTH_NR)
		flush(task);
	t->addrs[t->nr++] = addr;
}

void emu_ground_truth_block(struct emu_task *task, const struct emu_block *p, u32 nr_insns)
{
	u64 ip = p->ip;

	if (!p->lens) {
		/* lens may be NULL only for blocks of one instruction */
		add(task, ip);
		return;
	}
	for (u32 i = 0; i < nr_insns; i++) {
		add(task, ip);
		ip += p->lens[i];
	}
}

void emu_ground_truth_close(struct emu_task *task)
{
	struct emu_ground_truth *t = &task->truth;

	if (!task->has_truth)
		return;
	flush(task);
	if (close(t->fd) && !t->failed)
		report_failure(task, strerror(errno));
	free(t->addrs);
	t->addrs = NULL;
	task->has_truth = false;
}
