// SPDX-License-Identifier: BSD-2-Clause
/*
 * Starts auxtap-emu and exchanges messages with it (driver/emu/emu_abi.h). If auxtap-emu dies,
 * every later call returns an error; no call waits forever.
 */
#include "emulated.h"
#include "util/growing_ring.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef AUXTAP_LIBEXEC
#define AUXTAP_LIBEXEC		"/usr/local/libexec/auxtap"
#define AUXTAP_LIBEXEC_FROM_LIB "../libexec/auxtap"
#endif

#define DOORBELL_MS 2
#define EMU_NAME    "auxtap-emu"

/*
 * Returns 0 if the file can be executed, or a negative errno. -EACCES: it may exist, but is not
 * executable for this user, or is below a directory that this user may not search.
 */
static int check_executable(const char *path)
{
	return access(path, X_OK) ? -errno : 0;
}

/*
 * Sets path to the first candidate that can be executed. If none can, returns -EACCES with the
 * first candidate to which access is denied, or -ENOENT.
 */
static int find_executable(const char (*candidates)[PATH_MAX], int nr, char *path, size_t size)
{
	int denied = -1, ret;

	for (int i = 0; i < nr; i++) {
		if (strlen(candidates[i]) >= size)
			continue;
		ret = check_executable(candidates[i]);
		if (!ret) {
			strcpy(path, candidates[i]);
			return 0;
		}
		if (ret == -EACCES && denied < 0)
			denied = i;
	}
	if (denied < 0)
		return -ENOENT;
	strcpy(path, candidates[denied]);
	return -EACCES;
}

static int refuse_access(const char *path, struct auxtap_error *err)
{
	auxtap_error_set(err, -EACCES, path, "Permission denied");
	auxtap_error_hint(err, "let this user search its directories and execute it, or copy "
			       "auxtap to a directory where it may");
	return -EACCES;
}

/*
 * The directory of this code, without the last slash: of libauxtap.so, or of the program that the
 * library is linked into. Empty if unknown. (The program that uses the shared library may belong to
 * another package: its directory contains nothing of auxtap.)
 */
static void own_directory(char *dir, size_t size)
{
	const struct link_map *map = NULL;
	const char *file = "/proc/self/exe";
	char path[PATH_MAX];
	Dl_info info;
	char *slash;

	/* the program's own entry has no name */
	if (dladdr1((void *)own_directory, &info, (void **)&map, RTLD_DL_LINKMAP) && map &&
	    *map->l_name)
		file = map->l_name;
	dir[0] = '\0';
	if (realpath(file, path) && strlen(path) < size)
		strcpy(dir, path);
	slash = strrchr(dir, '/');
	if (slash)
		*slash = '\0';
}

int emu_link_find(char *path, size_t size, struct auxtap_error *err)
{
	const char *env = secure_getenv("AUXTAP_EMU");
	char dir[PATH_MAX - sizeof("/" AUXTAP_LIBEXEC_FROM_LIB "/" EMU_NAME)];
	char candidates[4][PATH_MAX] = {"", "", "", AUXTAP_LIBEXEC "/" EMU_NAME};
	int ret;

	if (env && *env) {
		ret = -ENAMETOOLONG;
		if ((size_t)snprintf(path, size, "%s", env) < size)
			ret = check_executable(path);
		if (!ret)
			return 0;
		if (ret == -EACCES)
			return refuse_access(env, err);
		auxtap_error_set(err, -ENOENT, env, "$AUXTAP_EMU names no program");
		auxtap_error_hint(err, "unset AUXTAP_EMU, or let it name " EMU_NAME);
		return -ENOENT;
	}
	own_directory(dir, sizeof(dir));
	snprintf(candidates[0], sizeof(candidates[0]), "%s/" EMU_NAME, dir);
	snprintf(candidates[1], sizeof(candidates[1]), "%s/../libexec/auxtap/" EMU_NAME, dir);
	snprintf(candidates[2], sizeof(candidates[2]), "%s/" AUXTAP_LIBEXEC_FROM_LIB "/" EMU_NAME,
		 dir);
	ret = find_executable(candidates, 4, path, size);
	if (!ret)
		return 0;
	if (ret == -EACCES)
		return refuse_access(path, err);
	auxtap_error_set(err, -ENOENT, EMU_NAME,
			 "the emulated kernel is not installed (looked in %s, ../libexec/auxtap "
			 "beside it and " AUXTAP_LIBEXEC ")",
			 dir);
	auxtap_error_hint(err, "install it, or set AUXTAP_EMU to its path");
	return -ENOENT;
}

