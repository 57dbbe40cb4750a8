// SPDX-License-Identifier: BSD-2-Clause
/*
 * Whether single-stepping is visible. Looks for TF wherever a program can find its own flags:
 * pushf, r11 after a system call, signal frames, a forked child; and single-steps itself and uses
 * int3, which must work as usual. Traced or not, it prints nothing and exits with 0.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define TF 0x100ul

static int nr_bad, nr_traps;
static volatile int nr_usr1, nr_nested;
static sigjmp_buf back;

static void check(int ok, const char *what)
{
	if (ok)
		return;
	printf("tf: %s\n", what);
	nr_bad++;
}

static unsigned long flags_now(void)
{
	unsigned long flags;

	__asm__ volatile("pushfq; popq %0" : "=r"(flags) : : "memory");
	return flags;
}

/* rflags as SYSCALL left them */
static unsigned long r11_of_getppid(void)
{
	register unsigned long r11 __asm__("r11") = 0;
	long ret;

	__asm__ volatile("syscall" : "=a"(ret), "+r"(r11) : "a"(SYS_getppid) : "rcx", "memory");
	return r11;
}

static unsigned long frame_flags(const void *context)
{
	return (unsigned long)((const ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
}

static void on_usr1(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	check(!(frame_flags(context) & TF), "TF in a signal frame");
	check(!(flags_now() & TF), "TF in a handler");
	if (!nr_usr1++)
		raise(SIGUSR2); /* a frame on a frame */
}

static void on_usr2(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	check(!(frame_flags(context) & TF), "TF in a nested frame");
	nr_nested++;
}

static void on_segv(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	check(!(frame_flags(context) & TF), "TF in the frame of a fault");
	siglongjmp(back, 1);
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
	nr_traps++;
}

static void install(int sig, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = handler;
	sa.sa_flags = SA_SIGINFO;
	sigaction(sig, &sa, NULL);
}

static void fault(void)
{
	char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!sigsetjmp(back, 1))
		*(volatile char *)page = 1;
	check(!(flags_now() & TF), "TF after a fault");
	munmap(page, 4096);
}

/* Three instructions under a TF of our own: a trap after each, and one for popf that ends it. */
static void step_myself(void)
{
	nr_traps = 0;
	__asm__ volatile("pushfq\n\t"
			 "orq $0x100, (%%rsp)\n\t"
			 "popfq\n\t"
			 "nop\n\t"
			 "nop\n\t"
			 "pushfq\n\t"
			 "andq $~0x100, (%%rsp)\n\t"
			 "popfq\n\t"
			 "nop"
			 :
			 :
			 : "memory", "cc");
	check(nr_traps == 5, "stepping itself gives another number of traps");
	check(!(flags_now() & TF), "TF after stepping itself");
}

static void break_myself(void)
{
	nr_traps = 0;
	__asm__ volatile("int3\n\tnop\n\tint3" : : : "memory");
	check(nr_traps == 2, "int3 gives another number of traps");
}

static void fork_child(void)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(flags_now() & TF ? 1 : 0);
	waitpid(pid, &status, 0);
	check(status == 0, "TF in a forked child");
}

int main(void)
{
	struct timespec ts;
	char copied[300];

	install(SIGUSR1, on_usr1);
	install(SIGUSR2, on_usr2);
	install(SIGSEGV, on_segv);
	install(SIGTRAP, on_trap);
	check(!(flags_now() & TF), "TF in pushf");
	check(!(r11_of_getppid() & TF), "TF in r11");
	for (int i = 0; i < 3; i++)
		kill(getpid(), SIGUSR1);
	check(nr_usr1 == 3 && nr_nested == 1, "signals lost");
	fault();
	step_myself();
	break_myself();
	fork_child();
	clock_gettime(CLOCK_MONOTONIC, &ts);
	memset(copied, 1, sizeof(copied));
	__asm__ volatile("rep stosb" : : "D"(copied), "c"(sizeof(copied)), "a"(0) : "memory");
	check(!copied[299], "rep");
	return nr_bad ? 1 : 0;
}
