// SPDX-License-Identifier: BSD-2-Clause
/* The test client's protocol with auxtap-emu, and its rings. Checks: support_emu_reference.c. */
#include "support_emu_client.h"
#include "tests/support/progress.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define DATA_PAGES 64

void client_start(struct client *c, char *const *options)
{
	const char *argv[16] = {"auxtap-emu", "ptrace"};
	int req[2], ev[2], nr = 2, big = 4 * EMU_MESSAGE_MAX;
	uint64_t version[5] = {EMU_ABI_VERSION};

	while (options && *options && nr < 15)
		argv[nr++] = *options++;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, req), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ev), 0);
	setsockopt(req[0], SOL_SOCKET, SO_SNDBUF, &big, sizeof(big));
	setsockopt(req[1], SOL_SOCKET, SO_SNDBUF, &big, sizeof(big));
	c->emu = fork();
	if (!c->emu) {
		int r = fcntl(req[1], F_DUPFD, 20), e = fcntl(ev[1], F_DUPFD, 20);

		dup2(r, EMU_REQUEST_FD);
		dup2(e, EMU_EVENT_FD);
		close(r);
		close(e);
		execv(getenv("AUXTAP_EMU") ? getenv("AUXTAP_EMU") : AUXTAP_BIN "/auxtap-emu",
		      (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	close(req[1]);
	close(ev[1]);
	c->req = req[0];
	c->ev = ev[0];
	if (!c->config)
		c->config = 1u << 0 | 1u << 10 | 1u << 13;
	if (!c->aux_pages)
		c->aux_pages = 256;
	if (!c->stdio[1]) {
		c->stdio[1] = 1;
		c->stdio[2] = 2;
	}
	snprintf(c->truth, sizeof(c->truth), "/tmp/emu-truth-XXXXXX");
	assert_non_null(mkdtemp(c->truth));
	strcat(c->truth, "/t");
	assert_int_equal(client_call(c, EMU_HELLO, 0, version, NULL, 0, NULL, 0), EMU_ABI_VERSION);
	if (c->answer_fd >= 0) /* the counters: not used by these tests */
		close(c->answer_fd);
}

int64_t client_call(struct client *c, uint32_t call, int event, const uint64_t arg[5],
		    const void *data, size_t data_size, const int *fds, int nr_fds)
{
	struct emu_request req = {.call = call, .event = event, .data_size = (uint32_t)data_size};
	struct emu_reply head;
	struct iovec iov[2] = {{&req, sizeof(req)}, {(void *)(uintptr_t)data, data_size}};
	struct iovec in[2] = {{&head, sizeof(head)}, {c->answer, sizeof(c->answer)}};
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(4 * sizeof(int))];
	} control;
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};
	struct progress progress = {.roots = &c->emu, .nr_roots = 1, .idle_s = PROGRESS_IDLE_S};
	ssize_t n;

	if (arg)
		memcpy(req.arg, arg, sizeof(req.arg));
	memset(&control, 0, sizeof(control));
	if (nr_fds) {
		msg.msg_control = control.buf;
		msg.msg_controllen = CMSG_SPACE((size_t)nr_fds * sizeof(int));
		struct cmsghdr *h = CMSG_FIRSTHDR(&msg);

		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN((size_t)nr_fds * sizeof(int));
		memcpy(CMSG_DATA(h), fds, (size_t)nr_fds * sizeof(int));
	}
	assert_int_equal(sendmsg(c->req, &msg, MSG_NOSIGNAL), sizeof(req) + data_size);
	for (int tries = 0;; tries++) {
		struct pollfd p = {.fd = c->req, .events = POLLIN};

		if (call != EMU_HELLO)
			kill(c->emu, EMU_DOORBELL);
		/* the doorbell costs auxtap-emu CPU time, which must not count as progress */
		if (poll(&p, 1, tries < 1000 ? 2 : 50) > 0)
			break;
		if (progress_stalled(&progress))
			fail_msg("auxtap-emu does not answer call %u", call);
	}
	msg = (struct msghdr){.msg_iov = in,
			      .msg_iovlen = 2,
			      .msg_control = control.buf,
			      .msg_controllen = sizeof(control.buf)};
	n = recvmsg(c->req, &msg, MSG_CMSG_CLOEXEC);
	assert_true(n >= (ssize_t)sizeof(head));
	assert_int_equal(n, sizeof(head) + head.data_size);
	c->answer_size = head.data_size;
	c->answer_value[0] = head.value[0];
	c->answer_value[1] = head.value[1];
	c->answer_fd = -1;
	struct cmsghdr *h = CMSG_FIRSTHDR(&msg);

	if (h && h->cmsg_type == SCM_RIGHTS)
		memcpy(&c->answer_fd, CMSG_DATA(h), sizeof(int));
	return head.result;
}

