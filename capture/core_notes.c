// SPDX-License-Identifier: BSD-2-Clause
/*
 * Makes the notes of a core file, in the kernel's order: NT_PRSTATUS of the thread that died, the
 * notes of the process, its other registers, then the other threads. The layouts are those of Linux
 * on 64-bit little-endian machines, where x86-64 and AArch64 differ only in the registers.
 */
#include "core_file.h"
#include "process_start.h"
#include "util/sized.h"
#include "util/user_regs.h"
#include "util/vector.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REGSET_MAX 16384u

/* struct elf_prstatus up to the registers, whose number depends on the architecture. */
struct prstatus_head {
	int32_t si_signo, si_code, si_errno;
	int16_t cursig, padding;
	uint64_t sigpend, sighold;
	int32_t pid, ppid, pgrp, sid;
	int64_t utime[2], stime[2], cutime[2], cstime[2];
};

/* struct elf_prpsinfo */
struct prpsinfo {
	char state, sname, zomb, nice;
	uint32_t padding;
	uint64_t flag;
	uint32_t uid, gid;
	int32_t pid, ppid, pgrp, sid;
	char fname[16], psargs[PROCESS_ARGS_SIZE];
};

/* /proc/PID/task/TID/stat and status */
struct task_facts {
	int ppid, pgrp, sid, nice;
	unsigned long flags, utime, stime;
	uint64_t pending, blocked;
	unsigned int uid, gid;
};

static FILE *open_task(const struct core_process *p, pid_t tid, const char *name)
{
	char path[80];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", p->ev->pid, tid, name);
	return fopen(path, "re");
}

static void read_task(const struct core_process *p, pid_t tid, struct task_facts *t)
{
	FILE *f = open_task(p, tid, "stat");
	char line[1024];

	*t = (struct task_facts){0};
	if (f && fgets(line, sizeof(line), f)) {
		const char *rest = strrchr(line, ')'); /* the name may contain anything */

		if (rest)
			sscanf(rest + 1,
			       " %*c %d %d %d %*d %*d %lu %*u %*u %*u %*u %lu %lu %*d %*d %*d %d",
			       &t->ppid, &t->pgrp, &t->sid, &t->flags, &t->utime, &t->stime,
			       &t->nice);
	}
	if (f)
		fclose(f);
	f = open_task(p, tid, "status");
	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "Uid:", 4))
			t->uid = (unsigned int)strtoul(line + 4, NULL, 10);
		else if (!strncmp(line, "Gid:", 4))
			t->gid = (unsigned int)strtoul(line + 4, NULL, 10);
		else if (!strncmp(line, "SigPnd:", 7))
			t->pending = strtoull(line + 7, NULL, 16);
		else if (!strncmp(line, "SigBlk:", 7))
			t->blocked = strtoull(line + 7, NULL, 16);
	}
	if (f)
		fclose(f);
}

/* ---- notes as bytes ---- */

static int put_bytes(struct core_notes *notes, const void *bytes, size_t nr)
{
	size_t padded = (nr + 3) & ~(size_t)3;

	if (vector_grow_by(notes->bytes, notes->nr, padded, notes->max))
		return -ENOMEM;
	memset(notes->bytes + notes->nr, 0, padded);
	if (nr)
		memcpy(notes->bytes + notes->nr, bytes, nr);
	notes->nr += padded;
	return 0;
}

static int put_note(struct core_notes *notes, const char *name, uint32_t type, const void *desc,
		    size_t size)
{
	Elf64_Nhdr head = {.n_namesz = (uint32_t)strlen(name) + 1,
			   .n_descsz = (uint32_t)size,
			   .n_type = type};
	int ret = put_bytes(notes, &head, sizeof(head));

	if (!ret)
		ret = put_bytes(notes, name, head.n_namesz);
	return ret ? ret : put_bytes(notes, desc, size);
}

/* ---- registers ---- */

/* Fills struct user_regs_struct. orig_rax is -1: the thread is not in a system call. */
static void x86_gregs(const struct auxtap_regs *r, uint64_t *gregs)
{
	for (int i = 0; i < X86_NR_GREGS; i++)
		gregs[i] = x86_greg_order[i] >= 0 ? r->reg[x86_greg_order[i]] :
			   i == X86_GREG_ORIG	  ? UINT64_MAX :
						    0;
}

