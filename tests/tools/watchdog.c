// SPDX-License-Identifier: BSD-2-Clause
/*
 * watchdog [--idle SECONDS] [--cpu SECONDS] COMMAND...
 * watchdog [--idle SECONDS] [--cpu SECONDS] --pid PID...
 *
 * Runs the command and ends it if it hangs: no progress for SECONDS (support/progress.h), or more
 * CPU time than SECONDS used by it and its descendants. How busy the machine is does not matter.
 * The exit status is the command's (a signal that ends it ends the watchdog), or 124 if it was
 * ended. With --pid it observes processes until all of them have ended (exit 0) or hang (exit
 * 124), and does not end them.
 *
 * With AUXTAP_TEST_TIMES=FILE the command's end adds a line to FILE: seconds of CPU time that it
 * and its descendants used, of those that were waited for; seconds of wall time; the command.
 */
#include "tests/support/progress.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_PIDS 256

static const char usage[] =
	"usage: watchdog [--idle SECONDS] [--cpu SECONDS] COMMAND... | --pid PID...\n";

static void print_file(pid_t pid, const char *name)
{
	char path[64], text[200] = "";
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	f = fopen(path, "re");
	if (!f)
		return;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	for (size_t i = 0; i < n; i++)
		fputc((unsigned char)text[i] < ' ' ? ' ' : text[i], stderr);
}

/* Each process: its state, the kernel function in which its first thread sleeps, its arguments. */
static void list_processes(pid_t root)
{
	pid_t pids[MAX_PIDS];
	const int nr = progress_list(&root, 1, pids, MAX_PIDS);

	for (int i = 0; i < nr; i++) {
		fprintf(stderr, "watchdog:   %d %c ", (int)pids[i], progress_state(pids[i]));
		print_file(pids[i], "wchan");
		fputc(' ', stderr);
		print_file(pids[i], "cmdline");
		fputc('\n', stderr);
	}
}

/* Repeats, because new processes may appear while the list is made. */
static void kill_tree(pid_t root)
{
	pid_t pids[MAX_PIDS];
	int nr;

	for (int turn = 0; turn < 10; turn++) {
		nr = progress_list(&root, 1, pids, MAX_PIDS);
		/* the root last: otherwise its children would get another parent */
		for (int i = 0; i < nr; i++)
			if (pids[i] != root)
				kill(pids[i], SIGKILL);
		if (nr <= 1)
			break;
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	}
	kill(root, SIGKILL);
}

/* Prints which limit is exceeded. */
static bool hangs(struct progress *p, long cpu_s, const char *what)
{
	bool stalled = progress_stalled(p);

	if (cpu_s && p->cpu_ms > (uint64_t)cpu_s * 1000) {
		fprintf(stderr, "watchdog: %s: more than %ld s of CPU time used\n", what, cpu_s);
		return true;
	}
	if (stalled)
		fprintf(stderr, "watchdog: %s: no progress for %d s (%.2f s of CPU time in all)\n",
			what, p->idle_s, (double)p->cpu_ms / 1000);
	return stalled;
}

static bool any_alive(const pid_t *pids, int nr)
{
	for (int i = 0; i < nr; i++)
		if (progress_state(pids[i]))
			return true;
	return false;
}

static int watch_pids(int idle_s, long cpu_s, char **argv)
{
	static pid_t pids[MAX_PIDS];
	struct progress p = {.roots = pids, .idle_s = idle_s};
	uint64_t before;

	for (; *argv && p.nr_roots < MAX_PIDS; argv++)
		pids[p.nr_roots++] = (pid_t)atoi(*argv);
	before = progress_cpu_ms(pids, p.nr_roots); /* the limit applies from here on */
	while (any_alive(pids, p.nr_roots)) {
		if (hangs(&p, cpu_s ? cpu_s + (long)(before / 1000) : 0, "watched processes"))
			return 124;
		nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
	}
	return 0;
}

static int end_like(int status)
{
	const struct rlimit no_core = {0, 0};

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &no_core);
	signal(WTERMSIG(status), SIG_DFL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* In one write: several watchdogs add to the file. */
static void add_times(const char *path, struct timespec start, char **argv)
{
	struct rusage used;
	struct timespec now;
	char line[512];
	int fd, len;

	if (!path)
		return;
	getrusage(RUSAGE_CHILDREN, &used);
	clock_gettime(CLOCK_MONOTONIC, &now);
	len = snprintf(line, sizeof(line), "%8.2f %8.2f",
		       seconds(used.ru_utime) + seconds(used.ru_stime),
		       (double)(now.tv_sec - start.tv_sec) +
			       (double)(now.tv_nsec - start.tv_nsec) / 1e9);
	for (; *argv && len < (int)sizeof(line) - 1; argv++)
		len += snprintf(line + len, sizeof(line) - (size_t)len, " %s", *argv);
	if (len > (int)sizeof(line) - 1)
		len = sizeof(line) - 1;
	line[len++] = '\n';
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0 || write(fd, line, (size_t)len) != len)
		fprintf(stderr, "watchdog: AUXTAP_TEST_TIMES: %s: %s\n", path, strerror(errno));
	if (fd >= 0)
		close(fd);
}

static int run(int idle_s, long cpu_s, char **argv)
{
	const pid_t watchdog = getpid();
	struct progress p = {.nr_roots = 1, .idle_s = idle_s};
	const char *times = getenv("AUXTAP_TEST_TIMES");
	struct timespec start;
	sigset_t child;
	int status;
	pid_t pid;

	clock_gettime(CLOCK_MONOTONIC, &start);
	/* SIGCHLD stays pending until the loop below takes it. */
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	pid = fork();
	p.roots = &pid;
	if (pid < 0) {
		perror("watchdog: fork");
		return 125;
	}
	if (!pid) {
		sigprocmask(SIG_UNBLOCK, &child, NULL);
		unsetenv("AUXTAP_TEST_TIMES");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != watchdog)
			_exit(125);
		execvp(argv[0], argv);
		fprintf(stderr, "watchdog: %s: %s\n", argv[0], strerror(errno));
		_exit(errno == ENOENT ? 127 : 126);
	}
	/* The terminal's signals reach the command, which handles them. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	for (;;) {
		/* First, because a look reads all of /proc, and most commands end at once. */
		sigtimedwait(&child, NULL, &(struct timespec){.tv_sec = 1});
		if (waitpid(pid, &status, WNOHANG) == pid) {
			add_times(times, start, argv);
			return end_like(status);
		}
		if (hangs(&p, cpu_s, argv[0])) {
			list_processes(pid);
			kill_tree(pid);
			waitpid(pid, &status, 0);
			return 124;
		}
	}
}

int main(int argc, char **argv)
{
	int idle_s = PROGRESS_IDLE_S, at = 1;
	long cpu_s = 0;

	for (; at + 1 < argc && !strncmp(argv[at], "--", 2); at += 2) {
		if (!strcmp(argv[at], "--idle"))
			idle_s = atoi(argv[at + 1]);
		else if (!strcmp(argv[at], "--cpu"))
			cpu_s = atol(argv[at + 1]);
		else
			break;
	}
	if (at >= argc || idle_s <= 0 || cpu_s < 0) {
		fputs(usage, stderr);
		return 125;
	}
	if (!strcmp(argv[at], "--pid"))
		return watch_pids(idle_s, cpu_s, argv + at + 1);
	if (!strncmp(argv[at], "--", 2)) {
		fputs(usage, stderr);
		return 125;
	}
	return run(idle_s, cpu_s, argv + at);
}
