// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reads an emulated program's state from outside: guest memory and registers are in qemu's memory,
 * which stays readable until the process has exited.
 */
#include "qemu.h"
#include <auxtap/crash.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* A thread that still has the memory of the process: its leader may have exited. */
static pid_t living_thread(const struct qemu_engine *q, pid_t pid)
{
	for (const struct qemu_thread *t = q->threads; t; t = t->next)
		if (t->process && t->process->pid == pid && !t->exited && !t->gone)
			return t->tid;
	return pid;
}

ssize_t qemu_state_host_read(const struct qemu_engine *q, pid_t pid, u64 addr, void *buf,
			     size_t size)
{
	char path[64];
	ssize_t got;
	int fd;

	pid = living_thread(q, pid);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		struct iovec local = {buf, size}, remote = {(void *)(uintptr_t)addr, size};
		int denied = errno;

		got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
		return got > 0 ? got : -denied;
	}
	got = pread(fd, buf, size, (off_t)addr);
	if (got < 0)
		got = -errno;
	close(fd);
	return got;
}

/* A thread that is about to exit: qemu has freed its state, or gives it to another thread. */
static bool has_left(const struct qemu_thread *t, const struct qemu_rec *rec)
{
	return qemu_load(&rec->in_syscall) &&
	       t->process->arch->call(rec->syscall_nr) == QEMU_CALL_EXIT;
}

int qemu_state_env(struct qemu_engine *q, struct qemu_thread *t, union qemu_env *env)
{
	struct qemu_rec *rec = qemu_ring_rec(q, t);
	size_t size = t->process->arch->env_size;

	if (!rec || !rec->env || !rec->regs_valid || (t->cut_off && !rec->in_syscall))
		return -ENODATA;
	if (qemu_state_host_read(q, t->process->pid, rec->env, env, size) != (ssize_t)size)
		return -EFAULT;
	return has_left(t, rec) ? -ENODATA : 0;
}

int qemu_state_regs(struct emu_task *task, struct auxtap_regs *regs)
{
	struct qemu_thread *t = emu_task_priv(task);
	union qemu_env env;

	memset(regs, 0, sizeof(*regs));
	if (!t)
		return 0;
	regs->arch = t->process->arch->arch;
	if (qemu_state_env(qemu_engine(emu_task_emu(task)), t, &env))
		return 0; /* no register is known: the thread has not run yet */
	if (t->is_refused) {
		t->process->arch->set_ip(&env, t->refused_ip);
		t->process->arch->set_sp(&env, t->refused_sp);
	}
	t->process->arch->regs(&env, regs);
	return 0;
}

int qemu_state_siginfo(struct emu_task *task, siginfo_t *info)
{
	struct qemu_thread *t = emu_task_priv(task);

	if (!t || !t->dying.si_signo)
		return -ENODATA;
	*info = t->dying;
	return 0;
}

int qemu_state_facts(struct emu_task *task, struct auxtap_target_facts *facts)
{
	struct qemu_thread *t = emu_task_priv(task);
	const struct qemu_rec *rec = t ? qemu_ring_rec(qemu_engine(emu_task_emu(task)), t) : NULL;

	if (!rec)
		return -ENODATA;
	facts->base = t->process->guest_base;
	facts->stack = rec->stack;
	facts->has_core_limit = qemu_load(&rec->asked_core_limit);
	facts->core_limit = facts->has_core_limit ? rec->core_limit : 0;
	facts->is_cut_off = t->cut_off && !rec->in_syscall;
	return 0;
}

ssize_t qemu_state_mem(struct emu *emu, pid_t pid, u64 addr, void *buf, size_t size)
{
	struct qemu_engine *q = qemu_engine(emu);
	struct qemu_process *p = qemu_process_find(q, pid);
	const struct qemu_range *r;
	size_t done = 0;
	int err = -EFAULT;

	if (!p)
		return -ESRCH;
	/* range by range: qemu's own memory is not part of the program */
	while (done < size && (r = qemu_maps_find(p, addr + done))) {
		size_t part = size - done;
		ssize_t got;

		if (part > r->end - (addr + done))
			part = r->end - (addr + done);
		got = qemu_state_host_read(q, pid, p->guest_base + addr + done, (u8 *)buf + done,
					   part);
		if (got < 0 && got != -EIO)
			err = (int)got;
		if (got <= 0)
			break;
		done += (size_t)got;
		if ((size_t)got < part)
			break;
	}
	return done ? (ssize_t)done : err;
}

ssize_t qemu_state_values(struct emu_task *task, u64 off, void *buf, size_t size)
{
	struct qemu_engine *q = qemu_engine(emu_task_emu(task));
	struct qemu_thread *t = emu_task_priv(task);
	struct qemu_rec *rec = t ? qemu_ring_rec(q, t) : NULL;

	if (!rec || !rec->values)
		return -ENODATA;
	return qemu_state_host_read(q, t->process->pid, rec->values + off, buf, size);
}

ssize_t qemu_state_heap(struct emu_task *task, u64 off, void *buf, size_t size)
{
	struct qemu_engine *q = qemu_engine(emu_task_emu(task));
	struct qemu_thread *t = emu_task_priv(task);
	struct qemu_rec *rec = t ? qemu_ring_rec(q, t) : NULL;

	if (!rec || !rec->heap)
		return -ENODATA;
	return qemu_state_host_read(q, t->process->pid, rec->heap + off, buf, size);
}

ssize_t qemu_state_maps(struct emu *emu, pid_t pid, char **text)
{
	struct qemu_process *p = qemu_process_find(qemu_engine(emu), pid);

	return p ? qemu_maps_text(p, text) : -ESRCH;
}