/* Returns the number of registers; 0: they are not known. */
static size_t thread_gregs(const struct core_process *p, pid_t tid, uint64_t *gregs)
{
	const struct auxtap_target_ops *target = p->s->be->target;
	size_t nr = p->arch == AUXTAP_ARCH_X86_64 ? X86_NR_GREGS : A64_NR_GREGS;
	size_t size = nr * sizeof(*gregs);
	struct auxtap_regs r;

	if (TARGET_HAS(target, regset) &&
	    target->regset(p->s->be->target_ctx, tid, NT_PRSTATUS, gregs, &size) == 0 &&
	    size == nr * sizeof(*gregs))
		return nr;
	if (target->regs(p->s->be->target_ctx, tid, &r) || r.arch != p->arch || !r.valid)
		return 0;
	if (p->arch == AUXTAP_ARCH_X86_64)
		x86_gregs(&r, gregs);
	else
		memcpy(gregs, r.reg, nr * sizeof(*gregs)); /* x0 … x30, sp, pc, pstate */
	return nr;
}

/* Adds a note with another set of registers, if the engine knows it. */
static int put_regset(const struct core_process *p, struct core_notes *notes, pid_t tid,
		      const char *name, uint32_t type)
{
	const struct auxtap_target_ops *target = p->s->be->target;
	_Alignas(8) unsigned char set[REGSET_MAX];
	size_t size = sizeof(set);

	if (!TARGET_HAS(target, regset) ||
	    target->regset(p->s->be->target_ctx, tid, (int)type, set, &size) || !size)
		return 0;
	return put_note(notes, name, type, set, size);
}

static bool has_regset(const struct core_process *p, pid_t tid, int type)
{
	const struct auxtap_target_ops *target = p->s->be->target;
	_Alignas(8) unsigned char set[REGSET_MAX];
	size_t size = sizeof(set);

	return TARGET_HAS(target, regset) &&
	       !target->regset(p->s->be->target_ctx, tid, type, set, &size);
}

/* ---- threads ---- */

static void ticks_to_time(unsigned long ticks, int64_t time[2])
{
	unsigned long hz = (unsigned long)sysconf(_SC_CLK_TCK);

	time[0] = (int64_t)(ticks / hz);
	time[1] = (int64_t)(ticks % hz * (1000000 / hz));
}

/* Returns 1 without a note if the thread's registers are not known. */
static int put_status(const struct core_process *p, struct core_notes *notes, pid_t tid)
{
	struct prstatus_head head = {0};
	unsigned char desc[sizeof(head) + A64_NR_GREGS * 8 + 8] = {0};
	uint64_t gregs[A64_NR_GREGS];
	size_t nr = thread_gregs(p, tid, gregs);
	struct task_facts t;
	uint32_t fpvalid;

	if (!nr)
		return 1;
	read_task(p, tid, &t);
	head.si_signo = p->ev->signo;
	head.cursig = (int16_t)p->ev->signo;
	head.sigpend = t.pending;
	head.sighold = t.blocked;
	head.pid = tid;
	head.ppid = t.ppid;
	head.pgrp = t.pgrp;
	head.sid = t.sid;
	ticks_to_time(t.utime, head.utime);
	ticks_to_time(t.stime, head.stime);
	fpvalid = has_regset(p, tid, NT_PRFPREG);
	memcpy(desc, &head, sizeof(head));
	memcpy(desc + sizeof(head), gregs, nr * 8);
	memcpy(desc + sizeof(head) + nr * 8, &fpvalid, sizeof(fpvalid));
	return put_note(notes, "CORE", NT_PRSTATUS, desc, sizeof(head) + nr * 8 + 8);
}

static int put_other_regsets(const struct core_process *p, struct core_notes *notes, pid_t tid)
{
	int ret = put_regset(p, notes, tid, "CORE", NT_PRFPREG);

	if (ret)
		return ret;
	return p->arch == AUXTAP_ARCH_X86_64 ? put_regset(p, notes, tid, "LINUX", NT_X86_XSTATE) :
					       put_regset(p, notes, tid, "LINUX", NT_ARM_TLS);
}