int64_t client_simple(struct client *c, uint32_t call, uint64_t arg0, uint64_t arg1)
{
	const uint64_t arg[5] = {arg0, arg1};

	return client_call(c, call, 0, arg, NULL, 0, NULL, 0);
}

/* ---- sideband ---- */

static struct client_map *new_map(struct client *c)
{
	c->maps = realloc(c->maps, (size_t)(c->nr_maps + 1) * sizeof(*c->maps));
	assert_non_null(c->maps);
	memset(&c->maps[c->nr_maps], 0, sizeof(*c->maps));
	return &c->maps[c->nr_maps++];
}

static void copy_memory(struct client *c, struct client_map *m)
{
	m->bytes = calloc(1, m->len);
	for (uint64_t at = 0; at < m->len; at += 65536) {
		const uint64_t arg[5] = {(uint64_t)m->pid, m->addr + at,
					 m->len - at < 65536 ? m->len - at : 65536};
		int64_t n = client_call(c, EMU_MEM, 0, arg, NULL, 0, NULL, 0);

		if (n > 0)
			memcpy(m->bytes + at, c->answer, (size_t)n);
	}
	/* a page that was filled after it was mapped: seen when it is mapped again */
	for (struct client_map *old = c->maps; old < m; old++)
		if (old->pid == m->pid && old->addr == m->addr && old->bytes &&
		    old->len == m->len && !old->bytes[0])
			memcpy(old->bytes, m->bytes, m->len);
}

void client_read_maps(struct client *c, pid_t pid)
{
	char text[65536] = "", *save = NULL;
	size_t len = 0;
	int64_t n;

	while ((n = client_simple(c, EMU_MAPS, (uint64_t)pid, len)) > 0 &&
	       len + (size_t)n < sizeof(text)) {
		memcpy(text + len, c->answer, (size_t)n);
		len += (size_t)n;
	}
	assert_true(len > 0);
	text[len] = '\0';
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		unsigned long long start, end, off;
		char perms[5], name[256] = "";

		if (sscanf(line, "%llx-%llx %4s %llx %*s %*s %255s", &start, &end, perms, &off,
			   name) < 4 ||
		    perms[2] != 'x' || !strcmp(name, "[vsyscall]"))
			continue;
		struct client_map *m = new_map(c);

		m->pid = pid;
		m->addr = start;
		m->len = end - start;
		m->pgoff = off;
		snprintf(m->name, sizeof(m->name), "%s", name);
		if (name[0] != '/')
			copy_memory(c, m);
	}
}

static void record(struct client *c, struct client_trace *t, const uint8_t *rec)
{
	const struct perf_event_header *h = (const void *)rec;
	const uint64_t *u = (const void *)(rec + sizeof(*h));
	/* sample id: TID, TIME */
	uint64_t time = *(const uint64_t *)(rec + h->size - 8);

	switch (h->type) {
	case PERF_RECORD_AUX:
		t->aux_records++;
		t->aux_bytes += u[1];
		if (u[2] & PERF_AUX_FLAG_TRUNCATED)
			t->truncated++;
		break;
	case PERF_RECORD_LOST:
		t->lost += u[1];
		break;
	case PERF_RECORD_ITRACE_START:
		t->itrace_starts++;
		break;
	case PERF_RECORD_COMM:
		if (h->misc & PERF_RECORD_MISC_COMM_EXEC) {
			struct client_map *m = new_map(c);

			m->exec_marker = true;
			m->time = time;
			m->pid = (pid_t)(u[0] & 0xffffffff);
		}
		break;
	case PERF_RECORD_MMAP2: {
		struct client_map *m = new_map(c);

		m->time = time;
		m->pid = (pid_t)(u[0] & 0xffffffff);
		m->addr = u[1];
		m->len = u[2];
		m->pgoff = u[3];
		memcpy(m->name, rec + 72, sizeof(m->name) - 1); /* rec is longer */
		if (m->name[0] != '/' || !strncmp(m->name, "//", 2))
			copy_memory(c, m);
		break;
	}
	default:
		break;
	}
}

