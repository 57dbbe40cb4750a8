// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reports events of the program to capture on EMU_EVENT_FD. Capture may be slow, or waiting for a
 * reply: messages for which the socket has no space are queued here, in order.
 */
#include "emu_state.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* 0, also if the socket is closed; -EAGAIN: the socket is full. */
static int send_one(struct emu *emu, const struct auxtap_target_event *ev)
{
	for (;;) {
		if (send(emu->event_fd, ev, sizeof(*ev), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
			return 0;
		if (errno == EINTR)
			continue;
		if (errno == EAGAIN || errno == ENOBUFS)
			return -EAGAIN;
		return 0;
	}
}

void emu_flush_events(struct emu *emu)
{
	while (emu->queue && !send_one(emu, &emu->queue->ev)) {
		struct emu_queued *done = emu->queue;

		emu->queue = done->next;
		if (!emu->queue)
			emu->queue_tail = &emu->queue;
		free(done);
	}
}

void emu_send_event(struct emu *emu, const struct auxtap_target_event *ev)
{
	struct emu_queued *q;

	if (emu->hung_up)
		return;
	emu_flush_events(emu);
	if (!emu->queue && !send_one(emu, ev))
		return;
	q = malloc(sizeof(*q));
	if (!q) {
		/*
		 * this event would be lost: stop tracing the program instead
		 */
		emu->hung_up = true;
		return;
	}
	q->next = NULL;
	q->ev = *ev;
	*emu->queue_tail = q;
	emu->queue_tail = &q->next;
}
