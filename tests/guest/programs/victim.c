// SPDX-License-Identifier: BSD-2-Clause
/*
 * victim where | MODE: stepping must be invisible to it, whatever is done to it and whatever it
 * does to itself. Prints the same and ends the same traced or not; 'where' prints its labels, as
 * 'NAME ADDRESS FILE-OFFSET'. Output that varies from run to run goes to stderr.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <linux/rseq.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define TF 0x100ul

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

extern const char region_loop[], region_after_ss[], region_store[], region_nop[], region_pop[];
extern const char read_syscall[], rseq_begin[], rseq_jump[], rseq_end[], rseq_abort[];
void region(void);
long read_byte(int fd, char *byte);
void rseq_spin(volatile uint64_t *rseq_cs, const struct rseq_cs *cs, volatile int *nr);

int watched;
unsigned long seen_flags;

/* 3 rounds; pushf where mov ss suppressed the trap, a store, a system call, an indirect jump */
__asm__(".text\n"
	".globl region, region_loop, region_after_ss, region_store, region_nop, region_pop\n"
	"region:\n\t"
	"pushq %rbx\n\t"
	"movl $3, %ebx\n"
	"region_loop:\n\t"
	"movl %ss, %eax\n\t"
	"movl %eax, %ss\n"
	"region_after_ss:\n\t"
	"pushfq\n"
	"region_pop:\n\t"
	"popq %rax\n\t"
	"orq %rax, seen_flags(%rip)\n"
	"region_store:\n\t"
	"incl watched(%rip)\n\t"
	"movl $39, %eax\n\t" /* getpid */
	"syscall\n\t"
	"orq %r11, seen_flags(%rip)\n\t"
	"leaq region_nop(%rip), %rdx\n\t"
	"jmp *%rdx\n"
	"region_nop:\n\t"
	"nop\n\t"
	"decl %ebx\n\t"
	"jnz region_loop\n\t"
	"popq %rbx\n\t"
	"ret\n");

__asm__(".globl read_byte, read_syscall\n"
	"read_byte:\n\t"
	"movl $1, %edx\n\t"
	"xorl %eax, %eax\n"
	"read_syscall:\n\t"
	"syscall\n\t"
	"ret\n");

/*
 * rdi: the thread's rseq_cs field, rsi: the sequence, rdx: rounds. Only an abort leaves the loop.
 */
__asm__(".globl rseq_spin, rseq_begin, rseq_jump, rseq_end, rseq_abort\n"
	"rseq_spin:\n\t"
	"movq %rsi, (%rdi)\n"
	"rseq_begin:\n\t"
	"leaq rseq_jump(%rip), %rax\n"
	"rseq_jump:\n\t"
	"jmp *%rax\n"
	"rseq_end:\n\t"
	"ud2\n\t"
	".long 0x53053053\n" /* RSEQ_SIG */
	"rseq_abort:\n\t"
	"incl (%rdx)\n\t"
	"ret\n");

static void where(void)
{
	/* clang-format off */
	static const struct {
		const char *name, *at;
	} labels[] = {
		{ "region_loop", region_loop },	    { "region_after_ss", region_after_ss },
		{ "region_store", region_store },   { "region_nop", region_nop },
		{ "region_pop", region_pop },	    { "read_syscall", read_syscall },
		{ "rseq_abort", rseq_abort },
	};
	/* clang-format on */
	const ElfW(Ehdr) *elf = (const ElfW(Ehdr) *)0x400000;
	const ElfW(Phdr) *ph = (const ElfW(Phdr) *)(0x400000 + elf->e_phoff);

	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
		uintptr_t at = (uintptr_t)labels[i].at;

		for (int j = 0; j < elf->e_phnum; j++)
			if (ph[j].p_type == PT_LOAD && at - ph[j].p_vaddr < ph[j].p_filesz)
				printf("%s %lx %lx\n", labels[i].name, at,
				       at - ph[j].p_vaddr + ph[j].p_offset);
	}
}

static void run(int nr)
{
	for (int i = 0; i < nr; i++)
		region();
	printf("watched %d, flags %lx\n", watched, seen_flags & TF);
}

