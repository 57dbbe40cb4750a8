// SPDX-License-Identifier: BSD-2-Clause
/*
 * debugger HOW BREAK COMMAND...: a debugger's operations, by ptrace. Prints everything that it
 * sees of the program, which must be the same if the program is traced.
 *   step    from the first breakpoint on, 60 single steps
 *   break   int3 at BREAK, each time inserted again after a single step
 *   execute the same by a debug register
 *   calls   stops at both ends of every system call
 *   move    int3 replaces the one-byte instruction at BREAK; sets the IP to the next one
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child;
static unsigned long break_at;
static long code;

static void fail(const char *what)
{
	perror(what);
	kill(child, SIGKILL);
	exit(1);
}

static int wait_stop(void)
{
	int status;

	if (waitpid(child, &status, 0) != child)
		fail("wait");
	if (WIFEXITED(status)) {
		printf("exit %d\n", WEXITSTATUS(status));
		exit(0);
	}
	if (WIFSIGNALED(status)) {
		printf("killed %d\n", WTERMSIG(status));
		exit(0);
	}
	return WSTOPSIG(status);
}

static int go_on(int how, int sig)
{
	if (ptrace(how, child, 0, sig))
		fail("go on");
	return wait_stop();
}

static struct user_regs_struct get_regs(void)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, child, 0, &regs))
		fail("registers");
	return regs;
}

static void set_regs(struct user_regs_struct *regs)
{
	if (ptrace(PTRACE_SETREGS, child, 0, regs))
		fail("registers");
}

static void poke_code(long word)
{
	if (ptrace(PTRACE_POKETEXT, child, break_at, word))
		fail("code");
}

static unsigned long debug_reg(int n)
{
	return (unsigned long)ptrace(PTRACE_PEEKUSER, child,
				     offsetof(struct user, u_debugreg) + (size_t)n * 8, 0);
}

static void set_debug_reg(int n, unsigned long value)
{
	if (ptrace(PTRACE_POKEUSER, child, offsetof(struct user, u_debugreg) + (size_t)n * 8,
		   value))
		fail("debug register");
}

static void show(const char *what, int sig)
{
	struct user_regs_struct regs = get_regs();

	printf("%s: signal %d, ip %llx, flags %llx, r11 %llx\n", what, sig, regs.rip,
	       regs.eflags & 0x100, regs.r11 & 0x100);
}

static void insert(void)
{
	poke_code((code & ~0xffl) | 0xcc);
}

static void step_over(void)
{
	poke_code(code);
	show("over", go_on(PTRACE_SINGLESTEP, 0));
	insert();
}

/* The program has hit our int3: sets IP back. */
static void back_up(void)
{
	struct user_regs_struct regs = get_regs();

	regs.rip--;
	set_regs(&regs);
}

static void stepping(void)
{
	insert();
	show("first", go_on(PTRACE_CONT, 0));
	poke_code(code);
	back_up();
	for (int i = 0; i < 60; i++)
		show("step", go_on(PTRACE_SINGLESTEP, 0));
	for (;;)
		show("after", go_on(PTRACE_CONT, 0));
}

static void breaking(void)
{
	insert();
	for (;;) {
		show("break", go_on(PTRACE_CONT, 0));
		back_up();
		step_over();
	}
}

static void moving(void)
{
	insert();
	for (;;) {
		struct user_regs_struct regs;

		show("move", go_on(PTRACE_CONT, 0));
		regs = get_regs();
		regs.rip = break_at + 1;
		set_regs(&regs);
	}
}

static void show_debug(const char *what, int sig)
{
	show(what, sig);
	printf("dr6 %lx\n", debug_reg(6) & 0xf);
	set_debug_reg(6, 0);
}

static void executing(void)
{
	set_debug_reg(1, break_at);
	set_debug_reg(7, 0x4); /* execution, enabled */
	for (;;)
		show_debug("execute", go_on(PTRACE_CONT, 0));
}

static void calls(void)
{
	ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD);
	for (;;)
		show("call", go_on(PTRACE_SYSCALL, 0));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*how)(void);
	} ways[] = {
		{"step", stepping}, {"break", breaking}, {"execute", executing},
		{"calls", calls},   {"move", moving},
	};

	if (argc < 4)
		return 2;
	break_at = strtoul(argv[2], NULL, 16);
	child = fork();
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execv(argv[3], argv + 3);
		_exit(127);
	}
	wait_stop();
	code = ptrace(PTRACE_PEEKTEXT, child, break_at, 0);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(argv[1], ways[i].name))
			ways[i].how();
	kill(child, SIGKILL);
	return 2;
}
