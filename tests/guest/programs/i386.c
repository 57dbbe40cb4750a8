// SPDX-License-Identifier: BSD-2-Clause
/*
 * A 32-bit program without a library (built with -m32 -nostdlib): system calls by int 0x80, a
 * signal handler, pushf. Prints a line, exits with 7; with 1 if it sees TF anywhere.
 */

static unsigned int seen;

static long call(long nr, long a, long b, long c, long d)
{
	long ret;

	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "a"(nr), "b"(a), "c"(b), "d"(c), "S"(d)
			 : "memory");
	return ret;
}

static unsigned int flags_now(void)
{
	unsigned int flags;

	__asm__ volatile("pushfl\n\tpopl %0" : "=r"(flags) : : "memory");
	return flags;
}

static void on_usr1(int sig)
{
	(void)sig;
	seen |= flags_now();
}

void restorer(void);
__asm__("restorer:\n\tmovl $173, %eax\n\tint $0x80\n"); /* rt_sigreturn */

struct kernel_sigaction {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask[2];
};

void _start(void);
void _start(void)
{
	static const char line[] = "32 bits\n";
	struct kernel_sigaction sa;
	long pid;

	sa.handler = on_usr1;
	sa.flags = 0x04000004; /* SA_RESTORER, SA_SIGINFO: the frame that rt_sigreturn needs */
	sa.restorer = restorer;
	sa.mask[0] = sa.mask[1] = 0;
	call(174, 10, (long)&sa, 0, 8); /* rt_sigaction */
	pid = call(20, 0, 0, 0, 0);	/* getpid */
	for (int i = 0; i < 20; i++) {
		call(37, pid, 10, 0, 0); /* kill */
		for (int j = 0; j < 100; j++)
			seen |= flags_now();
	}
	call(4, 1, (long)line, sizeof(line) - 1, 0); /* write */
	call(1, seen & 0x100 ? 1 : 7, 0, 0, 0);	     /* exit */
	__builtin_unreachable();
}