static void drain_data(struct client *c, struct client_trace *t)
{
	uint64_t head = __atomic_load_n(&t->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = t->page->data_tail;
	uint8_t rec[65536];

	while (tail < head) {
		struct perf_event_header h;

		memcpy(&h, t->data + (tail & (t->data_size - 1)), sizeof(h));
		assert_true(h.size >= sizeof(h) && tail + h.size <= head);
		for (size_t i = 0; i < h.size; i++)
			rec[i] = t->data[(tail + i) & (t->data_size - 1)];
		record(c, t, rec);
		tail += h.size;
	}
	__atomic_store_n(&t->page->data_tail, tail, __ATOMIC_RELEASE);
}

static size_t drain_aux(struct client_trace *t)
{
	uint64_t head = __atomic_load_n(&t->page->aux_head, __ATOMIC_ACQUIRE);
	uint64_t tail = t->page->aux_tail;
	size_t n = head - tail;

	if (!n)
		return 0;
	assert_true(n <= t->aux_size);
	if (t->stream_size + n > t->max_stream) {
		t->max_stream = 2 * (t->stream_size + n);
		t->stream = realloc(t->stream, t->max_stream);
		assert_non_null(t->stream);
	}
	for (size_t i = 0; i < n; i++)
		t->stream[t->stream_size + i] = t->aux[(tail + i) & (t->aux_size - 1)];
	t->stream_size += n;
	__atomic_store_n(&t->page->aux_tail, head, __ATOMIC_RELEASE);
	return n;
}

static void ioctl_event(struct client *c, int event, unsigned long request)
{
	const uint64_t arg[5] = {request, 0};

	assert_int_equal(client_call(c, EMU_IOCTL, event, arg, NULL, 0, NULL, 0), 0);
}

void client_drain(struct client *c)
{
	for (int i = 0; i < c->nr_traces; i++) {
		struct client_trace *t = &c->traces[i];
		uint64_t truncated = t->truncated, eat;
		size_t moved;

		if (t->event < 0)
			continue;
		(void)!read(t->wake_fd, &eat, sizeof(eat));
		drain_data(c, t);
		moved = drain_aux(t);
		/* D6, D21: a disable may come without a record; the only sign is that no ring moves
		 */
		if (t->truncated != truncated || (!moved && c->expect_loss)) {
			ioctl_event(c, t->event, PERF_EVENT_IOC_DISABLE);
			drain_data(c, t);
			drain_aux(t);
			ioctl_event(c, t->event, PERF_EVENT_IOC_ENABLE);
		}
	}
}

/* ---- events ---- */

static void *map_ring(struct client *c, int event, size_t length, uint64_t offset, int *number)
{
	const uint64_t arg[5] = {length, PROT_READ | PROT_WRITE, MAP_SHARED, offset};
	void *p;

	*number = (int)client_call(c, EMU_MMAP, event, arg, NULL, 0, NULL, 0);
	if (*number <= 0)
		fail_msg("EMU_MMAP: %s", strerror(-*number));
	p = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, c->answer_fd,
		 (off_t)c->answer_value[0]);
	assert_ptr_not_equal(p, MAP_FAILED);
	close(c->answer_fd);
	return p;
}

static uint32_t pmu_type(struct client *c)
{
	static const char what[] = "intel_pt\0type";
	char text[16] = "";
	int64_t n = client_call(c, EMU_PMU_ATTR, 0, NULL, what, sizeof(what), NULL, 0);

	assert_true(n > 0 && n < (int64_t)sizeof(text));
	memcpy(text, c->answer, (size_t)n);
	return (uint32_t)atoi(text);
}