int emu_link_find_beside(const char *name, char *path, size_t size)
{
	char *slash;
	int ret = emu_link_find(path, size, NULL);

	if (ret)
		return ret;
	slash = strrchr(path, '/');
	if (!slash)
		return -ENOENT;
	if ((size_t)snprintf(slash + 1, size - (size_t)(slash + 1 - path), "%s", name) >=
	    size - (size_t)(slash + 1 - path))
		return -ENAMETOOLONG;
	return access(path, R_OK) ? -errno : 0;
}

/* In the forked child: moves the two sockets to descriptors 3 and 4, then execs. Never returns. */
static void exec_emu(const struct emu_link *link, const char *path, const char *engine,
		     int request_fd, int event_fd)
{
	char *argv[6] = {(char *)(uintptr_t)EMU_NAME, (char *)(uintptr_t)engine};
	int nr = 2;
	/* Move both away first: each may have the number that the other needs. */
	int request_high = fcntl(request_fd, F_DUPFD, 10);
	int event_high = fcntl(event_fd, F_DUPFD, 10);

	if (*link->trace_unit)
		argv[nr++] = (char *)(uintptr_t)link->trace_unit;
	if (*link->max_memory)
		argv[nr++] = (char *)(uintptr_t)link->max_memory;
	if (*link->value_log)
		argv[nr++] = (char *)(uintptr_t)link->value_log;
	if (request_high < 0 || event_high < 0 || dup2(request_high, EMU_REQUEST_FD) < 0 ||
	    dup2(event_high, EMU_EVENT_FD) < 0)
		_exit(errno == EMFILE || errno == EINVAL || errno == EBADF ? EMU_NO_FDS : 126);
	close(request_high);
	close(event_high);
	execv(path, argv);
	_exit(errno == ENOENT ? 127 : 126);
}

static void set_death(struct emu_link *link)
{
	int status = 0;
	pid_t got = 0;

	link->dead = true;
	/* The connection is closed; wait briefly for its exit status, for the message. */
	for (int i = 0; i < 100 && got == 0; i++) {
		got = waitpid(link->pid, &status, WNOHANG);
		if (got == 0)
			nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	}
	if (got == link->pid) {
		link->pid = -1;
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
			snprintf(link->death, sizeof(link->death), "the emulator was killed");
		else if (WIFSIGNALED(status))
			snprintf(link->death, sizeof(link->death), "the emulator died of SIG%s",
				 sigabbrev_np(WTERMSIG(status)));
		else if (WEXITSTATUS(status) == EMU_NO_FDS)
			snprintf(link->death, sizeof(link->death),
				 "the emulator cannot start: too many open files (ulimit -n)");
		else
			snprintf(link->death, sizeof(link->death),
				 "the emulator ended with status %d", WEXITSTATUS(status));
	} else {
		snprintf(link->death, sizeof(link->death), "the emulator hung up");
	}
}

static int queue_event(struct emu_link *link, const struct auxtap_target_event *ev)
{
	if (ring_grow(link->queue, link->queue_head, link->queue_len, link->max_queue))
		return -ENOMEM;
	link->queue[ring_index(link->queue_head, link->queue_len++, link->max_queue)] = *ev;
	eventfd_write(link->queued_fd, 1);
	return 0;
}

