// SPDX-License-Identifier: BSD-2-Clause
/* handled HOW WHICH: a fault, WHICH, without a handler or with one that ends the program: HOW. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct node {
	long value[5];
	struct node *next;
};

static struct node *volatile none;
static const char constant[] = "constant";
static volatile int zero;
static char stack[1 << 16];
static const char *how;

static void on_fault(int signo)
{
	if (!strcmp(how, "abort"))
		abort();
	signal(SIGSEGV, SIG_DFL);
	if (!strcmp(how, "fault"))
		none->value[2] = 1;
	signal(signo, SIG_DFL);
	raise(signo);
	_exit(1); /* raise() must not return: the signal is blocked only without SA_NODEFER */
}

static void fault(const char *which)
{
	if (!strcmp(which, "read"))
		zero = (int)(long)none->next;
	else if (!strcmp(which, "write"))
		*(volatile char *)constant = 'C';
	else if (!strcmp(which, "divide"))
		zero = 7 / zero;
	else if (!strcmp(which, "beyond")) {
		int fd = open(how, O_RDWR | O_CREAT | O_TRUNC, 0600);
		char *map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

		unlink(how);
		zero = map[100];
	} else
		__builtin_trap();
}

int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};

	how = argv[1];
	if (argc < 3)
		return 2;
	if (!strcmp(how, "stack")) {
		sigaltstack(&alternate, NULL);
		sa.sa_flags |= SA_ONSTACK;
	}
	for (int signo = 1; signo < 32 && strcmp(how, "plain"); signo++)
		if (signo == SIGSEGV || signo == SIGBUS || signo == SIGFPE || signo == SIGILL ||
		    signo == SIGTRAP)
			sigaction(signo, &sa, NULL);
	fault(argv[2]);
	return 0;
}
