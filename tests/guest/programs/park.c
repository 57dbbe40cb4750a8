// SPDX-License-Identifier: BSD-2-Clause
/*
 * park FILE: stays in a signal handler until FILE appears, then checks that no TF is in the frame
 * it returns through, in its own flags or r11, or is restored from it. Prints 'parked' once it is
 * in the handler.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define TF 0x100ul

static const char *file;
static volatile int bad;

static unsigned long flags_now(void)
{
	unsigned long flags;

	__asm__ volatile("pushfq; popq %0" : "=r"(flags) : : "memory");
	return flags;
}

static unsigned long r11_of_getppid(void)
{
	register unsigned long r11 __asm__("r11") = 0;
	long ret;

	__asm__ volatile("syscall" : "=a"(ret), "+r"(r11) : "a"(SYS_getppid) : "rcx", "memory");
	return r11;
}

static void on_usr1(int sig, siginfo_t *info, void *context)
{
	const struct timespec pause = {.tv_nsec = 50 * 1000 * 1000};
	const ucontext_t *uc = context;

	(void)sig;
	(void)info;
	if (write(1, "parked\n", 7) != 7)
		bad = 1;
	while (access(file, F_OK))
		nanosleep(&pause, NULL);
	if ((unsigned long)uc->uc_mcontext.gregs[REG_EFL] & TF)
		bad = 2;
	if ((unsigned long)uc->uc_mcontext.gregs[REG_R11] & TF)
		bad = 4;
	if (flags_now() & TF)
		bad = 5;
	if (r11_of_getppid() & TF)
		bad = 6;
}

int main(int argc, char **argv)
{
	struct sigaction sa;

	if (argc != 2)
		return 2;
	file = argv[1];
	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = on_usr1;
	sa.sa_flags = SA_SIGINFO;
	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
	for (int i = 0; i < 1000 && !bad; i++) {
		if ((flags_now() | r11_of_getppid()) & TF)
			bad = 3;
	}
	printf("park: %d\n", bad);
	return bad;
}
