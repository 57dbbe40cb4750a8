// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The request socket: receives messages, sends replies. perf_calls.c (the perf system calls) and
 * target_calls.c (control of the program) execute the requests.
 */
#include "emu_state.h"
#include "util/vector.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_FDS 4

int emu_slots_add(struct emu_slots *slots, void *item)
{
	int at;

	for (at = 0; at < slots->nr && slots->items[at]; at++)
		;
	if (vector_grow(slots->items, at, slots->cap))
		return -ENOMEM;
	slots->items[at] = item;
	if (at == slots->nr)
		slots->nr++;
	return at + 1;
}

void *emu_slots_get(const struct emu_slots *slots, int64_t number)
{
	if (number < 1 || number > slots->nr)
		return NULL;
	return slots->items[number - 1];
}

bool emu_has_requests(const struct emu *emu)
{
	return emu->doorbell;
}

bool emu_hung_up(const struct emu *emu)
{
	return emu->hung_up;
}

bool emu_capture_gone(const struct emu *emu)
{
	struct pollfd p = {.fd = emu->request_fd, .events = POLLRDHUP};

	return emu->hung_up || poll(&p, 1, 0) > 0;
}

u32 emu_values(const struct emu *emu)
{
	return emu->values;
}

int emu_request_fd(const struct emu *emu)
{
	return emu->request_fd;
}

/* Receives a message and its descriptors. The size; 0: capture hung up; -EAGAIN: no message. */
static ssize_t receive(struct emu *emu, int *fds, int *nr_fds)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(MAX_FDS * sizeof(int))];
	} control;
	struct iovec iov = {.iov_base = emu->message, .iov_len = EMU_MESSAGE_MAX};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf),
	};
	ssize_t n;

	*nr_fds = 0;
	do {
		n = recvmsg(emu->request_fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? -EAGAIN : 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t nr = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		for (size_t i = 0; i < nr && *nr_fds < MAX_FDS; i++)
			memcpy(&fds[(*nr_fds)++], CMSG_DATA(c) + i * sizeof(int), sizeof(int));
	}
	return n;
}

static void reply(struct emu *emu, const struct emu_answer *answer)
{
	struct emu_reply head = {
		.result = answer->result,
		.value = {answer->value[0], answer->value[1]},
		.data_size = answer->data_size,
	};
	struct iovec iov[2] = {
		{.iov_base = &head, .iov_len = sizeof(head)},
		{.iov_base = emu->answer, .iov_len = answer->data_size},
	};
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};

	if (answer->fd >= 0) {
		memset(&control, 0, sizeof(control));
		msg.msg_control = control.buf;
		msg.msg_controllen = sizeof(control.buf);
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &answer->fd, sizeof(int));
	}
	/* each request is answered before the next one, so the socket normally has space */
	while (sendmsg(emu->request_fd, &msg, MSG_NOSIGNAL) < 0) {
		struct pollfd p = {.fd = emu->request_fd, .events = POLLOUT};

		if (errno == EINTR)
			continue;
		if (errno != EAGAIN) {
			emu->hung_up = true;
			return;
		}
		poll(&p, 1, 100);
	}
}

static int hello(const struct emu *emu, const struct emu_request *req, struct emu_answer *answer)
{
	if (req->arg[0] != EMU_ABI_VERSION)
		return -EPROTO;
	answer->fd = emu_task_memory_fd(emu);
	answer->close_fd = true;
	return EMU_ABI_VERSION;
}

static void serve_one(struct emu *emu, size_t size, const int *fds, int nr_fds)
{
	struct emu_answer answer = {.fd = -1};
	struct emu_request req;
	const u8 *data = emu->message + sizeof(req);
	int ret;

	if (size < sizeof(req)) {
		answer.result = -EINVAL;
		reply(emu, &answer);
		return;
	}
	memcpy(&req, emu->message, sizeof(req));
	if (req.data_size != size - sizeof(req))
		ret = -EINVAL;
	else if (req.call == EMU_HELLO)
		ret = hello(emu, &req, &answer);
	else if (req.call <= EMU_CLOCK || req.call == EMU_STATS)
		ret = emu_call_perf(emu, &req, data, &answer);
	else
		ret = emu_call_target(emu, &req, data, fds, nr_fds, &answer);
	if (ret)
		answer.result = ret;
	reply(emu, &answer);
	if (answer.fd >= 0 && answer.close_fd)
		close(answer.fd);
}

void emu_serve(struct emu *emu)
{
	int fds[MAX_FDS], nr_fds;
	ssize_t n;

	emu->doorbell = 0;
	emu_flush_events(emu);
	emu_route_run(emu);
	while (!emu->hung_up && (n = receive(emu, fds, &nr_fds)) != -EAGAIN) {
		if (n == 0) {
			emu->hung_up = true;
			break;
		}
		serve_one(emu, (size_t)n, fds, nr_fds);
		while (nr_fds)
			close(fds[--nr_fds]);
	}
}

void emu_wait(struct emu *emu, int timeout_ms)
{
	struct pollfd p[2] = {
		{.fd = emu->request_fd, .events = POLLIN},
		{.fd = emu->queue ? emu->event_fd : -1, .events = POLLOUT},
	};

	if (emu->doorbell || emu->hung_up)
		return;
	/* the doorbell signal is repeated (signals.c), so one just before poll() is not missed */
	if (poll(p, 2, timeout_ms) > 0)
		emu->doorbell = 1;
}

void emu_release_all(struct emu *emu)
{
	emu_perf_release(emu);
	/* Frees tasks that capture never resumed: of a program that has not started. */
	for (int i = 0; i < EMU_TASK_HASH; i++) {
		while (emu->hash[i]) {
			struct emu_task *task = emu->hash[i];

			emu->hash[i] = task->hash_next;
			emu_ground_truth_close(task);
			emu_task_free(task);
		}
	}
	emu->engine->close(emu); /* after closing the events, which may still call the engine */
	while (emu->queue) {
		struct emu_queued *q = emu->queue;

		emu->queue = q->next;
		free(q);
	}
	free(emu->events.items);
	free(emu->mappings.items);
	free(emu->truth_path);
	free(emu->truth_tids);
	free(emu->maps_text);
	free(emu->message);
	free(emu->answer);
	free(emu);
}