static void install(int sig, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = handler;
	sa.sa_flags = SA_SIGINFO | SA_RESTART;
	sigaction(sig, &sa, NULL);
}

static unsigned long seen_r11, seen_efl;
static volatile int nr_signals;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	const greg_t *regs = ((const ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig;
	(void)info;
	seen_r11 |= (unsigned long)regs[REG_R11];
	seen_efl |= (unsigned long)regs[REG_EFL];
	nr_signals++;
}

/* ---- breakpoints of perf ---- */

/* Of execution only: QEMU 7.2 hung when a data watchpoint met a single step, ours or not. */
static int open_breakpoint(uintptr_t at, int sigtrap)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_BREAKPOINT;
	attr.bp_type = HW_BREAKPOINT_X;
	attr.bp_addr = at;
	attr.bp_len = sizeof(long);
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	if (sigtrap) {
		attr.sample_period = 1;
		attr.sigtrap = 1;
		attr.remove_on_exec = 1;
	}
	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void breakpoints(void)
{
	int counting = open_breakpoint((uintptr_t)region_nop, 0);
	int trapping = open_breakpoint((uintptr_t)region_pop, 1);
	uint64_t execs = 0;

	install(SIGTRAP, on_signal);
	run(4);
	close(trapping);
	run(1);
	if (read(counting, &execs, 8) != 8)
		perror("breakpoints");
	printf("execs %lu, traps %d, flags %lx %lx\n", execs, nr_signals, seen_r11 & TF,
	       seen_efl & TF);
}

/* ---- system calls that do not reach the tracepoint ---- */

static unsigned long r11_of(long nr, long *ret)
{
	register unsigned long r11 __asm__("r11") = 0;

	__asm__ volatile("syscall" : "=a"(*ret), "+r"(r11) : "a"(nr) : "rcx", "memory");
	return r11;
}

static void seccomp(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 42),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_gettid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {sizeof(filter) / sizeof(filter[0]), filter};
	long ret;

	install(SIGSYS, on_signal);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		perror("seccomp");
	for (int i = 0; i < 5; i++) {
		seen_flags |= r11_of(SYS_getppid, &ret);
		if (ret != -42)
			printf("getppid: %ld\n", ret);
		seen_flags |= r11_of(SYS_gettid, &ret);
	}
	printf("flags %lx, in frames %lx %lx, signals %d\n", seen_flags & TF, seen_r11 & TF,
	       seen_efl & TF, nr_signals);
}

static volatile char blocked;

static void on_dispatch(int sig, siginfo_t *info, void *context)
{
	blocked = 0; /* otherwise sigreturn would be dispatched here, too */
	on_signal(sig, info, context);
}

static void dispatch(void)
{
	long ret;

	install(SIGSYS, on_dispatch);
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, &blocked))
		perror("dispatch");
	for (int i = 0; i < 5; i++) {
		blocked = 1;
		seen_flags |= r11_of(SYS_getppid, &ret);
		if (ret != SYS_getppid)
			printf("getppid: %ld\n", ret);
	}
	printf("flags %lx, in frames %lx %lx, signals %d\n", seen_flags & TF, seen_r11 & TF,
	       seen_efl & TF, nr_signals);
}

/* ---- restartable sequences ---- */

static volatile int stop;

static void on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *compete(void *unused)
{
	on_cpu(1);
	while (!stop)
		sched_yield();
	return unused;
}

static void rseq(void)
{
	static struct rseq_cs cs __attribute__((aligned(32)));
	struct rseq *area = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
	struct itimerval every = {{0, 3000}, {0, 3000}};
	volatile int nr = 0;
	pthread_t thread;

	if (!__rseq_size) {
		printf("no rseq\n");
		return;
	}
	cs.start_ip = (uintptr_t)rseq_begin;
	cs.post_commit_offset = (uintptr_t)(rseq_end - rseq_begin);
	cs.abort_ip = (uintptr_t)rseq_abort;
	on_cpu(1);
	pthread_create(&thread, NULL, compete, NULL);
	for (int i = 0; i < 20; i++) /* by preemption only */
		rseq_spin((volatile uint64_t *)&area->rseq_cs, &cs, &nr);
	install(SIGALRM, on_signal);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; i < 20; i++)
		rseq_spin((volatile uint64_t *)&area->rseq_cs, &cs, &nr);
	stop = 1;
	pthread_join(thread, NULL);
	printf("aborts %d, flags %lx\n", nr, seen_efl & TF);
}

