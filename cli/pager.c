// SPDX-License-Identifier: BSD-2-Clause
/* See pager.h. */
#include "pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile pid_t pager_pid;
static bool pages_stderr;

static const char *pager_command(void)
{
	static const char *const names[] = {"AUXTAP_PAGER", "PAGER"};
	const char *term = getenv("TERM");

	if (!isatty(STDOUT_FILENO) || !term || !strcmp(term, "dumb"))
		return NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *command = getenv(names[i]);

		if (command)
			return *command && strcmp(command, "cat") != 0 ? command : NULL;
	}
	return "less";
}

static void exec_command(const char *command)
{
	/* less: exit at once if one screen is enough, show colours, leave the text on the screen */
	setenv("LESS", "FRX", 0);
	if (strpbrk(command, " \t\n|&;<>()$`\\\"'*?[#~=%"))
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	else
		execlp(command, command, (char *)NULL);
}

static void wait_for_pager(void)
{
	pid_t pid = pager_pid;

	pager_pid = 0;
	close(STDOUT_FILENO);
	if (pages_stderr)
		close(STDERR_FILENO);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* The pager uses the terminal until it exits: wait for it before this process ends. */
static void on_signal(int signo)
{
	if (pager_pid)
		wait_for_pager();
	signal(signo, SIG_DFL);
	raise(signo);
}

static void catch_signals(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	struct sigaction action = {.sa_handler = on_signal}, before;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		if (!sigaction(signals[i], NULL, &before) && before.sa_handler == SIG_DFL)
			sigaction(signals[i], &action, NULL);
	}
}

/* In the child: executes the pager. Only if that fails, it writes to 'failed'. */
static void run_pager(const char *command, const int input[2], int failed)
{
	dup2(input[0], STDIN_FILENO);
	close(input[0]);
	close(input[1]);
	exec_command(command);
	(void)!write(failed, "", 1);
	_exit(127);
}

/* Was the pager executed? */
static bool was_executed(int failed)
{
	ssize_t n;
	char byte;

	do
		n = read(failed, &byte, 1);
	while (n < 0 && errno == EINTR);
	return n == 0;
}

void pager_start(void)
{
	const char *command = pager_command();
	int input[2], failed[2];
	pid_t pid;

	if (!command || pipe2(input, O_CLOEXEC))
		return;
	if (pipe2(failed, O_CLOEXEC)) {
		close(input[0]);
		close(input[1]);
		return;
	}
	fflush(NULL);
	pid = fork();
	if (!pid)
		run_pager(command, input, failed[1]);
	close(input[0]);
	close(failed[1]);
	if (pid > 0 && was_executed(failed[0])) {
		pager_pid = pid;
		pages_stderr = isatty(STDERR_FILENO);
		dup2(input[1], STDOUT_FILENO);
		if (pages_stderr)
			dup2(input[1], STDERR_FILENO);
		catch_signals();
	} else if (pid > 0) {
		waitpid(pid, NULL, 0);
	}
	close(failed[0]);
	close(input[1]);
}

bool pager_or_terminal(void)
{
	return pager_pid || isatty(STDOUT_FILENO);
}

void pager_finish(void)
{
	if (pager_pid)
		wait_for_pager();
}
