// SPDX-License-Identifier: BSD-2-Clause
/*
 * The recorder of a CPU dies, and its events survive: orphan PID CPU takes the perf events of the
 * process PID, kills it, so that the kernel unmaps its rings while the events are on, and switches
 * them off and on again.
 */
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_EVENTS 64
#define ROUNDS	   3

static int fail(const char *what)
{
	fprintf(stderr, "orphan: %s: %s\n", what, strerror(errno));
	return 1;
}

static int take_events(const char *pid, int pidfd, int events[])
{
	char dir[64], path[128], to[128];
	struct dirent *entry;
	int nr = 0;
	DIR *fds;

	snprintf(dir, sizeof(dir), "/proc/%.20s/fd", pid);
	fds = opendir(dir);
	while (fds && (entry = readdir(fds)) != NULL) {
		ssize_t len;

		snprintf(path, sizeof(path), "%s/%.20s", dir, entry->d_name);
		len = readlink(path, to, sizeof(to) - 1);
		if (len < 0 || nr == MAX_EVENTS)
			continue;
		to[len] = '\0';
		if (!strcmp(to, "anon_inode:[perf_event]")) {
			events[nr] = (int)syscall(SYS_pidfd_getfd, pidfd, atoi(entry->d_name), 0);
			nr += events[nr] >= 0;
		}
	}
	if (fds)
		closedir(fds);
	return nr;
}

int main(int argc, char **argv)
{
	int events[MAX_EVENTS], nr, pidfd;
	struct pollfd dead = {.events = POLLIN};
	cpu_set_t cpus;

	if (argc != 3) {
		fputs("usage: orphan PID CPU\n", stderr);
		return 2;
	}
	/* runs on that CPU, so that it calls the driver directly, and not in an interrupt */
	CPU_ZERO(&cpus);
	CPU_SET((unsigned int)atoi(argv[2]), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		return fail("sched_setaffinity");
	pidfd = (int)syscall(SYS_pidfd_open, atoi(argv[1]), 0);
	if (pidfd < 0)
		return fail("pidfd_open");
	nr = take_events(argv[1], pidfd, events);
	if (!nr) {
		fputs("orphan: the process has no perf events\n", stderr);
		return 1;
	}
	dead.fd = pidfd;
	if (kill(atoi(argv[1]), SIGKILL))
		return fail("kill");
	if (poll(&dead, 1, 10000) != 1) {
		fputs("orphan: the process does not die\n", stderr);
		return 1;
	}
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < nr; i++)
			if (ioctl(events[i], PERF_EVENT_IOC_DISABLE, 0))
				return fail("PERF_EVENT_IOC_DISABLE");
		for (int i = 0; i < nr; i++)
			if (ioctl(events[i], PERF_EVENT_IOC_ENABLE, 0))
				return fail("PERF_EVENT_IOC_ENABLE");
		usleep(20000);
	}
	return 0;
}
