// SPDX-License-Identifier: BSD-2-Clause
/* Dies in a signal handler that runs on an alternate stack. */
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

static volatile int spinning = 1;
static int *volatile wrong;

static void note(int signo)
{
	*wrong = signo;
}

static void on_alarm(int signo)
{
	note(signo);
}

static void spin(void)
{
	while (spinning) ;
}

int main(void)
{
	stack_t stack = {.ss_size = 64 << 10};
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_ONSTACK};
	struct itimerval soon = {.it_value.tv_usec = 100000};

	stack.ss_sp = malloc(stack.ss_size);
	sigaltstack(&stack, NULL);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	spin();
	return 0;
}
