// SPDX-License-Identifier: BSD-2-Clause
#include "support_qemu_client.h"
#include "tests/support/progress.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void send_message(struct client_run *run, const void *head, size_t head_size,
			 const void *data, size_t size, const int *fds, int nr_fds)
{
	char control[CMSG_SPACE(3 * sizeof(int))] = {0};
	struct iovec iov[2] = {{(void *)head, head_size}, {(void *)data, size}};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};

	if (nr_fds) {
		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE((size_t)nr_fds * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN((size_t)nr_fds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, (size_t)nr_fds * sizeof(int));
	}
	if (sendmsg(run->request_fd, &msg, MSG_NOSIGNAL) < 0)
		perror("client: sendmsg");
}

static int64_t call_fds(struct client_run *run, uint32_t call, const uint64_t arg[5],
			const void *data, size_t size, void *out, size_t max_out, size_t *size_out,
			const int *fds, int nr_fds)
{
	static char buf[EMU_MESSAGE_MAX];
	struct emu_request req = {.call = call, .event = -1, .data_size = (uint32_t)size};
	struct emu_reply reply;
	ssize_t got;

	if (arg)
		memcpy(req.arg, arg, sizeof(req.arg));
	send_message(run, &req, sizeof(req), data, size, fds, nr_fds);
	for (;;) {
		struct pollfd p = {.fd = run->request_fd, .events = POLLIN};

		kill(run->emu_pid, EMU_DOORBELL);
		if (poll(&p, 1, 2) > 0)
			break;
	}
	got = recv(run->request_fd, buf, sizeof(buf), 0);
	if (got < (ssize_t)sizeof(reply))
		return -EPIPE;
	memcpy(&reply, buf, sizeof(reply));
	got -= (ssize_t)sizeof(reply);
	if (out && (size_t)got > max_out)
		got = (ssize_t)max_out;
	if (out)
		memcpy(out, buf + sizeof(reply), (size_t)got);
	if (size_out)
		*size_out = (size_t)got;
	return reply.result;
}

int64_t client_call(struct client_run *run, uint32_t call, const uint64_t arg[5], const void *data,
		    size_t size, void *out, size_t max_out, size_t *size_out)
{
	return call_fds(run, call, arg, data, size, out, max_out, size_out, NULL, 0);
}

static size_t put(char *at, const char *text)
{
	strcpy(at, text);
	return strlen(text) + 1;
}

static int64_t spawn(struct client_run *run, char *const *argv, const int stdio[3])
{
	static char data[EMU_DATA_MAX];
	char *const *envp = run->envp ? run->envp : environ;
	uint32_t nr[2] = {0, 0};
	size_t size = sizeof(nr), why = 0;
	int64_t result;

	size += put(data + size, run->cwd ? run->cwd : ".");
	for (; argv[nr[0]]; nr[0]++)
		size += put(data + size, argv[nr[0]]);
	for (; envp[nr[1]]; nr[1]++)
		size += put(data + size, envp[nr[1]]);
	size += put(data + size, run->truth ? run->truth : "");
	memcpy(data, nr, sizeof(nr));
	result = call_fds(run, EMU_SPAWN, NULL, data, size, run->why, sizeof(run->why) - 1, &why,
			  stdio, 3);
	run->why[why] = 0;
	if (result > 0) {
		if (why != sizeof(run->engine))
			return -EPROTO;
		memcpy(&run->engine, run->why, sizeof(run->engine));
		run->why[0] = 0;
	}
	return result;
}

static void resume(struct client_run *run, pid_t tid)
{
	uint64_t arg[5] = {(uint64_t)tid};
	int64_t result = client_call(run, EMU_RESUME, arg, NULL, 0, NULL, 0, NULL);

	if (result)
		fprintf(stderr, "client: resume of %d: %d\n", (int)tid, (int)result);
}

static bool take_event(struct client_run *run, const struct auxtap_target_event *ev)
{
	run->nr_events++;
	if ((ev->type == AUXTAP_TARGET_THREAD || ev->type == AUXTAP_TARGET_FORK) &&
	    run->nr_tids < 64)
		run->tids[run->nr_tids++] = ev->tid;
	switch (ev->type) {
	case AUXTAP_TARGET_THREAD:
		run->nr_threads++;
		resume(run, ev->tid);
		break;
	case AUXTAP_TARGET_FORK:
		run->nr_forks++;
		resume(run, ev->tid);
		break;
	case AUXTAP_TARGET_EXEC:
		run->nr_execs++;
		resume(run, ev->tid);
		break;
	case AUXTAP_TARGET_DYING:
		if (!run->nr_dying++)
			run->dying = *ev;
		if (run->on_dying)
			run->on_dying(run, ev);
		resume(run, ev->tid);
		break;
	case AUXTAP_TARGET_FAULT:
		if (run->nr_faults < 64)
			run->fault_ip[run->nr_faults++] = ev->ip;
		break;
	case AUXTAP_TARGET_NOTICE:
		run->nr_notices++;
		run->notice = *ev;
		break;
	case AUXTAP_TARGET_PROCESS_EXIT:
		if (ev->pid == run->pid) {
			run->status = ev->status;
			return true;
		}
		break;
	default:
		break;
	}
	return false;
}