/* ---- the process ---- */

static int put_psinfo(const struct core_process *p, struct core_notes *notes,
		      const struct process_start *start)
{
	struct prpsinfo info = {.sname = 'R'};
	struct task_facts t;

	read_task(p, p->ev->tid, &t);
	info.nice = (char)t.nice;
	info.flag = t.flags;
	info.uid = t.uid;
	info.gid = t.gid;
	info.pid = p->ev->pid;
	info.ppid = t.ppid;
	info.pgrp = t.pgrp;
	info.sid = t.sid;
	memcpy(info.fname, p->ev->comm, sizeof(info.fname));
	info.fname[sizeof(info.fname) - 1] = '\0';
	memcpy(info.psargs, start->args, sizeof(info.psargs));
	return put_note(notes, "CORE", NT_PRPSINFO, &info, sizeof(info));
}

static int put_siginfo(const struct core_process *p, struct core_notes *notes)
{
	unsigned char bytes[128] = {0};
	siginfo_t info;

	if (p->s->be->target->siginfo(p->s->be->target_ctx, p->ev->tid, &info))
		return 0;
	memcpy(bytes, &info, sizeof(info) < sizeof(bytes) ? sizeof(info) : sizeof(bytes));
	return put_note(notes, "CORE", NT_SIGINFO, bytes, sizeof(bytes));
}

static bool is_file_mapping(const struct map_entry *e)
{
	return e->ino && *e->name;
}

static int put_files(const struct core_process *p, struct core_notes *notes)
{
	struct core_notes desc = {0};
	uint64_t words[3] = {0, CORE_PAGE};
	size_t names = 0;
	int ret;

	for (size_t i = 0; i < p->maps->nr; i++)
		words[0] += is_file_mapping(&p->maps->entries[i]);
	ret = put_bytes(&desc, words, 16);
	for (size_t i = 0; i < p->maps->nr && !ret; i++) {
		const struct map_entry *e = &p->maps->entries[i];

		if (!is_file_mapping(e))
			continue;
		words[0] = e->start;
		words[1] = e->end;
		words[2] = e->pgoff / CORE_PAGE;
		ret = put_bytes(&desc, words, sizeof(words));
		names += strlen(e->name) + 1;
	}
	if (!ret)
		ret = vector_grow_by(desc.bytes, desc.nr, names, desc.max);
	for (size_t i = 0; i < p->maps->nr && !ret; i++) {
		const struct map_entry *e = &p->maps->entries[i];
		size_t size = strlen(e->name) + 1;

		if (!is_file_mapping(e))
			continue;
		memcpy(desc.bytes + desc.nr, e->name, size);
		desc.nr += size;
	}
	if (!ret)
		ret = put_note(notes, "CORE", NT_FILE, desc.bytes, desc.nr);
	free(desc.bytes);
	return ret;
}

static int put_process(const struct core_process *p, struct core_notes *notes)
{
	struct process_start start;
	int ret;

	process_start_read(&start, p->s->be, p->ev->pid, p->ev->tid, p->maps, p->facts.stack);
	ret = put_psinfo(p, notes, &start);
	if (!ret)
		ret = put_siginfo(p, notes);
	if (!ret && start.nr_auxv)
		ret = put_note(notes, "CORE", NT_AUXV, start.auxv,
			       start.nr_auxv * sizeof(*start.auxv));
	if (!ret)
		ret = put_files(p, notes);
	process_start_free(&start);
	return ret;
}

int core_notes_make(const struct core_process *p, struct core_notes *notes)
{
	for (int i = 0; i < p->nr_tids; i++) {
		int ret = put_status(p, notes, p->tids[i]);

		if (ret == 1 && !i)
			return -ENODATA;
		if (ret == 1)
			continue;
		if (!ret && !i)
			ret = put_process(p, notes);
		if (!ret)
			ret = put_other_regsets(p, notes, p->tids[i]);
		if (ret)
			return ret;
	}
	return p->nr_tids ? 0 : -ENODATA;
}
