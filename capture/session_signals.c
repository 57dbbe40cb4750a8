// SPDX-License-Identifier: BSD-2-Clause
/*
 * Signals of a capture session: signal handlers of the library's user record them here, and the
 * session's loop forwards them to the traced program.
 */
#include "session.h"

#include <unistd.h>

void auxtap_session_request_snapshot(struct auxtap_session *s)
{
	uint64_t one = 1;
	ssize_t n;

	s->want_snapshot = 1;
	n = write(s->control_fd, &one, sizeof(one));
	(void)n;
}

void auxtap_session_forward_signal(struct auxtap_session *s, int signo)
{
	siginfo_t info = {.si_signo = signo, .si_code = SI_USER};

	info.si_pid = getpid();
	info.si_uid = getuid();
	auxtap_session_forward_siginfo(s, &info);
}

void auxtap_session_forward_siginfo(struct auxtap_session *s, const void *siginfo)
{
	const siginfo_t *info = siginfo;
	int signo = info->si_signo;
	uint64_t one = 1;
	ssize_t n;

	if (signo > 0 && signo < PENDING_SIGNALS) {
		s->signal_senders[signo] = info->si_pid;
		s->signal_users[signo] = info->si_uid;
		s->pending_signals[signo] = 1;
	}
	n = write(s->control_fd, &one, sizeof(one));
	(void)n;
}

/*
 * Each flag is cleared before its signal is sent: the handler may set it again at any moment, and
 * then the signal is sent again. As in the kernel, a signal that is already pending is not queued
 * twice.
 */
void session_forward_signals(struct auxtap_session *s)
{
	const struct auxtap_target_ops *target = s->be->target;

	for (int signo = 1; signo < PENDING_SIGNALS; signo++) {
		siginfo_t info = {.si_signo = signo, .si_code = SI_USER};

		if (!s->pending_signals[signo])
			continue;
		s->pending_signals[signo] = 0;
		info.si_pid = s->signal_senders[signo];
		info.si_uid = s->signal_users[signo];
		if (s->main_pid <= 0)
			continue;
		if (target->forward)
			target->forward(s->be->target_ctx, s->main_pid, &info);
		else
			target->signal(s->be->target_ctx, s->main_pid, signo);
	}
}
