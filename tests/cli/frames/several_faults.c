/* SPDX-License-Identifier: BSD-2-Clause */
/* Several faults go to the program's own handler: several_faults HOW, see main(). */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE   65536 /* at least */
#define NR_MAX 24

static char *pages, *volatile nowhere;
static sigjmp_buf env;
static volatile int nr_left, in_fault;
static const char *how;

__attribute__((noinline)) static void repaired(int i)
{
	pages[(size_t)i * PAGE] = 1;
}

__attribute__((noinline)) static void probed(void)
{
	nowhere[1] = 1;
}

__attribute__((noinline)) static void fatal(void)
{
	nowhere[2] = 1;
}

__attribute__((noinline)) static void in_handler(void)
{
	nowhere[3] = 1;
}

__attribute__((noinline)) static void writes(char *addr)
{
	*(volatile char *)addr = 1;
}

static void *other(void *arg)
{
	repaired(NR_MAX);
	return arg;
}

static void run_other(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, other, NULL);
	pthread_join(thread, NULL);
}

static void repair_all(void)
{
	for (int i = 0; i < NR_MAX; i++)
		repaired(i);
}

static void on_fault(int signo, siginfo_t *info, void *context)
{
	char *addr = info->si_addr;

	(void)signo;
	(void)context;
	if (addr >= pages && addr < pages + (NR_MAX + 1) * PAGE) {
		mprotect(addr, 1, PROT_READ | PROT_WRITE);
		if (!strncmp(how, "late", 4))
			raise(SIGUSR1); /* blocked: it comes when the handler returns */
		return;
	}
	if (nr_left) {
		nr_left--;
		siglongjmp(env, 1);
	}
	if (!strcmp(how, "default")) { /* the instruction faults again */
		signal(SIGSEGV, SIG_DFL);
		return;
	}
	if (!strcmp(how, "busy"))
		repair_all();
	if (!strcmp(how, "thread"))
		run_other();
	if (!strcmp(how, "nested") && !in_fault++)
		in_handler();
	if (!strcmp(how, "same") && !in_fault++)
		writes((char *)7);
	if (!strcmp(how, "same-repaired"))
		writes(pages);
	abort();
}

__attribute__((noinline)) static int divides(int by)
{
#ifdef __x86_64__
	__asm__ volatile("cltd\n\tidivl %1" : "+a"(by) : "c"(0) : "rdx");
#endif
	return by;
}

static void on_division(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
#ifdef __x86_64__
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RCX] = 2;
#endif
	(void)context;
	raise(SIGUSR1);
}

__attribute__((noinline)) static void on_usr1(int signo)
{
	(void)signo;
	abort();
}

/* Its first instructions fault. */
static void faults_at_once(int signo)
{
	(void)signo;
	*(volatile char *)0x22 = 1;
}

/* Its first instruction is undefined. */
static void traps(int signo)
{
	(void)signo;
#ifdef __x86_64__
	__asm__ volatile("ud2");
#else
	__asm__ volatile("udf #0");
#endif
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};

	how = argc > 1 ? argv[1] : "";
	if (!strcmp(how, "fresh"))
		abort();
	if (!strcmp(how, "recursive")) {
		action.sa_sigaction = NULL;
		action.sa_handler = faults_at_once;
		action.sa_flags = SA_NODEFER;
	}
	if (!strcmp(how, "traps")) {
		action.sa_flags = 0;
		action.sa_handler = traps;
		sigaction(SIGILL, &action, NULL);
	}
	pages = mmap(NULL, (NR_MAX + 1) * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGSEGV, &action, NULL);
	if (!strncmp(how, "many", 4))
		repair_all();
	if (!strcmp(how, "left") || !strcmp(how, "end") || strstr(how, "others")) {
		nr_left = 2;
		sigsetjmp(env, 1);
		if (nr_left)
			probed();
	}
	if (!strncmp(how, "late", 4)) {
		signal(SIGUSR1, on_usr1);
		sigfillset(&action.sa_mask);
		action.sa_flags = SA_SIGINFO;
		sigaction(SIGSEGV, &action, NULL);
		action.sa_sigaction = on_division;
		sigaction(SIGFPE, &action, NULL);
		if (!strcmp(how, "late-division"))
			divides(7);
		repaired(0);
	}
	if (!strncmp(how, "same", 4))
		writes((char *)5);
	if (!strcmp(how, "exec")) {
		repaired(0);
		execl(argv[0], argv[0], argc > 2 ? argv[2] : "fresh", (char *)NULL);
	}
	if (strstr(how, "others"))
		run_other();
	if (strcmp(how, "end") && !strstr(how, "others"))
		fatal();
	abort();
}
