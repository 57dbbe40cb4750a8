// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The qemu execution engine: its main loop and its operations. The program runs at qemu's speed in
 * other processes; this process consumes blocks and turns them into trace. qemu.h lists the parts.
 */
#include "qemu.h"
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void on_child(int signo)
{
	(void)signo;
	qemu_ring_wake();
}

bool qemu_pump(struct qemu_engine *q)
{
	bool worked = qemu_ptrace_reap(q);

	worked |= qemu_ring_consume(q, 256);
	worked |= qemu_ptrace_todo(q);
	if (q->nr_orphans)
		qemu_ptrace_orphans(q);
	return worked;
}

static int run(struct emu *emu)
{
	struct qemu_engine *q = qemu_engine(emu);
	struct sigaction act = {.sa_handler = on_child};
	u32 idle = 0;

	sigemptyset(&act.sa_mask);
	/* no SA_RESTART: the sleep in the ring must end */
	if (sigaction(SIGCHLD, &act, NULL))
		return -errno;
	while (!emu_hung_up(emu)) {
		if (emu_has_requests(emu)) {
			emu_serve(emu);
			idle = 0;
			continue;
		}
		if (!q->threads) {
			emu_wait(emu, -1);
			continue;
		}
		qemu_ptrace_over_memory(q);
		if (qemu_pump(q))
			idle = 0;
		else
			qemu_ring_sleep(q, idle++);
	}
	qemu_ring_close(q);
	qemu_ptrace_detach_all(q);
	return 0;
}

static int resume(struct emu_task *task)
{
	struct qemu_engine *q = qemu_engine(emu_task_emu(task));
	struct qemu_thread *t = emu_task_priv(task);
	struct qemu_process *p;
	struct qemu_rec *rec;

	if (!t || !t->nr_resumes)
		return -EINVAL;
	if (--t->nr_resumes)
		return 0;
	p = t->process;
	if (t->dying.si_signo) {
		/* the signal takes effect now, and kills the other threads where they stopped */
		if (t->dying.si_signo == SIGKILL)
			kill(p->pid, SIGKILL);
		else
			qemu_ptrace_continue(t, t->dying.si_signo);
		return 0;
	}
	if (t->gated) {
		t->gated = false;
		if (!p->reported_maps) {
			p->reported_maps = true;
			qemu_maps_report(p, task, 0, ~0ull);
		}
		rec = qemu_ring_rec(q, t);
		if (rec) {
			qemu_store(&rec->gate, 1);
			syscall(SYS_futex, &rec->gate, FUTEX_WAKE, 1, NULL, NULL, 0);
		}
		return 0;
	}
	if (!t->todo)
		qemu_ptrace_continue(t, 0);
	return 0;
}

/* The program continues untraced. */
static int detach(struct emu *emu, pid_t pid)
{
	struct qemu_engine *q = qemu_engine(emu);

	if (!qemu_process_find(q, pid))
		return -ESRCH;
	qemu_ring_close(q);
	return 0;
}

static int send_signal(struct emu *emu, pid_t pid, int signo)
{
	if (!qemu_process_find(qemu_engine(emu), pid))
		return -ESRCH;
	return kill(pid, signo) ? -errno : 0;
}

static int attach(struct emu *emu, pid_t pid, bool one_thread, char *why)
{
	(void)emu;
	(void)pid;
	(void)one_thread;
	strcpy(why, "qemu cannot take over a running process; use --source ptrace");
	return -EOPNOTSUPP;
}

static void sample(struct emu *emu, u32 pmsirr)
{
	struct qemu_engine *q = qemu_engine(emu);

	if (!q->shm)
		return;
	qemu_store(&q->shm->pmsirr, pmsirr);
	/* keep it for the rest of the session: some code has been translated for samples */
	qemu_store(&q->shm->sampled, 1);
}

static int open_engine(struct emu *emu)
{
	struct qemu_engine *q = calloc(1, sizeof(*q));

	if (!q)
		return -ENOMEM;
	q->emu = emu;
	q->shm_fd = -1;
	emu_set_engine_priv(emu, q);
	return 0;
}

static void close_engine(struct emu *emu)
{
	struct qemu_engine *q = qemu_engine(emu);

	qemu_ptrace_free_all(q);
	qemu_stream_free_blocks(q);
	qemu_ring_free(q);
	free(q);
}

const struct emu_engine_ops emu_engine_qemu = {
	.name = "qemu",
	.open = open_engine,
	.close = close_engine,
	.spawn = qemu_start,
	.attach = attach,
	.run = run,
	.resume = resume,
	.detach = detach,
	.signal = send_signal,
	.regs = qemu_state_regs,
	.siginfo = qemu_state_siginfo,
	.facts = qemu_state_facts,
	.mem = qemu_state_mem,
	.maps = qemu_state_maps,
	.values = qemu_state_values,
	.heap = qemu_state_heap,
	.before_encoding = qemu_code_executes,
	.code = qemu_code_records,
	.sample = sample,
};