void client_trace_task(struct client *c, pid_t pid, pid_t tid)
{
	/* clang-format off */
	struct perf_event_attr attr = {
		.type = pmu_type(c), .size = sizeof(attr), .config = c->config, .disabled = 1,
		.exclude_kernel = 1, .exclude_hv = 1, .sample_id_all = 1, .sample_period = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME, .mmap = 1, .mmap2 = 1,
		.comm = 1, .comm_exec = 1, .task = 1,
	};
	/* clang-format on */
	const uint64_t arg[5] = {(uint64_t)tid, (uint64_t)-1, (uint64_t)-1, 0};
	struct client_trace *t;
	int64_t event;

	event = client_call(c, EMU_OPEN, 0, arg, &attr, sizeof(attr), NULL, 0);
	if (event <= 0)
		fail_msg("EMU_OPEN: %s", strerror((int)-event));
	c->traces = realloc(c->traces, (size_t)(c->nr_traces + 1) * sizeof(*c->traces));
	assert_non_null(c->traces);
	t = &c->traces[c->nr_traces++];
	memset(t, 0, sizeof(*t));
	t->pid = pid;
	t->tid = tid;
	t->event = (int)event;
	t->wake_fd = c->answer_fd;
	fcntl(t->wake_fd, F_SETFL, O_NONBLOCK);
	t->data_size = DATA_PAGES * 4096;
	t->page = map_ring(c, t->event, t->data_size + 4096, 0, &t->map_data);
	t->data = (uint8_t *)t->page + 4096;
	t->aux_size = c->aux_pages * 4096;
	t->page->aux_offset = t->data_size + 4096;
	t->page->aux_size = t->aux_size;
	t->aux = map_ring(c, t->event, t->aux_size, t->page->aux_offset, &t->map_aux);
	ioctl_event(c, t->event, PERF_EVENT_IOC_ENABLE);
}

static void close_trace(struct client *c, struct client_trace *t)
{
	const uint64_t none[5] = {0};

	if (t->event < 0)
		return;
	assert_int_equal(client_call(c, EMU_STATS, t->event, none, NULL, 0, NULL, 0), 0);
	assert_int_equal(c->answer_size, sizeof(t->stats));
	memcpy(&t->stats, c->answer, sizeof(t->stats));
	munmap(t->aux, t->aux_size);
	munmap(t->page, t->data_size + 4096);
	assert_int_equal(client_simple(c, EMU_MUNMAP, (uint64_t)t->map_aux, 0), 0);
	assert_int_equal(client_simple(c, EMU_MUNMAP, (uint64_t)t->map_data, 0), 0);
	assert_int_equal(client_call(c, EMU_CLOSE, t->event, none, NULL, 0, NULL, 0), 0);
	close(t->wake_fd);
	t->event = -1;
}

bool client_next_event(struct client *c, struct auxtap_target_event *ev, int timeout_ms)
{
	struct pollfd p = {.fd = c->ev, .events = POLLIN};
	ssize_t n;

	if (poll(&p, 1, timeout_ms) <= 0)
		return false;
	n = recv(c->ev, ev, sizeof(*ev), MSG_DONTWAIT);
	if (n == 0)
		c->dead = true;
	if (n <= 0)
		return false;
	assert_int_equal(n, sizeof(*ev));
	c->events = realloc(c->events, (size_t)(c->nr_events + 1) * sizeof(*c->events));
	c->events[c->nr_events++] = *ev;
	return true;
}

bool client_wait_event(struct client *c, struct auxtap_target_event *ev)
{
	struct progress progress = {.roots = &c->emu, .nr_roots = 1, .idle_s = PROGRESS_IDLE_S};

	while (!client_next_event(c, ev, 20))
		if (c->dead || progress_stalled(&progress))
			return false;
	return true;
}

pid_t client_spawn(struct client *c, char *const *argv)
{
	/* few: the C library of the program looks at each of them, step by step */
	static const char *const variables[] = {"PATH", "HOME"};
	static char buf[EMU_DATA_MAX];
	char cwd[4096];
	uint32_t nr[2] = {0, 0};
	size_t at = sizeof(nr);
	int64_t pid;

	assert_non_null(getcwd(cwd, sizeof(cwd)));
	at += (size_t)sprintf(buf + at, "%s", cwd) + 1;
	for (; argv[nr[0]]; nr[0]++)
		at += (size_t)sprintf(buf + at, "%s", argv[nr[0]]) + 1;
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		if (!getenv(variables[i]))
			continue;
		at += (size_t)sprintf(buf + at, "%s=%s", variables[i], getenv(variables[i])) + 1;
		nr[1]++;
	}
	at += (size_t)sprintf(buf + at, "%s", c->truth) + 1;
	memcpy(buf, nr, sizeof(nr));
	pid = client_call(c, EMU_SPAWN, 0, NULL, buf, at, c->stdio, 3);
	if (pid > 0) {
		client_read_maps(c, (pid_t)pid);
		client_trace_task(c, (pid_t)pid, (pid_t)pid);
	}
	return (pid_t)pid;
}

