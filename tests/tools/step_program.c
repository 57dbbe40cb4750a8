// SPDX-License-Identifier: BSD-2-Clause
/*
 * step_program RANGES OUT PROGRAM [ARGUMENT...]: executes the program in single steps, from its
 * entry on, until it dies, and writes what it executed within the ranges (lines 'FIRST LAST',
 * hexadecimal, addresses of the file; LAST is outside). Shares no code with auxtap: a reference for
 * its reports. OUT: records of four u64, see enum kind.
 */
#include <stdio.h>

#ifdef __x86_64__
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum kind {
	STEP,	/* address of the next instruction, stack pointer */
	LEFT,	/* the same, the first one outside of the ranges */
	SIGNAL, /* delivered: its number and code << 32, address */
	BASE,	/* of the program: what is added to addresses of the file, 0 */
	DEATH,	/* of the process: signal, 0 */
};

#define MAX_RANGES  4096
#define MAX_THREADS 256

struct thread {
	pid_t tid;
	bool inside, started;
};

static struct {
	uint64_t first, last;
} ranges[MAX_RANGES];
static unsigned int nr_ranges, nr_threads;
static struct thread threads[MAX_THREADS];
static uint64_t base;
static FILE *out;

static void put(enum kind kind, pid_t tid, uint64_t a, uint64_t b)
{
	uint64_t record[] = {kind, (uint64_t)tid, a, b};

	if (fwrite(record, sizeof(record), 1, out) != 1)
		exit(3);
}

static bool in_ranges(uint64_t ip)
{
	for (unsigned int i = 0; i < nr_ranges; i++)
		if (ip - base >= ranges[i].first && ip - base < ranges[i].last)
			return true;
	return false;
}

static struct thread *thread_of(pid_t tid)
{
	for (unsigned int i = 0; i < nr_threads; i++)
		if (threads[i].tid == tid)
			return &threads[i];
	if (nr_threads == MAX_THREADS)
		exit(3);
	threads[nr_threads].tid = tid;
	return &threads[nr_threads++];
}

static void read_ranges(const char *name)
{
	FILE *in = fopen(name, "r");

	if (!in) {
		perror(name);
		exit(3);
	}
	while (nr_ranges < MAX_RANGES &&
	       fscanf(in, "%" SCNx64 " %" SCNx64, &ranges[nr_ranges].first,
		      &ranges[nr_ranges].last) == 2)
		nr_ranges++;
	fclose(in);
}

/* The value of an entry of the auxiliary vector. */
static uint64_t auxiliary(pid_t pid, uint64_t type)
{
	uint64_t pair[2], value = 0;
	char name[64];
	FILE *in;

	snprintf(name, sizeof(name), "/proc/%d/auxv", (int)pid);
	in = fopen(name, "r");
	while (in && fread(pair, sizeof(pair), 1, in) == 1)
		if (pair[0] == type)
			value = pair[1];
	if (in)
		fclose(in);
	return value;
}

static uint64_t link_entry(const char *program)
{
	Elf64_Ehdr header = {.e_entry = 0};
	FILE *in = fopen(program, "r");

	if (!in || fread(&header, sizeof(header), 1, in) != 1)
		exit(3);
	fclose(in);
	return header.e_entry;
}

/* What ld.so does before the entry of the program is not stepped. */
static void run_to_entry(pid_t pid, const char *program)
{
	uint64_t entry = auxiliary(pid, AT_ENTRY);
	long word = ptrace(PTRACE_PEEKTEXT, pid, (void *)entry, NULL);
	struct user_regs_struct regs;
	int status;

	base = entry - link_entry(program);
	ptrace(PTRACE_POKETEXT, pid, (void *)entry, (void *)((word & ~0xffl) | 0xcc));
	if (ptrace(PTRACE_CONT, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid ||
	    !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
		exit(3);
	ptrace(PTRACE_POKETEXT, pid, (void *)entry, (void *)word);
	ptrace(PTRACE_GETREGS, pid, NULL, &regs);
	regs.rip = entry;
	ptrace(PTRACE_SETREGS, pid, NULL, &regs);
}

static void note_step(struct thread *thread)
{
	uint64_t ip, sp;
	bool inside;

	ip = (uint64_t)ptrace(PTRACE_PEEKUSER, thread->tid, offsetof(struct user, regs.rip), NULL);
	inside = in_ranges(ip);
	if (inside || thread->inside) {
		sp = (uint64_t)ptrace(PTRACE_PEEKUSER, thread->tid, offsetof(struct user, regs.rsp),
				      NULL);
		put(inside ? STEP : LEFT, thread->tid, ip, sp);
	}
	thread->inside = inside;
}

/* A stop of a thread; the signal to deliver, if it is one of the program's. */
static int stopped(struct thread *thread, int status)
{
	siginfo_t info;
	int number = WSTOPSIG(status);

	if (status >> 16)
		return 0; /* a clone */
	if (!thread->started) {
		thread->started = true;
		if (number == SIGSTOP)
			return 0;
	}
	if (ptrace(PTRACE_GETSIGINFO, thread->tid, NULL, &info))
		return 0;
	if (number == SIGTRAP && info.si_code != SI_TKILL && info.si_code != SI_USER &&
	    info.si_code != SI_KERNEL) {
		note_step(thread);
		return 0;
	}
	put(SIGNAL, thread->tid, (uint64_t)number | (uint64_t)(uint32_t)info.si_code << 32,
	    (uint64_t)info.si_addr);
	return number;
}

static int step_all(pid_t pid)
{
	int status = 0, number;
	pid_t tid;

	for (;;) {
		tid = waitpid(-1, &status, __WALL);
		if (tid < 0)
			return errno == ECHILD ? 0 : 3;
		if (WIFSTOPPED(status)) {
			number = stopped(thread_of(tid), status);
			ptrace(PTRACE_SINGLESTEP, tid, NULL, (void *)(long)number);
		} else if (tid == pid) {
			put(DEATH, tid, WIFSIGNALED(status) ? (uint64_t)WTERMSIG(status) : 0, 0);
		}
	}
}

int main(int argc, char **argv)
{
	cpu_set_t one;
	int status, result;
	pid_t pid;

	if (argc < 4)
		return 2;
	read_ranges(argv[1]);
	out = fopen(argv[2], "w");
	if (!out) {
		perror(argv[2]);
		return 3;
	}
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	pid = fork();
	if (!pid) {
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execv(argv[3], argv + 3);
		perror(argv[3]);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return 3;
	ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL));
	run_to_entry(pid, argv[3]);
	thread_of(pid)->started = true;
	put(BASE, pid, base, 0);
	note_step(thread_of(pid));
	ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
	result = step_all(pid);
	return fclose(out) ? 3 : result;
}
#else
int main(void)
{
	printf("single steps are for x86-64\n");
	return 77;
}
#endif