static void read_back(int fd, char *text, size_t size)
{
	ssize_t got = pread(fd, text, size - 1, 0);

	text[got > 0 ? got : 0] = 0;
	close(fd);
}

int client_run(struct client_run *run, char *const *argv)
{
	int request[2], event[2], stdio[3], status;
	const char *emu = getenv("AUXTAP_EMU") ? getenv("AUXTAP_EMU") : AUXTAP_BIN "/auxtap-emu";
	uint64_t arg[5] = {EMU_ABI_VERSION}, begin;
	struct progress progress = {.roots = &run->emu_pid,
				    .nr_roots = 1,
				    .idle_s = PROGRESS_IDLE_S};
	bool done = false, killed = false;

	run->status = -1;
	stdio[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	stdio[1] = memfd_create("stdout", MFD_CLOEXEC);
	stdio[2] = memfd_create("stderr", MFD_CLOEXEC);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, request) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, event))
		return -1;
	run->emu_pid = fork();
	if (!run->emu_pid) {
		dup2(fcntl(request[1], F_DUPFD, 20), EMU_REQUEST_FD);
		dup2(fcntl(event[1], F_DUPFD, 20), EMU_EVENT_FD);
		for (int fd = 5; fd < 64; fd++)
			close(fd);
		if (run->blocks)
			setenv("AUXTAP_QEMU_BLOCKS", run->blocks, 1);
		if (run->slots)
			setenv("AUXTAP_QEMU_SLOTS", run->slots, 1);
		execl(emu, "auxtap-emu", "qemu", (char *)NULL);
		_exit(127);
	}
	close(request[1]);
	close(event[1]);
	run->request_fd = request[0];
	run->event_fd = event[0];
	if (client_call(run, EMU_HELLO, arg, NULL, 0, NULL, 0, NULL) != EMU_ABI_VERSION) {
		fprintf(stderr, "client: %s does not answer\n", emu);
		return -1;
	}
	run->result = spawn(run, argv, stdio);
	if (run->result > 0) {
		run->pid = (pid_t)run->result;
		run->tids[run->nr_tids++] = run->pid;
		resume(run, run->pid);
	} else {
		done = true;
	}
	begin = now_ms();
	while (!done) {
		struct pollfd p = {.fd = run->event_fd, .events = POLLIN};
		struct auxtap_target_event ev;

		if (run->kill_after_ms && !killed &&
		    now_ms() - begin >= (uint64_t)run->kill_after_ms) {
			killed = true;
			if (run->hang_up)
				break;
			kill(run->pid, run->kill_signo);
		}
		if (poll(&p, 1, run->kill_after_ms && !killed ? 1 : 100) <= 0) {
			if (!progress_stalled(&progress))
				continue;
			fprintf(stderr, "client: no event, and no progress\n");
			kill(run->pid, SIGKILL);
			kill(run->emu_pid, SIGKILL);
			break;
		}
		if (recv(run->event_fd, &ev, sizeof(ev), 0) != (ssize_t)sizeof(ev))
			break;
		done = take_event(run, &ev);
	}
	close(run->request_fd);
	close(run->event_fd);
	waitpid(run->emu_pid, &status, 0);
	close(stdio[0]);
	read_back(stdio[1], run->stdout_text, sizeof(run->stdout_text));
	read_back(stdio[2], run->stderr_text, sizeof(run->stderr_text));
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "client: auxtap-emu ended with status %#x\n", status);
		return -1;
	}
	return 0;
}

uint64_t *client_truth(const char *path, pid_t tid, size_t *nr)
{
	char name[4096];
	uint64_t *addr;
	off_t size;
	int fd;

	snprintf(name, sizeof(name), "%s.%d", path, (int)tid);
	*nr = 0;
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	size = lseek(fd, 0, SEEK_END);
	addr = malloc((size_t)size + 8);
	if (addr && pread(fd, addr, (size_t)size, 0) == size)
		*nr = (size_t)size / 8;
	close(fd);
	return addr;
}