int client_run(struct client *c, pid_t pid)
{
	struct auxtap_target_event ev;
	struct progress progress = {.roots = &c->emu, .nr_roots = 1, .idle_s = PROGRESS_IDLE_S};
	int status = -1;
	int64_t resumed;

	assert_int_equal(client_simple(c, EMU_RESUME, (uint64_t)pid, 0), 0);
	if (c->on_running)
		c->on_running(c, pid);
	/* the first process may end before its children do */
	for (int alive = 1; alive;) {
		if (!client_next_event(c, &ev, c->drain_every_ms ? c->drain_every_ms : 20)) {
			client_drain(c);
			if (c->dead)
				fail_msg("auxtap-emu is gone");
			if (progress_stalled(&progress))
				fail_msg("no event, and no progress");
			continue;
		}
		client_drain(c);
		if (c->on_event)
			c->on_event(c, &ev);
		switch (ev.type) {
		case AUXTAP_TARGET_FORK:
			alive++;
			/* the child starts with its parent's memory */
			for (int i = 0, nr = c->nr_maps; i < nr; i++) {
				if (c->maps[i].pid == ev.parent_pid) {
					struct client_map *m = new_map(c);

					*m = c->maps[i];
					m->pid = ev.pid;
				}
			}
			/* fall through */
		case AUXTAP_TARGET_THREAD:
			client_trace_task(c, ev.pid, ev.tid);
			/* fall through */
		case AUXTAP_TARGET_EXEC:
		case AUXTAP_TARGET_DYING:
			/* a task that was killed, or was detached (32-bit) and ended meanwhile, is
			 * gone */
			resumed = client_simple(c, EMU_RESUME, (uint64_t)ev.tid, 0);
			assert_true(!resumed || resumed == -ESRCH);
			break;
		case AUXTAP_TARGET_PROCESS_EXIT:
			alive--;
			if (ev.pid == pid)
				status = ev.status;
			break;
		default:
			break;
		}
	}
	client_drain(c);
	for (int i = 0; i < c->nr_traces; i++) {
		/* D12, D14: the records cover what was written */
		assert_int_equal(c->traces[i].aux_bytes, c->traces[i].stream_size);
		close_trace(c, &c->traces[i]);
		assert_int_equal(c->traces[i].stats.nr_written, c->traces[i].stream_size);
	}
	return status;
}

int client_trace_program(struct client *c, char *const *argv)
{
	pid_t pid;

	if (!c->emu)
		client_start(c, NULL);
	pid = client_spawn(c, argv);
	if (pid < 0)
		fail_msg("spawn: %s: %.*s", strerror(-pid), (int)c->answer_size, c->answer);
	return client_run(c, pid);
}

int client_count(const struct client *c, enum auxtap_target_event_type type)
{
	int nr = 0;

	for (int i = 0; i < c->nr_events; i++)
		nr += c->events[i].type == type;
	return nr;
}

const struct auxtap_target_event *client_find(const struct client *c,
					      enum auxtap_target_event_type type, int nth)
{
	for (int i = 0; i < c->nr_events; i++)
		if (c->events[i].type == type && nth-- == 0)
			return &c->events[i];
	return NULL;
}

void client_hang_up(struct client *c)
{
	int status;

	close(c->req);
	close(c->ev);
	assert_int_equal(waitpid(c->emu, &status, 0), c->emu);
	assert_int_equal(status, 0);
	c->emu = 0;
}

void client_stop(struct client *c)
{
	char cmd[128];

	if (c->emu)
		client_hang_up(c);
	snprintf(cmd, sizeof(cmd), "rm -rf %.*s", (int)(strrchr(c->truth, '/') - c->truth),
		 c->truth);
	assert_int_equal(system(cmd), 0);
	for (int i = 0; i < c->nr_traces; i++)
		free(c->traces[i].stream);
	free(c->traces);
	free(c->maps);
	free(c->events);
}