/* ---- a system call that is restarted without a handler having run ---- */

static int pipe_fds[2];

static void *steal(void *unused)
{
	const struct timespec ms = {.tv_nsec = 2000000}, zero = {0};
	sigset_t set;

	on_cpu(0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < 30; i++) {
		nanosleep(&ms, NULL);
		kill(getpid(), SIGUSR1); /* wakes the main thread, which finds nothing */
		sigtimedwait(&set, NULL, &zero);
	}
	if (write(pipe_fds[1], "x", 1) != 1)
		perror("write");
	return unused;
}

static void restart(void)
{
	struct perf_event_attr attr;
	unsigned int id = 0;
	uint64_t count = 0;
	pthread_t thread;
	char byte = 0;
	FILE *f = fopen("/sys/kernel/tracing/events/raw_syscalls/sys_enter/id", "re");
	int fd;

	if (!f || fscanf(f, "%u", &id) != 1 || pipe(pipe_fds))
		perror("restart");
	if (f)
		fclose(f);
	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = id;
	attr.disabled = 1;
	install(SIGUSR1, on_signal);
	on_cpu(1);
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "id == 0") ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		perror("restart: counting");
	pthread_create(&thread, NULL, steal, NULL);
	read_byte(pipe_fds[0], &byte);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (read(fd, &count, sizeof(count)) != sizeof(count))
		perror("restart: count");
	pthread_join(thread, NULL);
	printf("read %c\n", byte);
	fprintf(stderr, "read calls: %lu\n", count);
}

/* ---- other ways into the kernel ---- */

static void on_segv(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	on_signal(sig, info, context);
	_exit(3);
}

static void vsyscall(void)
{
	time_t (*vtime)(time_t *) = (time_t(*)(time_t *))0xffffffffff600400ul;
	int bad = 0;

	install(SIGSEGV, on_segv); /* a kernel without */
	for (int i = 0; i < 10; i++) {
		time_t first = time(NULL), got = vtime(NULL);

		bad += got < first || got > first + 2;
		region();
	}
	printf("vsyscall: bad %d, watched %d, flags %lx\n", bad, watched, seen_flags & TF);
}

static void int80(void)
{
	unsigned long kept = 0;
	long pid;

	for (int i = 0; i < 5; i++) {
		register unsigned long r11 __asm__("r11") = 0x5100;

		/* not SYSCALL: r11 belongs to the program, whatever r11 and rcx contain */
		__asm__ volatile("leaq 1f(%%rip), %%rcx\n\tint $0x80\n1:"
				 : "=a"(pid), "+r"(r11)
				 : "a"(20)
				 : "rcx", "memory");
		kept |= r11;
		if (pid != getpid())
			printf("int80: %ld\n", pid);
		region();
	}
	printf("int80: watched %d, flags %lx, r11 %lx\n", watched, seen_flags & TF, kept);
}

int main(int argc, char **argv)
{
	/* clang-format off */
	static const struct {
		const char *name;
		void (*mode)(void);
	} modes[] = {
		{ "where", where },	{ "breakpoints", breakpoints }, { "seccomp", seccomp },
		{ "dispatch", dispatch }, { "rseq", rseq },		{ "restart", restart },
		{ "vsyscall", vsyscall }, { "int80", int80 },
	};
	/* clang-format on */

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 3 && !strcmp(argv[1], "run")) {
		run(atoi(argv[2]));
		return 0;
	}
	for (size_t i = 0; argc == 2 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(argv[1], modes[i].name))
			continue;
		modes[i].mode();
		return 0;
	}
	return 2;
}