/* Returns 1 if it read an event from the socket, 0 if no event waits, or -EPIPE. */
static int receive_event(struct emu_link *link, struct auxtap_target_event *ev)
{
	for (;;) {
		ssize_t n = recv(link->event_fd, ev, sizeof(*ev), MSG_DONTWAIT | MSG_TRUNC);

		if (n == (ssize_t)sizeof(*ev)) {
			ev->comm[sizeof(ev->comm) - 1] = '\0';
			ev->text[sizeof(ev->text) - 1] = '\0';
			return 1;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return 0;
		if (n > 0) /* another version's event cannot be interpreted */
			continue;
		if (!link->dead)
			set_death(link);
		return -EPIPE;
	}
}

int emu_link_next_event(struct emu_link *link, struct auxtap_target_event *ev)
{
	if (link->queue_len) {
		*ev = link->queue[link->queue_head];
		link->queue_head = ring_index(link->queue_head, 1, link->max_queue);
		if (--link->queue_len == 0) {
			eventfd_t count;

			eventfd_read(link->queued_fd, &count);
		}
		return 1;
	}
	return receive_event(link, ev);
}

static int send_request(struct emu_link *link, const struct emu_call_args *args)
{
	union {
		char space[CMSG_SPACE(4 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct emu_request req = {
		.call = args->call,
		.event = args->event,
		.data_size = (uint32_t)args->data_size,
	};
	struct iovec iov[2] = {
		{.iov_base = &req, .iov_len = sizeof(req)},
		{.iov_base = (void *)(uintptr_t)args->data, .iov_len = args->data_size},
	};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = args->data_size ? 2 : 1};

	memcpy(req.arg, args->arg, sizeof(req.arg));
	if (args->nr_fds) {
		struct cmsghdr *cmsg;

		memset(&control, 0, sizeof(control));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE((size_t)args->nr_fds * sizeof(int));
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN((size_t)args->nr_fds * sizeof(int));
		memcpy(CMSG_DATA(cmsg), args->fds, (size_t)args->nr_fds * sizeof(int));
	}
	while (sendmsg(link->request_fd, &msg, MSG_NOSIGNAL) < 0) {
		if (errno == EINTR)
			continue;
		if (errno == EPIPE || errno == ECONNRESET) {
			set_death(link);
			return -EPIPE;
		}
		return -errno;
	}
	return 0;
}

/* Returns 1 if it read a reply into *reply and args, 0 if no reply has come, or an error. */
static int receive_reply(struct emu_link *link, struct emu_call_args *args, struct emu_reply *reply)
{
	union {
		char space[CMSG_SPACE(4 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov[2] = {
		{.iov_base = reply, .iov_len = sizeof(*reply)},
		{.iov_base = args->out, .iov_len = args->out_max},
	};
	struct msghdr msg = {
		.msg_iov = iov,
		.msg_iovlen = 2,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(link->request_fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return 0;
	if (n <= 0) {
		set_death(link);
		return -EPIPE;
	}
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		size_t nr = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < nr; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (args->out_fd < 0)
				args->out_fd = fd;
			else
				close(fd);
		}
	}
	if ((size_t)n < sizeof(*reply) || (msg.msg_flags & MSG_TRUNC) ||
	    reply->data_size != (size_t)n - sizeof(*reply))
		return -EPROTO;
	/* a descriptor was sent, but this process has reached its limit of open files */
	args->fd_cut = msg.msg_flags & MSG_CTRUNC;
	args->out_size = reply->data_size;
	args->value[0] = reply->value[0];
	args->value[1] = reply->value[1];
	return 1;
}

int64_t emu_link_call(struct emu_link *link, struct emu_call_args *args)
{
	struct auxtap_target_event ev;
	struct emu_reply reply = {0};
	int ret;

	args->out_fd = -1;
	args->out_size = 0;
	if (link->dead)
		return -EPIPE;
	if (args->data_size > EMU_DATA_MAX)
		return -E2BIG;
	ret = send_request(link, args);
	if (ret)
		return ret;
	for (;;) {
		struct pollfd fds[2] = {
			{.fd = link->request_fd, .events = POLLIN},
			{.fd = link->event_fd, .events = POLLIN},
		};

		/* Before it answers HELLO, auxtap-emu may not have its handler for the signal. */
		if (args->call != EMU_HELLO && link->pid > 0)
			kill(link->pid, EMU_DOORBELL);
		if (poll(fds, 2, DOORBELL_MS) < 0 && errno != EINTR)
			return -errno;
		ret = receive_reply(link, args, &reply);
		if (ret < 0)
			break;
		if (ret)
			break;
		/* auxtap-emu must not wait for space in the event socket while it is awaited. */
		while ((ret = receive_event(link, &ev)) > 0) {
			ret = queue_event(link, &ev);
			if (ret)
				return ret;
		}
		if (ret < 0)
			return ret;
	}
	if (ret < 0 || reply.result < 0) {
		if (args->out_fd >= 0)
			close(args->out_fd);
		args->out_fd = -1;
		return ret < 0 ? ret : reply.result;
	}
	return reply.result;
}

/* Maps the units' byte counters and closes fd. They tell how much a killed emulator wrote. */
static void map_counters(struct emu_link *link, int fd)
{
	struct stat st;
	void *addr;

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && st.st_size > 0) {
		addr = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
		if (addr != MAP_FAILED) {
			link->counters = addr;
			link->counters_size = (size_t)st.st_size;
		}
	}
	close(fd);
}

/* Each thread needs descriptors. The program is auxtap-emu's child and keeps its own limit. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int emu_link_start(struct emu_link *link, enum auxtap_engine engine, struct auxtap_error *err)
{
	const char *name = engine == AUXTAP_ENGINE_QEMU ? "qemu" : "ptrace";
	struct emu_call_args hello = {.call = EMU_HELLO, .arg = {EMU_ABI_VERSION}};
	struct epoll_event interest = {.events = EPOLLIN};
	int request[2], event[2], size = 4 * EMU_MESSAGE_MAX;
	const struct emu_link requested = *link;
	char path[PATH_MAX];
	int64_t version;
	int ret;

	memset(link, 0, sizeof(*link));
	link->engine = engine;
	link->may_fall_back = requested.may_fall_back;
	memcpy(link->trace_unit, requested.trace_unit, sizeof(link->trace_unit));
	memcpy(link->value_log, requested.value_log, sizeof(link->value_log));
	memcpy(link->max_memory, requested.max_memory, sizeof(link->max_memory));
	link->pid = -1;
	link->request_fd = link->event_fd = link->epoll_fd = link->queued_fd = -1;
	ret = emu_link_find(path, sizeof(path), err);
	if (ret)
		return ret;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, request))
		return auxtap_error_set(err, -errno, EMU_NAME, "socketpair: %m");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, event)) {
		ret = auxtap_error_set(err, -errno, EMU_NAME, "socketpair: %m");
		goto close_request;
	}
	for (int i = 0; i < 2; i++) {
		setsockopt(request[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
		setsockopt(event[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	}
	link->pid = fork();
	if (link->pid < 0) {
		ret = auxtap_error_set(err, -errno, EMU_NAME, "fork: %m");
		goto close_event;
	}
	if (link->pid == 0)
		exec_emu(link, path, name, request[1], event[1]);
	close(request[1]);
	close(event[1]);
	link->request_fd = request[0];
	link->event_fd = event[0];
	link->queued_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	link->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (link->queued_fd < 0 || link->epoll_fd < 0 ||
	    epoll_ctl(link->epoll_fd, EPOLL_CTL_ADD, link->queued_fd, &interest) ||
	    epoll_ctl(link->epoll_fd, EPOLL_CTL_ADD, link->event_fd, &interest)) {
		ret = auxtap_error_set(err, -errno, EMU_NAME, "epoll: %m");
		goto stop;
	}
	version = emu_link_call(link, &hello);
	map_counters(link, hello.out_fd);
	if (version < 0) {
		ret = auxtap_error_set(err, (int)version, path, "engine %s: %s", name,
				       link->dead ? link->death : strerror((int)-version));
		goto stop;
	}
	if (version != EMU_ABI_VERSION) {
		ret = auxtap_error_set(err, -EPROTO, path, "speaks version %lld, not %d",
				       (long long)version, EMU_ABI_VERSION);
		auxtap_error_hint(err, "install auxtap and auxtap-emu from one build");
		goto stop;
	}
	raise_file_limit();
	return 0;
stop:
	emu_link_stop(link);
	return ret;
close_event:
	close(event[0]);
	close(event[1]);
close_request:
	close(request[0]);
	close(request[1]);
	return ret;
}

void emu_link_stop(struct emu_link *link)
{
	if (link->request_fd >= 0)
		close(link->request_fd);
	if (link->event_fd >= 0)
		close(link->event_fd);
	if (link->epoll_fd >= 0)
		close(link->epoll_fd);
	if (link->queued_fd >= 0)
		close(link->queued_fd);
	link->request_fd = link->event_fd = link->epoll_fd = link->queued_fd = -1;
	for (size_t i = 0; i < link->nr_mappings; i++)
		munmap(link->mappings[i].addr, link->mappings[i].length);
	/* auxtap-emu stops tracing when the sockets close; it lives on while its programs run. */
	if (link->pid > 0) {
		kill(link->pid, EMU_DOORBELL);
		for (int i = 0; i < 250 && waitpid(link->pid, NULL, WNOHANG) == 0; i++)
			nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	}
	link->pid = -1;
	link->dead = true;
	if (link->counters)
		munmap(link->counters, link->counters_size);
	link->counters = NULL;
	free(link->counter_of_fd);
	link->counter_of_fd = NULL;
	free(link->event_of_fd);
	free(link->mappings);
	free(link->queue);
	free(link->pids);
	link->event_of_fd = NULL;
	link->nr_event_of_fd = link->max_event_of_fd = link->max_counter_of_fd = 0;
	link->mappings = NULL;
	link->nr_mappings = link->max_mappings = 0;
	link->queue = NULL;
	link->queue_head = link->queue_len = link->max_queue = 0;
	link->pids = NULL;
	link->nr_pids = link->max_pids = 0;
}
