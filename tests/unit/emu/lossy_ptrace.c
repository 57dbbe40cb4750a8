// SPDX-License-Identifier: BSD-2-Clause
/*
 * Linked into an auxtap-emu of its own (emu_lossy): a machine that loses the traps of single
 * steps: of the steps that may be lost every EMU_LOSE-th, from the EMU_LOSE_FIRST-th on. Every real
 * step goes to the file EMU_STEPS.TID as a struct lossy_step: the instructions that really ran.
 * Some virtual machines lose the trap of each cpuid, which they execute themselves: what runs after
 * it is in the file, too, and none is lost on purpose beside one, for the engine can find one only.
 * It also delays: the first status of the EMU_LATE-th thread that is waited for by its number (0:
 * the program itself) comes EMU_LATE_MS after the first waitpid().
 * EMU_VANISH: the ends of tasks are never reported.
 */
#include "lossy_ptrace.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_FILES 16

long __real_ptrace(int request, pid_t pid, void *addr, void *data);
long __wrap_ptrace(int request, pid_t pid, void *addr, void *data);
pid_t __real_waitpid(pid_t pid, int *status, int options);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);

static struct {
	pid_t tid;
	FILE *file;
	struct lossy_step last;
} files[MAX_FILES];

/* Handles a stop that arrived when a step's was awaited. */
static pid_t kept_tid;
static int kept_status;

static bool is_cpuid(const struct lossy_step *step)
{
	return step->code[0] == 0x0f && step->code[1] == 0xa2;
}

static bool look_at(pid_t tid, uint64_t ip, struct lossy_step *step)
{
	long word;

	memset(step, 0, sizeof(*step));
	errno = 0;
	word = __real_ptrace(PTRACE_PEEKTEXT, tid, (void *)ip, NULL);
	step->ip = ip;
	memcpy(step->code, &word, sizeof(step->code));
	return !errno;
}

static void write_step(pid_t tid, const struct lossy_step *step)
{
	const char *path = getenv("EMU_STEPS");
	struct lossy_step between;
	uint64_t after_cpuid;
	char name[128];
	int i = 0;

	if (!path)
		return;
	while (i < MAX_FILES - 1 && files[i].tid && files[i].tid != tid)
		i++;
	if (!files[i].tid) {
		snprintf(name, sizeof(name), "%s.%d", path, (int)tid);
		files[i].tid = tid;
		files[i].file = fopen(name, "ae");
	}
	if (!files[i].file || files[i].tid != tid)
		return;
	after_cpuid = is_cpuid(&files[i].last) ? files[i].last.ip + 2 : step->ip;
	if (step->ip != after_cpuid && step->ip != files[i].last.ip &&
	    look_at(tid, after_cpuid, &between))
		fwrite(&between, sizeof(between), 1, files[i].file);
	fwrite(step, sizeof(*step), 1, files[i].file);
	fflush(files[i].file);
	files[i].last = *step;
}

static bool look(pid_t tid, struct lossy_step *step)
{
	uint64_t ip;

	errno = 0;
	ip = (uint64_t)__real_ptrace(PTRACE_PEEKUSER, tid, (void *)offsetof(struct user, regs.rip),
				     NULL);
	return !errno && look_at(tid, ip, step);
}

/*
 * System calls trap by software, and may take for ever. After popf and iret TF is off: what
 * follows is not a step of two instructions.
 */
static bool may_be_lost(const struct lossy_step *step)
{
	const uint8_t *code = step->code;

	if ((code[0] & 0xf0) == 0x40)
		code++;
	return !(code[0] == 0x0f && code[1] == 0x05) && code[0] != 0x9d && code[0] != 0xcf &&
	       !is_cpuid(step);
}

static long number_in(const char *variable)
{
	const char *text = getenv(variable);

	return text ? atol(text) : 0;
}

static bool lose(void)
{
	static unsigned long nr;
	static long every = -1, first;

	if (every < 0) {
		every = number_in("EMU_LOSE");
		first = number_in("EMU_LOSE_FIRST");
	}
	return every && nr++ % (unsigned long)every == (unsigned long)first;
}

long __wrap_ptrace(int request, pid_t pid, void *addr, void *data)
{
	struct lossy_step step, next;
	siginfo_t info;
	int status;

	if ((request != PTRACE_SINGLESTEP && request != PTRACE_SYSCALL) || !look(pid, &step))
		return __real_ptrace(request, pid, addr, data);
	if (request == PTRACE_SYSCALL || data || !may_be_lost(&step) || !lose()) {
		write_step(pid, &step);
		return __real_ptrace(request, pid, addr, data);
	}
	if (__real_ptrace(request, pid, addr, NULL))
		return -1;
	while (__real_waitpid(pid, &status, __WALL) < 0)
		if (errno != EINTR)
			return 0;
	if (status != (SIGTRAP << 8 | 0x7f) || __real_ptrace(PTRACE_GETSIGINFO, pid, NULL, &info) ||
	    info.si_code != TRAP_TRACE || !look(pid, &next) || is_cpuid(&next)) {
		write_step(pid, &step);
		kept_tid = pid;
		kept_status = status;
		return 0;
	}
	step.lost = 1;
	write_step(pid, &step);
	write_step(pid, &next);
	return __real_ptrace(request, pid, addr, NULL);
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool not_yet(pid_t pid)
{
	static pid_t seen;
	static long nr = -1, until_ms;
	const char *late = getenv("EMU_LATE");

	if (!late || pid <= 0)
		return false;
	if (pid != seen && nr < atol(late)) {
		seen = pid;
		nr++;
		until_ms = now_ms() + number_in("EMU_LATE_MS");
	}
	return pid == seen && nr == atol(late) && now_ms() < until_ms;
}

pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
	if (not_yet(pid))
		return 0;
	if (kept_tid && (pid == -1 || pid == kept_tid)) {
		pid = kept_tid;
		kept_tid = 0;
		if (status)
			*status = kept_status;
		return pid;
	}
	do {
		pid = __real_waitpid(pid, status, options);
	} while (pid > 0 && status && !WIFSTOPPED(*status) && getenv("EMU_VANISH"));
	return pid;
}
