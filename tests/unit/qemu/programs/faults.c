// SPDX-License-Identifier: BSD-2-Clause
/*
 * Deterministic: every way to leave a block early that a signal handler survives. Static,
 * so that a reference run has the same addresses.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static sigjmp_buf again;
static volatile int nr_segv, nr_usr, nr_fpe, nr_ill, nr_nested;
static char *page;

static void on_segv_jump(int signo)
{
	(void)signo;
	nr_segv++;
	siglongjmp(again, 1);
}

static void on_segv_mend(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)context;
	nr_segv++;
	mprotect((void *)((unsigned long)info->si_addr & ~4095ul), 4096, PROT_READ | PROT_WRITE);
}

static void on_fpe(int signo, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)signo;
	(void)info;
	nr_fpe++;
	uc->uc_mcontext.gregs[REG_RCX] = 1; /* divide again */
}

static void on_ill(int signo, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)signo;
	(void)info;
	nr_ill++;
	uc->uc_mcontext.gregs[REG_RIP] += 2;
}

static void on_usr2(int signo)
{
	(void)signo;
	nr_nested++;
}

static void on_usr1(int signo)
{
	(void)signo;
	nr_usr++;
	raise(SIGUSR2);
}

static void install(int signo, void (*simple)(int), void (*full)(int, siginfo_t *, void *),
		    int flags)
{
	struct sigaction act;

	memset(&act, 0, sizeof(act));
	if (full) {
		act.sa_sigaction = full;
		flags |= SA_SIGINFO;
	} else {
		act.sa_handler = simple;
	}
	act.sa_flags = flags;
	sigaction(signo, &act, NULL);
}

int main(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	stack_t alt = {.ss_sp = stack, .ss_size = sizeof(stack)};
	sigset_t both;

	page = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(page, 7, 3 * 4096);

	/* the fault is in the middle of a block, which qemu then abandons */
	install(SIGSEGV, on_segv_jump, NULL, SA_NODEFER);
	for (int i = 0; i < 5; i++) {
		if (!sigsetjmp(again, 1))
			__asm__ volatile("movl $1, %%eax\n\taddl $2, %%eax\n\tmovl %%eax, (%0)\n\t"
					 "addl $3, %%eax\n\tsubl $1, %%eax\n"
					 :
					 : "r"(8l + i)
					 : "eax", "memory");
	}
	/* the same on another stack */
	sigaltstack(&alt, NULL);
	install(SIGSEGV, on_segv_jump, NULL, SA_NODEFER | SA_ONSTACK);
	if (!sigsetjmp(again, 1))
		__asm__ volatile("incl %%eax\n\tmovl (%0), %%eax\n\tincl %%eax"
				 :
				 : "r"(16l)
				 : "eax");
	/* a call to an unmapped address: the block completes, its target faults */
	if (!sigsetjmp(again, 1))
		((void (*)(void))0x123456)();

	/* the handler repairs and repeats, also REP in the middle of its run */
	install(SIGSEGV, NULL, on_segv_mend, 0);
	mprotect(page + 4096, 4096, PROT_NONE);
	{
		char *to = page + 100, *from = page + 5000;
		long n = 6000;

		__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
	}
	mprotect(page + 8192, 4096, PROT_NONE);
	__asm__ volatile("incl %%eax\n\tmovb $1, (%0)\n\tincl %%eax"
			 :
			 : "r"(page + 9000)
			 : "eax", "memory");

	install(SIGFPE, NULL, on_fpe, 0);
	__asm__ volatile(
		"movl $10, %%eax\n\txorl %%edx, %%edx\n\txorl %%ecx, %%ecx\n\tidivl %%ecx\n\tincl %%eax"
		:
		:
		: "eax", "ecx", "edx");
	install(SIGILL, NULL, on_ill, 0);
	__asm__ volatile("incl %%eax\n\tud2\n\tincl %%eax" : : : "eax");
	install(SIGTRAP, on_usr2, NULL, 0);
	__asm__ volatile("incl %%eax\n\tint3\n\tincl %%eax" : : : "eax");

	/* a handler inside a handler, by system calls; and two that are pending at once */
	install(SIGUSR1, on_usr1, NULL, 0);
	install(SIGUSR2, on_usr2, NULL, 0);
	raise(SIGUSR1);
	sigemptyset(&both);
	sigaddset(&both, SIGUSR1);
	sigaddset(&both, SIGUSR2);
	sigprocmask(SIG_BLOCK, &both, NULL);
	raise(SIGUSR1);
	raise(SIGUSR2);
	sigprocmask(SIG_UNBLOCK, &both, NULL);

	printf("segv %d fpe %d ill %d usr %d nested %d\n", nr_segv, nr_fpe, nr_ill, nr_usr,
	       nr_nested);
	return 0;
}
