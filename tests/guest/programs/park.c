// SPDX-License-Identifier: BSD-2-Clause
/*
 * park FILE: sits in a signal handler until FILE appears, then checks that no TF is in the
 * frame it returns through, or comes back with it. Prints 'parked' when it sits there.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define TF 0x100ul

static const char *file;
static volatile int bad;

static void on_usr1(int sig, siginfo_t *info, void *context)
{
	const struct timespec pause = { .tv_nsec = 50 * 1000 * 1000 };
	const ucontext_t *uc = context;

	(void)sig;
	(void)info;
	if (write(1, "parked\n", 7) != 7)
		bad = 1;
	while (access(file, F_OK))
		nanosleep(&pause, NULL);
	if ((unsigned long)uc->uc_mcontext.gregs[REG_EFL] & TF)
		bad = 2;
}

int main(int argc, char **argv)
{
	struct sigaction sa;
	unsigned long flags;

	if (argc != 2)
		return 2;
	file = argv[1];
	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = on_usr1;
	sa.sa_flags = SA_SIGINFO;
	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
	for (int i = 0; i < 1000 && !bad; i++) {
		__asm__ volatile("pushfq; popq %0" : "=r"(flags) : : "memory");
		if (flags & TF)
			bad = 3;
	}
	printf("park: %d\n", bad);
	return bad;
}
